// Tap of fp_min: operands and result (tb/npu/score/fp.c).
module tap_fp_min (
  input logic        en_i,
  input logic [31:0] a_i,
  input logic [31:0] b_i,
  input logic [31:0] y_o
);
endmodule

bind fp_min tap_fp_min u_tap_fp_min (.*);
