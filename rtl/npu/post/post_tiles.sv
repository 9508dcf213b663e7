// Requant walk of post: reads of a group's tiles in the order of the requantiser, and requests of their partial sums.
//
// Order        For each tile of the group: the pixels 8k + 4*Chan + (0..3) of all N channels, Cols channels at a time
//              (a pass). With psum_add one channel at a time, since partial sums come channel by channel and both
//              units' pixels with them: a word is two beats then, and the unit uses its own.
// INT16        (EnInt16, task_i.wide) A word has two sums: the pixels are 4k + 2*Chan + (0..1), and a pass has twice
//              the words.
// Requests     Of partial sums: one for each tile and channel that exists, ahead of the reads.
// Flow         A pass begins when the gather buffer of the requantiser has a slot for it and the tile (blk_*) has been
//              accepted; a word is read when its partial sums are there. done_o: no tile of the group is left.
// Throughput   A word of Cols channels a cycle; with psum_add one of a channel every two cycles.
// Document     docs/npu/npu.md section 4.2.
`include "assert.svh"

module post_tiles #(
  parameter int unsigned N = 8,
  parameter bit Chan = 1'b0,
  parameter int unsigned EnInt16 = 0,
  localparam int unsigned Cols = N >= 16 ? 4 : N / 4
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  npu_pkg::gemm_task_t       task_i,
  // the group
  input  logic                      begin_i,        // it begins in the next cycle
  input  logic                      run_i,
  output logic                      done_o,
  input  logic [npu_pkg::OfmAw:0]   group_i,        // tiles
  input  logic                      last_i,         // of the task
  input  logic [16:0]               npix_i,         // pixels of the task
  input  logic [16:0]               pix_i,          // first pixel
  input  logic [15:0]               blk_i,          // block of N output channels
  input  logic [npu_pkg::OfmAw:0]   ring_i,         // first word in each column of ofm_buf
  input  logic [31:0]               blk_poffset_i,  // partial sums of the block's first channel
  input  logic [31:0]               grp_addr_i,     // address of pixel 4*Chan
  output logic [31:0]               tile_addr_o,    // the same, of the tile; at the end: of the pixel behind the group
  // reads
  output logic                      walk_o,         // tiles are left
  output logic                      issue_o,
  output logic [$clog2(N)-1:0]      col_o,
  output logic [npu_pkg::OfmAw:0]   addr_o,
  output logic [$clog2(N):0]        ch_o,           // first channel of the pass
  output logic [npu_pkg::ParAw-1:0] par_addr_o,     // word of its factors, from the first one of the task
  output logic                      waits_room_o,
  // partial sums
  input  logic                      psum_valid_i,
  output logic                      psum_beat_o,    // the word to be read needs a beat
  output logic                      psum_ready_o,
  output logic                      psum_req_valid_o,
  input  logic                      psum_req_ready_i,
  output logic [31:0]               psum_req_offset_o,
  output logic [23:0]               psum_req_bytes_o,
  // the tile, to the requantiser
  output logic                      blk_valid_o,
  input  logic                      blk_ready_i,
  output logic [$clog2(N)+1:0]      blk_npix_o,     // pixels, channels that exist
  output logic [$clog2(N):0]        blk_nch_o,
  output logic                      blk_last_o,     // of the task
  input  logic                      pass_pop_i      // a slot of the gather buffer is free again
);

  localparam int unsigned Ln = $clog2(N);
  localparam int unsigned Lc = Cols > 1 ? $clog2(Cols) : 0;
  localparam int unsigned Ow = npu_pkg::OfmAw + 1;
  localparam int unsigned TileWords = N / 2;                      // words of a tile in a column
  localparam int unsigned Words = N / 4;                          // those of them that are this unit's
  localparam int unsigned Ww = (Words > 1 ? $clog2(Words) : 1) + (EnInt16 != 0 && Words > 1 ? 1 : 0);
  localparam int unsigned Slots = N >= 16 ? 8 : 16;               // of the gather buffer
  localparam int unsigned Tw = npu_pkg::OfmAw + 1;
  localparam int unsigned ParW = npu_pkg::ParAw;

  // ---------------------------------------------------------------- the walk
  logic            wide;                      // INT16
  logic [Tw-1:0]   tile_q;                    // tile of the group
  logic [Ln:0]     rch_q;                     // first channel of the pass
  logic [Ww-1:0]   rk_q;                      // word of the pass
  logic            rsub_q;                    // with partial sums: even or odd beat
  logic [16:0]     rpix_q;                    // first pixel of the tile
  logic [16:0]     rpix_left;
  logic [Ln+1:0]   rnpix;                     // pixels of the tile that exist
  logic [Ln:0]     rnch;                      // channels of the block that exist
  logic [Ln:0]     rnch_w;
  logic            r_walk, r_psum, r_beat, r_step, r_issue, r_blk_ok, r_room;
  logic            pass_first, word_last, pass_last, tile_last;
  logic            blk_sent_q;
  logic [4:0]      slots_q;
  logic [Ln:0]     beat_index;

  assign wide = EnInt16 != 0 && task_i.wide;
  assign r_walk = run_i && tile_q != group_i;
  assign rpix_left = npix_i - rpix_q;
  assign rnpix = rpix_left > 17'(2 * N) ? (Ln + 2)'(2 * N) : rpix_left[Ln+1:0];
  assign rnch_w = (Ln + 1)'(task_i.oc - (blk_i << Ln));
  assign rnch = task_i.oc - (blk_i << Ln) >= 16'(N) ? (Ln + 1)'(N) : rnch_w;
  assign r_psum = task_i.psum_add && rch_q < rnch;
  // with partial sums each word is two steps, one for each beat of the pair; the unit uses its own
  assign beat_index = (Ln + 1)'({rk_q, rsub_q});
  assign r_beat = r_psum && (wide ? {1'b0, beat_index, 1'b0} : {beat_index, 2'b00}) < {1'b0, rnpix};  // it exists
  assign pass_first = rk_q == '0 && (!r_psum || rsub_q == Chan);
  assign r_blk_ok = blk_sent_q || blk_ready_i;
  assign r_room = !pass_first || slots_q < 5'(Slots);
  assign r_step = r_walk && r_blk_ok && r_room && (!r_beat || psum_valid_i);
  assign r_issue = r_step && (!r_psum || rsub_q == Chan);
  assign word_last = rk_q == (wide ? Ww'(2 * Words - 1) : Ww'(Words - 1));
  assign pass_last = word_last && (!r_psum || rsub_q);
  assign tile_last = pass_last && rch_q + (Ln + 1)'(task_i.psum_add ? 1 : Cols) == (Ln + 1)'(N);

  assign done_o = tile_q == group_i;
  assign walk_o = r_walk;
  assign issue_o = r_issue;
  assign col_o = Ln'(rch_q >> Lc);
  assign addr_o = ring_i + (Ow'(32'(tile_q) * TileWords) << wide) + Ow'({rk_q, Chan});  // word 2k + Chan of the tile
  assign ch_o = rch_q;
  assign par_addr_o = ParW'((32'(blk_i) << (Ln - 2)) + (32'(rch_q) >> 2));
  assign waits_room_o = r_walk && !(r_room && r_blk_ok);
  assign psum_beat_o = r_beat;
  assign psum_ready_o = r_step && r_beat;
  assign blk_valid_o = r_walk && !blk_sent_q;
  assign blk_npix_o = rnpix;
  assign blk_nch_o = rnch;
  assign blk_last_o = last_i && tile_q + 1'b1 == group_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tile_q <= '0;
      rch_q <= '0;
      rk_q <= '0;
      rsub_q <= 1'b0;
      rpix_q <= '0;
      blk_sent_q <= 1'b0;
      slots_q <= '0;
      tile_addr_o <= '0;
    end else begin
      slots_q <= slots_q + 5'(r_issue && pass_first) - 5'(pass_pop_i);
      if (begin_i) begin
        tile_q <= '0;
        rpix_q <= pix_i;
        tile_addr_o <= grp_addr_i;
      end
      if (r_step) begin
        blk_sent_q <= !tile_last;
        if (r_psum) rsub_q <= !rsub_q;
        if (!r_psum || rsub_q) rk_q <= word_last ? '0 : rk_q + 1'b1;
        if (pass_last) rch_q <= tile_last ? '0 : rch_q + (Ln + 1)'(task_i.psum_add ? 1 : Cols);
        if (tile_last) begin
          tile_q <= tile_q + 1'b1;
          rpix_q <= rpix_q + 17'(2 * N);
          tile_addr_o <= tile_addr_o + (task_i.ofm_cstep << (Ln + 1));
        end
      end else if (blk_valid_o && blk_ready_i) begin
        blk_sent_q <= 1'b1;
      end
    end
  end

  // ---------------------------------------------------------------- requests of partial sums
  logic [Tw-1:0] pt_tile_q;
  logic [Ln:0]   pt_ch_q;
  logic [16:0]   pt_pix_q;
  logic [31:0]   pt_offset_q;
  logic [16:0]   pt_left;
  logic          pt_valid;
  assign pt_left = npix_i - pt_pix_q;
  assign pt_valid = run_i && task_i.psum_add && pt_tile_q != group_i;
  assign psum_req_valid_o = pt_valid;
  assign psum_req_offset_o = pt_offset_q + ({13'd0, pt_pix_q, 2'd0} << wide);
  assign psum_req_bytes_o = {5'd0, pt_left > 17'(2 * N) ? 17'(2 * N) : pt_left, 2'd0} << wide;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pt_tile_q <= '0;
      pt_ch_q <= '0;
      pt_pix_q <= '0;
      pt_offset_q <= '0;
    end else if (begin_i) begin
      pt_tile_q <= '0;
      pt_ch_q <= '0;
      pt_pix_q <= pix_i;
      pt_offset_q <= blk_poffset_i;
    end else if (pt_valid && psum_req_ready_i) begin
      pt_offset_q <= pt_offset_q + task_i.psum_cstep;
      pt_ch_q <= pt_ch_q + 1'b1;
      if (pt_ch_q + 1'b1 == rnch) begin
        pt_ch_q <= '0;
        pt_offset_q <= blk_poffset_i;
        pt_tile_q <= pt_tile_q + 1'b1;
        pt_pix_q <= pt_pix_q + 17'(2 * N);
      end
    end
  end

  `ASSERT(PostSlotsRange, slots_q <= 5'(Slots))

endmodule
