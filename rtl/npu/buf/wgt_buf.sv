// Weight buffer: two banks (ping-pong) of 4608 words of N INT8, each bank with one write port; one read port over both.
//
// With ping-pong a bank is written while the other one is read. With resident weights the later blocks of a bank arrive
// while im2col reads the first ones, so a bank is a 1R1W memory (the thesis has single-port ones and no resident
// weights). A word is never read in the cycle in which it is written. Latency: data one cycle after re_i.
// Throughput: a write into each bank and one read a cycle. Document: docs/npu/npu.md section 4.3.
`include "assert.svh"

module wgt_buf
#(
  parameter int unsigned N = 8
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic [1:0]                we_i,
  input  logic [npu_pkg::WgtAw-1:0] waddr0_i,
  input  logic [npu_pkg::WgtAw-1:0] waddr1_i,
  input  logic [8*N-1:0]            wdata0_i,
  input  logic [8*N-1:0]            wdata1_i,
  input  logic                      re_i,
  input  logic                      rbank_i,
  input  logic [npu_pkg::WgtAw-1:0] raddr_i,
  output logic [8*N-1:0]            rdata_o
);

  logic [8*N-1:0] mem0[npu_pkg::WgtDepth];
  logic [8*N-1:0] mem1[npu_pkg::WgtDepth];
  logic [8*N-1:0] rdata0_q, rdata1_q;  // a read register for each bank, as in a block RAM
  logic           rbank_q;

  always_ff @(posedge clk_i) begin
    if (we_i[0]) mem0[waddr0_i] <= wdata0_i;
    if (we_i[1]) mem1[waddr1_i] <= wdata1_i;
    if (re_i) begin
      rbank_q <= rbank_i;
      if (rbank_i) rdata1_q <= mem1[raddr_i];
      else rdata0_q <= mem0[raddr_i];
    end
  end

  assign rdata_o = rbank_q ? rdata1_q : rdata0_q;

  `ASSERT(WgtBufReadNew0, !(we_i[0] && re_i && !rbank_i && raddr_i == waddr0_i))
  `ASSERT(WgtBufReadNew1, !(we_i[1] && re_i && rbank_i && raddr_i == waddr1_i))

endmodule
