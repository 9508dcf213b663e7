// Tap of fp_max: operands and result (tb/npu/score/fp.c).
module tap_fp_max (
  input logic        en_i,
  input logic [31:0] a_i,
  input logic [31:0] b_i,
  input logic [31:0] y_o
);
endmodule

bind fp_max tap_fp_max u_tap_fp_max (.*);
