// Corners of the output of POOL.
// hit: test pool
module pool_out_cover (
    input logic clk_i,
    input logic rst_ni,
    input logic [1:0] full_q,
    input logic start_row,
    input logic we_i,
    input logic end_i,
    input logic release_o,
    input logic issue,
    input logic job_end,
    input logic row_end,
    input logic adv,
    input logic o_valid_q,
    input logic o_last_q,
    input logic job_room,
    input logic wr_valid_o,
    input logic wr_ready_i,
    input logic req_valid_o,
    input logic req_ready_i,
    input logic [2:0] o_words_q,
    input logic one,
    input logic half_q,
    input logic sending
);

  // bug: a row of results overwrites one that waits
  both_full: cover property (@(posedge clk_i) disable iff (!rst_ni) full_q == 2'd2);
  // bug: a half that fills up while the other one is given back counts twice
  full_both: cover property (@(posedge clk_i) disable iff (!rst_ni) end_i && release_o);
  // bug: results are read where they are written
  write_read: cover property (@(posedge clk_i) disable iff (!rst_ni) we_i && issue);
  // bug: a beat is lost when there is no room for it
  waits_room: cover property (@(posedge clk_i) disable iff (!rst_ni) wr_valid_o && !wr_ready_i);
  // bug: the last beat of a job leaves before its job is known
  jobs_full: cover property (@(posedge clk_i) disable iff (!rst_ni) o_valid_q && o_last_q && !job_room);
  // bug: a job is asked for twice
  job_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) req_valid_o && !req_ready_i);
  // bug: words behind the end of a row are written
  partial: cover property (@(posedge clk_i) disable iff (!rst_ni) wr_valid_o && wr_ready_i && o_words_q != 3'd4);
  // bug: the second channel of a row begins with the first one's words
  jobs: cover property (@(posedge clk_i) disable iff (!rst_ni) issue && job_end && !row_end);
  // bug: a job of one beat does not end
  one_beat: cover property (@(posedge clk_i) disable iff (!rst_ni) start_row && one);
  // bug: the second row is taken from the first half
  second_half: cover property (@(posedge clk_i) disable iff (!rst_ni) issue && half_q);
  // bug: the next row begins before the last word of this one has left
  follows: cover property (@(posedge clk_i) disable iff (!rst_ni) row_end && full_q == 2'd2);
  // bug: the read stage moves on while a beat waits
  stalls: cover property (@(posedge clk_i) disable iff (!rst_ni) sending && !adv);

endmodule

bind pool_out pool_out_cover u_pool_out_cover (.*, .sending(state_q == Send));
