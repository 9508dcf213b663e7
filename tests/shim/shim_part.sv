// A part of shim_toy, twice in it: a counter.
module shim_part #(
  parameter int unsigned Step = 1
) (
  input  logic       clk_i,
  output logic [3:0] count_o
);
  logic [3:0] count_q;
  assign count_o = count_q;
  always_ff @(posedge clk_i) count_q <= count_q + Step[3:0];
endmodule
