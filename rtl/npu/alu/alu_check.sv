// Check of an ALU task's settings against the limits of docs/npu/npu.md section 3.3.
//
// What it does
//   start_i (one cycle, not while busy_o) begins the check; task_i must be stable with it. done_o is one cycle high
//   with the verdict on ok_o: 1 when the hardware can do the task. clr_i (synchronous) stops a check without a verdict.
//
// Latency: done_o comes one cycle after start_i; busy_o is 1 in that cycle.
//
// Alignment is checked for every address and step, also for those that the task does not use.
// Throughput: a task at a time.
`include "assert.svh"

module alu_check (
  input logic clk_i,
  input logic rst_ni,
  input logic clr_i,
  input logic start_i,
  input npu_pkg::alu_task_t task_i,
  output logic busy_o,
  output logic done_o,
  output logic ok_o
);

  logic reduce;
  logic modes_ok;
  logic sizes_ok;
  logic [31:0] all_addr;  // the low bits of all addresses and steps together
  assign reduce = npu_pkg::alu_reduces_f(task_i.op);
  assign modes_ok = (task_i.op <= npu_pkg::AluSumsq) && (task_i.act <= npu_pkg::ActGeluTanh) &&
      (task_i.p_kind <= npu_pkg::AluPlane) && (task_i.q_kind <= npu_pkg::AluPlane) &&
      !(task_i.p_kind == npu_pkg::AluVector && task_i.q_kind == npu_pkg::AluVector) &&
      !(task_i.op == npu_pkg::AluAddI32 && (task_i.act != npu_pkg::ActNone || task_i.func != npu_pkg::AluFuncNone)) &&
      !(task_i.act != npu_pkg::ActNone && task_i.func != npu_pkg::AluFuncNone) &&
      !(reduce && (task_i.dup || task_i.q_kind != npu_pkg::AluScalar));
  assign sizes_ok = (task_i.count != 24'd0) && (task_i.rows != 16'd0) && (task_i.planes != 16'd0);
  assign all_addr = task_i.a_addr | task_i.a_rstep | task_i.a_pstep | task_i.b_addr | task_i.b_rstep | task_i.b_pstep |
      task_i.o_addr | task_i.o_rstep | task_i.o_pstep | task_i.p_addr | task_i.q_addr;

  logic busy_q;
  logic ok_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      ok_q <= 1'b0;
    end else if (clr_i) begin
      busy_q <= 1'b0;
    end else begin
      busy_q <= start_i;
      if (start_i) ok_q <= modes_ok && sizes_ok && (all_addr[1:0] == 2'd0);
    end
  end

  assign busy_o = busy_q;
  assign done_o = busy_q;
  assign ok_o = ok_q;

  // fields without a limit
  logic unused;
  assign unused = ^{all_addr, task_i.p, task_i.q, task_i.act_p0, task_i.act_p1, task_i.act_p2, task_i.act_p3};

  `ASSERT(StartWhenIdle, !(start_i && busy_o))

endmodule
