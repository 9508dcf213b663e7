// One AXI4 master of 128 bits: dma_rd and dma_wr in parallel, each with its requesters. Their headers describe the
// handshakes, latency and throughput; the two sides share only the port. Each has a gated clock, which stands still
// while it has nothing to do (ClkGate = 0: it always runs). In reset it runs: a reset that begins with the power has no
// edge of its own, and registers may begin with any value, also with one that looks idle.
// Document: docs/npu/npu.md sections 4.1 and 4.4.
module dma_chan #(
  parameter int unsigned RdReqs = 4,  // requesters of the read side, at least 1
  parameter int unsigned WrReqs = 2,  // requesters of the write side, at least 1
  parameter int unsigned Outstanding = 16,  // bursts in flight each way, a power of two
  parameter bit ClkGate = 1'b1,  // the clock of an idle side is gated
  localparam int unsigned RdIdW = (RdReqs > 1) ? $clog2(RdReqs) : 1,
  localparam int unsigned CntW = $clog2(Outstanding + 1)
) (
  input logic clk_i,
  input logic rst_ni,
  // read side
  input logic rd_flush_i,
  output logic rd_idle_o,
  input logic [RdReqs-1:0] rd_req_valid_i,
  output logic [RdReqs-1:0] rd_req_ready_o,
  input logic [32*RdReqs-1:0] rd_req_addr_i,
  input logic [24*RdReqs-1:0] rd_req_bytes_i,
  output logic rd_dat_valid_o,
  input logic rd_dat_ready_i,
  output logic [RdIdW-1:0] rd_dat_id_o,
  output logic [127:0] rd_dat_o,
  output logic rd_dat_last_o,
  output logic [RdReqs-1:0] rd_err_o,
  output logic rd_ev_beat_o,
  output logic rd_ev_burst_o,
  output logic rd_ev_wait_bus_o,
  output logic rd_ev_wait_user_o,
  output logic [CntW-1:0] rd_inflight_o,
  // write side
  input logic wr_flush_i,
  output logic wr_idle_o,
  input logic [WrReqs-1:0] wr_req_valid_i,
  output logic [WrReqs-1:0] wr_req_ready_o,
  input logic [32*WrReqs-1:0] wr_req_addr_i,
  input logic [24*WrReqs-1:0] wr_req_bytes_i,
  input logic [WrReqs-1:0] wr_dat_valid_i,
  output logic [WrReqs-1:0] wr_dat_ready_o,
  input logic [128*WrReqs-1:0] wr_dat_i,
  output logic [WrReqs-1:0] wr_idle_req_o,
  output logic [WrReqs-1:0] wr_err_o,
  output logic wr_ev_beat_o,
  output logic wr_ev_burst_o,
  output logic wr_ev_wait_bus_o,
  output logic wr_ev_wait_data_o,
  output logic [CntW-1:0] wr_inflight_o,
  // AXI4
  output logic m_awid_o,
  output logic [31:0] m_awaddr_o,
  output logic [7:0] m_awlen_o,
  output logic [2:0] m_awsize_o,
  output logic [1:0] m_awburst_o,
  output logic m_awlock_o,
  output logic [3:0] m_awcache_o,
  output logic [2:0] m_awprot_o,
  output logic [3:0] m_awqos_o,
  output logic m_awvalid_o,
  input logic m_awready_i,
  output logic [127:0] m_wdata_o,
  output logic [15:0] m_wstrb_o,
  output logic m_wlast_o,
  output logic m_wvalid_o,
  input logic m_wready_i,
  input logic m_bid_i,
  input logic [1:0] m_bresp_i,
  input logic m_bvalid_i,
  output logic m_bready_o,
  output logic m_arid_o,
  output logic [31:0] m_araddr_o,
  output logic [7:0] m_arlen_o,
  output logic [2:0] m_arsize_o,
  output logic [1:0] m_arburst_o,
  output logic m_arlock_o,
  output logic [3:0] m_arcache_o,
  output logic [2:0] m_arprot_o,
  output logic [3:0] m_arqos_o,
  output logic m_arvalid_o,
  input logic m_arready_i,
  input logic m_rid_i,
  input logic [127:0] m_rdata_i,
  input logic [1:0] m_rresp_i,
  input logic m_rlast_i,
  input logic m_rvalid_i,
  output logic m_rready_o
);

  logic rd_active, wr_active, rd_clk, wr_clk;
  clk_gate #(
    .Gate(ClkGate)
  ) u_rd_gate (
    .clk_i,
    .en_i(rd_active || !rst_ni),
    .clk_o(rd_clk)
  );
  clk_gate #(
    .Gate(ClkGate)
  ) u_wr_gate (
    .clk_i,
    .en_i(wr_active || !rst_ni),
    .clk_o(wr_clk)
  );

  dma_rd #(
    .NumReq(RdReqs),
    .Outstanding(Outstanding)
  ) u_rd (
    .clk_i(rd_clk),
    .rst_ni,
    .flush_i(rd_flush_i),
    .idle_o(rd_idle_o),
    .active_o(rd_active),
    .req_valid_i(rd_req_valid_i),
    .req_ready_o(rd_req_ready_o),
    .req_addr_i(rd_req_addr_i),
    .req_bytes_i(rd_req_bytes_i),
    .dat_valid_o(rd_dat_valid_o),
    .dat_ready_i(rd_dat_ready_i),
    .dat_id_o(rd_dat_id_o),
    .dat_o(rd_dat_o),
    .dat_last_o(rd_dat_last_o),
    .arid_o(m_arid_o),
    .araddr_o(m_araddr_o),
    .arlen_o(m_arlen_o),
    .arsize_o(m_arsize_o),
    .arburst_o(m_arburst_o),
    .arlock_o(m_arlock_o),
    .arcache_o(m_arcache_o),
    .arprot_o(m_arprot_o),
    .arqos_o(m_arqos_o),
    .arvalid_o(m_arvalid_o),
    .arready_i(m_arready_i),
    .rid_i(m_rid_i),
    .rdata_i(m_rdata_i),
    .rresp_i(m_rresp_i),
    .rlast_i(m_rlast_i),
    .rvalid_i(m_rvalid_i),
    .rready_o(m_rready_o),
    .err_o(rd_err_o),
    .ev_beat_o(rd_ev_beat_o),
    .ev_burst_o(rd_ev_burst_o),
    .ev_wait_bus_o(rd_ev_wait_bus_o),
    .ev_wait_user_o(rd_ev_wait_user_o),
    .inflight_o(rd_inflight_o)
  );

  dma_wr #(
    .NumReq(WrReqs),
    .Outstanding(Outstanding)
  ) u_wr (
    .clk_i(wr_clk),
    .rst_ni,
    .flush_i(wr_flush_i),
    .idle_o(wr_idle_o),
    .active_o(wr_active),
    .req_valid_i(wr_req_valid_i),
    .req_ready_o(wr_req_ready_o),
    .req_addr_i(wr_req_addr_i),
    .req_bytes_i(wr_req_bytes_i),
    .wdat_valid_i(wr_dat_valid_i),
    .wdat_ready_o(wr_dat_ready_o),
    .wdat_i(wr_dat_i),
    .awid_o(m_awid_o),
    .awaddr_o(m_awaddr_o),
    .awlen_o(m_awlen_o),
    .awsize_o(m_awsize_o),
    .awburst_o(m_awburst_o),
    .awlock_o(m_awlock_o),
    .awcache_o(m_awcache_o),
    .awprot_o(m_awprot_o),
    .awqos_o(m_awqos_o),
    .awvalid_o(m_awvalid_o),
    .awready_i(m_awready_i),
    .wdata_o(m_wdata_o),
    .wstrb_o(m_wstrb_o),
    .wlast_o(m_wlast_o),
    .wvalid_o(m_wvalid_o),
    .wready_i(m_wready_i),
    .bid_i(m_bid_i),
    .bresp_i(m_bresp_i),
    .bvalid_i(m_bvalid_i),
    .bready_o(m_bready_o),
    .idle_req_o(wr_idle_req_o),
    .err_o(wr_err_o),
    .ev_beat_o(wr_ev_beat_o),
    .ev_burst_o(wr_ev_burst_o),
    .ev_wait_bus_o(wr_ev_wait_bus_o),
    .ev_wait_data_o(wr_ev_wait_data_o),
    .inflight_o(wr_inflight_o)
  );

endmodule
