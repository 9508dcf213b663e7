// Tap of alu_chan: chunks, requests, data, words of results and write jobs (tb/npu/score/alu_chan.c).
module tap_alu_chan (
  input logic                         rst_ni,
  input logic [npu_pkg::AluTaskW-1:0] task_i,
  input logic                         chunk_valid_i,
  input logic                         chunk_ready_o,
  input logic [31:0]                  chunk_a_i,
  input logic [31:0]                  chunk_b_i,
  input logic [31:0]                  chunk_o_i,
  input logic [31:0]                  chunk_p_i,
  input logic [31:0]                  chunk_q_i,
  input logic [8:0]                   chunk_count_i,
  input logic                         chunk_plane_i,
  input logic                         chunk_first_i,
  input logic                         chunk_last_i,
  input logic                         idle_o,
  input logic [31:0]                  result_o,
  input logic                         rd_req_valid_o,
  input logic                         rd_req_ready_i,
  input logic [31:0]                  rd_req_addr_o,
  input logic [23:0]                  rd_req_bytes_o,
  input logic                         rd_valid_i,
  input logic                         rd_ready_o,
  input logic [127:0]                 rd_data_i,
  input logic                         wr_req_valid_o,
  input logic                         wr_req_ready_i,
  input logic [31:0]                  wr_req_addr_o,
  input logic [23:0]                  wr_req_bytes_o,
  input logic                         wr_valid_o,
  input logic                         wr_ready_i,
  input logic [127:0]                 wr_data_o,
  input logic [15:0]                  wr_level_i,
  input logic                         ev_data_o,
  input logic                         ev_room_o,
  input logic                         ev_word_o
);
endmodule

bind alu_chan tap_alu_chan u_tap_alu_chan (.*);
