// Input loader: cuts the input maps of the tasks into layout jobs, allocates the ring of ifm_buf, tracks what has
// arrived.
//
// Jobs         A chunk is 64 consecutive pixels (the last one of a task may be shorter). FP32 input: one job for each
//              block of N channels of a chunk; job b of the sequence's chunk c goes to layout unit (b + c) % 2, so that
//              a last block of few channels does not always meet the same unit. INT8 input: one job for each chunk, in
//              turn. Pixel p of channel block b lies at word base + p*ICB + b of ifm_buf (thesis section 3.3.1), which
//              is a ring.
//              INT16 (EnInt16, task_i.wide): a block has two words, so p*ICB + b becomes 2*(p*ICB + b); the jobs are as
//              many.
// Ring         Words are allocated chunk by chunk, in order; the first job of a chunk waits until there is space for
//              the whole chunk. im2col, which computes the same bases, frees them in the same order, in any number of
//              parts; the sum over a task is IH*IW*ICB, INT16 twice that (free_*). level_o: words allocated.
// Tasks        task_pop_o: the last job of the task is issued. The jobs of the next task follow at once, whether or
//              not those of this one are done. cfg_* of the layout units are fields of task_i in the cycle of the
//              handshake.
// Progress     loaded_o: number of tasks that are complete in ifm_buf, modulo 8. pix_ready_o: so many leading pixels of
//              the task after these have all their channels in ifm_buf (a multiple of 64; 0 again when loaded_o counts
//              up).
// busy_o       a job is presented or in a layout unit.
// active_o     the next clock edge may change a register; while it is 0 the clock may stand still.
// Latency      2 cycles from the end of a layout job to pix_ready_o.
// Throughput   A job a cycle, one cycle more for each chunk.
// Document     docs/npu/npu.md section 4.2.
`include "assert.svh"

module ifm_ld #(
  parameter int unsigned N = 8,
  parameter int unsigned EnInt16 = 0
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      task_valid_i,
  input  npu_pkg::gemm_task_t       task_i,
  output logic                      task_pop_o,
  output logic                      busy_o,
  output logic                      active_o,
  input  logic                      free_i,
  input  logic [npu_pkg::IfmAw:0]   free_words_i,
  output logic [15:0]               level_o,
  output logic [1:0]                job_valid_o,
  input  logic [1:0]                job_ready_i,
  output logic [31:0]               job_addr_o,
  output logic [$clog2(N):0]        job_nch_o,
  output logic [6:0]                job_cnt_o,
  output logic [npu_pkg::IfmAw-1:0] job_waddr_o,
  output logic [npu_pkg::IfmAw-1:0] job_stride_o,
  input  logic [1:0]                job_done_i,
  output logic [16:0]               pix_ready_o,
  output logic [2:0]                loaded_o
);

  localparam int unsigned Aw = npu_pkg::IfmAw;
  localparam int unsigned Ln = $clog2(N);

  // ---------------------------------------------------------------- jobs
  typedef enum logic [1:0] {Idle, Prep, Space, Run} state_e;
  state_e state_q;

  logic          wide;          // INT16
  logic [15:0]   icb;           // channel blocks, at most 2^14 (the task limits)
  logic [15:0]   icw;           // words of a pixel, at most 2^14
  logic [Ln:0]   nch_last;      // channels of the last block
  logic [31:0]   blk_step;      // bytes from one channel block to the next
  logic [31:0]   chunk_step;    // bytes from one chunk to the next
  logic [16:0]   npix_q;
  logic [16:0]   pix_q;         // first pixel of the chunk
  logic [16:0]   pix_left;
  logic [15:0]   blk_q;         // channel block
  logic [31:0]   chunk_addr_q, addr_q;
  logic [Aw-1:0] waddr_q;       // of the chunk; goes on over all tasks
  logic [6:0]    last_pix;      // pixels of the last chunk
  logic [Aw:0]   last_words_q;  // words of it
  logic [Aw:0]   chunk_words;
  logic [Aw:0]   used_q;
  logic          par_q;         // parity of the chunk
  logic          unit;
  logic          take, last_blk, last_chunk;
  logic          fits;
  logic          track_ready;

  assign wide = EnInt16 != 0 && task_i.wide;
  assign icb = 16'((17'(task_i.ic) + 17'(N - 1)) >> Ln);
  assign icw = icb << wide;
  assign nch_last = task_i.ic[Ln-1:0] == '0 ? (Ln + 1)'(N) : {1'b0, task_i.ic[Ln-1:0]};
  assign blk_step = task_i.ifm_cstep << Ln;
  assign chunk_step = task_i.nhwc_in ? task_i.ifm_cstep << 6 : 32'd256;
  assign pix_left = npix_q - pix_q;
  assign last_pix = {npix_q[5:0] == '0, npix_q[5:0]};
  assign last_blk = task_i.nhwc_in || blk_q + 16'd1 == icb;
  assign last_chunk = pix_left <= 17'd64;
  assign chunk_words = last_chunk ? last_words_q : (Aw + 1)'({icw, 6'd0});
  assign fits = {1'b0, used_q} + {1'b0, chunk_words} <= (Aw + 2)'(npu_pkg::IfmDepth);
  assign unit = par_q ^ blk_q[0];
  assign take = state_q == Run && job_ready_i[unit];
  assign task_pop_o = take && last_blk && last_chunk;

  assign job_valid_o = state_q == Run ? (unit ? 2'b10 : 2'b01) : 2'b00;
  assign job_addr_o = addr_q;
  assign job_nch_o = last_blk ? nch_last : (Ln + 1)'(N);
  assign job_cnt_o = last_chunk ? pix_left[6:0] : 7'd64;
  assign job_waddr_o = waddr_q + (blk_q[Aw-1:0] << wide);
  assign job_stride_o = icw[Aw-1:0];
  assign level_o = 16'(used_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      npix_q <= '0;
      pix_q <= '0;
      blk_q <= '0;
      chunk_addr_q <= '0;
      addr_q <= '0;
      waddr_q <= '0;
      last_words_q <= '0;
      par_q <= 1'b0;
    end else begin
      unique case (state_q)
        Idle:
        if (task_valid_i) begin
          npix_q <= 17'(task_i.iw) * 17'(task_i.ih);
          state_q <= Prep;
        end
        Prep: begin
          pix_q <= '0;
          blk_q <= '0;
          chunk_addr_q <= task_i.ifm_addr;
          addr_q <= task_i.ifm_addr;
          last_words_q <= (Aw + 1)'(32'(last_pix) * 32'(icw));
          if (track_ready) state_q <= Space;
        end
        Space: if (fits) state_q <= Run;
        default:
        if (take) begin
          if (!last_blk) begin
            blk_q <= blk_q + 16'd1;
            addr_q <= addr_q + blk_step;
          end else begin
            blk_q <= '0;
            pix_q <= pix_q + 17'd64;
            chunk_addr_q <= chunk_addr_q + chunk_step;
            addr_q <= chunk_addr_q + chunk_step;
            waddr_q <= waddr_q + chunk_words[Aw-1:0];
            par_q <= !par_q;
            state_q <= last_chunk ? Idle : Space;
          end
        end
      endcase
    end
  end

  // ring occupancy
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) used_q <= '0;
    else used_q <= used_q + (state_q == Space && fits ? chunk_words : '0) - (free_i ? free_words_i : '0);
  end

  // ---------------------------------------------------------------- arrived data, in the order of the jobs
  logic        head_valid, head_nhwc;
  logic [15:0] head_icb;
  logic [10:0] head_chunks;
  logic        head_par_q;        // parity of the chunk that must be complete next
  logic [10:0] head_done_q;       // complete chunks of the task
  logic [15:0] done0_q, done1_q;  // jobs that are done and not in a complete chunk
  logic [15:0] need0, need1, need_a, need_b;
  logic        chunk_done, task_done;
  logic [5:0]  flight_q;          // jobs in the layout units
  logic [10:0] chunks_all;        // chunks of the task
  logic [2:0]  unused_track_count;

  assign chunks_all = 11'((npix_q + 17'd63) >> 6);

  fifo #(
    .Width(28),
    .Depth(4)
  ) u_track (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(state_q == Prep),
    .wready_o(track_ready),
    .wdata_i({task_i.nhwc_in, icb, chunks_all}),
    .rvalid_o(head_valid),
    .rready_i(task_done),
    .rdata_o({head_nhwc, head_icb, head_chunks}),
    .count_o(unused_track_count)
  );

  assign need_a = head_nhwc ? 16'd1 : {1'b0, head_icb[15:1]} + {15'd0, head_icb[0]};
  assign need_b = head_nhwc ? 16'd0 : {1'b0, head_icb[15:1]};
  assign need0 = head_par_q ? need_b : need_a;
  assign need1 = head_par_q ? need_a : need_b;
  assign chunk_done = head_valid && done0_q >= need0 && done1_q >= need1;
  assign task_done = chunk_done && head_done_q + 11'd1 == head_chunks;
  assign busy_o = state_q == Run || flight_q != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_par_q <= 1'b0;
      head_done_q <= '0;
      done0_q <= '0;
      done1_q <= '0;
      pix_ready_o <= '0;
      loaded_o <= '0;
      flight_q <= '0;
    end else if (busy_o || head_valid) begin
      flight_q <= flight_q + 6'(take) - 6'(job_done_i[0]) - 6'(job_done_i[1]);
      done0_q <= done0_q + 16'(job_done_i[0]) - (chunk_done ? need0 : 16'd0);
      done1_q <= done1_q + 16'(job_done_i[1]) - (chunk_done ? need1 : 16'd0);
      if (chunk_done) begin
        head_par_q <= !head_par_q;
        head_done_q <= task_done ? '0 : head_done_q + 11'd1;
        pix_ready_o <= task_done ? '0 : pix_ready_o + 17'd64;
        loaded_o <= loaded_o + 3'(task_done);
      end
    end
  end

  assign active_o = (state_q == Idle ? task_valid_i : state_q != Space || fits) || free_i || job_done_i != 2'b00 ||
                    chunk_done;

  `ASSERT(IfmLdRingOverflow, used_q <= (Aw + 1)'(npu_pkg::IfmDepth))
  `ASSERT(IfmLdRingUnderflow, !free_i || free_words_i <= used_q)
  `ASSERT(IfmLdDoneKnown, job_done_i == 2'b00 || (head_valid && flight_q != '0))
  `ASSERT(IfmLdChunkFits, state_q != Space || chunk_words <= (Aw + 1)'(npu_pkg::IfmDepth))

endmodule
