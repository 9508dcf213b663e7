// The loaders of A, B and C, and what channel 0 reads first.
//
// start_i begins the walks of task_i, stable from then on. A and C share channel 0: requests of A go before those of C,
// but a tile's second block of A waits until its C is requested, so C is loaded in the gaps that A leaves and is never
// late because of blocks that are needed later.
// drained_i: a half of the buffers of A and B is free again; c_free_i: one of the C buffer. *_loaded_o: a block or tile
// can be read from the next cycle on. a_*, b_*, c_*: the words for the buffers (sgemm_ld).
// Document: docs/sgemm/sgemm.md section 3.
module sgemm_load #(
  parameter int unsigned Dim = 8,
  parameter int unsigned Vec = 8,
  parameter int unsigned ElemW = 32
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     start_i,
  input  sgemm_pkg::sgemm_task_t   task_i,
  input  logic                     drained_i,
  input  logic                     c_free_i,
  output logic                     a_loaded_o,
  output logic                     b_loaded_o,
  output logic                     c_loaded_o,
  // channel 0: A (bit 0) and C (bit 1)
  output logic [1:0]               r0_req_valid_o,
  input  logic [1:0]               r0_req_ready_i,
  output logic [63:0]              r0_req_addr_o,
  output logic [2*sgemm_pkg::JobW-1:0] r0_req_bytes_o,
  input  logic                     r0_dat_valid_i,
  output logic                     r0_dat_ready_o,
  input  logic                     r0_dat_id_i,
  input  logic [127:0]             r0_dat_i,
  // channel 1: B
  output logic                     r1_req_valid_o,
  input  logic                     r1_req_ready_i,
  output logic [31:0]              r1_req_addr_o,
  output logic [sgemm_pkg::JobW-1:0] r1_req_bytes_o,
  input  logic                     r1_dat_valid_i,
  output logic                     r1_dat_ready_o,
  input  logic [127:0]             r1_dat_i,
  // words
  output logic                     a_valid_o,
  output logic                     a_half_o,
  output logic [sgemm_pkg::Bw-1:0] a_seg_o,
  output logic [sgemm_pkg::Ww-1:0] a_grp_o,
  output logic [3:0]               a_mask_o,
  output logic [4*ElemW-1:0]       a_data_o,
  output logic                     b_valid_o,
  output logic                     b_half_o,
  output logic [sgemm_pkg::Bw-1:0] b_seg_o,
  output logic [sgemm_pkg::Ww-1:0] b_grp_o,
  output logic [3:0]               b_mask_o,
  output logic [4*ElemW-1:0]       b_data_o,
  output logic                     c_valid_o,
  output logic                     c_half_o,
  output logic [sgemm_pkg::Bw-1:0] c_seg_o,
  output logic [sgemm_pkg::Ww-1:0] c_grp_o,
  output logic [3:0]               c_mask_o,
  output logic [127:0]             c_data_o
);

  logic a_dat_ready, c_dat_ready;
  logic a_taken, a_taken_first, b_taken, b_taken_first, c_taken, c_taken_first;
  logic a_asked, b_asked, c_asked;
  assign r0_dat_ready_o = r0_dat_id_i == 1'(sgemm_pkg::RdIdA) ? a_dat_ready : c_dat_ready;

  // tiles whose C is requested minus tiles whose A is begun: -1, 0 .. 2
  logic [2:0] ahead_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ahead_q <= '0;
    else if (start_i) ahead_q <= '0;
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
    .rst_ni,
    .start_i(start_i && !task_i.no_ab),
    .m_i(task_i.m),
    .n_i(task_i.n),
    .k_i(task_i.k),
    .outer_i(task_i.ta ? sgemm_pkg::IndexK : sgemm_pkg::IndexI),
    .inner_i(task_i.ta ? sgemm_pkg::IndexI : sgemm_pkg::IndexK),
    .addr_i(task_i.a_addr),
    .ld_i(task_i.lda),
    .f16_i(task_i.a16),
    .half_i(task_i.half),
    .factor_i(task_i.alpha),
    .allow_i(task_i.c_zero || !ahead_q[2]),
    .free_i(drained_i),
    .taken_o(a_taken),
    .taken_first_o(a_taken_first),
    .asked_o(a_asked),
    .loaded_o(a_loaded_o),
    .req_valid_o(r0_req_valid_o[sgemm_pkg::RdIdA]),
    .req_ready_i(r0_req_ready_i[sgemm_pkg::RdIdA]),
    .req_addr_o(r0_req_addr_o[32*sgemm_pkg::RdIdA+:32]),
    .req_bytes_o(r0_req_bytes_o[sgemm_pkg::JobW*sgemm_pkg::RdIdA+:sgemm_pkg::JobW]),
    .dat_valid_i(r0_dat_valid_i && r0_dat_id_i == 1'(sgemm_pkg::RdIdA)),
    .dat_ready_o(a_dat_ready),
    .dat_i(r0_dat_i),
    .wr_valid_o(a_valid_o),
    .wr_half_o(a_half_o),
    .wr_seg_o(a_seg_o),
    .wr_grp_o(a_grp_o),
    .wr_mask_o(a_mask_o),
    .wr_data_o(a_data_o)
  );

  sgemm_ld #(
    .Dim(Dim),
    .Vec(Vec),
    .Scale(1'b0),
    .Round(1'b1),
    .ElemW(ElemW)
  ) u_b_ld (
    .clk_i,
    .rst_ni,
    .start_i(start_i && !task_i.no_ab),
    .m_i(task_i.m),
    .n_i(task_i.n),
    .k_i(task_i.k),
    .outer_i(task_i.tb ? sgemm_pkg::IndexJ : sgemm_pkg::IndexK),
    .inner_i(task_i.tb ? sgemm_pkg::IndexK : sgemm_pkg::IndexJ),
    .addr_i(task_i.b_addr),
    .ld_i(task_i.ldb),
    .f16_i(task_i.b16),
    .half_i(task_i.half),
    .factor_i(32'd0),
    .allow_i(1'b1),
    .free_i(drained_i),
    .taken_o(b_taken),
    .taken_first_o(b_taken_first),
    .asked_o(b_asked),
    .loaded_o(b_loaded_o),
    .req_valid_o(r1_req_valid_o),
    .req_ready_i(r1_req_ready_i),
    .req_addr_o(r1_req_addr_o),
    .req_bytes_o(r1_req_bytes_o),
    .dat_valid_i(r1_dat_valid_i),
    .dat_ready_o(r1_dat_ready_o),
    .dat_i(r1_dat_i),
    .wr_valid_o(b_valid_o),
    .wr_half_o(b_half_o),
    .wr_seg_o(b_seg_o),
    .wr_grp_o(b_grp_o),
    .wr_mask_o(b_mask_o),
    .wr_data_o(b_data_o)
  );

  // a tile of C is a block of a GEMM with one slice of k
  sgemm_ld #(
    .Dim(Dim),
    .Vec(32'd4),
    .Scale(1'b1)
  ) u_c_ld (
    .clk_i,
    .rst_ni,
    .start_i(start_i && !task_i.c_zero),
    .m_i(task_i.m),
    .n_i(task_i.n),
    .k_i(16'd1),
    .outer_i(sgemm_pkg::IndexI),
    .inner_i(sgemm_pkg::IndexJ),
    .addr_i(task_i.c_addr),
    .ld_i(task_i.ldc),
    .f16_i(task_i.c16),
    .half_i(1'b0),
    .factor_i(task_i.beta),
    .allow_i(1'b1),
    .free_i(c_free_i && !task_i.c_zero),
    .taken_o(c_taken),
    .taken_first_o(c_taken_first),
    .asked_o(c_asked),
    .loaded_o(c_loaded_o),
    .req_valid_o(r0_req_valid_o[sgemm_pkg::RdIdC]),
    .req_ready_i(r0_req_ready_i[sgemm_pkg::RdIdC]),
    .req_addr_o(r0_req_addr_o[32*sgemm_pkg::RdIdC+:32]),
    .req_bytes_o(r0_req_bytes_o[sgemm_pkg::JobW*sgemm_pkg::RdIdC+:sgemm_pkg::JobW]),
    .dat_valid_i(r0_dat_valid_i && r0_dat_id_i == 1'(sgemm_pkg::RdIdC)),
    .dat_ready_o(c_dat_ready),
    .dat_i(r0_dat_i),
    .wr_valid_o(c_valid_o),
    .wr_half_o(c_half_o),
    .wr_seg_o(c_seg_o),
    .wr_grp_o(c_grp_o),
    .wr_mask_o(c_mask_o),
    .wr_data_o(c_data_o)
  );

  logic unused;
  assign unused = ^{b_taken, b_taken_first, c_taken, c_taken_first, a_asked, b_asked, task_i};

endmodule
