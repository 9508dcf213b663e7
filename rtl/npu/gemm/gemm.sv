// The GEMM path: task queue, loaders with their buffers (gemm_load), products (gemm_mac), post (docs/architecture.md
// section 10).
//
// Reads and writes go through two DMA channels; requesters of a read channel have the indices npu_pkg::RdId*. Tasks
// complete in order; task_done_o pulses when the last write response of a task has arrived.
// Latency and throughput are those of the parts (docs/npu/npu.md sections 4 and 4.1).
`include "assert.svh"

module gemm #(
  parameter int unsigned N = 8,
  parameter int unsigned PackMul = 0,  // of mesh
  parameter int unsigned EnInt16 = 0,  // 1: INT16 (docs/npu/npu.md section 3.2)
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

  localparam int unsigned Ln = $clog2(N);
  localparam int unsigned Rq = npu_pkg::GemmRdReqs;
  localparam int unsigned Lq = Rq - 1;  // of them the loaders'
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

  // ---------------------------------------------------------------- read channels: routing of the data
  logic [2*Rq-1:0] d_valid, d_ready;
  for (genvar ch = 0; ch < 2; ch++) begin : g_rd
    for (genvar r = 0; r < Rq; r++) begin : g_dst
      assign d_valid[Rq*ch+r] = rd_valid_i[ch] && rd_id_i[npu_pkg::RdIdW*ch+:npu_pkg::RdIdW] == npu_pkg::RdIdW'(r);
    end
    // the loaders' requesters; that of the partial sums lies between them
    assign rd_req_valid_o[Rq*ch+npu_pkg::RdIdPar] = ld_req_valid[Lq*ch];
    assign rd_req_valid_o[Rq*ch+npu_pkg::RdIdWgt+:2] = ld_req_valid[Lq*ch+1+:2];
    assign rd_req_addr_o[32*(Rq*ch+npu_pkg::RdIdPar)+:32] = ld_req_addr[32*Lq*ch+:32];
    assign rd_req_addr_o[32*(Rq*ch+npu_pkg::RdIdWgt)+:64] = ld_req_addr[32*(Lq*ch+1)+:64];
    assign rd_req_bytes_o[24*(Rq*ch+npu_pkg::RdIdPar)+:24] = ld_req_bytes[24*Lq*ch+:24];
    assign rd_req_bytes_o[24*(Rq*ch+npu_pkg::RdIdWgt)+:48] = ld_req_bytes[24*(Lq*ch+1)+:48];
    assign ld_req_ready[Lq*ch+:Lq] = {
      rd_req_ready_i[Rq*ch+npu_pkg::RdIdWgt+:2], rd_req_ready_i[Rq*ch+npu_pkg::RdIdPar]
    };
    assign ld_valid[Lq*ch+:Lq] = {d_valid[Rq*ch+npu_pkg::RdIdWgt+:2], d_valid[Rq*ch+npu_pkg::RdIdPar]};
    assign d_ready[Rq*ch+npu_pkg::RdIdPar] = ld_ready[Lq*ch];
    assign d_ready[Rq*ch+npu_pkg::RdIdWgt+:2] = ld_ready[Lq*ch+1+:2];
    assign rd_ready_o[ch] = d_ready[Rq*ch+32'(rd_id_i[npu_pkg::RdIdW*ch+:2])];
  end

  // ---------------------------------------------------------------- loaders and their buffers
  logic          ifm_free, ifm_re, ld_busy;
  logic [npu_pkg::IfmAw:0] ifm_free_words;
  logic [16:0]   pix_ready;
  logic [2:0]    ifm_loaded;
  logic [npu_pkg::IfmAw-1:0] ifm_ra0, ifm_ra1;
  logic [8*N-1:0] ifm_rd0, ifm_rd1, wgt_rd;
  logic [1:0]    wgt_full, wgt_release, par_re;
  logic [19:0]   wgt_blocks;
  logic          wgt_re, wgt_bank;
  logic [npu_pkg::WgtAw-1:0] wgt_ra;
  logic [2*npu_pkg::ParAw-1:0] par_ra;
  logic [255:0]  par_oscale, par_bias;
  logic [npu_pkg::ParAw:0] par_free_words;
  logic [2*Lq-1:0] ld_req_valid, ld_req_ready, ld_valid, ld_ready;
  logic [64*Lq-1:0] ld_req_addr;
  logic [48*Lq-1:0] ld_req_bytes;

  assign par_free_words = t_post.oscale_en || t_post.bias_en ? (npu_pkg::ParAw + 1)'((t_post.oc + 16'd3) >> 2) : '0;

  gemm_load #(
    .N(N),
    .EnInt16(EnInt16),
    .ClkGate(ClkGate)
  ) u_load (
    .clk_i,
    .rst_ni,
    .task_valid_i(t_valid[EPar:EIfm]),
    .task_ifm_i(t_ifm),
    .task_wgt0_i(t_wgt0),
    .task_wgt1_i(t_wgt1),
    .task_par_i(t_par),
    .task_pop_o(t_pop[EPar:EIfm]),
    .busy_o(ld_busy),
    .rd_req_valid_o(ld_req_valid),
    .rd_req_ready_i(ld_req_ready),
    .rd_req_addr_o(ld_req_addr),
    .rd_req_bytes_o(ld_req_bytes),
    .rd_valid_i(ld_valid),
    .rd_ready_o(ld_ready),
    .rd_data_i,
    .pix_ready_o(pix_ready),
    .ifm_loaded_o(ifm_loaded),
    .level_o(level_ifm_o),
    .ifm_free_i(ifm_free),
    .ifm_free_words_i(ifm_free_words),
    .ifm_re_i(ifm_re),
    .ifm_raddr0_i(ifm_ra0),
    .ifm_raddr1_i(ifm_ra1),
    .ifm_rdata0_o(ifm_rd0),
    .ifm_rdata1_o(ifm_rd1),
    .wgt_full_o(wgt_full),
    .wgt_blocks_o(wgt_blocks),
    .wgt_release_i(wgt_release),
    .wgt_re_i(wgt_re),
    .wgt_bank_i(wgt_bank),
    .wgt_raddr_i(wgt_ra),
    .wgt_rdata_o(wgt_rd),
    .par_free_i(task_done_o),
    .par_free_words_i(par_free_words),
    .par_re_i(par_re),
    .par_raddr_i(par_ra),
    .par_oscale_o(par_oscale),
    .par_bias_o(par_bias)
  );

  // ---------------------------------------------------------------- products and sums
  logic [1:0]    tiles_free, ofm_re;
  logic [2*Tw-1:0] free_tiles, ofm_ra;
  logic          tile_done;
  logic [2*Ln-1:0] ofm_col;
  logic [256*Cols-1:0] ofm_rd;

  gemm_mac #(
    .N(N),
    .PackMul(PackMul),
    .EnInt16(EnInt16)
  ) u_mac (
    .clk_i,
    .rst_ni,
    .task_valid_i(t_valid[EIm]),
    .task_i(t_im),
    .task_pop_o(t_pop[EIm]),
    .ifm_all_i(ifm_loaded != t_ptr[3*EIm+:3]),
    .pix_ready_i(pix_ready),
    .ifm_free_o(ifm_free),
    .ifm_free_words_o(ifm_free_words),
    .ifm_re_o(ifm_re),
    .ifm_raddr0_o(ifm_ra0),
    .ifm_raddr1_o(ifm_ra1),
    .ifm_rdata0_i(ifm_rd0),
    .ifm_rdata1_i(ifm_rd1),
    .wgt_full_i(wgt_full),
    .wgt_blocks_i(wgt_blocks),
    .wgt_release_o(wgt_release),
    .wgt_re_o(wgt_re),
    .wgt_bank_o(wgt_bank),
    .wgt_raddr_o(wgt_ra),
    .wgt_rdata_i(wgt_rd),
    .wide_i(t_post.requant),
    .tile_done_o(tile_done),
    .tiles_free_i(tiles_free),
    .free_tiles_i(free_tiles),
    .ofm_re_i(ofm_re),
    .ofm_col_i(ofm_col),
    .ofm_raddr_i(ofm_ra),
    .ofm_rdata_o(ofm_rd),
    .level_o(level_ofm_o),
    .act_valid_o(event_o[0]),
    .wait_o(event_o[3:1])
  );

  // ---------------------------------------------------------------- post and write-back
  logic [1:0] post_wait;
  logic [5:0] post_event;
  logic par_ready;
  logic post_clk;
  logic [1:0] post_active;
  clk_gate #(
    .Gate(ClkGate)
  ) u_post_gate (
    .clk_i,
    .en_i(post_active != 2'b00 || !rst_ni),
    .clk_o(post_clk)
  );


  assign event_o[4] = ld_busy;
  assign event_o[5] = post_event[0] || post_event[3];
  assign event_o[6] = post_event[1];
  assign event_o[7] = post_event[4];
  assign event_o[8] = post_event[2];
  assign event_o[9] = post_event[5];

  assign par_ready = t_ptr[3*EPar+:3] != t_ptr[3*EPost+:3];
  // Rows that no output needs may still be in flight when the last result is written: im2col drops the task after
  // the last.
  assign task_done_o = post_wait == 2'b11 && wr_idle_i == 2'b11 && t_ptr[3*EIm+:3] != t_ptr[3*EPost+:3];
  assign t_pop[EPost] = task_done_o;

  for (genvar c = 0; c < 2; c++) begin : g_post
    post #(
      .N(N),
      .EnInt16(EnInt16),
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

endmodule
