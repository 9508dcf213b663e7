// Registers of the shift-add engine (regs/sac.regs) behind AXI4-Lite. 32 bits each, byte strobes; other addresses read
// 0 and ignore writes.
//
// The task registers lie side by side (sac_pkg::TaskRegsW); task_o follows them, and whoever starts a task keeps a
// copy, so that software may write the next one meanwhile. start_o pulses with a write of CTRL.START while busy_i is 0,
// abort_o with one of CTRL.ABORT while it is 1. done_i pulses at the end of a task with its code_i.
// Document: docs/sac/registers.md.
module sac_regs #(
  parameter int unsigned WVec = 3,
  parameter int unsigned CVec = 2,
  parameter int unsigned NVec = 2,
  parameter int unsigned CachePages = 4096
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [          8:0] awaddr_i,
  input  logic                 awvalid_i,
  output logic                 awready_o,
  input  logic [         31:0] wdata_i,
  input  logic [          3:0] wstrb_i,
  input  logic                 wvalid_i,
  output logic                 wready_o,
  output logic [          1:0] bresp_o,
  output logic                 bvalid_o,
  input  logic                 bready_i,
  input  logic [          8:0] araddr_i,
  input  logic                 arvalid_i,
  output logic                 arready_o,
  output logic [         31:0] rdata_o,
  output logic [          1:0] rresp_o,
  output logic                 rvalid_o,
  input  logic                 rready_i,
  output logic                 start_o,
  output logic                 abort_o,
  output sac_pkg::layer_task_t task_o,
  input  logic                 busy_i,
  input  logic                 done_i,
  input  logic [          2:0] code_i,
  input  logic [        191:0] cycles_i,  // counters CYC_INPUT to CYC_WRITE, the first one in the low bits
  output logic                 irq_o
);

  localparam int unsigned TaskW = sac_pkg::TaskRegsW;
  localparam logic [8:0] TaskOffset = sac_pkg::TaskRegsOffset;

  logic [TaskW-1:0] task_q;
  logic irq_en_q;
  logic done_q;
  logic error_q;
  logic [2:0] code_q;

  logic write;
  logic [8:0] waddr;
  logic [31:0] mask;
  logic [31:0] ones;
  assign waddr = {awaddr_i[8:2], 2'b00};
  assign write = awvalid_i && wvalid_i && !bvalid_o;
  assign awready_o = write;
  assign wready_o = write;
  assign bresp_o = 2'b00;
  assign mask = {{8{wstrb_i[3]}}, {8{wstrb_i[2]}}, {8{wstrb_i[1]}}, {8{wstrb_i[0]}}};
  assign ones = wdata_i & mask;

  logic ctrl;
  logic status;
  assign ctrl = write && waddr == sac_regs_pkg::SAC_REG_CTRL_OFFSET;
  assign status = write && waddr == sac_regs_pkg::SAC_REG_STATUS_OFFSET;
  assign start_o = ctrl && ones[sac_regs_pkg::SAC_CTRL_START_LSB] && !busy_i;
  assign abort_o = ctrl && ones[sac_regs_pkg::SAC_CTRL_ABORT_LSB] && busy_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      task_q <= '0;
      irq_en_q <= 1'b0;
      done_q <= 1'b0;
      error_q <= 1'b0;
      code_q <= '0;
      bvalid_o <= 1'b0;
    end else begin
      if (write) bvalid_o <= 1'b1;
      else if (bready_i) bvalid_o <= 1'b0;
      for (int unsigned i = 0; i < TaskW / 32; i++) begin
        if (write && waddr == TaskOffset + 9'(4 * i))
          task_q[32*i+:32] <= (task_q[32*i+:32] & ~mask) | (ones & sac_pkg::TaskRegsMask[32*i+:32]);
      end
      if (write && waddr == sac_regs_pkg::SAC_REG_IRQ_EN_OFFSET && mask[sac_regs_pkg::SAC_IRQ_EN_DONE_LSB])
        irq_en_q <= wdata_i[sac_regs_pkg::SAC_IRQ_EN_DONE_LSB];
      // the end of a task has priority over a write that clears
      done_q <= done_i || (done_q && !(status && ones[sac_regs_pkg::SAC_STATUS_DONE_LSB]));
      error_q <= (done_i && code_i != sac_pkg::CodeOk) ||
          (error_q && !(status && ones[sac_regs_pkg::SAC_STATUS_ERROR_LSB]));
      if (done_i) code_q <= code_i;
      else if (start_o) code_q <= sac_pkg::CodeOk;
    end
  end

  logic [8:0] raddr;
  logic [31:0] value;
  assign raddr = {araddr_i[8:2], 2'b00};
  always_comb begin
    value = '0;
    case (raddr)
      sac_regs_pkg::SAC_REG_ID_OFFSET: value = sac_regs_pkg::SAC_REG_ID_RESET;
      sac_regs_pkg::SAC_REG_SIZES_OFFSET: value = {8'(sac_pkg::FwVec), 8'(NVec), 8'(CVec), 8'(WVec)};
      sac_regs_pkg::SAC_REG_STATUS_OFFSET: value = {21'd0, code_q, 5'd0, error_q, done_q, busy_i};
      sac_regs_pkg::SAC_REG_IRQ_EN_OFFSET: value = {31'd0, irq_en_q};
      sac_regs_pkg::SAC_REG_CACHE_OFFSET: value = CachePages;
      default: value = '0;
    endcase
    for (int unsigned i = 0; i < TaskW / 32; i++) if (raddr == TaskOffset + 9'(4 * i)) value = task_q[32*i+:32];
    for (int unsigned i = 0; i < 6; i++)
      if (raddr == sac_regs_pkg::SAC_REG_CYC_INPUT_OFFSET + 9'(4 * i)) value = cycles_i[32*i+:32];
  end

  assign arready_o = !rvalid_o;
  assign rresp_o = 2'b00;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rvalid_o <= 1'b0;
      rdata_o <= '0;
    end else if (arvalid_i && arready_o) begin
      rvalid_o <= 1'b1;
      rdata_o <= value;
    end else if (rready_i) begin
      rvalid_o <= 1'b0;
    end
  end

  assign task_o = sac_pkg::layer_task(task_q);
  assign irq_o = done_q && irq_en_q;

  logic unused;
  assign unused = ^{awaddr_i[1:0], araddr_i[1:0]};

endmodule
