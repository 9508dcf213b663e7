// Requantiser: turns FP32 results of every second word of pixels into INT8 NHWC and its write jobs; one in each post.
//
// Function     q = f32_to_i8(y * out_scale) on 4*Cols lanes (docs/npu/npu.md section 2; thesis section 3.6.2), rows of
//              N pixels of one channel through the N x N transposer, pixels of N channels to memory.
// Blocks       A block is a tile's share of this unit: the N pixels 8k + 4*Chan + i (k < N/4, i < 4) of the 2N pixels
//              of a tile, times N channels. blk_* describes it: address of pixel 4*Chan of the tile, pixels of the tile
//              that exist (from 1 to 2N), channels that exist, whether it is the last of the task (the transposer then
//              flushes itself). The results of a block follow on in_*, channels ascending: passes of Cols channels
//              (single_i: one channel), N/4 words of four pixels each; lane 4*j + i is pixel i of channel j of the
//              pass. Channels that do not exist are written 0, pixels that do not exist are not written.
// INT16        (EnInt16, wide_i) q = f32_to_i16(y * out_scale). A word of in_* has the pixels 4k + 2*Chan + i (k < N/2,
//              i < 2) in the lanes 4*j and 4*j + 1, and a pass twice the words. A pixel is 2N bytes, the low bytes of N
//              channels and then the high ones, so the pitch of contiguous pixels is 2N. There is a second transposer,
//              for the high bytes.
// Flow         in_* never waits: a pass may be started only when fewer than Slots are between the first word and pop_o.
// Jobs         pitch = N: one job of up to 4N contiguous bytes for each k; else one of N bytes (INT16: 2N) for each
//              pixel.
// Throughput   One word in a cycle; out N bytes or a beat of 16 at most. Latency: the transposer's block.
// active_o     The next clock edge may change a register; while it is 0 the clock may stand still.
// idle_o       Every job of the blocks taken has been accepted and every byte has gone to send_buf.
// Length       More than 300 lines: the passes, the transposers and the jobs of a block share its counters.
`include "assert.svh"

module requant #(
  parameter int unsigned N = 8,
  parameter bit Chan = 1'b0,
  parameter int unsigned EnInt16 = 0,
  localparam int unsigned Cols = N >= 16 ? 4 : N / 4,
  localparam int unsigned Slots = N >= 16 ? 8 : 16
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [31:0]          out_scale_i,
  input  logic [9:0]           quant_i,      // zero-point and rounding: fp_f32_to_i8, b_i
  input  logic                 wide_i,
  input  logic [31:0]          pitch_i,
  input  logic                 single_i,
  input  logic                 blk_valid_i,
  output logic                 blk_ready_o,
  input  logic [31:0]          blk_addr_i,
  input  logic [$clog2(N)+1:0] blk_npix_i,
  input  logic [$clog2(N):0]   blk_nch_i,
  input  logic                 blk_last_i,
  input  logic                 in_valid_i,
  input  logic [128*Cols-1:0]  in_data_i,
  output logic                 pop_o,
  output logic                 idle_o,
  output logic                 wr_req_valid_o,
  input  logic                 wr_req_ready_i,
  output logic [31:0]          wr_req_addr_o,
  output logic [23:0]          wr_req_bytes_o,
  output logic                 wr_valid_o,
  input  logic                 wr_ready_i,
  output logic [127:0]         wr_data_o,
  output logic                 active_o
);

  localparam int unsigned Ln = $clog2(N);
  localparam int unsigned Lanes = 4 * Cols;
  localparam int unsigned Words = N / 4;      // words of a pass, runs of a block
  localparam int unsigned Sw = $clog2(Slots);
  localparam int unsigned Ww = (Words > 1 ? $clog2(Words) : 1) + (EnInt16 != 0 && Words > 1 ? 1 : 0);
  localparam int unsigned Rw = EnInt16 != 0 ? 16 * N : 8 * N;  // bits of a row of pixels of one channel
  localparam int unsigned Blocks = 8;

  logic is_packed;
  logic wide;
  logic [Ww-1:0] last_word;  // of a pass, run of a block
  assign wide = EnInt16 != 0 && wide_i;
  assign last_word = wide ? Ww'(2 * Words - 1) : Ww'(Words - 1);
  assign is_packed = pitch_i == 32'(N) << wide;

  // ---------------------------------------------------------------- block descriptors for the three walkers
  logic j_ready, d_ready, l_ready, j_valid, d_valid, l_valid, j_pop, d_pop, l_pop;
  logic [31:0] j_addr;
  logic [Ln+1:0] j_npix, d_npix;
  logic [Ln:0] d_nch;
  logic l_last;
  logic blk_take;
  logic [3:0] unused_cnt0, unused_cnt1, unused_cnt2;

  assign blk_ready_o = j_ready && d_ready && l_ready;
  assign blk_take = blk_valid_i && blk_ready_o;

  fifo #(
    .Width(32 + Ln + 2),
    .Depth(Blocks)
  ) u_blk_job (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(blk_take),
    .wready_o(j_ready),
    .wdata_i({blk_addr_i, blk_npix_i}),
    .rvalid_o(j_valid),
    .rready_i(j_pop),
    .rdata_o({j_addr, j_npix}),
    .count_o(unused_cnt0)
  );
  fifo #(
    .Width(2 * Ln + 3),
    .Depth(Blocks)
  ) u_blk_data (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(blk_take),
    .wready_o(d_ready),
    .wdata_i({blk_npix_i, blk_nch_i}),
    .rvalid_o(d_valid),
    .rready_i(d_pop),
    .rdata_o({d_npix, d_nch}),
    .count_o(unused_cnt1)
  );
  fifo #(
    .Width(1),
    .Depth(Blocks)
  ) u_blk_last (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(blk_take),
    .wready_o(l_ready),
    .wdata_i(blk_last_i),
    .rvalid_o(l_valid),
    .rready_i(l_pop),
    .rdata_o(l_last),
    .count_o(unused_cnt2)
  );

  // ---------------------------------------------------------------- arithmetic: two cycles
  logic [1:0] v_q;
  logic [32*Lanes-1:0] product;
  logic [8*Lanes-1:0] bytes;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) v_q <= '0;
    else v_q <= {v_q[0], in_valid_i};
  end

  for (genvar l = 0; l < Lanes; l++) begin : g_lane
    fp_mul u_mul (
      .clk_i,
      .en_i(in_valid_i),
      .a_i(in_data_i[32*l+:32]),
      .b_i(out_scale_i),
      .y_o(product[32*l+:32])
    );
    fp_f32_to_i8 u_cvt (
      .clk_i,
      .en_i(v_q[0]),
      .a_i(product[32*l+:32]),
      .b_i(quant_i),
      .y_o(bytes[8*l+:8])
    );
  end

  logic [32*Cols-1:0] quads;  // what a channel of the pass writes: four bytes, or two of INT16
  for (genvar j = 0; j < Cols; j++) begin : g_quad
    if (EnInt16 != 0) begin : g_int16
      logic [31:0] halves;
      for (genvar i = 0; i < 2; i++) begin : g_lane
        fp_f32_to_i16 u_cvt (
          .clk_i,
          .en_i(v_q[0] && wide),
          .a_i(product[128*j+32*i+:32]),
          .y_o(halves[16*i+:16])
        );
      end
      assign quads[32*j+:32] = wide ? halves : bytes[32*j+:32];
    end else begin : g_int8
      assign quads[32*j+:32] = bytes[32*j+:32];
    end
  end

  // ---------------------------------------------------------------- gather: rows of N pixels of one channel
  logic [Ww-1:0] k_q;
  logic [Sw-1:0] wslot_q, rslot_q;
  logic [Sw:0]   used_q;      // complete passes that wait
  logic          pass_done;
  logic [Rw*Cols-1:0] rows;  // rows of the pass at the head
  logic [Rw-1:0] row;        // the one for the transposer
  logic [8*N-1:0] row_lo;
  logic [1:0]    row_q;       // row of the pass
  logic [Ln-1:0] ch_q;        // row of the block
  logic          row_last, tr_valid, tr_ready, tr_last, row_take;

  assign pass_done = v_q[1] && k_q == last_word;
  assign tr_valid = used_q != '0 && l_valid;
  assign row_take = tr_valid && tr_ready;
  assign row_last = single_i || row_q == 2'(Cols - 1);
  assign pop_o = row_take && row_last;
  assign l_pop = row_take && ch_q == Ln'(N - 1);
  assign tr_last = l_last && ch_q == Ln'(N - 1);

  for (genvar j = 0; j < Cols; j++) begin : g_row
    logic [Rw-1:0] mem[Slots];
    always_ff @(posedge clk_i) begin
      if (v_q[1]) mem[wslot_q][32*k_q+:32] <= quads[32*j+:32];
    end
    assign rows[Rw*j+:Rw] = used_q != '0 ? mem[rslot_q] : '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      k_q <= '0;
      wslot_q <= '0;
      rslot_q <= '0;
      used_q <= '0;
      row_q <= '0;
      ch_q <= '0;
    end else begin
      if (v_q[1]) k_q <= pass_done ? '0 : k_q + 1'b1;
      if (pass_done) wslot_q <= wslot_q + 1'b1;
      if (pop_o) rslot_q <= rslot_q + 1'b1;
      used_q <= used_q + (Sw + 1)'(pass_done) - (Sw + 1)'(pop_o);
      if (row_take) begin
        row_q <= row_last ? '0 : row_q + 2'd1;
        ch_q <= ch_q + 1'b1;
      end
    end
  end

  assign row = rows[Rw*32'(row_q)+:Rw];
  logic           px_valid, px_ready;
  logic [8*N-1:0] px_raw, px_high, px;
  logic           high_q;     // INT16: the high bytes of the pixel are next
  logic           keep;       // the pixel exists
  logic           vec_ready;  // N bytes of a pixel are taken, or the whole pixel does not exist

  if (EnInt16 != 0) begin : g_high
    logic [8*N-1:0] row_hi;
    logic unused_ready, unused_valid;
    always_comb begin
      for (int unsigned i = 0; i < N; i++) begin
        row_lo[8*i+:8] = wide ? row[16*i+:8] : row[8*i+:8];
        row_hi[8*i+:8] = row[16*i+8+:8];
      end
    end
    transpose #(
      .N(N)
    ) u_transpose (
      .clk_i,
      .rst_ni,
      .in_valid_i(tr_valid && wide),
      .in_ready_o(unused_ready),
      .in_data_i(row_hi),
      .in_last_i(tr_last),
      .out_valid_o(unused_valid),
      .out_ready_i(px_ready),
      .out_data_o(px_high)
    );
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) high_q <= 1'b0;
      else if (wide && vec_ready && px_valid && keep) high_q <= !high_q;
    end
  end else begin : g_low
    assign row_lo = row;
    assign px_high = '0;
    assign high_q = 1'b0;
  end

  transpose #(
    .N(N)
  ) u_transpose (
    .clk_i,
    .rst_ni,
    .in_valid_i(tr_valid),
    .in_ready_o(tr_ready),
    .in_data_i(row_lo),
    .in_last_i(tr_last),
    .out_valid_o(px_valid),
    .out_ready_i(px_ready),
    .out_data_o(px_raw)
  );

  // ---------------------------------------------------------------- pixels to beats
  logic [Ln-1:0] i_q;        // pixel of the block
  logic [Ln+2:0] px_index;   // pixel of the tile

  // Pixel i of the block is pixel 8*(i/4) + 4*Chan + i%4 of the tile, INT16: 4*(i/2) + 2*Chan + i%2.
  assign px_index = wide ? (Ln + 3)'(4 * (32'(i_q) / 2) + 2 * 32'(Chan) + 32'(i_q[0])) :
                    (Ln + 3)'(8 * (32'(i_q) / 4) + 4 * 32'(Chan) + 32'(i_q[1:0]));
  assign px_ready = vec_ready && (!wide || high_q || !keep);
  assign keep = px_index < {1'b0, d_npix};
  assign d_pop = px_valid && px_ready && i_q == Ln'(N - 1);

  // the conditions below avoid wide operations of the simulator in idle cycles
  always_comb begin
    px = high_q ? px_high : px_raw;
    if (px_valid && d_nch != (Ln + 1)'(N)) begin
      for (int unsigned c = 0; c < N; c++) px[8*c+:8] = px[8*c+:8] & {8{c < 32'(d_nch)}};
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) i_q <= '0;
    else if (px_valid && px_ready) i_q <= i_q + 1'b1;
  end

  if (N == 32) begin : g_two_beats
    logic half_q;
    assign wr_valid_o = px_valid && d_valid && keep;
    assign wr_data_o = half_q ? px[8*N-1-:128] : px[127:0];
    assign vec_ready = d_valid && (!keep || (half_q && wr_ready_i));
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) half_q <= 1'b0;
      else if (wr_valid_o && wr_ready_i) half_q <= !half_q;
    end
  end else if (N == 16) begin : g_one_beat
    assign wr_valid_o = px_valid && d_valid && keep;
    assign wr_data_o = px;
    assign vec_ready = d_valid && (!keep || wr_ready_i);
  end else begin : g_pack
    localparam int unsigned Per = 16 / N;  // pixels of a beat: 2 or 4
    localparam int unsigned Pw = $clog2(Per);
    logic [127:0] beat_q, beat;
    logic [Pw-1:0] sub;
    logic emit, next_exists;
    assign sub = wide ? (is_packed ? Pw'({i_q[0], high_q}) : Pw'(high_q)) : is_packed ? i_q[Pw-1:0] : '0;
    assign next_exists = (wide ? !i_q[0] : i_q[1:0] != 2'd3) && px_index + 1'b1 < {1'b0, d_npix};
    assign emit = (!wide || high_q) && (!is_packed || sub == Pw'(Per - 1) || !next_exists);
    always_comb begin
      beat = beat_q;
      beat[8*N*32'(sub)+:8*N] = px;
    end
    assign wr_valid_o = px_valid && d_valid && keep && emit;
    assign wr_data_o = beat;
    assign vec_ready = d_valid && (!keep || !emit || wr_ready_i);
    always_ff @(posedge clk_i) begin
      if (px_valid && vec_ready && keep) beat_q <= beat;
    end
  end

  // ---------------------------------------------------------------- jobs
  logic [Ww-1:0] run_q;
  logic [1:0]    ji_q;        // pixel of the run
  logic          j_begin_q;   // the next step is the first of its block
  logic [31:0]   run_addr_q, run_addr, px_addr_q, px_addr;
  logic [Ln+2:0] run_pix;     // first pixel of the run within the tile
  logic [Ln+2:0] run_left;
  logic [2:0]    run_n;       // pixels of the run that exist
  logic          job_go, run_end, blk_end;

  logic [2:0]    run_full;    // pixels of a run
  assign run_full = wide ? 3'd2 : 3'd4;
  assign run_pix = wide ? (Ln + 3)'(4 * 32'(run_q) + 2 * 32'(Chan)) : (Ln + 3)'(8 * 32'(run_q) + 4 * 32'(Chan));
  assign run_left = run_pix < {1'b0, j_npix} ? {1'b0, j_npix} - run_pix : '0;
  assign run_n = run_left > (Ln + 3)'(run_full) ? run_full : run_left[2:0];
  assign run_addr = j_begin_q ? j_addr : run_addr_q;
  assign px_addr = ji_q == 2'd0 ? run_addr : px_addr_q;
  assign wr_req_valid_o = j_valid && run_n != 3'd0;
  assign wr_req_addr_o = px_addr;
  assign wr_req_bytes_o = (is_packed ? 24'(run_n) << Ln : 24'(N)) << wide;
  assign job_go = j_valid && (run_n == 3'd0 || wr_req_ready_i);
  assign run_end = is_packed || run_n == 3'd0 || {1'b0, ji_q} + 3'd1 == run_n;
  assign blk_end = run_n < run_full || run_q == last_word;
  assign j_pop = job_go && run_end && blk_end;
  assign idle_o = !j_valid && !d_valid;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      run_q <= '0;
      ji_q <= '0;
      j_begin_q <= 1'b1;
      run_addr_q <= '0;
      px_addr_q <= '0;
    end else if (job_go) begin
      if (run_end) begin
        run_q <= blk_end ? '0 : run_q + 1'b1;
        ji_q <= '0;
        j_begin_q <= blk_end;
        run_addr_q <= run_addr + (wide ? {pitch_i[29:0], 2'd0} : {pitch_i[28:0], 3'd0});
      end else begin
        ji_q <= ji_q + 2'd1;
        px_addr_q <= px_addr + pitch_i;
        run_addr_q <= run_addr;
        j_begin_q <= 1'b0;
      end
    end
  end

  logic busy, busy_q;  // one more edge after the last byte, for the pulses of that cycle
  assign busy = blk_valid_i || in_valid_i || v_q != '0 || used_q != '0 || px_valid || !idle_o;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else busy_q <= busy;
  end
  assign active_o = busy || busy_q;

  `ASSERT(RequantSlots, used_q <= (Sw + 1)'(Slots))
  `ASSERT(RequantBlockKnown, !px_valid || d_valid)
  `ASSERT_STABLE(WrReqStable, wr_req_valid_o, wr_req_ready_i, {wr_req_addr_o, wr_req_bytes_o})
  `ASSERT_STABLE(WrStable, wr_valid_o, wr_ready_i, wr_data_o)

endmodule
