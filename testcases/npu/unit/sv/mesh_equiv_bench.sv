// The descriptions of the mesh on the same inputs: `mesh` (fast to simulate), with a multiplier for each product and
// with one for two, with EnInt16 the one for INT16 as well, and `mesh_struct` (a netlist of pe).
module mesh_equiv_bench #(
  parameter int unsigned N = 8,
  parameter int unsigned EnInt16 = 0
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
  output logic [32*N-1:0] wide0_o,  // without EnInt16 the same as pack0_o
  output logic [32*N-1:0] wide1_o,
  output logic [32*N-1:0] struct0_o,
  output logic [32*N-1:0] struct1_o
);

  logic wgt_wide_i, act_wide_i;
  assign wgt_wide_i = 1'b0;
  assign act_wide_i = 1'b0;

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

  if (EnInt16 != 0) begin : g_wide
    mesh #(
      .N(N),
      .EnInt16(1)
    ) u_wide (
      .*,
      .ps0_o(wide0_o),
      .ps1_o(wide1_o)
    );
  end else begin : g_pack
    assign wide0_o = pack0_o;
    assign wide1_o = pack1_o;
  end

  mesh_struct #(
    .N(N)
  ) u_struct (
    .*,
    .ps0_o(struct0_o),
    .ps1_o(struct1_o)
  );

endmodule
