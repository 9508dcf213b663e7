// Functions of the ALU in place of an activation: e^v, 1/v, 1/sqrt(v) of Lanes FP32 values (docs/npu/npu.md section 2,
// "Functions of the ALU").
//
// Function     Range reduction in integers: EXP multiplies by log2(e), the others take exponent and fraction apart. The
//              result is s * 2^k with s from a polynomial of degree 3 on one of 16, 32 or 64 segments, rounded once.
// func_i       npu_pkg::AluFunc*, not AluFuncNone; constant while vectors are in flight.
// Latency      npu_func_pkg::FuncLatency (6) cycles, that of act: product or exponent; exponent and place in the
//              segment; three times multiply and add; round.
// Throughput   One vector a cycle, no stall.
//
// A value whose result is known in the first stage (NaN, zero, infinity, beyond the range) travels in r_q and is marked
// as done; the stages compute nothing for it.
`include "assert.svh"

module alu_func #(
  parameter int unsigned Lanes = 4
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                valid_i,
  input  logic [1:0]          func_i,
  input  logic [32*Lanes-1:0] x_i,
  output logic                valid_o,
  output logic [32*Lanes-1:0] y_o
);

  localparam int unsigned Stages = npu_func_pkg::FuncLatency;
  localparam int unsigned Pw = 61;  // |v| times log2(e), or the normalised fraction
  localparam int unsigned Kw = 10;  // exponents, two's complement
  localparam int unsigned Iw = 7;   // entry of the table
  localparam int unsigned Uw = 24;  // place in a segment

  logic exp;
  logic root;
  assign exp = func_i == npu_pkg::AluFuncExp;
  assign root = func_i == npu_pkg::AluFuncRsqrt;

  // {done, result} of the first stage
  function automatic logic [32:0] known_f(input logic [1:0] func, input logic [31:0] v);
    logic zero;
    logic inf;
    zero = v[30:0] == 31'd0;
    inf = v[30:0] == 31'h7F80_0000;
    known_f = {1'b1, fp_pkg::FpNan};
    if (!fp_pkg::fp_is_nan_f(v)) begin
      case (func)
        npu_pkg::AluFuncExp: known_f = {v[30:23] >= 8'd134, v[31] ? 32'd0 : 32'h7F80_0000};  // 128 and more
        npu_pkg::AluFuncRecip: known_f = {zero || inf, v[31], zero ? 31'h7F80_0000 : 31'd0};
        default: begin
          if (zero) known_f[31:0] = {v[31], 31'h7F80_0000};
          else if (!v[31]) known_f = {inf, 32'd0};
        end
      endcase
    end
  endfunction

  // c + floor(s * u / 2^24); s and c: two's complement
  function automatic logic [32:0] step_f(input logic [27:0] s, input logic [Uw-1:0] u, input logic [32:0] c);
    logic signed [52:0] a;
    logic signed [52:0] b;
    a = {{25{s[27]}}, s};
    b = {29'd0, u};
    step_f = c + 33'((a * b) >>> Uw);
  endfunction

  // coefficients of an entry
  function automatic logic [27:0] c3_f(input logic [Iw-1:0] i);
    c3_f = {{10{npu_func_pkg::FuncC3[18*i+17]}}, npu_func_pkg::FuncC3[18*i+:18]};
  endfunction
  function automatic logic [32:0] c2_f(input logic [Iw-1:0] i);
    c2_f = {{10{npu_func_pkg::FuncC2[23*i+22]}}, npu_func_pkg::FuncC2[23*i+:23]};
  endfunction
  function automatic logic [32:0] c1_f(input logic [Iw-1:0] i);
    c1_f = {{5{npu_func_pkg::FuncC1[28*i+27]}}, npu_func_pkg::FuncC1[28*i+:28]};
  endfunction
  function automatic logic [32:0] c0_f(input logic [Iw-1:0] i);
    c0_f = {1'b0, npu_func_pkg::FuncC0[32*i+:32]};
  endfunction

  // s * 2^(k-30), rounded; s: 2^30 to 2^31
  function automatic logic [31:0] pack_f(input logic sign, input logic [31:0] s, input logic [Kw-1:0] k);
    logic [Kw-1:0] e;   // exponent field
    logic [Kw-1:0] sh;
    logic [31:0]   w;   // the leading one at the top
    logic [31:0]   lost;
    e = k + Kw'(127) + Kw'(s[31]);
    w = s[31] ? s : {s[30:0], 1'b0};
    sh = Kw'(1) - e;
    if (!e[Kw-1] && e >= Kw'(255)) begin
      pack_f = {sign, 8'hFF, 23'd0};
    end else if (e[Kw-1] || e == Kw'(0)) begin
      lost = sh > Kw'(31) ? w : w & ~(32'hFFFF_FFFF << sh[4:0]);
      w = sh > Kw'(31) ? 32'd0 : w >> sh[4:0];
      pack_f = fp_pkg::fp_round_f(sign, 8'd0, {w[30:1], w[0] || lost != 32'd0});
    end else begin
      pack_f = fp_pkg::fp_round_f(sign, e[7:0], w[30:0]);
    end
  endfunction

  // ---------------------------------------------------------------- pipeline
  logic [Stages-1:0]   v_q;
  logic [Lanes-1:0]    done, done1_q, done2_q, done3_q, done4_q, done5_q;
  logic [Lanes-1:0]    sign1_q, sign2_q, sign3_q, sign4_q, sign5_q;  // EXP: in the first stage of v, then 0
  logic [32*Lanes-1:0] first, r1_q, r2_q, r3_q, r4_q, r5_q;
  logic [Pw*Lanes-1:0] p1, p1_q;
  logic [Kw*Lanes-1:0] k1, k1_q, k2, k2_q, k3_q, k4_q, k5_q;         // first stage of EXP: bits to shift
  logic [Iw*Lanes-1:0] idx2, idx2_q, idx3_q, idx4_q;
  logic [Uw*Lanes-1:0] u2, u2_q, u3_q, u4_q;
  logic [28*Lanes-1:0] s3_q, s4_q;
  logic [32*Lanes-1:0] s5_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) v_q <= '0;
    else v_q <= {v_q[Stages-2:0], valid_i};
  end

  // 1: product with log2(e), or leading one to bit 23 and exponent
  logic [31:0] x;
  logic [4:0]  lead;
  logic [23:0] m;
  always_comb begin
    done = '0;
    first = '0;
    p1 = '0;
    k1 = '0;
    x = '0;
    lead = '0;
    m = '0;
    if (valid_i) begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        x = x_i[32*l+:32];
        m = {x[30:23] != 8'd0, x[22:0]};
        {done[l], first[32*l+:32]} = known_f(func_i, x);
        if (exp) begin
          p1[Pw*l+:Pw] = Pw'(m) * Pw'(npu_func_pkg::FuncLog2E);
          k1[Kw*l+:Kw] = Kw'(158) - {2'd0, x[30:23]} - Kw'(x[30:23] == 8'd0);
        end else begin
          lead = m[23] ? 5'd0 : fp_pkg::fp_clz32_f({m, 8'd0});
          p1[Pw*l+:Pw] = {37'd0, m << lead};
          // exponent field of v; of a subnormal, that of its leading one
          k1[Kw*l+:Kw] = m[23] ? {2'd0, x[30:23]} : Kw'(1) - {5'd0, lead};
        end
      end
    end
  end

  // 2: exponent of the result, entry, place in the segment
  logic [36:0]   t;
  logic [Kw-1:0] f;
  always_comb begin
    k2 = '0;
    idx2 = '0;
    u2 = '0;
    t = '0;
    f = '0;
    if (v_q[0]) begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (exp) begin
          t = k1_q[Kw*l+:Kw] > Kw'(63) ? 37'd0 : 37'(p1_q[Pw*l+:Pw] >> k1_q[Kw*l+:6]);
          if (sign1_q[l]) t = 37'd0 - t;
          k2[Kw*l+:Kw] = {t[36], t[36:28]};
          idx2[Iw*l+:Iw] = {3'd0, t[27:24]};
          u2[Uw*l+:Uw] = t[23:0];
        end else begin
          u2[Uw*l+:Uw] = {p1_q[Pw*l+:18], 6'd0};
          f = k1_q[Kw*l+:Kw] + Kw'(1);
          if (root) begin
            // 2^(-e/2-1), e even or odd; an even exponent e has an odd field
            k2[Kw*l+:Kw] = Kw'(63) - {f[Kw-1], f[Kw-1:1]};
            idx2[Iw*l+:Iw] = {1'b1, !k1_q[Kw*l], p1_q[Pw*l+18+:5]};
          end else begin
            k2[Kw*l+:Kw] = Kw'(126) - k1_q[Kw*l+:Kw];
            idx2[Iw*l+:Iw] = {2'b01, p1_q[Pw*l+18+:5]};
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      done1_q <= done;
      r1_q <= first;
      p1_q <= p1;
      k1_q <= k1;
      for (int unsigned l = 0; l < Lanes; l++) sign1_q[l] <= x_i[32*l+31];
    end
    if (v_q[0]) begin
      done2_q <= done1_q;
      r2_q <= r1_q;
      sign2_q <= exp ? '0 : sign1_q;
      k2_q <= k2;
      idx2_q <= idx2;
      u2_q <= u2;
    end
    // 3 to 5: the polynomial
    if (v_q[1]) begin
      done3_q <= done2_q;
      r3_q <= r2_q;
      sign3_q <= sign2_q;
      k3_q <= k2_q;
      idx3_q <= idx2_q;
      u3_q <= u2_q;
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (!done2_q[l])
          s3_q[28*l+:28] <= 28'(step_f(c3_f(idx2_q[Iw*l+:Iw]), u2_q[Uw*l+:Uw], c2_f(idx2_q[Iw*l+:Iw])));
      end
    end
    if (v_q[2]) begin
      done4_q <= done3_q;
      r4_q <= r3_q;
      sign4_q <= sign3_q;
      k4_q <= k3_q;
      idx4_q <= idx3_q;
      u4_q <= u3_q;
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (!done3_q[l])
          s4_q[28*l+:28] <= 28'(step_f(s3_q[28*l+:28], u3_q[Uw*l+:Uw], c1_f(idx3_q[Iw*l+:Iw])));
      end
    end
    if (v_q[3]) begin
      done5_q <= done4_q;
      r5_q <= r4_q;
      sign5_q <= sign4_q;
      k5_q <= k4_q;
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (!done4_q[l])
          s5_q[32*l+:32] <= 32'(step_f(s4_q[28*l+:28], u4_q[Uw*l+:Uw], c0_f(idx4_q[Iw*l+:Iw])));
      end
    end
    // 6
    if (v_q[4]) begin
      for (int unsigned l = 0; l < Lanes; l++)
        y_o[32*l+:32] <= done5_q[l] ? r5_q[32*l+:32] : pack_f(sign5_q[l], s5_q[32*l+:32], k5_q[Kw*l+:Kw]);
    end
  end

  assign valid_o = v_q[Stages-1];

  `ASSERT(AluFuncKind, !valid_i || func_i != npu_pkg::AluFuncNone)

endmodule
