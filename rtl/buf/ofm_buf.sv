// Output buffer between acc and post: 2N banks of 256 words of four int32.
//
// Column c owns two banks. Its results arrive in pixel order, two a cycle (pixel 2j from stream 0, pixel 2j+1 from stream
// 1); four consecutive pixels make a word, even words lie in the first bank of the column, odd ones in the second. Each
// column keeps its own write pointer, since columns are skewed; pointers wrap, the buffer is a ring of 1024/N tiles of 2N
// pixels.
// Read ports   Two: port 0 reads even columns, port 1 odd ones. raddr*_i[8:0] is the word of the column (bit 0: bank).
//              Data one cycle after re_i. Room for writes is a matter of credit (im2col).
module ofm_buf #(
  parameter int unsigned N = 8
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic [N-1:0]             we_i,
  input  logic [32*N-1:0]          wdata0_i,
  input  logic [32*N-1:0]          wdata1_i,
  input  logic [1:0]               re_i,
  input  logic [$clog2(N)-2:0]     rcol0_i,
  input  logic [$clog2(N)-2:0]     rcol1_i,
  input  logic [npu_pkg::OfmAw:0]  raddr0_i,
  input  logic [npu_pkg::OfmAw:0]  raddr1_i,
  output logic [127:0]             rdata0_o,
  output logic [127:0]             rdata1_o
);

  localparam int unsigned Cw = $clog2(N) - 1;

  logic [128*N-1:0] rd;  // read register of each column
  logic [Cw-1:0] rcol0_q;
  logic [Cw-1:0] rcol1_q;

  for (genvar c = 0; c < N; c++) begin : g_col
    logic [127:0] mem0[npu_pkg::OfmDepth];
    logic [127:0] mem1[npu_pkg::OfmDepth];
    logic [npu_pkg::OfmAw+1:0] wptr_q;  // pixel pair
    logic re;
    logic [npu_pkg::OfmAw:0] raddr;

    if (c % 2 == 0) begin : g_even
      assign re = re_i[0] && rcol0_i == Cw'(c / 2);
      assign raddr = raddr0_i;
    end else begin : g_odd
      assign re = re_i[1] && rcol1_i == Cw'(c / 2);
      assign raddr = raddr1_i;
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) wptr_q <= '0;
      else if (we_i[c]) wptr_q <= wptr_q + 1'b1;
    end

    always_ff @(posedge clk_i) begin
      if (we_i[c]) begin
        if (wptr_q[1]) mem1[wptr_q[npu_pkg::OfmAw+1:2]][64*wptr_q[0]+:64] <= {wdata1_i[32*c+:32], wdata0_i[32*c+:32]};
        else mem0[wptr_q[npu_pkg::OfmAw+1:2]][64*wptr_q[0]+:64] <= {wdata1_i[32*c+:32], wdata0_i[32*c+:32]};
      end
      if (re) rd[128*c+:128] <= raddr[0] ? mem1[raddr[npu_pkg::OfmAw:1]] : mem0[raddr[npu_pkg::OfmAw:1]];
    end
  end

  always_ff @(posedge clk_i) begin
    if (re_i[0]) rcol0_q <= rcol0_i;
    if (re_i[1]) rcol1_q <= rcol1_i;
  end

  assign rdata0_o = rd[256*rcol0_q+:128];
  assign rdata1_o = rd[256*rcol1_q+128+:128];

endmodule
