// Tap of npu_regs: what the channels tell it (tb/npu/score/npu_top.c).
module tap_end_regs (
  input logic [11:0] bus_err_i,
  input logic        srst_o,
  input logic        drained_i
);
endmodule

bind npu_regs tap_end_regs u_tap_end_regs (.*);
