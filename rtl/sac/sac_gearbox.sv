// Beats of 128 bits to filter words of Bytes bytes, low part first; neither divides the other.
//
// A word leaves in each cycle with out_ready_i in which Bytes bytes are held; a beat is accepted when there is space
// after that. The limiting side has a handshake in every cycle. clr_i drops what is held: a batch begins on a beat.
// Document: docs/sac/sac.md section 3.
module sac_gearbox #(
  parameter int unsigned Bytes = 3
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               clr_i,
  input  logic               in_valid_i,
  output logic               in_ready_o,
  input  logic [      127:0] in_data_i,
  output logic               out_valid_o,
  input  logic               out_ready_i,
  output logic [8*Bytes-1:0] out_data_o
);

  localparam int unsigned Room = Bytes + 31;
  localparam int unsigned Lw = $clog2(Room + 1);

  logic [8*Room-1:0] held_q;
  logic [Lw-1:0] level_q;
  logic pop;
  logic push;
  logic [Lw-1:0] left;
  logic [8*Room-1:0] rest;
  assign out_valid_o = level_q >= Lw'(Bytes);
  assign out_data_o = held_q[8*Bytes-1:0];
  assign pop = out_valid_o && out_ready_i;
  assign left = pop ? level_q - Lw'(Bytes) : level_q;
  assign rest = pop ? held_q >> (8 * Bytes) : held_q;
  assign in_ready_o = left <= Lw'(Room - 16);
  assign push = in_valid_i && in_ready_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      held_q <= '0;
      level_q <= '0;
    end else if (clr_i) begin
      held_q <= '0;
      level_q <= '0;
    end else begin
      level_q <= push ? left + Lw'(16) : left;
      if (push) held_q <= rest | ({{8 * Room - 128{1'b0}}, in_data_i} << {left, 3'd0});
      else if (pop) held_q <= rest;
    end
  end

endmodule
