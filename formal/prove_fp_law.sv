// Laws that hold for every operand: no reference, the functions are compared with themselves.
module prove_fp_law #(
  parameter int unsigned Law = 0
) (
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic [31:0] y_o,
  output logic [31:0] z_o,
  output logic        assume_o,
  output logic        ok_o
);

  localparam logic [31:0] Nan = 32'h7FC0_0000;
  localparam logic [31:0] One = 32'h3F80_0000;

  logic a_nan, b_nan;
  logic [31:0] a_neg, b_neg;
  assign a_nan = a_i[30:0] > 31'h7F80_0000;
  assign b_nan = b_i[30:0] > 31'h7F80_0000;
  assign a_neg = {!a_i[31], a_i[30:0]};
  assign b_neg = {!b_i[31], b_i[30:0]};

  if (Law == 0) begin : g_law  // a + b = b + a
    assign assume_o = 1'b1;
    assign y_o = fp_pkg::fp_add_f(a_i, b_i);
    assign z_o = fp_pkg::fp_add_f(b_i, a_i);
    assign ok_o = y_o == z_o;
  end else if (Law == 1) begin : g_law  // a * b = b * a
    assign assume_o = 1'b1;
    assign y_o = fp_pkg::fp_mul_f(a_i, b_i);
    assign z_o = fp_pkg::fp_mul_f(b_i, a_i);
    assign ok_o = y_o == z_o;
  end else if (Law == 2) begin : g_law  // x + (-x) = +0
    assign assume_o = a_i[30:23] != 8'hFF;
    assign y_o = fp_pkg::fp_add_f(a_i, a_neg);
    assign z_o = 32'd0;
    assign ok_o = y_o == z_o;
  end else if (Law == 3) begin : g_law  // x * 1 = x
    assign assume_o = 1'b1;
    assign y_o = fp_pkg::fp_mul_f(a_i, One);
    assign z_o = a_nan ? Nan : a_i;
    assign ok_o = y_o == z_o;
  end else if (Law == 4) begin : g_law  // x + 0 = x, -0 + +0 = +0
    assign assume_o = 1'b1;
    assign y_o = fp_pkg::fp_add_f(a_i, 32'd0);
    assign z_o = a_nan ? Nan : a_i == 32'h8000_0000 ? 32'd0 : a_i;
    assign ok_o = y_o == z_o;
  end else if (Law == 5) begin : g_law  // x + x = 2 * x
    assign assume_o = 1'b1;
    assign y_o = fp_pkg::fp_add_f(a_i, a_i);
    assign z_o = fp_pkg::fp_mul_f(a_i, 32'h4000_0000);
    assign ok_o = y_o == z_o;
  end else if (Law == 6) begin : g_law  // (-a) + (-b) = -(a + b), but for exact zeros
    assign assume_o = 1'b1;
    assign y_o = fp_pkg::fp_add_f(a_neg, b_neg);
    assign z_o = fp_pkg::fp_add_f(a_i, b_i);
    assign ok_o = z_o == Nan ? y_o == Nan : y_o[30:0] == z_o[30:0] && (y_o[31] != z_o[31] || z_o[30:0] == 31'd0);
  end else if (Law == 7) begin : g_law  // (-a) * b = -(a * b)
    assign assume_o = 1'b1;
    assign y_o = fp_pkg::fp_mul_f(a_neg, b_i);
    assign z_o = fp_pkg::fp_mul_f(a_i, b_i);
    assign ok_o = z_o == Nan ? y_o == Nan : y_o == {!z_o[31], z_o[30:0]};
  end else if (Law == 8) begin : g_law  // integers of up to 24 bits survive the way to binary32 and back
    assign assume_o = a_i[31:24] == {8{a_i[31]}};
    assign y_o = fp_pkg::fp_f32_to_i32_f(fp_pkg::i32_to_f32_f(a_i));
    assign z_o = a_i;
    assign ok_o = y_o == z_o;
  end else begin : g_law  // a <= b: quantised, still in this order
    assign assume_o = fp_pkg::fp_le_f(a_i, b_i);
    assign y_o = {24'd0, fp_pkg::f32_to_i8_f(a_i)};
    assign z_o = {24'd0, fp_pkg::f32_to_i8_f(b_i)};
    assign ok_o = $signed(y_o[7:0]) <= $signed(z_o[7:0]);
  end

endmodule
