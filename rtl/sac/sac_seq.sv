// sequencer (document 001, section 4.2.3): the loops of a convolution, and read offsets of features and filters.
//
// From start_i on it offers one vector a cycle to the retriever, for each batch of filters, output row and output
// vector (outer loops) each channel group, kernel row and tap group (inner loops, equation 27): page address, bank and
// column of the vector's first column, and word address of the filters. It waits for the filters of its batch
// (loaded_i) and, before the first vector of a result, for space behind the array (room_i, results); the two counters
// of stalls count these cycles, CONV counts vectors. computed_o counts batches whose vectors have all been offered.
// done_o pulses with the last vector.
//
// Addresses follow from additions alone. Columns outside the map (padding) give no address: col_o tells the retriever
// which lanes are zero, row_ok_o whether the whole row is.
module sac_seq #(
  parameter int unsigned WVec = 3,
  parameter int unsigned Depth = 16,  // results behind the array
  localparam int unsigned OwVec = WVec - sac_pkg::FwVec + 1,
  localparam int unsigned Lo = $clog2(WVec)
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         clr_i,
  input  logic                         start_i,
  input  sac_pkg::layer_task_t         task_i,
  input  sac_pkg::geom_t               geom_i,
  input  logic [                 11:0] loaded_i,
  input  logic                         pop_i,       // a result has left the space behind the array
  output logic                         done_o,
  output logic [                 11:0] computed_o,
  output logic                         ev_load_o,   // waits for filters
  output logic                         ev_write_o,  // waits for space
  // a vector
  output logic                         valid_o,
  output logic [                 18:0] page_o,      // of the vector's first column
  output logic [               Lo-1:0] bank_o,
  output logic [                 13:0] col_o,       // signed
  output logic                         row_ok_o,
  output logic [                 11:0] group_o,
  output logic [                  9:0] word_o,
  output logic [                  1:0] third_o,     // of the filter word, kernel width 1
  output logic                         half_o,
  output logic [                  1:0] place_o,     // of PARAM
  output logic                         first_o,     // of a result
  output logic                         last_o,
  output logic [$clog2(Depth)-1:0]     slot_o       // of the result
);

  localparam int unsigned Dw = $clog2(Depth);

  // ---- loop counters ----
  logic run_q;
  logic [11:0] batch_q;
  logic [9:0] oy_q;
  logic [11:0] ox_q;  // first column of the output vector, at stride 1
  logic [11:0] group_q;
  logic [3:0] row_q;
  logic [2:0] tap_q;
  logic [1:0] third_q;

  logic last_tap;
  logic last_row;
  logic last_group;
  logic last_vec;
  logic last_oy;
  logic last_batch;
  logic [12:0] ox_next;
  assign last_tap = tap_q == geom_i.taps - 3'd1;
  assign last_row = last_tap && row_q == task_i.kh - 4'd1;
  assign last_group = last_row && group_q == geom_i.groups - 12'd1;
  assign ox_next = {1'b0, ox_q} + (geom_i.k1 ? 13'(WVec) : 13'(OwVec));
  assign last_vec = last_group && ox_next >= {1'b0, geom_i.ow1};
  assign last_oy = last_vec && oy_q == task_i.oh - 10'd1;
  assign last_batch = last_oy && batch_q == geom_i.batches - 12'd1;

  // ---- addresses ----
  logic [18:0] group_base_q;  // of the channel group
  logic [18:0] row_base_q;  // first kernel row of the output row
  logic [11:0] row_off_q;  // kernel row: at most ten rows of 341 pages
  logic signed [13:0] in_row_q;  // first kernel row of the output row
  logic signed [13:0] in_row;
  logic [18:0] vec_page_q;  // column of tap group 0, in pages; wraps below 0
  logic [Lo-1:0] vec_bank_q;
  logic signed [13:0] vec_col_q;
  logic [18:0] tap_page_q;
  logic [Lo-1:0] tap_bank_q;
  logic signed [13:0] tap_col_q;
  logic [9:0] word_base_q;
  logic [9:0] word_q;
  logic [11:0] in_pages;
  logic [11:0] stride_pages;
  logic [11:0] top_pages;
  assign in_pages = {3'd0, geom_i.in_pages};
  assign stride_pages = (task_i.stride[0] ? in_pages : 12'd0) + (task_i.stride[1] ? in_pages << 1 : 12'd0) +
      (task_i.stride[2] ? in_pages << 2 : 12'd0);
  assign top_pages = (task_i.pt[0] ? in_pages : 12'd0) + (task_i.pt[1] ? in_pages << 1 : 12'd0) +
      (task_i.pt[2] ? in_pages << 2 : 12'd0);

  // {page, bank} a number of columns further on; columns is at most WVec
  function automatic logic [18+Lo:0] ahead(input logic [18:0] page, input logic [Lo-1:0] bank, input logic [Lo:0] cols);
    logic [Lo:0] sum;
    sum = {1'b0, bank} + cols;
    if (sum >= (Lo + 1)'(WVec)) ahead = {page + 19'd1, Lo'(sum - (Lo + 1)'(WVec))};
    else ahead = {page, sum[Lo-1:0]};
  endfunction

  // {page, bank} of column -pl
  function automatic logic [18+Lo:0] before_map(input logic [2:0] pl);
    logic [18:0] page;
    logic [Lo-1:0] bank;
    page = '0;
    bank = '0;
    for (int unsigned i = 0; i < 7; i++) begin
      if (i < {29'd0, pl}) begin
        if (bank == '0) begin
          bank = Lo'(WVec - 1);
          page = page - 19'd1;
        end else begin
          bank = bank - 1'b1;
        end
      end
    end
    before_map = {page, bank};
  endfunction

  logic [18+Lo:0] left_edge;
  logic [18+Lo:0] vec_next;
  logic [18+Lo:0] tap_next;
  logic signed [13:0] left_col;
  logic signed [13:0] vec_col_next;
  assign left_edge = before_map(task_i.pl);
  assign left_col = -$signed({11'd0, task_i.pl});
  assign vec_next = ahead(vec_page_q, vec_bank_q, geom_i.k1 ? (Lo + 1)'(WVec) : (Lo + 1)'(OwVec));
  assign vec_col_next = vec_col_q + (geom_i.k1 ? 14'(WVec) : 14'(OwVec));
  assign tap_next = ahead(tap_page_q, tap_bank_q, (Lo + 1)'(sac_pkg::FwVec));

  // ---- flow ----
  logic [Dw:0] room_q;  // results that the space behind the array still takes
  logic [Dw-1:0] slot_q;
  logic first;
  logic have_filters;
  logic have_room;
  assign first = tap_q == '0 && row_q == '0 && group_q == '0;
  assign have_filters = loaded_i > batch_q;
  assign have_room = !first || room_q != '0;
  assign valid_o = run_q && have_filters && have_room;
  assign ev_load_o = run_q && !have_filters;
  assign ev_write_o = run_q && have_filters && !have_room;
  assign done_o = valid_o && last_batch;

  assign in_row = in_row_q + $signed({10'd0, row_q});
  assign row_ok_o = in_row >= 14'sd0 && in_row < $signed({4'd0, task_i.h});
  assign page_o = group_base_q + row_base_q + {7'd0, row_off_q} + tap_page_q;
  assign bank_o = tap_bank_q;
  assign col_o = tap_col_q;
  assign group_o = group_q;
  assign word_o = word_q;
  assign third_o = third_q;
  assign half_o = batch_q[0];
  assign place_o = batch_q[1:0];
  assign first_o = first;
  assign last_o = last_group;
  assign slot_o = slot_q;
  assign computed_o = batch_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      room_q <= '0;
      slot_q <= '0;
    end else if (start_i) begin
      room_q <= (Dw + 1)'(Depth);
      slot_q <= '0;
    end else begin
      room_q <= room_q - (Dw + 1)'(valid_o && first) + (Dw + 1)'(pop_i);
      if (valid_o && last_group) slot_q <= slot_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      run_q <= 1'b0;
      batch_q <= '0;
      oy_q <= '0;
      ox_q <= '0;
      group_q <= '0;
      row_q <= '0;
      tap_q <= '0;
      third_q <= '0;
      group_base_q <= '0;
      row_base_q <= '0;
      row_off_q <= '0;
      in_row_q <= '0;
      vec_page_q <= '0;
      vec_bank_q <= '0;
      vec_col_q <= '0;
      tap_page_q <= '0;
      tap_bank_q <= '0;
      tap_col_q <= '0;
      word_base_q <= '0;
      word_q <= '0;
    end else if (clr_i) begin
      run_q <= 1'b0;
      batch_q <= '0;
    end else if (start_i) begin
      run_q <= 1'b1;
      batch_q <= '0;
      oy_q <= '0;
      ox_q <= '0;
      group_q <= '0;
      row_q <= '0;
      tap_q <= '0;
      third_q <= '0;
      group_base_q <= '0;
      row_base_q <= -{7'd0, top_pages};
      row_off_q <= '0;
      in_row_q <= -$signed({11'd0, task_i.pt});
      {vec_page_q, vec_bank_q} <= left_edge;
      {tap_page_q, tap_bank_q} <= left_edge;
      vec_col_q <= left_col;
      tap_col_q <= left_col;
      word_base_q <= '0;
      word_q <= '0;
    end else if (valid_o) begin
      // innermost: tap groups, then kernel rows, then channel groups
      word_q <= word_q + 10'd1;
      tap_q <= tap_q + 3'd1;
      {tap_page_q, tap_bank_q} <= tap_next;
      tap_col_q <= tap_col_q + 14'(sac_pkg::FwVec);
      if (last_tap) begin
        tap_q <= '0;
        {tap_page_q, tap_bank_q} <= {vec_page_q, vec_bank_q};
        tap_col_q <= vec_col_q;
        row_q <= row_q + 4'd1;
        row_off_q <= row_off_q + in_pages;
      end
      if (last_row) begin
        row_q <= '0;
        row_off_q <= '0;
        group_q <= group_q + 12'd1;
        group_base_q <= group_base_q + geom_i.in_group;
        third_q <= !geom_i.k1 || third_q == 2'd2 ? 2'd0 : third_q + 2'd1;
        // with kernel width 1 three channel groups use the same words
        if (geom_i.k1 && third_q != 2'd2) word_q <= word_base_q;
        else word_base_q <= word_q + 10'd1;
      end
      if (last_group) begin
        group_q <= '0;
        group_base_q <= '0;
        third_q <= '0;
        word_q <= '0;
        word_base_q <= '0;
        ox_q <= ox_next[11:0];
        {vec_page_q, vec_bank_q} <= vec_next;
        {tap_page_q, tap_bank_q} <= vec_next;
        vec_col_q <= vec_col_next;
        tap_col_q <= vec_col_next;
      end
      if (last_vec) begin
        ox_q <= '0;
        {vec_page_q, vec_bank_q} <= left_edge;
        {tap_page_q, tap_bank_q} <= left_edge;
        vec_col_q <= left_col;
        tap_col_q <= left_col;
        oy_q <= oy_q + 10'd1;
        row_base_q <= row_base_q + {7'd0, stride_pages};
        in_row_q <= in_row_q + $signed({11'd0, task_i.stride});
      end
      if (last_oy) begin
        oy_q <= '0;
        row_base_q <= -{7'd0, top_pages};
        in_row_q <= -$signed({11'd0, task_i.pt});
        batch_q <= batch_q + 12'd1;
        run_q <= !last_batch;
      end
    end
  end

  logic unused;
  assign unused = ^{task_i, geom_i};

endmodule
