// The mesh as a netlist: N x N instances of pe, registers between them, delay lines at the edges (thesis section 3.2.1,
// figure 3-5; contract: header of rtl/npu/mesh/mesh.sv). Ports and timing are those of `mesh`; it is there to be
// compared with.
//
// Between two rows: a register for the two partial sums, for the weight on its way down and for p. Between two columns:
// a register for the two activations and for sel. The same registers stand in front of row 0 and column 0. Column c
// gets weights and p, row r gets activations and sel, c or r cycles late.
module mesh_struct #(
  parameter int unsigned N = 8
) (
  input  logic            clk_i,
  input  logic            en_i,
  input  logic            wgt_p_i,
  input  logic [ 8*N-1:0] wgt_i,
  input  logic            sel_i,
  input  logic [ 8*N-1:0] act0_i,
  input  logic [ 8*N-1:0] act1_i,
  output logic [32*N-1:0] ps0_o,
  output logic [32*N-1:0] ps1_o
);

  logic [ 8*N-1:0] wgt_in;   // what reaches the upper edge
  logic [   N-1:0] p_in;
  logic [ 8*N-1:0] act0_in;  // what reaches the left edge
  logic [ 8*N-1:0] act1_in;
  logic [   N-1:0] sel_in;

  for (genvar c = 0; c < N; c++) begin : g_top
    delay_line #(.Width(8), .Depth(c)) u_wgt (.clk_i, .en_i, .d_i(wgt_i[8*c+:8]), .q_o(wgt_in[8*c+:8]));
    delay_line #(.Width(1), .Depth(c)) u_p (.clk_i, .en_i, .d_i(wgt_p_i), .q_o(p_in[c]));
  end
  for (genvar r = 0; r < N; r++) begin : g_left
    delay_line #(.Width(8), .Depth(r)) u_act0 (.clk_i, .en_i, .d_i(act0_i[8*r+:8]), .q_o(act0_in[8*r+:8]));
    delay_line #(.Width(8), .Depth(r)) u_act1 (.clk_i, .en_i, .d_i(act1_i[8*r+:8]), .q_o(act1_in[8*r+:8]));
    delay_line #(.Width(1), .Depth(r)) u_sel (.clk_i, .en_i, .d_i(sel_i), .q_o(sel_in[r]));
  end

  // the registers in front of each element, and the partial sums behind it
  for (genvar r = 0; r < N; r++) begin : g_row
    for (genvar c = 0; c < N; c++) begin : g_col
      logic [ 7:0] a0_q, a1_q, b_q;
      logic        p_q, sel_q;
      logic [31:0] s0_q, s1_q;
      logic [ 7:0] a0_d, a1_d, b_d, b_down;
      logic        p_d, sel_d;
      logic [31:0] d0, d1, c0, c1;

      if (c == 0) begin : g_west
        assign a0_d = act0_in[8*r+:8];
        assign a1_d = act1_in[8*r+:8];
        assign sel_d = sel_in[r];
      end else begin : g_west
        assign a0_d = g_row[r].g_col[c-1].a0_q;
        assign a1_d = g_row[r].g_col[c-1].a1_q;
        assign sel_d = g_row[r].g_col[c-1].sel_q;
      end
      if (r == 0) begin : g_north
        assign b_d = wgt_in[8*c+:8];
        assign p_d = p_in[c];
        assign d0 = 32'd0;
        assign d1 = 32'd0;
      end else begin : g_north
        assign b_d = g_row[r-1].g_col[c].b_down;
        assign p_d = g_row[r-1].g_col[c].p_q;
        assign d0 = g_row[r-1].g_col[c].s0_q;
        assign d1 = g_row[r-1].g_col[c].s1_q;
      end

      pe u_pe (
        .clk_i,
        .en_i,
        .p_i(p_q),
        .sel_i(sel_q),
        .a0_i(a0_q),
        .a1_i(a1_q),
        .b_i(b_q),
        .d0_i(d0),
        .d1_i(d1),
        .b_o(b_down),
        .c0_o(c0),
        .c1_o(c1)
      );

      always_ff @(posedge clk_i) begin
        if (en_i) begin
          a0_q <= a0_d;
          a1_q <= a1_d;
          sel_q <= sel_d;
          b_q <= b_d;
          p_q <= p_d;
          s0_q <= c0;
          s1_q <= c1;
        end
      end
    end
  end

  for (genvar c = 0; c < N; c++) begin : g_out
    assign ps0_o[32*c+:32] = g_row[N-1].g_col[c].s0_q;
    assign ps1_o[32*c+:32] = g_row[N-1].g_col[c].s1_q;
  end

endmodule
