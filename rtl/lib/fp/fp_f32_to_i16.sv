// IEEE-754 binary32 to int16: half away from zero, clamped to -32767..32767, NaN gives 0.
//
// Latency 1 cycle when en_i is high, one result a cycle; y_o holds while en_i is low. The arithmetic is
// fp_pkg::f32_to_i16_f (docs/npu/npu.md section 2). No reset: y_o is meaningful only after the first enabled cycle.
module fp_f32_to_i16 (
  input  logic        clk_i,
  input  logic        en_i,
  input  logic [31:0] a_i,
  output logic [15:0] y_o
);

  always_ff @(posedge clk_i) begin
    if (en_i) y_o <= fp_pkg::f32_to_i16_f(a_i);
  end

endmodule
