// Corners of the read side: realignment, back-pressure, dropping after a soft reset.
// hit: any test; with bus=hostile; test faults
module dma_rd_cover (
    input logic clk_i,
    input logic rst_ni,
    input logic dropping,
    input logic skid_valid,
    input logic rvalid_i,
    input logic rready_o,
    input logic dat_valid_q,
    input logic dat_ready_i,
    input logic out_free,
    input logic have,
    input logic emit,
    input logic makes_tail,
    input logic single,
    input logic tail_q,
    input logic job_last,
    input logic burst_end,
    input logic [3:0] inf_off,
    input logic [3:0] inf_tail,
    input logic [1:0] rresp_i,
    input logic rlast_i,
    input logic arvalid_o,
    input logic arready_i
);

  // bug: data is overwritten while its taker waits
  waits_user: cover property (@(posedge clk_i) disable iff (!rst_ni) dat_valid_q && !dat_ready_i && skid_valid);
  // bug: a beat is lost when the two entries behind the bus are full
  bus_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) rvalid_i && !rready_o);
  // bug: the first beat of an unaligned job comes out by itself
  no_output: cover property (@(posedge clk_i) disable iff (!rst_ni) have && !emit);
  // bug: the last bytes of an unaligned job do not come
  tail: cover property (@(posedge clk_i) disable iff (!rst_ni) have && makes_tail && out_free);
  // bug: the next job overtakes the tail of the one before
  tail_behind: cover property (@(posedge clk_i) disable iff (!rst_ni) tail_q && skid_valid);
  // bug: a job within one beat is shifted the wrong way
  single_case: cover property (@(posedge clk_i) disable iff (!rst_ni) have && single && inf_off != 4'd0);
  // bug: bytes beyond the end of a job are not zero
  partial: cover property (@(posedge clk_i) disable iff (!rst_ni) have && job_last && inf_tail != 4'd0);
  // bug: a last beat of 16 bytes is masked as one of none
  full_last: cover property (@(posedge clk_i) disable iff (!rst_ni) have && job_last && inf_tail == 4'd0);
  // bug: a job goes on with the wrong half of the beat behind a burst
  burst_ends: cover property (@(posedge clk_i) disable iff (!rst_ni) have && burst_end && !job_last);
  // bug: an error in the middle of a burst is not seen
  error: cover property (@(posedge clk_i) disable iff (!rst_ni) rvalid_i && rready_o && rresp_i[1] && !rlast_i);
  // bug: an error in the last beat is blamed on the next burst
  error_last: cover property (@(posedge clk_i) disable iff (!rst_ni) rvalid_i && rready_o && rresp_i[1] && rlast_i);
  // bug: data that comes after a reset is given to the next task
  drop_data: cover property (@(posedge clk_i) disable iff (!rst_ni) dropping && rvalid_i);
  // bug: an address that waits at a reset is forgotten with its data
  drop_address: cover property (@(posedge clk_i) disable iff (!rst_ni) dropping && arvalid_o && !arready_i);
  // bug: an error in dropped data sets a flag after the reset
  drop_error: cover property (@(posedge clk_i) disable iff (!rst_ni) dropping && rvalid_i && rresp_i[1]);

endmodule

bind dma_rd dma_rd_cover u_dma_rd_cover (.*);
