// Input loader: cuts the input map of a task into layout jobs and tracks what has arrived in ifm_buf.
//
// Jobs         Chunks of up to 64 consecutive pixels (outer loop) times blocks of N channels (inner loop), handed to the two
//              layout units in turn: job 0 to unit 0, job 1 to unit 1, ... Pixel p of channel block b lies at word
//              base + p*ICB + b of ifm_buf (thesis section 3.3.1), which is a ring.
// Ring         A task is loaded when its IH*IW*ICB words are free. Words are allocated in task order; im2col, which
//              computes the same bases, frees them in task order (free_*).
// Progress     pix_ready_o: so many leading pixels of the task at the head have all their channels in ifm_buf.
// Handshake    task_pop_o pulses when the task is loaded; the next one may be loaded while im2col reads this one.
`include "npu_assert.svh"

module ifm_ld #(
  parameter int unsigned N = 8
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      task_valid_i,
  input  npu_pkg::gemm_task_t       task_i,
  output logic                      task_pop_o,
  input  logic                      free_i,
  input  logic [npu_pkg::IfmAw:0]   free_words_i,
  output logic [1:0]                job_valid_o,
  input  logic [1:0]                job_ready_i,
  output logic [31:0]               job_addr_o,
  output logic [$clog2(N):0]        job_nch_o,
  output logic [6:0]                job_cnt_o,
  output logic [npu_pkg::IfmAw-1:0] job_waddr_o,
  output logic [npu_pkg::IfmAw-1:0] job_stride_o,
  input  logic [1:0]                job_done_i,
  output logic [16:0]               pix_ready_o
);

  localparam int unsigned Aw = npu_pkg::IfmAw;
  localparam int unsigned Ln = $clog2(N);

  typedef enum logic [2:0] {Idle, Prep, Space, Run, Drain} state_e;
  state_e state_q;

  logic [15:0]   icb;        // channel blocks
  logic [31:0]   blk_step;   // bytes from one channel block to the next
  logic [16:0]   npix_q;
  logic [Aw:0]   words_q;
  logic [Aw:0]   used_q;
  logic [Aw-1:0] base_q;
  logic [16:0]   pix_q;      // first pixel of the chunk
  logic [15:0]   blk_q;      // channel block
  logic [15:0]   ch_left_q;  // channels from this block on
  logic [31:0]   chunk_addr_q, addr_q;
  logic [Aw-1:0] chunk_waddr_q;
  logic          unit_q;
  logic [15:0]   done0_q, done1_q;
  logic [16:0]   issued_q;
  logic [16:0]   in_order;   // leading jobs that are done
  logic [16:0]   thresh_q;
  logic [16:0]   pix_left;
  logic          take, last_blk, last_chunk;
  logic          fits;

  // At most 16384 blocks (the task limits): wider intermediate values only because ic may be 65535 at N = 4.
  assign icb = 16'((17'(task_i.ic) + 17'(N - 1)) >> Ln);
  assign blk_step = task_i.ifm_cstep << Ln;
  assign fits = {1'b0, used_q} + {1'b0, words_q} <= (Aw + 2)'(npu_pkg::IfmDepth);
  assign pix_left = npix_q - pix_q;
  assign last_blk = blk_q + 16'd1 == icb;
  assign last_chunk = pix_left <= 17'd64;
  assign take = state_q == Run && job_ready_i[unit_q];
  assign in_order = done0_q <= done1_q ? {done0_q, 1'b0} : {done1_q, 1'b1};

  assign job_valid_o = state_q == Run ? (unit_q ? 2'b10 : 2'b01) : 2'b00;
  assign job_addr_o = addr_q;
  assign job_nch_o = ch_left_q >= 16'(N) ? (Ln + 1)'(N) : ch_left_q[Ln:0];
  assign job_cnt_o = last_chunk ? pix_left[6:0] : 7'd64;
  assign job_waddr_o = chunk_waddr_q + blk_q[Aw-1:0];
  assign job_stride_o = icb[Aw-1:0];
  assign task_pop_o = state_q == Drain && 17'(done0_q) + 17'(done1_q) == issued_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      npix_q <= '0;
      words_q <= '0;
      base_q <= '0;
      pix_q <= '0;
      blk_q <= '0;
      ch_left_q <= '0;
      chunk_addr_q <= '0;
      addr_q <= '0;
      chunk_waddr_q <= '0;
      unit_q <= 1'b0;
      issued_q <= '0;
    end else begin
      unique case (state_q)
        Idle: begin
          npix_q <= 17'(task_i.iw) * 17'(task_i.ih);
          if (task_valid_i) state_q <= Prep;
        end
        Prep: begin
          words_q <= (Aw + 1)'(32'(npix_q) * 32'(icb));
          state_q <= Space;
        end
        Space: begin
          pix_q <= '0;
          blk_q <= '0;
          ch_left_q <= task_i.ic;
          chunk_addr_q <= task_i.ifm_addr;
          addr_q <= task_i.ifm_addr;
          chunk_waddr_q <= base_q;
          unit_q <= 1'b0;
          issued_q <= '0;
          if (fits) state_q <= Run;
        end
        Run:
        if (take) begin
          issued_q <= issued_q + 17'd1;
          unit_q <= !unit_q;
          if (!last_blk) begin
            blk_q <= blk_q + 16'd1;
            ch_left_q <= ch_left_q - 16'(N);
            addr_q <= addr_q + blk_step;
          end else begin
            blk_q <= '0;
            ch_left_q <= task_i.ic;
            pix_q <= pix_q + 17'd64;
            chunk_addr_q <= chunk_addr_q + 32'd256;
            addr_q <= chunk_addr_q + 32'd256;
            chunk_waddr_q <= chunk_waddr_q + Aw'(32'(icb) << 6);
            if (last_chunk) state_q <= Drain;
          end
        end
        default:
        if (task_pop_o) begin
          base_q <= base_q + words_q[Aw-1:0];
          state_q <= Idle;
        end
      endcase
    end
  end

  // what has arrived
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      done0_q <= '0;
      done1_q <= '0;
      thresh_q <= '0;
      pix_ready_o <= '0;
    end else if (state_q == Space || task_pop_o) begin
      done0_q <= '0;
      done1_q <= '0;
      thresh_q <= 17'(icb);
      pix_ready_o <= '0;
    end else begin
      if (job_done_i[0]) done0_q <= done0_q + 16'd1;
      if (job_done_i[1]) done1_q <= done1_q + 16'd1;
      if (state_q != Idle && state_q != Prep && in_order >= thresh_q) begin
        thresh_q <= thresh_q + 17'(icb);
        pix_ready_o <= pix_ready_o + 17'd64;
      end
    end
  end

  // ring occupancy
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) used_q <= '0;
    else
      used_q <= used_q + (state_q == Space && fits ? words_q : '0) - (free_i ? free_words_i : '0);
  end

  `NPU_ASSERT(ifm_ld_ring_overflow, used_q <= (Aw + 1)'(npu_pkg::IfmDepth))
  `NPU_ASSERT(ifm_ld_ring_underflow, !free_i || free_words_i <= used_q)

endmodule
