// Shift-add engine (document 001): a convolution layer, from ReLU and pooling to the pooling of a whole map, without
// multipliers. Registers: regs/sac.regs; specification: docs/sac/sac.md.
//
// A task passes through the states of the retriever: sizes (setup), input_reading (unless the input is in the cache),
// filter_preloading, conving, then the drain (sequencer_idle). Master F reads features and residual and writes
// features, master W reads filters, PARAM and DTAB. An error response does not stop a task, its result is then
// undefined; ABORT drops everything that is in flight.
//
// Parameters: W_VECTOR, C_VECTOR and N_VECTOR of the document (CVec a power of two of at most 16, NVec a power of two
// times CVec), CachePages of each half of the feature cache, Depth results behind the array.
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
    output logic         m_w_axi_awid_o,
    output logic [ 31:0] m_w_axi_awaddr_o,
    output logic [  7:0] m_w_axi_awlen_o,
    output logic [  2:0] m_w_axi_awsize_o,
    output logic [  1:0] m_w_axi_awburst_o,
    output logic         m_w_axi_awlock_o,
    output logic [  3:0] m_w_axi_awcache_o,
    output logic [  2:0] m_w_axi_awprot_o,
    output logic [  3:0] m_w_axi_awqos_o,
    output logic         m_w_axi_awvalid_o,
    input  logic         m_w_axi_awready_i,
    output logic [127:0] m_w_axi_wdata_o,
    output logic [ 15:0] m_w_axi_wstrb_o,
    output logic         m_w_axi_wlast_o,
    output logic         m_w_axi_wvalid_o,
    input  logic         m_w_axi_wready_i,
    input  logic         m_w_axi_bid_i,
    input  logic [  1:0] m_w_axi_bresp_i,
    input  logic         m_w_axi_bvalid_i,
    output logic         m_w_axi_bready_o,
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

  localparam int unsigned LogN = $clog2(NVec);
  localparam int unsigned Beats = (WVec * CVec + 15) / 16;  // of a page
  localparam int unsigned Lo = $clog2(WVec);
  localparam int unsigned Lc = $clog2(WVec + 1);
  localparam int unsigned Dw = $clog2(Depth);
  localparam int unsigned FlagW = 10 + 2 + 1 + 2 + 1 + 1 + Dw;
  localparam int unsigned Groups = NVec / CVec;
  localparam int unsigned Gw = Groups > 1 ? $clog2(Groups) : 1;

  // ---- state ----
  localparam logic [2:0] Idle = 3'd0;
  localparam logic [2:0] Setup = 3'd1;
  localparam logic [2:0] Input = 3'd2;
  localparam logic [2:0] Preload = 3'd3;
  localparam logic [2:0] Conv = 3'd4;
  localparam logic [2:0] Drain = 3'd5;
  localparam logic [2:0] Abort = 3'd6;
  logic [2:0] state_q;
  sac_pkg::layer_task_t task_q;
  sac_pkg::layer_task_t regs_task;
  sac_pkg::geom_t geom;
  logic start;
  logic abort;
  logic start_q;  // task_q is new
  logic clr;
  logic setup_done;
  logic setup_ok;
  logic go;  // the task runs: all units start but sac_seq and the reading of filters
  logic input_start;
  logic input_done;
  logic preload_start;
  logic seq_start;
  logic seq_done;
  logic [11:0] loaded;
  logic [11:0] computed;
  logic [11:0] drained_q;
  logic batch_out;
  logic f_rd_idle;
  logic f_wr_idle;
  logic w_rd_idle;
  logic all_idle;
  // cycles in which all is idle: error pulses come a cycle late, and after an abort the array must run empty
  logic [6:0] idle_q;
  logic idle_end;
  logic done;
  logic [2:0] code;
  logic [2:0] err_q;
  logic [2:0] err;
  assign clr = state_q == Abort;
  assign go = state_q == Setup && setup_done && setup_ok;
  assign input_start = go && !task_q.src_cache;
  assign preload_start = (go && task_q.src_cache) || input_done;
  assign seq_start = state_q == Preload && loaded != '0;
  assign idle_end = idle_q == (state_q == Abort ? 7'(NVec + 12) : 7'd3);
  assign all_idle = f_rd_idle && f_wr_idle && w_rd_idle;
  assign done = !abort && ((state_q == Setup && setup_done && !setup_ok) || (state_q == Drain && idle_end) ||
      (state_q == Abort && idle_end));
  assign code = state_q == Setup ? sac_pkg::CodeConfig : state_q == Abort ? sac_pkg::CodeAborted :
      err_q[0] ? sac_pkg::CodeReadF : err_q[1] ? sac_pkg::CodeReadW : err_q[2] ? sac_pkg::CodeWrite : sac_pkg::CodeOk;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      task_q <= '0;
      start_q <= 1'b0;
      drained_q <= '0;
      idle_q <= '0;
      err_q <= '0;
    end else begin
      start_q <= start;
      if (start) begin
        state_q <= Setup;
        task_q <= regs_task;
        err_q <= '0;
      end else begin
        err_q <= err_q | err;
        case (state_q)
          Setup: if (setup_done) state_q <= !setup_ok ? Idle : task_q.src_cache ? Preload : Input;
          Input: if (input_done) state_q <= Preload;
          Preload: if (seq_start) state_q <= Conv;
          Conv: if (seq_done) state_q <= Drain;
          Drain: if (done) state_q <= Idle;
          Abort: if (done) state_q <= Idle;
          default: state_q <= Idle;
        endcase
        if (abort) state_q <= Abort;
      end
      if (go) drained_q <= '0;
      else if (batch_out) drained_q <= drained_q + 12'd1;
      if (state_q == Drain && (drained_q != geom.batches || !all_idle)) idle_q <= '0;
      else if (state_q == Abort && !all_idle) idle_q <= '0;
      else if (state_q == Drain || state_q == Abort) idle_q <= idle_end ? idle_q : idle_q + 7'd1;
      else idle_q <= '0;
    end
  end

  // ---- counters ----
  logic [191:0] cycles_q;
  logic [5:0] event_now;
  logic ev_load;
  logic ev_write;
  logic vec_valid;
  assign event_now = {
    ev_write, ev_load, state_q == Setup || state_q == Drain, vec_valid, state_q == Preload, state_q == Input
  };
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) cycles_q <= '0;
    else if (start) cycles_q <= '0;
    else if (event_now != '0)
      for (int unsigned i = 0; i < 6; i++) cycles_q[32*i+:32] <= cycles_q[32*i+:32] + {31'd0, event_now[i]};
  end

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
      .task_o   (regs_task),
      .busy_i   (state_q != Idle),
      .done_i   (done),
      .code_i   (code),
      .cycles_i (cycles_q),
      .irq_o
  );

  sac_setup #(
      .WVec(WVec),
      .CVec(CVec),
      .NVec(NVec),
      .CachePages(CachePages)
  ) u_setup (
      .clk_i,
      .rst_ni,
      .clr_i(clr),
      .start_i(start_q),
      .task_i(task_q),
      .done_o(setup_done),
      .ok_o(setup_ok),
      .geom_o(geom)
  );

  // ---- master F: input, residual; output ----
  logic [1:0] f_req_valid;
  logic [1:0] f_req_ready;
  logic [63:0] f_req_addr;
  logic [47:0] f_req_bytes;
  logic f_dat_valid;
  logic f_dat_ready;
  logic f_dat_id;
  logic [127:0] f_dat;
  logic [1:0] f_rd_err;
  logic f_wr_err;
  logic o_req_valid;
  logic o_req_ready;
  logic [31:0] o_req_addr;
  logic [23:0] o_req_bytes;
  logic o_dat_valid;
  logic o_dat_ready;
  logic [127:0] o_dat;

  logic unused_f;
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
      .rd_flush_i(clr),
      .rd_idle_o(f_rd_idle),
      .rd_req_valid_i(f_req_valid),
      .rd_req_ready_o(f_req_ready),
      .rd_req_addr_i(f_req_addr),
      .rd_req_bytes_i(f_req_bytes),
      .rd_dat_valid_o(f_dat_valid),
      .rd_dat_ready_i(f_dat_ready),
      .rd_dat_id_o(f_dat_id),
      .rd_dat_o(f_dat),
      .rd_dat_last_o(f_dat_last),
      .rd_err_o(f_rd_err),
      .rd_ev_beat_o(f_ev[0]),
      .rd_ev_burst_o(f_ev[1]),
      .rd_ev_wait_bus_o(f_ev[2]),
      .rd_ev_wait_user_o(f_ev[3]),
      .rd_inflight_o(f_inflight[4:0]),
      .wr_flush_i(clr),
      .wr_idle_o(f_wr_idle),
      .wr_req_valid_i(o_req_valid),
      .wr_req_ready_o(o_req_ready),
      .wr_req_addr_i(o_req_addr),
      .wr_req_bytes_i(o_req_bytes),
      .wr_dat_valid_i(o_dat_valid),
      .wr_dat_ready_o(o_dat_ready),
      .wr_dat_i(o_dat),
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
  assign unused_f = ^{f_dat_last, f_ev, f_inflight, f_wr_idle_req};

  // ---- master W: reads only ----
  logic w_req_valid;
  logic w_req_ready;
  logic [31:0] w_req_addr;
  logic [23:0] w_req_bytes;
  logic w_dat_valid;
  logic w_dat_ready;
  logic [127:0] w_dat;
  logic w_rd_err;
  assign err = {f_wr_err, w_rd_err, f_rd_err != '0};
  logic w_dat_id;
  logic w_dat_last;
  logic [3:0] w_ev;
  logic [4:0] w_inflight;
  logic w_active, w_clk;
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
      .flush_i(clr),
      .idle_o(w_rd_idle),
      .active_o(w_active),
      .req_valid_i(w_req_valid),
      .req_ready_o(w_req_ready),
      .req_addr_i(w_req_addr),
      .req_bytes_i(w_req_bytes),
      .dat_valid_o(w_dat_valid),
      .dat_ready_i(w_dat_ready),
      .dat_id_o(w_dat_id),
      .dat_o(w_dat),
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
  assign m_w_axi_awid_o = 1'b0;
  assign m_w_axi_awaddr_o = '0;
  assign m_w_axi_awlen_o = '0;
  assign m_w_axi_awsize_o = 3'd4;
  assign m_w_axi_awburst_o = 2'b01;
  assign m_w_axi_awlock_o = 1'b0;
  assign m_w_axi_awcache_o = 4'b0011;
  assign m_w_axi_awprot_o = '0;
  assign m_w_axi_awqos_o = '0;
  assign m_w_axi_awvalid_o = 1'b0;
  assign m_w_axi_wdata_o = '0;
  assign m_w_axi_wstrb_o = '0;
  assign m_w_axi_wlast_o = 1'b0;
  assign m_w_axi_wvalid_o = 1'b0;
  assign m_w_axi_bready_o = 1'b1;
  logic unused_w;
  assign unused_w = ^{w_dat_id, w_dat_last, w_ev, w_inflight, m_w_axi_awready_i, m_w_axi_wready_i, m_w_axi_bid_i,
      m_w_axi_bresp_i, m_w_axi_bvalid_i};

  // ---- input_reader ----
  logic in_we;
  logic [18:0] in_page;
  logic [2:0] in_beat;
  logic [127:0] in_data;
  sac_input #(
      .WVec(WVec),
      .CVec(CVec)
  ) u_input (
      .clk_i,
      .rst_ni,
      .clr_i(clr),
      .start_i(input_start),
      .task_i(task_q),
      .geom_i(geom),
      .done_o(input_done),
      .req_valid_o(f_req_valid[0]),
      .req_ready_i(f_req_ready[0]),
      .req_addr_o(f_req_addr[31:0]),
      .req_bytes_o(f_req_bytes[23:0]),
      .dat_valid_i(f_dat_valid && !f_dat_id),
      .dat_i(f_dat),
      .we_o(in_we),
      .page_o(in_page),
      .beat_o(in_beat),
      .data_o(in_data)
  );

  // ---- filter_reader ----
  logic d_we;
  logic [7:0] d_addr;
  logic [47:0] d_data;
  logic p_we;
  logic [LogN-1:0] p_n;
  logic [1:0] p_place;
  logic [127:0] p_data;
  logic f_valid;
  logic [LogN-1:0] f_n;
  logic f_half;
  logic [9:0] f_addr;
  logic [12*CVec-1:0] f_word;
  sac_filter #(
      .CVec(CVec),
      .NVec(NVec)
  ) u_filter (
      .clk_i,
      .rst_ni,
      .clr_i(clr),
      .start_i(go),
      .go_i(preload_start),
      .task_i(task_q),
      .geom_i(geom),
      .computed_i(computed),
      .drained_i(drained_q),
      .loaded_o(loaded),
      .req_valid_o(w_req_valid),
      .req_ready_i(w_req_ready),
      .req_addr_o(w_req_addr),
      .req_bytes_o(w_req_bytes),
      .dat_valid_i(w_dat_valid),
      .dat_ready_o(w_dat_ready),
      .dat_i(w_dat),
      .d_we_o(d_we),
      .d_addr_o(d_addr),
      .d_o(d_data),
      .p_we_o(p_we),
      .p_n_o(p_n),
      .p_place_o(p_place),
      .p_o(p_data),
      .f_valid_o(f_valid),
      .f_n_o(f_n),
      .f_half_o(f_half),
      .f_addr_o(f_addr),
      .f_o(f_word)
  );

  // ---- sequencer ----
  logic pop;
  logic [18:0] vec_page;
  logic [Lo-1:0] vec_bank;
  logic [13:0] vec_col;
  logic vec_row_ok;
  logic [11:0] vec_group;
  logic [FlagW-1:0] vec_flags;
  sac_seq #(
      .WVec(WVec),
      .Depth(Depth)
  ) u_seq (
      .clk_i,
      .rst_ni,
      .clr_i(clr || go),  // the filter reader of this task must not see the batches of the last one
      .start_i(seq_start),
      .task_i(task_q),
      .geom_i(geom),
      .loaded_i(loaded),
      .pop_i(pop),
      .done_o(seq_done),
      .computed_o(computed),
      .ev_load_o(ev_load),
      .ev_write_o(ev_write),
      .valid_o(vec_valid),
      .page_o(vec_page),
      .bank_o(vec_bank),
      .col_o(vec_col),
      .row_ok_o(vec_row_ok),
      .group_o(vec_group),
      .word_o(vec_flags[Dw+7+:10]),
      .third_o(vec_flags[Dw+5+:2]),
      .half_o(vec_flags[Dw+4]),
      .place_o(vec_flags[Dw+2+:2]),
      .first_o(vec_flags[Dw+1]),
      .last_o(vec_flags[Dw]),
      .slot_o(vec_flags[0+:Dw])
  );

  // ---- retriever ----
  logic out_we;
  logic [18:0] out_cpage;
  logic [2:0] out_beat;
  logic x_valid;
  logic [FlagW-1:0] x_flags;
  logic [sac_pkg::XBits*WVec*CVec-1:0] x;
  sac_retriever #(
      .WVec(WVec),
      .CVec(CVec),
      .CachePages(CachePages),
      .Depth(Depth)
  ) u_retriever (
      .clk_i,
      .rst_ni,
      .task_i(task_q),
      .we_i(in_we || out_we),
      .we_half_i(in_we ? task_q.half : !task_q.half),
      .we_page_i(in_we ? in_page : out_cpage),
      .we_beat_i(in_we ? in_beat : out_beat),
      .we_data_i(in_we ? in_data : o_dat),
      .d_we_i(d_we),
      .d_addr_i(d_addr),
      .d_i(d_data),
      .valid_i(vec_valid),
      .page_i(vec_page),
      .bank_i(vec_bank),
      .col_i(vec_col),
      .row_ok_i(vec_row_ok),
      .group_i(vec_group),
      .flags_i(vec_flags),
      .valid_o(x_valid),
      .flags_o(x_flags),
      .x_o(x)
  );

  // ---- the array ----
  logic result;
  logic rd_en;
  logic [Dw-1:0] rd_slot;
  logic [Lo-1:0] rd_col;
  logic [1:0] rd_place;
  logic [8*NVec-1:0] a;
  sac_pe #(
      .WVec(WVec),
      .CVec(CVec),
      .NVec(NVec),
      .Depth(Depth)
  ) u_pe (
      .clk_i,
      .rst_ni,
      .k1_i(geom.k1),
      .valid_i(x_valid),
      .flags_i(x_flags),
      .x_i(x),
      .p_we_i(p_we),
      .p_n_i(p_n),
      .p_place_i(p_place),
      .p_i(p_data),
      .f_valid_i(f_valid),
      .f_n_i(f_n),
      .f_half_i(f_half),
      .f_addr_i(f_addr),
      .f_i(f_word),
      .done_o(result),
      .rd_en_i(rd_en),
      .rd_slot_i(rd_slot),
      .rd_col_i(rd_col),
      .rd_place_i(rd_place),
      .a_o(a)
  );

  // ---- behind the array, a column a cycle ----
  logic relu_valid;
  logic relu_ready;
  logic [8*NVec-1:0] relu_data;
  sac_relu #(
      .WVec(WVec),
      .NVec(NVec),
      .Depth(Depth)
  ) u_relu (
      .clk_i,
      .rst_ni,
      .clr_i(clr),
      .start_i(go),
      .task_i(task_q),
      .geom_i(geom),
      .done_i(result),
      .pop_o(pop),
      .rd_en_o(rd_en),
      .rd_slot_o(rd_slot),
      .rd_col_o(rd_col),
      .rd_place_o(rd_place),
      .a_i(a),
      .valid_o(relu_valid),
      .ready_i(relu_ready),
      .data_o(relu_data)
  );

  logic pool_valid;
  logic pool_ready;
  logic [8*NVec-1:0] pool_data;
  sac_pool #(
      .NVec(NVec)
  ) u_pool (
      .clk_i,
      .rst_ni,
      .clr_i(clr),
      .start_i(go),
      .task_i(task_q),
      .geom_i(geom),
      .valid_i(relu_valid),
      .ready_o(relu_ready),
      .data_i(relu_data),
      .valid_o(pool_valid),
      .ready_i(pool_ready),
      .data_o(pool_data)
  );

  logic tail_valid;
  logic tail_ready;
  logic [8*NVec*WVec-1:0] tail_page;
  logic [Lc-1:0] tail_cols;
  sac_tail #(
      .WVec(WVec),
      .NVec(NVec)
  ) u_tail (
      .clk_i,
      .rst_ni,
      .clr_i(clr),
      .start_i(go),
      .task_i(task_q),
      .geom_i(geom),
      .valid_i(pool_valid),
      .ready_o(pool_ready),
      .data_i(pool_data),
      .valid_o(tail_valid),
      .ready_i(tail_ready),
      .page_o(tail_page),
      .cols_o(tail_cols)
  );

  // ---- beats: writer, full-size pooling ----
  logic res_ready;
  logic wr_valid;
  logic wr_ready;
  logic [127:0] wr_data;
  logic [15:0] wr_mask;
  logic [2:0] wr_beat;
  logic [Gw-1:0] wr_group;
  logic [1:0] wr_place;
  logic [18:0] wr_cpage;
  logic wr_first;
  logic wr_last;
  assign f_dat_ready = !f_dat_id || res_ready;
  sac_writer #(
      .WVec(WVec),
      .CVec(CVec),
      .NVec(NVec)
  ) u_writer (
      .clk_i,
      .rst_ni,
      .clr_i(clr),
      .start_i(go),
      .task_i(task_q),
      .geom_i(geom),
      .p_we_i(p_we),
      .p_n_i(p_n),
      .p_place_i(p_place),
      .p_i(p_data),
      .valid_i(tail_valid),
      .ready_o(tail_ready),
      .page_i(tail_page),
      .cols_i(tail_cols),
      .res_valid_i(f_dat_valid && f_dat_id),
      .res_ready_o(res_ready),
      .res_i(f_dat),
      .valid_o(wr_valid),
      .ready_i(wr_ready),
      .data_o(wr_data),
      .mask_o(wr_mask),
      .beat_o(wr_beat),
      .group_o(wr_group),
      .place_o(wr_place),
      .cpage_o(wr_cpage),
      .first_o(wr_first),
      .last_o(wr_last)
  );

  logic out_valid;
  logic out_ready;
  logic out_last;
  sac_full #(
      .WVec(WVec),
      .CVec(CVec),
      .NVec(NVec)
  ) u_full (
      .clk_i,
      .rst_ni,
      .clr_i(clr),
      .start_i(go),
      .task_i(task_q),
      .geom_i(geom),
      .p_we_i(p_we),
      .p_n_i(p_n),
      .p_place_i(p_place),
      .p_i(p_data),
      .valid_i(wr_valid),
      .ready_o(wr_ready),
      .data_i(wr_data),
      .mask_i(wr_mask),
      .beat_i(wr_beat),
      .group_i(wr_group),
      .place_i(wr_place),
      .cpage_i(wr_cpage),
      .first_i(wr_first),
      .last_i(wr_last),
      .valid_o(out_valid),
      .ready_i(out_ready),
      .data_o(o_dat),
      .beat_o(out_beat),
      .cpage_o(out_cpage),
      .last_o(out_last)
  );

  // ---- to memory and cache ----
  assign out_ready = !task_q.dst_ddr || o_dat_ready;
  assign o_dat_valid = out_valid && task_q.dst_ddr;
  assign out_we = out_valid && out_ready && task_q.dst_cache;
  assign batch_out = out_valid && out_ready && out_last;

  sac_jobs #(
      .WVec(WVec),
      .CVec(CVec),
      .NVec(NVec)
  ) u_res_jobs (
      .clk_i,
      .rst_ni,
      .clr_i(clr),
      .start_i(seq_start && task_q.add),
      .full_i(1'b0),
      .base_i(task_q.res),
      .step_i(task_q.out_step),
      .task_i(task_q),
      .geom_i(geom),
      .req_valid_o(f_req_valid[1]),
      .req_ready_i(f_req_ready[1]),
      .req_addr_o(f_req_addr[63:32]),
      .req_bytes_o(f_req_bytes[47:24])
  );

  sac_jobs #(
      .WVec(WVec),
      .CVec(CVec),
      .NVec(NVec)
  ) u_out_jobs (
      .clk_i,
      .rst_ni,
      .clr_i(clr),
      .start_i(seq_start && task_q.dst_ddr),
      .full_i(task_q.full != 2'd0),
      .base_i(task_q.out),
      // a map of one page: its channel groups follow each other
      .step_i(task_q.full != 2'd0 ? 28'(Beats) : task_q.out_step),
      .task_i(task_q),
      .geom_i(geom),
      .req_valid_o(o_req_valid),
      .req_ready_i(o_req_ready),
      .req_addr_o(o_req_addr),
      .req_bytes_o(o_req_bytes)
  );

endmodule
