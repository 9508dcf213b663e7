// An accumulator of acc_struct: a RAM with one write and one read port, a read register, an adder, an output register.
// The word that is read is the one that is needed in the next cycle, so it is never the one that is written.
module acc_cell #(
  parameter int unsigned Words = 8
) (
  input  logic                     clk_i,
  input  logic                     en_i,
  input  logic [$clog2(Words)-1:0] write_i,
  input  logic [$clog2(Words)-1:0] read_i,
  input  logic                     first_i,  // the value replaces the sum in the RAM
  input  logic                     last_i,   // the sum leaves
  input  logic [             31:0] value_i,
  output logic [             31:0] sum_o
);

  logic [31:0] mem[Words];
  logic [31:0] read_q;
  logic [31:0] sum;

  assign sum = first_i ? value_i : value_i + read_q;

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      mem[write_i] <= sum;
      read_q <= mem[read_i];
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i && last_i) sum_o <= sum;
  end

endmodule
