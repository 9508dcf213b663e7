// Tap of fp_add: operands and result (tb/npu/score/fp.c).
module tap_fp_add (
  input logic        en_i,
  input logic [31:0] a_i,
  input logic [31:0] b_i,
  input logic [31:0] y_o
);
endmodule

bind fp_add tap_fp_add u_tap_fp_add (.*);
