// Tap of fp_mul: operands and result (tb/npu/score/fp.c).
module tap_fp_mul (
  input logic        en_i,
  input logic [31:0] a_i,
  input logic [31:0] b_i,
  input logic [31:0] y_o
);
endmodule

bind fp_mul tap_fp_mul u_tap_fp_mul (.*);
