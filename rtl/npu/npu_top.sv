// The NPU: register file, GEMM path, ALU, POOL, two AXI4 DMA channels (docs/npu/npu.md section 1).
//
// npu_regs starts the tasks of the units (npu_units), which read and write through npu_dma. Soft reset: srst stops the
// DMA channels (transactions in flight end on the bus) and holds the units in reset until all are drained.
// Latency and throughput: those of the units (docs/npu/npu.md sections 4 and 4.1).
// More than 300 lines: three quarters are the ports of the AXI4 masters and slave, and the connections of its parts.
module npu_top #(
  parameter int unsigned N = 8,     // mesh size: 4, 8, 16 or 32
  parameter bit EnAlu = 1'b1,       // the ALU is present
  parameter bit EnPool = 1'b1,      // the POOL is present
  parameter int unsigned PackMul = 0,  // 1: both products of a PE come from one multiplier
  parameter int unsigned EnInt16 = 0,  // 1: INT16 convolutions; PackMul is then 1, too
  parameter bit ClkGate = 1'b1      // the clock of idle units is gated
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  // AXI4-Lite slave
  input  logic [8:0]   s_axil_awaddr,
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
  input  logic [8:0]   s_axil_araddr,
  input  logic [2:0]   s_axil_arprot,
  input  logic         s_axil_arvalid,
  output logic         s_axil_arready,
  output logic [31:0]  s_axil_rdata,
  output logic [1:0]   s_axil_rresp,
  output logic         s_axil_rvalid,
  input  logic         s_axil_rready,
  // AXI4 master 0
  output logic         m0_axi_awid,
  output logic [31:0]  m0_axi_awaddr,
  output logic [7:0]   m0_axi_awlen,
  output logic [2:0]   m0_axi_awsize,
  output logic [1:0]   m0_axi_awburst,
  output logic         m0_axi_awlock,
  output logic [3:0]   m0_axi_awcache,
  output logic [2:0]   m0_axi_awprot,
  output logic [3:0]   m0_axi_awqos,
  output logic         m0_axi_awvalid,
  input  logic         m0_axi_awready,
  output logic [127:0] m0_axi_wdata,
  output logic [15:0]  m0_axi_wstrb,
  output logic         m0_axi_wlast,
  output logic         m0_axi_wvalid,
  input  logic         m0_axi_wready,
  input  logic         m0_axi_bid,
  input  logic [1:0]   m0_axi_bresp,
  input  logic         m0_axi_bvalid,
  output logic         m0_axi_bready,
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
  // AXI4 master 1
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
  // interrupts
  output logic         irq_alu_o,
  output logic         irq_pool_o,
  output logic         irq_gemm_o,
  // debug: events and levels of this cycle (docs/npu/npu.md section 5)
  output logic [npu_pkg::PerfEvents-1:0]    perf_event_o,
  output logic [16*npu_pkg::PerfLevels-1:0] perf_level_o
);

  localparam int unsigned Rq = npu_pkg::RdReqs;
  localparam int unsigned Gq = npu_pkg::GemmRdReqs;
  localparam int unsigned Wq = npu_pkg::WrReqs;
  localparam int unsigned Iw = npu_pkg::RdIdW;
  localparam int unsigned RdAlu = npu_pkg::RdIdAlu;
  localparam int unsigned RdPool = npu_pkg::RdIdPool;
  localparam int unsigned WrGemm = npu_pkg::WrIdGemm;
  localparam int unsigned WrAlu = npu_pkg::WrIdAlu;
  localparam int unsigned WrPool = npu_pkg::WrIdPool;

  logic srst, drained;
  logic gemm_valid, gemm_ready, gemm_done, gemm_busy;
  npu_pkg::gemm_task_t gemm_task;
  logic alu_valid, alu_ready, alu_done, alu_busy, alu_result_we;
  npu_pkg::alu_task_t alu_task;
  logic [31:0] alu_result;
  logic pool_valid, pool_ready, pool_done, pool_busy;
  npu_pkg::pool_task_t pool_task;
  logic [9:0] gemm_event;
  logic [4:0] alu_event;
  logic [2:0] pool_event;
  logic [15:0] level_ofm, level_ifm;
  logic [11:0] bus_err;

  // of both channels
  logic [1:0] rd_beat, rd_burst, rd_wait_bus, rd_wait_user;
  logic [1:0] wr_beat, wr_burst, wr_wait_bus, wr_wait_data;
  logic [9:0] rd_inflight, wr_inflight;
  logic [2*Rq-1:0] rd_err;
  logic [2*Wq-1:0] wr_err, wr_idle_req;
  logic [32*Wq-1:0] send_level;

  // {pool, alu, gemm} x {wr1, wr0, rd1, rd0}
  assign bus_err = {
    wr_err[Wq+WrPool], wr_err[WrPool], rd_err[Rq+RdPool], rd_err[RdPool],
    wr_err[Wq+WrAlu], wr_err[WrAlu], rd_err[Rq+RdAlu], rd_err[RdAlu],
    wr_err[Wq+WrGemm], wr_err[WrGemm], |rd_err[Rq+:Gq], |rd_err[0+:Gq]
  };

  assign perf_event_o = {
    alu_event[4:3], gemm_busy, pool_event[2:0], alu_event[2:0], gemm_event[9:4], wr_wait_data, wr_wait_bus,
    rd_wait_user, rd_wait_bus, wr_burst, rd_burst, gemm_event[3:1], wr_beat, rd_beat, gemm_event[0], 1'b1
  };
  assign perf_level_o = {
    11'd0, wr_inflight[9:5], 11'd0, wr_inflight[4:0], 11'd0, rd_inflight[9:5], 11'd0, rd_inflight[4:0],
    level_ifm, level_ofm,
    send_level[16*(Wq+WrAlu)+:16], send_level[16*WrAlu+:16], send_level[16*(Wq+WrPool)+:16], send_level[16*WrPool+:16],
    send_level[16*(Wq+WrGemm)+:16], send_level[16*WrGemm+:16]
  };

  // requesters of both channels
  logic [2*Rq-1:0] rd_req_valid, rd_req_ready;
  logic [64*Rq-1:0] rd_req_addr;
  logic [48*Rq-1:0] rd_req_bytes;
  logic [1:0] rd_valid, rd_ready;
  logic [2*Iw-1:0] rd_id;
  logic [255:0] rd_data;
  logic [2*Wq-1:0] wr_req_valid, wr_req_ready, wr_valid, wr_ready;
  logic [64*Wq-1:0] wr_req_addr;
  logic [48*Wq-1:0] wr_req_bytes;
  logic [256*Wq-1:0] wr_data;

  npu_regs #(
    .N(N),
    .EnAlu(EnAlu),
    .EnPool(EnPool),
    .EnInt16(EnInt16),
    .ClkGate(ClkGate)
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
    .irq_alu_o,
    .irq_pool_o,
    .irq_gemm_o,
    .task_valid_o(gemm_valid),
    .task_ready_i(gemm_ready),
    .task_o(gemm_task),
    .gemm_busy_i(gemm_busy),
    .task_done_i(gemm_done),
    .alu_task_valid_o(alu_valid),
    .alu_task_ready_i(alu_ready),
    .alu_task_o(alu_task),
    .alu_busy_i(alu_busy),
    .alu_done_i(alu_done),
    .alu_result_we_i(alu_result_we),
    .alu_result_i(alu_result),
    .pool_task_valid_o(pool_valid),
    .pool_task_ready_i(pool_ready),
    .pool_task_o(pool_task),
    .pool_busy_i(pool_busy),
    .pool_done_i(pool_done),
    .bus_err_i(bus_err),
    .perf_event_i(perf_event_o),
    .perf_level_i(perf_level_o),
    .srst_o(srst),
    .drained_i(drained)
  );

  npu_units #(
    .N(N),
    .EnAlu(EnAlu),
    .EnPool(EnPool),
    .PackMul(PackMul),
    .EnInt16(EnInt16),
    .ClkGate(ClkGate)
  ) u_units (
    .clk_i,
    .rst_ni,
    .srst_i(srst),
    .gemm_valid_i(gemm_valid),
    .gemm_ready_o(gemm_ready),
    .gemm_task_i(gemm_task),
    .gemm_done_o(gemm_done),
    .gemm_busy_o(gemm_busy),
    .alu_valid_i(alu_valid),
    .alu_ready_o(alu_ready),
    .alu_task_i(alu_task),
    .alu_done_o(alu_done),
    .alu_busy_o(alu_busy),
    .alu_result_we_o(alu_result_we),
    .alu_result_o(alu_result),
    .pool_valid_i(pool_valid),
    .pool_ready_o(pool_ready),
    .pool_task_i(pool_task),
    .pool_done_o(pool_done),
    .pool_busy_o(pool_busy),
    .rd_req_valid_o(rd_req_valid),
    .rd_req_ready_i(rd_req_ready),
    .rd_req_addr_o(rd_req_addr),
    .rd_req_bytes_o(rd_req_bytes),
    .rd_valid_i(rd_valid),
    .rd_ready_o(rd_ready),
    .rd_id_i(rd_id),
    .rd_data_i(rd_data),
    .wr_req_valid_o(wr_req_valid),
    .wr_req_ready_i(wr_req_ready),
    .wr_req_addr_o(wr_req_addr),
    .wr_req_bytes_o(wr_req_bytes),
    .wr_valid_o(wr_valid),
    .wr_ready_i(wr_ready),
    .wr_data_o(wr_data),
    .wr_idle_i(wr_idle_req),
    .wr_level_i(send_level),
    .gemm_event_o(gemm_event),
    .alu_event_o(alu_event),
    .pool_event_o(pool_event),
    .level_ofm_o(level_ofm),
    .level_ifm_o(level_ifm)
  );

  npu_dma #(
    .ClkGate(ClkGate)
  ) u_dma (
    .clk_i,
    .rst_ni,
    .srst_i(srst),
    .drained_o(drained),
    .rd_req_valid_i(rd_req_valid),
    .rd_req_ready_o(rd_req_ready),
    .rd_req_addr_i(rd_req_addr),
    .rd_req_bytes_i(rd_req_bytes),
    .rd_valid_o(rd_valid),
    .rd_ready_i(rd_ready),
    .rd_id_o(rd_id),
    .rd_data_o(rd_data),
    .rd_err_o(rd_err),
    .wr_req_valid_i(wr_req_valid),
    .wr_req_ready_o(wr_req_ready),
    .wr_req_addr_i(wr_req_addr),
    .wr_req_bytes_i(wr_req_bytes),
    .wr_valid_i(wr_valid),
    .wr_ready_o(wr_ready),
    .wr_data_i(wr_data),
    .wr_idle_o(wr_idle_req),
    .wr_level_o(send_level),
    .wr_err_o(wr_err),
    .rd_beat_o(rd_beat),
    .rd_burst_o(rd_burst),
    .rd_wait_bus_o(rd_wait_bus),
    .rd_wait_user_o(rd_wait_user),
    .rd_inflight_o(rd_inflight),
    .wr_beat_o(wr_beat),
    .wr_burst_o(wr_burst),
    .wr_wait_bus_o(wr_wait_bus),
    .wr_wait_data_o(wr_wait_data),
    .wr_inflight_o(wr_inflight),
    .m_awid_o({m1_axi_awid, m0_axi_awid}), .m_awaddr_o({m1_axi_awaddr, m0_axi_awaddr}),
    .m_awlen_o({m1_axi_awlen, m0_axi_awlen}), .m_awsize_o({m1_axi_awsize, m0_axi_awsize}),
    .m_awburst_o({m1_axi_awburst, m0_axi_awburst}), .m_awlock_o({m1_axi_awlock, m0_axi_awlock}),
    .m_awcache_o({m1_axi_awcache, m0_axi_awcache}), .m_awprot_o({m1_axi_awprot, m0_axi_awprot}),
    .m_awqos_o({m1_axi_awqos, m0_axi_awqos}), .m_awvalid_o({m1_axi_awvalid, m0_axi_awvalid}),
    .m_awready_i({m1_axi_awready, m0_axi_awready}), .m_wdata_o({m1_axi_wdata, m0_axi_wdata}),
    .m_wstrb_o({m1_axi_wstrb, m0_axi_wstrb}), .m_wlast_o({m1_axi_wlast, m0_axi_wlast}),
    .m_wvalid_o({m1_axi_wvalid, m0_axi_wvalid}), .m_wready_i({m1_axi_wready, m0_axi_wready}),
    .m_bid_i({m1_axi_bid, m0_axi_bid}), .m_bresp_i({m1_axi_bresp, m0_axi_bresp}),
    .m_bvalid_i({m1_axi_bvalid, m0_axi_bvalid}), .m_bready_o({m1_axi_bready, m0_axi_bready}),
    .m_arid_o({m1_axi_arid, m0_axi_arid}), .m_araddr_o({m1_axi_araddr, m0_axi_araddr}),
    .m_arlen_o({m1_axi_arlen, m0_axi_arlen}), .m_arsize_o({m1_axi_arsize, m0_axi_arsize}),
    .m_arburst_o({m1_axi_arburst, m0_axi_arburst}), .m_arlock_o({m1_axi_arlock, m0_axi_arlock}),
    .m_arcache_o({m1_axi_arcache, m0_axi_arcache}), .m_arprot_o({m1_axi_arprot, m0_axi_arprot}),
    .m_arqos_o({m1_axi_arqos, m0_axi_arqos}), .m_arvalid_o({m1_axi_arvalid, m0_axi_arvalid}),
    .m_arready_i({m1_axi_arready, m0_axi_arready}), .m_rid_i({m1_axi_rid, m0_axi_rid}),
    .m_rdata_i({m1_axi_rdata, m0_axi_rdata}), .m_rresp_i({m1_axi_rresp, m0_axi_rresp}),
    .m_rlast_i({m1_axi_rlast, m0_axi_rlast}), .m_rvalid_i({m1_axi_rvalid, m0_axi_rvalid}),
    .m_rready_o({m1_axi_rready, m0_axi_rready})
  );

endmodule
