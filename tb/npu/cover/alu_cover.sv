// Corners of an ALU task: both channels meet at its end.
// hit: tests eltwise, reduce and jobs
module alu_cover (
    input logic clk_i,
    input logic rst_ni,
    input logic task_valid_i,
    input logic task_ready_o,
    input logic task_done_o,
    input logic reduce,
    input logic [1:0] walked,
    input logic [1:0] idle,
    input logic [1:0] last_mine,
    input logic [1:0] wr_idle_i,
    input logic draining,
    input logic ending,
    input logic busy_o
);

  // bug: a task that waits changes the one that runs
  waits: cover property (@(posedge clk_i) disable iff (!rst_ni) task_valid_i && !task_ready_o);
  // bug: a task ends when one channel has no more chunks
  one_walked: cover property (@(posedge clk_i) disable iff (!rst_ni) busy_o && (walked == 2'b01 || walked == 2'b10));
  // bug: a task ends when one channel is idle
  one_idle: cover property (@(posedge clk_i) disable iff (!rst_ni) draining && (idle == 2'b01 || idle == 2'b10));
  // bug: a task is complete before its last response
  writes_wait: cover property (@(posedge clk_i) disable iff (!rst_ni) ending && wr_idle_i != 2'b11);
  // bug: a sum on channel 0 is taken from channel 1
  sum_first: cover property (@(posedge clk_i) disable iff (!rst_ni) task_done_o && reduce && last_mine == 2'b01);
  // bug: a sum on channel 1 is taken from channel 0
  sum_second: cover property (@(posedge clk_i) disable iff (!rst_ni) task_done_o && reduce && last_mine == 2'b10);
  // bug: the next task begins before the result of this one is kept
  follows: cover property (@(posedge clk_i) disable iff (!rst_ni) task_done_o && task_valid_i);

endmodule

bind alu alu_cover u_alu_cover (.*, .draining(state_q == Drain), .ending(state_q == Last));
