// Two registers in a row, each with a valid/ready handshake: the design of the tests of hangs and taps in a project.
// Latency two cycles, one transfer a cycle.
module stages (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       in_valid_i,
  output logic       in_ready_o,
  input  logic [7:0] in_data_i,
  output logic       out_valid_o,
  input  logic       out_ready_i,
  output logic [7:0] out_data_o
);
  logic valid, ready;
  logic [7:0] data;

  stage u_first (
    .clk_i,
    .rst_ni,
    .valid_i(in_valid_i),
    .ready_o(in_ready_o),
    .data_i (in_data_i),
    .valid_o(valid),
    .ready_i(ready),
    .data_o (data)
  );
  stage u_second (
    .clk_i,
    .rst_ni,
    .valid_i(valid),
    .ready_o(ready),
    .data_i (data),
    .valid_o(out_valid_o),
    .ready_i(out_ready_i),
    .data_o (out_data_o)
  );
endmodule

// One register: takes a word when it is empty or its own is taken.
module stage (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       valid_i,
  output logic       ready_o,
  input  logic [7:0] data_i,
  output logic       valid_o,
  input  logic       ready_i,
  output logic [7:0] data_o
);
  logic full_q;
  logic [7:0] data_q;

  assign ready_o = !full_q || ready_i;
  assign valid_o = full_q;
  assign data_o  = data_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      full_q <= 1'b0;
      data_q <= '0;
    end else if (ready_o) begin
      full_q <= valid_i;
      data_q <= data_i;
    end
  end
endmodule
