// Corners of the buffer of sums.
// hit: tests conv and dw
module ofm_buf_cover #(
    parameter int unsigned N = 8
) (
    input logic clk_i,
    input logic rst_ni,
    input logic [N-1:0] we_i,
    input logic wide_i,
    input logic [1:0] re_i,
    input logic [npu_pkg::OfmAw:0] raddr0_i,
    input logic [npu_pkg::OfmAw:0] raddr1_i
);

  // bug: sums are read while others are written
  both: cover property (@(posedge clk_i) disable iff (!rst_ni) we_i != '0 && re_i != 2'b00);
  // bug: both write-backs read in one cycle: one gets the word of the other
  both_read: cover property (@(posedge clk_i) disable iff (!rst_ni) re_i == 2'b11);
  // bug: both write-backs read channels side by side
  both_wide: cover property (@(posedge clk_i) disable iff (!rst_ni) re_i == 2'b11 && wide_i);
  // bug: the last column is written one step late
  skew: cover property (@(posedge clk_i) disable iff (!rst_ni) we_i != '0 && we_i != '1);
  // bug: the ring wraps one word early
  last: cover property (@(posedge clk_i) disable iff (!rst_ni) re_i[0] && raddr0_i == '1);
  // bug: the other half of a word is read
  other_bank: cover property (@(posedge clk_i) disable iff (!rst_ni) re_i == 2'b11 && !wide_i && raddr0_i[0] != raddr1_i[0]);

endmodule

bind ofm_buf ofm_buf_cover #(.N(N)) u_ofm_buf_cover (.*);
