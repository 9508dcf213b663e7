// Task slot of a unit: from the write that starts a task to its handshake with the unit. Part of a register file,
// which holds the task.
//
// What it does
//   start_i is 1 in the cycle in which the write of <unit>_CTRL with EN = 1 takes effect. One cycle later the task
//   registers hold their new values and take_o is 1: the register file copies it. check_start_o begins the check of its
//   settings in the next cycle; a legal task is presented on task_valid_o until task_ready_i, for an illegal one
//   set_config_o pulses. free_o is 0 from the cycle after start_i until the task is accepted or dropped; a start in
//   that time is dropped and set_overrun_o pulses with it. clr_i (soft reset) drops the task.
//
// Latency: task_valid_o rises 3 cycles after start_i and the cycles of the check.
// Throughput: a task in 3 cycles and those of the check. Document: docs/npu/npu.md sections 4 and 4.1.
`include "assert.svh"

module task_slot (
  input logic clk_i,
  input logic rst_ni,
  input logic clr_i,
  input logic start_i,
  output logic free_o,
  output logic take_o,
  output logic check_start_o,
  input logic check_busy_i,
  input logic check_done_i,
  input logic check_ok_i,
  output logic task_valid_o,
  input logic task_ready_i,
  output logic set_config_o,
  output logic set_overrun_o
);

  localparam logic [2:0] Free = 3'd0;
  localparam logic [2:0] Snap = 3'd1;
  localparam logic [2:0] Start = 3'd2;
  localparam logic [2:0] Check = 3'd3;
  localparam logic [2:0] Valid = 3'd4;
  logic [2:0] slot_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      slot_q <= Free;
    end else if (clr_i) begin
      slot_q <= Free;
    end else begin
      case (slot_q)
        Free: if (start_i) slot_q <= Snap;
        Snap: slot_q <= Start;
        Start: slot_q <= Check;
        Check: if (check_done_i) slot_q <= check_ok_i ? Valid : Free;
        default: if (task_ready_i) slot_q <= Free;
      endcase
    end
  end

  assign free_o = slot_q == Free;
  assign take_o = slot_q == Snap;
  assign check_start_o = slot_q == Start;
  assign task_valid_o = slot_q == Valid;
  assign set_config_o = (slot_q == Check) & check_done_i & ~check_ok_i;
  assign set_overrun_o = start_i & (slot_q != Free);

  `ASSERT(SlotRange, slot_q <= Valid)
  `ASSERT(CheckInSlot, !check_busy_i || slot_q == Check)

endmodule
