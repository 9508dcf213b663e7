// Five FIFOs side by side for the unit bench: the smallest depth, odd ones, powers of two. Lane i uses bit i of each flag.
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

  logic [1:0] count0;
  logic [1:0] count1;
  logic [2:0] count2;
  logic [4:0] count3;
  logic [6:0] count4;

  assign count_o = {1'b0, count4, 3'd0, count3, 5'd0, count2, 6'd0, count1, 6'd0, count0};

  fifo #(.Width(32), .Depth(2)) u_fifo0 (
    .clk_i, .rst_ni, .clr_i(clr_i[0]), .wvalid_i(wvalid_i[0]), .wready_o(wready_o[0]), .wdata_i(wdata_i[31:0]),
    .rvalid_o(rvalid_o[0]), .rready_i(rready_i[0]), .rdata_o(rdata_o[31:0]), .count_o(count0)
  );
  fifo #(.Width(32), .Depth(3)) u_fifo1 (
    .clk_i, .rst_ni, .clr_i(clr_i[1]), .wvalid_i(wvalid_i[1]), .wready_o(wready_o[1]), .wdata_i(wdata_i[63:32]),
    .rvalid_o(rvalid_o[1]), .rready_i(rready_i[1]), .rdata_o(rdata_o[63:32]), .count_o(count1)
  );
  fifo #(.Width(32), .Depth(5)) u_fifo2 (
    .clk_i, .rst_ni, .clr_i(clr_i[2]), .wvalid_i(wvalid_i[2]), .wready_o(wready_o[2]), .wdata_i(wdata_i[95:64]),
    .rvalid_o(rvalid_o[2]), .rready_i(rready_i[2]), .rdata_o(rdata_o[95:64]), .count_o(count2)
  );
  fifo #(.Width(32), .Depth(16)) u_fifo3 (
    .clk_i, .rst_ni, .clr_i(clr_i[3]), .wvalid_i(wvalid_i[3]), .wready_o(wready_o[3]), .wdata_i(wdata_i[127:96]),
    .rvalid_o(rvalid_o[3]), .rready_i(rready_i[3]), .rdata_o(rdata_o[127:96]), .count_o(count3)
  );
  fifo #(.Width(32), .Depth(64)) u_fifo4 (
    .clk_i, .rst_ni, .clr_i(clr_i[4]), .wvalid_i(wvalid_i[4]), .wready_o(wready_o[4]), .wdata_i(wdata_i[159:128]),
    .rvalid_o(rvalid_o[4]), .rready_i(rready_i[4]), .rdata_o(rdata_o[159:128]), .count_o(count4)
  );

endmodule
