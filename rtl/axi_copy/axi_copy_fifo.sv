// FIFO, first word falls through; a word written in one cycle can be read in the next. Depth is a power of two.
//
// No overflow protection: the writer checks wready_o (or counts free words, as the read side does), the reader
// rvalid_o.
// One word in and one word out a cycle. Parameters: bits and number of words. Document: docs/axi_copy/axi_copy.md.
module axi_copy_fifo #(
  parameter int unsigned Width = 32,
  parameter int unsigned Depth = 4
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             wvalid_i,
  output logic             wready_o,
  input  logic [Width-1:0] wdata_i,
  output logic             rvalid_o,
  input  logic             rready_i,
  output logic [Width-1:0] rdata_o
);

  localparam int unsigned Pw = $clog2(Depth);

  logic [Width-1:0] mem [Depth];
  logic [Pw:0] wptr_q;
  logic [Pw:0] rptr_q;

  assign wready_o = (wptr_q ^ rptr_q) != {1'b1, {Pw{1'b0}}};
  assign rvalid_o = wptr_q != rptr_q;
  assign rdata_o  = mem[rptr_q[Pw-1:0]];

  always_ff @(posedge clk_i) begin
    if (wvalid_i) mem[wptr_q[Pw-1:0]] <= wdata_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
    end else begin
      if (wvalid_i) wptr_q <= wptr_q + 1'b1;
      if (rvalid_o && rready_i) rptr_q <= rptr_q + 1'b1;
    end
  end

endmodule
