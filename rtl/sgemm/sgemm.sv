// Blocked GEMM engine, C = alpha*op(A)*op(B) + beta*C in binary32 (docs/sgemm/sgemm.md; document 003, chapter 3).
//
// A task is a whole GEMM. The loaders of A (channel 0) and B (channel 1) walk over its blocks one pass ahead of the
// lanes, that of C (channel 0) one tile ahead; the store writes finished tiles back (channel 1). One task runs, one
// waits and begins when every write of the first has its response.
// Channel 0: requests of A go before those of C, but a tile's second block of A waits until its C is requested, so C is
// loaded in the gaps that A leaves and is never late because of blocks that are needed later.
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

  localparam int unsigned Bw = sgemm_pkg::Bw;
  localparam int unsigned Ww = sgemm_pkg::Ww;
  localparam int unsigned ElemW = HalfBuf != 0 ? 16 : 32;
  localparam int unsigned Aw = $clog2(Dim / R * (Dim / 4));

  // ------------------------------------------------------------------------------------------------ tasks
  logic srst, eng_rst_n;
  logic task_valid, task_ready, start, done, busy_q, start_q;
  sgemm_pkg::sgemm_task_t task_in, t;
  logic [1:0] rd_idle, wr_idle;
  logic [2:0] bus_err;
  logic st_done, wr_jobs_idle;
  logic [sgemm_pkg::PerfEvents-1:0] perf_event;
  logic [16*sgemm_pkg::PerfLevels-1:0] perf_level;

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
  // start_q begins all walks; one cycle later the store's done and the write side's idle tell of this task
  logic begun_q;
  always_ff @(posedge clk_i or negedge eng_rst_n) begin
    if (!eng_rst_n) begun_q <= 1'b0;
    else begun_q <= busy_q && !start_q && !done;
  end
  assign done = begun_q && st_done && wr_jobs_idle;

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
    .perf_level_i(perf_level),
    .srst_o(srst),
    .drained_i((&rd_idle) && (&wr_idle))
  );

  // ------------------------------------------------------------------------------------------------ loaders
  logic a_valid, a_ready, b_valid, b_ready, c_valid, c_ready;
  logic [31:0] a_addr, b_addr, c_addr;
  logic [23:0] a_bytes, b_bytes, c_bytes;
  logic a_dat_ready, b_dat_ready, c_dat_ready;
  logic dat0_valid, dat0_id, dat0_last, dat1_valid, dat1_id, dat1_last;
  logic [127:0] dat0, dat1;
  logic a_taken, a_taken_first, b_taken, b_taken_first, c_taken, c_taken_first;
  logic a_asked, b_asked, c_asked, a_loaded, b_loaded, c_loaded;
  logic aw_valid, aw_half, bw_valid, bw_half, cw_valid, cw_half;
  logic [Bw-1:0] aw_seg, bw_seg, cw_seg;
  logic [Ww-1:0] aw_grp, bw_grp, cw_grp;
  logic [3:0] aw_mask, bw_mask, cw_mask;
  logic [4*ElemW-1:0] aw_data, bw_data;
  logic [127:0] cw_data;
  logic drained, st_free;

  // tiles whose C is requested minus tiles whose A is begun: -1, 0 .. 2
  logic [2:0] ahead_q;
  always_ff @(posedge clk_i or negedge eng_rst_n) begin
    if (!eng_rst_n) ahead_q <= '0;
    else if (start_q) ahead_q <= '0;
    else ahead_q <= ahead_q + {2'd0, c_asked} - {2'd0, a_taken && a_taken_first};
  end

  sgemm_ld #(
    .Dim(Dim),
    .Vec(Vec),
    .Scale(1'b1),
    .Round(1'b1),
    .ElemW(ElemW)
  ) u_a_ld (
    .clk_i,
    .rst_ni(eng_rst_n),
    .start_i(start_q && !t.no_ab),
    .m_i(t.m),
    .n_i(t.n),
    .k_i(t.k),
    .outer_i(t.ta ? sgemm_pkg::IndexK : sgemm_pkg::IndexI),
    .inner_i(t.ta ? sgemm_pkg::IndexI : sgemm_pkg::IndexK),
    .addr_i(t.a_addr),
    .ld_i(t.lda),
    .f16_i(t.a16),
    .half_i(t.half),
    .factor_i(t.alpha),
    .allow_i(t.c_zero || !ahead_q[2]),
    .free_i(drained),
    .taken_o(a_taken),
    .taken_first_o(a_taken_first),
    .asked_o(a_asked),
    .loaded_o(a_loaded),
    .req_valid_o(a_valid),
    .req_ready_i(a_ready),
    .req_addr_o(a_addr),
    .req_bytes_o(a_bytes),
    .dat_valid_i(dat0_valid && dat0_id == 1'(sgemm_pkg::RdIdA)),
    .dat_ready_o(a_dat_ready),
    .dat_i(dat0),
    .wr_valid_o(aw_valid),
    .wr_half_o(aw_half),
    .wr_seg_o(aw_seg),
    .wr_grp_o(aw_grp),
    .wr_mask_o(aw_mask),
    .wr_data_o(aw_data)
  );

  sgemm_ld #(
    .Dim(Dim),
    .Vec(Vec),
    .Scale(1'b0),
    .Round(1'b1),
    .ElemW(ElemW)
  ) u_b_ld (
    .clk_i,
    .rst_ni(eng_rst_n),
    .start_i(start_q && !t.no_ab),
    .m_i(t.m),
    .n_i(t.n),
    .k_i(t.k),
    .outer_i(t.tb ? sgemm_pkg::IndexJ : sgemm_pkg::IndexK),
    .inner_i(t.tb ? sgemm_pkg::IndexK : sgemm_pkg::IndexJ),
    .addr_i(t.b_addr),
    .ld_i(t.ldb),
    .f16_i(t.b16),
    .half_i(t.half),
    .factor_i(32'd0),
    .allow_i(1'b1),
    .free_i(drained),
    .taken_o(b_taken),
    .taken_first_o(b_taken_first),
    .asked_o(b_asked),
    .loaded_o(b_loaded),
    .req_valid_o(b_valid),
    .req_ready_i(b_ready),
    .req_addr_o(b_addr),
    .req_bytes_o(b_bytes),
    .dat_valid_i(dat1_valid),
    .dat_ready_o(b_dat_ready),
    .dat_i(dat1),
    .wr_valid_o(bw_valid),
    .wr_half_o(bw_half),
    .wr_seg_o(bw_seg),
    .wr_grp_o(bw_grp),
    .wr_mask_o(bw_mask),
    .wr_data_o(bw_data)
  );

  // a tile of C is a block of a GEMM with one slice of k
  sgemm_ld #(
    .Dim(Dim),
    .Vec(32'd4),
    .Scale(1'b1)
  ) u_c_ld (
    .clk_i,
    .rst_ni(eng_rst_n),
    .start_i(start_q && !t.c_zero),
    .m_i(t.m),
    .n_i(t.n),
    .k_i(16'd1),
    .outer_i(sgemm_pkg::IndexI),
    .inner_i(sgemm_pkg::IndexJ),
    .addr_i(t.c_addr),
    .ld_i(t.ldc),
    .f16_i(t.c16),
    .half_i(1'b0),
    .factor_i(t.beta),
    .allow_i(1'b1),
    .free_i(st_free && !t.c_zero),
    .taken_o(c_taken),
    .taken_first_o(c_taken_first),
    .asked_o(c_asked),
    .loaded_o(c_loaded),
    .req_valid_o(c_valid),
    .req_ready_i(c_ready),
    .req_addr_o(c_addr),
    .req_bytes_o(c_bytes),
    .dat_valid_i(dat0_valid && dat0_id == 1'(sgemm_pkg::RdIdC)),
    .dat_ready_o(c_dat_ready),
    .dat_i(dat0),
    .wr_valid_o(cw_valid),
    .wr_half_o(cw_half),
    .wr_seg_o(cw_seg),
    .wr_grp_o(cw_grp),
    .wr_mask_o(cw_mask),
    .wr_data_o(cw_data)
  );

  // ------------------------------------------------------------------------------------------------ buffers, lanes
  logic [32*Vec-1:0] lane;
  logic [4*ElemW*Vec-1:0] a_word, b_word;
  sgemm_blk_buf #(
    .Dim(Dim),
    .Vec(Vec),
    .ElemW(ElemW),
    .WordLsb(sgemm_pkg::LaneIWord)
  ) u_a_buf (
    .clk_i,
    .rst_ni(eng_rst_n),
    .along_k_i(!t.ta),
    .wr_valid_i(aw_valid),
    .wr_half_i(aw_half),
    .wr_seg_i(aw_seg),
    .wr_grp_i(aw_grp),
    .wr_mask_i(aw_mask),
    .wr_data_i(aw_data),
    .lane_i(lane),
    .rd_data_o(a_word)
  );
  sgemm_blk_buf #(
    .Dim(Dim),
    .Vec(Vec),
    .ElemW(ElemW),
    .WordLsb(sgemm_pkg::LaneJWord)
  ) u_b_buf (
    .clk_i,
    .rst_ni(eng_rst_n),
    .along_k_i(t.tb),
    .wr_valid_i(bw_valid),
    .wr_half_i(bw_half),
    .wr_seg_i(bw_seg),
    .wr_grp_i(bw_grp),
    .wr_mask_i(bw_mask),
    .wr_data_i(bw_data),
    .lane_i(lane),
    .rd_data_o(b_word)
  );

  logic pass_valid, pass_ready, pass_half, pass_c_half, pass_c_zero, pass_last;
  logic [Bw-1:0] pass_mb, pass_nb, pass_kb;
  logic wait_a, wait_b, wait_c, issue, gap, tile;
  sgemm_seq #(
    .Dim(Dim),
    .Vec(Vec)
  ) u_seq (
    .clk_i,
    .rst_ni(eng_rst_n),
    .start_i(start_q && !t.no_ab),
    .m_i(t.m),
    .n_i(t.n),
    .k_i(t.k),
    .c_zero_i(t.c_zero),
    .a_loaded_i(a_loaded),
    .b_loaded_i(b_loaded),
    .c_loaded_i(c_loaded && !t.no_ab),
    .c_free_i(st_free && t.c_zero && !t.no_ab),
    .pass_valid_o(pass_valid),
    .pass_ready_i(pass_ready),
    .pass_mb_o(pass_mb),
    .pass_nb_o(pass_nb),
    .pass_kb_o(pass_kb),
    .pass_half_o(pass_half),
    .pass_c_half_o(pass_c_half),
    .pass_c_zero_o(pass_c_zero),
    .pass_last_o(pass_last),
    .wait_a_o(wait_a),
    .wait_b_o(wait_b),
    .wait_c_o(wait_c)
  );

  logic cm_re, cm_rhalf, cm_whalf;
  logic [Aw-1:0] cm_raddr, cm_waddr;
  logic [128*R-1:0] cm_rdata;
  logic [R-1:0] cm_we;
  logic [3:0] cm_wsel;
  logic [32*R-1:0] cm_wdata;
  sgemm_mac #(
    .Dim(Dim),
    .Vec(Vec),
    .R(R),
    .ElemW(ElemW)
  ) u_mac (
    .clk_i,
    .rst_ni(eng_rst_n),
    .pass_valid_i(pass_valid),
    .pass_ready_o(pass_ready),
    .pass_mb_i(pass_mb),
    .pass_nb_i(pass_nb),
    .pass_kb_i(pass_kb),
    .pass_half_i(pass_half),
    .pass_c_half_i(pass_c_half),
    .pass_c_zero_i(pass_c_zero),
    .pass_last_i(pass_last),
    .lane_o(lane),
    .a_i(a_word),
    .b_i(b_word),
    .c_re_o(cm_re),
    .c_rhalf_o(cm_rhalf),
    .c_raddr_o(cm_raddr),
    .c_rdata_i(cm_rdata),
    .c_we_o(cm_we),
    .c_whalf_o(cm_whalf),
    .c_waddr_o(cm_waddr),
    .c_wsel_o(cm_wsel),
    .c_wdata_o(cm_wdata),
    .drained_o(drained),
    .tile_o(tile),
    .issue_o(issue),
    .gap_o(gap)
  );

  // ------------------------------------------------------------------------------------------------ C
  logic st_re, st_half;
  logic [1:0] st_bank;
  logic [Aw-1:0] st_raddr;
  logic [127:0] st_rdata;
  sgemm_c_buf #(
    .Dim(Dim),
    .R(R)
  ) u_c_buf (
    .clk_i,
    .rst_ni(eng_rst_n),
    .m_re_i(cm_re),
    .m_rhalf_i(cm_rhalf),
    .m_raddr_i(cm_raddr),
    .m_rdata_o(cm_rdata),
    .m_we_i(cm_we),
    .m_whalf_i(cm_whalf),
    .m_waddr_i(cm_waddr),
    .m_wsel_i(cm_wsel),
    .m_wdata_i(cm_wdata),
    .l_we_i(cw_valid),
    .l_half_i(cw_half),
    .l_bank_i(2'(cw_seg % Bw'(R))),
    .l_addr_i(Aw'(sgemm_pkg::c_word(cw_seg, cw_grp, 2'($clog2(R)), 12'(Dim / 4)))),
    .l_mask_i(cw_mask),
    .l_data_i(cw_data),
    .s_re_i(st_re),
    .s_half_i(st_half),
    .s_bank_i(st_bank),
    .s_addr_i(st_raddr),
    .s_rdata_o(st_rdata)
  );

  logic w_req_valid, w_req_ready, w_dat_valid, w_dat_ready;
  logic [31:0] w_req_addr;
  logic [23:0] w_req_bytes;
  logic [127:0] w_dat;
  sgemm_c_st #(
    .Dim(Dim),
    .R(R)
  ) u_c_st (
    .clk_i,
    .rst_ni(eng_rst_n),
    .start_i(start_q),
    .m_i(t.m),
    .n_i(t.n),
    .addr_i(t.c_addr),
    .ld_i(t.ldc),
    .f16_i(t.c16),
    .zero_i(t.no_ab && t.c_zero),
    .tile_i(t.no_ab ? c_loaded : tile),
    .free_o(st_free),
    .done_o(st_done),
    .re_o(st_re),
    .half_o(st_half),
    .bank_o(st_bank),
    .raddr_o(st_raddr),
    .rdata_i(st_rdata),
    .req_valid_o(w_req_valid),
    .req_ready_i(w_req_ready),
    .req_addr_o(w_req_addr),
    .req_bytes_o(w_req_bytes),
    .dat_valid_o(w_dat_valid),
    .dat_ready_i(w_dat_ready),
    .dat_o(w_dat)
  );

  // ------------------------------------------------------------------------------------------------ channels
  logic [1:0] rd_err0;
  logic rd_err1, wr_err0, wr_err1;
  logic [1:0] rd_beat, rd_burst, rd_wait_bus, rd_wait_user, wr_beat, wr_burst, wr_wait_bus, wr_wait_data;
  logic [4:0] rd0_inflight, rd1_inflight, wr0_inflight, wr1_inflight;
  logic no_ready, no_dat_ready, wr0_jobs_idle;

  dma_chan #(
    .RdReqs(32'd2),
    .WrReqs(32'd1)
  ) u_ch0 (
    .clk_i,
    .rst_ni,
    .rd_flush_i(srst),
    .rd_idle_o(rd_idle[0]),
    .rd_req_valid_i({c_valid, a_valid}),
    .rd_req_ready_o({c_ready, a_ready}),
    .rd_req_addr_i({c_addr, a_addr}),
    .rd_req_bytes_i({c_bytes, a_bytes}),
    .rd_dat_valid_o(dat0_valid),
    .rd_dat_ready_i(dat0_id == 1'(sgemm_pkg::RdIdA) ? a_dat_ready : c_dat_ready),
    .rd_dat_id_o(dat0_id),
    .rd_dat_o(dat0),
    .rd_dat_last_o(dat0_last),
    .rd_err_o(rd_err0),
    .rd_ev_beat_o(rd_beat[0]),
    .rd_ev_burst_o(rd_burst[0]),
    .rd_ev_wait_bus_o(rd_wait_bus[0]),
    .rd_ev_wait_user_o(rd_wait_user[0]),
    .rd_inflight_o(rd0_inflight),
    .wr_flush_i(1'b0),
    .wr_idle_o(wr_idle[0]),
    .wr_req_valid_i(1'b0),
    .wr_req_ready_o(no_ready),
    .wr_req_addr_i(32'd0),
    .wr_req_bytes_i(24'd0),
    .wr_dat_valid_i(1'b0),
    .wr_dat_ready_o(no_dat_ready),
    .wr_dat_i(128'd0),
    .wr_idle_req_o(wr0_jobs_idle),
    .wr_err_o(wr_err0),
    .wr_ev_beat_o(wr_beat[0]),
    .wr_ev_burst_o(wr_burst[0]),
    .wr_ev_wait_bus_o(wr_wait_bus[0]),
    .wr_ev_wait_data_o(wr_wait_data[0]),
    .wr_inflight_o(wr0_inflight),
    .m_awid_o(m0_axi_awid),
    .m_awaddr_o(m0_axi_awaddr),
    .m_awlen_o(m0_axi_awlen),
    .m_awsize_o(m0_axi_awsize),
    .m_awburst_o(m0_axi_awburst),
    .m_awlock_o(m0_axi_awlock),
    .m_awcache_o(m0_axi_awcache),
    .m_awprot_o(m0_axi_awprot),
    .m_awqos_o(m0_axi_awqos),
    .m_awvalid_o(m0_axi_awvalid),
    .m_awready_i(m0_axi_awready),
    .m_wdata_o(m0_axi_wdata),
    .m_wstrb_o(m0_axi_wstrb),
    .m_wlast_o(m0_axi_wlast),
    .m_wvalid_o(m0_axi_wvalid),
    .m_wready_i(m0_axi_wready),
    .m_bid_i(m0_axi_bid),
    .m_bresp_i(m0_axi_bresp),
    .m_bvalid_i(m0_axi_bvalid),
    .m_bready_o(m0_axi_bready),
    .m_arid_o(m0_axi_arid),
    .m_araddr_o(m0_axi_araddr),
    .m_arlen_o(m0_axi_arlen),
    .m_arsize_o(m0_axi_arsize),
    .m_arburst_o(m0_axi_arburst),
    .m_arlock_o(m0_axi_arlock),
    .m_arcache_o(m0_axi_arcache),
    .m_arprot_o(m0_axi_arprot),
    .m_arqos_o(m0_axi_arqos),
    .m_arvalid_o(m0_axi_arvalid),
    .m_arready_i(m0_axi_arready),
    .m_rid_i(m0_axi_rid),
    .m_rdata_i(m0_axi_rdata),
    .m_rresp_i(m0_axi_rresp),
    .m_rlast_i(m0_axi_rlast),
    .m_rvalid_i(m0_axi_rvalid),
    .m_rready_o(m0_axi_rready)
  );

  dma_chan #(
    .RdReqs(32'd1),
    .WrReqs(32'd1)
  ) u_ch1 (
    .clk_i,
    .rst_ni,
    .rd_flush_i(srst),
    .rd_idle_o(rd_idle[1]),
    .rd_req_valid_i(b_valid),
    .rd_req_ready_o(b_ready),
    .rd_req_addr_i(b_addr),
    .rd_req_bytes_i(b_bytes),
    .rd_dat_valid_o(dat1_valid),
    .rd_dat_ready_i(b_dat_ready),
    .rd_dat_id_o(dat1_id),
    .rd_dat_o(dat1),
    .rd_dat_last_o(dat1_last),
    .rd_err_o(rd_err1),
    .rd_ev_beat_o(rd_beat[1]),
    .rd_ev_burst_o(rd_burst[1]),
    .rd_ev_wait_bus_o(rd_wait_bus[1]),
    .rd_ev_wait_user_o(rd_wait_user[1]),
    .rd_inflight_o(rd1_inflight),
    .wr_flush_i(srst),
    .wr_idle_o(wr_idle[1]),
    .wr_req_valid_i(w_req_valid),
    .wr_req_ready_o(w_req_ready),
    .wr_req_addr_i(w_req_addr),
    .wr_req_bytes_i(w_req_bytes),
    .wr_dat_valid_i(w_dat_valid),
    .wr_dat_ready_o(w_dat_ready),
    .wr_dat_i(w_dat),
    .wr_idle_req_o(wr_jobs_idle),
    .wr_err_o(wr_err1),
    .wr_ev_beat_o(wr_beat[1]),
    .wr_ev_burst_o(wr_burst[1]),
    .wr_ev_wait_bus_o(wr_wait_bus[1]),
    .wr_ev_wait_data_o(wr_wait_data[1]),
    .wr_inflight_o(wr1_inflight),
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

  assign bus_err = {wr_err1, rd_err1, |rd_err0};
  // in the order of PERF_SEL
  assign perf_event = {
    st_re, wr_wait_data[1], wr_wait_bus[1], rd_wait_bus, wr_burst[1], rd_burst, tile, pass_valid && pass_ready, gap,
    wait_c, wait_b, wait_a, wr_beat[1], rd_beat, issue, 1'b1
  };
  assign perf_level = {11'd0, wr1_inflight, 11'd0, rd1_inflight, 11'd0, rd0_inflight};

  logic unused;
  assign unused = ^{
    b_taken, b_taken_first, c_taken, c_taken_first, a_asked, b_asked, dat0_last, dat1_id, dat1_last, rd_wait_user,
    wr_beat[0], wr_burst[0], wr_wait_bus[0], wr_wait_data[0], wr_err0, wr0_inflight, no_ready, no_dat_ready,
    wr0_jobs_idle, cw_grp
  };

endmodule
