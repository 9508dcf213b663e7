// Shared by the modules of the POOL unit: layout of a stream of 32-bit words in memories of 8 lanes.
//
// A stream is `one` lane with consecutive addresses (a channel of an FP32 row, or INT8 with one word a pixel), or
// `lanes` lanes (2..8) in parallel: word k in lane k mod lanes at address k / lanes (the words of a pixel). Both
// memories of the unit (pool_line, pool_out) have four banks by address mod 4, so the four words of a 128-bit beat
// never meet in one lane and bank.
package pool_pkg;

  localparam int unsigned Lanes = 8;       // words of 32 bit in parallel
  localparam int unsigned LineWords = 1024;  // of each lane
  localparam int unsigned JobDepth = 32;   // read jobs in flight: more than a DMA channel holds

  // Place {address, lane} of the word that follows four words after `lane`, `addr`.
  function automatic logic [12:0] pool_step_f(input logic one, input logic [3:0] lanes, input logic [2:0] lane,
                                              input logic [9:0] addr);
    logic [4:0] t;
    logic [4:0] l;
    t = {2'd0, lane} + 5'd4;
    l = {1'b0, lanes};
    if (one) begin
      pool_step_f = {addr + 10'd4, lane};
    end else if (t >= {lanes, 1'b0}) begin
      t = t - {lanes, 1'b0};
      pool_step_f = {addr + 10'd2, t[2:0]};
    end else if (t >= l) begin
      t = t - l;
      pool_step_f = {addr + 10'd1, t[2:0]};
    end else begin
      pool_step_f = {addr, t[2:0]};
    end
  endfunction

  // {address minus that of word 0, lane} of word i of the beat whose word 0 lies in `lane`.
  function automatic logic [4:0] pool_place_f(input logic one, input logic [3:0] lanes, input logic [2:0] lane,
                                              input logic [1:0] i);
    logic [3:0] t;
    t = {1'b0, lane} + {2'd0, i};
    if (one) begin
      pool_place_f = {i, lane};
    end else if (t >= lanes) begin
      t = t - lanes;
      pool_place_f = {2'd1, t[2:0]};
    end else begin
      pool_place_f = {2'd0, t[2:0]};
    end
  endfunction

  // Which word of the beat belongs to lane l at `d` addresses after word 0: {there is one, its number}.
  function automatic logic [2:0] pool_word_f(input logic one, input logic [3:0] lanes, input logic [2:0] lane,
                                             input logic [1:0] d, input logic [2:0] l);
    logic [6:0] i;
    i = {2'd0, {3'd0, d} * {1'b0, lanes}} + {4'd0, l} - {4'd0, lane};
    if (one) pool_word_f = {l == lane, d};
    else pool_word_f = {{1'b0, l} < lanes && i[6:2] == 5'd0, i[1:0]};
  endfunction

endpackage
