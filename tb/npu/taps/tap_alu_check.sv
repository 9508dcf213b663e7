// Tap of alu_check: tasks and verdicts (tb/npu/score/task_check.c).
module tap_alu_check (
  input logic                       rst_ni,
  input logic                       clr_i,
  input logic                       start_i,
  input logic [npu_pkg::AluTaskW-1:0] task_i,
  input logic                       busy_o,
  input logic                       done_o,
  input logic                       ok_o
);
endmodule

bind alu_check tap_alu_check u_tap_alu_check (.*);
