// input_reader (document 001, section 4.2.1): the pages of the input from memory to the feature cache.
//
// start_i: read geom_i.in_all pages, row by row in the order channel group, row, column (equation 24); a row of a
// channel group is one job of the DMA, at IN + group * IN_STEP + row * bytes of a row. A page takes Beats beats of 16
// bytes, which go to the cache one a cycle as they arrive. done_o pulses with the last one.
module sac_input #(
  parameter int unsigned WVec = 3,
  parameter int unsigned CVec = 2,
  localparam int unsigned Beats = (WVec * CVec + 15) / 16  // of a page: 1 to 7
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clr_i,
  input  logic                 start_i,
  input  sac_pkg::layer_task_t task_i,
  input  sac_pkg::geom_t       geom_i,
  output logic                 done_o,
  // jobs and data of the DMA
  output logic                 req_valid_o,
  input  logic                 req_ready_i,
  output logic [         31:0] req_addr_o,
  output logic [         23:0] req_bytes_o,
  input  logic                 dat_valid_i,
  input  logic [        127:0] dat_i,
  // cache
  output logic                 we_o,
  output logic [         18:0] page_o,
  output logic [          2:0] beat_o,
  output logic [        127:0] data_o
);

  // beats of a row; a constant with few ones, so shifts and additions
  function automatic logic [11:0] row_beats(input logic [8:0] pages);
    row_beats = '0;
    for (int unsigned i = 0; i < 3; i++) if (((Beats >> i) & 1) != 0) row_beats = row_beats + ({3'd0, pages} << i);
  endfunction

  logic jobs_q;  // jobs are left
  logic busy_q;
  logic [11:0] group_q;
  logic [9:0] row_q;
  logic [27:0] group_addr_q;  // units of 16 bytes
  logic [27:0] addr_q;
  logic [18:0] page_q;
  logic [2:0] beat_q;
  logic [11:0] beats;
  logic last_row;
  logic last_group;
  logic last_beat;
  assign beats = row_beats(geom_i.in_pages);
  assign last_row = row_q == task_i.h - 10'd1;
  assign last_group = group_q == geom_i.groups - 12'd1;
  assign last_beat = beat_q == 3'(Beats - 1);

  assign req_valid_o = jobs_q;
  assign req_addr_o = {addr_q, 4'd0};
  assign req_bytes_o = {8'd0, beats, 4'd0};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      jobs_q <= 1'b0;
      group_q <= '0;
      row_q <= '0;
      group_addr_q <= '0;
      addr_q <= '0;
    end else if (clr_i) begin
      jobs_q <= 1'b0;
    end else if (start_i) begin
      jobs_q <= 1'b1;
      group_q <= '0;
      row_q <= '0;
      group_addr_q <= task_i.in;
      addr_q <= task_i.in;
    end else if (jobs_q && req_ready_i) begin
      row_q <= last_row ? 10'd0 : row_q + 10'd1;
      addr_q <= addr_q + {16'd0, beats};
      if (last_row) begin
        group_q <= group_q + 12'd1;
        group_addr_q <= group_addr_q + task_i.in_step;
        addr_q <= group_addr_q + task_i.in_step;
        jobs_q <= !last_group;
      end
    end
  end

  assign we_o = busy_q && dat_valid_i;
  assign page_o = page_q;
  assign beat_o = beat_q;
  assign data_o = dat_i;
  assign done_o = we_o && last_beat && {12'd0, page_q} == geom_i.in_all - 31'd1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      page_q <= '0;
      beat_q <= '0;
    end else if (clr_i || done_o) begin
      busy_q <= 1'b0;
    end else if (start_i) begin
      busy_q <= 1'b1;
      page_q <= '0;
      beat_q <= '0;
    end else if (we_o) begin
      beat_q <= last_beat ? 3'd0 : beat_q + 3'd1;
      if (last_beat) page_q <= page_q + 19'd1;
    end
  end

  logic unused;
  assign unused = ^{task_i, geom_i};

endmodule
