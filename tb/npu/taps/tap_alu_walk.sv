// Tap of alu_walk: tasks and chunks (tb/npu/score/alu_walk.c).
module tap_alu_walk (
  input logic                         rst_ni,
  input logic                         start_i,
  input logic [npu_pkg::AluTaskW-1:0] task_i,
  input logic                         done_o,
  input logic                         last_mine_o,
  input logic                         chunk_valid_o,
  input logic                         chunk_ready_i,
  input logic [31:0]                  chunk_a_o,
  input logic [31:0]                  chunk_b_o,
  input logic [31:0]                  chunk_o_o,
  input logic [31:0]                  chunk_p_o,
  input logic [31:0]                  chunk_q_o,
  input logic [8:0]                   chunk_count_o,
  input logic                         chunk_plane_o,
  input logic                         chunk_first_o,
  input logic                         chunk_last_o
);
endmodule

bind alu_walk tap_alu_walk u_tap_alu_walk (.*);
