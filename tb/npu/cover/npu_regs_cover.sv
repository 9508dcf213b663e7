// Corners of the register file: order of the channels, flags that rise while they are cleared, soft reset.
// hit: tests regs, sequence and jobs
module npu_regs_cover (
    input logic clk_i,
    input logic rst_ni,
    input logic awvalid_i,
    input logic awready_o,
    input logic wvalid_i,
    input logic wready_o,
    input logic aw_have_q,
    input logic w_have_q,
    input logic srst_q,
    input logic wr_srst,
    input logic [2:0] wr_start,
    input logic [31:0] clr_irq,
    input logic [2:0] irq_set,
    input logic [31:0] err_set,
    input logic [2:0] irq_q,
    input logic [31:0] err_q,
    input logic [2:0] unit_busy,
    input logic [2:0] unit_done,
    input logic alu_result_we_i,
    input logic alu_done_i
);

  // bug: a write whose address comes first takes old data
  address_first: cover property (@(posedge clk_i) disable iff (!rst_ni) aw_have_q && !w_have_q && !wvalid_i);
  // bug: a write whose address and data come together is done twice
  both_at_once: cover property (@(posedge clk_i) disable iff (!rst_ni) awvalid_i && awready_o && wvalid_i && wready_o);
  // bug: a start while its unit works stops the task
  start_busy: cover property (@(posedge clk_i) disable iff (!rst_ni) wr_start != 3'd0 && (wr_start & unit_busy) != 3'd0);
  // bug: an interrupt that comes while its flag is cleared is lost
  irq_both: cover property (@(posedge clk_i) disable iff (!rst_ni) (clr_irq[2:0] & irq_set) != 3'd0);
  // hit: jobs:mix=units wait=irq (more cases: a unit is done as the flag of another one is cleared)
  // bug: clearing one flag takes a new one of another unit along
  irq_other: cover property (@(posedge clk_i) disable iff (!rst_ni) clr_irq[2:0] != 3'd0 && (irq_set & ~clr_irq[2:0]) != 3'd0);
  // bug: an interrupt of a flag that is still set toggles it
  irq_again: cover property (@(posedge clk_i) disable iff (!rst_ni) (irq_q & irq_set) != 3'd0);
  // bug: an error that is set already raises no interrupt
  err_again: cover property (@(posedge clk_i) disable iff (!rst_ni) (err_q & err_set) != 32'd0);
  // hit: jobs:mix=units bus=ideal (more cases: last write responses of two units in one cycle)
  // bug: two units are done in one cycle: one is not counted
  done_two: cover property (@(posedge clk_i) disable iff (!rst_ni) (unit_done & (unit_done - 3'd1)) != 3'd0);
  // bug: a reset leaves a unit busy
  reset_busy: cover property (@(posedge clk_i) disable iff (!rst_ni) wr_srst && unit_busy != 3'd0);
  // bug: a flag that rises with a reset stays
  reset_flag: cover property (@(posedge clk_i) disable iff (!rst_ni) srst_q && irq_set != 3'd0);
  // bug: the result of a task that is no reduction replaces the last sum
  result_kept: cover property (@(posedge clk_i) disable iff (!rst_ni) alu_done_i && !alu_result_we_i);

endmodule

bind npu_regs npu_regs_cover u_npu_regs_cover (.*);
