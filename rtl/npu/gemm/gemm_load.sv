// The loaders of the GEMM path and the buffers that they fill: input with layout, weights, factors.
//
// Each read channel has three requesters here, with the indices Ld*. The loaders work ahead of what reads the buffers:
// each engine takes its own task from the queue (engines in the order input, weights of bank 0 and 1, factors).
// Throughput: 16 bytes a cycle on each channel. Document: docs/npu/npu.md sections 4, 4.1 and 4.4.
module gemm_load #(
  parameter int unsigned N = 8,
  parameter int unsigned EnInt16 = 0,
  parameter bit ClkGate = 1'b1,  // the clock of the loaders stands still while they have nothing to do
  localparam int unsigned Lq = npu_pkg::GemmRdReqs - 1
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic [3:0]                    task_valid_i,
  input  npu_pkg::gemm_task_t           task_ifm_i,
  input  npu_pkg::gemm_task_t           task_wgt0_i,
  input  npu_pkg::gemm_task_t           task_wgt1_i,
  input  npu_pkg::gemm_task_t           task_par_i,
  output logic [3:0]                    task_pop_o,
  output logic                          busy_o,
  // read channels 0 and 1
  output logic [2*Lq-1:0]               rd_req_valid_o,
  input  logic [2*Lq-1:0]               rd_req_ready_i,
  output logic [64*Lq-1:0]              rd_req_addr_o,
  output logic [48*Lq-1:0]              rd_req_bytes_o,
  input  logic [2*Lq-1:0]               rd_valid_i,
  output logic [2*Lq-1:0]               rd_ready_o,
  input  logic [255:0]                  rd_data_i,
  // input: progress, words given back, reads
  output logic [16:0]                   pix_ready_o,
  output logic [2:0]                    ifm_loaded_o,
  output logic [15:0]                   level_o,       // words in ifm_buf
  input  logic                          ifm_free_i,
  input  logic [npu_pkg::IfmAw:0]       ifm_free_words_i,
  input  logic                          ifm_re_i,
  input  logic [npu_pkg::IfmAw-1:0]     ifm_raddr0_i,
  input  logic [npu_pkg::IfmAw-1:0]     ifm_raddr1_i,
  output logic [8*N-1:0]                ifm_rdata0_o,
  output logic [8*N-1:0]                ifm_rdata1_o,
  // weights
  output logic [1:0]                    wgt_full_o,
  output logic [19:0]                   wgt_blocks_o,
  input  logic [1:0]                    wgt_release_i,
  input  logic                          wgt_re_i,
  input  logic                          wgt_bank_i,
  input  logic [npu_pkg::WgtAw-1:0]     wgt_raddr_i,
  output logic [8*N-1:0]                wgt_rdata_o,
  // factors: of each post unit
  input  logic                          par_free_i,
  input  logic [npu_pkg::ParAw:0]       par_free_words_i,
  input  logic [1:0]                    par_re_i,
  input  logic [2*npu_pkg::ParAw-1:0]   par_raddr_i,
  output logic [255:0]                  par_oscale_o,
  output logic [255:0]                  par_bias_o
);

  localparam int unsigned Aw = npu_pkg::IfmAw;
  localparam int unsigned Ln = $clog2(N);
  localparam int unsigned LdPar = 0;
  localparam int unsigned LdWgt = 1;
  localparam int unsigned LdIfm = 2;

  logic ifm_active, par_active, ld_clk;
  logic [1:0] layout_active, wgt_active;
  clk_gate #(
    .Gate(ClkGate)
  ) u_ld_gate (
    .clk_i,
    .en_i(ifm_active || layout_active != 2'b00 || wgt_active != 2'b00 || par_active || !rst_ni),
    .clk_o(ld_clk)
  );

  // ---------------------------------------------------------------- input loader, layout, ifm_buf
  logic [1:0]    job_valid, job_ready, job_done;
  logic [31:0]   job_addr;
  logic [Ln:0]   job_nch;
  logic [6:0]    job_cnt;
  logic [Aw-1:0] job_waddr, job_stride;
  logic          ifm_busy;
  logic [1:0]    lw_valid, lw_ready;
  logic [2*Aw-1:0] lw_addr;
  logic [16*N-1:0] lw_data;

  ifm_ld #(
    .N(N),
    .EnInt16(EnInt16)
  ) u_ifm_ld (
    .clk_i(ld_clk),
    .rst_ni,
    .task_valid_i(task_valid_i[0]),
    .task_i(task_ifm_i),
    .task_pop_o(task_pop_o[0]),
    .busy_o(ifm_busy),
    .active_o(ifm_active),
    .free_i(ifm_free_i),
    .free_words_i(ifm_free_words_i),
    .level_o(level_o),
    .job_valid_o(job_valid),
    .job_ready_i(job_ready),
    .job_addr_o(job_addr),
    .job_nch_o(job_nch),
    .job_cnt_o(job_cnt),
    .job_waddr_o(job_waddr),
    .job_stride_o(job_stride),
    .job_done_i(job_done),
    .pix_ready_o(pix_ready_o),
    .loaded_o(ifm_loaded_o)
  );

  for (genvar ch = 0; ch < 2; ch++) begin : g_layout
    layout #(
      .N(N),
      .EnInt16(EnInt16)
    ) u_layout (
      .clk_i(ld_clk),
      .rst_ni,
      .cfg_in_scale_i(task_ifm_i.in_scale),
      .cfg_quant_i({task_ifm_i.full, task_ifm_i.rne, task_ifm_i.zin}),
      .active_o(layout_active[ch]),
      .cfg_cstep_i(task_ifm_i.ifm_cstep),
      .cfg_stride_i(job_stride),
      .cfg_nhwc_i(task_ifm_i.nhwc_in),
      .cfg_wide_i(EnInt16 != 0 && task_ifm_i.wide),
      .job_valid_i(job_valid[ch]),
      .job_ready_o(job_ready[ch]),
      .job_addr_i(job_addr),
      .job_nch_i(job_nch),
      .job_cnt_i(job_cnt),
      .job_waddr_i(job_waddr),
      .req_valid_o(rd_req_valid_o[Lq*ch+LdIfm]),
      .req_ready_i(rd_req_ready_i[Lq*ch+LdIfm]),
      .req_addr_o(rd_req_addr_o[32*(Lq*ch+LdIfm)+:32]),
      .req_bytes_o(rd_req_bytes_o[24*(Lq*ch+LdIfm)+:24]),
      .dat_valid_i(rd_valid_i[Lq*ch+LdIfm]),
      .dat_ready_o(rd_ready_o[Lq*ch+LdIfm]),
      .dat_i(rd_data_i[128*ch+:128]),
      .wr_valid_o(lw_valid[ch]),
      .wr_ready_i(lw_ready[ch]),
      .wr_addr_o(lw_addr[Aw*ch+:Aw]),
      .wr_data_o(lw_data[8*N*ch+:8*N]),
      .done_o(job_done[ch])
    );
  end

  // one write port: the units alternate
  logic lw_turn_q;
  logic lw_sel;
  assign lw_sel = lw_valid[1] && (!lw_valid[0] || lw_turn_q);
  assign lw_ready = lw_sel ? 2'b10 : 2'b01;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) lw_turn_q <= 1'b0;
    else if (lw_valid != 2'b00) lw_turn_q <= !lw_sel;
  end

  ifm_buf #(
    .N(N)
  ) u_ifm_buf (
    .clk_i,
    .we_i(lw_valid != 2'b00),
    .waddr_i(lw_sel ? lw_addr[2*Aw-1:Aw] : lw_addr[Aw-1:0]),
    .wdata_i(lw_sel ? lw_data[16*N-1:8*N] : lw_data[8*N-1:0]),
    .re_i(ifm_re_i),
    .raddr0_i(ifm_raddr0_i),
    .raddr1_i(ifm_raddr1_i),
    .rdata0_o(ifm_rdata0_o),
    .rdata1_o(ifm_rdata1_o)
  );

  // ---------------------------------------------------------------- weights
  logic [1:0] wgt_we, wgt_busy;
  logic [2*npu_pkg::WgtAw-1:0] wgt_wa;
  logic [16*N-1:0] wgt_wd;

  for (genvar ch = 0; ch < 2; ch++) begin : g_wgt_ld
    wgt_ld #(
      .N(N),
      .Bank(ch != 0),
      .EnInt16(EnInt16)
    ) u_wgt_ld (
      .clk_i(ld_clk),
      .rst_ni,
      .task_valid_i(task_valid_i[1+ch]),
      .task_i(ch == 0 ? task_wgt0_i : task_wgt1_i),
      .task_pop_o(task_pop_o[1+ch]),
      .busy_o(wgt_busy[ch]),
      .active_o(wgt_active[ch]),
      .req_valid_o(rd_req_valid_o[Lq*ch+LdWgt]),
      .req_ready_i(rd_req_ready_i[Lq*ch+LdWgt]),
      .req_addr_o(rd_req_addr_o[32*(Lq*ch+LdWgt)+:32]),
      .req_bytes_o(rd_req_bytes_o[24*(Lq*ch+LdWgt)+:24]),
      .dat_valid_i(rd_valid_i[Lq*ch+LdWgt]),
      .dat_ready_o(rd_ready_o[Lq*ch+LdWgt]),
      .dat_i(rd_data_i[128*ch+:128]),
      .we_o(wgt_we[ch]),
      .waddr_o(wgt_wa[npu_pkg::WgtAw*ch+:npu_pkg::WgtAw]),
      .wdata_o(wgt_wd[8*N*ch+:8*N]),
      .full_o(wgt_full_o[ch]),
      .blocks_o(wgt_blocks_o[10*ch+:10]),
      .release_i(wgt_release_i[ch])
    );
  end

  wgt_buf #(
    .N(N)
  ) u_wgt_buf (
    .clk_i,
    .rst_ni,
    .we_i(wgt_we),
    .waddr0_i(wgt_wa[npu_pkg::WgtAw-1:0]),
    .waddr1_i(wgt_wa[2*npu_pkg::WgtAw-1:npu_pkg::WgtAw]),
    .wdata0_i(wgt_wd[8*N-1:0]),
    .wdata1_i(wgt_wd[16*N-1:8*N]),
    .re_i(wgt_re_i),
    .rbank_i(wgt_bank_i),
    .raddr_i(wgt_raddr_i),
    .rdata_o(wgt_rdata_o)
  );

  // ---------------------------------------------------------------- factors
  logic [1:0] par_we, par_req_valid;
  logic [npu_pkg::ParAw-1:0] par_wa0, par_wa1;
  logic [23:0] par_bytes;
  logic [1:0] par_d_ready;
  logic       par_busy;

  par_ld u_par_ld (
    .clk_i(ld_clk),
    .rst_ni,
    .task_valid_i(task_valid_i[3]),
    .task_i(task_par_i),
    .task_pop_o(task_pop_o[3]),
    .busy_o(par_busy),
    .active_o(par_active),
    .free_i(par_free_i),
    .free_words_i(par_free_words_i),
    .req_valid_o(par_req_valid),
    .req_ready_i({rd_req_ready_i[Lq+LdPar], rd_req_ready_i[LdPar]}),
    .req_addr0_o(rd_req_addr_o[32*LdPar+:32]),
    .req_addr1_o(rd_req_addr_o[32*(Lq+LdPar)+:32]),
    .req_bytes_o(par_bytes),
    .dat_valid_i({rd_valid_i[Lq+LdPar], rd_valid_i[LdPar]}),
    .dat_ready_o(par_d_ready),
    .we_o(par_we),
    .waddr0_o(par_wa0),
    .waddr1_o(par_wa1)
  );

  assign rd_req_valid_o[LdPar] = par_req_valid[0];
  assign rd_req_valid_o[Lq+LdPar] = par_req_valid[1];
  assign rd_req_bytes_o[24*LdPar+:24] = par_bytes;
  assign rd_req_bytes_o[24*(Lq+LdPar)+:24] = par_bytes;
  assign rd_ready_o[LdPar] = par_d_ready[0];
  assign rd_ready_o[Lq+LdPar] = par_d_ready[1];

  par_buf u_par_buf (
    .clk_i,
    .we_i(par_we),
    .waddr0_i(par_wa0),
    .waddr1_i(par_wa1),
    .wdata0_i(rd_data_i[127:0]),
    .wdata1_i(rd_data_i[255:128]),
    .re_i(par_re_i),
    .raddr0_i(par_raddr_i[npu_pkg::ParAw-1:0]),
    .raddr1_i(par_raddr_i[2*npu_pkg::ParAw-1:npu_pkg::ParAw]),
    .oscale0_o(par_oscale_o[127:0]),
    .bias0_o(par_bias_o[127:0]),
    .oscale1_o(par_oscale_o[255:128]),
    .bias1_o(par_bias_o[255:128])
  );

  assign busy_o = ifm_busy || wgt_busy != 2'b00 || par_busy;

endmodule
