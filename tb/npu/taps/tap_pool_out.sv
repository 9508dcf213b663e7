// Tap of pool_out: results, words for send_buf, write jobs (tb/npu/score/pool_out.c).
module tap_pool_out (
  input logic         rst_ni,
  input logic         start_i,
  input logic         busy_o,
  input logic [16:0]  units_i,
  input logic         we_i,
  input logic         end_i,
  input logic [6:0]   waddr_i,
  input logic [255:0] wdata_i,
  input logic         release_o,
  input logic         wr_valid_o,
  input logic         wr_ready_i,
  input logic [127:0] wr_data_o,
  input logic         req_valid_o,
  input logic         req_ready_i,
  input logic [31:0]  req_addr_o,
  input logic [23:0]  req_bytes_o
);
endmodule

bind pool_out tap_pool_out u_tap_pool_out (.*);
