// Corners of every FIFO: full and empty, and what happens at these ends.
// hit: any test; with bus=hostile
module fifo_cover (
    input logic clk_i,
    input logic rst_ni,
    input logic wvalid_i,
    input logic wready_o,
    input logic rvalid_o,
    input logic rready_i
);

  // bug: the pointers of a full FIFO are those of an empty one
  full: cover property (@(posedge clk_i) disable iff (!rst_ni) !wready_o);
  // bug: a word that comes when the FIFO is full is lost
  full_write: cover property (@(posedge clk_i) disable iff (!rst_ni) !wready_o && wvalid_i);
  // bug: a full FIFO that gives a word takes none, or one too many, in the cycle after
  full_read: cover property (@(posedge clk_i) disable iff (!rst_ni) !wready_o && rready_i);
  // bug: a FIFO that has run empty gives an old word
  empty_read: cover property (@(posedge clk_i) disable iff (!rst_ni) !rvalid_o && rready_i);
  // bug: the count is wrong when a word comes and one leaves
  through: cover property (@(posedge clk_i) disable iff (!rst_ni) wvalid_i && wready_o && rvalid_o && rready_i);

endmodule

bind fifo fifo_cover u_fifo_cover (.*);
