// What code coverage of a small design must show (tests/test_cov_code.py).
module cov_part #(
  parameter int unsigned Width = 4
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [Width-1:0] a_i,
  output logic [Width-1:0] q_o
);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      q_o <= '1;
    end else if (a_i == '0) begin
      q_o <= q_o;
    end else begin
      q_o <= a_i;
    end
  end

  // bug: a zero is taken for a value
  zero: cover property (@(posedge clk_i) disable iff (!rst_ni) a_i == '0);
  // bug: the largest value wraps
  ones: cover property (@(posedge clk_i) disable iff (!rst_ni) a_i == '1);

endmodule

module cov_toy (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic [7:0] a_i,
  output logic [7:0] q_o,
  output logic [3:0] r_o,
  output logic       one_o
);

  assign one_o = 1'b1;
  cov_part #(.Width(8)) u_wide (.clk_i, .rst_ni, .a_i, .q_o);
  cov_part #(.Width(4)) u_narrow (.clk_i, .rst_ni, .a_i(a_i[3:0]), .q_o(r_o));

  logic [1:0] state_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= 2'd0;
    end else begin
      case (a_i[1:0])
        2'd0: state_q <= 2'd0;
        2'd3: state_q <= 2'd3;
        default: state_q <= 2'd1;
      endcase
    end
  end

  // verilator coverage_off
  logic [7:0] shadow_q;
  always_ff @(posedge clk_i) begin
    if (a_i[7]) shadow_q <= a_i;
  end
  // verilator coverage_on

endmodule
