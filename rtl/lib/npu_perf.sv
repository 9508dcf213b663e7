// Performance counters and marks (docs/npu/npu.md section 5), of any design.
//
// What it does
//   Counter i (48 bit, wraps) advances by one in each cycle in which run_i and event_i[i] are 1. Event 0 counts cycles:
//   tie event_i[0] to 1. Mark j is the highest value of level j, level_i[LevelW*j +: LevelW], in the cycles with run_i
//   since the last snapshot. snap_i copies all counters and marks at one clock edge and lets the marks restart at the
//   levels of that cycle (0 where run_i is 0). rd_i takes the copy of number sel_i to lo_o and hi_o: counters from 0
//   on, marks from 40 on, 0 for numbers that do not exist. clear_i zeroes the counters, but neither marks nor copy;
//   with snap_i in the same cycle the copy gets the values before the clear. clr_i (soft reset) zeroes everything and
//   has priority.
//
// Latency: an event is in its counter one cycle later; rd_i one cycle after snap_i or later reads the new copy; lo_o
//   and hi_o follow rd_i by one cycle and hold. An event or level in the cycle of snap_i is not in the copy; an event
//   in the cycle of clear_i is lost.
//
// Structure: the low 8 bits of all counters lie in bit planes and ripple as vectors; the upper bits of a counter have
//   an incrementer that is active when those wrap. All arrays belong to one process that updates them in place, in an
//   order in which every read sees the value before the edge: a simulator then spends few operations a cycle on all
//   counters together.
// Throughput: all counters in every cycle; one snapshot or read a cycle.
`include "assert.svh"

module npu_perf #(
  parameter int unsigned NumCnt = 36,   // counters, 2 to 40
  parameter int unsigned NumMark = 12,  // marks, 2 to 16
  parameter int unsigned LevelW = 16,   // bits of a level, at most 16
  localparam int unsigned CntAw = $clog2(NumCnt),
  localparam int unsigned MarkAw = $clog2(NumMark)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic clr_i,
  input logic run_i,
  input logic [NumCnt-1:0] event_i,
  input logic [LevelW*NumMark-1:0] level_i,
  input logic snap_i,
  input logic clear_i,
  input logic rd_i,
  input logic [5:0] sel_i,
  output logic [31:0] lo_o,
  output logic [15:0] hi_o
);

  localparam logic [5:0] FirstMark = 6'd40;
  localparam int unsigned LowW = 8;
  localparam int unsigned HighW = 48 - LowW;

  logic [NumCnt-1:0] low [LowW];  // plane k: bit k of all counters
  logic [NumCnt-1:0] low_copy [LowW];
  logic [HighW-1:0] high [NumCnt];
  logic [HighW-1:0] high_copy [NumCnt];
  logic [LevelW-1:0] mark [2**MarkAw];  // a power of two: without one, a simulator checks each index
  logic [LevelW-1:0] mark_copy [NumMark];
  logic [LevelW-1:0] level [2**MarkAw];
  logic [NumCnt-1:0] carry;  // into the current plane of the loop
  logic [NumCnt-1:0] next_carry;
  logic [5:0] mark_sel;
  logic [47:0] value_q;
  assign mark_sel = sel_i - FirstMark;
  for (genvar i = 0; i < 2 ** MarkAw; i++) begin : g_level
    assign level[i] = i < NumMark ? LevelW'(level_i >> LevelW * i) : '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      value_q <= '0;
      for (int unsigned i = 0; i < LowW; i++) low[i] = '0;
      for (int unsigned i = 0; i < LowW; i++) low_copy[i] = '0;
      for (int unsigned i = 0; i < NumCnt; i++) high[i] = '0;
      for (int unsigned i = 0; i < NumCnt; i++) high_copy[i] = '0;
      for (int unsigned i = 0; i < NumMark; i++) mark[i] = '0;
      for (int unsigned i = 0; i < NumMark; i++) mark_copy[i] = '0;
    end else if (clr_i) begin
      value_q <= '0;
      for (int unsigned i = 0; i < LowW; i++) low[i] = '0;
      for (int unsigned i = 0; i < LowW; i++) low_copy[i] = '0;
      for (int unsigned i = 0; i < NumCnt; i++) high[i] = '0;
      for (int unsigned i = 0; i < NumCnt; i++) high_copy[i] = '0;
      for (int unsigned i = 0; i < NumMark; i++) mark[i] = '0;
      for (int unsigned i = 0; i < NumMark; i++) mark_copy[i] = '0;
    end else begin
      if (rd_i) begin
        value_q <= '0;
        if (32'(sel_i) < NumCnt) begin
          value_q[47:LowW] <= high_copy[sel_i[CntAw-1:0]];
          for (int unsigned i = 0; i < LowW; i++) value_q[i] <= low_copy[i][sel_i[CntAw-1:0]];
        end else if (sel_i >= FirstMark && 32'(mark_sel) < NumMark) begin
          value_q[LevelW-1:0] <= mark_copy[mark_sel[MarkAw-1:0]];
        end
      end
      if (snap_i) begin
        for (int unsigned i = 0; i < LowW; i++) low_copy[i] = low[i];
        for (int unsigned i = 0; i < NumCnt; i++) high_copy[i] = high[i];
        for (int unsigned i = 0; i < NumMark; i++) mark_copy[i] = mark[i];
        for (int unsigned i = 0; i < NumMark; i++) mark[i] = '0;
      end
      if (run_i) begin
        carry = event_i;
        for (int unsigned i = 0; i < LowW; i++) begin
          next_carry = low[i] & carry;
          low[i] = low[i] ^ carry;
          carry = next_carry;
        end
        if (carry != '0) begin
          for (int unsigned i = 0; i < NumCnt; i++) high[i] = high[i] + HighW'(carry[i]);
        end
        for (int unsigned i = 0; i < NumMark; i++) mark[i] = level[i] > mark[i] ? level[i] : mark[i];
      end
      if (clear_i) begin
        for (int unsigned i = 0; i < LowW; i++) low[i] = '0;
        for (int unsigned i = 0; i < NumCnt; i++) high[i] = '0;
      end
    end
  end

  assign {hi_o, lo_o} = value_q;

  `ASSERT(ClearWins, !$past(clr_i && rst_ni) || {hi_o, lo_o} == 48'd0)
  `ASSERT(HoldUnread, $past(rd_i || clr_i || !rst_ni) || $past({hi_o, lo_o}) == {hi_o, lo_o})

endmodule
