// IEEE-754 binary16 to binary32, exact.
//
// Latency 1 cycle when en_i is high, one result a cycle; y_o holds while en_i is low. The arithmetic is
// fp_pkg::f16_to_f32_f (docs/fp.md). No reset: y_o is meaningful only after the first enabled cycle.
module fp_f16_to_f32 (
  input  logic        clk_i,
  input  logic        en_i,
  input  logic [15:0] a_i,
  output logic [31:0] y_o
);

  always_ff @(posedge clk_i) begin
    if (en_i) y_o <= fp_pkg::f16_to_f32_f(a_i);
  end

endmodule
