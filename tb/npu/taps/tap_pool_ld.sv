// Tap of pool_ld: requests, and the jobs that describe them to pool_line (tb/npu/score/pool_ld.c).
module tap_pool_ld (
  input logic        rst_ni,
  input logic        start_i,
  input logic        busy_o,
  input logic        slide_i,
  input logic [16:0] units_i,
  input logic [8:0]  tab_words_i,
  input logic        free_i,
  input logic        tab_req_i,
  input logic [31:0] tab_addr_i,
  input logic        tab_ack_o,
  input logic        req_valid_o,
  input logic        req_ready_i,
  input logic [31:0] req_addr_o,
  input logic [23:0] req_bytes_o,
  input logic        job_valid_o,
  input logic        job_ready_i,
  input logic        job_tab_o,
  input logic        job_one_o,
  input logic        job_last_o,
  input logic [9:0]  job_addr_o,
  input logic [2:0]  job_lane_o,
  input logic [3:0]  job_lanes_o,
  input logic [12:0] job_words_o
);
endmodule

bind pool_ld tap_pool_ld u_tap_pool_ld (.*);
