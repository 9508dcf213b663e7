// Corners of the arbiter and the burst splitter of a DMA channel.
// hit: any test; with bus=hostile; test faults
module dma_split_cover #(
    parameter int unsigned NumReq = 4,
    parameter int unsigned CntW = 5,
    parameter int unsigned OwnW = 4
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,
    input logic [NumReq-1:0] req_valid_i,
    input logic job_wready,
    input logic job_valid,
    input logic push,
    input logic [CntW-1:0] flight_q,
    input logic ax_valid_q,
    input logic ax_ready_i,
    input logic cur_last,
    input logic more_q,
    input logic [8:0] cur_len,
    input logic [8:0] to_page,
    input logic [20:0] cur_beats,
    input logic bst_ready_i,
    input logic done_i,
    input logic [3:0] bst_off_o,
    input logic [OwnW-1:0] own_wr_q
);

  // bug: two requesters are granted at once, or the later one first
  contention: cover property (@(posedge clk_i) disable iff (!rst_ni) job_wready && !clr_i && (req_valid_i & (req_valid_i - 1'b1)) != '0);
  // bug: a job is taken although the queue is full
  queue_full: cover property (@(posedge clk_i) disable iff (!rst_ni) req_valid_i != '0 && !job_wready);
  // bug: the seventeenth burst leaves, or the count wraps
  flight_full: cover property (@(posedge clk_i) disable iff (!rst_ni) job_valid && !clr_i && flight_q == CntW'(16));
  // bug: the place of a burst that ends is not free in the next cycle
  flight_full_done: cover property (@(posedge clk_i) disable iff (!rst_ni) job_valid && flight_q == CntW'(16) && done_i);
  // bug: a burst that begins while another one ends counts twice
  flight_both: cover property (@(posedge clk_i) disable iff (!rst_ni) push && done_i);
  // bug: the channel is idle one burst early
  flight_last: cover property (@(posedge clk_i) disable iff (!rst_ni) flight_q == CntW'(1) && done_i && !push);
  // bug: a burst leaves that the data side has no place for
  info_full: cover property (@(posedge clk_i) disable iff (!rst_ni) job_valid && !clr_i && !bst_ready_i);
  // bug: the second part of a job begins at the address of the first
  split: cover property (@(posedge clk_i) disable iff (!rst_ni) push && !more_q && !cur_last);
  // bug: a job of three parts ends after two
  split_again: cover property (@(posedge clk_i) disable iff (!rst_ni) push && more_q && !cur_last);
  // bug: one beat before 4 KB is left out, or joined to the rest
  split_one: cover property (@(posedge clk_i) disable iff (!rst_ni) push && !more_q && !cur_last && to_page == 9'd1);
  // bug: a burst that ends just at 4 KB is cut once more
  ends_at_page: cover property (@(posedge clk_i) disable iff (!rst_ni) push && cur_last && cur_beats == {12'd0, to_page});
  // bug: a length of one beat is 0, or 256
  one_beat: cover property (@(posedge clk_i) disable iff (!rst_ni) push && cur_len == 9'd0);
  // bug: a length of 256 beats wraps to 0
  whole_page: cover property (@(posedge clk_i) disable iff (!rst_ni) push && cur_len == 9'd255);
  // bug: the beats of an unaligned job are one too few
  unaligned: cover property (@(posedge clk_i) disable iff (!rst_ni) push && !more_q && bst_off_o != 4'd0);
  // bug: the next burst replaces an address that has not been taken
  address_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) ax_valid_q && !ax_ready_i && job_valid);
  // bug: an address is lost when it follows at once
  address_follows: cover property (@(posedge clk_i) disable iff (!rst_ni) ax_valid_q && ax_ready_i && push);
  // bug: errors are blamed on the wrong requester when the list of owners wraps
  owner_wraps: cover property (@(posedge clk_i) disable iff (!rst_ni) push && own_wr_q == '1);
  // bug: a job that was queued at a reset runs later
  clear_queued: cover property (@(posedge clk_i) disable iff (!rst_ni) clr_i && job_valid);
  // bug: the rest of a job that was cut off by a reset is prefixed to the next job
  clear_split: cover property (@(posedge clk_i) disable iff (!rst_ni) clr_i && more_q);
  // bug: an address is withdrawn by a reset
  clear_presented: cover property (@(posedge clk_i) disable iff (!rst_ni) clr_i && ax_valid_q && !ax_ready_i);

endmodule

bind dma_split dma_split_cover #(.NumReq(NumReq), .CntW(CntW), .OwnW(OwnW)) u_dma_split_cover (.*);
