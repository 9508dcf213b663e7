// Weight-stationary systolic array of N x N processing elements, two INT8 MACs each.
//
// Function     A block is an N x N weight matrix (N words, row N-1 first) followed, N cycles later, by N cycles of two
//              activation vectors. out[s][j][c] = sum over r of act[s][j][r] * wgt[r][c] (thesis section 3.2.1,
//              equations 3-1 and 3-2).
// Weights      wgt_i travels down; each PE holds two weight registers. wgt_p_i selects the one that loads (1: register
//              1) and is pipelined downward one row a cycle; a weight moves one row in two cycles, so that after N
//              cycles row r holds the word that entered as number N-1-r. wgt_p_i must change when a block's last word
//              has entered: the other register keeps its weights and multiplies.
// Activations  act0_i and act1_i travel right, sel_i with them (1: register 1 multiplies). Inputs are aligned; the unit
//              skews row r by r cycles and column c by c cycles itself.
// Latency      An activation vector at the input in enabled cycle t leaves column c in ps0_o/ps1_o in enabled cycle
//              t + 1 + N + c (columns stay skewed; acc takes them so).
// Throughput   One weight word and two activation vectors a cycle; the next block preloads while this one computes.
// Enable       Nothing moves while en_i is 0.
//
// Written for simulation speed: all state in flat arrays, counted loops, in place. PE (r, c) has index
// (N-1-r)*N + (N-1-c), so its left neighbour is i+1 and its upper neighbour i+N: in ascending order every loop reads
// only values that it has not yet updated, which is what registers would read. The same array as a netlist of
// processing elements: struct/mesh_struct.sv; that both are equal is shown by `make unit UNIT=mesh_equiv` and `make
// prove P=mesh` (docs/proofs.md).
// Synthesis: signed operands of 8 bits, so that a MAC is one DSP slice; written as sign-extended vectors it would take
// three. PackMul = 1: both products of a PE come from one multiplier (mesh_pkg::pe_pack_f), with equal results in the
// same cycles: half of the DSP slices, which then have no room for the sums.
// EnInt16 = 1: that multiplier takes weights of 16 bits, and a block may be INT16: an element
// then has one activation of 16 bits, act1_i the high byte, and one sum of 40 bits, {ps1_o, ps0_o} with its sign
// extended. Such a block enters as 2N words, for each row the high bytes and then the low ones; the registers of a row
// are then one byte deeper, and after 2N cycles row r holds the words 2(N-1-r) and 2(N-1-r) + 1. wgt_wide_i goes with
// wgt_p_i and act_wide_i with sel_i.
module mesh #(
  parameter int unsigned N = 8,  // 4, 8, 16 or 32; in proofs 1 and 2, too
  parameter int unsigned PackMul = 0,  // 1: one multiplier a PE
  parameter int unsigned EnInt16 = 0  // 1: the same, for INT16 as well
) (
  input  logic            clk_i,
  input  logic            en_i,
  input  logic            wgt_p_i,
  input  logic            wgt_wide_i,
  input  logic [ 8*N-1:0] wgt_i,
  input  logic            sel_i,
  input  logic            act_wide_i,
  input  logic [ 8*N-1:0] act0_i,
  input  logic [ 8*N-1:0] act1_i,
  output logic [32*N-1:0] ps0_o,
  output logic [32*N-1:0] ps1_o
);

  localparam int unsigned Pes = N * N;
  // Sizes are powers of two, so that no index needs a comparison; arrays of which a part is unused lie badly in the
  // first-level cache of a simulator.
  localparam int unsigned Fed = 2 * N * N;  // of arrays whose slots from Pes on feed row 0

  // PE state
  logic [ 7:0] a0[Pes];  // activations at the PE
  logic [ 7:0] a1[Pes];
  logic [ 7:0] sm[Pes];  // sel as a byte mask
  logic [ 7:0] w1[Pes];  // weight registers
  logic [ 7:0] w2[Pes];
  logic [ 7:0] wi[Pes];  // weight at the PE's upper input
  logic [ 7:0] pm[Fed];  // p as a byte mask
  logic [31:0] s0[Fed];  // partial sums leaving the PE
  logic [31:0] s1[Fed];
  // skew registers: row r (column c) occupies N entries and is entered at entry r (c)
  logic [ 7:0] k0[Pes];
  logic [ 7:0] k1[Pes];
  logic [ 7:0] kw[Pes];
  logic [ 7:0] ks[Pes];
  logic [ 7:0] kp[Pes];
  // values between two loops of one cycle: weights that multiply, then those that leave the PEs
  logic [ 7:0] wv[Fed];
  // EnInt16: high bytes of the weight registers; wgt_wide and act_wide as byte masks, and their skew registers
  logic [ 7:0] h1[Pes];
  logic [ 7:0] h2[Pes];
  logic [ 7:0] lm[Fed];
  logic [ 7:0] xm[Pes];
  logic [ 7:0] kl[Pes];
  logic [ 7:0] kx[Pes];
  logic [ 7:0] hv[Pes];
  logic [ 7:0] hn[Pes];

  // bytes of the inputs, by constant selection: in a loop a simulator computes their places
  logic [ 7:0] in0[N];
  logic [ 7:0] in1[N];
  logic [ 7:0] inw[N];
  for (genvar c = 0; c < N; c++) begin : g_port
    assign in0[c] = act0_i[8*c+:8];
    assign in1[c] = act1_i[8*c+:8];
    assign inw[c] = wgt_i[8*c+:8];
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      // The loops have no conditions of their own: coverage counters in them would cost more than the arithmetic.
      /*verilator coverage_off*/
      // multiply and add
      for (int unsigned i = 0; i < Pes; i++) wv[i] = (w1[i] & sm[i]) | (w2[i] & ~sm[i]);
      if (EnInt16 != 0) begin
        for (int unsigned i = 0; i < Pes; i++) hv[i] = (h1[i] & sm[i]) | (h2[i] & ~sm[i]);
        for (int unsigned i = 0; i < Pes; i++)
          {s1[i], s0[i]} = mesh_pkg::pe_pack_f(xm[i][0], a1[i], a0[i], {hv[i], wv[i]}, s1[i+N], s0[i+N]);
      end else if (PackMul != 0) begin
        for (int unsigned i = 0; i < Pes; i++)
          {s1[i], s0[i]} = mesh_pkg::pe_pack_f(1'b0, a1[i], a0[i], {{8{wv[i][7]}}, wv[i]}, s1[i+N], s0[i+N]);
      end else begin
        for (int unsigned i = 0; i < Pes; i++) begin  // one loop: the weight's sign is extended once for both streams
          s0[i] = $signed(a0[i]) * $signed(wv[i]) + $signed(s0[i+N]);
          s1[i] = $signed(a1[i]) * $signed(wv[i]) + $signed(s1[i+N]);
        end
      end
      for (int unsigned c = 0; c < N; c++) s0[Pes+c] = 32'd0;
      for (int unsigned c = 0; c < N; c++) s1[Pes+c] = 32'd0;

      // weights: the loading register passes its old value down
      for (int unsigned i = 0; i < Pes; i++) wv[i] = (w1[i] & pm[i]) | (w2[i] & ~pm[i]);
      if (EnInt16 != 0) begin  // INT16: in through the low byte, out of the high one; else the sign is extended
        for (int unsigned i = 0; i < Pes; i++) hv[i] = (h1[i] & pm[i]) | (h2[i] & ~pm[i]);
        for (int unsigned i = 0; i < Pes; i++) hn[i] = (wv[i] & lm[i]) | ({8{wi[i][7]}} & ~lm[i]);
        for (int unsigned i = 0; i < Pes; i++) h1[i] = (hn[i] & pm[i]) | (h1[i] & ~pm[i]);
        for (int unsigned i = 0; i < Pes; i++) h2[i] = (hn[i] & ~pm[i]) | (h2[i] & pm[i]);
        for (int unsigned i = 0; i < Pes; i++) wv[i] = (hv[i] & lm[i]) | (wv[i] & ~lm[i]);
      end
      for (int unsigned i = 0; i < Pes; i++) w1[i] = (wi[i] & pm[i]) | (w1[i] & ~pm[i]);
      for (int unsigned i = 0; i < Pes; i++) w2[i] = (wi[i] & ~pm[i]) | (w2[i] & pm[i]);
      for (int unsigned i = 0; i < Pes - 1; i++) kw[i] = kw[i+1];
      for (int unsigned c = 0; c < N; c++) kw[c*N+c] = inw[c];
      for (int unsigned c = 0; c < N; c++) wv[Pes+N-1-c] = kw[c*N];
      for (int unsigned i = 0; i < Pes; i++) wi[i] = wv[i+N];
      for (int unsigned c = N - 1; c > 0; c--) kp[c] = kp[c-1];
      kp[0] = {8{wgt_p_i}};
      for (int unsigned c = 0; c < N; c++) pm[Pes+N-1-c] = kp[c];
      for (int unsigned i = 0; i < Pes; i++) pm[i] = pm[i+N];
      if (EnInt16 != 0) begin
        for (int unsigned c = N - 1; c > 0; c--) kl[c] = kl[c-1];
        kl[0] = {8{wgt_wide_i}};
        for (int unsigned c = 0; c < N; c++) lm[Pes+N-1-c] = kl[c];
        for (int unsigned i = 0; i < Pes; i++) lm[i] = lm[i+N];
        for (int unsigned r = N - 1; r > 0; r--) kx[r] = kx[r-1];
        kx[0] = {8{act_wide_i}};
        for (int unsigned i = 0; i < Pes - 1; i++) xm[i] = xm[i+1];
        for (int unsigned r = 0; r < N; r++) xm[(N-1-r)*N+N-1] = kx[r];
      end

      // activations and sel
      for (int unsigned i = 0; i < Pes - 1; i++) k0[i] = k0[i+1];
      for (int unsigned i = 0; i < Pes - 1; i++) k1[i] = k1[i+1];
      for (int unsigned r = 0; r < N; r++) k0[r*N+r] = in0[r];
      for (int unsigned r = 0; r < N; r++) k1[r*N+r] = in1[r];
      for (int unsigned r = N - 1; r > 0; r--) ks[r] = ks[r-1];
      ks[0] = {8{sel_i}};
      for (int unsigned i = 0; i < Pes - 1; i++) a0[i] = a0[i+1];
      for (int unsigned i = 0; i < Pes - 1; i++) a1[i] = a1[i+1];
      for (int unsigned i = 0; i < Pes - 1; i++) sm[i] = sm[i+1];
      for (int unsigned r = 0; r < N; r++) a0[(N-1-r)*N+N-1] = k0[r*N];
      for (int unsigned r = 0; r < N; r++) a1[(N-1-r)*N+N-1] = k1[r*N];
      for (int unsigned r = 0; r < N; r++) sm[(N-1-r)*N+N-1] = ks[r];

      if (N == 1) begin  // of the proofs
        ps0_o[31:0] <= s0[0];
        ps1_o[31:0] <= s1[0];
      end
      for (int unsigned c = 0; c < N / 2; c++) begin  // two columns at a time: half the steps
        ps0_o[64*c+:64] <= {s0[N-2-2*c], s0[N-1-2*c]};
        ps1_o[64*c+:64] <= {s1[N-2-2*c], s1[N-1-2*c]};
      end
      /*verilator coverage_on*/
    end
  end

endmodule
