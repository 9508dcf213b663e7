// Tap of the POOL: its ends of the wires to the channels (tb/npu/score/npu_top.c).
module tap_end_pool (
  input logic         rst_ni,
  input logic         task_valid_i,
  input logic         busy_o,
  input logic [1:0]   rd_req_valid_o,
  input logic [1:0]   rd_req_ready_i,
  input logic [63:0]  rd_req_addr_o,
  input logic [47:0]  rd_req_bytes_o,
  input logic [1:0]   rd_valid_i,
  input logic [1:0]   rd_ready_o,
  input logic [255:0] rd_data_i,
  input logic [1:0]   wr_req_valid_o,
  input logic [1:0]   wr_req_ready_i,
  input logic [63:0]  wr_req_addr_o,
  input logic [47:0]  wr_req_bytes_o,
  input logic [1:0]   wr_valid_o,
  input logic [1:0]   wr_ready_i,
  input logic [255:0] wr_data_o,
  input logic [1:0]   wr_idle_i,
  input logic [31:0]  wr_level_i
);
endmodule

bind pool tap_end_pool u_tap_end_pool (.*);
