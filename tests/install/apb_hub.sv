// A hub between APB and registers of two kinds, for tests of APB ports whose PSEL have several bits: a completer with
// two selects that share the other signals, and two requesters whose PSEL, PRDATA, PREADY are parts of vectors and
// which share PADDR and what goes with it. An access to select 0 is one to a register here, one to select 1 goes on to
// the requester that address bit 9 chooses. Not part of any design of this tree.
module apb_hub (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [1:0]  s_psel_i,
  input  logic        s_penable_i,
  input  logic [9:0]  s_paddr_i,
  input  logic        s_pwrite_i,
  input  logic [31:0] s_pwdata_i,
  output logic [31:0] s_prdata_o,
  output logic        s_pready_o,
  output logic [1:0]  m_psel_o,
  output logic        m_penable_o,
  output logic [9:0]  m_paddr_o,
  output logic        m_pwrite_o,
  output logic [31:0] m_pwdata_o,
  input  logic [63:0] m_prdata_i,
  input  logic [1:0]  m_pready_i,
  input  logic [1:0]  m_pslverr_i
);
  logic [31:0] reg_q[4];
  logic        which, away;

  assign which = s_paddr_i[9];
  assign away = s_psel_i[1];
  assign m_psel_o = away ? 2'b01 << which : '0;
  assign m_penable_o = away && s_penable_i;
  assign m_paddr_o = {1'b0, s_paddr_i[8:0]};
  assign m_pwrite_o = s_pwrite_i;
  assign m_pwdata_o = s_pwdata_i;
  assign s_pready_o = away ? m_pready_i[which] : 1'b1;
  assign s_prdata_o = away ? m_prdata_i[32*which+:32] : reg_q[s_paddr_i[3:2]];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      for (int i = 0; i < 4; i++) reg_q[i] <= 32'(i);
    end else if (s_psel_i[0] && s_penable_i && s_pwrite_i) begin
      reg_q[s_paddr_i[3:2]] <= s_pwdata_i;
    end
  end

  logic unused;
  assign unused = ^m_pslverr_i;
endmodule
