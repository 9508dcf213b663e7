// Buffer for two blocks of A or B: a bank for each k, so that every lane reads an operand of its own in each cycle.
//
// A word of a bank is four neighbouring rows (A) or columns (B) of one k; a bank has Dim/4 words for each of the two
// halves. along_k_i says how a word of the loader lies in the block: 1: four neighbouring k of row or column wr_seg_i,
// an element for each of four banks; 0: a whole word of bank wr_seg_i. So A and B load at the same rate with and
// without transposing.
// Read: lane k reads its bank at word WordLsb of its entry lane_i[32*k +: 32] (sgemm_pkg::Lane*) when the entry is
// valid and the lane has an operand (k < kb). Data one cycle later.
// Throughput: a word in and an operand for each lane out a cycle. Document: docs/sgemm/sgemm.md section 3.
`include "assert.svh"

module sgemm_blk_buf #(
  parameter int unsigned Dim = 8,
  parameter int unsigned Vec = 8,
  parameter int unsigned ElemW = 32,
  parameter int unsigned WordLsb = sgemm_pkg::LaneIWord
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     along_k_i,
  input  logic                     wr_valid_i,
  input  logic                     wr_half_i,
  input  logic [sgemm_pkg::Bw-1:0] wr_seg_i,
  input  logic [sgemm_pkg::Ww-1:0] wr_grp_i,
  input  logic [3:0]               wr_mask_i,
  input  logic [4*ElemW-1:0]       wr_data_i,
  input  logic [32*Vec-1:0]        lane_i,
  output logic [4*ElemW*Vec-1:0]   rd_data_o
);

  localparam int unsigned Words = Dim / 4;
  localparam int unsigned Depth = 2 * Words;
  localparam int unsigned Aw = $clog2(Depth);
  localparam int unsigned Bw = sgemm_pkg::Bw;
  localparam int unsigned Ww = sgemm_pkg::Ww;

  // what every bank of a group of four (along k) or one bank writes
  logic [Aw-1:0] waddr;
  logic [Ww-1:0] wword;
  logic [3:0] element;
  assign wword = along_k_i ? wr_seg_i[Bw-1:2] : wr_grp_i;
  assign waddr = wr_half_i ? Aw'(wword) + Aw'(Words) : Aw'(wword);
  assign element = 4'd1 << wr_seg_i[1:0];

  // groups of eight, as a simulator limits the length of one generate loop
  for (genvar g = 0; g < (Vec + 7) / 8; g++) begin : g_group
    for (genvar l = 0; l < (Vec - 8 * g < 8 ? Vec - 8 * g : 8); l++) begin : g_bank
      localparam int unsigned K = 8 * g + l;
      (* ram_style = "block" *) logic [4*ElemW-1:0] mem[Depth];
      logic [Aw-1:0] raddr;
      logic [31:0] entry;
      assign entry = lane_i[32*K+:32];
      assign raddr = Aw'(entry[WordLsb+:Ww]) + (entry[sgemm_pkg::LaneHalf] ? Aw'(Words) : '0);

      always_ff @(posedge clk_i) begin
        if (wr_valid_i) begin
          if (along_k_i) begin
            if (wr_grp_i == Ww'(K / 4) && wr_mask_i[K%4]) begin
              if (element[0]) mem[waddr][0+:ElemW] <= wr_data_i[ElemW*(K%4)+:ElemW];
              if (element[1]) mem[waddr][ElemW+:ElemW] <= wr_data_i[ElemW*(K%4)+:ElemW];
              if (element[2]) mem[waddr][2*ElemW+:ElemW] <= wr_data_i[ElemW*(K%4)+:ElemW];
              if (element[3]) mem[waddr][3*ElemW+:ElemW] <= wr_data_i[ElemW*(K%4)+:ElemW];
            end
          end else if (wr_seg_i == Bw'(K)) begin
            if (wr_mask_i[0]) mem[waddr][0+:ElemW] <= wr_data_i[0+:ElemW];
            if (wr_mask_i[1]) mem[waddr][ElemW+:ElemW] <= wr_data_i[ElemW+:ElemW];
            if (wr_mask_i[2]) mem[waddr][2*ElemW+:ElemW] <= wr_data_i[2*ElemW+:ElemW];
            if (wr_mask_i[3]) mem[waddr][3*ElemW+:ElemW] <= wr_data_i[3*ElemW+:ElemW];
          end
        end
        if (entry[sgemm_pkg::LaneValid] && Bw'(K) < entry[sgemm_pkg::LaneKb+:Bw])
          rd_data_o[4*ElemW*K+:4*ElemW] <= mem[raddr];
      end

      logic unused;
      assign unused = ^entry;

      // the half that is loaded is not read
      `ASSERT(BlkBufHalves, !(wr_valid_i && entry[sgemm_pkg::LaneValid] && Bw'(K) < entry[sgemm_pkg::LaneKb+:Bw] &&
          raddr == waddr && (along_k_i ? wr_grp_i == Ww'(K / 4) && wr_mask_i[K%4] : wr_seg_i == Bw'(K))))
    end
  end

  logic unused_rst;
  assign unused_rst = ^{rst_ni, wword};

endmodule
