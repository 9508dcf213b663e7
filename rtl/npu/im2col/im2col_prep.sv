// Constants of a task for im2col (npu_pkg::im2col_consts_t).
//
// Time         One cycle for each of prep_a_i, prep_b_i, prep_c_i and prep_d_i, in this order, with one or two products
//              each; prep_div_i, between b and c, stays until div_done_o: 2N is divided by the output's width, one
//              subtraction a cycle, and a last cycle that subtracts nothing.
// Ring         The input of a task begins where that of the one before it ended in ifm_buf; pop_i ends a task.
// Document     docs/npu/npu.md sections 3.2 and 4.2.

module im2col_prep #(
  parameter int unsigned N = 8,
  parameter int unsigned EnInt16 = 0
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  npu_pkg::gemm_task_t     task_i,
  input  logic                    prep_a_i,
  input  logic                    prep_b_i,
  input  logic                    prep_div_i,
  input  logic                    prep_c_i,
  input  logic                    prep_d_i,
  input  logic                    pop_i,
  output logic                    div_done_o,
  output npu_pkg::im2col_consts_t consts_o
);

  localparam int unsigned Aw = npu_pkg::IfmAw;
  localparam int unsigned Cw = npu_pkg::CoordW;
  localparam int unsigned Ln = $clog2(N);

  logic                 wide;         // INT16
  logic [15:0]          icb;
  logic [15:0]          icw;          // words of an input pixel
  logic [15:0]          ocb_q;
  logic [Aw-1:0]        c_row_q;      // words of an input row; all word counts are modulo the ring
  logic [Aw:0]          c_rowwords_q; // the same, as a number
  logic [Aw-1:0]        c_sw_q;
  logic [Aw-1:0]        c_shrow_q;    // words from one output row to the next
  logic [Aw-1:0]        c_dw_q, c_dhrow_q;
  logic [Aw-1:0]        c_wrap_q;
  logic signed [Cw-1:0] c_xwrap_q;
  logic [Aw-1:0]        c_awrap_q;
  logic [6:0]           tile_dq_q;    // 2N = tile_dq * ow + div_rem
  logic [6:0]           div_rem_q;
  logic signed [Cw-1:0] t_x_q, t_y_q;
  logic [Aw-1:0]        t_a_q;
  logic signed [Cw-1:0] x_first, y_first;
  logic [Aw-1:0]        adr_first_q;
  logic [Aw-1:0]        base_q;
  logic [Aw:0]          words_q;
  logic [16:0]          npix_q;
  logic [Cw-1:0]        y_span_q;
  logic signed [Cw-1:0] y_end_q;
  logic [15:0]          taps_q;
  logic [npu_pkg::WgtAw-1:0] c_wblk_q;
  logic                 diag;         // one channel block at a time

  assign wide = EnInt16 != 0 && task_i.wide;
  assign icb = 16'((17'(task_i.ic) + 17'(N - 1)) >> Ln);
  assign icw = icb << wide;
  assign diag = task_i.op != npu_pkg::OpConv;
  assign x_first = -$signed(Cw'(task_i.pad_l));
  assign y_first = -$signed(Cw'(task_i.pad_t));
  assign div_done_o = 16'(div_rem_q) < task_i.ow;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) base_q <= '0;
    else if (pop_i) base_q <= base_q + words_q[Aw-1:0];
  end

  always_ff @(posedge clk_i) begin
    if (prep_a_i) begin
      ocb_q <= 16'((17'(task_i.oc) + 17'(N - 1)) >> Ln);
      c_row_q <= Aw'(32'(task_i.iw) * 32'(icw));
      c_rowwords_q <= (Aw + 1)'(32'(task_i.iw) * 32'(icw));
      taps_q <= 16'(task_i.kw) * 16'(task_i.kh);
      c_sw_q <= Aw'(32'(task_i.sw) * 32'(icw));
      c_dw_q <= Aw'(32'(task_i.dw) * 32'(icw));
      npix_q <= 17'(task_i.ow) * 17'(task_i.oh);
      y_span_q <= Cw'((32'(task_i.kh) - 32'd1) * 32'(task_i.dh) + 32'd1);
      tile_dq_q <= '0;
      div_rem_q <= 7'(2 * N);
    end
    if (prep_b_i) begin
      c_wblk_q <= npu_pkg::WgtAw'(diag ? 32'(taps_q) << wide : (32'(taps_q) * 32'(icw)) << Ln);
      c_shrow_q <= Aw'(32'(task_i.sh) * 32'(c_row_q));
      c_dhrow_q <= Aw'(32'(task_i.dh) * 32'(c_row_q));
      words_q <= (Aw + 1)'(32'(task_i.ih) * 32'(c_rowwords_q));
      c_xwrap_q <= $signed(Cw'(32'(task_i.ow) * 32'(task_i.sw)));
      adr_first_q <= base_q - Aw'(32'(task_i.pad_t) * 32'(c_row_q)) - Aw'(32'(task_i.pad_l) * 32'(icw));
    end
    if (prep_div_i && !div_done_o) begin
      div_rem_q <= div_rem_q - task_i.ow[6:0];
      tile_dq_q <= tile_dq_q + 7'd1;
    end
    if (prep_c_i) begin
      c_awrap_q <= c_shrow_q - Aw'(32'(task_i.ow) * 32'(c_sw_q));
      t_x_q <= $signed(Cw'(32'(div_rem_q) * 32'(task_i.sw)));
      t_y_q <= $signed(Cw'(32'(tile_dq_q) * 32'(task_i.sh)));
      y_end_q <= y_first + $signed(Cw'((32'(task_i.oh) - 32'd1) * 32'(task_i.sh))) + $signed(y_span_q);
      t_a_q <= Aw'(32'(tile_dq_q) * 32'(c_shrow_q)) + Aw'(32'(div_rem_q) * 32'(c_sw_q));
    end
    if (prep_d_i) c_wrap_q <= c_awrap_q + c_sw_q;
  end

  always_comb begin
    consts_o.icb = icb;
    consts_o.ocb = ocb_q;
    consts_o.npix = npix_q;
    consts_o.words = words_q;
    consts_o.row_words = c_rowwords_q;
    consts_o.wblk = c_wblk_q;
    consts_o.x_first = x_first;
    consts_o.y_first = y_first;
    consts_o.adr_first = adr_first_q;
    consts_o.dw = c_dw_q;
    consts_o.dhrow = c_dhrow_q;
    consts_o.y_span = y_span_q;
    consts_o.y_end = y_end_q;
    consts_o.sw = c_sw_q;
    consts_o.wrap = c_wrap_q;
    consts_o.tile_rem = div_rem_q;
    consts_o.t_x = t_x_q;
    consts_o.t_y = t_y_q;
    consts_o.t_a = t_a_q;
    consts_o.x_wrap = c_xwrap_q;
    consts_o.a_wrap = c_awrap_q;
  end

endmodule
