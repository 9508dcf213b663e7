// Corners of the sequence of windows: waits, edges, halves of the output.
// hit: test pool
module pool_seq_cover (
    input logic clk_i,
    input logic rst_ni,
    input logic waiting,
    input logic tapping,
    input logic nexting,
    input logic tabbing,
    input logic ready,
    input logic tap,
    input logic last_tap,
    input logic last_row,
    input logic last_col,
    input logic free_o,
    input logic slide_i,
    input logic tab_ack_i,
    input logic row_done_i,
    input logic release_i,
    input logic [8:0] ahead_q,
    input logic [8:0] avail_q,
    input logic signed [17:0] y0_q,
    input logic signed [11:0] x0_q,
    input logic half_q,
    input logic tap_first_o,
    input logic claim
);

  // bug: a window begins before its rows have come
  waits_rows: cover property (@(posedge clk_i) disable iff (!rst_ni) waiting && ahead_q >= avail_q);
  // bug: a row that has just come is not seen
  row_just: cover property (@(posedge clk_i) disable iff (!rst_ni) waiting && row_done_i && ahead_q == avail_q);
  // bug: a row of results overwrites one that is not written yet
  waits_half: cover property (@(posedge clk_i) disable iff (!rst_ni) waiting && ahead_q < avail_q && !ready);
  // bug: a half that is given back while the other one is taken counts twice
  half_both: cover property (@(posedge clk_i) disable iff (!rst_ni) claim && release_i);
  // bug: rows of padding are rows of the map
  above: cover property (@(posedge clk_i) disable iff (!rst_ni) waiting && y0_q < 0);
  // bug: columns of padding are columns of the map
  left: cover property (@(posedge clk_i) disable iff (!rst_ni) tap && x0_q < 0);
  // bug: a window at the left edge begins one column late
  left_inside: cover property (@(posedge clk_i) disable iff (!rst_ni) tap && x0_q == 0);
  // bug: a window of one element is first and last, and only one of them counts
  one_tap: cover property (@(posedge clk_i) disable iff (!rst_ni) tap && tap_first_o && last_tap);
  // bug: the next window begins with this one's elements
  window_ends: cover property (@(posedge clk_i) disable iff (!rst_ni) tap && last_tap && last_row && !last_col);
  // bug: the next row of windows begins in the wrong half
  row_ends: cover property (@(posedge clk_i) disable iff (!rst_ni) tap && last_tap && last_row && last_col);
  // bug: a row that the window below needs is given back
  slides: cover property (@(posedge clk_i) disable iff (!rst_ni) nexting && slide_i && !free_o);
  // bug: a row that is not needed stays
  frees: cover property (@(posedge clk_i) disable iff (!rst_ni) free_o && slide_i);
  // bug: a window begins with the factors of the row before
  table_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) tabbing && !tab_ack_i);
  // bug: results of the second half are written to the first
  second_half: cover property (@(posedge clk_i) disable iff (!rst_ni) tap && last_tap && half_q);

endmodule

bind pool_seq pool_seq_cover u_pool_seq_cover (.*, .waiting(state_q == Row), .tapping(state_q == Tap), .nexting(state_q == Next), .tabbing(state_q == Tab));
