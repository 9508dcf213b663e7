// Tap of alu: tasks, their end, words and write jobs (tb/npu/score/alu.c).
module tap_alu (
  input logic                         rst_ni,
  input logic                         task_valid_i,
  input logic                         task_ready_o,
  input logic [npu_pkg::AluTaskW-1:0] task_i,
  input logic                         task_done_o,
  input logic                         busy_o,
  input logic                         result_we_o,
  input logic [31:0]                  result_o,
  input logic [1:0]                   wr_req_valid_o,
  input logic [1:0]                   wr_req_ready_i,
  input logic [47:0]                  wr_req_bytes_o,
  input logic [1:0]                   wr_valid_o,
  input logic [1:0]                   wr_ready_i,
  input logic [255:0]                 wr_data_o,
  input logic [1:0]                   wr_idle_i,
  input logic [4:0]                   event_o
);
endmodule

bind alu tap_alu u_tap_alu (.*);
