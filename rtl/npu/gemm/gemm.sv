// The GEMM path: task queue, loaders, buffers, im2col, mesh, acc, post (docs/architecture.md section 10).
//
// Reads and writes go through two DMA channels; requesters of a read channel have the indices npu_pkg::RdId*. Tasks
// complete in order; task_done_o pulses when the last write response of a task has arrived.
`include "assert.svh"

module gemm #(
  parameter int unsigned N = 8,
  parameter int unsigned PackMul = 0,  // of mesh
  parameter bit ClkGate = 1'b1  // the clocks of loaders and post stand still while they have nothing to do
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          task_valid_i,
  output logic                          task_ready_o,
  input  npu_pkg::gemm_task_t           task_i,
  output logic                          task_done_o,
  output logic                          busy_o,
  // read channels 0 and 1
  output logic [2*npu_pkg::GemmRdReqs-1:0]  rd_req_valid_o,
  input  logic [2*npu_pkg::GemmRdReqs-1:0]  rd_req_ready_i,
  output logic [64*npu_pkg::GemmRdReqs-1:0] rd_req_addr_o,
  output logic [48*npu_pkg::GemmRdReqs-1:0] rd_req_bytes_o,
  input  logic [1:0]                    rd_valid_i,
  output logic [1:0]                    rd_ready_o,
  input  logic [2*npu_pkg::RdIdW-1:0]     rd_id_i,
  input  logic [255:0]                  rd_data_i,
  // write channels 0 and 1
  output logic [1:0]                    wr_req_valid_o,
  input  logic [1:0]                    wr_req_ready_i,
  output logic [63:0]                   wr_req_addr_o,
  output logic [47:0]                   wr_req_bytes_o,
  output logic [1:0]                    wr_valid_o,
  input  logic [1:0]                    wr_ready_i,
  output logic [255:0]                  wr_data_o,
  input  logic [1:0]                    wr_idle_i,
  input  logic [31:0]                   wr_level_i,  // words of this path in send_buf 0 and 1
  // events: mesh busy; im2col waits for input, for weights, for space; a loader busy; post busy; post 0, 1 waits for
  // space in send_buf; post 0, 1 waits for partial sums
  output logic [9:0]                    event_o,
  output logic [15:0]                   level_ofm_o,  // tiles in ofm_buf
  output logic [15:0]                   level_ifm_o   // words in ifm_buf
);

  localparam int unsigned Aw = npu_pkg::IfmAw;
  localparam int unsigned Ln = $clog2(N);
  localparam int unsigned Rq = npu_pkg::GemmRdReqs;
  localparam int unsigned TileCap = 4 * npu_pkg::OfmDepth / N;  // tiles that ofm_buf holds
  localparam int unsigned Tw = npu_pkg::OfmAw + 1;
  localparam int unsigned Cols = N >= 16 ? 4 : N / 4;

  // engines of the queue
  localparam int unsigned EIfm = 0;
  localparam int unsigned EWgt0 = 1;
  localparam int unsigned EWgt1 = 2;
  localparam int unsigned EPar = 3;
  localparam int unsigned EIm = 4;
  localparam int unsigned EPost = 5;
  localparam int unsigned Engines = 6;

  // ---------------------------------------------------------------- tasks
  logic [Engines-1:0] t_valid, t_pop;
  logic [npu_pkg::GemmTaskW*Engines-1:0] t_all;
  logic [3*Engines-1:0] t_ptr;
  npu_pkg::gemm_task_t t_ifm, t_wgt0, t_wgt1, t_par, t_im, t_post;

  // The queue's clock runs when a task enters or leaves: what depends on tasks only needs no evaluation in between.
  logic queue_clk;
  clk_gate #(
    .Gate(ClkGate)
  ) u_queue_gate (
    .clk_i,
    .en_i(task_valid_i || t_pop != '0 || !rst_ni),
    .clk_o(queue_clk)
  );

  gemm_queue #(
    .Engines(Engines)
  ) u_queue (
    .clk_i(queue_clk),
    .rst_ni,
    .task_valid_i,
    .task_ready_o,
    .task_i,
    .valid_o(t_valid),
    .task_o(t_all),
    .pop_i(t_pop),
    .ptr_o(t_ptr),
    .busy_o
  );

  assign t_ifm = t_all[npu_pkg::GemmTaskW*EIfm+:npu_pkg::GemmTaskW];
  assign t_wgt0 = t_all[npu_pkg::GemmTaskW*EWgt0+:npu_pkg::GemmTaskW];
  assign t_wgt1 = t_all[npu_pkg::GemmTaskW*EWgt1+:npu_pkg::GemmTaskW];
  assign t_par = t_all[npu_pkg::GemmTaskW*EPar+:npu_pkg::GemmTaskW];
  assign t_im = t_all[npu_pkg::GemmTaskW*EIm+:npu_pkg::GemmTaskW];
  assign t_post = t_all[npu_pkg::GemmTaskW*EPost+:npu_pkg::GemmTaskW];

  // ---------------------------------------------------------------- clocks of loaders and post
  logic ifm_active, par_active, ld_clk, post_clk;
  logic [1:0] layout_active, wgt_active, post_active;
  clk_gate #(
    .Gate(ClkGate)
  ) u_ld_gate (
    .clk_i,
    .en_i(ifm_active || layout_active != 2'b00 || wgt_active != 2'b00 || par_active || !rst_ni),
    .clk_o(ld_clk)
  );
  clk_gate #(
    .Gate(ClkGate)
  ) u_post_gate (
    .clk_i,
    .en_i(post_active != 2'b00 || !rst_ni),
    .clk_o(post_clk)
  );

  // ---------------------------------------------------------------- read channels: routing of the data
  logic [2*Rq-1:0] d_valid, d_ready;
  for (genvar ch = 0; ch < 2; ch++) begin : g_rd
    for (genvar r = 0; r < Rq; r++) begin : g_dst
      assign d_valid[Rq*ch+r] = rd_valid_i[ch] && rd_id_i[npu_pkg::RdIdW*ch+:npu_pkg::RdIdW] == npu_pkg::RdIdW'(r);
    end
    assign rd_ready_o[ch] = d_ready[Rq*ch+32'(rd_id_i[npu_pkg::RdIdW*ch+:2])];
  end

  // ---------------------------------------------------------------- input loader, layout, ifm_buf
  logic          ifm_free;
  logic [Aw:0]   ifm_free_words;
  logic [1:0]    job_valid, job_ready, job_done;
  logic [31:0]   job_addr;
  logic [Ln:0]   job_nch;
  logic [6:0]    job_cnt;
  logic [Aw-1:0] job_waddr, job_stride;
  logic [16:0]   pix_ready;
  logic          ifm_busy;
  logic [2:0]    ifm_loaded;
  logic [1:0]    lw_valid, lw_ready;
  logic [2*Aw-1:0] lw_addr;
  logic [16*N-1:0] lw_data;

  ifm_ld #(
    .N(N)
  ) u_ifm_ld (
    .clk_i(ld_clk),
    .rst_ni,
    .task_valid_i(t_valid[EIfm]),
    .task_i(t_ifm),
    .task_pop_o(t_pop[EIfm]),
    .busy_o(ifm_busy),
    .active_o(ifm_active),
    .free_i(ifm_free),
    .free_words_i(ifm_free_words),
    .level_o(level_ifm_o),
    .job_valid_o(job_valid),
    .job_ready_i(job_ready),
    .job_addr_o(job_addr),
    .job_nch_o(job_nch),
    .job_cnt_o(job_cnt),
    .job_waddr_o(job_waddr),
    .job_stride_o(job_stride),
    .job_done_i(job_done),
    .pix_ready_o(pix_ready),
    .loaded_o(ifm_loaded)
  );

  for (genvar ch = 0; ch < 2; ch++) begin : g_layout
    layout #(
      .N(N)
    ) u_layout (
      .clk_i(ld_clk),
      .rst_ni,
      .cfg_in_scale_i(t_ifm.in_scale),
      .cfg_quant_i({t_ifm.full, t_ifm.rne, t_ifm.zin}),
      .active_o(layout_active[ch]),
      .cfg_cstep_i(t_ifm.ifm_cstep),
      .cfg_stride_i(job_stride),
      .cfg_nhwc_i(t_ifm.nhwc_in),
      .job_valid_i(job_valid[ch]),
      .job_ready_o(job_ready[ch]),
      .job_addr_i(job_addr),
      .job_nch_i(job_nch),
      .job_cnt_i(job_cnt),
      .job_waddr_i(job_waddr),
      .req_valid_o(rd_req_valid_o[Rq*ch+npu_pkg::RdIdIfm]),
      .req_ready_i(rd_req_ready_i[Rq*ch+npu_pkg::RdIdIfm]),
      .req_addr_o(rd_req_addr_o[32*(Rq*ch+npu_pkg::RdIdIfm)+:32]),
      .req_bytes_o(rd_req_bytes_o[24*(Rq*ch+npu_pkg::RdIdIfm)+:24]),
      .dat_valid_i(d_valid[Rq*ch+npu_pkg::RdIdIfm]),
      .dat_ready_o(d_ready[Rq*ch+npu_pkg::RdIdIfm]),
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

  logic          ifm_re;
  logic [Aw-1:0] ifm_ra0, ifm_ra1;
  logic [8*N-1:0] ifm_rd0, ifm_rd1;

  ifm_buf #(
    .N(N)
  ) u_ifm_buf (
    .clk_i,
    .we_i(lw_valid != 2'b00),
    .waddr_i(lw_sel ? lw_addr[2*Aw-1:Aw] : lw_addr[Aw-1:0]),
    .wdata_i(lw_sel ? lw_data[16*N-1:8*N] : lw_data[8*N-1:0]),
    .re_i(ifm_re),
    .raddr0_i(ifm_ra0),
    .raddr1_i(ifm_ra1),
    .rdata0_o(ifm_rd0),
    .rdata1_o(ifm_rd1)
  );

  // ---------------------------------------------------------------- weights
  logic [1:0] wgt_we, wgt_full, wgt_release, wgt_busy;
  logic [19:0] wgt_blocks;
  logic [2*npu_pkg::WgtAw-1:0] wgt_wa;
  logic [16*N-1:0] wgt_wd;
  logic wgt_re, wgt_bank;
  logic [npu_pkg::WgtAw-1:0] wgt_ra;
  logic [8*N-1:0] wgt_rd;

  for (genvar ch = 0; ch < 2; ch++) begin : g_wgt_ld
    wgt_ld #(
      .N(N),
      .Bank(ch != 0)
    ) u_wgt_ld (
      .clk_i(ld_clk),
      .rst_ni,
      .task_valid_i(t_valid[EWgt0+ch]),
      .task_i(ch == 0 ? t_wgt0 : t_wgt1),
      .task_pop_o(t_pop[EWgt0+ch]),
      .busy_o(wgt_busy[ch]),
      .active_o(wgt_active[ch]),
      .req_valid_o(rd_req_valid_o[Rq*ch+npu_pkg::RdIdWgt]),
      .req_ready_i(rd_req_ready_i[Rq*ch+npu_pkg::RdIdWgt]),
      .req_addr_o(rd_req_addr_o[32*(Rq*ch+npu_pkg::RdIdWgt)+:32]),
      .req_bytes_o(rd_req_bytes_o[24*(Rq*ch+npu_pkg::RdIdWgt)+:24]),
      .dat_valid_i(d_valid[Rq*ch+npu_pkg::RdIdWgt]),
      .dat_ready_o(d_ready[Rq*ch+npu_pkg::RdIdWgt]),
      .dat_i(rd_data_i[128*ch+:128]),
      .we_o(wgt_we[ch]),
      .waddr_o(wgt_wa[npu_pkg::WgtAw*ch+:npu_pkg::WgtAw]),
      .wdata_o(wgt_wd[8*N*ch+:8*N]),
      .full_o(wgt_full[ch]),
      .blocks_o(wgt_blocks[10*ch+:10]),
      .release_i(wgt_release[ch])
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
    .re_i(wgt_re),
    .rbank_i(wgt_bank),
    .raddr_i(wgt_ra),
    .rdata_o(wgt_rd)
  );

  // ---------------------------------------------------------------- factors
  logic [1:0] par_we, par_re, par_req_valid;
  logic [npu_pkg::ParAw-1:0] par_wa0, par_wa1;
  logic [2*npu_pkg::ParAw-1:0] par_ra;
  logic [23:0] par_bytes;
  logic [255:0] par_oscale, par_bias;
  logic [npu_pkg::ParAw:0] par_free_words;
  logic [1:0] par_d_ready;
  logic       par_busy;

  assign par_free_words = t_post.oscale_en || t_post.bias_en ? (npu_pkg::ParAw + 1)'((t_post.oc + 16'd3) >> 2) : '0;

  par_ld u_par_ld (
    .clk_i(ld_clk),
    .rst_ni,
    .task_valid_i(t_valid[EPar]),
    .task_i(t_par),
    .task_pop_o(t_pop[EPar]),
    .busy_o(par_busy),
    .active_o(par_active),
    .free_i(task_done_o),
    .free_words_i(par_free_words),
    .req_valid_o(par_req_valid),
    .req_ready_i({rd_req_ready_i[Rq+npu_pkg::RdIdPar], rd_req_ready_i[npu_pkg::RdIdPar]}),
    .req_addr0_o(rd_req_addr_o[32*npu_pkg::RdIdPar+:32]),
    .req_addr1_o(rd_req_addr_o[32*(Rq+npu_pkg::RdIdPar)+:32]),
    .req_bytes_o(par_bytes),
    .dat_valid_i({d_valid[Rq+npu_pkg::RdIdPar], d_valid[npu_pkg::RdIdPar]}),
    .dat_ready_o(par_d_ready),
    .we_o(par_we),
    .waddr0_o(par_wa0),
    .waddr1_o(par_wa1)
  );

  assign rd_req_valid_o[npu_pkg::RdIdPar] = par_req_valid[0];
  assign rd_req_valid_o[Rq+npu_pkg::RdIdPar] = par_req_valid[1];
  assign rd_req_bytes_o[24*npu_pkg::RdIdPar+:24] = par_bytes;
  assign rd_req_bytes_o[24*(Rq+npu_pkg::RdIdPar)+:24] = par_bytes;
  assign d_ready[npu_pkg::RdIdPar] = par_d_ready[0];
  assign d_ready[Rq+npu_pkg::RdIdPar] = par_d_ready[1];

  par_buf u_par_buf (
    .clk_i,
    .we_i(par_we),
    .waddr0_i(par_wa0),
    .waddr1_i(par_wa1),
    .wdata0_i(rd_data_i[127:0]),
    .wdata1_i(rd_data_i[255:128]),
    .re_i(par_re),
    .raddr0_i(par_ra[npu_pkg::ParAw-1:0]),
    .raddr1_i(par_ra[2*npu_pkg::ParAw-1:npu_pkg::ParAw]),
    .oscale0_o(par_oscale[127:0]),
    .bias0_o(par_bias[127:0]),
    .oscale1_o(par_oscale[255:128]),
    .bias1_o(par_bias[255:128])
  );

  // ---------------------------------------------------------------- im2col, mesh, acc
  logic tile_room, tile_start, mesh_en, wgt_p, act_sel, act_valid, act_first, act_last;
  logic [8*N-1:0] wgt_word, act0, act1;
  logic [32*N-1:0] ps0, ps1, sum0, sum1;
  logic [N-1:0] sum_valid;
  // The flags of a vector meet its results at acc N + 1 enabled cycles later.
  logic [N:0] first_q, last_q;

  im2col #(
    .N(N)
  ) u_im2col (
    .clk_i,
    .rst_ni,
    .task_valid_i(t_valid[EIm]),
    .task_i(t_im),
    .task_pop_o(t_pop[EIm]),
    .ifm_all_i(ifm_loaded != t_ptr[3*EIm+:3]),
    .pix_ready_i(pix_ready),
    .wgt_full_i(wgt_full),
    .wgt_blocks_i(wgt_blocks),
    .wgt_release_o(wgt_release),
    .free_o(ifm_free),
    .free_words_o(ifm_free_words),
    .tile_room_i(tile_room),
    .tile_start_o(tile_start),
    .wgt_re_o(wgt_re),
    .wgt_bank_o(wgt_bank),
    .wgt_raddr_o(wgt_ra),
    .wgt_rdata_i(wgt_rd),
    .ifm_re_o(ifm_re),
    .ifm_raddr0_o(ifm_ra0),
    .ifm_raddr1_o(ifm_ra1),
    .ifm_rdata0_i(ifm_rd0),
    .ifm_rdata1_i(ifm_rd1),
    .mesh_en_o(mesh_en),
    .wgt_p_o(wgt_p),
    .wgt_word_o(wgt_word),
    .sel_o(act_sel),
    .act0_o(act0),
    .act1_o(act1),
    .act_valid_o(act_valid),
    .acc_first_o(act_first),
    .acc_last_o(act_last),
    .wait_ifm_o(event_o[1]),
    .wait_wgt_o(event_o[2]),
    .wait_ofm_o(event_o[3])
  );

  assign event_o[0] = act_valid;
  assign event_o[4] = ifm_busy || wgt_busy != 2'b00 || par_busy;
  assign event_o[5] = post_event[0] || post_event[3];
  assign event_o[6] = post_event[1];
  assign event_o[7] = post_event[4];
  assign event_o[8] = post_event[2];
  assign event_o[9] = post_event[5];

  mesh #(
    .N(N),
    .PackMul(PackMul)
  ) u_mesh (
    .clk_i,
    .en_i(mesh_en),
    .wgt_p_i(wgt_p),
    .wgt_i(wgt_word),
    .sel_i(act_sel),
    .act0_i(act0),
    .act1_i(act1),
    .ps0_o(ps0),
    .ps1_o(ps1)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_q <= '0;
      last_q <= '0;
    end else if (mesh_en) begin
      first_q <= {first_q[N-1:0], act_first};
      last_q <= {last_q[N-1:0], act_last};
    end
  end

  acc #(
    .N(N)
  ) u_acc (
    .clk_i,
    .rst_ni,
    .en_i(mesh_en),
    .first_i(first_q[N]),
    .last_i(last_q[N]),
    .ps0_i(ps0),
    .ps1_i(ps1),
    .valid_o(sum_valid),
    .sum0_o(sum0),
    .sum1_o(sum1)
  );

  // ---------------------------------------------------------------- ofm_buf: credit and completed tiles
  logic [Tw-1:0] room0_q, room1_q;  // tiles that im2col may still start, by each post
  logic [1:0]    tiles_free;
  logic [2*Tw-1:0] free_tiles;
  logic          tile_done;
  logic [Ln-1:0] tile_cnt_q;  // results of the last column

  assign tile_room = room0_q != '0 && room1_q != '0;
  assign tile_done = sum_valid[N-1] && tile_cnt_q == Ln'(N - 1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      room0_q <= Tw'(TileCap);
      room1_q <= Tw'(TileCap);
      tile_cnt_q <= '0;
    end else begin
      room0_q <= room0_q - Tw'(tile_start) + (tiles_free[0] ? free_tiles[Tw-1:0] : '0);
      room1_q <= room1_q - Tw'(tile_start) + (tiles_free[1] ? free_tiles[2*Tw-1:Tw] : '0);
      if (sum_valid[N-1]) tile_cnt_q <= tile_cnt_q + 1'b1;
    end
  end

  logic [1:0] ofm_re;
  logic [2*Ln-1:0] ofm_col;
  logic [2*Tw-1:0] ofm_ra;
  logic [256*Cols-1:0] ofm_rd;

  ofm_buf #(
    .N(N)
  ) u_ofm_buf (
    .clk_i,
    .rst_ni,
    .we_i(sum_valid),
    .wdata0_i(sum0),
    .wdata1_i(sum1),
    .wide_i(t_post.requant),
    .re_i(ofm_re),
    .rcol0_i(ofm_col[Ln-1:0]),
    .rcol1_i(ofm_col[2*Ln-1:Ln]),
    .raddr0_i(ofm_ra[Tw-1:0]),
    .raddr1_i(ofm_ra[2*Tw-1:Tw]),
    .rdata0_o(ofm_rd[128*Cols-1:0]),
    .rdata1_o(ofm_rd[256*Cols-1:128*Cols])
  );

  // ---------------------------------------------------------------- post and write-back
  logic [1:0] post_wait;
  logic [5:0] post_event;
  logic par_ready;

  assign par_ready = t_ptr[3*EPar+:3] != t_ptr[3*EPost+:3];
  // Rows that no output needs may still be in flight when the last result is written: im2col drops the task after
  // the last.
  assign task_done_o = post_wait == 2'b11 && wr_idle_i == 2'b11 && t_ptr[3*EIm+:3] != t_ptr[3*EPost+:3];
  assign t_pop[EPost] = task_done_o;

  for (genvar c = 0; c < 2; c++) begin : g_post
    post #(
      .N(N),
      .Chan(c != 0),
      .ClkGate(ClkGate)
    ) u_post (
      .clk_i(post_clk),
      .rst_ni,
      .task_valid_i(t_valid[EPost]),
      .task_i(t_post),
      .par_ready_i(par_ready),
      .task_wait_o(post_wait[c]),
      .active_o(post_active[c]),
      .task_done_i(task_done_o),
      .tile_i(tile_done),
      .free_o(tiles_free[c]),
      .free_tiles_o(free_tiles[Tw*c+:Tw]),
      .par_re_o(par_re[c]),
      .par_addr_o(par_ra[npu_pkg::ParAw*c+:npu_pkg::ParAw]),
      .par_oscale_i(par_oscale[128*c+:128]),
      .par_bias_i(par_bias[128*c+:128]),
      .ofm_re_o(ofm_re[c]),
      .ofm_col_o(ofm_col[Ln*c+:Ln]),
      .ofm_addr_o(ofm_ra[Tw*c+:Tw]),
      .ofm_data_i(ofm_rd[128*Cols*c+:128*Cols]),
      .psum_req_valid_o(rd_req_valid_o[Rq*c+npu_pkg::RdIdPsum]),
      .psum_req_ready_i(rd_req_ready_i[Rq*c+npu_pkg::RdIdPsum]),
      .psum_req_addr_o(rd_req_addr_o[32*(Rq*c+npu_pkg::RdIdPsum)+:32]),
      .psum_req_bytes_o(rd_req_bytes_o[24*(Rq*c+npu_pkg::RdIdPsum)+:24]),
      .psum_valid_i(d_valid[Rq*c+npu_pkg::RdIdPsum]),
      .psum_ready_o(d_ready[Rq*c+npu_pkg::RdIdPsum]),
      .psum_i(rd_data_i[128*c+:128]),
      .wr_req_valid_o(wr_req_valid_o[c]),
      .wr_req_ready_i(wr_req_ready_i[c]),
      .wr_req_addr_o(wr_req_addr_o[32*c+:32]),
      .wr_req_bytes_o(wr_req_bytes_o[24*c+:24]),
      .wr_valid_o(wr_valid_o[c]),
      .wr_ready_i(wr_ready_i[c]),
      .wr_data_o(wr_data_o[128*c+:128]),
      .wr_level_i(wr_level_i[16*c+:16]),
      .event_o(post_event[3*c+:3])
    );
  end

  assign level_ofm_o = 16'(TileCap) - (room0_q < room1_q ? 16'(room0_q) : 16'(room1_q));

  `ASSERT(GemmRoomRange, room0_q <= Tw'(TileCap) && room1_q <= Tw'(TileCap))
  `ASSERT(GemmRoomUnderflow, !tile_start || tile_room)

endmodule
