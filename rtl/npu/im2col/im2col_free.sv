// Rows of input that im2col gives back to ifm_ld.
//
// Function     With wgt_res row by row, one a cycle, when neither a block in the stages nor a later tile reads it and
//              it has arrived; the rest, or all, when the task is over (pop_i).
// Stages       a_valid_i, w_valid_i: a block is in the activation, in the weight stage. c_top_i and head_top_i are
//              those of im2col_tiles.
// Throughput   A row a cycle.
// Document     docs/npu/npu.md section 4.2.
`include "assert.svh"

module im2col_free (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  npu_pkg::gemm_task_t     task_i,
  input  npu_pkg::im2col_consts_t consts_i,
  input  logic                    first_i,   // a task begins
  input  logic                    run_i,     // blocks are still to start or in the weight stage
  input  logic                    finish_i,  // afterwards
  input  logic                    pop_i,
  input  logic                    boundary_i,
  input  logic                    w_valid_i,
  input  logic                    a_valid_i,
  input  logic [15:0]             c_top_i,
  input  logic [15:0]             head_top_i,
  input  logic                    ifm_all_i,
  input  logic [16:0]             pix_ready_i,
  output logic                    free_o,
  output logic [npu_pkg::IfmAw:0] free_words_o
);

  localparam int unsigned Aw = npu_pkg::IfmAw;

  logic [15:0]          a_top_q;       // c_top_i of the block in the activation stage
  logic [15:0]          top;           // rows below it are not needed any more
  logic [15:0]          freed_rows_q;
  logic [16:0]          freed_pix_q, freed_pix_next;
  logic [Aw:0]          freed_words_q;
  logic                 free_row;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) a_top_q <= '0;
    else if (boundary_i) a_top_q <= c_top_i;
  end

  assign top = a_valid_i ? a_top_q : w_valid_i ? c_top_i : finish_i ? task_i.ih : head_top_i;
  assign freed_pix_next = freed_pix_q + {1'b0, task_i.iw};
  assign free_row = task_i.wgt_res && (run_i || finish_i) && !pop_i && freed_rows_q < top &&
                    (ifm_all_i || freed_pix_next <= pix_ready_i);
  assign free_o = pop_i || free_row;
  assign free_words_o = pop_i ? consts_i.words - freed_words_q : consts_i.row_words;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      freed_rows_q <= '0;
      freed_pix_q <= '0;
      freed_words_q <= '0;
    end else if (first_i) begin
      freed_rows_q <= '0;
      freed_pix_q <= '0;
      freed_words_q <= '0;
    end else if (free_row) begin
      freed_rows_q <= freed_rows_q + 16'd1;
      freed_pix_q <= freed_pix_next;
      freed_words_q <= freed_words_q + consts_i.row_words;
    end
  end

  `ASSERT(Im2colFreedRange, freed_rows_q <= task_i.ih || !(run_i || finish_i))

endmodule
