// The processing element with one multiplier for two products (mesh_pkg::pe_pack_f) against its definition, for all 256
// values of a0 in one cycle. wrong_o: how many of them differ, one cycle later; first_o: the first of these.
module pe_pack_bench (
  input  logic        clk_i,
  input  logic [ 7:0] a1_i,
  input  logic [ 7:0] w_i,
  input  logic [31:0] d1_i,
  input  logic [31:0] d0_i,
  output logic [ 8:0] wrong_o,
  output logic [ 7:0] first_o
);

  logic [8:0]         wrong;
  logic [7:0]         first;
  logic [31:0]        sum1, sum0;
  always_comb begin
    wrong = '0;
    first = '0;
    sum1 = $signed(d1_i) + $signed(a1_i) * $signed(w_i);
    sum0 = '0;
    for (int unsigned a0 = 0; a0 < 256; a0++) begin
      sum0 = $signed(d0_i) + $signed(8'(a0)) * $signed(w_i);
      if (mesh_pkg::pe_pack_f(a1_i, 8'(a0), w_i, d1_i, d0_i) != {sum1, sum0}) begin
        if (wrong == '0) first = 8'(a0);
        wrong = wrong + 9'd1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    wrong_o <= wrong;
    first_o <= first;
  end

endmodule
