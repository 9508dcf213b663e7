// Tap of alu_math: words in, results out (tb/npu/score/alu_math.c).
module tap_alu_math (
  input logic         rst_ni,
  input logic [4:0]   op_i,
  input logic         p_vec_i,
  input logic         q_vec_i,
  input logic [31:0]  red_q_i,
  input logic [3:0]   act_i,
  input logic [31:0]  act_p0_i,
  input logic [31:0]  act_p1_i,
  input logic [31:0]  act_p2_i,
  input logic [31:0]  act_p3_i,
  input logic         valid_i,
  input logic [127:0] x_i,
  input logic [31:0]  p_i,
  input logic [31:0]  q_i,
  input logic [3:0]   lanes_i,
  input logic         first_i,
  input logic         last_i,
  input logic [127:0] vec_i,
  input logic         word_ok_o,
  input logic         last_ok_o,
  input logic         valid_o,
  input logic [127:0] y_o
);
endmodule

bind alu_math tap_alu_math u_tap_alu_math (.*);
