// Conversions against their definitions, all 2^32 inputs. Values are exact fixed-point numbers; results are decoded and
// compared with the value, nothing is rounded here.
module prove_fp_convert #(
  parameter int unsigned Op = 0  // 0: i32_to_f32_f, 1: f32_to_i8_f, 2: fp_f32_to_i32_f
) (
  input  logic [31:0] a_i,
  output logic [31:0] y_o,
  output logic        assume_o,
  output logic        ok_o
);

  assign assume_o = 1'b1;

  if (Op == 0) begin : g_to_float
    // y is a neighbour to which the integer is nearest; in units of 2^-25
    logic [31:0] mag;
    logic [59:0] v, lo, hi;
    logic [25:0] sig4;
    logic [7:0]  s;
    logic        near;
    assign y_o = fp_pkg::i32_to_f32_f(a_i);
    assign mag = a_i[31] ? ~a_i + 32'd1 : a_i;
    assign v = {3'd0, mag, 25'd0};
    assign s = y_o[30:23] - 8'd127;  // a result of at least 1 is normal
    assign sig4 = {1'b1, y_o[22:0], 2'b00};
    assign lo = {34'd0, sig4 - (y_o[22:0] == 23'd0 ? 26'd1 : 26'd2)} << s;
    assign hi = {34'd0, sig4 + 26'd2} << s;
    assign near = s <= 8'd31 && (y_o[0] ? lo < v && v < hi : lo <= v && v <= hi);
    assign ok_o = a_i == 32'd0 ? y_o == 32'd0 : near && y_o[31] == a_i[31];
  end else begin : g_to_int
    // |a| in units of 2^-25, exact from 2^-2 on; below that it is surely nearer to 0 than to 1
    logic [57:0] v, q, diff;
    logic        nan, tiny, huge;
    assign nan = &a_i[30:23] && |a_i[22:0];
    assign tiny = a_i[30:23] < 8'd125;
    assign huge = a_i[30:23] > 8'd158;
    assign v = {34'd0, 1'b1, a_i[22:0]} << (a_i[30:23] - 8'd125);
    assign diff = v > q ? v - q : q - v;
    if (Op == 1) begin : g_i8
      logic [7:0] y, mag;
      assign y = fp_pkg::f32_to_i8_f(a_i);
      assign y_o = {24'd0, y};
      assign mag = y[7] ? ~y + 8'd1 : y;
      assign q = {25'd0, mag, 25'd0};
      always_comb begin
        if (nan || tiny) ok_o = y == 8'd0;
        else if (y != 8'd0 && y[7] != a_i[31]) ok_o = 1'b0;
        // the clamp takes all from 126.5 on
        else if (mag == 8'd127) ok_o = huge || v >= {25'd0, 8'd126, 1'b1, 24'd0};
        // half away from zero: mag - 1/2 <= |a| < mag + 1/2
        else ok_o = !huge && mag < 8'd127 && diff <= 58'h100_0000 && !(diff == 58'h100_0000 && v > q);
      end
    end else begin : g_i32
      logic [31:0] mag;
      assign y_o = fp_pkg::fp_f32_to_i32_f(a_i);
      assign mag = y_o[31] ? ~y_o + 32'd1 : y_o;
      assign q = {1'b0, mag, 25'd0};
      always_comb begin
        if (nan || tiny) ok_o = y_o == 32'd0;
        else if (huge || v >= {2'd0, 31'h7FFF_FFFF, 1'b1, 24'd0})
          ok_o = y_o == (a_i[31] ? 32'h8000_0000 : 32'h7FFF_FFFF);
        else if (y_o != 32'd0 && y_o[31] != a_i[31]) ok_o = 1'b0;
        // nearest, the even one of two
        else ok_o = diff < 58'h100_0000 || (diff == 58'h100_0000 && !y_o[0]);
      end
    end
  end

endmodule
