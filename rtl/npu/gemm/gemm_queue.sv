// Task queue of the GEMM path: up to four tasks, each engine with a pointer of its own.
//
// A task enters at the tail when the register file offers it (and, with fence, when no task is left). Every engine
// reads the task at its own pointer until it pops it; the slowest engine (write-back, index Engines-1) frees the entry.
// Latency: 1 cycle. Throughput: a task a cycle. Document: docs/npu/npu.md sections 3.5 and 4.1.
`include "assert.svh"

module gemm_queue #(
  parameter int unsigned Engines = 6
) (
  input  logic                                  clk_i,
  input  logic                                  rst_ni,
  input  logic                                  task_valid_i,
  output logic                                  task_ready_o,
  input  npu_pkg::gemm_task_t                   task_i,
  output logic [Engines-1:0]                    valid_o,
  output logic [npu_pkg::GemmTaskW*Engines-1:0] task_o,
  input  logic [Engines-1:0]                    pop_i,
  output logic [3*Engines-1:0]                  ptr_o,
  output logic                                  busy_o
);

  logic [npu_pkg::GemmTaskW-1:0] mem[4];
  logic [2:0] wptr_q;
  logic       push;
  logic       empty, full;

  assign empty = ptr_o[3*(Engines-1)+:3] == wptr_q;
  assign full = wptr_q - ptr_o[3*(Engines-1)+:3] == 3'd4;
  assign task_ready_o = !full && (empty || !task_i.fence);
  assign push = task_valid_i && task_ready_o;
  assign busy_o = !empty;

  always_ff @(posedge clk_i) begin
    if (push) mem[wptr_q[1:0]] <= task_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) wptr_q <= '0;
    else if (push) wptr_q <= wptr_q + 3'd1;
  end

  for (genvar e = 0; e < Engines; e++) begin : g_engine
    logic [2:0] ptr_q;

    assign ptr_o[3*e+:3] = ptr_q;
    assign valid_o[e] = ptr_q != wptr_q;
    assign task_o[npu_pkg::GemmTaskW*e+:npu_pkg::GemmTaskW] = mem[ptr_q[1:0]];

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) ptr_q <= '0;
      else if (pop_i[e]) ptr_q <= ptr_q + 3'd1;
    end

    `ASSERT(GemmQueuePopValid, !pop_i[e] || valid_o[e])
  end

  `ASSERT(GemmQueueRange, wptr_q - ptr_o[3*(Engines-1)+:3] <= 3'd4)

endmodule
