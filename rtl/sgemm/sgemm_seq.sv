// Order of the passes: gives the lanes one pass after the other, when its blocks of A and B and, for the first slice of
// a tile, its part of the C buffer are there.
//
// start_i begins the walk of a task. *_loaded_i and c_free_i pulse for a block or tile that is loaded, a half of the C
// buffer that is free again (two at first; only where C is not loaded). wait_*_o: the lanes are ready for a pass that
// waits for this.
// Document: docs/sgemm/sgemm.md section 3.
`include "assert.svh"

module sgemm_seq #(
  parameter int unsigned Dim = 8,
  parameter int unsigned Vec = 8
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     start_i,
  input  logic [15:0]              m_i,
  input  logic [15:0]              n_i,
  input  logic [15:0]              k_i,
  input  logic                     c_zero_i,
  input  logic                     a_loaded_i,
  input  logic                     b_loaded_i,
  input  logic                     c_loaded_i,
  input  logic                     c_free_i,

  output logic                     pass_valid_o,
  input  logic                     pass_ready_i,
  output logic [sgemm_pkg::Bw-1:0] pass_mb_o,
  output logic [sgemm_pkg::Bw-1:0] pass_nb_o,
  output logic [sgemm_pkg::Bw-1:0] pass_kb_o,
  output logic                     pass_half_o,
  output logic                     pass_c_half_o,
  output logic                     pass_c_zero_o,
  output logic                     pass_last_o,
  output logic                     wait_a_o,
  output logic                     wait_b_o,
  output logic                     wait_c_o
);

  logic walk_valid, first, take;
  logic [15:0] i0, j0, k0;
  sgemm_walk #(
    .Dim(Dim),
    .Vec(Vec)
  ) u_walk (
    .clk_i,
    .rst_ni,
    .start_i,
    .m_i,
    .n_i,
    .k_i,
    .next_i(take),
    .valid_o(walk_valid),
    .i0_o(i0),
    .j0_o(j0),
    .k0_o(k0),
    .mb_o(pass_mb_o),
    .nb_o(pass_nb_o),
    .kb_o(pass_kb_o),
    .first_o(first),
    .last_o(pass_last_o)
  );

  // blocks of A and B, tiles of C that are loaded and not begun; halves of the C buffer that are free
  logic [1:0] a_q, b_q, c_q, free_q;
  logic c_there, new_tile;
  assign c_there = !first || (c_zero_i ? free_q != 2'd0 : c_q != 2'd0);
  assign pass_valid_o = walk_valid && a_q != 2'd0 && b_q != 2'd0 && c_there;
  assign pass_c_zero_o = first && c_zero_i;
  assign take = pass_valid_o && pass_ready_i;
  assign new_tile = take && first;
  assign wait_a_o = walk_valid && pass_ready_i && a_q == 2'd0;
  assign wait_b_o = walk_valid && pass_ready_i && b_q == 2'd0;
  assign wait_c_o = walk_valid && pass_ready_i && !c_there;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      a_q <= '0;
      b_q <= '0;
      c_q <= '0;
      free_q <= 2'd2;
      pass_half_o <= 1'b0;
      pass_c_half_o <= 1'b0;
    end else if (start_i) begin
      // all of the task before is done: the halves begin with 0 again, as those of the loaders and of the store do
      free_q <= 2'd2;
      pass_half_o <= 1'b0;
      pass_c_half_o <= 1'b0;
    end else begin
      a_q <= a_q + {1'b0, a_loaded_i} - {1'b0, take};
      b_q <= b_q + {1'b0, b_loaded_i} - {1'b0, take};
      c_q <= c_q + {1'b0, c_loaded_i} - {1'b0, new_tile && !c_zero_i};
      free_q <= free_q + {1'b0, c_free_i} - {1'b0, new_tile && c_zero_i};
      pass_half_o <= pass_half_o ^ take;
      pass_c_half_o <= pass_c_half_o ^ (take && pass_last_o);
    end
  end

  logic unused;
  assign unused = ^{i0, j0, k0};

  `ASSERT(SeqLoaded, !(a_loaded_i && a_q == 2'd2) && !(b_loaded_i && b_q == 2'd2) && !(c_loaded_i && c_q == 2'd2))

endmodule
