// The accumulators as a netlist: 2N instances of acc_cell, an address for all of them, delay lines for the flags
// (thesis section 3.2.1; contract: header of rtl/npu/acc/acc.sv). Ports and timing are those of `acc`; it is there to
// be compared with. One difference: a sum that is not valid keeps the value of the last valid one of its column.
module acc_struct #(
  parameter int unsigned N = 8
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            en_i,
  input  logic            first_i,
  input  logic            last_i,
  input  logic [32*N-1:0] ps0_i,
  input  logic [32*N-1:0] ps1_i,
  output logic [   N-1:0] valid_o,
  output logic [32*N-1:0] sum0_o,
  output logic [32*N-1:0] sum1_o
);

  localparam int unsigned Aw = $clog2(N);

  logic [ N-1:0] first;  // of each column
  logic [ N-1:0] last;
  logic [Aw-1:0] write_q;
  logic [Aw-1:0] read;

  assign read = write_q + 1'b1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) write_q <= {Aw{1'b0}};
    else if (en_i) write_q <= read;
  end

  // a flag reaches a column one cycle after the column to its left
  assign first[0] = first_i;
  assign last[0] = last_i;
  for (genvar c = 1; c < N; c++) begin : g_flag
    logic first_q, last_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        first_q <= 1'b0;
        last_q <= 1'b0;
      end else if (en_i) begin
        first_q <= first[c-1];
        last_q <= last[c-1];
      end
    end
    assign first[c] = first_q;
    assign last[c] = last_q;
  end

  for (genvar c = 0; c < N; c++) begin : g_col
    logic valid_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid_q <= 1'b0;
      else if (en_i) valid_q <= last[c];
    end
    assign valid_o[c] = valid_q;

    acc_cell #(
      .Words(N)
    ) u_cell0 (
      .clk_i,
      .en_i,
      .write_i(write_q),
      .read_i(read),
      .first_i(first[c]),
      .last_i(last[c]),
      .value_i(ps0_i[32*c+:32]),
      .sum_o(sum0_o[32*c+:32])
    );
    acc_cell #(
      .Words(N)
    ) u_cell1 (
      .clk_i,
      .en_i,
      .write_i(write_q),
      .read_i(read),
      .first_i(first[c]),
      .last_i(last[c]),
      .value_i(ps1_i[32*c+:32]),
      .sum_o(sum1_o[32*c+:32])
    );
  end

endmodule
