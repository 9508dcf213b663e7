// Corners of an ALU channel: operands, room, results.
// hit: tests eltwise, reduce and jobs
module alu_chan_cover #(
    parameter int unsigned Ow = 6,
    parameter int unsigned Pw = 5,
    parameter int unsigned SrcAw = 7
) (
    input logic clk_i,
    input logic rst_ni,
    input logic chunk_valid_i,
    input logic reserved_q,
    input logic room,
    input logic free,
    input logic rd_req_valid_o,
    input logic rd_req_ready_i,
    input logic [2:0] due,
    input logic d_valid,
    input logic rd_valid_i,
    input logic math_ready,
    input logic reduce,
    input logic vec,
    input logic word_end,
    input logic a_take,
    input logic [8:0] d_count,
    input logic d_first,
    input logic d_last,
    input logic f_valid,
    input logic f_two,
    input logic half_q,
    input logic wr_ready_i,
    input logic [Ow-1:0] flight_q,
    input logic [Ow-1:0] ring_count_q,
    input logic j_valid,
    input logic j_job,
    input logic wr_req_valid_o,
    input logic wr_req_ready_i,
    input logic [SrcAw:0] src_used_q,
    input logic word_ok,
    input logic enter,
    input logic leave
);

  // bug: a chunk takes the place of one that is not written yet
  slots_full: cover property (@(posedge clk_i) disable iff (!rst_ni) chunk_valid_i && !free);
  // bug: a chunk is asked for without room for its results
  room_none: cover property (@(posedge clk_i) disable iff (!rst_ni) chunk_valid_i && !reserved_q && free && !room);
  // bug: an operand is asked for twice
  request_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) rd_req_valid_o && !rd_req_ready_i);
  // bug: A comes before B
  operands: cover property (@(posedge clk_i) disable iff (!rst_ni) a_take && vec);
  // bug: Q is taken for P
  plane_both: cover property (@(posedge clk_i) disable iff (!rst_ni) due == 3'b011);
  // bug: the operand of a channel is taken from the vector
  plane_and_vector: cover property (@(posedge clk_i) disable iff (!rst_ni) due[2] && due[1:0] != 2'b00);
  // bug: the operand before is used again
  waits_data: cover property (@(posedge clk_i) disable iff (!rst_ni) d_valid && !rd_valid_i);
  // bug: an operand is lost while results wait
  waits_math: cover property (@(posedge clk_i) disable iff (!rst_ni) rd_valid_i && d_valid && due == 3'd0 && !math_ready);
  // bug: an element is added before the sum before it is there
  sum_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) reduce && d_valid && rd_valid_i && !word_ok);
  // bug: elements behind the end of a row take part
  partial: cover property (@(posedge clk_i) disable iff (!rst_ni) a_take && word_end && d_count[1:0] != 2'd0);
  // bug: a chunk of one word is first and last, and only one of them counts
  one_word: cover property (@(posedge clk_i) disable iff (!rst_ni) a_take && word_end && d_first && d_last && d_count <= 9'd4);
  // bug: operand B overwrites what A still waits for
  vector_full: cover property (@(posedge clk_i) disable iff (!rst_ni) src_used_q[SrcAw]);
  // bug: a result is lost on its way
  results_full: cover property (@(posedge clk_i) disable iff (!rst_ni) flight_q == Ow'(32));
  // bug: a result that enters while one leaves counts twice
  results_both: cover property (@(posedge clk_i) disable iff (!rst_ni) enter && leave);
  // bug: a result is overwritten while it waits
  result_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) f_valid && !wr_ready_i);
  // bug: the second of two equal words is left out
  pair_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) f_valid && f_two && half_q && !wr_ready_i);
  // bug: a chunk of a sum that has no result makes a write
  no_job: cover property (@(posedge clk_i) disable iff (!rst_ni) j_valid && !j_job);
  // bug: a write is asked for before its words are there
  job_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) j_valid && j_job && !wr_req_valid_o);
  // bug: a write is asked for twice
  job_refused: cover property (@(posedge clk_i) disable iff (!rst_ni) wr_req_valid_o && !wr_req_ready_i);
  // bug: the last result is given out twice
  ring_one: cover property (@(posedge clk_i) disable iff (!rst_ni) ring_count_q == Ow'(1) && leave && !enter);

endmodule

bind alu_chan alu_chan_cover #(.Ow(Ow), .Pw(Pw), .SrcAw(SrcAw)) u_alu_chan_cover (.*);
