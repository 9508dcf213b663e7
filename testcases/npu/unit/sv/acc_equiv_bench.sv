// The two descriptions of the accumulators on the same inputs: `acc` (fast to simulate) and `acc_struct` (cells). Sums
// that are not valid are 0 here.
module acc_equiv_bench #(
  parameter int unsigned N = 8
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            en_i,
  input  logic            first_i,
  input  logic            last_i,
  input  logic [32*N-1:0] ps0_i,
  input  logic [32*N-1:0] ps1_i,
  output logic [   N-1:0] fast_valid_o,
  output logic [   N-1:0] struct_valid_o,
  output logic [32*N-1:0] fast0_o,
  output logic [32*N-1:0] fast1_o,
  output logic [32*N-1:0] struct0_o,
  output logic [32*N-1:0] struct1_o
);

  logic [32*N-1:0] fast0, fast1, struct0, struct1;
  logic wide_i;
  assign wide_i = 1'b0;

  acc #(
    .N(N)
  ) u_fast (
    .*,
    .valid_o(fast_valid_o),
    .sum0_o(fast0),
    .sum1_o(fast1)
  );

  acc_struct #(
    .N(N)
  ) u_struct (
    .*,
    .valid_o(struct_valid_o),
    .sum0_o(struct0),
    .sum1_o(struct1)
  );

  for (genvar c = 0; c < N; c++) begin : g_valid
    assign fast0_o[32*c+:32] = fast0[32*c+:32] & {32{fast_valid_o[c]}};
    assign fast1_o[32*c+:32] = fast1[32*c+:32] & {32{fast_valid_o[c]}};
    assign struct0_o[32*c+:32] = struct0[32*c+:32] & {32{struct_valid_o[c]}};
    assign struct1_o[32*c+:32] = struct1[32*c+:32] & {32{struct_valid_o[c]}};
  end

endmodule
