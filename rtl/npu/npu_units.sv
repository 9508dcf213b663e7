// The units of the NPU: GEMM path, ALU and POOL with their clocks, and their places at the two DMA channels.
//
// Each DMA channel has one read side, shared by the requesters npu_pkg::RdId*, and one write side, shared by
// npu_pkg::WrId*: vectors of channel 0 lie below those of channel 1. A unit that is left out (EnAlu, EnPool = 0) asks
// for nothing. srst_i holds the units in reset.
// Document: docs/npu/npu.md sections 4, 4.4 and 4.5.
module npu_units #(
  parameter int unsigned N = 8,
  parameter bit EnAlu = 1'b1,
  parameter bit EnPool = 1'b1,
  parameter int unsigned PackMul = 0,
  parameter int unsigned EnInt16 = 0,
  parameter bit ClkGate = 1'b1,
  localparam int unsigned Rq = npu_pkg::RdReqs,
  localparam int unsigned Wq = npu_pkg::WrReqs,
  localparam int unsigned Iw = npu_pkg::RdIdW
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                srst_i,
  // tasks
  input  logic                gemm_valid_i,
  output logic                gemm_ready_o,
  input  npu_pkg::gemm_task_t gemm_task_i,
  output logic                gemm_done_o,
  output logic                gemm_busy_o,
  input  logic                alu_valid_i,
  output logic                alu_ready_o,
  input  npu_pkg::alu_task_t  alu_task_i,
  output logic                alu_done_o,
  output logic                alu_busy_o,
  output logic                alu_result_we_o,
  output logic [31:0]         alu_result_o,
  input  logic                pool_valid_i,
  output logic                pool_ready_o,
  input  npu_pkg::pool_task_t pool_task_i,
  output logic                pool_done_o,
  output logic                pool_busy_o,
  // read sides of both channels
  output logic [2*Rq-1:0]     rd_req_valid_o,
  input  logic [2*Rq-1:0]     rd_req_ready_i,
  output logic [64*Rq-1:0]    rd_req_addr_o,
  output logic [48*Rq-1:0]    rd_req_bytes_o,
  input  logic [1:0]          rd_valid_i,
  output logic [1:0]          rd_ready_o,
  input  logic [2*Iw-1:0]     rd_id_i,
  input  logic [255:0]        rd_data_i,
  // write sides
  output logic [2*Wq-1:0]     wr_req_valid_o,
  input  logic [2*Wq-1:0]     wr_req_ready_i,
  output logic [64*Wq-1:0]    wr_req_addr_o,
  output logic [48*Wq-1:0]    wr_req_bytes_o,
  output logic [2*Wq-1:0]     wr_valid_o,
  input  logic [2*Wq-1:0]     wr_ready_i,
  output logic [256*Wq-1:0]   wr_data_o,
  input  logic [2*Wq-1:0]     wr_idle_i,
  input  logic [32*Wq-1:0]    wr_level_i,  // words in send_buf
  // events and levels of this cycle (docs/npu/npu.md section 5)
  output logic [9:0]          gemm_event_o,
  output logic [4:0]          alu_event_o,
  output logic [2:0]          pool_event_o,
  output logic [15:0]         level_ofm_o,
  output logic [15:0]         level_ifm_o
);

  localparam int unsigned Gq = npu_pkg::GemmRdReqs;
  localparam int unsigned RdAlu = npu_pkg::RdIdAlu;
  localparam int unsigned RdPool = npu_pkg::RdIdPool;
  localparam int unsigned WrGemm = npu_pkg::WrIdGemm;
  localparam int unsigned WrAlu = npu_pkg::WrIdAlu;
  localparam int unsigned WrPool = npu_pkg::WrIdPool;

  // The register's srst_i is a flip-flop, so the gate has no glitch that matters: rst_ni dominates.
  logic eng_rst_n;
  assign eng_rst_n = rst_ni && !srst_i;

  // ---------------------------------------------------------------- places at the channels
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
    assign rd_req_valid_o[Rq*ch+:Rq] = {p_rd_req_valid[ch], a_rd_req_valid[ch], g_rd_req_valid[Gq*ch+:Gq]};
    assign rd_req_addr_o[32*Rq*ch+:32*Rq] = {
      p_rd_req_addr[32*ch+:32], a_rd_req_addr[32*ch+:32], g_rd_req_addr[32*Gq*ch+:32*Gq]
    };
    assign rd_req_bytes_o[24*Rq*ch+:24*Rq] = {
      p_rd_req_bytes[24*ch+:24], a_rd_req_bytes[24*ch+:24], g_rd_req_bytes[24*Gq*ch+:24*Gq]
    };
    assign g_rd_req_ready[Gq*ch+:Gq] = rd_req_ready_i[Rq*ch+:Gq];
    assign g_rd_valid[ch] = rd_valid_i[ch] && rd_id_i[Iw*ch+:Iw] < Iw'(Gq);
    assign a_rd_valid[ch] = rd_valid_i[ch] && rd_id_i[Iw*ch+:Iw] == Iw'(RdAlu);
    assign p_rd_valid[ch] = rd_valid_i[ch] && rd_id_i[Iw*ch+:Iw] == Iw'(RdPool);
    assign rd_ready_o[ch] = rd_id_i[Iw*ch+:Iw] == Iw'(RdAlu) ? a_rd_ready[ch] :
                          rd_id_i[Iw*ch+:Iw] == Iw'(RdPool) ? p_rd_ready[ch] : g_rd_ready[ch];

    // in the order of npu_pkg::WrId*: GEMM, POOL, ALU
    assign wr_req_valid_o[Wq*ch+:Wq] = {a_wr_req_valid[ch], p_wr_req_valid[ch], g_wr_req_valid[ch]};
    assign wr_req_addr_o[32*Wq*ch+:32*Wq] = {
      a_wr_req_addr[32*ch+:32], p_wr_req_addr[32*ch+:32], g_wr_req_addr[32*ch+:32]
    };
    assign wr_req_bytes_o[24*Wq*ch+:24*Wq] = {
      a_wr_req_bytes[24*ch+:24], p_wr_req_bytes[24*ch+:24], g_wr_req_bytes[24*ch+:24]
    };
    assign wr_valid_o[Wq*ch+:Wq] = {a_wr_valid[ch], p_wr_valid[ch], g_wr_valid[ch]};
    assign wr_data_o[128*Wq*ch+:128*Wq] = {a_wr_data[128*ch+:128], p_wr_data[128*ch+:128], g_wr_data[128*ch+:128]};
  end

  // ---------------------------------------------------------------- clocks of the units
  // A unit's clock runs from the valid of a task to four cycles after the last one is complete (end of its pulses).
  logic [2:0] unit_work, unit_clk;  // {pool, alu, gemm}
  assign unit_work = {pool_valid_i | pool_busy_o, alu_valid_i | alu_busy_o, gemm_valid_i | gemm_busy_o};
  for (genvar u = 0; u < 3; u++) begin : g_clk
    logic [3:0] tail_q;
    logic en;
    assign en = unit_work[u] || tail_q != 4'd0;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) tail_q <= '1;
      else tail_q <= {tail_q[2:0], unit_work[u] || srst_i};
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
    .EnInt16(EnInt16),
    .ClkGate(ClkGate)
  ) u_gemm (
    .clk_i(unit_clk[0]),
    .rst_ni(eng_rst_n),
    .task_valid_i(gemm_valid_i),
    .task_ready_o(gemm_ready_o),
    .task_i(gemm_task_i),
    .task_done_o(gemm_done_o),
    .busy_o(gemm_busy_o),
    .rd_req_valid_o(g_rd_req_valid),
    .rd_req_ready_i(g_rd_req_ready),
    .rd_req_addr_o(g_rd_req_addr),
    .rd_req_bytes_o(g_rd_req_bytes),
    .rd_valid_i(g_rd_valid),
    .rd_ready_o(g_rd_ready),
    .rd_id_i,
    .rd_data_i,
    .wr_req_valid_o(g_wr_req_valid),
    .wr_req_ready_i({wr_req_ready_i[Wq+WrGemm], wr_req_ready_i[WrGemm]}),
    .wr_req_addr_o(g_wr_req_addr),
    .wr_req_bytes_o(g_wr_req_bytes),
    .wr_valid_o(g_wr_valid),
    .wr_ready_i({wr_ready_i[Wq+WrGemm], wr_ready_i[WrGemm]}),
    .wr_data_o(g_wr_data),
    .wr_idle_i({wr_idle_i[Wq+WrGemm], wr_idle_i[WrGemm]}),
    .wr_level_i({wr_level_i[16*(Wq+WrGemm)+:16], wr_level_i[16*WrGemm+:16]}),
    .event_o(gemm_event_o),
    .level_ofm_o,
    .level_ifm_o
  );

  if (EnAlu) begin : g_alu
    alu u_alu (
      .clk_i(unit_clk[1]),
      .rst_ni(eng_rst_n),
      .task_valid_i(alu_valid_i),
      .task_ready_o(alu_ready_o),
      .task_i(alu_task_i),
      .task_done_o(alu_done_o),
      .busy_o(alu_busy_o),
      .result_we_o(alu_result_we_o),
      .result_o(alu_result_o),
      .rd_req_valid_o(a_rd_req_valid),
      .rd_req_ready_i({rd_req_ready_i[Rq+RdAlu], rd_req_ready_i[RdAlu]}),
      .rd_req_addr_o(a_rd_req_addr),
      .rd_req_bytes_o(a_rd_req_bytes),
      .rd_valid_i(a_rd_valid),
      .rd_ready_o(a_rd_ready),
      .rd_data_i,
      .wr_req_valid_o(a_wr_req_valid),
      .wr_req_ready_i({wr_req_ready_i[Wq+WrAlu], wr_req_ready_i[WrAlu]}),
      .wr_req_addr_o(a_wr_req_addr),
      .wr_req_bytes_o(a_wr_req_bytes),
      .wr_valid_o(a_wr_valid),
      .wr_ready_i({wr_ready_i[Wq+WrAlu], wr_ready_i[WrAlu]}),
      .wr_data_o(a_wr_data),
      .wr_level_i({wr_level_i[16*(Wq+WrAlu)+:16], wr_level_i[16*WrAlu+:16]}),
      .wr_idle_i({wr_idle_i[Wq+WrAlu], wr_idle_i[WrAlu]}),
      .event_o(alu_event_o)
    );
  end else begin : g_no_alu
    logic unused;
    assign unused = ^{
      unit_clk[1], alu_valid_i, alu_task_i, a_rd_valid, rd_req_ready_i[Rq+RdAlu], rd_req_ready_i[RdAlu],
      wr_req_ready_i[Wq+WrAlu], wr_req_ready_i[WrAlu], wr_ready_i[Wq+WrAlu], wr_ready_i[WrAlu], wr_idle_i[Wq+WrAlu],
      wr_idle_i[WrAlu], wr_level_i[16*(Wq+WrAlu)+:16], wr_level_i[16*WrAlu+:16]
    };
    assign alu_ready_o = 1'b0;
    assign alu_done_o = 1'b0;
    assign alu_busy_o = 1'b0;
    assign alu_result_we_o = 1'b0;
    assign alu_result_o = '0;
    assign a_rd_req_valid = '0;
    assign a_rd_req_addr = '0;
    assign a_rd_req_bytes = '0;
    assign a_rd_ready = '0;
    assign a_wr_req_valid = '0;
    assign a_wr_req_addr = '0;
    assign a_wr_req_bytes = '0;
    assign a_wr_valid = '0;
    assign a_wr_data = '0;
    assign alu_event_o = '0;
  end

  if (EnPool) begin : g_pool
    pool #(
      .N(N)
    ) u_pool (
      .clk_i(unit_clk[2]),
      .rst_ni(eng_rst_n),
      .task_valid_i(pool_valid_i),
      .task_ready_o(pool_ready_o),
      .task_i(pool_task_i),
      .task_done_o(pool_done_o),
      .busy_o(pool_busy_o),
      .rd_req_valid_o(p_rd_req_valid),
      .rd_req_ready_i({rd_req_ready_i[Rq+RdPool], rd_req_ready_i[RdPool]}),
      .rd_req_addr_o(p_rd_req_addr),
      .rd_req_bytes_o(p_rd_req_bytes),
      .rd_valid_i(p_rd_valid),
      .rd_ready_o(p_rd_ready),
      .rd_data_i,
      .wr_req_valid_o(p_wr_req_valid),
      .wr_req_ready_i({wr_req_ready_i[Wq+WrPool], wr_req_ready_i[WrPool]}),
      .wr_req_addr_o(p_wr_req_addr),
      .wr_req_bytes_o(p_wr_req_bytes),
      .wr_valid_o(p_wr_valid),
      .wr_ready_i({wr_ready_i[Wq+WrPool], wr_ready_i[WrPool]}),
      .wr_data_o(p_wr_data),
      .wr_level_i({wr_level_i[16*(Wq+WrPool)+:16], wr_level_i[16*WrPool+:16]}),
      .wr_idle_i({wr_idle_i[Wq+WrPool], wr_idle_i[WrPool]}),
      .event_o(pool_event_o)
    );
  end else begin : g_no_pool
    logic unused;
    assign unused = ^{
      unit_clk[2], pool_valid_i, pool_task_i, p_rd_valid, rd_req_ready_i[Rq+RdPool], rd_req_ready_i[RdPool],
      wr_req_ready_i[Wq+WrPool], wr_req_ready_i[WrPool], wr_ready_i[Wq+WrPool], wr_ready_i[WrPool],
      wr_idle_i[Wq+WrPool], wr_idle_i[WrPool], wr_level_i[16*(Wq+WrPool)+:16], wr_level_i[16*WrPool+:16]
    };
    assign pool_ready_o = 1'b0;
    assign pool_done_o = 1'b0;
    assign pool_busy_o = 1'b0;
    assign p_rd_req_valid = '0;
    assign p_rd_req_addr = '0;
    assign p_rd_req_bytes = '0;
    assign p_rd_ready = '0;
    assign p_wr_req_valid = '0;
    assign p_wr_req_addr = '0;
    assign p_wr_req_bytes = '0;
    assign p_wr_valid = '0;
    assign p_wr_data = '0;
    assign pool_event_o = '0;
  end

endmodule
