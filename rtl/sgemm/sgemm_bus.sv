// The two AXI4 masters: channel 0 reads A and C, channel 1 reads B and writes C (document 003, figure 3.4: streams of
// the ACP or HP ports). Requests and data as in dma_rd and dma_wr; channel 0 writes nothing.
//
// flush_i: no new bursts, those in flight end on the bus; idle_o: nothing is in flight. Events and levels of the
// counters in the order of ev_o: wr_wait_data, wr_wait_bus, rd_wait_bus (channel 1, 0), wr_burst, rd_burst (1, 0),
// wr_beat, rd_beat (1, 0).
module sgemm_bus (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         flush_i,
  output logic         idle_o,
  output logic [2:0]   err_o,      // write of C, read of B, read of A or C
  output logic [9:0]   ev_o,
  output logic [14:0]  inflight_o, // bursts: writes of C, reads of B, reads of channel 0
  // channel 0: A (bit 0) and C (bit 1)
  input  logic [1:0]   r0_req_valid_i,
  output logic [1:0]   r0_req_ready_o,
  input  logic [63:0]  r0_req_addr_i,
  input  logic [2*sgemm_pkg::JobW-1:0] r0_req_bytes_i,
  output logic         r0_dat_valid_o,
  input  logic         r0_dat_ready_i,
  output logic         r0_dat_id_o,
  output logic [127:0] r0_dat_o,
  // channel 1: B
  input  logic         r1_req_valid_i,
  output logic         r1_req_ready_o,
  input  logic [31:0]  r1_req_addr_i,
  input  logic [sgemm_pkg::JobW-1:0] r1_req_bytes_i,
  output logic         r1_dat_valid_o,
  input  logic         r1_dat_ready_i,
  output logic [127:0] r1_dat_o,
  // channel 1: the store
  input  logic         w_req_valid_i,
  output logic         w_req_ready_o,
  input  logic [31:0]  w_req_addr_i,
  input  logic [sgemm_pkg::JobW-1:0] w_req_bytes_i,
  input  logic         w_dat_valid_i,
  output logic         w_dat_ready_o,
  input  logic [127:0] w_dat_i,
  output logic         w_idle_o,   // every write has its response
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
  output logic         m1_axi_rready
);

  logic [1:0] rd_idle;
  logic wr_idle;
  logic [1:0] rd_err0;
  logic rd_err1, wr_err;
  logic [1:0] rd_beat, rd_burst, rd_wait_bus, rd_wait_user;
  logic wr_beat, wr_burst, wr_wait_bus, wr_wait_data;
  logic r0_last, r1_id, r1_last;
  assign idle_o = (&rd_idle) && wr_idle;
  assign err_o = {wr_err, rd_err1, |rd_err0};
  assign ev_o = {wr_wait_data, wr_wait_bus, rd_wait_bus, wr_burst, rd_burst, wr_beat, rd_beat};

  // ------------------------------------------------------------------------------------------------ channel 0
  logic rd0_active, rd0_clk;
  clk_gate u_rd0_gate (
    .clk_i,
    .en_i(rd0_active || !rst_ni),
    .clk_o(rd0_clk)
  );
  dma_rd #(
    .NumReq(2)
  ) u_rd0 (
    .clk_i(rd0_clk),
    .rst_ni,
    .flush_i,
    .idle_o(rd_idle[0]),
    .active_o(rd0_active),
    .req_valid_i(r0_req_valid_i),
    .req_ready_o(r0_req_ready_o),
    .req_addr_i(r0_req_addr_i),
    .req_bytes_i({24'(r0_req_bytes_i[sgemm_pkg::JobW+:sgemm_pkg::JobW]), 24'(r0_req_bytes_i[0+:sgemm_pkg::JobW])}),
    .dat_valid_o(r0_dat_valid_o),
    .dat_ready_i(r0_dat_ready_i),
    .dat_id_o(r0_dat_id_o),
    .dat_o(r0_dat_o),
    .dat_last_o(r0_last),
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
    .err_o(rd_err0),
    .ev_beat_o(rd_beat[0]),
    .ev_burst_o(rd_burst[0]),
    .ev_wait_bus_o(rd_wait_bus[0]),
    .ev_wait_user_o(rd_wait_user[0]),
    .inflight_o(inflight_o[4:0])
  );

  // ------------------------------------------------------------------------------------------------ channel 1
  dma_chan #(
    .RdReqs(32'd1),
    .WrReqs(32'd1)
  ) u_ch1 (
    .clk_i,
    .rst_ni,
    .rd_flush_i(flush_i),
    .rd_idle_o(rd_idle[1]),
    .rd_req_valid_i(r1_req_valid_i),
    .rd_req_ready_o(r1_req_ready_o),
    .rd_req_addr_i(r1_req_addr_i),
    .rd_req_bytes_i(24'(r1_req_bytes_i)),
    .rd_dat_valid_o(r1_dat_valid_o),
    .rd_dat_ready_i(r1_dat_ready_i),
    .rd_dat_id_o(r1_id),
    .rd_dat_o(r1_dat_o),
    .rd_dat_last_o(r1_last),
    .rd_err_o(rd_err1),
    .rd_ev_beat_o(rd_beat[1]),
    .rd_ev_burst_o(rd_burst[1]),
    .rd_ev_wait_bus_o(rd_wait_bus[1]),
    .rd_ev_wait_user_o(rd_wait_user[1]),
    .rd_inflight_o(inflight_o[9:5]),
    .wr_flush_i(flush_i),
    .wr_idle_o(wr_idle),
    .wr_req_valid_i(w_req_valid_i),
    .wr_req_ready_o(w_req_ready_o),
    .wr_req_addr_i(w_req_addr_i),
    .wr_req_bytes_i(24'(w_req_bytes_i)),
    .wr_dat_valid_i(w_dat_valid_i),
    .wr_dat_ready_o(w_dat_ready_o),
    .wr_dat_i(w_dat_i),
    .wr_idle_req_o(w_idle_o),
    .wr_err_o(wr_err),
    .wr_ev_beat_o(wr_beat),
    .wr_ev_burst_o(wr_burst),
    .wr_ev_wait_bus_o(wr_wait_bus),
    .wr_ev_wait_data_o(wr_wait_data),
    .wr_inflight_o(inflight_o[14:10]),
    .m_awid_o(m1_axi_awid),
    .m_awaddr_o(m1_axi_awaddr),
    .m_awlen_o(m1_axi_awlen),
    .m_awsize_o(m1_axi_awsize),
    .m_awburst_o(m1_axi_awburst),
    .m_awlock_o(m1_axi_awlock),
    .m_awcache_o(m1_axi_awcache),
    .m_awprot_o(m1_axi_awprot),
    .m_awqos_o(m1_axi_awqos),
    .m_awvalid_o(m1_axi_awvalid),
    .m_awready_i(m1_axi_awready),
    .m_wdata_o(m1_axi_wdata),
    .m_wstrb_o(m1_axi_wstrb),
    .m_wlast_o(m1_axi_wlast),
    .m_wvalid_o(m1_axi_wvalid),
    .m_wready_i(m1_axi_wready),
    .m_bid_i(m1_axi_bid),
    .m_bresp_i(m1_axi_bresp),
    .m_bvalid_i(m1_axi_bvalid),
    .m_bready_o(m1_axi_bready),
    .m_arid_o(m1_axi_arid),
    .m_araddr_o(m1_axi_araddr),
    .m_arlen_o(m1_axi_arlen),
    .m_arsize_o(m1_axi_arsize),
    .m_arburst_o(m1_axi_arburst),
    .m_arlock_o(m1_axi_arlock),
    .m_arcache_o(m1_axi_arcache),
    .m_arprot_o(m1_axi_arprot),
    .m_arqos_o(m1_axi_arqos),
    .m_arvalid_o(m1_axi_arvalid),
    .m_arready_i(m1_axi_arready),
    .m_rid_i(m1_axi_rid),
    .m_rdata_i(m1_axi_rdata),
    .m_rresp_i(m1_axi_rresp),
    .m_rlast_i(m1_axi_rlast),
    .m_rvalid_i(m1_axi_rvalid),
    .m_rready_o(m1_axi_rready)
  );

  logic unused;
  assign unused = ^{r0_last, r1_id, r1_last, rd_wait_user};

endmodule
