// Corners of the quantiser of results: rounding and limits of lane 0, rows, runs of pixels.
// hit: test conv with out_layout=int8
module requant_cover #(
    parameter int unsigned N = 8,
    parameter int unsigned Lanes = 8,
    parameter int unsigned Sw = 4
) (
    input logic clk_i,
    input logic rst_ni,
    input logic [1:0] v_q,
    input logic [32*Lanes-1:0] product,
    input logic [8*Lanes-1:0] bytes,
    input logic blk_valid_i,
    input logic blk_ready_o,
    input logic px_valid,
    input logic keep,
    input logic d_valid,
    input logic is_packed,
    input logic job_go,
    input logic [2:0] run_n,
    input logic single_i,
    input logic row_take,
    input logic wr_req_valid_o,
    input logic wr_req_ready_i
);

  // bug: a result above 127 wraps
  clip_high: cover property (@(posedge clk_i) disable iff (!rst_ni) v_q[0] && !product[31] && product[30:0] > 31'h42fe0000 && product[30:0] <= 31'h7f800000);
  // bug: a result below -127 becomes -128, or wraps
  clip_low: cover property (@(posedge clk_i) disable iff (!rst_ni) v_q[0] && product[31] && product[30:0] > 31'h42fe0000 && product[30:0] <= 31'h7f800000);
  // hit: conv:out_layout=int8 wdata=ones in_scale=pow2 out_scale=pow2 and sums times scale of 0.5 or 2.5
  // bug: a half is rounded to even, or towards zero
  half: cover property (@(posedge clk_i) disable iff (!rst_ni) v_q[0] && (product[30:0] == 31'h3f000000 || product[30:0] == 31'h40200000));
  // hit: conv:out_layout=int8 wdata=ones in_scale=pow2 out_scale=pow2 and sums times scale of -0.5 or -2.5
  // bug: a negative half is rounded up
  half_negative: cover property (@(posedge clk_i) disable iff (!rst_ni) v_q[0] && (product[31:0] == 32'hbf000000 || product[31:0] == 32'hc0200000));
  // bug: NaN becomes a number
  nan: cover property (@(posedge clk_i) disable iff (!rst_ni) v_q[0] && product[30:0] > 31'h7f800000);
  // bug: infinity becomes 0
  infinity: cover property (@(posedge clk_i) disable iff (!rst_ni) v_q[0] && product[30:0] == 31'h7f800000);
  // bug: -0 becomes -1, or 1
  minus_zero: cover property (@(posedge clk_i) disable iff (!rst_ni) v_q[0] && product[31:0] == 32'h80000000);
  // bug: a subnormal becomes 1
  tiny: cover property (@(posedge clk_i) disable iff (!rst_ni) v_q[0] && product[30:23] == 8'd0 && product[22:0] != 23'd0);
  // bug: the largest byte is one too small
  most: cover property (@(posedge clk_i) disable iff (!rst_ni) v_q[1] && bytes[7:0] == 8'h7f);
  // bug: the smallest byte is one too large
  least: cover property (@(posedge clk_i) disable iff (!rst_ni) v_q[1] && bytes[7:0] == 8'h81);
  // bug: a block is given up when its queue is full
  blocks_full: cover property (@(posedge clk_i) disable iff (!rst_ni) blk_valid_i && !blk_ready_o);
  // bug: pixels behind the end of the map are written
  skipped: cover property (@(posedge clk_i) disable iff (!rst_ni) px_valid && d_valid && !keep);
  // bug: the address of a run moves on while its job waits
  waits_job: cover property (@(posedge clk_i) disable iff (!rst_ni) wr_req_valid_o && !wr_req_ready_i);
  // bug: pixels side by side are written as if they were apart
  dense: cover property (@(posedge clk_i) disable iff (!rst_ni) wr_req_valid_o && is_packed);
  // bug: pixels that are apart are written side by side
  apart: cover property (@(posedge clk_i) disable iff (!rst_ni) wr_req_valid_o && !is_packed);
  // bug: a run of less than four pixels is filled up
  short_run: cover property (@(posedge clk_i) disable iff (!rst_ni) job_go && run_n != 3'd0 && run_n != 3'd4);
  // bug: a run without pixels makes a job of no bytes
  no_run: cover property (@(posedge clk_i) disable iff (!rst_ni) job_go && run_n == 3'd0);
  // bug: partial sums come a row at a time: three of four are lost
  single: cover property (@(posedge clk_i) disable iff (!rst_ni) row_take && single_i);

endmodule

bind requant requant_cover #(.N(N), .Lanes(Lanes), .Sw(Sw)) u_requant_cover (.*);
