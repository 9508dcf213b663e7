// Tap of npu_perf: events, levels, snapshots and what is read of them (tb/npu/score/npu_perf.c).
module tap_npu_perf (
  input logic                              rst_ni,
  input logic                              clr_i,
  input logic                              run_i,
  input logic [npu_pkg::PerfEvents-1:0]    event_i,
  input logic [16*npu_pkg::PerfLevels-1:0] level_i,
  input logic                              snap_i,
  input logic                              clear_i,
  input logic                              rd_i,
  input logic [5:0]                        sel_i,
  input logic [31:0]                       lo_o,
  input logic [15:0]                       hi_o
);
endmodule

bind npu_perf tap_npu_perf u_tap_npu_perf (.*);
