// ALU: element-wise operations, activations and reductions on FP32 vectors in memory (docs/npu/npu.md section 3.3;
// thesis section 3.2.2).
//
// Function     Rows are cut into chunks of up to 4 * npu_pkg::AluChunk elements, which alternate between the two
//              channels; rows of reductions are not shared: whole rows alternate. Each channel iterates over the task
//              (alu_walk), reads, computes and writes its own chunks (alu_chan, alu_math).
// Throughput   Long rows: 8 results a cycle with one operand, 4 with a vector operand, as long as the bus gives 16
//              bytes a cycle on each channel in both directions. Short rows: a chunk every two cycles on each channel,
//              if it has no more than two requests.
// Completion   task_done_o pulses when dma_wr has no job of the ALU left on either channel. result_we_o comes with it
//              after a reduction: result_o is then the value of the task's last row.
// event_o      {word of results on channel 1, on channel 0, a channel waits for space, waits for operands, busy}
// Latency      As alu_chan: 10 cycles from a word of A to its results, 22 from the last word of a reduced row.
`include "assert.svh"

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

  typedef enum logic [1:0] {Idle, Walk, Drain, Last} state_e;
  state_e             state_q;
  npu_pkg::alu_task_t task_q;
  logic               start;
  logic               reduce;

  assign start = state_q == Idle && task_valid_i;
  assign reduce = npu_pkg::alu_reduces_f(task_q.op);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) task_q <= '0;
    else if (start) task_q <= task_i;
  end

  // ------------------------------------------------------------------------------------------------ the channels
  logic [1:0]  walked;
  logic [1:0]  last_mine;
  logic [1:0]  idle;
  logic [63:0] result;
  logic [1:0]  ev_data;
  logic [1:0]  ev_room;
  logic [1:0]  ev_word;

  for (genvar c = 0; c < 2; c++) begin : g_chan
    logic        chunk_valid;
    logic        chunk_ready;
    logic [31:0] chunk_a;
    logic [31:0] chunk_b;
    logic [31:0] chunk_o;
    logic [31:0] chunk_p;
    logic [31:0] chunk_q;
    logic [8:0]  chunk_count;
    logic        chunk_plane;
    logic        chunk_first;
    logic        chunk_last;

    alu_walk #(
      .Chan(c)
    ) u_walk (
      .clk_i,
      .rst_ni,
      .start_i(start),
      .task_i(task_q),
      .done_o(walked[c]),
      .last_mine_o(last_mine[c]),
      .chunk_valid_o(chunk_valid),
      .chunk_ready_i(chunk_ready),
      .chunk_a_o(chunk_a),
      .chunk_b_o(chunk_b),
      .chunk_o_o(chunk_o),
      .chunk_p_o(chunk_p),
      .chunk_q_o(chunk_q),
      .chunk_count_o(chunk_count),
      .chunk_plane_o(chunk_plane),
      .chunk_first_o(chunk_first),
      .chunk_last_o(chunk_last)
    );

    alu_chan u_chan (
      .clk_i,
      .rst_ni,
      .task_i(task_q),
      .chunk_valid_i(chunk_valid),
      .chunk_ready_o(chunk_ready),
      .chunk_a_i(chunk_a),
      .chunk_b_i(chunk_b),
      .chunk_o_i(chunk_o),
      .chunk_p_i(chunk_p),
      .chunk_q_i(chunk_q),
      .chunk_count_i(chunk_count),
      .chunk_plane_i(chunk_plane),
      .chunk_first_i(chunk_first),
      .chunk_last_i(chunk_last),
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
  // Last begins after the cycle in which the last write job was accepted, so that wr_idle_i includes it.
  assign task_ready_o = state_q == Idle;
  assign busy_o = state_q != Idle;
  assign task_done_o = state_q == Last && wr_idle_i == 2'b11;
  assign result_we_o = task_done_o && reduce;
  assign result_o = ({32{last_mine[1]}} & result[63:32]) | ({32{last_mine[0]}} & result[31:0]);
  assign event_o = {ev_word, ev_room != 2'b00, ev_data != 2'b00, busy_o};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle: if (start) state_q <= Walk;
        Walk: if (walked == 2'b11) state_q <= Drain;
        Drain: if (idle == 2'b11) state_q <= Last;
        default: if (wr_idle_i == 2'b11) state_q <= Idle;
      endcase
    end
  end

  `ASSERT(AluQuiet, state_q != Idle || idle == 2'b11)
  `ASSERT(AluLevel, wr_level_i[15:0] <= 16'(npu_pkg::SendAlu) && wr_level_i[31:16] <= 16'(npu_pkg::SendAlu))

endmodule
