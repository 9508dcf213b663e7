// The products of the GEMM path: im2col, mesh, acc and ofm_buf with its credit.
//
// im2col streams the head task's weights and activations into the mesh, acc sums, ofm_buf keeps the sums of tiles until
// both post units have given them back. im2col starts a tile only when ofm_buf has space for it, so nothing stalls
// behind it.
// Throughput: a block in N cycles. Document: docs/npu/npu.md sections 4 to 4.3.
`include "assert.svh"

module gemm_mac #(
  parameter int unsigned N = 8,
  parameter int unsigned PackMul = 0,  // of mesh
  parameter int unsigned EnInt16 = 0,
  localparam int unsigned Ln = $clog2(N),
  localparam int unsigned Tw = npu_pkg::OfmAw + 1,
  localparam int unsigned Cols = N >= 16 ? 4 : N / 4  // channels that a post unit reads at a time
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          task_valid_i,
  input  npu_pkg::gemm_task_t           task_i,
  output logic                          task_pop_o,
  // input and weights
  input  logic                          ifm_all_i,  // the whole input of this task has arrived
  input  logic [16:0]                   pix_ready_i,
  output logic                          ifm_free_o,
  output logic [npu_pkg::IfmAw:0]       ifm_free_words_o,
  output logic                          ifm_re_o,
  output logic [npu_pkg::IfmAw-1:0]     ifm_raddr0_o,
  output logic [npu_pkg::IfmAw-1:0]     ifm_raddr1_o,
  input  logic [8*N-1:0]                ifm_rdata0_i,
  input  logic [8*N-1:0]                ifm_rdata1_i,
  input  logic [1:0]                    wgt_full_i,
  input  logic [19:0]                   wgt_blocks_i,
  output logic [1:0]                    wgt_release_o,
  output logic                          wgt_re_o,
  output logic                          wgt_bank_o,
  output logic [npu_pkg::WgtAw-1:0]     wgt_raddr_o,
  input  logic [8*N-1:0]                wgt_rdata_i,
  // sums: of each post unit
  input  logic                          wide_i,        // all Cols channels are read
  output logic                          tile_done_o,
  input  logic [1:0]                    tiles_free_i,
  input  logic [2*Tw-1:0]               free_tiles_i,
  input  logic [1:0]                    ofm_re_i,
  input  logic [2*Ln-1:0]               ofm_col_i,
  input  logic [2*Tw-1:0]               ofm_raddr_i,
  output logic [256*Cols-1:0]           ofm_rdata_o,
  output logic [15:0]                   level_o,       // tiles in ofm_buf
  // events: a vector enters the mesh; im2col waits for input, weights, space
  output logic                          act_valid_o,
  output logic [2:0]                    wait_o
);

  localparam int unsigned TileCap = 4 * npu_pkg::OfmDepth / N;  // tiles that ofm_buf holds; one of INT16 counts twice

  // ---------------------------------------------------------------- im2col, mesh, acc
  logic tile_room, tile_start, mesh_en, wgt_p, wgt_wide, act_sel, act_wide, act_first, act_last;
  logic [8*N-1:0] wgt_word, act0, act1;
  logic [32*N-1:0] ps0, ps1, sum0, sum1;
  logic [N-1:0] sum_valid;
  // The flags of a vector meet its results at acc N + 1 enabled cycles later.
  logic [N:0] first_q, last_q, wide_q;

  im2col #(
    .N(N),
    .EnInt16(EnInt16)
  ) u_im2col (
    .clk_i,
    .rst_ni,
    .task_valid_i,
    .task_i,
    .task_pop_o,
    .ifm_all_i,
    .pix_ready_i,
    .wgt_full_i,
    .wgt_blocks_i,
    .wgt_release_o,
    .free_o(ifm_free_o),
    .free_words_o(ifm_free_words_o),
    .tile_room_i(tile_room),
    .tile_start_o(tile_start),
    .wgt_re_o,
    .wgt_bank_o,
    .wgt_raddr_o,
    .wgt_rdata_i,
    .ifm_re_o,
    .ifm_raddr0_o,
    .ifm_raddr1_o,
    .ifm_rdata0_i,
    .ifm_rdata1_i,
    .mesh_en_o(mesh_en),
    .wgt_p_o(wgt_p),
    .wgt_wide_o(wgt_wide),
    .wgt_word_o(wgt_word),
    .sel_o(act_sel),
    .act_wide_o(act_wide),
    .act0_o(act0),
    .act1_o(act1),
    .act_valid_o,
    .acc_first_o(act_first),
    .acc_last_o(act_last),
    .wait_ifm_o(wait_o[0]),
    .wait_wgt_o(wait_o[1]),
    .wait_ofm_o(wait_o[2])
  );

  mesh #(
    .N(N),
    .PackMul(PackMul),
    .EnInt16(EnInt16)
  ) u_mesh (
    .clk_i,
    .en_i(mesh_en),
    .wgt_p_i(wgt_p),
    .wgt_wide_i(wgt_wide),
    .wgt_i(wgt_word),
    .sel_i(act_sel),
    .act_wide_i(act_wide),
    .act0_i(act0),
    .act1_i(act1),
    .ps0_o(ps0),
    .ps1_o(ps1)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_q <= '0;
      last_q <= '0;
      wide_q <= '0;
    end else if (mesh_en) begin
      first_q <= {first_q[N-1:0], act_first};
      last_q <= {last_q[N-1:0], act_last};
      if (EnInt16 != 0) wide_q <= {wide_q[N-1:0], act_wide};
    end
  end

  acc #(
    .N(N),
    .EnInt16(EnInt16)
  ) u_acc (
    .clk_i,
    .rst_ni,
    .en_i(mesh_en),
    .first_i(first_q[N]),
    .last_i(last_q[N]),
    .wide_i(wide_q[N]),
    .ps0_i(ps0),
    .ps1_i(ps1),
    .valid_o(sum_valid),
    .sum0_o(sum0),
    .sum1_o(sum1)
  );

  // ---------------------------------------------------------------- ofm_buf: credit and completed tiles
  logic [Tw-1:0] room0_q, room1_q;  // tiles that im2col may still start, by each post
  logic [Ln-1:0] tile_cnt_q;  // results of the last column
  logic wide;  // im2col works on INT16

  assign wide = EnInt16 != 0 && task_i.wide;
  assign tile_room = room0_q > Tw'(wide) && room1_q > Tw'(wide);
  assign tile_done_o = sum_valid[N-1] && tile_cnt_q == Ln'(N - 1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      room0_q <= Tw'(TileCap);
      room1_q <= Tw'(TileCap);
      tile_cnt_q <= '0;
    end else begin
      room0_q <= room0_q - (Tw'(tile_start) << wide) + (tiles_free_i[0] ? free_tiles_i[Tw-1:0] : '0);
      room1_q <= room1_q - (Tw'(tile_start) << wide) + (tiles_free_i[1] ? free_tiles_i[2*Tw-1:Tw] : '0);
      if (sum_valid[N-1]) tile_cnt_q <= tile_cnt_q + 1'b1;
    end
  end

  ofm_buf #(
    .N(N)
  ) u_ofm_buf (
    .clk_i,
    .rst_ni,
    .we_i(sum_valid),
    .wdata0_i(sum0),
    .wdata1_i(sum1),
    .wide_i,
    .re_i(ofm_re_i),
    .rcol0_i(ofm_col_i[Ln-1:0]),
    .rcol1_i(ofm_col_i[2*Ln-1:Ln]),
    .raddr0_i(ofm_raddr_i[Tw-1:0]),
    .raddr1_i(ofm_raddr_i[2*Tw-1:Tw]),
    .rdata0_o(ofm_rdata_o[128*Cols-1:0]),
    .rdata1_o(ofm_rdata_o[256*Cols-1:128*Cols])
  );

  assign level_o = 16'(TileCap) - (room0_q < room1_q ? 16'(room0_q) : 16'(room1_q));

  `ASSERT(GemmRoomRange, room0_q <= Tw'(TileCap) && room1_q <= Tw'(TileCap))
  `ASSERT(GemmRoomUnderflow, !tile_start || tile_room)

endmodule
