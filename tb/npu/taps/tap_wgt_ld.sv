// Tap of wgt_ld: fields of its task, requests, data, words and what im2col learns (tb/npu/score/wgt_ld.c).
module tap_wgt_ld #(
  parameter int unsigned N = 8
) (
  input logic                      rst_ni,
  input logic                      task_valid_i,
  input logic [1:0]                task_op_i,
  input logic                      task_wgt_res_i,
  input logic                      task_wgt_keep_i,
  input logic [7:0]                task_kw_i,
  input logic [7:0]                task_kh_i,
  input logic [15:0]               task_ic_i,
  input logic [15:0]               task_oc_i,
  input logic [31:0]               task_wgt_addr_i,
  input logic                      task_pop_o,
  input logic                      busy_o,
  input logic                      req_valid_o,
  input logic                      req_ready_i,
  input logic [31:0]               req_addr_o,
  input logic [23:0]               req_bytes_o,
  input logic                      dat_valid_i,
  input logic                      dat_ready_o,
  input logic [127:0]              dat_i,
  input logic                      we_o,
  input logic [npu_pkg::WgtAw-1:0] waddr_o,
  input logic [8*N-1:0]            wdata_o,
  input logic                      full_o,
  input logic [9:0]                blocks_o,
  input logic                      release_i
);
endmodule

bind wgt_ld tap_wgt_ld #(.N(N)) u_tap_wgt_ld (
  .task_op_i(task_i.op),
  .task_wgt_res_i(task_i.wgt_res),
  .task_wgt_keep_i(task_i.wgt_keep),
  .task_kw_i(task_i.kw),
  .task_kh_i(task_i.kh),
  .task_ic_i(task_i.ic),
  .task_oc_i(task_i.oc),
  .task_wgt_addr_i(task_i.wgt_addr),
  .*
);
