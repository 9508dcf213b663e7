// Tap of gemm: tasks in and done, what is written, and the signals between its parts that it makes itself (tb/npu/score/gemm.c): who gets
// read data, the room in ofm_buf. They have no port of gemm; the other ends are ports of the parts, which the parts' own taps show. Its
// channels are in tap_end_gemm.
module tap_gemm (
  input logic                              rst_ni,
  input logic                              task_ready_o,
  input logic                              task_requant_i,
  input logic                              task_factors_i,
  input logic [15:0]                       task_ow_i,
  input logic [15:0]                       task_oh_i,
  input logic [15:0]                       task_oc_i,
  input logic                              task_done_o,
  input logic [9:0]                        event_o,
  input logic [15:0]                       level_ofm_o,
  input logic [2*npu_pkg::GemmRdReqs-1:0]  d_valid,
  input logic [2*npu_pkg::GemmRdReqs-1:0]  d_ready,
  input logic [1:0]                        tiles_free,
  input logic [10:0]                       free_tiles0_i,
  input logic [10:0]                       free_tiles1_i,
  input logic                              tile_done,
  input logic                              par_ready,
  input logic [1:0]                        post_wait
);
endmodule

bind gemm tap_gemm u_tap_gemm (
  .task_requant_i(task_i.requant),
  .task_factors_i(task_i.oscale_en || task_i.bias_en),
  .task_ow_i(task_i.ow),
  .task_oh_i(task_i.oh),
  .task_oc_i(task_i.oc),
  .free_tiles0_i(11'(free_tiles[Tw-1:0])),
  .free_tiles1_i(11'(free_tiles[2*Tw-1:Tw])),
  .*
);
