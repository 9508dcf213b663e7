// Tap of send_buf: words in, words out, levels (tb/npu/score/send_buf.c).
module tap_send_buf (
  input logic                           rst_ni,
  input logic [npu_pkg::WrReqs-1:0]     wvalid_i,
  input logic [npu_pkg::WrReqs-1:0]     wready_o,
  input logic [128*npu_pkg::WrReqs-1:0] wdata_i,
  input logic [npu_pkg::WrReqs-1:0]     rvalid_o,
  input logic [npu_pkg::WrReqs-1:0]     rready_i,
  input logic [128*npu_pkg::WrReqs-1:0] rdata_o,
  input logic [16*npu_pkg::WrReqs-1:0]  level_o
);
endmodule

bind send_buf tap_send_buf u_tap_send_buf (.*);
