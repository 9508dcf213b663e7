// The NPU: register file, GEMM path, two AXI4 DMA channels (docs/npu.md section 1).
//
// Soft reset: srst stops the DMA channels (transactions in flight end on the bus) and holds the GEMM path in reset until both
// are drained.
module npu_top #(
  parameter int unsigned N = 8  // mesh size: 4, 8, 16 or 32
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
  output logic         irq_gemm_o
);

  localparam int unsigned Rq = npu_pkg::GemmRdReqs;

  logic task_valid, task_ready, task_done, busy, srst, eng_rst_n;
  npu_pkg::gemm_task_t gemm_task;
  logic [1:0] rd_idle, wr_idle, wr_idle_req, wr_err, rd_beat, wr_beat, rd_burst, wr_burst;
  logic [2*Rq-1:0] rd_err;
  logic [7:0] wait_event;  // {wr1, wr0, rd1, rd0} x {user or data, bus}
  logic [19:0] inflight;  // {wr1, wr0, rd1, rd0}
  logic [3:0] gemm_event;

  // The register's srst is a flip-flop, so the gate has no glitch that matters: rst_ni dominates.
  assign eng_rst_n = rst_ni && !srst;

  npu_regs #(
    .N(N)
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
    .task_valid_o(task_valid),
    .task_ready_i(task_ready),
    .task_o(gemm_task),
    .gemm_busy_i(busy),
    .task_done_i(task_done),
    .bus_err_i({wr_err, |rd_err[Rq*1+:Rq], |rd_err[Rq*0+:Rq]}),
    .perf_event_i({
      wr_burst[1], wr_burst[0], rd_burst[1], rd_burst[0], gemm_event[3], gemm_event[2], gemm_event[1], wr_beat[1],
      wr_beat[0], rd_beat[1], rd_beat[0], gemm_event[0], 1'b1
    }),
    .srst_o(srst),
    .drained_i(rd_idle == 2'b11 && wr_idle == 2'b11)
  );

  logic [2*Rq-1:0] rd_req_valid, rd_req_ready;
  logic [64*Rq-1:0] rd_req_addr;
  logic [48*Rq-1:0] rd_req_bytes;
  logic [1:0] rd_valid, rd_ready, rd_last;
  logic [3:0] rd_id;
  logic [255:0] rd_data;
  logic [1:0] wr_req_valid, wr_req_ready, wr_valid, wr_ready;
  logic [63:0] wr_req_addr;
  logic [47:0] wr_req_bytes;
  logic [255:0] wr_data;
  logic unused;

  assign unused = ^{rd_last, wr_idle_req, wait_event, inflight};  // consumers count

  gemm #(
    .N(N)
  ) u_gemm (
    .clk_i,
    .rst_ni(eng_rst_n),
    .task_valid_i(task_valid),
    .task_ready_o(task_ready),
    .task_i(gemm_task),
    .task_done_o(task_done),
    .busy_o(busy),
    .rd_req_valid_o(rd_req_valid),
    .rd_req_ready_i(rd_req_ready),
    .rd_req_addr_o(rd_req_addr),
    .rd_req_bytes_o(rd_req_bytes),
    .rd_valid_i(rd_valid),
    .rd_ready_o(rd_ready),
    .rd_id_i({1'b0, rd_id[3:2], 1'b0, rd_id[1:0]}),
    .rd_data_i(rd_data),
    .wr_req_valid_o(wr_req_valid),
    .wr_req_ready_i(wr_req_ready),
    .wr_req_addr_o(wr_req_addr),
    .wr_req_bytes_o(wr_req_bytes),
    .wr_valid_o(wr_valid),
    .wr_ready_i(wr_ready),
    .wr_data_o(wr_data),
    .wr_idle_i(wr_idle),
    .event_o(gemm_event)
  );

  dma_rd #(
    .NumReq(Rq)
  ) u_dma_rd0 (
    .clk_i,
    .rst_ni,
    .flush_i(srst),
    .idle_o(rd_idle[0]),
    .req_valid_i(rd_req_valid[Rq*0+:Rq]),
    .req_ready_o(rd_req_ready[Rq*0+:Rq]),
    .req_addr_i(rd_req_addr[32*Rq*0+:32*Rq]),
    .req_bytes_i(rd_req_bytes[24*Rq*0+:24*Rq]),
    .dat_valid_o(rd_valid[0]),
    .dat_ready_i(rd_ready[0]),
    .dat_id_o(rd_id[1:0]),
    .dat_o(rd_data[128*0+:128]),
    .dat_last_o(rd_last[0]),
    .arid_o(m0_axi_arid),
    .araddr_o(m0_axi_araddr),
    .arlen_o(m0_axi_arlen),
    .arsize_o(m0_axi_arsize),
    .arburst_o(m0_axi_arburst),
    .arlock_o(m0_axi_arlock),
    .arcache_o(m0_axi_arcache),
    .arprot_o(m0_axi_arprot),
    .arqos_o(m0_axi_arqos),
    .arvalid_o(m0_axi_arvalid),
    .arready_i(m0_axi_arready),
    .rid_i(m0_axi_rid),
    .rdata_i(m0_axi_rdata),
    .rresp_i(m0_axi_rresp),
    .rlast_i(m0_axi_rlast),
    .rvalid_i(m0_axi_rvalid),
    .rready_o(m0_axi_rready),
    .err_o(rd_err[Rq*0+:Rq]),
    .ev_beat_o(rd_beat[0]),
    .ev_burst_o(rd_burst[0]),
    .ev_wait_bus_o(wait_event[2*0]),
    .ev_wait_user_o(wait_event[2*0+1]),
    .inflight_o(inflight[5*0+:5])
  );

  dma_wr #(
    .NumReq(1)
  ) u_dma_wr0 (
    .clk_i,
    .rst_ni,
    .flush_i(srst),
    .idle_o(wr_idle[0]),
    .req_valid_i(wr_req_valid[0]),
    .req_ready_o(wr_req_ready[0]),
    .req_addr_i(wr_req_addr[32*0+:32]),
    .req_bytes_i(wr_req_bytes[24*0+:24]),
    .wdat_valid_i(wr_valid[0]),
    .wdat_ready_o(wr_ready[0]),
    .wdat_i(wr_data[128*0+:128]),
    .awid_o(m0_axi_awid),
    .awaddr_o(m0_axi_awaddr),
    .awlen_o(m0_axi_awlen),
    .awsize_o(m0_axi_awsize),
    .awburst_o(m0_axi_awburst),
    .awlock_o(m0_axi_awlock),
    .awcache_o(m0_axi_awcache),
    .awprot_o(m0_axi_awprot),
    .awqos_o(m0_axi_awqos),
    .awvalid_o(m0_axi_awvalid),
    .awready_i(m0_axi_awready),
    .wdata_o(m0_axi_wdata),
    .wstrb_o(m0_axi_wstrb),
    .wlast_o(m0_axi_wlast),
    .wvalid_o(m0_axi_wvalid),
    .wready_i(m0_axi_wready),
    .bid_i(m0_axi_bid),
    .bresp_i(m0_axi_bresp),
    .bvalid_i(m0_axi_bvalid),
    .bready_o(m0_axi_bready),
    .idle_req_o(wr_idle_req[0]),
    .err_o(wr_err[0]),
    .ev_beat_o(wr_beat[0]),
    .ev_burst_o(wr_burst[0]),
    .ev_wait_bus_o(wait_event[2*2]),
    .ev_wait_data_o(wait_event[2*2+1]),
    .inflight_o(inflight[5*2+:5])
  );

  dma_rd #(
    .NumReq(Rq)
  ) u_dma_rd1 (
    .clk_i,
    .rst_ni,
    .flush_i(srst),
    .idle_o(rd_idle[1]),
    .req_valid_i(rd_req_valid[Rq*1+:Rq]),
    .req_ready_o(rd_req_ready[Rq*1+:Rq]),
    .req_addr_i(rd_req_addr[32*Rq*1+:32*Rq]),
    .req_bytes_i(rd_req_bytes[24*Rq*1+:24*Rq]),
    .dat_valid_o(rd_valid[1]),
    .dat_ready_i(rd_ready[1]),
    .dat_id_o(rd_id[3:2]),
    .dat_o(rd_data[128*1+:128]),
    .dat_last_o(rd_last[1]),
    .arid_o(m1_axi_arid),
    .araddr_o(m1_axi_araddr),
    .arlen_o(m1_axi_arlen),
    .arsize_o(m1_axi_arsize),
    .arburst_o(m1_axi_arburst),
    .arlock_o(m1_axi_arlock),
    .arcache_o(m1_axi_arcache),
    .arprot_o(m1_axi_arprot),
    .arqos_o(m1_axi_arqos),
    .arvalid_o(m1_axi_arvalid),
    .arready_i(m1_axi_arready),
    .rid_i(m1_axi_rid),
    .rdata_i(m1_axi_rdata),
    .rresp_i(m1_axi_rresp),
    .rlast_i(m1_axi_rlast),
    .rvalid_i(m1_axi_rvalid),
    .rready_o(m1_axi_rready),
    .err_o(rd_err[Rq*1+:Rq]),
    .ev_beat_o(rd_beat[1]),
    .ev_burst_o(rd_burst[1]),
    .ev_wait_bus_o(wait_event[2*1]),
    .ev_wait_user_o(wait_event[2*1+1]),
    .inflight_o(inflight[5*1+:5])
  );

  dma_wr #(
    .NumReq(1)
  ) u_dma_wr1 (
    .clk_i,
    .rst_ni,
    .flush_i(srst),
    .idle_o(wr_idle[1]),
    .req_valid_i(wr_req_valid[1]),
    .req_ready_o(wr_req_ready[1]),
    .req_addr_i(wr_req_addr[32*1+:32]),
    .req_bytes_i(wr_req_bytes[24*1+:24]),
    .wdat_valid_i(wr_valid[1]),
    .wdat_ready_o(wr_ready[1]),
    .wdat_i(wr_data[128*1+:128]),
    .awid_o(m1_axi_awid),
    .awaddr_o(m1_axi_awaddr),
    .awlen_o(m1_axi_awlen),
    .awsize_o(m1_axi_awsize),
    .awburst_o(m1_axi_awburst),
    .awlock_o(m1_axi_awlock),
    .awcache_o(m1_axi_awcache),
    .awprot_o(m1_axi_awprot),
    .awqos_o(m1_axi_awqos),
    .awvalid_o(m1_axi_awvalid),
    .awready_i(m1_axi_awready),
    .wdata_o(m1_axi_wdata),
    .wstrb_o(m1_axi_wstrb),
    .wlast_o(m1_axi_wlast),
    .wvalid_o(m1_axi_wvalid),
    .wready_i(m1_axi_wready),
    .bid_i(m1_axi_bid),
    .bresp_i(m1_axi_bresp),
    .bvalid_i(m1_axi_bvalid),
    .bready_o(m1_axi_bready),
    .idle_req_o(wr_idle_req[1]),
    .err_o(wr_err[1]),
    .ev_beat_o(wr_beat[1]),
    .ev_burst_o(wr_burst[1]),
    .ev_wait_bus_o(wait_event[2*3]),
    .ev_wait_data_o(wait_event[2*3+1]),
    .inflight_o(inflight[5*3+:5])
  );

endmodule
