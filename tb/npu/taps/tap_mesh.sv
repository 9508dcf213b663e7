// Tap of mesh: weights, vectors and results (tb/npu/score/mesh.c).
module tap_mesh #(
  parameter int unsigned N = 8
) (
  input logic            en_i,
  input logic            wgt_p_i,
  input logic [ 8*N-1:0] wgt_i,
  input logic            sel_i,
  input logic [ 8*N-1:0] act0_i,
  input logic [ 8*N-1:0] act1_i,
  input logic [32*N-1:0] ps0_o,
  input logic [32*N-1:0] ps1_o
);
endmodule

bind mesh tap_mesh #(.N(N)) u_tap_mesh (.*);
