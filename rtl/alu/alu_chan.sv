// One channel of the ALU: asks for the operands of its chunks, computes, and has the results written.
//
// Function     Takes chunks of one row (1..256 elements) from the walk in alu.sv. For each: reads P and Q when the chunk is the first
//              one of a plane here (PLANE operands), then B into src_mem, then A, which streams against them (thesis section
//              3.2.2, figures 3-7 and 3-8: src_mem first, loads overlapped with the arithmetic). Results go to send_buf; the
//              write job is asked for when all words of the chunk (reductions: of the row) are there.
// Flow         Requests run ahead of the data, bound by room: words of send_buf (npu_pkg::SendAlu) and of src_mem (128, two chunks)
//              and an entry in the queues of data and write jobs are reserved before the first request of a chunk. What has been
//              requested is always taken; only the few words that wait for a turn to enter send_buf, and the end of a short
//              row of a reduction, hold it up for a moment.
// Throughput   One word of results a cycle with one operand, one every two cycles with a vector operand; with DUP one word of output
//              a cycle. A chunk takes one cycle for each request at least.
// idle_o       Nothing taken from the walk is left: every write job has been accepted.
`include "npu_assert.svh"

module alu_chan (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  npu_pkg::alu_task_t task_i,         // constant until idle
  // chunks
  input  logic               chunk_valid_i,
  output logic               chunk_ready_o,
  input  logic [31:0]        chunk_a_i,      // byte addresses
  input  logic [31:0]        chunk_b_i,
  input  logic [31:0]        chunk_o_i,
  input  logic [31:0]        chunk_p_i,
  input  logic [31:0]        chunk_q_i,
  input  logic [8:0]         chunk_count_i,  // elements
  input  logic               chunk_plane_i,  // P and Q of the plane are still to be read
  input  logic               chunk_first_i,  // first, last one of the row
  input  logic               chunk_last_i,
  output logic               idle_o,
  output logic [31:0]        result_o,       // of the last row of a reduction
  // read channel
  output logic               rd_req_valid_o,
  input  logic               rd_req_ready_i,
  output logic [31:0]        rd_req_addr_o,
  output logic [23:0]        rd_req_bytes_o,
  input  logic               rd_valid_i,
  output logic               rd_ready_o,
  input  logic [127:0]       rd_data_i,
  // write channel
  output logic               wr_req_valid_o,
  input  logic               wr_req_ready_i,
  output logic [31:0]        wr_req_addr_o,
  output logic [23:0]        wr_req_bytes_o,
  output logic               wr_valid_o,
  input  logic               wr_ready_i,
  output logic [127:0]       wr_data_o,
  input  logic [15:0]        wr_level_i,
  // events
  output logic               ev_data_o,      // waits for operands
  output logic               ev_room_o,      // waits for room
  output logic               ev_word_o       // a word of results leaves
);

  localparam int unsigned SrcDepth = 2 * npu_pkg::AluChunk;
  localparam int unsigned SrcAw = $clog2(SrcDepth);
  localparam int unsigned Jobs = 16;       // chunks asked for and not yet written
  localparam int unsigned OutDepth = 32;   // words on the way to send_buf: covers the latency of the arithmetic
  localparam int unsigned Latency = 4 + npu_act_pkg::ActLatency;
  localparam int unsigned Ow = $clog2(OutDepth + 1);

  // ------------------------------------------------------------------------------------------------ the task
  logic reduce;
  logic uses_p;
  logic uses_q;
  logic p_vec;
  logic q_vec;
  logic p_plane;
  logic q_plane;
  logic vec;
  assign reduce = task_i.op == npu_pkg::AluDot || task_i.op == npu_pkg::AluSum;
  assign uses_p = task_i.op != npu_pkg::AluCopy && task_i.op != npu_pkg::AluAbs && task_i.op != npu_pkg::AluSum;
  assign uses_q = task_i.op == npu_pkg::AluMulAdd || task_i.op == npu_pkg::AluAddMul;
  assign p_vec = uses_p && task_i.p_kind == npu_pkg::AluVector;
  assign q_vec = uses_q && task_i.q_kind == npu_pkg::AluVector;
  assign p_plane = uses_p && task_i.p_kind == npu_pkg::AluPlane;
  assign q_plane = uses_q && task_i.q_kind == npu_pkg::AluPlane;
  assign vec = p_vec || q_vec;

  // ------------------------------------------------------------------------------------------------ requests
  localparam int unsigned ChunkW = 5 * 32 + 9 + 3;
  logic [1:0]  unused_chunks;
  logic        c_valid;
  logic        c_pop;
  logic [31:0] c_a;
  logic [31:0] c_b;
  logic [31:0] c_o;
  logic [31:0] c_p;
  logic [31:0] c_q;
  logic [8:0]  c_count;
  logic        c_plane;
  logic        c_first;
  logic        c_last;
  npu_fifo #(
    .Width(ChunkW),
    .Depth(2)
  ) u_chunks (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(chunk_valid_i),
    .wready_o(chunk_ready_o),
    .wdata_i({chunk_a_i, chunk_b_i, chunk_o_i, chunk_p_i, chunk_q_i, chunk_count_i, chunk_plane_i, chunk_first_i, chunk_last_i}),
    .rvalid_o(c_valid),
    .rready_i(c_pop),
    .rdata_o({c_a, c_b, c_o, c_p, c_q, c_count, c_plane, c_first, c_last}),
    .count_o(unused_chunks)
  );

  logic [6:0]  c_words;       // of A
  logic [7:0]  c_out;         // of results
  logic [2:0]  sent_q;        // B, Q, P have been asked for
  logic [2:0]  need;          // still to be asked for before A
  logic        reserved_q;
  logic        room;
  logic        reserve;
  logic        rd_req;
  logic [15:0] owed_q;        // words reserved in send_buf that are not there yet
  logic [SrcAw:0] src_used_q;
  logic        d_ready;
  logic        j_ready;
  logic        word_out;
  logic        a_take;
  logic        c_job;         // the chunk has a write job

  assign c_words = 7'((c_count + 9'd3) >> 2);
  assign c_job = !reduce || c_last;
  always_comb begin
    if (reduce) c_out = {7'd0, c_last};
    else if (task_i.dup) c_out = 8'((c_count + 9'd1) >> 1);
    else c_out = {1'b0, c_words};
  end
  assign need = {vec, q_plane && c_plane, p_plane && c_plane} & ~sent_q;
  assign room = d_ready && j_ready && wr_level_i + owed_q + {8'd0, c_out} <= 16'(npu_pkg::SendAlu) &&
      (!vec || src_used_q + {1'b0, c_words} <= (SrcAw + 1)'(SrcDepth));
  assign reserve = c_valid && !reserved_q && room;
  assign rd_req_valid_o = c_valid && (reserved_q || room);
  assign rd_req = rd_req_valid_o && rd_req_ready_i;
  assign c_pop = rd_req && need == 3'd0;

  always_comb begin
    rd_req_addr_o = c_a;
    rd_req_bytes_o = {13'd0, c_count, 2'd0};
    if (need[0] || need[1]) begin
      rd_req_addr_o = need[0] ? c_p : c_q;
      rd_req_bytes_o = 24'd4;
    end else if (need[2]) begin
      rd_req_addr_o = c_b;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sent_q <= '0;
      reserved_q <= 1'b0;
    end else if (c_valid) begin
      if (c_pop) sent_q <= '0;
      else if (rd_req) sent_q <= sent_q | (need & (~need + 3'd1));
      reserved_q <= rd_req_valid_o && !c_pop;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      owed_q <= '0;
      src_used_q <= '0;
    end else if (reserve || word_out || a_take) begin
      owed_q <= owed_q + (reserve ? {8'd0, c_out} : 16'd0) - 16'(word_out);
      if (vec) src_used_q <= src_used_q + (reserve ? (SrcAw + 1)'(c_words) : '0) - (SrcAw + 1)'(a_take);
    end
  end

  // ------------------------------------------------------------------------------------------------ data in
  localparam int unsigned DataW = 2 + 7 + 2 + 2;
  logic [$clog2(Jobs+1)-1:0] unused_data;
  logic        d_valid;
  logic        d_pop;
  logic        d_p;           // a word with P, Q comes first
  logic        d_q;
  logic [6:0]  d_words;
  logic [1:0]  d_tail;        // elements in the last word, 0 counts as 4
  logic        d_first;
  logic        d_last;
  npu_fifo #(
    .Width(DataW),
    .Depth(Jobs)
  ) u_data (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(reserve),
    .wready_o(d_ready),
    .wdata_i({p_plane && c_plane, q_plane && c_plane, c_words, c_count[1:0], c_first, c_last}),
    .rvalid_o(d_valid),
    .rready_i(d_pop),
    .rdata_o({d_p, d_q, d_words, d_tail, d_first, d_last}),
    .count_o(unused_data)
  );

  logic [2:0]  got_q;         // B, Q, P have come
  logic [2:0]  due;           // what still comes before A
  logic [6:0]  word_q;        // word of B or A
  logic        word_end;
  logic        take;
  logic        math_ready;
  logic        word_ok;
  logic        last_ok;
  logic [31:0] p_q;
  logic [31:0] q_q;
  logic [3:0]  lanes;

  assign due = {vec, d_q, d_p} & ~got_q;
  assign word_end = word_q == d_words - 7'd1;
  assign rd_ready_o = d_valid && (due != 3'd0 || math_ready);
  assign take = rd_valid_i && rd_ready_o;
  assign a_take = take && due == 3'd0;
  assign d_pop = a_take && word_end;
  always_comb begin
    lanes = 4'b1111;
    if (word_end && d_tail != 2'd0) lanes = 4'b0111 >> (2'd3 - d_tail);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      got_q <= '0;
      word_q <= '0;
    end else if (take) begin
      if (due[0] || due[1]) begin
        got_q <= got_q | (due & (~due + 3'd1));
      end else begin
        word_q <= word_end ? '0 : word_q + 7'd1;
        if (word_end) got_q <= due[2] ? 3'b111 : 3'b000;
      end
    end
  end

  // Scalars change between planes only
  always_ff @(posedge clk_i) begin
    if (take && due[0]) p_q <= rd_data_i[31:0];
    if (take && due[1:0] == 2'b10) q_q <= rd_data_i[31:0];
  end

  logic [127:0]     src_mem[SrcDepth];
  logic [127:0]     src_q;
  logic [SrcAw-1:0] src_wptr_q;
  logic [SrcAw-1:0] src_rptr_q;
  logic             src_we;
  logic             src_re;
  assign src_we = take && due == 3'b100;
  assign src_re = a_take && vec;

  always_ff @(posedge clk_i) begin
    if (src_we) src_mem[src_wptr_q] <= rd_data_i;
    if (src_re) src_q <= src_mem[src_rptr_q];
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      src_wptr_q <= '0;
      src_rptr_q <= '0;
    end else begin
      if (src_we) src_wptr_q <= src_wptr_q + 1'b1;
      if (src_re) src_rptr_q <= src_rptr_q + 1'b1;
    end
  end

  // ------------------------------------------------------------------------------------------------ arithmetic
  logic          y_valid;
  logic [127:0]  y;
  logic          enter;       // a word that becomes a word of results
  logic          leave;
  logic [Ow-1:0] flight_q;    // words in the arithmetic and on the way to send_buf
  assign enter = a_take && (!reduce || (d_last && word_end));
  assign math_ready = flight_q != Ow'(OutDepth) && (!reduce || (word_ok && (last_ok || !(d_last && word_end))));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) flight_q <= '0;
    else if (enter != leave) flight_q <= enter ? flight_q + 1'b1 : flight_q - 1'b1;
  end

  alu_math u_math (
    .clk_i,
    .rst_ni,
    .op_i(task_i.op),
    .p_vec_i(p_vec),
    .q_vec_i(q_vec),
    .red_q_i(task_i.q),
    .act_i(task_i.act),
    .act_p0_i(task_i.act_p0),
    .act_p1_i(task_i.act_p1),
    .act_p2_i(task_i.act_p2),
    .act_p3_i(task_i.act_p3),
    .valid_i(a_take),
    .x_i(rd_data_i),
    .p_i(p_plane ? p_q : task_i.p),
    .q_i(q_plane ? q_q : task_i.q),
    .lanes_i(lanes),
    .first_i(d_first && word_q == 7'd0),
    .last_i(d_last && word_end),
    .vec_i(src_q),
    .word_ok_o(word_ok),
    .last_ok_o(last_ok),
    .valid_o(y_valid),
    .y_o(y)
  );

  // DUP: whether the word in the arithmetic has elements for a second word of results
  logic [Latency-1:0] two_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) two_q <= '0;
    else if (task_i.dup) two_q <= {two_q[Latency-2:0], lanes[2]};
  end

  // ------------------------------------------------------------------------------------------------ results
  logic [Ow-1:0] unused_out;
  logic          f_ready;
  logic          f_valid;
  logic          f_two;
  logic [127:0]  f_data;
  logic          half_q;      // the first word of a pair has left
  npu_fifo #(
    .Width(129),
    .Depth(OutDepth)
  ) u_out (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(y_valid),
    .wready_o(f_ready),
    .wdata_i({task_i.dup && two_q[Latency-1], y}),
    .rvalid_o(f_valid),
    .rready_i(leave),
    .rdata_o({f_two, f_data}),
    .count_o(unused_out)
  );
  assign wr_valid_o = f_valid;
  assign word_out = f_valid && wr_ready_i;
  assign leave = word_out && (half_q || !f_two);
  always_comb begin
    wr_data_o = f_data;
    if (task_i.dup) begin
      if (half_q) wr_data_o = {{2{f_data[127:96]}}, {2{f_data[95:64]}}};
      else wr_data_o = {{2{f_data[63:32]}}, {2{f_data[31:0]}}};
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      half_q <= 1'b0;
      result_o <= '0;
    end else if (word_out) begin
      half_q <= f_two && !half_q;
      if (reduce) result_o <= f_data[31:0];
    end
  end

  // ------------------------------------------------------------------------------------------------ write jobs
  logic [$clog2(Jobs+1)-1:0] unused_jobs;
  logic        j_valid;
  logic        j_pop;
  logic [31:0] j_addr;
  logic [8:0]  j_count;
  logic [7:0]  j_words;
  logic [15:0] there_q;       // words in send_buf that no job has asked for
  npu_fifo #(
    .Width(32 + 9 + 8),
    .Depth(Jobs)
  ) u_jobs (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(reserve && c_job),
    .wready_o(j_ready),
    .wdata_i({c_o, c_count, c_out}),
    .rvalid_o(j_valid),
    .rready_i(j_pop),
    .rdata_o({j_addr, j_count, j_words}),
    .count_o(unused_jobs)
  );
  assign wr_req_valid_o = j_valid && there_q >= {8'd0, j_words};
  assign j_pop = wr_req_valid_o && wr_req_ready_i;
  assign wr_req_addr_o = j_addr;
  assign wr_req_bytes_o = reduce ? 24'd4 : task_i.dup ? {12'd0, j_count, 3'd0} : {13'd0, j_count, 2'd0};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) there_q <= '0;
    else if (word_out || j_pop) there_q <= there_q + 16'(word_out) - (j_pop ? {8'd0, j_words} : 16'd0);
  end

  assign idle_o = !c_valid && !j_valid;
  assign ev_data_o = d_valid && !rd_valid_i;
  assign ev_room_o = (c_valid && !reserved_q && !room) || (f_valid && !wr_ready_i);
  assign ev_word_o = word_out;

  // ------------------------------------------------------------------------------------------------ assertions
  `NPU_ASSERT(alu_chan_data_expected, !rd_valid_i || d_valid)
  `NPU_ASSERT(alu_chan_out_room, !y_valid || f_ready)
  `NPU_ASSERT(alu_chan_send_room, wr_level_i + owed_q <= 16'(npu_pkg::SendAlu))
  `NPU_ASSERT(alu_chan_owed, !word_out || owed_q != 16'd0)
  `NPU_ASSERT(alu_chan_src_range, src_used_q <= (SrcAw + 1)'(SrcDepth))
  `NPU_ASSERT(alu_chan_count, !c_valid || (c_count != 9'd0 && c_count <= 9'(4 * npu_pkg::AluChunk)))
  `NPU_ASSERT(alu_chan_quiet, !idle_o || d_valid || (owed_q == 16'd0 && there_q == 16'd0 && src_used_q == '0))
  `NPU_ASSERT_STABLE(rd_req_valid_o, rd_req_ready_i, {rd_req_addr_o, rd_req_bytes_o})
  `NPU_ASSERT_STABLE(wr_req_valid_o, wr_req_ready_i, {wr_req_addr_o, wr_req_bytes_o})
  `NPU_ASSERT_STABLE(wr_valid_o, wr_ready_i, wr_data_o)

endmodule
