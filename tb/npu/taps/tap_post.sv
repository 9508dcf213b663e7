// Tap of post: task, sums, factors and partial sums in, requests and words out (tb/npu/score/post.c).
//
// pass_pop is no port: requant inside the unit gives a slot of its gather buffer back with it, and the limit that post keeps is one on slots.
module tap_post #(
  parameter int unsigned N = 8,
  localparam int unsigned Cols = N >= 16 ? 4 : N / 4
) (
  input logic                          rst_ni,
  input logic                          task_valid_i,
  input logic [npu_pkg::GemmTaskW-1:0] task_i,
  input logic                          par_ready_i,
  input logic                          task_wait_o,
  input logic                          task_done_i,
  input logic                          tile_i,
  input logic                          free_o,
  input logic [npu_pkg::OfmAw:0]       free_tiles_o,
  input logic                          par_re_o,
  input logic [npu_pkg::ParAw-1:0]     par_addr_o,
  input logic [127:0]                  par_oscale_i,
  input logic [127:0]                  par_bias_i,
  input logic                          ofm_re_o,
  input logic [$clog2(N)-1:0]          ofm_col_o,
  input logic [npu_pkg::OfmAw:0]       ofm_addr_o,
  input logic [128*Cols-1:0]           ofm_data_i,
  input logic                          psum_req_valid_o,
  input logic                          psum_req_ready_i,
  input logic [31:0]                   psum_req_addr_o,
  input logic [23:0]                   psum_req_bytes_o,
  input logic                          psum_valid_i,
  input logic                          psum_ready_o,
  input logic [127:0]                  psum_i,
  input logic                          wr_req_valid_o,
  input logic                          wr_req_ready_i,
  input logic [31:0]                   wr_req_addr_o,
  input logic [23:0]                   wr_req_bytes_o,
  input logic                          wr_valid_o,
  input logic                          wr_ready_i,
  input logic [127:0]                  wr_data_o,
  input logic [15:0]                   wr_level_i,
  input logic [2:0]                    event_o,
  input logic                          pass_pop
);
endmodule

bind post tap_post #(.N(N)) u_tap_post (.*);
