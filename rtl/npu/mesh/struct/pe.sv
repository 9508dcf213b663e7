// Processing element, structural description (thesis section 3.2.1, figure 3-4, equations 3-1 and 3-2).
//
// Two INT8 multiply-accumulates share one of two weight registers. The weight registers are its only state, all else is
// combinational: the registers between elements belong to the array.
//
// p_i    the register that loads b_i and hands its old weight down (1: reg1); the other one keeps its weight
// sel_i  the register that multiplies (1: reg1)
module pe (
  input  logic        clk_i,
  input  logic        en_i,
  input  logic        p_i,
  input  logic        sel_i,
  input  logic [ 7:0] a0_i,
  input  logic [ 7:0] a1_i,
  input  logic [ 7:0] b_i,
  input  logic [31:0] d0_i,
  input  logic [31:0] d1_i,
  output logic [ 7:0] b_o,
  output logic [31:0] c0_o,
  output logic [31:0] c1_o
);

  logic [7:0] reg1_q;
  logic [7:0] reg2_q;
  logic [7:0] wgt;

  always_ff @(posedge clk_i) begin
    if (en_i && p_i) reg1_q <= b_i;
  end

  always_ff @(posedge clk_i) begin
    if (en_i && !p_i) reg2_q <= b_i;
  end

  assign b_o = p_i ? reg1_q : reg2_q;
  assign wgt = sel_i ? reg1_q : reg2_q;

  logic signed [15:0] prod0;
  logic signed [15:0] prod1;
  assign prod0 = $signed(a0_i) * $signed(wgt);
  assign prod1 = $signed(a1_i) * $signed(wgt);
  assign c0_o = {{16{prod0[15]}}, prod0} + d0_i;
  assign c1_o = {{16{prod1[15]}}, prod1} + d1_i;

endmodule
