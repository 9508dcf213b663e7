// Tap of fp_cmp: operands and result (tb/npu/score/fp.c).
module tap_fp_cmp (
  input logic        en_i,
  input logic [31:0] a_i,
  input logic [31:0] b_i,
  input logic [2:0]  y_o
);
endmodule

bind fp_cmp tap_fp_cmp u_tap_fp_cmp (.*);
