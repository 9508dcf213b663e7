// Registers of axi_copy (regs/axi_copy.regs) behind AXI4-Lite. 32 bits each, byte strobes; other addresses read 0 and
// ignore writes.
// Parameter: bytes of a data beat, for the register that says so. Document: docs/axi_copy/registers.md.
module axi_copy_regs #(
  parameter int unsigned DataBytes = 16
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [ 7:0] awaddr_i,
  input  logic        awvalid_i,
  output logic        awready_o,
  input  logic [31:0] wdata_i,
  input  logic [ 3:0] wstrb_i,
  input  logic        wvalid_i,
  output logic        wready_o,
  output logic [ 1:0] bresp_o,
  output logic        bvalid_o,
  input  logic        bready_i,
  input  logic [ 7:0] araddr_i,
  input  logic        arvalid_i,
  output logic        arready_o,
  output logic [31:0] rdata_o,
  output logic [ 1:0] rresp_o,
  output logic        rvalid_o,
  input  logic        rready_i,

  output logic        start_o,  // in the cycle of the write
  output logic [31:0] src_o,
  output logic [31:0] dst_o,
  output logic [23:0] len_o,
  input  logic        busy_i,
  input  logic        done_i,   // pulses
  input  logic [ 2:0] err_i,
  output logic        irq_o
);

  logic [31:0] src_q;
  logic [31:0] dst_q;
  logic [23:0] len_q;
  logic irq_en_q;
  logic done_q;
  logic [2:0] err_q;
  logic [31:0] count_q;

  logic write;
  logic [7:0] waddr;
  logic [31:0] mask;
  logic [31:0] ones;  // bits that are written as 1
  assign waddr     = {awaddr_i[7:2], 2'b00};
  assign write     = awvalid_i && wvalid_i && !bvalid_o;
  assign awready_o = write;
  assign wready_o  = write;
  assign bresp_o   = 2'b00;
  assign mask      = {{8{wstrb_i[3]}}, {8{wstrb_i[2]}}, {8{wstrb_i[1]}}, {8{wstrb_i[0]}}};
  assign ones      = wdata_i & mask;
  assign start_o   = write && waddr == axi_copy_regs_pkg::AXI_COPY_REG_CTRL_OFFSET &&
      ones[axi_copy_regs_pkg::AXI_COPY_CTRL_START_LSB] && !busy_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      src_q    <= '0;
      dst_q    <= '0;
      len_q    <= '0;
      irq_en_q <= 1'b0;
      done_q   <= 1'b0;
      err_q    <= '0;
      count_q  <= '0;
      bvalid_o <= 1'b0;
    end else begin
      if (write) bvalid_o <= 1'b1;
      else if (bready_i) bvalid_o <= 1'b0;
      if (write && waddr == axi_copy_regs_pkg::AXI_COPY_REG_SRC_OFFSET) src_q <= (src_q & ~mask) | ones;
      if (write && waddr == axi_copy_regs_pkg::AXI_COPY_REG_DST_OFFSET) dst_q <= (dst_q & ~mask) | ones;
      if (write && waddr == axi_copy_regs_pkg::AXI_COPY_REG_LEN_OFFSET) len_q <= (len_q & ~mask[23:0]) | ones[23:0];
      if (write && waddr == axi_copy_regs_pkg::AXI_COPY_REG_CTRL_OFFSET &&
          mask[axi_copy_regs_pkg::AXI_COPY_CTRL_IRQ_EN_LSB])
        irq_en_q <= wdata_i[axi_copy_regs_pkg::AXI_COPY_CTRL_IRQ_EN_LSB];
      if (write && waddr == axi_copy_regs_pkg::AXI_COPY_REG_STATUS_OFFSET &&
          ones[axi_copy_regs_pkg::AXI_COPY_STATUS_DONE_LSB])
        done_q <= 1'b0;
      if (done_i) done_q <= 1'b1;
      if (done_i) count_q <= count_q + 1'b1;
      err_q <= (start_o ? 3'd0 : err_q) | err_i;
    end
  end

  assign arready_o = !rvalid_o;
  assign rresp_o   = 2'b00;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rvalid_o <= 1'b0;
      rdata_o  <= '0;
    end else if (arvalid_i && arready_o) begin
      rvalid_o <= 1'b1;
      case ({araddr_i[7:2], 2'b00})
        axi_copy_regs_pkg::AXI_COPY_REG_SRC_OFFSET: rdata_o <= src_q;
        axi_copy_regs_pkg::AXI_COPY_REG_DST_OFFSET: rdata_o <= dst_q;
        axi_copy_regs_pkg::AXI_COPY_REG_LEN_OFFSET: rdata_o <= {8'd0, len_q};
        axi_copy_regs_pkg::AXI_COPY_REG_CTRL_OFFSET: rdata_o <= {30'd0, irq_en_q, 1'b0};
        axi_copy_regs_pkg::AXI_COPY_REG_STATUS_OFFSET: rdata_o <= {30'd0, done_q, busy_i};
        axi_copy_regs_pkg::AXI_COPY_REG_ERR_OFFSET: rdata_o <= {29'd0, err_q};
        axi_copy_regs_pkg::AXI_COPY_REG_COUNT_OFFSET: rdata_o <= count_q;
        axi_copy_regs_pkg::AXI_COPY_REG_CONFIG_OFFSET: rdata_o <= DataBytes;
        default: rdata_o <= '0;
      endcase
    end else if (rready_i) begin
      rvalid_o <= 1'b0;
    end
  end

  assign src_o = src_q;
  assign dst_o = dst_q;
  assign len_o = len_q;
  assign irq_o = done_q && irq_en_q;

  logic unused;
  assign unused = ^{awaddr_i[1:0], araddr_i[1:0]};

endmodule
