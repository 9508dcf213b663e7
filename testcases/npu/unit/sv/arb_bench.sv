// Arbiters of 1, 2, 4 and 7 requesters for the unit bench. The clock only gives the bench its cycles.
module arb_bench (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic [6:0] req_i,
  output logic       gnt1_o,
  output logic [1:0] gnt2_o,
  output logic [3:0] gnt4_o,
  output logic [6:0] gnt7_o
);

  logic unused;
  assign unused = ^{clk_i, rst_ni};

  arbiter #(.NumReq(1)) u_arb1 (.req_i(req_i[0]), .gnt_o(gnt1_o));
  arbiter #(.NumReq(2)) u_arb2 (.req_i(req_i[1:0]), .gnt_o(gnt2_o));
  arbiter #(.NumReq(4)) u_arb4 (.req_i(req_i[3:0]), .gnt_o(gnt4_o));
  arbiter #(.NumReq(7)) u_arb7 (.req_i(req_i), .gnt_o(gnt7_o));

endmodule
