// A cell of the transposer: one byte that moves in from above or from the left.
module transpose_cell (
  input  logic       clk_i,
  input  logic       en_i,
  input  logic       right_i,  // take the left neighbour's byte, else that from above
  input  logic [7:0] above_i,
  input  logic [7:0] left_i,
  output logic [7:0] byte_q_o
);

  always_ff @(posedge clk_i) begin
    if (en_i) byte_q_o <= right_i ? left_i : above_i;
  end

endmodule
