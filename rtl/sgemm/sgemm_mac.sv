// The lanes: R chains of Vec multiply-add lanes, which add a slice of k to every element of a tile of C.
//
// What it does
//   A pass goes over the tile in groups of R rows, within a group over the columns. Each cycle one element of C in each
//   of the R rows enters lane 0; lane k adds a(i,k)*b(k,j) and hands the sum to lane k+1; Vec + 2 cycles later the
//   element is written back. So the latency of the adder hides behind independent elements while k stays in order
//   (document 003, listing 2: a serial chain of adders). A lane without an operand (k >= kb) multiplies -0 by +0: the
//   product -0 changes no sum. Rows behind the last one are not computed.
// Schedule  of an element whose entry is at lane k in cycle t + k: lane k reads its banks in cycle t + k, multiplies in
//   t + k + 1, adds in t + k + 2; C is read in t + 1 and written in t + Vec + 2.
// Pass      max(ceil(mb/R)*nb, Vec + 2) cycles, for the next pass reads what this one writes. Passes follow each other
//   without a gap: pass_ready_o is 1 in the last cycle of a pass.
// Signals   drained_o: the buffer's half may be loaded again; it comes Lead cycles before the last lane reads, which is
//   less than a loader takes from free_i to its first write. tile_o: the last element of a tile is written.
// Entries of lanes: sgemm_pkg::Lane*.
//
// Written for simulation speed: products and sums in flat arrays of one process, updated in place from the last lane to
// the first, so that every read sees the value before the edge.
// Throughput: R elements a cycle, Vec products of each.
`include "assert.svh"

module sgemm_mac #(
  parameter int unsigned Dim = 8,
  parameter int unsigned Vec = 8,
  parameter int unsigned R = 1,
  parameter int unsigned ElemW = 32,
  localparam int unsigned Aw = $clog2(Dim / R * (Dim / 4))
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     pass_valid_i,
  output logic                     pass_ready_o,
  input  logic [sgemm_pkg::Bw-1:0] pass_mb_i,
  input  logic [sgemm_pkg::Bw-1:0] pass_nb_i,
  input  logic [sgemm_pkg::Bw-1:0] pass_kb_i,
  input  logic                     pass_half_i,
  input  logic                     pass_c_half_i,
  input  logic                     pass_c_zero_i,
  input  logic                     pass_last_i,

  output logic [32*Vec-1:0]        lane_o,
  input  logic [4*ElemW*Vec-1:0]   a_i,
  input  logic [4*ElemW*Vec-1:0]   b_i,

  output logic                     c_re_o,
  output logic                     c_rhalf_o,
  output logic [Aw-1:0]            c_raddr_o,
  input  logic [128*R-1:0]         c_rdata_i,
  output logic [R-1:0]             c_we_o,
  output logic                     c_whalf_o,
  output logic [Aw-1:0]            c_waddr_o,
  output logic [3:0]               c_wsel_o,
  output logic [32*R-1:0]          c_wdata_o,

  output logic                     drained_o,
  output logic                     tile_o,
  output logic                     issue_o,   // an element enters
  output logic                     gap_o      // the pass waits for its own sums
);

  localparam int unsigned Bw = sgemm_pkg::Bw;
  localparam int unsigned Ww = sgemm_pkg::Ww;
  localparam int unsigned Lead = Vec > 8 ? 8 : Vec - 1;
  localparam int unsigned Entries = Vec + 3;
  localparam int unsigned MinPass = Vec + 2;
  localparam logic [1:0] Sh = 2'($clog2(R));
  localparam logic [11:0] Words = 12'(Dim / 4);
  localparam logic [31:0] MinusZero = 32'h8000_0000;

  // ------------------------------------------------------------------------------------------------ elements of a pass
  logic run_q;               // elements are left
  logic wait_q;              // all have entered, the pass is shorter than MinPass
  logic [Bw-1:0] mb_q, nb_q, kb_q, i_q, j_q, age_q;
  logic half_q, c_half_q, c_zero_q, last_q;
  logic elem_last, long_enough, pass_end;
  logic [3:0] rows;
  logic [31:0] entry;

  assign elem_last = j_q == nb_q - 1'b1 && i_q + Bw'(R) >= mb_q;
  assign long_enough = age_q >= Bw'(MinPass - 1);
  assign pass_end = long_enough && (wait_q || (run_q && elem_last));
  assign pass_ready_o = (!run_q && !wait_q) || pass_end;
  assign issue_o = run_q;
  assign gap_o = wait_q;

  always_comb begin
    rows = 4'd0;
    for (int unsigned r = 0; r < R; r++) rows[r] = i_q + r[Bw-1:0] < mb_q;
    entry = '0;
    if (run_q) begin
      entry[sgemm_pkg::LaneValid] = 1'b1;
      entry[sgemm_pkg::LaneHalf] = half_q;
      entry[sgemm_pkg::LaneIWord+:Ww] = i_q[Bw-1:2];
      entry[sgemm_pkg::LaneISel+:2] = i_q[1:0];
      entry[sgemm_pkg::LaneJWord+:Ww] = j_q[Bw-1:2];
      entry[sgemm_pkg::LaneJSel+:2] = j_q[1:0];
      entry[sgemm_pkg::LaneKb+:Bw] = kb_q;
      entry[sgemm_pkg::LanePassEnd] = elem_last;
      entry[sgemm_pkg::LaneTileEnd] = elem_last && last_q;
      entry[sgemm_pkg::LaneCHalf] = c_half_q;
      entry[sgemm_pkg::LaneCZero] = c_zero_q;
      entry[sgemm_pkg::LaneRows+:4] = rows;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      run_q <= 1'b0;
      wait_q <= 1'b0;
      mb_q <= '0;
      nb_q <= '0;
      kb_q <= '0;
      i_q <= '0;
      j_q <= '0;
      age_q <= '0;
      half_q <= 1'b0;
      c_half_q <= 1'b0;
      c_zero_q <= 1'b0;
      last_q <= 1'b0;
    end else if (pass_ready_o) begin
      run_q <= pass_valid_i;
      wait_q <= 1'b0;
      if (pass_valid_i) begin
        mb_q <= pass_mb_i;
        nb_q <= pass_nb_i;
        kb_q <= pass_kb_i;
        half_q <= pass_half_i;
        c_half_q <= pass_c_half_i;
        c_zero_q <= pass_c_zero_i;
        last_q <= pass_last_i;
        i_q <= '0;
        j_q <= '0;
        age_q <= '0;
      end
    end else begin
      if (!long_enough) age_q <= age_q + 1'b1;
      if (run_q) begin
        j_q <= j_q == nb_q - 1'b1 ? '0 : j_q + 1'b1;
        if (j_q == nb_q - 1'b1) i_q <= i_q + Bw'(R);
        run_q <= !elem_last;
        wait_q <= elem_last;
      end
    end
  end

  // ------------------------------------------------------------------------------------------------ entries
  logic [32*Entries-1:0] way_q;  // entry at lane k: bits 32*k and up
  logic moving_q;                // some entry is valid
  logic [Bw-1:0] idle_q;         // cycles since the last one entered
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      way_q <= '0;
      moving_q <= 1'b0;
      idle_q <= '0;
    end else begin
      if (run_q || moving_q) way_q <= {way_q[32*(Entries-1)-1:0], entry};
      idle_q <= run_q ? '0 : moving_q ? idle_q + 1'b1 : idle_q;
      moving_q <= run_q || (moving_q && idle_q != Bw'(Entries));
    end
  end
  assign lane_o = way_q[32*Vec-1:0];

  logic [31:0] at_read, at_add, at_write;
  assign at_read = way_q[32*1+:32];
  assign at_add = way_q[32*2+:32];
  assign at_write = way_q[32*(Vec+2)+:32];
  assign c_re_o = at_read[sgemm_pkg::LaneValid] && !at_read[sgemm_pkg::LaneCZero];
  assign c_rhalf_o = at_read[sgemm_pkg::LaneCHalf];
  assign c_raddr_o =
      Aw'(sgemm_pkg::c_word(at_read[sgemm_pkg::LaneISel+:Bw], at_read[sgemm_pkg::LaneJWord+:Ww], Sh, Words));
  assign c_we_o = at_write[sgemm_pkg::LaneValid] ? at_write[sgemm_pkg::LaneRows+:R] : '0;
  assign c_whalf_o = at_write[sgemm_pkg::LaneCHalf];
  assign c_waddr_o =
      Aw'(sgemm_pkg::c_word(at_write[sgemm_pkg::LaneISel+:Bw], at_write[sgemm_pkg::LaneJWord+:Ww], Sh, Words));
  assign c_wsel_o = 4'd1 << at_write[sgemm_pkg::LaneJSel+:2];
  assign drained_o = way_q[32*(Vec-1-Lead)+sgemm_pkg::LaneValid] && way_q[32*(Vec-1-Lead)+sgemm_pkg::LanePassEnd];
  assign tile_o = at_write[sgemm_pkg::LaneValid] && at_write[sgemm_pkg::LaneTileEnd];

  // ------------------------------------------------------------------------------------------------ lanes
  // of lane k of chain r: index Vec*r + k
  logic [31:0] prod[R*Vec];
  logic [31:0] sum[R*Vec];
  logic [31:0] c_in;
  logic [31:0] op_a;
  logic [31:0] op_b;
  logic [31:0] e;
  logic [31:0] x;

  function automatic logic [31:0] operand(input logic [ElemW-1:0] bits);
    if (ElemW == 16) operand = fp_pkg::f16_to_f32_f(bits[15:0]);
    else operand = 32'(bits);
  endfunction

  always_ff @(posedge clk_i) begin
    if (moving_q) begin
      /*verilator coverage_off*/
      for (int unsigned r = 0; r < R; r++) begin
        c_in = at_add[sgemm_pkg::LaneCZero] ? 32'd0 : c_rdata_i[128*r+32*at_add[sgemm_pkg::LaneJSel+:2]+:32];
        for (int unsigned n = 0; n < Vec; n++) begin
          // lane Vec - 1 - n
          e = way_q[32*(Vec+1-n)+:32];
          if (e[sgemm_pkg::LaneValid] && e[sgemm_pkg::LaneRows+r]) begin
            x = n == Vec - 1 ? c_in : sum[Vec*r+Vec-2-n];
            sum[Vec*r+Vec-1-n] = fp_pkg::fp_add_f(x, prod[Vec*r+Vec-1-n]);
          end
        end
        for (int unsigned k = 0; k < Vec; k++) begin
          e = way_q[32*(k+1)+:32];
          if (e[sgemm_pkg::LaneValid] && e[sgemm_pkg::LaneRows+r]) begin
            if (Bw'(k) < e[sgemm_pkg::LaneKb+:Bw]) begin
              op_a = operand(a_i[4*ElemW*k+ElemW*({30'd0, e[sgemm_pkg::LaneISel+:2]}+r)+:ElemW]);
              op_b = operand(b_i[4*ElemW*k+ElemW*{30'd0, e[sgemm_pkg::LaneJSel+:2]}+:ElemW]);
            end else begin
              op_a = MinusZero;
              op_b = 32'd0;
            end
            prod[Vec*r+k] = fp_pkg::fp_mul_f(op_a, op_b);
          end
        end
        c_wdata_o[32*r+:32] <= sum[Vec*r+Vec-1];
      end
      /*verilator coverage_on*/
    end
  end

  `ASSERT(MacRowGroup, !run_q || i_q % Bw'(R) == '0)
  `ASSERT(MacPassSize, !(pass_valid_i && pass_ready_o) || (pass_mb_i != '0 && pass_nb_i != '0 && pass_kb_i != '0))

endmodule
