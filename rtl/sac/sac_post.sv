// From the results of the array to the output: relu, pool, pool_tail, feature_writer and full_size_pool, a column or a
// beat a cycle each; beats go to memory, to the cache (c_*) or to both. Jobs for output and residual run beside them.
// Document: docs/sac/sac.md section 1.
module sac_post #(
  parameter int unsigned WVec = 3,
  parameter int unsigned CVec = 2,
  parameter int unsigned NVec = 2,
  parameter int unsigned Depth = 16,
  localparam int unsigned LogN = $clog2(NVec),
  localparam int unsigned Lo = $clog2(WVec),
  localparam int unsigned Dw = $clog2(Depth)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // the task
  input  logic                 clr_i,
  input  logic                 go_i,
  input  logic                 seq_start_i,
  input  sac_pkg::layer_task_t task_i,
  input  sac_pkg::geom_t       geom_i,
  output logic                 batch_out_o,  // a batch has left
  // PARAM of a filter
  input  logic                 p_we_i,
  input  logic [     LogN-1:0] p_n_i,
  input  logic [          1:0] p_place_i,
  input  logic [        127:0] p_i,
  // results of the array
  input  logic                 result_i,
  output logic                 pop_o,
  output logic                 rd_en_o,
  output logic [       Dw-1:0] rd_slot_o,
  output logic [       Lo-1:0] rd_col_o,
  output logic [          1:0] rd_place_o,
  input  logic [   8*NVec-1:0] a_i,
  // residual
  output logic                 res_req_valid_o,
  input  logic                 res_req_ready_i,
  output logic [         31:0] res_req_addr_o,
  output logic [         23:0] res_req_bytes_o,
  input  logic                 res_valid_i,
  output logic                 res_ready_o,
  input  logic [        127:0] res_i,
  // output, to memory and cache
  output logic                 o_req_valid_o,
  input  logic                 o_req_ready_i,
  output logic [         31:0] o_req_addr_o,
  output logic [         23:0] o_req_bytes_o,
  output logic                 o_dat_valid_o,
  input  logic                 o_dat_ready_i,
  output logic                 c_we_o,
  output logic [         18:0] c_page_o,
  output logic [          2:0] c_beat_o,
  output logic [        127:0] out_o
);

  localparam int unsigned Beats = (WVec * CVec + 15) / 16;  // of a page
  localparam int unsigned Lc = $clog2(WVec + 1);
  localparam int unsigned Groups = NVec / CVec;
  localparam int unsigned Gw = Groups > 1 ? $clog2(Groups) : 1;

  // ---- columns ----
  logic relu_valid;
  logic relu_ready;
  logic [8*NVec-1:0] relu_data;
  sac_relu #(
    .WVec(WVec),
    .NVec(NVec),
    .Depth(Depth)
  ) u_relu (
    .clk_i,
    .rst_ni,
    .clr_i(clr_i),
    .start_i(go_i),
    .task_i(task_i),
    .geom_i(geom_i),
    .done_i(result_i),
    .pop_o(pop_o),
    .rd_en_o(rd_en_o),
    .rd_slot_o(rd_slot_o),
    .rd_col_o(rd_col_o),
    .rd_place_o(rd_place_o),
    .a_i(a_i),
    .valid_o(relu_valid),
    .ready_i(relu_ready),
    .data_o(relu_data)
  );

  logic pool_valid;
  logic pool_ready;
  logic [8*NVec-1:0] pool_data;
  sac_pool #(
    .NVec(NVec)
  ) u_pool (
    .clk_i,
    .rst_ni,
    .clr_i(clr_i),
    .start_i(go_i),
    .task_i(task_i),
    .geom_i(geom_i),
    .valid_i(relu_valid),
    .ready_o(relu_ready),
    .data_i(relu_data),
    .valid_o(pool_valid),
    .ready_i(pool_ready),
    .data_o(pool_data)
  );

  logic tail_valid;
  logic tail_ready;
  logic [8*NVec*WVec-1:0] tail_page;
  logic [Lc-1:0] tail_cols;
  sac_tail #(
    .WVec(WVec),
    .NVec(NVec)
  ) u_tail (
    .clk_i,
    .rst_ni,
    .clr_i(clr_i),
    .start_i(go_i),
    .task_i(task_i),
    .geom_i(geom_i),
    .valid_i(pool_valid),
    .ready_o(pool_ready),
    .data_i(pool_data),
    .valid_o(tail_valid),
    .ready_i(tail_ready),
    .page_o(tail_page),
    .cols_o(tail_cols)
  );

  // ---- beats: writer, full-size pooling ----
  logic wr_valid;
  logic wr_ready;
  logic [127:0] wr_data;
  logic [15:0] wr_mask;
  logic [2:0] wr_beat;
  logic [Gw-1:0] wr_group;
  logic [1:0] wr_place;
  logic [18:0] wr_cpage;
  logic wr_first;
  logic wr_last;
  sac_writer #(
    .WVec(WVec),
    .CVec(CVec),
    .NVec(NVec)
  ) u_writer (
    .clk_i,
    .rst_ni,
    .clr_i(clr_i),
    .start_i(go_i),
    .task_i(task_i),
    .geom_i(geom_i),
    .p_we_i(p_we_i),
    .p_n_i(p_n_i),
    .p_place_i(p_place_i),
    .p_i(p_i),
    .valid_i(tail_valid),
    .ready_o(tail_ready),
    .page_i(tail_page),
    .cols_i(tail_cols),
    .res_valid_i(res_valid_i),
    .res_ready_o(res_ready_o),
    .res_i(res_i),
    .valid_o(wr_valid),
    .ready_i(wr_ready),
    .data_o(wr_data),
    .mask_o(wr_mask),
    .beat_o(wr_beat),
    .group_o(wr_group),
    .place_o(wr_place),
    .cpage_o(wr_cpage),
    .first_o(wr_first),
    .last_o(wr_last)
  );

  logic out_valid;
  logic out_ready;
  logic out_last;
  sac_full #(
    .WVec(WVec),
    .CVec(CVec),
    .NVec(NVec)
  ) u_full (
    .clk_i,
    .rst_ni,
    .clr_i(clr_i),
    .start_i(go_i),
    .task_i(task_i),
    .geom_i(geom_i),
    .p_we_i(p_we_i),
    .p_n_i(p_n_i),
    .p_place_i(p_place_i),
    .p_i(p_i),
    .valid_i(wr_valid),
    .ready_o(wr_ready),
    .data_i(wr_data),
    .mask_i(wr_mask),
    .beat_i(wr_beat),
    .group_i(wr_group),
    .place_i(wr_place),
    .cpage_i(wr_cpage),
    .first_i(wr_first),
    .last_i(wr_last),
    .valid_o(out_valid),
    .ready_i(out_ready),
    .data_o(out_o),
    .beat_o(c_beat_o),
    .cpage_o(c_page_o),
    .last_o(out_last)
  );

  // ---- to memory and cache ----
  assign out_ready = !task_i.dst_ddr || o_dat_ready_i;
  assign o_dat_valid_o = out_valid && task_i.dst_ddr;
  assign c_we_o = out_valid && out_ready && task_i.dst_cache;
  assign batch_out_o = out_valid && out_ready && out_last;

  sac_jobs #(
    .WVec(WVec),
    .CVec(CVec),
    .NVec(NVec)
  ) u_res_jobs (
    .clk_i,
    .rst_ni,
    .clr_i(clr_i),
    .start_i(seq_start_i && task_i.add),
    .full_i(1'b0),
    .base_i(task_i.res),
    .step_i(task_i.out_step),
    .task_i(task_i),
    .geom_i(geom_i),
    .req_valid_o(res_req_valid_o),
    .req_ready_i(res_req_ready_i),
    .req_addr_o(res_req_addr_o),
    .req_bytes_o(res_req_bytes_o)
  );

  sac_jobs #(
    .WVec(WVec),
    .CVec(CVec),
    .NVec(NVec)
  ) u_out_jobs (
    .clk_i,
    .rst_ni,
    .clr_i(clr_i),
    .start_i(seq_start_i && task_i.dst_ddr),
    .full_i(task_i.full != 2'd0),
    .base_i(task_i.out),
    // a map of one page: its channel groups follow each other
    .step_i(task_i.full != 2'd0 ? 28'(Beats) : task_i.out_step),
    .task_i(task_i),
    .geom_i(geom_i),
    .req_valid_o(o_req_valid_o),
    .req_ready_i(o_req_ready_i),
    .req_addr_o(o_req_addr_o),
    .req_bytes_o(o_req_bytes_o)
  );

endmodule
