// Tap of gemm_check: tasks and verdicts (tb/npu/score/task_check.c).
module tap_gemm_check (
  input logic                       rst_ni,
  input logic                       clr_i,
  input logic                       start_i,
  input logic [npu_pkg::GemmTaskW-1:0] task_i,
  input logic [1:0]                 pad_mode_i,
  input logic                       busy_o,
  input logic                       done_o,
  input logic                       ok_o
);
endmodule

bind gemm_check tap_gemm_check u_tap_gemm_check (.*);
