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
// INT16        (EnInt16, task_i.wide) Sums and partial sums are int64, two in a word of ofm_buf. FP32: two results a
//              cycle, two words become one of send_buf. Requant: INT16, the pixels 4k + 2*Chan + (0..1).
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
  parameter int unsigned EnInt16 = 0,
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
  localparam int unsigned Tw = npu_pkg::OfmAw + 1;
  localparam int unsigned ParW = npu_pkg::ParAw;

  // the group, and the states of post_groups
  logic            idle, task_waits, grp_begin, starved, quiet_state, rq_run, rq_done, last_all;
  logic [16:0]     npix, pix;
  logic [15:0]     blk;
  logic [Tw-1:0]   ring;
  logic [31:0]     blk_poffset, grp_addr, tile_addr;
  logic [Tw-1:0]   group_tiles;
  // FP32: requests and job of a channel; words
  logic            job_par_re, job_req_valid, job_wr_valid, job_push, job_ready, job_valid;
  logic [ParW-1:0] par_base, job_par;
  logic [31:0]     job_psum_offset, job_wr_offset, job_oscale, job_bias, s_oscale, s_bias;
  logic [23:0]     job_req_bytes, job_psum_bytes;
  logic [Ln-2:0]   job_col;
  logic [14:0]     job_words;
  logic            f_issue, f_exists, f_waits_room, f_waits_psum, flight;
  logic [Ln-1:0]   f_col, r_col;
  logic [Tw-1:0]   f_addr, r_addr;
  // requant: words of the walk, tiles, requests of partial sums
  logic            r_walk, r_issue, r_waits_room, r_beat, r_psum_ready;
  logic [Ln:0]     r_ch;
  logic [ParW-1:0] r_par;
  logic            pt_valid;
  logic [31:0]     pt_offset;
  logic [23:0]     pt_req_bytes;
  logic            blk_valid, blk_ready, blk_last, pass_pop;
  logic [Ln+1:0]   blk_npix;
  logic [Ln:0]     blk_nch;
  // results
  logic                arith_busy, act_valid;
  logic [128*Cols-1:0] act_y;
  logic                wide;  // the words in flight use all lanes
  logic                i16;   // INT16
  logic                pair;  // two words of results make one of send_buf
  logic                half_q;  // the first of them is in held_q
  logic [63:0]         held_q;
  logic                rq_idle, rq_req_valid, rq_valid, rq_active;
  logic [31:0]         rq_req_addr;
  logic [23:0]         rq_req_bytes;
  logic [127:0]        rq_data;

  assign wide = task_i.requant;
  assign i16 = EnInt16 != 0 && task_i.wide;
  assign pair = i16 && !task_i.requant && !task_i.raw_out;
  assign task_wait_o = task_waits && (!task_i.requant || rq_idle);

  post_groups #(
    .N(N),
    .Chan(Chan),
    .EnInt16(EnInt16)
  ) u_groups (
    .clk_i,
    .rst_ni,
    .task_valid_i,
    .task_i,
    .par_ready_i,
    .task_done_i,
    .tile_i,
    .free_o,
    .free_tiles_o,
    .group_tiles_o(group_tiles),
    .idle_o(idle),
    .waits_o(task_waits),
    .begin_o(grp_begin),
    .starved_o(starved),
    .rq_o(rq_run),
    .rq_done_i(rq_done),
    .quiet_o(quiet_state),
    .last_o(last_all),
    .npix_o(npix),
    .pix_o(pix),
    .blk_o(blk),
    .ring_o(ring),
    .blk_poffset_o(blk_poffset),
    .grp_addr_o(grp_addr),
    .grp_end_i(tile_addr),
    .par_re_o(job_par_re),
    .par_base_o(par_base),
    .par_chan_o(job_par),
    .par_oscale_i,
    .par_bias_i,
    .psum_req_valid_o(job_req_valid),
    .psum_req_ready_i,
    .psum_req_offset_o(job_psum_offset),
    .wr_req_valid_o(job_wr_valid),
    .wr_req_ready_i,
    .wr_req_offset_o(job_wr_offset),
    .job_req_bytes_o(job_req_bytes),
    .psum_req_bytes_o(job_psum_bytes),
    .job_push_o(job_push),
    .job_ready_i(job_ready),
    .job_oscale_o(job_oscale),
    .job_bias_o(job_bias),
    .job_col_o(job_col),
    .job_words_o(job_words),
    .streams_idle_i(!job_valid)  // every word of the group has been read
  );

  post_stream #(
    .N(N)
  ) u_stream (
    .clk_i,
    .rst_ni,
    .psum_add_i(task_i.psum_add),
    .pair_i(pair),
    .push_i(job_push),
    .ready_o(job_ready),
    .oscale_i(job_oscale),
    .bias_i(job_bias),
    .col_i(job_col),
    .base_i(ring),
    .words_i(job_words),
    .valid_o(job_valid),
    .waits_room_o(f_waits_room),
    .waits_psum_o(f_waits_psum),
    .psum_valid_i,
    .wr_level_i,
    .left_i(act_valid && !wide),
    .flight_o(flight),
    .issue_o(f_issue),
    .exists_o(f_exists),
    .col_o(f_col),
    .addr_o(f_addr),
    .oscale_o(s_oscale),
    .bias_o(s_bias)
  );

  post_tiles #(
    .N(N),
    .Chan(Chan),
    .EnInt16(EnInt16)
  ) u_tiles (
    .clk_i,
    .rst_ni,
    .task_i,
    .begin_i(grp_begin),
    .run_i(rq_run),
    .done_o(rq_done),
    .group_i(group_tiles),
    .last_i(last_all),
    .npix_i(npix),
    .pix_i(pix),
    .blk_i(blk),
    .ring_i(ring),
    .blk_poffset_i(blk_poffset),
    .grp_addr_i(grp_addr),
    .tile_addr_o(tile_addr),
    .walk_o(r_walk),
    .issue_o(r_issue),
    .col_o(r_col),
    .addr_o(r_addr),
    .ch_o(r_ch),
    .par_addr_o(r_par),
    .waits_room_o(r_waits_room),
    .psum_valid_i,
    .psum_beat_o(r_beat),
    .psum_ready_o(r_psum_ready),
    .psum_req_valid_o(pt_valid),
    .psum_req_ready_i,
    .psum_req_offset_o(pt_offset),
    .psum_req_bytes_o(pt_req_bytes),
    .blk_valid_o(blk_valid),
    .blk_ready_i(blk_ready),
    .blk_npix_o(blk_npix),
    .blk_nch_o(blk_nch),
    .blk_last_o(blk_last),
    .pass_pop_i(pass_pop)
  );

  // ---------------------------------------------------------------- reads: one of ofm_buf a cycle, for one of the two
  assign ofm_re_o = f_issue || r_issue;
  assign ofm_col_o = r_walk ? r_col : f_col;
  assign ofm_addr_o = r_walk ? r_addr : f_addr;
  assign par_re_o = job_par_re || r_issue;
  assign par_addr_o = par_base + (r_walk ? r_par : job_par);
  assign psum_ready_o = (f_issue && task_i.psum_add && f_exists) || r_psum_ready;
  assign psum_req_valid_o = pt_valid || job_req_valid;
  assign psum_req_addr_o = task_i.psum_addr + (pt_valid ? pt_offset : job_psum_offset);
  assign psum_req_bytes_o = pt_valid ? pt_req_bytes : job_psum_bytes;

  assign event_o[0] = !idle && (!starved || wr_req_valid_o);  // except for tiles
  assign event_o[1] = f_waits_room || r_waits_room;
  assign event_o[2] = f_waits_psum || (r_walk && r_beat && !psum_valid_i);

  post_arith #(
    .N(N),
    .EnInt16(EnInt16)
  ) u_arith (
    .clk_i,
    .rst_ni,
    .task_i,
    .issue_i(ofm_re_o),
    .use_psum_i(r_walk ? r_beat : task_i.psum_add && f_exists),
    .psum_i,
    .walk_i(r_walk),
    .ch_i(r_ch),
    .oscale_i(s_oscale),
    .bias_i(s_bias),
    .ofm_data_i,
    .par_oscale_i,
    .par_bias_i,
    .busy_o(arith_busy),
    .valid_o(act_valid),
    .data_o(act_y)
  );

  // ---------------------------------------------------------------- out: FP32 words, or through the requantiser
  logic rq_clk;
  clk_gate #(
    .Gate(ClkGate)
  ) u_rq_gate (
    .clk_i,
    .en_i(rq_active || !rst_ni),
    .clk_o(rq_clk)
  );

  requant #(
    .N(N),
    .Chan(Chan),
    .EnInt16(EnInt16)
  ) u_requant (
    .clk_i(rq_clk),
    .rst_ni,
    .out_scale_i(task_i.out_scale),
    .quant_i({task_i.full, task_i.rne, task_i.zout}),
    .wide_i(i16),
    .pitch_i(task_i.ofm_cstep),
    .single_i(task_i.psum_add),
    .blk_valid_i(blk_valid),
    .blk_ready_o(blk_ready),
    .blk_addr_i(tile_addr),
    .blk_npix_i(blk_npix),
    .blk_nch_i(blk_nch),
    .blk_last_i(blk_last),
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

  assign wr_req_valid_o = wide ? rq_req_valid : job_wr_valid;
  assign wr_req_addr_o = wide ? rq_req_addr : task_i.ofm_addr + job_wr_offset;
  assign wr_req_bytes_o = wide ? rq_req_bytes : job_req_bytes;
  assign wr_valid_o = wide ? rq_valid : act_valid && (!pair || half_q);
  assign wr_data_o = wide ? rq_data : pair ? {act_y[63:0], held_q} : act_y[127:0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) half_q <= 1'b0;
    else if (act_valid && pair) half_q <= !half_q;
  end
  always_ff @(posedge clk_i) begin
    if (act_valid && pair) held_q <= act_y[63:0];
  end

  // ---------------------------------------------------------------- clock
  logic quiet, quiet_q;  // the first quiet cycle loads what the following ones would load again
  assign quiet = quiet_state && !(tile_i || job_valid || flight || arith_busy || rq_active);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) quiet_q <= 1'b0;
    else quiet_q <= quiet;
  end
  assign active_o = !(quiet && quiet_q);

  `ASSERT(PostSendOverflow, !act_valid || wide || wr_ready_i)
  `ASSERT(PostNoHalfWord, !task_done_i || !half_q)
  `ASSERT_STABLE(WrReqStable, wr_req_valid_o, wr_req_ready_i, {wr_req_addr_o, wr_req_bytes_o})
  `ASSERT_STABLE(PsumReqStable, psum_req_valid_o, psum_req_ready_i, {psum_req_addr_o, psum_req_bytes_o})

endmodule
