// feature_writer (document 001, section 4.2.9): pages to beats of 16 bytes; adds the residual and activates.
//
// Input: a page [column][filter] with cols_i columns. Output: for each channel group of the batch that has filters the
// beats of its page [column][channel], 16 bytes a cycle, each with its number in the page and the cache page. With a
// residual (task_i.add) a beat of it (res_*, same order) is added: shr((a << la) + (b << lb), r) with la, lb, r of the
// filter, then max(0, x) if task_i.post_relu. Bytes beyond the map and of filters from N on are 0, whatever the
// residual holds there. last_o: last beat of a batch. Latency one cycle; valid/ready.
module sac_writer #(
  parameter int unsigned WVec = 3,
  parameter int unsigned CVec = 2,
  parameter int unsigned NVec = 2,
  localparam int unsigned Beats = (WVec * CVec + 15) / 16,  // of a page
  localparam int unsigned LogN = $clog2(NVec),
  localparam int unsigned Lc = $clog2(WVec + 1),
  localparam int unsigned Groups = NVec / CVec,
  localparam int unsigned Gw = Groups > 1 ? $clog2(Groups) : 1
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   clr_i,
  input  logic                   start_i,
  input  sac_pkg::layer_task_t   task_i,
  input  sac_pkg::geom_t         geom_i,
  // PARAM of a filter
  input  logic                   p_we_i,
  input  logic [       LogN-1:0] p_n_i,
  input  logic [            1:0] p_place_i,
  input  logic [          127:0] p_i,
  // pages
  input  logic                   valid_i,
  output logic                   ready_o,
  input  logic [8*NVec*WVec-1:0] page_i,
  input  logic [         Lc-1:0] cols_i,
  // residual
  input  logic                   res_valid_i,
  output logic                   res_ready_o,
  input  logic [          127:0] res_i,
  // beats
  output logic                   valid_o,
  input  logic                   ready_i,
  output logic [          127:0] data_o,
  output logic [           15:0] mask_o,   // bytes of columns of the map
  output logic [            2:0] beat_o,
  output logic [         Gw-1:0] group_o,  // of the batch
  output logic [            1:0] place_o,  // of PARAM
  output logic [           18:0] cpage_o,
  output logic                   first_o,  // page of the batch
  output logic                   last_o    // beat of the batch
);

  localparam int unsigned BeatCols = 16 / CVec;

  // ---- PARAM: la, lb, r of four batches ----
  logic [10:0] scale[4*NVec];
  always_ff @(posedge clk_i)
    if (p_we_i) scale[{p_place_i, p_n_i}] <= {p_i[60:56], p_i[50:48], p_i[42:40]};

  // ---- counters ----
  logic valid_q;  // a beat waits at the output
  logic [2:0] beat_q;
  logic [Gw-1:0] g_q;
  logic [18:0] page_q;
  logic [1:0] place_q;
  logic [12:0] n_left_q;  // filters from this channel group on
  logic [12:0] n_batch;
  logic [18:0] base_q;  // cache page of the batch
  logic [18:0] group_base_q;  // of this channel group
  logic last_beat;
  logic last_g;
  logic last_page;
  logic step;
  logic free;
  assign n_batch = n_left_q + (13'(g_q) << $clog2(CVec));
  assign last_beat = beat_q == 3'(Beats - 1);
  assign last_g = last_beat && (g_q == Gw'(Groups - 1) || n_left_q <= 13'(CVec));
  assign last_page = last_g && page_q == geom_i.out_group - 19'd1;
  assign free = !valid_q || ready_i;
  assign step = valid_i && free && (!task_i.add || res_valid_i);
  assign ready_o = step && last_g;
  assign res_ready_o = valid_i && free && task_i.add;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beat_q <= '0;
      g_q <= '0;
      page_q <= '0;
      place_q <= '0;
      n_left_q <= '0;
      base_q <= '0;
      group_base_q <= '0;
    end else if (clr_i || start_i) begin
      beat_q <= '0;
      g_q <= '0;
      page_q <= '0;
      place_q <= '0;
      n_left_q <= task_i.n;
      base_q <= '0;
      group_base_q <= '0;
    end else if (step) begin
      beat_q <= last_beat ? 3'd0 : beat_q + 3'd1;
      if (last_beat) begin
        g_q <= g_q + 1'b1;
        n_left_q <= n_left_q - 13'(CVec);
        group_base_q <= group_base_q + geom_i.out_group;
      end
      if (last_g) begin
        g_q <= '0;
        n_left_q <= n_batch;
        group_base_q <= base_q;
        page_q <= page_q + 19'd1;
      end
      if (last_page) begin
        page_q <= '0;
        place_q <= place_q + 2'd1;
        n_left_q <= n_batch - 13'(NVec);
        base_q <= group_base_q + geom_i.out_group;
        group_base_q <= group_base_q + geom_i.out_group;
      end
    end
  end

  // ---- a beat: 16 lanes ----
  logic [127:0] a;
  logic [127:0] y;
  logic [15:0] col_ok;
  logic [15:0] chan_ok;
  logic [10:0] lane_scale;
  logic [31:0] sum;
  logic [7:0] lane;
  always_comb begin
    a = '0;
    col_ok = '0;
    for (int unsigned k = 0; k < Beats; k++)
      for (int unsigned g = 0; g < Groups; g++)
        if (beat_q == 3'(k) && g_q == Gw'(g))
          for (int unsigned i = 0; i < 16; i++)
            if (k * BeatCols + i / CVec < WVec) begin
              a[8*i+:8] = page_i[8*((k*BeatCols+i/CVec)*NVec+g*CVec+i%CVec)+:8];
              col_ok[i] = Lc'(k * BeatCols + i / CVec) < cols_i;
            end
  end
  always_comb for (int unsigned i = 0; i < 16; i++) chan_ok[i] = 13'(i % CVec) < n_left_q;

  // the residual needs its own arithmetic only in cycles in which a beat moves
  always_comb begin
    y = a;
    lane_scale = '0;
    sum = '0;
    lane = '0;
    if (step) begin
      for (int unsigned i = 0; i < 16; i++) begin
        lane = a[8*i+:8];
        if (task_i.add) begin
          lane_scale = scale[{place_q, (LogN'(g_q) << $clog2(CVec)) | LogN'(i % CVec)}];
          sum = ({{24{lane[7]}}, lane} << lane_scale[2:0]) + ({{24{res_i[8*i+7]}}, res_i[8*i+:8]} << lane_scale[5:3]);
          lane = sac_pkg::shr(sum, {lane_scale[10], lane_scale[10:6]});
        end
        y[8*i+:8] = lane & {8{col_ok[i] && chan_ok[i] && !(task_i.post_relu && lane[7])}};
      end
    end
  end

  logic [127:0] data_q;
  logic [15:0] mask_q;
  logic [2:0] out_beat_q;
  logic [Gw-1:0] out_g_q;
  logic [1:0] out_place_q;
  logic [18:0] cpage_q;
  logic first_q;
  logic last_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      data_q <= '0;
      mask_q <= '0;
      out_beat_q <= '0;
      out_g_q <= '0;
      out_place_q <= '0;
      cpage_q <= '0;
      first_q <= 1'b0;
      last_q <= 1'b0;
    end else if (clr_i) begin
      valid_q <= 1'b0;
    end else if (free) begin
      valid_q <= step;
      if (step) begin
        data_q <= y;
        mask_q <= col_ok;
        out_beat_q <= beat_q;
        out_g_q <= g_q;
        out_place_q <= place_q;
        cpage_q <= group_base_q + page_q;
        first_q <= page_q == '0;
        last_q <= last_page;
      end
    end
  end
  assign valid_o = valid_q;
  assign data_o = data_q;
  assign mask_o = mask_q;
  assign beat_o = out_beat_q;
  assign group_o = out_g_q;
  assign place_o = out_place_q;
  assign cpage_o = cpage_q;
  assign first_o = first_q;
  assign last_o = last_q;

  logic unused;
  assign unused = ^{task_i, geom_i, p_i};

endmodule
