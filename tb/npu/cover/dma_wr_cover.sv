// Corners of the write side: lanes, strobes, order of address and data, dropping after a soft reset.
// hit: any test; with bus=hostile; test faults
module dma_wr_cover #(
    parameter int unsigned NumReq = 3
) (
    input logic clk_i,
    input logic rst_ni,
    input logic dropping,
    input logic info_valid,
    input logic step,
    input logic carry_only,
    input logic burst_end,
    input logic job_first,
    input logic job_last,
    input logic out_wready,
    input logic wvalid_o,
    input logic wready_i,
    input logic awvalid_o,
    input logic awready_i,
    input logic bvalid_i,
    input logic [1:0] bresp_i,
    input logic [3:0] inf_off,
    input logic [3:0] inf_end,
    input logic [NumReq-1:0] wdat_valid_i,
    input logic [NumReq-1:0] wdat_ready_o
);

  // bug: an old word is sent when the requester has none yet
  waits_data: cover property (@(posedge clk_i) disable iff (!rst_ni) info_valid && out_wready && !step);
  // bug: a word is lost when the two entries before the bus are full
  waits_bus: cover property (@(posedge clk_i) disable iff (!rst_ni) info_valid && !out_wready);
  // bug: the upper bytes of the last word of an unaligned job are not sent
  carry: cover property (@(posedge clk_i) disable iff (!rst_ni) step && carry_only && !dropping);
  // bug: a job within one beat has the strobes of its first beat alone
  one_beat: cover property (@(posedge clk_i) disable iff (!rst_ni) step && job_first && job_last && inf_off != 4'd0 && inf_end != 4'd15);
  // bug: bytes before an unaligned job are written
  partial_first: cover property (@(posedge clk_i) disable iff (!rst_ni) step && job_first && !job_last && inf_off != 4'd0);
  // bug: bytes behind a job are written
  partial_last: cover property (@(posedge clk_i) disable iff (!rst_ni) step && job_last && !job_first && inf_end != 4'd15);
  // bug: a job goes on with the wrong bytes behind a burst
  burst_ends: cover property (@(posedge clk_i) disable iff (!rst_ni) step && burst_end && !job_last);
  // bug: data that comes before its address is taken goes elsewhere
  data_first: cover property (@(posedge clk_i) disable iff (!rst_ni) wvalid_o && wready_i && awvalid_o && !awready_i);
  // bug: a requester whose turn it is not gives a word
  others_wait: cover property (@(posedge clk_i) disable iff (!rst_ni) (wdat_valid_i & ~wdat_ready_o) != '0 && wdat_ready_o != '0);
  // bug: an error response is not seen
  error: cover property (@(posedge clk_i) disable iff (!rst_ni) bvalid_i && bresp_i[1]);
  // bug: a response and a new burst in one cycle leave the unit idle
  response_starts: cover property (@(posedge clk_i) disable iff (!rst_ni) bvalid_i && awvalid_o && awready_i);
  // bug: beats that a reset leaves unpaid stay unpaid, and the bus hangs
  drop_beats: cover property (@(posedge clk_i) disable iff (!rst_ni) dropping && step);
  // bug: a reset takes the strobes of a beat that waits already
  drop_waiting: cover property (@(posedge clk_i) disable iff (!rst_ni) dropping && wvalid_o && !wready_i);
  // bug: an error response after a reset sets a flag
  drop_error: cover property (@(posedge clk_i) disable iff (!rst_ni) dropping && bvalid_i && bresp_i[1]);

endmodule

bind dma_wr dma_wr_cover #(.NumReq(NumReq)) u_dma_wr_cover (.*);
