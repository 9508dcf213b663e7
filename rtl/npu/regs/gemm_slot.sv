// Task slot of the GEMM: from the write that starts a task to its handshake with the unit. Part of npu_regs.
//
// What it does
//   start_i is 1 in the cycle in which the write of GEMM_CTRL with EN = 1 takes effect; regs_i, the words of the task registers
//   from GEMM_IFM_ADDR up, holds the new values one cycle later and is copied then, short form
//   or extended form, GEMM_GROUP.TILES limited to 1 .. 512/N (half of the ofm buffer). The settings are
//   checked (gemm_check); a good task is presented on task_valid_o, stable until task_ready_i, for a bad one set_config_o pulses.
//   free_o is 0 from the cycle after start_i until the task is taken or dropped; a start in that time is dropped and
//   set_overrun_o pulses with it. clr_i (soft reset) drops the task.
//
// Latency: task_valid_o rises 10 cycles (WGT_RES: 17 cycles) after start_i.
// Parameters: N, the mesh size; RegsW, the bits of regs_i.
`include "npu_assert.svh"
`include "npu_field.svh"

module gemm_slot #(
    parameter int unsigned N = 8,
    parameter int unsigned RegsW = 1984
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,
    input logic start_i,
    input logic [RegsW-1:0] regs_i,
    output logic free_o,
    output logic task_valid_o,
    input logic task_ready_i,
    output npu_pkg::gemm_task_t task_o,
    output logic set_config_o,
    output logic set_overrun_o
);

  localparam logic [7:0] GroupMax = 8'(npu_pkg::OfmDepth * 2 / N);
  localparam logic [2:0] Free = 3'd0;
  localparam logic [2:0] Snap = 3'd1;  // the registers hold the task, task_q takes it
  localparam logic [2:0] Start = 3'd2;
  localparam logic [2:0] Check = 3'd3;
  localparam logic [2:0] Valid = 3'd4;
  logic [2:0] slot_q;
  npu_pkg::gemm_task_t task_q;
  logic [1:0] pad_mode_q;
  logic [7:0] group;
  logic check_busy;
  logic check_done;
  logic check_ok;

  assign group = `NPU_FIELD(GEMM_GROUP, TILES);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      slot_q <= Free;
    end else if (clr_i) begin
      slot_q <= Free;
    end else begin
      case (slot_q)
        Free: if (start_i) slot_q <= Snap;
        Snap: slot_q <= Start;
        Start: slot_q <= Check;
        Check: if (check_done) slot_q <= check_ok ? Valid : Free;
        default: if (task_ready_i) slot_q <= Free;
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      task_q <= '0;
      pad_mode_q <= '0;
    end else if (slot_q == Snap) begin
      task_q.op <= `NPU_FIELD(GEMM_CTRL, OP);
      task_q.fence <= `NPU_FIELD(GEMM_CTRL, FENCE);
      task_q.bias_en <= `NPU_FIELD(GEMM_CTRL, BIAS);
      task_q.oscale_en <= `NPU_FIELD(GEMM_CTRL, OSCALE);
      task_q.raw_out <= `NPU_FIELD(GEMM_CTRL, DIV_IC);
      task_q.psum_add <= `NPU_FIELD(GEMM_CTRL, PSUM_ADD);
      task_q.nhwc_in <= !`NPU_FIELD(GEMM_CTRL, LAYOUT);
      task_q.requant <= `NPU_FIELD(GEMM_CTRL, REQUANT);
      task_q.wgt_res <= `NPU_FIELD(GEMM_CTRL, WGT_RES);
      task_q.wgt_keep <= `NPU_FIELD(GEMM_CTRL, WGT_KEEP);
      task_q.act <= `NPU_FIELD(GEMM_ACT, TYPE);
      if (`NPU_FIELD(GEMM_CTRL, EXT)) begin
        task_q.kw <= `NPU_FIELD(GEMM_EXT_KERNEL, KW);
        task_q.kh <= `NPU_FIELD(GEMM_EXT_KERNEL, KH);
        task_q.dw <= `NPU_FIELD(GEMM_EXT_KERNEL, DW);
        task_q.dh <= `NPU_FIELD(GEMM_EXT_KERNEL, DH);
        task_q.sw <= `NPU_FIELD(GEMM_EXT_STRIDE, SW);
        task_q.sh <= `NPU_FIELD(GEMM_EXT_STRIDE, SH);
        task_q.pad_l <= `NPU_FIELD(GEMM_EXT_PAD, LEFT);
        task_q.pad_t <= `NPU_FIELD(GEMM_EXT_PAD, TOP);
      end else begin
        task_q.kw <= {5'd0, `NPU_FIELD(GEMM_CTRL, KERNEL)};
        task_q.kh <= {5'd0, `NPU_FIELD(GEMM_CTRL, KERNEL)};
        task_q.dw <= 8'd1;
        task_q.dh <= 8'd1;
        task_q.sw <= {5'd0, `NPU_FIELD(GEMM_CTRL, STRIDE)};
        task_q.sh <= {5'd0, `NPU_FIELD(GEMM_CTRL, STRIDE)};
        task_q.pad_l <= {6'd0, `NPU_FIELD(GEMM_CTRL, PAD_LEFT)};
        task_q.pad_t <= {6'd0, `NPU_FIELD(GEMM_CTRL, PAD_TOP)};
      end
      task_q.iw <= `NPU_FIELD(GEMM_IFM_SIZE, IW);
      task_q.ih <= `NPU_FIELD(GEMM_IFM_SIZE, IH);
      task_q.ic <= `NPU_FIELD(GEMM_CHANNELS, IC);
      task_q.oc <= `NPU_FIELD(GEMM_CHANNELS, OC);
      task_q.ow <= `NPU_FIELD(GEMM_OFM_SIZE, OW);
      task_q.oh <= `NPU_FIELD(GEMM_OFM_SIZE, OH);
      task_q.group <= (group == 8'd0) ? 8'd1 : (group > GroupMax) ? GroupMax : group;
      task_q.ifm_addr <= `NPU_FIELD(GEMM_IFM_ADDR, ADDR);
      task_q.ifm_cstep <= `NPU_FIELD(GEMM_IFM_CSTEP, BYTES);
      task_q.wgt_addr <= `NPU_FIELD(GEMM_WGT_ADDR, ADDR);
      task_q.oscale_addr <= `NPU_FIELD(GEMM_OSCALE_ADDR, ADDR);
      task_q.bias_addr <= `NPU_FIELD(GEMM_BIAS_ADDR, ADDR);
      task_q.ofm_addr <= `NPU_FIELD(GEMM_OFM_ADDR, ADDR);
      task_q.ofm_cstep <= `NPU_FIELD(GEMM_OFM_CSTEP, BYTES);
      task_q.psum_addr <= `NPU_FIELD(GEMM_PSUM_ADDR, ADDR);
      task_q.psum_cstep <= `NPU_FIELD(GEMM_PSUM_CSTEP, BYTES);
      task_q.in_scale <= `NPU_FIELD(GEMM_IN_SCALE, VALUE);
      task_q.out_scale <= `NPU_FIELD(GEMM_OUT_SCALE, VALUE);
      task_q.act_p0 <= `NPU_FIELD(GEMM_ACT_P0, VALUE);
      task_q.act_p1 <= `NPU_FIELD(GEMM_ACT_P1, VALUE);
      task_q.act_p2 <= `NPU_FIELD(GEMM_ACT_P2, VALUE);
      task_q.act_p3 <= `NPU_FIELD(GEMM_ACT_P3, VALUE);
      pad_mode_q <= `NPU_FIELD(GEMM_CTRL, PAD_MODE);
    end
  end

  gemm_check #(
      .N(N)
  ) u_check (
      .clk_i,
      .rst_ni,
      .clr_i,
      .start_i(slot_q == Start),
      .task_i(task_q),
      .pad_mode_i(pad_mode_q),
      .busy_o(check_busy),
      .done_o(check_done),
      .ok_o(check_ok)
  );

  assign free_o = slot_q == Free;
  assign task_valid_o = slot_q == Valid;
  assign task_o = task_q;
  assign set_config_o = (slot_q == Check) & check_done & ~check_ok;
  assign set_overrun_o = start_i & (slot_q != Free);

  // registers of other units
  logic unused;
  assign unused = ^regs_i;

  `NPU_ASSERT(SlotRange, slot_q <= Valid)
  `NPU_ASSERT(CheckInSlot, !check_busy || slot_q == Check)
  // two fields stand for the whole task, which one statement loads: comparing all its bits costs a simulator 20 ns a cycle
  `NPU_ASSERT_STABLE(task_valid_o, task_ready_i || clr_i, {task_o.ifm_addr, task_o.ofm_addr})

endmodule
