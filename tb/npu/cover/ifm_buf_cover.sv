// Corners of the input buffer.
// hit: tests conv and dw
module ifm_buf_cover #(
    parameter int unsigned N = 8
) (
    input logic clk_i,
    input logic we_i,
    input logic re_i,
    input logic [npu_pkg::IfmAw-1:0] waddr_i,
    input logic [npu_pkg::IfmAw-1:0] raddr0_i,
    input logic [npu_pkg::IfmAw-1:0] raddr1_i
);

  // bug: a word is read while another one is written: one of them goes astray
  both: cover property (@(posedge clk_i) we_i && re_i);
  // bug: a word is read just before it is overwritten
  beside: cover property (@(posedge clk_i) we_i && re_i && (waddr_i == raddr0_i + 1'b1 || waddr_i == raddr1_i + 1'b1));
  // bug: the ring wraps one word early
  last: cover property (@(posedge clk_i) we_i && waddr_i == '1);
  // bug: one of two pixels lies behind the end of the ring
  wraps: cover property (@(posedge clk_i) re_i && raddr1_i < raddr0_i);
  // bug: two pixels are one word, and it is read twice
  same: cover property (@(posedge clk_i) re_i && raddr0_i == raddr1_i);

endmodule

bind ifm_buf ifm_buf_cover #(.N(N)) u_ifm_buf_cover (.*);
