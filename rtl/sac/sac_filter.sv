// filter_reader (document 001, section 4.2.2): DTAB, then PARAM and filter words of each batch, from memory.
//
// start_i: read DTAB, one byte a channel. go_i, once the geometry is known: read batch after batch, PARAM (16 bytes a
// filter) and the words of its N_VECTOR filters (equation 25), at most one filter word a cycle, tagged with the number
// of the filter and its cache address. A batch begins when a half of the filter cache is free (computed_i, batches
// that the array is done with) and one of four places of PARAM (drained_i, batches that have left the writer).
// loaded_o counts complete batches. Nothing here waits for anything else, so data are always accepted.
module sac_filter #(
  parameter int unsigned CVec = 2,
  parameter int unsigned NVec = 2,
  localparam int unsigned LogN = $clog2(NVec),
  localparam int unsigned WordW = 12 * CVec
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clr_i,
  input  logic                 start_i,
  input  logic                 go_i,
  input  sac_pkg::layer_task_t task_i,
  input  sac_pkg::geom_t       geom_i,
  input  logic [         11:0] computed_i,
  input  logic [         11:0] drained_i,
  output logic [         11:0] loaded_o,
  // jobs and data of the DMA
  output logic                 req_valid_o,
  input  logic                 req_ready_i,
  output logic [         31:0] req_addr_o,
  output logic [         23:0] req_bytes_o,
  input  logic                 dat_valid_i,
  output logic                 dat_ready_o,
  input  logic [        127:0] dat_i,
  // shifts d of 16 channels
  output logic                 d_we_o,
  output logic [          7:0] d_addr_o,
  output logic [         47:0] d_o,
  // PARAM of a filter
  output logic                 p_we_o,
  output logic [     LogN-1:0] p_n_o,
  output logic [          1:0] p_place_o,
  output logic [        127:0] p_o,
  // filter word
  output logic                 f_valid_o,
  output logic [     LogN-1:0] f_n_o,
  output logic                 f_half_o,
  output logic [          9:0] f_addr_o,
  output logic [    WordW-1:0] f_o
);

  // ---- jobs ----
  localparam logic [1:0] JobNone = 2'd0;
  localparam logic [1:0] JobTable = 2'd1;
  localparam logic [1:0] JobParam = 2'd2;
  localparam logic [1:0] JobFilter = 2'd3;
  localparam int unsigned LogB = $clog2(NVec * CVec / 2);  // bytes of all filters: 3 * words << LogB

  logic [1:0] job_q;
  logic ready_q;  // the geometry is known
  logic [11:0] batch_q;  // of the next job
  logic [27:0] param_q;
  logic [27:0] filt_q;
  logic [23:0] bytes;
  logic [19:0] beats;
  logic free;
  assign bytes = {12'd0, {1'b0, geom_i.words} + {geom_i.words, 1'b0}} << LogB;
  assign beats = bytes[23:4] + {19'd0, bytes[3:0] != 4'd0};
  assign free = batch_q < computed_i + 12'd2 && batch_q < drained_i + 12'd4;

  assign req_valid_o = job_q == JobTable || (job_q == JobParam && ready_q && free) || job_q == JobFilter;
  always_comb begin
    req_addr_o = {task_i.dtab, 4'd0};
    req_bytes_o = {11'd0, task_i.c};
    if (job_q == JobParam) begin
      req_addr_o = {param_q, 4'd0};
      req_bytes_o = 24'(16 * NVec);
    end
    if (job_q == JobFilter) begin
      req_addr_o = {filt_q, 4'd0};
      req_bytes_o = bytes;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      job_q <= JobNone;
      ready_q <= 1'b0;
      batch_q <= '0;
      param_q <= '0;
      filt_q <= '0;
    end else if (clr_i) begin
      job_q <= JobNone;
      ready_q <= 1'b0;
    end else begin
      if (go_i) ready_q <= 1'b1;
      if (start_i) begin
        job_q <= JobTable;
        ready_q <= go_i;
        batch_q <= '0;
        param_q <= task_i.param;
        filt_q <= task_i.filt;
      end else if (req_valid_o && req_ready_i) begin
        case (job_q)
          JobTable: job_q <= JobParam;
          JobParam: begin
            job_q <= JobFilter;
            param_q <= param_q + 28'(NVec);
          end
          default: begin
            job_q <= batch_q + 12'd1 == geom_i.batches ? JobNone : JobParam;
            filt_q <= filt_q + {8'd0, beats};
            batch_q <= batch_q + 12'd1;
          end
        endcase
      end
    end
  end

  // ---- data ----
  logic [1:0] in_q;  // what arrives, as job_q
  logic [8:0] beat_q;  // of DTAB
  logic [LogN-1:0] n_q;
  logic [9:0] addr_q;
  logic [19:0] left_q;  // beats of the batch that have not arrived
  logic [11:0] loaded_q;
  logic [8:0] d_beats;
  logic gear_ready;
  logic word_valid;
  logic word_last;  // of a filter
  assign d_beats = 9'((task_i.c + 13'd15) >> 4);
  assign word_last = addr_q == 10'(geom_i.words - 11'd1);
  assign dat_ready_o = in_q == JobFilter ? left_q != '0 && gear_ready : in_q != JobNone;

  sac_gearbox #(
    .Bytes(WordW / 8)
  ) u_gear (
    .clk_i,
    .rst_ni,
    .clr_i(in_q != JobFilter),
    .in_valid_i(dat_valid_i && in_q == JobFilter && left_q != '0),
    .in_ready_o(gear_ready),
    .in_data_i(dat_i),
    .out_valid_o(word_valid),
    .out_ready_i(1'b1),
    .out_data_o(f_o)
  );

  assign d_we_o = in_q == JobTable && dat_valid_i;
  assign d_addr_o = beat_q[7:0];
  always_comb for (int unsigned i = 0; i < 16; i++) d_o[3*i+:3] = dat_i[8*i+:3];
  assign p_we_o = in_q == JobParam && dat_valid_i;
  assign p_n_o = n_q;
  assign p_place_o = loaded_q[1:0];
  assign p_o = dat_i;
  assign f_valid_o = in_q == JobFilter && word_valid;
  assign f_n_o = n_q;
  assign f_half_o = loaded_q[0];
  assign f_addr_o = addr_q;
  assign loaded_o = loaded_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_q <= JobNone;
      beat_q <= '0;
      n_q <= '0;
      addr_q <= '0;
      left_q <= '0;
      loaded_q <= '0;
    end else if (clr_i || start_i) begin
      in_q <= clr_i ? JobNone : JobTable;
      beat_q <= '0;
      n_q <= '0;
      addr_q <= '0;
      loaded_q <= '0;
    end else begin
      if (d_we_o) begin
        beat_q <= beat_q + 9'd1;
        if (beat_q == d_beats - 9'd1) in_q <= JobParam;
      end
      if (p_we_o) begin
        n_q <= n_q + 1'b1;
        if (n_q == LogN'(NVec - 1)) begin
          in_q <= JobFilter;
          left_q <= beats;
        end
      end
      if (in_q == JobFilter && dat_valid_i && dat_ready_o) left_q <= left_q - 20'd1;
      if (f_valid_o) begin
        addr_q <= word_last ? 10'd0 : addr_q + 10'd1;
        if (word_last) n_q <= n_q + 1'b1;
        if (word_last && n_q == LogN'(NVec - 1)) begin
          loaded_q <= loaded_q + 12'd1;
          in_q <= loaded_q + 12'd1 == geom_i.batches ? JobNone : JobParam;
        end
      end
    end
  end

  logic unused;
  assign unused = ^{task_i, geom_i};

endmodule
