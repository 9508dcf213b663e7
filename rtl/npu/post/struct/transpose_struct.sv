// The transposer as a netlist: N x N instances of transpose_cell and a control of three states (thesis section 3.6.2;
// contract: header of rtl/npu/post/transpose.sv). Ports and timing are those of `transpose`; it is there to be compared
// with.
//
// Byte i enters in column N-1-i of row 0, or in row N-1-i of column 0, so that the vector that leaves first is pixel 0.
module transpose_struct #(
  parameter int unsigned N = 8
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic           in_valid_i,
  output logic           in_ready_o,
  input  logic [8*N-1:0] in_data_i,
  input  logic           in_last_i,
  output logic           out_valid_o,
  input  logic           out_ready_i,
  output logic [8*N-1:0] out_data_o
);

  // First: a block enters empty cells; Next: one enters, the one before leaves; Flush: zeros enter, the last one leaves
  localparam logic [1:0] First = 2'd0;
  localparam logic [1:0] Next = 2'd1;
  localparam logic [1:0] Flush = 2'd3;

  localparam int unsigned Ln = $clog2(N);

  logic [1:0]     state_q;
  logic           legal;    // for the proof: state_q is one of the three
  logic [Ln-1:0]  vec_q;    // vectors of the block that have entered
  logic           right_q;  // the cells shift right
  logic           room;     // the output register can take a vector
  logic           move;
  logic [8*N-1:0] enter;
  logic [8*N-1:0] leave;

  assign legal = state_q == First || state_q == Next || state_q == Flush;
  assign room = out_ready_i || !out_valid_o;
  assign in_ready_o = state_q == First || (state_q == Next && room);
  assign move = state_q == Flush ? room : in_valid_i && in_ready_o;
  assign enter = state_q == Flush ? {N{8'd0}} : in_data_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= First;
      vec_q <= {Ln{1'b0}};
      right_q <= 1'b0;
    end else if (move) begin
      vec_q <= vec_q + 1'b1;
      if (&vec_q) begin
        right_q <= !right_q;
        if (state_q == Flush) state_q <= First;
        else state_q <= in_last_i ? Flush : Next;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) out_valid_o <= 1'b0;
    else if (move && state_q != First) out_valid_o <= 1'b1;
    else if (out_ready_i) out_valid_o <= 1'b0;
  end

  for (genvar r = 0; r < N; r++) begin : g_row
    for (genvar c = 0; c < N; c++) begin : g_col
      logic [7:0] above, left, here;
      if (r == 0) begin : g_above
        assign above = enter[8*(N-1-c)+:8];
      end else begin : g_above
        assign above = g_row[r-1].g_col[c].here;
      end
      if (c == 0) begin : g_left
        assign left = enter[8*(N-1-r)+:8];
      end else begin : g_left
        assign left = g_row[r].g_col[c-1].here;
      end
      transpose_cell u_cell (
        .clk_i,
        .en_i(move),
        .right_i(right_q),
        .above_i(above),
        .left_i(left),
        .byte_q_o(here)
      );
    end
  end

  // what leaves next: the last column, or the last row
  for (genvar i = 0; i < N; i++) begin : g_out
    assign leave[8*i+:8] = right_q ? g_row[N-1-i].g_col[N-1].here : g_row[N-1].g_col[N-1-i].here;
  end

  always_ff @(posedge clk_i) begin
    if (move && state_q != First) out_data_o <= leave;
  end

endmodule
