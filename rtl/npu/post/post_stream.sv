// FP32 stream of post: jobs wait here, and their words are read from ofm_buf, one a cycle.
//
// Job          A channel of a group: words_i words from base_i of column col_i on, and its factors (docs/npu/npu.md
//              section 2). They are processed in order, one directly after the other.
// INT16        A word has two sums. pair_i: two words become one of send_buf; a job of an odd number of words is
//              followed by a read whose results do not matter, and which has no partial sums (exists_o is 0).
// Flow         A word is read when send_buf has space for it besides those in flight (left_i: one of these has got
//              there), and with psum_add when its partial sums are there.
// Throughput   A word, four results, a cycle.

module post_stream #(
  parameter int unsigned N = 8
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    psum_add_i,
  input  logic                    pair_i,
  // jobs
  input  logic                    push_i,
  output logic                    ready_o,
  input  logic [31:0]             oscale_i,
  input  logic [31:0]             bias_i,
  input  logic [$clog2(N)-2:0]    col_i,
  input  logic [npu_pkg::OfmAw:0] base_i,
  input  logic [14:0]             words_i,
  output logic                    valid_o,     // there is a job
  output logic                    waits_room_o,
  output logic                    waits_psum_o,
  // reads
  input  logic                    psum_valid_i,
  input  logic [15:0]             wr_level_i,  // words in send_buf
  input  logic                    left_i,
  output logic                    flight_o,    // words are in flight
  output logic                    issue_o,
  output logic                    exists_o,
  output logic [$clog2(N)-1:0]    col_o,
  output logic [npu_pkg::OfmAw:0] addr_o,
  output logic [31:0]             oscale_o,
  output logic [31:0]             bias_o
);

  localparam int unsigned Ln = $clog2(N);
  localparam int unsigned Ow = npu_pkg::OfmAw + 1;

  logic          job_valid, job_pop;
  logic [Ln-2:0] s_col;
  logic [Ow-1:0] s_base;
  logic [14:0]   s_words;
  logic [14:0]   word_q;
  logic          f_issue, f_room;
  logic          last_word;
  logic [5:0]    in_flight_q;   // words between the read and send_buf

  logic [2:0] unused_job_count;
  fifo #(
    .Width(64 + (Ln - 1) + Ow + 15),
    .Depth(4)
  ) u_jobs (
    .clk_i,
    .rst_ni,
    .clr_i(1'b0),
    .wvalid_i(push_i),
    .wready_o(ready_o),
    .wdata_i({oscale_i, bias_i, col_i, base_i, words_i}),
    .rvalid_o(job_valid),
    .rready_i(job_pop),
    .rdata_o({oscale_o, bias_o, s_col, s_base, s_words}),
    .count_o(unused_job_count)
  );

  assign last_word = word_q + 15'd1 == s_words + 15'(pair_i && s_words[0]);
  assign exists_o = word_q != s_words;
  assign f_room = 32'(wr_level_i) + 32'(in_flight_q) < npu_pkg::SendGemm - 4;
  assign f_issue = job_valid && (!psum_add_i || psum_valid_i || !exists_o) && f_room;
  assign job_pop = f_issue && last_word;
  assign valid_o = job_valid;
  assign waits_room_o = job_valid && !f_room;
  assign waits_psum_o = job_valid && psum_add_i && !psum_valid_i && exists_o;
  assign flight_o = in_flight_q != '0;
  assign issue_o = f_issue;
  assign col_o = {1'b0, s_col};
  assign addr_o = s_base + Ow'(word_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      word_q <= '0;
      in_flight_q <= '0;
    end else begin
      in_flight_q <= in_flight_q + 6'(f_issue) - 6'(left_i);
      if (f_issue) word_q <= last_word ? '0 : word_q + 15'd1;
    end
  end

endmodule
