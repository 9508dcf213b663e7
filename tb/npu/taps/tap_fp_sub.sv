// Tap of fp_sub: operands and result (tb/npu/score/fp.c).
module tap_fp_sub (
  input logic        en_i,
  input logic [31:0] a_i,
  input logic [31:0] b_i,
  input logic [31:0] y_o
);
endmodule

bind fp_sub tap_fp_sub u_tap_fp_sub (.*);
