// Corners of the loader of inputs: the ring, chunks, rows that are complete.
// hit: tests conv and convert
module ifm_ld_cover #(
    parameter int unsigned Aw = 14
) (
    input logic clk_i,
    input logic rst_ni,
    input logic take,
    input logic last_blk,
    input logic last_chunk,
    input logic fits,
    input logic waiting,
    input logic [1:0] job_valid_o,
    input logic [1:0] job_ready_i,
    input logic [Aw:0] used_q,
    input logic free_i,
    input logic task_pop_o,
    input logic chunk_done,
    input logic task_done,
    input logic [15:0] done0_q,
    input logic [15:0] done1_q,
    input logic [15:0] need0,
    input logic [15:0] need1,
    input logic [5:0] flight_q,
    input logic par_q
);

  // bug: a chunk overwrites rows that are still needed
  ring_full: cover property (@(posedge clk_i) disable iff (!rst_ni) waiting && !fits);
  // bug: room that comes just now is not seen
  ring_freed: cover property (@(posedge clk_i) disable iff (!rst_ni) waiting && !fits && free_i);
  // bug: rows that are freed while a chunk is taken count wrong
  free_take: cover property (@(posedge clk_i) disable iff (!rst_ni) free_i && take && last_blk);
  // bug: a job goes to the layout unit that is not ready
  unit_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) (job_valid_o & ~job_ready_i) != 2'b00);
  // bug: a last chunk that is not full is taken for a whole one
  chunk_last: cover property (@(posedge clk_i) disable iff (!rst_ni) take && last_chunk && !last_blk);
  // bug: a task of one job is complete before it begins
  one_job: cover property (@(posedge clk_i) disable iff (!rst_ni) take && last_chunk && last_blk && flight_q == 6'd0);
  // bug: the next task is loaded over the one before
  runs_ahead: cover property (@(posedge clk_i) disable iff (!rst_ni) task_pop_o && used_q != '0);
  // bug: a chunk counts as complete when one unit is done
  one_ahead: cover property (@(posedge clk_i) disable iff (!rst_ni) done0_q >= need0 && need0 != 16'd0 && done1_q < need1);
  // bug: a chunk counts as complete when the other unit is done
  other_ahead: cover property (@(posedge clk_i) disable iff (!rst_ni) done1_q >= need1 && need1 != 16'd0 && done0_q < need0);
  // bug: rows of the next chunk are counted to this one
  chunk_done_case: cover property (@(posedge clk_i) disable iff (!rst_ni) chunk_done && !task_done);
  // bug: the units change places one chunk late
  odd: cover property (@(posedge clk_i) disable iff (!rst_ni) take && par_q && last_blk);

endmodule

bind ifm_ld ifm_ld_cover #(.Aw(Aw)) u_ifm_ld_cover (.*, .waiting(state_q == Space));
