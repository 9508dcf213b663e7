// Tap of pool_check: tasks and verdicts (tb/npu/score/task_check.c).
module tap_pool_check (
  input logic                       rst_ni,
  input logic                       clr_i,
  input logic                       start_i,
  input logic [npu_pkg::PoolTaskW-1:0] task_i,
  input logic [1:0]                 type_i,
  input logic                       busy_o,
  input logic                       done_o,
  input logic                       ok_o
);
endmodule

bind pool_check tap_pool_check u_tap_pool_check (.*);
