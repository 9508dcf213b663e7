// The descriptions of the mesh on the same inputs: `mesh` (fast to simulate), with a multiplier for each product and
// with one for two, and `mesh_struct` (a netlist of pe).
module mesh_equiv_bench #(
  parameter int unsigned N = 8
) (
  input  logic            clk_i,
  input  logic            en_i,
  input  logic            wgt_p_i,
  input  logic [ 8*N-1:0] wgt_i,
  input  logic            sel_i,
  input  logic [ 8*N-1:0] act0_i,
  input  logic [ 8*N-1:0] act1_i,
  output logic [32*N-1:0] fast0_o,
  output logic [32*N-1:0] fast1_o,
  output logic [32*N-1:0] pack0_o,
  output logic [32*N-1:0] pack1_o,
  output logic [32*N-1:0] struct0_o,
  output logic [32*N-1:0] struct1_o
);

  mesh #(
    .N(N)
  ) u_fast (
    .*,
    .ps0_o(fast0_o),
    .ps1_o(fast1_o)
  );

  mesh #(
    .N(N),
    .PackMul(1)
  ) u_pack (
    .*,
    .ps0_o(pack0_o),
    .ps1_o(pack1_o)
  );

  mesh_struct #(
    .N(N)
  ) u_struct (
    .*,
    .ps0_o(struct0_o),
    .ps1_o(struct1_o)
  );

endmodule
