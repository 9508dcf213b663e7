// Arithmetic of a POOL channel: one tap a cycle on 8 lanes, FP32 or four INT8 each (docs/npu/npu.md section 2,
// Pooling).
//
// Function   Keeps the running maximum or sum of the window; between two rows of the windows of an output row it is
//            kept in the accumulator memory (64 output columns). After the last tap: FP32 average times the factor,
//            INT8 average divided.
// Timing     tap_* comes one cycle before its data line_i. A result leaves on out_*: maximum 2 cycles after its last
//            tap, FP32 average 3, INT8 average 7 (four cycles of division, two bits of the quotient each; pool_seq
//            keeps the distance). The same column is read from the accumulator memory at least three cycles after its
//            last tap.
// Rounding   half away from zero of s/n is floor((|s| + floor(n/2)) / n) with the sign of s.
// Throughput   One tap of 8 FP32 or 32 INT8 channels a cycle.
`include "assert.svh"

module pool_op (
  input  logic         clk_i,
  input  logic         rst_ni,
  // constant during a task
  input  logic         avg_i,
  input  logic         int8_i,
  input  logic         exclude_i,
  input  logic [31:0]  recip_i,
  input  logic [15:0]  count_i,      // elements of a window
  // taps
  input  logic         tap_valid_i,
  input  logic         tap_first_i,
  input  logic         tap_init_i,
  input  logic         tap_last_i,
  input  logic         tap_fin_i,
  input  logic         tap_end_i,
  input  logic         tap_half_i,
  input  logic [5:0]   tap_ow_i,
  input  logic [7:0]   tap_cols_i,
  input  logic [7:0]   tap_rows_i,
  input  logic [7:0]   tap_tab_i,
  input  logic [3:0]   tap_lanes_i,
  input  logic [5:0]   tap_chans_i,
  input  logic [255:0] line_i,
  output logic         tab_re_o,
  output logic [7:0]   tab_addr_o,
  input  logic [31:0]  tab_i,
  // results
  output logic         out_we_o,
  output logic         out_end_o,    // last column of the output row
  output logic [6:0]   out_addr_o,
  output logic [255:0] out_data_o,
  output logic         busy_o
);

  localparam int unsigned Lanes = pool_pkg::Lanes;
  localparam int unsigned Bytes = 4 * Lanes;
  localparam int unsigned SumW = 24;  // 255*255*128 < 2^23
  localparam int unsigned AccW = SumW * Bytes;

  logic fp_avg;
  logic i8_avg;
  assign fp_avg = avg_i && !int8_i;
  assign i8_avg = avg_i && int8_i;

  // ------------------------------------------------------------------------------------------------ pipeline of flags
  // b: the data of the tap are valid; c: the value of a column is complete for this row
  logic       b_valid_q, b_first_q, b_init_q, b_last_q, b_fin_q, b_end_q;
  logic [6:0] b_addr_q;
  logic [7:0] b_cols_q, b_rows_q, b_tab_q;
  logic [3:0] b_lanes_q;
  logic [5:0] b_chans_q;
  logic       c_last_q, c_fin_q, c_end_q;
  logic [6:0] c_addr_q;
  logic [5:0] c_chans_q;
  logic [15:0] c_count_q;
  logic       d_valid_q, d_end_q;
  logic [6:0] d_addr_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      b_valid_q <= 1'b0;
      c_last_q <= 1'b0;
      c_fin_q <= 1'b0;
      d_valid_q <= 1'b0;
    end else begin
      b_valid_q <= tap_valid_i;
      c_last_q <= b_valid_q && b_last_q;
      c_fin_q <= b_valid_q && b_last_q && b_fin_q;
      d_valid_q <= c_fin_q && fp_avg;
    end
  end

  always_ff @(posedge clk_i) begin
    if (tap_valid_i) begin
      b_first_q <= tap_first_i;
      b_init_q <= tap_init_i;
      b_last_q <= tap_last_i;
      b_fin_q <= tap_fin_i;
      b_end_q <= tap_end_i;
      b_addr_q <= {tap_half_i, tap_ow_i};
      b_cols_q <= tap_cols_i;
      b_rows_q <= tap_rows_i;
      b_tab_q <= tap_tab_i;
      b_lanes_q <= tap_lanes_i;
      b_chans_q <= tap_chans_i;
    end
    if (b_valid_q) begin
      c_end_q <= b_end_q;
      c_addr_q <= b_addr_q;
      c_chans_q <= b_chans_q;
      if (b_last_q) c_count_q <= exclude_i ? {8'd0, b_cols_q} * {8'd0, b_rows_q} : count_i;
    end
    if (c_fin_q) begin
      d_end_q <= c_end_q;
      d_addr_q <= c_addr_q;
    end
  end
  assign tab_re_o = b_valid_q && b_last_q && b_fin_q && fp_avg && exclude_i;
  assign tab_addr_o = b_tab_q;

  // ------------------------------------------------------------------------------------------------ running values
  logic [AccW-1:0] acc_mem[64];
  logic [AccW-1:0] acc_q;
  logic [255:0]    add_q;   // FP32 sums
  logic [255:0]    max_q;
  logic [AccW-1:0] sum;     // INT8 sums, in place
  logic [255:0]    add_a;
  logic [255:0]    max_t;
  logic [7:0]      bv;

  always_comb begin
    add_a = '0;
    if (b_valid_q && fp_avg && !(b_first_q && b_init_q)) add_a = b_first_q ? acc_q[255:0] : add_q;
  end

  for (genvar l = 0; l < Lanes; l++) begin : g_lane
    fp_add u_add (
      .clk_i,
      .en_i(b_valid_q && fp_avg && b_lanes_q > 4'(l)),
      .a_i(add_a[32*l+:32]),
      .b_i(line_i[32*l+:32]),
      .y_o(add_q[32*l+:32])
    );
  end

  always_ff @(posedge clk_i) begin
    if (b_valid_q && !avg_i) begin
      max_t = b_first_q ? (b_init_q ? line_i : acc_q[255:0]) : max_q;
      if (int8_i) begin
        for (int unsigned i = 0; i < Bytes; i++) begin
          bv = line_i[8*i+:8];
          if ($signed(bv) > $signed(max_t[8*i+:8])) max_t[8*i+:8] = bv;
        end
      end else begin
        for (int unsigned l = 0; l < Lanes; l++) max_t[32*l+:32] = fp_pkg::fp_max_f(max_t[32*l+:32], line_i[32*l+:32]);
      end
      max_q <= max_t;
    end
  end

  // ----------------------------------------------------------------------------------- FP32 average: times the factor
  logic [31:0]  factor;
  logic [255:0] mul_q;
  assign factor = exclude_i ? tab_i : recip_i;
  for (genvar l = 0; l < Lanes; l++) begin : g_mul
    fp_mul u_mul (
      .clk_i,
      .en_i(c_fin_q && fp_avg),
      .a_i(add_q[32*l+:32]),
      .b_i(factor),
      .y_o(mul_q[32*l+:32])
    );
  end

  // ------------------------------------------------------------------------------------------- INT8 sums and division
  // One process, so that sums are read before they are updated in place.
  logic [SumW:0]   rest[Bytes];  // below 2*den_q, as the quotient is at most 128
  logic [7:0]      quo[Bytes];
  logic [SumW-1:0] mag;
  logic [31:0]     neg_q;
  logic [31:0]     live_q;       // bytes of channels that exist
  logic [SumW:0]   den_q;        // n * 128
  logic [255:0]    div_t;
  logic [255:0]    div_q;
  logic [2:0]      div_left_q;
  logic            div_end_q, div_valid_q;
  logic [6:0]      div_addr_q;
  logic            res_end_q;
  logic [6:0]      res_addr_q;

  always_ff @(posedge clk_i) begin
    if (div_left_q != '0) begin
      for (int unsigned s = 0; s < 2; s++) begin
        for (int unsigned i = 0; i < Bytes; i++) begin
          quo[i] = {quo[i][6:0], rest[i] >= den_q};
          if (rest[i] >= den_q) rest[i] = rest[i] - den_q;
          rest[i] = {rest[i][SumW-1:0], 1'b0};
        end
      end
      if (div_left_q == 3'd1) begin
        for (int unsigned i = 0; i < Bytes; i++) begin
          if (quo[i][7]) quo[i] = 8'd127;
          div_t[8*i+:8] = !live_q[i] ? 8'd0 : neg_q[i] ? 8'd0 - quo[i] : quo[i];
        end
        div_q <= div_t;
        res_end_q <= div_end_q;
        res_addr_q <= div_addr_q;
      end
    end
    if (c_fin_q && i8_avg) begin
      den_q <= {2'd0, c_count_q, 7'd0};
      div_end_q <= c_end_q;
      div_addr_q <= c_addr_q;
      live_q <= ~(32'hFFFF_FFFF << c_chans_q);
      for (int unsigned i = 0; i < Bytes; i++) begin
        mag = sum[SumW*i+:SumW];
        neg_q[i] <= mag[SumW-1];
        if (mag[SumW-1]) mag = '0 - mag;
        rest[i] = {1'b0, mag} + {10'd0, c_count_q[15:1]};
      end
    end
    if (c_last_q && !c_fin_q) acc_mem[c_addr_q[5:0]] <= i8_avg ? sum : {{AccW - 256{1'b0}}, avg_i ? add_q : max_q};
    if (tap_valid_i && tap_first_i && !tap_init_i) acc_q <= acc_mem[tap_ow_i];
    if (b_valid_q && i8_avg) begin
      if (b_first_q) sum = b_init_q ? '0 : acc_q;
      for (int unsigned i = 0; i < Bytes; i++)
        sum[SumW*i+:SumW] = sum[SumW*i+:SumW] + {{SumW - 8{line_i[8*i+7]}}, line_i[8*i+:8]};
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      div_left_q <= '0;
      div_valid_q <= 1'b0;
    end else begin
      div_valid_q <= div_left_q == 3'd1;
      if (c_fin_q && i8_avg) div_left_q <= 3'd4;
      else if (div_left_q != '0) div_left_q <= div_left_q - 3'd1;
    end
  end

  // ------------------------------------------------------------------------------------------------ results
  always_comb begin
    out_we_o = d_valid_q || div_valid_q || (c_fin_q && !avg_i);
    out_end_o = 1'b0;
    out_addr_o = '0;
    out_data_o = '0;
    if (d_valid_q) begin
      out_end_o = d_end_q;
      out_addr_o = d_addr_q;
      out_data_o = mul_q;
    end else if (div_valid_q) begin
      out_end_o = res_end_q;
      out_addr_o = res_addr_q;
      out_data_o = div_q;
    end else if (c_fin_q && !avg_i) begin
      out_end_o = c_end_q;
      out_addr_o = c_addr_q;
      out_data_o = max_q;
      if (int8_i) begin
        for (int unsigned i = 0; i < Bytes; i++) begin
          if (6'(i) >= c_chans_q) out_data_o[8*i+:8] = 8'd0;
        end
      end
    end
  end
  assign busy_o = b_valid_q || c_last_q || d_valid_q || div_valid_q || div_left_q != '0;

  `ASSERT(PoolOpOneResult, !(c_fin_q && i8_avg && div_left_q > 3'd1))
  `ASSERT(PoolOpAcc, !(tap_valid_i && tap_first_i && !tap_init_i && c_last_q && !c_fin_q &&
      c_addr_q[5:0] == tap_ow_i))
  `ASSERT(PoolOpAccB, !(tap_valid_i && tap_first_i && !tap_init_i && b_valid_q && b_last_q &&
      b_addr_q[5:0] == tap_ow_i))

endmodule
