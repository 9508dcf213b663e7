// pool_tail (document 001, section 4.2.8): drops the columns that the stride of the pooling drops, and packs W_VECTOR
// columns to a page.
//
// Input: a column of N_VECTOR bytes; output: a page [column][filter], columns beyond the row are 0. cols_o columns of
// it belong to the row. One column a cycle; the next page is filled while the last one waits. valid/ready on both
// sides.
module sac_tail #(
  parameter int unsigned WVec = 3,
  parameter int unsigned NVec = 2,
  localparam int unsigned Lc = $clog2(WVec + 1)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   clr_i,
  input  logic                   start_i,
  input  sac_pkg::layer_task_t   task_i,
  input  sac_pkg::geom_t         geom_i,
  input  logic                   valid_i,
  output logic                   ready_o,
  input  logic [     8*NVec-1:0] data_i,
  output logic                   valid_o,
  input  logic                   ready_i,
  output logic [8*NVec*WVec-1:0] page_o,
  output logic [         Lc-1:0] cols_o
);

  localparam int unsigned W = 8 * NVec;

  logic [1:0] drop_q;  // positions to the next one that is kept
  logic [9:0] col_q;  // kept columns of the row
  logic [11:0] pos_q;  // positions of the row
  logic [Lc-1:0] fill_q;
  logic [W*(WVec-1)-1:0] page_q;  // being filled; its last column goes straight to the output
  logic full;
  logic last;  // position of the row
  logic keep;
  logic take;
  logic out_valid_q;
  logic [W*WVec-1:0] out_q;
  logic [Lc-1:0] out_cols_q;
  logic [W*WVec-1:0] page_new;

  assign last = task_i.pool ? pos_q == geom_i.pool_ux : col_q == task_i.ow - 10'd1;
  assign keep = !task_i.pool || drop_q == 2'd0;
  // the last position of a row is always kept
  assign full = keep && (fill_q == Lc'(WVec - 1) || last);
  assign ready_o = !full || !out_valid_q || ready_i;
  assign take = valid_i && ready_o;
  always_comb begin
    page_new = {{W{1'b0}}, page_q};
    for (int unsigned i = 0; i < WVec; i++) if (fill_q == Lc'(i)) page_new[W*i+:W] = data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      drop_q <= '0;
      col_q <= '0;
      pos_q <= '0;
      fill_q <= '0;
      page_q <= '0;
      out_valid_q <= 1'b0;
      out_q <= '0;
      out_cols_q <= '0;
    end else if (clr_i || start_i) begin
      drop_q <= '0;
      col_q <= '0;
      pos_q <= '0;
      fill_q <= '0;
      page_q <= '0;
      out_valid_q <= 1'b0;
    end else begin
      if (ready_i) out_valid_q <= 1'b0;
      if (take) begin
        pos_q <= last ? 12'd0 : pos_q + 12'd1;
        drop_q <= last ? 2'd0 : keep ? task_i.pool_stride - 2'd1 : drop_q - 2'd1;
        if (keep) begin
          col_q <= last ? 10'd0 : col_q + 10'd1;
          fill_q <= full ? '0 : fill_q + 1'b1;
          page_q <= full ? '0 : page_new[W*(WVec-1)-1:0];
        end
        if (full) begin
          out_valid_q <= 1'b1;
          out_q <= page_new;
          out_cols_q <= fill_q + 1'b1;
        end
      end
    end
  end

  assign valid_o = out_valid_q;
  assign page_o = out_q;
  assign cols_o = out_cols_q;

  logic unused;
  assign unused = ^{task_i, geom_i};

endmodule
