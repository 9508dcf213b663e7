// Weight loader: fills one bank of wgt_buf with the weights of every second block of N output channels.
//
// A block is W words of N bytes, contiguous in memory (docs/npu/npu.md section 3.2): KH*KW*ICB*N for CONV, KH*KW for
// DEPTHWISE, twice as many of INT16 (EnInt16, task_i.wide), where blocks start on multiples of 16 bytes: bytes of the
// last beat beyond the block are dropped. CONVERT
// has no weights: the task is popped at once and im2col neither checks nor releases anything for it. Blocks are read in
// pieces of at most 1 KB so that other requesters of the channel are served in between.
//
// Ping-pong    (WGT_RES = 0) The blocks of all such tasks, without other tasks, form one sequence; bank
//              Bank takes the blocks with that parity, each from bank word 0 on. full_o: the bank holds a complete
//              block; release_i frees it, full_o falls in the next cycle and the next block is fetched, also that of
//              the next task.
// Resident     (WGT_RES = 1) Bank Bank takes the blocks ocb of the task with ocb % 2 == Bank, block ocb from bank word
//              (ocb / 2) * W on. It is assigned to the task from the release of all its former contents until one
//              release_i at the end of the task; that also comes for a bank without blocks of the task. Block ocb may
//              be used when blocks_o > ocb / 2, while later blocks are still being written: the bank must take a write
//              and a read in one cycle.
// Kept         (WGT_RES = WGT_KEEP = 1) Nothing is loaded; when the task before is released, blocks_o is that one's
//              count.
// blocks_o     counts for the oldest resident task that is not released, 0 as long as none of its blocks has arrived.
//              In the cycle of release_i it still counts for the task that is released; in the cycle after it is the
//              count of the task before for a kept task that is presented, else 0.
// release_i    for a resident task not earlier than 4 cycles after both the task has been offered and the task before
//              has been released.
//
// Tasks of all kinds follow each other in any order. task_pop_o pulses when the task needs nothing more from memory.
// busy_o: a block is being read. active_o: the next clock edge may change a register that matters; while it is 0 the
// clock may stand still. Requests of a resident task are limited to 2 KB in flight after its first block, so
// that they share the channel with the input.
// Throughput   16 bytes or one word a cycle, whichever is less.
`include "assert.svh"

module wgt_ld #(
  parameter int unsigned N = 8,
  parameter bit Bank = 1'b0,
  parameter int unsigned EnInt16 = 0
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      task_valid_i,
  input  npu_pkg::gemm_task_t       task_i,
  output logic                      task_pop_o,
  output logic                      busy_o,
  output logic                      active_o,
  output logic                      req_valid_o,
  input  logic                      req_ready_i,
  output logic [31:0]               req_addr_o,
  output logic [23:0]               req_bytes_o,
  input  logic                      dat_valid_i,
  output logic                      dat_ready_o,
  input  logic [127:0]              dat_i,
  output logic                      we_o,
  output logic [npu_pkg::WgtAw-1:0] waddr_o,
  output logic [8*N-1:0]            wdata_o,
  output logic                      full_o,
  output logic [9:0]                blocks_o,
  input  logic                      release_i
);

  localparam int unsigned Ln = $clog2(N);
  localparam int unsigned Aw = npu_pkg::WgtAw;
  localparam logic [17:0] Piece = 18'd1024;
  localparam logic [13:0] PieceBeats = 14'd64;

  typedef enum logic [2:0] {Idle, Prep, Check, Load, Done} state_e;
  state_e state_q;

  logic          par_q;       // parity of the task's first block in the sequence of all ping-pong blocks
  logic          held_q;      // the bank is assigned to a resident task
  logic [9:0]    kept_q;      // blocks of the resident task that was loaded last
  logic [15:0]   icb, ocb;
  logic [16:0]   taps_q;
  logic [31:0]   words;       // words of a block
  logic [Aw-1:0] words_q;
  logic [17:0]   bytes;       // bytes of a block
  logic [31:0]   step;        // bytes from one block to the next
  logic          bank_free;
  logic          keep_take;

  assign icb = 16'((17'(task_i.ic) + 17'(N - 1)) >> Ln);
  assign ocb = 16'((17'(task_i.oc) + 17'(N - 1)) >> Ln);
  assign words = (task_i.op == npu_pkg::OpDepthwise ? 32'(taps_q) : (32'(taps_q) * 32'(icb)) << Ln) <<
                 (EnInt16 != 0 && task_i.wide);
  assign bytes = 18'(words_q) << Ln;
  assign step = ((words << Ln) + 32'd15) & ~32'd15;

  // ---------------------------------------------------------------- requests
  logic [15:0]   rq_blk_q;    // block within the task
  logic [31:0]   rq_addr_q;   // of that block
  logic [17:0]   rq_done_q;   // bytes of it that are requested
  logic          rq_more_q;   // something of the task (ping-pong: of the block) is left to request
  logic          rq_first_q;  // nothing or a part of the first block is requested
  logic [31:0]   step_q;      // bytes to the bank's next block
  logic [13:0]   flight_q;    // beats requested and not yet received
  logic [17:0]   rq_left;
  logic          req_go, beat_go;

  assign rq_left = bytes - rq_done_q;
  assign req_valid_o = state_q == Load && rq_more_q && (rq_first_q || flight_q <= PieceBeats);
  assign req_addr_o = rq_addr_q + 32'(rq_done_q);
  assign req_bytes_o = {6'd0, rq_left > Piece ? Piece : rq_left};
  assign req_go = req_valid_o && req_ready_i;

  // ---------------------------------------------------------------- words
  logic [15:0]   blk_q;       // block of the data
  logic [Aw-1:0] cnt_q;       // word of the block
  logic [Aw-1:0] waddr_q;
  logic          last_word, block_done, last_blk;
  logic          gear_ready;

  assign last_word = cnt_q + 1'b1 == words_q;
  assign last_blk = 17'(blk_q) + 17'd2 >= 17'(ocb);
  assign block_done = we_o && last_word;
  assign waddr_o = waddr_q;
  assign dat_ready_o = gear_ready || last_word;  // the rest of the beat is dropped
  assign beat_go = dat_valid_i && dat_ready_o;

  gearbox #(
    .N(N)
  ) u_gearbox (
    .clk_i,
    .rst_ni,
    .clr_i(block_done),
    .in_valid_i(dat_valid_i),
    .in_ready_o(gear_ready),
    .in_data_i(dat_i),
    .out_valid_o(we_o),
    .out_ready_i(1'b1),
    .out_data_o(wdata_o)
  );

  // ---------------------------------------------------------------- control
  assign bank_free = !(full_o || held_q) || release_i;
  assign keep_take = state_q == Idle && task_valid_i && task_i.op != npu_pkg::OpConvert &&
                     task_i.wgt_res && task_i.wgt_keep && bank_free;
  assign task_pop_o = keep_take || state_q == Done ||
                      (state_q == Idle && task_valid_i && task_i.op == npu_pkg::OpConvert);
  assign busy_o = state_q == Load;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      par_q <= 1'b0;
      held_q <= 1'b0;
      full_o <= 1'b0;
      blocks_o <= '0;
      kept_q <= '0;
    end else begin
      if (release_i) begin
        full_o <= 1'b0;
        held_q <= 1'b0;
        blocks_o <= '0;
      end
      unique case (state_q)
        Idle: begin
          if (keep_take) begin
            held_q <= 1'b1;
            blocks_o <= kept_q;
          end else if (task_valid_i && task_i.op != npu_pkg::OpConvert && !(task_i.wgt_res && task_i.wgt_keep)) begin
            state_q <= Prep;
          end
        end
        Prep: state_q <= Check;
        Check: begin
          if (task_i.wgt_res) begin
            if (bank_free) begin
              held_q <= 1'b1;
              kept_q <= '0;
              state_q <= blk_q >= ocb ? Done : Load;
            end
          end else if (blk_q >= ocb) begin
            state_q <= Done;
          end else if (bank_free) begin
            state_q <= Load;
          end
        end
        Load:
        if (block_done) begin
          if (task_i.wgt_res) begin
            blocks_o <= blocks_o + 10'd1;
            kept_q <= kept_q + 10'd1;
          end else begin
            full_o <= 1'b1;
          end
          if (last_blk) state_q <= Done;
          else if (!task_i.wgt_res) state_q <= Check;
        end
        default: begin
          if (!task_i.wgt_res) par_q <= par_q ^ ocb[0];
          state_q <= Idle;
        end
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      taps_q <= '0;
      words_q <= '0;
      step_q <= '0;
      rq_blk_q <= '0;
      rq_addr_q <= '0;
      rq_done_q <= '0;
      rq_more_q <= 1'b0;
      rq_first_q <= 1'b0;
      flight_q <= '0;
      blk_q <= '0;
      cnt_q <= '0;
      waddr_q <= '0;
    end else begin
      unique case (state_q)
        Idle: begin
          taps_q <= 17'(task_i.kw) * 17'(task_i.kh);
          blk_q <= {15'd0, task_i.wgt_res ? Bank : par_q != Bank};
          flight_q <= '0;
        end
        Prep: begin
          words_q <= words[Aw-1:0];
          step_q <= step << 1;
          rq_addr_q <= task_i.wgt_addr + (blk_q[0] ? step : 32'd0);
        end
        Check: begin
          rq_blk_q <= blk_q;
          rq_done_q <= '0;
          rq_more_q <= 1'b1;
          rq_first_q <= 1'b1;
          cnt_q <= '0;
          waddr_q <= '0;
        end
        Load: begin
          if (req_go) begin
            rq_done_q <= rq_done_q + req_bytes_o[17:0];
            if (rq_left <= Piece) begin
              rq_done_q <= '0;
              rq_addr_q <= rq_addr_q + step_q;
              rq_blk_q <= rq_blk_q + 16'd2;
              rq_more_q <= task_i.wgt_res && 17'(rq_blk_q) + 17'd2 < 17'(ocb);
              rq_first_q <= 1'b0;
            end
          end
          flight_q <= flight_q + (req_go ? 14'((req_bytes_o + 24'd15) >> 4) : 14'd0) - 14'(beat_go);
          if (we_o) begin
            cnt_q <= last_word ? '0 : cnt_q + 1'b1;
            waddr_q <= waddr_q + 1'b1;
          end
          if (block_done) blk_q <= blk_q + 16'd2;
        end
        default: ;
      endcase
    end
  end

  // the first cycle of Check loads what the following ones would load again
  logic checked_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) checked_q <= 1'b0;
    else checked_q <= state_q == Check;
  end
  assign active_o = (state_q == Idle ? task_valid_i : state_q != Check || !checked_q || bank_free) || release_i;

  `ASSERT(WgtLdNoStrayData, !we_o || (state_q == Load && flight_q != '0))
  `ASSERT(WgtLdBankRange, !we_o || 32'(waddr_q) < npu_pkg::WgtDepth)
  `ASSERT(WgtLdReleaseHeld, !release_i || full_o || held_q)
  `ASSERT(WgtLdOneOwner, !(full_o && held_q))
  `ASSERT_STABLE(ReqStable, req_valid_o, req_ready_i, {req_addr_o, req_bytes_o})

endmodule
