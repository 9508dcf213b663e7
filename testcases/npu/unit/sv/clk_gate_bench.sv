// Clock gates, and counters of the rising edges of their clocks, which begin anywhere: low_o of one whose enable
// changes in the low phase of clk_i, high_o of one whose enable changes in the high phase, as registers do, pass_o of
// one that does not gate.
module clk_gate_bench (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       en_i,
  output logic [7:0] low_o,
  output logic [7:0] high_o,
  output logic [7:0] pass_o
);

  logic en_q, low_clk, high_clk, pass_clk;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) en_q <= 1'b0;
    else en_q <= en_i;
  end

  clk_gate u_low (
    .clk_i,
    .en_i,
    .clk_o(low_clk)
  );
  clk_gate u_high (
    .clk_i,
    .en_i (en_q),
    .clk_o(high_clk)
  );
  clk_gate #(
    .Gate(1'b0)
  ) u_pass (
    .clk_i,
    .en_i,
    .clk_o(pass_clk)
  );

  always_ff @(posedge low_clk) low_o <= low_o + 8'd1;
  always_ff @(posedge high_clk) high_o <= high_o + 8'd1;
  always_ff @(posedge pass_clk) pass_o <= pass_o + 8'd1;

endmodule
