// Arithmetic of post: from the sums that are read from ofm_buf to the results behind the activation.
//
// Function     docs/npu/npu.md section 2: sum + partial sum (+ int32 bias) -> FP32 -> * oscale -> + bias -> activation,
//              each step one binary32 operation. FP32: four results of one channel a cycle, in the first four lanes;
//              requant (the task's): 4 * Cols, four of each channel of the pass.
// INT16        (EnInt16, task_i.wide) The sums and partial sums are int64, two of them in the place of four; results of
//              a channel are in the first two of its four lanes.
// Time         issue_i: ofm_buf and par_buf are read in this cycle, and psum_i is the beat of partial sums (use_psum_i:
//              there is one). 5 cycles and those of the activation later the results leave; nothing stalls.
// Throughput   A word of each port of ofm_buf a cycle.

module post_arith #(
  parameter int unsigned N = 8,
  parameter int unsigned EnInt16 = 0,
  localparam int unsigned Cols = N >= 16 ? 4 : N / 4
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  npu_pkg::gemm_task_t task_i,
  input  logic                issue_i,
  input  logic                use_psum_i,
  input  logic [127:0]        psum_i,
  input  logic                walk_i,        // a word of the requant walk
  input  logic [$clog2(N):0]  ch_i,          // its first channel
  input  logic [31:0]         oscale_i,      // FP32: factors of the job
  input  logic [31:0]         bias_i,
  // one cycle later
  input  logic [128*Cols-1:0] ofm_data_i,
  input  logic [127:0]        par_oscale_i,  // requant: factors of four channels
  input  logic [127:0]        par_bias_i,
  // results
  output logic                busy_o,        // words in stages 0 to 4
  output logic                valid_o,
  output logic [128*Cols-1:0] data_o
);

  localparam int unsigned Lanes = 4 * Cols;
  localparam int unsigned Stages = 5;       // ofm_buf read to the activation

  logic [Stages-1:0] v_q;       // words in the arithmetic
  logic              wide;      // the words in flight use all lanes

  logic              i16;
  assign i16 = EnInt16 != 0 && task_i.wide;
  assign wide = task_i.requant;
  assign busy_o = v_q != '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) v_q <= '0;
    else v_q <= {v_q[Stages-2:0], issue_i};
  end

  // stage 0: the buffer reads; 1: integer sum; 2: to FP32; 3: scale; 4: bias; then the activation. FP32 uses the first
  // four lanes.
  logic [127:0] psum_q, raw2_q, raw3_q, raw4_q;
  logic [32*Lanes-1:0] sum_q, flt, mul, mul_b, add, act_x, mul_in_q, add_in_q;
  logic [32*Cols-1:0] os0, bi0, ib0, os1_q, os2_q, bi1_q, bi2_q, bi3_q;
  logic [31:0] osf_q, bif_q;
  logic [1:0] pcol_q;  // first channel of the pass within the factors' word
  logic [1:0] ocol_q;  // column of the wide read that lanes 0..3 take

  always_comb begin
    os0 = '0;
    bi0 = '0;
    if (wide) begin
      for (int unsigned j = 0; j < Cols; j++) begin
        os0[32*j+:32] = par_oscale_i[32*((32'(pcol_q) + j)%4)+:32];
        bi0[32*j+:32] = par_bias_i[32*((32'(pcol_q) + j)%4)+:32];
      end
    end else begin
      os0[31:0] = osf_q;
      bi0[31:0] = bif_q;
    end
    ib0 = task_i.ibias ? bi0 : '0;
  end

  always_ff @(posedge clk_i) begin
    if (issue_i) begin
      psum_q <= use_psum_i ? psum_i : '0;
      pcol_q <= 2'(ch_i);
      ocol_q <= walk_i && task_i.psum_add ? 2'(32'(ch_i) % Cols) : 2'd0;
      osf_q <= oscale_i;
      bif_q <= bias_i;
    end
    if (v_q[0]) begin
      for (int unsigned l = 0; l < 4; l++)
        sum_q[32*l+:32] <= ofm_data_i[128*32'(ocol_q)+32*l+:32] + psum_q[32*l+:32] + ib0[31:0];
      if (wide) for (int unsigned l = 4; l < Lanes; l++) sum_q[32*l+:32] <= ofm_data_i[32*l+:32] + ib0[32*(l/4)+:32];
      if (i16) begin
        for (int unsigned l = 0; l < 2; l++)
          sum_q[64*l+:64] <= ofm_data_i[128*32'(ocol_q)+64*l+:64] + psum_q[64*l+:64];
        if (wide) for (int unsigned l = 2; l < 2 * Cols; l++) sum_q[64*l+:64] <= ofm_data_i[64*l+:64];
      end
      os1_q <= os0;
      bi1_q <= bi0;
    end
    if (v_q[1]) begin
      raw2_q <= sum_q[127:0];
      os2_q <= os1_q;
      bi2_q <= bi1_q;
    end
    if (v_q[2]) begin
      raw3_q <= raw2_q;
      mul_in_q[127:0] <= flt[127:0];
      if (wide) mul_in_q <= flt;
      bi3_q <= bi2_q;
    end
    if (v_q[3]) begin
      raw4_q <= raw3_q;
      add_in_q[127:0] <= mul_b[127:0];
      if (wide) add_in_q <= mul_b;
    end
  end

  assign mul_b = task_i.oscale_en ? mul : mul_in_q;
  always_comb begin
    act_x = task_i.bias_en && !task_i.ibias ? add : add_in_q;
    if (task_i.raw_out) act_x[127:0] = raw4_q;
  end

  for (genvar l = 0; l < Lanes; l++) begin : g_lane
    logic [2:0] en;
    assign en = l < 4 || wide ? v_q[3:1] : 3'b000;
    logic [31:0] flt32;
    fp_i32_to_f32 u_flt (
      .clk_i,
      .en_i(en[0]),
      .a_i(sum_q[32*l+:32]),
      .y_o(flt32)
    );
    if (EnInt16 != 0 && l % 4 < 2) begin : g_int16
      logic [31:0] flt64;
      fp_i64_to_f32 u_flt (
        .clk_i,
        .en_i(en[0] && i16),
        .a_i(sum_q[128*(l/4)+64*(l%4)+:64]),
        .y_o(flt64)
      );
      assign flt[32*l+:32] = i16 ? flt64 : flt32;
    end else begin : g_int8
      assign flt[32*l+:32] = flt32;
    end
    fp_mul u_mul (
      .clk_i,
      .en_i(en[1]),
      .a_i(flt[32*l+:32]),
      .b_i(os2_q[32*(l/4)+:32]),
      .y_o(mul[32*l+:32])
    );
    fp_add u_add (
      .clk_i,
      .en_i(en[2]),
      .a_i(mul_b[32*l+:32]),
      .b_i(bi3_q[32*(l/4)+:32]),
      .y_o(add[32*l+:32])
    );
  end

  act #(
    .Lanes(4)
  ) u_act (
    .clk_i,
    .rst_ni,
    .valid_i(v_q[4]),
    .act_i(task_i.act),
    .p0_i(task_i.act_p0),
    .p1_i(task_i.act_p1),
    .p2_i(task_i.act_p2),
    .p3_i(task_i.act_p3),
    .x_i(act_x[127:0]),
    .valid_o,
    .y_o(data_o[127:0])
  );
  if (Lanes > 4) begin : g_act_wide
    logic unused_valid;
    act #(
      .Lanes(Lanes - 4)
    ) u_act (
      .clk_i,
      .rst_ni,
      .valid_i(v_q[4] && wide),
      .act_i(task_i.act),
      .p0_i(task_i.act_p0),
      .p1_i(task_i.act_p1),
      .p2_i(task_i.act_p2),
      .p3_i(task_i.act_p3),
      .x_i(act_x[32*Lanes-1:128]),
      .valid_o(unused_valid),
      .y_o(data_o[32*Lanes-1:128])
    );
  end

endmodule
