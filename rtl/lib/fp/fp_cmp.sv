// IEEE-754 binary32 comparator.
//
// y_o = {a == b, a <= b, a < b}; all three are 0 when an operand is NaN; -0 equals +0.
// Latency 1 cycle when en_i is high, one result a cycle; y_o holds while en_i is low. The comparisons are
// fp_pkg::fp_lt_f, fp_le_f and fp_eq_f (docs/npu/npu.md section 2). No reset: y_o is meaningful only after the first
// enabled cycle.
module fp_cmp (
  input  logic        clk_i,
  input  logic        en_i,
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic [ 2:0] y_o
);

  always_ff @(posedge clk_i) begin
    if (en_i) y_o <= {fp_pkg::fp_eq_f(a_i, b_i), fp_pkg::fp_le_f(a_i, b_i), fp_pkg::fp_lt_f(a_i, b_i)};
  end

endmodule
