// Corners of the loader of POOL.
// hit: test pool
module pool_ld_cover (
    input logic clk_i,
    input logic rst_ni,
    input logic fits,
    input logic rowing,
    input logic taking,
    input logic tab_turn,
    input logic take,
    input logic row_end,
    input logic win_end,
    input logic resume,
    input logic req_valid_o,
    input logic req_ready_i,
    input logic free_i,
    input logic job_last_o,
    input logic packed_px,
    input logic slide_i,
    input logic [16:0] first,
    input logic [16:0] last
);

  // bug: a row overwrites one that a window still needs
  ring_full: cover property (@(posedge clk_i) disable iff (!rst_ni) rowing && !fits);
  // bug: a row that is given back just now is not seen
  ring_freed: cover property (@(posedge clk_i) disable iff (!rst_ni) rowing && free_i);
  // bug: a table is read into the place of a row
  table_turn: cover property (@(posedge clk_i) disable iff (!rst_ni) tab_turn && req_valid_o);
  // bug: a table is asked for twice
  table_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) tab_turn && !req_ready_i);
  // bug: a row is asked for twice
  request_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) take == 1'b0 && req_valid_o && !req_ready_i);
  // bug: a row of several jobs ends with the first
  jobs: cover property (@(posedge clk_i) disable iff (!rst_ni) take && !job_last_o);
  // bug: the window below begins in the wrong row
  window_ends: cover property (@(posedge clk_i) disable iff (!rst_ni) row_end && win_end);
  // bug: rows that two windows share are read twice
  resumes: cover property (@(posedge clk_i) disable iff (!rst_ni) resume && slide_i);
  // bug: a window of padding alone waits for ever
  no_rows: cover property (@(posedge clk_i) disable iff (!rst_ni) win_end && first >= last);
  // bug: pixels side by side are read one by one
  dense: cover property (@(posedge clk_i) disable iff (!rst_ni) take && packed_px);

endmodule

bind pool_ld pool_ld_cover u_pool_ld_cover (.*, .rowing(state_q == Row), .taking(state_q == Job));
