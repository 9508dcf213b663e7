// Task descriptor (sac_tasks.svh) and geometry of the shift-add engine.
package sac_pkg;

`include "sac_tasks.svh"

  localparam int unsigned FwVec = 3;  // FW_VECTOR, weights of a kernel row in a filter word
  localparam int unsigned FilterWords = 1024;  // of one filter in a processing element; it has two halves of them
  localparam int unsigned XBits = 16;  // of an activation shifted by d (8 + 7, sign-extended)

  localparam int unsigned FullMax = 1;

  // STATUS.CODE
  localparam logic [2:0] CodeOk = 3'd0;
  localparam logic [2:0] CodeConfig = 3'd1;
  localparam logic [2:0] CodeAborted = 3'd2;
  localparam logic [2:0] CodeReadF = 3'd3;
  localparam logic [2:0] CodeReadW = 3'd4;
  localparam logic [2:0] CodeWrite = 3'd5;

  // What sac_setup derives from a task. Pages count within a channel group unless another meaning is given.
  typedef struct packed {
    logic        k1;          // kernel width 1: a filter word serves three channel groups
    logic [8:0]  in_pages;    // of an input row
    logic [18:0] in_group;    // of an input map
    logic [30:0] in_all;      // of the whole input
    logic [11:0] groups;      // channel groups of the input
    logic [2:0]  taps;        // tap groups of a kernel row
    logic [8:0]  out_pages;   // of an output row
    logic [18:0] out_group;   // of an output map
    logic [11:0] batches;     // of filters
    logic [10:0] words;       // of a filter
    logic [9:0]  map_w;       // map that the writer gets: after pooling if there is any
    logic [9:0]  map_h;
    logic [14:0] pixels;      // of this map, for the average
    logic [11:0] pool_ux;     // offset of the last pooling window from the first one, columns
    logic [11:0] pool_uy;     // rows
    logic [11:0] ow1;         // columns of the convolution at stride 1, up to the last one that is kept
  } geom_t;

  // contract: shr(). v is divided by 2^k (k > 0), rounded half away from zero, or multiplied by 2^-k; clamped to INT8.
  // k below -8 counts as -8, from where every value but 0 is clamped.
  function automatic logic [7:0] shr(input logic [31:0] v, input logic [5:0] k);
    logic [39:0] m;
    logic [39:0] q;
    logic [5:0] left;
    m = {8'd0, v[31] ? -v : v};
    left = -k;
    if (left > 6'd8) left = 6'd8;
    if (k == 6'd0 || k[5]) q = m << left;
    else q = (m + (40'd1 << (k - 6'd1))) >> k;
    if (v[31]) shr = q > 40'd128 ? 8'h80 : -q[7:0];
    else shr = q > 40'd127 ? 8'h7F : q[7:0];
  endfunction

endpackage
