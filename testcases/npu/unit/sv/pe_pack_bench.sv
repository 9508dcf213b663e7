// The processing element with one multiplier (mesh_pkg::pe_pack_f) against its definition, for all 256
// values of a0 in one cycle: two INT8 products with w_i, and one of INT16, {a1_i, a0} * {wh_i, w_i}. wrong_o: how many
// results differ, one cycle later; first_o: the first a0 of these.
module pe_pack_bench (
  input  logic        clk_i,
  input  logic [ 7:0] a1_i,
  input  logic [ 7:0] w_i,
  input  logic [ 7:0] wh_i,
  input  logic [31:0] d1_i,
  input  logic [31:0] d0_i,
  output logic [ 8:0] wrong_o,
  output logic [ 7:0] first_o
);

  logic [8:0]         wrong;
  logic [7:0]         first;
  logic [31:0]        sum1, sum0;
  logic [63:0]        sum;
  always_comb begin
    wrong = '0;
    first = '0;
    sum1 = $signed(d1_i) + $signed(a1_i) * $signed(w_i);
    sum0 = '0;
    sum = '0;
    for (int unsigned a0 = 0; a0 < 256; a0++) begin
      sum0 = $signed(d0_i) + $signed(8'(a0)) * $signed(w_i);
      sum = $signed({d1_i[7:0], d0_i}) + $signed({a1_i, 8'(a0)}) * $signed({wh_i, w_i});
      sum = {{24{sum[39]}}, sum[39:0]};  // the element's 40 bits
      if (mesh_pkg::pe_pack_f(1'b0, a1_i, 8'(a0), {{8{w_i[7]}}, w_i}, d1_i, d0_i) != {sum1, sum0} ||
          mesh_pkg::pe_pack_f(1'b1, a1_i, 8'(a0), {wh_i, w_i}, d1_i, d0_i) != sum) begin
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
