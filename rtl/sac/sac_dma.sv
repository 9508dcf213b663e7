// The two AXI4 masters of the engine. F reads features and residual and writes features; W reads filters, PARAM and
// DTAB and never writes. Jobs and data are those of rtl/lib/dma: reader 0 of F is the input, reader 1 the residual.
//
// flush_i drops everything in flight; idle_o: nothing is left. err_o: error responses of this cycle, of reads of F,
// reads of W, writes.
// Document: docs/sac/sac.md section 1.
module sac_dma (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         flush_i,
  output logic         idle_o,
  output logic [  2:0] err_o,
  // input and residual
  input  logic [  1:0] f_req_valid_i,
  output logic [  1:0] f_req_ready_o,
  input  logic [ 63:0] f_req_addr_i,
  input  logic [ 47:0] f_req_bytes_i,
  output logic         f_dat_valid_o,
  input  logic         f_dat_ready_i,
  output logic         f_dat_id_o,
  output logic [127:0] f_dat_o,
  // output
  input  logic         o_req_valid_i,
  output logic         o_req_ready_o,
  input  logic [ 31:0] o_req_addr_i,
  input  logic [ 23:0] o_req_bytes_i,
  input  logic         o_dat_valid_i,
  output logic         o_dat_ready_o,
  input  logic [127:0] o_dat_i,
  // filters, PARAM, DTAB
  input  logic         w_req_valid_i,
  output logic         w_req_ready_o,
  input  logic [ 31:0] w_req_addr_i,
  input  logic [ 23:0] w_req_bytes_i,
  output logic         w_dat_valid_o,
  input  logic         w_dat_ready_i,
  output logic [127:0] w_dat_o,
  // AXI4, master F
  output logic         m_f_axi_awid_o,
  output logic [ 31:0] m_f_axi_awaddr_o,
  output logic [  7:0] m_f_axi_awlen_o,
  output logic [  2:0] m_f_axi_awsize_o,
  output logic [  1:0] m_f_axi_awburst_o,
  output logic         m_f_axi_awlock_o,
  output logic [  3:0] m_f_axi_awcache_o,
  output logic [  2:0] m_f_axi_awprot_o,
  output logic [  3:0] m_f_axi_awqos_o,
  output logic         m_f_axi_awvalid_o,
  input  logic         m_f_axi_awready_i,
  output logic [127:0] m_f_axi_wdata_o,
  output logic [ 15:0] m_f_axi_wstrb_o,
  output logic         m_f_axi_wlast_o,
  output logic         m_f_axi_wvalid_o,
  input  logic         m_f_axi_wready_i,
  input  logic         m_f_axi_bid_i,
  input  logic [  1:0] m_f_axi_bresp_i,
  input  logic         m_f_axi_bvalid_i,
  output logic         m_f_axi_bready_o,
  output logic         m_f_axi_arid_o,
  output logic [ 31:0] m_f_axi_araddr_o,
  output logic [  7:0] m_f_axi_arlen_o,
  output logic [  2:0] m_f_axi_arsize_o,
  output logic [  1:0] m_f_axi_arburst_o,
  output logic         m_f_axi_arlock_o,
  output logic [  3:0] m_f_axi_arcache_o,
  output logic [  2:0] m_f_axi_arprot_o,
  output logic [  3:0] m_f_axi_arqos_o,
  output logic         m_f_axi_arvalid_o,
  input  logic         m_f_axi_arready_i,
  input  logic         m_f_axi_rid_i,
  input  logic [127:0] m_f_axi_rdata_i,
  input  logic [  1:0] m_f_axi_rresp_i,
  input  logic         m_f_axi_rlast_i,
  input  logic         m_f_axi_rvalid_i,
  output logic         m_f_axi_rready_o,
  // AXI4, master W
  output logic         m_w_axi_arid_o,
  output logic [ 31:0] m_w_axi_araddr_o,
  output logic [  7:0] m_w_axi_arlen_o,
  output logic [  2:0] m_w_axi_arsize_o,
  output logic [  1:0] m_w_axi_arburst_o,
  output logic         m_w_axi_arlock_o,
  output logic [  3:0] m_w_axi_arcache_o,
  output logic [  2:0] m_w_axi_arprot_o,
  output logic [  3:0] m_w_axi_arqos_o,
  output logic         m_w_axi_arvalid_o,
  input  logic         m_w_axi_arready_i,
  input  logic         m_w_axi_rid_i,
  input  logic [127:0] m_w_axi_rdata_i,
  input  logic [  1:0] m_w_axi_rresp_i,
  input  logic         m_w_axi_rlast_i,
  input  logic         m_w_axi_rvalid_i,
  output logic         m_w_axi_rready_o
);

  logic f_rd_idle;
  logic f_wr_idle;
  logic w_rd_idle;
  logic [1:0] f_rd_err;
  logic f_wr_err;
  logic w_rd_err;
  assign idle_o = f_rd_idle && f_wr_idle && w_rd_idle;
  assign err_o = {f_wr_err, w_rd_err, f_rd_err != '0};

  // ---- master F ----
  logic f_dat_last;
  logic [7:0] f_ev;
  logic [9:0] f_inflight;
  logic f_wr_idle_req;
  dma_chan #(
    .RdReqs(2),
    .WrReqs(1)
  ) u_dma_f (
    .clk_i,
    .rst_ni,
    .rd_flush_i(flush_i),
    .rd_idle_o(f_rd_idle),
    .rd_req_valid_i(f_req_valid_i),
    .rd_req_ready_o(f_req_ready_o),
    .rd_req_addr_i(f_req_addr_i),
    .rd_req_bytes_i(f_req_bytes_i),
    .rd_dat_valid_o(f_dat_valid_o),
    .rd_dat_ready_i(f_dat_ready_i),
    .rd_dat_id_o(f_dat_id_o),
    .rd_dat_o(f_dat_o),
    .rd_dat_last_o(f_dat_last),
    .rd_err_o(f_rd_err),
    .rd_ev_beat_o(f_ev[0]),
    .rd_ev_burst_o(f_ev[1]),
    .rd_ev_wait_bus_o(f_ev[2]),
    .rd_ev_wait_user_o(f_ev[3]),
    .rd_inflight_o(f_inflight[4:0]),
    .wr_flush_i(flush_i),
    .wr_idle_o(f_wr_idle),
    .wr_req_valid_i(o_req_valid_i),
    .wr_req_ready_o(o_req_ready_o),
    .wr_req_addr_i(o_req_addr_i),
    .wr_req_bytes_i(o_req_bytes_i),
    .wr_dat_valid_i(o_dat_valid_i),
    .wr_dat_ready_o(o_dat_ready_o),
    .wr_dat_i(o_dat_i),
    .wr_idle_req_o(f_wr_idle_req),
    .wr_err_o(f_wr_err),
    .wr_ev_beat_o(f_ev[4]),
    .wr_ev_burst_o(f_ev[5]),
    .wr_ev_wait_bus_o(f_ev[6]),
    .wr_ev_wait_data_o(f_ev[7]),
    .wr_inflight_o(f_inflight[9:5]),
    .m_awid_o(m_f_axi_awid_o),
    .m_awaddr_o(m_f_axi_awaddr_o),
    .m_awlen_o(m_f_axi_awlen_o),
    .m_awsize_o(m_f_axi_awsize_o),
    .m_awburst_o(m_f_axi_awburst_o),
    .m_awlock_o(m_f_axi_awlock_o),
    .m_awcache_o(m_f_axi_awcache_o),
    .m_awprot_o(m_f_axi_awprot_o),
    .m_awqos_o(m_f_axi_awqos_o),
    .m_awvalid_o(m_f_axi_awvalid_o),
    .m_awready_i(m_f_axi_awready_i),
    .m_wdata_o(m_f_axi_wdata_o),
    .m_wstrb_o(m_f_axi_wstrb_o),
    .m_wlast_o(m_f_axi_wlast_o),
    .m_wvalid_o(m_f_axi_wvalid_o),
    .m_wready_i(m_f_axi_wready_i),
    .m_bid_i(m_f_axi_bid_i),
    .m_bresp_i(m_f_axi_bresp_i),
    .m_bvalid_i(m_f_axi_bvalid_i),
    .m_bready_o(m_f_axi_bready_o),
    .m_arid_o(m_f_axi_arid_o),
    .m_araddr_o(m_f_axi_araddr_o),
    .m_arlen_o(m_f_axi_arlen_o),
    .m_arsize_o(m_f_axi_arsize_o),
    .m_arburst_o(m_f_axi_arburst_o),
    .m_arlock_o(m_f_axi_arlock_o),
    .m_arcache_o(m_f_axi_arcache_o),
    .m_arprot_o(m_f_axi_arprot_o),
    .m_arqos_o(m_f_axi_arqos_o),
    .m_arvalid_o(m_f_axi_arvalid_o),
    .m_arready_i(m_f_axi_arready_i),
    .m_rid_i(m_f_axi_rid_i),
    .m_rdata_i(m_f_axi_rdata_i),
    .m_rresp_i(m_f_axi_rresp_i),
    .m_rlast_i(m_f_axi_rlast_i),
    .m_rvalid_i(m_f_axi_rvalid_i),
    .m_rready_o(m_f_axi_rready_o)
  );
  logic unused_f;
  assign unused_f = ^{f_dat_last, f_ev, f_inflight, f_wr_idle_req};

  // ---- master W: reads only; its clock stands still while it has nothing to do, but not in reset ----
  logic w_dat_id;
  logic w_dat_last;
  logic [3:0] w_ev;
  logic [4:0] w_inflight;
  logic w_active;
  logic w_clk;
  clk_gate u_dma_w_gate (
    .clk_i,
    .en_i(w_active || !rst_ni),
    .clk_o(w_clk)
  );
  dma_rd #(
    .NumReq(1)
  ) u_dma_w (
    .clk_i(w_clk),
    .rst_ni,
    .flush_i(flush_i),
    .idle_o(w_rd_idle),
    .active_o(w_active),
    .req_valid_i(w_req_valid_i),
    .req_ready_o(w_req_ready_o),
    .req_addr_i(w_req_addr_i),
    .req_bytes_i(w_req_bytes_i),
    .dat_valid_o(w_dat_valid_o),
    .dat_ready_i(w_dat_ready_i),
    .dat_id_o(w_dat_id),
    .dat_o(w_dat_o),
    .dat_last_o(w_dat_last),
    .arid_o(m_w_axi_arid_o),
    .araddr_o(m_w_axi_araddr_o),
    .arlen_o(m_w_axi_arlen_o),
    .arsize_o(m_w_axi_arsize_o),
    .arburst_o(m_w_axi_arburst_o),
    .arlock_o(m_w_axi_arlock_o),
    .arcache_o(m_w_axi_arcache_o),
    .arprot_o(m_w_axi_arprot_o),
    .arqos_o(m_w_axi_arqos_o),
    .arvalid_o(m_w_axi_arvalid_o),
    .arready_i(m_w_axi_arready_i),
    .rid_i(m_w_axi_rid_i),
    .rdata_i(m_w_axi_rdata_i),
    .rresp_i(m_w_axi_rresp_i),
    .rlast_i(m_w_axi_rlast_i),
    .rvalid_i(m_w_axi_rvalid_i),
    .rready_o(m_w_axi_rready_o),
    .err_o(w_rd_err),
    .ev_beat_o(w_ev[0]),
    .ev_burst_o(w_ev[1]),
    .ev_wait_bus_o(w_ev[2]),
    .ev_wait_user_o(w_ev[3]),
    .inflight_o(w_inflight)
  );
  logic unused_w;
  assign unused_w = ^{w_dat_id, w_dat_last, w_ev, w_inflight};

endmodule
