// Store: tiles of C from the C buffer to memory.
//
// tile_i pulses for a tile that is complete; with zero_i (alpha*op(A)*op(B) and beta*C are both absent) every tile is,
// and zeros are written. A row of a tile is a DMA job; its words leave four elements a cycle, narrowed to binary16 with
// f16_i, two words a beat then. free_o pulses when the last word of a tile was read: its half of the buffer is free.
// done_o is 1 when everything of the task was handed to the DMA channel.
// Latency: tile_i to the first read 2 cycles. Throughput: a row job and a word a cycle.
// Document: docs/sgemm/sgemm.md section 3.
`include "assert.svh"

module sgemm_c_st #(
  parameter int unsigned Dim = 8,
  parameter int unsigned R = 1,
  localparam int unsigned Aw = $clog2(Dim / R * (Dim / 4))
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          start_i,
  input  logic [15:0]   m_i,
  input  logic [15:0]   n_i,
  input  logic [31:0]   addr_i,
  input  logic [23:0]   ld_i,
  input  logic          f16_i,
  input  logic          zero_i,
  input  logic          tile_i,
  output logic          free_o,
  output logic          done_o,

  output logic          re_o,
  output logic          half_o,
  output logic [1:0]    bank_o,
  output logic [Aw-1:0] raddr_o,
  input  logic [127:0]  rdata_i,

  output logic          req_valid_o,
  input  logic          req_ready_i,
  output logic [31:0]   req_addr_o,
  output logic [sgemm_pkg::JobW-1:0] req_bytes_o,
  output logic          dat_valid_o,
  input  logic          dat_ready_i,
  output logic [127:0]  dat_o
);

  localparam int unsigned Bw = sgemm_pkg::Bw;
  localparam int unsigned Ww = sgemm_pkg::Ww;
  localparam int unsigned Beats = 4;  // of the output buffer

  logic walk_valid, take;
  logic [15:0] i0, j0, k0;
  logic [Bw-1:0] mb, nb, kb;
  logic first, last;
  sgemm_walk #(
    .Dim(Dim),
    .Vec(32'd4)
  ) u_walk (
    .clk_i,
    .rst_ni,
    .start_i,
    .m_i,
    .n_i,
    .k_i(16'd1),
    .next_i(take),
    .valid_o(walk_valid),
    .i0_o(i0),
    .j0_o(j0),
    .k0_o(k0),
    .mb_o(mb),
    .nb_o(nb),
    .kb_o(kb),
    .first_o(first),
    .last_o(last)
  );

  // ------------------------------------------------------------------------------------------------ a tile
  logic [1:0] ready_q;          // tiles that are complete and not begun
  logic [Bw-1:0] mb_q, nb_q;
  logic [Bw-1:0] jobs_q;        // rows still to be requested
  logic [31:0] addr_q;
  logic [31:0] first_elem;
  logic reads_q;                // words are left to be read
  logic [Bw-1:0] row_q;
  logic [Ww-1:0] grp_q;
  logic half_q;
  logic row_end, tile_end, room;
  assign first_elem = 32'(i0) * 32'(ld_i) + 32'(j0);
  assign take = walk_valid && (zero_i || ready_q != 2'd0) && jobs_q == '0 && !reads_q;
  assign row_end = {grp_q, 2'b00} + Bw'(4) >= nb_q;
  assign tile_end = row_end && row_q == mb_q - 1'b1;
  assign req_valid_o = jobs_q != '0;
  assign req_addr_o = addr_q;
  assign req_bytes_o = f16_i ? {1'b0, nb_q, 1'b0} : {nb_q, 2'b00};
  assign re_o = reads_q && room;
  assign half_o = half_q;
  assign bank_o = 2'(row_q % Bw'(R));
  assign raddr_o = Aw'(sgemm_pkg::c_word(row_q, grp_q, 2'($clog2(R)), 12'(Dim / 4)));
  assign free_o = re_o && tile_end;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ready_q <= '0;
      mb_q <= '0;
      nb_q <= '0;
      jobs_q <= '0;
      addr_q <= '0;
      reads_q <= 1'b0;
      row_q <= '0;
      grp_q <= '0;
      half_q <= 1'b0;
    end else begin
      ready_q <= ready_q + {1'b0, tile_i} - {1'b0, take && !zero_i};
      if (start_i) half_q <= 1'b0;
      if (take) begin
        mb_q <= mb;
        nb_q <= nb;
        jobs_q <= mb;
        addr_q <= addr_i + (f16_i ? first_elem << 1 : first_elem << 2);
        reads_q <= 1'b1;
        row_q <= '0;
        grp_q <= '0;
      end else begin
        if (req_valid_o && req_ready_i) begin
          jobs_q <= jobs_q - 1'b1;
          addr_q <= addr_q + (f16_i ? 32'(ld_i) << 1 : 32'(ld_i) << 2);
        end
        if (re_o) begin
          grp_q <= row_end ? '0 : grp_q + 1'b1;
          if (row_end) row_q <= row_q + 1'b1;
          if (tile_end) begin
            reads_q <= 1'b0;
            half_q <= !half_q;
          end
        end
      end
    end
  end

  // ------------------------------------------------------------------------------------------------ words to beats
  logic read_q;                 // rdata_i is the word that was read
  logic read_end_q;             // the last one of its row
  logic upper_q;                // it fills the upper half of a beat
  logic [63:0] low_q;
  logic [63:0] narrow;
  logic [127:0] word;
  logic beat;
  logic [127:0] beat_data;
  logic [2:0] count;
  logic fifo_ready;
  assign room = count + {2'd0, read_q} < 3'(Beats);
  assign word = zero_i ? '0 : rdata_i;
  always_comb begin
    narrow = '0;
    if (read_q && f16_i) begin
      for (int unsigned l = 0; l < 4; l++) narrow[16*l+:16] = fp_pkg::f32_to_f16_f(word[32*l+:32]);
    end
  end
  assign beat = read_q && (!f16_i || upper_q || read_end_q);
  assign beat_data = !f16_i ? word : upper_q ? {narrow, low_q} : {64'd0, narrow};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_q <= 1'b0;
      read_end_q <= 1'b0;
      upper_q <= 1'b0;
      low_q <= '0;
    end else begin
      read_q <= re_o;
      read_end_q <= row_end;
      if (read_q && f16_i) begin
        upper_q <= !upper_q && !read_end_q;
        low_q <= narrow;
      end
    end
  end

  fifo #(
    .Width(128),
    .Depth(Beats)
  ) u_beats (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(beat),
    .wready_o(fifo_ready),
    .wdata_i(beat_data),
    .rvalid_o(dat_valid_o),
    .rready_i(dat_ready_i),
    .rdata_o(dat_o),
    .count_o(count)
  );

  assign done_o = !walk_valid && jobs_q == '0 && !reads_q && !read_q && !dat_valid_o;

  logic unused;
  assign unused = ^{k0, kb, first, last};

  `ASSERT(CStRoom, !beat || fifo_ready)
  `ASSERT(CStTiles, !(tile_i && ready_q == 2'd2))
  `ASSERT_STABLE(ReqStable, req_valid_o, req_ready_i, {req_addr_o, req_bytes_o})

endmodule
