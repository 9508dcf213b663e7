// Post: turns the sums of every second channel into results and writes them back; one unit on each DMA channel.
//
// Function     sum (+ partial sum) -> FP32 -> * oscale -> + bias -> ReLU, each step one binary32 operation, on four lanes
//              (docs/npu.md section 2; thesis section 3.5). raw_out passes the int32 sums.
// Jobs         For each block of N output channels, for each group of G tiles, for each channel c = Chan, Chan+2, ... that
//              exists: the group's pixels of that channel, contiguous in memory, as one job of dma_wr (and, with psum_add, one
//              of dma_rd before it). Jobs are prepared one ahead, so that streams follow each other without a gap.
// Flow         tiles_i pulses when a tile is complete in ofm_buf; tiles_free_o/free_cnt_o return them. A result is read
//              only when the send FIFO has room for it, so the arithmetic never stalls.
// Throughput   One word of four results a cycle. Latency: 6 cycles from the ofm_buf read to the send FIFO.
// Completion   task_wait_o: dma_wr has taken every write job of the task at the head (their last results may still be in the send
//              FIFO, so dma_wr is not idle); the surroundings answer with task_done_i (a pulse, to both units) when dma_wr is
//              idle, that is, when the last write response has come.
`include "npu_assert.svh"

module post #(
  parameter int unsigned N = 8,
  parameter bit Chan = 1'b0
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
  output logic [$clog2(N)-2:0]      ofm_col_o,
  output logic [npu_pkg::OfmAw:0]   ofm_addr_o,
  input  logic [127:0]              ofm_data_i,
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
  output logic                      wr_valid_o,
  input  logic                      wr_ready_i,
  output logic [127:0]              wr_data_o
);

  localparam int unsigned Ln = $clog2(N);
  localparam int unsigned Ow = npu_pkg::OfmAw + 1;               // word address within a column of ofm_buf
  localparam int unsigned TileWords = N / 2;                      // words of a tile in a column
  localparam int unsigned MaxGroup = (2 * npu_pkg::OfmDepth) / TileWords / 2;  // half of ofm_buf
  localparam int unsigned FifoDepth = 32;
  localparam int unsigned Stages = 6;
  localparam int unsigned Tw = npu_pkg::OfmAw + 1;

  // ---------------------------------------------------------------- groups and jobs
  typedef enum logic [2:0] {Idle, Prep, Group, Job, Read, Send, NextJob, Wait} state_e;
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
  logic [31:0]   blk_offset_q;  // channel Chan of the block
  logic [31:0]   chan_offset_q;
  logic [ParW-1:0] par_base_q;
  logic          any_par;
  logic          chan_exists;
  logic          last_chan;
  logic          group_done;
  logic [1:0]    sent_q;        // {psum, write} request accepted
  logic          reqs_done;

  localparam int unsigned ParW = npu_pkg::ParAw;

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

  // the stream side takes one job at a time; the next one waits here
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
  assign par_re_o = state_q == Job && chan_exists;
  assign par_addr_o = par_base_q + ParW'(chan_q >> 2);
  assign reqs_done = (sent_q[0] || wr_req_ready_i) && (sent_q[1] || psum_req_ready_i || !task_i.psum_add);
  assign job_push = state_q == Send && reqs_done && job_ready;
  assign wr_req_valid_o = state_q == Send && !sent_q[0];
  assign wr_req_addr_o = task_i.ofm_addr + offset_q;
  assign wr_req_bytes_o = {5'd0, group_pix, 2'd0};
  assign psum_req_valid_o = state_q == Send && task_i.psum_add && !sent_q[1];
  assign psum_req_addr_o = task_i.psum_addr + offset_q;
  assign psum_req_bytes_o = wr_req_bytes_o;

  logic [2:0] unused_job_count;
  npu_fifo #(
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

  // The group's tiles are free when its last word has been read: the stream side says so.
  logic          streams_idle;
  assign group_done = state_q == NextJob && (last_chan || !chan_exists) && streams_idle;
  assign free_o = group_done;
  assign free_tiles_o = group;
  assign task_wait_o = state_q == Wait;

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
      blk_offset_q <= '0;
      chan_offset_q <= '0;
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
          state_q <= Group;
        end
        Group: begin
          col_q <= Ln'(Chan);
          chan_q <= (blk_q << Ln) + 16'(Chan);
          chan_offset_q <= blk_offset_q;
          if (avail_q >= group) state_q <= Job;
        end
        Job: begin  // reads the factors
          offset_q <= chan_offset_q + {13'd0, pix_q, 2'd0};
          sent_q <= 2'b00;
          state_q <= chan_exists ? Send : NextJob;
        end
        Send: begin  // the factors have arrived; hand out the requests, then the job
          if (wr_req_valid_o && wr_req_ready_i) sent_q[0] <= 1'b1;
          if (psum_req_valid_o && psum_req_ready_i) sent_q[1] <= 1'b1;
          if (job_push) state_q <= NextJob;
        end
        NextJob: begin
          if (!last_chan && chan_exists) begin
            col_q <= col_q + Ln'(2);
            chan_q <= chan_q + 16'd2;
            chan_offset_q <= chan_offset_q + {task_i.ofm_cstep[30:0], 1'b0};
            state_q <= Job;
          end else if (streams_idle) begin
            ring_q <= ring_q + Ow'(32'(group) * TileWords);
            if (pix_left > 17'(group) << (Ln + 1)) begin
              pix_q <= pix_q + (17'(group) << (Ln + 1));
              state_q <= Group;
            end else if (blk_q + 16'd1 != ocb) begin
              pix_q <= '0;
              blk_q <= blk_q + 16'd1;
              blk_offset_q <= blk_offset_q + (task_i.ofm_cstep << Ln);
              state_q <= Group;
            end else begin
              state_q <= Wait;
            end
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

  // ---------------------------------------------------------------- stream: one word of four pixels a cycle
  logic [14:0]   word_q;
  logic          issue;
  logic          last_word;
  logic [Stages-1:0] v_q;       // words in the arithmetic
  logic [$clog2(FifoDepth+1)-1:0] fifo_count;
  logic [3:0]    in_flight_q;

  assign last_word = word_q + 15'd1 == s_words;
  assign issue = job_valid && (!task_i.psum_add || psum_valid_i) && 32'(fifo_count) + 32'(in_flight_q) < FifoDepth;
  assign job_pop = issue && last_word;
  assign psum_ready_o = issue && task_i.psum_add;
  assign ofm_re_o = issue;
  assign ofm_col_o = s_col;
  assign ofm_addr_o = s_base + Ow'(word_q);
  assign streams_idle = !job_valid;  // every word of the group has been read

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      word_q <= '0;
      v_q <= '0;
      in_flight_q <= '0;
    end else begin
      v_q <= {v_q[Stages-2:0], issue};
      in_flight_q <= in_flight_q + 4'(issue) - 4'(v_q[Stages-1]);
      if (issue) word_q <= last_word ? '0 : word_q + 15'd1;
    end
  end

  // stage 0: the buffer reads; 1: integer sum; 2: to FP32; 3: scale; 4: bias; 5: activation
  logic [127:0] psum_q, sum_q, flt, raw2_q, raw3_q, raw4_q, mul, mul_b, add, res_q;
  logic [31:0]  os0_q, os1_q, os2_q, bi0_q, bi1_q, bi2_q, bi3_q;
  logic [127:0] mul_in_q, add_in_q;

  always_ff @(posedge clk_i) begin
    if (issue) begin
      psum_q <= task_i.psum_add ? psum_i : '0;
      os0_q <= job_oscale;
      bi0_q <= job_bias;
    end
    if (v_q[0]) begin
      for (int unsigned l = 0; l < 4; l++) sum_q[32*l+:32] <= ofm_data_i[32*l+:32] + psum_q[32*l+:32];
      os1_q <= os0_q;
      bi1_q <= bi0_q;
    end
    if (v_q[1]) begin
      raw2_q <= sum_q;
      os2_q <= os1_q;
      bi2_q <= bi1_q;
    end
    if (v_q[2]) begin
      raw3_q <= raw2_q;
      mul_in_q <= flt;
      bi3_q <= bi2_q;
    end
    if (v_q[3]) begin
      raw4_q <= raw3_q;
      add_in_q <= mul_b;
    end
    if (v_q[4]) begin
      for (int unsigned l = 0; l < 4; l++)
        res_q[32*l+:32] <= task_i.raw_out ? raw4_q[32*l+:32] :
            task_i.act == npu_pkg::ActRelu ? fp_pkg::fp_relu_f(task_i.bias_en ? add[32*l+:32] : add_in_q[32*l+:32]) :
            task_i.bias_en ? add[32*l+:32] : add_in_q[32*l+:32];
    end
  end

  assign mul_b = task_i.oscale_en ? mul : mul_in_q;

  for (genvar l = 0; l < 4; l++) begin : g_lane
    fp_i32_to_f32 u_flt (
      .clk_i,
      .en_i(v_q[1]),
      .a_i(sum_q[32*l+:32]),
      .y_o(flt[32*l+:32])
    );
    fp_mul u_mul (
      .clk_i,
      .en_i(v_q[2]),
      .a_i(flt[32*l+:32]),
      .b_i(os2_q),
      .y_o(mul[32*l+:32])
    );
    fp_add u_add (
      .clk_i,
      .en_i(v_q[3]),
      .a_i(mul_b[32*l+:32]),
      .b_i(bi3_q),
      .y_o(add[32*l+:32])
    );
  end

  logic fifo_ready;
  npu_fifo #(
    .Width(128),
    .Depth(FifoDepth)
  ) u_send (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(v_q[Stages-1]),
    .wready_o(fifo_ready),
    .wdata_i(res_q),
    .rvalid_o(wr_valid_o),
    .rready_i(wr_ready_i),
    .rdata_o(wr_data_o),
    .count_o(fifo_count)
  );

  `NPU_ASSERT(post_send_overflow, !v_q[Stages-1] || fifo_ready)
  `NPU_ASSERT(post_tiles_range, avail_q <= Tw'(2 * MaxGroup))
  `NPU_ASSERT_STABLE(wr_req_valid_o, wr_req_ready_i, {wr_req_addr_o, wr_req_bytes_o})
  `NPU_ASSERT_STABLE(psum_req_valid_o, psum_req_ready_i, {psum_req_addr_o, psum_req_bytes_o})

endmodule
