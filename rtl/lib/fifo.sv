// Synchronous FIFO, first word falls through, no path from inputs to outputs.
//
// A word written in one cycle can be read in the next. One write and one read a cycle, also when full minus one or
// empty plus one; a full FIFO accepts no word in the cycle in which one is read. Depth is any number from 2 up. clr_i
// empties it at the next edge and drops a word written in the same cycle.
// Latency: 1 cycle. Parameters: bits and number of words. Document: docs/npu/npu.md section 4.
`include "assert.svh"

module fifo #(
  parameter int unsigned Width = 32,
  parameter int unsigned Depth = 4
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       clr_i,
  input  logic                       wvalid_i,
  output logic                       wready_o,
  input  logic [          Width-1:0] wdata_i,
  output logic                       rvalid_o,
  input  logic                       rready_i,
  output logic [          Width-1:0] rdata_o,
  output logic [$clog2(Depth+1)-1:0] count_o
);

  localparam int unsigned Pw = $clog2(Depth);
  localparam int unsigned Cw = $clog2(Depth + 1);

  logic [Width-1:0] mem [Depth];
  logic [   Pw-1:0] wptr_q;
  logic [   Pw-1:0] rptr_q;
  logic [   Cw-1:0] count_q;
  logic             push;
  logic             pop;

  assign wready_o = count_q != Depth[Cw-1:0];
  assign rvalid_o = count_q != '0;
  assign rdata_o  = mem[rptr_q];
  assign count_o  = count_q;
  assign push     = wvalid_i && wready_o;
  assign pop      = rvalid_o && rready_i;

  always_ff @(posedge clk_i) begin
    if (push) mem[wptr_q] <= wdata_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q  <= '0;
      rptr_q  <= '0;
      count_q <= '0;
    end else if (clr_i) begin
      wptr_q  <= '0;
      rptr_q  <= '0;
      count_q <= '0;
    end else begin
      if (push) wptr_q <= (wptr_q == Pw'(Depth - 1)) ? '0 : wptr_q + 1'b1;
      if (pop) rptr_q <= (rptr_q == Pw'(Depth - 1)) ? '0 : rptr_q + 1'b1;
      if (push && !pop) count_q <= count_q + 1'b1;
      else if (pop && !push) count_q <= count_q - 1'b1;
    end
  end

  generate
    if (Depth != (1 << Cw) - 1) begin : g_range
      `ASSERT(FifoCountRange, count_q <= Depth[Cw-1:0])
    end
  endgenerate
  `ASSERT(FifoPointers, (wptr_q == rptr_q) == (count_q == '0 || count_q == Depth[Cw-1:0]))
  `ASSERT(FifoNoOverflow, !(push && count_q == Depth[Cw-1:0]))
  `ASSERT(FifoNoUnderflow, !(pop && count_q == '0))
  `ASSERT_STABLE(RStable, rvalid_o, rready_i || clr_i, rdata_o)

endmodule
