// Input feature map buffer: 16384 words of N INT8 (one pixel of one channel block), one write and two reads a cycle.
//
// The two read ports share one enable. Synthesis makes two copies of a simple dual-port RAM. Addresses wrap, the buffer
// is a ring: ifm_ld allocates its words, im2col frees them.
// Latency      Data one cycle after re_i. A read of the word that is written in the same cycle returns the old word.
// Throughput   One write and two reads a cycle.
module ifm_buf
#(
  parameter int unsigned N = 8
) (
  input  logic                          clk_i,
  input  logic                          we_i,
  input  logic [npu_pkg::IfmAw-1:0]     waddr_i,
  input  logic [8*N-1:0]                wdata_i,
  input  logic                          re_i,
  input  logic [npu_pkg::IfmAw-1:0]     raddr0_i,
  input  logic [npu_pkg::IfmAw-1:0]     raddr1_i,
  output logic [8*N-1:0]                rdata0_o,
  output logic [8*N-1:0]                rdata1_o
);

  logic [8*N-1:0] mem[npu_pkg::IfmDepth];

  always_ff @(posedge clk_i) begin
    if (we_i) mem[waddr_i] <= wdata_i;
    if (re_i) begin
      rdata0_o <= mem[raddr0_i];
      rdata1_o <= mem[raddr1_i];
    end
  end

endmodule
