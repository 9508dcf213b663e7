// Corners of the transposer: blocks that follow, wait, or are flushed.
module transpose_cover (
    input logic clk_i,
    input logic rst_ni,
    input logic in_valid_i,
    input logic in_ready_o,
    input logic in_last_i,
    input logic out_valid_o,
    input logic out_ready_i,
    input logic full_q,
    input logic flush_q,
    input logic right_q,
    input logic blk_end,
    input logic step
);

  // bug: a block moves on while its pixels wait
  waits: cover property (@(posedge clk_i) disable iff (!rst_ni) out_valid_o && !out_ready_i);
  // bug: a row is lost while the cells are full
  refuses: cover property (@(posedge clk_i) disable iff (!rst_ni) in_valid_i && !in_ready_o);
  // bug: a block that follows at once shifts the wrong way
  follows: cover property (@(posedge clk_i) disable iff (!rst_ni) step && full_q && !flush_q);
  // bug: the direction changes one row late
  turns_right: cover property (@(posedge clk_i) disable iff (!rst_ni) step && blk_end && right_q);
  // bug: the direction changes one row late
  turns_left: cover property (@(posedge clk_i) disable iff (!rst_ni) step && blk_end && !right_q);
  // bug: the last block stays in the cells
  flush: cover property (@(posedge clk_i) disable iff (!rst_ni) step && flush_q);
  // bug: a block that is flushed loses a pixel when nobody takes it
  flush_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) flush_q && out_valid_o && !out_ready_i);
  // bug: the first row of the next task is lost while zeros enter
  flush_refuses: cover property (@(posedge clk_i) disable iff (!rst_ni) flush_q && in_valid_i);
  // bug: a single block is not flushed
  last_alone: cover property (@(posedge clk_i) disable iff (!rst_ni) step && in_last_i && blk_end && !full_q);

endmodule

bind transpose transpose_cover u_transpose_cover (.*);
