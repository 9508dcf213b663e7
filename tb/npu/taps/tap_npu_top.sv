// Tap of npu_top: its ports are those of the simulation, and the wires end at the taps of the channels and of the units (tb/npu/score/npu_top.c).
module tap_npu_top (
  input logic rst_ni
);
endmodule

bind npu_top tap_npu_top u_tap_npu_top (.*);
