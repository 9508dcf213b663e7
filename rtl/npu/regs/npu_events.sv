// Events of the NPU's units: ERR, IRQ_STATUS, counts of tasks and ALU_RESULT (docs/npu/registers.md).
//
// All inputs are pulses of one cycle; vectors of the units are in the order of ERR: GEMM, ALU, POOL.
// unit_done_i: count + 1 and the unit's bit in irq_o, at the same edge. bus_err_i {pool, alu, gemm} x {wr1, wr0, rd1,
// rd0}, set_config_i, set_overrun_i: the bit in err_o and the unit's bit in irq_o. An event has priority over a write
// of 1 to clear (clr_irq_i, clr_err_i) at the same edge. alu_result_we_i: alu_result_i is the result of the task that
// completes next (or now); alu_result_o takes it when it does. clr_i (soft reset): all back to their reset values.
// Latency: 1 cycle. Throughput: all events in every cycle.
module npu_events #(
  parameter bit EnAlu = 1'b1
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        clr_i,
  input  logic [2:0]  unit_done_i,
  input  logic [11:0] bus_err_i,
  input  logic [2:0]  set_config_i,
  input  logic [2:0]  set_overrun_i,
  input  logic        alu_result_we_i,
  input  logic [31:0] alu_result_i,
  input  logic [2:0]  clr_irq_i,
  input  logic [31:0] clr_err_i,
  output logic [2:0]  irq_o,  // in the order of IRQ_STATUS
  output logic [31:0] err_o,
  output logic [47:0] count_o,
  output logic [31:0] alu_result_o
);

  logic [2:0] unit_err;
  logic [2:0] irq_set;  // in the order of IRQ_STATUS: ALU, POOL, GEMM
  logic [31:0] err_set;
  for (genvar i = 0; i < 3; i++) begin : g_err
    assign err_set[8*i+:8] = {4'd0, bus_err_i[4*i+:4]} | 8'(set_config_i[i]) << npu_regs_pkg::NPU_ERR_CONFIG_LSB |
        8'(set_overrun_i[i]) << npu_regs_pkg::NPU_ERR_OVERRUN_LSB;
    assign unit_err[i] = err_set[8*i+:8] != 8'd0;
  end
  assign err_set[31:24] = 8'd0;
  always_comb begin
    irq_set = 3'd0;
    irq_set[npu_regs_pkg::NPU_IRQ_STATUS_GEMM_LSB] = unit_done_i[0] | unit_err[0];
    irq_set[npu_regs_pkg::NPU_IRQ_STATUS_ALU_LSB] = unit_done_i[1] | unit_err[1];
    irq_set[npu_regs_pkg::NPU_IRQ_STATUS_POOL_LSB] = unit_done_i[2] | unit_err[2];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      irq_o <= '0;
      err_o <= '0;
      count_o <= '0;
    end else if (clr_i) begin
      irq_o <= '0;
      err_o <= '0;
      count_o <= '0;
    end else begin
      irq_o <= (irq_o & ~clr_irq_i) | irq_set;
      err_o <= (err_o & ~clr_err_i) | err_set;
      for (int unsigned i = 0; i < 3; i++) begin
        if (unit_done_i[i]) count_o[16*i+:16] <= count_o[16*i+:16] + 16'd1;
      end
    end
  end

  // The result of a running task waits here until the task completes. A task without one leaves it as it was.
  logic [31:0] alu_next_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      alu_result_o <= '0;
      alu_next_q <= '0;
    end else if (clr_i) begin
      alu_result_o <= '0;
      alu_next_q <= '0;
    end else if (EnAlu) begin
      if (alu_result_we_i) alu_next_q <= alu_result_i;
      if (unit_done_i[1]) alu_result_o <= alu_result_we_i ? alu_result_i : alu_next_q;
    end
  end

endmodule
