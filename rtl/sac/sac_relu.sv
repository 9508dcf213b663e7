// relu (document 001, section 4.2.6): the results of the array, column by column.
//
// Takes complete results in their order (done_i counts them), reads one column of all PEs a cycle, keeps the columns
// that the stride of the convolution keeps, forces filters from N on to 0 and applies max(0, x). A result
// leaves with its last kept column; one without any takes a cycle. pop_o frees its place. Output: one column of
// N_VECTOR bytes a cycle, in the order batch, row, column, until the last one of the task; valid/ready.
module sac_relu #(
  parameter int unsigned WVec = 3,
  parameter int unsigned NVec = 2,
  parameter int unsigned Depth = 16,
  localparam int unsigned Dw = $clog2(Depth),
  localparam int unsigned Lc = $clog2(WVec),
  localparam int unsigned OwVec = WVec - sac_pkg::FwVec + 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clr_i,
  input  logic                 start_i,
  input  sac_pkg::layer_task_t task_i,
  input  sac_pkg::geom_t       geom_i,
  // results of the array
  input  logic                 done_i,
  output logic                 pop_o,
  output logic                 rd_en_o,
  output logic [       Dw-1:0] rd_slot_o,
  output logic [       Lc-1:0] rd_col_o,
  output logic [          1:0] rd_place_o,
  input  logic [   8*NVec-1:0] a_i,
  // columns
  output logic                 valid_o,
  input  logic                 ready_i,
  output logic [   8*NVec-1:0] data_o
);

  logic [Dw:0] have_q;  // complete results
  logic [Dw-1:0] slot_q;
  logic [4:0] pos_q;  // next kept column, from the first one of the result
  logic [9:0] col_q;  // its number in the row
  logic [9:0] row_q;
  logic [11:0] batch_q;
  logic [12:0] n_left_q;  // filters from this batch on
  logic [4:0] width;
  logic [4:0] pos_next;
  logic take;  // a column is read
  logic skip;
  logic last_col;
  logic last_row;
  logic ends;
  assign width = geom_i.k1 ? 5'(WVec) : 5'(OwVec);
  assign pos_next = pos_q + {2'd0, task_i.stride};
  assign take = have_q != '0 && pos_q < width && rd_en_o;
  assign skip = have_q != '0 && pos_q >= width && rd_en_o;
  assign last_col = col_q == task_i.ow - 10'd1;
  assign last_row = last_col && row_q == task_i.oh - 10'd1;
  assign ends = take && (last_col || pos_next >= width);
  assign pop_o = skip || ends;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      have_q <= '0;
      slot_q <= '0;
      pos_q <= '0;
      col_q <= '0;
      row_q <= '0;
      batch_q <= '0;
      n_left_q <= '0;
    end else if (clr_i || start_i) begin
      have_q <= '0;
      slot_q <= '0;
      pos_q <= '0;
      col_q <= '0;
      row_q <= '0;
      batch_q <= '0;
      n_left_q <= task_i.n;
    end else begin
      have_q <= have_q + (Dw + 1)'(done_i) - (Dw + 1)'(pop_o);
      if (pop_o) slot_q <= slot_q + 1'b1;
      if (skip) pos_q <= pos_q - width;
      if (take) begin
        pos_q <= last_col ? 5'd0 : pos_next >= width ? pos_next - width : pos_next;
        col_q <= last_col ? 10'd0 : col_q + 10'd1;
        if (last_col) row_q <= last_row ? 10'd0 : row_q + 10'd1;
        if (last_row) begin
          batch_q <= batch_q + 12'd1;
          n_left_q <= n_left_q - 13'(NVec);
        end
      end
    end
  end

  assign rd_slot_o = slot_q;
  assign rd_col_o = Lc'(pos_q);
  assign rd_place_o = batch_q[1:0];

  // ---- two stages in the array ----
  logic [1:0] valid_q;
  logic [NVec-1:0] mask;
  logic [NVec-1:0] mask1_q;
  logic [NVec-1:0] mask2_q;
  always_comb for (int unsigned n = 0; n < NVec; n++) mask[n] = 13'(n) < n_left_q;
  assign rd_en_o = !valid_q[1] || ready_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      mask1_q <= '0;
      mask2_q <= '0;
    end else if (clr_i) begin
      valid_q <= '0;
    end else if (rd_en_o) begin
      valid_q <= {valid_q[0], take};
      mask1_q <= mask;
      mask2_q <= mask1_q;
    end
  end
  assign valid_o = valid_q[1];
  always_comb
    for (int unsigned n = 0; n < NVec; n++)
      data_o[8*n+:8] = a_i[8*n+:8] & {8{mask2_q[n] && !(task_i.relu && a_i[8*n+7])}};

  logic unused;
  assign unused = ^{task_i, geom_i, batch_q};

endmodule
