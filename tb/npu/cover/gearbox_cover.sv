// Corners of the change of widths.
// hit: tests conv and convert with in_layout=int8
module gearbox_cover (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,
    input logic in_valid_i,
    input logic in_ready_o,
    input logic out_valid_o,
    input logic out_ready_i
);

  // bug: a beat is given up before its last word
  part: cover property (@(posedge clk_i) disable iff (!rst_ni) in_valid_i && out_ready_i && !in_ready_o);
  // bug: a word is skipped while its taker waits
  waits: cover property (@(posedge clk_i) disable iff (!rst_ni) out_valid_o && !out_ready_i);
  // bug: a word comes from an old beat
  empty: cover property (@(posedge clk_i) disable iff (!rst_ni) out_ready_i && !in_valid_i);
  // bug: a half-read beat goes on after it was dropped
  clear: cover property (@(posedge clk_i) disable iff (!rst_ni) clr_i && in_valid_i);

endmodule

bind gearbox gearbox_cover u_gearbox_cover (.*);
