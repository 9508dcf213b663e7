// Shared constants, task descriptors (npu_tasks.svh) and geometry of the NPU.
package npu_pkg;

  localparam int unsigned AxiDataW = 128;  // bits of one AXI data beat
  localparam int unsigned AxiStrbW = 16;
  localparam int unsigned AxiAddrW = 32;
  localparam int unsigned AxiOutstanding = 16;  // bursts in flight for each direction of each channel

  localparam int unsigned IfmDepth = 16384;  // words of N bytes
  localparam int unsigned IfmAw = 14;
  localparam int unsigned WgtDepth = 4608;  // words of N bytes in each bank
  localparam int unsigned WgtAw = 13;
  localparam int unsigned ParDepth = 256;  // words of four FP32 factors (oscale) and four biases
  localparam int unsigned ParAw = 8;
  localparam int unsigned OfmDepth = 256;  // words of four int32 in each of the 2N banks
  localparam int unsigned OfmAw = 8;

  localparam int unsigned LayoutPixels = 64;  // pixels of one layout job

  // requesters of one read channel, highest priority first
  localparam int unsigned RdIdPar = 0;
  localparam int unsigned RdIdPsum = 1;
  localparam int unsigned RdIdWgt = 2;
  localparam int unsigned RdIdIfm = 3;
  localparam int unsigned RdIdAlu = 4;
  localparam int unsigned RdIdPool = 5;
  localparam int unsigned RdReqs = 6;
  localparam int unsigned RdIdW = 3;
  localparam int unsigned GemmRdReqs = 4;  // those of the GEMM path

  // requesters of one write channel and clients of send_buf, highest priority first
  localparam int unsigned WrIdGemm = 0;
  localparam int unsigned WrIdPool = 1;
  localparam int unsigned WrIdAlu = 2;
  localparam int unsigned WrReqs = 3;

  // send_buf: words of 128 bit of each client, 1024 together
  localparam int unsigned SendGemm = 512;
  localparam int unsigned SendPool = 256;
  localparam int unsigned SendAlu = 256;

  localparam int unsigned PerfEvents = 36;  // docs/npu/npu.md section 5
  localparam int unsigned PerfLevels = 12;

`include "npu_tasks.svh"

  // The operation makes one result of a row.
  function automatic logic alu_reduces_f(input logic [4:0] op);
    alu_reduces_f = op == AluDot || op == AluSum || op == AluRmax || op == AluSumsq;
  endfunction

  localparam int unsigned AluChunk = 64;     // words of 128 bit of an ALU chunk
  localparam int unsigned PoolMaxIw = 512;   // input columns of a POOL task
  localparam int unsigned PoolMaxOw = 64;    // output columns of a POOL task

  localparam int unsigned CoordW = 27;  // im2col: signed coordinates, 65535 * 255 + 255 * 255 fits

  // Constants of a task, from im2col_prep to the other parts of im2col. Words are those of ifm_buf, word counts and
  // addresses of IfmAw bits modulo its ring. x and y are signed positions in the map, in pixels; (0, 0) is its first
  // pixel, so the first window begins at (-pad_l, -pad_t).
  typedef struct packed {
    logic [15:0]       icb;        // blocks of N input, output channels
    logic [15:0]       ocb;
    logic [16:0]       npix;       // output pixels
    logic [IfmAw:0]    words;      // of the whole input
    logic [IfmAw:0]    row_words;  // of an input row
    logic [WgtAw-1:0]  wblk;       // words of weights of a block of output channels
    // the window: its first position, steps of a tap
    logic [CoordW-1:0] x_first;
    logic [CoordW-1:0] y_first;
    logic [IfmAw-1:0]  adr_first;
    logic [IfmAw-1:0]  dw;         // words from one tap to the next in a row
    logic [IfmAw-1:0]  dhrow;      // words from one tap row to the next
    logic [CoordW-1:0] y_span;     // (kh - 1) * dh + 1
    logic [CoordW-1:0] y_end;      // rows from here on are needed by no output
    // steps of an output pixel
    logic [IfmAw-1:0]  sw;         // words from one output pixel to the next in a row
    logic [IfmAw-1:0]  wrap;       // words from the last pixel of an output row to the first of the next
    // steps of a tile: 2N pixels are whole output rows and tile_rem pixels; what is added when these wrap
    logic [6:0]        tile_rem;
    logic [CoordW-1:0] t_x;
    logic [CoordW-1:0] t_y;
    logic [IfmAw-1:0]  t_a;
    logic [CoordW-1:0] x_wrap;     // ow * sw
    logic [IfmAw-1:0]  a_wrap;     // a row step minus the words over a whole output row
  } im2col_consts_t;

endpackage
