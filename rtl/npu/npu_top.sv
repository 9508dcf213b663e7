// The NPU: register file, GEMM path, ALU, POOL, two AXI4 DMA channels (docs/npu/npu.md section 1).
//
// Each DMA channel has one read side, shared by the requesters npu_pkg::RdId*, and one write side with the shared
// output buffer (send_buf), shared by npu_pkg::WrId*. Soft reset: srst stops the DMA channels (transactions in flight
// end on the bus) and holds the engines in reset until all are drained.
module npu_top #(
  parameter int unsigned N = 8,     // mesh size: 4, 8, 16 or 32
  parameter bit EnAlu = 1'b1,       // the ALU is present
  parameter bit EnPool = 1'b1,      // the POOL is present
  parameter int unsigned PackMul = 0,  // 1: both products of a PE come from one multiplier
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

  logic srst, eng_rst_n;
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
  logic [1:0] rd_idle, rd_beat, rd_burst, rd_wait_bus, rd_wait_user;
  logic [1:0] wr_idle, wr_beat, wr_burst, wr_wait_bus, wr_wait_data;
  logic [9:0] rd_inflight, wr_inflight;
  logic [2*Rq-1:0] rd_err;
  logic [2*Wq-1:0] wr_err, wr_idle_req;
  logic [32*Wq-1:0] send_level;

  // The register's srst is a flip-flop, so the gate has no glitch that matters: rst_ni dominates.
  assign eng_rst_n = rst_ni && !srst;

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

  npu_regs #(
    .N(N),
    .EnAlu(EnAlu),
    .EnPool(EnPool),
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
    .drained_i(rd_idle == 2'b11 && wr_idle == 2'b11)
  );

  // ---------------------------------------------------------------- requesters of both channels
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

  logic [2*Gq-1:0] g_rd_req_valid, g_rd_req_ready;
  logic [64*Gq-1:0] g_rd_req_addr;
  logic [48*Gq-1:0] g_rd_req_bytes;
  logic [1:0] g_rd_valid, g_rd_ready;
  logic [1:0] g_wr_req_valid, g_wr_valid, a_wr_req_valid, a_wr_valid, p_wr_req_valid, p_wr_valid;
  logic [63:0] g_wr_req_addr, a_wr_req_addr, p_wr_req_addr;
  logic [47:0] g_wr_req_bytes, a_wr_req_bytes, p_wr_req_bytes;
  logic [255:0] g_wr_data, a_wr_data, p_wr_data;
  logic [1:0] a_rd_req_valid, a_rd_ready, p_rd_req_valid, p_rd_ready;
  logic [63:0] a_rd_req_addr, p_rd_req_addr;
  logic [47:0] a_rd_req_bytes, p_rd_req_bytes;
  logic [1:0] a_rd_valid, p_rd_valid;

  for (genvar ch = 0; ch < 2; ch++) begin : g_map
    assign rd_req_valid[Rq*ch+:Rq] = {p_rd_req_valid[ch], a_rd_req_valid[ch], g_rd_req_valid[Gq*ch+:Gq]};
    assign rd_req_addr[32*Rq*ch+:32*Rq] = {
      p_rd_req_addr[32*ch+:32], a_rd_req_addr[32*ch+:32], g_rd_req_addr[32*Gq*ch+:32*Gq]
    };
    assign rd_req_bytes[24*Rq*ch+:24*Rq] = {
      p_rd_req_bytes[24*ch+:24], a_rd_req_bytes[24*ch+:24], g_rd_req_bytes[24*Gq*ch+:24*Gq]
    };
    assign g_rd_req_ready[Gq*ch+:Gq] = rd_req_ready[Rq*ch+:Gq];
    assign g_rd_valid[ch] = rd_valid[ch] && rd_id[Iw*ch+:Iw] < Iw'(Gq);
    assign a_rd_valid[ch] = rd_valid[ch] && rd_id[Iw*ch+:Iw] == Iw'(RdAlu);
    assign p_rd_valid[ch] = rd_valid[ch] && rd_id[Iw*ch+:Iw] == Iw'(RdPool);
    assign rd_ready[ch] = rd_id[Iw*ch+:Iw] == Iw'(RdAlu) ? a_rd_ready[ch] :
                          rd_id[Iw*ch+:Iw] == Iw'(RdPool) ? p_rd_ready[ch] : g_rd_ready[ch];

    // in the order of npu_pkg::WrId*: GEMM, POOL, ALU
    assign wr_req_valid[Wq*ch+:Wq] = {a_wr_req_valid[ch], p_wr_req_valid[ch], g_wr_req_valid[ch]};
    assign wr_req_addr[32*Wq*ch+:32*Wq] = {
      a_wr_req_addr[32*ch+:32], p_wr_req_addr[32*ch+:32], g_wr_req_addr[32*ch+:32]
    };
    assign wr_req_bytes[24*Wq*ch+:24*Wq] = {
      a_wr_req_bytes[24*ch+:24], p_wr_req_bytes[24*ch+:24], g_wr_req_bytes[24*ch+:24]
    };
    assign wr_valid[Wq*ch+:Wq] = {a_wr_valid[ch], p_wr_valid[ch], g_wr_valid[ch]};
    assign wr_data[128*Wq*ch+:128*Wq] = {a_wr_data[128*ch+:128], p_wr_data[128*ch+:128], g_wr_data[128*ch+:128]};
  end

  // ---------------------------------------------------------------- clocks of the units
  // A unit's clock runs from the valid of a task to four cycles after the last one is complete (end of its pulses).
  logic [2:0] unit_work, unit_clk;  // {pool, alu, gemm}
  assign unit_work = {pool_valid | pool_busy, alu_valid | alu_busy, gemm_valid | gemm_busy};
  for (genvar u = 0; u < 3; u++) begin : g_clk
    logic [3:0] tail_q;
    logic en;
    assign en = unit_work[u] || tail_q != 4'd0;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) tail_q <= '1;
      else tail_q <= {tail_q[2:0], unit_work[u] || srst};
    end
    clk_gate #(
      .Gate(ClkGate)
    ) u_gate (
      .clk_i,
      .en_i(en),
      .clk_o(unit_clk[u])
    );
  end

  gemm #(
    .N(N),
    .PackMul(PackMul),
    .ClkGate(ClkGate)
  ) u_gemm (
    .clk_i(unit_clk[0]),
    .rst_ni(eng_rst_n),
    .task_valid_i(gemm_valid),
    .task_ready_o(gemm_ready),
    .task_i(gemm_task),
    .task_done_o(gemm_done),
    .busy_o(gemm_busy),
    .rd_req_valid_o(g_rd_req_valid),
    .rd_req_ready_i(g_rd_req_ready),
    .rd_req_addr_o(g_rd_req_addr),
    .rd_req_bytes_o(g_rd_req_bytes),
    .rd_valid_i(g_rd_valid),
    .rd_ready_o(g_rd_ready),
    .rd_id_i(rd_id),
    .rd_data_i(rd_data),
    .wr_req_valid_o(g_wr_req_valid),
    .wr_req_ready_i({wr_req_ready[Wq+WrGemm], wr_req_ready[WrGemm]}),
    .wr_req_addr_o(g_wr_req_addr),
    .wr_req_bytes_o(g_wr_req_bytes),
    .wr_valid_o(g_wr_valid),
    .wr_ready_i({wr_ready[Wq+WrGemm], wr_ready[WrGemm]}),
    .wr_data_o(g_wr_data),
    .wr_idle_i({wr_idle_req[Wq+WrGemm], wr_idle_req[WrGemm]}),
    .wr_level_i({send_level[16*(Wq+WrGemm)+:16], send_level[16*WrGemm+:16]}),
    .event_o(gemm_event),
    .level_ofm_o(level_ofm),
    .level_ifm_o(level_ifm)
  );

  if (EnAlu) begin : g_alu
    alu u_alu (
      .clk_i(unit_clk[1]),
      .rst_ni(eng_rst_n),
      .task_valid_i(alu_valid),
      .task_ready_o(alu_ready),
      .task_i(alu_task),
      .task_done_o(alu_done),
      .busy_o(alu_busy),
      .result_we_o(alu_result_we),
      .result_o(alu_result),
      .rd_req_valid_o(a_rd_req_valid),
      .rd_req_ready_i({rd_req_ready[Rq+RdAlu], rd_req_ready[RdAlu]}),
      .rd_req_addr_o(a_rd_req_addr),
      .rd_req_bytes_o(a_rd_req_bytes),
      .rd_valid_i(a_rd_valid),
      .rd_ready_o(a_rd_ready),
      .rd_data_i(rd_data),
      .wr_req_valid_o(a_wr_req_valid),
      .wr_req_ready_i({wr_req_ready[Wq+WrAlu], wr_req_ready[WrAlu]}),
      .wr_req_addr_o(a_wr_req_addr),
      .wr_req_bytes_o(a_wr_req_bytes),
      .wr_valid_o(a_wr_valid),
      .wr_ready_i({wr_ready[Wq+WrAlu], wr_ready[WrAlu]}),
      .wr_data_o(a_wr_data),
      .wr_level_i({send_level[16*(Wq+WrAlu)+:16], send_level[16*WrAlu+:16]}),
      .wr_idle_i({wr_idle_req[Wq+WrAlu], wr_idle_req[WrAlu]}),
      .event_o(alu_event)
    );
  end else begin : g_no_alu
    logic unused;
    assign unused = ^{
      unit_clk[1], alu_valid, alu_task, a_rd_valid, rd_req_ready[Rq+RdAlu], rd_req_ready[RdAlu], wr_req_ready[Wq+WrAlu],
      wr_req_ready[WrAlu], wr_ready[Wq+WrAlu], wr_ready[WrAlu], wr_idle_req[Wq+WrAlu], wr_idle_req[WrAlu]
    };
    assign alu_ready = 1'b0;
    assign alu_done = 1'b0;
    assign alu_busy = 1'b0;
    assign alu_result_we = 1'b0;
    assign alu_result = '0;
    assign a_rd_req_valid = '0;
    assign a_rd_req_addr = '0;
    assign a_rd_req_bytes = '0;
    assign a_rd_ready = '0;
    assign a_wr_req_valid = '0;
    assign a_wr_req_addr = '0;
    assign a_wr_req_bytes = '0;
    assign a_wr_valid = '0;
    assign a_wr_data = '0;
    assign alu_event = '0;
  end

  if (EnPool) begin : g_pool
    pool #(
      .N(N)
    ) u_pool (
      .clk_i(unit_clk[2]),
      .rst_ni(eng_rst_n),
      .task_valid_i(pool_valid),
      .task_ready_o(pool_ready),
      .task_i(pool_task),
      .task_done_o(pool_done),
      .busy_o(pool_busy),
      .rd_req_valid_o(p_rd_req_valid),
      .rd_req_ready_i({rd_req_ready[Rq+RdPool], rd_req_ready[RdPool]}),
      .rd_req_addr_o(p_rd_req_addr),
      .rd_req_bytes_o(p_rd_req_bytes),
      .rd_valid_i(p_rd_valid),
      .rd_ready_o(p_rd_ready),
      .rd_data_i(rd_data),
      .wr_req_valid_o(p_wr_req_valid),
      .wr_req_ready_i({wr_req_ready[Wq+WrPool], wr_req_ready[WrPool]}),
      .wr_req_addr_o(p_wr_req_addr),
      .wr_req_bytes_o(p_wr_req_bytes),
      .wr_valid_o(p_wr_valid),
      .wr_ready_i({wr_ready[Wq+WrPool], wr_ready[WrPool]}),
      .wr_data_o(p_wr_data),
      .wr_level_i({send_level[16*(Wq+WrPool)+:16], send_level[16*WrPool+:16]}),
      .wr_idle_i({wr_idle_req[Wq+WrPool], wr_idle_req[WrPool]}),
      .event_o(pool_event)
    );
  end else begin : g_no_pool
    logic unused;
    assign unused = ^{
      unit_clk[2], pool_valid, pool_task, p_rd_valid, rd_req_ready[Rq+RdPool], rd_req_ready[RdPool],
      wr_req_ready[Wq+WrPool], wr_req_ready[WrPool], wr_ready[Wq+WrPool], wr_ready[WrPool],
      wr_idle_req[Wq+WrPool], wr_idle_req[WrPool]
    };
    assign pool_ready = 1'b0;
    assign pool_done = 1'b0;
    assign pool_busy = 1'b0;
    assign p_rd_req_valid = '0;
    assign p_rd_req_addr = '0;
    assign p_rd_req_bytes = '0;
    assign p_rd_ready = '0;
    assign p_wr_req_valid = '0;
    assign p_wr_req_addr = '0;
    assign p_wr_req_bytes = '0;
    assign p_wr_valid = '0;
    assign p_wr_data = '0;
    assign pool_event = '0;
  end

  // ---------------------------------------------------------------- DMA channels and their output buffers
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
      .wvalid_i(wr_valid[Wq*ch+:Wq]),
      .wready_o(wr_ready[Wq*ch+:Wq]),
      .wdata_i(wr_data[128*Wq*ch+:128*Wq]),
      .rvalid_o(send_valid[Wq*ch+:Wq]),
      .rready_i(send_ready[Wq*ch+:Wq]),
      .rdata_o(send_data[128*Wq*ch+:128*Wq]),
      .level_o(send_level[16*Wq*ch+:16*Wq]),
      .active_o(send_active[ch])
    );
  end

  dma_chan #(
    .RdReqs(Rq),
    .WrReqs(Wq),
    .Outstanding(npu_pkg::AxiOutstanding),
    .ClkGate(ClkGate)
  ) u_chan0 (
    .clk_i,
    .rst_ni,
    .rd_flush_i(srst),
    .rd_idle_o(rd_idle[0]),
    .rd_req_valid_i(rd_req_valid[Rq*0+:Rq]),
    .rd_req_ready_o(rd_req_ready[Rq*0+:Rq]),
    .rd_req_addr_i(rd_req_addr[32*Rq*0+:32*Rq]),
    .rd_req_bytes_i(rd_req_bytes[24*Rq*0+:24*Rq]),
    .rd_dat_valid_o(rd_valid[0]),
    .rd_dat_ready_i(rd_ready[0]),
    .rd_dat_id_o(rd_id[Iw*0+:Iw]),
    .rd_dat_o(rd_data[128*0+:128]),
    .rd_dat_last_o(unused_last[0]),
    .rd_err_o(rd_err[Rq*0+:Rq]),
    .rd_ev_beat_o(rd_beat[0]),
    .rd_ev_burst_o(rd_burst[0]),
    .rd_ev_wait_bus_o(rd_wait_bus[0]),
    .rd_ev_wait_user_o(rd_wait_user[0]),
    .rd_inflight_o(rd_inflight[5*0+:5]),
    .wr_flush_i(srst),
    .wr_idle_o(wr_idle[0]),
    .wr_req_valid_i(wr_req_valid[Wq*0+:Wq]),
    .wr_req_ready_o(wr_req_ready[Wq*0+:Wq]),
    .wr_req_addr_i(wr_req_addr[32*Wq*0+:32*Wq]),
    .wr_req_bytes_i(wr_req_bytes[24*Wq*0+:24*Wq]),
    .wr_dat_valid_i(send_valid[Wq*0+:Wq]),
    .wr_dat_ready_o(send_ready[Wq*0+:Wq]),
    .wr_dat_i(send_data[128*Wq*0+:128*Wq]),
    .wr_idle_req_o(wr_idle_req[Wq*0+:Wq]),
    .wr_err_o(wr_err[Wq*0+:Wq]),
    .wr_ev_beat_o(wr_beat[0]),
    .wr_ev_burst_o(wr_burst[0]),
    .wr_ev_wait_bus_o(wr_wait_bus[0]),
    .wr_ev_wait_data_o(wr_wait_data[0]),
    .wr_inflight_o(wr_inflight[5*0+:5]),
    .m_awid_o(m0_axi_awid), .m_awaddr_o(m0_axi_awaddr), .m_awlen_o(m0_axi_awlen), .m_awsize_o(m0_axi_awsize),
    .m_awburst_o(m0_axi_awburst), .m_awlock_o(m0_axi_awlock), .m_awcache_o(m0_axi_awcache),
    .m_awprot_o(m0_axi_awprot), .m_awqos_o(m0_axi_awqos), .m_awvalid_o(m0_axi_awvalid), .m_awready_i(m0_axi_awready),
    .m_wdata_o(m0_axi_wdata), .m_wstrb_o(m0_axi_wstrb), .m_wlast_o(m0_axi_wlast), .m_wvalid_o(m0_axi_wvalid),
    .m_wready_i(m0_axi_wready),
    .m_bid_i(m0_axi_bid), .m_bresp_i(m0_axi_bresp), .m_bvalid_i(m0_axi_bvalid), .m_bready_o(m0_axi_bready),
    .m_arid_o(m0_axi_arid), .m_araddr_o(m0_axi_araddr), .m_arlen_o(m0_axi_arlen), .m_arsize_o(m0_axi_arsize),
    .m_arburst_o(m0_axi_arburst), .m_arlock_o(m0_axi_arlock), .m_arcache_o(m0_axi_arcache),
    .m_arprot_o(m0_axi_arprot), .m_arqos_o(m0_axi_arqos), .m_arvalid_o(m0_axi_arvalid), .m_arready_i(m0_axi_arready),
    .m_rid_i(m0_axi_rid), .m_rdata_i(m0_axi_rdata), .m_rresp_i(m0_axi_rresp), .m_rlast_i(m0_axi_rlast),
    .m_rvalid_i(m0_axi_rvalid), .m_rready_o(m0_axi_rready)
  );

  dma_chan #(
    .RdReqs(Rq),
    .WrReqs(Wq),
    .Outstanding(npu_pkg::AxiOutstanding),
    .ClkGate(ClkGate)
  ) u_chan1 (
    .clk_i,
    .rst_ni,
    .rd_flush_i(srst),
    .rd_idle_o(rd_idle[1]),
    .rd_req_valid_i(rd_req_valid[Rq*1+:Rq]),
    .rd_req_ready_o(rd_req_ready[Rq*1+:Rq]),
    .rd_req_addr_i(rd_req_addr[32*Rq*1+:32*Rq]),
    .rd_req_bytes_i(rd_req_bytes[24*Rq*1+:24*Rq]),
    .rd_dat_valid_o(rd_valid[1]),
    .rd_dat_ready_i(rd_ready[1]),
    .rd_dat_id_o(rd_id[Iw*1+:Iw]),
    .rd_dat_o(rd_data[128*1+:128]),
    .rd_dat_last_o(unused_last[1]),
    .rd_err_o(rd_err[Rq*1+:Rq]),
    .rd_ev_beat_o(rd_beat[1]),
    .rd_ev_burst_o(rd_burst[1]),
    .rd_ev_wait_bus_o(rd_wait_bus[1]),
    .rd_ev_wait_user_o(rd_wait_user[1]),
    .rd_inflight_o(rd_inflight[5*1+:5]),
    .wr_flush_i(srst),
    .wr_idle_o(wr_idle[1]),
    .wr_req_valid_i(wr_req_valid[Wq*1+:Wq]),
    .wr_req_ready_o(wr_req_ready[Wq*1+:Wq]),
    .wr_req_addr_i(wr_req_addr[32*Wq*1+:32*Wq]),
    .wr_req_bytes_i(wr_req_bytes[24*Wq*1+:24*Wq]),
    .wr_dat_valid_i(send_valid[Wq*1+:Wq]),
    .wr_dat_ready_o(send_ready[Wq*1+:Wq]),
    .wr_dat_i(send_data[128*Wq*1+:128*Wq]),
    .wr_idle_req_o(wr_idle_req[Wq*1+:Wq]),
    .wr_err_o(wr_err[Wq*1+:Wq]),
    .wr_ev_beat_o(wr_beat[1]),
    .wr_ev_burst_o(wr_burst[1]),
    .wr_ev_wait_bus_o(wr_wait_bus[1]),
    .wr_ev_wait_data_o(wr_wait_data[1]),
    .wr_inflight_o(wr_inflight[5*1+:5]),
    .m_awid_o(m1_axi_awid), .m_awaddr_o(m1_axi_awaddr), .m_awlen_o(m1_axi_awlen), .m_awsize_o(m1_axi_awsize),
    .m_awburst_o(m1_axi_awburst), .m_awlock_o(m1_axi_awlock), .m_awcache_o(m1_axi_awcache),
    .m_awprot_o(m1_axi_awprot), .m_awqos_o(m1_axi_awqos), .m_awvalid_o(m1_axi_awvalid), .m_awready_i(m1_axi_awready),
    .m_wdata_o(m1_axi_wdata), .m_wstrb_o(m1_axi_wstrb), .m_wlast_o(m1_axi_wlast), .m_wvalid_o(m1_axi_wvalid),
    .m_wready_i(m1_axi_wready),
    .m_bid_i(m1_axi_bid), .m_bresp_i(m1_axi_bresp), .m_bvalid_i(m1_axi_bvalid), .m_bready_o(m1_axi_bready),
    .m_arid_o(m1_axi_arid), .m_araddr_o(m1_axi_araddr), .m_arlen_o(m1_axi_arlen), .m_arsize_o(m1_axi_arsize),
    .m_arburst_o(m1_axi_arburst), .m_arlock_o(m1_axi_arlock), .m_arcache_o(m1_axi_arcache),
    .m_arprot_o(m1_axi_arprot), .m_arqos_o(m1_axi_arqos), .m_arvalid_o(m1_axi_arvalid), .m_arready_i(m1_axi_arready),
    .m_rid_i(m1_axi_rid), .m_rdata_i(m1_axi_rdata), .m_rresp_i(m1_axi_rresp), .m_rlast_i(m1_axi_rlast),
    .m_rvalid_i(m1_axi_rvalid), .m_rready_o(m1_axi_rready)
  );

endmodule
