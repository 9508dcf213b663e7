// Corners of the counters.
// hit: test regs; any test with perf counters
module npu_perf_cover (
    input logic clk_i,
    input logic rst_ni,
    input logic run_i,
    input logic snap_i,
    input logic clear_i,
    input logic rd_i
);

  // bug: a copy taken while events come is not of one cycle
  snap_running: cover property (@(posedge clk_i) disable iff (!rst_ni) snap_i && run_i);
  // bug: a copy taken while nothing runs counts on
  snap_idle: cover property (@(posedge clk_i) disable iff (!rst_ni) snap_i && !run_i);
  // bug: a copy and a clear at once copy zeros
  snap_clear: cover property (@(posedge clk_i) disable iff (!rst_ni) snap_i && clear_i);
  // bug: events in the cycle of a clear are lost or kept
  clear_running: cover property (@(posedge clk_i) disable iff (!rst_ni) clear_i && run_i);
  // bug: a read shows the counter and not the copy
  read_running: cover property (@(posedge clk_i) disable iff (!rst_ni) rd_i && run_i);

endmodule

bind npu_perf npu_perf_cover u_npu_perf_cover (.*);
