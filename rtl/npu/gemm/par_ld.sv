// Parameter loader: brings the output scales (read channel 0) and biases (read channel 1) of a task into par_buf.
//
// A task with neither takes no space. Words are allocated in task order in a ring of 256 (1024 channels); post, which
// computes the same bases, frees them when a task is complete (free_*). task_pop_o pulses when both arrays have
// arrived: post waits for that before it starts the task. busy_o: an array of the task is being read. active_o: the
// next clock edge may change a register that matters; while it is 0 the clock may stand still.
// Throughput: four factors a cycle on each channel. Document: docs/npu/npu.md section 4.
`include "assert.svh"

module par_ld (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      task_valid_i,
  input  npu_pkg::gemm_task_t       task_i,
  output logic                      task_pop_o,
  output logic                      busy_o,
  output logic                      active_o,
  input  logic                      free_i,
  input  logic [npu_pkg::ParAw:0]   free_words_i,
  output logic [1:0]                req_valid_o,
  input  logic [1:0]                req_ready_i,
  output logic [31:0]               req_addr0_o,
  output logic [31:0]               req_addr1_o,
  output logic [23:0]               req_bytes_o,
  input  logic [1:0]                dat_valid_i,
  output logic [1:0]                dat_ready_o,
  output logic [1:0]                we_o,
  output logic [npu_pkg::ParAw-1:0] waddr0_o,
  output logic [npu_pkg::ParAw-1:0] waddr1_o
);

  localparam int unsigned Aw = npu_pkg::ParAw;

  typedef enum logic [1:0] {Idle, Space, Load} state_e;
  state_e state_q;

  logic [Aw:0]   words;
  logic [Aw:0]   used_q;
  logic [Aw-1:0] base_q;
  logic [1:0]    req_q;
  logic [Aw:0]   left0_q, left1_q;
  logic [Aw-1:0] waddr0_q, waddr1_q;
  logic          any;
  logic          fits;

  assign any = task_i.oscale_en || task_i.bias_en;
  assign words = any ? (Aw + 1)'((task_i.oc + 16'd3) >> 2) : '0;
  assign fits = {1'b0, used_q} + {1'b0, words} <= (Aw + 2)'(npu_pkg::ParDepth);
  assign req_valid_o = req_q;
  assign req_addr0_o = task_i.oscale_addr;
  assign req_addr1_o = task_i.bias_addr;
  assign req_bytes_o = {11'd0, words, 4'd0};
  assign dat_ready_o = 2'b11;  // the space has been allocated
  assign we_o = dat_valid_i;
  assign waddr0_o = waddr0_q;
  assign waddr1_o = waddr1_q;
  assign busy_o = req_q != 2'b00 || left0_q != '0 || left1_q != '0;
  assign task_pop_o = state_q == Load && !busy_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      base_q <= '0;
      req_q <= 2'b00;
      left0_q <= '0;
      left1_q <= '0;
      waddr0_q <= '0;
      waddr1_q <= '0;
    end else begin
      unique case (state_q)
        Idle: if (task_valid_i) state_q <= Space;
        Space: begin
          waddr0_q <= base_q;
          waddr1_q <= base_q;
          left0_q <= task_i.oscale_en ? words : '0;
          left1_q <= task_i.bias_en ? words : '0;
          if (fits) begin
            req_q <= {task_i.bias_en, task_i.oscale_en};
            state_q <= Load;
          end
        end
        default: begin
          req_q <= req_q & ~req_ready_i;
          if (dat_valid_i[0]) begin
            left0_q <= left0_q - 1'b1;
            waddr0_q <= waddr0_q + 1'b1;
          end
          if (dat_valid_i[1]) begin
            left1_q <= left1_q - 1'b1;
            waddr1_q <= waddr1_q + 1'b1;
          end
          if (task_pop_o) begin
            base_q <= base_q + words[Aw-1:0];
            state_q <= Idle;
          end
        end
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) used_q <= '0;
    else used_q <= used_q + (state_q == Space && fits ? words : '0) - (free_i ? free_words_i : '0);
  end

  assign active_o = (state_q == Idle ? task_valid_i : state_q == Load || fits) || free_i;

  `ASSERT(ParLdRingOverflow, used_q <= (Aw + 1)'(npu_pkg::ParDepth))
  `ASSERT(ParLdRingUnderflow, !free_i || free_words_i <= used_q)
  `ASSERT(ParLdNoStrayData, (dat_valid_i == 2'b00) || state_q == Load)

endmodule
