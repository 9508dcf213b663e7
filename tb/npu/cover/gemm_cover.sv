// Corners between the engines of the GEMM: room, ping-pong, contention.
// hit: tests conv, jobs and sequence
module gemm_cover #(
    parameter int unsigned Tw = 8
) (
    input logic clk_i,
    input logic rst_ni,
    input logic [Tw-1:0] room0_q,
    input logic [Tw-1:0] room1_q,
    input logic tile_room,
    input logic tile_start,
    input logic [1:0] lw_valid,
    input logic [1:0] wgt_full,
    input logic [1:0] wgt_release,
    input logic ifm_free,
    input logic tile_done,
    input logic [1:0] tiles_free,
    input logic task_done_o,
    input logic [1:0] post_wait,
    input logic [1:0] wr_idle_i,
    input logic [1:0] job_valid,
    input logic [1:0] job_ready
);

  // bug: a tile begins without room in the buffer
  room_none: cover property (@(posedge clk_i) disable iff (!rst_ni) !tile_room);
  // bug: the last free tile is given away twice
  room_last: cover property (@(posedge clk_i) disable iff (!rst_ni) tile_start && (room0_q == Tw'(1) || room1_q == Tw'(1)));
  // bug: the slower write-back is not waited for
  room_one_side: cover property (@(posedge clk_i) disable iff (!rst_ni) room0_q == '0 && room1_q != '0);
  // bug: the slower write-back is not waited for
  room_other_side: cover property (@(posedge clk_i) disable iff (!rst_ni) room1_q == '0 && room0_q != '0);
  // bug: a tile that begins while another is given back counts twice
  room_both: cover property (@(posedge clk_i) disable iff (!rst_ni) tile_start && tiles_free != 2'b00);
  // bug: two words for one port: one of them is lost
  layouts: cover property (@(posedge clk_i) disable iff (!rst_ni) lw_valid == 2'b11);
  // bug: both banks are full and the wrong one is used
  weights_full: cover property (@(posedge clk_i) disable iff (!rst_ni) wgt_full == 2'b11);
  // bug: the mesh begins with the weights before
  weights_none: cover property (@(posedge clk_i) disable iff (!rst_ni) wgt_full == 2'b00 && tile_room);
  // bug: a bank is filled again before its last word is used
  weights_swap: cover property (@(posedge clk_i) disable iff (!rst_ni) wgt_release != 2'b00 && wgt_full == 2'b11);
  // bug: rows that are freed while words arrive count wrong
  inputs_free: cover property (@(posedge clk_i) disable iff (!rst_ni) ifm_free && lw_valid != 2'b00);
  // bug: a task is complete before its last response
  done_writes: cover property (@(posedge clk_i) disable iff (!rst_ni) post_wait == 2'b11 && wr_idle_i != 2'b11);
  // bug: a task is complete when one write-back is
  one_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) post_wait == 2'b01 || post_wait == 2'b10);
  // bug: the end of a task and the end of a tile of the next meet
  done_next: cover property (@(posedge clk_i) disable iff (!rst_ni) task_done_o && tile_done);
  // bug: a job for one layout unit goes to the other one
  job_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) (job_valid & ~job_ready) != 2'b00);

endmodule

bind gemm gemm_cover #(.Tw(Tw)) u_gemm_cover (.*);
