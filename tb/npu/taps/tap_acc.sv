// Tap of acc: results of the mesh in, sums out (tb/npu/score/acc.c).
module tap_acc #(
  parameter int unsigned N = 8
) (
  input logic            rst_ni,
  input logic            en_i,
  input logic            first_i,
  input logic            last_i,
  input logic [32*N-1:0] ps0_i,
  input logic [32*N-1:0] ps1_i,
  input logic [   N-1:0] valid_o,
  input logic [32*N-1:0] sum0_o,
  input logic [32*N-1:0] sum1_o
);
endmodule

bind acc tap_acc #(.N(N)) u_tap_acc (.*);
