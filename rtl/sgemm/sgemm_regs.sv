// Register file: AXI4-Lite slave, interrupt, start of tasks, counters (docs/sgemm/registers.md).
//
// AXI4-Lite: 32-bit data, 8-bit address, byte strobes (axil_slave).
//
// A write of START with byte 0 strobed and GO = 1 takes the values of all task registers (task_slot) and checks them
// (sgemm_check). A good task waits on task_valid_o until the engine is idle; so one task runs and one is queued. A
// start meanwhile is ERR.OVERRUN. done_i: COUNT + 1 and IRQ_STATUS. bus_err_i {wr, rd1, rd0}: ERR and IRQ_STATUS.
// Events have priority over a write of 1 to clear.
//
// Soft reset: srst_o is 1 for at least 4 cycles and until drained_i; writes to registers are lost meanwhile, then all
// registers have their reset values.
`include "assert.svh"

module sgemm_regs #(
  parameter int unsigned Dim = 8,
  parameter int unsigned Vec = 8,
  parameter int unsigned R = 1,
  parameter bit EnHalf = 1'b1,
  parameter bit HalfBuf = 1'b0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [7:0]  awaddr_i,
  input  logic [2:0]  awprot_i,
  input  logic        awvalid_i,
  output logic        awready_o,
  input  logic [31:0] wdata_i,
  input  logic [3:0]  wstrb_i,
  input  logic        wvalid_i,
  output logic        wready_o,
  output logic [1:0]  bresp_o,
  output logic        bvalid_o,
  input  logic        bready_i,
  input  logic [7:0]  araddr_i,
  input  logic [2:0]  arprot_i,
  input  logic        arvalid_i,
  output logic        arready_o,
  output logic [31:0] rdata_o,
  output logic [1:0]  rresp_o,
  output logic        rvalid_o,
  input  logic        rready_i,
  output logic        irq_o,

  output logic        task_valid_o,
  input  logic        task_ready_i,
  output sgemm_pkg::sgemm_task_t task_o,
  input  logic        busy_i,
  input  logic        done_i,
  input  logic [2:0]  bus_err_i,
  input  logic [sgemm_pkg::PerfEvents-1:0]    perf_event_i,
  input  logic [5*sgemm_pkg::PerfLevels-1:0] perf_level_i,

  output logic        srst_o,
  input  logic        drained_i
);

  // ------------------------------------------------------------------------------------------------ AXI4-Lite
  logic wr_en, rd_en;
  logic [7:0] wr_addr, rd_addr;
  logic [31:0] wr_data, wr_mask;
  logic unused_active;  // for a gated clock
  axil_slave #(
    .Aw(8)
  ) u_axil (
    .clk_i,
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
    .active_o(unused_active)
  );

  // ------------------------------------------------------------------------------------------------ write decode
  logic [31:0] wr_ones, clr_irq, clr_err;
  logic srst_q, wr_srst, wr_start, wr_snap, wr_clear;
  assign wr_ones = wr_en ? wr_data & wr_mask : 32'd0;
  assign wr_srst = wr_addr == sgemm_regs_pkg::SGEMM_REG_CTRL_OFFSET &&
      wr_ones[sgemm_regs_pkg::SGEMM_CTRL_SOFT_RESET_LSB];
  assign wr_start = wr_addr == sgemm_regs_pkg::SGEMM_REG_START_OFFSET && wr_ones[sgemm_regs_pkg::SGEMM_START_GO_LSB] &&
      !srst_q;
  assign wr_snap = wr_addr == sgemm_regs_pkg::SGEMM_REG_PERF_CTRL_OFFSET &&
      wr_ones[sgemm_regs_pkg::SGEMM_PERF_CTRL_SNAPSHOT_LSB];
  assign wr_clear = wr_addr == sgemm_regs_pkg::SGEMM_REG_PERF_CTRL_OFFSET &&
      wr_ones[sgemm_regs_pkg::SGEMM_PERF_CTRL_CLEAR_LSB];
  assign clr_irq = wr_addr == sgemm_regs_pkg::SGEMM_REG_IRQ_STATUS_OFFSET ? wr_ones : 32'd0;
  assign clr_err = wr_addr == sgemm_regs_pkg::SGEMM_REG_ERR_OFFSET ? wr_ones : 32'd0;

  // ------------------------------------------------------------------------------------------------ soft reset
  logic [1:0] srst_min_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      srst_q <= 1'b0;
      srst_min_q <= '0;
    end else if (!srst_q) begin
      srst_q <= wr_srst;
      srst_min_q <= 2'd3;
    end else if (srst_min_q != 2'd0) begin
      srst_min_q <= srst_min_q - 2'd1;
    end else begin
      srst_q <= !drained_i;
    end
  end
  assign srst_o = srst_q;

  // ------------------------------------------------------------------------------------------------ task registers
  // word i of a flat vector is the register at TaskBase + 4*i
  localparam logic [7:0] TaskBase = sgemm_regs_pkg::SGEMM_REG_A_ADDR_OFFSET;
  localparam logic [7:0] TaskEnd = sgemm_regs_pkg::SGEMM_REG_START_OFFSET;
  localparam int unsigned Words = (32'(TaskEnd) - 32'(TaskBase)) / 4 + 1;
  logic [32*Words-1:0] task_q;
  logic wr_task, rd_task;
  logic [3:0] wr_idx, rd_idx;
  logic [31:0] wr_bits;
  assign wr_task = wr_en && wr_addr >= TaskBase && wr_addr <= TaskEnd;
  assign rd_task = rd_addr >= TaskBase && rd_addr <= TaskEnd;
  assign wr_idx = 4'((wr_addr - TaskBase) >> 2);
  assign rd_idx = 4'((rd_addr - TaskBase) >> 2);
  assign wr_bits = wr_mask & ~(wr_addr == TaskEnd ? sgemm_regs_pkg::SGEMM_START_GO_MASK : 32'd0);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) task_q <= '0;
    else if (srst_q) task_q <= '0;
    else if (wr_task) task_q[32*wr_idx+:32] <= (task_q[32*wr_idx+:32] & ~wr_bits) | (wr_data & wr_bits);
  end

  // the copy of the slot
  logic [32*Words-1:0] slot_q;
  logic slot_free, take, set_config, set_overrun;
  logic check_start, check_busy, check_done, check_ok;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) slot_q <= '0;
    else if (take) slot_q <= task_q;
  end

`define SLOT(Name) slot_q[8*(32'(sgemm_regs_pkg::SGEMM_REG_``Name``_OFFSET)-32'(TaskBase))+:32]
  logic [31:0] mode, size, ksize, alpha, beta, lda, ldb, ldc;
  assign mode = `SLOT(START);
  assign size = `SLOT(SIZE);
  assign ksize = `SLOT(KSIZE);
  assign alpha = `SLOT(ALPHA);
  assign beta = `SLOT(BETA);
  assign lda = `SLOT(LDA);
  assign ldb = `SLOT(LDB);
  assign ldc = `SLOT(LDC);
  assign task_o.a_addr = `SLOT(A_ADDR);
  assign task_o.b_addr = `SLOT(B_ADDR);
  assign task_o.c_addr = `SLOT(C_ADDR);
`undef SLOT
  assign task_o.lda = lda[23:0];
  assign task_o.ldb = ldb[23:0];
  assign task_o.ldc = ldc[23:0];
  assign task_o.m = size[15:0];
  assign task_o.n = size[31:16];
  assign task_o.k = ksize[15:0];
  assign task_o.alpha = alpha;
  assign task_o.beta = beta;
  assign task_o.ta = mode[sgemm_regs_pkg::SGEMM_START_TRANS_A_LSB];
  assign task_o.tb = mode[sgemm_regs_pkg::SGEMM_START_TRANS_B_LSB];
  assign task_o.a16 = mode[sgemm_regs_pkg::SGEMM_START_A_F16_LSB];
  assign task_o.b16 = mode[sgemm_regs_pkg::SGEMM_START_B_F16_LSB];
  assign task_o.c16 = mode[sgemm_regs_pkg::SGEMM_START_C_F16_LSB];
  assign task_o.half = mode[sgemm_regs_pkg::SGEMM_START_HALF_LSB];
  assign task_o.no_ab = alpha[30:0] == '0 || ksize == '0;
  assign task_o.c_zero = beta[30:0] == '0;

  task_slot u_slot (
    .clk_i,
    .rst_ni,
    .clr_i(srst_q),
    .start_i(wr_start),
    .free_o(slot_free),
    .take_o(take),
    .check_start_o(check_start),
    .check_busy_i(check_busy),
    .check_done_i(check_done),
    .check_ok_i(check_ok),
    .task_valid_o,
    .task_ready_i,
    .set_config_o(set_config),
    .set_overrun_o(set_overrun)
  );

  sgemm_check #(
    .EnHalf(EnHalf),
    .HalfBuf(HalfBuf)
  ) u_check (
    .clk_i,
    .rst_ni,
    .clr_i(srst_q),
    .start_i(check_start),
    .a_addr_i(task_o.a_addr),
    .b_addr_i(task_o.b_addr),
    .c_addr_i(task_o.c_addr),
    .lda_i(lda),
    .ldb_i(ldb),
    .ldc_i(ldc),
    .m_i(size[15:0]),
    .n_i(size[31:16]),
    .k_i(ksize),
    .mode_i(mode),
    .no_ab_i(task_o.no_ab),
    .busy_o(check_busy),
    .done_o(check_done),
    .ok_o(check_ok)
  );

  // ------------------------------------------------------------------------------------------------ status, events
  logic irq_q, irq_en_q, busy;
  localparam int unsigned ErrW = sgemm_regs_pkg::SGEMM_ERR_OVERRUN_LSB + 1;
  logic [ErrW-1:0] err_q, err_set;
  logic [15:0] count_q;
  logic [5:0] perf_sel_q;
  assign busy = !srst_q && (!slot_free || busy_i);
  always_comb begin
    err_set = '0;
    err_set[sgemm_regs_pkg::SGEMM_ERR_BUS_RD0_LSB] = bus_err_i[0];
    err_set[sgemm_regs_pkg::SGEMM_ERR_BUS_RD1_LSB] = bus_err_i[1];
    err_set[sgemm_regs_pkg::SGEMM_ERR_BUS_WR_LSB] = bus_err_i[2];
    err_set[sgemm_regs_pkg::SGEMM_ERR_CONFIG_LSB] = set_config;
    err_set[sgemm_regs_pkg::SGEMM_ERR_OVERRUN_LSB] = set_overrun;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      irq_q <= 1'b0;
      irq_en_q <= 1'b0;
      err_q <= '0;
      count_q <= '0;
      perf_sel_q <= '0;
    end else if (srst_q) begin
      irq_q <= 1'b0;
      irq_en_q <= 1'b0;
      err_q <= '0;
      count_q <= '0;
      perf_sel_q <= '0;
    end else begin
      irq_q <= (irq_q && !clr_irq[0]) || done_i || err_set != '0;
      err_q <= (err_q & ~clr_err[ErrW-1:0]) | err_set;
      if (done_i) count_q <= count_q + 16'd1;
      if (wr_en && wr_addr == sgemm_regs_pkg::SGEMM_REG_IRQ_ENABLE_OFFSET && wr_mask[0]) irq_en_q <= wr_data[0];
      if (wr_en && wr_addr == sgemm_regs_pkg::SGEMM_REG_PERF_SEL_OFFSET && wr_mask[0]) perf_sel_q <= wr_data[5:0];
    end
  end
  assign irq_o = irq_q && irq_en_q;

  logic [31:0] perf_lo;
  logic [15:0] perf_hi;
  logic rd_perf;
  // one cycle before rd_en at the earliest: the copy is read at the AR handshake
  assign rd_perf = arvalid_i && arready_o && (araddr_i[7:2] == sgemm_regs_pkg::SGEMM_REG_PERF_LO_OFFSET[7:2] ||
      araddr_i[7:2] == sgemm_regs_pkg::SGEMM_REG_PERF_HI_OFFSET[7:2]);
  npu_perf #(
    .NumCnt(sgemm_pkg::PerfEvents),
    .NumMark(sgemm_pkg::PerfLevels),
    .LevelW(5)
  ) u_perf (
    .clk_i,
    .rst_ni,
    .clr_i(srst_q),
    .run_i(busy),
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
  localparam logic [31:0] Config = 32'(Dim) << sgemm_regs_pkg::SGEMM_CONFIG_DIM_LSB |
      32'(Vec) << sgemm_regs_pkg::SGEMM_CONFIG_VEC_LSB | R << sgemm_regs_pkg::SGEMM_CONFIG_CHAINS_LSB |
      32'(EnHalf) << sgemm_regs_pkg::SGEMM_CONFIG_EN_HALF_LSB |
      32'(HalfBuf) << sgemm_regs_pkg::SGEMM_CONFIG_HALF_BUF_LSB;
  localparam int unsigned StatusW = sgemm_regs_pkg::SGEMM_STATUS_RESETTING_LSB + 1;
  logic [StatusW-1:0] rd_status;
  always_comb begin
    rd_status = '0;
    rd_status[sgemm_regs_pkg::SGEMM_STATUS_BUSY_LSB] = busy;
    rd_status[sgemm_regs_pkg::SGEMM_STATUS_READY_LSB] = slot_free && !srst_q;
    rd_status[sgemm_regs_pkg::SGEMM_STATUS_RESETTING_LSB] = srst_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rdata_o <= '0;
    end else if (rd_en) begin
      rdata_o <= '0;
      case (rd_addr)
        sgemm_regs_pkg::SGEMM_REG_ID_OFFSET: rdata_o <= sgemm_regs_pkg::SGEMM_REG_ID_RESET;
        sgemm_regs_pkg::SGEMM_REG_CONFIG_OFFSET: rdata_o <= Config;
        sgemm_regs_pkg::SGEMM_REG_STATUS_OFFSET: rdata_o <= 32'(rd_status);
        sgemm_regs_pkg::SGEMM_REG_IRQ_STATUS_OFFSET: rdata_o <= {31'd0, irq_q};
        sgemm_regs_pkg::SGEMM_REG_IRQ_ENABLE_OFFSET: rdata_o <= {31'd0, irq_en_q};
        sgemm_regs_pkg::SGEMM_REG_ERR_OFFSET: rdata_o <= 32'(err_q);
        sgemm_regs_pkg::SGEMM_REG_COUNT_OFFSET: rdata_o <= {16'd0, count_q};
        sgemm_regs_pkg::SGEMM_REG_PERF_SEL_OFFSET: rdata_o <= {26'd0, perf_sel_q};
        sgemm_regs_pkg::SGEMM_REG_PERF_LO_OFFSET: rdata_o <= perf_lo;
        sgemm_regs_pkg::SGEMM_REG_PERF_HI_OFFSET: rdata_o <= {16'd0, perf_hi};
        default: if (rd_task) rdata_o <= task_q[32*rd_idx+:32];
      endcase
    end
  end

  // protection, byte address bits, bits that no field names
  logic unused;
  assign unused = ^{
    awprot_i, arprot_i, araddr_i[1:0], clr_irq[31:1], clr_err[31:ErrW], lda[31:24], ldb[31:24],
    ldc[31:24], mode
  };

  `ASSERT(IndexRange, !wr_task || 32'(wr_idx) < Words)
  `ASSERT_STABLE(TaskStable, task_valid_o, task_ready_i || srst_q, slot_q)

endmodule
