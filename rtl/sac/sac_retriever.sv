// retriever (document 001, section 4.2.4): the feature cache, and from it one feature vector a cycle for the array.
//
// Cache: two halves of CachePages pages; a page has WVec banks of CVec bytes, bank b holds the columns of the map that
// are b mod WVec, so a vector may begin at any column. Beats of 16 bytes are written to the half that the writer gives;
// a beat holds 16 / CVec banks.
//
// Read: one vector a cycle from sac_seq, at the array two cycles later. Each bank reads the page of its column; the
// lanes are put in order, columns outside the map, rows outside it and channels beyond C become 0 (bytes that pad a
// page are never trusted), and each activation is shifted left by d of its channel (contract: term()).
module sac_retriever #(
  parameter int unsigned WVec = 3,
  parameter int unsigned CVec = 2,
  parameter int unsigned CachePages = 4096,
  parameter int unsigned Depth = 16,
  localparam int unsigned Lo = $clog2(WVec),
  localparam int unsigned Dw = $clog2(Depth),
  localparam int unsigned FlagW = 10 + 2 + 1 + 2 + 1 + 1 + Dw,
  localparam int unsigned Lanes = WVec * CVec
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  sac_pkg::layer_task_t            task_i,
  // writes
  input  logic                            we_i,
  input  logic                            we_half_i,
  input  logic [                    18:0] we_page_i,
  input  logic [                     2:0] we_beat_i,
  input  logic [                   127:0] we_data_i,
  input  logic                            d_we_i,
  input  logic [                     7:0] d_addr_i,
  input  logic [                    47:0] d_i,
  // vector of the sequencer
  input  logic                            valid_i,
  input  logic [                    18:0] page_i,
  input  logic [                  Lo-1:0] bank_i,
  input  logic [                    13:0] col_i,
  input  logic                            row_ok_i,
  input  logic [                    11:0] group_i,
  input  logic [               FlagW-1:0] flags_i,
  // vector for the array
  output logic                            valid_o,
  output logic [               FlagW-1:0] flags_o,
  output logic [sac_pkg::XBits*Lanes-1:0] x_o
);

  localparam int unsigned XBits = sac_pkg::XBits;
  localparam int unsigned Aw = $clog2(CachePages);
  localparam int unsigned BankW = 8 * CVec;
  localparam int unsigned BeatBanks = 16 / CVec;  // banks in a beat
  localparam int unsigned LogT = $clog2(BeatBanks);  // channel groups in a word of the table of d

  // ---- banks ----
  logic [BankW*WVec-1:0] read_q;
  logic [WVec-1:0] wraps;  // the bank's column is in the next page
  generate
    genvar b;
    for (b = 0; b < WVec; b++) begin : g_bank
      logic [BankW-1:0] mem[2*CachePages];
      logic [Aw-1:0] rpage;  // page numbers are those of the largest map; the cache has fewer pages
      logic [Aw:0] raddr;
      logic [Aw:0] waddr;
      assign wraps[b] = (Lo + 1)'(b) < {1'b0, bank_i};
      assign rpage = Aw'(page_i + {18'd0, wraps[b]});
      assign raddr = task_i.half ? (Aw + 1)'(rpage) + (Aw + 1)'(CachePages) : (Aw + 1)'(rpage);
      assign waddr = we_half_i ? (Aw + 1)'(we_page_i[Aw-1:0]) + (Aw + 1)'(CachePages) : (Aw + 1)'(we_page_i[Aw-1:0]);
      always_ff @(posedge clk_i) begin
        if (we_i && we_beat_i == 3'(b / BeatBanks)) mem[waddr] <= we_data_i[BankW*(b%BeatBanks)+:BankW];
        if (valid_i) read_q[BankW*b+:BankW] <= mem[raddr];
      end
    end
  endgenerate

  // ---- shifts d ----
  logic [47:0] d_mem[256];
  logic [47:0] d_read_q;
  logic [3*CVec-1:0] d_word;
  always_ff @(posedge clk_i) begin
    if (d_we_i) d_mem[d_addr_i] <= d_i;
    if (valid_i) d_read_q <= d_mem[8'(group_i >> LogT)];
  end

  // ---- stage 1: what the read needs afterwards ----
  logic valid_q;
  logic [Lo-1:0] bank_q;
  logic [13:0] col_q;
  logic row_ok_q;
  logic [11:0] group_q;
  logic [FlagW-1:0] flags_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      bank_q <= '0;
      col_q <= '0;
      row_ok_q <= 1'b0;
      group_q <= '0;
      flags_q <= '0;
    end else begin
      valid_q <= valid_i;
      if (valid_i) begin
        bank_q <= bank_i;
        col_q <= col_i;
        row_ok_q <= row_ok_i;
        group_q <= group_i;
        flags_q <= flags_i;
      end
    end
  end
  always_comb begin
    d_word = '0;
    for (int unsigned i = 0; i < BeatBanks; i++)
      if ((group_q & 12'(BeatBanks - 1)) == 12'(i)) d_word = d_read_q[3*CVec*i+:3*CVec];
  end

  // ---- stage 2: order, zeros, shift ----
  logic [2*BankW*WVec-1:0] twice;
  logic [BankW*WVec-1:0] lanes;
  logic [CVec-1:0] chan_ok;
  logic [WVec-1:0] col_ok;
  logic [12:0] chan;
  assign twice = {read_q, read_q} >> {bank_q, {$clog2(BankW) {1'b0}}};
  assign lanes = twice[BankW*WVec-1:0];
  assign chan = 13'(group_q) << $clog2(CVec);
  always_comb begin
    for (int unsigned c = 0; c < CVec; c++) chan_ok[c] = chan + 13'(c) < task_i.c;
    for (int unsigned l = 0; l < WVec; l++)
      col_ok[l] = row_ok_q && $signed(col_q) + $signed(14'(l)) >= 14'sd0 &&
          $signed(col_q) + $signed(14'(l)) < $signed({4'd0, task_i.w});
  end

  logic out_valid_q;
  logic [FlagW-1:0] out_flags_q;
  logic [XBits*Lanes-1:0] x_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      out_valid_q <= 1'b0;
      out_flags_q <= '0;
      x_q <= '0;
    end else begin
      out_valid_q <= valid_q;
      if (valid_q) begin
        out_flags_q <= flags_q;
        for (int unsigned i = 0; i < Lanes; i++)
          x_q[XBits*i+:XBits] <= {XBits{col_ok[i/CVec] & chan_ok[i%CVec]}} &
              ({{XBits - 8{lanes[8*i+7]}}, lanes[8*i+:8]} << d_word[3*(i%CVec)+:3]);
      end
    end
  end
  assign valid_o = out_valid_q;
  assign flags_o = out_flags_q;
  assign x_o = x_q;

  logic unused;
  assign unused = ^{task_i, we_page_i, we_data_i, twice};

endmodule
