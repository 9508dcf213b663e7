// pe (document 001, section 4.2.5): the array, a daisy chain of N_VECTOR processing elements (PE).
//
// Chain     Feature vector, its flags and filter words enter PE 0 and pass one PE a cycle; PE n stores the words tagged
//           n in one half of its filter cache while it computes from the other one.
// SAC       A shift-accumulator adds CVec terms (contract: term()). With kernel width above 1, SAC (o, f) computes
//           output column o from lane o + f and weight f of the word, and three of them make a result; with kernel
//           width 1 each lane has one SAC and the vector uses one third of the word (mode bit k1_i, constant in a
//           task).
// Result    acc = B + sums, mod 2^32; after the vector with the flag `last` it goes to entry `slot` of the
//           PE's results.
// Read      The results of all PEs at entry rd_slot_i, column rd_col_i: rounded, shifted and clamped (contract: shr()).
//           rd_en_i moves the two stages: a_o belongs to the read of two enabled cycles before. done_o pulses when the
//           last PE has a result, so entries are complete in the order of the slots, and aligned.
// Latency   vector at x_i -> result of the last PE readable: N_VECTOR + 4 cycles.
// Throughput one vector and one filter word a cycle; nothing in the chain waits.
//
// Written for simulation speed as rtl/npu/mesh/mesh.sv: private state in flat arrays, counted loops, in place. PE n has
// index p = N_VECTOR - 1 - n, so its neighbour before it in the chain is p + 1: ascending loops read only values from
// before the edge.
module sac_pe #(
  parameter int unsigned WVec = 3,
  parameter int unsigned CVec = 2,
  parameter int unsigned NVec = 2,
  parameter int unsigned Depth = 16,
  localparam int unsigned LogN = $clog2(NVec),
  localparam int unsigned Dw = $clog2(Depth),
  localparam int unsigned Lc = $clog2(WVec),
  localparam int unsigned FlagW = 10 + 2 + 1 + 2 + 1 + 1 + Dw,
  localparam int unsigned WordW = 12 * CVec,
  localparam int unsigned Lanes = WVec * CVec
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            k1_i,
  // vector
  input  logic                            valid_i,
  input  logic [               FlagW-1:0] flags_i,  // {word, third, half, place, first, last, slot}
  input  logic [sac_pkg::XBits*Lanes-1:0] x_i,
  // PARAM of a filter
  input  logic                            p_we_i,
  input  logic [                LogN-1:0] p_n_i,
  input  logic [                     1:0] p_place_i,
  input  logic [                   127:0] p_i,
  // filter word
  input  logic                            f_valid_i,
  input  logic [                LogN-1:0] f_n_i,
  input  logic                            f_half_i,
  input  logic [                     9:0] f_addr_i,
  input  logic [               WordW-1:0] f_i,
  // results
  output logic                            done_o,
  input  logic                            rd_en_i,
  input  logic [                  Dw-1:0] rd_slot_i,
  input  logic [                  Lc-1:0] rd_col_i,
  input  logic [                     1:0] rd_place_i,
  output logic [              8*NVec-1:0] a_o
);

  localparam int unsigned OwVec = WVec - sac_pkg::FwVec + 1;
  localparam int unsigned XBits = sac_pkg::XBits;
  localparam int unsigned Sacs = 3 * OwVec;
  localparam int unsigned Nc = CVec * NVec;
  localparam int unsigned FwW = LogN + 11 + WordW;

  // ---- the chain: valid bits and flags of each PE, filter words in flight; PE n in bits of index n ----
  logic [NVec-1:0] valid_q;
  logic [NVec-1:0] sum_valid_q;  // one cycle later: the sums are at the accumulators
  logic [NVec-1:0] res_valid_q;  // one more: a result is written
  logic [NVec*FlagW-1:0] flags_q;
  logic [NVec*FlagW-1:0] sum_flags_q;
  logic [NVec*Dw-1:0] res_slot_q;
  logic [NVec-1:0] f_valid_q;
  logic [NVec*FwW-1:0] f_q;
  logic moves;
  assign moves = valid_i || valid_q != '0 || sum_valid_q != '0 || res_valid_q != '0;

  logic [NVec-1:0] sum_first;
  logic [NVec-1:0] sum_last;
  logic [NVec*2-1:0] sum_place;
  always_comb begin
    for (int unsigned n = 0; n < NVec; n++) begin
      sum_first[n] = sum_valid_q[n] && sum_flags_q[FlagW*n+Dw+1];
      sum_last[n] = sum_valid_q[n] && sum_flags_q[FlagW*n+Dw];
      sum_place[2*n+:2] = sum_flags_q[FlagW*n+Dw+2+:2];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      sum_valid_q <= '0;
      res_valid_q <= '0;
      flags_q <= '0;
      sum_flags_q <= '0;
      res_slot_q <= '0;
      f_valid_q <= '0;
      f_q <= '0;
    end else begin
      if (moves) begin
        valid_q <= NVec'({valid_q, valid_i});
        flags_q <= (NVec * FlagW)'({flags_q, flags_i});
        sum_valid_q <= valid_q;
        sum_flags_q <= flags_q;
        res_valid_q <= sum_last;
        for (int unsigned n = 0; n < NVec; n++) res_slot_q[Dw*n+:Dw] <= sum_flags_q[FlagW*n+:Dw];
      end
      f_valid_q <= NVec'({f_valid_q, f_valid_i});
      if (f_valid_i || f_valid_q != '0) f_q <= (NVec * FwW)'({f_q, f_n_i, f_half_i, f_addr_i, f_i});
    end
  end
  assign done_o = res_valid_q[NVec-1];

  // ---- filter cache and results of each PE ----
  logic [NVec*WordW-1:0] word_q;  // at the SACs together with the vector
  logic [32*WVec*NVec-1:0] res_q;  // [PE][column]
  logic [32*NVec-1:0] acc_q;  // stage 1 of the read
  generate
    genvar pe;
    for (pe = 0; pe < NVec; pe++) begin : g_pe
      logic [WordW-1:0] filters[2*sac_pkg::FilterWords];
      logic [FwW-1:0] f_in;
      logic [FlagW-1:0] flags_in;
      logic f_in_valid;
      logic valid_in;
      if (pe == 0) begin : g_first
        assign f_in = {f_n_i, f_half_i, f_addr_i, f_i};
        assign f_in_valid = f_valid_i;
        assign flags_in = flags_i;
        assign valid_in = valid_i;
      end else begin : g_next
        assign f_in = f_q[FwW*(pe-1)+:FwW];
        assign f_in_valid = f_valid_q[pe-1];
        assign flags_in = flags_q[FlagW*(pe-1)+:FlagW];
        assign valid_in = valid_q[pe-1];
      end
      always_ff @(posedge clk_i) begin
        if (f_in_valid && f_in[WordW+11+:LogN] == LogN'(pe)) filters[f_in[WordW+:11]] <= f_in[WordW-1:0];
        if (valid_in) word_q[WordW*pe+:WordW] <= filters[{flags_in[Dw+4], flags_in[Dw+7+:10]}];
      end

      logic [32*WVec-1:0] results[Depth];
      logic [31:0] result;  // a shift brings the column that is read to the low bits
      assign result = 32'(results[rd_slot_i] >> {rd_col_i, 5'd0});
      always_ff @(posedge clk_i) begin
        if (res_valid_q[pe]) results[res_slot_q[Dw*pe+:Dw]] <= res_q[32*WVec*pe+:32*WVec];
        if (rd_en_i) acc_q[32*pe+:32] <= result;
      end
    end
  endgenerate

  // ---- PARAM: B and sh of four batches ----
  logic [31:0] bias[4*NVec];
  logic [5:0] shift[4*NVec];
  always_ff @(posedge clk_i) begin
    if (p_we_i) bias[{p_place_i, p_n_i}] <= p_i[31:0];
    if (p_we_i) shift[{p_place_i, p_n_i}] <= p_i[37:32];
  end

  // ---- SACs and accumulators ----
  // PE index p = NVec-1-n; x: [lane][channel][p], w: [tap][channel][p], sum: [SAC][p], acc: [column][p]
  logic [31:0] x[Lanes*NVec];
  logic [31:0] wk[3*Nc];  // shift of a weight
  logic [31:0] wn[3*Nc];  // all ones: negative
  logic [31:0] wz[3*Nc];  // all ones: not zero
  logic [31:0] term[Nc];
  logic [31:0] sum[Sacs*NVec];
  logic [31:0] acc[WVec*NVec];
  logic [31:0] keep[NVec];  // all ones: the accumulator goes on
  logic [31:0] start[NVec];  // B where a result begins
  logic [31:0] adds[NVec];  // all ones: there are sums to add
  logic [WordW-1:0] word;
  logic [3:0] code;

  // the weights of one channel group in a word of kernel width 1
  function automatic logic [4*CVec-1:0] third_of(input logic [WordW-1:0] all, input logic [1:0] third);
    third_of = third == 2'd0 ? all[0+:4*CVec] : third == 2'd1 ? all[4*CVec+:4*CVec] : all[8*CVec+:4*CVec];
  endfunction

  always_ff @(posedge clk_i) begin
    // counters in these loops would cost a hundred times the loops; their events are points of other units
    /*verilator coverage_off*/
    // results for the memory of the PE
    if (sum_valid_q != '0) begin
      for (int unsigned n = 0; n < NVec; n++) keep[NVec-1-n] = {32{!sum_first[n]}};
      for (int unsigned n = 0; n < NVec; n++) adds[NVec-1-n] = {32{sum_valid_q[n]}};
      for (int unsigned n = 0; n < NVec; n++)
        start[NVec-1-n] = {32{sum_first[n]}} & bias[{sum_place[2*n+:2], LogN'(n)}];
      if (k1_i) begin
        for (int unsigned l = 0; l < WVec; l++)
          for (int unsigned p = 0; p < NVec; p++)
            acc[l*NVec+p] = (acc[l*NVec+p] & keep[p]) + start[p] + (sum[l*NVec+p] & adds[p]);
      end else begin
        for (int unsigned o = 0; o < OwVec; o++)
          for (int unsigned p = 0; p < NVec; p++)
            acc[o*NVec+p] = (acc[o*NVec+p] & keep[p]) + start[p] +
                ((sum[3*o*NVec+p] + sum[(3*o+1)*NVec+p] + sum[(3*o+2)*NVec+p]) & adds[p]);
      end
      if (sum_last != '0) begin
        for (int unsigned n = 0; n < NVec; n++)
          for (int unsigned l = 0; l < WVec; l++) res_q[32*(WVec*n+l)+:32] <= acc[l*NVec+NVec-1-n];
      end
    end
    // sums of the SACs
    if (valid_q != '0) begin
      for (int unsigned n = 0; n < NVec; n++) begin
        word = word_q[WordW*n+:WordW];
        if (k1_i) word = {3{third_of(word, flags_q[FlagW*n+Dw+5+:2])}};
        for (int unsigned i = 0; i < 3 * CVec; i++) begin
          code = word[4*i+:4];
          wk[i*NVec+NVec-1-n] = {29'd0, code[2:0]};
          wn[i*NVec+NVec-1-n] = {32{!code[3]}};
          wz[i*NVec+NVec-1-n] = {32{code[2:0] != 3'd7}};
        end
      end
      for (int unsigned j = 0; j < Sacs; j++) begin
        if (k1_i) begin
          if (j < WVec)
            for (int unsigned i = 0; i < Nc; i++)
              term[i] = (((x[j*Nc+i] << wk[i]) ^ wn[i]) - wn[i]) & wz[i];
        end else begin
          for (int unsigned i = 0; i < Nc; i++)
            term[i] = (((x[(j/3+j%3)*Nc+i] << wk[(j%3)*Nc+i]) ^ wn[(j%3)*Nc+i]) - wn[(j%3)*Nc+i]) & wz[(j%3)*Nc+i];
        end
        for (int unsigned p = 0; p < NVec; p++) sum[j*NVec+p] = term[p];
        for (int unsigned c = 1; c < CVec; c++)
          for (int unsigned p = 0; p < NVec; p++) sum[j*NVec+p] = sum[j*NVec+p] + term[c*NVec+p];
      end
    end
    // the vector moves on
    if (valid_i || valid_q != '0) begin
      for (int unsigned i = 0; i < Lanes * NVec - 1; i++) x[i] = x[i+1];
      for (int unsigned i = 0; i < Lanes; i++)
        x[i*NVec+NVec-1] = {{32 - XBits{x_i[XBits*i+XBits-1]}}, x_i[XBits*i+:XBits]};
    end
    /*verilator coverage_on*/
  end

  // ---- read of the results: shr() ----
  logic [8*NVec-1:0] a_q;
  logic [1:0] rd_place_q;
  always_ff @(posedge clk_i) begin
    if (rd_en_i) begin
      rd_place_q <= rd_place_i;
      for (int unsigned n = 0; n < NVec; n++)
        a_q[8*n+:8] <= sac_pkg::shr(acc_q[32*n+:32], shift[{rd_place_q, LogN'(n)}]);
    end
  end
  assign a_o = a_q;

  logic unused;
  assign unused = ^p_i;  // B and sh of it

endmodule
