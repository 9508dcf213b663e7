// Register offsets and fields.
//
// Generated from regs/npu.regs by tools/gen_regs.py: do not edit, run `make regs`.
package npu_regs_pkg;

  // Identification
  localparam logic [8:0] NPU_REG_ID_OFFSET = 9'h000;
  localparam logic [31:0] NPU_REG_ID_RESET = 32'h4E500001;
  localparam logic [31:0] NPU_REG_ID_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ID_MAGIC_LSB = 16;
  localparam int unsigned NPU_ID_MAGIC_WIDTH = 16;
  localparam logic [31:0] NPU_ID_MAGIC_MASK = 32'hFFFF0000;
  localparam logic [15:0] NPU_ID_MAGIC_RESET = 16'h4E50;
  localparam int unsigned NPU_ID_VERSION_LSB = 0;
  localparam int unsigned NPU_ID_VERSION_WIDTH = 16;
  localparam logic [31:0] NPU_ID_VERSION_MASK = 32'h0000FFFF;
  localparam logic [15:0] NPU_ID_VERSION_RESET = 16'h1;

  // Build parameters
  localparam logic [8:0] NPU_REG_CONFIG_OFFSET = 9'h004;
  localparam logic [31:0] NPU_REG_CONFIG_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_CONFIG_MASK = 32'h000003FF;
  localparam int unsigned NPU_CONFIG_MESH_N_LSB = 0;
  localparam int unsigned NPU_CONFIG_MESH_N_WIDTH = 8;
  localparam logic [31:0] NPU_CONFIG_MESH_N_MASK = 32'h000000FF;
  localparam logic [7:0] NPU_CONFIG_MESH_N_RESET = 8'h0;
  localparam int unsigned NPU_CONFIG_EN_ALU_LSB = 8;
  localparam int unsigned NPU_CONFIG_EN_ALU_WIDTH = 1;
  localparam logic [31:0] NPU_CONFIG_EN_ALU_MASK = 32'h00000100;
  localparam logic [0:0] NPU_CONFIG_EN_ALU_RESET = 1'h0;
  localparam int unsigned NPU_CONFIG_EN_POOL_LSB = 9;
  localparam int unsigned NPU_CONFIG_EN_POOL_WIDTH = 1;
  localparam logic [31:0] NPU_CONFIG_EN_POOL_MASK = 32'h00000200;
  localparam logic [0:0] NPU_CONFIG_EN_POOL_RESET = 1'h0;

  // Control
  localparam logic [8:0] NPU_REG_CTRL_OFFSET = 9'h008;
  localparam logic [31:0] NPU_REG_CTRL_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_CTRL_MASK = 32'h00000001;
  localparam int unsigned NPU_CTRL_SOFT_RESET_LSB = 0;
  localparam int unsigned NPU_CTRL_SOFT_RESET_WIDTH = 1;
  localparam logic [31:0] NPU_CTRL_SOFT_RESET_MASK = 32'h00000001;
  localparam logic [0:0] NPU_CTRL_SOFT_RESET_RESET = 1'h0;

  // Activity
  localparam logic [8:0] NPU_REG_STATUS_OFFSET = 9'h00C;
  localparam logic [31:0] NPU_REG_STATUS_RESET = 32'h00020202;
  localparam logic [31:0] NPU_REG_STATUS_MASK = 32'h00030307;
  localparam int unsigned NPU_STATUS_GEMM_BUSY_LSB = 0;
  localparam int unsigned NPU_STATUS_GEMM_BUSY_WIDTH = 1;
  localparam logic [31:0] NPU_STATUS_GEMM_BUSY_MASK = 32'h00000001;
  localparam logic [0:0] NPU_STATUS_GEMM_BUSY_RESET = 1'h0;
  localparam int unsigned NPU_STATUS_GEMM_READY_LSB = 1;
  localparam int unsigned NPU_STATUS_GEMM_READY_WIDTH = 1;
  localparam logic [31:0] NPU_STATUS_GEMM_READY_MASK = 32'h00000002;
  localparam logic [0:0] NPU_STATUS_GEMM_READY_RESET = 1'h1;
  localparam int unsigned NPU_STATUS_RESETTING_LSB = 2;
  localparam int unsigned NPU_STATUS_RESETTING_WIDTH = 1;
  localparam logic [31:0] NPU_STATUS_RESETTING_MASK = 32'h00000004;
  localparam logic [0:0] NPU_STATUS_RESETTING_RESET = 1'h0;
  localparam int unsigned NPU_STATUS_ALU_BUSY_LSB = 8;
  localparam int unsigned NPU_STATUS_ALU_BUSY_WIDTH = 1;
  localparam logic [31:0] NPU_STATUS_ALU_BUSY_MASK = 32'h00000100;
  localparam logic [0:0] NPU_STATUS_ALU_BUSY_RESET = 1'h0;
  localparam int unsigned NPU_STATUS_ALU_READY_LSB = 9;
  localparam int unsigned NPU_STATUS_ALU_READY_WIDTH = 1;
  localparam logic [31:0] NPU_STATUS_ALU_READY_MASK = 32'h00000200;
  localparam logic [0:0] NPU_STATUS_ALU_READY_RESET = 1'h1;
  localparam int unsigned NPU_STATUS_POOL_BUSY_LSB = 16;
  localparam int unsigned NPU_STATUS_POOL_BUSY_WIDTH = 1;
  localparam logic [31:0] NPU_STATUS_POOL_BUSY_MASK = 32'h00010000;
  localparam logic [0:0] NPU_STATUS_POOL_BUSY_RESET = 1'h0;
  localparam int unsigned NPU_STATUS_POOL_READY_LSB = 17;
  localparam int unsigned NPU_STATUS_POOL_READY_WIDTH = 1;
  localparam logic [31:0] NPU_STATUS_POOL_READY_MASK = 32'h00020000;
  localparam logic [0:0] NPU_STATUS_POOL_READY_RESET = 1'h1;

  // Interrupt status; a line is high while an enabled bit is 1
  localparam logic [8:0] NPU_REG_IRQ_STATUS_OFFSET = 9'h010;
  localparam logic [31:0] NPU_REG_IRQ_STATUS_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_IRQ_STATUS_MASK = 32'h00000007;
  localparam int unsigned NPU_IRQ_STATUS_ALU_LSB = 0;
  localparam int unsigned NPU_IRQ_STATUS_ALU_WIDTH = 1;
  localparam logic [31:0] NPU_IRQ_STATUS_ALU_MASK = 32'h00000001;
  localparam logic [0:0] NPU_IRQ_STATUS_ALU_RESET = 1'h0;
  localparam int unsigned NPU_IRQ_STATUS_POOL_LSB = 1;
  localparam int unsigned NPU_IRQ_STATUS_POOL_WIDTH = 1;
  localparam logic [31:0] NPU_IRQ_STATUS_POOL_MASK = 32'h00000002;
  localparam logic [0:0] NPU_IRQ_STATUS_POOL_RESET = 1'h0;
  localparam int unsigned NPU_IRQ_STATUS_GEMM_LSB = 2;
  localparam int unsigned NPU_IRQ_STATUS_GEMM_WIDTH = 1;
  localparam logic [31:0] NPU_IRQ_STATUS_GEMM_MASK = 32'h00000004;
  localparam logic [0:0] NPU_IRQ_STATUS_GEMM_RESET = 1'h0;

  // Interrupt enable
  localparam logic [8:0] NPU_REG_IRQ_ENABLE_OFFSET = 9'h014;
  localparam logic [31:0] NPU_REG_IRQ_ENABLE_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_IRQ_ENABLE_MASK = 32'h00000007;
  localparam int unsigned NPU_IRQ_ENABLE_ALU_LSB = 0;
  localparam int unsigned NPU_IRQ_ENABLE_ALU_WIDTH = 1;
  localparam logic [31:0] NPU_IRQ_ENABLE_ALU_MASK = 32'h00000001;
  localparam logic [0:0] NPU_IRQ_ENABLE_ALU_RESET = 1'h0;
  localparam int unsigned NPU_IRQ_ENABLE_POOL_LSB = 1;
  localparam int unsigned NPU_IRQ_ENABLE_POOL_WIDTH = 1;
  localparam logic [31:0] NPU_IRQ_ENABLE_POOL_MASK = 32'h00000002;
  localparam logic [0:0] NPU_IRQ_ENABLE_POOL_RESET = 1'h0;
  localparam int unsigned NPU_IRQ_ENABLE_GEMM_LSB = 2;
  localparam int unsigned NPU_IRQ_ENABLE_GEMM_WIDTH = 1;
  localparam logic [31:0] NPU_IRQ_ENABLE_GEMM_MASK = 32'h00000004;
  localparam logic [0:0] NPU_IRQ_ENABLE_GEMM_RESET = 1'h0;

  // For systems with one interrupt line: lowest set and enabled bit of IRQ_STATUS plus 1, 0 when none
  localparam logic [8:0] NPU_REG_IRQ_ID_OFFSET = 9'h018;
  localparam logic [31:0] NPU_REG_IRQ_ID_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_IRQ_ID_MASK = 32'h00000003;
  localparam int unsigned NPU_IRQ_ID_ID_LSB = 0;
  localparam int unsigned NPU_IRQ_ID_ID_WIDTH = 2;
  localparam logic [31:0] NPU_IRQ_ID_ID_MASK = 32'h00000003;
  localparam logic [1:0] NPU_IRQ_ID_ID_RESET = 2'h0;

  // Error causes, sticky, one byte for each unit; each also raises the IRQ_STATUS bit of its unit
  localparam logic [8:0] NPU_REG_ERR_OFFSET = 9'h01C;
  localparam logic [31:0] NPU_REG_ERR_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ERR_MASK = 32'h003F3F3F;
  localparam int unsigned NPU_ERR_BUS_RD0_LSB = 0;
  localparam int unsigned NPU_ERR_BUS_RD0_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_BUS_RD0_MASK = 32'h00000001;
  localparam logic [0:0] NPU_ERR_BUS_RD0_RESET = 1'h0;
  localparam int unsigned NPU_ERR_BUS_RD1_LSB = 1;
  localparam int unsigned NPU_ERR_BUS_RD1_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_BUS_RD1_MASK = 32'h00000002;
  localparam logic [0:0] NPU_ERR_BUS_RD1_RESET = 1'h0;
  localparam int unsigned NPU_ERR_BUS_WR0_LSB = 2;
  localparam int unsigned NPU_ERR_BUS_WR0_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_BUS_WR0_MASK = 32'h00000004;
  localparam logic [0:0] NPU_ERR_BUS_WR0_RESET = 1'h0;
  localparam int unsigned NPU_ERR_BUS_WR1_LSB = 3;
  localparam int unsigned NPU_ERR_BUS_WR1_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_BUS_WR1_MASK = 32'h00000008;
  localparam logic [0:0] NPU_ERR_BUS_WR1_RESET = 1'h0;
  localparam int unsigned NPU_ERR_CONFIG_LSB = 4;
  localparam int unsigned NPU_ERR_CONFIG_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_CONFIG_MASK = 32'h00000010;
  localparam logic [0:0] NPU_ERR_CONFIG_RESET = 1'h0;
  localparam int unsigned NPU_ERR_OVERRUN_LSB = 5;
  localparam int unsigned NPU_ERR_OVERRUN_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_OVERRUN_MASK = 32'h00000020;
  localparam logic [0:0] NPU_ERR_OVERRUN_RESET = 1'h0;
  localparam int unsigned NPU_ERR_ALU_BUS_RD0_LSB = 8;
  localparam int unsigned NPU_ERR_ALU_BUS_RD0_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_ALU_BUS_RD0_MASK = 32'h00000100;
  localparam logic [0:0] NPU_ERR_ALU_BUS_RD0_RESET = 1'h0;
  localparam int unsigned NPU_ERR_ALU_BUS_RD1_LSB = 9;
  localparam int unsigned NPU_ERR_ALU_BUS_RD1_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_ALU_BUS_RD1_MASK = 32'h00000200;
  localparam logic [0:0] NPU_ERR_ALU_BUS_RD1_RESET = 1'h0;
  localparam int unsigned NPU_ERR_ALU_BUS_WR0_LSB = 10;
  localparam int unsigned NPU_ERR_ALU_BUS_WR0_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_ALU_BUS_WR0_MASK = 32'h00000400;
  localparam logic [0:0] NPU_ERR_ALU_BUS_WR0_RESET = 1'h0;
  localparam int unsigned NPU_ERR_ALU_BUS_WR1_LSB = 11;
  localparam int unsigned NPU_ERR_ALU_BUS_WR1_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_ALU_BUS_WR1_MASK = 32'h00000800;
  localparam logic [0:0] NPU_ERR_ALU_BUS_WR1_RESET = 1'h0;
  localparam int unsigned NPU_ERR_ALU_CONFIG_LSB = 12;
  localparam int unsigned NPU_ERR_ALU_CONFIG_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_ALU_CONFIG_MASK = 32'h00001000;
  localparam logic [0:0] NPU_ERR_ALU_CONFIG_RESET = 1'h0;
  localparam int unsigned NPU_ERR_ALU_OVERRUN_LSB = 13;
  localparam int unsigned NPU_ERR_ALU_OVERRUN_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_ALU_OVERRUN_MASK = 32'h00002000;
  localparam logic [0:0] NPU_ERR_ALU_OVERRUN_RESET = 1'h0;
  localparam int unsigned NPU_ERR_POOL_BUS_RD0_LSB = 16;
  localparam int unsigned NPU_ERR_POOL_BUS_RD0_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_POOL_BUS_RD0_MASK = 32'h00010000;
  localparam logic [0:0] NPU_ERR_POOL_BUS_RD0_RESET = 1'h0;
  localparam int unsigned NPU_ERR_POOL_BUS_RD1_LSB = 17;
  localparam int unsigned NPU_ERR_POOL_BUS_RD1_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_POOL_BUS_RD1_MASK = 32'h00020000;
  localparam logic [0:0] NPU_ERR_POOL_BUS_RD1_RESET = 1'h0;
  localparam int unsigned NPU_ERR_POOL_BUS_WR0_LSB = 18;
  localparam int unsigned NPU_ERR_POOL_BUS_WR0_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_POOL_BUS_WR0_MASK = 32'h00040000;
  localparam logic [0:0] NPU_ERR_POOL_BUS_WR0_RESET = 1'h0;
  localparam int unsigned NPU_ERR_POOL_BUS_WR1_LSB = 19;
  localparam int unsigned NPU_ERR_POOL_BUS_WR1_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_POOL_BUS_WR1_MASK = 32'h00080000;
  localparam logic [0:0] NPU_ERR_POOL_BUS_WR1_RESET = 1'h0;
  localparam int unsigned NPU_ERR_POOL_CONFIG_LSB = 20;
  localparam int unsigned NPU_ERR_POOL_CONFIG_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_POOL_CONFIG_MASK = 32'h00100000;
  localparam logic [0:0] NPU_ERR_POOL_CONFIG_RESET = 1'h0;
  localparam int unsigned NPU_ERR_POOL_OVERRUN_LSB = 21;
  localparam int unsigned NPU_ERR_POOL_OVERRUN_WIDTH = 1;
  localparam logic [31:0] NPU_ERR_POOL_OVERRUN_MASK = 32'h00200000;
  localparam logic [0:0] NPU_ERR_POOL_OVERRUN_RESET = 1'h0;

  // Completed GEMM tasks
  localparam logic [8:0] NPU_REG_GEMM_COUNT_OFFSET = 9'h020;
  localparam logic [31:0] NPU_REG_GEMM_COUNT_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_COUNT_MASK = 32'h0000FFFF;
  localparam int unsigned NPU_GEMM_COUNT_DONE_LSB = 0;
  localparam int unsigned NPU_GEMM_COUNT_DONE_WIDTH = 16;
  localparam logic [31:0] NPU_GEMM_COUNT_DONE_MASK = 32'h0000FFFF;
  localparam logic [15:0] NPU_GEMM_COUNT_DONE_RESET = 16'h0;

  // Performance counters
  localparam logic [8:0] NPU_REG_PERF_CTRL_OFFSET = 9'h024;
  localparam logic [31:0] NPU_REG_PERF_CTRL_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_PERF_CTRL_MASK = 32'h00000003;
  localparam int unsigned NPU_PERF_CTRL_SNAPSHOT_LSB = 0;
  localparam int unsigned NPU_PERF_CTRL_SNAPSHOT_WIDTH = 1;
  localparam logic [31:0] NPU_PERF_CTRL_SNAPSHOT_MASK = 32'h00000001;
  localparam logic [0:0] NPU_PERF_CTRL_SNAPSHOT_RESET = 1'h0;
  localparam int unsigned NPU_PERF_CTRL_CLEAR_LSB = 1;
  localparam int unsigned NPU_PERF_CTRL_CLEAR_WIDTH = 1;
  localparam logic [31:0] NPU_PERF_CTRL_CLEAR_MASK = 32'h00000002;
  localparam logic [0:0] NPU_PERF_CTRL_CLEAR_RESET = 1'h0;

  // Performance counter select
  localparam logic [8:0] NPU_REG_PERF_SEL_OFFSET = 9'h028;
  localparam logic [31:0] NPU_REG_PERF_SEL_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_PERF_SEL_MASK = 32'h0000003F;
  localparam int unsigned NPU_PERF_SEL_SEL_LSB = 0;
  localparam int unsigned NPU_PERF_SEL_SEL_WIDTH = 6;
  localparam logic [31:0] NPU_PERF_SEL_SEL_MASK = 32'h0000003F;
  localparam logic [5:0] NPU_PERF_SEL_SEL_RESET = 6'h0;
  localparam logic [5:0] NPU_PERF_SEL_SEL_CYCLES = 6'd0;
  localparam logic [5:0] NPU_PERF_SEL_SEL_GEMM_COMPUTE = 6'd1;
  localparam logic [5:0] NPU_PERF_SEL_SEL_READ0_BEATS = 6'd2;
  localparam logic [5:0] NPU_PERF_SEL_SEL_READ1_BEATS = 6'd3;
  localparam logic [5:0] NPU_PERF_SEL_SEL_WRITE0_BEATS = 6'd4;
  localparam logic [5:0] NPU_PERF_SEL_SEL_WRITE1_BEATS = 6'd5;
  localparam logic [5:0] NPU_PERF_SEL_SEL_IM2COL_WAITS_ROWS = 6'd6;
  localparam logic [5:0] NPU_PERF_SEL_SEL_IM2COL_WAITS_WEIGHTS = 6'd7;
  localparam logic [5:0] NPU_PERF_SEL_SEL_IM2COL_WAITS_ROOM = 6'd8;
  localparam logic [5:0] NPU_PERF_SEL_SEL_READ0_BURSTS = 6'd9;
  localparam logic [5:0] NPU_PERF_SEL_SEL_READ1_BURSTS = 6'd10;
  localparam logic [5:0] NPU_PERF_SEL_SEL_WRITE0_BURSTS = 6'd11;
  localparam logic [5:0] NPU_PERF_SEL_SEL_WRITE1_BURSTS = 6'd12;
  localparam logic [5:0] NPU_PERF_SEL_SEL_READ0_WAITS_BUS = 6'd13;
  localparam logic [5:0] NPU_PERF_SEL_SEL_READ1_WAITS_BUS = 6'd14;
  localparam logic [5:0] NPU_PERF_SEL_SEL_READ0_HELD = 6'd15;
  localparam logic [5:0] NPU_PERF_SEL_SEL_READ1_HELD = 6'd16;
  localparam logic [5:0] NPU_PERF_SEL_SEL_WRITE0_WAITS_BUS = 6'd17;
  localparam logic [5:0] NPU_PERF_SEL_SEL_WRITE1_WAITS_BUS = 6'd18;
  localparam logic [5:0] NPU_PERF_SEL_SEL_WRITE0_WAITS_DATA = 6'd19;
  localparam logic [5:0] NPU_PERF_SEL_SEL_WRITE1_WAITS_DATA = 6'd20;
  localparam logic [5:0] NPU_PERF_SEL_SEL_GEMM_LOAD = 6'd21;
  localparam logic [5:0] NPU_PERF_SEL_SEL_GEMM_WRITE_BACK = 6'd22;
  localparam logic [5:0] NPU_PERF_SEL_SEL_POST0_WAITS_ROOM = 6'd23;
  localparam logic [5:0] NPU_PERF_SEL_SEL_POST1_WAITS_ROOM = 6'd24;
  localparam logic [5:0] NPU_PERF_SEL_SEL_POST0_WAITS_PSUM = 6'd25;
  localparam logic [5:0] NPU_PERF_SEL_SEL_POST1_WAITS_PSUM = 6'd26;
  localparam logic [5:0] NPU_PERF_SEL_SEL_ALU_BUSY = 6'd27;
  localparam logic [5:0] NPU_PERF_SEL_SEL_ALU_WAITS_OPERANDS = 6'd28;
  localparam logic [5:0] NPU_PERF_SEL_SEL_ALU_WAITS_ROOM = 6'd29;
  localparam logic [5:0] NPU_PERF_SEL_SEL_POOL_BUSY = 6'd30;
  localparam logic [5:0] NPU_PERF_SEL_SEL_POOL_WAITS_INPUT = 6'd31;
  localparam logic [5:0] NPU_PERF_SEL_SEL_POOL_WAITS_ROOM = 6'd32;
  localparam logic [5:0] NPU_PERF_SEL_SEL_GEMM_BUSY = 6'd33;
  localparam logic [5:0] NPU_PERF_SEL_SEL_ALU0_RESULTS = 6'd34;
  localparam logic [5:0] NPU_PERF_SEL_SEL_ALU1_RESULTS = 6'd35;
  localparam logic [5:0] NPU_PERF_SEL_SEL_MOST_SEND0_GEMM = 6'd40;
  localparam logic [5:0] NPU_PERF_SEL_SEL_MOST_SEND1_GEMM = 6'd41;
  localparam logic [5:0] NPU_PERF_SEL_SEL_MOST_SEND0_POOL = 6'd42;
  localparam logic [5:0] NPU_PERF_SEL_SEL_MOST_SEND1_POOL = 6'd43;
  localparam logic [5:0] NPU_PERF_SEL_SEL_MOST_SEND0_ALU = 6'd44;
  localparam logic [5:0] NPU_PERF_SEL_SEL_MOST_SEND1_ALU = 6'd45;
  localparam logic [5:0] NPU_PERF_SEL_SEL_MOST_OFM_TILES = 6'd46;
  localparam logic [5:0] NPU_PERF_SEL_SEL_MOST_IFM_WORDS = 6'd47;
  localparam logic [5:0] NPU_PERF_SEL_SEL_MOST_READ0_BURSTS = 6'd48;
  localparam logic [5:0] NPU_PERF_SEL_SEL_MOST_READ1_BURSTS = 6'd49;
  localparam logic [5:0] NPU_PERF_SEL_SEL_MOST_WRITE0_BURSTS = 6'd50;
  localparam logic [5:0] NPU_PERF_SEL_SEL_MOST_WRITE1_BURSTS = 6'd51;

  // Selected counter, low half
  localparam logic [8:0] NPU_REG_PERF_LO_OFFSET = 9'h02C;
  localparam logic [31:0] NPU_REG_PERF_LO_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_PERF_LO_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_PERF_LO_VALUE_LSB = 0;
  localparam int unsigned NPU_PERF_LO_VALUE_WIDTH = 32;
  localparam logic [31:0] NPU_PERF_LO_VALUE_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_PERF_LO_VALUE_RESET = 32'h0;

  // Selected counter, high half
  localparam logic [8:0] NPU_REG_PERF_HI_OFFSET = 9'h030;
  localparam logic [31:0] NPU_REG_PERF_HI_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_PERF_HI_MASK = 32'h0000FFFF;
  localparam int unsigned NPU_PERF_HI_VALUE_LSB = 0;
  localparam int unsigned NPU_PERF_HI_VALUE_WIDTH = 16;
  localparam logic [31:0] NPU_PERF_HI_VALUE_MASK = 32'h0000FFFF;
  localparam logic [15:0] NPU_PERF_HI_VALUE_RESET = 16'h0;

  // Completed ALU tasks
  localparam logic [8:0] NPU_REG_ALU_COUNT_OFFSET = 9'h034;
  localparam logic [31:0] NPU_REG_ALU_COUNT_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_COUNT_MASK = 32'h0000FFFF;
  localparam int unsigned NPU_ALU_COUNT_DONE_LSB = 0;
  localparam int unsigned NPU_ALU_COUNT_DONE_WIDTH = 16;
  localparam logic [31:0] NPU_ALU_COUNT_DONE_MASK = 32'h0000FFFF;
  localparam logic [15:0] NPU_ALU_COUNT_DONE_RESET = 16'h0;

  // Completed POOL tasks
  localparam logic [8:0] NPU_REG_POOL_COUNT_OFFSET = 9'h038;
  localparam logic [31:0] NPU_REG_POOL_COUNT_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_POOL_COUNT_MASK = 32'h0000FFFF;
  localparam int unsigned NPU_POOL_COUNT_DONE_LSB = 0;
  localparam int unsigned NPU_POOL_COUNT_DONE_WIDTH = 16;
  localparam logic [31:0] NPU_POOL_COUNT_DONE_MASK = 32'h0000FFFF;
  localparam logic [15:0] NPU_POOL_COUNT_DONE_RESET = 16'h0;

  // Result of the last reduction
  localparam logic [8:0] NPU_REG_ALU_RESULT_OFFSET = 9'h03C;
  localparam logic [31:0] NPU_REG_ALU_RESULT_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_RESULT_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_RESULT_VALUE_LSB = 0;
  localparam int unsigned NPU_ALU_RESULT_VALUE_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_RESULT_VALUE_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_RESULT_VALUE_RESET = 32'h0;

  // Input feature map
  localparam logic [8:0] NPU_REG_GEMM_IFM_ADDR_OFFSET = 9'h0C0;
  localparam logic [31:0] NPU_REG_GEMM_IFM_ADDR_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_IFM_ADDR_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_IFM_ADDR_ADDR_LSB = 0;
  localparam int unsigned NPU_GEMM_IFM_ADDR_ADDR_WIDTH = 32;
  localparam logic [31:0] NPU_GEMM_IFM_ADDR_ADDR_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_GEMM_IFM_ADDR_ADDR_RESET = 32'h0;

  // Input channel step
  localparam logic [8:0] NPU_REG_GEMM_IFM_CSTEP_OFFSET = 9'h0C4;
  localparam logic [31:0] NPU_REG_GEMM_IFM_CSTEP_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_IFM_CSTEP_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_IFM_CSTEP_BYTES_LSB = 0;
  localparam int unsigned NPU_GEMM_IFM_CSTEP_BYTES_WIDTH = 32;
  localparam logic [31:0] NPU_GEMM_IFM_CSTEP_BYTES_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_GEMM_IFM_CSTEP_BYTES_RESET = 32'h0;

  // Weights
  localparam logic [8:0] NPU_REG_GEMM_WGT_ADDR_OFFSET = 9'h0C8;
  localparam logic [31:0] NPU_REG_GEMM_WGT_ADDR_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_WGT_ADDR_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_WGT_ADDR_ADDR_LSB = 0;
  localparam int unsigned NPU_GEMM_WGT_ADDR_ADDR_WIDTH = 32;
  localparam logic [31:0] NPU_GEMM_WGT_ADDR_ADDR_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_GEMM_WGT_ADDR_ADDR_RESET = 32'h0;

  // Output scales
  localparam logic [8:0] NPU_REG_GEMM_OSCALE_ADDR_OFFSET = 9'h0CC;
  localparam logic [31:0] NPU_REG_GEMM_OSCALE_ADDR_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_OSCALE_ADDR_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_OSCALE_ADDR_ADDR_LSB = 0;
  localparam int unsigned NPU_GEMM_OSCALE_ADDR_ADDR_WIDTH = 32;
  localparam logic [31:0] NPU_GEMM_OSCALE_ADDR_ADDR_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_GEMM_OSCALE_ADDR_ADDR_RESET = 32'h0;

  // Biases
  localparam logic [8:0] NPU_REG_GEMM_BIAS_ADDR_OFFSET = 9'h0D0;
  localparam logic [31:0] NPU_REG_GEMM_BIAS_ADDR_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_BIAS_ADDR_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_BIAS_ADDR_ADDR_LSB = 0;
  localparam int unsigned NPU_GEMM_BIAS_ADDR_ADDR_WIDTH = 32;
  localparam logic [31:0] NPU_GEMM_BIAS_ADDR_ADDR_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_GEMM_BIAS_ADDR_ADDR_RESET = 32'h0;

  // Output feature map
  localparam logic [8:0] NPU_REG_GEMM_OFM_ADDR_OFFSET = 9'h0D4;
  localparam logic [31:0] NPU_REG_GEMM_OFM_ADDR_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_OFM_ADDR_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_OFM_ADDR_ADDR_LSB = 0;
  localparam int unsigned NPU_GEMM_OFM_ADDR_ADDR_WIDTH = 32;
  localparam logic [31:0] NPU_GEMM_OFM_ADDR_ADDR_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_GEMM_OFM_ADDR_ADDR_RESET = 32'h0;

  // Output channel step
  localparam logic [8:0] NPU_REG_GEMM_OFM_CSTEP_OFFSET = 9'h0D8;
  localparam logic [31:0] NPU_REG_GEMM_OFM_CSTEP_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_OFM_CSTEP_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_OFM_CSTEP_BYTES_LSB = 0;
  localparam int unsigned NPU_GEMM_OFM_CSTEP_BYTES_WIDTH = 32;
  localparam logic [31:0] NPU_GEMM_OFM_CSTEP_BYTES_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_GEMM_OFM_CSTEP_BYTES_RESET = 32'h0;

  // Partial sums
  localparam logic [8:0] NPU_REG_GEMM_PSUM_ADDR_OFFSET = 9'h0DC;
  localparam logic [31:0] NPU_REG_GEMM_PSUM_ADDR_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_PSUM_ADDR_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_PSUM_ADDR_ADDR_LSB = 0;
  localparam int unsigned NPU_GEMM_PSUM_ADDR_ADDR_WIDTH = 32;
  localparam logic [31:0] NPU_GEMM_PSUM_ADDR_ADDR_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_GEMM_PSUM_ADDR_ADDR_RESET = 32'h0;

  // Input size
  localparam logic [8:0] NPU_REG_GEMM_IFM_SIZE_OFFSET = 9'h0E0;
  localparam logic [31:0] NPU_REG_GEMM_IFM_SIZE_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_IFM_SIZE_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_IFM_SIZE_IW_LSB = 0;
  localparam int unsigned NPU_GEMM_IFM_SIZE_IW_WIDTH = 16;
  localparam logic [31:0] NPU_GEMM_IFM_SIZE_IW_MASK = 32'h0000FFFF;
  localparam logic [15:0] NPU_GEMM_IFM_SIZE_IW_RESET = 16'h0;
  localparam int unsigned NPU_GEMM_IFM_SIZE_IH_LSB = 16;
  localparam int unsigned NPU_GEMM_IFM_SIZE_IH_WIDTH = 16;
  localparam logic [31:0] NPU_GEMM_IFM_SIZE_IH_MASK = 32'hFFFF0000;
  localparam logic [15:0] NPU_GEMM_IFM_SIZE_IH_RESET = 16'h0;

  // Channels
  localparam logic [8:0] NPU_REG_GEMM_CHANNELS_OFFSET = 9'h0E4;
  localparam logic [31:0] NPU_REG_GEMM_CHANNELS_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_CHANNELS_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_CHANNELS_IC_LSB = 0;
  localparam int unsigned NPU_GEMM_CHANNELS_IC_WIDTH = 16;
  localparam logic [31:0] NPU_GEMM_CHANNELS_IC_MASK = 32'h0000FFFF;
  localparam logic [15:0] NPU_GEMM_CHANNELS_IC_RESET = 16'h0;
  localparam int unsigned NPU_GEMM_CHANNELS_OC_LSB = 16;
  localparam int unsigned NPU_GEMM_CHANNELS_OC_WIDTH = 16;
  localparam logic [31:0] NPU_GEMM_CHANNELS_OC_MASK = 32'hFFFF0000;
  localparam logic [15:0] NPU_GEMM_CHANNELS_OC_RESET = 16'h0;

  // Output size
  localparam logic [8:0] NPU_REG_GEMM_OFM_SIZE_OFFSET = 9'h0E8;
  localparam logic [31:0] NPU_REG_GEMM_OFM_SIZE_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_OFM_SIZE_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_OFM_SIZE_OW_LSB = 0;
  localparam int unsigned NPU_GEMM_OFM_SIZE_OW_WIDTH = 16;
  localparam logic [31:0] NPU_GEMM_OFM_SIZE_OW_MASK = 32'h0000FFFF;
  localparam logic [15:0] NPU_GEMM_OFM_SIZE_OW_RESET = 16'h0;
  localparam int unsigned NPU_GEMM_OFM_SIZE_OH_LSB = 16;
  localparam int unsigned NPU_GEMM_OFM_SIZE_OH_WIDTH = 16;
  localparam logic [31:0] NPU_GEMM_OFM_SIZE_OH_MASK = 32'hFFFF0000;
  localparam logic [15:0] NPU_GEMM_OFM_SIZE_OH_RESET = 16'h0;

  // Input scale
  localparam logic [8:0] NPU_REG_GEMM_IN_SCALE_OFFSET = 9'h0EC;
  localparam logic [31:0] NPU_REG_GEMM_IN_SCALE_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_IN_SCALE_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_IN_SCALE_VALUE_LSB = 0;
  localparam int unsigned NPU_GEMM_IN_SCALE_VALUE_WIDTH = 32;
  localparam logic [31:0] NPU_GEMM_IN_SCALE_VALUE_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_GEMM_IN_SCALE_VALUE_RESET = 32'h0;

  // GEMM control, register 60; a write with EN = 1 starts a task with the values of all GEMM registers
  localparam logic [8:0] NPU_REG_GEMM_CTRL_OFFSET = 9'h0F0;
  localparam logic [31:0] NPU_REG_GEMM_CTRL_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_CTRL_MASK = 32'h1FFFFFFF;
  localparam int unsigned NPU_GEMM_CTRL_EN_LSB = 0;
  localparam int unsigned NPU_GEMM_CTRL_EN_WIDTH = 1;
  localparam logic [31:0] NPU_GEMM_CTRL_EN_MASK = 32'h00000001;
  localparam logic [0:0] NPU_GEMM_CTRL_EN_RESET = 1'h0;
  localparam int unsigned NPU_GEMM_CTRL_OP_LSB = 1;
  localparam int unsigned NPU_GEMM_CTRL_OP_WIDTH = 2;
  localparam logic [31:0] NPU_GEMM_CTRL_OP_MASK = 32'h00000006;
  localparam logic [1:0] NPU_GEMM_CTRL_OP_RESET = 2'h0;
  localparam logic [1:0] NPU_GEMM_CTRL_OP_CONV = 2'd0;
  localparam logic [1:0] NPU_GEMM_CTRL_OP_DEPTHWISE = 2'd1;
  localparam logic [1:0] NPU_GEMM_CTRL_OP_CONVERT = 2'd2;
  localparam int unsigned NPU_GEMM_CTRL_KERNEL_LSB = 3;
  localparam int unsigned NPU_GEMM_CTRL_KERNEL_WIDTH = 3;
  localparam logic [31:0] NPU_GEMM_CTRL_KERNEL_MASK = 32'h00000038;
  localparam logic [2:0] NPU_GEMM_CTRL_KERNEL_RESET = 3'h0;
  localparam int unsigned NPU_GEMM_CTRL_STRIDE_LSB = 6;
  localparam int unsigned NPU_GEMM_CTRL_STRIDE_WIDTH = 3;
  localparam logic [31:0] NPU_GEMM_CTRL_STRIDE_MASK = 32'h000001C0;
  localparam logic [2:0] NPU_GEMM_CTRL_STRIDE_RESET = 3'h0;
  localparam int unsigned NPU_GEMM_CTRL_PAD_MODE_LSB = 9;
  localparam int unsigned NPU_GEMM_CTRL_PAD_MODE_WIDTH = 2;
  localparam logic [31:0] NPU_GEMM_CTRL_PAD_MODE_MASK = 32'h00000600;
  localparam logic [1:0] NPU_GEMM_CTRL_PAD_MODE_RESET = 2'h0;
  localparam logic [1:0] NPU_GEMM_CTRL_PAD_MODE_ZERO = 2'd0;
  localparam int unsigned NPU_GEMM_CTRL_PAD_LEFT_LSB = 11;
  localparam int unsigned NPU_GEMM_CTRL_PAD_LEFT_WIDTH = 2;
  localparam logic [31:0] NPU_GEMM_CTRL_PAD_LEFT_MASK = 32'h00001800;
  localparam logic [1:0] NPU_GEMM_CTRL_PAD_LEFT_RESET = 2'h0;
  localparam int unsigned NPU_GEMM_CTRL_PAD_RIGHT_LSB = 13;
  localparam int unsigned NPU_GEMM_CTRL_PAD_RIGHT_WIDTH = 2;
  localparam logic [31:0] NPU_GEMM_CTRL_PAD_RIGHT_MASK = 32'h00006000;
  localparam logic [1:0] NPU_GEMM_CTRL_PAD_RIGHT_RESET = 2'h0;
  localparam int unsigned NPU_GEMM_CTRL_PAD_TOP_LSB = 15;
  localparam int unsigned NPU_GEMM_CTRL_PAD_TOP_WIDTH = 2;
  localparam logic [31:0] NPU_GEMM_CTRL_PAD_TOP_MASK = 32'h00018000;
  localparam logic [1:0] NPU_GEMM_CTRL_PAD_TOP_RESET = 2'h0;
  localparam int unsigned NPU_GEMM_CTRL_PAD_BOTTOM_LSB = 17;
  localparam int unsigned NPU_GEMM_CTRL_PAD_BOTTOM_WIDTH = 2;
  localparam logic [31:0] NPU_GEMM_CTRL_PAD_BOTTOM_MASK = 32'h00060000;
  localparam logic [1:0] NPU_GEMM_CTRL_PAD_BOTTOM_RESET = 2'h0;
  localparam int unsigned NPU_GEMM_CTRL_BIAS_LSB = 19;
  localparam int unsigned NPU_GEMM_CTRL_BIAS_WIDTH = 1;
  localparam logic [31:0] NPU_GEMM_CTRL_BIAS_MASK = 32'h00080000;
  localparam logic [0:0] NPU_GEMM_CTRL_BIAS_RESET = 1'h0;
  localparam int unsigned NPU_GEMM_CTRL_REQUANT_LSB = 20;
  localparam int unsigned NPU_GEMM_CTRL_REQUANT_WIDTH = 1;
  localparam logic [31:0] NPU_GEMM_CTRL_REQUANT_MASK = 32'h00100000;
  localparam logic [0:0] NPU_GEMM_CTRL_REQUANT_RESET = 1'h0;
  localparam int unsigned NPU_GEMM_CTRL_LAYOUT_LSB = 21;
  localparam int unsigned NPU_GEMM_CTRL_LAYOUT_WIDTH = 1;
  localparam logic [31:0] NPU_GEMM_CTRL_LAYOUT_MASK = 32'h00200000;
  localparam logic [0:0] NPU_GEMM_CTRL_LAYOUT_RESET = 1'h0;
  localparam int unsigned NPU_GEMM_CTRL_OSCALE_LSB = 22;
  localparam int unsigned NPU_GEMM_CTRL_OSCALE_WIDTH = 1;
  localparam logic [31:0] NPU_GEMM_CTRL_OSCALE_MASK = 32'h00400000;
  localparam logic [0:0] NPU_GEMM_CTRL_OSCALE_RESET = 1'h0;
  localparam int unsigned NPU_GEMM_CTRL_DIV_IC_LSB = 23;
  localparam int unsigned NPU_GEMM_CTRL_DIV_IC_WIDTH = 1;
  localparam logic [31:0] NPU_GEMM_CTRL_DIV_IC_MASK = 32'h00800000;
  localparam logic [0:0] NPU_GEMM_CTRL_DIV_IC_RESET = 1'h0;
  localparam int unsigned NPU_GEMM_CTRL_EXT_LSB = 24;
  localparam int unsigned NPU_GEMM_CTRL_EXT_WIDTH = 1;
  localparam logic [31:0] NPU_GEMM_CTRL_EXT_MASK = 32'h01000000;
  localparam logic [0:0] NPU_GEMM_CTRL_EXT_RESET = 1'h0;
  localparam int unsigned NPU_GEMM_CTRL_PSUM_ADD_LSB = 25;
  localparam int unsigned NPU_GEMM_CTRL_PSUM_ADD_WIDTH = 1;
  localparam logic [31:0] NPU_GEMM_CTRL_PSUM_ADD_MASK = 32'h02000000;
  localparam logic [0:0] NPU_GEMM_CTRL_PSUM_ADD_RESET = 1'h0;
  localparam int unsigned NPU_GEMM_CTRL_FENCE_LSB = 26;
  localparam int unsigned NPU_GEMM_CTRL_FENCE_WIDTH = 1;
  localparam logic [31:0] NPU_GEMM_CTRL_FENCE_MASK = 32'h04000000;
  localparam logic [0:0] NPU_GEMM_CTRL_FENCE_RESET = 1'h0;
  localparam int unsigned NPU_GEMM_CTRL_WGT_RES_LSB = 27;
  localparam int unsigned NPU_GEMM_CTRL_WGT_RES_WIDTH = 1;
  localparam logic [31:0] NPU_GEMM_CTRL_WGT_RES_MASK = 32'h08000000;
  localparam logic [0:0] NPU_GEMM_CTRL_WGT_RES_RESET = 1'h0;
  localparam int unsigned NPU_GEMM_CTRL_WGT_KEEP_LSB = 28;
  localparam int unsigned NPU_GEMM_CTRL_WGT_KEEP_WIDTH = 1;
  localparam logic [31:0] NPU_GEMM_CTRL_WGT_KEEP_MASK = 32'h10000000;
  localparam logic [0:0] NPU_GEMM_CTRL_WGT_KEEP_RESET = 1'h0;

  // Extended kernel
  localparam logic [8:0] NPU_REG_GEMM_EXT_KERNEL_OFFSET = 9'h0F4;
  localparam logic [31:0] NPU_REG_GEMM_EXT_KERNEL_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_EXT_KERNEL_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_EXT_KERNEL_KW_LSB = 0;
  localparam int unsigned NPU_GEMM_EXT_KERNEL_KW_WIDTH = 8;
  localparam logic [31:0] NPU_GEMM_EXT_KERNEL_KW_MASK = 32'h000000FF;
  localparam logic [7:0] NPU_GEMM_EXT_KERNEL_KW_RESET = 8'h0;
  localparam int unsigned NPU_GEMM_EXT_KERNEL_KH_LSB = 8;
  localparam int unsigned NPU_GEMM_EXT_KERNEL_KH_WIDTH = 8;
  localparam logic [31:0] NPU_GEMM_EXT_KERNEL_KH_MASK = 32'h0000FF00;
  localparam logic [7:0] NPU_GEMM_EXT_KERNEL_KH_RESET = 8'h0;
  localparam int unsigned NPU_GEMM_EXT_KERNEL_DW_LSB = 16;
  localparam int unsigned NPU_GEMM_EXT_KERNEL_DW_WIDTH = 8;
  localparam logic [31:0] NPU_GEMM_EXT_KERNEL_DW_MASK = 32'h00FF0000;
  localparam logic [7:0] NPU_GEMM_EXT_KERNEL_DW_RESET = 8'h0;
  localparam int unsigned NPU_GEMM_EXT_KERNEL_DH_LSB = 24;
  localparam int unsigned NPU_GEMM_EXT_KERNEL_DH_WIDTH = 8;
  localparam logic [31:0] NPU_GEMM_EXT_KERNEL_DH_MASK = 32'hFF000000;
  localparam logic [7:0] NPU_GEMM_EXT_KERNEL_DH_RESET = 8'h0;

  // Extended stride
  localparam logic [8:0] NPU_REG_GEMM_EXT_STRIDE_OFFSET = 9'h0F8;
  localparam logic [31:0] NPU_REG_GEMM_EXT_STRIDE_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_EXT_STRIDE_MASK = 32'h0000FFFF;
  localparam int unsigned NPU_GEMM_EXT_STRIDE_SW_LSB = 0;
  localparam int unsigned NPU_GEMM_EXT_STRIDE_SW_WIDTH = 8;
  localparam logic [31:0] NPU_GEMM_EXT_STRIDE_SW_MASK = 32'h000000FF;
  localparam logic [7:0] NPU_GEMM_EXT_STRIDE_SW_RESET = 8'h0;
  localparam int unsigned NPU_GEMM_EXT_STRIDE_SH_LSB = 8;
  localparam int unsigned NPU_GEMM_EXT_STRIDE_SH_WIDTH = 8;
  localparam logic [31:0] NPU_GEMM_EXT_STRIDE_SH_MASK = 32'h0000FF00;
  localparam logic [7:0] NPU_GEMM_EXT_STRIDE_SH_RESET = 8'h0;

  // Extended padding
  localparam logic [8:0] NPU_REG_GEMM_EXT_PAD_OFFSET = 9'h0FC;
  localparam logic [31:0] NPU_REG_GEMM_EXT_PAD_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_EXT_PAD_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_EXT_PAD_LEFT_LSB = 0;
  localparam int unsigned NPU_GEMM_EXT_PAD_LEFT_WIDTH = 8;
  localparam logic [31:0] NPU_GEMM_EXT_PAD_LEFT_MASK = 32'h000000FF;
  localparam logic [7:0] NPU_GEMM_EXT_PAD_LEFT_RESET = 8'h0;
  localparam int unsigned NPU_GEMM_EXT_PAD_RIGHT_LSB = 8;
  localparam int unsigned NPU_GEMM_EXT_PAD_RIGHT_WIDTH = 8;
  localparam logic [31:0] NPU_GEMM_EXT_PAD_RIGHT_MASK = 32'h0000FF00;
  localparam logic [7:0] NPU_GEMM_EXT_PAD_RIGHT_RESET = 8'h0;
  localparam int unsigned NPU_GEMM_EXT_PAD_TOP_LSB = 16;
  localparam int unsigned NPU_GEMM_EXT_PAD_TOP_WIDTH = 8;
  localparam logic [31:0] NPU_GEMM_EXT_PAD_TOP_MASK = 32'h00FF0000;
  localparam logic [7:0] NPU_GEMM_EXT_PAD_TOP_RESET = 8'h0;
  localparam int unsigned NPU_GEMM_EXT_PAD_BOTTOM_LSB = 24;
  localparam int unsigned NPU_GEMM_EXT_PAD_BOTTOM_WIDTH = 8;
  localparam logic [31:0] NPU_GEMM_EXT_PAD_BOTTOM_MASK = 32'hFF000000;
  localparam logic [7:0] NPU_GEMM_EXT_PAD_BOTTOM_RESET = 8'h0;

  // Activation
  localparam logic [8:0] NPU_REG_GEMM_ACT_OFFSET = 9'h100;
  localparam logic [31:0] NPU_REG_GEMM_ACT_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_ACT_MASK = 32'h0000000F;
  localparam int unsigned NPU_GEMM_ACT_TYPE_LSB = 0;
  localparam int unsigned NPU_GEMM_ACT_TYPE_WIDTH = 4;
  localparam logic [31:0] NPU_GEMM_ACT_TYPE_MASK = 32'h0000000F;
  localparam logic [3:0] NPU_GEMM_ACT_TYPE_RESET = 4'h0;
  localparam logic [3:0] NPU_GEMM_ACT_TYPE_NONE = 4'd0;
  localparam logic [3:0] NPU_GEMM_ACT_TYPE_RELU = 4'd1;
  localparam logic [3:0] NPU_GEMM_ACT_TYPE_LEAKY = 4'd2;
  localparam logic [3:0] NPU_GEMM_ACT_TYPE_CLIP = 4'd3;
  localparam logic [3:0] NPU_GEMM_ACT_TYPE_HARDSWISH = 4'd4;
  localparam logic [3:0] NPU_GEMM_ACT_TYPE_HARDSIGMOID = 4'd5;
  localparam logic [3:0] NPU_GEMM_ACT_TYPE_SIGMOID = 4'd6;
  localparam logic [3:0] NPU_GEMM_ACT_TYPE_TANH = 4'd7;
  localparam logic [3:0] NPU_GEMM_ACT_TYPE_SWISH = 4'd8;
  localparam logic [3:0] NPU_GEMM_ACT_TYPE_MISH = 4'd9;
  localparam logic [3:0] NPU_GEMM_ACT_TYPE_ELU = 4'd10;
  localparam logic [3:0] NPU_GEMM_ACT_TYPE_SOFTPLUS = 4'd11;

  // Write-back grouping
  localparam logic [8:0] NPU_REG_GEMM_GROUP_OFFSET = 9'h104;
  localparam logic [31:0] NPU_REG_GEMM_GROUP_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_GROUP_MASK = 32'h000000FF;
  localparam int unsigned NPU_GEMM_GROUP_TILES_LSB = 0;
  localparam int unsigned NPU_GEMM_GROUP_TILES_WIDTH = 8;
  localparam logic [31:0] NPU_GEMM_GROUP_TILES_MASK = 32'h000000FF;
  localparam logic [7:0] NPU_GEMM_GROUP_TILES_RESET = 8'h0;

  // Output quantiser
  localparam logic [8:0] NPU_REG_GEMM_OUT_SCALE_OFFSET = 9'h108;
  localparam logic [31:0] NPU_REG_GEMM_OUT_SCALE_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_OUT_SCALE_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_OUT_SCALE_VALUE_LSB = 0;
  localparam int unsigned NPU_GEMM_OUT_SCALE_VALUE_WIDTH = 32;
  localparam logic [31:0] NPU_GEMM_OUT_SCALE_VALUE_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_GEMM_OUT_SCALE_VALUE_RESET = 32'h0;

  // Activation parameter 0
  localparam logic [8:0] NPU_REG_GEMM_ACT_P0_OFFSET = 9'h10C;
  localparam logic [31:0] NPU_REG_GEMM_ACT_P0_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_ACT_P0_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_ACT_P0_VALUE_LSB = 0;
  localparam int unsigned NPU_GEMM_ACT_P0_VALUE_WIDTH = 32;
  localparam logic [31:0] NPU_GEMM_ACT_P0_VALUE_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_GEMM_ACT_P0_VALUE_RESET = 32'h0;

  // Activation parameter 1
  localparam logic [8:0] NPU_REG_GEMM_ACT_P1_OFFSET = 9'h110;
  localparam logic [31:0] NPU_REG_GEMM_ACT_P1_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_ACT_P1_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_ACT_P1_VALUE_LSB = 0;
  localparam int unsigned NPU_GEMM_ACT_P1_VALUE_WIDTH = 32;
  localparam logic [31:0] NPU_GEMM_ACT_P1_VALUE_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_GEMM_ACT_P1_VALUE_RESET = 32'h0;

  // Activation parameter 2
  localparam logic [8:0] NPU_REG_GEMM_ACT_P2_OFFSET = 9'h114;
  localparam logic [31:0] NPU_REG_GEMM_ACT_P2_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_ACT_P2_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_ACT_P2_VALUE_LSB = 0;
  localparam int unsigned NPU_GEMM_ACT_P2_VALUE_WIDTH = 32;
  localparam logic [31:0] NPU_GEMM_ACT_P2_VALUE_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_GEMM_ACT_P2_VALUE_RESET = 32'h0;

  // Activation parameter 3
  localparam logic [8:0] NPU_REG_GEMM_ACT_P3_OFFSET = 9'h118;
  localparam logic [31:0] NPU_REG_GEMM_ACT_P3_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_ACT_P3_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_ACT_P3_VALUE_LSB = 0;
  localparam int unsigned NPU_GEMM_ACT_P3_VALUE_WIDTH = 32;
  localparam logic [31:0] NPU_GEMM_ACT_P3_VALUE_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_GEMM_ACT_P3_VALUE_RESET = 32'h0;

  // Partial sum channel step
  localparam logic [8:0] NPU_REG_GEMM_PSUM_CSTEP_OFFSET = 9'h11C;
  localparam logic [31:0] NPU_REG_GEMM_PSUM_CSTEP_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_GEMM_PSUM_CSTEP_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_GEMM_PSUM_CSTEP_BYTES_LSB = 0;
  localparam int unsigned NPU_GEMM_PSUM_CSTEP_BYTES_WIDTH = 32;
  localparam logic [31:0] NPU_GEMM_PSUM_CSTEP_BYTES_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_GEMM_PSUM_CSTEP_BYTES_RESET = 32'h0;

  // ALU operand A
  localparam logic [8:0] NPU_REG_ALU_A_ADDR_OFFSET = 9'h120;
  localparam logic [31:0] NPU_REG_ALU_A_ADDR_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_A_ADDR_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_A_ADDR_ADDR_LSB = 0;
  localparam int unsigned NPU_ALU_A_ADDR_ADDR_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_A_ADDR_ADDR_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_A_ADDR_ADDR_RESET = 32'h0;

  // ALU operand A, row step
  localparam logic [8:0] NPU_REG_ALU_A_RSTEP_OFFSET = 9'h124;
  localparam logic [31:0] NPU_REG_ALU_A_RSTEP_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_A_RSTEP_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_A_RSTEP_BYTES_LSB = 0;
  localparam int unsigned NPU_ALU_A_RSTEP_BYTES_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_A_RSTEP_BYTES_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_A_RSTEP_BYTES_RESET = 32'h0;

  // ALU operand A, plane step
  localparam logic [8:0] NPU_REG_ALU_A_PSTEP_OFFSET = 9'h128;
  localparam logic [31:0] NPU_REG_ALU_A_PSTEP_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_A_PSTEP_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_A_PSTEP_BYTES_LSB = 0;
  localparam int unsigned NPU_ALU_A_PSTEP_BYTES_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_A_PSTEP_BYTES_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_A_PSTEP_BYTES_RESET = 32'h0;

  // ALU vector operand B
  localparam logic [8:0] NPU_REG_ALU_B_ADDR_OFFSET = 9'h12C;
  localparam logic [31:0] NPU_REG_ALU_B_ADDR_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_B_ADDR_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_B_ADDR_ADDR_LSB = 0;
  localparam int unsigned NPU_ALU_B_ADDR_ADDR_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_B_ADDR_ADDR_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_B_ADDR_ADDR_RESET = 32'h0;

  // ALU operand B, row step
  localparam logic [8:0] NPU_REG_ALU_B_RSTEP_OFFSET = 9'h130;
  localparam logic [31:0] NPU_REG_ALU_B_RSTEP_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_B_RSTEP_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_B_RSTEP_BYTES_LSB = 0;
  localparam int unsigned NPU_ALU_B_RSTEP_BYTES_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_B_RSTEP_BYTES_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_B_RSTEP_BYTES_RESET = 32'h0;

  // ALU operand B, plane step
  localparam logic [8:0] NPU_REG_ALU_B_PSTEP_OFFSET = 9'h134;
  localparam logic [31:0] NPU_REG_ALU_B_PSTEP_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_B_PSTEP_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_B_PSTEP_BYTES_LSB = 0;
  localparam int unsigned NPU_ALU_B_PSTEP_BYTES_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_B_PSTEP_BYTES_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_B_PSTEP_BYTES_RESET = 32'h0;

  // ALU output
  localparam logic [8:0] NPU_REG_ALU_O_ADDR_OFFSET = 9'h138;
  localparam logic [31:0] NPU_REG_ALU_O_ADDR_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_O_ADDR_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_O_ADDR_ADDR_LSB = 0;
  localparam int unsigned NPU_ALU_O_ADDR_ADDR_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_O_ADDR_ADDR_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_O_ADDR_ADDR_RESET = 32'h0;

  // ALU output, row step
  localparam logic [8:0] NPU_REG_ALU_O_RSTEP_OFFSET = 9'h13C;
  localparam logic [31:0] NPU_REG_ALU_O_RSTEP_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_O_RSTEP_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_O_RSTEP_BYTES_LSB = 0;
  localparam int unsigned NPU_ALU_O_RSTEP_BYTES_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_O_RSTEP_BYTES_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_O_RSTEP_BYTES_RESET = 32'h0;

  // ALU output, plane step
  localparam logic [8:0] NPU_REG_ALU_O_PSTEP_OFFSET = 9'h140;
  localparam logic [31:0] NPU_REG_ALU_O_PSTEP_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_O_PSTEP_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_O_PSTEP_BYTES_LSB = 0;
  localparam int unsigned NPU_ALU_O_PSTEP_BYTES_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_O_PSTEP_BYTES_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_O_PSTEP_BYTES_RESET = 32'h0;

  // ALU row length
  localparam logic [8:0] NPU_REG_ALU_SIZE_OFFSET = 9'h144;
  localparam logic [31:0] NPU_REG_ALU_SIZE_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_SIZE_MASK = 32'h00FFFFFF;
  localparam int unsigned NPU_ALU_SIZE_COUNT_LSB = 0;
  localparam int unsigned NPU_ALU_SIZE_COUNT_WIDTH = 24;
  localparam logic [31:0] NPU_ALU_SIZE_COUNT_MASK = 32'h00FFFFFF;
  localparam logic [23:0] NPU_ALU_SIZE_COUNT_RESET = 24'h0;

  // ALU rows and planes
  localparam logic [8:0] NPU_REG_ALU_ROWS_OFFSET = 9'h148;
  localparam logic [31:0] NPU_REG_ALU_ROWS_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_ROWS_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_ROWS_ROWS_LSB = 0;
  localparam int unsigned NPU_ALU_ROWS_ROWS_WIDTH = 16;
  localparam logic [31:0] NPU_ALU_ROWS_ROWS_MASK = 32'h0000FFFF;
  localparam logic [15:0] NPU_ALU_ROWS_ROWS_RESET = 16'h0;
  localparam int unsigned NPU_ALU_ROWS_PLANES_LSB = 16;
  localparam int unsigned NPU_ALU_ROWS_PLANES_WIDTH = 16;
  localparam logic [31:0] NPU_ALU_ROWS_PLANES_MASK = 32'hFFFF0000;
  localparam logic [15:0] NPU_ALU_ROWS_PLANES_RESET = 16'h0;

  // ALU scalar P
  localparam logic [8:0] NPU_REG_ALU_P_OFFSET = 9'h14C;
  localparam logic [31:0] NPU_REG_ALU_P_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_P_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_P_VALUE_LSB = 0;
  localparam int unsigned NPU_ALU_P_VALUE_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_P_VALUE_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_P_VALUE_RESET = 32'h0;

  // ALU scalar Q
  localparam logic [8:0] NPU_REG_ALU_Q_OFFSET = 9'h150;
  localparam logic [31:0] NPU_REG_ALU_Q_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_Q_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_Q_VALUE_LSB = 0;
  localparam int unsigned NPU_ALU_Q_VALUE_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_Q_VALUE_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_Q_VALUE_RESET = 32'h0;

  // ALU array of P
  localparam logic [8:0] NPU_REG_ALU_P_ADDR_OFFSET = 9'h154;
  localparam logic [31:0] NPU_REG_ALU_P_ADDR_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_P_ADDR_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_P_ADDR_ADDR_LSB = 0;
  localparam int unsigned NPU_ALU_P_ADDR_ADDR_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_P_ADDR_ADDR_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_P_ADDR_ADDR_RESET = 32'h0;

  // ALU array of Q
  localparam logic [8:0] NPU_REG_ALU_Q_ADDR_OFFSET = 9'h158;
  localparam logic [31:0] NPU_REG_ALU_Q_ADDR_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_Q_ADDR_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_Q_ADDR_ADDR_LSB = 0;
  localparam int unsigned NPU_ALU_Q_ADDR_ADDR_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_Q_ADDR_ADDR_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_Q_ADDR_ADDR_RESET = 32'h0;

  // ALU control; a write with EN = 1 starts a task with the values of all ALU registers
  localparam logic [8:0] NPU_REG_ALU_CTRL_OFFSET = 9'h15C;
  localparam logic [31:0] NPU_REG_ALU_CTRL_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_CTRL_MASK = 32'h000007FF;
  localparam int unsigned NPU_ALU_CTRL_EN_LSB = 0;
  localparam int unsigned NPU_ALU_CTRL_EN_WIDTH = 1;
  localparam logic [31:0] NPU_ALU_CTRL_EN_MASK = 32'h00000001;
  localparam logic [0:0] NPU_ALU_CTRL_EN_RESET = 1'h0;
  localparam int unsigned NPU_ALU_CTRL_OP_LSB = 1;
  localparam int unsigned NPU_ALU_CTRL_OP_WIDTH = 5;
  localparam logic [31:0] NPU_ALU_CTRL_OP_MASK = 32'h0000003E;
  localparam logic [4:0] NPU_ALU_CTRL_OP_RESET = 5'h0;
  localparam logic [4:0] NPU_ALU_CTRL_OP_COPY = 5'd0;
  localparam logic [4:0] NPU_ALU_CTRL_OP_ADD = 5'd1;
  localparam logic [4:0] NPU_ALU_CTRL_OP_SUB = 5'd2;
  localparam logic [4:0] NPU_ALU_CTRL_OP_RSUB = 5'd3;
  localparam logic [4:0] NPU_ALU_CTRL_OP_MUL = 5'd4;
  localparam logic [4:0] NPU_ALU_CTRL_OP_MULADD = 5'd5;
  localparam logic [4:0] NPU_ALU_CTRL_OP_ADDMUL = 5'd6;
  localparam logic [4:0] NPU_ALU_CTRL_OP_MAX = 5'd7;
  localparam logic [4:0] NPU_ALU_CTRL_OP_MIN = 5'd8;
  localparam logic [4:0] NPU_ALU_CTRL_OP_GT = 5'd9;
  localparam logic [4:0] NPU_ALU_CTRL_OP_GE = 5'd10;
  localparam logic [4:0] NPU_ALU_CTRL_OP_EQ = 5'd11;
  localparam logic [4:0] NPU_ALU_CTRL_OP_ABS = 5'd12;
  localparam logic [4:0] NPU_ALU_CTRL_OP_ADD_I32 = 5'd13;
  localparam logic [4:0] NPU_ALU_CTRL_OP_DOT = 5'd14;
  localparam logic [4:0] NPU_ALU_CTRL_OP_SUM = 5'd15;
  localparam logic [4:0] NPU_ALU_CTRL_OP_PRELU = 5'd16;
  localparam int unsigned NPU_ALU_CTRL_P_KIND_LSB = 6;
  localparam int unsigned NPU_ALU_CTRL_P_KIND_WIDTH = 2;
  localparam logic [31:0] NPU_ALU_CTRL_P_KIND_MASK = 32'h000000C0;
  localparam logic [1:0] NPU_ALU_CTRL_P_KIND_RESET = 2'h0;
  localparam logic [1:0] NPU_ALU_CTRL_P_KIND_SCALAR = 2'd0;
  localparam logic [1:0] NPU_ALU_CTRL_P_KIND_VECTOR = 2'd1;
  localparam logic [1:0] NPU_ALU_CTRL_P_KIND_PLANE = 2'd2;
  localparam int unsigned NPU_ALU_CTRL_Q_KIND_LSB = 8;
  localparam int unsigned NPU_ALU_CTRL_Q_KIND_WIDTH = 2;
  localparam logic [31:0] NPU_ALU_CTRL_Q_KIND_MASK = 32'h00000300;
  localparam logic [1:0] NPU_ALU_CTRL_Q_KIND_RESET = 2'h0;
  localparam logic [1:0] NPU_ALU_CTRL_Q_KIND_SCALAR = 2'd0;
  localparam logic [1:0] NPU_ALU_CTRL_Q_KIND_VECTOR = 2'd1;
  localparam logic [1:0] NPU_ALU_CTRL_Q_KIND_PLANE = 2'd2;
  localparam int unsigned NPU_ALU_CTRL_DUP_LSB = 10;
  localparam int unsigned NPU_ALU_CTRL_DUP_WIDTH = 1;
  localparam logic [31:0] NPU_ALU_CTRL_DUP_MASK = 32'h00000400;
  localparam logic [0:0] NPU_ALU_CTRL_DUP_RESET = 1'h0;

  // ALU activation, after the operation
  localparam logic [8:0] NPU_REG_ALU_ACT_OFFSET = 9'h160;
  localparam logic [31:0] NPU_REG_ALU_ACT_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_ACT_MASK = 32'h0000000F;
  localparam int unsigned NPU_ALU_ACT_TYPE_LSB = 0;
  localparam int unsigned NPU_ALU_ACT_TYPE_WIDTH = 4;
  localparam logic [31:0] NPU_ALU_ACT_TYPE_MASK = 32'h0000000F;
  localparam logic [3:0] NPU_ALU_ACT_TYPE_RESET = 4'h0;

  // Activation parameter 0
  localparam logic [8:0] NPU_REG_ALU_ACT_P0_OFFSET = 9'h164;
  localparam logic [31:0] NPU_REG_ALU_ACT_P0_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_ACT_P0_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_ACT_P0_VALUE_LSB = 0;
  localparam int unsigned NPU_ALU_ACT_P0_VALUE_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_ACT_P0_VALUE_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_ACT_P0_VALUE_RESET = 32'h0;

  // Activation parameter 1
  localparam logic [8:0] NPU_REG_ALU_ACT_P1_OFFSET = 9'h168;
  localparam logic [31:0] NPU_REG_ALU_ACT_P1_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_ACT_P1_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_ACT_P1_VALUE_LSB = 0;
  localparam int unsigned NPU_ALU_ACT_P1_VALUE_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_ACT_P1_VALUE_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_ACT_P1_VALUE_RESET = 32'h0;

  // Activation parameter 2
  localparam logic [8:0] NPU_REG_ALU_ACT_P2_OFFSET = 9'h16C;
  localparam logic [31:0] NPU_REG_ALU_ACT_P2_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_ACT_P2_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_ACT_P2_VALUE_LSB = 0;
  localparam int unsigned NPU_ALU_ACT_P2_VALUE_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_ACT_P2_VALUE_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_ACT_P2_VALUE_RESET = 32'h0;

  // Activation parameter 3
  localparam logic [8:0] NPU_REG_ALU_ACT_P3_OFFSET = 9'h170;
  localparam logic [31:0] NPU_REG_ALU_ACT_P3_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_ALU_ACT_P3_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_ALU_ACT_P3_VALUE_LSB = 0;
  localparam int unsigned NPU_ALU_ACT_P3_VALUE_WIDTH = 32;
  localparam logic [31:0] NPU_ALU_ACT_P3_VALUE_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_ALU_ACT_P3_VALUE_RESET = 32'h0;

  // Pooling input
  localparam logic [8:0] NPU_REG_POOL_IFM_ADDR_OFFSET = 9'h180;
  localparam logic [31:0] NPU_REG_POOL_IFM_ADDR_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_POOL_IFM_ADDR_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_POOL_IFM_ADDR_ADDR_LSB = 0;
  localparam int unsigned NPU_POOL_IFM_ADDR_ADDR_WIDTH = 32;
  localparam logic [31:0] NPU_POOL_IFM_ADDR_ADDR_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_POOL_IFM_ADDR_ADDR_RESET = 32'h0;

  // Pooling input, channel step
  localparam logic [8:0] NPU_REG_POOL_IFM_CSTEP_OFFSET = 9'h184;
  localparam logic [31:0] NPU_REG_POOL_IFM_CSTEP_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_POOL_IFM_CSTEP_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_POOL_IFM_CSTEP_BYTES_LSB = 0;
  localparam int unsigned NPU_POOL_IFM_CSTEP_BYTES_WIDTH = 32;
  localparam logic [31:0] NPU_POOL_IFM_CSTEP_BYTES_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_POOL_IFM_CSTEP_BYTES_RESET = 32'h0;

  // Pooling input, row step
  localparam logic [8:0] NPU_REG_POOL_IFM_RSTEP_OFFSET = 9'h188;
  localparam logic [31:0] NPU_REG_POOL_IFM_RSTEP_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_POOL_IFM_RSTEP_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_POOL_IFM_RSTEP_BYTES_LSB = 0;
  localparam int unsigned NPU_POOL_IFM_RSTEP_BYTES_WIDTH = 32;
  localparam logic [31:0] NPU_POOL_IFM_RSTEP_BYTES_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_POOL_IFM_RSTEP_BYTES_RESET = 32'h0;

  // Pooling output
  localparam logic [8:0] NPU_REG_POOL_OFM_ADDR_OFFSET = 9'h18C;
  localparam logic [31:0] NPU_REG_POOL_OFM_ADDR_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_POOL_OFM_ADDR_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_POOL_OFM_ADDR_ADDR_LSB = 0;
  localparam int unsigned NPU_POOL_OFM_ADDR_ADDR_WIDTH = 32;
  localparam logic [31:0] NPU_POOL_OFM_ADDR_ADDR_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_POOL_OFM_ADDR_ADDR_RESET = 32'h0;

  // Pooling output, channel step
  localparam logic [8:0] NPU_REG_POOL_OFM_CSTEP_OFFSET = 9'h190;
  localparam logic [31:0] NPU_REG_POOL_OFM_CSTEP_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_POOL_OFM_CSTEP_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_POOL_OFM_CSTEP_BYTES_LSB = 0;
  localparam int unsigned NPU_POOL_OFM_CSTEP_BYTES_WIDTH = 32;
  localparam logic [31:0] NPU_POOL_OFM_CSTEP_BYTES_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_POOL_OFM_CSTEP_BYTES_RESET = 32'h0;

  // Pooling output, row step
  localparam logic [8:0] NPU_REG_POOL_OFM_RSTEP_OFFSET = 9'h194;
  localparam logic [31:0] NPU_REG_POOL_OFM_RSTEP_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_POOL_OFM_RSTEP_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_POOL_OFM_RSTEP_BYTES_LSB = 0;
  localparam int unsigned NPU_POOL_OFM_RSTEP_BYTES_WIDTH = 32;
  localparam logic [31:0] NPU_POOL_OFM_RSTEP_BYTES_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_POOL_OFM_RSTEP_BYTES_RESET = 32'h0;

  // Pooling input size
  localparam logic [8:0] NPU_REG_POOL_IFM_SIZE_OFFSET = 9'h198;
  localparam logic [31:0] NPU_REG_POOL_IFM_SIZE_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_POOL_IFM_SIZE_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_POOL_IFM_SIZE_IW_LSB = 0;
  localparam int unsigned NPU_POOL_IFM_SIZE_IW_WIDTH = 16;
  localparam logic [31:0] NPU_POOL_IFM_SIZE_IW_MASK = 32'h0000FFFF;
  localparam logic [15:0] NPU_POOL_IFM_SIZE_IW_RESET = 16'h0;
  localparam int unsigned NPU_POOL_IFM_SIZE_IH_LSB = 16;
  localparam int unsigned NPU_POOL_IFM_SIZE_IH_WIDTH = 16;
  localparam logic [31:0] NPU_POOL_IFM_SIZE_IH_MASK = 32'hFFFF0000;
  localparam logic [15:0] NPU_POOL_IFM_SIZE_IH_RESET = 16'h0;

  // Pooling output size
  localparam logic [8:0] NPU_REG_POOL_OFM_SIZE_OFFSET = 9'h19C;
  localparam logic [31:0] NPU_REG_POOL_OFM_SIZE_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_POOL_OFM_SIZE_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_POOL_OFM_SIZE_OW_LSB = 0;
  localparam int unsigned NPU_POOL_OFM_SIZE_OW_WIDTH = 16;
  localparam logic [31:0] NPU_POOL_OFM_SIZE_OW_MASK = 32'h0000FFFF;
  localparam logic [15:0] NPU_POOL_OFM_SIZE_OW_RESET = 16'h0;
  localparam int unsigned NPU_POOL_OFM_SIZE_OH_LSB = 16;
  localparam int unsigned NPU_POOL_OFM_SIZE_OH_WIDTH = 16;
  localparam logic [31:0] NPU_POOL_OFM_SIZE_OH_MASK = 32'hFFFF0000;
  localparam logic [15:0] NPU_POOL_OFM_SIZE_OH_RESET = 16'h0;

  // Pooling channels
  localparam logic [8:0] NPU_REG_POOL_CHANNELS_OFFSET = 9'h1A0;
  localparam logic [31:0] NPU_REG_POOL_CHANNELS_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_POOL_CHANNELS_MASK = 32'h0000FFFF;
  localparam int unsigned NPU_POOL_CHANNELS_C_LSB = 0;
  localparam int unsigned NPU_POOL_CHANNELS_C_WIDTH = 16;
  localparam logic [31:0] NPU_POOL_CHANNELS_C_MASK = 32'h0000FFFF;
  localparam logic [15:0] NPU_POOL_CHANNELS_C_RESET = 16'h0;

  // Pooling window
  localparam logic [8:0] NPU_REG_POOL_WINDOW_OFFSET = 9'h1A4;
  localparam logic [31:0] NPU_REG_POOL_WINDOW_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_POOL_WINDOW_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_POOL_WINDOW_KW_LSB = 0;
  localparam int unsigned NPU_POOL_WINDOW_KW_WIDTH = 8;
  localparam logic [31:0] NPU_POOL_WINDOW_KW_MASK = 32'h000000FF;
  localparam logic [7:0] NPU_POOL_WINDOW_KW_RESET = 8'h0;
  localparam int unsigned NPU_POOL_WINDOW_KH_LSB = 8;
  localparam int unsigned NPU_POOL_WINDOW_KH_WIDTH = 8;
  localparam logic [31:0] NPU_POOL_WINDOW_KH_MASK = 32'h0000FF00;
  localparam logic [7:0] NPU_POOL_WINDOW_KH_RESET = 8'h0;
  localparam int unsigned NPU_POOL_WINDOW_SW_LSB = 16;
  localparam int unsigned NPU_POOL_WINDOW_SW_WIDTH = 8;
  localparam logic [31:0] NPU_POOL_WINDOW_SW_MASK = 32'h00FF0000;
  localparam logic [7:0] NPU_POOL_WINDOW_SW_RESET = 8'h0;
  localparam int unsigned NPU_POOL_WINDOW_SH_LSB = 24;
  localparam int unsigned NPU_POOL_WINDOW_SH_WIDTH = 8;
  localparam logic [31:0] NPU_POOL_WINDOW_SH_MASK = 32'hFF000000;
  localparam logic [7:0] NPU_POOL_WINDOW_SH_RESET = 8'h0;

  // Pooling padding
  localparam logic [8:0] NPU_REG_POOL_PAD_OFFSET = 9'h1A8;
  localparam logic [31:0] NPU_REG_POOL_PAD_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_POOL_PAD_MASK = 32'h0000FFFF;
  localparam int unsigned NPU_POOL_PAD_LEFT_LSB = 0;
  localparam int unsigned NPU_POOL_PAD_LEFT_WIDTH = 8;
  localparam logic [31:0] NPU_POOL_PAD_LEFT_MASK = 32'h000000FF;
  localparam logic [7:0] NPU_POOL_PAD_LEFT_RESET = 8'h0;
  localparam int unsigned NPU_POOL_PAD_TOP_LSB = 8;
  localparam int unsigned NPU_POOL_PAD_TOP_WIDTH = 8;
  localparam logic [31:0] NPU_POOL_PAD_TOP_MASK = 32'h0000FF00;
  localparam logic [7:0] NPU_POOL_PAD_TOP_RESET = 8'h0;

  // Pooling factor
  localparam logic [8:0] NPU_REG_POOL_RECIP_OFFSET = 9'h1AC;
  localparam logic [31:0] NPU_REG_POOL_RECIP_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_POOL_RECIP_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_POOL_RECIP_VALUE_LSB = 0;
  localparam int unsigned NPU_POOL_RECIP_VALUE_WIDTH = 32;
  localparam logic [31:0] NPU_POOL_RECIP_VALUE_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_POOL_RECIP_VALUE_RESET = 32'h0;

  // Pooling factor table
  localparam logic [8:0] NPU_REG_POOL_TAB_ADDR_OFFSET = 9'h1B0;
  localparam logic [31:0] NPU_REG_POOL_TAB_ADDR_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_POOL_TAB_ADDR_MASK = 32'hFFFFFFFF;
  localparam int unsigned NPU_POOL_TAB_ADDR_ADDR_LSB = 0;
  localparam int unsigned NPU_POOL_TAB_ADDR_ADDR_WIDTH = 32;
  localparam logic [31:0] NPU_POOL_TAB_ADDR_ADDR_MASK = 32'hFFFFFFFF;
  localparam logic [31:0] NPU_POOL_TAB_ADDR_ADDR_RESET = 32'h0;

  // POOL control; a write with EN = 1 starts a task with the values of all POOL registers
  localparam logic [8:0] NPU_REG_POOL_CTRL_OFFSET = 9'h1B4;
  localparam logic [31:0] NPU_REG_POOL_CTRL_RESET = 32'h00000000;
  localparam logic [31:0] NPU_REG_POOL_CTRL_MASK = 32'h0000001F;
  localparam int unsigned NPU_POOL_CTRL_EN_LSB = 0;
  localparam int unsigned NPU_POOL_CTRL_EN_WIDTH = 1;
  localparam logic [31:0] NPU_POOL_CTRL_EN_MASK = 32'h00000001;
  localparam logic [0:0] NPU_POOL_CTRL_EN_RESET = 1'h0;
  localparam int unsigned NPU_POOL_CTRL_TYPE_LSB = 1;
  localparam int unsigned NPU_POOL_CTRL_TYPE_WIDTH = 2;
  localparam logic [31:0] NPU_POOL_CTRL_TYPE_MASK = 32'h00000006;
  localparam logic [1:0] NPU_POOL_CTRL_TYPE_RESET = 2'h0;
  localparam logic [1:0] NPU_POOL_CTRL_TYPE_MAX = 2'd0;
  localparam logic [1:0] NPU_POOL_CTRL_TYPE_AVG = 2'd1;
  localparam int unsigned NPU_POOL_CTRL_INT8_LSB = 3;
  localparam int unsigned NPU_POOL_CTRL_INT8_WIDTH = 1;
  localparam logic [31:0] NPU_POOL_CTRL_INT8_MASK = 32'h00000008;
  localparam logic [0:0] NPU_POOL_CTRL_INT8_RESET = 1'h0;
  localparam int unsigned NPU_POOL_CTRL_EXCLUDE_PAD_LSB = 4;
  localparam int unsigned NPU_POOL_CTRL_EXCLUDE_PAD_WIDTH = 1;
  localparam logic [31:0] NPU_POOL_CTRL_EXCLUDE_PAD_MASK = 32'h00000010;
  localparam logic [0:0] NPU_POOL_CTRL_EXCLUDE_PAD_RESET = 1'h0;

endpackage
