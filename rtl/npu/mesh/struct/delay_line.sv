// Depth registers in a row with one enable; Depth 0: a wire.
module delay_line #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 1
) (
  input  logic             clk_i,
  input  logic             en_i,
  input  logic [Width-1:0] d_i,
  output logic [Width-1:0] q_o
);

  if (Depth == 0) begin : g_wire
    logic unused;
    assign unused = clk_i ^ en_i;
    assign q_o = d_i;
  end else begin : g_regs
    logic [Width*Depth-1:0] line_q;
    always_ff @(posedge clk_i) begin
      if (en_i) line_q[Width-1:0] <= d_i;
    end
    for (genvar i = 1; i < Depth; i++) begin : g_stage
      always_ff @(posedge clk_i) begin
        if (en_i) line_q[Width*i+:Width] <= line_q[Width*(i-1)+:Width];
      end
    end
    assign q_o = line_q[Width*(Depth-1)+:Width];
  end

endmodule
