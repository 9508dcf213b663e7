// Performance counters (docs/npu.md section 5).
//
// What it does
//   Counter i (0..12, 48 bit, wraps) advances by one in each cycle in which run_i and event_i[i] are 1. snap_i copies all
//   counters at one clock edge; lo_o and hi_o show the copy of counter sel_i, 0 for numbers that do not exist. clear_i
//   zeroes the counters, not the copy; with snap_i in the same cycle the copy gets the values before the clear. clr_i
//   (soft reset) zeroes everything and wins over the rest. Event 0 counts cycles: tie event_i[0] to 1.
//
// Latency: an event is in its counter one cycle later, a snapshot is visible on lo_o/hi_o one cycle after snap_i; sel_i to
//   lo_o/hi_o is combinational. An event in the cycle of snap_i is not in the copy; one in the cycle of clear_i is lost.
`include "npu_assert.svh"

module npu_perf #(
    localparam int unsigned NumCnt = 13
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,
    input logic run_i,
    input logic [NumCnt-1:0] event_i,
    input logic snap_i,
    input logic clear_i,
    input logic [5:0] sel_i,
    output logic [31:0] lo_o,
    output logic [15:0] hi_o
);

  logic [48*NumCnt-1:0] copy_q;

  // adds 0 or 1 without a condition: events change too often for a simulator's branch prediction
  for (genvar g = 0; g < NumCnt; g++) begin : gen_cnt
    logic [47:0] cnt_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) cnt_q <= '0;
      else if (clr_i || clear_i) cnt_q <= '0;
      else cnt_q <= cnt_q + {47'd0, run_i & event_i[g]};
    end
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) copy_q[48*g+:48] <= '0;
      else if (clr_i) copy_q[48*g+:48] <= '0;
      else if (snap_i) copy_q[48*g+:48] <= cnt_q;
    end
  end

  logic sel_ok;
  assign sel_ok = sel_i < 6'(NumCnt);
  assign {hi_o, lo_o} = sel_ok ? copy_q[48*sel_i+:48] : 48'd0;

  `NPU_ASSERT(ClearWins, !$past(clr_i && rst_ni) || {hi_o, lo_o} == 48'd0)

endmodule
