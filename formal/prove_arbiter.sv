// The arbiter grants the lowest request and nothing else.
module prove_arbiter #(
  parameter int unsigned NumReq = 7
) (
  input  logic [NumReq-1:0] req_i,
  output logic [NumReq-1:0] gnt_o,
  output logic              assume_o,
  output logic              ok_o
);

  arbiter #(.NumReq(NumReq)) u_arb (.req_i, .gnt_o);

  logic [NumReq-1:0] taken;  // a lower one asks
  logic [NumReq-1:0] want;
  for (genvar i = 0; i < NumReq; i++) begin : g_req
    if (i == 0) begin : g_first
      assign taken[i] = 1'b0;
    end else begin : g_next
      assign taken[i] = taken[i-1] || req_i[i-1];
    end
    assign want[i] = req_i[i] && !taken[i];
  end
  assign assume_o = 1'b1;
  assign ok_o = gnt_o == want;

endmodule
