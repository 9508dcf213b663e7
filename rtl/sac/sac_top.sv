// Shift-add engine (document 001): a convolution layer, from ReLU and pooling to the pooling of a whole map, without
// multipliers. Registers: regs/sac.regs; specification: docs/sac/sac.md.
//
// Registers (sac_regs), the engine (sac_engine: the states of a task, the units) and the two AXI4 masters (sac_dma): F
// reads features and residual and writes features, W reads filters, PARAM and DTAB.
//
// Parameters: W_VECTOR, C_VECTOR and N_VECTOR of the document (CVec a power of two of at most 16, NVec a power of two
// times CVec), CachePages of each half of the feature cache, Depth results behind the array.
// Latency and throughput: docs/sac/sac.md section 5.
module sac_top #(
  parameter int unsigned WVec = 3,
  parameter int unsigned CVec = 2,
  parameter int unsigned NVec = 2,
  parameter int unsigned CachePages = 4096,
  parameter int unsigned Depth = 16
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  output logic         irq_o,
  // AXI4-Lite
  input  logic [  8:0] s_axil_awaddr_i,
  input  logic         s_axil_awvalid_i,
  output logic         s_axil_awready_o,
  input  logic [ 31:0] s_axil_wdata_i,
  input  logic [  3:0] s_axil_wstrb_i,
  input  logic         s_axil_wvalid_i,
  output logic         s_axil_wready_o,
  output logic [  1:0] s_axil_bresp_o,
  output logic         s_axil_bvalid_o,
  input  logic         s_axil_bready_i,
  input  logic [  8:0] s_axil_araddr_i,
  input  logic         s_axil_arvalid_i,
  output logic         s_axil_arready_o,
  output logic [ 31:0] s_axil_rdata_o,
  output logic [  1:0] s_axil_rresp_o,
  output logic         s_axil_rvalid_o,
  input  logic         s_axil_rready_i,
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

  logic start;
  logic abort;
  logic busy;
  logic done;
  logic [2:0] code;
  logic [191:0] cycles;
  sac_pkg::layer_task_t layer;
  sac_regs #(
    .WVec(WVec),
    .CVec(CVec),
    .NVec(NVec),
    .CachePages(CachePages)
  ) u_regs (
    .clk_i,
    .rst_ni,
    .awaddr_i (s_axil_awaddr_i),
    .awvalid_i(s_axil_awvalid_i),
    .awready_o(s_axil_awready_o),
    .wdata_i  (s_axil_wdata_i),
    .wstrb_i  (s_axil_wstrb_i),
    .wvalid_i (s_axil_wvalid_i),
    .wready_o (s_axil_wready_o),
    .bresp_o  (s_axil_bresp_o),
    .bvalid_o (s_axil_bvalid_o),
    .bready_i (s_axil_bready_i),
    .araddr_i (s_axil_araddr_i),
    .arvalid_i(s_axil_arvalid_i),
    .arready_o(s_axil_arready_o),
    .rdata_o  (s_axil_rdata_o),
    .rresp_o  (s_axil_rresp_o),
    .rvalid_o (s_axil_rvalid_o),
    .rready_i (s_axil_rready_i),
    .start_o  (start),
    .abort_o  (abort),
    .task_o   (layer),
    .busy_i   (busy),
    .done_i   (done),
    .code_i   (code),
    .cycles_i (cycles),
    .irq_o
  );

  logic flush;
  logic idle;
  logic [2:0] err;
  logic [1:0] f_req_valid;
  logic [1:0] f_req_ready;
  logic [63:0] f_req_addr;
  logic [47:0] f_req_bytes;
  logic f_dat_valid;
  logic f_dat_ready;
  logic f_dat_id;
  logic [127:0] f_dat;
  logic o_req_valid;
  logic o_req_ready;
  logic [31:0] o_req_addr;
  logic [23:0] o_req_bytes;
  logic o_dat_valid;
  logic o_dat_ready;
  logic [127:0] o_dat;
  logic w_req_valid;
  logic w_req_ready;
  logic [31:0] w_req_addr;
  logic [23:0] w_req_bytes;
  logic w_dat_valid;
  logic w_dat_ready;
  logic [127:0] w_dat;
  sac_dma u_dma (
    .clk_i,
    .rst_ni,
    .flush_i(flush),
    .idle_o(idle),
    .err_o(err),
    .f_req_valid_i(f_req_valid),
    .f_req_ready_o(f_req_ready),
    .f_req_addr_i(f_req_addr),
    .f_req_bytes_i(f_req_bytes),
    .f_dat_valid_o(f_dat_valid),
    .f_dat_ready_i(f_dat_ready),
    .f_dat_id_o(f_dat_id),
    .f_dat_o(f_dat),
    .o_req_valid_i(o_req_valid),
    .o_req_ready_o(o_req_ready),
    .o_req_addr_i(o_req_addr),
    .o_req_bytes_i(o_req_bytes),
    .o_dat_valid_i(o_dat_valid),
    .o_dat_ready_o(o_dat_ready),
    .o_dat_i(o_dat),
    .w_req_valid_i(w_req_valid),
    .w_req_ready_o(w_req_ready),
    .w_req_addr_i(w_req_addr),
    .w_req_bytes_i(w_req_bytes),
    .w_dat_valid_o(w_dat_valid),
    .w_dat_ready_i(w_dat_ready),
    .w_dat_o(w_dat),
    .m_f_axi_awid_o, .m_f_axi_awaddr_o, .m_f_axi_awlen_o, .m_f_axi_awsize_o, .m_f_axi_awburst_o, .m_f_axi_awlock_o,
    .m_f_axi_awcache_o, .m_f_axi_awprot_o, .m_f_axi_awqos_o, .m_f_axi_awvalid_o, .m_f_axi_awready_i,
    .m_f_axi_wdata_o, .m_f_axi_wstrb_o, .m_f_axi_wlast_o, .m_f_axi_wvalid_o, .m_f_axi_wready_i,
    .m_f_axi_bid_i, .m_f_axi_bresp_i, .m_f_axi_bvalid_i, .m_f_axi_bready_o,
    .m_f_axi_arid_o, .m_f_axi_araddr_o, .m_f_axi_arlen_o, .m_f_axi_arsize_o, .m_f_axi_arburst_o, .m_f_axi_arlock_o,
    .m_f_axi_arcache_o, .m_f_axi_arprot_o, .m_f_axi_arqos_o, .m_f_axi_arvalid_o, .m_f_axi_arready_i,
    .m_f_axi_rid_i, .m_f_axi_rdata_i, .m_f_axi_rresp_i, .m_f_axi_rlast_i, .m_f_axi_rvalid_i, .m_f_axi_rready_o,
    .m_w_axi_arid_o, .m_w_axi_araddr_o, .m_w_axi_arlen_o, .m_w_axi_arsize_o, .m_w_axi_arburst_o, .m_w_axi_arlock_o,
    .m_w_axi_arcache_o, .m_w_axi_arprot_o, .m_w_axi_arqos_o, .m_w_axi_arvalid_o, .m_w_axi_arready_i,
    .m_w_axi_rid_i, .m_w_axi_rdata_i, .m_w_axi_rresp_i, .m_w_axi_rlast_i, .m_w_axi_rvalid_i, .m_w_axi_rready_o
  );

  sac_engine #(
    .WVec(WVec),
    .CVec(CVec),
    .NVec(NVec),
    .CachePages(CachePages),
    .Depth(Depth)
  ) u_engine (
    .clk_i,
    .rst_ni,
    .start_i(start),
    .abort_i(abort),
    .task_i(layer),
    .busy_o(busy),
    .done_o(done),
    .code_o(code),
    .cycles_o(cycles),
    .clr_o(flush),
    .idle_i(idle),
    .err_i(err),
    .f_req_valid_o(f_req_valid),
    .f_req_ready_i(f_req_ready),
    .f_req_addr_o(f_req_addr),
    .f_req_bytes_o(f_req_bytes),
    .f_dat_valid_i(f_dat_valid),
    .f_dat_ready_o(f_dat_ready),
    .f_dat_id_i(f_dat_id),
    .f_dat_i(f_dat),
    .o_req_valid_o(o_req_valid),
    .o_req_ready_i(o_req_ready),
    .o_req_addr_o(o_req_addr),
    .o_req_bytes_o(o_req_bytes),
    .o_dat_valid_o(o_dat_valid),
    .o_dat_ready_i(o_dat_ready),
    .o_dat_o(o_dat),
    .w_req_valid_o(w_req_valid),
    .w_req_ready_i(w_req_ready),
    .w_req_addr_o(w_req_addr),
    .w_req_bytes_o(w_req_bytes),
    .w_dat_valid_i(w_dat_valid),
    .w_dat_ready_o(w_dat_ready),
    .w_dat_i(w_dat)
  );

endmodule
