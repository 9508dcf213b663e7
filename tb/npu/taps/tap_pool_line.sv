// Tap of pool_line: jobs, data, reads of the line memory and of the table (tb/npu/score/pool_line.c).
module tap_pool_line (
  input logic         rst_ni,
  input logic         job_valid_i,
  input logic         job_ready_o,
  input logic         job_tab_i,
  input logic         job_one_i,
  input logic         job_last_i,
  input logic [9:0]   job_addr_i,
  input logic [2:0]   job_lane_i,
  input logic [3:0]   job_lanes_i,
  input logic [12:0]  job_words_i,
  input logic         dat_valid_i,
  input logic [127:0] dat_i,
  input logic         row_done_o,
  input logic         tab_done_o,
  input logic         re_i,
  input logic [9:0]   raddr_i,
  input logic [255:0] rdata_o,
  input logic         tab_re_i,
  input logic [7:0]   tab_addr_i,
  input logic [31:0]  tab_o
);
endmodule

bind pool_line tap_pool_line u_tap_pool_line (.*);
