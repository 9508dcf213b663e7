// From memory to the results of the array: input_reader, filter_reader, sequencer, retriever and pe.
//
// The cache of features has a second writer, the output (c_*); both never write in the same cycle, as the input is
// complete before the array begins. Results are read by what is behind the array (rd_*, see sac_pe).
// Document: docs/sac/sac.md section 1.
module sac_conv #(
  parameter int unsigned WVec = 3,
  parameter int unsigned CVec = 2,
  parameter int unsigned NVec = 2,
  parameter int unsigned CachePages = 4096,
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
  input  logic                 input_start_i,
  input  logic                 preload_start_i,
  input  logic                 seq_start_i,
  input  sac_pkg::layer_task_t task_i,
  input  sac_pkg::geom_t       geom_i,
  input  logic [         11:0] drained_i,
  output logic                 input_done_o,
  output logic [         11:0] loaded_o,
  output logic                 seq_done_o,
  output logic                 ev_conv_o,
  output logic                 ev_load_o,
  output logic                 ev_write_o,
  // input
  output logic                 in_req_valid_o,
  input  logic                 in_req_ready_i,
  output logic [         31:0] in_req_addr_o,
  output logic [         23:0] in_req_bytes_o,
  input  logic                 in_dat_valid_i,
  input  logic [        127:0] in_dat_i,
  // filters, PARAM, DTAB
  output logic                 w_req_valid_o,
  input  logic                 w_req_ready_i,
  output logic [         31:0] w_req_addr_o,
  output logic [         23:0] w_req_bytes_o,
  input  logic                 w_dat_valid_i,
  output logic                 w_dat_ready_o,
  input  logic [        127:0] w_dat_i,
  // PARAM of a filter, for all who keep a part of it
  output logic                 p_we_o,
  output logic [     LogN-1:0] p_n_o,
  output logic [          1:0] p_place_o,
  output logic [        127:0] p_o,
  // output that goes to the cache
  input  logic                 c_we_i,
  input  logic [         18:0] c_page_i,
  input  logic [          2:0] c_beat_i,
  input  logic [        127:0] c_data_i,
  // results
  output logic                 result_o,
  input  logic                 pop_i,
  input  logic                 rd_en_i,
  input  logic [       Dw-1:0] rd_slot_i,
  input  logic [       Lo-1:0] rd_col_i,
  input  logic [          1:0] rd_place_i,
  output logic [   8*NVec-1:0] a_o
);

  localparam int unsigned FlagW = 10 + 2 + 1 + 2 + 1 + 1 + Dw;

  logic [11:0] computed;

  // ---- input_reader ----
  logic in_we;
  logic [18:0] in_page;
  logic [2:0] in_beat;
  logic [127:0] in_data;
  sac_input #(
    .WVec(WVec),
    .CVec(CVec)
  ) u_input (
    .clk_i,
    .rst_ni,
    .clr_i(clr_i),
    .start_i(input_start_i),
    .task_i(task_i),
    .geom_i(geom_i),
    .done_o(input_done_o),
    .req_valid_o(in_req_valid_o),
    .req_ready_i(in_req_ready_i),
    .req_addr_o(in_req_addr_o),
    .req_bytes_o(in_req_bytes_o),
    .dat_valid_i(in_dat_valid_i),
    .dat_i(in_dat_i),
    .we_o(in_we),
    .page_o(in_page),
    .beat_o(in_beat),
    .data_o(in_data)
  );

  // ---- filter_reader ----
  logic d_we;
  logic [7:0] d_addr;
  logic [47:0] d_data;
  logic f_valid;
  logic [LogN-1:0] f_n;
  logic f_half;
  logic [9:0] f_addr;
  logic [12*CVec-1:0] f_word;
  sac_filter #(
    .CVec(CVec),
    .NVec(NVec)
  ) u_filter (
    .clk_i,
    .rst_ni,
    .clr_i(clr_i),
    .start_i(go_i),
    .go_i(preload_start_i),
    .task_i(task_i),
    .geom_i(geom_i),
    .computed_i(computed),
    .drained_i(drained_i),
    .loaded_o(loaded_o),
    .req_valid_o(w_req_valid_o),
    .req_ready_i(w_req_ready_i),
    .req_addr_o(w_req_addr_o),
    .req_bytes_o(w_req_bytes_o),
    .dat_valid_i(w_dat_valid_i),
    .dat_ready_o(w_dat_ready_o),
    .dat_i(w_dat_i),
    .d_we_o(d_we),
    .d_addr_o(d_addr),
    .d_o(d_data),
    .p_we_o(p_we_o),
    .p_n_o(p_n_o),
    .p_place_o(p_place_o),
    .p_o(p_o),
    .f_valid_o(f_valid),
    .f_n_o(f_n),
    .f_half_o(f_half),
    .f_addr_o(f_addr),
    .f_o(f_word)
  );

  // ---- sequencer ----
  logic [18:0] vec_page;
  logic [Lo-1:0] vec_bank;
  logic [13:0] vec_col;
  logic vec_row_ok;
  logic [11:0] vec_group;
  logic [FlagW-1:0] vec_flags;
  sac_seq #(
    .WVec(WVec),
    .Depth(Depth)
  ) u_seq (
    .clk_i,
    .rst_ni,
    .clr_i(clr_i || go_i),  // the filter reader of this task must not see the batches of the last one
    .start_i(seq_start_i),
    .task_i(task_i),
    .geom_i(geom_i),
    .loaded_i(loaded_o),
    .pop_i(pop_i),
    .done_o(seq_done_o),
    .computed_o(computed),
    .ev_load_o(ev_load_o),
    .ev_write_o(ev_write_o),
    .valid_o(ev_conv_o),
    .page_o(vec_page),
    .bank_o(vec_bank),
    .col_o(vec_col),
    .row_ok_o(vec_row_ok),
    .group_o(vec_group),
    .word_o(vec_flags[Dw+7+:10]),
    .third_o(vec_flags[Dw+5+:2]),
    .half_o(vec_flags[Dw+4]),
    .place_o(vec_flags[Dw+2+:2]),
    .first_o(vec_flags[Dw+1]),
    .last_o(vec_flags[Dw]),
    .slot_o(vec_flags[0+:Dw])
  );

  // ---- retriever ----
  logic x_valid;
  logic [FlagW-1:0] x_flags;
  logic [sac_pkg::XBits*WVec*CVec-1:0] x;
  sac_retriever #(
    .WVec(WVec),
    .CVec(CVec),
    .CachePages(CachePages),
    .Depth(Depth)
  ) u_retriever (
    .clk_i,
    .rst_ni,
    .task_i(task_i),
    .we_i(in_we || c_we_i),
    .we_half_i(in_we ? task_i.half : !task_i.half),
    .we_page_i(in_we ? in_page : c_page_i),
    .we_beat_i(in_we ? in_beat : c_beat_i),
    .we_data_i(in_we ? in_data : c_data_i),
    .d_we_i(d_we),
    .d_addr_i(d_addr),
    .d_i(d_data),
    .valid_i(ev_conv_o),
    .page_i(vec_page),
    .bank_i(vec_bank),
    .col_i(vec_col),
    .row_ok_i(vec_row_ok),
    .group_i(vec_group),
    .flags_i(vec_flags),
    .valid_o(x_valid),
    .flags_o(x_flags),
    .x_o(x)
  );

  // ---- the array ----
  sac_pe #(
    .WVec(WVec),
    .CVec(CVec),
    .NVec(NVec),
    .Depth(Depth)
  ) u_pe (
    .clk_i,
    .rst_ni,
    .k1_i(geom_i.k1),
    .valid_i(x_valid),
    .flags_i(x_flags),
    .x_i(x),
    .p_we_i(p_we_o),
    .p_n_i(p_n_o),
    .p_place_i(p_place_o),
    .p_i(p_o),
    .f_valid_i(f_valid),
    .f_n_i(f_n),
    .f_half_i(f_half),
    .f_addr_i(f_addr),
    .f_i(f_word),
    .done_o(result_o),
    .rd_en_i(rd_en_i),
    .rd_slot_i(rd_slot_i),
    .rd_col_i(rd_col_i),
    .rd_place_i(rd_place_i),
    .a_o(a_o)
  );

endmodule
