// Two's complement int64 to IEEE-754 binary32, one rounding.
//
// Latency 1 cycle when en_i is high, one result a cycle; y_o holds while en_i is low. The arithmetic is
// fp_pkg::i64_to_f32_f (docs/npu/npu.md section 2). No reset: y_o is meaningful only after the first enabled cycle.
module fp_i64_to_f32 (
  input  logic        clk_i,
  input  logic        en_i,
  input  logic [63:0] a_i,
  output logic [31:0] y_o
);

  always_ff @(posedge clk_i) begin
    if (en_i) y_o <= fp_pkg::i64_to_f32_f(a_i);
  end

endmodule
