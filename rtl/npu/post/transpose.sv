// Transposer: N channel streams to pixel words (thesis section 3.6.2, source 3-2).
//
// Function     Input vector j of a block holds N pixels of channel j (byte i: pixel i); output vector i of the block
//              holds N channels of pixel i (byte c: channel c). A block is N vectors.
// How          N x N cells of 8 bit. One block enters at the top and the cells shift down; the next one enters at the
//              left and the cells shift right, so that the block before leaves at the far side, transposed, while the
//              new one enters. Directions alternate from block to block.
// Last block   in_last_i comes with the last vector of the last block of a run. The unit then shifts N zero vectors in
//              by itself (in_ready_o is 0) to push that block out, and is ready for the next run.
// Latency      Vector i of a block is at the output one cycle after vector i of the next block was taken (or its zero
//              vector shifted in).
// Throughput   One vector a cycle in and out, no bubble between the blocks of a run; N cycles of flush after a run.
// Handshake    in_ready_o follows out_ready_i in the same cycle and does not depend on in_valid_i.
//
// Written for simulation speed as the mesh: one flat array, counted loops, in place. Cell (row r, column c) has index
// (N-1-r)*N + (N-1-c), so the cell above is i+N and the one to the left i+1: ascending loops read what registers would
// read. The same unit as a netlist of cells: struct/transpose_struct.sv; that both are equal is shown by `make unit
// UNIT=transpose_equiv` and `make prove P=transpose` (docs/proofs.md).
`include "assert.svh"

module transpose #(
  parameter int unsigned N = 8  // 4, 8, 16 or 32
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic           in_valid_i,
  output logic           in_ready_o,
  input  logic [8*N-1:0] in_data_i,
  input  logic           in_last_i,
  output logic           out_valid_o,
  input  logic           out_ready_i,
  output logic [8*N-1:0] out_data_o
);

  localparam int unsigned Cells = N * N;
  localparam int unsigned Ln = $clog2(N);

  logic [7:0]    cell_a[Cells];
  logic [Ln-1:0] cnt_q;    // vector of the block that enters
  logic          right_q;  // the block that enters shifts right
  logic          full_q;   // the cells not yet reached hold a block to be output
  logic          flush_q;  // zeros enter
  logic          step;
  logic          blk_end;
  logic [8*N-1:0] in_data;

  assign in_ready_o = !flush_q && (!full_q || !out_valid_o || out_ready_i);
  assign step = flush_q ? !out_valid_o || out_ready_i : in_valid_i && in_ready_o;
  assign blk_end = cnt_q == Ln'(N - 1);
  assign in_data = flush_q ? '0 : in_data_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cnt_q <= '0;
      right_q <= 1'b0;
      full_q <= 1'b0;
      flush_q <= 1'b0;
      out_valid_o <= 1'b0;
    end else begin
      if (step) begin
        cnt_q <= cnt_q + 1'b1;
        if (blk_end) begin
          right_q <= !right_q;
          full_q <= !flush_q;
          flush_q <= !flush_q && in_last_i;
        end
      end
      if (step && full_q) out_valid_o <= 1'b1;
      else if (out_ready_i) out_valid_o <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (step) begin
      if (right_q) begin
        if (full_q) for (int unsigned i = 0; i < N; i++) out_data_o[8*i+:8] <= cell_a[i*N];
        for (int unsigned i = 0; i < Cells - 1; i++) cell_a[i] = cell_a[i+1];
        for (int unsigned i = 0; i < N; i++) cell_a[i*N+N-1] = in_data[8*i+:8];
      end else begin
        if (full_q) for (int unsigned i = 0; i < N; i++) out_data_o[8*i+:8] <= cell_a[i];
        for (int unsigned i = 0; i < Cells - N; i++) cell_a[i] = cell_a[i+N];
        for (int unsigned i = 0; i < N; i++) cell_a[Cells-N+i] = in_data[8*i+:8];
      end
    end
  end

  `ASSERT(TransposeLastEndsBlock, !(in_valid_i && in_last_i) || flush_q || blk_end)
  `ASSERT(TransposeFlushHasBlock, !flush_q || full_q)
  `ASSERT_STABLE(InStable, in_valid_i, in_ready_o, {in_last_i, in_data_i})
  `ASSERT_STABLE(OutStable, out_valid_o, out_ready_i, out_data_o)

endmodule
