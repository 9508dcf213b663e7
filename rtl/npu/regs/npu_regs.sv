// Register file: AXI4-Lite slave, interrupts, start of tasks, counters (docs/npu/registers.md, docs/npu/npu.md sections
// 3 and 5).
//
// AXI4-Lite
//   32-bit data, 9-bit address; axil_slave has the order and the timing. Byte strobes are honoured.
//
// Task start, the same for GEMM, ALU and POOL
//   A write to <unit>_CTRL with byte 0 strobed and EN = 1 starts a task (npu_slots). A good one is offered on
//   *task_valid_o, a bad one sets the CONFIG bit of its unit in ERR and the unit's bit in IRQ_STATUS. STATUS.*_READY is
//   0 from the cycle after the write until the task is accepted or dropped; a start in that time sets the OVERRUN bit
//   and the unit's bit in IRQ_STATUS and is dropped (<unit>_CTRL itself is written). STATUS.*_BUSY is the pending task
//   or *_busy_i: *_busy_i must be 1 from the cycle after the task handshake on. A start of a unit that is left out
//   (EnAlu, EnPool = 0) sets CONFIG; its inputs are not used.
//
// Events (one-cycle pulses)
//   *_done_i, bus_err_i, alu_result_we_i: npu_events. perf_event_i, perf_level_i: docs/npu/npu.md section 5, counted
//   while STATUS shows a unit busy; perf_event_i[0] is tied to 1 outside.
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
// EnInt16: INT16 tasks are legal; ClkGate: the clock of idle registers is gated.
// Latency and throughput of an access: axil_slave.
`include "assert.svh"

module npu_regs #(
  parameter int unsigned N = 8,
  parameter bit EnAlu = 1'b1,
  parameter bit EnPool = 1'b1,
  parameter int unsigned EnInt16 = 0,
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
  logic reg_clk, active, axil_active;
  logic wr_en, rd_en;
  logic [8:0] wr_addr, rd_addr;
  logic [31:0] wr_data;
  logic [31:0] wr_mask;  // strobed bits
  axil_slave #(
    .Aw(9)
  ) u_axil (
    .clk_i(reg_clk),
    .rst_ni,
    .awaddr_i,
    .awvalid_i,
    .awready_o,
    .wdata_i,
    .wstrb_i,
    .wvalid_i,
    .wready_o,
    .bresp_o,
    .bvalid_o,
    .bready_i,
    .araddr_i,
    .arvalid_i,
    .arready_o,
    .rresp_o,
    .rvalid_o,
    .rready_i,
    .wr_en_o(wr_en),
    .wr_addr_o(wr_addr),
    .wr_data_o(wr_data),
    .wr_mask_o(wr_mask),
    .rd_en_o(rd_en),
    .rd_addr_o(rd_addr),
    .active_o(axil_active)
  );

  // ------------------------------------------------------------------------------------------------ write decode
  logic [31:0] wr_ones;  // strobed bits that are 1: for fields that act on a 1
  assign wr_ones = wr_en ? (wr_data & wr_mask) : 32'd0;

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

  // ------------------------------------------------------------------------------------------------ tasks and events
  // vectors of the three units in the order of ERR: GEMM, ALU, POOL
  localparam logic [2:0] Present = {EnPool, EnAlu, 1'b1};
  logic [2:0] slot_free, offered, taken, set_config, set_overrun;
  logic [2:0] unit_runs, unit_busy, unit_done;
  logic [31:0] rd_task;
  assign {pool_task_valid_o, alu_task_valid_o, task_valid_o} = offered;
  assign taken = {pool_task_ready_i, alu_task_ready_i, task_ready_i};
  assign unit_runs = {pool_busy_i, alu_busy_i, gemm_busy_i};
  assign unit_busy = srst_q ? 3'd0 : ~slot_free | (Present & unit_runs);
  assign unit_done = Present & {pool_done_i, alu_done_i, task_done_i};

  npu_slots #(
    .N(N),
    .EnInt16(EnInt16),
    .EnAlu(EnAlu),
    .EnPool(EnPool)
  ) u_slots (
    .clk_i(reg_clk),
    .rst_ni,
    .clr_i(srst_q),
    .start_i(wr_start),
    .wr_en_i(wr_en),
    .wr_addr_i(wr_addr),
    .wr_data_i(wr_data),
    .wr_mask_i(wr_mask),
    .rd_addr_i(rd_addr),
    .rd_data_o(rd_task),
    .free_o(slot_free),
    .task_valid_o(offered),
    .task_ready_i(taken),
    .gemm_task_o(task_o),
    .alu_task_o,
    .pool_task_o,
    .set_config_o(set_config),
    .set_overrun_o(set_overrun)
  );

  logic [2:0] irq;
  logic [31:0] err, alu_result;
  logic [47:0] count;
  npu_events #(
    .EnAlu(EnAlu)
  ) u_events (
    .clk_i(reg_clk),
    .rst_ni,
    .clr_i(srst_q),
    .unit_done_i(unit_done),
    .bus_err_i,
    .set_config_i(set_config),
    .set_overrun_i(set_overrun),
    .alu_result_we_i,
    .alu_result_i,
    .clr_irq_i(clr_irq[2:0]),
    .clr_err_i(clr_err),
    .irq_o(irq),
    .err_o(err),
    .count_o(count),
    .alu_result_o(alu_result)
  );

  logic [2:0] irq_en_q;
  logic [5:0] perf_sel_q;
  always_ff @(posedge reg_clk or negedge rst_ni) begin
    if (!rst_ni) begin
      irq_en_q <= '0;
      perf_sel_q <= '0;
    end else if (srst_q) begin
      irq_en_q <= '0;
      perf_sel_q <= '0;
    end else begin
      if (wr_en && wr_addr == npu_regs_pkg::NPU_REG_IRQ_ENABLE_OFFSET && wr_mask[0]) irq_en_q <= wr_data[2:0];
      if (wr_en && wr_addr == npu_regs_pkg::NPU_REG_PERF_SEL_OFFSET && wr_mask[0]) perf_sel_q <= wr_data[5:0];
    end
  end

  // what can change a register at the next edge
  assign active = axil_active | srst_q | (slot_free != 3'b111) | (unit_done != 3'd0) | (bus_err_i != 12'd0) |
      alu_result_we_i;
  clk_gate #(
    .Gate(ClkGate)
  ) u_gate (
    .clk_i,
    .en_i(active | ~rst_ni),
    .clk_o(reg_clk)
  );

  logic [2:0] irq_line;
  assign irq_line = irq & irq_en_q;
  assign irq_alu_o = irq_line[npu_regs_pkg::NPU_IRQ_STATUS_ALU_LSB];
  assign irq_pool_o = irq_line[npu_regs_pkg::NPU_IRQ_STATUS_POOL_LSB];
  assign irq_gemm_o = irq_line[npu_regs_pkg::NPU_IRQ_STATUS_GEMM_LSB];

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
  logic [31:0] rd_status;
  logic [31:0] rd_config;
  // one cycle before rd_en at the earliest: the copy is read at the AR handshake
  assign rd_perf = arvalid_i && arready_o && (araddr_i[8:2] == npu_regs_pkg::NPU_REG_PERF_LO_OFFSET[8:2] ||
      araddr_i[8:2] == npu_regs_pkg::NPU_REG_PERF_HI_OFFSET[8:2]);
  always_comb begin
    rd_config = npu_regs_pkg::NPU_REG_CONFIG_RESET | (N << npu_regs_pkg::NPU_CONFIG_MESH_N_LSB);
    rd_config[npu_regs_pkg::NPU_CONFIG_EN_ALU_LSB] = EnAlu;
    rd_config[npu_regs_pkg::NPU_CONFIG_EN_POOL_LSB] = EnPool;
    rd_config[npu_regs_pkg::NPU_CONFIG_EN_INT16_LSB] = EnInt16 != 0;
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
      rdata_o <= '0;
    end else if (rd_en) begin
      rdata_o <= 32'd0;
      case (rd_addr)
        npu_regs_pkg::NPU_REG_ID_OFFSET: rdata_o <= npu_regs_pkg::NPU_REG_ID_RESET;
        npu_regs_pkg::NPU_REG_CONFIG_OFFSET: rdata_o <= rd_config;
        npu_regs_pkg::NPU_REG_STATUS_OFFSET: rdata_o <= rd_status;
        npu_regs_pkg::NPU_REG_IRQ_STATUS_OFFSET: rdata_o <= {29'd0, irq};
        npu_regs_pkg::NPU_REG_IRQ_ENABLE_OFFSET: rdata_o <= {29'd0, irq_en_q};
        npu_regs_pkg::NPU_REG_IRQ_ID_OFFSET:
        rdata_o <= irq_line[0] ? 32'd1 : irq_line[1] ? 32'd2 : irq_line[2] ? 32'd3 : 32'd0;
        npu_regs_pkg::NPU_REG_ERR_OFFSET: rdata_o <= err;
        npu_regs_pkg::NPU_REG_GEMM_COUNT_OFFSET: rdata_o <= {16'd0, count[15:0]};
        npu_regs_pkg::NPU_REG_ALU_COUNT_OFFSET: rdata_o <= {16'd0, count[31:16]};
        npu_regs_pkg::NPU_REG_POOL_COUNT_OFFSET: rdata_o <= {16'd0, count[47:32]};
        npu_regs_pkg::NPU_REG_ALU_RESULT_OFFSET: rdata_o <= alu_result;
        npu_regs_pkg::NPU_REG_PERF_SEL_OFFSET: rdata_o <= {26'd0, perf_sel_q};
        npu_regs_pkg::NPU_REG_PERF_LO_OFFSET: rdata_o <= perf_lo;
        npu_regs_pkg::NPU_REG_PERF_HI_OFFSET: rdata_o <= {16'd0, perf_hi};
        default: rdata_o <= rd_task;
      endcase
    end
  end

  // protection, byte address bits, bits that no field names, inputs of units that are left out
  logic unused;
  assign unused = ^{
    awprot_i, arprot_i, araddr_i[1:0], clr_irq, alu_busy_i, alu_done_i, alu_result_we_i, alu_result_i,
    pool_busy_i, pool_done_i
  };

  // ------------------------------------------------------------------------------------------------ assertions
  `ASSERT(ErrBits, (err & ~npu_regs_pkg::NPU_REG_ERR_MASK) == 32'd0)
  `ASSERT(BusyAfterTask, ($past(offered & taken & {3{!srst_q && rst_ni}}) & ~unit_runs & {3{!srst_q}}) == 3'd0)
  `ASSERT_STABLE(BStable, bvalid_o, bready_i, bresp_o)
  `ASSERT_STABLE(RStable, rvalid_o, rready_i, {rdata_o, rresp_o})

endmodule
