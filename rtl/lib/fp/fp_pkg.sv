// IEEE-754 binary32 arithmetic, and conversion from and to binary16, as functions on bit patterns (docs/fp.md).
//
// Round to nearest even, subnormals in and out, infinities; every NaN result is 0x7FC00000. Integer logic only.
// They are functions so that a clocked process can call them under its enable, with no evaluation in idle cycles.
package fp_pkg;

  localparam logic [31:0] FpNan = 32'h7FC0_0000;

  // Leading zeros of v; 31 when v is 0 (callers treat 0 apart).
  function automatic logic [4:0] fp_clz32_f(input logic [31:0] v);
    logic [31:0] x;
    logic [4:0]  n;
    x = v;
    n = 5'd0;
    if (x[31:16] == 16'd0) begin
      n[4] = 1'b1;
      x = {x[15:0], 16'd0};
    end
    if (x[31:24] == 8'd0) begin
      n[3] = 1'b1;
      x = {x[23:0], 8'd0};
    end
    if (x[31:28] == 4'd0) begin
      n[2] = 1'b1;
      x = {x[27:0], 4'd0};
    end
    if (x[31:30] == 2'd0) begin
      n[1] = 1'b1;
      x = {x[29:0], 2'd0};
    end
    n[0] = !x[31];
    fp_clz32_f = n;
  endfunction

  // Round and pack: m[30:8] is the fraction, what is below decides the rounding. The carry runs into the exponent field
  // by itself: subnormal to normal, largest finite to infinity.
  function automatic logic [31:0] fp_round_f(input logic s, input logic [7:0] field, input logic [30:0] m);
    logic inc;
    inc = m[7] && (m[8] || m[6:0] != 7'd0);
    fp_round_f = {s, {field, m[30:8]} + {30'd0, inc}};
  endfunction

  // a * b
  function automatic logic [31:0] fp_mul_f(input logic [31:0] a, input logic [31:0] b);
    logic        s;
    logic        a_max;
    logic        b_max;
    logic [23:0] ma;
    logic [23:0] mb;
    logic [5:0]  l;
    logic [47:0] p;
    logic [46:0] m;
    logic [10:0] e;
    logic [10:0] sh;
    s = a[31] ^ b[31];
    a_max = a[30:23] == 8'hFF;
    b_max = b[30:23] == 8'hFF;
    if (a_max || b_max) begin
      if ((a_max && a[22:0] != 23'd0) || (b_max && b[22:0] != 23'd0) || a[30:0] == 31'd0 || b[30:0] == 31'd0)
        fp_mul_f = FpNan;
      else fp_mul_f = {s, 8'hFF, 23'd0};
    end else if (a[30:0] == 31'd0 || b[30:0] == 31'd0) begin
      fp_mul_f = {s, 31'd0};
    end else begin
      ma = {a[30:23] != 8'd0, a[22:0]};
      mb = {b[30:23] != 8'd0, b[22:0]};
      // leading zeros of subnormal operands, beside the multiplication
      l = 6'd0;
      if (!ma[23]) l = {1'b0, fp_clz32_f({ma, 8'd0})};
      if (!mb[23]) l = l + {1'b0, fp_clz32_f({mb, 8'd0})};
      p = ({24'd0, ma} * {24'd0, mb}) << l;
      // the exponent of a subnormal is that of field 1; bit 47 is worth 2^(e-127)
      e = {3'd0, a[30:23]} + {3'd0, b[30:23]} + {10'd0, !ma[23]} + {10'd0, !mb[23]} - 11'd126 - {5'd0, l};
      if (!p[47]) begin
        p = {p[46:0], 1'b0};
        e = e - 11'd1;
      end
      if (!e[10] && e >= 11'd255) begin
        fp_mul_f = {s, 8'hFF, 23'd0};
      end else if (e[10] || e == 11'd0) begin
        sh = 11'd1 - e;  // subnormal, or the smallest normal number after rounding
        m = sh > 11'd47 ? 47'd0 : 47'(p >> sh[5:0]);
        // of what is shifted out rounding needs to know whether it is all zero
        m[0] = m[0] || sh > 11'd47 || (p & ~(48'hFFFF_FFFF_FFFF << sh[5:0])) != 48'd0;
        fp_mul_f = fp_round_f(s, 8'd0, {m[46:17], m[16:0] != 17'd0});
      end else begin
        fp_mul_f = fp_round_f(s, e[7:0], {p[46:17], p[16:0] != 17'd0});
      end
    end
  endfunction

  // a + b
  function automatic logic [31:0] fp_add_f(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] x;  // the operand of larger magnitude
    logic [31:0] y;
    logic        y_sub;
    logic [7:0]  ex;
    logic [7:0]  d;
    logic [31:0] mx;
    logic [31:0] my;
    logic [31:0] ys;
    logic [31:0] r;
    logic [4:0]  l;
    logic [4:0]  sh;
    if (a[30:0] >= b[30:0]) begin
      x = a;
      y = b;
    end else begin
      x = b;
      y = a;
    end
    if (x[30:23] == 8'hFF) begin
      if (x[22:0] != 23'd0 || (y[30:23] == 8'hFF && x[31] != y[31])) fp_add_f = FpNan;
      else fp_add_f = x;
    end else begin
      ex = x[30:23] + {7'd0, x[30:23] == 8'd0};
      y_sub = y[30:23] == 8'd0;
      d = ex - y[30:23] - {7'd0, y_sub};
      mx = {1'b0, x[30:23] != 8'd0, x[22:0], 7'd0};
      ys = {1'b0, !y_sub, y[22:0], 7'd0};
      my = d > 8'd31 ? 32'd0 : ys >> d[4:0];
      // bits shifted out are kept as a sticky bit in the lowest place, which is all that rounding needs
      if ((d > 8'd31 ? ys : ys & ~(32'hFFFF_FFFF << d[4:0])) != 32'd0) my[0] = 1'b1;
      if (x[31] == y[31]) r = mx + my;
      else r = mx - my;
      l = fp_clz32_f(r);
      // a subnormal sum is exact: it is shifted to exponent field 0 and no further
      sh = {3'd0, l} > ex ? ex[4:0] : l;
      if (r == 32'd0) fp_add_f = {x[31] & y[31], 31'd0};
      else if (ex == 8'd254 && l == 5'd0) fp_add_f = {x[31], 8'hFF, 23'd0};
      else fp_add_f = fp_round_f(x[31], {3'd0, l} > ex ? 8'd0 : ex + 8'd1 - {3'd0, l}, 31'(r << sh));
    end
  endfunction

  // a - b
  function automatic logic [31:0] fp_sub_f(input logic [31:0] a, input logic [31:0] b);
    fp_sub_f = fp_add_f(a, {!b[31], b[30:0]});
  endfunction

  // Two's complement integer to binary32.
  function automatic logic [31:0] i32_to_f32_f(input logic [31:0] v);
    logic [31:0] m;
    logic [4:0]  l;
    m = v[31] ? 32'd0 - v : v;
    if (m == 32'd0) begin
      i32_to_f32_f = 32'd0;
    end else begin
      l = fp_clz32_f(m);
      i32_to_f32_f = fp_round_f(v[31], 8'd158 - {3'd0, l}, 31'(m << l));
    end
  endfunction

  // Two's complement integer of 64 bits to binary32, one rounding: the upper 31 bits of the magnitude and whether
  // anything is below them.
  function automatic logic [31:0] i64_to_f32_f(input logic [63:0] v);
    logic [63:0] m;
    logic [5:0]  l;
    m = v[63] ? 64'd0 - v : v;
    l = 6'd0;
    if (m[63:32] == 32'd0) begin
      l[5] = 1'b1;
      m = {m[31:0], 32'd0};
    end
    l[4:0] = fp_clz32_f(m[63:32]);
    m = m << l[4:0];
    if (!m[63]) i64_to_f32_f = 32'd0;
    else i64_to_f32_f = fp_round_f(v[63], 8'd190 - {2'd0, l}, {m[62:33], m[32:0] != 33'd0});
  endfunction

  // Round half away from zero, clamp to -32767..32767; NaN gives 0.
  function automatic logic [15:0] f32_to_i16_f(input logic [31:0] v);
    logic [15:0] t;  // floor(2 * |v|) below 2^16: 15 integer bits and the half
    logic [15:0] mag;
    mag = 16'd0;
    if (v[30:23] >= 8'd142) begin  // 2^15 and more
      if (v[30:0] <= 31'h7F80_0000) mag = 16'h7FFF;
    end else if (v[30:23] >= 8'd126) begin
      t = {1'b1, v[22:8]} >> (4'd13 - v[26:23]);  // 141 - exponent, 0..15
      mag = {1'b0, t[15:1]} + {15'd0, t[0]};
      if (mag[15]) mag = 16'h7FFF;
    end
    f32_to_i16_f = v[31] ? 16'd0 - mag : mag;
  endfunction

  // Quantiser: q = {full, half to even, zero-point}. Rounds, half to even or away from zero, adds the zero-point,
  // clamps to -127..127, with `full` to -128..127. NaN counts as 0.
  function automatic logic [7:0] f32_to_q8_f(input logic [31:0] v, input logic [9:0] q);
    logic [9:0] mag;  // of the rounded value; 512 and more are beyond any zero-point
    logic [9:0] t;
    logic [22:0] rest;
    logic [10:0] sum;
    mag = 10'd0;
    if (v[30:23] >= 8'd136) begin
      if (v[30:0] <= 31'h7F80_0000) mag = 10'd512;
    end else if (v[30:23] >= 8'd126) begin
      // t = floor(2 * |v|): nine integer bits and the half; 4 bits hold 135 - exponent and exponent - 126, 0..9
      t = {1'b1, v[22:14]} >> (4'd7 - v[26:23]);
      rest = v[22:0] << (v[26:23] - 4'd14);
      mag = {1'b0, t[9:1]} + {9'd0, t[0] && (!q[8] || t[1] || rest != 23'd0)};
    end
    sum = (v[31] ? 11'd0 - {1'b0, mag} : {1'b0, mag}) + {{3{q[7]}}, q[7:0]};
    f32_to_q8_f = sum[7:0];
    if (!sum[10] && sum[9:7] != 3'd0) f32_to_q8_f = 8'h7F;
    else if (sum[10] && (sum[9:7] != 3'd7 || (sum[6:0] == 7'd0 && !q[9]))) f32_to_q8_f = q[9] ? 8'h80 : 8'h81;
  endfunction

  // Round half away from zero, clamp to -127..127; NaN gives 0.
  function automatic logic [7:0] f32_to_i8_f(input logic [31:0] v);
    f32_to_i8_f = f32_to_q8_f(v, 10'd0);
  endfunction

  // v > 0 ? v : +0
  function automatic logic [31:0] fp_relu_f(input logic [31:0] v);
    fp_relu_f = (v[31] || v[30:0] > 31'h7F80_0000) ? 32'd0 : v;
  endfunction

  function automatic logic fp_is_nan_f(input logic [31:0] v);
    fp_is_nan_f = (v & 32'h7FFF_FFFF) > 32'h7F80_0000;
  endfunction

  // a < b; false when one is NaN; -0 equals +0
  function automatic logic fp_lt_f(input logic [31:0] a, input logic [31:0] b);
    if (fp_is_nan_f(a) || fp_is_nan_f(b)) fp_lt_f = 1'b0;
    else if (a[31] != b[31]) fp_lt_f = a[31] && (a[30:0] | b[30:0]) != 31'd0;
    else fp_lt_f = a[31] ? a[30:0] > b[30:0] : a[30:0] < b[30:0];
  endfunction

  // a == b; false when one is NaN; -0 equals +0
  function automatic logic fp_eq_f(input logic [31:0] a, input logic [31:0] b);
    fp_eq_f = !fp_is_nan_f(a) && !fp_is_nan_f(b) && (a == b || (a[30:0] | b[30:0]) == 31'd0);
  endfunction

  // a <= b; false when one is NaN; -0 equals +0
  function automatic logic fp_le_f(input logic [31:0] a, input logic [31:0] b);
    fp_le_f = fp_lt_f(a, b) || fp_eq_f(a, b);
  endfunction

  // b > a ? b : a with the bits of the operand that is chosen; so a when one is NaN, and when the operands are zeros of
  // either sign.
  function automatic logic [31:0] fp_max_f(input logic [31:0] a, input logic [31:0] b);
    fp_max_f = fp_lt_f(a, b) ? b : a;
  endfunction

  // b < a ? b : a; as fp_max_f
  function automatic logic [31:0] fp_min_f(input logic [31:0] a, input logic [31:0] b);
    fp_min_f = fp_lt_f(b, a) ? b : a;
  endfunction

  // Round to nearest even, saturate; NaN gives 0.
  function automatic logic [31:0] fp_f32_to_i32_f(input logic [31:0] v);
    logic [63:0] w;  // |v| * 2^32
    logic [31:0] mag;
    logic [5:0]  sh;
    w = 64'd0;
    if (v[30:23] >= 8'd158) begin
      if (fp_is_nan_f(v)) fp_f32_to_i32_f = 32'd0;
      else fp_f32_to_i32_f = v[31] ? 32'h8000_0000 : 32'h7FFF_FFFF;
    end else begin
      sh = 6'(v[30:23] - 8'd118);
      if (v[30:23] >= 8'd126) w = {40'd0, 1'b1, v[22:0]} << sh;
      mag = w[63:32] + {31'd0, w[31] && (w[32] || w[30:0] != 31'd0)};
      fp_f32_to_i32_f = v[31] ? 32'd0 - mag : mag;
    end
  endfunction

  // binary16 to binary32, exact.
  function automatic logic [31:0] f16_to_f32_f(input logic [15:0] h);
    logic [9:0] f;
    logic [3:0] l;
    if (h[14:10] == 5'd31) begin
      f16_to_f32_f = h[9:0] != 10'd0 ? FpNan : {h[15], 8'hFF, 23'd0};
    end else if (h[14:10] != 5'd0) begin
      f16_to_f32_f = {h[15], {3'd0, h[14:10]} + 8'd112, h[9:0], 13'd0};
    end else if (h[9:0] == 10'd0) begin
      f16_to_f32_f = {h[15], 31'd0};
    end else begin
      // a subnormal, f * 2^-24: its leading one becomes the hidden bit
      f = h[9:0];
      l = 4'd0;
      if (f[9:2] == 8'd0) begin
        l[3] = 1'b1;
        f = {f[1:0], 8'd0};
      end
      if (f[9:6] == 4'd0) begin
        l[2] = 1'b1;
        f = {f[5:0], 4'd0};
      end
      if (f[9:8] == 2'd0) begin
        l[1] = 1'b1;
        f = {f[7:0], 2'd0};
      end
      if (!f[9]) begin
        l[0] = 1'b1;
        f = {f[8:0], 1'b0};
      end
      f16_to_f32_f = {h[15], 8'd112 - {4'd0, l}, f[8:0], 14'd0};
    end
  endfunction

  // binary32 to binary16: round to nearest even, subnormals kept, from 65520 on infinity; NaN gives 0x7E00.
  function automatic logic [15:0] f32_to_f16_f(input logic [31:0] v);
    logic [24:0] m;
    logic [24:0] q;
    logic [24:0] lost;
    logic [4:0]  sh;
    logic        inc;
    if (v[30:23] >= 8'd143) begin
      f32_to_f16_f = v[30:0] > 31'h7F80_0000 ? 16'h7E00 : {v[31], 15'h7C00};
    end else if (v[30:23] >= 8'd113) begin
      // the carry of the rounding runs into the exponent, also from the largest number to infinity
      inc = v[12] && (v[13] || v[11:0] != 12'd0);
      f32_to_f16_f = {v[31], {5'(v[30:23] - 8'd112), v[22:13]} + {14'd0, inc}};
    end else if (v[30:23] >= 8'd102) begin
      // a subnormal, q * 2^-24, or the smallest normal number after rounding; one more bit decides the rounding
      sh = 5'(8'd125 - v[30:23]);
      m = {2'b01, v[22:0]};
      q = m >> sh;
      lost = m ^ (q << sh);
      inc = q[0] && (q[1] || lost != 25'd0);
      f32_to_f16_f = {v[31], q[15:1] + {14'd0, inc}};
    end else begin
      f32_to_f16_f = {v[31], 15'd0};
    end
  endfunction

endpackage
