// Walk over the blocks of a GEMM: rows of blocks outer, columns of blocks, slices of k inner (document 003, algorithm
// 2).
//
// start_i begins a walk over m_i x n_i x k_i elements (each at least 1, stable during the walk); from the next cycle on
// valid_o is 1 and the outputs describe the first block: where it begins, its size (Dim x Dim x Vec, shorter at the
// ends), whether its slice is the first and the last one of its tile. next_i goes on to the next block; after the last
// one valid_o is 0.
module sgemm_walk #(
  parameter int unsigned Dim = 8,
  parameter int unsigned Vec = 8
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     start_i,
  input  logic [15:0]              m_i,
  input  logic [15:0]              n_i,
  input  logic [15:0]              k_i,
  input  logic                     next_i,
  output logic                     valid_o,
  output logic [15:0]              i0_o,
  output logic [15:0]              j0_o,
  output logic [15:0]              k0_o,
  output logic [sgemm_pkg::Bw-1:0] mb_o,
  output logic [sgemm_pkg::Bw-1:0] nb_o,
  output logic [sgemm_pkg::Bw-1:0] kb_o,
  output logic                     first_o,
  output logic                     last_o
);

  localparam int unsigned Bw = sgemm_pkg::Bw;

  logic [15:0] m_left, n_left, k_left;
  logic last_i, last_j;
  assign m_left = m_i - i0_o;
  assign n_left = n_i - j0_o;
  assign k_left = k_i - k0_o;
  assign last_i = m_left <= 16'(Dim);
  assign last_j = n_left <= 16'(Dim);
  assign last_o = k_left <= 16'(Vec);
  assign first_o = k0_o == '0;
  assign mb_o = last_i ? m_left[Bw-1:0] : Bw'(Dim);
  assign nb_o = last_j ? n_left[Bw-1:0] : Bw'(Dim);
  assign kb_o = last_o ? k_left[Bw-1:0] : Bw'(Vec);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_o <= 1'b0;
      i0_o <= '0;
      j0_o <= '0;
      k0_o <= '0;
    end else if (start_i) begin
      valid_o <= 1'b1;
      i0_o <= '0;
      j0_o <= '0;
      k0_o <= '0;
    end else if (next_i) begin
      k0_o <= last_o ? '0 : k0_o + 16'(Vec);
      if (last_o) begin
        j0_o <= last_j ? '0 : j0_o + 16'(Dim);
        if (last_j) begin
          i0_o <= i0_o + 16'(Dim);
          valid_o <= !last_i;
        end
      end
    end
  end

endmodule
