// ALU: element-wise operations, activations and reductions on FP32 vectors in memory (docs/npu.md section 3.3; thesis section 3.2.2).
//
// Function     Walks the planes and rows of a task and cuts each row into chunks of up to 4 * npu_pkg::AluChunk elements. Chunks
//              alternate between the two channels, each of which reads, computes and writes its own (alu_chan, alu_math); rows of
//              reductions are not shared: whole rows alternate.
// Throughput   Long rows: 8 results a cycle with one operand, 4 with a vector operand, as long as the bus gives 16 bytes a cycle on
//              each channel in both directions. Short rows: one chunk a cycle from here, then one request a cycle on each channel.
// Completion   task_done_o pulses when dma_wr has no job of the ALU left on either channel. result_we_o comes with it after a reduction:
//              result_o is then the value of the task's last row.
// event_o      {word of results on channel 1, on channel 0, a channel waits for room, waits for operands, busy}
`include "npu_assert.svh"

module alu (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               task_valid_i,
  output logic               task_ready_o,
  input  npu_pkg::alu_task_t task_i,
  output logic               task_done_o,
  output logic               busy_o,
  output logic               result_we_o,
  output logic [31:0]        result_o,
  // read channels
  output logic [1:0]         rd_req_valid_o,
  input  logic [1:0]         rd_req_ready_i,
  output logic [63:0]        rd_req_addr_o,
  output logic [47:0]        rd_req_bytes_o,
  input  logic [1:0]         rd_valid_i,
  output logic [1:0]         rd_ready_o,
  input  logic [255:0]       rd_data_i,
  // write channels
  output logic [1:0]         wr_req_valid_o,
  input  logic [1:0]         wr_req_ready_i,
  output logic [63:0]        wr_req_addr_o,
  output logic [47:0]        wr_req_bytes_o,
  output logic [1:0]         wr_valid_o,
  input  logic [1:0]         wr_ready_i,
  output logic [255:0]       wr_data_o,
  input  logic [31:0]        wr_level_i,
  input  logic [1:0]         wr_idle_i,
  output logic [4:0]         event_o
);

  localparam int unsigned ChunkElems = 4 * npu_pkg::AluChunk;

  typedef enum logic [1:0] {Idle, Walk, Drain, Last} state_e;
  state_e             state_q;
  npu_pkg::alu_task_t task_q;
  logic               reduce;

  // ------------------------------------------------------------------------------------------------ the walk
  logic [31:0] a_plane_q;     // addresses of the plane and of the row
  logic [31:0] b_plane_q;
  logic [31:0] o_plane_q;
  logic [31:0] a_row_q;
  logic [31:0] b_row_q;
  logic [31:0] o_row_q;
  logic [31:0] plane_off_q;   // of P and Q
  logic [25:0] off_q;         // bytes from the beginning of the row
  logic [23:0] left_q;        // elements of the row, this chunk included
  logic [15:0] rows_q;
  logic [15:0] planes_q;
  logic [1:0]  seen_q;        // a channel has had a chunk of this plane
  logic        chan_q;
  logic        last_chan_q;   // of the last chunk
  logic        first;
  logic        last;
  logic [8:0]  count;
  logic [31:0] o_off;
  logic [1:0]  chunk_valid;
  logic [1:0]  chunk_ready;
  logic        step;

  assign reduce = task_q.op == npu_pkg::AluDot || task_q.op == npu_pkg::AluSum;
  assign first = off_q == 26'd0;
  assign last = left_q <= 24'(ChunkElems);
  assign count = last ? left_q[8:0] : 9'(ChunkElems);
  assign o_off = reduce ? 32'd0 : task_q.dup ? {5'd0, off_q, 1'b0} : {6'd0, off_q};
  assign chunk_valid = state_q == Walk ? {chan_q, ~chan_q} : 2'b00;
  assign step = (chunk_valid & chunk_ready) != 2'b00;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      task_q <= '0;
      a_plane_q <= '0;
      b_plane_q <= '0;
      o_plane_q <= '0;
      a_row_q <= '0;
      b_row_q <= '0;
      o_row_q <= '0;
      plane_off_q <= '0;
      off_q <= '0;
      left_q <= '0;
      rows_q <= '0;
      planes_q <= '0;
      seen_q <= '0;
      chan_q <= 1'b0;
      last_chan_q <= 1'b0;
    end else if (state_q == Idle) begin
      if (task_valid_i) begin
        task_q <= task_i;
        a_plane_q <= task_i.a_addr;
        b_plane_q <= task_i.b_addr;
        o_plane_q <= task_i.o_addr;
        a_row_q <= task_i.a_addr;
        b_row_q <= task_i.b_addr;
        o_row_q <= task_i.o_addr;
        plane_off_q <= '0;
        off_q <= '0;
        left_q <= task_i.count;
        rows_q <= task_i.rows;
        planes_q <= task_i.planes;
        seen_q <= '0;
        chan_q <= 1'b0;
      end
    end else if (step) begin
      last_chan_q <= chan_q;
      if (last || !reduce) chan_q <= ~chan_q;
      seen_q <= seen_q | chunk_valid;
      off_q <= off_q + 26'(4 * ChunkElems);
      left_q <= left_q - 24'(ChunkElems);
      if (last) begin
        off_q <= '0;
        left_q <= task_q.count;
        if (rows_q != 16'd1) begin
          rows_q <= rows_q - 16'd1;
          a_row_q <= a_row_q + task_q.a_rstep;
          b_row_q <= b_row_q + task_q.b_rstep;
          o_row_q <= o_row_q + task_q.o_rstep;
        end else begin
          rows_q <= task_q.rows;
          planes_q <= planes_q - 16'd1;
          seen_q <= '0;
          plane_off_q <= plane_off_q + 32'd4;
          a_plane_q <= a_plane_q + task_q.a_pstep;
          b_plane_q <= b_plane_q + task_q.b_pstep;
          o_plane_q <= o_plane_q + task_q.o_pstep;
          a_row_q <= a_plane_q + task_q.a_pstep;
          b_row_q <= b_plane_q + task_q.b_pstep;
          o_row_q <= o_plane_q + task_q.o_pstep;
        end
      end
    end
  end

  // ------------------------------------------------------------------------------------------------ the channels
  logic [1:0]  idle;
  logic [63:0] result;
  logic [1:0]  ev_data;
  logic [1:0]  ev_room;
  logic [1:0]  ev_word;

  for (genvar c = 0; c < 2; c++) begin : g_chan
    alu_chan u_chan (
      .clk_i,
      .rst_ni,
      .task_i(task_q),
      .chunk_valid_i(chunk_valid[c]),
      .chunk_ready_o(chunk_ready[c]),
      .chunk_a_i(a_row_q + {6'd0, off_q}),
      .chunk_b_i(b_row_q + {6'd0, off_q}),
      .chunk_o_i(o_row_q + o_off),
      .chunk_p_i(task_q.p_addr + plane_off_q),
      .chunk_q_i(task_q.q_addr + plane_off_q),
      .chunk_count_i(count),
      .chunk_plane_i(!seen_q[c]),
      .chunk_first_i(first),
      .chunk_last_i(last),
      .idle_o(idle[c]),
      .result_o(result[32*c+:32]),
      .rd_req_valid_o(rd_req_valid_o[c]),
      .rd_req_ready_i(rd_req_ready_i[c]),
      .rd_req_addr_o(rd_req_addr_o[32*c+:32]),
      .rd_req_bytes_o(rd_req_bytes_o[24*c+:24]),
      .rd_valid_i(rd_valid_i[c]),
      .rd_ready_o(rd_ready_o[c]),
      .rd_data_i(rd_data_i[128*c+:128]),
      .wr_req_valid_o(wr_req_valid_o[c]),
      .wr_req_ready_i(wr_req_ready_i[c]),
      .wr_req_addr_o(wr_req_addr_o[32*c+:32]),
      .wr_req_bytes_o(wr_req_bytes_o[24*c+:24]),
      .wr_valid_o(wr_valid_o[c]),
      .wr_ready_i(wr_ready_i[c]),
      .wr_data_o(wr_data_o[128*c+:128]),
      .wr_level_i(wr_level_i[16*c+:16]),
      .ev_data_o(ev_data[c]),
      .ev_room_o(ev_room[c]),
      .ev_word_o(ev_word[c])
    );
  end

  // ------------------------------------------------------------------------------------------------ begin and end
  // Last begins after the cycle in which the last write job was accepted, so that wr_idle_i knows of it.
  assign task_ready_o = state_q == Idle;
  assign busy_o = state_q != Idle;
  assign task_done_o = state_q == Last && wr_idle_i == 2'b11;
  assign result_we_o = task_done_o && reduce;
  assign result_o = last_chan_q ? result[63:32] : result[31:0];
  assign event_o = {ev_word, ev_room != 2'b00, ev_data != 2'b00, busy_o};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle: if (task_valid_i) state_q <= Walk;
        Walk: if (step && last && rows_q == 16'd1 && planes_q == 16'd1) state_q <= Drain;
        Drain: if (idle == 2'b11) state_q <= Last;
        default: if (wr_idle_i == 2'b11) state_q <= Idle;
      endcase
    end
  end

  `NPU_ASSERT(alu_sizes, state_q != Walk || (left_q != 24'd0 && rows_q != 16'd0 && planes_q != 16'd0))
  `NPU_ASSERT(alu_quiet, state_q != Idle || idle == 2'b11)
  `NPU_ASSERT(alu_level, wr_level_i[15:0] <= 16'(npu_pkg::SendAlu) && wr_level_i[31:16] <= 16'(npu_pkg::SendAlu))

endmodule
