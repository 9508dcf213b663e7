// Check of a task's settings: the verdict decides between a start and ERR.CONFIG.
//
// start_i with the raw registers, which stay stable until done_o: 4 cycles later, with ok_o. One multiplier looks at A,
// B and C one after the other. A task is refused when M or N is 0 or K > 65535; a leading dimension is shorter than a
// stored row or above 2^24 - 1; an address is no multiple of the element; a matrix runs past 2^32; a mode is absent
// (EnHalf = 0: every binary16 mode; HalfBuf = 1: HALF = 0); a reserved bit of START is 1. A and B are not looked at
// when they are not read (K = 0 or alpha is a zero).
// Document: docs/sgemm/sgemm.md section 4.
`include "assert.svh"

module sgemm_check #(
  parameter bit EnHalf = 1'b1,
  parameter bit HalfBuf = 1'b0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        clr_i,
  input  logic        start_i,
  input  logic [31:0] a_addr_i,
  input  logic [31:0] b_addr_i,
  input  logic [31:0] c_addr_i,
  input  logic [31:0] lda_i,
  input  logic [31:0] ldb_i,
  input  logic [31:0] ldc_i,
  input  logic [15:0] m_i,
  input  logic [15:0] n_i,
  input  logic [31:0] k_i,
  input  logic [31:0] mode_i,   // START
  input  logic        no_ab_i,
  output logic        busy_o,
  output logic        done_o,
  output logic        ok_o
);

  localparam logic [1:0] StepA = 2'd0;
  localparam logic [1:0] StepB = 2'd1;
  localparam logic [1:0] StepC = 2'd2;

  logic run_q, good_q;
  logic [1:0] step_q;
  logic ta, tb;
  assign ta = mode_i[sgemm_regs_pkg::SGEMM_START_TRANS_A_LSB];
  assign tb = mode_i[sgemm_regs_pkg::SGEMM_START_TRANS_B_LSB];

  // the matrix of this step: rows and columns as stored
  logic [31:0] addr, ld;
  logic [15:0] rows, cols, rows_m1;
  logic f16, skip;
  always_comb begin
    case (step_q)
      StepA: begin
        addr = a_addr_i;
        ld = lda_i;
        rows = ta ? k_i[15:0] : m_i;
        cols = ta ? m_i : k_i[15:0];
        f16 = mode_i[sgemm_regs_pkg::SGEMM_START_A_F16_LSB];
        skip = no_ab_i;
      end
      StepB: begin
        addr = b_addr_i;
        ld = ldb_i;
        rows = tb ? n_i : k_i[15:0];
        cols = tb ? k_i[15:0] : n_i;
        f16 = mode_i[sgemm_regs_pkg::SGEMM_START_B_F16_LSB];
        skip = no_ab_i;
      end
      default: begin
        addr = c_addr_i;
        ld = ldc_i;
        rows = m_i;
        cols = n_i;
        f16 = mode_i[sgemm_regs_pkg::SGEMM_START_C_F16_LSB];
        skip = 1'b0;
      end
    endcase
  end

  logic [40:0] elems;   // from the first element to behind the last one
  logic [42:0] past;    // address behind the last byte
  logic matrix_ok, modes_ok, some_f16;
  assign rows_m1 = rows - 16'd1;
  assign elems = 41'(rows_m1) * 41'(ld[23:0]) + 41'(cols);
  assign past = {11'd0, addr} + (f16 ? {1'b0, elems, 1'b0} : {elems, 2'b00});
  assign matrix_ok = ld[31:24] == 8'd0 && ld >= {16'd0, cols} && !addr[0] && (f16 || !addr[1]) &&
      past <= 43'h1_0000_0000;
  assign some_f16 = mode_i[sgemm_regs_pkg::SGEMM_START_A_F16_LSB] || mode_i[sgemm_regs_pkg::SGEMM_START_B_F16_LSB] ||
      mode_i[sgemm_regs_pkg::SGEMM_START_C_F16_LSB] || mode_i[sgemm_regs_pkg::SGEMM_START_HALF_LSB];
  assign modes_ok = m_i != 16'd0 && n_i != 16'd0 && k_i[31:16] == 16'd0 && (EnHalf || !some_f16) &&
      (!HalfBuf || mode_i[sgemm_regs_pkg::SGEMM_START_HALF_LSB]) &&
      (mode_i & sgemm_regs_pkg::SGEMM_START_RESERVED_MASK) == 32'd0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      run_q <= 1'b0;
      good_q <= 1'b0;
      step_q <= StepA;
      done_o <= 1'b0;
    end else begin
      done_o <= run_q && step_q == StepC && !clr_i;
      if (clr_i) begin
        run_q <= 1'b0;
      end else if (start_i) begin
        run_q <= 1'b1;
        step_q <= StepA;
        good_q <= modes_ok;
      end else if (run_q) begin
        run_q <= step_q != StepC;
        step_q <= step_q + 2'd1;
        good_q <= good_q && (skip || matrix_ok);
      end
    end
  end
  assign busy_o = run_q;
  assign ok_o = good_q;

  logic unused;
  assign unused = ^mode_i;

  `ASSERT(CheckOnce, !(start_i && run_q))

endmodule
