// Corners of the places where a started task waits: one for each unit.
// hit: tests sequence, nonsense and faults
module task_slot_cover (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,
    input logic start_i,
    input logic task_ready_i,
    input logic task_valid_o,
    input logic set_config_o,
    input logic set_overrun_o,
    input logic taking,
    input logic checking
);

  // bug: a task that waits is changed by later writes
  waits: cover property (@(posedge clk_i) disable iff (!rst_ni) task_valid_o && !task_ready_i);
  // bug: a refused task runs, or blocks the next one
  refused: cover property (@(posedge clk_i) disable iff (!rst_ni) set_config_o);
  // bug: a start too many replaces the task that waits
  overrun: cover property (@(posedge clk_i) disable iff (!rst_ni) set_overrun_o);
  // bug: a start too many in the cycle in which the place gets free is both taken and refused
  overrun_valid: cover property (@(posedge clk_i) disable iff (!rst_ni) start_i && task_valid_o && task_ready_i);
  // bug: a task that waits at a reset runs behind it
  clear_valid: cover property (@(posedge clk_i) disable iff (!rst_ni) clr_i && task_valid_o);
  // bug: a check that a reset interrupts gives its verdict to the next task
  clear_checking: cover property (@(posedge clk_i) disable iff (!rst_ni) clr_i && checking);

endmodule

bind task_slot task_slot_cover u_task_slot_cover (.*, .taking(slot_q == Snap), .checking(slot_q == Check));
