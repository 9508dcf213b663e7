// The two DMA channels of the NPU with their output buffers (send_buf), each with an AXI4 master of 128 bits.
//
// Each channel has one read side, shared by the requesters npu_pkg::RdId*, and one write side behind a send_buf, shared
// by npu_pkg::WrId*. Vectors of channel 0 lie below those of channel 1. Soft reset: srst_i stops the channels
// (transactions in flight end on the bus) and empties the buffers; drained_o: nothing is in flight.
// Latency and throughput: dma_rd, dma_wr, send_buf. Document: docs/npu/npu.md section 4.4.
module npu_dma #(
  parameter bit ClkGate = 1'b1,
  localparam int unsigned Rq = npu_pkg::RdReqs,
  localparam int unsigned Wq = npu_pkg::WrReqs,
  localparam int unsigned Iw = npu_pkg::RdIdW
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    srst_i,
  output logic                    drained_o,
  // read sides
  input  logic [2*Rq-1:0]         rd_req_valid_i,
  output logic [2*Rq-1:0]         rd_req_ready_o,
  input  logic [64*Rq-1:0]        rd_req_addr_i,
  input  logic [48*Rq-1:0]        rd_req_bytes_i,
  output logic [1:0]              rd_valid_o,
  input  logic [1:0]              rd_ready_i,
  output logic [2*Iw-1:0]         rd_id_o,
  output logic [255:0]            rd_data_o,
  output logic [2*Rq-1:0]         rd_err_o,
  // write sides
  input  logic [2*Wq-1:0]         wr_req_valid_i,
  output logic [2*Wq-1:0]         wr_req_ready_o,
  input  logic [64*Wq-1:0]        wr_req_addr_i,
  input  logic [48*Wq-1:0]        wr_req_bytes_i,
  input  logic [2*Wq-1:0]         wr_valid_i,
  output logic [2*Wq-1:0]         wr_ready_o,
  input  logic [256*Wq-1:0]       wr_data_i,
  output logic [2*Wq-1:0]         wr_idle_o,
  output logic [32*Wq-1:0]        wr_level_o,  // words in send_buf
  output logic [2*Wq-1:0]         wr_err_o,
  // events and levels of this cycle (docs/npu/npu.md section 5)
  output logic [1:0]              rd_beat_o,
  output logic [1:0]              rd_burst_o,
  output logic [1:0]              rd_wait_bus_o,
  output logic [1:0]              rd_wait_user_o,
  output logic [9:0]              rd_inflight_o,
  output logic [1:0]              wr_beat_o,
  output logic [1:0]              wr_burst_o,
  output logic [1:0]              wr_wait_bus_o,
  output logic [1:0]              wr_wait_data_o,
  output logic [9:0]              wr_inflight_o,
  // AXI4
  output logic [1:0]              m_awid_o,
  output logic [63:0]             m_awaddr_o,
  output logic [15:0]             m_awlen_o,
  output logic [5:0]              m_awsize_o,
  output logic [3:0]              m_awburst_o,
  output logic [1:0]              m_awlock_o,
  output logic [7:0]              m_awcache_o,
  output logic [5:0]              m_awprot_o,
  output logic [7:0]              m_awqos_o,
  output logic [1:0]              m_awvalid_o,
  input  logic [1:0]              m_awready_i,
  output logic [255:0]            m_wdata_o,
  output logic [31:0]             m_wstrb_o,
  output logic [1:0]              m_wlast_o,
  output logic [1:0]              m_wvalid_o,
  input  logic [1:0]              m_wready_i,
  input  logic [1:0]              m_bid_i,
  input  logic [3:0]              m_bresp_i,
  input  logic [1:0]              m_bvalid_i,
  output logic [1:0]              m_bready_o,
  output logic [1:0]              m_arid_o,
  output logic [63:0]             m_araddr_o,
  output logic [15:0]             m_arlen_o,
  output logic [5:0]              m_arsize_o,
  output logic [3:0]              m_arburst_o,
  output logic [1:0]              m_arlock_o,
  output logic [7:0]              m_arcache_o,
  output logic [5:0]              m_arprot_o,
  output logic [7:0]              m_arqos_o,
  output logic [1:0]              m_arvalid_o,
  input  logic [1:0]              m_arready_i,
  input  logic [1:0]              m_rid_i,
  input  logic [255:0]            m_rdata_i,
  input  logic [3:0]              m_rresp_i,
  input  logic [1:0]              m_rlast_i,
  input  logic [1:0]              m_rvalid_i,
  output logic [1:0]              m_rready_o
);

  logic [1:0] rd_idle, wr_idle;
  assign drained_o = rd_idle == 2'b11 && wr_idle == 2'b11;

  // The register's srst_i is a flip-flop, so the gate has no glitch that matters: rst_ni dominates.
  logic eng_rst_n;
  assign eng_rst_n = rst_ni && !srst_i;

  logic [2*Wq-1:0] send_valid, send_ready;
  logic [256*Wq-1:0] send_data;
  logic [1:0] unused_last;  // the consumers count beats

  logic [1:0] send_active;
  logic send_clk;
  clk_gate #(
    .Gate(ClkGate)
  ) u_send_gate (
    .clk_i,
    .en_i(send_active != 2'b00 || !eng_rst_n),
    .clk_o(send_clk)
  );

  for (genvar ch = 0; ch < 2; ch++) begin : g_send
    send_buf u_send_buf (
      .clk_i(send_clk),
      .rst_ni(eng_rst_n),
      .wvalid_i(wr_valid_i[Wq*ch+:Wq]),
      .wready_o(wr_ready_o[Wq*ch+:Wq]),
      .wdata_i(wr_data_i[128*Wq*ch+:128*Wq]),
      .rvalid_o(send_valid[Wq*ch+:Wq]),
      .rready_i(send_ready[Wq*ch+:Wq]),
      .rdata_o(send_data[128*Wq*ch+:128*Wq]),
      .level_o(wr_level_o[16*Wq*ch+:16*Wq]),
      .active_o(send_active[ch])
    );
  end

  for (genvar ch = 0; ch < 2; ch++) begin : g_chan
    dma_chan #(
      .RdReqs(Rq),
      .WrReqs(Wq),
      .Outstanding(npu_pkg::AxiOutstanding),
      .ClkGate(ClkGate)
    ) u_chan (
      .clk_i,
      .rst_ni,
      .rd_flush_i(srst_i),
      .rd_idle_o(rd_idle[ch]),
      .rd_req_valid_i(rd_req_valid_i[Rq*ch+:Rq]),
      .rd_req_ready_o(rd_req_ready_o[Rq*ch+:Rq]),
      .rd_req_addr_i(rd_req_addr_i[32*Rq*ch+:32*Rq]),
      .rd_req_bytes_i(rd_req_bytes_i[24*Rq*ch+:24*Rq]),
      .rd_dat_valid_o(rd_valid_o[ch]),
      .rd_dat_ready_i(rd_ready_i[ch]),
      .rd_dat_id_o(rd_id_o[Iw*ch+:Iw]),
      .rd_dat_o(rd_data_o[128*ch+:128]),
      .rd_dat_last_o(unused_last[ch]),
      .rd_err_o(rd_err_o[Rq*ch+:Rq]),
      .rd_ev_beat_o(rd_beat_o[ch]),
      .rd_ev_burst_o(rd_burst_o[ch]),
      .rd_ev_wait_bus_o(rd_wait_bus_o[ch]),
      .rd_ev_wait_user_o(rd_wait_user_o[ch]),
      .rd_inflight_o(rd_inflight_o[5*ch+:5]),
      .wr_flush_i(srst_i),
      .wr_idle_o(wr_idle[ch]),
      .wr_req_valid_i(wr_req_valid_i[Wq*ch+:Wq]),
      .wr_req_ready_o(wr_req_ready_o[Wq*ch+:Wq]),
      .wr_req_addr_i(wr_req_addr_i[32*Wq*ch+:32*Wq]),
      .wr_req_bytes_i(wr_req_bytes_i[24*Wq*ch+:24*Wq]),
      .wr_dat_valid_i(send_valid[Wq*ch+:Wq]),
      .wr_dat_ready_o(send_ready[Wq*ch+:Wq]),
      .wr_dat_i(send_data[128*Wq*ch+:128*Wq]),
      .wr_idle_req_o(wr_idle_o[Wq*ch+:Wq]),
      .wr_err_o(wr_err_o[Wq*ch+:Wq]),
      .wr_ev_beat_o(wr_beat_o[ch]),
      .wr_ev_burst_o(wr_burst_o[ch]),
      .wr_ev_wait_bus_o(wr_wait_bus_o[ch]),
      .wr_ev_wait_data_o(wr_wait_data_o[ch]),
      .wr_inflight_o(wr_inflight_o[5*ch+:5]),
      .m_awid_o(m_awid_o[ch]), .m_awaddr_o(m_awaddr_o[32*ch+:32]), .m_awlen_o(m_awlen_o[8*ch+:8]),
      .m_awsize_o(m_awsize_o[3*ch+:3]), .m_awburst_o(m_awburst_o[2*ch+:2]), .m_awlock_o(m_awlock_o[ch]),
      .m_awcache_o(m_awcache_o[4*ch+:4]), .m_awprot_o(m_awprot_o[3*ch+:3]), .m_awqos_o(m_awqos_o[4*ch+:4]),
      .m_awvalid_o(m_awvalid_o[ch]), .m_awready_i(m_awready_i[ch]), .m_wdata_o(m_wdata_o[128*ch+:128]),
      .m_wstrb_o(m_wstrb_o[16*ch+:16]), .m_wlast_o(m_wlast_o[ch]), .m_wvalid_o(m_wvalid_o[ch]),
      .m_wready_i(m_wready_i[ch]), .m_bid_i(m_bid_i[ch]), .m_bresp_i(m_bresp_i[2*ch+:2]),
      .m_bvalid_i(m_bvalid_i[ch]), .m_bready_o(m_bready_o[ch]), .m_arid_o(m_arid_o[ch]),
      .m_araddr_o(m_araddr_o[32*ch+:32]), .m_arlen_o(m_arlen_o[8*ch+:8]), .m_arsize_o(m_arsize_o[3*ch+:3]),
      .m_arburst_o(m_arburst_o[2*ch+:2]), .m_arlock_o(m_arlock_o[ch]), .m_arcache_o(m_arcache_o[4*ch+:4]),
      .m_arprot_o(m_arprot_o[3*ch+:3]), .m_arqos_o(m_arqos_o[4*ch+:4]), .m_arvalid_o(m_arvalid_o[ch]),
      .m_arready_i(m_arready_i[ch]), .m_rid_i(m_rid_i[ch]), .m_rdata_i(m_rdata_i[128*ch+:128]),
      .m_rresp_i(m_rresp_i[2*ch+:2]), .m_rlast_i(m_rlast_i[ch]), .m_rvalid_i(m_rvalid_i[ch]),
      .m_rready_o(m_rready_o[ch])
    );
  end

endmodule
