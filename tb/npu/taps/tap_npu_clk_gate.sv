// Tap of npu_clk_gate: whether the clocks of the units run (tb/npu/score/score.c).
module tap_npu_clk_gate (
  input logic en_i
);
endmodule

bind npu_clk_gate tap_npu_clk_gate u_tap_npu_clk_gate (.*);
