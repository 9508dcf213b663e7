// Sequencer of a POOL channel: walks over groups, output rows, rows of the window, output columns and taps; one tap a
// cycle.
//
// Order      For each output row, each row of its windows inside the map, each output column: the taps of that row. So
//            a window's taps come in raster order, and a row of the ring is freed as soon as no later window needs it.
// Ring       As pool_ld fills it; row_done_i counts rows that have arrived, free_o frees the oldest one.
// tap_*_o    One tap for pool_op, and its address for pool_line. tap_first/last: of this column in this row of the
//            window; tap_init/fin: the first/last row of the window; tap_end: the last output column; tap_half: which
//            half of the output memory; tap_cols, tap_rows: size of the window inside the map; tap_tab: its factor in
//            the table; lanes in use; channels (bytes) of the group that exist.
// Output     The last row of a window starts only when a half of the output memory is free (release_i: one has become
//            so).
// slow_i     INT8 average: windows finish at least four cycles apart, the time of a division.
// Table      Loaded whole if it has at most 256 entries, else the row of it that the window needs, when that changes.
// Throughput Two cycles more for each row of a window, three for the last one.
// Document     docs/npu/npu.md section 3.4.
`include "assert.svh"

module pool_seq #(
  parameter int unsigned Chan = 0  // DMA channel
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                start_i,
  output logic                busy_o,
  input  npu_pkg::pool_task_t task_i,
  input  logic                slide_i,
  input  logic [16:0]         units_i,
  input  logic                slow_i,
  input  logic                tab_en_i,     // factors come from the table
  input  logic                tab_whole_i,
  input  logic                row_done_i,
  output logic                free_o,
  output logic                tab_req_o,
  output logic [31:0]         tab_addr_o,
  input  logic                tab_ack_i,
  input  logic                tab_done_i,
  input  logic                release_i,
  output logic                tap_valid_o,
  output logic [9:0]          tap_addr_o,
  output logic                tap_first_o,
  output logic                tap_init_o,
  output logic                tap_last_o,
  output logic                tap_fin_o,
  output logic                tap_end_o,
  output logic                tap_half_o,
  output logic [5:0]          tap_ow_o,
  output logic [7:0]          tap_cols_o,
  output logic [7:0]          tap_rows_o,
  output logic [7:0]          tap_tab_o,
  output logic [3:0]          tap_lanes_o,
  output logic [5:0]          tap_chans_o,
  output logic                ev_input_o    // waits for input
);

  typedef enum logic [2:0] {Idle, Win, Tab, Row, Tap, Next} state_e;
  state_e state_q;

  logic [16:0]        rem_q;     // units of this group and the later ones
  logic [16:0]        chans_q;   // channels of this group and the later ones
  logic [15:0]        oleft_q;   // output rows left in the group, this one included
  logic signed [17:0] y0_q;      // first row of the window, padding included
  logic [16:0]        y_q;       // row
  logic [16:0]        end_q;     // behind the last row of the window
  logic [16:0]        next_q;    // first row of the window below
  logic [7:0]         rows_q;
  logic               init_q;
  logic [9:0]         base_q;    // oldest row in the ring
  logic [9:0]         addr_q;    // row y_q in the ring
  logic [8:0]         ahead_q;   // rows from the oldest one to y_q
  logic [8:0]         avail_q;   // rows in the ring that have arrived
  logic signed [11:0] x0_q;      // first column of the window, padding included
  logic [9:0]         x_q;
  logic [5:0]         ow_q;
  logic [1:0]         pause_q;   // cycles until a division may begin
  logic               half_q;
  logic [1:0]         halves_q;  // halves of the output memory in use
  logic               asked_q;
  logic               tab_ok_q;
  logic [7:0]         tab_row_q; // row of the table that has been loaded (not tab_whole_i)
  logic [7:0]         tab_base_q;

  // ------------------------------------------------------------------------------------------------ geometry
  logic [16:0]        first;
  logic [16:0]        last;
  logic [7:0]         rows;
  logic [16:0]        y1;
  logic signed [17:0] y0_next;
  logic               tab_missing;
  logic [9:0]         slot;
  logic signed [11:0] x1;
  logic signed [11:0] x0_next;
  logic [9:0]         col_end;
  logic [9:0]         col_first;
  logic               last_tap;
  logic               last_row;
  logic               last_col;
  logic               tap;

  // zero in idle cycles, so that a simulator does no work
  always_comb begin
    y1 = '0;
    y0_next = '0;
    first = '0;
    last = '0;
    rows = '0;
    tab_missing = 1'b0;
    slot = '0;
    last_row = 1'b0;
    x1 = '0;
    x0_next = '0;
    col_first = '0;
    col_end = '0;
    last_tap = 1'b0;
    last_col = 1'b0;
    tap = 1'b0;
    if (busy_o) begin
      slot = 10'(task_i.iw + 16'd3) & ~10'd3;
      last_row = y_q + 17'd1 == end_q;
      y0_next = y0_q + $signed({10'd0, task_i.sh});
      if (state_q == Win) begin
        y1 = y0_q[16:0] + {9'd0, task_i.kh};  // positive
        first = y0_q < 0 ? '0 : y0_q[16:0];
        last = y1 > {1'b0, task_i.ih} ? {1'b0, task_i.ih} : y1;
        rows = last[7:0] - first[7:0];
        tab_missing = tab_en_i && !(tab_ok_q && (tab_whole_i || tab_row_q == rows));
      end
      if (state_q == Tap) begin
        x1 = x0_q + $signed({4'd0, task_i.kw});
        x0_next = x0_q + $signed({4'd0, task_i.sw});
        col_first = x0_q < 0 ? '0 : x0_q[9:0];
        col_end = x1[10:0] > task_i.iw[10:0] ? task_i.iw[9:0] : x1[9:0];
        last_tap = x_q + 10'd1 == col_end;
        last_col = ow_q == 6'(task_i.ow - 16'd1);
        tap = !(slow_i && last_row && last_tap && pause_q != '0);
      end
    end
  end

  assign tap_valid_o = tap;
  assign tap_addr_o = addr_q + x_q;
  assign tap_first_o = x_q == col_first;
  assign tap_init_o = init_q;
  assign tap_last_o = last_tap;
  assign tap_fin_o = last_row;
  assign tap_end_o = last_col;
  assign tap_half_o = half_q;
  assign tap_ow_o = ow_q;
  assign tap_cols_o = col_end[7:0] - col_first[7:0];
  assign tap_rows_o = rows_q;
  assign tap_tab_o = tab_base_q + tap_cols_o - 8'd1;
  assign tap_lanes_o = rem_q >= 17'd8 ? 4'd8 : rem_q[3:0];
  assign tap_chans_o = chans_q >= 17'd32 ? 6'd32 : chans_q[5:0];

  // ------------------------------------------------------------------------------------------------ the walk
  logic ready;
  logic claim;
  assign ready = ahead_q < avail_q && !(last_row && halves_q == 2'd2);
  assign claim = state_q == Row && ready && last_row;
  assign free_o = state_q == Next && (!slide_i || y_q < next_q || oleft_q == 16'd1);
  assign tab_req_o = state_q == Tab && !asked_q;
  assign tab_addr_o = task_i.tab_addr + (tab_whole_i ? '0 : {14'd0, {8'd0, rows_q - 8'd1} * {8'd0, task_i.kw}, 2'd0});
  assign busy_o = state_q != Idle;
  assign ev_input_o = (state_q == Row && ahead_q >= avail_q) || state_q == Tab;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      rem_q <= '0;
      chans_q <= '0;
      oleft_q <= '0;
      y0_q <= '0;
      y_q <= '0;
      end_q <= '0;
      next_q <= '0;
      rows_q <= '0;
      init_q <= 1'b0;
      base_q <= '0;
      addr_q <= '0;
      ahead_q <= '0;
      x0_q <= '0;
      x_q <= '0;
      ow_q <= '0;
      half_q <= 1'b0;
      asked_q <= 1'b0;
      tab_ok_q <= 1'b0;
      tab_row_q <= '0;
      tab_base_q <= '0;
    end else if (start_i) begin
      if (units_i > 17'(8 * Chan)) state_q <= Win;
      rem_q <= units_i - 17'(8 * Chan);
      chans_q <= {1'b0, task_i.c} - 17'(32 * Chan);
      oleft_q <= task_i.oh;
      y0_q <= -$signed({10'd0, task_i.pad_t});
      base_q <= '0;
      addr_q <= '0;
      ahead_q <= '0;
      half_q <= 1'b0;
      tab_ok_q <= 1'b0;
    end else if (busy_o) begin
      unique case (state_q)
        Win: begin
          y_q <= first;
          end_q <= last;
          rows_q <= rows;
          next_q <= y0_next < 0 ? '0 : y0_next[16:0];
          init_q <= 1'b1;
          asked_q <= 1'b0;
          tab_base_q <= tab_whole_i ? 8'((rows - 8'd1) * task_i.kw) : '0;
          state_q <= tab_missing ? Tab : Row;
        end
        Tab: begin
          if (tab_ack_i) asked_q <= 1'b1;
          if (tab_done_i) begin
            tab_ok_q <= 1'b1;
            tab_row_q <= rows_q;
            state_q <= Row;
          end
        end
        Row: begin
          x0_q <= -$signed({4'd0, task_i.pad_l});
          x_q <= '0;
          ow_q <= '0;
          if (ready) state_q <= Tap;
        end
        Tap:
        if (tap) begin
          x_q <= x_q + 10'd1;
          if (last_tap) begin
            x0_q <= x0_next;
            x_q <= x0_next < 0 ? '0 : x0_next[9:0];
            ow_q <= ow_q + 6'd1;
            if (last_col) state_q <= Next;
          end
        end
        default: begin  // Next
          y_q <= y_q + 17'd1;
          init_q <= 1'b0;
          addr_q <= addr_q + slot;
          if (free_o) base_q <= addr_q + slot;
          else ahead_q <= ahead_q + 9'd1;
          state_q <= Row;
          if (last_row) begin
            if (!free_o) addr_q <= base_q;
            ahead_q <= '0;
            half_q <= !half_q;
            y0_q <= y0_next;
            oleft_q <= oleft_q - 16'd1;
            state_q <= Win;
            if (oleft_q == 16'd1) begin
              rem_q <= rem_q - 17'd16;
              chans_q <= chans_q - 17'd64;
              oleft_q <= task_i.oh;
              y0_q <= -$signed({10'd0, task_i.pad_t});
              if (rem_q <= 17'd16) state_q <= Idle;
            end
          end
        end
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      avail_q <= '0;
      halves_q <= '0;
      pause_q <= '0;
    end else begin
      if (row_done_i || free_o) avail_q <= avail_q + 9'(row_done_i) - 9'(free_o);
      if (claim || release_i) halves_q <= halves_q + 2'(claim) - 2'(release_i);
      if (tap && last_row && last_tap) pause_q <= 2'd3;
      else if (pause_q != '0) pause_q <= pause_q - 2'd1;
    end
  end


  `ASSERT(PoolSeqAvail, !free_o || avail_q != '0)
  `ASSERT(PoolSeqWindow, state_q != Win || (last > first && last - first <= 17'd255))
  `ASSERT(PoolSeqColumn, state_q != Tap || (x1 > 0 && col_end > col_first && x_q < col_end && x_q >= col_first))
  `ASSERT(PoolSeqHalves, halves_q <= 2'd2 && !(release_i && halves_q == '0))

endmodule
