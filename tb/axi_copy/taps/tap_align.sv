// Tap of axi_copy_align (copy_check.c).
module tap_align #(
  parameter int unsigned DataBytes = 16
) (
  input logic                         rst_ni,
  input logic                         start_i,
  input logic [$clog2(DataBytes)-1:0] src_lane_i,
  input logic [$clog2(DataBytes)-1:0] dst_lane_i,
  input logic [23:0]                  bytes_i,
  input logic                         in_valid_i,
  input logic                         in_ready_o,
  input logic [8*DataBytes-1:0]       in_data_i,
  input logic                         out_valid_o,
  input logic                         out_ready_i,
  input logic [8*DataBytes-1:0]       out_data_o,
  input logic [DataBytes-1:0]         out_strb_o
);
endmodule

bind axi_copy_align tap_align #(.DataBytes(DataBytes)) u_tap_align (.*);
