// Task descriptor and geometry of the blocked GEMM engine (docs/sgemm/sgemm.md).
package sgemm_pkg;

  // C = alpha*op(A)*op(B) + beta*C; sizes in elements, addresses in bytes
  typedef struct packed {
    logic [31:0] a_addr;
    logic [31:0] b_addr;
    logic [31:0] c_addr;
    logic [23:0] lda;     // elements from one stored row to the next
    logic [23:0] ldb;
    logic [23:0] ldc;
    logic [15:0] m;
    logic [15:0] n;
    logic [15:0] k;
    logic [31:0] alpha;
    logic [31:0] beta;
    logic        ta;      // A is stored transposed: K x M
    logic        tb;      // B is stored transposed: N x K
    logic        a16;     // elements of A are binary16
    logic        b16;
    logic        c16;
    logic        half;    // operands are rounded to binary16
    logic        no_ab;   // alpha is zero or K = 0: A and B are not read
    logic        c_zero;  // beta is zero: C is not read
  } sgemm_task_t;

  localparam int unsigned Bw = 7;  // bits of a size within a block, at most 96
  localparam int unsigned JobW = Bw + 2;  // bits of the bytes of a row of a block, a DMA job
  localparam int unsigned Ww = 5;  // bits of a number of a word of four elements within a block

  // An index of C, A or B: i of M, j of N, k of K.
  localparam logic [1:0] IndexI = 2'd0;
  localparam logic [1:0] IndexJ = 2'd1;
  localparam logic [1:0] IndexK = 2'd2;

  // What travels down the lanes with an element (sgemm_mac): lowest bit of each field of 32 bits.
  localparam int unsigned LaneValid = 0;
  localparam int unsigned LaneHalf = 1;      // half of the block buffers
  localparam int unsigned LaneISel = 2;      // row of A, of the first chain, in its word of four
  localparam int unsigned LaneIWord = 4;     // that word
  localparam int unsigned LaneJSel = 9;      // column of B in its word of four
  localparam int unsigned LaneJWord = 11;    // that word
  localparam int unsigned LaneKb = 16;       // lanes that have an operand
  localparam int unsigned LanePassEnd = 23;  // last element of the pass
  localparam int unsigned LaneTileEnd = 24;  // of the tile
  localparam int unsigned LaneCHalf = 25;    // half of the C buffer
  localparam int unsigned LaneCZero = 26;    // the sum begins at +0
  localparam int unsigned LaneRows = 27;     // chains that have a row, one bit each

  // requesters of the read side of channel 0, highest priority first
  localparam int unsigned RdIdA = 0;
  localparam int unsigned RdIdC = 1;

  localparam int unsigned PerfEvents = 19;  // docs/sgemm/sgemm.md, counters
  localparam int unsigned PerfLevels = 3;

  // Address of a word of C in its bank: bank row mod R, R = 2^sh; words: Dim/4.
  function automatic logic [11:0] c_word(input logic [Bw-1:0] row, input logic [Ww-1:0] word, input logic [1:0] sh,
                                         input logic [11:0] words);
    c_word = ({5'd0, row} >> sh) * words + {7'd0, word};
  endfunction

endpackage
