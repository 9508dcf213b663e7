// Read side of one AXI4 channel, shared by NumReq requesters.
//
// What it does
//   A requester requests a job: `bytes` bytes from byte address `addr` on. The unit splits jobs into INCR bursts of
//   16-byte beats that cross no 4 KB line, keeps up to Outstanding bursts in flight, and returns the bytes of each job
//   as ceil(bytes/16) beats, realigned so that byte 0 of the first beat is the first requested byte. Bytes of the last
//   beat beyond the job are zero.
//
// Request handshake
//   Requester i holds req_valid_i[i], req_addr_i[32*i +: 32] and req_bytes_i[24*i +: 24] (1 .. 2^24-1; the range must
//   not run past 2^32) until a cycle in which req_ready_o[i] is 1. Fixed priority: req_ready_o goes to the lowest valid
//   index only, so it depends on req_valid_i in the same cycle; a requester must not wait for ready. Jobs are served in
//   the order of acceptance.
//
// Data handshake
//   dat_valid_o/dat_ready_i; dat_o, dat_id_o (the requester) and dat_last_o (last beat of the job) are stable while
//   valid waits for ready. Data come in job order for all requesters together, so a requester must be able to accept
//   the data of its jobs without waiting for data of a later job.
//
// Latency:    accepted request -> arvalid_o 2 cycles (when idle); accepted R beat -> dat_valid_o 2 cycles.
// Throughput: one burst a cycle on AR, one beat a cycle on R and on the output. Jobs follow each other without a gap: a
//             job takes max(bus beats, output beats) cycles, an unaligned job whose last bus beat holds bytes of two
//             output beats takes one cycle more than its bus beats.
//
// flush_i (level) drops everything: no job is accepted, no new burst is presented (an arvalid_o that is already 1 stays
//   1 until the handshake), R data are accepted at full rate and dropped, dat_valid_o falls in the next cycle. Dropping
//   continues after flush_i falls until the bus is drained; req_ready_o is 0 until then.
// idle_o: no burst in flight, no job queued, no data pending in the output.
// active_o: the next clock edge may change a register; while it is 0 the clock may stand still.
// err_o[i]: one-cycle pulse, one cycle after an R beat with SLVERR or DECERR of a job of requester i. Such a beat is
//   data like any other.
// ev_beat_o, ev_burst_o: one-cycle pulses, one cycle after an R or AR handshake. ev_wait_bus_o: 1 in the cycle after
//   one in which bursts were in flight and rvalid_i was 0, or an address was not accepted. ev_wait_user_o: 1 in the
//   cycle after one in which data waited for dat_ready_i. inflight_o: bursts presented and not complete.
//
// No path leads from an AXI input to an AXI output without a register.
// Document: docs/npu/npu.md sections 4.1 and 4.4.
`include "assert.svh"

module dma_rd #(
  parameter int unsigned NumReq = 4,  // requesters, at least 1
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

  output logic dat_valid_o,
  input logic dat_ready_i,
  output logic [IdW-1:0] dat_id_o,
  output logic [127:0] dat_o,
  output logic dat_last_o,

  output logic arid_o,
  output logic [31:0] araddr_o,
  output logic [7:0] arlen_o,
  output logic [2:0] arsize_o,
  output logic [1:0] arburst_o,
  output logic arlock_o,
  output logic [3:0] arcache_o,
  output logic [2:0] arprot_o,
  output logic [3:0] arqos_o,
  output logic arvalid_o,
  input logic arready_i,
  input logic rid_i,
  input logic [127:0] rdata_i,
  input logic [1:0] rresp_i,
  input logic rlast_i,
  input logic rvalid_i,
  output logic rready_o,

  output logic [NumReq-1:0] err_o,
  output logic ev_beat_o,
  output logic ev_burst_o,
  output logic ev_wait_bus_o,
  output logic ev_wait_user_o,
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
  logic r_done;
  assign r_done = rvalid_i & rready_o & rlast_i;
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
    .ax_addr_o(araddr_o),
    .ax_len_o(arlen_o),
    .ax_valid_o(arvalid_o),
    .ax_ready_i(arready_i),
    .bst_push_o(bst_push),
    .bst_ready_i(bst_ready),
    .bst_id_o(bst_id),
    .bst_len_o(bst_len),
    .bst_first_o(bst_first),
    .bst_last_o(bst_last),
    .bst_off_o(bst_off),
    .bst_end_o(bst_end),
    .bst_tail_o(bst_tail),
    .done_i(r_done),
    .done_id_o(done_id),
    .jobs_idle_o(jobs_idle),
    .bus_idle_o(bus_idle),
    .flight_o(inflight_o)
  );

  assign arid_o = 1'b0;
  assign arsize_o = 3'd4;
  assign arburst_o = 2'b01;
  assign arlock_o = 1'b0;
  assign arcache_o = 4'b0011;
  assign arprot_o = 3'd0;
  assign arqos_o = 4'd0;

  // ------------------------------------------------------------------------------------------------ data in
  // Information on each burst for the data side. `first` and `last`: the burst begins or ends its job; `extra`: the
  // last bus beat of the job holds bytes of two output beats.
  localparam int unsigned InfoW = IdW + 8 + 4 + 4 + 3;
  logic info_valid;
  logic info_pop;
  logic [InfoW-1:0] info_head;
  logic [CntW-1:0] info_count;
  logic [IdW-1:0] inf_id;
  logic [7:0] inf_len;
  logic [3:0] inf_off;  // first lane of the job
  logic [3:0] inf_tail;  // bytes in the last output beat, 0 counts as 16
  logic inf_first;
  logic inf_last;
  logic inf_extra;
  fifo #(
    .Width(InfoW),
    .Depth(Outstanding)
  ) u_info (
    .clk_i,
    .rst_ni,
    .clr_i(dropping),
    .wvalid_i(bst_push),
    .wready_o(bst_ready),
    .wdata_i({bst_id, bst_len, bst_off, bst_tail, bst_first, bst_last, bst_end >= bst_off}),
    .rvalid_o(info_valid),
    .rready_i(info_pop),
    .rdata_o(info_head),
    .count_o(info_count)
  );
  assign {inf_id, inf_len, inf_off, inf_tail, inf_first, inf_last, inf_extra} = info_head;

  // Two entries suffice for a beat per cycle with an rready_o that does not depend on dat_ready_i.
  logic skid_valid;
  logic skid_pop;
  logic [127:0] skid_data;
  logic [1:0] skid_count;
  fifo #(
    .Width(128),
    .Depth(2)
  ) u_skid (
    .clk_i,
    .rst_ni,
    .clr_i(dropping),
    .wvalid_i(rvalid_i & ~dropping),
    .wready_o(rready_o),
    .wdata_i(rdata_i),
    .rvalid_o(skid_valid),
    .rready_i(skid_pop),
    .rdata_o(skid_data),
    .count_o(skid_count)
  );

  // ------------------------------------------------------------------------------------------------ realignment
  logic [7:0] beat_q;  // beat of the burst at the head
  logic [127:0] prev_q;  // previous bus beat of the job
  logic tail_q;  // an output beat made of prev_q alone is due
  logic [3:0] tail_off_q;
  logic [3:0] tail_bytes_q;
  logic [IdW-1:0] tail_id_q;

  logic dat_valid_q;
  logic dat_last_q;
  logic [IdW-1:0] dat_id_q;
  logic [127:0] dat_q;

  logic out_free;
  logic have;
  logic burst_end;
  logic job_first;
  logic job_last;
  logic emit;
  logic makes_tail;
  logic single;
  logic out_last;
  logic [3:0] keep;  // bytes to keep, 0: all
  assign out_free = ~dat_valid_q | dat_ready_i;
  assign have = skid_valid & info_valid & ~tail_q;
  assign burst_end = beat_q == inf_len;
  assign job_first = inf_first & (beat_q == 8'd0);
  assign job_last = inf_last & burst_end;
  assign emit = (inf_off == 4'd0) | ~job_first | job_last;
  assign makes_tail = job_last & ~job_first & (inf_off != 4'd0) & inf_extra;
  assign single = job_first & job_last;
  assign out_last = tail_q | (job_last & ~makes_tail);
  assign keep = !out_last ? 4'd0 : tail_q ? tail_bytes_q : inf_tail;
  assign skid_pop = have & (~emit | out_free);
  assign info_pop = skid_pop & burst_end;

  // keeps the low `n` bytes (0: all 16)
  function automatic logic [127:0] keep_low(input logic [127:0] d, input logic [3:0] n);
    keep_low = (n == 4'd0) ? d : d & ~({128{1'b1}} << {n, 3'b000});
  endfunction

  // byte `off` of {hi, lo} becomes byte 0
  function automatic logic [127:0] align_low(input logic [127:0] hi, input logic [127:0] lo, input logic [3:0] off);
    align_low = (lo >> {off, 3'b000}) | (hi << {5'd16 - {1'b0, off}, 3'b000});
  endfunction

  // data are shifted in clocked code only, so that a simulator does no work in idle cycles
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beat_q <= '0;
      prev_q <= '0;
      tail_q <= 1'b0;
      tail_off_q <= '0;
      tail_bytes_q <= '0;
      tail_id_q <= '0;
      dat_valid_q <= 1'b0;
      dat_last_q <= 1'b0;
      dat_id_q <= '0;
      dat_q <= '0;
    end else if (dropping) begin
      beat_q <= '0;
      tail_q <= 1'b0;
      dat_valid_q <= 1'b0;
    end else begin
      if (skid_pop) begin
        beat_q <= burst_end ? 8'd0 : beat_q + 8'd1;
        if (inf_off != 4'd0) prev_q <= skid_data;
      end
      if (out_free) begin
        dat_valid_q <= tail_q | (have & emit);
        tail_q <= have & makes_tail;
        if (tail_q | (have & emit)) begin
          tail_off_q <= inf_off;
          tail_bytes_q <= inf_tail;
          tail_id_q <= inf_id;
          dat_last_q <= out_last;
          dat_id_q <= tail_q ? tail_id_q : inf_id;
          if (!tail_q && inf_off == 4'd0) begin
            dat_q <= keep_low(skid_data, keep);
          end else begin
            // bytes of this bus beat come above those of the previous one; the only beat of a job has none before it
            dat_q <= keep_low(align_low((tail_q | single) ? 128'd0 : skid_data, (single & ~tail_q) ? skid_data : prev_q,
                                        tail_q ? tail_off_q : inf_off), keep);
          end
        end
      end
    end
  end

  assign dat_valid_o = dat_valid_q;
  assign dat_id_o = dat_id_q;
  assign dat_o = dat_q;
  assign dat_last_o = dat_last_q;

  // ------------------------------------------------------------------------------------------------ status
  logic r_failed;
  assign r_failed = rvalid_i & rready_o & rresp_i[1];
  assign idle_o = bus_idle & jobs_idle & ~info_valid & ~skid_valid & ~tail_q & ~dat_valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      err_o <= '0;
      ev_beat_o <= 1'b0;
      ev_burst_o <= 1'b0;
      ev_wait_bus_o <= 1'b0;
      ev_wait_user_o <= 1'b0;
    end else begin
      err_o <= NumReq'(r_failed) << done_id;
      ev_wait_bus_o <= (arvalid_o & ~arready_i) | (~bus_idle & ~rvalid_i);
      ev_wait_user_o <= dat_valid_q & ~dat_ready_i;
      ev_beat_o <= rvalid_i & rready_o;
      ev_burst_o <= arvalid_o & arready_i;
    end
  end

  assign active_o = dropping | (req_valid_i != '0) | ~idle_o | rvalid_i | (err_o != '0) | ev_beat_o | ev_burst_o |
      ev_wait_bus_o | ev_wait_user_o;

  // rid_i is 0 because arid_o is; EXOKAY cannot come, so only the error bit of the response counts
  logic unused;
  assign unused = ^{rid_i, rresp_i[0], info_count, skid_count};

  // ------------------------------------------------------------------------------------------------ assertions
  `ASSERT(InfoCoversData, !(skid_valid && !info_valid))
  `ASSERT(TailAlone, !(tail_q && skid_pop))
  `ASSERT_ONEHOT0(OneError, err_o)
  `ASSERT(IdNeverOther, !rvalid_i || rid_i == 1'b0)
  `ASSERT_STABLE(DatStable, dat_valid_o, dat_ready_i || dropping, {dat_o, dat_id_o, dat_last_o})

endmodule
