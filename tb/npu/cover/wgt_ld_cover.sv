// Corners of the loader of weights: banks, pieces, weights that stay.
// hit: tests conv, linear and dw
module wgt_ld_cover #(
    parameter int unsigned Aw = 14
) (
    input logic clk_i,
    input logic rst_ni,
    input logic release_i,
    input logic bank_free,
    input logic keep_take,
    input logic checking,
    input logic loading,
    input logic wgt_res,
    input logic [13:0] flight_q,
    input logic rq_more_q,
    input logic req_valid_o,
    input logic req_ready_i,
    input logic [17:0] rq_left,
    input logic last_word,
    input logic block_done,
    input logic last_blk,
    input logic beat_go,
    input logic dat_valid_i,
    input logic par_q,
    input logic rq_first_q
);

  // bug: a block overwrites one that the mesh uses
  bank_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) checking && !bank_free);
  // bug: a bank that is given back just now is waited for once more
  bank_released: cover property (@(posedge clk_i) disable iff (!rst_ni) checking && release_i);
  // bug: weights that stay are loaded into the other bank
  resident: cover property (@(posedge clk_i) disable iff (!rst_ni) block_done && wgt_res);
  // bug: a task that keeps weights uses those of the bank before
  kept: cover property (@(posedge clk_i) disable iff (!rst_ni) keep_take);
  // bug: weights that stay are given back with the task before
  kept_release: cover property (@(posedge clk_i) disable iff (!rst_ni) keep_take && release_i);
  // bug: a piece is asked for beyond what may be in flight
  window: cover property (@(posedge clk_i) disable iff (!rst_ni) loading && rq_more_q && !rq_first_q && flight_q > 14'd64);
  // bug: a piece is asked for twice
  request_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) req_valid_o && !req_ready_i);
  // bug: the last piece of a block has the length of a whole one
  piece_last: cover property (@(posedge clk_i) disable iff (!rst_ni) req_valid_o && rq_left < 18'd1024);
  // bug: a block that ends with a whole piece asks for one more
  piece_whole: cover property (@(posedge clk_i) disable iff (!rst_ni) req_valid_o && rq_left == 18'd1024);
  // bug: the second piece begins where the first does
  pieces: cover property (@(posedge clk_i) disable iff (!rst_ni) req_valid_o && rq_left > 18'd1024);
  // bug: the rest of the last beat becomes the next block
  rest_dropped: cover property (@(posedge clk_i) disable iff (!rst_ni) beat_go && last_word);
  // bug: data of the next block comes while this one ends
  follows: cover property (@(posedge clk_i) disable iff (!rst_ni) block_done && dat_valid_i && !last_blk);
  // bug: an odd number of blocks leaves the banks in the wrong order
  odd: cover property (@(posedge clk_i) disable iff (!rst_ni) block_done && last_blk && par_q);

endmodule

bind wgt_ld wgt_ld_cover #(.Aw(Aw)) u_wgt_ld_cover (.*, .checking(state_q == Check), .loading(state_q == Load), .wgt_res(task_i.wgt_res));
