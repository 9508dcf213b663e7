// Weight buffer: two banks (ping-pong) of 4608 words of N INT8, each bank with one write port; one read port over both.
//
// A bank is written by its loader while the other one is read by im2col; each bank sees a read or a write in a cycle, never
// both, so a single-port RAM serves. Latency: data one cycle after re_i.
`include "npu_assert.svh"

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

  always_ff @(posedge clk_i) begin
    if (we_i[0]) mem0[waddr0_i] <= wdata0_i;
    if (we_i[1]) mem1[waddr1_i] <= wdata1_i;
    if (re_i) rdata_o <= rbank_i ? mem1[raddr_i] : mem0[raddr_i];
  end

  `NPU_ASSERT(wgt_buf_bank_single_port0, !(we_i[0] && re_i && !rbank_i))
  `NPU_ASSERT(wgt_buf_bank_single_port1, !(we_i[1] && re_i && rbank_i))

endmodule
