// Check of a POOL task's settings against the limits of docs/npu/npu.md section 3.4.
//
// What it does
//   start_i (one cycle, not while busy_o) begins the check; task_i and type_i (POOL_CTRL.TYPE) must be stable from
//   start_i until done_o. done_o is one cycle high with the verdict on ok_o: 1 when the hardware can do the task. clr_i
//   (synchronous) stops a check without a verdict.
//
// Latency: done_o comes 3 cycles after start_i (one multiplier, a product for the columns and one for the rows). busy_o
//   is 1 in the cycles after start_i up to and with done_o.
//
// Parameter: N, the mesh size (4, 8, 16 or 32).
//
// Alignment is checked for every address and step, also for those that the task does not use.
// Throughput: a task at a time.
`include "assert.svh"

module pool_check #(
  parameter int unsigned N = 8
) (
  input logic clk_i,
  input logic rst_ni,
  input logic clr_i,
  input logic start_i,
  input npu_pkg::pool_task_t task_i,
  input logic [1:0] type_i,
  output logic busy_o,
  output logic done_o,
  output logic ok_o
);

  // ----------------------------------------------------------------------------------------------- without arithmetic
  localparam logic [31:0] Mask4 = 32'd3;
  localparam logic [31:0] MaskN = 32'(N) - 32'd1;
  logic sizes_ok;
  logic pads_ok;
  logic align_ok;
  logic pitch_ok;
  logic [31:0] all_addr;  // addresses and steps of the tensors together
  logic [31:0] c_up;  // align(C, N)
  assign sizes_ok = (task_i.iw != 16'd0) && (task_i.ih != 16'd0) && (task_i.ow != 16'd0) && (task_i.oh != 16'd0) &&
      (task_i.c != 16'd0) && (task_i.kw != 8'd0) && (task_i.kh != 8'd0) && (task_i.sw != 8'd0) && (task_i.sh != 8'd0) &&
      (task_i.iw <= 16'(npu_pkg::PoolMaxIw)) && (task_i.ow <= 16'(npu_pkg::PoolMaxOw));
  assign pads_ok = (task_i.pad_l < task_i.kw) && (task_i.pad_t < task_i.kh);
  assign all_addr = task_i.ifm_addr | task_i.ifm_cstep | task_i.ifm_rstep | task_i.ofm_addr | task_i.ofm_cstep |
      task_i.ofm_rstep;
  assign align_ok = ((all_addr & (task_i.int8 ? MaskN : Mask4)) == 32'd0) && (task_i.tab_addr[1:0] == 2'd0);
  assign c_up = ({16'd0, task_i.c} + MaskN) & ~MaskN;
  assign pitch_ok = !task_i.int8 || (task_i.ifm_cstep >= c_up && task_i.ofm_cstep >= c_up);

  // ------------------------------------------------------------------------------------------------ products
  // The last window of a row or column must begin inside the map: (o - 1)*s < i + pad. A product is compared in the
  // cycle after the multiplication: both in one would be the longest path of the unit.
  logic [1:0] step_q;  // 0 idle, 1 columns, 2 rows, 3 verdict
  logic ok_q;
  logic row;
  logic [15:0] out;
  logic [15:0] in;
  logic [7:0] pad;
  logic [7:0] stride;
  logic [23:0] prod_q;
  logic [16:0] bound_q;
  logic begins_inside;  // of the product of the step before
  assign row = step_q == 2'd2;
  assign out = row ? task_i.oh : task_i.ow;
  assign in = row ? task_i.ih : task_i.iw;
  assign pad = row ? task_i.pad_t : task_i.pad_l;
  assign stride = row ? task_i.sh : task_i.sw;
  assign begins_inside = prod_q < {7'd0, bound_q};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      step_q <= 2'd0;
      ok_q <= 1'b0;
      prod_q <= '0;
      bound_q <= '0;
    end else if (clr_i) begin
      step_q <= 2'd0;
    end else if (step_q == 2'd0) begin
      if (start_i) begin
        step_q <= 2'd1;
        ok_q <= (type_i <= 2'd1) && sizes_ok && pads_ok && align_ok && pitch_ok;
      end
    end else begin
      step_q <= step_q + 2'd1;
      prod_q <= {8'd0, out - 16'd1} * {16'd0, stride};
      bound_q <= {1'b0, in} + {9'd0, pad};
      if (step_q == 2'd2 && !begins_inside) ok_q <= 1'b0;
    end
  end

  assign busy_o = step_q != 2'd0;
  assign done_o = step_q == 2'd3;
  assign ok_o = ok_q && begins_inside;

  // fields without a limit
  logic unused;
  assign unused = ^{task_i.avg, task_i.exclude, task_i.recip, task_i.tab_addr};

  `ASSERT(StartWhenIdle, !(start_i && busy_o))

endmodule
