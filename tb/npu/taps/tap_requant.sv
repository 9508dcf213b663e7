// Tap of requant: blocks and results in, write jobs and words out (tb/npu/score/requant.c).
module tap_requant #(
  parameter int unsigned N = 8,
  localparam int unsigned Cols = N >= 16 ? 4 : N / 4
) (
  input logic                 rst_ni,
  input logic [31:0]          out_scale_i,
  input logic [31:0]          pitch_i,
  input logic                 single_i,
  input logic                 blk_valid_i,
  input logic                 blk_ready_o,
  input logic [31:0]          blk_addr_i,
  input logic [$clog2(N)+1:0] blk_npix_i,
  input logic [$clog2(N):0]   blk_nch_i,
  input logic                 blk_last_i,
  input logic                 in_valid_i,
  input logic [128*Cols-1:0]  in_data_i,
  input logic                 pop_o,
  input logic                 idle_o,
  input logic                 wr_req_valid_o,
  input logic                 wr_req_ready_i,
  input logic [31:0]          wr_req_addr_o,
  input logic [23:0]          wr_req_bytes_o,
  input logic                 wr_valid_o,
  input logic                 wr_ready_i,
  input logic [127:0]         wr_data_o
);
endmodule

bind requant tap_requant #(.N(N)) u_tap_requant (.*);
