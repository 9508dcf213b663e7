// Walk of im2col over the tiles of a task, and the rows of input that each of them needs.
//
// Order        For each block of N output channels all tiles of the map; with wgt_res: for each group of G tiles, for
//              each block, the tiles of the group.
// Head         The tile that starts next. known_o: its rows have arrived, two cycles after the one before it started at
//              the earliest. begin_i starts it; the walk then advances, and c_*_o is the tile that has started, the one
//              in the weight stage. done_o: every tile of the task has started.
// Rows         c_top_o: rows of the input below which no tile of the group of c_*_o reads anything; head_top_o: of the
//              group of the head.
// Throughput   A tile every two cycles at most, far more than the mesh takes.
// Document     docs/npu/npu.md section 4.2.

module im2col_tiles #(
  parameter int unsigned N = 8,
  parameter int unsigned EnInt16 = 0
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  npu_pkg::gemm_task_t               task_i,
  input  npu_pkg::im2col_consts_t           consts_i,
  input  logic                              first_i,     // to the first tile of the task
  input  logic                              run_i,       // the task runs
  input  logic                              begin_i,
  // progress of the loader
  input  logic                              ifm_all_i,
  input  logic [16:0]                       pix_ready_i,
  // the head
  output logic                              known_o,
  output logic                              done_o,
  output logic [15:0]                       blk_o,       // its block of N output channels
  output logic [npu_pkg::WgtAw-1:0]         blk_base_o,  // wgt_res: first word of the block in its bank
  output logic                              last_use_o,  // no later tile needs its weights (wgt_res: of the task)
  output logic [15:0]                       head_top_o,
  // the tile in the weight stage: its first pixel
  output logic [16:0]                       c_pix_o,
  output logic [15:0]                       c_ow_o,      // column in the output
  output logic signed [npu_pkg::CoordW-1:0] c_x_o,       // of the window
  output logic signed [npu_pkg::CoordW-1:0] c_y_o,
  output logic [npu_pkg::IfmAw-1:0]         c_a_o,
  output logic [15:0]                       c_top_o
);

  localparam int unsigned Aw = npu_pkg::IfmAw;
  localparam int unsigned Cw = npu_pkg::CoordW;
  localparam int unsigned MaxGroup = 2 * npu_pkg::OfmDepth / N;

  logic                 wide;          // INT16
  logic [8:0]           group_max;
  logic [8:0]           group;         // tiles of a group
  logic                 diag;          // one channel block at a time
  logic [15:0]          blk_q;         // block of N output channels
  logic [npu_pkg::WgtAw-1:0] blk_base_q;
  // the head
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
  logic                 tl_is_last;    // of the map
  logic                 seg_last;      // of the group or of the map: the next block starts over
  logic                 blk_last;

  assign wide = EnInt16 != 0 && task_i.wide;
  assign group_max = 9'(MaxGroup) >> wide;
  assign group = task_i.group == 8'd0 ? 9'd1 : {1'b0, task_i.group} > group_max ? group_max : {1'b0, task_i.group};
  assign diag = task_i.op != npu_pkg::OpConv;
  assign known_o = tl_known_q;
  assign done_o = tl_done_q;
  assign blk_o = blk_q;
  assign blk_base_o = blk_base_q;
  assign last_use_o = task_i.wgt_res ? tl_is_last && blk_last : seg_last;

  // ---------------------------------------------------------------- rows
  // a row coordinate as a number of rows of the map
  function automatic logic [15:0] clip_row(input logic signed [Cw-1:0] y, input logic [15:0] ih);
    if (y <= 0) clip_row = '0;
    else if (y >= $signed({{(Cw - 16) {1'b0}}, ih})) clip_row = ih;
    else clip_row = y[15:0];
  endfunction

  // The position after this tile decides which row its last pixel is in.
  assign tl_end_ow = {1'b0, tl_ow_q} + {10'd0, consts_i.tile_rem};
  assign tl_end_row = tl_end_ow >= {1'b0, task_i.ow};

  // Rows that must be there: those up to the last tap row of the row after which the tile ends, at most all. A tile
  // that ends exactly at a row's end waits for a row more than it needs unless this is excluded.
  always_comb begin
    tl_ylast = tl_y_q + $signed(consts_i.t_y);
    if (tl_end_row && tl_end_ow != {1'b0, task_i.ow}) tl_ylast = tl_ylast + $signed(Cw'(task_i.sh));
    else if (tl_end_ow == 17'd0) tl_ylast = tl_ylast - $signed(Cw'(task_i.sh));
    tl_ylast = tl_ylast + $signed(consts_i.y_span);
    // the last tile may end beyond the map, and the ring need not hold more rows
    if (tl_ylast > $signed(consts_i.y_end)) tl_ylast = $signed(consts_i.y_end);
    if (tl_ylast <= 0) rows_need = '0;
    else if (tl_ylast >= $signed(Cw'(task_i.ih))) rows_need = {1'b0, task_i.ih};
    else rows_need = tl_ylast[16:0];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tl_need_v_q <= 1'b0;
      tl_known_q <= 1'b0;
      tl_need_q <= '0;
    end else if (!run_i || begin_i) begin
      tl_need_v_q <= 1'b0;
      tl_known_q <= 1'b0;
    end else begin
      tl_need_v_q <= 1'b1;
      tl_need_q <= 17'(rows_need * {1'b0, task_i.iw});
      if (tl_need_v_q && (ifm_all_i || tl_need_q <= pix_ready_i)) tl_known_q <= 1'b1;
    end
  end

  assign head_top_o = clip_row(rs_y_q, task_i.ih);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) c_top_o <= '0;
    else if (begin_i) c_top_o <= clip_row(rs_y_q, task_i.ih);
  end

  // ---------------------------------------------------------------- the walk
  assign tl_is_last = tl_pix_q + 17'(2 * N) >= consts_i.npix;
  assign seg_last = tl_is_last || (task_i.wgt_res && tl_cnt_q + 9'd1 == group);
  assign blk_last = blk_q + 16'd1 == consts_i.ocb;

  // the tile after the one at the head
  logic [16:0]          tn_pix;
  logic [15:0]          tn_ow;
  logic signed [Cw-1:0] tn_x, tn_y;
  logic [Aw-1:0]        tn_a;
  assign tn_pix = tl_pix_q + 17'(2 * N);
  assign tn_ow = tl_end_row ? 16'(tl_end_ow - {1'b0, task_i.ow}) : tl_end_ow[15:0];
  assign tn_x = tl_x_q + $signed(consts_i.t_x) - (tl_end_row ? $signed(consts_i.x_wrap) : '0);
  assign tn_y = tl_y_q + $signed(consts_i.t_y) + (tl_end_row ? $signed(Cw'(task_i.sh)) : '0);
  assign tn_a = tl_a_q + consts_i.t_a + (tl_end_row ? consts_i.a_wrap : '0);

  always_ff @(posedge clk_i) begin
    if (first_i) begin
      tl_pix_q <= '0;
      tl_ow_q <= '0;
      tl_x_q <= $signed(consts_i.x_first);
      tl_y_q <= $signed(consts_i.y_first);
      tl_a_q <= consts_i.adr_first;
      rs_pix_q <= '0;
      rs_ow_q <= '0;
      rs_x_q <= $signed(consts_i.x_first);
      rs_y_q <= $signed(consts_i.y_first);
      rs_a_q <= consts_i.adr_first;
      blk_q <= '0;
      blk_base_q <= '0;
      tl_cnt_q <= '0;
      tl_done_q <= 1'b0;
    end else if (begin_i) begin
      c_pix_o <= tl_pix_q;
      c_ow_o <= tl_ow_q;
      c_x_o <= tl_x_q;
      c_y_o <= tl_y_q;
      c_a_o <= diag ? tl_a_q + Aw'(blk_q << wide) : tl_a_q;
      tl_cnt_q <= seg_last ? '0 : tl_cnt_q + 9'd1;
      if (seg_last && !blk_last) begin  // the same tiles for the next block
        tl_pix_q <= rs_pix_q;
        tl_ow_q <= rs_ow_q;
        tl_x_q <= rs_x_q;
        tl_y_q <= rs_y_q;
        tl_a_q <= rs_a_q;
        blk_q <= blk_q + 16'd1;
        if (blk_q[0]) blk_base_q <= blk_base_q + consts_i.wblk;
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

endmodule
