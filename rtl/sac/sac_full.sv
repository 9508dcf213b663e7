// full_size_pool (document 001, section 4.2.10): maximum or average over the whole map; without it beats pass.
//
// Gathers the beats of a batch lane by lane (lanes of columns beyond the map count for nothing), then joins the lanes
// of a channel and, for the average, divides one bit a cycle (contract: full). The result is a map of one column and
// one row: a page for each channel group with filters. Latency after the last beat: 2 cycles a channel for the maximum,
// 11 for the average; no beat is taken meanwhile. valid/ready on both sides.
module sac_full #(
  parameter int unsigned WVec = 3,
  parameter int unsigned CVec = 2,
  parameter int unsigned NVec = 2,
  localparam int unsigned Beats = (WVec * CVec + 15) / 16,  // of a page
  localparam int unsigned LogN = $clog2(NVec),
  localparam int unsigned Groups = NVec / CVec,
  localparam int unsigned Gw = Groups > 1 ? $clog2(Groups) : 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clr_i,
  input  logic                 start_i,
  input  sac_pkg::layer_task_t task_i,
  input  sac_pkg::geom_t       geom_i,
  // PARAM of a filter
  input  logic                 p_we_i,
  input  logic [     LogN-1:0] p_n_i,
  input  logic [          1:0] p_place_i,
  input  logic [        127:0] p_i,
  // beats of the writer
  input  logic                 valid_i,
  output logic                 ready_o,
  input  logic [        127:0] data_i,
  input  logic [         15:0] mask_i,
  input  logic [          2:0] beat_i,
  input  logic [       Gw-1:0] group_i,
  input  logic [          1:0] place_i,
  input  logic [         18:0] cpage_i,
  input  logic                 first_i,
  input  logic                 last_i,
  // beats to memory and cache
  output logic                 valid_o,
  input  logic                 ready_i,
  output logic [        127:0] data_o,
  output logic [          2:0] beat_o,
  output logic [         18:0] cpage_o,
  output logic                 last_o
);

  localparam int unsigned LogC = $clog2(CVec);
  localparam int unsigned Lw = $clog2(16 * Groups);
  localparam logic [1:0] Gather = 2'd0;
  localparam logic [1:0] Join = 2'd1;
  localparam logic [1:0] Divide = 2'd2;
  localparam logic [1:0] Send = 2'd3;

  // ---- PARAM: g of four batches ----
  logic [3:0] gain[4*NVec];
  always_ff @(posedge clk_i) if (p_we_i) gain[{p_place_i, p_n_i}] <= p_i[67:64];

  logic on;
  logic max;
  logic [1:0] state_q;
  logic [1:0] place_q;
  logic [LogN-1:0] n_q;  // channel that is joined
  logic [12:0] n_left_q;  // filters from this batch on
  logic [18:0] cpage_q;
  logic [2:0] beat_q;
  logic [Gw-1:0] g_q;
  logic take;
  assign on = task_i.full != 2'd0;
  assign max = task_i.full == 2'(sac_pkg::FullMax);
  assign take = on && valid_i && state_q == Gather;

  // ---- lanes of each channel group ----
  logic [23:0] lanes_q[16*Groups];
  // a lane with one more byte; `begins`: there is nothing in it yet, `ok`: the byte is of a column of the map
  function automatic logic [23:0] gathered(input logic best, input logic begins, input logic ok,
                                           input logic signed [23:0] old, input logic signed [7:0] more);
    logic signed [23:0] none;
    logic signed [23:0] a;
    logic signed [23:0] b;
    none = best ? -24'sd128 : 24'sd0;
    a = begins ? none : old;
    b = ok ? 24'(more) : none;
    gathered = !best ? a + b : b > a ? b : a;
  endfunction
  generate
    genvar l;
    for (l = 0; l < 16 * Groups; l++) begin : g_lane
      always_ff @(posedge clk_i)
        if (take && group_i == Gw'(l / 16))
          lanes_q[l] <= gathered(max, first_i && beat_i == 3'd0, mask_i[l%16], lanes_q[l], data_i[8*(l%16)+:8]);
    end
  endgenerate

  // ---- one channel: its lanes together ----
  logic signed [23:0] joined;
  logic signed [23:0] lane;
  logic [LogN-1:0] in_group;  // the channel in its group
  logic [Lw-1:0] group_lane;  // its first lane
  assign in_group = n_q & LogN'(CVec - 1);
  assign group_lane = Lw'({n_q >> LogC, 4'd0}) | Lw'(in_group);
  always_comb begin
    joined = max ? -24'sd128 : 24'sd0;
    lane = '0;
    for (int unsigned k = 0; k < 16 / CVec; k++) begin
      lane = lanes_q[group_lane | Lw'(k * CVec)];
      joined = max ? (lane > joined ? lane : joined) : joined + lane;
    end
  end

  // ---- division: floor((2 num + den) / (2 den)) of at most 255 ----
  logic neg_q;
  logic [33:0] rem_q;
  logic [33:0] den_q;  // 2 den, shifted to the bit that is tried
  logic [8:0] quot_q;
  logic [3:0] bits_q;
  logic [3:0] gain_n;
  logic [3:0] right;
  logic [23:0] mag;
  logic [32:0] num;
  logic [33:0] den;
  logic fits;
  assign gain_n = gain[{place_q, n_q}];
  assign right = -gain_n;
  assign mag = joined[23] ? -joined : joined;
  assign num = gain_n[3] ? {9'd0, mag} : {9'd0, mag} << gain_n;
  assign den = gain_n[3] ? {19'd0, geom_i.pixels} << right : {19'd0, geom_i.pixels};
  assign fits = rem_q >= den_q;

  logic [8*NVec-1:0] out_q;
  logic [7:0] clamped;
  logic last_n;
  assign clamped = neg_q ? (quot_q > 9'd128 ? 8'h80 : -quot_q[7:0]) : (quot_q > 9'd127 ? 8'h7F : quot_q[7:0]);
  assign last_n = n_q == LogN'(NVec - 1);

  logic send_last_g;
  assign send_last_g = g_q == Gw'(Groups - 1) || n_left_q <= ((13'(g_q) + 13'd1) << LogC);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Gather;
      place_q <= '0;
      n_q <= '0;
      n_left_q <= '0;
      cpage_q <= '0;
      beat_q <= '0;
      g_q <= '0;
      neg_q <= 1'b0;
      rem_q <= '0;
      den_q <= '0;
      quot_q <= '0;
      bits_q <= '0;
      out_q <= '0;
    end else if (clr_i || start_i) begin
      state_q <= Gather;
      n_left_q <= task_i.n;
      cpage_q <= '0;
      n_q <= '0;
      beat_q <= '0;
      g_q <= '0;
    end else begin
      case (state_q)
        Gather: begin
          place_q <= place_i;
          if (take && last_i) state_q <= Join;
        end
        Join: begin
          neg_q <= joined[23];
          rem_q <= {num, 1'b0} + den;
          den_q <= den << 9;
          bits_q <= 4'd9;
          quot_q <= '0;
          if (max) begin
            out_q[{n_q, 3'd0}+:8] <= joined[7:0];
            n_q <= n_q + 1'b1;
            if (last_n) state_q <= Send;
          end else begin
            state_q <= Divide;
          end
        end
        Divide: begin
          if (bits_q != 4'd0) begin
            quot_q <= {quot_q[7:0], fits};
            if (fits) rem_q <= rem_q - den_q;
            den_q <= den_q >> 1;
            bits_q <= bits_q - 4'd1;
          end else begin
            out_q[{n_q, 3'd0}+:8] <= clamped;
            n_q <= n_q + 1'b1;
            state_q <= last_n ? Send : Join;
          end
        end
        default: begin
          if (ready_i) begin
            beat_q <= beat_q == 3'(Beats - 1) ? 3'd0 : beat_q + 3'd1;
            if (beat_q == 3'(Beats - 1)) begin
              cpage_q <= cpage_q + 19'd1;
              g_q <= send_last_g ? '0 : g_q + 1'b1;
              if (send_last_g) begin
                state_q <= Gather;
                n_left_q <= n_left_q - 13'(NVec);
              end
            end
          end
        end
      endcase
    end
  end

  logic [127:0] send_data;
  always_comb begin
    send_data = '0;
    for (int unsigned g = 0; g < Groups; g++)
      if (g_q == Gw'(g) && beat_q == 3'd0) send_data[8*CVec-1:0] = out_q[8*CVec*g+:8*CVec];
  end

  assign ready_o = on ? state_q == Gather : ready_i;
  assign valid_o = on ? state_q == Send : valid_i;
  assign data_o = on ? send_data : data_i;
  assign beat_o = on ? beat_q : beat_i;
  assign cpage_o = on ? cpage_q : cpage_i;
  assign last_o = on ? send_last_g && beat_q == 3'(Beats - 1) : last_i;

  logic unused;
  assign unused = ^{task_i, geom_i, p_i};

endmodule
