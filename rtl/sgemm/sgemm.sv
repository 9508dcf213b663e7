// Blocked GEMM engine, C = alpha*op(A)*op(B) + beta*C in binary32 (docs/sgemm/sgemm.md; document 003, chapter 3).
//
// A task is a whole GEMM (sgemm_engine): the loaders of A (channel 0) and B (channel 1) walk over its blocks one pass
// ahead of the lanes, that of C (channel 0) one tile ahead; the store writes finished tiles back (channel 1). One task
// runs, one waits and begins when every write of the first has its response (sgemm_regs, sgemm_bus).
// Soft reset: srst stops the DMA channels (transactions in flight end on the bus) and holds the engine in reset until
// both are drained.
module sgemm #(
  parameter int unsigned Dim = 8,     // rows and columns of a block of C: a multiple of 4, at most 96
  parameter int unsigned Vec = 8,     // lanes of a chain: a multiple of 4, at most 96
  parameter int unsigned R = 1,       // chains: 1, 2 or 4
  parameter bit EnHalf = 1'b1,        // the binary16 modes are present
  parameter int unsigned HalfBuf = 0  // 1: the buffers of A and B hold binary16: only tasks with HALF
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  // AXI4-Lite slave
  input  logic [7:0]   s_axil_awaddr,
  input  logic [2:0]   s_axil_awprot,
  input  logic         s_axil_awvalid,
  output logic         s_axil_awready,
  input  logic [31:0]  s_axil_wdata,
  input  logic [3:0]   s_axil_wstrb,
  input  logic         s_axil_wvalid,
  output logic         s_axil_wready,
  output logic [1:0]   s_axil_bresp,
  output logic         s_axil_bvalid,
  input  logic         s_axil_bready,
  input  logic [7:0]   s_axil_araddr,
  input  logic [2:0]   s_axil_arprot,
  input  logic         s_axil_arvalid,
  output logic         s_axil_arready,
  output logic [31:0]  s_axil_rdata,
  output logic [1:0]   s_axil_rresp,
  output logic         s_axil_rvalid,
  input  logic         s_axil_rready,
  // AXI4 master 0: reads A and C
  output logic         m0_axi_arid,
  output logic [31:0]  m0_axi_araddr,
  output logic [7:0]   m0_axi_arlen,
  output logic [2:0]   m0_axi_arsize,
  output logic [1:0]   m0_axi_arburst,
  output logic         m0_axi_arlock,
  output logic [3:0]   m0_axi_arcache,
  output logic [2:0]   m0_axi_arprot,
  output logic [3:0]   m0_axi_arqos,
  output logic         m0_axi_arvalid,
  input  logic         m0_axi_arready,
  input  logic         m0_axi_rid,
  input  logic [127:0] m0_axi_rdata,
  input  logic [1:0]   m0_axi_rresp,
  input  logic         m0_axi_rlast,
  input  logic         m0_axi_rvalid,
  output logic         m0_axi_rready,
  // AXI4 master 1: reads B, writes C
  output logic         m1_axi_awid,
  output logic [31:0]  m1_axi_awaddr,
  output logic [7:0]   m1_axi_awlen,
  output logic [2:0]   m1_axi_awsize,
  output logic [1:0]   m1_axi_awburst,
  output logic         m1_axi_awlock,
  output logic [3:0]   m1_axi_awcache,
  output logic [2:0]   m1_axi_awprot,
  output logic [3:0]   m1_axi_awqos,
  output logic         m1_axi_awvalid,
  input  logic         m1_axi_awready,
  output logic [127:0] m1_axi_wdata,
  output logic [15:0]  m1_axi_wstrb,
  output logic         m1_axi_wlast,
  output logic         m1_axi_wvalid,
  input  logic         m1_axi_wready,
  input  logic         m1_axi_bid,
  input  logic [1:0]   m1_axi_bresp,
  input  logic         m1_axi_bvalid,
  output logic         m1_axi_bready,
  output logic         m1_axi_arid,
  output logic [31:0]  m1_axi_araddr,
  output logic [7:0]   m1_axi_arlen,
  output logic [2:0]   m1_axi_arsize,
  output logic [1:0]   m1_axi_arburst,
  output logic         m1_axi_arlock,
  output logic [3:0]   m1_axi_arcache,
  output logic [2:0]   m1_axi_arprot,
  output logic [3:0]   m1_axi_arqos,
  output logic         m1_axi_arvalid,
  input  logic         m1_axi_arready,
  input  logic         m1_axi_rid,
  input  logic [127:0] m1_axi_rdata,
  input  logic [1:0]   m1_axi_rresp,
  input  logic         m1_axi_rlast,
  input  logic         m1_axi_rvalid,
  output logic         m1_axi_rready,
  output logic         irq_o
);

  // ------------------------------------------------------------------------------------------------ tasks
  logic srst, eng_rst_n;
  logic task_valid, task_ready, start, done, busy_q, start_q;
  sgemm_pkg::sgemm_task_t task_in, t;
  logic bus_idle;
  logic [2:0] bus_err;
  logic [5*sgemm_pkg::PerfLevels-1:0] inflight;
  logic eng_done, wr_jobs_idle;
  logic [sgemm_pkg::PerfEvents-1:0] perf_event;

  // srst is a flip-flop, so the gate has no glitch that matters: rst_ni dominates
  assign eng_rst_n = rst_ni && !srst;
  assign task_ready = !busy_q;
  assign start = task_valid && task_ready;

  always_ff @(posedge clk_i or negedge eng_rst_n) begin
    if (!eng_rst_n) begin
      busy_q <= 1'b0;
      start_q <= 1'b0;
      t <= '0;
    end else begin
      busy_q <= start || (busy_q && !done);
      start_q <= start;
      if (start) t <= task_in;
    end
  end
  // start_q begins all walks; one cycle later the engine's done and the write side's idle tell of this task
  logic begun_q;
  always_ff @(posedge clk_i or negedge eng_rst_n) begin
    if (!eng_rst_n) begun_q <= 1'b0;
    else begun_q <= busy_q && !start_q && !done;
  end
  assign done = begun_q && eng_done && wr_jobs_idle;

  sgemm_regs #(
    .Dim(Dim),
    .Vec(Vec),
    .R(R),
    .EnHalf(EnHalf),
    .HalfBuf(HalfBuf != 0)
  ) u_regs (
    .clk_i,
    .rst_ni,
    .awaddr_i(s_axil_awaddr),
    .awprot_i(s_axil_awprot),
    .awvalid_i(s_axil_awvalid),
    .awready_o(s_axil_awready),
    .wdata_i(s_axil_wdata),
    .wstrb_i(s_axil_wstrb),
    .wvalid_i(s_axil_wvalid),
    .wready_o(s_axil_wready),
    .bresp_o(s_axil_bresp),
    .bvalid_o(s_axil_bvalid),
    .bready_i(s_axil_bready),
    .araddr_i(s_axil_araddr),
    .arprot_i(s_axil_arprot),
    .arvalid_i(s_axil_arvalid),
    .arready_o(s_axil_arready),
    .rdata_o(s_axil_rdata),
    .rresp_o(s_axil_rresp),
    .rvalid_o(s_axil_rvalid),
    .rready_i(s_axil_rready),
    .irq_o,
    .task_valid_o(task_valid),
    .task_ready_i(task_ready),
    .task_o(task_in),
    .busy_i(busy_q),
    .done_i(done),
    .bus_err_i(bus_err),
    .perf_event_i(perf_event),
    .perf_level_i(inflight),
    .srst_o(srst),
    .drained_i(bus_idle)
  );

  // ------------------------------------------------------------------------------------------------ engine
  logic [7:0] eng_ev;
  logic [9:0] bus_ev;
  logic [1:0] r0_req_valid, r0_req_ready;
  logic [63:0] r0_req_addr;
  logic [2*sgemm_pkg::JobW-1:0] r0_req_bytes;
  logic r0_dat_valid, r0_dat_ready, r0_dat_id;
  logic [127:0] r0_dat;
  logic r1_req_valid, r1_req_ready, r1_dat_valid, r1_dat_ready;
  logic [31:0] r1_req_addr;
  logic [sgemm_pkg::JobW-1:0] r1_req_bytes;
  logic [127:0] r1_dat;
  logic w_req_valid, w_req_ready, w_dat_valid, w_dat_ready;
  logic [31:0] w_req_addr;
  logic [sgemm_pkg::JobW-1:0] w_req_bytes;
  logic [127:0] w_dat;

  sgemm_engine #(
    .Dim(Dim),
    .Vec(Vec),
    .R(R),
    .HalfBuf(HalfBuf)
  ) u_engine (
    .clk_i,
    .rst_ni(eng_rst_n),
    .start_i(start_q),
    .task_i(t),
    .done_o(eng_done),
    .ev_o(eng_ev),
    .r0_req_valid_o(r0_req_valid),
    .r0_req_ready_i(r0_req_ready),
    .r0_req_addr_o(r0_req_addr),
    .r0_req_bytes_o(r0_req_bytes),
    .r0_dat_valid_i(r0_dat_valid),
    .r0_dat_ready_o(r0_dat_ready),
    .r0_dat_id_i(r0_dat_id),
    .r0_dat_i(r0_dat),
    .r1_req_valid_o(r1_req_valid),
    .r1_req_ready_i(r1_req_ready),
    .r1_req_addr_o(r1_req_addr),
    .r1_req_bytes_o(r1_req_bytes),
    .r1_dat_valid_i(r1_dat_valid),
    .r1_dat_ready_o(r1_dat_ready),
    .r1_dat_i(r1_dat),
    .w_req_valid_o(w_req_valid),
    .w_req_ready_i(w_req_ready),
    .w_req_addr_o(w_req_addr),
    .w_req_bytes_o(w_req_bytes),
    .w_dat_valid_o(w_dat_valid),
    .w_dat_ready_i(w_dat_ready),
    .w_dat_o(w_dat)
  );

  sgemm_bus u_bus (
    .clk_i,
    .rst_ni,
    .flush_i(srst),
    .idle_o(bus_idle),
    .err_o(bus_err),
    .ev_o(bus_ev),
    .inflight_o(inflight),
    .r0_req_valid_i(r0_req_valid),
    .r0_req_ready_o(r0_req_ready),
    .r0_req_addr_i(r0_req_addr),
    .r0_req_bytes_i(r0_req_bytes),
    .r0_dat_valid_o(r0_dat_valid),
    .r0_dat_ready_i(r0_dat_ready),
    .r0_dat_id_o(r0_dat_id),
    .r0_dat_o(r0_dat),
    .r1_req_valid_i(r1_req_valid),
    .r1_req_ready_o(r1_req_ready),
    .r1_req_addr_i(r1_req_addr),
    .r1_req_bytes_i(r1_req_bytes),
    .r1_dat_valid_o(r1_dat_valid),
    .r1_dat_ready_i(r1_dat_ready),
    .r1_dat_o(r1_dat),
    .w_req_valid_i(w_req_valid),
    .w_req_ready_o(w_req_ready),
    .w_req_addr_i(w_req_addr),
    .w_req_bytes_i(w_req_bytes),
    .w_dat_valid_i(w_dat_valid),
    .w_dat_ready_o(w_dat_ready),
    .w_dat_i(w_dat),
    .w_idle_o(wr_jobs_idle),
    .m0_axi_arid, .m0_axi_araddr, .m0_axi_arlen, .m0_axi_arsize, .m0_axi_arburst, .m0_axi_arlock, .m0_axi_arcache,
    .m0_axi_arprot, .m0_axi_arqos, .m0_axi_arvalid, .m0_axi_arready, .m0_axi_rid, .m0_axi_rdata, .m0_axi_rresp,
    .m0_axi_rlast, .m0_axi_rvalid, .m0_axi_rready, .m1_axi_awid, .m1_axi_awaddr, .m1_axi_awlen, .m1_axi_awsize,
    .m1_axi_awburst, .m1_axi_awlock, .m1_axi_awcache, .m1_axi_awprot, .m1_axi_awqos, .m1_axi_awvalid, .m1_axi_awready,
    .m1_axi_wdata, .m1_axi_wstrb, .m1_axi_wlast, .m1_axi_wvalid, .m1_axi_wready, .m1_axi_bid, .m1_axi_bresp,
    .m1_axi_bvalid, .m1_axi_bready, .m1_axi_arid, .m1_axi_araddr, .m1_axi_arlen, .m1_axi_arsize, .m1_axi_arburst,
    .m1_axi_arlock, .m1_axi_arcache, .m1_axi_arprot, .m1_axi_arqos, .m1_axi_arvalid, .m1_axi_arready, .m1_axi_rid,
    .m1_axi_rdata, .m1_axi_rresp, .m1_axi_rlast, .m1_axi_rvalid, .m1_axi_rready
  );

  // in the order of PERF_SEL: what the engine and the bus count, as their headers list it
  assign perf_event = {eng_ev[7], bus_ev[9:3], eng_ev[6:1], bus_ev[2:0], eng_ev[0], 1'b1};

endmodule
