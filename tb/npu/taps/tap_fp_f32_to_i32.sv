// Tap of fp_f32_to_i32: operand and result (tb/npu/score/fp.c).
module tap_fp_f32_to_i32 (
  input logic        en_i,
  input logic [31:0] a_i,
  input logic [31:0] y_o
);
endmodule

bind fp_f32_to_i32 tap_fp_f32_to_i32 u_tap_fp_f32_to_i32 (.*);
