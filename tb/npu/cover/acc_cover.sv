// Corners of the accumulators; sums of column 0.
// hit: tests conv, dw and linear
module acc_cover #(
    parameter int unsigned N = 8,
    parameter int unsigned Aw = 3
) (
    input logic clk_i,
    input logic rst_ni,
    input logic en_i,
    input logic first_i,
    input logic last_i,
    input logic [N-1:0] valid_o,
    input logic [32*N-1:0] sum0_o,
    input logic [32*N-1:0] ps0_i,
    input logic [Aw-1:0] slot_q
);

  // bug: a tile of one block takes the sums of the tile before
  one_pass: cover property (@(posedge clk_i) disable iff (!rst_ni) en_i && first_i && last_i);
  // bug: a block in the middle of a tile begins anew
  middle: cover property (@(posedge clk_i) disable iff (!rst_ni) en_i && !first_i && !last_i);
  // bug: the slot wraps one pixel early
  wraps: cover property (@(posedge clk_i) disable iff (!rst_ni) en_i && slot_q == '1);
  // bug: a sum of more than 20 bits loses its upper bits
  above_20: cover property (@(posedge clk_i) disable iff (!rst_ni) valid_o[0] && $signed(sum0_o[31:0]) > 32'sd1048576);
  // hit: conv:ic=4 iw=40 ih=40 k=33
  // bug: a negative sum of more than 20 bits loses its sign
  below_20: cover property (@(posedge clk_i) disable iff (!rst_ni) valid_o[0] && $signed(sum0_o[31:0]) < -32'sd1048576);
  // bug: a sum of zero is taken for no sum
  cancels: cover property (@(posedge clk_i) disable iff (!rst_ni) valid_o[0] && sum0_o[31:0] == 32'd0 && ps0_i[31:0] != 32'd0);
  // bug: the largest product of the last row is a bit short
  largest_product: cover property (@(posedge clk_i) disable iff (!rst_ni) en_i && (ps0_i[31:0] == 32'd16129 || ps0_i[31:0] == -32'd16129));

endmodule

bind acc acc_cover #(.N(N), .Aw(Aw)) u_acc_cover (.*);
