// Task registers of the NPU, and a slot for a started task of each unit, in the order of ERR: GEMM, ALU, POOL.
//
// start_i[u] (a write of EN = 1 to <unit>_CTRL) takes the values of all registers of the unit, the new <unit>_CTRL
// included, and checks them (task_slot; gemm_check, alu_check, pool_check). A good task is offered on task_valid_o[u]
// until task_ready_i[u] and does not change meanwhile, a bad one pulses set_config_o[u]. free_o[u] is 0 from the cycle
// after the start until the task is accepted or dropped; a start in that time pulses set_overrun_o[u] and is dropped.
// task_valid_o rises after the write takes effect: GEMM 10 cycles (WGT_RES 17), ALU 4, POOL 6.
// A start of a unit that is left out (EnAlu, EnPool = 0) pulses set_config_o one cycle later; it stays free.
// clr_i (soft reset) drops all tasks.
// Document: docs/npu/npu.md sections 3 and 4.1.
`include "assert.svh"

module npu_slots #(
  parameter int unsigned N = 8,
  parameter int unsigned EnInt16 = 0,
  parameter bit EnAlu = 1'b1,
  parameter bit EnPool = 1'b1
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          clr_i,
  input  logic [2:0]                    start_i,
  // access to the task registers; rd_data_o is 0 where there is none
  input  logic                          wr_en_i,
  input  logic [8:0]                    wr_addr_i,
  input  logic [31:0]                   wr_data_i,
  input  logic [31:0]                   wr_mask_i,
  input  logic [8:0]                    rd_addr_i,
  output logic [31:0]                   rd_data_o,
  // tasks
  output logic [2:0]                    free_o,
  output logic [2:0]                    task_valid_o,
  input  logic [2:0]                    task_ready_i,
  output npu_pkg::gemm_task_t           gemm_task_o,
  output npu_pkg::alu_task_t            alu_task_o,
  output npu_pkg::pool_task_t           pool_task_o,
  output logic [2:0]                    set_config_o,
  output logic [2:0]                    set_overrun_o
);

  // ------------------------------------------------------------------------------------------------ task registers
  // One flat vector for the three units, word i is the register at TaskBase + 4*i. EN of <unit>_CTRL starts the task
  // and reads 0.
`define EN_BIT(Unit) \
  (TaskW'(npu_regs_pkg::NPU_``Unit``_CTRL_EN_MASK) << \
   8 * (32'(npu_regs_pkg::NPU_REG_``Unit``_CTRL_OFFSET) - 32'(TaskBase)))
  localparam logic [8:0] TaskBase = npu_pkg::TaskRegsOffset;
  localparam logic [8:0] TaskEnd = npu_regs_pkg::NPU_REG_POOL_CTRL_OFFSET;
  localparam int unsigned TaskW = npu_pkg::TaskRegsW;
  localparam logic [TaskW-1:0] TaskMask = npu_pkg::TaskRegsMask & ~(`EN_BIT(GEMM) | `EN_BIT(ALU) | `EN_BIT(POOL));
`undef EN_BIT

  logic [TaskW-1:0] task_q;
  logic wr_task;
  logic rd_task;
  logic [5:0] wr_idx;
  logic [5:0] rd_idx;
  logic [31:0] wr_bits;
  assign wr_task = wr_en_i && (wr_addr_i >= TaskBase) && (wr_addr_i <= TaskEnd);
  assign rd_task = (rd_addr_i >= TaskBase) && (rd_addr_i <= TaskEnd);
  assign wr_idx = 6'((wr_addr_i - TaskBase) >> 2);
  assign rd_idx = 6'((rd_addr_i - TaskBase) >> 2);
  assign wr_bits = wr_task ? wr_mask_i & TaskMask[32*wr_idx+:32] : 32'd0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) task_q <= '0;
    else if (clr_i) task_q <= '0;
    else if (wr_task) task_q[32*wr_idx+:32] <= (task_q[32*wr_idx+:32] & ~wr_bits) | (wr_data_i & wr_bits);
  end
  assign rd_data_o = rd_task ? task_q[32*rd_idx+:32] : 32'd0;

  // ------------------------------------------------------------------------------------------------ slots
  localparam logic [2:0] Present = {EnPool, EnAlu, 1'b1};
  localparam logic [7:0] GroupMax = 8'(npu_pkg::OfmDepth * 2 / N);  // tiles: half of the ofm buffer; INT16: half of it
  logic [2:0] take;

  // the task of each slot (npu_tasks.svh), and what only its check needs
  localparam int unsigned PadModeLsb = 8 * (32'(npu_regs_pkg::NPU_REG_GEMM_CTRL_OFFSET) - 32'(TaskBase)) +
      npu_regs_pkg::NPU_GEMM_CTRL_PAD_MODE_LSB;
  localparam int unsigned TypeLsb = 8 * (32'(npu_regs_pkg::NPU_REG_POOL_CTRL_OFFSET) - 32'(TaskBase)) +
      npu_regs_pkg::NPU_POOL_CTRL_TYPE_LSB;
  localparam int unsigned WideLsb = 8 * (32'(npu_regs_pkg::NPU_REG_GEMM_CTRL_OFFSET) - 32'(TaskBase)) +
      npu_regs_pkg::NPU_GEMM_CTRL_WIDE_LSB;
  logic [1:0] pad_mode_q;
  logic [1:0] type_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      gemm_task_o <= '0;
      pad_mode_q <= '0;
      alu_task_o <= '0;
      pool_task_o <= '0;
      type_q <= '0;
    end else begin
      if (take[0]) begin
        gemm_task_o <= npu_pkg::gemm_task(task_q, EnInt16 != 0 && task_q[WideLsb] ? GroupMax / 2 : GroupMax);
        pad_mode_q <= task_q[PadModeLsb+:2];
      end
      if (take[1]) alu_task_o <= npu_pkg::alu_task(task_q);
      if (take[2]) begin
        pool_task_o <= npu_pkg::pool_task(task_q);
        type_q <= task_q[TypeLsb+:2];
      end
    end
  end

  for (genvar u = 0; u < 3; u++) begin : g_slot
    if (Present[u]) begin : g_on
      logic check_start, check_busy, check_done, check_ok;
      task_slot u_slot (
        .clk_i,
        .rst_ni,
        .clr_i,
        .start_i(start_i[u]),
        .free_o(free_o[u]),
        .take_o(take[u]),
        .check_start_o(check_start),
        .check_busy_i(check_busy),
        .check_done_i(check_done),
        .check_ok_i(check_ok),
        .task_valid_o(task_valid_o[u]),
        .task_ready_i(task_ready_i[u]),
        .set_config_o(set_config_o[u]),
        .set_overrun_o(set_overrun_o[u])
      );
      if (u == 0) begin : g_gemm
        gemm_check #(
          .N(N),
          .EnInt16(EnInt16)
        ) u_check (
          .clk_i,
          .rst_ni,
          .clr_i,
          .start_i(check_start),
          .task_i(gemm_task_o),
          .pad_mode_i(pad_mode_q),
          .busy_o(check_busy),
          .done_o(check_done),
          .ok_o(check_ok)
        );
      end else if (u == 1) begin : g_alu
        alu_check u_check (
          .clk_i,
          .rst_ni,
          .clr_i,
          .start_i(check_start),
          .task_i(alu_task_o),
          .busy_o(check_busy),
          .done_o(check_done),
          .ok_o(check_ok)
        );
      end else begin : g_pool
        pool_check #(
          .N(N)
        ) u_check (
          .clk_i,
          .rst_ni,
          .clr_i,
          .start_i(check_start),
          .task_i(pool_task_o),
          .type_i(type_q),
          .busy_o(check_busy),
          .done_o(check_done),
          .ok_o(check_ok)
        );
      end
    end else begin : g_off
      logic unused;
      assign free_o[u] = 1'b1;
      assign take[u] = 1'b0;
      assign task_valid_o[u] = 1'b0;
      assign set_config_o[u] = start_i[u];
      assign set_overrun_o[u] = 1'b0;
      assign unused = task_ready_i[u] ^ (^type_q);
    end
  end

  `ASSERT(IndexRange, !wr_task || 32 * 32'(wr_idx) < TaskW)
  `ASSERT(SoftResetNoTask, !(clr_i && $past(clr_i) && task_valid_o != 3'd0))
  // two fields stand for the whole task, which one statement loads: comparing all its bits costs a simulator 20 ns a
  // cycle
  `ASSERT_STABLE(GemmTaskStable, task_valid_o[0], task_ready_i[0] || clr_i,
      {gemm_task_o.ifm_addr, gemm_task_o.ofm_addr})
  `ASSERT_STABLE(AluTaskStable, task_valid_o[1], task_ready_i[1] || clr_i, {alu_task_o.a_addr, alu_task_o.o_addr})
  `ASSERT_STABLE(PoolTaskStable, task_valid_o[2], task_ready_i[2] || clr_i,
      {pool_task_o.ifm_addr, pool_task_o.ofm_addr})

endmodule
