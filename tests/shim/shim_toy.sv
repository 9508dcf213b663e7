// A design for tests/test_shim.py: ports of every storage size, public signals (tap_shim_toy.sv), state without reset,
// a failing assertion, $finish, $stop and a loop that never settles.
module shim_toy (
  input  logic         clk_i,
  input  logic [  2:0] mode_i,
  input  logic [ 11:0] short_i,
  input  logic [ 31:0] word_i,
  input  logic [ 39:0] long_i,
  input  logic [ 99:0] wide_i,
  output logic [ 99:0] wide_o,
  output logic [ 39:0] sum_o,
  output logic [ 30:0] state_o,
  output logic [  7:0] parts_o
);
  logic [30:0] state_q;
  logic        ring;

  assign wide_o  = ~wide_i;
  assign sum_o   = long_i + 40'(word_i) + 40'(short_i);
  assign state_o = state_q;
  // settles only while mode_i is not 4
  assign ring = (mode_i == 3'd4) ? !ring : 1'b0;

  for (genvar i = 2; i <= 10; i += 8) begin : g_part  // numbers that are not in alphabetical order
    shim_part #(
      .Step(i / 8 + 1)
    ) u_part (
      .clk_i,
      .count_o(parts_o[i/8*4+:4])
    );
  end

  always_ff @(posedge clk_i) begin
    if (mode_i == 3'd7) state_q <= '0;
    if (mode_i == 3'd2) $finish;
    if (mode_i == 3'd3) $stop;
    if (mode_i == 3'd5) state_q[0] <= ring;
    assert (mode_i != 3'd1) else $error("mode is 1, short is %0d", short_i);
  end
endmodule
