// Tap of pool_op: taps, their data, factors and results (tb/npu/score/pool_op.c).
module tap_pool_op (
  input logic         rst_ni,
  input logic         avg_i,
  input logic         int8_i,
  input logic         exclude_i,
  input logic [31:0]  recip_i,
  input logic [15:0]  count_i,
  input logic         tap_valid_i,
  input logic         tap_first_i,
  input logic         tap_init_i,
  input logic         tap_last_i,
  input logic         tap_fin_i,
  input logic         tap_end_i,
  input logic         tap_half_i,
  input logic [5:0]   tap_ow_i,
  input logic [7:0]   tap_cols_i,
  input logic [7:0]   tap_rows_i,
  input logic [7:0]   tap_tab_i,
  input logic [3:0]   tap_lanes_i,
  input logic [5:0]   tap_chans_i,
  input logic [255:0] line_i,
  input logic         tab_re_o,
  input logic [7:0]   tab_addr_o,
  input logic [31:0]  tab_i,
  input logic         out_we_o,
  input logic         out_end_o,
  input logic [6:0]   out_addr_o,
  input logic [255:0] out_data_o
);
endmodule

bind pool_op tap_pool_op u_tap_pool_op (.*);
