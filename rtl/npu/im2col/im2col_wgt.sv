// Weight stage of im2col: the blocks of a tile, taps outermost, and the reads of their weights.
//
// Order        For kh, kw, ic block (fastest) of the tile in the stage: one block, whose N words leave wgt_buf, last
//              word first; depthwise: one word for each block.
//              INT16: of 2N words, the high bytes of a row before its low ones; depthwise: two words.
// Time         The stage moves to its next block at boundary_i, every N cycles (INT16: 2N) while it works; step_i
//              counts them.
//              begin_i, at such a boundary and only when mid_o is 0, starts a tile.
// Outputs      valid_o: a block is in the stage; first_o, last_o: of its tile; tap_o, dx_o, dy_o: what its tap and
//              channel block add to addresses and positions of pixels; par_o: 1 for every second block.
//              release_o (a pulse) gives banks of wgt_buf back after their last use.
// Throughput   A block in N cycles.
// Document     docs/npu/npu.md section 4.2.
`include "assert.svh"

module im2col_wgt #(
  parameter int unsigned N = 8,
  parameter int unsigned EnInt16 = 0
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  npu_pkg::gemm_task_t               task_i,
  input  npu_pkg::im2col_consts_t           consts_i,
  input  logic                              boundary_i,
  input  logic [$clog2(N):0]                step_i,
  input  logic                              begin_i,
  // the tile that starts next
  input  logic [15:0]                       blk_i,
  input  logic [npu_pkg::WgtAw-1:0]         blk_base_i,
  input  logic                              last_use_i,
  output logic                              there_o,  // its first weights are in wgt_buf
  // wgt_buf
  input  logic [1:0]                        wgt_full_i,
  input  logic [19:0]                       wgt_blocks_i,
  output logic [1:0]                        release_o,
  output logic                              re_o,
  output logic                              bank_o,
  output logic [npu_pkg::WgtAw-1:0]         raddr_o,
  // the block in the stage
  output logic                              valid_o,
  output logic                              mid_o,    // its tile has more blocks
  output logic                              first_o,
  output logic                              last_o,
  output logic                              par_o,
  output logic [npu_pkg::IfmAw-1:0]         tap_o,
  output logic signed [npu_pkg::CoordW-1:0] dx_o,
  output logic signed [npu_pkg::CoordW-1:0] dy_o
);

  localparam int unsigned Aw = npu_pkg::IfmAw;
  localparam int unsigned Cw = npu_pkg::CoordW;
  localparam int unsigned Ln = $clog2(N);

  logic                 wide;          // INT16
  logic [Ln:0]          step_end;
  logic                 diag;          // one channel block at a time
  logic                 w_valid_q;
  logic                 w_last_q;
  logic                 w_mid;
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
  logic                 next_bank;     // of the tile that would start now
  logic                 step_last;

  assign diag = task_i.op != npu_pkg::OpConv;
  assign wide = EnInt16 != 0 && task_i.wide;
  assign step_end = wide ? (Ln + 1)'(2 * N - 1) : (Ln + 1)'(N - 1);
  assign step_last = step_i == step_end;
  assign w_mid = w_valid_q && !w_last_q;
  assign valid_o = w_valid_q;
  assign mid_o = w_mid;
  assign last_o = w_last_q;
  assign par_o = w_p_q;
  assign tap_o = w_tap_q;
  assign dx_o = w_dx_q;
  assign dy_o = w_dy_q;

  assign next_bank = task_i.wgt_res ? blk_i[0] : pp_q ^ (|release_o);
  assign there_o = task_i.op == npu_pkg::OpConvert ||
                   (task_i.wgt_res ? 16'(wgt_blocks_i[10*32'(next_bank)+:10]) > (blk_i >> 1) : wgt_full_i[next_bank]);

  assign re_o = w_valid_q && task_i.op != npu_pkg::OpConvert;
  assign bank_o = w_bank_q;
  assign raddr_o = diag ? w_base_q + npu_pkg::WgtAw'(wide && !step_i[0]) :
                          w_base_q + npu_pkg::WgtAw'(step_end) - npu_pkg::WgtAw'(step_i);
  assign release_o = !(w_valid_q && step_last && w_last_q && w_rel_q) || task_i.op == npu_pkg::OpConvert ? 2'b00 :
                     task_i.wgt_res ? 2'b11 : w_bank_q ? 2'b10 : 2'b01;

  logic w_ib_last, w_kx_last;
  assign w_ib_last = diag || w_ib_q + 16'd1 == consts_i.icb;
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
      n_tap_col = w_tap_col_q + consts_i.dw;
      n_dx = w_dx_q + $signed(Cw'(task_i.dw));
      if (w_kx_last) begin
        n_kx = '0;
        n_ky = w_ky_q + 8'd1;
        n_tap_row = w_tap_row_q + consts_i.dhrow;
        n_tap_col = w_tap_row_q + consts_i.dhrow;
        n_dx = '0;
        n_dy = w_dy_q + $signed(Cw'(task_i.dh));
      end
    end
    n_tap = w_ib_last ? n_tap_col : w_tap_q + (wide ? Aw'(2) : Aw'(1));
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
  assign n_last = (diag || n_ib + 16'd1 == consts_i.icb) && n_kx + 8'd1 == task_i.kw && n_ky + 8'd1 == task_i.kh;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      w_valid_q <= 1'b0;
      first_o <= 1'b0;
      w_last_q <= 1'b0;
      w_rel_q <= 1'b0;
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
    end else begin
      if (w_valid_q && step_last) w_p_q <= !w_p_q;
      if (release_o != 2'b00 && !task_i.wgt_res) pp_q <= !pp_q;
      if (boundary_i) begin
        w_valid_q <= w_mid || begin_i;
        if (w_mid || begin_i) begin
          first_o <= !w_mid;
          w_last_q <= n_last;
          w_kx_q <= n_kx;
          w_ky_q <= n_ky;
          w_ib_q <= n_ib;
          w_tap_q <= n_tap;
          w_tap_row_q <= n_tap_row;
          w_tap_col_q <= n_tap_col;
          w_dx_q <= n_dx;
          w_dy_q <= n_dy;
          w_base_q <= w_mid ? w_base_q + (npu_pkg::WgtAw'(diag ? 1 : N) << wide) : task_i.wgt_res ? blk_base_i : '0;
          if (!w_mid) begin
            w_bank_q <= next_bank;
            w_rel_q <= last_use_i;
          end
        end
      end
    end
  end

  `ASSERT(Im2colWeightsThere, !w_valid_q || task_i.op == npu_pkg::OpConvert || task_i.wgt_res || wgt_full_i[w_bank_q])
  `ASSERT(Im2colWeightRange, !re_o || 32'(raddr_o) < npu_pkg::WgtDepth)

endmodule
