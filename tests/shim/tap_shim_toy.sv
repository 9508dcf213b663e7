// Taps of shim_toy and of its parts: one signal of every storage size. The array and the parameter are left out of the
// shim's list.
module tap_shim_toy #(
  parameter int unsigned Kind = 3
) (
  input logic [ 2:0] mode_i,
  input logic [11:0] short_i,
  input logic [31:0] word_i,
  input logic [39:0] long_i,
  input logic [99:0] wide_i,
  input logic [30:0] state_q
);
  logic [7:0] pair[2];
  assign pair[0] = {5'd0, mode_i};
  assign pair[1] = Kind[7:0];
endmodule

module tap_shim_part (
  input logic [3:0] count_q
);
endmodule

bind shim_toy tap_shim_toy u_tap_shim_toy (.*);
bind shim_part tap_shim_part u_tap_shim_part (.*);
