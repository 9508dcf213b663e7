// Layout: turns a part of the input map into words of N int8 channels for ifm_buf. One unit on each read channel.
//
// Jobs         job_* and cfg_* (all sampled when the job is taken) describe `cnt` (1..64) consecutive pixels.
//   FP32 NCHW  (cfg_nhwc_i = 0) `nch` (1..N) consecutive channels; channel c starts at byte address addr + c*cstep.
//              Pixel i becomes the word at waddr + i*stride of ifm_buf: q = f32_to_i8(v * in_scale) with the
//              zero-point and the rounding of cfg_quant_i (fp_f32_to_i8, b_i); channels from nch on are 0.
//   INT8 NHWC  (cfg_nhwc_i = 1) All blocks of the pixels: stride is their number, cstep the pitch of the pixels, nch
//              the number of channels of the last block (those from nch on are forced to 0). Block b of pixel p becomes
//              the word at waddr + p*stride + b; a stride of 0 stands for 2^14.
//   INT16      (EnInt16, cfg_wide_i) NHWC: stride is the number of words, two for each block; the last two are masked.
//              FP32: pixel i becomes two words, q = f32_to_i16(v * in_scale), the low bytes at waddr + i*stride, the
//              high ones behind them; a job takes two banks.
// Function     docs/npu/npu.md section 2; thesis section 3.3.2. FP32: a small RAM of 16 x 32 bit for each channel turns
//              rows of four pixels of one channel into columns of N channels of one pixel; four banks, so that one
//              fills while others drain: a job of few channels fills a bank in less time than draining takes, and the
//              write port of ifm_buf may be busy with the other unit's words. INT8: the words only change their width.
// Requests     FP32: one read of 4*cnt bytes for each channel, channels ascending. INT8: one read of all bytes where
//              pixels follow each other without a gap, else one for each pixel; in pieces of at most 1 KB, so that
//              other requesters are served in between. Jobs in order; up to four jobs run ahead of the data. Data are
//              accepted in order and are stalled only by ifm_buf.
// Throughput   FP32: four elements in (one beat) and one word out a cycle. INT8: a beat or a word a cycle, whichever is
//              less. The only idle cycles between jobs: an INT8 job waits until FP32 jobs before it have left.
// active_o     The next clock edge may change a register; while it is 0 the clock may stand still.
// Latency      FP32: first word out 5 cycles after a job's last beat unless ifm_buf stalls; INT8: a cycle after its
//              beat. done_o pulses with the last word of each job, in job order.
// Length       More than 300 lines: both modes share jobs, requests, the banks' pointers and the write port, and each
//              of these is a few lines; a part of its own would have more ports than logic.
`include "assert.svh"

module layout #(
  parameter int unsigned N = 8,
  parameter int unsigned EnInt16 = 0
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic [31:0]               cfg_in_scale_i,
  input  logic [9:0]                cfg_quant_i,
  input  logic [31:0]               cfg_cstep_i,
  input  logic [npu_pkg::IfmAw-1:0] cfg_stride_i,
  input  logic                      cfg_nhwc_i,
  input  logic                      cfg_wide_i,
  input  logic                      job_valid_i,
  output logic                      job_ready_o,
  input  logic [31:0]               job_addr_i,
  input  logic [$clog2(N):0]        job_nch_i,
  input  logic [6:0]                job_cnt_i,
  input  logic [npu_pkg::IfmAw-1:0] job_waddr_i,
  output logic                      req_valid_o,
  input  logic                      req_ready_i,
  output logic [31:0]               req_addr_o,
  output logic [23:0]               req_bytes_o,
  input  logic                      dat_valid_i,
  output logic                      dat_ready_o,
  input  logic [127:0]              dat_i,
  output logic                      wr_valid_o,
  input  logic                      wr_ready_i,
  output logic [npu_pkg::IfmAw-1:0] wr_addr_o,
  output logic [8*N-1:0]            wr_data_o,
  output logic                      done_o,
  output logic                      active_o
);

  localparam int unsigned Cw = $clog2(N);
  localparam int unsigned Aw = npu_pkg::IfmAw;
  localparam int unsigned QueueW = 3 + Cw + 1 + 7 + Aw + Aw + 32 + 10;
  localparam int unsigned Banks = 4;
  localparam int unsigned Kw = $clog2(Banks);
  localparam int unsigned Bw = Aw + 1 + Cw + 6;  // bytes of a job: 64 pixels of 2^14 blocks
  localparam logic [Bw-1:0] Piece = Bw'(1024);

  // ---------------------------------------------------------------- requests: rows of bytes, `cstep` apart
  logic          rq_busy_q;
  logic [6:0]    rq_rows_q;       // rows left, this one included
  logic [Bw-1:0] rq_left_q;       // bytes left of this row
  logic [Bw-1:0] rq_row_q;        // bytes of a row
  logic [31:0]   rq_addr_q;       // next byte
  logic [31:0]   rq_next_q;       // next row
  logic [31:0]   rq_step_q;
  logic          rq_row_end;      // the request is the last one of the row
  logic          rq_end;          // the last request of the job is accepted
  logic          queue_ready;
  logic          queue_valid;
  logic          queue_pop;
  logic          job_take;
  logic [Bw-1:0] pix_bytes;       // INT8: bytes of a pixel
  logic          dense;           // INT8: pixels follow each other without a gap
  logic          q_nhwc, q_dense, q_wide;
  logic [Cw:0]   q_nch;
  logic [6:0]    q_cnt;
  logic [Aw-1:0] q_waddr, q_stride;
  logic [31:0]   q_scale;
  logic [9:0]    q_quant;

  assign pix_bytes = Bw'({cfg_stride_i == '0, cfg_stride_i}) << Cw;
  assign dense = cfg_cstep_i == 32'(pix_bytes);
  assign rq_end = req_ready_i && rq_row_end && rq_rows_q == 7'd1;
  assign job_ready_o = (!rq_busy_q || rq_end) && queue_ready;  // jobs of a pixel are as short as N requests: no gap
  assign job_take = job_valid_i && job_ready_o;
  assign rq_row_end = rq_left_q <= Piece;
  assign req_valid_o = rq_busy_q;
  assign req_addr_o = rq_addr_q;
  assign req_bytes_o = rq_row_end ? 24'(rq_left_q) : 24'(Piece);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rq_busy_q <= 1'b0;
      rq_rows_q <= '0;
      rq_left_q <= '0;
      rq_row_q <= '0;
      rq_addr_q <= '0;
      rq_next_q <= '0;
      rq_step_q <= '0;
    end else if (job_take) begin
      rq_busy_q <= 1'b1;
      rq_addr_q <= job_addr_i;
      rq_next_q <= job_addr_i + cfg_cstep_i;
      rq_step_q <= cfg_cstep_i;
      if (!cfg_nhwc_i) begin
        rq_rows_q <= 7'(job_nch_i);
        rq_left_q <= Bw'({job_cnt_i, 2'd0});
        rq_row_q <= Bw'({job_cnt_i, 2'd0});
      end else begin
        rq_rows_q <= dense ? 7'd1 : job_cnt_i;
        rq_left_q <= dense ? pix_bytes * Bw'(job_cnt_i) : pix_bytes;
        rq_row_q <= pix_bytes;
      end
    end else if (rq_busy_q && req_ready_i) begin
      if (rq_row_end) begin
        rq_busy_q <= rq_rows_q != 7'd1;
        rq_rows_q <= rq_rows_q - 7'd1;
        rq_left_q <= rq_row_q;
        rq_addr_q <= rq_next_q;
        rq_next_q <= rq_next_q + rq_step_q;
      end else begin
        rq_left_q <= rq_left_q - Piece;
        rq_addr_q <= rq_addr_q + 32'(Piece);
      end
    end
  end

  logic [2:0] unused_queue_count;
  fifo #(
    .Width(QueueW),
    .Depth(4)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(job_take),
    .wready_o(queue_ready),
    .wdata_i({
      EnInt16 != 0 && cfg_wide_i, cfg_nhwc_i, dense, job_nch_i, job_cnt_i, job_waddr_i, cfg_stride_i, cfg_in_scale_i,
      cfg_quant_i
    }),
    .rvalid_o(queue_valid),
    .rready_i(queue_pop),
    .rdata_o({q_wide, q_nhwc, q_dense, q_nch, q_cnt, q_waddr, q_stride, q_scale, q_quant}),
    .count_o(unused_queue_count)
  );

  // ---------------------------------------------------------------- fill: quantise and write rows of four pixels
  logic [Kw-1:0] fill_bank_q;
  logic [Cw-1:0] fill_ch_q;
  logic [3:0]    fill_beat_q;
  logic [Banks-1:0] held_q;  // bank holds a job whose data have all been received
  logic [Banks-1:0] full_q;  // bank is ready to drain
  logic          fill_ready, take, fill_pop;
  logic          last_beat;
  logic          last_ch;
  logic [Banks-1:0] drain_free;
  logic          mul_v_q, cvt_v_q;
  logic [Cw+Kw+3:0] mul_a_q, cvt_a_q;  // {channel, bank, beat}
  logic          mul_l_q, cvt_l_q;  // last beat of a job
  logic [9:0]    mul_quant_q;
  logic [Kw-1:0] cvt_bank;
  logic [127:0]  product;
  logic [31:0]   quad;
  logic          wide;            // the job that fills: INT16
  logic [Kw-1:0] fill_next, cvt_next;  // the banks of its high bytes
  logic          mul_w_q, cvt_w_q;
  logic [Banks-1:0] fill_banks, cvt_banks;

  assign wide = EnInt16 != 0 && q_wide;
  assign fill_next = fill_bank_q + 1'b1;
  assign cvt_next = cvt_bank + 1'b1;
  assign fill_banks = (Banks'(1) << fill_bank_q) | (wide ? Banks'(1) << fill_next : '0);
  assign cvt_banks = (Banks'(1) << cvt_bank) | (cvt_w_q ? Banks'(1) << cvt_next : '0);
  assign fill_ready = queue_valid && !q_nhwc && (held_q & fill_banks) == '0;
  assign take = dat_valid_i && fill_ready;
  assign last_beat = {1'b0, fill_beat_q, 2'b00} + 7'd4 >= q_cnt;
  assign last_ch = {1'b0, fill_ch_q} + 1'b1 == q_nch;
  assign fill_pop = take && last_beat && last_ch;
  assign cvt_bank = cvt_a_q[4+:Kw];

  logic [Cw:0]   meta_nch_q[Banks];
  logic [6:0]    meta_cnt_q[Banks];
  logic [Aw-1:0] meta_waddr_q[Banks];
  logic [Aw-1:0] meta_stride_q[Banks];
  logic          meta_more_q[Banks];  // the next bank belongs to the job, too

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fill_bank_q <= '0;
      fill_ch_q <= '0;
      fill_beat_q <= '0;
      held_q <= '0;
      full_q <= '0;
      mul_v_q <= 1'b0;
      cvt_v_q <= 1'b0;
    end else begin
      mul_v_q <= take;
      cvt_v_q <= mul_v_q;
      if (take) begin
        fill_beat_q <= last_beat ? '0 : fill_beat_q + 1'b1;
        if (last_beat) fill_ch_q <= last_ch ? '0 : fill_ch_q + 1'b1;
        if (fill_pop) fill_bank_q <= wide ? fill_bank_q + Kw'(2) : fill_bank_q + 1'b1;
      end
      for (int unsigned b = 0; b < Banks; b++) begin
        if (drain_free[b]) held_q[b] <= 1'b0;
        else if (fill_pop && fill_banks[b]) held_q[b] <= 1'b1;
        if (drain_free[b]) full_q[b] <= 1'b0;
        else if (cvt_v_q && cvt_l_q && cvt_banks[b]) full_q[b] <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      mul_a_q <= {fill_ch_q, fill_bank_q, fill_beat_q};
      mul_l_q <= fill_pop;
      mul_w_q <= wide;
      mul_quant_q <= q_quant;
    end
    if (mul_v_q) begin
      cvt_a_q <= mul_a_q;
      cvt_l_q <= mul_l_q;
      cvt_w_q <= mul_w_q;
    end
    if (fill_pop) begin
      meta_nch_q[fill_bank_q] <= q_nch;
      meta_cnt_q[fill_bank_q] <= q_cnt;
      meta_waddr_q[fill_bank_q] <= q_waddr;
      meta_stride_q[fill_bank_q] <= q_stride;
      meta_more_q[fill_bank_q] <= wide;
      if (wide) begin
        meta_nch_q[fill_next] <= q_nch;
        meta_cnt_q[fill_next] <= q_cnt;
        meta_waddr_q[fill_next] <= q_waddr + 1'b1;
        meta_stride_q[fill_next] <= q_stride;
        meta_more_q[fill_next] <= 1'b0;
      end
    end
  end

  for (genvar l = 0; l < 4; l++) begin : g_lane
    fp_mul u_mul (
      .clk_i,
      .en_i(take),
      .a_i(dat_i[32*l+:32]),
      .b_i(q_scale),
      .y_o(product[32*l+:32])
    );
    fp_f32_to_i8 u_cvt (
      .clk_i,
      .en_i(mul_v_q),
      .a_i(product[32*l+:32]),
      .b_i(mul_quant_q),
      .y_o(quad[8*l+:8])
    );
  end

  // ---------------------------------------------------------------- the N channel RAMs, four banks of 16 rows
  logic [32*N-1:0] row_q;
  logic            rd_en;
  logic [Kw+3:0]   rd_addr;
  logic [5:0]      drain_pix_q;

  if (EnInt16 != 0) begin : g_int16
    logic [31:0] quad_lo, quad_high;
    logic [63:0] halves;
    for (genvar l = 0; l < 4; l++) begin : g_lane
      fp_f32_to_i16 u_cvt (
        .clk_i,
        .en_i(mul_v_q && mul_w_q),
        .a_i(product[32*l+:32]),
        .y_o(halves[16*l+:16])
      );
      assign quad_lo[8*l+:8] = cvt_w_q ? halves[16*l+:8] : quad[8*l+:8];
      assign quad_high[8*l+:8] = halves[16*l+8+:8];
    end
    // Even and odd banks in memories of their own: an INT16 job writes a row of two neighbours at a time.
    logic [32*N-1:0] even[8*Banks];
    logic [32*N-1:0] odd[8*Banks];
    logic [Kw+2:0] even_a, odd_a;
    assign even_a = {cvt_bank[0] ? cvt_next[Kw-1:1] : cvt_bank[Kw-1:1], cvt_a_q[3:0]};
    assign odd_a = {cvt_bank[0] ? cvt_bank[Kw-1:1] : cvt_next[Kw-1:1], cvt_a_q[3:0]};
    always_ff @(posedge clk_i) begin
      if (cvt_v_q && (cvt_w_q || !cvt_bank[0]))
        even[even_a][32*cvt_a_q[Cw+Kw+3:Kw+4]+:32] <= cvt_bank[0] ? quad_high : quad_lo;
      if (cvt_v_q && (cvt_w_q || cvt_bank[0]))
        odd[odd_a][32*cvt_a_q[Cw+Kw+3:Kw+4]+:32] <= cvt_bank[0] ? quad_lo : quad_high;
      if (rd_en && drain_pix_q[1:0] == 2'd0)
        row_q <= rd_addr[4] ? odd[{rd_addr[Kw+3:5], rd_addr[3:0]}] : even[{rd_addr[Kw+3:5], rd_addr[3:0]}];
    end
  end else begin : g_int8
    logic [32*N-1:0] mem[16*Banks];
    always_ff @(posedge clk_i) begin
      if (cvt_v_q) mem[cvt_a_q[Kw+3:0]][32*cvt_a_q[Cw+Kw+3:Kw+4]+:32] <= quad;
      if (rd_en && drain_pix_q[1:0] == 2'd0) row_q <= mem[rd_addr];  // a row lasts four pixels
    end
  end

  // ---------------------------------------------------------------- drain: one pixel of N channels a cycle
  logic [Kw-1:0] drain_bank_q;
  logic [Aw-1:0] drain_addr_q;
  logic          drain_first;
  logic          drain_last;
  logic          row_v_q, row_l_q;
  logic [1:0]    row_b_q;
  logic [Cw:0]   row_nch_q;
  logic [Aw-1:0] row_addr_q;
  logic          out_v_q, out_l_q;
  logic          row_go, out_go;
  logic          pass_go, pass_last;

  assign out_go = !out_v_q || wr_ready_i;
  assign row_go = !row_v_q || out_go;
  assign rd_en = full_q[drain_bank_q] && row_go;
  assign rd_addr = {drain_bank_q, drain_pix_q[5:2]};
  assign drain_first = drain_pix_q == '0;
  assign drain_last = {1'b0, drain_pix_q} + 7'd1 == meta_cnt_q[drain_bank_q];
  assign drain_free = rd_en && drain_last ? Banks'(1) << drain_bank_q : '0;
  assign wr_valid_o = out_v_q;
  assign done_o = out_v_q && out_l_q && wr_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      drain_bank_q <= '0;
      drain_pix_q <= '0;
      row_v_q <= 1'b0;
      out_v_q <= 1'b0;
    end else begin
      if (rd_en) begin
        drain_pix_q <= drain_last ? '0 : drain_pix_q + 1'b1;
        if (drain_last) drain_bank_q <= drain_bank_q + 1'b1;
      end
      if (row_go) row_v_q <= rd_en;
      if (out_go) out_v_q <= row_v_q || pass_go;
    end
  end

  // ---------------------------------------------------------------- INT8: words pass when the FP32 path is empty
  logic           pass_on;
  logic           gear_ready, gear_valid;
  logic [8*N-1:0] gear_word;
  logic [Aw-1:0]  pass_blk_q;   // block of the pixel
  logic [6:0]     pass_pix_q;
  logic [Aw-1:0]  pass_word_q;  // word of the job
  logic           last_blk, row_last, mask_blk;

  assign pass_on = queue_valid && q_nhwc && held_q == '0 && !row_v_q;
  assign last_blk = pass_blk_q + 1'b1 == q_stride;
  assign mask_blk = last_blk || (wide && pass_blk_q + Aw'(2) == q_stride);
  assign pass_last = last_blk && pass_pix_q + 7'd1 == q_cnt;
  assign row_last = q_dense ? pass_last : last_blk;  // the rest of its beat is dropped
  assign pass_go = gear_valid && out_go;
  assign queue_pop = fill_pop || (pass_go && pass_last);
  assign dat_ready_o = fill_ready || (pass_on && (gear_ready || (out_go && row_last)));

  gearbox #(
    .N(N)
  ) u_gearbox (
    .clk_i,
    .rst_ni,
    .clr_i(pass_go && row_last),
    .in_valid_i(dat_valid_i && pass_on),
    .in_ready_o(gear_ready),
    .in_data_i(dat_i),
    .out_valid_o(gear_valid),
    .out_ready_i(out_go),
    .out_data_o(gear_word)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pass_blk_q <= '0;
      pass_pix_q <= '0;
      pass_word_q <= '0;
    end else if (pass_go) begin
      pass_word_q <= pass_last ? '0 : pass_word_q + 1'b1;
      pass_blk_q <= last_blk ? '0 : pass_blk_q + 1'b1;
      if (last_blk) pass_pix_q <= pass_last ? '0 : pass_pix_q + 7'd1;
    end
  end

  // ---------------------------------------------------------------- words of both kinds
  always_ff @(posedge clk_i) begin
    if (rd_en) begin
      row_b_q <= drain_pix_q[1:0];
      row_l_q <= drain_last && !(EnInt16 != 0 && meta_more_q[drain_bank_q]);
      row_nch_q <= meta_nch_q[drain_bank_q];
      row_addr_q <= drain_first ? meta_waddr_q[drain_bank_q] : drain_addr_q;
      drain_addr_q <= (drain_first ? meta_waddr_q[drain_bank_q] : drain_addr_q) + meta_stride_q[drain_bank_q];
    end
    if (row_v_q && out_go) begin
      out_l_q <= row_l_q;
      wr_addr_o <= row_addr_q;
      for (int unsigned c = 0; c < N; c++)
        wr_data_o[8*c+:8] <= row_q[32*c+8*32'(row_b_q)+:8] & {8{c < 32'(row_nch_q)}};
    end else if (pass_go) begin
      out_l_q <= pass_last;
      wr_addr_o <= q_waddr + pass_word_q;
      for (int unsigned c = 0; c < N; c++) wr_data_o[8*c+:8] <= gear_word[8*c+:8] & {8{!mask_blk || c < 32'(q_nch)}};
    end
  end

  assign active_o = job_valid_i || rq_busy_q || queue_valid || held_q != '0 || mul_v_q || cvt_v_q || row_v_q || out_v_q;

  `ASSERT(LayoutJobSize, !job_take || (job_cnt_i >= 7'd1 && job_cnt_i <= 7'd64))
  `ASSERT(LayoutJobChannels, !job_take || (job_nch_i != '0 && 32'(job_nch_i) <= N))
  `ASSERT(LayoutBankWrittenOnce, !(cvt_v_q && cvt_l_q && full_q[cvt_bank]))
  `ASSERT(LayoutOneSource, !(pass_go && row_v_q))
  `ASSERT_STABLE(ReqStable, req_valid_o, req_ready_i, {req_addr_o, req_bytes_o})
  `ASSERT_STABLE(WrStable, wr_valid_o, wr_ready_i, {wr_addr_o, wr_data_o})

endmodule
