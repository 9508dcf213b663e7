// Tap of ofm_buf: sums in, words out (tb/npu/score/ofm_buf.c).
module tap_ofm_buf #(
  parameter int unsigned N = 8,
  parameter int unsigned Cols = 2
) (
  input logic                    rst_ni,
  input logic [N-1:0]            we_i,
  input logic [32*N-1:0]         wdata0_i,
  input logic [32*N-1:0]         wdata1_i,
  input logic                    wide_i,
  input logic [1:0]              re_i,
  input logic [$clog2(N)-1:0]    rcol0_i,
  input logic [$clog2(N)-1:0]    rcol1_i,
  input logic [npu_pkg::OfmAw:0] raddr0_i,
  input logic [npu_pkg::OfmAw:0] raddr1_i,
  input logic [128*Cols-1:0]     rdata0_o,
  input logic [128*Cols-1:0]     rdata1_o
);
endmodule

bind ofm_buf tap_ofm_buf #(.N(N), .Cols(Cols)) u_tap_ofm_buf (.*);
