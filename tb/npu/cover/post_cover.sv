// Corners of the write-back: groups, waits, the last channel and tile.
// hit: tests conv, dw and linear
module post_cover #(
    parameter int unsigned Ln = 3,
    parameter int unsigned Tw = 8,
    parameter int unsigned Slots = 16
) (
    input logic clk_i,
    input logic rst_ni,
    input logic sending,
    input logic grouping,
    input logic next_job,
    input logic r_walk,
    input logic r_blk_ok,
    input logic f_room,
    input logic f_issue,
    input logic job_valid,
    input logic psum_valid_i,
    input logic [1:0] sent_q,
    input logic group_done,
    input logic [Tw-1:0] avail_q,
    input logic [Tw-1:0] group,
    input logic last_group,
    input logic last_blk,
    input logic chan_exists,
    input logic last_chan,
    input logic streams_idle,
    input logic r_step,
    input logic r_beat,
    input logic r_psum,
    input logic tile_last,
    input logic [Ln+1:0] rnpix,
    input logic psum_add,
    input logic last_word,
    input logic task_valid_i
);

  // bug: a group begins before all of its tiles are complete
  waits_tiles: cover property (@(posedge clk_i) disable iff (!rst_ni) grouping && avail_q != '0 && avail_q < group);
  // bug: tiles of the next group are counted to this one
  tiles_ahead: cover property (@(posedge clk_i) disable iff (!rst_ni) grouping && avail_q > group);
  // bug: a word is lost when its region of the send buffer is full
  waits_room: cover property (@(posedge clk_i) disable iff (!rst_ni) job_valid && !f_room);
  // bug: old partial sums are added
  waits_sums: cover property (@(posedge clk_i) disable iff (!rst_ni) job_valid && psum_add && !psum_valid_i);
  // bug: old partial sums are added before the quantiser
  waits_sums_walk: cover property (@(posedge clk_i) disable iff (!rst_ni) r_walk && r_beat && !psum_valid_i);
  // bug: a pass begins before its block is known
  blocks_full: cover property (@(posedge clk_i) disable iff (!rst_ni) r_walk && !r_blk_ok);
  // bug: the read is asked for twice while the write waits
  sums_first: cover property (@(posedge clk_i) disable iff (!rst_ni) sending && sent_q == 2'b10);
  // bug: the write is asked for twice while the read waits
  write_first: cover property (@(posedge clk_i) disable iff (!rst_ni) sending && sent_q == 2'b01);
  // bug: the last group of a block is taken for a whole one
  group_last: cover property (@(posedge clk_i) disable iff (!rst_ni) group_done && last_group && !last_blk);
  // bug: tiles that do not exist are given back
  group_short: cover property (@(posedge clk_i) disable iff (!rst_ni) group_done && group == Tw'(1));
  // bug: the end of a task is missed, or seen twice
  task_last: cover property (@(posedge clk_i) disable iff (!rst_ni) group_done && last_group && last_blk);
  // bug: a column without a channel is written
  no_channel: cover property (@(posedge clk_i) disable iff (!rst_ni) next_job && !chan_exists);
  // bug: a group is given back before its last word is read
  stream_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) next_job && last_chan && !streams_idle);
  // bug: a job of one word does not end
  one_word: cover property (@(posedge clk_i) disable iff (!rst_ni) f_issue && last_word);
  // bug: pixels behind the end of the map are summed
  tile_short: cover property (@(posedge clk_i) disable iff (!rst_ni) r_step && tile_last && rnpix != (Ln+2)'(2 << Ln));
  // bug: partial sums are read for channels that do not exist
  channel_missing: cover property (@(posedge clk_i) disable iff (!rst_ni) r_walk && psum_add && !r_psum);
  // bug: the next task takes the factors of the one before
  follows: cover property (@(posedge clk_i) disable iff (!rst_ni) group_done && last_group && last_blk && task_valid_i);

endmodule

bind post post_cover #(.Ln(Ln), .Tw(Tw), .Slots(Slots)) u_post_cover (.*, .sending(state_q == Send), .grouping(state_q == Group), .next_job(state_q == NextJob), .psum_add(task_i.psum_add));
