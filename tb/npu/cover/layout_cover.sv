// Corners of the input quantiser: banks, short jobs, words that wait.
// hit: tests conv and convert, in_layout=int8 and fp32
module layout_cover #(
    parameter int unsigned Banks = 4
) (
    input logic clk_i,
    input logic rst_ni,
    input logic [Banks-1:0] held_q,
    input logic [Banks-1:0] full_q,
    input logic [Banks-1:0] drain_free,
    input logic job_valid_i,
    input logic job_ready_o,
    input logic req_valid_o,
    input logic req_ready_i,
    input logic queue_valid,
    input logic q_nhwc,
    input logic q_dense,
    input logic take,
    input logic last_beat,
    input logic last_ch,
    input logic fill_pop,
    input logic [6:0] q_cnt,
    input logic rd_en,
    input logic drain_last,
    input logic wr_valid_o,
    input logic wr_ready_i,
    input logic row_v_q,
    input logic out_v_q,
    input logic pass_on,
    input logic pass_go,
    input logic pass_last,
    input logic row_last,
    input logic gear_valid,
    input logic rq_row_end,
    input logic dat_valid_i,
    input logic dat_ready_o
);

  // bug: a job overwrites a bank that still drains
  banks_held: cover property (@(posedge clk_i) disable iff (!rst_ni) &held_q);
  // bug: data is taken although its bank is not free
  bank_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) queue_valid && !q_nhwc && dat_valid_i && !dat_ready_o);
  // bug: a bank that fills is drained
  fill_drain: cover property (@(posedge clk_i) disable iff (!rst_ni) take && rd_en);
  // bug: a bank that is given back while another one fills up stays full
  bank_both: cover property (@(posedge clk_i) disable iff (!rst_ni) drain_free != '0 && fill_pop);
  // bug: channels beyond the last pixel are quantised
  partial: cover property (@(posedge clk_i) disable iff (!rst_ni) take && last_beat && q_cnt[1:0] != 2'd0);
  // bug: a job of one pixel does not end
  one_pixel: cover property (@(posedge clk_i) disable iff (!rst_ni) fill_pop && q_cnt == 7'd1);
  // bug: a job of one channel does not end
  one_channel: cover property (@(posedge clk_i) disable iff (!rst_ni) take && last_beat && last_ch);
  // bug: the next bank begins with the last one's address
  drain_follows: cover property (@(posedge clk_i) disable iff (!rst_ni) rd_en && drain_last && (full_q & ~drain_free) != '0);
  // bug: a word is lost while the buffer takes another one
  waits: cover property (@(posedge clk_i) disable iff (!rst_ni) wr_valid_o && !wr_ready_i);
  // bug: a word in the read stage is overwritten
  stages_full: cover property (@(posedge clk_i) disable iff (!rst_ni) row_v_q && out_v_q && !wr_ready_i);
  // bug: the address of a piece moves on while it waits
  request_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) req_valid_o && !req_ready_i);
  // bug: a row of more than a piece is cut wrong
  pieces: cover property (@(posedge clk_i) disable iff (!rst_ni) req_valid_o && !rq_row_end);
  // bug: a job is taken twice
  job_waits: cover property (@(posedge clk_i) disable iff (!rst_ni) job_valid_i && !job_ready_o);
  // bug: a job that follows at once is lost
  job_follows: cover property (@(posedge clk_i) disable iff (!rst_ni) job_valid_i && job_ready_o && req_valid_o);
  // bug: bytes side by side are taken as if they were apart
  bytes_dense: cover property (@(posedge clk_i) disable iff (!rst_ni) pass_go && q_dense && !pass_last);
  // bug: the rest of a beat becomes the next pixel
  bytes_apart: cover property (@(posedge clk_i) disable iff (!rst_ni) pass_go && row_last && !q_dense);
  // bug: bytes overtake a job that is still quantised
  bytes_wait: cover property (@(posedge clk_i) disable iff (!rst_ni) queue_valid && q_nhwc && !pass_on && dat_valid_i);
  // bug: the rest of the last beat becomes the next job
  bytes_end: cover property (@(posedge clk_i) disable iff (!rst_ni) pass_go && pass_last && gear_valid);

endmodule

bind layout layout_cover #(.Banks(Banks)) u_layout_cover (.*);
