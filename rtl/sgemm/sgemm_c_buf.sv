// Buffer for two tiles of C: while one is computed, the other one is written back and filled again.
//
// A half has R banks (row mod R) of Dim/R * Dim/4 words of four columns, one write and one read a cycle each. Of the
// half that is computed the lanes read one word of every bank and write one element of every bank (m_*); of the other
// half the loader writes a word (l_*) and the store reads one (s_*). Data one cycle after the read.
// Document: docs/sgemm/sgemm.md section 3.
`include "assert.svh"

module sgemm_c_buf #(
  parameter int unsigned Dim = 8,
  parameter int unsigned R = 1,
  localparam int unsigned Aw = $clog2(Dim / R * (Dim / 4))
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  // lanes
  input  logic              m_re_i,
  input  logic              m_rhalf_i,
  input  logic [Aw-1:0]     m_raddr_i,
  output logic [128*R-1:0]  m_rdata_o,
  input  logic [R-1:0]      m_we_i,
  input  logic              m_whalf_i,
  input  logic [Aw-1:0]     m_waddr_i,
  input  logic [3:0]        m_wsel_i,   // column in the word, one bit each
  input  logic [32*R-1:0]   m_wdata_i,
  // loader
  input  logic              l_we_i,
  input  logic              l_half_i,
  input  logic [1:0]        l_bank_i,
  input  logic [Aw-1:0]     l_addr_i,
  input  logic [3:0]        l_mask_i,
  input  logic [127:0]      l_data_i,
  // store
  input  logic              s_re_i,
  input  logic              s_half_i,
  input  logic [1:0]        s_bank_i,
  input  logic [Aw-1:0]     s_addr_i,
  output logic [127:0]      s_rdata_o
);

  localparam int unsigned Depth = Dim / R * (Dim / 4);

  logic [128*R-1:0] rdata0, rdata1;  // read registers of the banks of each half
  logic m_half_q, s_half_q;
  logic [1:0] s_bank_q;

  for (genvar r = 0; r < R; r++) begin : g_bank
    for (genvar h = 0; h < 2; h++) begin : g_half
      (* ram_style = "block" *) logic [127:0] mem[Depth];
      logic [127:0] rdata;
      logic m_re, s_re, m_we, l_we;
      logic [Aw-1:0] raddr, waddr;
      logic [3:0] we;
      logic [127:0] wdata;
      assign m_re = m_re_i && m_rhalf_i == 1'(h);
      assign s_re = s_re_i && s_half_i == 1'(h) && s_bank_i == 2'(r);
      assign m_we = m_we_i[r] && m_whalf_i == 1'(h);
      assign l_we = l_we_i && l_half_i == 1'(h) && l_bank_i == 2'(r);
      assign raddr = m_re ? m_raddr_i : s_addr_i;
      assign waddr = m_we ? m_waddr_i : l_addr_i;
      assign we = (m_we ? m_wsel_i : 4'd0) | (l_we ? l_mask_i : 4'd0);
      assign wdata = m_we ? {4{m_wdata_i[32*r+:32]}} : l_data_i;
      always_ff @(posedge clk_i) begin
        if (m_we || l_we) begin
          if (we[0]) mem[waddr][31:0] <= wdata[31:0];
          if (we[1]) mem[waddr][63:32] <= wdata[63:32];
          if (we[2]) mem[waddr][95:64] <= wdata[95:64];
          if (we[3]) mem[waddr][127:96] <= wdata[127:96];
        end
        if (m_re || s_re) rdata <= mem[raddr];
      end
      if (h == 0) begin : g_low
        assign rdata0[128*r+:128] = rdata;
      end else begin : g_high
        assign rdata1[128*r+:128] = rdata;
      end
      `ASSERT(CBufOneReader, !(m_re && s_re))
      `ASSERT(CBufOneWriter, !(m_we && l_we))
    end
  end

  always_ff @(posedge clk_i) begin
    if (m_re_i) m_half_q <= m_rhalf_i;
    if (s_re_i) begin
      s_half_q <= s_half_i;
      s_bank_q <= s_bank_i;
    end
  end

  assign m_rdata_o = m_half_q ? rdata1 : rdata0;
  always_comb begin
    s_rdata_o = '0;
    for (int unsigned r = 0; r < R; r++) begin
      if (s_bank_q == r[1:0]) s_rdata_o = s_half_q ? rdata1[128*r+:128] : rdata0[128*r+:128];
    end
  end

  logic unused;
  assign unused = rst_ni;

endmodule
