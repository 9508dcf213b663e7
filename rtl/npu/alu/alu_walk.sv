// Walk of one channel of the ALU through the rows of a task.
//
// Function     Cuts rows into chunks of up to 4 * npu_pkg::AluChunk elements, planes outermost (docs/npu/npu.md section
//              3.3), and outputs those of its channel: every second chunk; in a reduction all chunks of every second
//              row. Each channel has its own walk, so that a long row of a reduction on one does not stall the
//              other.
// Throughput   A chunk, or a chunk (reductions: a row) of the other channel, a cycle.
// start_i      Takes task_i; done_o is up from the step over the last row on until the next start. last_mine_o: that
//              row, or its last chunk, was one of this channel.
// Latency      The first chunk is offered two cycles after start_i.
`include "assert.svh"

module alu_walk #(
  parameter bit Chan = 1'b0
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               start_i,
  input  npu_pkg::alu_task_t task_i,         // constant from the cycle after start_i on, until done
  output logic               done_o,
  output logic               last_mine_o,
  output logic               chunk_valid_o,
  input  logic               chunk_ready_i,
  output logic [31:0]        chunk_a_o,      // byte addresses
  output logic [31:0]        chunk_b_o,
  output logic [31:0]        chunk_o_o,
  output logic [31:0]        chunk_p_o,
  output logic [31:0]        chunk_q_o,
  output logic [8:0]         chunk_count_o,  // elements
  output logic               chunk_plane_o,  // the first one of the plane
  output logic               chunk_first_o,  // first, last one of the row
  output logic               chunk_last_o
);

  localparam int unsigned ChunkElems = 4 * npu_pkg::AluChunk;

  logic        load_q;        // the first row of a task is still to be loaded
  logic        busy_q;
  logic        reduce;
  logic [31:0] a_plane_q;     // addresses of the plane and of the row
  logic [31:0] b_plane_q;
  logic [31:0] o_plane_q;
  logic [31:0] a_row_q;
  logic [31:0] b_row_q;
  logic [31:0] o_row_q;
  logic [31:0] plane_off_q;   // of P and Q
  logic [25:0] off_q;         // bytes from the beginning of the row
  logic [23:0] left_q;        // elements of the row, this chunk included
  logic [15:0] rows_q;
  logic [15:0] planes_q;
  logic        seen_q;        // this channel has had a chunk of the plane
  logic        mine_q;
  logic        last;
  logic        row_end;
  logic        step;
  logic [31:0] o_off;

  assign reduce = npu_pkg::alu_reduces_f(task_i.op);
  assign last = left_q <= 24'(ChunkElems);
  assign row_end = last || (reduce && !mine_q);
  assign step = busy_q && (!mine_q || chunk_ready_i);
  assign o_off = reduce ? 32'd0 : task_i.dup ? {5'd0, off_q, 1'b0} : {6'd0, off_q};

  assign done_o = !load_q && !busy_q;
  assign chunk_valid_o = busy_q && mine_q;
  assign chunk_a_o = a_row_q + {6'd0, off_q};
  assign chunk_b_o = b_row_q + {6'd0, off_q};
  assign chunk_o_o = o_row_q + o_off;
  assign chunk_p_o = task_i.p_addr + plane_off_q;
  assign chunk_q_o = task_i.q_addr + plane_off_q;
  assign chunk_count_o = last ? left_q[8:0] : 9'(ChunkElems);
  assign chunk_plane_o = !seen_q;
  assign chunk_first_o = off_q == 26'd0;
  assign chunk_last_o = last;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      load_q <= 1'b0;
      busy_q <= 1'b0;
      a_plane_q <= '0;
      b_plane_q <= '0;
      o_plane_q <= '0;
      a_row_q <= '0;
      b_row_q <= '0;
      o_row_q <= '0;
      plane_off_q <= '0;
      off_q <= '0;
      left_q <= '0;
      rows_q <= '0;
      planes_q <= '0;
      seen_q <= 1'b0;
      mine_q <= 1'b0;
      last_mine_o <= 1'b0;
    end else if (start_i) begin
      load_q <= 1'b1;
    end else if (load_q) begin
      load_q <= 1'b0;
      busy_q <= 1'b1;
      a_plane_q <= task_i.a_addr;
      b_plane_q <= task_i.b_addr;
      o_plane_q <= task_i.o_addr;
      a_row_q <= task_i.a_addr;
      b_row_q <= task_i.b_addr;
      o_row_q <= task_i.o_addr;
      plane_off_q <= '0;
      off_q <= '0;
      left_q <= task_i.count;
      rows_q <= task_i.rows;
      planes_q <= task_i.planes;
      seen_q <= 1'b0;
      mine_q <= !Chan;
    end else if (step) begin
      last_mine_o <= mine_q;
      if (row_end || !reduce) mine_q <= !mine_q;
      seen_q <= seen_q || mine_q;
      off_q <= off_q + 26'(4 * ChunkElems);
      left_q <= left_q - 24'(ChunkElems);
      if (row_end) begin
        off_q <= '0;
        left_q <= task_i.count;
        if (rows_q != 16'd1) begin
          rows_q <= rows_q - 16'd1;
          a_row_q <= a_row_q + task_i.a_rstep;
          b_row_q <= b_row_q + task_i.b_rstep;
          o_row_q <= o_row_q + task_i.o_rstep;
        end else begin
          busy_q <= planes_q != 16'd1;
          rows_q <= task_i.rows;
          planes_q <= planes_q - 16'd1;
          seen_q <= 1'b0;
          plane_off_q <= plane_off_q + 32'd4;
          a_plane_q <= a_plane_q + task_i.a_pstep;
          b_plane_q <= b_plane_q + task_i.b_pstep;
          o_plane_q <= o_plane_q + task_i.o_pstep;
          a_row_q <= a_plane_q + task_i.a_pstep;
          b_row_q <= b_plane_q + task_i.b_pstep;
          o_row_q <= o_plane_q + task_i.o_pstep;
        end
      end
    end
  end

  `ASSERT(AluWalkSizes, !busy_q || (left_q != 24'd0 && rows_q != 16'd0 && planes_q != 16'd0))
  `ASSERT(AluWalkStart, !start_i || done_o)

endmodule
