// Bus beats of 128 bits to words of 8*N bits, low part first.
//
// N = 32: two beats make a word, the first one is the low half; the first is held, the word leaves together with the
// second. N = 16: a wire. N = 8 and 4: a beat gives 2 or 4 words and is accepted with the last of them. No bubble: the
// limiting side has a handshake in every cycle. out_valid_o follows in_valid_i and in_ready_o follows out_ready_i in
// the same cycle, so the source must hold its beat while it is stalled. clr_i drops a half-assembled word or a
// half-read beat at the next edge.
// Latency: none but the half word that N = 32 holds. Throughput: a beat or a word a cycle, whichever is less. Document:
// docs/npu/npu.md section 4.
`include "assert.svh"

module gearbox #(
  parameter int unsigned N = 8
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic           clr_i,
  input  logic           in_valid_i,
  output logic           in_ready_o,
  input  logic [  127:0] in_data_i,
  output logic           out_valid_o,
  input  logic           out_ready_i,
  output logic [8*N-1:0] out_data_o
);

  localparam int unsigned W = 8 * N;

  generate
    if (N == 32) begin : g_up
      logic         half_q;
      logic [127:0] low_q;

      assign out_valid_o = half_q && in_valid_i;
      assign in_ready_o  = !half_q || out_ready_i;
      assign out_data_o  = {in_data_i, low_q};

      always_ff @(posedge clk_i) begin
        if (in_valid_i && !half_q) low_q <= in_data_i;
      end

      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) half_q <= 1'b0;
        else if (clr_i) half_q <= 1'b0;
        else if (in_valid_i && in_ready_o) half_q <= !half_q;
      end
    end else if (N == 16) begin : g_pass
      logic unused;

      assign out_valid_o = in_valid_i;
      assign in_ready_o  = out_ready_i;
      assign out_data_o  = in_data_i;
      assign unused      = ^{clk_i, rst_ni, clr_i};
    end else begin : g_down
      localparam int unsigned Words = 128 / W;
      localparam int unsigned Iw = $clog2(Words);
      logic [Iw-1:0] idx_q;

      assign out_valid_o = in_valid_i;
      assign in_ready_o  = out_ready_i && (idx_q == Iw'(Words - 1));
      assign out_data_o  = in_data_i[idx_q*W +: W];

      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) idx_q <= '0;
        else if (clr_i) idx_q <= '0;
        else if (out_valid_o && out_ready_i) idx_q <= idx_q + 1'b1;
      end
    end
  endgenerate

  `ASSERT_STABLE(InStable, in_valid_i, in_ready_o || clr_i, in_data_i)
  `ASSERT_STABLE(OutStable, out_valid_o, out_ready_i || clr_i, out_data_o)

endmodule
