// Tap of fp_i32_to_f32: operand and result (tb/npu/score/fp.c).
module tap_fp_i32_to_f32 (
  input logic        en_i,
  input logic [31:0] a_i,
  input logic [31:0] y_o
);
endmodule

bind fp_i32_to_f32 tap_fp_i32_to_f32 u_tap_fp_i32_to_f32 (.*);
