// pool (document 001, section 4.2.7): max pooling, along the columns, then along the rows.
//
// Input: columns of the map after the convolution, all rows of a batch after each other. A window of 2 or 3 columns
// ends at each column; the last window - 1 columns are kept, and for each window position the maxima of the last
// window - 1 rows. Output: rows that the stride keeps, in them all positions from the first to the last one that the
// stride keeps: sac_tail drops the others. A window position beyond the map holds nothing, -128. Without pooling
// columns pass unchanged.
//
// One column a cycle. Positions of windows that begin before the map (padding) or end behind it take a cycle without
// input. Latency: one cycle; valid/ready on both sides.
module sac_pool #(
  parameter int unsigned NVec = 2
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clr_i,
  input  logic                 start_i,
  input  sac_pkg::layer_task_t task_i,
  input  sac_pkg::geom_t       geom_i,
  input  logic                 valid_i,
  output logic                 ready_o,
  input  logic [   8*NVec-1:0] data_i,
  output logic                 valid_o,
  input  logic                 ready_i,
  output logic [   8*NVec-1:0] data_o
);

  localparam int unsigned W = 8 * NVec;
  localparam logic [W-1:0] Nothing = {NVec{8'h80}};

  function automatic logic [W-1:0] max_of(input logic [W-1:0] a, input logic [W-1:0] b);
    for (int unsigned n = 0; n < NVec; n++)
      max_of[8*n+:8] = $signed(a[8*n+:8]) > $signed(b[8*n+:8]) ? a[8*n+:8] : b[8*n+:8];
  endfunction

  logic three;
  logic [11:0] x_q;
  logic [11:0] y_q;
  logic [11:0] next_y_q;  // position of the next row that is kept
  logic [12:0] x_pos;  // window that ends here, from the first one; negative: none
  logic [12:0] y_pos;
  logic [12:0] x_end;  // positions in the row, at least the columns of the map
  logic [12:0] y_end;
  logic real_col;
  logic last_x;
  logic last_y;
  logic step;
  logic en;
  assign three = task_i.win == 2'd3;
  assign x_pos = {1'b0, x_q} + {12'd0, task_i.pool_pl} - (three ? 13'd2 : 13'd1);
  assign y_pos = {1'b0, y_q} + {12'd0, task_i.pool_pt} - (three ? 13'd2 : 13'd1);
  assign x_end = {1'b0, geom_i.pool_ux} + (three ? 13'd2 : 13'd1) - {12'd0, task_i.pool_pl};
  assign y_end = {1'b0, geom_i.pool_uy} + (three ? 13'd2 : 13'd1) - {12'd0, task_i.pool_pt};
  assign real_col = x_q < {2'd0, task_i.ow} && y_q < {2'd0, task_i.oh};
  // both bounds at least: the map must be taken, and the last window must end
  assign last_x = {1'b0, x_q} >= x_end && x_q >= {2'd0, task_i.ow} - 12'd1;
  assign last_y = {1'b0, y_q} >= y_end && y_q >= {2'd0, task_i.oh} - 12'd1;

  logic work_q;  // positions of the task are left
  logic [11:0] batch_q;
  assign step = work_q && en && (!real_col || valid_i);
  assign ready_o = task_i.pool ? work_q && en && real_col : ready_i;

  logic [W-1:0] cur;
  logic [W-1:0] c1_q;
  logic [W-1:0] c2_q;
  logic [W-1:0] wide;
  logic keep_pos;
  logic keep_row;
  assign cur = real_col ? data_i : Nothing;
  always_comb begin
    wide = cur;
    if (x_q != '0) wide = max_of(wide, c1_q);
    if (three && x_q > 12'd1) wide = max_of(wide, c2_q);
  end
  assign keep_pos = !x_pos[12] && x_pos <= {1'b0, geom_i.pool_ux};
  assign keep_row = y_pos == {1'b0, next_y_q} && y_pos <= {1'b0, geom_i.pool_uy};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      work_q <= 1'b0;
      batch_q <= '0;
      x_q <= '0;
      y_q <= '0;
      next_y_q <= '0;
    end else if (clr_i) begin
      work_q <= 1'b0;
    end else if (start_i) begin
      work_q <= task_i.pool;
      batch_q <= '0;
      x_q <= '0;
      y_q <= '0;
      next_y_q <= '0;
    end else if (step) begin
      x_q <= x_q + 12'd1;
      if (last_x) begin
        x_q <= '0;
        y_q <= y_q + 12'd1;
        if (keep_row) next_y_q <= next_y_q + {10'd0, task_i.pool_stride};
        if (last_y) begin
          y_q <= '0;
          next_y_q <= '0;
          batch_q <= batch_q + 12'd1;
          work_q <= batch_q + 12'd1 != geom_i.batches;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (step) begin
      c1_q <= cur;
      c2_q <= c1_q;
    end
  end

  // ---- rows: maxima of the last two rows at each position ----
  logic [2*W-1:0] rows[1024];
  logic [2*W-1:0] rows_q;
  logic b_valid_q;
  logic [9:0] b_pos_q;
  logic b_keep_q;
  logic b_one_q;  // there is a row before this one
  logic b_two_q;
  logic [W-1:0] b_wide_q;
  logic [W-1:0] tall;
  logic out_valid;
  logic [2*W-1:0] rows_new;
  logic bypass;
  assign rows_new = {rows_q[W-1:0], b_wide_q};
  assign bypass = b_valid_q && b_pos_q == x_pos[9:0];
  always_comb begin
    tall = b_wide_q;
    if (b_one_q) tall = max_of(tall, rows_q[W-1:0]);
    if (b_two_q && three) tall = max_of(tall, rows_q[2*W-1:W]);
  end
  assign out_valid = b_valid_q && b_keep_q;
  assign en = !out_valid || ready_i;

  always_ff @(posedge clk_i) begin
    if (en && b_valid_q) rows[b_pos_q] <= rows_new;
    if (step && keep_pos) begin
      rows_q <= bypass ? rows_new : rows[x_pos[9:0]];
      b_wide_q <= wide;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      b_valid_q <= 1'b0;
      b_pos_q <= '0;
      b_keep_q <= 1'b0;
      b_one_q <= 1'b0;
      b_two_q <= 1'b0;
    end else if (clr_i || start_i) begin
      b_valid_q <= 1'b0;
    end else if (en) begin
      b_valid_q <= step && keep_pos;
      b_pos_q <= x_pos[9:0];
      b_keep_q <= keep_row;
      b_one_q <= y_q != '0;
      b_two_q <= y_q > 12'd1;
    end
  end

  assign valid_o = task_i.pool ? out_valid : valid_i;
  assign data_o = task_i.pool ? tall : data_i;

  logic unused;
  assign unused = ^{task_i, geom_i};

endmodule
