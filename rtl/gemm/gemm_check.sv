// Check of a GEMM task's settings against the limits of docs/npu.md section 3.
//
// What it does
//   start_i (one cycle, not while busy_o) begins the check; task_i, ctrl_i (GEMM_CTRL) and act_i (GEMM_ACT.TYPE) must be
//   stable from start_i until done_o. done_o is one cycle high with the verdict on ok_o: 1 when the hardware can do the task.
//   clr_i (synchronous) stops a check without a verdict.
//
// Latency: done_o comes 6 cycles after start_i (one shared 16 x 16 multiplier, five products). busy_o is 1 in the cycles
//   after start_i up to and with done_o.
//
// Parameter: N, the mesh size (4, 8, 16 or 32).
//
// Alignment is checked for every address and step, also for those that the task does not use.
`include "npu_assert.svh"

module gemm_check #(
    parameter int unsigned N = 8
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,
    input logic start_i,
    input npu_pkg::gemm_task_t task_i,
    input logic [31:0] ctrl_i,
    input logic [3:0] act_i,
    output logic busy_o,
    output logic done_o,
    output logic ok_o
);

  localparam int unsigned LogN = $clog2(N);
  localparam int unsigned MaxMapWords = npu_pkg::IfmDepth;
  localparam int unsigned MaxTaps = npu_pkg::WgtDepth / N;  // kh*kw*ICB
  localparam int unsigned MaxPixels = 65535;
  localparam int unsigned MaxOc = 4 * npu_pkg::ParDepth;

  // Without arithmetic
  logic fields_ok;
  logic nonzero_ok;
  logic align_ok;
  logic [npu_regs_pkg::NPU_GEMM_CTRL_OP_WIDTH-1:0] op;
  logic [npu_regs_pkg::NPU_GEMM_CTRL_PAD_MODE_WIDTH-1:0] pad_mode;
  logic layout;
  logic requant;
  assign op = ctrl_i[npu_regs_pkg::NPU_GEMM_CTRL_OP_LSB+:npu_regs_pkg::NPU_GEMM_CTRL_OP_WIDTH];
  assign pad_mode = ctrl_i[npu_regs_pkg::NPU_GEMM_CTRL_PAD_MODE_LSB+:npu_regs_pkg::NPU_GEMM_CTRL_PAD_MODE_WIDTH];
  assign layout = ctrl_i[npu_regs_pkg::NPU_GEMM_CTRL_LAYOUT_LSB];
  assign requant = ctrl_i[npu_regs_pkg::NPU_GEMM_CTRL_REQUANT_LSB];

  assign fields_ok = (op == npu_regs_pkg::NPU_GEMM_CTRL_OP_CONV) && (pad_mode == npu_regs_pkg::NPU_GEMM_CTRL_PAD_MODE_ZERO) &&
      layout && !requant && (act_i <= npu_regs_pkg::NPU_GEMM_ACT_TYPE_RELU) &&
      !(task_i.raw_out && (task_i.oscale_en || task_i.bias_en || act_i != npu_regs_pkg::NPU_GEMM_ACT_TYPE_NONE));
  assign nonzero_ok = (task_i.iw != 16'd0) && (task_i.ih != 16'd0) && (task_i.ic != 16'd0) && (task_i.ow != 16'd0) &&
      (task_i.oh != 16'd0) && (task_i.oc != 16'd0) && (task_i.kw != 8'd0) && (task_i.kh != 8'd0) && (task_i.sw != 8'd0) &&
      (task_i.sh != 8'd0) && (task_i.dw != 8'd0) && (task_i.dh != 8'd0) && (task_i.oc <= MaxOc[15:0]);
  assign align_ok = (task_i.ifm_addr[1:0] == 2'd0) && (task_i.ofm_addr[1:0] == 2'd0) && (task_i.psum_addr[1:0] == 2'd0) &&
      (task_i.ifm_cstep[3:0] == 4'd0) && (task_i.ofm_cstep[3:0] == 4'd0) && (task_i.wgt_addr[3:0] == 4'd0) &&
      (task_i.oscale_addr[3:0] == 4'd0) && (task_i.bias_addr[3:0] == 4'd0);

  // Products, one a cycle: ih*iw, times ICB, kh*kw, times ICB, oh*ow. An intermediate product above 16 bits is already a
  // violation, so its upper half may be dropped.
  logic [2:0] step_q;  // 0 idle, 1..5 products, 6 verdict
  logic ok_q;
  logic [15:0] last_q;  // low half of the last product
  logic [16:0] ic_up;
  logic [15:0] icb;
  logic [15:0] mul_a;
  logic [15:0] mul_b;
  logic [31:0] prod;
  logic [31:0] limit;
  assign ic_up = {1'b0, task_i.ic} + (17'(N) - 17'd1);
  assign icb = 16'(ic_up >> LogN);

  always_comb begin
    mul_a = last_q;
    mul_b = icb;
    limit = MaxPixels;
    case (step_q)
      3'd1: begin
        mul_a = task_i.ih;
        mul_b = task_i.iw;
      end
      3'd2: limit = MaxMapWords;
      3'd3: begin
        mul_a = {8'd0, task_i.kh};
        mul_b = {8'd0, task_i.kw};
      end
      3'd4: limit = MaxTaps;
      3'd5: begin
        mul_a = task_i.oh;
        mul_b = task_i.ow;
      end
      default: begin
        mul_a = 16'd0;
        mul_b = 16'd0;
      end
    endcase
  end
  assign prod = mul_a * mul_b;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      step_q <= 3'd0;
      ok_q <= 1'b0;
      last_q <= '0;
    end else if (clr_i) begin
      step_q <= 3'd0;
    end else if (step_q == 3'd0) begin
      if (start_i) begin
        step_q <= 3'd1;
        ok_q <= fields_ok && nonzero_ok && align_ok;
      end
    end else if (step_q == 3'd6) begin
      step_q <= 3'd0;
    end else begin
      step_q <= step_q + 3'd1;
      last_q <= prod[15:0];
      if (prod > limit) ok_q <= 1'b0;
    end
  end

  assign busy_o = step_q != 3'd0;
  assign done_o = step_q == 3'd6;
  assign ok_o = ok_q;

  // fields that no limit speaks of
  logic unused;
  assign unused = ^{task_i.fence, task_i.psum_add, task_i.op, task_i.act, task_i.nhwc_in, task_i.requant, task_i.wgt_res, task_i.wgt_keep, task_i.psum_cstep, task_i.out_scale, task_i.act_p0, task_i.act_p1, task_i.act_p2, task_i.act_p3, task_i.pad_l, task_i.pad_t, task_i.group,
                    task_i.in_scale, ctrl_i};

  `NPU_ASSERT(StepRange, step_q <= 3'd6)
  `NPU_ASSERT(StartWhenIdle, !(start_i && busy_o))

endmodule
