// Sum and product where an operand is infinite, NaN or (product) zero: the tables of IEEE-754, every NaN result
// 0x7FC00000.
module prove_fp_special #(
  parameter bit Mul = 1'b0
) (
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic [31:0] y_o,
  output logic        assume_o,
  output logic        ok_o
);

  localparam logic [31:0] Nan = 32'h7FC0_0000;

  logic a_nan, b_nan, a_inf, b_inf, a_zero, b_zero;
  assign a_nan = &a_i[30:23] && |a_i[22:0];
  assign b_nan = &b_i[30:23] && |b_i[22:0];
  assign a_inf = &a_i[30:23] && !a_nan;
  assign b_inf = &b_i[30:23] && !b_nan;
  assign a_zero = !(|a_i[30:0]);
  assign b_zero = !(|b_i[30:0]);

  if (Mul) begin : g_mul
    assign y_o = fp_pkg::fp_mul_f(a_i, b_i);
    assign assume_o = a_nan || b_nan || a_inf || b_inf || a_zero || b_zero;
    always_comb begin
      if (a_nan || b_nan || (a_inf && b_zero) || (a_zero && b_inf)) ok_o = y_o == Nan;
      else if (a_inf || b_inf) ok_o = y_o == {a_i[31] ^ b_i[31], 31'h7F80_0000};
      else ok_o = y_o == {a_i[31] ^ b_i[31], 31'd0};
    end
  end else begin : g_add
    assign y_o = fp_pkg::fp_add_f(a_i, b_i);
    assign assume_o = a_nan || b_nan || a_inf || b_inf;
    always_comb begin
      if (a_nan || b_nan || (a_inf && b_inf && a_i[31] != b_i[31])) ok_o = y_o == Nan;
      else ok_o = y_o == (a_inf ? a_i : b_i);
    end
  end

endmodule
