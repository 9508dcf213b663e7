// Accumulators behind the mesh: 2N small RAMs of N int32, one for each column and stream.
//
// Function     Adds the mesh results of all blocks of a tile. first_i marks the results of a tile's first block (they
//              replace the RAM's contents), last_i those of its last block (the sums leave). Addition wraps.
// Skew         Column c of ps0_i/ps1_i is c cycles late; first_i and last_i belong to column 0 and are delayed here.
//              All columns use one running address: result j of column c always falls on slot (j + c + const) mod N,
//              because the blocks of a tile follow each other without a gap.
// Read ahead   The read pointer is one slot ahead of the write pointer (thesis section 3.2.1).
// INT16        (EnInt16) wide_i: the result {ps1_i, ps0_i} of a column is one of 64 bits, and a block has 2N of them:
//              the memories have 2N slots, of which INT8 uses the lower half. wide_i is delayed as first_i; within a
//              tile it does not change, so it also says where the next result of the column is read.
// Latency      Sums leave one enabled cycle after ps0_i/ps1_i: valid_o[c] with sum0_o/sum1_o[32c+:32], which is of no
//              meaning in other cycles.
// Throughput   2N sums a cycle.
// Enable       Nothing moves while en_i is 0.
//
// Written for simulation speed: the RAMs of all columns are one array, written and read by blocking assignments in
// loops over the columns. The word that is read is never the one that is written, so the order does not matter. The
// same unit as a netlist of cells: struct/acc_struct.sv; that both are equal is shown by `make unit UNIT=acc_equiv` and
// `make prove P=acc` (docs/proofs.md).
module acc #(
  parameter int unsigned N = 8,
  parameter int unsigned EnInt16 = 0
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            en_i,
  input  logic            first_i,
  input  logic            last_i,
  input  logic            wide_i,
  input  logic [32*N-1:0] ps0_i,
  input  logic [32*N-1:0] ps1_i,
  output logic [   N-1:0] valid_o,
  output logic [32*N-1:0] sum0_o,
  output logic [32*N-1:0] sum1_o
);

  localparam int unsigned Aw = $clog2(N);
  localparam int unsigned Sw = EnInt16 != 0 ? Aw + 1 : Aw;  // slots

  // {slot, column}. A memory of N words of N sums for synthesis: the column is constant in each write and read.
  (* nomem2reg *) logic [31:0] m0[N<<Sw];
  (* nomem2reg *) logic [31:0] m1[N<<Sw];
  logic [31:0] ps0[N];  // of the columns; selections that are constant cost a simulator less than those in a loop
  logic [31:0] ps1[N];
  logic [31:0] q0[N];  // read ahead
  logic [31:0] q1[N];
  logic [31:0] t0[N];
  logic [31:0] t1[N];
  logic [31:0] keep[N];  // all ones where the RAM's contents are added
  logic [Sw-1:0] slot_q;
  logic [Sw-1:0] slot_next;
  logic [ N-2:0] first_q;  // flags in flight to column 1 ..
  logic [ N-2:0] last_q;
  logic [ N-1:0] first;
  logic [ N-1:0] last;
  logic [ N-2:0] wide_q;
  logic [ N-1:0] wide;
  logic [Sw-1:0] at[N];  // EnInt16: slots of the columns
  logic [Sw-1:0] at_next[N];
  logic [ N-1:0] carry;

  assign first = {first_q, first_i};
  assign last = {last_q, last_i};
  assign wide = EnInt16 != 0 ? {wide_q, wide_i} : '0;
  assign slot_next = slot_q + 1'b1;
  for (genvar c = 0; c < N; c++) begin : g_col
    assign ps0[c] = ps0_i[32*c+:32];
    assign ps1[c] = ps1_i[32*c+:32];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      slot_q <= '0;
      first_q <= '0;
      last_q <= '0;
      wide_q <= '0;
      valid_o <= '0;
    end else if (en_i) begin
      slot_q <= slot_next;
      first_q <= first[N-2:0];
      last_q <= last[N-2:0];
      wide_q <= wide[N-2:0];
      valid_o <= last;
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      for (int unsigned c = 0; c < N; c++) keep[c] = {32{~first[c]}};
      if (EnInt16 != 0) begin
        for (int unsigned c = 0; c < N; c++) at[c] = Sw'({slot_q[Sw-1] & wide[c], slot_q[Aw-1:0]});
        for (int unsigned c = 0; c < N; c++)
          at_next[c] = Sw'({slot_next[Sw-1] & wide[c], slot_next[Aw-1:0]});
        for (int unsigned c = 0; c < N; c++) {carry[c], t0[c]} = {1'b0, ps0[c]} + {1'b0, q0[c] & keep[c]};
        for (int unsigned c = 0; c < N; c++) t1[c] = ps1[c] + (q1[c] & keep[c]) + {31'd0, carry[c] & wide[c]};
        for (int unsigned c = 0; c < N; c++) m0[{at[c], c[Aw-1:0]}] = t0[c];
        for (int unsigned c = 0; c < N; c++) m1[{at[c], c[Aw-1:0]}] = t1[c];
        for (int unsigned c = 0; c < N; c++) q0[c] = m0[{at_next[c], c[Aw-1:0]}];
        for (int unsigned c = 0; c < N; c++) q1[c] = m1[{at_next[c], c[Aw-1:0]}];
      end else begin
        for (int unsigned c = 0; c < N; c++) t0[c] = ps0[c] + (q0[c] & keep[c]);
        for (int unsigned c = 0; c < N; c++) t1[c] = ps1[c] + (q1[c] & keep[c]);
        for (int unsigned c = 0; c < N; c++) m0[{slot_q, c[Aw-1:0]}] = t0[c];
        for (int unsigned c = 0; c < N; c++) m1[{slot_q, c[Aw-1:0]}] = t1[c];
        for (int unsigned c = 0; c < N; c++) q0[c] = m0[{slot_next, c[Aw-1:0]}];
        for (int unsigned c = 0; c < N; c++) q1[c] = m1[{slot_next, c[Aw-1:0]}];
      end
      if (last != '0) begin
        for (int unsigned c = 0; c < N / 2; c++) begin  // two columns at a time: half the steps
          sum0_o[64*c+:64] <= {t0[2*c+1], t0[2*c]};
          sum1_o[64*c+:64] <= {t1[2*c+1], t1[2*c]};
        end
      end
    end
  end

endmodule
