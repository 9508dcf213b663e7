// Corners of the input rows of POOL.
// hit: test pool
module pool_line_cover (
    input logic clk_i,
    input logic rst_ni,
    input logic dat_valid_i,
    input logic more_q,
    input logic end_of_job,
    input logic head_pop,
    input logic one,
    input logic tab,
    input logic last,
    input logic re_i,
    input logic tab_re_i,
    input logic [2:0] lane,
    input logic [3:0] lanes,
    input logic [12:0] words,
    input logic [9:0] addr
);

  // bug: a row is read while the next one comes
  read_write: cover property (@(posedge clk_i) disable iff (!rst_ni) dat_valid_i && re_i);
  // bug: words behind the end of a row are stored
  partial: cover property (@(posedge clk_i) disable iff (!rst_ni) dat_valid_i && end_of_job && words[1:0] != 2'd0);
  // bug: a job of one word does not end
  one_word: cover property (@(posedge clk_i) disable iff (!rst_ni) dat_valid_i && end_of_job && !more_q && words == 13'd1);
  // bug: a beat that wraps around the ring loses words
  wraps: cover property (@(posedge clk_i) disable iff (!rst_ni) dat_valid_i && !tab && addr > 10'd1020);
  // bug: a beat goes to the lanes of the beat before
  lanes_case: cover property (@(posedge clk_i) disable iff (!rst_ni) dat_valid_i && !one && lane != 3'd0);
  // bug: a pixel goes on in the next beat at the wrong lane
  lanes_over: cover property (@(posedge clk_i) disable iff (!rst_ni) dat_valid_i && !one && {1'b0, lane} + 4'd4 > lanes);
  // bug: factors are stored as a row
  table_case: cover property (@(posedge clk_i) disable iff (!rst_ni) dat_valid_i && tab);
  // bug: a row that follows a table is stored in it
  table_row: cover property (@(posedge clk_i) disable iff (!rst_ni) head_pop && tab);
  // bug: the last job of a row counts as a row twice
  row_last: cover property (@(posedge clk_i) disable iff (!rst_ni) head_pop && last && !tab);
  // bug: a factor and an element are read in one cycle
  both_read: cover property (@(posedge clk_i) disable iff (!rst_ni) re_i && tab_re_i);

endmodule

bind pool_line pool_line_cover u_pool_line_cover (.*);
