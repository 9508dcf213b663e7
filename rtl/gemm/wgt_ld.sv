// Weight loader: fills one bank of wgt_buf with the weights of every second block of N output channels.
//
// The blocks of all tasks form one sequence; bank Bank takes the blocks with that parity. A block is KH*KW*ICB*N words of N
// bytes, contiguous in memory (docs/npu.md section 3); it is read in pieces of at most 1 KB so that other requesters of the
// channel get their turn.
// Handshake    full_o: the bank holds a complete block; release_i (from im2col) frees it and the next block is fetched, also
//              that of the next task. task_pop_o pulses when the task needs nothing more from this bank.
`include "npu_assert.svh"

module wgt_ld #(
  parameter int unsigned N = 8,
  parameter bit Bank = 1'b0
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      task_valid_i,
  input  npu_pkg::gemm_task_t       task_i,
  output logic                      task_pop_o,
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
  input  logic                      release_i
);

  localparam int unsigned Ln = $clog2(N);
  localparam int unsigned Aw = npu_pkg::WgtAw;
  localparam logic [17:0] Piece = 18'd1024;

  typedef enum logic [2:0] {Idle, Prep, Check, Load} state_e;
  state_e state_q;

  logic          par_q;      // parity of the task's first block in the sequence of all blocks
  logic [15:0]   icb, ocb;
  logic [16:0]   taps_q;
  logic [Aw-1:0] words_q;    // words of a block
  logic [17:0]   bytes;      // bytes of a block
  logic [15:0]   blk_q;      // block within the task
  logic [31:0]   addr_q;
  logic [17:0]   left_q;     // bytes not requested yet
  logic [Aw-1:0] cnt_q;      // words written
  logic          done;

  assign icb = 16'((17'(task_i.ic) + 17'(N - 1)) >> Ln);
  assign ocb = 16'((17'(task_i.oc) + 17'(N - 1)) >> Ln);
  assign bytes = 18'(words_q) << Ln;
  assign req_valid_o = state_q == Load && left_q != '0;
  assign req_addr_o = addr_q;
  assign req_bytes_o = {6'd0, left_q > Piece ? Piece : left_q};
  assign waddr_o = cnt_q;
  assign done = state_q == Load && cnt_q == words_q;
  assign task_pop_o = state_q == Check && blk_q >= ocb;

  npu_gearbox #(
    .N(N)
  ) u_gearbox (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .in_valid_i(dat_valid_i),
    .in_ready_o(dat_ready_o),
    .in_data_i(dat_i),
    .out_valid_o(we_o),
    .out_ready_i(1'b1),
    .out_data_o(wdata_o)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      par_q <= 1'b0;
      taps_q <= '0;
      words_q <= '0;
      blk_q <= '0;
      addr_q <= '0;
      left_q <= '0;
      cnt_q <= '0;
      full_o <= 1'b0;
    end else begin
      if (release_i) full_o <= 1'b0;
      unique case (state_q)
        Idle: begin
          taps_q <= 17'(task_i.kw) * 17'(task_i.kh);
          blk_q <= par_q != Bank ? 16'd1 : 16'd0;
          if (task_valid_i) state_q <= Prep;
        end
        Prep: begin
          words_q <= Aw'((32'(taps_q) * 32'(icb)) << Ln);
          addr_q <= task_i.wgt_addr + (blk_q[0] ? ((32'(taps_q) * 32'(icb)) << (2 * Ln)) : 32'd0);
          state_q <= Check;
        end
        Check: begin
          left_q <= bytes;
          cnt_q <= '0;
          if (task_pop_o) begin
            par_q <= par_q ^ ocb[0];
            state_q <= Idle;
          end else if (!full_o) begin
            state_q <= Load;
          end
        end
        default: begin
          if (req_valid_o && req_ready_i) begin
            left_q <= left_q - req_bytes_o[17:0];
            addr_q <= addr_q + {8'd0, req_bytes_o};
          end
          if (we_o) cnt_q <= cnt_q + 1'b1;
          if (done) begin
            full_o <= 1'b1;
            blk_q <= blk_q + 16'd2;
            addr_q <= addr_q + 32'(bytes);  // skip the other bank's block
            state_q <= Check;
          end
        end
      endcase
    end
  end

  `NPU_ASSERT(wgt_ld_no_stray_data, !we_o || (state_q == Load && cnt_q < words_q))
  `NPU_ASSERT(wgt_ld_release_full, !release_i || full_o)
  `NPU_ASSERT_STABLE(req_valid_o, req_ready_i, {req_addr_o, req_bytes_o})

endmodule
