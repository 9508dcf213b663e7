// fp_add_f against the definition of rounding, finite operands whose exponents are DLo to DHi apart.
//
// In units of the last place of the operand with the smaller exponent both significands are integers; their signed sum
// is exact. y is right when it is a neighbour to which that sum is nearest: it lies between the midpoints below and
// above y, and on one of them only when y is even. y is decoded; nothing is normalised, shifted right or rounded here.
// A subnormal has the exponent 1. An exact zero is +0, or -0 when both operands are negative zeros.
module prove_fp_add #(
  parameter int unsigned DLo = 0,
  parameter int unsigned DHi = 0,
  parameter bit Swap = 1'b0          // 1: b has the larger exponent
) (
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic [31:0] y_o,
  output logic        assume_o,
  output logic        ok_o
);

  localparam int unsigned Guard = 25;  // places below the unit, for exact results of few digits
  localparam int unsigned W = 24 + DHi + Guard + 4;

  logic [31:0]  y, big, small;
  logic [9:0]   eb, es, ey, d, s;
  logic [W-1:0] mb, ms, mag, lo, hi, v;
  logic [25:0]  sig4;
  logic         border, near, sign;

  assign y = fp_pkg::fp_add_f(a_i, b_i);
  assign big = Swap ? b_i : a_i;
  assign small = Swap ? a_i : b_i;
  assign eb = {2'd0, big[30:23]} + {9'd0, big[30:23] == 8'd0};
  assign es = {2'd0, small[30:23]} + {9'd0, small[30:23] == 8'd0};
  assign ey = {2'd0, y[30:23]} + {9'd0, y[30:23] == 8'd0};
  assign d = eb - es;

  assign mb = {{W - 24{1'b0}}, big[30:23] != 8'd0, big[22:0]} << (DLo == DHi ? 10'(DLo) : d);
  assign ms = {{W - 24{1'b0}}, small[30:23] != 8'd0, small[22:0]};
  always_comb begin
    if (big[31] == small[31]) begin
      mag = mb + ms;
      sign = big[31];
    end else if (mb >= ms) begin
      mag = mb - ms;
      sign = big[31];
    end else begin
      mag = ms - mb;
      sign = small[31];
    end
  end

  // one unit of y is 2^(s - Guard) units
  assign s = ey + 10'(Guard) - es;
  assign sig4 = {y[30:23] != 8'd0, y[22:0], 2'b00};
  assign border = y[22:0] == 23'd0 && y[30:23] > 8'd1;  // the neighbour below is half as far away
  assign v = {mag[W-3-Guard:0], 2'b00, {Guard{1'b0}}};
  assign lo = {{W - 26{1'b0}}, sig4 - (border ? 26'd1 : 26'd2)} << s;
  assign hi = {{W - 26{1'b0}}, sig4 + 26'd2} << s;

  always_comb begin
    if (mag == '0) near = y[30:0] == 31'd0;
    else if (y[30:0] == 31'd0 || s > 10'(Guard + DHi + 1)) near = 1'b0;  // a sum of binary32 numbers never underflows
    else if (y[30:23] == 8'hFF) near = y[22:0] == 23'd0 && lo <= v;
    else near = y[0] ? lo < v && v < hi : lo <= v && v <= hi;
  end

  assign y_o = y;
  assign assume_o = big[30:23] != 8'hFF && small[30:23] != 8'hFF && d >= 10'(DLo) && d <= 10'(DHi);
  assign ok_o = near && y[31] == (mag == '0 ? a_i[31] && b_i[31] : sign);

endmodule
