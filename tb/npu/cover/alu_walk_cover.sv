// Corners of the walk over rows and planes.
// hit: tests eltwise, reduce and copy
module alu_walk_cover (
    input logic clk_i,
    input logic rst_ni,
    input logic step,
    input logic last,
    input logic row_end,
    input logic reduce,
    input logic mine_q,
    input logic [23:0] left_q,
    input logic [15:0] rows_q,
    input logic [15:0] planes_q,
    input logic chunk_valid_o,
    input logic chunk_ready_i,
    input logic [25:0] off_q,
    input logic seen_q
);

  // bug: a row that ends with a whole chunk has one more of nothing
  chunk_full: cover property (@(posedge clk_i) disable iff (!rst_ni) step && last && left_q == 24'd256);
  // bug: a chunk of one element is left out
  chunk_one: cover property (@(posedge clk_i) disable iff (!rst_ni) step && last && left_q == 24'd1);
  // bug: the second chunk begins where the first does
  chunks: cover property (@(posedge clk_i) disable iff (!rst_ni) step && off_q != 26'd0);
  // bug: a chunk of the other channel is done here, too
  other_skips: cover property (@(posedge clk_i) disable iff (!rst_ni) step && !mine_q);
  // bug: a chunk moves on while it waits
  waits: cover property (@(posedge clk_i) disable iff (!rst_ni) chunk_valid_o && !chunk_ready_i);
  // bug: the next row goes on behind the one before
  row_ends: cover property (@(posedge clk_i) disable iff (!rst_ni) step && row_end && rows_q != 16'd1);
  // bug: the next plane begins with the rows of this one
  plane_ends: cover property (@(posedge clk_i) disable iff (!rst_ni) step && row_end && rows_q == 16'd1 && planes_q != 16'd1);
  // bug: the last row is walked twice
  ends: cover property (@(posedge clk_i) disable iff (!rst_ni) step && row_end && rows_q == 16'd1 && planes_q == 16'd1);
  // bug: a sum of the other channel is begun here
  sum_skips: cover property (@(posedge clk_i) disable iff (!rst_ni) step && reduce && !mine_q);
  // bug: operands of a channel are those of the plane before
  plane_operand: cover property (@(posedge clk_i) disable iff (!rst_ni) chunk_valid_o && !seen_q && off_q != 26'd0);

endmodule

bind alu_walk alu_walk_cover u_alu_walk_cover (.*);
