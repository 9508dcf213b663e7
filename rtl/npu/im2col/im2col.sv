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
`include "assert.svh"

module im2col #(
  parameter int unsigned N = 8
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
  output logic [8*N-1:0]            wgt_word_o,
  output logic                      sel_o,
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
  localparam int unsigned Ln = $clog2(N);
  localparam int unsigned Cw = 27;  // signed coordinates: 65535 * 255 + 255 * 255 fits
  // enabled cycles after the last vector until acc has output the last sum
  localparam int unsigned MaxGroup = 2 * npu_pkg::OfmDepth / N;
  localparam int unsigned DrainCycles = 2 * N + 4;

  // ---------------------------------------------------------------- constants of a task
  typedef enum logic [2:0] {Idle, PrepA, PrepB, PrepDiv, PrepC, PrepD, Run, Finish} state_e;
  state_e state_q;

  logic [15:0]          icb;
  logic [15:0]          ocb_q;
  logic [Aw-1:0]        c_row_q;      // words of an input row; all word counts are modulo the ring
  logic [Aw:0]          c_rowwords_q; // the same, as a number
  logic [Aw-1:0]        c_sw_q;       // words from one output pixel to the next in a row
  logic [Aw-1:0]        c_shrow_q;    // words from one output row to the next
  logic [Aw-1:0]        c_dw_q, c_dhrow_q;
  logic [Aw-1:0]        c_wrap_q;     // words from the last pixel of an output row to the first of the next
  logic signed [Cw-1:0] c_xwrap_q;    // ow * sw
  logic [Aw-1:0]        c_awrap_q;    // words over a whole output row, minus a row step
  logic [6:0]           tile_dq_q;    // 2N = tile_dq * ow + tile_dr
  logic [6:0]           div_rem_q;
  logic signed [Cw-1:0] t_x_q, t_y_q; // step of a tile
  logic [Aw-1:0]        t_a_q;
  logic signed [Cw-1:0] x_first, y_first;
  logic [Aw-1:0]        adr_first_q;
  logic [Aw-1:0]        base_q;
  logic [Aw:0]          words_q;
  logic [16:0]          npix_q;
  logic [Cw-1:0]        y_span_q;     // (kh - 1) * dh + 1
  logic signed [Cw-1:0] y_end_q;      // rows from here on are needed by no output
  logic [15:0]          taps_q;
  logic [npu_pkg::WgtAw-1:0] c_wblk_q;  // words of weights of a block of output channels
  logic                 diag;         // one channel block at a time
  logic [8:0]           group;        // tiles of a group

  assign icb = 16'((17'(task_i.ic) + 17'(N - 1)) >> Ln);
  assign diag = task_i.op != npu_pkg::OpConv;
  assign group = task_i.group == 8'd0 ? 9'd1 : 32'(task_i.group) > MaxGroup ? 9'(MaxGroup) : {1'b0, task_i.group};
  assign x_first = -$signed(Cw'(task_i.pad_l));
  assign y_first = -$signed(Cw'(task_i.pad_t));

  // a row coordinate as a number of rows of the map
  function automatic logic [15:0] clip_row(input logic signed [Cw-1:0] y, input logic [15:0] ih);
    if (y <= 0) clip_row = '0;
    else if (y >= $signed({{(Cw - 16) {1'b0}}, ih})) clip_row = ih;
    else clip_row = y[15:0];
  endfunction

  // ---------------------------------------------------------------- weight stage
  logic                 w_valid_q;
  logic                 w_first_q, w_last_q;
  logic                 w_rel_q;       // the last tile that needs the weights (wgt_res: of the task)
  logic                 w_p_q;
  logic [7:0]           w_kx_q, w_ky_q;
  logic [15:0]          w_ib_q;
  logic [Aw-1:0]        w_tap_q;       // word offset of the tap and channel block
  logic [Aw-1:0]        w_tap_row_q;   // of the tap row
  logic [Aw-1:0]        w_tap_col_q;   // of the tap
  logic signed [Cw-1:0] w_dx_q, w_dy_q;
  logic [npu_pkg::WgtAw-1:0] w_base_q; // first word of the block
  logic                 w_bank_q;
  logic                 pp_q;          // bank of the next block without wgt_res
  logic [15:0]          w_top_q;       // rows of the input that the tile's group does not need
  logic [15:0]          blk_q;         // block of N output channels
  logic [npu_pkg::WgtAw-1:0] blk_base_q;  // wgt_res: its first word in its bank
  logic [Ln-1:0]        step_q;

  // tile at the head (the next one to start, or the one in the weight stage)
  logic [16:0]          tl_pix_q;      // its first pixel
  logic [15:0]          tl_ow_q;
  logic signed [Cw-1:0] tl_x_q, tl_y_q;
  logic [Aw-1:0]        tl_a_q;
  logic [8:0]           tl_cnt_q;      // tile of the group (wgt_res)
  logic                 tl_done_q;     // every tile has started
  // where the tiles start again for the next block: the task's first tile, with wgt_res the group's
  logic [16:0]          rs_pix_q;
  logic [15:0]          rs_ow_q;
  logic signed [Cw-1:0] rs_x_q, rs_y_q;
  logic [Aw-1:0]        rs_a_q;
  logic                 tl_known_q;    // rows have been checked for this tile
  logic [16:0]          tl_need_q;     // pixels that must have arrived
  logic                 tl_need_v_q;
  logic                 tl_end_row;
  logic [16:0]          tl_end_ow;
  logic signed [Cw-1:0] tl_ylast;
  logic [16:0]          rows_need;

  // ---------------------------------------------------------------- activation stage
  logic                 a_valid_q, a_first_q, a_last_q;
  logic                 a_sel_q;
  logic [15:0]          a_top_q;
  logic signed [Cw-1:0] a_dx_q, a_dy_q;
  logic [Aw-1:0]        a_tap_q;
  // start of the tile, and the walk over its pixels: position of the even pixel
  logic [16:0]          a_pix0_q, a_pix_q;
  logic [15:0]          a_ow0_q, a_ow_q;
  logic signed [Cw-1:0] a_x0_q, a_y0_q, a_x_q, a_y_q;
  logic [Aw-1:0]        a_a0_q, a_a_q;
  logic [15:0]          e_ow, o_ow;
  logic signed [Cw-1:0] e_x, e_y, o_x, o_y;
  logic [Aw-1:0]        e_a, o_a;
  logic signed [Cw-1:0] x0, y0, x1, y1;
  logic                 in0, in1;

  logic step_last, boundary, start_ok, w_next_valid, more_blocks;
  logic tile_begin;
  logic next_bank;
  logic w_mid;
  logic wgt_there;
  logic tl_is_last;   // of the map
  logic seg_last;     // of the group or of the map: the next block starts over
  logic blk_last;

  assign step_last = step_q == Ln'(N - 1);
  // the bank of the tile that would start now
  assign next_bank = task_i.wgt_res ? blk_q[0] : pp_q ^ (|wgt_release_o);
  assign wgt_there = task_i.op == npu_pkg::OpConvert ||
                     (task_i.wgt_res ? 16'(wgt_blocks_i[10*32'(next_bank)+:10]) > (blk_q >> 1) : wgt_full_i[next_bank]);
  assign boundary = (!w_valid_q && !a_valid_q) || step_last;
  assign w_mid = w_valid_q && !w_last_q;  // the tile in the weight stage has more blocks
  assign more_blocks = !tl_done_q;
  assign start_ok = state_q == Run && more_blocks && tl_known_q && wgt_there && tile_room_i;
  assign tile_begin = boundary && !w_mid && start_ok;
  assign w_next_valid = w_mid || start_ok;
  assign tile_start_o = tile_begin;

  // The position after this tile decides which row its last pixel is in.
  assign tl_end_ow = {1'b0, tl_ow_q} + {10'd0, div_rem_q};
  assign tl_end_row = tl_end_ow >= {1'b0, task_i.ow};

  // Rows that must be there: those up to the last tap row of the row after which the tile ends, at most all. A tile
  // that ends exactly at a row's end waits for a row more than it needs unless this is excluded.
  always_comb begin
    tl_ylast = tl_y_q + t_y_q;
    if (tl_end_row && tl_end_ow != {1'b0, task_i.ow}) tl_ylast = tl_ylast + $signed(Cw'(task_i.sh));
    else if (tl_end_ow == 17'd0) tl_ylast = tl_ylast - $signed(Cw'(task_i.sh));
    tl_ylast = tl_ylast + $signed(y_span_q);
    // the last tile may end beyond the map, and the ring need not hold more rows
    if (tl_ylast > y_end_q) tl_ylast = y_end_q;
    if (tl_ylast <= 0) rows_need = '0;
    else if (tl_ylast >= $signed(Cw'(task_i.ih))) rows_need = {1'b0, task_i.ih};
    else rows_need = tl_ylast[16:0];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tl_need_v_q <= 1'b0;
      tl_known_q <= 1'b0;
      tl_need_q <= '0;
    end else if (state_q != Run || tile_begin) begin
      tl_need_v_q <= 1'b0;
      tl_known_q <= 1'b0;
    end else begin
      tl_need_v_q <= 1'b1;
      tl_need_q <= 17'(rows_need * {1'b0, task_i.iw});
      if (tl_need_v_q && (ifm_all_i || tl_need_q <= pix_ready_i)) tl_known_q <= 1'b1;
    end
  end

  assign wait_ofm_o = state_q == Run && boundary && !w_mid && more_blocks && !tile_room_i;
  assign wait_ifm_o = state_q == Run && boundary && !w_mid && more_blocks && tile_room_i && !tl_known_q;
  assign wait_wgt_o = state_q == Run && boundary && !w_mid && more_blocks && tile_room_i && tl_known_q && !wgt_there;

  // ---------------------------------------------------------------- control
  assign task_pop_o = state_q == Finish && !a_valid_q && !w_valid_q && ifm_all_i;

  // Rows below `top` are not needed any more. They are freed one per cycle, and only after they have arrived.
  logic [15:0]          top;
  logic [15:0]          freed_rows_q;
  logic [16:0]          freed_pix_q, freed_pix_next;
  logic [Aw:0]          freed_words_q;
  logic                 free_row;
  assign top = a_valid_q ? a_top_q : w_valid_q ? w_top_q : state_q == Finish ? task_i.ih : clip_row(rs_y_q, task_i.ih);
  assign freed_pix_next = freed_pix_q + {1'b0, task_i.iw};
  assign free_row = task_i.wgt_res && (state_q == Run || state_q == Finish) && !task_pop_o && freed_rows_q < top &&
                    (ifm_all_i || freed_pix_next <= pix_ready_i);
  assign free_o = task_pop_o || free_row;
  assign free_words_o = task_pop_o ? words_q - freed_words_q : c_rowwords_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      freed_rows_q <= '0;
      freed_pix_q <= '0;
      freed_words_q <= '0;
    end else if (state_q == PrepA) begin
      freed_rows_q <= '0;
      freed_pix_q <= '0;
      freed_words_q <= '0;
    end else if (free_row) begin
      freed_rows_q <= freed_rows_q + 16'd1;
      freed_pix_q <= freed_pix_next;
      freed_words_q <= freed_words_q + c_rowwords_q;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      base_q <= '0;
    end else begin
      unique case (state_q)
        Idle: if (task_valid_i) state_q <= PrepA;
        PrepA: state_q <= PrepB;
        PrepB: state_q <= PrepDiv;
        PrepDiv: if (16'(div_rem_q) < task_i.ow) state_q <= PrepC;
        PrepC: state_q <= PrepD;
        PrepD: state_q <= Run;
        Run: if (!more_blocks && !w_valid_q) state_q <= Finish;
        default:
        if (task_pop_o) begin
          base_q <= base_q + words_q[Aw-1:0];
          state_q <= Idle;
        end
      endcase
    end
  end

  // constants, one or two products per state
  always_ff @(posedge clk_i) begin
    if (state_q == PrepA) begin
      ocb_q <= 16'((17'(task_i.oc) + 17'(N - 1)) >> Ln);
      c_row_q <= Aw'(32'(task_i.iw) * 32'(icb));
      c_rowwords_q <= (Aw + 1)'(32'(task_i.iw) * 32'(icb));
      taps_q <= 16'(task_i.kw) * 16'(task_i.kh);
      c_sw_q <= Aw'(32'(task_i.sw) * 32'(icb));
      c_dw_q <= Aw'(32'(task_i.dw) * 32'(icb));
      npix_q <= 17'(task_i.ow) * 17'(task_i.oh);
      y_span_q <= Cw'((32'(task_i.kh) - 32'd1) * 32'(task_i.dh) + 32'd1);
      tile_dq_q <= '0;
      div_rem_q <= 7'(2 * N);
    end
    if (state_q == PrepB) begin
      c_wblk_q <= npu_pkg::WgtAw'(diag ? 32'(taps_q) : (32'(taps_q) * 32'(icb)) << Ln);
      c_shrow_q <= Aw'(32'(task_i.sh) * 32'(c_row_q));
      c_dhrow_q <= Aw'(32'(task_i.dh) * 32'(c_row_q));
      words_q <= (Aw + 1)'(32'(task_i.ih) * 32'(c_rowwords_q));
      c_xwrap_q <= $signed(Cw'(32'(task_i.ow) * 32'(task_i.sw)));
      adr_first_q <= base_q - Aw'(32'(task_i.pad_t) * 32'(c_row_q)) - Aw'(32'(task_i.pad_l) * 32'(icb));
    end
    if (state_q == PrepDiv && 16'(div_rem_q) >= task_i.ow) begin
      div_rem_q <= div_rem_q - task_i.ow[6:0];
      tile_dq_q <= tile_dq_q + 7'd1;
    end
    if (state_q == PrepC) begin
      c_awrap_q <= c_shrow_q - Aw'(32'(task_i.ow) * 32'(c_sw_q));
      t_x_q <= $signed(Cw'(32'(div_rem_q) * 32'(task_i.sw)));
      t_y_q <= $signed(Cw'(32'(tile_dq_q) * 32'(task_i.sh)));
      y_end_q <= y_first + $signed(Cw'((32'(task_i.oh) - 32'd1) * 32'(task_i.sh))) + $signed(y_span_q);
      t_a_q <= Aw'(32'(tile_dq_q) * 32'(c_shrow_q)) + Aw'(32'(div_rem_q) * 32'(c_sw_q));
    end
    if (state_q == PrepD) c_wrap_q <= c_awrap_q + c_sw_q;
  end

  // ---------------------------------------------------------------- weight stage
  assign wgt_re_o = w_valid_q && task_i.op != npu_pkg::OpConvert;
  assign wgt_bank_o = w_bank_q;
  assign wgt_raddr_o = diag ? w_base_q : w_base_q + npu_pkg::WgtAw'(N - 1) - npu_pkg::WgtAw'(step_q);
  assign wgt_release_o = !(w_valid_q && step_last && w_last_q && w_rel_q) || task_i.op == npu_pkg::OpConvert ? 2'b00 :
                         task_i.wgt_res ? 2'b11 : w_bank_q ? 2'b10 : 2'b01;

  logic w_ib_last, w_kx_last;
  assign w_ib_last = diag || w_ib_q + 16'd1 == icb;
  assign w_kx_last = w_kx_q + 8'd1 == task_i.kw;

  // position of the next block within the tile
  logic [7:0]           n_kx, n_ky;
  logic [15:0]          n_ib;
  logic [Aw-1:0]        n_tap, n_tap_row, n_tap_col;
  logic signed [Cw-1:0] n_dx, n_dy;
  always_comb begin
    n_kx = w_kx_q;
    n_ky = w_ky_q;
    n_ib = w_ib_q + 16'd1;
    n_tap_row = w_tap_row_q;
    n_tap_col = w_tap_col_q;
    n_dx = w_dx_q;
    n_dy = w_dy_q;
    if (w_ib_last) begin
      n_ib = '0;
      n_kx = w_kx_q + 8'd1;
      n_tap_col = w_tap_col_q + c_dw_q;
      n_dx = w_dx_q + $signed(Cw'(task_i.dw));
      if (w_kx_last) begin
        n_kx = '0;
        n_ky = w_ky_q + 8'd1;
        n_tap_row = w_tap_row_q + c_dhrow_q;
        n_tap_col = w_tap_row_q + c_dhrow_q;
        n_dx = '0;
        n_dy = w_dy_q + $signed(Cw'(task_i.dh));
      end
    end
    n_tap = w_ib_last ? n_tap_col : w_tap_q + 1'b1;
    if (!w_mid) begin
      n_kx = '0;
      n_ky = '0;
      n_ib = '0;
      n_tap = '0;
      n_tap_row = '0;
      n_tap_col = '0;
      n_dx = '0;
      n_dy = '0;
    end
  end

  logic n_last;  // the next block is the last of its tile
  assign n_last = (diag || n_ib + 16'd1 == icb) && n_kx + 8'd1 == task_i.kw && n_ky + 8'd1 == task_i.kh;

  assign tl_is_last = tl_pix_q + 17'(2 * N) >= npix_q;
  assign seg_last = tl_is_last || (task_i.wgt_res && tl_cnt_q + 9'd1 == group);
  assign blk_last = blk_q + 16'd1 == ocb_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      w_valid_q <= 1'b0;
      w_first_q <= 1'b0;
      w_last_q <= 1'b0;
      w_rel_q <= 1'b0;
      w_top_q <= '0;
      pp_q <= 1'b0;
      w_p_q <= 1'b0;
      w_kx_q <= '0;
      w_ky_q <= '0;
      w_ib_q <= '0;
      w_tap_q <= '0;
      w_tap_row_q <= '0;
      w_tap_col_q <= '0;
      w_dx_q <= '0;
      w_dy_q <= '0;
      w_base_q <= '0;
      w_bank_q <= 1'b0;
      step_q <= '0;
    end else begin
      step_q <= (boundary || !(w_valid_q || a_valid_q)) ? '0 : step_q + 1'b1;
      if (w_valid_q && step_last) w_p_q <= !w_p_q;
      if (wgt_release_o != 2'b00 && !task_i.wgt_res) pp_q <= !pp_q;
      if (boundary) begin
        w_valid_q <= w_next_valid;
        if (w_next_valid) begin
          w_first_q <= !w_mid;
          w_last_q <= n_last;
          w_kx_q <= n_kx;
          w_ky_q <= n_ky;
          w_ib_q <= n_ib;
          w_tap_q <= n_tap;
          w_tap_row_q <= n_tap_row;
          w_tap_col_q <= n_tap_col;
          w_dx_q <= n_dx;
          w_dy_q <= n_dy;
          w_base_q <= w_mid ? w_base_q + npu_pkg::WgtAw'(diag ? 1 : N) : task_i.wgt_res ? blk_base_q : '0;
          if (!w_mid) begin
            w_bank_q <= next_bank;
            w_rel_q <= task_i.wgt_res ? tl_is_last && blk_last : seg_last;
            w_top_q <= clip_row(rs_y_q, task_i.ih);
          end
        end
      end
    end
  end

  // The tile that starts next. It advances when the current one starts, so the stages copy what they need then.
  logic [16:0]          c_pix_q;   // the tile in the weight stage
  logic [15:0]          c_ow_q;
  logic signed [Cw-1:0] c_x_q, c_y_q;
  logic [Aw-1:0]        c_a_q;

  always_ff @(posedge clk_i) begin
    if (state_q == PrepD) begin
      tl_pix_q <= '0;
      tl_ow_q <= '0;
      tl_x_q <= x_first;
      tl_y_q <= y_first;
      tl_a_q <= adr_first_q;
      rs_pix_q <= '0;
      rs_ow_q <= '0;
      rs_x_q <= x_first;
      rs_y_q <= y_first;
      rs_a_q <= adr_first_q;
      blk_q <= '0;
      blk_base_q <= '0;
      tl_cnt_q <= '0;
      tl_done_q <= 1'b0;
    end else if (tile_begin) begin
      c_pix_q <= tl_pix_q;
      c_ow_q <= tl_ow_q;
      c_x_q <= tl_x_q;
      c_y_q <= tl_y_q;
      c_a_q <= diag ? tl_a_q + Aw'(blk_q) : tl_a_q;
      tl_cnt_q <= seg_last ? '0 : tl_cnt_q + 9'd1;
      if (seg_last && !blk_last) begin  // the same tiles for the next block
        tl_pix_q <= rs_pix_q;
        tl_ow_q <= rs_ow_q;
        tl_x_q <= rs_x_q;
        tl_y_q <= rs_y_q;
        tl_a_q <= rs_a_q;
        blk_q <= blk_q + 16'd1;
        if (blk_q[0]) blk_base_q <= blk_base_q + c_wblk_q;
      end else begin
        tl_pix_q <= tn_pix;
        tl_ow_q <= tn_ow;
        tl_x_q <= tn_x;
        tl_y_q <= tn_y;
        tl_a_q <= tn_a;
        if (seg_last) begin
          blk_q <= '0;
          blk_base_q <= '0;
          rs_pix_q <= tn_pix;
          rs_ow_q <= tn_ow;
          rs_x_q <= tn_x;
          rs_y_q <= tn_y;
          rs_a_q <= tn_a;
        end
        tl_done_q <= tl_is_last && blk_last;
      end
    end
  end

  // the tile after the one at the head
  logic [16:0]          tn_pix;
  logic [15:0]          tn_ow;
  logic signed [Cw-1:0] tn_x, tn_y;
  logic [Aw-1:0]        tn_a;
  assign tn_pix = tl_pix_q + 17'(2 * N);
  assign tn_ow = tl_end_row ? 16'(tl_end_ow - {1'b0, task_i.ow}) : tl_end_ow[15:0];
  assign tn_x = tl_x_q + t_x_q - (tl_end_row ? c_xwrap_q : '0);
  assign tn_y = tl_y_q + t_y_q + (tl_end_row ? $signed(Cw'(task_i.sh)) : '0);
  assign tn_a = tl_a_q + t_a_q + (tl_end_row ? c_awrap_q : '0);

  // ---------------------------------------------------------------- activation stage
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      a_valid_q <= 1'b0;
      a_first_q <= 1'b0;
      a_last_q <= 1'b0;
      a_sel_q <= 1'b0;
      a_top_q <= '0;
    end else if (boundary) begin
      a_valid_q <= w_valid_q;
      a_first_q <= w_first_q;
      a_last_q <= w_last_q;
      a_sel_q <= w_p_q;
      a_top_q <= w_top_q;
    end
  end

  // the odd pixel follows the even one, the next even one follows the odd one
  assign o_ow = a_ow_q + 16'd1 == task_i.ow ? '0 : a_ow_q + 16'd1;
  assign o_x = a_ow_q + 16'd1 == task_i.ow ? x_first : a_x_q + $signed(Cw'(task_i.sw));
  assign o_y = a_ow_q + 16'd1 == task_i.ow ? a_y_q + $signed(Cw'(task_i.sh)) : a_y_q;
  assign o_a = a_a_q + (a_ow_q + 16'd1 == task_i.ow ? c_wrap_q : c_sw_q);
  assign e_ow = o_ow + 16'd1 == task_i.ow ? '0 : o_ow + 16'd1;
  assign e_x = o_ow + 16'd1 == task_i.ow ? x_first : o_x + $signed(Cw'(task_i.sw));
  assign e_y = o_ow + 16'd1 == task_i.ow ? o_y + $signed(Cw'(task_i.sh)) : o_y;
  assign e_a = o_a + (o_ow + 16'd1 == task_i.ow ? c_wrap_q : c_sw_q);

  always_ff @(posedge clk_i) begin
    if (boundary) begin
      a_dx_q <= w_dx_q;
      a_dy_q <= w_dy_q;
      a_tap_q <= w_tap_q;
      if (w_first_q) begin
        a_pix0_q <= c_pix_q;
        a_ow0_q <= c_ow_q;
        a_x0_q <= c_x_q;
        a_y0_q <= c_y_q;
        a_a0_q <= c_a_q;
        a_pix_q <= c_pix_q;
        a_ow_q <= c_ow_q;
        a_x_q <= c_x_q;
        a_y_q <= c_y_q;
        a_a_q <= c_a_q;
      end else begin
        a_pix_q <= a_pix0_q;
        a_ow_q <= a_ow0_q;
        a_x_q <= a_x0_q;
        a_y_q <= a_y0_q;
        a_a_q <= a_a0_q;
      end
    end else if (a_valid_q) begin
      a_pix_q <= a_pix_q + 17'd2;
      a_ow_q <= e_ow;
      a_x_q <= e_x;
      a_y_q <= e_y;
      a_a_q <= e_a;
    end
  end

  assign x0 = a_x_q + a_dx_q;
  assign y0 = a_y_q + a_dy_q;
  assign x1 = o_x + a_dx_q;
  assign y1 = o_y + a_dy_q;
  assign in0 = x0 >= 0 && x0 < $signed(Cw'(task_i.iw)) && y0 >= 0 && y0 < $signed(Cw'(task_i.ih)) && a_pix_q < npix_q;
  assign in1 = x1 >= 0 && x1 < $signed(Cw'(task_i.iw)) && y1 >= 0 && y1 < $signed(Cw'(task_i.ih)) &&
      a_pix_q + 17'd1 < npix_q;
  assign ifm_re_o = a_valid_q;
  assign ifm_raddr0_o = a_a_q + a_tap_q;
  assign ifm_raddr1_o = o_a + a_tap_q;

  // ---------------------------------------------------------------- to the mesh, one cycle after the reads
  logic in0_q, in1_q;
  logic [$clog2(DrainCycles+1)-1:0] drain_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in0_q <= 1'b0;
      in1_q <= 1'b0;
      wgt_p_o <= 1'b0;
      sel_o <= 1'b0;
      act_valid_o <= 1'b0;
      acc_first_o <= 1'b0;
      acc_last_o <= 1'b0;
      drain_q <= '0;
      mesh_en_o <= 1'b0;
    end else begin
      in0_q <= in0 && a_valid_q;
      in1_q <= in1 && a_valid_q;
      wgt_p_o <= w_p_q;
      sel_o <= a_sel_q;
      act_valid_o <= a_valid_q;
      acc_first_o <= a_valid_q && a_first_q;
      acc_last_o <= a_valid_q && a_last_q;
      if (w_valid_q || a_valid_q) drain_q <= $bits(drain_q)'(DrainCycles);
      else if (drain_q != '0) drain_q <= drain_q - 1'b1;
      mesh_en_o <= w_valid_q || a_valid_q || drain_q != '0;
    end
  end

  // depthwise: word r of the block has its weight in byte r only
  logic [Ln-1:0] w_row_q;
  logic [1:0]    w_op_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      w_row_q <= '0;
      w_op_q <= '0;
    end else if (w_valid_q) begin
      w_row_q <= Ln'(N - 1) - step_q;
      w_op_q <= task_i.op;
    end
  end
  always_comb begin
    wgt_word_o = wgt_rdata_i;
    if (w_op_q != npu_pkg::OpConv) begin
      for (int unsigned c = 0; c < N; c++)
        wgt_word_o[8*c+:8] = (w_op_q == npu_pkg::OpConvert ? 8'd1 : wgt_rdata_i[8*c+:8]) & {8{w_row_q == Ln'(c)}};
    end
  end
  logic [7:0] z_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) z_q <= '0;
    else if (a_valid_q) z_q <= task_i.zin;
  end
  assign act0_o = in0_q ? ifm_rdata0_i : {N{z_q}};
  assign act1_o = in1_q ? ifm_rdata1_i : {N{z_q}};

  `ASSERT(Im2colWeightsThere, !w_valid_q || task_i.op == npu_pkg::OpConvert || task_i.wgt_res || wgt_full_i[w_bank_q])
  `ASSERT(Im2colFreedRange, freed_rows_q <= task_i.ih || (state_q != Run && state_q != Finish))
  `ASSERT(Im2colStepRange, step_q == '0 || w_valid_q || a_valid_q)
  `ASSERT(Im2colWeightRange, !wgt_re_o || 32'(wgt_raddr_o) < npu_pkg::WgtDepth)

endmodule
