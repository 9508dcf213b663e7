// POOL unit: maximum and average over windows of any size, FP32 NCHW and INT8 NHWC (docs/npu/npu.md sections 2 and
// 3.4).
//
// What it does
//   A task is taken with task_valid_i and task_ready_o when its limits have been checked (pool_check). The groups of
//   its channels (8 FP32 channels, or 32 bytes of a pixel) go to the two DMA channels in turn; each pool_chan works
//   through its groups alone. task_done_o is one cycle high when all write jobs are complete. N decides how many pad
//   channels an INT8 pixel has.
// DMA
//   Reads: rd_req_* requests only data with reserved space, so rd_ready_o is always 1. Writes: a job's words are in
//   send_buf (wr_valid_o/wr_ready_i) before wr_req_* requests it. So neither read nor write channels ever wait for
//   this unit. wr_idle_i[c]: no write job of this unit is queued or in flight on channel c. wr_level_i is not
//   needed.
// Throughput
//   8 lanes on each channel: one tap of 8 FP32 channels or 32 INT8 channels a cycle, or 16 bytes of input a cycle and
//   channel, whichever takes longer; INT8 average: at least 4 cycles an output. An input row is read once if the rows
//   of a window fit into 1024 words a lane, else once for each output row that needs it.
// event_o = {waits for space in send_buf, waits for input, busy}
// Latency
//   Of a result after its last tap: maximum 2 cycles, FP32 average 3, INT8 average 7 (pool_op).
`include "assert.svh"

module pool #(
  parameter int unsigned N = 8
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                task_valid_i,
  output logic                task_ready_o,
  input  npu_pkg::pool_task_t task_i,
  output logic                task_done_o,
  output logic                busy_o,
  output logic [1:0]          rd_req_valid_o,
  input  logic [1:0]          rd_req_ready_i,
  output logic [63:0]         rd_req_addr_o,
  output logic [47:0]         rd_req_bytes_o,
  input  logic [1:0]          rd_valid_i,
  output logic [1:0]          rd_ready_o,
  input  logic [255:0]        rd_data_i,
  output logic [1:0]          wr_req_valid_o,
  input  logic [1:0]          wr_req_ready_i,
  output logic [63:0]         wr_req_addr_o,
  output logic [47:0]         wr_req_bytes_o,
  output logic [1:0]          wr_valid_o,
  input  logic [1:0]          wr_ready_i,
  output logic [255:0]        wr_data_o,
  input  logic [31:0]         wr_level_i,
  input  logic [1:0]          wr_idle_i,
  output logic [2:0]          event_o
);

  typedef enum logic [2:0] {Idle, Setup, Start, Run, Drain} state_e;
  state_e state_q;

  npu_pkg::pool_task_t task_q;

  // ------------------------------------------------------------------------------------- values derived from the task
  logic        slide_q;
  logic [16:0] units_q;
  logic [31:0] shstep_q;
  logic [31:0] topstep_q;
  logic [15:0] count_q;
  logic        tab_whole_q;
  logic [14:0] words;  // align(C, N) / 4
  logic [7:0]  kh_in;  // rows of a window inside the map, at most
  logic [9:0]  slot;
  assign words = 15'(({1'b0, task_q.c} + 17'(N - 1)) >> 2) & ~15'(N / 4 - 1);
  assign kh_in = {8'd0, task_q.kh} > task_q.ih ? task_q.ih[7:0] : task_q.kh;
  assign slot = 10'(task_q.iw + 16'd3) & ~10'd3;

  always_ff @(posedge clk_i) begin
    if (state_q == Idle && task_valid_i) task_q <= task_i;
    if (state_q == Setup) begin
      slide_q <= {10'd0, kh_in} * {8'd0, slot} <= 18'(pool_pkg::LineWords);
      units_q <= task_q.int8 ? {2'd0, words} : {1'b0, task_q.c};
      shstep_q <= {24'd0, task_q.sh} * task_q.ifm_rstep;
      topstep_q <= {24'd0, task_q.pad_t} * task_q.ifm_rstep;
      count_q <= {8'd0, task_q.kw} * {8'd0, task_q.kh};
      tab_whole_q <= {8'd0, task_q.kw} * {8'd0, task_q.kh} <= 16'd256;
    end
  end

  // ------------------------------------------------------------------------------------------------ channels
  logic [1:0] busy;
  logic [1:0] ev_input;
  logic [1:0] ev_room;
  for (genvar c = 0; c < 2; c++) begin : g_chan
    pool_chan #(
      .Chan(c)
    ) u_chan (
      .clk_i,
      .rst_ni,
      .start_i(state_q == Start),
      .busy_o(busy[c]),
      .task_i(task_q),
      .slide_i(slide_q),
      .units_i(units_q),
      .shstep_i(shstep_q),
      .topstep_i(topstep_q),
      .count_i(count_q),
      .tab_whole_i(tab_whole_q),
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
      .ev_input_o(ev_input[c]),
      .ev_room_o(ev_room[c])
    );
  end

  // ------------------------------------------------------------------------------------------------ task
  assign task_ready_o = state_q == Idle;
  assign busy_o = state_q != Idle;
  // a job accepted in the last cycle of Run is visible in wr_idle_i when Drain begins
  assign task_done_o = state_q == Drain && wr_idle_i == 2'b11;
  assign event_o = {ev_room != '0, ev_input != '0, busy_o};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle: if (task_valid_i) state_q <= Setup;
        Setup: state_q <= Start;
        Start: state_q <= Run;
        Run: if (busy == '0) state_q <= Drain;
        default: if (task_done_o) state_q <= Idle;
      endcase
    end
  end

  logic unused;
  assign unused = ^{wr_level_i};

  `ASSERT(PoolQuiet, busy == '0 || state_q == Run)
  `ASSERT(PoolNoStrayData, rd_valid_i == '0 || state_q == Run)
  for (genvar c = 0; c < 2; c++) begin : g_assert
    `ASSERT_STABLE(RdReqStable, rd_req_valid_o[c], rd_req_ready_i[c],
        {rd_req_addr_o[32*c+:32], rd_req_bytes_o[24*c+:24]})
    `ASSERT(PoolWriteRoom, wr_level_i[16*c+:16] <= 16'(npu_pkg::SendPool))
  end

endmodule
