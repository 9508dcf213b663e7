// Address half of a DMA channel: arbiter, job queue, burst splitter, AR or AW register, count of bursts in flight. Part
// of dma_rd and dma_wr, whose headers describe the request handshake.
//
// What it does
//   Takes jobs (byte address, number of bytes) from NumReq requesters with fixed priority, index 0 first, into a queue
//   of two, and cuts each into INCR bursts of 16-byte beats that cross no 4 KB line (so none has more than 256 beats).
//   Only the first burst of a job may start unaligned. A burst is presented on ax_*_o when fewer than Outstanding are
//   in flight, that is, presented and not yet reported complete by done_i.
//
// bst_push_o is 1 in the cycle before a burst appears on ax_*_o; then bst_*_o describe it: requester, beats - 1,
//   whether it begins or ends its job, and of the job: first lane (off), last lane of the last beat (end), low four
//   bits of the number of bytes (tail). The parent queues that; a burst waits while bst_ready_i is 0.
// flight_o: bursts in flight; done_id_o: requester of the oldest of them, that is, of the next response (responses are
//   in order because all bursts have the same ID). Meaningless while none is in flight.
// clr_i (level) drops the queued jobs and accepts none; a burst already presented stays until its handshake.
//
// Latency: accepted request -> ax_valid_o 2 cycles. Throughput: one burst a cycle. No path from ax_ready_i or done_i to
//   ax_*_o without a register.
// Document: docs/npu/npu.md sections 4.1 and 4.4.
`include "assert.svh"

module dma_split #(
  parameter int unsigned NumReq = 4,  // requesters, at least 1
  parameter int unsigned Outstanding = 16,  // bursts in flight, a power of two
  localparam int unsigned IdW = (NumReq > 1) ? $clog2(NumReq) : 1,
  localparam int unsigned CntW = $clog2(Outstanding + 1)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic clr_i,

  input logic [NumReq-1:0] req_valid_i,
  output logic [NumReq-1:0] req_ready_o,
  input logic [32*NumReq-1:0] req_addr_i,
  input logic [24*NumReq-1:0] req_bytes_i,

  output logic [31:0] ax_addr_o,
  output logic [7:0] ax_len_o,
  output logic ax_valid_o,
  input logic ax_ready_i,

  output logic bst_push_o,
  input logic bst_ready_i,
  output logic [IdW-1:0] bst_id_o,
  output logic [7:0] bst_len_o,
  output logic bst_first_o,
  output logic bst_last_o,
  output logic [3:0] bst_off_o,
  output logic [3:0] bst_end_o,
  output logic [3:0] bst_tail_o,

  input logic done_i,
  output logic [IdW-1:0] done_id_o,
  output logic jobs_idle_o,  // no job queued
  output logic bus_idle_o,  // no burst in flight
  output logic [CntW-1:0] flight_o
);

  // -------------------------------------------------------------------------------------------- arbiter and job queue
  logic sel_valid;
  logic [IdW-1:0] sel_id;
  logic [31:0] sel_addr;
  logic [23:0] sel_bytes;
  always_comb begin
    sel_id = '0;
    for (int unsigned i = 0; i < NumReq; i++) begin
      if (req_valid_i[NumReq-1-i]) sel_id = IdW'(NumReq - 1 - i);
    end
  end
  assign sel_valid = req_valid_i != '0;
  assign sel_addr = req_addr_i[32*sel_id+:32];
  assign sel_bytes = req_bytes_i[24*sel_id+:24];

  logic job_wready;
  logic grant;
  assign grant = sel_valid & job_wready & ~clr_i;
  assign req_ready_o = NumReq'(grant) << sel_id;

  localparam int unsigned JobW = IdW + 32 + 24;
  logic job_valid;
  logic job_pop;
  logic [JobW-1:0] job_head;
  logic [1:0] job_count;
  logic [31:0] job_addr;
  logic [23:0] job_bytes;
  fifo #(
    .Width(JobW),
    .Depth(2)
  ) u_job (
    .clk_i,
    .rst_ni,
    .clr_i,
    .wvalid_i(sel_valid & ~clr_i),
    .wready_o(job_wready),
    .wdata_i({sel_id, sel_addr, sel_bytes}),
    .rvalid_o(job_valid),
    .rready_i(job_pop),
    .rdata_o(job_head),
    .count_o(job_count)
  );
  assign {bst_id_o, job_addr, job_bytes} = job_head;
  assign jobs_idle_o = ~job_valid;

  // ------------------------------------------------------------------------------------------------ splitter
  // The first burst is cut from the job at the head of the queue, the others from next_addr_q and beats_q.
  logic more_q;  // the job at the head has had a burst
  logic [31:12] next_page_q;
  logic [20:0] beats_q;  // beats left

  logic [24:0] span_m1;  // bytes from lane 0 of the first beat to the last byte of the job, minus 1
  logic [31:0] cur_addr;
  logic [20:0] cur_beats;
  logic [8:0] to_page;  // beats up to the next 4 KB line, 1..256
  logic cur_last;
  logic [8:0] cur_len;
  assign span_m1 = {1'b0, job_bytes} + {21'd0, job_addr[3:0]} - 25'd1;
  assign cur_addr = more_q ? {next_page_q, 12'd0} : job_addr;
  assign cur_beats = more_q ? beats_q : span_m1[24:4] + 21'd1;
  assign to_page = 9'd256 - {1'b0, cur_addr[11:4]};
  assign cur_last = cur_beats <= {12'd0, to_page};
  assign cur_len = (cur_last ? cur_beats[8:0] : to_page) - 9'd1;

  logic ax_valid_q;
  logic [31:0] ax_addr_q;
  logic [7:0] ax_len_q;
  logic [CntW-1:0] flight_q;
  logic push;
  assign push = job_valid & ~clr_i & (~ax_valid_q | ax_ready_i) & bst_ready_i & (flight_q != Outstanding[CntW-1:0]);
  assign job_pop = push & cur_last;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      more_q <= 1'b0;
      next_page_q <= '0;
      beats_q <= '0;
      ax_valid_q <= 1'b0;
      ax_addr_q <= '0;
      ax_len_q <= '0;
      flight_q <= '0;
    end else begin
      if (clr_i) more_q <= 1'b0;
      else if (push) more_q <= ~cur_last;
      if (push) begin
        next_page_q <= cur_addr[31:12] + 20'd1;
        beats_q <= cur_beats - {12'd0, to_page};
        ax_addr_q <= cur_addr;
        ax_len_q <= cur_len[7:0];
      end
      ax_valid_q <= push | (ax_valid_q & ~ax_ready_i);
      if (push && !done_i) flight_q <= flight_q + 1'b1;
      else if (done_i && !push) flight_q <= flight_q - 1'b1;
    end
  end

  // requesters of the bursts in flight, oldest first
  localparam int unsigned OwnW = $clog2(Outstanding);
  logic [IdW-1:0] own [Outstanding];
  logic [OwnW-1:0] own_wr_q;
  logic [OwnW-1:0] own_rd_q;
  always_ff @(posedge clk_i) begin
    if (push) own[own_wr_q] <= bst_id_o;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      own_wr_q <= '0;
      own_rd_q <= '0;
    end else begin
      if (push) own_wr_q <= own_wr_q + 1'b1;
      if (done_i) own_rd_q <= own_rd_q + 1'b1;
    end
  end
  assign done_id_o = own[own_rd_q];
  assign flight_o = flight_q;

  assign ax_addr_o = ax_addr_q;
  assign ax_len_o = ax_len_q;
  assign ax_valid_o = ax_valid_q;
  assign bus_idle_o = flight_q == '0;

  assign bst_push_o = push;
  assign bst_len_o = cur_len[7:0];
  assign bst_first_o = ~more_q;
  assign bst_last_o = cur_last;
  assign bst_off_o = job_addr[3:0];
  assign bst_end_o = span_m1[3:0];
  assign bst_tail_o = job_bytes[3:0];

  logic unused;
  assign unused = ^{job_count, cur_len[8]};

  // ------------------------------------------------------------------------------------------------ assertions
  `ASSERT_ONEHOT0(OneGrant, req_ready_o)
  `ASSERT(GrantOnlyValid, (req_ready_o & ~req_valid_i) == '0)
  `ASSERT(JobNotEmpty, !(sel_valid && sel_bytes == 24'd0))
  `ASSERT(FlightRange, flight_q <= Outstanding[CntW-1:0])
  `ASSERT(DoneOfPresented, !(done_i && flight_q == '0))
  `ASSERT(OwnersCounted, own_wr_q - own_rd_q == flight_q[OwnW-1:0])
  `ASSERT(PresentedCounted, !(ax_valid_q && flight_q == '0))
  `ASSERT(BeatsLeft, !(job_valid && more_q && beats_q == 21'd0))
  `ASSERT(LenRange, !push || cur_len < 9'd256)
  `ASSERT(BurstInPage, !ax_valid_q || {1'b0, ax_addr_q[11:4]} + {1'b0, ax_len_q} < 9'd256)
  `ASSERT_STABLE(AxStable, ax_valid_o, ax_ready_i, {ax_addr_o, ax_len_o})

endmodule
