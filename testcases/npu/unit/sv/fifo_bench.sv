// Five independent FIFOs for the unit bench: the smallest depth, odd ones, powers of two. Lane i uses bit i of each
// flag.
module fifo_bench (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [  4:0] clr_i,
  input  logic [  4:0] wvalid_i,
  output logic [  4:0] wready_o,
  input  logic [159:0] wdata_i,
  output logic [  4:0] rvalid_o,
  input  logic [  4:0] rready_i,
  output logic [159:0] rdata_o,
  output logic [ 39:0] count_o
);

  for (genvar i = 0; i < 5; i++) begin : g_lane
    localparam int unsigned Depth = i == 0 ? 2 : i == 1 ? 3 : i == 2 ? 5 : i == 3 ? 16 : 64;
    logic [$clog2(Depth+1)-1:0] count;
    assign count_o[8*i+:8] = 8'(count);
    fifo #(
      .Width(32),
      .Depth(Depth)
    ) u_fifo (
      .clk_i,
      .rst_ni,
      .clr_i(clr_i[i]),
      .wvalid_i(wvalid_i[i]),
      .wready_o(wready_o[i]),
      .wdata_i(wdata_i[32*i+:32]),
      .rvalid_o(rvalid_o[i]),
      .rready_i(rready_i[i]),
      .rdata_o(rdata_o[32*i+:32]),
      .count_o(count)
    );
  end

endmodule
