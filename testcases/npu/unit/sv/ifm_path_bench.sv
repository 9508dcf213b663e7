// Input loader, both layout units and the write port of ifm_buf that they share, wired as in gemm, with their gated
// clock.
module ifm_path_bench #(
  parameter int unsigned N = 8
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      task_valid_i,
  input  npu_pkg::gemm_task_t       task_i,
  output logic                      task_pop_o,
  output logic                      busy_o,
  input  logic                      free_i,
  input  logic [npu_pkg::IfmAw:0]   free_words_i,
  output logic [15:0]               level_o,
  output logic [16:0]               pix_ready_o,
  output logic [2:0]                loaded_o,
  output logic [1:0]                req_valid_o,
  input  logic [1:0]                req_ready_i,
  output logic [31:0]               req_addr0_o,
  output logic [31:0]               req_addr1_o,
  output logic [23:0]               req_bytes0_o,
  output logic [23:0]               req_bytes1_o,
  input  logic [1:0]                dat_valid_i,
  output logic [1:0]                dat_ready_o,
  input  logic [127:0]              dat0_i,
  input  logic [127:0]              dat1_i,
  output logic                      we_o,
  output logic [npu_pkg::IfmAw-1:0] waddr_o,
  output logic [8*N-1:0]            wdata_o
);

  localparam int unsigned Aw = npu_pkg::IfmAw;

  logic [1:0]            job_valid, job_ready, job_done;
  logic [31:0]           job_addr;
  logic [$clog2(N):0]    job_nch;
  logic [6:0]            job_cnt;
  logic [Aw-1:0]         job_waddr, job_stride;
  logic [63:0]           req_addr;
  logic [47:0]           req_bytes;
  logic [255:0]          dat;
  logic [1:0]            lw_valid, lw_ready;
  logic [2*Aw-1:0]       lw_addr;
  logic [16*N-1:0]       lw_data;
  logic                  lw_turn_q, lw_sel;

  assign req_addr0_o = req_addr[31:0];
  assign req_addr1_o = req_addr[63:32];
  assign req_bytes0_o = req_bytes[23:0];
  assign req_bytes1_o = req_bytes[47:24];
  assign dat = {dat1_i, dat0_i};

  logic       ifm_active, ld_clk;
  logic [1:0] layout_active;
  clk_gate u_ld_gate (
    .clk_i,
    .en_i(ifm_active || layout_active != 2'b00),
    .clk_o(ld_clk)
  );

  ifm_ld #(
    .N(N)
  ) u_ifm_ld (
    .*,
    .clk_i(ld_clk),
    .active_o(ifm_active),
    .job_valid_o(job_valid),
    .job_ready_i(job_ready),
    .job_addr_o(job_addr),
    .job_nch_o(job_nch),
    .job_cnt_o(job_cnt),
    .job_waddr_o(job_waddr),
    .job_stride_o(job_stride),
    .job_done_i(job_done)
  );

  for (genvar ch = 0; ch < 2; ch++) begin : g_layout
    layout #(
      .N(N)
    ) u_layout (
      .clk_i(ld_clk),
      .rst_ni,
      .cfg_in_scale_i(task_i.in_scale),
      .cfg_quant_i({task_i.full, task_i.rne, task_i.zin}),
      .cfg_cstep_i(task_i.ifm_cstep),
      .cfg_stride_i(job_stride),
      .cfg_nhwc_i(task_i.nhwc_in),
      .cfg_wide_i(1'b0),
      .job_valid_i(job_valid[ch]),
      .job_ready_o(job_ready[ch]),
      .job_addr_i(job_addr),
      .job_nch_i(job_nch),
      .job_cnt_i(job_cnt),
      .job_waddr_i(job_waddr),
      .req_valid_o(req_valid_o[ch]),
      .req_ready_i(req_ready_i[ch]),
      .req_addr_o(req_addr[32*ch+:32]),
      .req_bytes_o(req_bytes[24*ch+:24]),
      .dat_valid_i(dat_valid_i[ch]),
      .dat_ready_o(dat_ready_o[ch]),
      .dat_i(dat[128*ch+:128]),
      .wr_valid_o(lw_valid[ch]),
      .wr_ready_i(lw_ready[ch]),
      .wr_addr_o(lw_addr[Aw*ch+:Aw]),
      .wr_data_o(lw_data[8*N*ch+:8*N]),
      .done_o(job_done[ch]),
      .active_o(layout_active[ch])
    );
  end

  assign lw_sel = lw_valid[1] && (!lw_valid[0] || lw_turn_q);
  assign lw_ready = lw_sel ? 2'b10 : 2'b01;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) lw_turn_q <= 1'b0;
    else if (lw_valid != 2'b00) lw_turn_q <= !lw_sel;
  end

  assign we_o = lw_valid != 2'b00;
  assign waddr_o = lw_sel ? lw_addr[2*Aw-1:Aw] : lw_addr[Aw-1:0];
  assign wdata_o = lw_sel ? lw_data[16*N-1:8*N] : lw_data[8*N-1:0];

endmodule
