// Tap of ifm_buf: its write port and both reads (tb/npu/score/bufs.c).
module tap_ifm_buf #(
  parameter int unsigned N = 8
) (
  input logic                      we_i,
  input logic [npu_pkg::IfmAw-1:0] waddr_i,
  input logic [8*N-1:0]            wdata_i,
  input logic                      re_i,
  input logic [npu_pkg::IfmAw-1:0] raddr0_i,
  input logic [npu_pkg::IfmAw-1:0] raddr1_i,
  input logic [8*N-1:0]            rdata0_o,
  input logic [8*N-1:0]            rdata1_o
);
endmodule

bind ifm_buf tap_ifm_buf #(.N(N)) u_tap_ifm_buf (.*);
