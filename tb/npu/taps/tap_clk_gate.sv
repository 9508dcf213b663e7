// Tap of clk_gate: whether the clocks of the units run, and their edges (tb/npu/score/clk_gate.c). Before an edge clk_o is always low, so the tap counts.
module tap_clk_gate (
  input logic en_i,
  input logic clk_o
);
  logic [7:0] edges;
  initial edges = '0;
  always_ff @(posedge clk_o) edges <= edges + 8'd1;
endmodule

bind clk_gate tap_clk_gate u_tap_clk_gate (.*);
