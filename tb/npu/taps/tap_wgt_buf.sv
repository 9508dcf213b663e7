// Tap of wgt_buf: a write port of each bank and the read (tb/npu/score/bufs.c).
module tap_wgt_buf #(
  parameter int unsigned N = 8
) (
  input logic [1:0]                we_i,
  input logic [npu_pkg::WgtAw-1:0] waddr0_i,
  input logic [npu_pkg::WgtAw-1:0] waddr1_i,
  input logic [8*N-1:0]            wdata0_i,
  input logic [8*N-1:0]            wdata1_i,
  input logic                      re_i,
  input logic                      rbank_i,
  input logic [npu_pkg::WgtAw-1:0] raddr_i,
  input logic [8*N-1:0]            rdata_o
);
endmodule

bind wgt_buf tap_wgt_buf #(.N(N)) u_tap_wgt_buf (.*);
