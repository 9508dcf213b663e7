// Clock gate: clk_o runs while en_i was 1 in the low phase before the rising edge. The usual latch and AND; a library
// cell takes its place in silicon, and with Gate = 0 (FPGA) the clock passes ungated.
//
// An idle unit behind it gets no clock edges, which saves power, and simulation time.
// Document: docs/npu/npu.md section 4.5.
module clk_gate #(
  parameter bit Gate = 1'b1
) (
  input  logic clk_i,
  input  logic en_i,
  output logic clk_o
);

  logic en_q;
  if (Gate) begin : g_gate
    always_latch begin
      if (!clk_i) en_q = en_i;
    end
  end else begin : g_pass
    logic unused;
    assign unused = en_i;
    assign en_q = 1'b1;
  end
  assign clk_o = clk_i & en_q;

endmodule
