// Registers of axi_copy behind AXI4-Lite. 32 bits each, byte strobes; other addresses read 0 and ignore writes.
//
//   0x00 SRC     first byte of the source            0x04 DST  first byte of the destination      0x08 LEN  bytes, 24 bits
//   0x0c CTRL    bit 0 START (reads 0), bit 1 IRQ_EN
//   0x10 STATUS  bit 0 BUSY, bit 1 DONE (write 1 to clear)
//   0x14 ERR     bit 0 READ, bit 1 WRITE (error response), bit 2 RANGE (a range runs past 2^32: nothing was copied); cleared by START
//   0x18 COUNT   copies that are done, wraps
//   0x1c CONFIG  bytes of a beat
//
// START takes SRC, DST and LEN over, so they may be written for the next copy while one is under way. START is ignored while BUSY.
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
  logic [31:0] mask;
  assign write     = awvalid_i && wvalid_i && !bvalid_o;
  assign awready_o = write;
  assign wready_o  = write;
  assign bresp_o   = 2'b00;
  assign mask      = {{8{wstrb_i[3]}}, {8{wstrb_i[2]}}, {8{wstrb_i[1]}}, {8{wstrb_i[0]}}};
  assign start_o   = write && awaddr_i[7:2] == 6'd3 && mask[0] && wdata_i[0] && !busy_i;

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
      if (write && awaddr_i[7:2] == 6'd0) src_q <= (src_q & ~mask) | (wdata_i & mask);
      if (write && awaddr_i[7:2] == 6'd1) dst_q <= (dst_q & ~mask) | (wdata_i & mask);
      if (write && awaddr_i[7:2] == 6'd2) len_q <= (len_q & ~mask[23:0]) | (wdata_i[23:0] & mask[23:0]);
      if (write && awaddr_i[7:2] == 6'd3 && mask[1]) irq_en_q <= wdata_i[1];
      if (write && awaddr_i[7:2] == 6'd4 && mask[1] && wdata_i[1]) done_q <= 1'b0;
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
      case (araddr_i[7:2])
        6'd0: rdata_o <= src_q;
        6'd1: rdata_o <= dst_q;
        6'd2: rdata_o <= {8'd0, len_q};
        6'd3: rdata_o <= {30'd0, irq_en_q, 1'b0};
        6'd4: rdata_o <= {30'd0, done_q, busy_i};
        6'd5: rdata_o <= {29'd0, err_q};
        6'd6: rdata_o <= count_q;
        6'd7: rdata_o <= DataBytes;
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
