// Corners of the queue of GEMM tasks.
// hit: tests sequence and conv with serial=0
module gemm_queue_cover #(
    parameter int unsigned Engines = 6
) (
    input logic clk_i,
    input logic rst_ni,
    input logic task_valid_i,
    input logic empty,
    input logic full,
    input logic push,
    input logic [2:0] wptr_q,
    input logic [Engines-1:0] pop_i,
    input logic [3*Engines-1:0] ptr_o,
    input logic [Engines-1:0] valid_o,
    input logic fence
);

  // bug: a fifth task overwrites the first
  queue_full: cover property (@(posedge clk_i) disable iff (!rst_ni) task_valid_i && full);
  // bug: the place of a task that ends is given away in the same cycle
  full_pop: cover property (@(posedge clk_i) disable iff (!rst_ni) full && pop_i[Engines-1]);
  // bug: a task that enters while the last one leaves is lost
  push_pop: cover property (@(posedge clk_i) disable iff (!rst_ni) push && pop_i[Engines-1] && !full);
  // bug: a task passes its fence
  fence_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) task_valid_i && fence && !full && !empty);
  // bug: a fence on an empty queue holds for ever
  fence_free: cover property (@(posedge clk_i) disable iff (!rst_ni) push && fence);
  // bug: a fence opens before the task in front is complete
  fence_last: cover property (@(posedge clk_i) disable iff (!rst_ni) task_valid_i && fence && pop_i[Engines-1]);
  // bug: the pointer wraps one task early
  wraps: cover property (@(posedge clk_i) disable iff (!rst_ni) push && wptr_q == 3'd7);
  // bug: a loader that is three tasks ahead takes the settings of the wrong one
  ahead: cover property (@(posedge clk_i) disable iff (!rst_ni) ptr_o[2:0] - ptr_o[3*(Engines-1)+:3] >= 3'd3);
  // bug: an engine that has nothing to do begins anew
  all_done_but_last: cover property (@(posedge clk_i) disable iff (!rst_ni) valid_o == {1'b1, {(Engines-1){1'b0}}});
  // bug: two engines leave their tasks in one cycle
  pop_two: cover property (@(posedge clk_i) disable iff (!rst_ni) (pop_i & (pop_i - 1'b1)) != '0);

endmodule

bind gemm_queue gemm_queue_cover #(.Engines(Engines)) u_gemm_queue_cover (.*, .fence(task_i.fence));
