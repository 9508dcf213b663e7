// Corners of the transposer: blocks that follow, wait, or are flushed.
// hit: test conv with out_layout=int8
module transpose_cover (
    input logic clk_i,
    input logic rst_ni,
    input logic in_last_i,
    input logic full_q,
    input logic flush_q,
    input logic right_q,
    input logic blk_end,
    input logic step
);

  // bug: a block that follows at once shifts the wrong way
  follows: cover property (@(posedge clk_i) disable iff (!rst_ni) step && full_q && !flush_q);
  // bug: the direction changes one row late
  turns_right: cover property (@(posedge clk_i) disable iff (!rst_ni) step && blk_end && right_q);
  // bug: the direction changes one row late
  turns_left: cover property (@(posedge clk_i) disable iff (!rst_ni) step && blk_end && !right_q);
  // bug: the last block stays in the cells
  flush: cover property (@(posedge clk_i) disable iff (!rst_ni) step && flush_q);
  // bug: a single block is not flushed
  last_alone: cover property (@(posedge clk_i) disable iff (!rst_ni) step && in_last_i && blk_end && !full_q);

endmodule

bind transpose transpose_cover u_transpose_cover (.*);
