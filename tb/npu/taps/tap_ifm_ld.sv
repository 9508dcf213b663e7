// Tap of ifm_ld: fields of its task, jobs, ring and progress (tb/npu/score/ifm_ld.c).
module tap_ifm_ld #(
  parameter int unsigned N = 8
) (
  input logic                      rst_ni,
  input logic                      task_valid_i,
  input logic                      task_nhwc_in_i,
  input logic [15:0]               task_iw_i,
  input logic [15:0]               task_ih_i,
  input logic [15:0]               task_ic_i,
  input logic [31:0]               task_ifm_addr_i,
  input logic [31:0]               task_ifm_cstep_i,
  input logic                      task_pop_o,
  input logic                      busy_o,
  input logic                      free_i,
  input logic [npu_pkg::IfmAw:0]   free_words_i,
  input logic [15:0]               level_o,
  input logic [1:0]                job_valid_o,
  input logic [1:0]                job_ready_i,
  input logic [31:0]               job_addr_o,
  input logic [$clog2(N):0]        job_nch_o,
  input logic [6:0]                job_cnt_o,
  input logic [npu_pkg::IfmAw-1:0] job_waddr_o,
  input logic [npu_pkg::IfmAw-1:0] job_stride_o,
  input logic [1:0]                job_done_i,
  input logic [16:0]               pix_ready_o,
  input logic [2:0]                loaded_o
);
endmodule

bind ifm_ld tap_ifm_ld #(.N(N)) u_tap_ifm_ld (
  .task_nhwc_in_i(task_i.nhwc_in),
  .task_iw_i(task_i.iw),
  .task_ih_i(task_i.ih),
  .task_ic_i(task_i.ic),
  .task_ifm_addr_i(task_i.ifm_addr),
  .task_ifm_cstep_i(task_i.ifm_cstep),
  .*
);
