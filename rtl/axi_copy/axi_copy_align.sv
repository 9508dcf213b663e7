// Moves the bytes of a stream from the lanes of the source to those of the destination, and marks the bytes of the copy
// with strobes.
//
// start_i loads a job: lane of the first byte in the source and in the destination, number of bytes (> 0). Input: the
// beats of the source that hold its bytes. Output: the beats of the destination; the strobes of the first and the last
// one mask bytes outside the copy. One beat per cycle; outputs do not depend on out_ready_i.
// Latency: none where the source's lane is not above the destination's, else the first beat waits for the second one of
// the source. Document: docs/axi_copy/axi_copy.md.
module axi_copy_align #(
  parameter  int unsigned DataBytes = 16,
  localparam int unsigned Log       = $clog2(DataBytes)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   start_i,
  input  logic [        Log-1:0] src_lane_i,
  input  logic [        Log-1:0] dst_lane_i,
  input  logic [           23:0] bytes_i,
  input  logic                   in_valid_i,
  output logic                   in_ready_o,
  input  logic [8*DataBytes-1:0] in_data_i,
  output logic                   out_valid_o,
  input  logic                   out_ready_i,
  output logic [8*DataBytes-1:0] out_data_o,
  output logic [  DataBytes-1:0] out_strb_o
);

  logic [24:0] in_q;   // input beats left
  logic [24:0] out_q;  // output beats left
  logic prime_q;       // the first output beat needs two input beats
  logic first_q;
  logic [Log-1:0] head_q;  // lane of the first byte
  logic [Log-1:0] tail_q;  // lane of the last byte
  logic [Log-1:0] shift_q;
  logic [8*DataBytes-1:0] prev_q;

  logic in_take;
  logic out_take;
  assign out_valid_o = (out_q != '0) && !prime_q && (in_valid_i || in_q == '0);
  assign in_ready_o  = (in_q != '0) && (prime_q || out_ready_i);
  assign in_take     = in_valid_i && in_ready_o;
  assign out_take    = out_valid_o && out_ready_i;

  // the lanes below `shift` are those of the previous beat
  assign out_data_o = (in_data_i << {shift_q, 3'b000}) | (prev_q >> {(Log + 1)'(DataBytes) - {1'b0, shift_q}, 3'b000});
  always_comb begin
    out_strb_o = '1;
    if (first_q) out_strb_o = out_strb_o & ({DataBytes{1'b1}} << head_q);
    if (out_q == 25'd1) out_strb_o = out_strb_o & ({DataBytes{1'b1}} >> (Log'(DataBytes - 1) - tail_q));
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_q    <= '0;
      out_q   <= '0;
      prime_q <= 1'b0;
      first_q <= 1'b0;
      head_q  <= '0;
      tail_q  <= '0;
      shift_q <= '0;
      prev_q  <= '0;
    end else if (start_i) begin
      in_q    <= ({1'b0, bytes_i} + 25'(src_lane_i) + 25'(DataBytes - 1)) >> Log;
      out_q   <= ({1'b0, bytes_i} + 25'(dst_lane_i) + 25'(DataBytes - 1)) >> Log;
      prime_q <= src_lane_i > dst_lane_i;
      first_q <= 1'b1;
      head_q  <= dst_lane_i;
      tail_q  <= dst_lane_i + bytes_i[Log-1:0] - 1'b1;
      shift_q <= dst_lane_i - src_lane_i;
      prev_q  <= '0;
    end else begin
      if (in_take) begin
        in_q    <= in_q - 1'b1;
        prime_q <= 1'b0;
        prev_q  <= in_data_i;
      end
      if (out_take) begin
        out_q   <= out_q - 1'b1;
        first_q <= 1'b0;
      end
    end
  end

endmodule
