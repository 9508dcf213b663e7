// Tap of layout: jobs, requests, data and words (tb/npu/score/layout.c).
module tap_layout #(
  parameter int unsigned N = 8
) (
  input logic                      rst_ni,
  input logic [31:0]               cfg_in_scale_i,
  input logic [31:0]               cfg_cstep_i,
  input logic [npu_pkg::IfmAw-1:0] cfg_stride_i,
  input logic                      cfg_nhwc_i,
  input logic                      job_valid_i,
  input logic                      job_ready_o,
  input logic [31:0]               job_addr_i,
  input logic [$clog2(N):0]        job_nch_i,
  input logic [6:0]                job_cnt_i,
  input logic [npu_pkg::IfmAw-1:0] job_waddr_i,
  input logic                      req_valid_o,
  input logic                      req_ready_i,
  input logic [31:0]               req_addr_o,
  input logic [23:0]               req_bytes_o,
  input logic                      dat_valid_i,
  input logic                      dat_ready_o,
  input logic [127:0]              dat_i,
  input logic                      wr_valid_o,
  input logic                      wr_ready_i,
  input logic [npu_pkg::IfmAw-1:0] wr_addr_o,
  input logic [8*N-1:0]            wr_data_o,
  input logic                      done_o
);
endmodule

bind layout tap_layout #(.N(N)) u_tap_layout (.*);
