// Geometry of a task, computed before anything else (document 001, equations 24 to 31): pages, channel groups, words of
// a filter, sizes after pooling; and the check of all sizes.
//
// start_i: a task is in task_i and stays there. Quotients by W_VECTOR and 3 are counted, products are shifted and added
// one bit a cycle, so there is neither a divider nor a multiplier. done_o pulses max(pages of a row, channel groups /
// 3) + 31 cycles later; geom_o and ok_o hold from then on. ok_o = 0: a size is out of range, so the task must not run.
module sac_setup #(
  parameter int unsigned WVec = 3,
  parameter int unsigned CVec = 2,
  parameter int unsigned NVec = 2,
  parameter int unsigned CachePages = 4096  // of a half of the cache
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clr_i,
  input  logic                 start_i,
  input  sac_pkg::layer_task_t task_i,
  output logic                 done_o,
  output logic                 ok_o,
  output sac_pkg::geom_t       geom_o
);

  localparam int unsigned LogC = $clog2(CVec);
  localparam int unsigned LogN = $clog2(NVec);
  localparam int unsigned Steps = 13;  // of a product: bits of the largest multiplier

  localparam logic [1:0] Idle = 2'd0;
  localparam logic [1:0] Count = 2'd1;
  localparam logic [1:0] Mul = 2'd2;
  localparam logic [1:0] MulAll = 2'd3;

  logic [1:0] state_q;
  logic [3:0] step_q;
  logic done_q;

  // ---- what needs no time ----
  logic k1;
  logic [2:0] taps;
  logic [11:0] groups;
  logic [11:0] out_groups;
  logic [9:0] map_w;
  logic [9:0] map_h;
  logic [12:0] c_up;
  logic [12:0] n_up;
  logic [12:0] n_batch;
  logic [5:0] rows_taps;
  logic [11:0] pool_ux;
  logic [11:0] pool_uy;
  logic [11:0] ow1;
  assign k1 = task_i.kw == 4'd1;
  assign taps = task_i.kw <= 4'd3 ? 3'd1 : task_i.kw <= 4'd6 ? 3'd2 : task_i.kw <= 4'd9 ? 3'd3 : 3'd4;
  assign c_up = task_i.c + 13'(CVec - 1);
  assign n_up = task_i.n + 13'(CVec - 1);
  assign n_batch = task_i.n + 13'(NVec - 1);
  assign groups = 12'(c_up >> LogC);
  assign out_groups = 12'(n_up >> LogC);
  assign map_w = task_i.pool ? task_i.pw : task_i.ow;
  assign map_h = task_i.pool ? task_i.ph : task_i.oh;
  assign rows_taps = (taps[0] ? {2'd0, task_i.kh} : 6'd0) + (taps[1] ? {1'b0, task_i.kh, 1'b0} : 6'd0) +
      (taps[2] ? {task_i.kh, 2'd0} : 6'd0);

  // (x - 1) * s for strides of at most 4
  function automatic logic [11:0] strided(input logic [9:0] x, input logic [2:0] s);
    logic [11:0] less;
    less = {2'd0, x} - 12'd1;
    strided = (s[0] ? less : 12'd0) + (s[1] ? less << 1 : 12'd0) + (s[2] ? less << 2 : 12'd0);
  endfunction
  assign pool_ux = strided(task_i.pw, {1'b0, task_i.pool_stride});
  assign pool_uy = strided(task_i.ph, {1'b0, task_i.pool_stride});
  assign ow1 = strided(task_i.ow, task_i.stride) + 12'd1;

  // ---- quotients: counted up ----
  logic [10:0] in_cols_q;
  logic [8:0] in_pages_q;
  logic [10:0] out_cols_q;
  logic [8:0] out_pages_q;
  logic [12:0] thirds_q;
  logic [10:0] words_c_q;  // words of a filter in the direction of channels
  logic more_in;
  logic more_out;
  logic more_words;
  assign more_in = in_cols_q < {1'b0, task_i.w};
  assign more_out = out_cols_q < {1'b0, map_w};
  assign more_words = k1 && thirds_q < {1'b0, groups};

  // ---- products: one bit of the multiplier a cycle ----
  logic [18:0] in_group_q;
  logic [18:0] out_group_q;
  logic [19:0] pixels_q;
  logic [17:0] words_q;
  logic [31:0] in_all_q;
  logic [31:0] out_all_q;
  logic [12:0] bit_sel;
  assign bit_sel = 13'd1 << step_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      step_q <= '0;
      done_q <= 1'b0;
      in_cols_q <= '0;
      in_pages_q <= '0;
      out_cols_q <= '0;
      out_pages_q <= '0;
      thirds_q <= '0;
      words_c_q <= '0;
      in_group_q <= '0;
      out_group_q <= '0;
      pixels_q <= '0;
      words_q <= '0;
      in_all_q <= '0;
      out_all_q <= '0;
    end else begin
      done_q <= 1'b0;
      if (clr_i) begin
        state_q <= Idle;
      end else begin
        case (state_q)
          Idle: begin
            step_q <= '0;
            if (start_i) begin
              state_q <= Count;
              in_cols_q <= '0;
              in_pages_q <= '0;
              out_cols_q <= '0;
              out_pages_q <= '0;
              thirds_q <= '0;
              words_c_q <= '0;
              in_group_q <= '0;
              out_group_q <= '0;
              pixels_q <= '0;
              words_q <= '0;
              in_all_q <= '0;
              out_all_q <= '0;
            end
          end
          Count: begin
            if (more_in) begin
              in_cols_q <= in_cols_q + 11'(WVec);
              in_pages_q <= in_pages_q + 9'd1;
            end
            if (more_out) begin
              out_cols_q <= out_cols_q + 11'(WVec);
              out_pages_q <= out_pages_q + 9'd1;
            end
            if (more_words) begin
              thirds_q <= thirds_q + 13'd3;
              words_c_q <= words_c_q + 11'd1;
            end
            if (!more_in && !more_out && !more_words) state_q <= Mul;
          end
          Mul: begin
            step_q <= step_q + 4'd1;
            if ((bit_sel[9:0] & task_i.h) != '0) in_group_q <= in_group_q + ({10'd0, in_pages_q} << step_q);
            if ((bit_sel[9:0] & map_h) != '0) begin
              out_group_q <= out_group_q + ({10'd0, out_pages_q} << step_q);
              pixels_q <= pixels_q + ({10'd0, map_w} << step_q);
            end
            if ((bit_sel[5:0] & rows_taps) != '0)
              words_q <= words_q + ({6'd0, k1 ? {1'b0, words_c_q} : groups} << step_q);
            if (step_q == 4'(Steps - 1)) begin
              step_q <= '0;
              state_q <= MulAll;
            end
          end
          MulAll: begin
            step_q <= step_q + 4'd1;
            if ((bit_sel[11:0] & groups) != '0) in_all_q <= in_all_q + ({13'd0, in_group_q} << step_q);
            if ((bit_sel[11:0] & out_groups) != '0)
              out_all_q <= out_all_q + (task_i.full != 2'd0 ? 32'd1 << step_q : {13'd0, out_group_q} << step_q);
            if (step_q == 4'(Steps - 1)) begin
              state_q <= Idle;
              done_q <= 1'b1;
            end
          end
          default: state_q <= Idle;
        endcase
      end
    end
  end

  assign done_o = done_q;
  assign geom_o = {
    k1, in_pages_q, in_group_q, in_all_q[30:0], groups, taps, out_pages_q, out_group_q,
    12'(n_batch >> LogN), words_q[10:0], map_w, map_h, pixels_q[14:0], pool_ux, pool_uy, ow1
  };

  // ---- the check ----
  logic shape_ok;
  logic pool_ok;
  logic room_ok;
  assign shape_ok = task_i.w != '0 && task_i.h != '0 && task_i.c != '0 && task_i.c <= 13'd4096 &&
      task_i.n != '0 && task_i.n <= 13'd4096 && task_i.kw != '0 && task_i.kw <= 4'd11 && task_i.kh != '0 &&
      task_i.kh <= 4'd11 && task_i.stride != '0 && task_i.stride <= 3'd4 && task_i.ow != '0 && task_i.oh != '0 &&
      task_i.full != 2'd3 && (task_i.dst_ddr || task_i.dst_cache);
  // each window holds a part of the map
  assign pool_ok = !task_i.pool || (task_i.win >= 2'd2 && task_i.pool_stride != '0 && task_i.pw != '0 &&
      task_i.ph != '0 && pool_ux < {2'd0, task_i.ow} + {11'd0, task_i.pool_pl} &&
      pool_uy < {2'd0, task_i.oh} + {11'd0, task_i.pool_pt});
  assign room_ok = words_q <= 18'(sac_pkg::FilterWords) && in_all_q <= CachePages &&
      (!task_i.dst_cache || out_all_q <= CachePages) && (task_i.full == 2'd0 || pixels_q <= 20'd16384);
  assign ok_o = shape_ok && pool_ok && room_ok;

  logic unused;
  assign unused = ^{task_i, c_up, n_up, n_batch, bit_sel, words_q, pixels_q, in_all_q[31]};

endmodule
