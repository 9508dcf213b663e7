// Output buffer between acc and post: 2N banks of 256 words of four int32.
//
// Column c owns two banks. Its results arrive in pixel order, two a cycle (pixel 2j from stream 0, pixel 2j+1 from
// stream 1); four consecutive pixels make a word, even words lie in the first bank of the column, odd ones in the
// second. Each column keeps its own write pointer, since columns are skewed; pointers wrap, the buffer is a ring of
// 1024/N tiles of 2N pixels.
// Read ports   Two, data one cycle after re_i; raddr*_i is the word of the column (bit 0: bank).
//              wide_i = 0: port p reads one word of column 2*rcol + p (so the ports never meet).
//              wide_i = 1: port p reads the word of bank p of Cols neighbouring columns, Cols*rcol on (bit 0 of the
//              address is ignored). The low 128 bits are the first column's. Writes are under credit control
//              (im2col).
// Throughput   2N sums in and two words (wide_i: two times Cols words) out a cycle.
// Document     docs/npu/npu.md section 4.3.
module ofm_buf #(
  parameter int unsigned N = 8,
  localparam int unsigned Cols = N >= 16 ? 4 : N / 4  // columns of a wide read
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic [N-1:0]             we_i,
  input  logic [32*N-1:0]          wdata0_i,
  input  logic [32*N-1:0]          wdata1_i,
  input  logic                     wide_i,
  input  logic [1:0]               re_i,
  input  logic [$clog2(N)-1:0]     rcol0_i,
  input  logic [$clog2(N)-1:0]     rcol1_i,
  input  logic [npu_pkg::OfmAw:0]  raddr0_i,
  input  logic [npu_pkg::OfmAw:0]  raddr1_i,
  output logic [128*Cols-1:0]      rdata0_o,
  output logic [128*Cols-1:0]      rdata1_o
);

  localparam int unsigned Ln = $clog2(N);
  localparam int unsigned Groups = N / Cols;

  logic [128*N-1:0] rd0;  // read registers of the banks of each column
  logic [128*N-1:0] rd1;
  logic [Ln-2:0] rcol0_q;
  logic [Ln-2:0] rcol1_q;
  localparam int unsigned Gw = $clog2(Groups);
  logic [Gw-1:0] grp0_q, grp1_q;
  logic          bank0_q, bank1_q;
  logic          wide_q;

  for (genvar c = 0; c < N; c++) begin : g_col
    // Block RAMs that are written 64 bits wide and read 128 bits wide. Reads come before the write of the same edge.
    (* ram_style = "block" *) logic [63:0] mem0[2*npu_pkg::OfmDepth];
    (* ram_style = "block" *) logic [63:0] mem1[2*npu_pkg::OfmDepth];
    logic [npu_pkg::OfmAw+1:0] wptr_q;  // pixel pair
    logic single, re0, re1;
    logic [npu_pkg::OfmAw:0] raddr;
    logic [npu_pkg::OfmAw-1:0] word0, word1;

    if (c % 2 == 0) begin : g_even
      assign single = !wide_i && re_i[0] && rcol0_i == Ln'(c / 2);
      assign raddr = raddr0_i;
    end else begin : g_odd
      assign single = !wide_i && re_i[1] && rcol1_i == Ln'(c / 2);
      assign raddr = raddr1_i;
    end
    assign re0 = (single && !raddr[0]) || (wide_i && re_i[0] && rcol0_i == Ln'(c / Cols));
    assign re1 = (single && raddr[0]) || (wide_i && re_i[1] && rcol1_i == Ln'(c / Cols));

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) wptr_q <= '0;
      else if (we_i[c]) wptr_q <= wptr_q + 1'b1;
    end

    assign word0 = wide_i ? raddr0_i[npu_pkg::OfmAw:1] : raddr[npu_pkg::OfmAw:1];
    assign word1 = wide_i ? raddr1_i[npu_pkg::OfmAw:1] : raddr[npu_pkg::OfmAw:1];
    always_ff @(posedge clk_i) begin
      if (re_i != 2'b00) begin  // so that a simulator does not compare column numbers in cycles without a read
        if (re0) rd0[128*c+:128] <= {mem0[{word0, 1'b1}], mem0[{word0, 1'b0}]};
        if (re1) rd1[128*c+:128] <= {mem1[{word1, 1'b1}], mem1[{word1, 1'b0}]};
      end
      if (we_i[c]) begin
        if (wptr_q[1]) mem1[{wptr_q[npu_pkg::OfmAw+1:2], wptr_q[0]}] = {wdata1_i[32*c+:32], wdata0_i[32*c+:32]};
        else mem0[{wptr_q[npu_pkg::OfmAw+1:2], wptr_q[0]}] = {wdata1_i[32*c+:32], wdata0_i[32*c+:32]};
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (re_i[0]) begin
      rcol0_q <= rcol0_i[Ln-2:0];
      grp0_q <= rcol0_i[Gw-1:0];
      bank0_q <= raddr0_i[0];
    end
    if (re_i[1]) begin
      rcol1_q <= rcol1_i[Ln-2:0];
      grp1_q <= rcol1_i[Gw-1:0];
      bank1_q <= raddr1_i[0];
    end
    if (re_i != 2'b00) wide_q <= wide_i;
  end

  always_comb begin
    rdata0_o = '0;
    rdata1_o = '0;
    if (wide_q) begin
      rdata0_o = rd0[128*Cols*grp0_q+:128*Cols];
      rdata1_o = rd1[128*Cols*grp1_q+:128*Cols];
    end else begin
      rdata0_o[127:0] = bank0_q ? rd1[256*rcol0_q+:128] : rd0[256*rcol0_q+:128];
      rdata1_o[127:0] = bank1_q ? rd1[256*rcol1_q+128+:128] : rd0[256*rcol1_q+128+:128];
    end
  end

endmodule
