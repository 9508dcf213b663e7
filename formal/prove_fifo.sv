// The FIFO from reset on, any stimulus: it counts its words, accepts words exactly while it is not full, and (Data =
// 1) returns them in order. The reference is a shift register; a clear drops a word that is written in the same
// cycle.
module prove_fifo #(
  parameter int unsigned Depth = 3,
  parameter int unsigned Width = 2,
  parameter bit Data = 1'b0
) (
  input  logic                       clk_i,
  input  logic                       clr_i,
  input  logic                       wvalid_i,
  input  logic [Width-1:0]           wdata_i,
  input  logic                       rready_i,
  output logic                       wready_o,
  output logic                       rvalid_o,
  output logic [Width-1:0]           rdata_o,
  output logic [$clog2(Depth+1)-1:0] count_o,
  output logic                       ok_o
);

  fifo #(
    .Width(Width),
    .Depth(Depth)
  ) u_fifo (
    .clk_i,
    .rst_ni(1'b1),
    .clr_i,
    .wvalid_i,
    .wready_o,
    .wdata_i,
    .rvalid_o,
    .rready_i,
    .rdata_o,
    .count_o
  );

  logic [7:0]             held_q;
  logic [Width*Depth-1:0] queue_q;
  logic [Width*Depth-1:0] moved;
  logic                   take, give;
  assign take = wvalid_i && wready_o;
  assign give = rready_i && rvalid_o;
  assign moved = give ? queue_q >> Width : queue_q;

  always_ff @(posedge clk_i) begin
    if (clr_i) begin
      held_q <= 8'd0;
    end else begin
      held_q <= held_q + {7'd0, take} - {7'd0, give};
      queue_q <= moved;
      if (take) queue_q[Width*32'(held_q-{7'd0, give})+:Width] <= wdata_i;
    end
  end

  assign ok_o = held_q <= 8'(Depth) && 8'(count_o) == held_q && wready_o == (held_q < 8'(Depth)) &&
                rvalid_o == (held_q != 8'd0) && (!Data || !rvalid_o || rdata_o == queue_q[Width-1:0]);

endmodule
