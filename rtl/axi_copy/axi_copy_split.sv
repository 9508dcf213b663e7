// Cuts a byte range into INCR bursts of whole beats that cross no 4 KB line and have at most MaxBeats beats.
//
// start_i loads a job (bytes_i > 0) while busy_o is 0. Bursts are offered on ax_* one after the other, each as long as
// allow_i is 1; allow_i may depend on ax_beats_o and must not fall during a burst. Only the first burst of a job may
// start unaligned.
// Latency: the first burst is offered in the cycle after start_i. Throughput: one burst a cycle. Document:
// docs/axi_copy/axi_copy.md.
module axi_copy_split #(
  parameter int unsigned DataBytes = 16,
  parameter int unsigned MaxBeats = 16
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,
  input  logic [31:0] addr_i,
  input  logic [23:0] bytes_i,
  output logic        busy_o,
  input  logic        allow_i,
  output logic        ax_valid_o,
  input  logic        ax_ready_i,
  output logic [31:0] ax_addr_o,
  output logic [ 8:0] ax_beats_o
);

  localparam int unsigned Log = $clog2(DataBytes);

  logic [31:0] addr_q;
  logic [24:0] beats_q;  // left
  logic [24:0] span;
  logic [24:0] to_page;  // beats up to the next 4 KB line
  logic [24:0] beats;

  assign span    = {1'b0, bytes_i} + 25'(addr_i[Log-1:0]) + 25'(DataBytes - 1);
  assign to_page = 25'(4096 / DataBytes) - 25'(addr_q[11:Log]);
  always_comb begin
    beats = beats_q;
    if (beats > to_page) beats = to_page;
    if (beats > 25'(MaxBeats)) beats = 25'(MaxBeats);
  end

  assign busy_o     = beats_q != '0;
  assign ax_valid_o = busy_o && allow_i;
  assign ax_addr_o  = addr_q;
  assign ax_beats_o = beats[8:0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      addr_q  <= '0;
      beats_q <= '0;
    end else if (start_i) begin
      addr_q  <= addr_i;
      beats_q <= span >> Log;
    end else if (ax_valid_o && ax_ready_i) begin
      addr_q  <= {addr_q[31:Log] + (32 - Log)'(beats), {Log{1'b0}}};
      beats_q <= beats_q - beats;
    end
  end

endmodule
