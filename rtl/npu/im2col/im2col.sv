// im2col: streams weight blocks and the matching row vectors from the buffers into the mesh.
//
// Order        For each block of N output channels, for each tile of 2N output pixels, for kh, kw, ic block: one block
//              of N cycles (ic fastest; thesis section 3.3.1). Stream 0 takes the even pixels of the tile, stream 1 the
//              odd ones.
//              With wgt_res: for each group of G tiles, for each block of output channels, for each tile of the group.
// Depthwise    A block is N channels and one tap: the input words of that channel block, and one weight word, which
//              becomes the diagonal of the block's N weight words (convert: ones). No ic loop.
// Two stages   In the weight stage the N words of a block leave wgt_buf, last word first; in the activation stage, N
//              cycles later, the row vectors of the same block leave ifm_buf while the weight stage works on the next
//              block. Both stages step together every N cycles.
// INT16        (EnInt16, task_i.wide) A block takes 2N cycles; one pixel enters the mesh in a cycle, its low word in
//              stream 0 and its high word in stream 1; a tile is 2N pixels all the same. Weights are two words a row.
// Padding      A position outside the map (padding), or a pixel past the last one, gives a vector of the input's
//              zero-point (zin): nothing is read beyond the map and no expanded copy exists.
// Flow         A tile starts when its weights are in wgt_buf, its rows in ifm_buf and there is space for it in ofm_buf;
//              from then on it never stalls, so mesh and acc need no back-pressure.
// Outputs      wgt_p_o/wgt_word_o, sel_o/act*_o: to the mesh, one cycle after the buffer reads. acc_first_o and
//              acc_last_o mark vectors of a tile's first and last block (act_valid_o: a vector at all). mesh_en_o: the
//              array has work.
// Ring         ifm_base follows the allocation of ifm_ld. free_o returns words: with wgt_res row by row, when no
//              later tile (nor the current one) reads them and they have arrived; the rest, or all, when the task is
//              over.
// Latency      N cycles from the weight stage to the activation stage.
// Throughput   One weight word and two vectors a cycle; a block in N cycles, tiles without a gap.
`include "assert.svh"

module im2col #(
  parameter int unsigned N = 8,
  parameter int unsigned EnInt16 = 0
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      task_valid_i,
  input  npu_pkg::gemm_task_t       task_i,
  output logic                      task_pop_o,
  // progress of the loaders
  input  logic                      ifm_all_i,     // the whole input of this task has arrived
  input  logic [16:0]               pix_ready_i,   // else: so many pixels of it
  input  logic [1:0]                wgt_full_i,    // bank holds the next block
  input  logic [19:0]               wgt_blocks_i,  // wgt_res: blocks in bank 0 (low half) and bank 1
  output logic [1:0]                wgt_release_o,
  output logic                      free_o,
  output logic [npu_pkg::IfmAw:0]   free_words_o,
  // space in ofm_buf
  input  logic                      tile_room_i,
  output logic                      tile_start_o,
  // buffers
  output logic                      wgt_re_o,
  output logic                      wgt_bank_o,
  output logic [npu_pkg::WgtAw-1:0] wgt_raddr_o,
  input  logic [8*N-1:0]            wgt_rdata_i,
  output logic                      ifm_re_o,
  output logic [npu_pkg::IfmAw-1:0] ifm_raddr0_o,
  output logic [npu_pkg::IfmAw-1:0] ifm_raddr1_o,
  input  logic [8*N-1:0]            ifm_rdata0_i,
  input  logic [8*N-1:0]            ifm_rdata1_i,
  // mesh
  output logic                      mesh_en_o,
  output logic                      wgt_p_o,
  output logic                      wgt_wide_o,
  output logic [8*N-1:0]            wgt_word_o,
  output logic                      sel_o,
  output logic                      act_wide_o,
  output logic [8*N-1:0]            act0_o,
  output logic [8*N-1:0]            act1_o,
  output logic                      act_valid_o,
  output logic                      acc_first_o,
  output logic                      acc_last_o,
  // events for the performance counters
  output logic                      wait_ifm_o,
  output logic                      wait_wgt_o,
  output logic                      wait_ofm_o
);

  localparam int unsigned Aw = npu_pkg::IfmAw;
  localparam int unsigned Cw = npu_pkg::CoordW;
  localparam int unsigned Ln = $clog2(N);

  typedef enum logic [2:0] {Idle, PrepA, PrepB, PrepDiv, PrepC, PrepD, Run, Finish} state_e;
  state_e state_q;

  npu_pkg::im2col_consts_t  consts;
  logic                 div_done;
  // the tile that starts next
  logic                 known, tiles_done, last_use;
  logic [15:0]          blk, head_top;
  logic [npu_pkg::WgtAw-1:0] blk_base;
  // the tile in the weight stage
  logic [16:0]          c_pix;
  logic [15:0]          c_ow, c_top;
  logic signed [Cw-1:0] c_x, c_y;
  logic [Aw-1:0]        c_a;
  // the block in the weight stage
  logic                 wgt_there;
  logic                 w_valid, w_mid, w_first, w_last, w_par;
  logic [Aw-1:0]        w_tap;
  logic signed [Cw-1:0] w_dx, w_dy;
  // the block in the activation stage
  logic                 a_valid, a_first, a_last, a_par;
  logic                 in0, in1;

  // ---------------------------------------------------------------- control
  assign task_pop_o = state_q == Finish && !a_valid && !w_valid && ifm_all_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle: if (task_valid_i) state_q <= PrepA;
        PrepA: state_q <= PrepB;
        PrepB: state_q <= PrepDiv;
        PrepDiv: if (div_done) state_q <= PrepC;
        PrepC: state_q <= PrepD;
        PrepD: state_q <= Run;
        Run: if (tiles_done && !w_valid) state_q <= Finish;
        default: if (task_pop_o) state_q <= Idle;
      endcase
    end
  end

  // ---------------------------------------------------------------- the steps of both stages, starts of tiles
  logic [Ln:0]   step_q;
  logic          step_last, boundary, at_start, tile_begin;

  assign step_last = step_q == (EnInt16 != 0 && task_i.wide ? (Ln + 1)'(2 * N - 1) : (Ln + 1)'(N - 1));
  assign boundary = (!w_valid && !a_valid) || step_last;
  // a tile is to start now, if it can
  assign at_start = state_q == Run && boundary && !w_mid && !tiles_done;
  assign tile_begin = at_start && known && wgt_there && tile_room_i;
  assign tile_start_o = tile_begin;
  assign wait_ofm_o = at_start && !tile_room_i;
  assign wait_ifm_o = at_start && tile_room_i && !known;
  assign wait_wgt_o = at_start && tile_room_i && known && !wgt_there;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) step_q <= '0;
    else step_q <= boundary ? '0 : step_q + 1'b1;
  end

  // ---------------------------------------------------------------- parts
  im2col_prep #(
    .N(N),
    .EnInt16(EnInt16)
  ) u_prep (
    .clk_i,
    .rst_ni,
    .task_i,
    .prep_a_i(state_q == PrepA),
    .prep_b_i(state_q == PrepB),
    .prep_div_i(state_q == PrepDiv),
    .prep_c_i(state_q == PrepC),
    .prep_d_i(state_q == PrepD),
    .pop_i(task_pop_o),
    .div_done_o(div_done),
    .consts_o(consts)
  );

  im2col_tiles #(
    .N(N),
    .EnInt16(EnInt16)
  ) u_tiles (
    .clk_i,
    .rst_ni,
    .task_i,
    .consts_i(consts),
    .first_i(state_q == PrepD),
    .run_i(state_q == Run),
    .begin_i(tile_begin),
    .ifm_all_i,
    .pix_ready_i,
    .known_o(known),
    .done_o(tiles_done),
    .blk_o(blk),
    .blk_base_o(blk_base),
    .last_use_o(last_use),
    .head_top_o(head_top),
    .c_pix_o(c_pix),
    .c_ow_o(c_ow),
    .c_x_o(c_x),
    .c_y_o(c_y),
    .c_a_o(c_a),
    .c_top_o(c_top)
  );

  im2col_wgt #(
    .N(N),
    .EnInt16(EnInt16)
  ) u_wgt (
    .clk_i,
    .rst_ni,
    .task_i,
    .consts_i(consts),
    .boundary_i(boundary),
    .step_i(step_q),
    .begin_i(tile_begin),
    .blk_i(blk),
    .blk_base_i(blk_base),
    .last_use_i(last_use),
    .there_o(wgt_there),
    .wgt_full_i,
    .wgt_blocks_i,
    .release_o(wgt_release_o),
    .re_o(wgt_re_o),
    .bank_o(wgt_bank_o),
    .raddr_o(wgt_raddr_o),
    .valid_o(w_valid),
    .mid_o(w_mid),
    .first_o(w_first),
    .last_o(w_last),
    .par_o(w_par),
    .tap_o(w_tap),
    .dx_o(w_dx),
    .dy_o(w_dy)
  );

  assign ifm_re_o = a_valid;
  im2col_act #(
    .EnInt16(EnInt16)
  ) u_act (
    .clk_i,
    .rst_ni,
    .task_i,
    .consts_i(consts),
    .boundary_i(boundary),
    .c_pix_i(c_pix),
    .c_ow_i(c_ow),
    .c_x_i(c_x),
    .c_y_i(c_y),
    .c_a_i(c_a),
    .w_valid_i(w_valid),
    .w_first_i(w_first),
    .w_last_i(w_last),
    .w_par_i(w_par),
    .w_tap_i(w_tap),
    .w_dx_i(w_dx),
    .w_dy_i(w_dy),
    .valid_o(a_valid),
    .first_o(a_first),
    .last_o(a_last),
    .par_o(a_par),
    .in0_o(in0),
    .in1_o(in1),
    .raddr0_o(ifm_raddr0_o),
    .raddr1_o(ifm_raddr1_o)
  );

  im2col_free u_free (
    .clk_i,
    .rst_ni,
    .task_i,
    .consts_i(consts),
    .first_i(state_q == PrepA),
    .run_i(state_q == Run),
    .finish_i(state_q == Finish),
    .pop_i(task_pop_o),
    .boundary_i(boundary),
    .w_valid_i(w_valid),
    .a_valid_i(a_valid),
    .c_top_i(c_top),
    .head_top_i(head_top),
    .ifm_all_i,
    .pix_ready_i,
    .free_o,
    .free_words_o
  );

  im2col_out #(
    .N(N),
    .EnInt16(EnInt16)
  ) u_out (
    .clk_i,
    .rst_ni,
    .task_i,
    .step_i(step_q),
    .w_valid_i(w_valid),
    .w_par_i(w_par),
    .a_valid_i(a_valid),
    .a_first_i(a_first),
    .a_last_i(a_last),
    .a_par_i(a_par),
    .in0_i(in0),
    .in1_i(in1),
    .wgt_rdata_i,
    .ifm_rdata0_i,
    .ifm_rdata1_i,
    .mesh_en_o,
    .wgt_p_o,
    .wgt_wide_o,
    .wgt_word_o,
    .sel_o,
    .act_wide_o,
    .act0_o,
    .act1_o,
    .act_valid_o,
    .acc_first_o,
    .acc_last_o
  );

  `ASSERT(Im2colStepRange, step_q == '0 || w_valid || a_valid)

endmodule
