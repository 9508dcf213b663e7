// AXI4-Lite slave: handshakes of a register file with 32-bit registers.
//
// AW and W may come in any order; one write and one read every 2 cycles. All outputs come from registers. A write takes
// effect (wr_en_o) in the cycle after the later of its AW and W handshakes, later only while an earlier response waits
// for bready_i; its response is valid one cycle later, so a read started after the response sees the write. Read: AR
// handshake in cycle 0, rd_en_o in cycle 1, data in cycle 2; the registers keep the data until the next rd_en_o.
// Address bits 1:0 are ignored. Responses are always OKAY.
// Latency: write 2 cycles from the later of AW and W to the response, read 2 from AR to data. Throughput: one write and
// one read every 2 cycles. Parameter: address bits. Document: docs/npu/npu.md section 4.
module axil_slave #(
  parameter int unsigned Aw = 8  // address bits
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic [Aw-1:0] awaddr_i,
  input  logic          awvalid_i,
  output logic          awready_o,
  input  logic [31:0]   wdata_i,
  input  logic [3:0]    wstrb_i,
  input  logic          wvalid_i,
  output logic          wready_o,
  output logic [1:0]    bresp_o,
  output logic          bvalid_o,
  input  logic          bready_i,
  input  logic [Aw-1:0] araddr_i,
  input  logic          arvalid_i,
  output logic          arready_o,
  output logic [1:0]    rresp_o,
  output logic          rvalid_o,
  input  logic          rready_i,
  // to the registers
  output logic          wr_en_o,
  output logic [Aw-1:0] wr_addr_o,
  output logic [31:0]   wr_data_o,
  output logic [31:0]   wr_mask_o,  // strobed bits
  output logic          rd_en_o,
  output logic [Aw-1:0] rd_addr_o,
  output logic          active_o    // an access is under way, or begins
);

  logic aw_have_q, w_have_q, ar_have_q;
  logic [Aw-1:2] aw_word_q, ar_word_q;
  logic [3:0] wstrb_q;

  assign wr_en_o = aw_have_q && w_have_q && (!bvalid_o || bready_i);
  assign rd_en_o = ar_have_q && (!rvalid_o || rready_i);
  assign wr_addr_o = {aw_word_q, 2'b00};
  assign rd_addr_o = {ar_word_q, 2'b00};
  assign wr_mask_o = {{8{wstrb_q[3]}}, {8{wstrb_q[2]}}, {8{wstrb_q[1]}}, {8{wstrb_q[0]}}};
  assign awready_o = !aw_have_q;
  assign wready_o = !w_have_q;
  assign arready_o = !ar_have_q;
  assign bresp_o = 2'b00;
  assign rresp_o = 2'b00;
  assign active_o = awvalid_i || wvalid_i || arvalid_i || aw_have_q || w_have_q || ar_have_q || bvalid_o || rvalid_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      aw_have_q <= 1'b0;
      w_have_q <= 1'b0;
      ar_have_q <= 1'b0;
      aw_word_q <= '0;
      ar_word_q <= '0;
      wr_data_o <= '0;
      wstrb_q <= '0;
      bvalid_o <= 1'b0;
      rvalid_o <= 1'b0;
    end else begin
      if (awvalid_i && awready_o) begin
        aw_have_q <= 1'b1;
        aw_word_q <= awaddr_i[Aw-1:2];
      end else if (wr_en_o) begin
        aw_have_q <= 1'b0;
      end
      if (wvalid_i && wready_o) begin
        w_have_q <= 1'b1;
        wr_data_o <= wdata_i;
        wstrb_q <= wstrb_i;
      end else if (wr_en_o) begin
        w_have_q <= 1'b0;
      end
      bvalid_o <= wr_en_o || (bvalid_o && !bready_i);
      if (arvalid_i && arready_o) begin
        ar_have_q <= 1'b1;
        ar_word_q <= araddr_i[Aw-1:2];
      end else if (rd_en_o) begin
        ar_have_q <= 1'b0;
      end
      rvalid_o <= rd_en_o || (rvalid_o && !rready_i);
    end
  end

  logic unused;  // byte address bits
  assign unused = ^{awaddr_i[1:0], araddr_i[1:0]};

endmodule
