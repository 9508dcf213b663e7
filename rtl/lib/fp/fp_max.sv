// IEEE-754 binary32 maximum: b > a ? b : a.
//
// A selection: y_o has the bits of one operand. The comparison is false when an operand is NaN, and -0 equals +0: then
// y_o is a_i, be it the NaN (payload and sign kept) or the other operand, and whichever zero. IEEE-754's maximumNumber
// differs in both. Latency 1 cycle when en_i is high, one result a cycle; y_o holds while en_i is low. The selection is
// fp_pkg::fp_max_f (docs/npu/npu.md section 2). No reset: y_o is meaningful only after the first enabled cycle.
module fp_max (
  input  logic        clk_i,
  input  logic        en_i,
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic [31:0] y_o
);

  always_ff @(posedge clk_i) begin
    if (en_i) y_o <= fp_pkg::fp_max_f(a_i, b_i);
  end

endmodule
