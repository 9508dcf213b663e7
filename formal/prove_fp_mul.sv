// fp_mul_f against the definition of rounding, all finite operands that are not zero.
//
// The exact product is p * 2^(ea + eb - 300), p the product of the 24-bit significands and ea, eb the exponents (a
// subnormal has 1). y is right when it is a neighbour to which the exact product is nearest: 4p lies between the
// midpoints below and above y, and on one of them only when y is even. y is decoded; nothing is normalised, shifted
// right or rounded here. The prover takes p as any number that lies between powers of two as the product of two numbers
// does (2^i <= ma < 2^(i+1), 2^j <= mb < 2^(j+1): 2^(i+j) <= p < 2^(i+j+2)), so that it need not look into the
// multiplier: p must be the same net here and in fp_mul_f.
module prove_fp_mul (
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic [31:0] y_o,
  output logic [47:0] p_o,
  output logic        assume_o,
  output logic        ok_o
);

  localparam int unsigned Guard = 24;  // places below those of p, for exact results of few digits
  localparam int unsigned W = 24 + 2 + Guard + 52;

  logic [31:0]  y;
  logic [23:0]  ma, mb;
  logic [47:0]  p;
  logic [10:0]  ea, eb, ey, s, esum;
  logic [25:0]  sig4;
  logic [W-1:0] lo, hi, v;
  logic         border, near;
  logic [5:0]   log;  // i + j
  logic [4:0]   i, j;
  logic [49:0]  least;

  assign y = fp_pkg::fp_mul_f(a_i, b_i);
  assign ma = {a_i[30:23] != 8'd0, a_i[22:0]};
  assign mb = {b_i[30:23] != 8'd0, b_i[22:0]};
  assign p = {24'd0, ma} * {24'd0, mb};
  assign ea = {3'd0, a_i[30:23]} + {10'd0, a_i[30:23] == 8'd0};
  assign eb = {3'd0, b_i[30:23]} + {10'd0, b_i[30:23] == 8'd0};
  assign ey = {3'd0, y[30:23]} + {10'd0, y[30:23] == 8'd0};
  assign esum = ea + eb;

  // one unit of y is 2^(s - Guard) units of p, plus 128 so that s is never negative
  assign s = ey + 11'd150 + 11'd128 + 11'(Guard) - esum;
  assign sig4 = {y[30:23] != 8'd0, y[22:0], 2'b00};
  assign border = y[22:0] == 23'd0 && y[30:23] > 8'd1;  // the neighbour below is half as far away
  assign v = {{W - 48 - 2 - Guard{1'b0}}, p, 2'b00, {Guard{1'b0}}};

  logic [10:0] sc;
  assign sc = s - 11'd128 > 11'd76 ? 11'd76 : s - 11'd128;  // beyond: the midpoint above zero is larger than any p
  assign lo = {{W - 26{1'b0}}, sig4 - (border ? 26'd1 : 26'd2)} << sc;
  assign hi = {{W - 26{1'b0}}, sig4 + 26'd2} << sc;

  always_comb begin
    // an infinity stands for 2^128, whose neighbour below is the largest finite number; far above it its unit is below
    // p's
    if (y[30:23] == 8'hFF) near = y[22:0] == 23'd0 && (s < 11'd128 || lo <= v);
    else if (s < 11'd128) near = 1'b0;
    else if (y[30:0] == 31'd0) near = v <= hi;
    else near = s - 11'd128 <= 11'd76 && (y[0] ? lo < v && v < hi : lo <= v && v <= hi);
  end

  always_comb begin
    i = 5'd0;
    j = 5'd0;
    for (int unsigned k = 0; k < 24; k++) begin
      if (ma[k]) i = 5'(k);
      if (mb[k]) j = 5'(k);
    end
    log = {1'b0, i} + {1'b0, j};
    least = 50'd1 << log;
  end

  assign y_o = y;
  assign p_o = p;
  assign assume_o = a_i[30:23] != 8'hFF && b_i[30:23] != 8'hFF && a_i[30:0] != 31'd0 && b_i[30:0] != 31'd0 &&
                    {2'd0, p} >= least && {2'd0, p} < {least[47:0], 2'b00};
  assign ok_o = near && y[31] == (a_i[31] ^ b_i[31]);

endmodule
