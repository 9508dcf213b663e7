// DMA copy engine: LEN bytes from SRC to DST, any byte alignment of either. Registers: axi_copy_regs.sv. The ranges
// must not overlap.
//
// Reads and writes run concurrently: a read burst is requested only when the FIFO has space for all of its beats, so
// rready is always 1; write addresses run ahead of their data, at most 4 bursts. One beat per cycle. DONE, and the
// interrupt, come after the last write response. LEN = 0 is done at once. After an error response the copy goes on; the
// data it writes are undefined.
// Document: docs/axi_copy/axi_copy.md.
module axi_copy #(
  parameter int unsigned DataBytes = 16,  // 8 or 16
  parameter int unsigned MaxBeats  = 16,  // of a burst
  parameter int unsigned FifoBeats = 32,  // a power of two, at least MaxBeats
  parameter int unsigned IdBits    = 4,
  parameter int unsigned Id        = 5    // of all its bursts
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  output logic                   irq_o,
  // AXI4-Lite
  input  logic [            7:0] s_axil_awaddr_i,
  input  logic                   s_axil_awvalid_i,
  output logic                   s_axil_awready_o,
  input  logic [           31:0] s_axil_wdata_i,
  input  logic [            3:0] s_axil_wstrb_i,
  input  logic                   s_axil_wvalid_i,
  output logic                   s_axil_wready_o,
  output logic [            1:0] s_axil_bresp_o,
  output logic                   s_axil_bvalid_o,
  input  logic                   s_axil_bready_i,
  input  logic [            7:0] s_axil_araddr_i,
  input  logic                   s_axil_arvalid_i,
  output logic                   s_axil_arready_o,
  output logic [           31:0] s_axil_rdata_o,
  output logic [            1:0] s_axil_rresp_o,
  output logic                   s_axil_rvalid_o,
  input  logic                   s_axil_rready_i,
  // AXI4
  output logic [     IdBits-1:0] m_axi_arid_o,
  output logic [           31:0] m_axi_araddr_o,
  output logic [            7:0] m_axi_arlen_o,
  output logic [            2:0] m_axi_arsize_o,
  output logic [            1:0] m_axi_arburst_o,
  output logic                   m_axi_arvalid_o,
  input  logic                   m_axi_arready_i,
  input  logic [     IdBits-1:0] m_axi_rid_i,
  input  logic [8*DataBytes-1:0] m_axi_rdata_i,
  input  logic [            1:0] m_axi_rresp_i,
  input  logic                   m_axi_rlast_i,
  input  logic                   m_axi_rvalid_i,
  output logic                   m_axi_rready_o,
  output logic [     IdBits-1:0] m_axi_awid_o,
  output logic [           31:0] m_axi_awaddr_o,
  output logic [            7:0] m_axi_awlen_o,
  output logic [            2:0] m_axi_awsize_o,
  output logic [            1:0] m_axi_awburst_o,
  output logic                   m_axi_awvalid_o,
  input  logic                   m_axi_awready_i,
  output logic [8*DataBytes-1:0] m_axi_wdata_o,
  output logic [  DataBytes-1:0] m_axi_wstrb_o,
  output logic                   m_axi_wlast_o,
  output logic                   m_axi_wvalid_o,
  input  logic                   m_axi_wready_i,
  input  logic [     IdBits-1:0] m_axi_bid_i,
  input  logic [            1:0] m_axi_bresp_i,
  input  logic                   m_axi_bvalid_i,
  output logic                   m_axi_bready_o
);

  localparam int unsigned Log = $clog2(DataBytes);
  localparam int unsigned RoomW = $clog2(FifoBeats + 1);

  // ---- control ----
  logic start;
  logic go;  // a start that moves bytes
  logic range_err;
  logic busy_q;
  logic finish;
  logic [31:0] src;
  logic [31:0] dst;
  logic [23:0] len;
  logic [32:0] src_end;
  logic [32:0] dst_end;
  assign src_end   = {1'b0, src} + {9'd0, len};
  assign dst_end   = {1'b0, dst} + {9'd0, len};
  assign range_err = start && (src_end > 33'h1_0000_0000 || dst_end > 33'h1_0000_0000);
  assign go        = start && !range_err && len != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else busy_q <= go || (busy_q && !finish);
  end

  axi_copy_regs #(
    .DataBytes(DataBytes)
  ) u_regs (
    .clk_i,
    .rst_ni,
    .awaddr_i (s_axil_awaddr_i),
    .awvalid_i(s_axil_awvalid_i),
    .awready_o(s_axil_awready_o),
    .wdata_i  (s_axil_wdata_i),
    .wstrb_i  (s_axil_wstrb_i),
    .wvalid_i (s_axil_wvalid_i),
    .wready_o (s_axil_wready_o),
    .bresp_o  (s_axil_bresp_o),
    .bvalid_o (s_axil_bvalid_o),
    .bready_i (s_axil_bready_i),
    .araddr_i (s_axil_araddr_i),
    .arvalid_i(s_axil_arvalid_i),
    .arready_o(s_axil_arready_o),
    .rdata_o  (s_axil_rdata_o),
    .rresp_o  (s_axil_rresp_o),
    .rvalid_o (s_axil_rvalid_o),
    .rready_i (s_axil_rready_i),
    .start_o  (start),
    .src_o    (src),
    .dst_o    (dst),
    .len_o    (len),
    .busy_i   (busy_q),
    .done_i   (finish || (start && !go)),
    .err_i    ({range_err, m_axi_bvalid_i && m_axi_bresp_i[1], m_axi_rvalid_i && m_axi_rresp_i[1]}),
    .irq_o
  );

  // ---- read: the FIFO has space for every requested beat ----
  logic rd_busy;
  logic [8:0] rd_beats;
  logic [RoomW-1:0] room_q;
  logic ar_take;
  logic pop;
  assign ar_take = m_axi_arvalid_o && m_axi_arready_i;

  axi_copy_split #(
    .DataBytes(DataBytes),
    .MaxBeats (MaxBeats)
  ) u_rd_split (
    .clk_i,
    .rst_ni,
    .start_i   (go),
    .addr_i    (src),
    .bytes_i   (len),
    .busy_o    (rd_busy),
    .allow_i   (9'(room_q) >= rd_beats),
    .ax_valid_o(m_axi_arvalid_o),
    .ax_ready_i(m_axi_arready_i),
    .ax_addr_o (m_axi_araddr_o),
    .ax_beats_o(rd_beats)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) room_q <= RoomW'(FifoBeats);
    else room_q <= room_q - (ar_take ? RoomW'(rd_beats) : '0) + RoomW'(pop);
  end

  logic fifo_valid;
  logic fifo_ready;
  logic fifo_room;
  logic [8*DataBytes-1:0] fifo_data;
  axi_copy_fifo #(
    .Width(8 * DataBytes),
    .Depth(FifoBeats)
  ) u_data (
    .clk_i,
    .rst_ni,
    .wvalid_i(m_axi_rvalid_i),
    .wready_o(fifo_room),
    .wdata_i (m_axi_rdata_i),
    .rvalid_o(fifo_valid),
    .rready_i(fifo_ready),
    .rdata_o (fifo_data)
  );
  assign pop = fifo_valid && fifo_ready;
  assign m_axi_rready_o = 1'b1;

  // ---- write ----
  logic wr_busy;
  logic [8:0] wr_beats;
  logic aw_take;
  logic len_room;
  logic len_valid;
  logic [7:0] len_head;
  logic [7:0] beat_q;
  logic w_take;
  logic out_valid;
  logic [3:0] flight_q;  // bursts whose address was accepted and whose response is outstanding
  assign aw_take = m_axi_awvalid_o && m_axi_awready_i;
  assign w_take  = m_axi_wvalid_o && m_axi_wready_i;

  axi_copy_split #(
    .DataBytes(DataBytes),
    .MaxBeats (MaxBeats)
  ) u_wr_split (
    .clk_i,
    .rst_ni,
    .start_i   (go),
    .addr_i    (dst),
    .bytes_i   (len),
    .busy_o    (wr_busy),
    .allow_i   (len_room && flight_q != 4'd15),
    .ax_valid_o(m_axi_awvalid_o),
    .ax_ready_i(m_axi_awready_i),
    .ax_addr_o (m_axi_awaddr_o),
    .ax_beats_o(wr_beats)
  );

  // lengths of the bursts whose data are not complete
  axi_copy_fifo #(
    .Width(8),
    .Depth(4)
  ) u_lens (
    .clk_i,
    .rst_ni,
    .wvalid_i(aw_take),
    .wready_o(len_room),
    .wdata_i (m_axi_awlen_o),
    .rvalid_o(len_valid),
    .rready_i(w_take && m_axi_wlast_o),
    .rdata_o (len_head)
  );

  axi_copy_align #(
    .DataBytes(DataBytes)
  ) u_align (
    .clk_i,
    .rst_ni,
    .start_i    (go),
    .src_lane_i (src[Log-1:0]),
    .dst_lane_i (dst[Log-1:0]),
    .bytes_i    (len),
    .in_valid_i (fifo_valid),
    .in_ready_o (fifo_ready),
    .in_data_i  (fifo_data),
    .out_valid_o(out_valid),
    .out_ready_i(len_valid && m_axi_wready_i),
    .out_data_o (m_axi_wdata_o),
    .out_strb_o (m_axi_wstrb_o)
  );
  assign m_axi_wvalid_o = out_valid && len_valid;
  assign m_axi_wlast_o  = beat_q == len_head;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beat_q   <= '0;
      flight_q <= '0;
    end else begin
      if (w_take) beat_q <= m_axi_wlast_o ? 8'd0 : beat_q + 8'd1;
      flight_q <= flight_q + {3'd0, aw_take} - {3'd0, m_axi_bvalid_i};
    end
  end

  assign finish = busy_q && !wr_busy && flight_q == 4'd0;

  assign m_axi_bready_o  = 1'b1;
  assign m_axi_arid_o    = IdBits'(Id);
  assign m_axi_awid_o    = IdBits'(Id);
  assign m_axi_arlen_o   = 8'(rd_beats - 9'd1);
  assign m_axi_awlen_o   = 8'(wr_beats - 9'd1);
  assign m_axi_arsize_o  = 3'(Log);
  assign m_axi_awsize_o  = 3'(Log);
  assign m_axi_arburst_o = 2'b01;
  assign m_axi_awburst_o = 2'b01;

  // responses are in order because all bursts have the same ID
  logic unused;
  assign unused = ^{rd_busy, fifo_room, m_axi_rid_i, m_axi_rlast_i, m_axi_rresp_i[0], m_axi_bid_i, m_axi_bresp_i[0]};

`ifndef YOSYS
  always @(posedge clk_i) begin
    if (finish && (fifo_valid || len_valid)) $error("%m: assertion DoneMeansEmpty failed");
  end
`endif

endmodule
