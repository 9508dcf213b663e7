// Comparisons and selection against integers in the order of the values, all pairs.
module prove_fp_cmp (
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic [2:0]  y_o,  // {eq, le, lt}
  output logic        assume_o,
  output logic        ok_o
);

  logic               nan;
  logic signed [32:0] ka, kb;  // binary32 numbers, counted from 0: both zeros are 0

  assign nan = a_i[30:0] > 31'h7F80_0000 || b_i[30:0] > 31'h7F80_0000;
  assign ka = a_i[31] ? -$signed({2'b00, a_i[30:0]}) : $signed({2'b00, a_i[30:0]});
  assign kb = b_i[31] ? -$signed({2'b00, b_i[30:0]}) : $signed({2'b00, b_i[30:0]});

  assign y_o = {fp_pkg::fp_eq_f(a_i, b_i), fp_pkg::fp_le_f(a_i, b_i), fp_pkg::fp_lt_f(a_i, b_i)};
  assign assume_o = 1'b1;
  assign ok_o = y_o == (nan ? 3'd0 : {ka == kb, ka <= kb, ka < kb});

endmodule
