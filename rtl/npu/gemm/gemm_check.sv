// Check of a GEMM task's settings against the limits of docs/npu/npu.md section 3.2.
//
// What it does
//   start_i (one cycle, not while busy_o) begins the check; task_i and pad_mode_i (GEMM_CTRL.PAD_MODE) must be stable
//   from start_i until done_o. done_o is one cycle high with the verdict on ok_o: 1 when the hardware can do the task.
//   A task that passes is stored: WGT_KEEP is legal only for the same weights as those of the task that passed last.
//   clr_i (synchronous) stops a check without a verdict and clears the stored task.
//
// Latency: done_o comes 7 cycles after start_i, with WGT_RES 14 cycles (one shared 16 x 16 multiplier; a divider of one
//   bit a cycle for the output rows of one group). busy_o is 1 in the cycles after start_i up to and with done_o.
//
// Parameters: N, the mesh size (4, 8, 16 or 32); EnInt16, 1: INT16 tasks (task_i.wide) are legal.
//
// Alignment is checked for every address and step, also for those that the task does not use.
// Throughput: a task at a time.
`include "assert.svh"

module gemm_check #(
  parameter int unsigned N = 8,
  parameter int unsigned EnInt16 = 0
) (
  input logic clk_i,
  input logic rst_ni,
  input logic clr_i,
  input logic start_i,
  input npu_pkg::gemm_task_t task_i,
  input logic [1:0] pad_mode_i,
  output logic busy_o,
  output logic done_o,
  output logic ok_o
);

  localparam int unsigned LogN = $clog2(N);
  localparam int unsigned MaxMapWords = npu_pkg::IfmDepth;
  localparam int unsigned MaxPixels = 65535;
  localparam int unsigned MaxOc = 4 * npu_pkg::ParDepth;

  // ----------------------------------------------------------------------------------------------- without arithmetic
  logic conv;
  logic wide;  // INT16: two words of input or weights for each of INT8
  logic modes_ok;
  logic nonzero_ok;
  logic align_ok;
  logic pitch_ok;
  logic [16:0] ic_up;
  logic [16:0] oc_up;
  logic [15:0] icb;
  logic [15:0] ocb;
  assign ic_up = {1'b0, task_i.ic} + (17'(N) - 17'd1);
  assign oc_up = {1'b0, task_i.oc} + (17'(N) - 17'd1);
  assign wide = EnInt16 != 0 && task_i.wide;
  assign icb = 16'(ic_up >> LogN) << wide;
  assign ocb = 16'(oc_up >> LogN);

  logic quant;  // zero-points or another rounding, which INT16 does not have
  assign quant = {task_i.ibias, task_i.zin, task_i.zout, task_i.rne, task_i.full} != '0;
  assign conv = task_i.op == npu_pkg::OpConv;
  assign modes_ok = (task_i.op <= npu_pkg::OpConvert) && (pad_mode_i == npu_regs_pkg::NPU_GEMM_CTRL_PAD_MODE_ZERO) &&
      (task_i.act <= npu_pkg::ActGeluTanh) && (conv || task_i.ic == task_i.oc) &&
      !(task_i.raw_out && (task_i.oscale_en || task_i.bias_en || task_i.requant || task_i.act != npu_pkg::ActNone)) &&
      (task_i.bias_en || !task_i.ibias) && (!task_i.wide || (EnInt16 != 0 && !quant));
  assign nonzero_ok = (task_i.iw != 16'd0) && (task_i.ih != 16'd0) && (task_i.ic != 16'd0) && (task_i.ow != 16'd0) &&
      (task_i.oh != 16'd0) && (task_i.oc != 16'd0) && (task_i.kw != 8'd0) && (task_i.kh != 8'd0) &&
      (task_i.sw != 8'd0) && (task_i.sh != 8'd0) && (task_i.dw != 8'd0) && (task_i.dh != 8'd0) &&
      (task_i.oc <= MaxOc[15:0]);

  localparam logic [31:0] Mask4 = 32'd3;
  logic [31:0] mask_n;
  logic [31:0] mask_p;  // of partial sums
  logic [31:0] mask_o;  // of an output that is not NHWC
  assign mask_n = wide ? 32'(2 * N) - 32'd1 : 32'(N) - 32'd1;
  assign mask_p = wide ? 32'd7 : Mask4;
  assign mask_o = task_i.raw_out ? mask_p : Mask4;
  logic [31:0] ifm_low;
  logic [31:0] ofm_low;
  assign ifm_low = (task_i.ifm_addr | task_i.ifm_cstep) & (task_i.nhwc_in ? mask_n : Mask4);
  assign ofm_low = (task_i.ofm_addr | task_i.ofm_cstep) & (task_i.requant ? mask_n : mask_o);
  assign align_ok = (ifm_low == 32'd0) && (ofm_low == 32'd0) &&
      (((task_i.psum_addr | task_i.psum_cstep) & mask_p) == 32'd0) &&
      (task_i.wgt_addr[3:0] == 4'd0) && (task_i.oscale_addr[3:0] == 4'd0) && (task_i.bias_addr[3:0] == 4'd0);
  assign pitch_ok = (!task_i.nhwc_in || task_i.ifm_cstep >= 32'(icb) << LogN) &&
      (!task_i.requant || task_i.ofm_cstep >= 32'(ocb) << LogN << wide);

  // ------------------------------------------------------------------------------------------------ kept weights
  logic prev_res_q;  // the task that passed last had WGT_RES, and:
  logic [1:0] prev_op_q;
  logic [31:0] prev_wgt_addr_q;
  logic [7:0] prev_kw_q;
  logic [7:0] prev_kh_q;
  logic [15:0] prev_ic_q;
  logic [15:0] prev_oc_q;
  logic prev_wide_q;
  logic keep_ok;
  assign keep_ok = !task_i.wgt_keep || (task_i.wgt_res && prev_res_q && task_i.op == prev_op_q &&
      task_i.wgt_addr == prev_wgt_addr_q && task_i.kw == prev_kw_q && task_i.kh == prev_kh_q &&
      task_i.ic == prev_ic_q && task_i.oc == prev_oc_q && wide == prev_wide_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      prev_res_q <= 1'b0;
      prev_op_q <= '0;
      prev_wgt_addr_q <= '0;
      prev_kw_q <= '0;
      prev_kh_q <= '0;
      prev_ic_q <= '0;
      prev_oc_q <= '0;
      prev_wide_q <= 1'b0;
    end else if (clr_i) begin
      prev_res_q <= 1'b0;
    end else if (done_o && ok_o) begin
      prev_res_q <= task_i.wgt_res;
      prev_op_q <= task_i.op;
      prev_wgt_addr_q <= task_i.wgt_addr;
      prev_kw_q <= task_i.kw;
      prev_kh_q <= task_i.kh;
      prev_ic_q <= task_i.ic;
      prev_oc_q <= task_i.oc;
      prev_wide_q <= wide;
    end
  end

  // ------------------------------------------------------------------------------------------------ products
  // One step a cycle: 1 ih*iw, 2 times ICB, 3 kh*kw, 4 times ICB (convolution), 5 times ceil(OCB/2) (WGT_RES), 6 oh*ow.
  // With WGT_RES the rows of a group follow: 7 (kh-1)*dh, 8..10 the divider ends, 11 times sh, 12 times iw, 13 plus 64
  // and times ICB. The low half of an intermediate product is enough where a larger one is a violation already.
  localparam logic [3:0] StepVerdict = 4'd15;
  localparam logic [15:0] ConvWords = 16'(npu_pkg::WgtDepth / N);  // W of CONV is counted in blocks of N words
  logic [3:0] step_q;  // 0 idle
  logic ok_q;
  logic map_fits_q;  // the whole input
  logic rows_fit_q;  // the rows of one group
  logic [15:0] last_q;  // low half of the last product
  logic [15:0] ext_q;  // (kh-1)*dh
  logic [15:0] mul_a;
  logic [15:0] mul_b;
  logic [31:0] prod;

  // floor((2*N*G - 2) / ow), a bit in each of steps 1 to 10; dividend and quotient share a register
  logic [9:0] quo_q;
  logic [15:0] rem_q;
  logic [16:0] rem_in;
  logic rem_ge;
  assign rem_in = {rem_q, quo_q[9]};
  assign rem_ge = rem_in >= {1'b0, task_i.ow};

  // output rows that a group touches beyond its first one, at most
  logic [10:0] more_rows;
  logic [15:0] oh_m1;
  assign oh_m1 = task_i.oh - 16'd1;
  assign more_rows = ({5'd0, {1'b0, quo_q} + 11'd1} < oh_m1) ? {1'b0, quo_q} + 11'd1 : oh_m1[10:0];

  // rows of input: min(ih, more_rows*sh + (kh-1)*dh + 1)
  logic [31:0] rows_all;
  logic [15:0] rows;
  assign rows_all = prod + {16'd0, ext_q} + 32'd1;
  assign rows = (rows_all < {16'd0, task_i.ih}) ? rows_all[15:0] : task_i.ih;

  always_comb begin
    mul_a = last_q;
    mul_b = icb;
    case (step_q)
      4'd1: begin
        mul_a = task_i.ih;
        mul_b = task_i.iw;
      end
      4'd3: begin
        mul_a = (task_i.op == npu_pkg::OpConvert) ? 16'd0 : {8'd0, task_i.kh};
        mul_b = {8'd0, task_i.kw};
      end
      4'd4: if (!conv) mul_b = wide ? 16'd2 : 16'd1;
      4'd5: mul_b = task_i.wgt_res ? (ocb + 16'd1) >> 1 : 16'd1;
      4'd6: begin
        mul_a = task_i.oh;
        mul_b = task_i.ow;
      end
      4'd7: begin
        mul_a = {8'd0, task_i.kh} - 16'd1;
        mul_b = {8'd0, task_i.dh};
      end
      4'd11: begin
        mul_a = {5'd0, more_rows};
        mul_b = {8'd0, task_i.sh};
      end
      4'd12: mul_b = task_i.iw;
      4'd13: mul_a = last_q + 16'd64;
      default: ;
    endcase
  end
  assign prod = mul_a * mul_b;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      step_q <= 4'd0;
      ok_q <= 1'b0;
      map_fits_q <= 1'b0;
      rows_fit_q <= 1'b0;
      last_q <= '0;
      ext_q <= '0;
      quo_q <= '0;
      rem_q <= '0;
    end else if (clr_i) begin
      step_q <= 4'd0;
    end else if (step_q == 4'd0) begin
      if (start_i) begin
        step_q <= 4'd1;
        ok_q <= modes_ok && nonzero_ok && align_ok && pitch_ok && keep_ok;
        rows_fit_q <= 1'b0;
        quo_q <= 10'({2'd0, task_i.group} << (LogN + 1)) - 10'd2;
        rem_q <= '0;
      end
    end else begin
      step_q <= step_q + 4'd1;
      last_q <= prod[15:0];
      if (step_q <= 4'd10) begin
        quo_q <= {quo_q[8:0], rem_ge};
        rem_q <= rem_ge ? 16'(rem_in - {1'b0, task_i.ow}) : rem_in[15:0];
      end
      case (step_q)
        4'd1: if (prod > MaxPixels) ok_q <= 1'b0;
        4'd2: map_fits_q <= prod <= MaxMapWords;
        4'd4, 4'd5: if (prod > (conv ? {16'd0, ConvWords} : npu_pkg::WgtDepth)) ok_q <= 1'b0;
        4'd6: begin
          if (prod > MaxPixels) ok_q <= 1'b0;
          if (!task_i.wgt_res) step_q <= StepVerdict;
        end
        4'd7: ext_q <= prod[15:0];
        4'd11: last_q <= rows;
        4'd12: rows_fit_q <= prod <= MaxMapWords;
        4'd13: begin
          if (prod > MaxMapWords) rows_fit_q <= 1'b0;
          step_q <= StepVerdict;
        end
        StepVerdict: step_q <= 4'd0;
        default: ;
      endcase
    end
  end

  assign busy_o = step_q != 4'd0;
  assign done_o = step_q == StepVerdict;
  assign ok_o = ok_q && (map_fits_q || rows_fit_q);

  // fields without a limit
  logic unused;
  assign unused = ^{
    task_i.fence, task_i.psum_add, task_i.pad_l, task_i.pad_t, task_i.in_scale, task_i.out_scale, task_i.act_p0,
    task_i.act_p1, task_i.act_p2, task_i.act_p3, task_i.zin, task_i.zout, task_i.rne, task_i.full
  };

  `ASSERT(StartWhenIdle, !(start_i && busy_o))
  `ASSERT(GroupRange, !start_i || (task_i.group != 8'd0 && 32'(task_i.group) <= 512 / N))
  `ASSERT(RowsOnlyResident, !(busy_o && rows_fit_q) || task_i.wgt_res)

endmodule
