// The two descriptions of the transposer on the same inputs: `transpose` (fast to simulate) and `transpose_struct`
// (cells).
module transpose_equiv_bench #(
  parameter int unsigned N = 8
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic           in_valid_i,
  input  logic [8*N-1:0] in_data_i,
  input  logic           in_last_i,
  input  logic           out_ready_i,
  output logic [1:0]     in_ready_o,   // 0: transpose, 1: transpose_struct
  output logic [1:0]     out_valid_o,
  output logic [8*N-1:0] fast_o,
  output logic [8*N-1:0] struct_o
);

  transpose #(
    .N(N)
  ) u_fast (
    .*,
    .in_ready_o(in_ready_o[0]),
    .out_valid_o(out_valid_o[0]),
    .out_data_o(fast_o)
  );

  transpose_struct #(
    .N(N)
  ) u_struct (
    .*,
    .in_ready_o(in_ready_o[1]),
    .out_valid_o(out_valid_o[1]),
    .out_data_o(struct_o)
  );

endmodule
