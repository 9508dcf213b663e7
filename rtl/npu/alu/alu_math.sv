// Arithmetic of one channel of the ALU: four lanes, adder -> multiplier -> adder -> activation or function, and the 32
// accumulators.
//
// Function     Elements: y = act(op(x, p, q)) of a word of four elements, or func in place of act (docs/npu/npu.md
//              sections 2 and 3.3; thesis section 3.2.2, figure 3-9: one adder, one multiplier and one adder are shared
//              by all operations, comparisons stand beside the first adder; that of PRELU stands beside the multiplier
//              and lets a positive x pass).
//              Reductions: word w of a row goes to the accumulators 4*(w mod 8) .. +3; after the last word of a row the
//              first adder, which reductions do not need, adds the tree 16, 8, 4, 2, 1 while the next row streams; then
//              * q, act or func. RMAX compares where the others add.
// Inputs       valid_i with x_i, the scalars p_i and q_i, the mask of existing lanes, first_i and last_i word of a row
//              (reductions); vec_i, the word of the vector operand, comes one cycle later.
// Flow         Nothing stalls inside. Reductions: a word may come only with word_ok_o, the last one of a row only with
//              last_ok_o (the tree of the previous row is done by then; one word slot for each row is reserved for the
//              product with q).
// Latency      Words: 4 + ActLatency cycles from valid_i to valid_o. Reductions: 16 + ActLatency from the row's last
//              word.
// Throughput   One word a cycle; reductions: a row takes one cycle more than its words, at least 10 cycles.
`include "assert.svh"

module alu_math (
  input  logic         clk_i,
  input  logic         rst_ni,
  // constant while words are in flight
  input  logic [4:0]   op_i,
  input  logic         p_vec_i,
  input  logic         q_vec_i,
  input  logic [31:0]  red_q_i,      // factor of reductions
  input  logic [3:0]   act_i,
  input  logic [31:0]  act_p0_i,
  input  logic [31:0]  act_p1_i,
  input  logic [31:0]  act_p2_i,
  input  logic [31:0]  act_p3_i,
  input  logic [1:0]   func_i,

  input  logic         valid_i,
  input  logic [127:0] x_i,
  input  logic [31:0]  p_i,
  input  logic [31:0]  q_i,
  input  logic [3:0]   lanes_i,
  input  logic         first_i,
  input  logic         last_i,
  input  logic [127:0] vec_i,
  output logic         word_ok_o,
  output logic         last_ok_o,

  output logic         valid_o,
  output logic [127:0] y_o
);

  localparam logic [31:0] NegInf = 32'hFF80_0000;
  localparam logic [3:0] TreeMul = 4'd9;  // step in which the sum of a row is in the multiplier's slot

  // the operations beside the adder; x itself for those that begin with the multiplier
  function automatic logic [31:0] side_f(input logic [4:0] op, input logic [31:0] x, input logic [31:0] p);
    case (op)
      npu_pkg::AluMax: side_f = fp_pkg::fp_max_f(x, p);
      npu_pkg::AluMin: side_f = fp_pkg::fp_min_f(x, p);
      npu_pkg::AluGt: side_f = fp_pkg::fp_lt_f(p, x) ? 32'h3F80_0000 : 32'd0;
      npu_pkg::AluGe: side_f = fp_pkg::fp_le_f(p, x) ? 32'h3F80_0000 : 32'd0;
      npu_pkg::AluEq: side_f = fp_pkg::fp_eq_f(p, x) ? 32'h3F80_0000 : 32'd0;
      npu_pkg::AluAbs: side_f = {1'b0, x[30:0]};
      npu_pkg::AluAddI32: side_f = x + p;
      default: side_f = x;
    endcase
  endfunction

  logic reduce;
  logic use_add1;
  logic use_mul;
  logic use_add2;
  logic prelu;
  logic rmax;
  assign reduce = npu_pkg::alu_reduces_f(op_i);
  assign rmax = op_i == npu_pkg::AluRmax;
  assign use_add1 = op_i == npu_pkg::AluAdd || op_i == npu_pkg::AluSub || op_i == npu_pkg::AluRsub ||
      op_i == npu_pkg::AluAddmul;
  assign use_mul = op_i == npu_pkg::AluMul || op_i == npu_pkg::AluMuladd || op_i == npu_pkg::AluAddmul ||
      op_i == npu_pkg::AluDot || op_i == npu_pkg::AluSumsq || prelu;
  assign use_add2 = op_i == npu_pkg::AluMuladd || reduce;
  assign prelu = op_i == npu_pkg::AluPrelu;

  // ------------------------------------------------------------------------------------------------ stage 0: the word
  logic         v0_q;
  logic         v1_q;
  logic         v2_q;
  logic         v3_q;
  logic [127:0] x0_q;
  logic [31:0]  p0_q;
  logic [31:0]  q0_q;
  logic [127:0] p0;
  logic [127:0] q0;

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      x0_q <= x_i;
      p0_q <= p_i;
      q0_q <= q_i;
    end
  end
  assign p0 = p_vec_i ? vec_i : {4{p0_q}};
  assign q0 = q_vec_i ? vec_i : {4{q0_q}};

  // place of the word in its row, for reductions: group of accumulators, whether it is the group's first word of this
  // row
  logic [3:0]  word_q;  // 0..7, then 8..15 again and again
  logic [8:0]  place0;
  logic [8:0]  place0_q;
  logic [8:0]  place1_q;
  logic [8:0]  place2_q;
  logic [4:0]  place3_q;
  logic [3:0]  word;
  assign word = first_i ? 4'd0 : word_q;
  assign place0 = {last_i, lanes_i, word};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      word_q <= '0;
      place0_q <= '0;
      place1_q <= '0;
      place2_q <= '0;
      place3_q <= '0;
    end else if (reduce) begin
      if (valid_i) begin
        word_q <= {word[3] || word[2:0] == 3'd7, word[2:0] + 3'd1};
        place0_q <= place0;
      end
      if (v0_q) place1_q <= place0_q;
      if (v1_q) place2_q <= place1_q;
      if (v2_q) place3_q <= {place2_q[8], place2_q[3:0]};
    end
  end

  // ------------------------------------------------------------------------------------------------ the tree
  logic         tree_q;       // it runs
  logic [3:0]   step_q;
  logic [3:0]   groups_q;     // groups of the row that hold sums
  logic [3:0]   gap_q;        // cycles until the last word of the next row may come
  logic         tree_add;
  logic         tree_mul;
  logic         tree_mul_q;
  logic [127:0] acc[8];
  logic [127:0] tree[4];
  logic [127:0] tree_a;
  logic [127:0] tree_b;
  logic [1:0]   tree_to;
  logic         row_end3;
  assign row_end3 = v3_q && reduce && place3_q[4];
  assign tree_add = tree_q && step_q != TreeMul;
  assign tree_mul = tree_q && step_q == TreeMul;
  assign word_ok_o = !(tree_q && step_q == TreeMul - 4'd2);
  assign last_ok_o = gap_q == 4'd0;

  always_comb begin
    tree_a = rmax ? {4{NegInf}} : '0;
    tree_b = tree_a;
    tree_to = '0;
    if (tree_add) begin
      case (step_q)
        4'd0, 4'd1, 4'd2, 4'd3: begin
          tree_to = step_q[1:0];
          if (groups_q > step_q) tree_a = acc[{1'b0, step_q[1:0]}];
          if (groups_q > {2'b01, step_q[1:0]}) tree_b = acc[{1'b1, step_q[1:0]}];
        end
        4'd4, 4'd5: begin
          tree_to = {1'b0, step_q[0]};
          tree_a = tree[{1'b0, step_q[0]}];
          tree_b = tree[{1'b1, step_q[0]}];
        end
        4'd6: begin
          tree_a = tree[0];
          tree_b = tree[1];
        end
        4'd7: begin
          tree_a = {64'd0, tree[0][63:0]};
          tree_b = {64'd0, tree[0][127:64]};
        end
        default: begin
          tree_a = {96'd0, tree[0][31:0]};
          tree_b = {96'd0, tree[0][63:32]};
        end
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tree_q <= 1'b0;
      step_q <= '0;
      groups_q <= '0;
      gap_q <= '0;
      tree_mul_q <= 1'b0;
    end else if (reduce) begin
      tree_mul_q <= tree_mul;
      if (row_end3) begin
        tree_q <= 1'b1;
        step_q <= '0;
        groups_q <= place3_q[3] ? 4'd8 : {1'b0, place3_q[2:0]} + 4'd1;
      end else if (tree_q) begin
        step_q <= step_q + 4'd1;
        tree_q <= step_q != TreeMul;
      end
      if (valid_i && last_i) gap_q <= TreeMul;
      else if (gap_q != 4'd0) gap_q <= gap_q - 4'd1;
    end
  end

  // --------------------------------------------------------------------------------------------- stage 1: first adder
  // Each sum, product and comparison is computed only in cycles that need it, so that a simulator does no work in the
  // others.
  logic [127:0] add1;
  logic [127:0] y1;
  logic [127:0] y1_q;
  logic [127:0] f1_q;  // factor
  logic [127:0] s1_q;  // summand of the second adder

  always_comb begin
    add1 = '0;
    if (tree_add) begin
      for (int unsigned l = 0; l < 4; l++) begin
        add1[32*l+:32] = rmax ? fp_pkg::fp_max_f(tree_a[32*l+:32], tree_b[32*l+:32]) :
            fp_pkg::fp_add_f(tree_a[32*l+:32], tree_b[32*l+:32]);
      end
    end else if (v0_q && use_add1) begin
      for (int unsigned l = 0; l < 4; l++) begin
        add1[32*l+:32] = fp_pkg::fp_add_f(x0_q[32*l+:32] ^ {op_i == npu_pkg::AluRsub, 31'd0},
                                          p0[32*l+:32] ^ {op_i == npu_pkg::AluSub, 31'd0});
      end
    end
  end

  always_comb begin
    y1 = add1;
    if (v0_q && !use_add1) begin
      for (int unsigned l = 0; l < 4; l++) y1[32*l+:32] = side_f(op_i, x0_q[32*l+:32], p0[32*l+:32]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (v0_q) begin
      y1_q <= y1;
      if (use_mul) f1_q <= op_i == npu_pkg::AluAddmul ? q0 : op_i == npu_pkg::AluSumsq ? x0_q : p0;
      if (use_add2) s1_q <= q0;
    end
    if (tree_add) tree[tree_to] <= add1;
  end

  // ---------------------------------------------------------------------------------------------- stage 2: multiplier
  logic [127:0] y2;
  logic [127:0] y2_q;
  logic [127:0] s2_q;

  always_comb begin
    y2 = y1_q;
    if (tree_mul) begin
      y2 = {96'd0, fp_pkg::fp_mul_f(tree[0][31:0], red_q_i)};
    end else if (v1_q && use_mul) begin
      for (int unsigned l = 0; l < 4; l++) begin
        if (!prelu || !fp_pkg::fp_lt_f(32'd0, y1_q[32*l+:32]))
          y2[32*l+:32] = fp_pkg::fp_mul_f(y1_q[32*l+:32], f1_q[32*l+:32]);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (v1_q || tree_mul) y2_q <= y2;
    if (v1_q && use_add2) s2_q <= s1_q;
  end

  // -------------------------------------------------------------------------------------------- stage 3: second adder
  logic [127:0] y3;
  logic [127:0] y3_q;
  logic         v3;
  logic         tree3_q;
  logic [127:0] acc_in;

  // The first words of a row begin at +0; lanes that do not exist add +0, which changes no accumulator since none is
  // ever -0. RMAX begins at minus infinity, which such lanes leave as it is.
  always_comb begin
    acc_in = rmax ? {4{NegInf}} : '0;
    if (v2_q && reduce && place2_q[3]) acc_in = acc[place2_q[2:0]];
  end

  always_comb begin
    y3 = y2_q;
    if (v2_q && rmax) begin
      for (int unsigned l = 0; l < 4; l++) begin
        y3[32*l+:32] = place2_q[4+l] ? fp_pkg::fp_max_f(acc_in[32*l+:32], y2_q[32*l+:32]) : acc_in[32*l+:32];
      end
    end else if (v2_q && use_add2) begin
      for (int unsigned l = 0; l < 4; l++) begin
        y3[32*l+:32] = fp_pkg::fp_add_f(reduce && !place2_q[4+l] ? 32'd0 : y2_q[32*l+:32],
                                        reduce ? acc_in[32*l+:32] : s2_q[32*l+:32]);
      end
    end
  end
  assign v3 = v2_q || tree_mul_q;

  always_ff @(posedge clk_i) begin
    if (v3) y3_q <= y3;
    if (v3_q && reduce) acc[place3_q[2:0]] <= y3_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      v0_q <= 1'b0;
      v1_q <= 1'b0;
      v2_q <= 1'b0;
      v3_q <= 1'b0;
      tree3_q <= 1'b0;
    end else begin
      v0_q <= valid_i;
      v1_q <= v0_q;
      v2_q <= v1_q;
      v3_q <= v2_q;
      tree3_q <= tree_mul_q;
    end
  end

  // ------------------------------------------------------------------------------ activation, or function in its place
  logic         end_valid;
  logic         has_func;
  logic         act_valid;
  logic         func_valid;
  logic [127:0] act_y;
  logic [127:0] func_y;
  assign end_valid = reduce ? tree3_q : v3_q;
  assign has_func = func_i != npu_pkg::AluFuncNone;

  act #(
    .Lanes(4)
  ) u_act (
    .clk_i,
    .rst_ni,
    .valid_i(end_valid && !has_func),
    .act_i,
    .p0_i(act_p0_i),
    .p1_i(act_p1_i),
    .p2_i(act_p2_i),
    .p3_i(act_p3_i),
    .x_i(y3_q),
    .valid_o(act_valid),
    .y_o(act_y)
  );

  alu_func #(
    .Lanes(4)
  ) u_func (
    .clk_i,
    .rst_ni,
    .valid_i(end_valid && has_func),
    .func_i,
    .x_i(y3_q),
    .valid_o(func_valid),
    .y_o(func_y)
  );

  assign valid_o = act_valid || func_valid;
  assign y_o = has_func ? func_y : act_y;

  `ASSERT(AluMathWord, !valid_i || !reduce || (word_ok_o && (!last_i || last_ok_o)))
  `ASSERT(AluMathTree, !tree_q || !((tree_mul && v1_q) || (row_end3 && !tree_mul)))
  `ASSERT(AluMathEnd, !act_valid || !has_func)

endmodule
