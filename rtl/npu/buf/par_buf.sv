// oscaleAndBiasMem: 256 words of four FP32 output scales and 256 of four biases, a ring, with a read port for each
// post.
//
// Latency: data one cycle after re_i[p]. Two copies of a simple dual-port RAM for each of the two memories.
// Throughput: a write and a read on each port a cycle. Document: docs/npu/npu.md section 4.3.
module par_buf (
  input  logic                      clk_i,
  input  logic [1:0]                we_i,      // oscale, bias
  input  logic [npu_pkg::ParAw-1:0] waddr0_i,
  input  logic [npu_pkg::ParAw-1:0] waddr1_i,
  input  logic [127:0]              wdata0_i,
  input  logic [127:0]              wdata1_i,
  input  logic [1:0]                re_i,
  input  logic [npu_pkg::ParAw-1:0] raddr0_i,
  input  logic [npu_pkg::ParAw-1:0] raddr1_i,
  output logic [127:0]              oscale0_o,
  output logic [127:0]              bias0_o,
  output logic [127:0]              oscale1_o,
  output logic [127:0]              bias1_o
);

  logic [127:0] mem_oscale[npu_pkg::ParDepth];
  logic [127:0] mem_bias[npu_pkg::ParDepth];

  always_ff @(posedge clk_i) begin
    if (we_i[0]) mem_oscale[waddr0_i] <= wdata0_i;
    if (we_i[1]) mem_bias[waddr1_i] <= wdata1_i;
    if (re_i[0]) begin
      oscale0_o <= mem_oscale[raddr0_i];
      bias0_o <= mem_bias[raddr0_i];
    end
    if (re_i[1]) begin
      oscale1_o <= mem_oscale[raddr1_i];
      bias1_o <= mem_bias[raddr1_i];
    end
  end

endmodule
