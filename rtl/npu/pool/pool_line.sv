// Input side of a POOL channel: writes the data of its read jobs to the line memory and the table memory.
//
// Line memory  8 lanes of 1024 words of 32 bit, all lanes read at one address: rdata_o one cycle after re_i, else 0.
//              Four banks (address mod 4) of 256 words of 256 bit, written in units of 32 bit. pool_ld and pool_seq use
//              it as a ring of rows.
// Table memory 256 factors: tab_o one cycle after tab_re_i.
// Jobs         job_* describes each job of the read channel in the order of the requests (pool_ld pushes it with the
//              request's handshake): place of its first word, number of words, shape of the stream (pool_pkg), whether
//              it completes a row of the ring; or a part of the table (tab). Space has been reserved, so data are
//              accepted in every cycle.
// row_done_o   with the write of the last word of a row: a read in the next cycle sees it. tab_done_o likewise.
// Throughput   One beat and one read a cycle. The memories are written in place in loops (simulation speed); each bank
//              has one write address.
// Document     docs/npu/npu.md section 4.3.
`include "assert.svh"

module pool_line (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         job_valid_i,
  output logic         job_ready_o,
  input  logic         job_tab_i,
  input  logic         job_one_i,
  input  logic         job_last_i,    // completes a row
  input  logic [9:0]   job_addr_i,
  input  logic [2:0]   job_lane_i,
  input  logic [3:0]   job_lanes_i,
  input  logic [12:0]  job_words_i,
  input  logic         dat_valid_i,
  input  logic [127:0] dat_i,
  output logic         row_done_o,
  output logic         tab_done_o,
  input  logic         re_i,
  input  logic [9:0]   raddr_i,
  output logic [255:0] rdata_o,
  input  logic         tab_re_i,
  input  logic [7:0]   tab_addr_i,
  output logic [31:0]  tab_o
);

  localparam int unsigned JobW = 3 + 10 + 3 + 4 + 13;
  localparam int unsigned Rows = pool_pkg::LineWords / 4;

  // ------------------------------------------------------------------------------------------ the job at the head
  logic            head_valid;
  logic            head_pop;
  logic [JobW-1:0] head;
  logic [$clog2(pool_pkg::JobDepth+1)-1:0] jobs;
  logic        tab;
  logic        one;
  logic        last;
  logic [9:0]  head_addr;
  logic [2:0]  head_lane;
  logic [3:0]  lanes;
  logic [12:0] head_words;

  fifo #(
    .Width(JobW),
    .Depth(pool_pkg::JobDepth)
  ) u_jobs (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(job_valid_i),
    .wready_o(job_ready_o),
    .wdata_i({job_tab_i, job_one_i, job_last_i, job_addr_i, job_lane_i, job_lanes_i, job_words_i}),
    .rvalid_o(head_valid),
    .rready_i(head_pop),
    .rdata_o(head),
    .count_o(jobs)
  );
  assign {tab, one, last, head_addr, head_lane, lanes, head_words} = head;

  logic        more_q;  // not the first beat of the job
  logic [9:0]  addr_q;
  logic [2:0]  lane_q;
  logic [12:0] words_q;
  logic [9:0]  addr;
  logic [2:0]  lane;
  logic [12:0] words;
  logic        end_of_job;
  assign addr = more_q ? addr_q : head_addr;
  assign lane = more_q ? lane_q : head_lane;
  assign words = more_q ? words_q : head_words;
  assign end_of_job = words <= 13'd4;
  assign head_pop = dat_valid_i && end_of_job;
  assign row_done_o = head_pop && last;
  assign tab_done_o = head_pop && tab;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      more_q <= 1'b0;
      addr_q <= '0;
      lane_q <= '0;
      words_q <= '0;
    end else if (dat_valid_i) begin
      more_q <= !end_of_job;
      words_q <= words - 13'd4;
      {addr_q, lane_q} <= pool_pkg::pool_step_f(one, lanes, lane, addr);
    end
  end

  // ------------------------------------------------------------------------------------------------ line memory
  logic [1023:0] rd;
  logic [1:0]    bank_q;
  logic          read_q;

  for (genvar b = 0; b < 4; b++) begin : g_bank
    logic [255:0] mem[Rows];
    logic [255:0] rd_q;
    // near: this bank's address, one of the four from `addr` on, in [9:2]; its distance, inverted, in [1:0]
    logic [9:0]   near;
    logic [2:0]   word;

    assign near = addr + 10'(3 - b);

    always_ff @(posedge clk_i) begin
      if (re_i && raddr_i[1:0] == 2'(b)) rd_q <= mem[raddr_i[9:2]];
      if (dat_valid_i && !tab) begin
        for (int unsigned l = 0; l < pool_pkg::Lanes; l++) begin
          word = pool_pkg::pool_word_f(one, lanes, lane, ~near[1:0], l[2:0]);
          if (word[2] && {11'd0, word[1:0]} < words) mem[near[9:2]][32*l+:32] = dat_i[32*word[1:0]+:32];
        end
      end
    end
    assign rd[256*b+:256] = rd_q;
  end

  always_ff @(posedge clk_i) begin
    if (re_i) bank_q <= raddr_i[1:0];
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) read_q <= 1'b0;
    else read_q <= re_i;
  end
  always_comb begin
    rdata_o = '0;
    if (read_q) rdata_o = rd[256*bank_q+:256];
  end

  // ------------------------------------------------------------------------------------------------ table memory
  logic [127:0] tab_mem[64];
  logic [127:0] tab_q;
  logic [1:0]   tab_word_q;

  always_ff @(posedge clk_i) begin
    if (dat_valid_i && tab) tab_mem[addr[7:2]] <= dat_i;
    if (tab_re_i) begin
      tab_q <= tab_mem[tab_addr_i[7:2]];
      tab_word_q <= tab_addr_i[1:0];
    end
  end
  assign tab_o = tab_q[32*tab_word_q+:32];

  logic unused;
  assign unused = ^jobs;

  `ASSERT(PoolLineDataOfJob, !dat_valid_i || head_valid)
  `ASSERT(PoolLinePush, !job_valid_i || job_ready_o)
  `ASSERT(PoolLineWords, !head_valid || words != '0)

endmodule
