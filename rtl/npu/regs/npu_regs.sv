// Register file: AXI4-Lite slave, interrupts, start of tasks, counters (docs/npu/registers.md, docs/npu/npu.md sections
// 3 and 5).
//
// AXI4-Lite
//   32-bit data, 9-bit address, address bits 1:0 ignored, responses always OKAY. AW and W may come in any order; one
//   write and one read every 2 cycles. All outputs come from registers. A write takes effect in the cycle after the
//   later of its AW and W handshakes (later only while an earlier response waits for bready_i) and its response is
//   valid one cycle later, so a read started after the response sees the write. Read: AR handshake in cycle 0, data in
//   cycle 2. Byte strobes are honoured.
//
// Task start, the same for GEMM, ALU and POOL
//   A write to <unit>_CTRL with byte 0 strobed and EN = 1 takes the values of all registers of the unit, the new
//   <unit>_CTRL included, and checks them (task_slot; gemm_check, alu_check, pool_check). A good task is presented on
//   *task_valid_o (stable until *task_ready_i), a bad one sets the CONFIG bit of its unit in ERR and the unit's bit in
//   IRQ_STATUS. STATUS.*_READY is 0 from the cycle after the write until the task is accepted or dropped; a start in
//   that time sets the OVERRUN bit and the unit's bit in IRQ_STATUS and is dropped (<unit>_CTRL itself is written).
//   *task_valid_o rises after the write takes effect: GEMM 10 cycles (WGT_RES 17), ALU 4, POOL 6. STATUS.*_BUSY is the
//   pending task or *_busy_i: *_busy_i must be 1 from the cycle after the task handshake on. A start of a unit that is
//   left out (EnAlu, EnPool = 0) sets CONFIG one cycle later; it stays READY; its inputs are not used.
//
// Events (one-cycle pulses)
//   *_done_i: COUNT.DONE + 1 and the unit's bit in IRQ_STATUS, at the same edge. bus_err_i {pool, alu, gemm} x {wr1,
//   wr0, rd1, rd0}: the ERR bit and the IRQ_STATUS bit of that unit. An event has
//   priority over a write of 1 to clear at the same edge. alu_result_we_i:
//   alu_result_i is the result of the task that completes next (or now);
//   ALU_RESULT takes it when it does. perf_event_i, perf_level_i: docs/npu/npu.md
//   section 5, counted while STATUS shows a unit busy; perf_event_i[0] is tied to
//   1 outside.
//
// Soft reset
//   A write of 1 to CTRL.SOFT_RESET raises srst_o in the next cycle; it stays 1 for at least 4 cycles (so that
//   drained_i may be registered once or twice) and until drained_i is 1. The pending tasks are dropped, starts and
//   events in that time are ignored, writes to registers are lost; at its end all registers have their reset values.
//   STATUS: RESETTING = 1 and all other bits 0 meanwhile.
//
// Clock
//   The registers have a gated clock, which stands still while there is no access, no start under way and no event (and
//   runs in reset). The counters run on clk_i.
//
// Parameters: N, the mesh size (4, 8, 16 or 32), for CONFIG.MESH_N and the limits; EnAlu, EnPool: the unit is present;
// ClkGate: the clock of idle registers is gated.
`include "assert.svh"

module npu_regs #(
  parameter int unsigned N = 8,
  parameter bit EnAlu = 1'b1,
  parameter bit EnPool = 1'b1,
  parameter bit ClkGate = 1'b1
) (
  input logic clk_i,
  input logic rst_ni,

  input logic [8:0] awaddr_i,
  input logic [2:0] awprot_i,
  input logic awvalid_i,
  output logic awready_o,
  input logic [31:0] wdata_i,
  input logic [3:0] wstrb_i,
  input logic wvalid_i,
  output logic wready_o,
  output logic [1:0] bresp_o,
  output logic bvalid_o,
  input logic bready_i,
  input logic [8:0] araddr_i,
  input logic [2:0] arprot_i,
  input logic arvalid_i,
  output logic arready_o,
  output logic [31:0] rdata_o,
  output logic [1:0] rresp_o,
  output logic rvalid_o,
  input logic rready_i,

  output logic irq_alu_o,
  output logic irq_pool_o,
  output logic irq_gemm_o,

  output logic task_valid_o,
  input logic task_ready_i,
  output npu_pkg::gemm_task_t task_o,
  input logic gemm_busy_i,
  input logic task_done_i,

  output logic alu_task_valid_o,
  input logic alu_task_ready_i,
  output npu_pkg::alu_task_t alu_task_o,
  input logic alu_busy_i,
  input logic alu_done_i,
  input logic alu_result_we_i,
  input logic [31:0] alu_result_i,

  output logic pool_task_valid_o,
  input logic pool_task_ready_i,
  output npu_pkg::pool_task_t pool_task_o,
  input logic pool_busy_i,
  input logic pool_done_i,

  input logic [11:0] bus_err_i,
  input logic [npu_pkg::PerfEvents-1:0] perf_event_i,
  input logic [16*npu_pkg::PerfLevels-1:0] perf_level_i,

  output logic srst_o,
  input logic drained_i
);

  // ------------------------------------------------------------------------------------------------ AXI4-Lite
  logic aw_have_q;
  logic w_have_q;
  logic ar_have_q;
  logic [8:2] aw_word_q;
  logic [8:2] ar_word_q;
  logic [31:0] wdata_q;
  logic [3:0] wstrb_q;
  logic bvalid_q;
  logic rvalid_q;
  logic [31:0] rdata_q;
  logic wr_en;
  logic rd_en;
  logic reg_clk;
  logic active;
  assign wr_en = aw_have_q & w_have_q & (~bvalid_q | bready_i);
  assign rd_en = ar_have_q & (~rvalid_q | rready_i);

  always_ff @(posedge reg_clk or negedge rst_ni) begin
    if (!rst_ni) begin
      aw_have_q <= 1'b0;
      w_have_q <= 1'b0;
      ar_have_q <= 1'b0;
      aw_word_q <= '0;
      ar_word_q <= '0;
      wdata_q <= '0;
      wstrb_q <= '0;
      bvalid_q <= 1'b0;
      rvalid_q <= 1'b0;
    end else begin
      if (awvalid_i && awready_o) begin
        aw_have_q <= 1'b1;
        aw_word_q <= awaddr_i[8:2];
      end else if (wr_en) begin
        aw_have_q <= 1'b0;
      end
      if (wvalid_i && wready_o) begin
        w_have_q <= 1'b1;
        wdata_q <= wdata_i;
        wstrb_q <= wstrb_i;
      end else if (wr_en) begin
        w_have_q <= 1'b0;
      end
      bvalid_q <= wr_en | (bvalid_q & ~bready_i);
      if (arvalid_i && arready_o) begin
        ar_have_q <= 1'b1;
        ar_word_q <= araddr_i[8:2];
      end else if (rd_en) begin
        ar_have_q <= 1'b0;
      end
      rvalid_q <= rd_en | (rvalid_q & ~rready_i);
    end
  end

  assign awready_o = ~aw_have_q;
  assign wready_o = ~w_have_q;
  assign arready_o = ~ar_have_q;
  assign bvalid_o = bvalid_q;
  assign bresp_o = 2'b00;
  assign rvalid_o = rvalid_q;
  assign rresp_o = 2'b00;
  assign rdata_o = rdata_q;

  // ------------------------------------------------------------------------------------------------ write decode
  logic [8:0] wr_addr;
  logic [31:0] wr_mask;  // strobed bits
  logic [31:0] wr_ones;  // strobed bits that are 1: for fields that act on a 1
  assign wr_addr = {aw_word_q, 2'b00};
  assign wr_mask = {{8{wstrb_q[3]}}, {8{wstrb_q[2]}}, {8{wstrb_q[1]}}, {8{wstrb_q[0]}}};
  assign wr_ones = wr_en ? (wdata_q & wr_mask) : 32'd0;

  logic srst_q;
  logic wr_srst;
  logic [2:0] wr_start;  // in the order of ERR: GEMM, ALU, POOL
  logic wr_snap;
  logic wr_clear;
  logic [31:0] clr_irq;
  logic [31:0] clr_err;
  assign wr_srst = (wr_addr == npu_regs_pkg::NPU_REG_CTRL_OFFSET) & wr_ones[npu_regs_pkg::NPU_CTRL_SOFT_RESET_LSB];
  assign wr_start[0] = (wr_addr == npu_regs_pkg::NPU_REG_GEMM_CTRL_OFFSET) & ~srst_q &
      wr_ones[npu_regs_pkg::NPU_GEMM_CTRL_EN_LSB];
  assign wr_start[1] = (wr_addr == npu_regs_pkg::NPU_REG_ALU_CTRL_OFFSET) & ~srst_q &
      wr_ones[npu_regs_pkg::NPU_ALU_CTRL_EN_LSB];
  assign wr_start[2] = (wr_addr == npu_regs_pkg::NPU_REG_POOL_CTRL_OFFSET) & ~srst_q &
      wr_ones[npu_regs_pkg::NPU_POOL_CTRL_EN_LSB];
  assign wr_snap = (wr_addr == npu_regs_pkg::NPU_REG_PERF_CTRL_OFFSET) &
      wr_ones[npu_regs_pkg::NPU_PERF_CTRL_SNAPSHOT_LSB];
  assign wr_clear = (wr_addr == npu_regs_pkg::NPU_REG_PERF_CTRL_OFFSET) &
      wr_ones[npu_regs_pkg::NPU_PERF_CTRL_CLEAR_LSB];
  assign clr_irq = (wr_addr == npu_regs_pkg::NPU_REG_IRQ_STATUS_OFFSET) ? wr_ones : 32'd0;
  assign clr_err = (wr_addr == npu_regs_pkg::NPU_REG_ERR_OFFSET) ? wr_ones : 32'd0;

  // ------------------------------------------------------------------------------------------------ soft reset
  logic [1:0] srst_min_q;
  always_ff @(posedge reg_clk or negedge rst_ni) begin
    if (!rst_ni) begin
      srst_q <= 1'b0;
      srst_min_q <= '0;
    end else if (!srst_q) begin
      srst_q <= wr_srst;
      srst_min_q <= 2'd3;
    end else if (srst_min_q != 2'd0) begin
      srst_min_q <= srst_min_q - 2'd1;
    end else begin
      srst_q <= ~drained_i;
    end
  end
  assign srst_o = srst_q;

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
  assign wr_task = wr_en && (wr_addr >= TaskBase) && (wr_addr <= TaskEnd);
  assign rd_task = (ar_word_q >= TaskBase[8:2]) && (ar_word_q <= TaskEnd[8:2]);
  assign wr_idx = 6'(aw_word_q - TaskBase[8:2]);
  assign rd_idx = 6'(ar_word_q - TaskBase[8:2]);
  assign wr_bits = wr_task ? wr_mask & TaskMask[32*wr_idx+:32] : 32'd0;
  always_ff @(posedge reg_clk or negedge rst_ni) begin
    if (!rst_ni) task_q <= '0;
    else if (srst_q) task_q <= '0;
    else if (wr_task) task_q[32*wr_idx+:32] <= (task_q[32*wr_idx+:32] & ~wr_bits) | (wdata_q & wr_bits);
  end

  // ------------------------------------------------------------------------------------------------ task slots
  // vectors of the three units in the order of ERR: GEMM, ALU, POOL
  localparam logic [2:0] Present = {EnPool, EnAlu, 1'b1};
  localparam logic [7:0] GroupMax = 8'(npu_pkg::OfmDepth * 2 / N);  // tiles: half of the ofm buffer
  logic [2:0] slot_free;
  logic [2:0] take;
  logic [2:0] offered;
  logic [2:0] taken;
  logic [2:0] set_config;
  logic [2:0] set_overrun;
  assign {pool_task_valid_o, alu_task_valid_o, task_valid_o} = offered;
  assign taken = {pool_task_ready_i, alu_task_ready_i, task_ready_i};

  // the task of each slot (npu_tasks.svh), and what only its check needs
  localparam int unsigned PadModeLsb = 8 * (32'(npu_regs_pkg::NPU_REG_GEMM_CTRL_OFFSET) - 32'(TaskBase)) +
      npu_regs_pkg::NPU_GEMM_CTRL_PAD_MODE_LSB;
  localparam int unsigned TypeLsb = 8 * (32'(npu_regs_pkg::NPU_REG_POOL_CTRL_OFFSET) - 32'(TaskBase)) +
      npu_regs_pkg::NPU_POOL_CTRL_TYPE_LSB;
  logic [1:0] pad_mode_q;
  logic [1:0] type_q;
  always_ff @(posedge reg_clk or negedge rst_ni) begin
    if (!rst_ni) begin
      task_o <= '0;
      pad_mode_q <= '0;
      alu_task_o <= '0;
      pool_task_o <= '0;
      type_q <= '0;
    end else begin
      if (take[0]) begin
        task_o <= npu_pkg::gemm_task(task_q, GroupMax);
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
        .clk_i(reg_clk),
        .rst_ni,
        .clr_i(srst_q),
        .start_i(wr_start[u]),
        .free_o(slot_free[u]),
        .take_o(take[u]),
        .check_start_o(check_start),
        .check_busy_i(check_busy),
        .check_done_i(check_done),
        .check_ok_i(check_ok),
        .task_valid_o(offered[u]),
        .task_ready_i(taken[u]),
        .set_config_o(set_config[u]),
        .set_overrun_o(set_overrun[u])
      );
      if (u == 0) begin : g_gemm
        gemm_check #(
          .N(N)
        ) u_check (
          .clk_i(reg_clk),
          .rst_ni,
          .clr_i(srst_q),
          .start_i(check_start),
          .task_i(task_o),
          .pad_mode_i(pad_mode_q),
          .busy_o(check_busy),
          .done_o(check_done),
          .ok_o(check_ok)
        );
      end else if (u == 1) begin : g_alu
        alu_check u_check (
          .clk_i(reg_clk),
          .rst_ni,
          .clr_i(srst_q),
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
          .clk_i(reg_clk),
          .rst_ni,
          .clr_i(srst_q),
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
      assign slot_free[u] = 1'b1;
      assign take[u] = 1'b0;
      assign offered[u] = 1'b0;
      assign set_config[u] = wr_start[u];
      assign set_overrun[u] = 1'b0;
      assign unused = taken[u] ^ (^type_q);
    end
  end

  // ------------------------------------------------------------------------------------------------ status, events
  logic [2:0] unit_runs;
  logic [2:0] unit_busy;
  logic [2:0] unit_done;
  logic [2:0] unit_err;
  logic [2:0] irq_set;  // in the order of IRQ_STATUS: ALU, POOL, GEMM
  logic [2:0] irq_q;
  logic [2:0] irq_en_q;
  logic [31:0] err_q;
  logic [31:0] err_set;
  logic [47:0] count_q;
  logic [5:0] perf_sel_q;
  assign unit_runs = {pool_busy_i, alu_busy_i, gemm_busy_i};
  assign unit_busy = srst_q ? 3'd0 : ~slot_free | (Present & unit_runs);
  assign unit_done = Present & {pool_done_i, alu_done_i, task_done_i};
  for (genvar i = 0; i < 3; i++) begin : g_err
    assign err_set[8*i+:8] = {4'd0, bus_err_i[4*i+:4]} | 8'(set_config[i]) << npu_regs_pkg::NPU_ERR_CONFIG_LSB |
        8'(set_overrun[i]) << npu_regs_pkg::NPU_ERR_OVERRUN_LSB;
    assign unit_err[i] = err_set[8*i+:8] != 8'd0;
  end
  assign err_set[31:24] = 8'd0;
  always_comb begin
    irq_set = 3'd0;
    irq_set[npu_regs_pkg::NPU_IRQ_STATUS_GEMM_LSB] = unit_done[0] | unit_err[0];
    irq_set[npu_regs_pkg::NPU_IRQ_STATUS_ALU_LSB] = unit_done[1] | unit_err[1];
    irq_set[npu_regs_pkg::NPU_IRQ_STATUS_POOL_LSB] = unit_done[2] | unit_err[2];
  end

  always_ff @(posedge reg_clk or negedge rst_ni) begin
    if (!rst_ni) begin
      irq_q <= '0;
      irq_en_q <= '0;
      err_q <= '0;
      count_q <= '0;
      perf_sel_q <= '0;
    end else if (srst_q) begin
      irq_q <= '0;
      irq_en_q <= '0;
      err_q <= '0;
      count_q <= '0;
      perf_sel_q <= '0;
    end else begin
      irq_q <= (irq_q & ~clr_irq[2:0]) | irq_set;
      err_q <= (err_q & ~clr_err) | err_set;
      for (int unsigned i = 0; i < 3; i++) begin
        if (unit_done[i]) count_q[16*i+:16] <= count_q[16*i+:16] + 16'd1;
      end
      if (wr_en && wr_addr == npu_regs_pkg::NPU_REG_IRQ_ENABLE_OFFSET && wstrb_q[0]) irq_en_q <= wdata_q[2:0];
      if (wr_en && wr_addr == npu_regs_pkg::NPU_REG_PERF_SEL_OFFSET && wstrb_q[0]) perf_sel_q <= wdata_q[5:0];
    end
  end

  // what can change a register at the next edge
  assign active = awvalid_i | wvalid_i | arvalid_i | aw_have_q | w_have_q | ar_have_q | bvalid_q | rvalid_q | srst_q |
      (slot_free != 3'b111) | (unit_done != 3'd0) | (bus_err_i != 12'd0) | alu_result_we_i;
  clk_gate #(
    .Gate(ClkGate)
  ) u_gate (
    .clk_i,
    .en_i(active | ~rst_ni),
    .clk_o(reg_clk)
  );

  logic [2:0] irq_line;
  assign irq_line = irq_q & irq_en_q;
  assign irq_alu_o = irq_line[npu_regs_pkg::NPU_IRQ_STATUS_ALU_LSB];
  assign irq_pool_o = irq_line[npu_regs_pkg::NPU_IRQ_STATUS_POOL_LSB];
  assign irq_gemm_o = irq_line[npu_regs_pkg::NPU_IRQ_STATUS_GEMM_LSB];

  // The result of a running task waits here until the task completes. A task without one leaves it as it was.
  logic [31:0] alu_result_q;
  logic [31:0] alu_next_q;
  always_ff @(posedge reg_clk or negedge rst_ni) begin
    if (!rst_ni) begin
      alu_result_q <= '0;
      alu_next_q <= '0;
    end else if (srst_q) begin
      alu_result_q <= '0;
      alu_next_q <= '0;
    end else if (EnAlu) begin
      if (alu_result_we_i) alu_next_q <= alu_result_i;
      if (alu_done_i) alu_result_q <= alu_result_we_i ? alu_result_i : alu_next_q;
    end
  end

  logic [31:0] perf_lo;
  logic [15:0] perf_hi;
  logic rd_perf;
  npu_perf #(
    .NumCnt (npu_pkg::PerfEvents),
    .NumMark(npu_pkg::PerfLevels)
  ) u_perf (
    .clk_i,
    .rst_ni,
    .clr_i(srst_q),
    .run_i(unit_busy != 3'd0),
    .event_i(perf_event_i),
    .level_i(perf_level_i),
    .snap_i(wr_snap),
    .clear_i(wr_clear),
    .rd_i(rd_perf),
    .sel_i(perf_sel_q),
    .lo_o(perf_lo),
    .hi_o(perf_hi)
  );

  // ------------------------------------------------------------------------------------------------ read decode
  logic [8:0] rd_addr;
  logic [31:0] rd_status;
  logic [31:0] rd_config;
  assign rd_addr = {ar_word_q, 2'b00};
  // one cycle before rd_en at the earliest: the copy is read at the AR handshake
  assign rd_perf = arvalid_i && arready_o && (araddr_i[8:2] == npu_regs_pkg::NPU_REG_PERF_LO_OFFSET[8:2] ||
      araddr_i[8:2] == npu_regs_pkg::NPU_REG_PERF_HI_OFFSET[8:2]);
  always_comb begin
    rd_config = npu_regs_pkg::NPU_REG_CONFIG_RESET | (N << npu_regs_pkg::NPU_CONFIG_MESH_N_LSB);
    rd_config[npu_regs_pkg::NPU_CONFIG_EN_ALU_LSB] = EnAlu;
    rd_config[npu_regs_pkg::NPU_CONFIG_EN_POOL_LSB] = EnPool;
    rd_status = 32'd0;
    rd_status[npu_regs_pkg::NPU_STATUS_RESETTING_LSB] = srst_q;
    rd_status[npu_regs_pkg::NPU_STATUS_GEMM_BUSY_LSB] = unit_busy[0];
    rd_status[npu_regs_pkg::NPU_STATUS_GEMM_READY_LSB] = slot_free[0] & ~srst_q;
    rd_status[npu_regs_pkg::NPU_STATUS_ALU_BUSY_LSB] = unit_busy[1];
    rd_status[npu_regs_pkg::NPU_STATUS_ALU_READY_LSB] = slot_free[1] & ~srst_q;
    rd_status[npu_regs_pkg::NPU_STATUS_POOL_BUSY_LSB] = unit_busy[2];
    rd_status[npu_regs_pkg::NPU_STATUS_POOL_READY_LSB] = slot_free[2] & ~srst_q;
  end

  always_ff @(posedge reg_clk or negedge rst_ni) begin
    if (!rst_ni) begin
      rdata_q <= '0;
    end else if (rd_en) begin
      rdata_q <= 32'd0;
      case (rd_addr)
        npu_regs_pkg::NPU_REG_ID_OFFSET: rdata_q <= npu_regs_pkg::NPU_REG_ID_RESET;
        npu_regs_pkg::NPU_REG_CONFIG_OFFSET: rdata_q <= rd_config;
        npu_regs_pkg::NPU_REG_STATUS_OFFSET: rdata_q <= rd_status;
        npu_regs_pkg::NPU_REG_IRQ_STATUS_OFFSET: rdata_q <= {29'd0, irq_q};
        npu_regs_pkg::NPU_REG_IRQ_ENABLE_OFFSET: rdata_q <= {29'd0, irq_en_q};
        npu_regs_pkg::NPU_REG_IRQ_ID_OFFSET:
        rdata_q <= irq_line[0] ? 32'd1 : irq_line[1] ? 32'd2 : irq_line[2] ? 32'd3 : 32'd0;
        npu_regs_pkg::NPU_REG_ERR_OFFSET: rdata_q <= err_q;
        npu_regs_pkg::NPU_REG_GEMM_COUNT_OFFSET: rdata_q <= {16'd0, count_q[15:0]};
        npu_regs_pkg::NPU_REG_ALU_COUNT_OFFSET: rdata_q <= {16'd0, count_q[31:16]};
        npu_regs_pkg::NPU_REG_POOL_COUNT_OFFSET: rdata_q <= {16'd0, count_q[47:32]};
        npu_regs_pkg::NPU_REG_ALU_RESULT_OFFSET: rdata_q <= alu_result_q;
        npu_regs_pkg::NPU_REG_PERF_SEL_OFFSET: rdata_q <= {26'd0, perf_sel_q};
        npu_regs_pkg::NPU_REG_PERF_LO_OFFSET: rdata_q <= perf_lo;
        npu_regs_pkg::NPU_REG_PERF_HI_OFFSET: rdata_q <= {16'd0, perf_hi};
        default: if (rd_task) rdata_q <= task_q[32*rd_idx+:32];
      endcase
    end
  end

  // protection, byte address bits, bits that no field names, inputs of units that are left out
  logic unused;
  assign unused = ^{
    awprot_i, arprot_i, awaddr_i[1:0], araddr_i[1:0], clr_irq, alu_busy_i, alu_done_i, alu_result_we_i, alu_result_i,
    pool_busy_i, pool_done_i
  };

  // ------------------------------------------------------------------------------------------------ assertions
  `ASSERT(IndexRange, !wr_task || 32 * 32'(wr_idx) < TaskW)
  `ASSERT(ErrBits, (err_q & ~npu_regs_pkg::NPU_REG_ERR_MASK) == 32'd0)
  `ASSERT(SoftResetNoTask, !(srst_q && $past(srst_q) && offered != 3'd0))
  `ASSERT(BusyAfterTask, ($past(offered & taken & {3{!srst_q && rst_ni}}) & ~unit_runs & {3{!srst_q}}) == 3'd0)
  // two fields stand for the whole task, which one statement loads: comparing all its bits costs a simulator 20 ns a
  // cycle
  `ASSERT_STABLE(GemmTaskStable, task_valid_o, task_ready_i || srst_q, {task_o.ifm_addr, task_o.ofm_addr})
  `ASSERT_STABLE(AluTaskStable, alu_task_valid_o, alu_task_ready_i || srst_q, {alu_task_o.a_addr, alu_task_o.o_addr})
  `ASSERT_STABLE(PoolTaskStable, pool_task_valid_o, pool_task_ready_i || srst_q,
      {pool_task_o.ifm_addr, pool_task_o.ofm_addr})
  `ASSERT_STABLE(BStable, bvalid_o, bready_i, bresp_o)
  `ASSERT_STABLE(RStable, rvalid_o, rready_i, {rdata_o, rresp_o})

endmodule
