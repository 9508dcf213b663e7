// The engine without registers and masters: the states of a task (sac_ctrl), what leads to the results of the array
// (sac_conv) and what is behind it (sac_post).
// Document: docs/sac/sac.md section 1.
module sac_engine #(
  parameter int unsigned WVec = 3,
  parameter int unsigned CVec = 2,
  parameter int unsigned NVec = 2,
  parameter int unsigned CachePages = 4096,
  parameter int unsigned Depth = 16
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // registers: see sac_ctrl
  input  logic                 start_i,
  input  logic                 abort_i,
  input  sac_pkg::layer_task_t task_i,
  output logic                 busy_o,
  output logic                 done_o,
  output logic [          2:0] code_o,
  output logic [        191:0] cycles_o,
  // masters: see sac_dma
  output logic                 clr_o,
  input  logic                 idle_i,
  input  logic [          2:0] err_i,
  output logic [          1:0] f_req_valid_o,
  input  logic [          1:0] f_req_ready_i,
  output logic [         63:0] f_req_addr_o,
  output logic [         47:0] f_req_bytes_o,
  input  logic                 f_dat_valid_i,
  output logic                 f_dat_ready_o,
  input  logic                 f_dat_id_i,
  input  logic [        127:0] f_dat_i,
  output logic                 o_req_valid_o,
  input  logic                 o_req_ready_i,
  output logic [         31:0] o_req_addr_o,
  output logic [         23:0] o_req_bytes_o,
  output logic                 o_dat_valid_o,
  input  logic                 o_dat_ready_i,
  output logic [        127:0] o_dat_o,
  output logic                 w_req_valid_o,
  input  logic                 w_req_ready_i,
  output logic [         31:0] w_req_addr_o,
  output logic [         23:0] w_req_bytes_o,
  input  logic                 w_dat_valid_i,
  output logic                 w_dat_ready_o,
  input  logic [        127:0] w_dat_i
);

  localparam int unsigned LogN = $clog2(NVec);
  localparam int unsigned Lo = $clog2(WVec);
  localparam int unsigned Dw = $clog2(Depth);

  // ---- states ----
  sac_pkg::layer_task_t layer;
  sac_pkg::geom_t geom;
  logic go;
  logic input_start;
  logic input_done;
  logic preload_start;
  logic [11:0] loaded;
  logic [11:0] drained;
  logic seq_start;
  logic seq_done;
  logic batch_out;
  logic ev_conv;
  logic ev_load;
  logic ev_write;
  sac_ctrl #(
    .WVec(WVec),
    .CVec(CVec),
    .NVec(NVec),
    .CachePages(CachePages)
  ) u_ctrl (
    .clk_i,
    .rst_ni,
    .start_i(start_i),
    .abort_i(abort_i),
    .task_i(task_i),
    .busy_o(busy_o),
    .done_o(done_o),
    .code_o(code_o),
    .cycles_o(cycles_o),
    .task_o(layer),
    .geom_o(geom),
    .clr_o(clr_o),
    .go_o(go),
    .input_start_o(input_start),
    .preload_start_o(preload_start),
    .seq_start_o(seq_start),
    .drained_o(drained),
    .input_done_i(input_done),
    .loaded_i(loaded != '0),
    .seq_done_i(seq_done),
    .batch_out_i(batch_out),
    .idle_i(idle_i),
    .err_i(err_i),
    .ev_conv_i(ev_conv),
    .ev_load_i(ev_load),
    .ev_write_i(ev_write)
  );

  // ---- units; the input is always accepted, the residual when the writer takes it ----
  logic res_ready;
  assign f_dat_ready_o = !f_dat_id_i || res_ready;
  logic p_we;
  logic [LogN-1:0] p_n;
  logic [1:0] p_place;
  logic [127:0] p_data;
  logic out_we;
  logic [18:0] out_cpage;
  logic [2:0] out_beat;
  logic result;
  logic pop;
  logic rd_en;
  logic [Dw-1:0] rd_slot;
  logic [Lo-1:0] rd_col;
  logic [1:0] rd_place;
  logic [8*NVec-1:0] a;
  sac_conv #(
    .WVec(WVec),
    .CVec(CVec),
    .NVec(NVec),
    .CachePages(CachePages),
    .Depth(Depth)
  ) u_conv (
    .clk_i,
    .rst_ni,
    .clr_i(clr_o),
    .go_i(go),
    .input_start_i(input_start),
    .preload_start_i(preload_start),
    .seq_start_i(seq_start),
    .task_i(layer),
    .geom_i(geom),
    .drained_i(drained),
    .input_done_o(input_done),
    .loaded_o(loaded),
    .seq_done_o(seq_done),
    .ev_conv_o(ev_conv),
    .ev_load_o(ev_load),
    .ev_write_o(ev_write),
    .in_req_valid_o(f_req_valid_o[0]),
    .in_req_ready_i(f_req_ready_i[0]),
    .in_req_addr_o(f_req_addr_o[31:0]),
    .in_req_bytes_o(f_req_bytes_o[23:0]),
    .in_dat_valid_i(f_dat_valid_i && !f_dat_id_i),
    .in_dat_i(f_dat_i),
    .w_req_valid_o(w_req_valid_o),
    .w_req_ready_i(w_req_ready_i),
    .w_req_addr_o(w_req_addr_o),
    .w_req_bytes_o(w_req_bytes_o),
    .w_dat_valid_i(w_dat_valid_i),
    .w_dat_ready_o(w_dat_ready_o),
    .w_dat_i(w_dat_i),
    .p_we_o(p_we),
    .p_n_o(p_n),
    .p_place_o(p_place),
    .p_o(p_data),
    .c_we_i(out_we),
    .c_page_i(out_cpage),
    .c_beat_i(out_beat),
    .c_data_i(o_dat_o),
    .result_o(result),
    .pop_i(pop),
    .rd_en_i(rd_en),
    .rd_slot_i(rd_slot),
    .rd_col_i(rd_col),
    .rd_place_i(rd_place),
    .a_o(a)
  );

  sac_post #(
    .WVec(WVec),
    .CVec(CVec),
    .NVec(NVec),
    .Depth(Depth)
  ) u_post (
    .clk_i,
    .rst_ni,
    .clr_i(clr_o),
    .go_i(go),
    .seq_start_i(seq_start),
    .task_i(layer),
    .geom_i(geom),
    .batch_out_o(batch_out),
    .p_we_i(p_we),
    .p_n_i(p_n),
    .p_place_i(p_place),
    .p_i(p_data),
    .result_i(result),
    .pop_o(pop),
    .rd_en_o(rd_en),
    .rd_slot_o(rd_slot),
    .rd_col_o(rd_col),
    .rd_place_o(rd_place),
    .a_i(a),
    .res_req_valid_o(f_req_valid_o[1]),
    .res_req_ready_i(f_req_ready_i[1]),
    .res_req_addr_o(f_req_addr_o[63:32]),
    .res_req_bytes_o(f_req_bytes_o[47:24]),
    .res_valid_i(f_dat_valid_i && f_dat_id_i),
    .res_ready_o(res_ready),
    .res_i(f_dat_i),
    .o_req_valid_o(o_req_valid_o),
    .o_req_ready_i(o_req_ready_i),
    .o_req_addr_o(o_req_addr_o),
    .o_req_bytes_o(o_req_bytes_o),
    .o_dat_valid_o(o_dat_valid_o),
    .o_dat_ready_i(o_dat_ready_i),
    .c_we_o(out_we),
    .c_page_o(out_cpage),
    .c_beat_o(out_beat),
    .out_o(o_dat_o)
  );

endmodule
