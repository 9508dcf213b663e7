// Fixed-priority arbiter: grants the lowest request. Combinational.
// Parameter: number of requests. Document: docs/npu/npu.md section 4.
`include "assert.svh"

module arbiter #(
  parameter int unsigned NumReq = 4
) (
  input  logic [NumReq-1:0] req_i,
  output logic [NumReq-1:0] gnt_o
);

  // -x keeps the lowest 1 of x and inverts all bits above it
  assign gnt_o = req_i & (~req_i + 1'b1);

  `ASSERT_COMB(ArbOneHot, (gnt_o & (gnt_o - 1'b1)) == '0 && (gnt_o & ~req_i) == '0)

endmodule
