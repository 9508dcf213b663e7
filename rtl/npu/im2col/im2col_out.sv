// Output side of im2col: what the mesh gets, one cycle after the reads of the buffers.
//
// Weights      A word of wgt_buf as it is. Depthwise: word r of a block has its weight in byte r only, the diagonal of
//              the block; convert: ones on the diagonal. INT16: two words
//              a row, its high bytes and then its low ones.
// Activations  A word of ifm_buf, or the input's zero-point in every byte where in0_i, in1_i were 0.
// wgt_wide_o, act_wide_o: the block of this word, of this vector is INT16.
// mesh_en_o    Up from the first cycle of a task on until the last sum has left acc.
// Throughput   One weight word and two vectors a cycle.
// Document     docs/npu/npu.md section 4.2.

module im2col_out #(
  parameter int unsigned N = 8,
  parameter int unsigned EnInt16 = 0
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  npu_pkg::gemm_task_t  task_i,
  input  logic [$clog2(N):0]   step_i,
  // the stages, in the cycle of the reads
  input  logic                 w_valid_i,
  input  logic                 w_par_i,
  input  logic                 a_valid_i,
  input  logic                 a_first_i,
  input  logic                 a_last_i,
  input  logic                 a_par_i,
  input  logic                 in0_i,
  input  logic                 in1_i,
  // what was read
  input  logic [8*N-1:0]       wgt_rdata_i,
  input  logic [8*N-1:0]       ifm_rdata0_i,
  input  logic [8*N-1:0]       ifm_rdata1_i,
  // mesh
  output logic                 mesh_en_o,
  output logic                 wgt_p_o,
  output logic                 wgt_wide_o,
  output logic [8*N-1:0]       wgt_word_o,
  output logic                 sel_o,
  output logic                 act_wide_o,
  output logic [8*N-1:0]       act0_o,
  output logic [8*N-1:0]       act1_o,
  output logic                 act_valid_o,
  output logic                 acc_first_o,
  output logic                 acc_last_o
);

  localparam int unsigned Ln = $clog2(N);
  // enabled cycles after the last vector until acc has output the last sum
  localparam int unsigned DrainCycles = 2 * N + 4;

  logic wide;  // INT16
  logic in0_q, in1_q;
  logic [$clog2(DrainCycles+1)-1:0] drain_q;

  assign wide = EnInt16 != 0 && task_i.wide;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in0_q <= 1'b0;
      in1_q <= 1'b0;
      wgt_p_o <= 1'b0;
      sel_o <= 1'b0;
      act_valid_o <= 1'b0;
      acc_first_o <= 1'b0;
      acc_last_o <= 1'b0;
      drain_q <= '0;
      mesh_en_o <= 1'b0;
      wgt_wide_o <= 1'b0;
      act_wide_o <= 1'b0;
    end else begin
      in0_q <= in0_i;
      in1_q <= in1_i;
      wgt_p_o <= w_par_i;
      sel_o <= a_par_i;
      if (w_valid_i) wgt_wide_o <= wide;
      if (a_valid_i) act_wide_o <= wide;
      act_valid_o <= a_valid_i;
      acc_first_o <= a_valid_i && a_first_i;
      acc_last_o <= a_valid_i && a_last_i;
      if (w_valid_i || a_valid_i) drain_q <= $bits(drain_q)'(DrainCycles);
      else if (drain_q != '0) drain_q <= drain_q - 1'b1;
      mesh_en_o <= w_valid_i || a_valid_i || drain_q != '0;
    end
  end

  logic [Ln-1:0] w_row_q;
  logic [1:0]    w_op_q;
  logic [7:0]    w_one_q;  // convert: what a diagonal word holds
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      w_row_q <= '0;
      w_op_q <= '0;
      w_one_q <= '0;
    end else if (w_valid_i) begin
      w_row_q <= Ln'(N - 1) - (wide ? step_i[Ln:1] : step_i[Ln-1:0]);
      w_one_q <= {7'd0, !wide || step_i[0]};
      w_op_q <= task_i.op;
    end
  end
  always_comb begin
    wgt_word_o = wgt_rdata_i;
    if (w_op_q != npu_pkg::OpConv) begin
      for (int unsigned c = 0; c < N; c++)
        wgt_word_o[8*c+:8] = (w_op_q == npu_pkg::OpConvert ? w_one_q : wgt_rdata_i[8*c+:8]) & {8{w_row_q == Ln'(c)}};
    end
  end

  logic [7:0] z_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) z_q <= '0;
    else if (a_valid_i) z_q <= task_i.zin;
  end
  assign act0_o = in0_q ? ifm_rdata0_i : {N{z_q}};
  assign act1_o = in1_q ? ifm_rdata1_i : {N{z_q}};

endmodule
