// Tap of act: vectors in and out (tb/npu/score/act.c).
module tap_act #(
  parameter int unsigned Lanes = 4
) (
  input logic                rst_ni,
  input logic                valid_i,
  input logic [3:0]          act_i,
  input logic [31:0]         p0_i,
  input logic [31:0]         p1_i,
  input logic [31:0]         p2_i,
  input logic [31:0]         p3_i,
  input logic [32*Lanes-1:0] x_i,
  input logic                valid_o,
  input logic [32*Lanes-1:0] y_o
);
endmodule

bind act tap_act #(.Lanes(Lanes)) u_tap_act (.*);
