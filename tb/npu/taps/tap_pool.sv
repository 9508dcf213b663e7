// Tap of pool: tasks, write jobs, the end of a task (tb/npu/score/pool.c).
module tap_pool (
  input logic                          rst_ni,
  input logic                          task_valid_i,
  input logic                          task_ready_o,
  input logic [npu_pkg::PoolTaskW-1:0] task_i,
  input logic                          task_done_o,
  input logic                          busy_o,
  input logic [1:0]                    rd_valid_i,
  input logic [1:0]                    rd_ready_o,
  input logic [1:0]                    wr_req_valid_o,
  input logic [1:0]                    wr_req_ready_i,
  input logic [1:0]                    wr_idle_i,
  input logic [2:0]                    event_o
);
endmodule

bind pool tap_pool u_tap_pool (.*);
