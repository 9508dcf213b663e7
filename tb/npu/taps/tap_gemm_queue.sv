// Tap of gemm_queue: tasks in, the task of each engine (tb/npu/score/gemm_queue.c).
module tap_gemm_queue #(
  parameter int unsigned Engines = 6
) (
  input logic                                  rst_ni,
  input logic                                  task_valid_i,
  input logic                                  task_ready_o,
  input npu_pkg::gemm_task_t                   task_i,
  input logic                                  task_fence_i,
  input logic [Engines-1:0]                    valid_o,
  input logic [npu_pkg::GemmTaskW*Engines-1:0] task_o,
  input logic [Engines-1:0]                    pop_i,
  input logic [3*Engines-1:0]                  ptr_o,
  input logic                                  busy_o
);
endmodule

bind gemm_queue tap_gemm_queue #(.Engines(Engines)) u_tap_gemm_queue (.task_fence_i(task_i.fence), .*);
