// Arithmetic of a processing element (docs/npu/npu.md section 4.3).
package mesh_pkg;

  // A processing element with one multiplier (document 002, section 3.2.2, equations 4.8 and 4.9).
  //
  // INT8 (wide = 0): {d1 + a1 * w, d0 + a0 * w}; w is the weight with its sign extended. (a1 << 16) + a0 has 25 bits
  // and fits the wide operand of a DSP slice. The high half of the product lacks 1 where the low one is negative; its
  // bit 15, added, corrects that. Products are split before they are added, so sums wrap at 32 bits as with two
  // multipliers. INT16 (wide = 1): d + {a1, a0} * w, a sum of 40 bits, {d1[7:0], d0}; its sign is extended.
  function automatic logic [63:0] pe_pack_f(input logic wide, input logic [7:0] a1, input logic [7:0] a0,
                                            input logic [15:0] w, input logic [31:0] d1, input logic [31:0] d0);
    logic signed [24:0] both;
    logic signed [39:0] product;
    logic [39:0] sum;
    both = $signed({a1[7], a1, 16'd0}) + $signed({{17{a0[7]}}, a0});
    if (wide) both = {{9{a1[7]}}, a1, a0};
    product = both * $signed(w);
    sum = {d1[7:0], d0} + product;
    pe_pack_f = {d1 + {{16{product[31]}}, product[31:16]} + {31'd0, product[15]},
                 d0 + {{16{product[15]}}, product[15:0]}};
    if (wide) pe_pack_f = {{24{sum[39]}}, sum};
  endfunction

endpackage
