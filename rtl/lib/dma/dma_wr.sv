// Write side of one AXI4 channel, shared by NumReq requesters.
//
// What it does
//   A requester requests a job: `bytes` bytes to byte address `addr` on, and delivers them as ceil(bytes/16) beats
//   whose first byte is byte 0 of the first beat (bytes of the last beat beyond the job are ignored). The unit splits
//   jobs into INCR bursts of 16-byte beats that cross no 4 KB line, shifts the bytes to their lanes, masks head and
//   tail with strobes, and keeps up to Outstanding bursts in flight (presented on AW, response not yet arrived).
//
// Request handshake: as dma_rd. Requester i holds req_valid_i[i], req_addr_i[32*i +: 32] and req_bytes_i[24*i +: 24]
//   (1 .. 2^24-1; the range must not run past 2^32) until req_ready_o[i]; fixed priority, index 0 first; ready depends
//   on valid in the same cycle. Jobs are served in the order of acceptance.
//
// Data handshake: wdat_valid_i[i], wdat_ready_o[i], wdat_i[128*i +: 128]; a requester's beats belong to its jobs in the
//   order of their acceptance, without a gap or mark between jobs. Beats may be offered before the job is; they are
//   accepted when the job is at the head. wdat_ready_o does not depend on valid or on AXI inputs.
//
// Order on the bus: AW runs ahead of W; a burst's first W beat comes at least one cycle after its awvalid_o and does
//   not wait for awready_i. W beats come in AW order.
//
// Latency:    accepted request -> awvalid_o 2 cycles, accepted data beat -> wvalid_o 1 cycle (when idle).
// Throughput: one burst a cycle on AW, one beat a cycle on W, jobs without a gap; a job takes as many cycles as it has
//             bus beats.
//
// flush_i (level) drops everything: no job is accepted, no new burst is presented (an awvalid_o that is already 1 stays
//   1 until the handshake); the missing W beats of presented bursts are sent with zero strobes (those already waiting
//   in the two-entry output FIFO keep theirs); no data are taken. Dropping continues after flush_i falls until the bus
//   is drained; req_ready_o and wdat_ready_o are 0 until then.
// idle_o: no job queued, all beats sent, all responses arrived.
// idle_req_o[i]: the same for the jobs of requester i alone; 0 from the cycle after the acceptance of a job on.
// active_o: the next clock edge may change a register; while it is 0 the clock may stand still.
// err_o[i]: one-cycle pulse, one cycle after a B response SLVERR or DECERR for a job of requester i.
// ev_beat_o, ev_burst_o: one-cycle pulses, one cycle after a W or AW handshake. ev_wait_bus_o: 1 in the cycle after one
//   in which a data beat or an address was not accepted. ev_wait_data_o: 1 in the cycle after one in which there was a
//   burst and space for a beat, but the requester had no data. inflight_o: bursts presented on AW whose response has
//   not arrived.
//
// No path leads from an AXI input to an AXI output without a register; bready_o is 1 always.
// Document: docs/npu/npu.md sections 4.1 and 4.4.
`include "assert.svh"

module dma_wr #(
  parameter int unsigned NumReq = 1,  // requesters, at least 1
  parameter int unsigned Outstanding = 16,  // bursts in flight, a power of two
  localparam int unsigned IdW = (NumReq > 1) ? $clog2(NumReq) : 1,
  localparam int unsigned CntW = $clog2(Outstanding + 1)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic flush_i,
  output logic idle_o,
  output logic active_o,

  input logic [NumReq-1:0] req_valid_i,
  output logic [NumReq-1:0] req_ready_o,
  input logic [32*NumReq-1:0] req_addr_i,
  input logic [24*NumReq-1:0] req_bytes_i,

  input logic [NumReq-1:0] wdat_valid_i,
  output logic [NumReq-1:0] wdat_ready_o,
  input logic [128*NumReq-1:0] wdat_i,

  output logic awid_o,
  output logic [31:0] awaddr_o,
  output logic [7:0] awlen_o,
  output logic [2:0] awsize_o,
  output logic [1:0] awburst_o,
  output logic awlock_o,
  output logic [3:0] awcache_o,
  output logic [2:0] awprot_o,
  output logic [3:0] awqos_o,
  output logic awvalid_o,
  input logic awready_i,
  output logic [127:0] wdata_o,
  output logic [15:0] wstrb_o,
  output logic wlast_o,
  output logic wvalid_o,
  input logic wready_i,
  input logic bid_i,
  input logic [1:0] bresp_i,
  input logic bvalid_i,
  output logic bready_o,

  output logic [NumReq-1:0] idle_req_o,
  output logic [NumReq-1:0] err_o,
  output logic ev_beat_o,
  output logic ev_burst_o,
  output logic ev_wait_bus_o,
  output logic ev_wait_data_o,
  output logic [CntW-1:0] inflight_o
);

  // ------------------------------------------------------------------------------------------------ flush
  // drop_q keeps dropping until the bus is drained, also when flush_i falls early
  logic drop_q;
  logic dropping;
  logic bus_idle;
  assign dropping = flush_i | drop_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) drop_q <= 1'b0;
    else drop_q <= dropping & ~bus_idle;
  end

  // ------------------------------------------------------------------------------------------------ address channel
  logic jobs_idle;
  logic bst_push;
  logic bst_ready;
  logic [IdW-1:0] bst_id;
  logic [7:0] bst_len;
  logic bst_first;
  logic bst_last;
  logic [3:0] bst_off;
  logic [3:0] bst_end;
  logic [3:0] bst_tail;
  logic [IdW-1:0] done_id;
  dma_split #(
    .NumReq(NumReq),
    .Outstanding(Outstanding)
  ) u_split (
    .clk_i,
    .rst_ni,
    .clr_i(dropping),
    .req_valid_i,
    .req_ready_o,
    .req_addr_i,
    .req_bytes_i,
    .ax_addr_o(awaddr_o),
    .ax_len_o(awlen_o),
    .ax_valid_o(awvalid_o),
    .ax_ready_i(awready_i),
    .bst_push_o(bst_push),
    .bst_ready_i(bst_ready),
    .bst_id_o(bst_id),
    .bst_len_o(bst_len),
    .bst_first_o(bst_first),
    .bst_last_o(bst_last),
    .bst_off_o(bst_off),
    .bst_end_o(bst_end),
    .bst_tail_o(bst_tail),
    .done_i(bvalid_i),
    .done_id_o(done_id),
    .jobs_idle_o(jobs_idle),
    .bus_idle_o(bus_idle),
    .flight_o(inflight_o)
  );

  assign awid_o = 1'b0;
  assign awsize_o = 3'd4;
  assign awburst_o = 2'b01;
  assign awlock_o = 1'b0;
  assign awcache_o = 4'b0011;
  assign awprot_o = 3'd0;
  assign awqos_o = 4'd0;

  // ------------------------------------------------------------------------------------------ bursts with data to come
  // `first` and `last`: the burst begins or ends its job; `off` and `end`: first lane of the job, last lane of its last
  // beat
  localparam int unsigned InfoW = IdW + 8 + 4 + 4 + 2;
  logic info_valid;
  logic info_pop;
  logic [InfoW-1:0] info_head;
  logic [CntW-1:0] info_count;
  logic [IdW-1:0] inf_id;
  logic [7:0] inf_len;
  logic [3:0] inf_off;
  logic [3:0] inf_end;
  logic inf_first;
  logic inf_last;
  fifo #(
    .Width(InfoW),
    .Depth(Outstanding)
  ) u_info (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(bst_push),
    .wready_o(bst_ready),
    .wdata_i({bst_id, bst_len, bst_off, bst_end, bst_first, bst_last}),
    .rvalid_o(info_valid),
    .rready_i(info_pop),
    .rdata_o(info_head),
    .count_o(info_count)
  );
  assign {inf_id, inf_len, inf_off, inf_end, inf_first, inf_last} = info_head;

  // ------------------------------------------------------------------------------------------------ W beats
  logic [7:0] beat_q;  // beat of the burst at the head
  logic [127:0] prev_q;  // previous beat of the requester: its upper bytes go into this bus beat
  logic src_valid;
  logic [127:0] src_data;
  logic burst_end;
  logic job_first;
  logic job_last;
  logic carry_only;  // the last bus beat of a job has only bytes of prev_q
  logic out_wready;
  logic take;
  logic step;

  always_comb begin
    src_valid = 1'b0;
    src_data = wdat_i[127:0];
    for (int unsigned i = 0; i < NumReq; i++) begin
      if (inf_id == i[IdW-1:0]) begin
        src_valid = wdat_valid_i[i];
        src_data = wdat_i[128*i+:128];
      end
    end
  end

  assign burst_end = beat_q == inf_len;
  assign job_first = inf_first & (beat_q == 8'd0);
  assign job_last = inf_last & burst_end;
  assign carry_only = job_last & ~job_first & (inf_end < inf_off);
  assign take = info_valid & out_wready & ~carry_only & ~dropping;
  assign step = info_valid & out_wready & (carry_only | src_valid | dropping);
  assign info_pop = step & burst_end;
  always_comb begin
    wdat_ready_o = '0;
    for (int unsigned i = 0; i < NumReq; i++) begin
      if (inf_id == i[IdW-1:0]) wdat_ready_o[i] = take;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beat_q <= '0;
      prev_q <= '0;
    end else if (step) begin
      beat_q <= burst_end ? 8'd0 : beat_q + 8'd1;
      if (inf_off != 4'd0) prev_q <= src_data;
    end
  end

  // moves byte 0 of `cur` to lane `off`; the lanes below get the upper bytes of `prev`
  function automatic logic [127:0] align_up(input logic [127:0] cur, input logic [127:0] prev, input logic [3:0] off);
    align_up = (cur << {off, 3'b000}) | (prev >> {5'd16 - {1'b0, off}, 3'b000});
  endfunction

  // computed only in cycles with a step, so that a simulator does no work in idle cycles
  logic [127:0] out_data;
  logic [15:0] out_strb;
  always_comb begin
    out_data = src_data;
    out_strb = 16'd0;
    if (step) begin
      if (inf_off != 4'd0) out_data = align_up(src_data, job_first ? 128'd0 : prev_q, inf_off);
      if (!dropping) begin
        out_strb = 16'hFFFF;
        if (job_first) out_strb = out_strb & (16'hFFFF << inf_off);
        if (job_last) out_strb = out_strb & (16'hFFFF >> (4'd15 - inf_end));
      end
    end
  end

  // Two entries decouple wready_i from wdat_ready_o at one beat per cycle.
  logic [1:0] out_count;
  fifo #(
    .Width(128 + 16 + 1),
    .Depth(2)
  ) u_out (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(step),
    .wready_o(out_wready),
    .wdata_i({out_data, out_strb, burst_end}),
    .rvalid_o(wvalid_o),
    .rready_i(wready_i),
    .rdata_o({wdata_o, wstrb_o, wlast_o}),
    .count_o(out_count)
  );

  // ------------------------------------------------------------------------------------------------ status
  assign bready_o = 1'b1;
  logic b_failed;
  assign b_failed = bvalid_i & bresp_i[1];
  assign idle_o = bus_idle & jobs_idle;

  // Work in flight of each requester: jobs in the queue of dma_split, and bursts from their push there to their
  // response.
  logic [2*NumReq-1:0] req_jobs_q;
  logic [CntW*NumReq-1:0] req_bursts_q;
  logic [NumReq-1:0] accept;
  assign accept = req_ready_o & req_valid_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      req_jobs_q <= '0;
      req_bursts_q <= '0;
    end else if (dropping || bst_push || bvalid_i || accept != '0) begin
      for (int unsigned i = 0; i < NumReq; i++) begin
        req_jobs_q[2*i+:2] <= dropping ? 2'd0 : req_jobs_q[2*i+:2] + {1'b0, accept[i]} -
            {1'b0, bst_push && bst_last && (bst_id == i[IdW-1:0])};
        req_bursts_q[CntW*i+:CntW] <= req_bursts_q[CntW*i+:CntW] + CntW'(bst_push && (bst_id == i[IdW-1:0])) -
            CntW'(bvalid_i && (done_id == i[IdW-1:0]));
      end
    end
  end
  always_comb begin
    for (int unsigned i = 0; i < NumReq; i++) begin
      idle_req_o[i] = (req_jobs_q[2*i+:2] == 2'd0) && (req_bursts_q[CntW*i+:CntW] == '0);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      err_o <= '0;
      ev_beat_o <= 1'b0;
      ev_burst_o <= 1'b0;
      ev_wait_bus_o <= 1'b0;
      ev_wait_data_o <= 1'b0;
    end else begin
      err_o <= NumReq'(b_failed) << done_id;
      ev_wait_bus_o <= (awvalid_o & ~awready_i) | (wvalid_o & ~wready_i);
      ev_wait_data_o <= info_valid & out_wready & ~step;
      ev_beat_o <= wvalid_o & wready_i;
      ev_burst_o <= awvalid_o & awready_i;
    end
  end

  assign active_o = dropping | (req_valid_i != '0) | ~idle_o | bvalid_i | (err_o != '0) | ev_beat_o | ev_burst_o |
      ev_wait_bus_o | ev_wait_data_o;

  // bid_i is 0 because awid_o is; EXOKAY cannot come; the job's byte count is in `end`
  logic unused;
  assign unused = ^{bid_i, bresp_i[0], bst_tail, info_count, out_count};

  // ------------------------------------------------------------------------------------------------ assertions
  `ASSERT_ONEHOT0(OneSource, wdat_ready_o)
  `ASSERT(DataOwed, !wvalid_o || !bus_idle)
  `ASSERT(IdleMeansEmpty, !idle_o || !(info_valid || wvalid_o || awvalid_o))
  `ASSERT(BeatRange, !info_valid || beat_q <= inf_len)
  `ASSERT(IdleOfAll, idle_o == (&idle_req_o))
  `ASSERT_ONEHOT0(OneError, err_o)
  `ASSERT(IdNeverOther, !bvalid_i || bid_i == 1'b0)
  `ASSERT_STABLE(WStable, wvalid_o, wready_i, {wdata_o, wstrb_o, wlast_o})

endmodule
