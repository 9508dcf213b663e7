// Tap of pool_seq: taps, rows that come and go, requests of the table (tb/npu/score/pool_seq.c).
module tap_pool_seq (
  input logic        rst_ni,
  input logic        start_i,
  input logic        busy_o,
  input logic        slide_i,
  input logic [16:0] units_i,
  input logic        slow_i,
  input logic        tab_en_i,
  input logic        tab_whole_i,
  input logic        row_done_i,
  input logic        free_o,
  input logic [31:0] tab_addr_o,
  input logic        tab_ack_i,
  input logic        tab_done_i,
  input logic        release_i,
  input logic        tap_valid_o,
  input logic [9:0]  tap_addr_o,
  input logic        tap_first_o,
  input logic        tap_init_o,
  input logic        tap_last_o,
  input logic        tap_fin_o,
  input logic        tap_end_o,
  input logic        tap_half_o,
  input logic [5:0]  tap_ow_o,
  input logic [7:0]  tap_cols_o,
  input logic [7:0]  tap_rows_o,
  input logic [7:0]  tap_tab_o,
  input logic [3:0]  tap_lanes_o,
  input logic [5:0]  tap_chans_o
);
endmodule

bind pool_seq tap_pool_seq u_tap_pool_seq (.*);
