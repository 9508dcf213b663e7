// The engine behind the task queue: loaders, block buffers, lanes, C buffer and store.
//
// start_i begins task_i, stable until done_o, which is 1 when everything of it was handed to the bus. Ports r0_*, r1_*
// and w_* are those of sgemm_bus. Events of the counters: ev_o = store, tile, pass, gap, wait for C, B, A, issue.
// Document: docs/sgemm/sgemm.md section 3.
module sgemm_engine #(
  parameter int unsigned Dim = 8,
  parameter int unsigned Vec = 8,
  parameter int unsigned R = 1,
  parameter int unsigned HalfBuf = 0
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   start_i,
  input  sgemm_pkg::sgemm_task_t task_i,
  output logic                   done_o,
  output logic [7:0]             ev_o,
  output logic [1:0]             r0_req_valid_o,
  input  logic [1:0]             r0_req_ready_i,
  output logic [63:0]            r0_req_addr_o,
  output logic [2*sgemm_pkg::JobW-1:0] r0_req_bytes_o,
  input  logic                   r0_dat_valid_i,
  output logic                   r0_dat_ready_o,
  input  logic                   r0_dat_id_i,
  input  logic [127:0]           r0_dat_i,
  output logic                   r1_req_valid_o,
  input  logic                   r1_req_ready_i,
  output logic [31:0]            r1_req_addr_o,
  output logic [sgemm_pkg::JobW-1:0] r1_req_bytes_o,
  input  logic                   r1_dat_valid_i,
  output logic                   r1_dat_ready_o,
  input  logic [127:0]           r1_dat_i,
  output logic                   w_req_valid_o,
  input  logic                   w_req_ready_i,
  output logic [31:0]            w_req_addr_o,
  output logic [sgemm_pkg::JobW-1:0] w_req_bytes_o,
  output logic                   w_dat_valid_o,
  input  logic                   w_dat_ready_i,
  output logic [127:0]           w_dat_o
);

  localparam int unsigned Bw = sgemm_pkg::Bw;
  localparam int unsigned Ww = sgemm_pkg::Ww;
  localparam int unsigned ElemW = HalfBuf != 0 ? 16 : 32;
  localparam int unsigned Aw = $clog2(Dim / R * (Dim / 4));

  // ------------------------------------------------------------------------------------------------ loaders
  logic a_valid, a_half, b_valid, b_half, c_valid, c_half;
  logic [Bw-1:0] a_seg, b_seg, c_seg;
  logic [Ww-1:0] a_grp, b_grp, c_grp;
  logic [3:0] a_mask, b_mask, c_mask;
  logic [4*ElemW-1:0] a_data, b_data;
  logic [127:0] c_data;
  logic a_loaded, b_loaded, c_loaded, drained, st_free;
  sgemm_load #(
    .Dim(Dim),
    .Vec(Vec),
    .ElemW(ElemW)
  ) u_load (
    .clk_i,
    .rst_ni,
    .start_i,
    .task_i,
    .drained_i(drained),
    .c_free_i(st_free),
    .a_loaded_o(a_loaded),
    .b_loaded_o(b_loaded),
    .c_loaded_o(c_loaded),
    .r0_req_valid_o,
    .r0_req_ready_i,
    .r0_req_addr_o,
    .r0_req_bytes_o,
    .r0_dat_valid_i,
    .r0_dat_ready_o,
    .r0_dat_id_i,
    .r0_dat_i,
    .r1_req_valid_o,
    .r1_req_ready_i,
    .r1_req_addr_o,
    .r1_req_bytes_o,
    .r1_dat_valid_i,
    .r1_dat_ready_o,
    .r1_dat_i,
    .a_valid_o(a_valid),
    .a_half_o(a_half),
    .a_seg_o(a_seg),
    .a_grp_o(a_grp),
    .a_mask_o(a_mask),
    .a_data_o(a_data),
    .b_valid_o(b_valid),
    .b_half_o(b_half),
    .b_seg_o(b_seg),
    .b_grp_o(b_grp),
    .b_mask_o(b_mask),
    .b_data_o(b_data),
    .c_valid_o(c_valid),
    .c_half_o(c_half),
    .c_seg_o(c_seg),
    .c_grp_o(c_grp),
    .c_mask_o(c_mask),
    .c_data_o(c_data)
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
    .rst_ni,
    .along_k_i(!task_i.ta),
    .wr_valid_i(a_valid),
    .wr_half_i(a_half),
    .wr_seg_i(a_seg),
    .wr_grp_i(a_grp),
    .wr_mask_i(a_mask),
    .wr_data_i(a_data),
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
    .rst_ni,
    .along_k_i(task_i.tb),
    .wr_valid_i(b_valid),
    .wr_half_i(b_half),
    .wr_seg_i(b_seg),
    .wr_grp_i(b_grp),
    .wr_mask_i(b_mask),
    .wr_data_i(b_data),
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
    .rst_ni,
    .start_i(start_i && !task_i.no_ab),
    .m_i(task_i.m),
    .n_i(task_i.n),
    .k_i(task_i.k),
    .c_zero_i(task_i.c_zero),
    .a_loaded_i(a_loaded),
    .b_loaded_i(b_loaded),
    .c_loaded_i(c_loaded && !task_i.no_ab),
    .c_free_i(st_free && task_i.c_zero && !task_i.no_ab),
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
    .rst_ni,
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
    .rst_ni,
    .m_re_i(cm_re),
    .m_rhalf_i(cm_rhalf),
    .m_raddr_i(cm_raddr),
    .m_rdata_o(cm_rdata),
    .m_we_i(cm_we),
    .m_whalf_i(cm_whalf),
    .m_waddr_i(cm_waddr),
    .m_wsel_i(cm_wsel),
    .m_wdata_i(cm_wdata),
    .l_we_i(c_valid),
    .l_half_i(c_half),
    .l_bank_i(2'(c_seg % Bw'(R))),
    .l_addr_i(Aw'(sgemm_pkg::c_word(c_seg, c_grp, 2'($clog2(R)), 12'(Dim / 4)))),
    .l_mask_i(c_mask),
    .l_data_i(c_data),
    .s_re_i(st_re),
    .s_half_i(st_half),
    .s_bank_i(st_bank),
    .s_addr_i(st_raddr),
    .s_rdata_o(st_rdata)
  );

  sgemm_c_st #(
    .Dim(Dim),
    .R(R)
  ) u_c_st (
    .clk_i,
    .rst_ni,
    .start_i,
    .m_i(task_i.m),
    .n_i(task_i.n),
    .addr_i(task_i.c_addr),
    .ld_i(task_i.ldc),
    .f16_i(task_i.c16),
    .zero_i(task_i.no_ab && task_i.c_zero),
    .tile_i(task_i.no_ab ? c_loaded : tile),
    .free_o(st_free),
    .done_o,
    .re_o(st_re),
    .half_o(st_half),
    .bank_o(st_bank),
    .raddr_o(st_raddr),
    .rdata_i(st_rdata),
    .req_valid_o(w_req_valid_o),
    .req_ready_i(w_req_ready_i),
    .req_addr_o(w_req_addr_o),
    .req_bytes_o(w_req_bytes_o),
    .dat_valid_o(w_dat_valid_o),
    .dat_ready_i(w_dat_ready_i),
    .dat_o(w_dat_o)
  );

  assign ev_o = {st_re, tile, pass_valid && pass_ready, gap, wait_c, wait_b, wait_a, issue};

  logic unused;
  assign unused = ^{c_grp, task_i};

endmodule
