// Quantiser: IEEE-754 binary32 to int8 with a zero-point.
//
// b_i = {full, half to even, zero-point (8 bits)}; 0: half away from zero, clamped to -127..127.
// Latency 1 cycle when en_i is high, one result a cycle; y_o holds while en_i is low. The arithmetic is
// fp_pkg::f32_to_q8_f (docs/npu/npu.md section 2). No reset: y_o is meaningful only after the first enabled cycle.
module fp_f32_to_i8 (
  input  logic        clk_i,
  input  logic        en_i,
  input  logic [31:0] a_i,
  input  logic [ 9:0] b_i,
  output logic [ 7:0] y_o
);

  always_ff @(posedge clk_i) begin
    if (en_i) y_o <= fp_pkg::f32_to_q8_f(a_i, b_i);
  end

endmodule
