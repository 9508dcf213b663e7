// One channel of the ALU: requests the operands of its chunks, computes, and requests the write of the results.
//
// Function     Takes chunks of one row (1..256 elements) from the walk in alu.sv. For each: reads P and Q when the
//              chunk is the first one of a plane here (PLANE operands), then B into src_mem, then A, which streams
//              against them (thesis section 3.2.2, figures 3-7 and 3-8: src_mem first, loads overlapped with the
//              arithmetic). Results go to send_buf; the write job is requested when all words of the chunk (reductions:
//              of the row) are in it.
// Flow         Requests run ahead of the data, limited by free space: words of send_buf (npu_pkg::SendAlu) and of
//              src_mem (128, two chunks) and an entry in the queues of data and write jobs are reserved before the
//              first request of a chunk. Requested data are always accepted; only the few words that wait for access to
//              send_buf, and the end of a short row of a reduction, stall them briefly.
// Throughput   One word of results a cycle with one operand, one every two cycles with a vector operand; with DUP one
//              word of output a cycle. A chunk takes one cycle for each request at least.
// idle_o       No chunk of the walk is pending: every write job has been accepted.
// Latency      10 cycles from a word of A to its results, 22 from the last word of a reduced row.
// Length       More than 300 lines: requests, operands and write jobs share the reservations of the chunks; a part of
//              its own would have more ports than logic.
`include "assert.svh"

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
  localparam int unsigned Slots = 16;      // chunks requested and not yet written
  localparam int unsigned OutDepth = 32;   // words in flight to send_buf: covers the latency of the arithmetic
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
  assign reduce = npu_pkg::alu_reduces_f(task_i.op);
  assign uses_p = task_i.op != npu_pkg::AluCopy && task_i.op != npu_pkg::AluAbs && task_i.op != npu_pkg::AluSum &&
      task_i.op != npu_pkg::AluRmax && task_i.op != npu_pkg::AluSumsq;
  assign uses_q = task_i.op == npu_pkg::AluMuladd || task_i.op == npu_pkg::AluAddmul;
  assign p_vec = uses_p && task_i.p_kind == npu_pkg::AluVector;
  assign q_vec = uses_q && task_i.q_kind == npu_pkg::AluVector;
  assign p_plane = uses_p && task_i.p_kind == npu_pkg::AluPlane;
  assign q_plane = uses_q && task_i.q_kind == npu_pkg::AluPlane;
  assign vec = p_vec || q_vec;

  // ------------------------------------------------------------------------------------------------ requests
  logic [6:0]  c_words;       // of A
  logic [7:0]  c_out;         // of results
  logic [2:0]  sent_q;        // B, Q, P have been requested
  logic [2:0]  need;          // still to be requested before A
  logic        reserved_q;
  logic        room;
  logic        reserve;
  logic        rd_req;
  logic [15:0] owed_q;        // words reserved in send_buf and not yet written
  logic [SrcAw:0] src_used_q;
  logic        free;          // a slot
  logic        word_out;
  logic        a_take;

  assign c_words = 7'((chunk_count_i + 9'd3) >> 2);
  always_comb begin
    if (reduce) c_out = {7'd0, chunk_last_i};
    else if (task_i.dup) c_out = 8'((chunk_count_i + 9'd1) >> 1);
    else c_out = {1'b0, c_words};
  end
  assign need = {vec, q_plane && chunk_plane_i, p_plane && chunk_plane_i} & ~sent_q;
  assign room = free && wr_level_i + owed_q + {8'd0, c_out} <= 16'(npu_pkg::SendAlu) &&
      (!vec || src_used_q + {1'b0, c_words} <= (SrcAw + 1)'(SrcDepth));
  assign reserve = chunk_valid_i && !reserved_q && room;
  assign rd_req_valid_o = chunk_valid_i && (reserved_q || room);
  assign rd_req = rd_req_valid_o && rd_req_ready_i;
  assign chunk_ready_o = rd_req && need == 3'd0;

  always_comb begin
    rd_req_addr_o = chunk_a_i;
    rd_req_bytes_o = {13'd0, chunk_count_i, 2'd0};
    if (need[0] || need[1]) begin
      rd_req_addr_o = need[0] ? chunk_p_i : chunk_q_i;
      rd_req_bytes_o = 24'd4;
    end else if (need[2]) begin
      rd_req_addr_o = chunk_b_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sent_q <= '0;
      reserved_q <= 1'b0;
    end else if (chunk_valid_i) begin
      if (chunk_ready_o) sent_q <= '0;
      else if (rd_req) sent_q <= sent_q | (need & (~need + 3'd1));
      reserved_q <= rd_req_valid_o && !chunk_ready_o;
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

  // ------------------------------------------------------------------------------------------------ chunks on the way
  // A slot holds a chunk from its reservation on; data and write jobs follow with pointers of their own.
  localparam int unsigned SlotW = 32 + 9 + 8 + 5;
  localparam int unsigned Pw = $clog2(Slots) + 1;
  logic [SlotW-1:0] slot[Slots];
  logic [Pw-1:0] slot_q;      // next one to reserve
  logic [Pw-1:0] data_q;      // the one whose data come
  logic [Pw-1:0] job_q;       // the one to be written next
  logic        d_valid;
  logic        d_pop;
  logic        d_p;           // a word with P, Q comes first
  logic        d_q;
  logic [8:0]  d_count;
  logic        d_first;
  logic        d_last;
  logic        j_valid;
  logic        j_pop;
  logic        j_job;         // it has a write job
  logic [31:0] j_addr;
  logic [8:0]  j_count;
  logic [7:0]  j_words;
  logic [31:0] unused_addr;
  logic [7:0]  unused_words;
  logic        unused_job;
  logic [3:0]  unused_flags;
  assign free = slot_q - job_q != Pw'(Slots);
  assign d_valid = slot_q != data_q;
  assign j_valid = slot_q != job_q;
  assign {unused_addr, d_count, unused_words, unused_job, d_p, d_q, d_first, d_last} = slot[data_q[Pw-2:0]];
  assign {j_addr, j_count, j_words, j_job, unused_flags} = slot[job_q[Pw-2:0]];

  always_ff @(posedge clk_i) begin
    if (reserve)
      slot[slot_q[Pw-2:0]] <= {chunk_o_i, chunk_count_i, c_out, !reduce || chunk_last_i, p_plane && chunk_plane_i,
                               q_plane && chunk_plane_i, chunk_first_i, chunk_last_i};
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      slot_q <= '0;
      data_q <= '0;
      job_q <= '0;
    end else begin
      if (reserve) slot_q <= slot_q + 1'b1;
      if (d_pop) data_q <= data_q + 1'b1;
      if (j_pop) job_q <= job_q + 1'b1;
    end
  end

  // ------------------------------------------------------------------------------------------------ data in
  logic [2:0]  got_q;         // B, Q, P have arrived
  logic [2:0]  due;           // data still to come before A
  logic [6:0]  word_q;        // word of B or A
  logic [6:0]  d_words;
  logic        word_end;
  logic        take;
  logic        math_ready;
  logic        word_ok;
  logic        last_ok;
  logic [31:0] p_q;
  logic [31:0] q_q;
  logic [3:0]  lanes;

  assign due = {vec, d_q, d_p} & ~got_q;
  assign d_words = 7'((d_count + 9'd3) >> 2);
  assign word_end = word_q == d_words - 7'd1;
  assign rd_ready_o = d_valid && (due != 3'd0 || math_ready);
  assign take = rd_valid_i && rd_ready_o;
  assign a_take = take && due == 3'd0;
  assign d_pop = a_take && word_end;
  always_comb begin
    lanes = 4'b1111;
    if (word_end && d_count[1:0] != 2'd0) lanes = 4'b0111 >> (2'd3 - d_count[1:0]);
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
  logic [Ow-1:0] flight_q;    // words in the arithmetic and in flight to send_buf
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
    .func_i(task_i.func),
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
  // A ring without a count of its own: flight_q keeps it from overflowing.
  logic [128:0]   ring[OutDepth];
  logic [Ow-2:0]  ring_wptr_q;
  logic [Ow-2:0]  ring_rptr_q;
  logic [Ow-1:0]  ring_count_q;
  logic           f_valid;
  logic           f_two;
  logic [127:0]   f_data;
  logic           half_q;     // the first word of a pair has left
  assign f_valid = ring_count_q != '0;
  always_comb begin
    {f_two, f_data} = '0;
    if (f_valid) {f_two, f_data} = ring[ring_rptr_q];
  end

  always_ff @(posedge clk_i) begin
    if (y_valid) ring[ring_wptr_q] <= {task_i.dup && two_q[Latency-1], y};
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ring_wptr_q <= '0;
      ring_rptr_q <= '0;
      ring_count_q <= '0;
    end else if (y_valid || leave) begin
      ring_wptr_q <= ring_wptr_q + (Ow - 1)'(y_valid);
      ring_rptr_q <= ring_rptr_q + (Ow - 1)'(leave);
      ring_count_q <= ring_count_q + Ow'(y_valid) - Ow'(leave);
    end
  end

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
  logic [15:0] there_q;       // words in send_buf that no job has requested yet
  logic        job;
  assign wr_req_valid_o = j_valid && j_job && there_q >= {8'd0, j_words};
  assign job = wr_req_valid_o && wr_req_ready_i;
  assign j_pop = job || (j_valid && !j_job && job_q != data_q);
  assign wr_req_addr_o = j_addr;
  assign wr_req_bytes_o = reduce ? 24'd4 : task_i.dup ? {12'd0, j_count, 3'd0} : {13'd0, j_count, 2'd0};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) there_q <= '0;
    else if (word_out || job) there_q <= there_q + 16'(word_out) - (job ? {8'd0, j_words} : 16'd0);
  end

  assign idle_o = !chunk_valid_i && !j_valid;
  assign ev_data_o = d_valid && !rd_valid_i;
  assign ev_room_o = (chunk_valid_i && !reserved_q && !room) || (f_valid && !wr_ready_i);
  assign ev_word_o = word_out;

  // ------------------------------------------------------------------------------------------------ assertions
  // few and guarded by cheap conditions: an idle ALU is simulated in every run
  `ASSERT(AluChanDataExpected, !rd_valid_i || d_valid)
  `ASSERT(AluChanRing, !y_valid || ring_count_q != Ow'(OutDepth))
  `ASSERT(AluChanWord, !word_out || owed_q != 16'd0)
  `ASSERT(AluChanRoom, !j_valid || (wr_level_i + owed_q <= 16'(npu_pkg::SendAlu) &&
      src_used_q <= (SrcAw + 1)'(SrcDepth) &&
      slot_q - job_q <= Pw'(Slots) && data_q - job_q <= slot_q - job_q))
  `ASSERT(AluChanCount, !chunk_valid_i || (chunk_count_i != 9'd0 && chunk_count_i <= 9'(4 * npu_pkg::AluChunk)))
  `ASSERT(AluChanQuiet, !idle_o || (owed_q == 16'd0 && there_q == 16'd0 && src_used_q == '0 && flight_q == '0))
  `ASSERT_STABLE(RdReqStable, rd_req_valid_o, rd_req_ready_i, {rd_req_addr_o, rd_req_bytes_o})
  `ASSERT_STABLE(WrReqStable, wr_req_valid_o, wr_req_ready_i, {wr_req_addr_o, wr_req_bytes_o})

endmodule
