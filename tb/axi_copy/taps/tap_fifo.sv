// Tap of axi_copy_fifo (copy_check.c).
module tap_fifo #(
  parameter int unsigned Width = 32
) (
  input logic             rst_ni,
  input logic [15:0]      depth,
  input logic             wvalid_i,
  input logic             wready_o,
  input logic [Width-1:0] wdata_i,
  input logic             rvalid_o,
  input logic             rready_i,
  input logic [Width-1:0] rdata_o
);
endmodule

bind axi_copy_fifo tap_fifo #(.Width(Width)) u_tap_fifo (.depth(16'(Depth)), .*);
