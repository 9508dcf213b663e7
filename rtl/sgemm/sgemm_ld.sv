// Loader of one operand: the blocks of a walk from memory into one half of its buffer after the other.
//
// What it does
//   A block is outer x inner elements, segments of neighbouring elements in memory: one DMA job each, from byte address
//   addr_i + (outer * ld_i + inner) * size on. outer_i and inner_i say which index of the GEMM each is (sgemm_pkg:
//   IndexI, IndexJ, IndexK), so A, B and C and their transposes are cases of the same walk. Elements arrive four a
//   cycle (a beat of eight binary16 takes two cycles), are widened (f16_i), multiplied by factor_i (Scale = 1) and
//   rounded to binary16 (Round = 1 and half_i), and leave as words for the buffer: segment wr_seg_o, four neighbouring
//   elements wr_grp_o, those that exist wr_mask_o. ElemW = 16: words of binary16 (Round = 1).
// Flow
//   start_i begins the walk of a task; m_i .. factor_i are stable until its end. A block is requested when half of the
//   buffer is free (two at first; free_i returns one) and allow_i is 1. taken_o pulses with its request, asked_o with
//   that of its last segment, loaded_o in the cycle in which its last word is written: from the next cycle on the
//   block can be read. Data are always accepted.
// Latency: free_i to the first request 2 cycles; data to wr_valid_o 3 cycles. Throughput: a segment and four elements a
//   cycle.
// Document: docs/sgemm/sgemm.md section 3.
`include "assert.svh"

module sgemm_ld #(
  parameter int unsigned Dim = 8,
  parameter int unsigned Vec = 8,
  parameter bit Scale = 1'b0,
  parameter bit Round = 1'b0,
  parameter int unsigned ElemW = 32
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     start_i,
  input  logic [15:0]              m_i,
  input  logic [15:0]              n_i,
  input  logic [15:0]              k_i,
  input  logic [1:0]               outer_i,
  input  logic [1:0]               inner_i,
  input  logic [31:0]              addr_i,
  input  logic [23:0]              ld_i,
  input  logic                     f16_i,
  input  logic                     half_i,
  input  logic [31:0]              factor_i,

  input  logic                     allow_i,
  input  logic                     free_i,
  output logic                     taken_o,
  output logic                     taken_first_o,  // the block is the first slice of its tile
  output logic                     asked_o,
  output logic                     loaded_o,

  output logic                     req_valid_o,
  input  logic                     req_ready_i,
  output logic [31:0]              req_addr_o,
  output logic [sgemm_pkg::JobW-1:0] req_bytes_o,
  input  logic                     dat_valid_i,
  output logic                     dat_ready_o,
  input  logic [127:0]             dat_i,

  output logic                     wr_valid_o,
  output logic                     wr_half_o,
  output logic [sgemm_pkg::Bw-1:0] wr_seg_o,
  output logic [sgemm_pkg::Ww-1:0] wr_grp_o,
  output logic [3:0]               wr_mask_o,
  output logic [4*ElemW-1:0]       wr_data_o
);

  localparam int unsigned Bw = sgemm_pkg::Bw;
  localparam int unsigned Ww = sgemm_pkg::Ww;

  // ------------------------------------------------------------------------------------------------ requests
  logic walk_valid, walk_first, walk_last;
  logic [15:0] i0, j0, k0;
  logic [Bw-1:0] mb, nb, kb;
  logic take;
  sgemm_walk #(
    .Dim(Dim),
    .Vec(Vec)
  ) u_walk (
    .clk_i,
    .rst_ni,
    .start_i,
    .m_i,
    .n_i,
    .k_i,
    .next_i(take),
    .valid_o(walk_valid),
    .i0_o(i0),
    .j0_o(j0),
    .k0_o(k0),
    .mb_o(mb),
    .nb_o(nb),
    .kb_o(kb),
    .first_o(walk_first),
    .last_o(walk_last)
  );

  logic [15:0] outer0, inner0;
  logic [Bw-1:0] outer_b, inner_b;
  assign outer0 = outer_i == sgemm_pkg::IndexI ? i0 : outer_i == sgemm_pkg::IndexJ ? j0 : k0;
  assign inner0 = inner_i == sgemm_pkg::IndexI ? i0 : inner_i == sgemm_pkg::IndexJ ? j0 : k0;
  assign outer_b = outer_i == sgemm_pkg::IndexI ? mb : outer_i == sgemm_pkg::IndexJ ? nb : kb;
  assign inner_b = inner_i == sgemm_pkg::IndexI ? mb : inner_i == sgemm_pkg::IndexJ ? nb : kb;

  logic [1:0] free_q;      // halves of the buffer
  logic segs_q;            // a block is being requested
  logic [Bw-1:0] left_q;   // its segments still to be requested
  logic [Bw-1:0] inner_q;
  logic [31:0] addr_q;
  logic meta_ready;
  logic [31:0] first_elem;
  logic seg_last;
  assign first_elem = 32'(outer0) * 32'(ld_i) + 32'(inner0);
  assign seg_last = segs_q && req_ready_i && left_q == Bw'(1);
  assign take = walk_valid && (!segs_q || seg_last) && free_q != 2'd0 && allow_i && meta_ready;
  assign taken_o = take;
  assign taken_first_o = walk_first;
  assign asked_o = seg_last;
  assign req_valid_o = segs_q;
  assign req_addr_o = addr_q;
  assign req_bytes_o = f16_i ? {1'b0, inner_q, 1'b0} : {inner_q, 2'b00};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      free_q <= 2'd2;
      segs_q <= 1'b0;
      left_q <= '0;
      inner_q <= '0;
      addr_q <= '0;
    end else begin
      free_q <= start_i ? 2'd2 : free_q + {1'b0, free_i} - {1'b0, take};
      if (take) begin
        segs_q <= 1'b1;
        left_q <= outer_b;
        inner_q <= inner_b;
        addr_q <= addr_i + (f16_i ? first_elem << 1 : first_elem << 2);
      end else if (segs_q && req_ready_i) begin
        segs_q <= !seg_last;
        left_q <= left_q - 1'b1;
        addr_q <= addr_q + (f16_i ? 32'(ld_i) << 1 : 32'(ld_i) << 2);
      end
    end
  end

  // ------------------------------------------------------------------------------------------------ data
  // the blocks that are requested: their segments and the elements of each
  logic meta_valid, meta_pop;
  logic [2*Bw-1:0] meta;
  logic [1:0] meta_count;
  fifo #(
    .Width(2 * Bw),
    .Depth(2)
  ) u_meta (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(take),
    .wready_o(meta_ready),
    .wdata_i({outer_b, inner_b}),
    .rvalid_o(meta_valid),
    .rready_i(meta_pop),
    .rdata_o(meta),
    .count_o(meta_count)
  );

  logic half_q;            // of the buffer
  logic upper_q;           // the upper four elements of a beat of binary16 are next
  logic [Bw-1:0] seg_q;
  logic [Ww-1:0] grp_q;
  logic [Bw-1:0] left;     // elements of the segment from this word on
  logic word, word_last, block_last;
  assign left = meta[Bw-1:0] - {grp_q, 2'b00};
  assign word = dat_valid_i && meta_valid;
  assign word_last = left <= Bw'(4);
  assign block_last = word_last && seg_q == meta[Bw+:Bw] - 1'b1;
  assign dat_ready_o = meta_valid && (!f16_i || upper_q || word_last);
  assign meta_pop = word && block_last;

  // widened, multiplied, rounded: a stage each
  logic [2:0] valid_q;
  logic [2:0] last_q;
  logic [127:0] wide_q, prod_q;
  localparam int unsigned PlaceW = 1 + Bw + Ww + 4;
  logic [PlaceW-1:0] place1_q, place2_q, place3_q;
  logic [3:0] mask;
  assign mask = {left > Bw'(3), left > Bw'(2), left > Bw'(1), 1'b1};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      half_q <= 1'b0;
      upper_q <= 1'b0;
      seg_q <= '0;
      grp_q <= '0;
      valid_q <= '0;
      last_q <= '0;
    end else begin
      if (start_i) half_q <= 1'b0;
      valid_q <= {valid_q[1:0], word};
      last_q <= {last_q[1:0], word && block_last};
      if (word) begin
        upper_q <= f16_i && !upper_q && !word_last;
        grp_q <= word_last ? '0 : grp_q + 1'b1;
        if (word_last) seg_q <= block_last ? '0 : seg_q + 1'b1;
        if (block_last) half_q <= !half_q;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (word) begin
      place1_q <= {half_q, seg_q, grp_q, mask};
      if (f16_i) begin
        for (int unsigned l = 0; l < 4; l++)
          wide_q[32*l+:32] <= fp_pkg::f16_to_f32_f(upper_q ? dat_i[64+16*l+:16] : dat_i[16*l+:16]);
      end else begin
        wide_q <= dat_i;
      end
    end
    if (valid_q[0]) begin
      place2_q <= place1_q;
      if (Scale) begin
        for (int unsigned l = 0; l < 4; l++) prod_q[32*l+:32] <= fp_pkg::fp_mul_f(factor_i, wide_q[32*l+:32]);
      end else begin
        prod_q <= wide_q;
      end
    end
    if (valid_q[1]) place3_q <= place2_q;
  end

  if (ElemW == 16) begin : g_f16
    always_ff @(posedge clk_i) begin
      if (valid_q[1]) begin
        for (int unsigned l = 0; l < 4; l++) wr_data_o[16*l+:16] <= fp_pkg::f32_to_f16_f(prod_q[32*l+:32]);
      end
    end
    logic unused_half;
    assign unused_half = half_i;
  end else begin : g_f32
    always_ff @(posedge clk_i) begin
      if (valid_q[1]) begin
        if (Round && half_i) begin
          for (int unsigned l = 0; l < 4; l++)
            wr_data_o[32*l+:32] <= fp_pkg::f16_to_f32_f(fp_pkg::f32_to_f16_f(prod_q[32*l+:32]));
        end else begin
          wr_data_o <= prod_q;
        end
      end
    end
  end

  assign wr_valid_o = valid_q[2];
  assign loaded_o = last_q[2];
  assign {wr_half_o, wr_seg_o, wr_grp_o, wr_mask_o} = place3_q;

  logic unused;
  assign unused = ^{meta_count, walk_last, factor_i, half_i};

  `ASSERT(LdDataExpected, !dat_valid_i || meta_valid)
  `ASSERT(LdFreeRange, !(free_i && free_q == 2'd2 && !take))
  `ASSERT_STABLE(ReqStable, req_valid_o, req_ready_i, {req_addr_o, req_bytes_o})

endmodule
