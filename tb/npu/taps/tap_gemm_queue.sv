// Tap of gemm_queue: tasks in, who has one (tb/npu/score/gemm_queue.c). The task at its input is in tap_npu_regs, those of the engines are
// in the taps of the engines: 4,000 bits more that Verilator would put together in every cycle.
module tap_gemm_queue #(
  parameter int unsigned Engines = 6
) (
  input logic                 rst_ni,
  input logic                 task_valid_i,
  input logic                 task_ready_o,
  input logic [Engines-1:0]   valid_o,
  input logic [Engines-1:0]   pop_i,
  input logic [3*Engines-1:0] ptr_o,
  input logic                 busy_o
);
endmodule

bind gemm_queue tap_gemm_queue #(.Engines(Engines)) u_tap_gemm_queue (.*);
