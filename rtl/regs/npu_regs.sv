// Register file: AXI4-Lite slave, interrupts, GEMM task start, counters (docs/registers.md, docs/npu.md sections 3 and 5).
//
// AXI4-Lite
//   32-bit data, 9-bit address, address bits 1:0 ignored, responses always OKAY. AW and W may come in any order; one write
//   and one read every 2 cycles. All outputs come from registers. A write takes effect in the cycle after the later of its AW
//   and W handshakes (later only while an earlier response waits for bready_i) and its response is valid one cycle later, so
//   a read started after the response sees the write. Read: AR handshake in cycle 0, data in cycle 2. Byte strobes are honoured.
//
// Task start
//   A write to GEMM_CTRL with byte 0 strobed and EN = 1 takes the values of all GEMM registers, the new GEMM_CTRL
//   included, decodes short or extended form into task_o and checks it (gemm_check, 6 cycles). A good task is presented
//   on task_valid_o (stable until task_ready_i), a bad one sets ERR.CONFIG and IRQ_STATUS.GEMM. STATUS.GEMM_READY is 0
//   from the cycle after the write until the task is taken or dropped; a start in that time sets ERR.OVERRUN and
//   IRQ_STATUS.GEMM and is dropped (GEMM_CTRL itself is written). task_valid_o rises 9 cycles after the write takes effect. task_o.group is
//   GEMM_GROUP.TILES limited to 1 .. 512/N, half of the ofm buffer.
//   STATUS.GEMM_BUSY is the pending task or gemm_busy_i: gemm_busy_i must be 1 from the cycle after the task handshake on.
//
// Events (one-cycle pulses)
//   task_done_i: GEMM_COUNT.DONE + 1 and IRQ_STATUS.GEMM, at the same edge. bus_err_i {wr1, wr0, rd1, rd0}: the ERR bit and
//   IRQ_STATUS.GEMM. An event wins over a write of 1 to clear at the same edge. perf_event_i: docs/npu.md section 5,
//   counted while STATUS.GEMM_BUSY; perf_event_i[0] is tied to 1 outside.
//
// Soft reset
//   A write of 1 to CTRL.SOFT_RESET raises srst_o in the next cycle; it stays up for at least 4 cycles (so that drained_i may
//   be registered once or twice) and until drained_i is 1. The pending task is dropped, no start and no event
//   counts in that time, writes to registers are lost; at its end all registers have their reset values.
//   STATUS: RESETTING = 1, GEMM_READY = 0, GEMM_BUSY = 0 meanwhile.
//
// Parameter: N, the mesh size (4, 8, 16 or 32), for CONFIG.MESH_N and the limits.
`include "npu_assert.svh"

module npu_regs #(
    parameter int unsigned N = 8
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

    input logic [3:0] bus_err_i,
    input logic [12:0] perf_event_i,

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
  assign wr_en = aw_have_q & w_have_q & (~bvalid_q | bready_i);
  assign rd_en = ar_have_q & (~rvalid_q | rready_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
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

  logic wr_srst;
  logic wr_start;
  logic wr_snap;
  logic wr_clear;
  logic [31:0] clr_irq;
  logic [31:0] clr_err;
  assign wr_srst = (wr_addr == npu_regs_pkg::NPU_REG_CTRL_OFFSET) & wr_ones[npu_regs_pkg::NPU_CTRL_SOFT_RESET_LSB];
  assign wr_start = (wr_addr == npu_regs_pkg::NPU_REG_GEMM_CTRL_OFFSET) & wr_ones[npu_regs_pkg::NPU_GEMM_CTRL_EN_LSB];
  assign wr_snap = (wr_addr == npu_regs_pkg::NPU_REG_PERF_CTRL_OFFSET) & wr_ones[npu_regs_pkg::NPU_PERF_CTRL_SNAPSHOT_LSB];
  assign wr_clear = (wr_addr == npu_regs_pkg::NPU_REG_PERF_CTRL_OFFSET) & wr_ones[npu_regs_pkg::NPU_PERF_CTRL_CLEAR_LSB];
  assign clr_irq = (wr_addr == npu_regs_pkg::NPU_REG_IRQ_STATUS_OFFSET) ? wr_ones : 32'd0;
  assign clr_err = (wr_addr == npu_regs_pkg::NPU_REG_ERR_OFFSET) ? wr_ones : 32'd0;

  // ------------------------------------------------------------------------------------------------ soft reset
  logic srst_q;
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
      srst_q <= ~drained_i;
    end
  end
  assign srst_o = srst_q;

  // ------------------------------------------------------------------------------------------------ GEMM registers
  // One flat vector, word i is the register at GemmBase + 4*i.
  localparam logic [8:0] GemmBase = npu_regs_pkg::NPU_REG_GEMM_IFM_ADDR_OFFSET;
  localparam logic [8:0] GemmEnd = npu_regs_pkg::NPU_REG_GEMM_PSUM_CSTEP_OFFSET;
  localparam int unsigned GemmRegs = (32'(GemmEnd) - 32'(GemmBase)) / 4 + 1;
  localparam logic [32*GemmRegs-1:0] GemmMask = {
    npu_regs_pkg::NPU_REG_GEMM_PSUM_CSTEP_MASK,
    npu_regs_pkg::NPU_REG_GEMM_ACT_P3_MASK,
    npu_regs_pkg::NPU_REG_GEMM_ACT_P2_MASK,
    npu_regs_pkg::NPU_REG_GEMM_ACT_P1_MASK,
    npu_regs_pkg::NPU_REG_GEMM_ACT_P0_MASK,
    npu_regs_pkg::NPU_REG_GEMM_OUT_SCALE_MASK,
    npu_regs_pkg::NPU_REG_GEMM_GROUP_MASK,
    npu_regs_pkg::NPU_REG_GEMM_ACT_MASK,
    npu_regs_pkg::NPU_REG_GEMM_EXT_PAD_MASK,
    npu_regs_pkg::NPU_REG_GEMM_EXT_STRIDE_MASK,
    npu_regs_pkg::NPU_REG_GEMM_EXT_KERNEL_MASK,
    npu_regs_pkg::NPU_REG_GEMM_CTRL_MASK & ~npu_regs_pkg::NPU_GEMM_CTRL_EN_MASK,
    npu_regs_pkg::NPU_REG_GEMM_IN_SCALE_MASK,
    npu_regs_pkg::NPU_REG_GEMM_OFM_SIZE_MASK,
    npu_regs_pkg::NPU_REG_GEMM_CHANNELS_MASK,
    npu_regs_pkg::NPU_REG_GEMM_IFM_SIZE_MASK,
    npu_regs_pkg::NPU_REG_GEMM_PSUM_ADDR_MASK,
    npu_regs_pkg::NPU_REG_GEMM_OFM_CSTEP_MASK,
    npu_regs_pkg::NPU_REG_GEMM_OFM_ADDR_MASK,
    npu_regs_pkg::NPU_REG_GEMM_BIAS_ADDR_MASK,
    npu_regs_pkg::NPU_REG_GEMM_OSCALE_ADDR_MASK,
    npu_regs_pkg::NPU_REG_GEMM_WGT_ADDR_MASK,
    npu_regs_pkg::NPU_REG_GEMM_IFM_CSTEP_MASK,
    npu_regs_pkg::NPU_REG_GEMM_IFM_ADDR_MASK
  };

  logic [32*GemmRegs-1:0] gemm_q;
  logic wr_gemm;
  logic [4:0] wr_idx;
  logic [4:0] rd_idx;
  logic [31:0] wr_bits;
  assign wr_gemm = wr_en && (wr_addr >= GemmBase) && (wr_addr <= GemmEnd);
  assign wr_idx = 5'(aw_word_q - GemmBase[8:2]);
  assign rd_idx = 5'(ar_word_q - GemmBase[8:2]);
  assign wr_bits = wr_mask & GemmMask[32*wr_idx+:32];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) gemm_q <= '0;
    else if (srst_q) gemm_q <= '0;
    else if (wr_gemm) gemm_q[32*wr_idx+:32] <= (gemm_q[32*wr_idx+:32] & ~wr_bits) | (wdata_q & wr_bits);
  end

  logic [31:0] r_ifm_addr;
  logic [31:0] r_ifm_cstep;
  logic [31:0] r_wgt_addr;
  logic [31:0] r_oscale_addr;
  logic [31:0] r_bias_addr;
  logic [31:0] r_ofm_addr;
  logic [31:0] r_ofm_cstep;
  logic [31:0] r_psum_addr;
  logic [31:0] r_ifm_size;
  logic [31:0] r_channels;
  logic [31:0] r_ofm_size;
  logic [31:0] r_in_scale;
  logic [31:0] r_ctrl;
  logic [31:0] r_ext_kernel;
  logic [31:0] r_ext_stride;
  logic [31:0] r_ext_pad;
  logic [31:0] r_act;
  logic [31:0] r_group;
  logic [31:0] r_out_scale;
  logic [31:0] r_act_p0;
  logic [31:0] r_act_p1;
  logic [31:0] r_act_p2;
  logic [31:0] r_act_p3;
  logic [31:0] r_psum_cstep;
  assign r_out_scale = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_OUT_SCALE_OFFSET) - 32'(GemmBase))+:32];
  assign r_act_p0 = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_ACT_P0_OFFSET) - 32'(GemmBase))+:32];
  assign r_act_p1 = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_ACT_P1_OFFSET) - 32'(GemmBase))+:32];
  assign r_act_p2 = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_ACT_P2_OFFSET) - 32'(GemmBase))+:32];
  assign r_act_p3 = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_ACT_P3_OFFSET) - 32'(GemmBase))+:32];
  assign r_psum_cstep = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_PSUM_CSTEP_OFFSET) - 32'(GemmBase))+:32];
  assign r_ifm_addr = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_IFM_ADDR_OFFSET) - 32'(GemmBase))+:32];
  assign r_ifm_cstep = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_IFM_CSTEP_OFFSET) - 32'(GemmBase))+:32];
  assign r_wgt_addr = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_WGT_ADDR_OFFSET) - 32'(GemmBase))+:32];
  assign r_oscale_addr = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_OSCALE_ADDR_OFFSET) - 32'(GemmBase))+:32];
  assign r_bias_addr = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_BIAS_ADDR_OFFSET) - 32'(GemmBase))+:32];
  assign r_ofm_addr = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_OFM_ADDR_OFFSET) - 32'(GemmBase))+:32];
  assign r_ofm_cstep = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_OFM_CSTEP_OFFSET) - 32'(GemmBase))+:32];
  assign r_psum_addr = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_PSUM_ADDR_OFFSET) - 32'(GemmBase))+:32];
  assign r_ifm_size = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_IFM_SIZE_OFFSET) - 32'(GemmBase))+:32];
  assign r_channels = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_CHANNELS_OFFSET) - 32'(GemmBase))+:32];
  assign r_ofm_size = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_OFM_SIZE_OFFSET) - 32'(GemmBase))+:32];
  assign r_in_scale = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_IN_SCALE_OFFSET) - 32'(GemmBase))+:32];
  assign r_ctrl = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_CTRL_OFFSET) - 32'(GemmBase))+:32];
  assign r_ext_kernel = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_EXT_KERNEL_OFFSET) - 32'(GemmBase))+:32];
  assign r_ext_stride = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_EXT_STRIDE_OFFSET) - 32'(GemmBase))+:32];
  assign r_ext_pad = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_EXT_PAD_OFFSET) - 32'(GemmBase))+:32];
  assign r_act = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_ACT_OFFSET) - 32'(GemmBase))+:32];
  assign r_group = gemm_q[8*(32'(npu_regs_pkg::NPU_REG_GEMM_GROUP_OFFSET) - 32'(GemmBase))+:32];

  // ------------------------------------------------------------------------------------------------ task decode
  localparam logic [7:0] GroupMax = 8'(npu_pkg::OfmDepth * 2 / N);
  logic ext;
  logic [1:0] op;
  logic [3:0] act;
  logic [7:0] group;
  assign op = r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_OP_LSB+:npu_regs_pkg::NPU_GEMM_CTRL_OP_WIDTH];
  assign act = r_act[npu_regs_pkg::NPU_GEMM_ACT_TYPE_LSB+:npu_regs_pkg::NPU_GEMM_ACT_TYPE_WIDTH];
  assign ext = r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_EXT_LSB];
  assign group = r_group[npu_regs_pkg::NPU_GEMM_GROUP_TILES_LSB+:npu_regs_pkg::NPU_GEMM_GROUP_TILES_WIDTH];

  // ------------------------------------------------------------------------------------------------ task slot
  localparam logic [2:0] SlotFree = 3'd0;
  localparam logic [2:0] SlotSnap = 3'd1;  // the registers hold the task, task_q takes it
  localparam logic [2:0] SlotStart = 3'd2;
  localparam logic [2:0] SlotCheck = 3'd3;
  localparam logic [2:0] SlotValid = 3'd4;
  logic [2:0] slot_q;
  npu_pkg::gemm_task_t task_q;
  logic [31:0] snap_ctrl_q;
  logic [3:0] snap_act_q;
  logic check_busy;
  logic check_done;
  logic check_ok;
  logic set_config;
  logic set_overrun;

  gemm_check #(
      .N(N)
  ) u_check (
      .clk_i,
      .rst_ni,
      .clr_i(srst_q),
      .start_i(slot_q == SlotStart),
      .task_i(task_q),
      .ctrl_i(snap_ctrl_q),
      .act_i(snap_act_q),
      .busy_o(check_busy),
      .done_o(check_done),
      .ok_o(check_ok)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      slot_q <= SlotFree;
      task_q <= '0;
      snap_ctrl_q <= '0;
      snap_act_q <= '0;
    end else if (srst_q) begin
      slot_q <= SlotFree;
    end else begin
      case (slot_q)
        SlotFree: if (wr_start) slot_q <= SlotSnap;
        SlotSnap: begin
          slot_q <= SlotStart;
          task_q.op <= op;
          task_q.nhwc_in <= !r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_LAYOUT_LSB];
          task_q.requant <= r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_REQUANT_LSB];
          task_q.wgt_res <= r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_WGT_RES_LSB];
          task_q.wgt_keep <= r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_WGT_KEEP_LSB];
          task_q.fence <= r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_FENCE_LSB];
          task_q.bias_en <= r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_BIAS_LSB];
          task_q.oscale_en <= r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_OSCALE_LSB];
          task_q.raw_out <= r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_DIV_IC_LSB];
          task_q.psum_add <= r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_PSUM_ADD_LSB];
          task_q.act <= act;
          if (ext) begin
            task_q.kw <= r_ext_kernel[npu_regs_pkg::NPU_GEMM_EXT_KERNEL_KW_LSB+:npu_regs_pkg::NPU_GEMM_EXT_KERNEL_KW_WIDTH];
            task_q.kh <= r_ext_kernel[npu_regs_pkg::NPU_GEMM_EXT_KERNEL_KH_LSB+:npu_regs_pkg::NPU_GEMM_EXT_KERNEL_KH_WIDTH];
            task_q.dw <= r_ext_kernel[npu_regs_pkg::NPU_GEMM_EXT_KERNEL_DW_LSB+:npu_regs_pkg::NPU_GEMM_EXT_KERNEL_DW_WIDTH];
            task_q.dh <= r_ext_kernel[npu_regs_pkg::NPU_GEMM_EXT_KERNEL_DH_LSB+:npu_regs_pkg::NPU_GEMM_EXT_KERNEL_DH_WIDTH];
            task_q.sw <= r_ext_stride[npu_regs_pkg::NPU_GEMM_EXT_STRIDE_SW_LSB+:npu_regs_pkg::NPU_GEMM_EXT_STRIDE_SW_WIDTH];
            task_q.sh <= r_ext_stride[npu_regs_pkg::NPU_GEMM_EXT_STRIDE_SH_LSB+:npu_regs_pkg::NPU_GEMM_EXT_STRIDE_SH_WIDTH];
            task_q.pad_l <= r_ext_pad[npu_regs_pkg::NPU_GEMM_EXT_PAD_LEFT_LSB+:npu_regs_pkg::NPU_GEMM_EXT_PAD_LEFT_WIDTH];
            task_q.pad_t <= r_ext_pad[npu_regs_pkg::NPU_GEMM_EXT_PAD_TOP_LSB+:npu_regs_pkg::NPU_GEMM_EXT_PAD_TOP_WIDTH];
          end else begin
            task_q.kw <= {5'd0, r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_KERNEL_LSB+:npu_regs_pkg::NPU_GEMM_CTRL_KERNEL_WIDTH]};
            task_q.kh <= {5'd0, r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_KERNEL_LSB+:npu_regs_pkg::NPU_GEMM_CTRL_KERNEL_WIDTH]};
            task_q.dw <= 8'd1;
            task_q.dh <= 8'd1;
            task_q.sw <= {5'd0, r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_STRIDE_LSB+:npu_regs_pkg::NPU_GEMM_CTRL_STRIDE_WIDTH]};
            task_q.sh <= {5'd0, r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_STRIDE_LSB+:npu_regs_pkg::NPU_GEMM_CTRL_STRIDE_WIDTH]};
            task_q.pad_l <= {6'd0, r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_PAD_LEFT_LSB+:npu_regs_pkg::NPU_GEMM_CTRL_PAD_LEFT_WIDTH]};
            task_q.pad_t <= {6'd0, r_ctrl[npu_regs_pkg::NPU_GEMM_CTRL_PAD_TOP_LSB+:npu_regs_pkg::NPU_GEMM_CTRL_PAD_TOP_WIDTH]};
          end
          task_q.iw <= r_ifm_size[npu_regs_pkg::NPU_GEMM_IFM_SIZE_IW_LSB+:npu_regs_pkg::NPU_GEMM_IFM_SIZE_IW_WIDTH];
          task_q.ih <= r_ifm_size[npu_regs_pkg::NPU_GEMM_IFM_SIZE_IH_LSB+:npu_regs_pkg::NPU_GEMM_IFM_SIZE_IH_WIDTH];
          task_q.ic <= r_channels[npu_regs_pkg::NPU_GEMM_CHANNELS_IC_LSB+:npu_regs_pkg::NPU_GEMM_CHANNELS_IC_WIDTH];
          task_q.ow <= r_ofm_size[npu_regs_pkg::NPU_GEMM_OFM_SIZE_OW_LSB+:npu_regs_pkg::NPU_GEMM_OFM_SIZE_OW_WIDTH];
          task_q.oh <= r_ofm_size[npu_regs_pkg::NPU_GEMM_OFM_SIZE_OH_LSB+:npu_regs_pkg::NPU_GEMM_OFM_SIZE_OH_WIDTH];
          task_q.oc <= r_channels[npu_regs_pkg::NPU_GEMM_CHANNELS_OC_LSB+:npu_regs_pkg::NPU_GEMM_CHANNELS_OC_WIDTH];
          task_q.group <= (group == 8'd0) ? 8'd1 : (group > GroupMax) ? GroupMax : group;
          task_q.ifm_addr <= r_ifm_addr;
          task_q.ifm_cstep <= r_ifm_cstep;
          task_q.wgt_addr <= r_wgt_addr;
          task_q.oscale_addr <= r_oscale_addr;
          task_q.bias_addr <= r_bias_addr;
          task_q.ofm_addr <= r_ofm_addr;
          task_q.ofm_cstep <= r_ofm_cstep;
          task_q.psum_addr <= r_psum_addr;
          task_q.in_scale <= r_in_scale;
          task_q.out_scale <= r_out_scale;
          task_q.act_p0 <= r_act_p0;
          task_q.act_p1 <= r_act_p1;
          task_q.act_p2 <= r_act_p2;
          task_q.act_p3 <= r_act_p3;
          task_q.psum_cstep <= r_psum_cstep;
          snap_ctrl_q <= r_ctrl;
          snap_act_q <= act;
        end
        SlotStart: slot_q <= SlotCheck;
        SlotCheck: if (check_done) slot_q <= check_ok ? SlotValid : SlotFree;
        default: if (task_ready_i) slot_q <= SlotFree;
      endcase
    end
  end

  assign task_valid_o = slot_q == SlotValid;
  assign task_o = task_q;
  assign set_config = (slot_q == SlotCheck) & check_done & ~check_ok;
  assign set_overrun = wr_start & (slot_q != SlotFree);

  // ------------------------------------------------------------------------------------------------ status, events
  logic gemm_busy;
  logic irq_gemm_q;
  logic [2:0] irq_en_q;
  logic [5:0] err_q;
  logic [5:0] err_set;
  logic [15:0] count_q;
  logic [5:0] perf_sel_q;
  assign gemm_busy = ~srst_q & ((slot_q != SlotFree) | gemm_busy_i);
  always_comb begin
    err_set = 6'd0;
    err_set[npu_regs_pkg::NPU_ERR_BUS_RD0_LSB] = bus_err_i[0];
    err_set[npu_regs_pkg::NPU_ERR_BUS_RD1_LSB] = bus_err_i[1];
    err_set[npu_regs_pkg::NPU_ERR_BUS_WR0_LSB] = bus_err_i[2];
    err_set[npu_regs_pkg::NPU_ERR_BUS_WR1_LSB] = bus_err_i[3];
    err_set[npu_regs_pkg::NPU_ERR_CONFIG_LSB] = set_config;
    err_set[npu_regs_pkg::NPU_ERR_OVERRUN_LSB] = set_overrun;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      irq_gemm_q <= 1'b0;
      irq_en_q <= '0;
      err_q <= '0;
      count_q <= '0;
      perf_sel_q <= '0;
    end else if (srst_q) begin
      irq_gemm_q <= 1'b0;
      irq_en_q <= '0;
      err_q <= '0;
      count_q <= '0;
      perf_sel_q <= '0;
    end else begin
      irq_gemm_q <= (irq_gemm_q & ~clr_irq[npu_regs_pkg::NPU_IRQ_STATUS_GEMM_LSB]) | task_done_i | (err_set != 6'd0);
      err_q <= (err_q & ~clr_err[5:0]) | err_set;
      if (task_done_i) count_q <= count_q + 16'd1;
      if (wr_en && wr_addr == npu_regs_pkg::NPU_REG_IRQ_ENABLE_OFFSET && wstrb_q[0]) irq_en_q <= wdata_q[2:0];
      if (wr_en && wr_addr == npu_regs_pkg::NPU_REG_PERF_SEL_OFFSET && wstrb_q[0]) perf_sel_q <= wdata_q[5:0];
    end
  end

  // ALU and POOL are not there: their status bits stay 0
  logic [2:0] irq_status;
  logic [2:0] irq_line;
  assign irq_status = {irq_gemm_q, 2'b00};
  assign irq_line = irq_status & irq_en_q;
  assign irq_alu_o = irq_line[npu_regs_pkg::NPU_IRQ_STATUS_ALU_LSB];
  assign irq_pool_o = irq_line[npu_regs_pkg::NPU_IRQ_STATUS_POOL_LSB];
  assign irq_gemm_o = irq_line[npu_regs_pkg::NPU_IRQ_STATUS_GEMM_LSB];

  logic [31:0] perf_lo;
  logic [15:0] perf_hi;
  npu_perf u_perf (
      .clk_i,
      .rst_ni,
      .clr_i(srst_q),
      .run_i(gemm_busy),
      .event_i(perf_event_i),
      .snap_i(wr_snap),
      .clear_i(wr_clear),
      .sel_i(perf_sel_q),
      .lo_o(perf_lo),
      .hi_o(perf_hi)
  );

  // ------------------------------------------------------------------------------------------------ read decode
  logic [8:0] rd_addr;
  logic [31:0] rd_status;
  assign rd_addr = {ar_word_q, 2'b00};
  always_comb begin
    rd_status = 32'd0;
    rd_status[npu_regs_pkg::NPU_STATUS_GEMM_BUSY_LSB] = gemm_busy;
    rd_status[npu_regs_pkg::NPU_STATUS_GEMM_READY_LSB] = (slot_q == SlotFree) & ~srst_q;
    rd_status[npu_regs_pkg::NPU_STATUS_RESETTING_LSB] = srst_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rdata_q <= '0;
    end else if (rd_en) begin
      rdata_q <= 32'd0;
      case (rd_addr)
        npu_regs_pkg::NPU_REG_ID_OFFSET: rdata_q <= npu_regs_pkg::NPU_REG_ID_RESET;
        npu_regs_pkg::NPU_REG_CONFIG_OFFSET:
        rdata_q <= npu_regs_pkg::NPU_REG_CONFIG_RESET | (N << npu_regs_pkg::NPU_CONFIG_MESH_N_LSB);
        npu_regs_pkg::NPU_REG_STATUS_OFFSET: rdata_q <= rd_status;
        npu_regs_pkg::NPU_REG_IRQ_STATUS_OFFSET: rdata_q <= {29'd0, irq_status};
        npu_regs_pkg::NPU_REG_IRQ_ENABLE_OFFSET: rdata_q <= {29'd0, irq_en_q};
        npu_regs_pkg::NPU_REG_IRQ_ID_OFFSET:
        rdata_q <= irq_line[0] ? 32'd1 : irq_line[1] ? 32'd2 : irq_line[2] ? 32'd3 : 32'd0;
        npu_regs_pkg::NPU_REG_ERR_OFFSET: rdata_q <= {26'd0, err_q};
        npu_regs_pkg::NPU_REG_GEMM_COUNT_OFFSET: rdata_q <= {16'd0, count_q};
        npu_regs_pkg::NPU_REG_PERF_SEL_OFFSET: rdata_q <= {26'd0, perf_sel_q};
        npu_regs_pkg::NPU_REG_PERF_LO_OFFSET: rdata_q <= perf_lo;
        npu_regs_pkg::NPU_REG_PERF_HI_OFFSET: rdata_q <= {16'd0, perf_hi};
        default: if (rd_addr >= GemmBase && rd_addr <= GemmEnd) rdata_q <= gemm_q[32*rd_idx+:32];
      endcase
    end
  end

  // protection, byte address bits and bits that no field names
  logic unused;
  assign unused = ^{awprot_i, arprot_i, awaddr_i[1:0], araddr_i[1:0], clr_irq, clr_err, r_ext_stride, r_ext_pad, r_act, r_group};

  // ------------------------------------------------------------------------------------------------ assertions
  `NPU_ASSERT(SlotRange, slot_q <= SlotValid)
  `NPU_ASSERT(CheckInSlot, !check_busy || slot_q == SlotCheck)
  `NPU_ASSERT(IndexRange, !wr_gemm || 32'(wr_idx) < GemmRegs)
  `NPU_ASSERT(SoftResetNoTask, !(srst_q && $past(srst_q) && task_valid_o))
  `NPU_ASSERT(BusyAfterTask, !$past(task_valid_o && task_ready_i && !srst_q && rst_ni) || gemm_busy_i || srst_q)
  // two fields stand for the whole task, which one statement loads: comparing all 463 bits costs a simulator 20 ns a cycle
  `NPU_ASSERT_STABLE(task_valid_o, task_ready_i || srst_q, {task_o.ifm_addr, task_o.ofm_addr})
  `NPU_ASSERT_STABLE(bvalid_o, bready_i, bresp_o)
  `NPU_ASSERT(LoadOnlyWhenFree, !(slot_q == SlotSnap && (task_valid_o || check_busy)))
  `NPU_ASSERT_STABLE(rvalid_o, rready_i, {rdata_o, rresp_o})

endmodule
