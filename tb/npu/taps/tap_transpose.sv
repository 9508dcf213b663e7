// Tap of transpose: vectors in and out (tb/npu/score/transpose.c).
module tap_transpose #(
  parameter int unsigned N = 8
) (
  input logic           rst_ni,
  input logic           in_valid_i,
  input logic           in_ready_o,
  input logic [8*N-1:0] in_data_i,
  input logic           in_last_i,
  input logic           out_valid_o,
  input logic           out_ready_i,
  input logic [8*N-1:0] out_data_o
);
endmodule

bind transpose tap_transpose #(.N(N)) u_tap_transpose (.*);
