// Jobs of the DMA for a tensor as large as the output, in the order in which the writer works: writes of the output and
// reads of the residual.
//
// start_i: for each batch of filters, page of the map and channel group of the batch that has filters one job of a
// page; where a batch is one channel group, a row of pages is one job. With full_i the map is one page. Channel groups
// are step_i apart (units of 16 bytes). valid/ready; the address is in units of 16 bytes.
// Throughput: a job a cycle at most. Document: docs/sac/sac.md section 3.
module sac_jobs #(
  parameter int unsigned WVec = 3,
  parameter int unsigned CVec = 2,
  parameter int unsigned NVec = 2,
  localparam int unsigned Beats = (WVec * CVec + 15) / 16  // of a page
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clr_i,
  input  logic                 start_i,
  input  logic                 full_i,
  input  logic [         27:0] base_i,
  input  logic [         27:0] step_i,
  input  sac_pkg::layer_task_t task_i,
  input  sac_pkg::geom_t       geom_i,
  output logic                 req_valid_o,
  input  logic                 req_ready_i,
  output logic [         31:0] req_addr_o,
  output logic [         23:0] req_bytes_o
);

  localparam int unsigned Groups = NVec / CVec;  // of a batch
  localparam int unsigned Gw = Groups > 1 ? $clog2(Groups) : 1;

  // beats of so many pages; a constant with few ones, so shifts and additions
  function automatic logic [11:0] beats_of(input logic [8:0] pages);
    beats_of = '0;
    for (int unsigned i = 0; i < 3; i++) if (((Beats >> i) & 1) != 0) beats_of = beats_of + ({3'd0, pages} << i);
  endfunction

  logic run_q;
  logic [Gw-1:0] g_q;
  logic [18:0] item_q;  // row or page
  logic [12:0] n_left_q;  // filters from this channel group on
  logic [27:0] batch_q;  // first channel group of the batch
  logic [27:0] group_q;  // this one
  logic [27:0] pos_q;  // within the channel group
  logic [11:0] beats;
  logic [18:0] items;
  logic last_g;
  logic last_item;
  logic [12:0] n_batch;
  assign beats = Groups > 1 || full_i ? 12'(Beats) : beats_of(geom_i.out_pages);
  assign items = full_i ? 19'd1 : Groups > 1 ? geom_i.out_group : {9'd0, geom_i.map_h};
  assign last_g = g_q == Gw'(Groups - 1) || n_left_q <= 13'(CVec);
  assign last_item = last_g && item_q == items - 19'd1;
  assign n_batch = n_left_q + (13'(g_q) << $clog2(CVec));  // filters from this batch on

  logic [27:0] batch_next;
  assign batch_next = group_q + step_i;  // after the last channel group of a whole batch

  assign req_valid_o = run_q;
  assign req_addr_o = {group_q + pos_q, 4'd0};
  assign req_bytes_o = {8'd0, beats, 4'd0};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      run_q <= 1'b0;
      g_q <= '0;
      item_q <= '0;
      n_left_q <= '0;
      batch_q <= '0;
      group_q <= '0;
      pos_q <= '0;
    end else if (clr_i) begin
      run_q <= 1'b0;
    end else if (start_i) begin
      run_q <= 1'b1;
      g_q <= '0;
      item_q <= '0;
      n_left_q <= task_i.n;
      batch_q <= base_i;
      group_q <= base_i;
      pos_q <= '0;
    end else if (req_valid_o && req_ready_i) begin
      g_q <= g_q + 1'b1;
      n_left_q <= n_left_q - 13'(CVec);
      group_q <= group_q + step_i;
      if (last_g) begin
        g_q <= '0;
        n_left_q <= n_batch;
        group_q <= batch_q;
        pos_q <= pos_q + {16'd0, beats};
        item_q <= item_q + 19'd1;
      end
      if (last_item) begin
        pos_q <= '0;
        item_q <= '0;
        n_left_q <= n_batch - 13'(NVec);
        batch_q <= batch_next;
        group_q <= batch_next;
        run_q <= n_batch > 13'(NVec);
      end
    end
  end

  logic unused;
  assign unused = ^{task_i, geom_i};

endmodule
