// One channel of the POOL unit: every second group of channels, through one DMA channel.
//
// pool_ld requests input rows, pool_line stores them, pool_seq iterates over the taps, pool_op computes,
// pool_out writes. Loading, computing and writing overlap, also over the ends of groups. start_i (one
// cycle) begins the task in task_i and the values derived from it (pool.sv), which are constant until
// busy_o falls.
// Latency and throughput: pool_op, pool.sv. Document: docs/npu/npu.md sections 3.4 and 4.1.
`include "assert.svh"

module pool_chan #(
  parameter int unsigned Chan = 0  // DMA channel
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                start_i,
  output logic                busy_o,
  input  npu_pkg::pool_task_t task_i,
  input  logic                slide_i,
  input  logic [16:0]         units_i,
  input  logic [31:0]         shstep_i,
  input  logic [31:0]         topstep_i,
  input  logic [15:0]         count_i,
  input  logic                tab_whole_i,
  output logic                rd_req_valid_o,
  input  logic                rd_req_ready_i,
  output logic [31:0]         rd_req_addr_o,
  output logic [23:0]         rd_req_bytes_o,
  input  logic                rd_valid_i,
  output logic                rd_ready_o,
  input  logic [127:0]        rd_data_i,
  output logic                wr_req_valid_o,
  input  logic                wr_req_ready_i,
  output logic [31:0]         wr_req_addr_o,
  output logic [23:0]         wr_req_bytes_o,
  output logic                wr_valid_o,
  input  logic                wr_ready_i,
  output logic [127:0]        wr_data_o,
  output logic                ev_input_o,
  output logic                ev_room_o
);

  logic        ld_busy, seq_busy, op_busy, out_busy;
  logic        tab_en;
  logic        free;
  logic        row_done, tab_done;
  logic        tab_req, tab_ack;
  logic [31:0] tab_req_addr;
  logic        job_valid, job_ready, job_tab, job_one, job_last;
  logic [9:0]  job_addr;
  logic [2:0]  job_lane;
  logic [3:0]  job_lanes;
  logic [12:0] job_words;
  logic        tap_valid, tap_first, tap_init, tap_last, tap_fin, tap_end, tap_half;
  logic [9:0]  tap_addr;
  logic [5:0]  tap_ow, tap_chans;
  logic [7:0]  tap_cols, tap_rows, tap_tab;
  logic [3:0]  tap_lanes;
  logic [255:0] line;
  logic        tab_re;
  logic [7:0]  tab_addr;
  logic [31:0] tab;
  logic        out_we, out_end;
  logic [6:0]  out_addr;
  logic [255:0] out_data;
  logic        release_half;

  assign tab_en = task_i.avg && !task_i.int8 && task_i.exclude;
  assign rd_ready_o = 1'b1;  // space has been reserved
  assign busy_o = out_busy;
  assign ev_room_o = wr_valid_o && !wr_ready_i;

  pool_ld #(
    .Chan(Chan)
  ) u_ld (
    .clk_i,
    .rst_ni,
    .start_i,
    .busy_o(ld_busy),
    .task_i,
    .slide_i,
    .units_i,
    .shstep_i,
    .topstep_i,
    .tab_words_i(tab_whole_i ? count_i[8:0] : {1'b0, task_i.kw}),
    .free_i(free),
    .tab_req_i(tab_req),
    .tab_addr_i(tab_req_addr),
    .tab_ack_o(tab_ack),
    .req_valid_o(rd_req_valid_o),
    .req_ready_i(rd_req_ready_i),
    .req_addr_o(rd_req_addr_o),
    .req_bytes_o(rd_req_bytes_o),
    .job_valid_o(job_valid),
    .job_ready_i(job_ready),
    .job_tab_o(job_tab),
    .job_one_o(job_one),
    .job_last_o(job_last),
    .job_addr_o(job_addr),
    .job_lane_o(job_lane),
    .job_lanes_o(job_lanes),
    .job_words_o(job_words)
  );

  pool_line u_line (
    .clk_i,
    .rst_ni,
    .job_valid_i(job_valid),
    .job_ready_o(job_ready),
    .job_tab_i(job_tab),
    .job_one_i(job_one),
    .job_last_i(job_last),
    .job_addr_i(job_addr),
    .job_lane_i(job_lane),
    .job_lanes_i(job_lanes),
    .job_words_i(job_words),
    .dat_valid_i(rd_valid_i),
    .dat_i(rd_data_i),
    .row_done_o(row_done),
    .tab_done_o(tab_done),
    .re_i(tap_valid),
    .raddr_i(tap_addr),
    .rdata_o(line),
    .tab_re_i(tab_re),
    .tab_addr_i(tab_addr),
    .tab_o(tab)
  );

  pool_seq #(
    .Chan(Chan)
  ) u_seq (
    .clk_i,
    .rst_ni,
    .start_i,
    .busy_o(seq_busy),
    .task_i,
    .slide_i,
    .units_i,
    .slow_i(task_i.avg && task_i.int8),
    .tab_en_i(tab_en),
    .tab_whole_i,
    .row_done_i(row_done),
    .free_o(free),
    .tab_req_o(tab_req),
    .tab_addr_o(tab_req_addr),
    .tab_ack_i(tab_ack),
    .tab_done_i(tab_done),
    .release_i(release_half),
    .tap_valid_o(tap_valid),
    .tap_addr_o(tap_addr),
    .tap_first_o(tap_first),
    .tap_init_o(tap_init),
    .tap_last_o(tap_last),
    .tap_fin_o(tap_fin),
    .tap_end_o(tap_end),
    .tap_half_o(tap_half),
    .tap_ow_o(tap_ow),
    .tap_cols_o(tap_cols),
    .tap_rows_o(tap_rows),
    .tap_tab_o(tap_tab),
    .tap_lanes_o(tap_lanes),
    .tap_chans_o(tap_chans),
    .ev_input_o
  );

  pool_op u_op (
    .clk_i,
    .rst_ni,
    .avg_i(task_i.avg),
    .int8_i(task_i.int8),
    .exclude_i(task_i.exclude),
    .recip_i(task_i.recip),
    .count_i,
    .tap_valid_i(tap_valid),
    .tap_first_i(tap_first),
    .tap_init_i(tap_init),
    .tap_last_i(tap_last),
    .tap_fin_i(tap_fin),
    .tap_end_i(tap_end),
    .tap_half_i(tap_half),
    .tap_ow_i(tap_ow),
    .tap_cols_i(tap_cols),
    .tap_rows_i(tap_rows),
    .tap_tab_i(tap_tab),
    .tap_lanes_i(tap_lanes),
    .tap_chans_i(tap_chans),
    .line_i(line),
    .tab_re_o(tab_re),
    .tab_addr_o(tab_addr),
    .tab_i(tab),
    .out_we_o(out_we),
    .out_end_o(out_end),
    .out_addr_o(out_addr),
    .out_data_o(out_data),
    .busy_o(op_busy)
  );

  pool_out #(
    .Chan(Chan)
  ) u_out (
    .clk_i,
    .rst_ni,
    .start_i,
    .busy_o(out_busy),
    .task_i,
    .units_i,
    .we_i(out_we),
    .end_i(out_end),
    .waddr_i(out_addr),
    .wdata_i(out_data),
    .release_o(release_half),
    .wr_valid_o,
    .wr_ready_i,
    .wr_data_o,
    .req_valid_o(wr_req_valid_o),
    .req_ready_i(wr_req_ready_i),
    .req_addr_o(wr_req_addr_o),
    .req_bytes_o(wr_req_bytes_o)
  );

  `ASSERT(PoolChanOrder, out_busy || !(ld_busy || seq_busy || op_busy))

endmodule
