// Loader of a POOL channel: requests the input rows in the order in which pool_seq needs them, and the table.
//
// Order      For each group of the channel (8 channels FP32, 32 bytes of a pixel INT8; group 2i + Chan), for each
//            output row, the rows of its windows that lie inside the map. With slide_i the ring holds all rows of a
//            window, so a row is loaded once and kept until the last window that needs it; without, every output row
//            loads all its rows again.
// Ring       A row takes `slot` = align(IW, 4) words of each lane, contiguous and wrapping at 1024 words. Requested
//            only when that space is free; free_i frees the oldest row.
// Jobs       FP32: one for each lane and row. INT8: one for each row if the pixels are contiguous, else one a pixel.
// Table      tab_req_i (until tab_ack_o) requests one job from tab_addr_i; it goes between two rows.
// Throughput One job a cycle; one cycle more a row, one an output row.
// Document     docs/npu/npu.md section 3.4.
`include "assert.svh"

module pool_ld #(
  parameter int unsigned Chan = 0  // DMA channel
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                start_i,
  output logic                busy_o,
  input  npu_pkg::pool_task_t task_i,
  input  logic                slide_i,
  input  logic [16:0]         units_i,      // FP32: channels; INT8: 32-bit words of channels of a pixel
  input  logic [31:0]         shstep_i,     // bytes from the first row of a window to that of the one below
  input  logic [31:0]         topstep_i,    // bytes of the rows of padding
  input  logic [8:0]          tab_words_i,
  input  logic                free_i,
  input  logic                tab_req_i,
  input  logic [31:0]         tab_addr_i,
  output logic                tab_ack_o,
  output logic                req_valid_o,
  input  logic                req_ready_i,
  output logic [31:0]         req_addr_o,
  output logic [23:0]         req_bytes_o,
  output logic                job_valid_o,
  input  logic                job_ready_i,
  output logic                job_tab_o,
  output logic                job_one_o,
  output logic                job_last_o,
  output logic [9:0]          job_addr_o,
  output logic [2:0]          job_lane_o,
  output logic [3:0]          job_lanes_o,
  output logic [12:0]         job_words_o
);

  typedef enum logic [1:0] {Idle, Win, Row, Job} state_e;
  state_e state_q;

  logic [16:0]        rem_q;     // units of this group and the later ones
  logic [31:0]        group_q;   // address of the group's first row
  logic [15:0]        oleft_q;   // output rows left in the group, this one included
  logic signed [17:0] y0_q;      // first row of the window, padding included
  logic [31:0]        y0addr_q;  // and its address
  logic [16:0]        y_q;       // row
  logic [16:0]        end_q;     // behind the last row of the window
  logic [16:0]        next_q;    // rows of this group up to here have been requested (slide)
  logic [31:0]        row_q;     // address of row y_q
  logic [31:0]        addr_q;    // address of the job
  logic [9:0]         sub_q;     // job of the row
  logic [9:0]         ring_q;    // first word of the row in the ring
  logic [10:0]        used_q;    // words of the ring

  // ------------------------------------------------------------------------------------------------ geometry
  logic [3:0]  lanes;
  logic        packed_px;  // INT8 pixels are contiguous
  logic [9:0]  slot;
  logic [9:0]  jobs;       // of a row
  logic [12:0] words;

  // rows of the window inside the map
  logic [16:0] first;
  logic [16:0] last;
  logic signed [17:0] y1;
  logic        resume;  // the first row follows the one loaded last
  logic        fits;

  // zero in idle cycles, so that a simulator does no work
  always_comb begin
    lanes = '0;
    packed_px = 1'b0;
    slot = '0;
    jobs = '0;
    words = '0;
    y1 = '0;
    last = '0;
    resume = 1'b0;
    first = '0;
    fits = 1'b0;
    if (busy_o || free_i) begin
      lanes = rem_q >= 17'd8 ? 4'd8 : rem_q[3:0];
      slot = 10'(task_i.iw + 16'd3) & ~10'd3;
      fits = used_q + {1'b0, slot} <= 11'(pool_pkg::LineWords);
      if (!task_i.int8) begin
        jobs = {6'd0, lanes};
        words = {3'd0, task_i.iw[9:0]};
      end else if (task_i.ifm_cstep == {26'd0, lanes, 2'd0}) begin
        packed_px = 1'b1;
        jobs = 10'd1;
        words = {3'd0, task_i.iw[9:0]} * {9'd0, lanes};
      end else begin
        jobs = task_i.iw[9:0];
        words = {9'd0, lanes};
      end
      if (state_q == Win) begin
        y1 = y0_q + $signed({10'd0, task_i.kh});
        last = y1[16:0] > {1'b0, task_i.ih} ? {1'b0, task_i.ih} : y1[16:0];
        resume = slide_i && (y0_q < 0 || next_q > y0_q[16:0]);
        first = resume ? next_q : y0_q < 0 ? '0 : y0_q[16:0];
      end
    end
  end

  // ------------------------------------------------------------------------------------------------ requests
  logic tab_turn;
  logic take;
  logic row_end;
  logic win_end;
  assign tab_turn = tab_req_i && state_q != Job;
  assign req_valid_o = (state_q == Job || tab_turn) && job_ready_i;
  assign req_addr_o = tab_turn ? tab_addr_i : addr_q;
  assign req_bytes_o = {9'd0, job_words_o, 2'd0};
  assign job_valid_o = req_valid_o && req_ready_i;
  assign job_tab_o = tab_turn;
  assign job_one_o = !task_i.int8 || lanes == 4'd1 || tab_turn;
  assign job_last_o = !tab_turn && sub_q == jobs - 10'd1;
  assign job_addr_o = tab_turn ? '0 : task_i.int8 && !packed_px ? ring_q + sub_q : ring_q;
  assign job_lane_o = task_i.int8 ? '0 : sub_q[2:0];
  assign job_lanes_o = lanes;
  assign job_words_o = tab_turn ? {4'd0, tab_words_i} : words;
  assign tab_ack_o = tab_turn && job_valid_o;
  assign take = state_q == Job && job_valid_o;
  assign row_end = take && job_last_o;
  assign win_end = (row_end && y_q + 17'd1 == end_q) || (state_q == Win && first >= last);
  assign busy_o = state_q != Idle;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      rem_q <= '0;
      group_q <= '0;
      oleft_q <= '0;
      y0_q <= '0;
      y0addr_q <= '0;
      y_q <= '0;
      end_q <= '0;
      next_q <= '0;
      row_q <= '0;
      addr_q <= '0;
      sub_q <= '0;
      ring_q <= '0;
    end else if (start_i) begin
      if (units_i > 17'(8 * Chan)) state_q <= Win;
      rem_q <= units_i - 17'(8 * Chan);
      group_q <= task_i.ifm_addr + 32'(Chan) * (task_i.int8 ? 32'd32 : task_i.ifm_cstep << 3);
      y0addr_q <= task_i.ifm_addr + 32'(Chan) * (task_i.int8 ? 32'd32 : task_i.ifm_cstep << 3) - topstep_i;
      oleft_q <= task_i.oh;
      y0_q <= -$signed({10'd0, task_i.pad_t});
      next_q <= '0;
      ring_q <= '0;
    end else if (busy_o) begin
      if (state_q == Win) begin
        y_q <= first;
        end_q <= last;
        // row_q is the address after the last row loaded
        if (!(resume && next_q != '0)) row_q <= y0_q < 0 ? group_q : y0addr_q;
        state_q <= Row;
      end
      if (state_q == Row && fits && !tab_req_i) begin
        sub_q <= '0;
        addr_q <= row_q;
        state_q <= Job;
      end
      if (take) begin
        sub_q <= sub_q + 10'd1;
        addr_q <= addr_q + task_i.ifm_cstep;
      end
      if (row_end) begin
        y_q <= y_q + 17'd1;
        next_q <= y_q + 17'd1;
        row_q <= row_q + task_i.ifm_rstep;
        ring_q <= ring_q + slot;
        state_q <= Row;
      end
      if (win_end) begin
        state_q <= Win;
        oleft_q <= oleft_q - 16'd1;
        y0_q <= y0_q + $signed({10'd0, task_i.sh});
        y0addr_q <= y0addr_q + shstep_i;
        if (oleft_q == 16'd1) begin
          if (rem_q <= 17'd16) state_q <= Idle;
          rem_q <= rem_q - 17'd16;
          group_q <= group_q + (task_i.int8 ? 32'd64 : task_i.ifm_cstep << 4);
          y0addr_q <= group_q + (task_i.int8 ? 32'd64 : task_i.ifm_cstep << 4) - topstep_i;
          oleft_q <= task_i.oh;
          y0_q <= -$signed({10'd0, task_i.pad_t});
          next_q <= '0;
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) used_q <= '0;
    else if (busy_o || free_i)
      used_q <= used_q + (state_q == Row && fits && !tab_req_i ? {1'b0, slot} : '0) - (free_i ? {1'b0, slot} : '0);
  end

  `ASSERT(PoolLdRing, used_q <= 11'(pool_pkg::LineWords))
  `ASSERT(PoolLdFree, !free_i || used_q >= {1'b0, slot})
  `ASSERT(PoolLdWindow, state_q != Win || y1 > 0)

endmodule
