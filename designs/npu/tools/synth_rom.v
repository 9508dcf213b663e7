// Techmap rule for Yosys: a word of a constant table, TABLE[32*index +: 32], becomes a tree of 32-bit multiplexers. The
// general rule shifts the whole table bit by bit for each bit of the index. The function is the same:
// tests/test_synth.py proves it on small tables.
(* techmap_celltype = "$shiftx" *)
module synth_rom (A, B, Y);
  parameter A_SIGNED = 0;
  parameter B_SIGNED = 0;
  parameter A_WIDTH = 1;
  parameter B_WIDTH = 1;
  parameter Y_WIDTH = 1;
  parameter _TECHMAP_CONSTMSK_A_ = 0;
  parameter _TECHMAP_CONSTMSK_B_ = 0;
  parameter _TECHMAP_CONSTVAL_B_ = 0;
  input [A_WIDTH-1:0] A;
  input [B_WIDTH-1:0] B;
  output [Y_WIDTH-1:0] Y;

  localparam [A_WIDTH-1:0] AllOnes = {A_WIDTH{1'b1}};
  // of the index; beyond the table the result is undefined, so higher bits do not count
  localparam Bits = $clog2(A_WIDTH / 32);
  localparam Table = A_WIDTH >= 512 && Y_WIDTH == 32 && A_WIDTH % 32 == 0 && B_WIDTH >= 5 + Bits &&
                     _TECHMAP_CONSTMSK_A_ == AllOnes &&
                     (_TECHMAP_CONSTMSK_B_ & 31) == 31 && (_TECHMAP_CONSTVAL_B_ & 31) == 0;
  wire _TECHMAP_FAIL_ = !Table;

  generate
    if (Table) begin
      localparam Words = 1 << Bits;
      // node 1 is the root; node Words + i is entry i
      wire [64*Words-1:0] node;
      genvar i;
      for (i = 0; i < Words; i = i + 1) begin : leaf
        if (32 * i + 32 <= A_WIDTH) assign node[32*(Words+i)+:32] = A[32*i+:32];
        else assign node[32*(Words+i)+:32] = 32'bx;
      end
      for (i = 1; i < Words; i = i + 1) begin : inner
        // depth of node i: its bit of the index
        assign node[32*i+:32] = B[5 + Bits - $clog2(i + 1)] ? node[32*(2*i+1)+:32] : node[32*(2*i)+:32];
      end
      assign Y = node[63:32];
    end
  endgenerate
endmodule
