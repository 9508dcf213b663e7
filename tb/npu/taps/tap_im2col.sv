// Tap of im2col: its task, what has arrived, what it reads and what goes to the mesh (tb/npu/score/im2col.c).
module tap_im2col #(
  parameter int unsigned N = 8
) (
  input logic                      rst_ni,
  input logic                      task_valid_i,
  input logic [170:0]              shape_i,  // the fields of the task that im2col uses
  input logic                      task_pop_o,
  input logic                      ifm_all_i,
  input logic [16:0]               pix_ready_i,
  input logic [1:0]                wgt_full_i,
  input logic [19:0]               wgt_blocks_i,
  input logic [1:0]                wgt_release_o,
  input logic                      free_o,
  input logic [npu_pkg::IfmAw:0]   free_words_o,
  input logic                      tile_room_i,
  input logic                      tile_start_o,
  input logic                      wgt_re_o,
  input logic                      wgt_bank_o,
  input logic [npu_pkg::WgtAw-1:0] wgt_raddr_o,
  input logic [8*N-1:0]            wgt_rdata_i,
  input logic                      ifm_re_o,
  input logic [npu_pkg::IfmAw-1:0] ifm_raddr0_o,
  input logic [npu_pkg::IfmAw-1:0] ifm_raddr1_o,
  input logic [8*N-1:0]            ifm_rdata0_i,
  input logic [8*N-1:0]            ifm_rdata1_i,
  input logic                      mesh_en_o,
  input logic                      wgt_p_o,
  input logic [8*N-1:0]            wgt_word_o,
  input logic                      sel_o,
  input logic [8*N-1:0]            act0_o,
  input logic [8*N-1:0]            act1_o,
  input logic                      act_valid_o,
  input logic                      acc_first_o,
  input logic                      acc_last_o,
  input logic                      wait_ifm_o,
  input logic                      wait_wgt_o,
  input logic                      wait_ofm_o
);
endmodule

bind im2col tap_im2col #(.N(N)) u_tap_im2col (
  .shape_i({task_i.op, task_i.wgt_res, task_i.kw, task_i.kh, task_i.sw, task_i.sh, task_i.dw, task_i.dh, task_i.pad_l,
            task_i.pad_t, task_i.iw, task_i.ih, task_i.ic, task_i.ow, task_i.oh, task_i.oc, task_i.group}),
  .*
);
