// Corners of the address generator: waits, edges of the map, rows that are given back.
// hit: tests conv and dw
module im2col_cover #(
    parameter int unsigned Ln = 3,
    parameter int unsigned Cw = 27
) (
    input logic clk_i,
    input logic rst_ni,
    input logic wait_ifm_o,
    input logic wait_wgt_o,
    input logic wait_ofm_o,
    input logic tile_begin,
    input logic w_valid_q,
    input logic a_valid_q,
    input logic step_last,
    input logic in0,
    input logic in1,
    input logic signed [Cw-1:0] x0,
    input logic signed [Cw-1:0] y0,
    input logic [15:0] iw,
    input logic [15:0] ih,
    input logic [16:0] a_pix_q,
    input logic [16:0] npix_q,
    input logic free_row,
    input logic task_pop_o,
    input logic ifm_all_i,
    input logic tl_is_last,
    input logic seg_last,
    input logic blk_last,
    input logic w_kx_last,
    input logic w_ib_last,
    input logic [1:0] wgt_full_i,
    input logic [1:0] wgt_release_o,
    input logic w_mid,
    input logic finishing
);

  // bug: a tile begins before its rows have come
  waits_input: cover property (@(posedge clk_i) disable iff (!rst_ni) wait_ifm_o);
  // bug: a tile begins with old weights
  waits_weights: cover property (@(posedge clk_i) disable iff (!rst_ni) wait_wgt_o);
  // bug: a tile begins without room for its sums
  waits_room: cover property (@(posedge clk_i) disable iff (!rst_ni) wait_ofm_o);
  // bug: a tile that follows at once takes the flags of the one before
  follows: cover property (@(posedge clk_i) disable iff (!rst_ni) tile_begin && w_valid_q && step_last);
  // bug: a tile after a wait begins one step late
  after_wait: cover property (@(posedge clk_i) disable iff (!rst_ni) tile_begin && !w_valid_q && a_valid_q);
  // bug: padding on the left is taken from the row before
  left: cover property (@(posedge clk_i) disable iff (!rst_ni) a_valid_q && x0 < 0);
  // bug: padding on the right is taken from the next row
  right: cover property (@(posedge clk_i) disable iff (!rst_ni) a_valid_q && x0 >= $signed(Cw'(iw)));
  // bug: padding above is taken from the task before
  above: cover property (@(posedge clk_i) disable iff (!rst_ni) a_valid_q && y0 < 0);
  // bug: padding below is taken from what lies behind the map
  below: cover property (@(posedge clk_i) disable iff (!rst_ni) a_valid_q && y0 >= $signed(Cw'(ih)));
  // bug: one of two pixels is padding, and both are masked
  edge_first: cover property (@(posedge clk_i) disable iff (!rst_ni) a_valid_q && in0 && !in1 && a_pix_q + 17'd1 < npix_q);
  // bug: one of two pixels is padding, and none is masked
  edge_second: cover property (@(posedge clk_i) disable iff (!rst_ni) a_valid_q && !in0 && in1);
  // bug: a window that sees padding alone is left out
  nothing: cover property (@(posedge clk_i) disable iff (!rst_ni) a_valid_q && !in0 && !in1 && a_pix_q + 17'd1 < npix_q);
  // bug: the pixel behind the last one of the map is computed
  odd: cover property (@(posedge clk_i) disable iff (!rst_ni) a_valid_q && a_pix_q + 17'd1 == npix_q);
  // bug: pixels beyond the map are written
  beyond: cover property (@(posedge clk_i) disable iff (!rst_ni) a_valid_q && a_pix_q >= npix_q);
  // bug: a row is given back while a window still needs it
  row_freed: cover property (@(posedge clk_i) disable iff (!rst_ni) free_row);
  // bug: a task whose input is not needed ends before it has come
  end_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) finishing && !a_valid_q && !w_valid_q && !ifm_all_i);
  // bug: the next group of tiles begins with the last one's pixels
  group_restarts: cover property (@(posedge clk_i) disable iff (!rst_ni) tile_begin && seg_last && !tl_is_last);
  // bug: the last block of channels is done once more
  block_ends: cover property (@(posedge clk_i) disable iff (!rst_ni) tile_begin && seg_last && blk_last);
  // bug: the next kernel row begins in the wrong column
  kernel_row_ends: cover property (@(posedge clk_i) disable iff (!rst_ni) w_valid_q && step_last && w_kx_last && w_ib_last && w_mid);
  // bug: the next kernel column begins with the wrong channels
  channels_end: cover property (@(posedge clk_i) disable iff (!rst_ni) w_valid_q && step_last && w_ib_last && !w_kx_last);
  // bug: the next block is taken from the bank that was just used
  bank_both: cover property (@(posedge clk_i) disable iff (!rst_ni) wgt_release_o != 2'b00 && wgt_full_i == 2'b11);
  // bug: the next task begins with the last one's rows
  task_follows: cover property (@(posedge clk_i) disable iff (!rst_ni) task_pop_o && ifm_all_i);

endmodule

bind im2col im2col_cover #(.Ln(Ln), .Cw(Cw)) u_im2col_cover (.*, .iw(task_i.iw), .ih(task_i.ih), .finishing(state_q == Finish));
