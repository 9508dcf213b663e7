// Task slot of the ALU: from the write that starts a task to its handshake with the unit. Part of npu_regs.
//
// What it does
//   start_i is 1 in the cycle in which the write of ALU_CTRL with EN = 1 takes effect; regs_i, the words of the task registers
//   from GEMM_IFM_ADDR up, holds the new values one cycle later and is copied then. The settings are
//   checked (alu_check); a good task is presented on task_valid_o, stable until task_ready_i, for a bad one set_config_o pulses.
//   free_o is 0 from the cycle after start_i until the task is taken or dropped; a start in that time is dropped and
//   set_overrun_o pulses with it. clr_i (soft reset) drops the task.
//
// Latency: task_valid_o rises 4 cycles after start_i.
// Parameters: RegsW, the bits of regs_i.
`include "npu_assert.svh"

module alu_slot #(
    parameter int unsigned RegsW = 1984
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,
    input logic start_i,
    input logic [RegsW-1:0] regs_i,
    output logic free_o,
    output logic task_valid_o,
    input logic task_ready_i,
    output npu_pkg::alu_task_t task_o,
    output logic set_config_o,
    output logic set_overrun_o
);

  localparam logic [2:0] Free = 3'd0;
  localparam logic [2:0] Snap = 3'd1;  // the registers hold the task, task_q takes it
  localparam logic [2:0] Start = 3'd2;
  localparam logic [2:0] Check = 3'd3;
  localparam logic [2:0] Valid = 3'd4;
  logic [2:0] slot_q;
  npu_pkg::alu_task_t task_q;
  logic check_busy;
  logic check_done;
  logic check_ok;

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
        Check: if (check_done) slot_q <= check_ok ? Valid : Free;
        default: if (task_ready_i) slot_q <= Free;
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      task_q <= '0;
    end else if (slot_q == Snap) begin
      task_q <= npu_pkg::alu_task(regs_i);
    end
  end

  alu_check u_check (
      .clk_i,
      .rst_ni,
      .clr_i,
      .start_i(slot_q == Start),
      .task_i(task_q),
      .busy_o(check_busy),
      .done_o(check_done),
      .ok_o(check_ok)
  );

  assign free_o = slot_q == Free;
  assign task_valid_o = slot_q == Valid;
  assign task_o = task_q;
  assign set_config_o = (slot_q == Check) & check_done & ~check_ok;
  assign set_overrun_o = start_i & (slot_q != Free);

  // registers of other units
  logic unused;
  assign unused = ^regs_i;

  `NPU_ASSERT(SlotRange, slot_q <= Valid)
  `NPU_ASSERT(CheckInSlot, !check_busy || slot_q == Check)
  `NPU_ASSERT_STABLE(task_valid_o, task_ready_i || clr_i, {task_o.a_addr, task_o.o_addr})

endmodule
