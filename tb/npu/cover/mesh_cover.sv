// Corners of the mesh; data of its first row and column. What its loops do is left out of the toggles.
// hit: test conv with data=extreme wdata=extreme
module mesh_cover #(
    parameter int unsigned N = 8
) (
    input logic clk_i,
    input logic en_i,
    input logic wgt_p_i,
    input logic sel_i,
    input logic [8*N-1:0] wgt_i,
    input logic [8*N-1:0] act0_i,
    input logic [8*N-1:0] act1_i,
    input logic [32*N-1:0] ps0_o,
    input logic [32*N-1:0] ps1_o
);

  // bug: weights move on while the mesh stands still
  stops: cover property (@(posedge clk_i) !en_i && wgt_p_i);
  // bug: weights that are loaded disturb those in use
  load_compute: cover property (@(posedge clk_i) en_i && wgt_p_i && act0_i != '0);
  // bug: the new weights are used one pixel early
  swap: cover property (@(posedge clk_i) en_i && sel_i);
  // bug: a product of the largest numbers overflows
  most: cover property (@(posedge clk_i) en_i && act0_i[7:0] == 8'h7f && wgt_i[7:0] == 8'h7f);
  // bug: a product of the most negative numbers is negative
  least: cover property (@(posedge clk_i) en_i && act0_i[7:0] == 8'h81 && wgt_i[7:0] == 8'h81);
  // bug: both streams take the activations of one
  streams_differ: cover property (@(posedge clk_i) en_i && act0_i != act1_i);
  // bug: a zero activation keeps the product before
  stream_zero: cover property (@(posedge clk_i) en_i && act0_i[7:0] == 8'h00 && act1_i[7:0] != 8'h00);
  // bug: both streams give the sums of one
  sums_differ: cover property (@(posedge clk_i) en_i && ps0_o[31:0] != ps1_o[31:0]);

endmodule

bind mesh mesh_cover #(.N(N)) u_mesh_cover (.*);
