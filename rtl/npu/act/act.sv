// Activation unit: all functions of GEMM_ACT and ALU_ACT on Lanes FP32 values (docs/npu/npu.md section 2,
// "Activations").
//
// act_i        The function (npu_pkg::Act*); an unassigned number passes values as they are. act_i and p0_i..p3_i are
//              constant while vectors are in flight.
// Latency      npu_act_pkg::ActLatency (6) cycles for every function: choice of the case, multiply, add, multiply, add,
//              scale of ELU.
// Throughput   One vector a cycle, no stall.
//
// A value whose result is known in the first stage (a limit, a bound, a passed operand) travels in r_q and is marked as
// done; the stages do arithmetic only for lanes that are not. The three coefficients come from one table each, looked
// up one stage before they are used.
`include "assert.svh"

module act
#(
  parameter int unsigned Lanes = 4
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                valid_i,
  input  logic [3:0]          act_i,
  input  logic [31:0]         p0_i,
  input  logic [31:0]         p1_i,
  input  logic [31:0]         p2_i,
  input  logic [31:0]         p3_i,
  input  logic [32*Lanes-1:0] x_i,
  output logic                valid_o,
  output logic [32*Lanes-1:0] y_o
);

  localparam int unsigned Stages = npu_act_pkg::ActLatency;
  localparam int unsigned Iw = 8;  // table entry: function, sign, segment
  localparam logic [31:0] One = 32'h3F80_0000;
  localparam logic [31:0] MinusOne = 32'hBF80_0000;

  // ---------------------------------------------------------------- what the function needs
  logic       fit;       // coefficients
  logic [2:0] fit_fn;
  logic [7:0] fit_exp;   // exponent of R
  logic       use_mul;   // v * P0 or v * c2
  logic       use_add;   // + P1 or + c1
  logic       use_mul2;  // * v
  logic       elu;       // * P0 at the end

  always_comb begin
    fit = 1'b1;
    fit_fn = npu_act_pkg::FitSigmoid;
    fit_exp = npu_act_pkg::FitSigmoidExp;
    case (act_i)
      npu_pkg::ActSigmoid: ;
      npu_pkg::ActTanh: begin
        fit_fn = npu_act_pkg::FitTanh;
        fit_exp = npu_act_pkg::FitTanhExp;
      end
      npu_pkg::ActSwish: begin
        fit_fn = npu_act_pkg::FitSwish;
        fit_exp = npu_act_pkg::FitSwishExp;
      end
      npu_pkg::ActMish: begin
        fit_fn = npu_act_pkg::FitMish;
        fit_exp = npu_act_pkg::FitMishExp;
      end
      npu_pkg::ActElu: begin
        fit_fn = npu_act_pkg::FitExpm1;
        fit_exp = npu_act_pkg::FitExpm1Exp;
      end
      npu_pkg::ActSoftplus: begin
        fit_fn = npu_act_pkg::FitSoftplus;
        fit_exp = npu_act_pkg::FitSoftplusExp;
      end
      npu_pkg::ActGelu: begin
        fit_fn = npu_act_pkg::FitGelu;
        fit_exp = npu_act_pkg::FitGeluExp;
      end
      npu_pkg::ActGeluTanh: begin
        fit_fn = npu_act_pkg::FitGeluTanh;
        fit_exp = npu_act_pkg::FitGeluTanhExp;
      end
      default: fit = 1'b0;
    endcase
  end

  assign elu = act_i == npu_pkg::ActElu;
  assign use_mul2 = fit || act_i == npu_pkg::ActHardswish;
  assign use_add = use_mul2 || act_i == npu_pkg::ActHardsigmoid;
  assign use_mul = use_add || act_i == npu_pkg::ActLeaky;

  // v > 0
  function automatic logic positive_f(input logic [31:0] v);
    positive_f = !v[31] && v[30:0] != 31'd0 && !fp_pkg::fp_is_nan_f(v);
  endfunction

  // Segment of |v| < R: floor(|v|*16/R). v: exponent and upper fraction; bexp: exponent of R.
  function automatic logic [3:0] segment_f(input logic [10:0] v, input logic [7:0] bexp);
    logic [7:0] below;
    below = bexp - v[10:3];  // 1: upper half of the range
    segment_f = below > 8'd4 ? 4'd0 : {1'b1, v[2:0]} >> (below[2:0] - 3'd1);
  endfunction

  // {done, result} of the first stage for values beyond R of the fitted functions and NaN
  function automatic logic [32:0] limit_f(input logic [2:0] fn, input logic [7:0] bexp, input logic [31:0] v);
    logic [31:0] r;
    if (fp_pkg::fp_is_nan_f(v)) r = fp_pkg::FpNan;
    else if (fn == npu_act_pkg::FitTanh) r = v[31] ? MinusOne : One;
    else if (fn == npu_act_pkg::FitSigmoid) r = v[31] ? 32'd0 : One;
    else if (fn == npu_act_pkg::FitExpm1) r = v[31] ? MinusOne : v;
    else r = v[31] ? 32'd0 : v;
    limit_f = {v[30:23] >= bexp, r};
  endfunction

  // {done, result} of the first stage for the exact functions
  function automatic logic [32:0] exact_f(input logic [3:0] fn, input logic [31:0] p0, input logic [31:0] p1,
                                          input logic [31:0] p2, input logic [31:0] p3, input logic [31:0] v);
    exact_f = {1'b1, v};
    case (fn)
      npu_pkg::ActRelu: exact_f[31:0] = fp_pkg::fp_relu_f(v);
      npu_pkg::ActLeaky: exact_f[32] = positive_f(v);
      npu_pkg::ActClip: begin
        if (fp_pkg::fp_lt_f(v, p0)) exact_f[31:0] = p0;
        else if (fp_pkg::fp_lt_f(p1, v)) exact_f[31:0] = p1;
      end
      npu_pkg::ActHardswish, npu_pkg::ActHardsigmoid: begin
        if (fp_pkg::fp_lt_f(v, p2)) exact_f[31:0] = 32'd0;
        else if (!fp_pkg::fp_lt_f(p3, v)) exact_f[32] = 1'b0;
        else if (fn == npu_pkg::ActHardsigmoid) exact_f[31:0] = One;
      end
      default: ;
    endcase
  endfunction

  // ---------------------------------------------------------------- pipeline
  logic [Stages-1:0]   v_q;
  logic [Lanes-1:0]    done1_q, done2_q, done3_q, done4_q;  // r is the result, or for ELU the factor of P0
  logic [Lanes-1:0]    pos1_q, pos2_q, pos3_q, pos4_q, pos5_q;  // ELU: v > 0
  logic [Lanes-1:0]    pos, done;
  logic [32*Lanes-1:0] x1_q, x2_q, x3_q;
  logic [32*Lanes-1:0] r1_q, r2_q, r3_q, r4_q, r5_q;
  logic [32*Lanes-1:0] first;
  logic [Iw*Lanes-1:0] idx, idx1_q, idx2_q, idx3_q;
  logic [32*Lanes-1:0] c2_q, c1_q, c0_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) v_q <= '0;
    else v_q <= {v_q[Stages-2:0], valid_i};
  end

  always_comb begin
    pos = '0;
    done = '0;
    first = x_i;
    idx = '0;
    if (valid_i) begin
      if (fit) begin
        for (int unsigned l = 0; l < Lanes; l++)
          {done[l], first[32*l+:32]} = limit_f(fit_fn, fit_exp, x_i[32*l+:32]);
        for (int unsigned l = 0; l < Lanes; l++)
          idx[Iw*l+:Iw] = {fit_fn, x_i[32*l+31], segment_f(x_i[32*l+20+:11], fit_exp)};
        if (elu) begin
          for (int unsigned l = 0; l < Lanes; l++) begin
            pos[l] = positive_f(x_i[32*l+:32]);
            if (pos[l]) {done[l], first[32*l+:32]} = {1'b1, x_i[32*l+:32]};
          end
        end
      end else if (act_i != npu_pkg::ActNone) begin
        for (int unsigned l = 0; l < Lanes; l++)
          {done[l], first[32*l+:32]} = exact_f(act_i, p0_i, p1_i, p2_i, p3_i, x_i[32*l+:32]);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      r1_q <= first;
      if (use_mul) begin
        done1_q <= done;
        x1_q <= x_i;
      end
      if (fit) begin
        pos1_q <= pos;
        idx1_q <= idx;
        for (int unsigned l = 0; l < Lanes; l++)
          if (!done[l]) c2_q[32*l+:32] <= npu_act_pkg::FitC2[32*idx[Iw*l+:Iw]+:32];
      end
    end
    if (v_q[0]) begin
      r2_q <= r1_q;
      if (use_mul) begin
        for (int unsigned l = 0; l < Lanes; l++)
          if (!done1_q[l]) r2_q[32*l+:32] <= fp_pkg::fp_mul_f(x1_q[32*l+:32], fit ? c2_q[32*l+:32] : p0_i);
        done2_q <= done1_q;
        x2_q <= x1_q;
      end
      if (fit) begin
        pos2_q <= pos1_q;
        idx2_q <= idx1_q;
        for (int unsigned l = 0; l < Lanes; l++)
          if (!done1_q[l]) c1_q[32*l+:32] <= npu_act_pkg::FitC1[32*idx1_q[Iw*l+:Iw]+:32];
      end
    end
    if (v_q[1]) begin
      r3_q <= r2_q;
      if (use_add) begin
        for (int unsigned l = 0; l < Lanes; l++)
          if (!done2_q[l]) r3_q[32*l+:32] <= fp_pkg::fp_add_f(r2_q[32*l+:32], fit ? c1_q[32*l+:32] : p1_i);
        done3_q <= done2_q;
        x3_q <= x2_q;
      end
      if (fit) begin
        pos3_q <= pos2_q;
        idx3_q <= idx2_q;
      end
    end
    if (v_q[2]) begin
      r4_q <= r3_q;
      if (use_mul2) begin
        for (int unsigned l = 0; l < Lanes; l++)
          if (!done3_q[l]) r4_q[32*l+:32] <= fp_pkg::fp_mul_f(r3_q[32*l+:32], x3_q[32*l+:32]);
        done4_q <= done3_q;
      end
      if (fit) begin
        pos4_q <= pos3_q;
        for (int unsigned l = 0; l < Lanes; l++)
          if (!done3_q[l]) c0_q[32*l+:32] <= npu_act_pkg::FitC0[32*idx3_q[Iw*l+:Iw]+:32];
      end
    end
    if (v_q[3]) begin
      r5_q <= r4_q;
      if (fit) begin
        pos5_q <= pos4_q;
        for (int unsigned l = 0; l < Lanes; l++)
          if (!done4_q[l]) r5_q[32*l+:32] <= fp_pkg::fp_add_f(r4_q[32*l+:32], c0_q[32*l+:32]);
      end
    end
    if (v_q[4]) begin
      y_o <= r5_q;
      if (elu) begin
        for (int unsigned l = 0; l < Lanes; l++)
          if (!pos5_q[l]) y_o[32*l+:32] <= fp_pkg::fp_mul_f(r5_q[32*l+:32], p0_i);
      end
    end
  end

  assign valid_o = v_q[Stages-1];

  // the case is chosen with the vector that enters, so its function must be the one of the vectors before it
  `ASSERT_STABLE(ActConstant, valid_i || v_q[Stages-2:0] != '0, !valid_i && v_q[Stages-3:0] == '0,
      {act_i, p0_i, p1_i, p2_i, p3_i})
  `ASSERT(ActTypeRange, !valid_i || act_i <= npu_pkg::ActGeluTanh)

endmodule
