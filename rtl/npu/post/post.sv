// Post: turns the sums of a task into results and writes them back; one unit on each DMA channel.
//
// Function     sum (+ partial sum) -> FP32 -> * oscale -> + bias -> activation, each step one binary32 operation
//              (docs/npu/npu.md section 2; thesis section 3.5); with ibias the bias is an int32 and is added to the sum
//              instead. raw_out passes the int32 sums. With requant the results
//              go on through the requantiser and the transposer (module requant) and leave as INT8 NHWC.
// Order        Groups of G tiles. For each block of N output channels, for each group (wgt_res: for each group, for
//              each block): FP32: each channel c = Chan, Chan+2, ... that exists: the group's pixels of that channel,
//              contiguous in memory, as one job of dma_wr (and, with psum_add, one of dma_rd before it). Jobs are
//              prepared ahead, so that streams follow each other without idle cycles.
//              Requant: each tile: the pixels 8k + 4*Chan + (0..3) of all N channels, Cols channels at a time; with
//              psum_add one channel at a time, since partial sums come channel by channel.
// Flow         tile_i pulses when a tile is complete in ofm_buf; free_o/free_tiles_o return them. A result is read only
//              when send_buf (requant: the gather buffer) has space for it, so the arithmetic never stalls.
// Throughput   FP32: four results a cycle; requant: 4*Cols. Latency: 5 cycles and the activation from the ofm_buf read
//              on.
// Completion   task_wait_o: dma_wr has accepted every write job of the task at the head; the parent responds with
//              task_done_i (a pulse, to both units) when both units wait and dma_wr is idle, that is, when the last
//              response has arrived.
// Clocks       active_o is 0 while the unit waits for a task, for tiles or for the end of the task and nothing is under
//              way: then the next clock edge changes nothing. The requantiser has a gated clock of its own (ClkGate).
`include "assert.svh"

module post #(
  parameter int unsigned N = 8,
  parameter bit Chan = 1'b0,
  parameter bit ClkGate = 1'b1,
  localparam int unsigned Cols = N >= 16 ? 4 : N / 4  // channels at a time with requant
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      task_valid_i,
  input  npu_pkg::gemm_task_t       task_i,
  input  logic                      par_ready_i,     // the factors of this task are in par_buf
  output logic                      task_wait_o,
  input  logic                      task_done_i,
  input  logic                      tile_i,
  output logic                      free_o,
  output logic [npu_pkg::OfmAw:0]   free_tiles_o,
  // par_buf
  output logic                      par_re_o,
  output logic [npu_pkg::ParAw-1:0] par_addr_o,
  input  logic [127:0]              par_oscale_i,
  input  logic [127:0]              par_bias_i,
  // ofm_buf
  output logic                      ofm_re_o,
  output logic [$clog2(N)-1:0]      ofm_col_o,
  output logic [npu_pkg::OfmAw:0]   ofm_addr_o,
  input  logic [128*Cols-1:0]       ofm_data_i,
  // partial sums
  output logic                      psum_req_valid_o,
  input  logic                      psum_req_ready_i,
  output logic [31:0]               psum_req_addr_o,
  output logic [23:0]               psum_req_bytes_o,
  input  logic                      psum_valid_i,
  output logic                      psum_ready_o,
  input  logic [127:0]              psum_i,
  // write-back
  output logic                      wr_req_valid_o,
  input  logic                      wr_req_ready_i,
  output logic [31:0]               wr_req_addr_o,
  output logic [23:0]               wr_req_bytes_o,
  output logic                      wr_valid_o,      // to send_buf, which never stalls (wr_ready_i) an FP32 word
  input  logic                      wr_ready_i,
  output logic [127:0]              wr_data_o,
  input  logic [15:0]               wr_level_i,      // words of this path in send_buf
  // events: busy, waits for space in send_buf, waits for partial sums
  output logic [2:0]                event_o,
  output logic                      active_o         // 0: the clock may stand still
);

  localparam int unsigned Ln = $clog2(N);
  localparam int unsigned Lc = Cols > 1 ? $clog2(Cols) : 0;
  localparam int unsigned Lanes = 4 * Cols;
  localparam int unsigned Ow = npu_pkg::OfmAw + 1;               // word address within a column of ofm_buf
  localparam int unsigned TileWords = N / 2;                      // words of a tile in a column
  localparam int unsigned Words = N / 4;                          // those of them that are this unit's with requant
  localparam int unsigned Ww = Words > 1 ? $clog2(Words) : 1;
  localparam int unsigned MaxGroup = (2 * npu_pkg::OfmDepth) / TileWords / 2;  // half of ofm_buf
  localparam int unsigned Slots = N >= 16 ? 8 : 16;               // of requant's gather buffer
  localparam int unsigned Stages = 5;                             // ofm_buf read to the activation
  localparam int unsigned Tw = npu_pkg::OfmAw + 1;
  localparam int unsigned ParW = npu_pkg::ParAw;

  // ---------------------------------------------------------------- groups and jobs
  typedef enum logic [3:0] {Idle, Prep, Group, Job, Send, NextJob, Tiles, Next, Wait} state_e;
  state_e state_q;

  logic [15:0]   ocb;
  logic [16:0]   npix_q;
  logic [15:0]   blk_q;         // block of N output channels
  logic [16:0]   pix_q;         // first pixel of the group
  logic [16:0]   pix_left;
  logic [16:0]   tiles_left;
  logic [Tw-1:0] group_max;
  logic [Tw-1:0] group;         // tiles in this group
  logic [16:0]   group_pix;     // pixels in this group
  logic [Tw-1:0] avail_q;       // complete tiles
  logic [Ow-1:0] ring_q;        // first word of the group in each column
  logic [Ln-1:0] col_q;
  logic [15:0]   chan_q;        // output channel of the job within the task
  logic [31:0]   offset_q;      // of the job's first byte
  logic [31:0]   poffset_q;
  logic [31:0]   blk_offset_q;  // of channel Chan (partial sums with requant: channel 0) of the block
  logic [31:0]   blk_poffset_q;
  logic [31:0]   chan_offset_q;
  logic [31:0]   chan_poffset_q;
  logic [31:0]   grp_addr_q;    // requant: pixel 4*Chan of the group, this block
  logic [31:0]   grp0_addr_q;   // requant, wgt_res: the same, first block
  logic [31:0]   tile_addr_q;   // requant: pixel 4*Chan of the tile, this block
  logic [ParW-1:0] par_base_q;
  logic          any_par;
  logic          chan_exists;
  logic          last_chan;
  logic          group_done;
  logic          last_group, last_blk, last_all;
  logic [1:0]    sent_q;        // {psum, write} request accepted
  logic          reqs_done;
  logic          rq_done;       // the tiles of the group have been read

  assign ocb = 16'((17'(task_i.oc) + 17'(N - 1)) >> Ln);
  assign pix_left = npix_q - pix_q;
  assign tiles_left = (pix_left + 17'(2 * N - 1)) >> (Ln + 1);
  always_comb begin
    group_max = task_i.group == 8'd0 ? Tw'(1) : Tw'(task_i.group);
    if (group_max > Tw'(MaxGroup)) group_max = Tw'(MaxGroup);
    group = tiles_left < 17'(group_max) ? tiles_left[Tw-1:0] : group_max;
    group_pix = 17'(group) << (Ln + 1);
    if (pix_left < group_pix) group_pix = pix_left;
  end
  assign any_par = task_i.oscale_en || task_i.bias_en;
  assign chan_exists = chan_q < task_i.oc;
  assign last_chan = col_q >= Ln'(N - 2) || chan_q + 16'd2 >= task_i.oc;
  assign last_group = pix_left <= 17'(group) << (Ln + 1);
  assign last_blk = blk_q + 16'd1 == ocb;
  assign last_all = last_group && last_blk;

  // FP32: the stream side processes one job at a time; the next one waits here
  logic          job_valid;
  logic          job_push;
  logic          job_ready;
  logic          job_pop;
  logic [31:0]   job_oscale, job_bias;
  logic [31:0]   par_oscale, par_bias;
  logic [1:0]    lane;
  logic [Ln-2:0] s_col;
  logic [Ow-1:0] s_base;
  logic [14:0]   s_words;
  logic [14:0]   words;

  assign words = 15'((group_pix + 17'd3) >> 2);
  assign lane = chan_q[1:0];
  assign par_oscale = par_oscale_i[32*lane+:32];
  assign par_bias = par_bias_i[32*lane+:32];
  assign reqs_done = (sent_q[0] || wr_req_ready_i) && (sent_q[1] || psum_req_ready_i || !task_i.psum_add);
  assign job_push = state_q == Send && reqs_done && job_ready;

  logic [2:0] unused_job_count;
  fifo #(
    .Width(64 + (Ln - 1) + Ow + 15),
    .Depth(4)
  ) u_jobs (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(job_push),
    .wready_o(job_ready),
    .wdata_i({par_oscale, par_bias, col_q[Ln-1:1], ring_q, words}),
    .rvalid_o(job_valid),
    .rready_i(job_pop),
    .rdata_o({job_oscale, job_bias, s_col, s_base, s_words}),
    .count_o(unused_job_count)
  );

  // The group's tiles are free when its last word has been read, as reported by the stream side.
  logic streams_idle;
  logic rq_idle;
  assign group_done = (state_q == NextJob && (last_chan || !chan_exists) && streams_idle) ||
      (state_q == Tiles && rq_done);
  assign free_o = group_done;
  assign free_tiles_o = group;
  assign task_wait_o = state_q == Wait && (!task_i.requant || rq_idle);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      npix_q <= '0;
      blk_q <= '0;
      pix_q <= '0;
      ring_q <= '0;
      col_q <= '0;
      chan_q <= '0;
      offset_q <= '0;
      poffset_q <= '0;
      blk_offset_q <= '0;
      blk_poffset_q <= '0;
      chan_offset_q <= '0;
      chan_poffset_q <= '0;
      grp_addr_q <= '0;
      grp0_addr_q <= '0;
      par_base_q <= '0;
      sent_q <= '0;
    end else begin
      unique case (state_q)
        Idle: begin
          npix_q <= 17'(task_i.ow) * 17'(task_i.oh);
          blk_q <= '0;
          pix_q <= '0;
          if (task_valid_i && par_ready_i) state_q <= Prep;
        end
        Prep: begin
          blk_offset_q <= Chan ? task_i.ofm_cstep : 32'd0;
          blk_poffset_q <= Chan && !task_i.requant ? task_i.psum_cstep : 32'd0;
          grp_addr_q <= task_i.ofm_addr + (Chan ? {task_i.ofm_cstep[29:0], 2'b00} : 32'd0);
          grp0_addr_q <= task_i.ofm_addr + (Chan ? {task_i.ofm_cstep[29:0], 2'b00} : 32'd0);
          state_q <= Group;
        end
        Group: begin
          col_q <= Ln'(Chan);
          chan_q <= (blk_q << Ln) + 16'(Chan && !task_i.requant);
          chan_offset_q <= blk_offset_q;
          chan_poffset_q <= blk_poffset_q;
          if (avail_q >= group) state_q <= task_i.requant ? Tiles : Job;
        end
        Job: begin  // reads the factors
          offset_q <= chan_offset_q + {13'd0, pix_q, 2'd0};
          poffset_q <= chan_poffset_q + {13'd0, pix_q, 2'd0};
          sent_q <= 2'b00;
          state_q <= chan_exists ? Send : NextJob;
        end
        Send: begin  // the factors have arrived; issue the requests, then the job
          if (wr_req_ready_i) sent_q[0] <= 1'b1;
          if (psum_req_valid_o && psum_req_ready_i) sent_q[1] <= 1'b1;
          if (job_push) state_q <= NextJob;
        end
        NextJob:
        if (!last_chan && chan_exists) begin
          col_q <= col_q + Ln'(2);
          chan_q <= chan_q + 16'd2;
          chan_offset_q <= chan_offset_q + {task_i.ofm_cstep[30:0], 1'b0};
          chan_poffset_q <= chan_poffset_q + {task_i.psum_cstep[30:0], 1'b0};
          state_q <= Job;
        end else if (streams_idle) begin
          state_q <= Next;
        end
        Tiles: if (rq_done) state_q <= Next;
        Next: begin
          ring_q <= ring_q + Ow'(32'(group) * TileWords);
          state_q <= last_all ? Wait : Group;
          if (task_i.wgt_res ? last_blk : !last_group) begin  // next group
            pix_q <= pix_q + (17'(group) << (Ln + 1));
          end else if (!task_i.wgt_res) begin
            pix_q <= '0;
          end
          if (task_i.wgt_res ? !last_blk : last_group) begin  // next block
            blk_q <= blk_q + 16'd1;
            blk_offset_q <= blk_offset_q + (task_i.ofm_cstep << Ln);
            blk_poffset_q <= blk_poffset_q + (task_i.psum_cstep << Ln);
          end else if (task_i.wgt_res) begin
            blk_q <= '0;
            blk_offset_q <= Chan ? task_i.ofm_cstep : 32'd0;
            blk_poffset_q <= Chan && !task_i.requant ? task_i.psum_cstep : 32'd0;
          end
          // requant addresses: tile_addr_q has moved past the group
          if (task_i.wgt_res) begin
            grp_addr_q <= last_blk ? tile_addr_q - (32'(blk_q) << Ln) : grp_addr_q + N;
          end else begin
            grp_addr_q <= last_group ? grp0_addr_q + ((32'(blk_q) + 32'd1) << Ln) : tile_addr_q;
          end
        end
        default:
        if (task_done_i) begin
          if (any_par) par_base_q <= par_base_q + ParW'((task_i.oc + 16'd3) >> 2);
          state_q <= Idle;
        end
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) avail_q <= '0;
    else avail_q <= avail_q + Tw'(tile_i) - (free_o ? group : '0);
  end

  // ---------------------------------------------------------------- requant: the walk over the tiles of a group
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
  logic            blk_valid, blk_ready;
  logic            blk_sent_q;
  logic            pass_pop;
  logic [4:0]      slots_q;
  logic [Ln:0]     beat_index;

  assign r_walk = state_q == Tiles && tile_q != group;
  assign rpix_left = npix_q - rpix_q;
  assign rnpix = rpix_left > 17'(2 * N) ? (Ln + 2)'(2 * N) : rpix_left[Ln+1:0];
  assign rnch_w = (Ln + 1)'(task_i.oc - (blk_q << Ln));
  assign rnch = task_i.oc - (blk_q << Ln) >= 16'(N) ? (Ln + 1)'(N) : rnch_w;
  assign r_psum = task_i.psum_add && rch_q < rnch;
  // with partial sums each word is two steps, one for each beat of the pair; the unit uses its own
  assign beat_index = (Ln + 1)'({rk_q, rsub_q});
  assign r_beat = r_psum && {beat_index, 2'b00} < {1'b0, rnpix};  // this beat exists
  assign pass_first = rk_q == '0 && (!r_psum || rsub_q == Chan);
  assign r_blk_ok = blk_sent_q || blk_ready;
  assign r_room = !pass_first || slots_q < 5'(Slots);
  assign r_step = r_walk && r_blk_ok && r_room && (!r_beat || psum_valid_i);
  assign r_issue = r_step && (!r_psum || rsub_q == Chan);
  assign word_last = rk_q == Ww'(Words - 1);
  assign pass_last = word_last && (!r_psum || rsub_q);
  assign tile_last = pass_last && rch_q + (Ln + 1)'(task_i.psum_add ? 1 : Cols) == (Ln + 1)'(N);
  assign blk_valid = r_walk && !blk_sent_q;
  assign rq_done = tile_q == group;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tile_q <= '0;
      rch_q <= '0;
      rk_q <= '0;
      rsub_q <= 1'b0;
      rpix_q <= '0;
      blk_sent_q <= 1'b0;
      slots_q <= '0;
      tile_addr_q <= '0;
    end else begin
      slots_q <= slots_q + 5'(r_issue && pass_first) - 5'(pass_pop);
      if (state_q == Group) begin
        tile_q <= '0;
        rpix_q <= pix_q;
        tile_addr_q <= grp_addr_q;
      end
      if (r_step) begin
        blk_sent_q <= !tile_last;
        if (r_psum) rsub_q <= !rsub_q;
        if (!r_psum || rsub_q) rk_q <= word_last ? '0 : rk_q + 1'b1;
        if (pass_last) rch_q <= tile_last ? '0 : rch_q + (Ln + 1)'(task_i.psum_add ? 1 : Cols);
        if (tile_last) begin
          tile_q <= tile_q + 1'b1;
          rpix_q <= rpix_q + 17'(2 * N);
          tile_addr_q <= tile_addr_q + (task_i.ofm_cstep << (Ln + 1));
        end
      end else if (blk_valid && blk_ready) begin
        blk_sent_q <= 1'b1;
      end
    end
  end

  // requests for the partial sums of the group: one for each tile and channel
  logic [Tw-1:0] pt_tile_q;
  logic [Ln:0]   pt_ch_q;
  logic [16:0]   pt_pix_q;
  logic [31:0]   pt_offset_q;
  logic [16:0]   pt_left;
  logic          pt_valid;
  assign pt_left = npix_q - pt_pix_q;
  assign pt_valid = state_q == Tiles && task_i.psum_add && pt_tile_q != group;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pt_tile_q <= '0;
      pt_ch_q <= '0;
      pt_pix_q <= '0;
      pt_offset_q <= '0;
    end else if (state_q == Group) begin
      pt_tile_q <= '0;
      pt_ch_q <= '0;
      pt_pix_q <= pix_q;
      pt_offset_q <= blk_poffset_q;
    end else if (pt_valid && psum_req_ready_i) begin
      pt_offset_q <= pt_offset_q + task_i.psum_cstep;
      pt_ch_q <= pt_ch_q + 1'b1;
      if (pt_ch_q + 1'b1 == rnch) begin
        pt_ch_q <= '0;
        pt_offset_q <= blk_poffset_q;
        pt_tile_q <= pt_tile_q + 1'b1;
        pt_pix_q <= pt_pix_q + 17'(2 * N);
      end
    end
  end

  assign psum_req_valid_o = pt_valid || (state_q == Send && task_i.psum_add && !sent_q[1]);
  assign psum_req_addr_o = task_i.psum_addr + (pt_valid ? pt_offset_q + {13'd0, pt_pix_q, 2'd0} : poffset_q);
  assign psum_req_bytes_o =
      pt_valid ? {5'd0, pt_left > 17'(2 * N) ? 17'(2 * N) : pt_left, 2'd0} : {5'd0, group_pix, 2'd0};

  // ---------------------------------------------------------------- stream: one read of ofm_buf a cycle
  logic [14:0]   word_q;
  logic          f_issue, issue;
  logic          last_word;
  logic [Stages-1:0] v_q;       // words in the arithmetic
  logic [5:0]    in_flight_q;   // FP32 words between the read and send_buf
  logic          f_room;
  logic          wide;          // the words in flight use all lanes

  assign wide = task_i.requant;
  assign last_word = word_q + 15'd1 == s_words;
  assign f_room = 32'(wr_level_i) + 32'(in_flight_q) < npu_pkg::SendGemm - 4;
  assign f_issue = job_valid && (!task_i.psum_add || psum_valid_i) && f_room;
  assign issue = f_issue || r_issue;
  assign job_pop = f_issue && last_word;
  assign psum_ready_o = (f_issue && task_i.psum_add) || (r_step && r_beat);
  assign ofm_re_o = issue;
  assign ofm_col_o = r_walk ? Ln'(rch_q >> Lc) : {1'b0, s_col};
  // requant: word 2k + Chan of the tile
  assign ofm_addr_o = r_walk ? ring_q + Ow'(32'(tile_q) * TileWords) + Ow'({rk_q, Chan}) : s_base + Ow'(word_q);
  assign streams_idle = !job_valid;  // every word of the group has been read
  assign event_o[0] = state_q != Idle && (state_q != Group || avail_q >= group || wr_req_valid_o);  // except for tiles
  assign event_o[1] = (job_valid && !f_room) || (r_walk && !(r_room && r_blk_ok));
  assign event_o[2] = (job_valid && task_i.psum_add && !psum_valid_i) || (r_walk && r_beat && !psum_valid_i);

  assign par_re_o = (state_q == Job && chan_exists) || r_issue;
  assign par_addr_o = par_base_q + (r_walk ? ParW'((32'(blk_q) << (Ln - 2)) + (32'(rch_q) >> 2)) : ParW'(chan_q >> 2));

  logic act_valid;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      word_q <= '0;
      v_q <= '0;
      in_flight_q <= '0;
    end else begin
      v_q <= {v_q[Stages-2:0], issue};
      in_flight_q <= in_flight_q + 6'(f_issue) - 6'(act_valid && !wide);
      if (f_issue) word_q <= last_word ? '0 : word_q + 15'd1;
    end
  end

  // stage 0: the buffer reads; 1: integer sum; 2: to FP32; 3: scale; 4: bias; then the activation. FP32 uses the first
  // four lanes.
  logic [127:0] psum_q, raw2_q, raw3_q, raw4_q;
  logic [32*Lanes-1:0] sum_q, flt, mul, mul_b, add, act_x, act_y, mul_in_q, add_in_q;
  logic [32*Cols-1:0] os0, bi0, ib0, os1_q, os2_q, bi1_q, bi2_q, bi3_q;
  logic [31:0] osf_q, bif_q;
  logic [1:0] pcol_q;  // first channel of the pass within the factors' word
  logic [1:0] ocol_q;  // column of the wide read that lanes 0..3 take

  always_comb begin
    os0 = '0;
    bi0 = '0;
    if (wide) begin
      for (int unsigned j = 0; j < Cols; j++) begin
        os0[32*j+:32] = par_oscale_i[32*((32'(pcol_q) + j)%4)+:32];
        bi0[32*j+:32] = par_bias_i[32*((32'(pcol_q) + j)%4)+:32];
      end
    end else begin
      os0[31:0] = osf_q;
      bi0[31:0] = bif_q;
    end
    ib0 = task_i.ibias ? bi0 : '0;
  end

  always_ff @(posedge clk_i) begin
    if (issue) begin
      psum_q <= (r_walk ? r_beat : task_i.psum_add) ? psum_i : '0;
      pcol_q <= 2'(rch_q);
      ocol_q <= r_walk && task_i.psum_add ? 2'(32'(rch_q) % Cols) : 2'd0;
      osf_q <= job_oscale;
      bif_q <= job_bias;
    end
    if (v_q[0]) begin
      for (int unsigned l = 0; l < 4; l++)
        sum_q[32*l+:32] <= ofm_data_i[128*32'(ocol_q)+32*l+:32] + psum_q[32*l+:32] + ib0[31:0];
      if (wide) for (int unsigned l = 4; l < Lanes; l++) sum_q[32*l+:32] <= ofm_data_i[32*l+:32] + ib0[32*(l/4)+:32];
      os1_q <= os0;
      bi1_q <= bi0;
    end
    if (v_q[1]) begin
      raw2_q <= sum_q[127:0];
      os2_q <= os1_q;
      bi2_q <= bi1_q;
    end
    if (v_q[2]) begin
      raw3_q <= raw2_q;
      mul_in_q[127:0] <= flt[127:0];
      if (wide) mul_in_q <= flt;
      bi3_q <= bi2_q;
    end
    if (v_q[3]) begin
      raw4_q <= raw3_q;
      add_in_q[127:0] <= mul_b[127:0];
      if (wide) add_in_q <= mul_b;
    end
  end

  assign mul_b = task_i.oscale_en ? mul : mul_in_q;
  always_comb begin
    act_x = task_i.bias_en && !task_i.ibias ? add : add_in_q;
    if (task_i.raw_out) act_x[127:0] = raw4_q;
  end

  for (genvar l = 0; l < Lanes; l++) begin : g_lane
    logic [2:0] en;
    assign en = l < 4 || wide ? v_q[3:1] : 3'b000;
    fp_i32_to_f32 u_flt (
      .clk_i,
      .en_i(en[0]),
      .a_i(sum_q[32*l+:32]),
      .y_o(flt[32*l+:32])
    );
    fp_mul u_mul (
      .clk_i,
      .en_i(en[1]),
      .a_i(flt[32*l+:32]),
      .b_i(os2_q[32*(l/4)+:32]),
      .y_o(mul[32*l+:32])
    );
    fp_add u_add (
      .clk_i,
      .en_i(en[2]),
      .a_i(mul_b[32*l+:32]),
      .b_i(bi3_q[32*(l/4)+:32]),
      .y_o(add[32*l+:32])
    );
  end

  act #(
    .Lanes(4)
  ) u_act (
    .clk_i,
    .rst_ni,
    .valid_i(v_q[4]),
    .act_i(task_i.act),
    .p0_i(task_i.act_p0),
    .p1_i(task_i.act_p1),
    .p2_i(task_i.act_p2),
    .p3_i(task_i.act_p3),
    .x_i(act_x[127:0]),
    .valid_o(act_valid),
    .y_o(act_y[127:0])
  );
  if (Lanes > 4) begin : g_act_wide
    logic unused_valid;
    act #(
      .Lanes(Lanes - 4)
    ) u_act (
      .clk_i,
      .rst_ni,
      .valid_i(v_q[4] && wide),
      .act_i(task_i.act),
      .p0_i(task_i.act_p0),
      .p1_i(task_i.act_p1),
      .p2_i(task_i.act_p2),
      .p3_i(task_i.act_p3),
      .x_i(act_x[32*Lanes-1:128]),
      .valid_o(unused_valid),
      .y_o(act_y[32*Lanes-1:128])
    );
  end

  // ---------------------------------------------------------------- out: FP32 words, or through the requantiser
  logic         rq_req_valid, rq_valid;
  logic [31:0]  rq_req_addr;
  logic [23:0]  rq_req_bytes;
  logic [127:0] rq_data;

  logic rq_active, rq_clk;
  clk_gate #(
    .Gate(ClkGate)
  ) u_rq_gate (
    .clk_i,
    .en_i(rq_active || !rst_ni),
    .clk_o(rq_clk)
  );

  requant #(
    .N(N),
    .Chan(Chan)
  ) u_requant (
    .clk_i(rq_clk),
    .rst_ni,
    .out_scale_i(task_i.out_scale),
    .quant_i({task_i.full, task_i.rne, task_i.zout}),
    .pitch_i(task_i.ofm_cstep),
    .single_i(task_i.psum_add),
    .blk_valid_i(blk_valid),
    .blk_ready_o(blk_ready),
    .blk_addr_i(tile_addr_q),
    .blk_npix_i(rnpix),
    .blk_nch_i(rnch),
    .blk_last_i(last_all && tile_q + 1'b1 == group),
    .in_valid_i(act_valid && wide),
    .in_data_i(act_y),
    .pop_o(pass_pop),
    .idle_o(rq_idle),
    .wr_req_valid_o(rq_req_valid),
    .wr_req_ready_i(wr_req_ready_i && wide),
    .wr_req_addr_o(rq_req_addr),
    .wr_req_bytes_o(rq_req_bytes),
    .wr_valid_o(rq_valid),
    .wr_ready_i(wr_ready_i && wide),
    .wr_data_o(rq_data),
    .active_o(rq_active)
  );

  // ---------------------------------------------------------------- clock
  logic quiet, quiet_q;  // the first quiet cycle loads what the following ones would load again
  always_comb begin
    case (state_q)
      Idle: quiet = !(task_valid_i && par_ready_i);
      Group: quiet = avail_q < group;
      Wait: quiet = !task_done_i;
      default: quiet = 1'b0;
    endcase
    if (tile_i || job_valid || in_flight_q != '0 || v_q != '0 || rq_active) quiet = 1'b0;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) quiet_q <= 1'b0;
    else quiet_q <= quiet;
  end
  assign active_o = !(quiet && quiet_q);

  assign wr_req_valid_o = wide ? rq_req_valid : state_q == Send && !sent_q[0];
  assign wr_req_addr_o = wide ? rq_req_addr : task_i.ofm_addr + offset_q;
  assign wr_req_bytes_o = wide ? rq_req_bytes : {5'd0, group_pix, 2'd0};
  assign wr_valid_o = wide ? rq_valid : act_valid;
  assign wr_data_o = wide ? rq_data : act_y[127:0];

  `ASSERT(PostSendOverflow, !act_valid || wide || wr_ready_i)
  `ASSERT(PostTilesRange, avail_q <= Tw'(2 * MaxGroup))
  `ASSERT(PostSlotsRange, slots_q <= 5'(Slots))
  `ASSERT_STABLE(WrReqStable, wr_req_valid_o, wr_req_ready_i, {wr_req_addr_o, wr_req_bytes_o})
  `ASSERT_STABLE(PsumReqStable, psum_req_valid_o, psum_req_ready_i, {psum_req_addr_o, psum_req_bytes_o})

endmodule
