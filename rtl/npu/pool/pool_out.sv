// Output side of a POOL channel: collects the results of an output row, writes them to send_buf and requests the write
// jobs.
//
// Memory     Two halves of 64 output columns x 8 words of 32 bit; pool_op fills one while the other one is read. Four
//            banks (column mod 4) of 32 words of 256 bit; each gives a word, the beat takes four of the 32 words.
//            release_o: a half is free.
// Jobs       FP32: one for each lane and row. INT8: one for each row if the pixels are contiguous, else one a pixel. A
//            job is requested when all its words are in send_buf, so a write channel never waits for this unit. Bytes
//            of a last word beyond the job are 0.
// busy_o     until the write job of the last row has been accepted.
// Throughput One word of 128 bit a cycle, two cycles more for each row.
// Document     docs/npu/npu.md sections 3.4 and 4.3.
`include "assert.svh"

module pool_out #(
  parameter int unsigned Chan = 0  // DMA channel
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                start_i,
  output logic                busy_o,
  input  npu_pkg::pool_task_t task_i,
  input  logic [16:0]         units_i,
  input  logic                we_i,
  input  logic                end_i,       // completes a row
  input  logic [6:0]          waddr_i,
  input  logic [255:0]        wdata_i,
  output logic                release_o,
  output logic                wr_valid_o,
  input  logic                wr_ready_i,
  output logic [127:0]        wr_data_o,
  output logic                req_valid_o,
  input  logic                req_ready_i,
  output logic [31:0]         req_addr_o,
  output logic [23:0]         req_bytes_o
);

  typedef enum logic [1:0] {Idle, Wait, Send} state_e;
  state_e state_q;

  logic [16:0] rem_q;    // units of this group and the later ones
  logic [31:0] group_q;  // address of the group's first row
  logic [31:0] row_q;    // address of the row
  logic [15:0] oleft_q;  // rows left in the group, this one included
  logic        half_q;
  logic [1:0]  full_q;   // complete halves
  logic [5:0]  sub_q;    // job of the row
  logic [31:0] addr_q;   // address of the job
  logic [2:0]  lane_q;   // place of the next word
  logic [9:0]  col_q;
  logic [9:0]  left_q;   // words left in the job

  // ------------------------------------------------------------------------------------------------ geometry
  logic [3:0] lanes;
  logic       one;
  logic [9:0] words;  // of a job
  logic [5:0] last_job;

  // zero in idle cycles, so that a simulator does no work
  always_comb begin
    lanes = '0;
    one = 1'b0;
    words = '0;
    last_job = '0;
    if (state_q != Idle) begin
      lanes = rem_q >= 17'd8 ? 4'd8 : rem_q[3:0];
      one = !task_i.int8 || lanes == 4'd1;
      if (!task_i.int8) begin
        words = {3'd0, task_i.ow[6:0]};
        last_job = {2'd0, lanes - 4'd1};
      end else if (task_i.ofm_cstep == {26'd0, lanes, 2'd0}) begin
        words = {3'd0, task_i.ow[6:0]} * {6'd0, lanes};
      end else begin
        words = {6'd0, lanes};
        last_job = 6'(task_i.ow - 16'd1);
      end
    end
  end

  // ----------------------------------------------------------------------------------- walk over the words of the row
  logic adv;       // the read stage moves
  logic issue;
  logic job_end;
  logic row_end;
  logic start_row;
  logic job_room;
  assign issue = state_q == Send && adv;
  assign job_end = left_q <= 10'd4;
  assign row_end = issue && job_end && sub_q == last_job;
  assign start_row = state_q == Wait && full_q != '0;
  assign release_o = row_end;

  // place of the first word of the job behind the one that ends
  logic [5:0] sub_next;
  assign sub_next = sub_q + 6'd1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      rem_q <= '0;
      group_q <= '0;
      row_q <= '0;
      oleft_q <= '0;
      half_q <= 1'b0;
      sub_q <= '0;
      addr_q <= '0;
      lane_q <= '0;
      col_q <= '0;
      left_q <= '0;
    end else if (start_i) begin
      if (units_i > 17'(8 * Chan)) state_q <= Wait;
      rem_q <= units_i - 17'(8 * Chan);
      group_q <= task_i.ofm_addr + 32'(Chan) * (task_i.int8 ? 32'd32 : task_i.ofm_cstep << 3);
      row_q <= task_i.ofm_addr + 32'(Chan) * (task_i.int8 ? 32'd32 : task_i.ofm_cstep << 3);
      oleft_q <= task_i.oh;
      half_q <= 1'b0;
    end else if (state_q != Idle) begin
      if (start_row) begin
        state_q <= Send;
        sub_q <= '0;
        addr_q <= row_q;
        lane_q <= '0;
        col_q <= {3'd0, half_q, 6'd0};
        left_q <= words;
      end
      if (issue) begin
        left_q <= left_q - 10'd4;
        {col_q, lane_q} <= pool_pkg::pool_step_f(one, lanes, lane_q, col_q);
        if (job_end) begin
          sub_q <= sub_next;
          addr_q <= addr_q + task_i.ofm_cstep;
          left_q <= words;
          lane_q <= task_i.int8 ? '0 : sub_next[2:0];
          col_q <= {3'd0, half_q, task_i.int8 ? sub_next : 6'd0};
        end
      end
      if (row_end) begin
        state_q <= Wait;
        half_q <= !half_q;
        row_q <= row_q + task_i.ofm_rstep;
        oleft_q <= oleft_q - 16'd1;
        if (oleft_q == 16'd1) begin
          if (rem_q <= 17'd16) state_q <= Idle;
          rem_q <= rem_q - 17'd16;
          group_q <= group_q + (task_i.int8 ? 32'd64 : task_i.ofm_cstep << 4);
          row_q <= group_q + (task_i.int8 ? 32'd64 : task_i.ofm_cstep << 4);
          oleft_q <= task_i.oh;
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) full_q <= '0;
    else if ((we_i && end_i) || release_o) full_q <= full_q + 2'(we_i && end_i) - 2'(release_o);
  end

  // -------------------------------------------------------------------------------------------- memory and read stage
  logic [1023:0] rd;
  logic          o_valid_q;
  logic          o_one_q;
  logic          o_last_q;   // last word of its job
  logic [3:0]    o_lanes_q;
  logic [2:0]    o_lane_q;
  logic [1:0]    o_bank_q;
  logic [2:0]    o_words_q;  // of this beat
  logic [31:0]   o_addr_q;
  logic [11:0]   o_bytes_q;

  for (genvar b = 0; b < 4; b++) begin : g_bank
    logic [255:0] mem[32];
    logic [255:0] rd_q;
    logic [4:0]   row;

    assign row = 5'((col_q[6:0] + 7'(3 - b)) >> 2);
    always_ff @(posedge clk_i) begin
      if (we_i && waddr_i[1:0] == 2'(b)) mem[waddr_i[6:2]] <= wdata_i;
      if (issue) rd_q <= mem[row];
    end
    assign rd[256*b+:256] = rd_q;
  end

  assign adv = !o_valid_q || (wr_valid_o && wr_ready_i);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      o_valid_q <= 1'b0;
      o_one_q <= 1'b0;
      o_last_q <= 1'b0;
      o_lanes_q <= '0;
      o_lane_q <= '0;
      o_bank_q <= '0;
      o_words_q <= '0;
      o_addr_q <= '0;
      o_bytes_q <= '0;
    end else if (adv) begin
      o_valid_q <= issue;
      if (issue) begin
        o_one_q <= one;
        o_last_q <= job_end;
        o_lanes_q <= lanes;
        o_lane_q <= lane_q;
        o_bank_q <= col_q[1:0];
        o_words_q <= job_end ? left_q[2:0] : 3'd4;
        o_addr_q <= addr_q;
        o_bytes_q <= {words, 2'd0};
      end
    end
  end

  logic [4:0] place;
  logic [1:0] bank;
  always_comb begin
    wr_data_o = '0;
    place = '0;
    bank = '0;
    if (o_valid_q) begin
      for (int unsigned i = 0; i < 4; i++) begin
        place = pool_pkg::pool_place_f(o_one_q, o_lanes_q, o_lane_q, i[1:0]);
        bank = o_bank_q + place[4:3];
        if (i[2:0] < o_words_q) wr_data_o[32*i+:32] = rd[256*bank+32*place[2:0]+:32];
      end
    end
  end
  assign wr_valid_o = o_valid_q && (!o_last_q || job_room);

  // ------------------------------------------------------------------------------------------------ write jobs
  logic        job_valid;
  logic [11:0] job_bytes;
  logic [2:0]  job_count;
  fifo #(
    .Width(32 + 12),
    .Depth(4)
  ) u_jobs (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(wr_valid_o && wr_ready_i && o_last_q),
    .wready_o(job_room),
    .wdata_i({o_addr_q, o_bytes_q}),
    .rvalid_o(job_valid),
    .rready_i(req_ready_i),
    .rdata_o({req_addr_o, job_bytes}),
    .count_o(job_count)
  );
  assign req_valid_o = job_valid;
  assign req_bytes_o = {12'd0, job_bytes};
  assign busy_o = state_q != Idle || o_valid_q || job_valid;

  logic unused;
  assign unused = ^{job_count};

  `ASSERT(PoolOutFull, full_q <= 2'd2)
  `ASSERT(PoolOutRelease, !release_o || full_q != '0)
  `ASSERT_STABLE(WrStable, wr_valid_o, wr_ready_i, wr_data_o)

endmodule
