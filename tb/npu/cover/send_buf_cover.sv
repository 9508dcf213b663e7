// Corners of the buffer before a write channel: regions, contention for its one port, wrapping.
// hit: test jobs with writes=1
module send_buf_cover #(
    parameter int unsigned Clients = 3,
    parameter int unsigned Lw = 11,
    parameter int unsigned Aw = 10
) (
    input logic clk_i,
    input logic rst_ni,
    input logic [Clients-1:0] wvalid_i,
    input logic [Clients-1:0] wready_o,
    input logic [Clients-1:0] push,
    input logic [Clients-1:0] pop,
    input logic [Clients-1:0] can_fetch,
    input logic [Clients-1:0] fetch,
    input logic [Clients-1:0] rvalid_o,
    input logic [Clients-1:0] rready_i,
    input logic [Lw*Clients-1:0] level_q,
    input logic [Aw*Clients-1:0] wptr_q
);

  // bug: the region of the GEMM overflows into the next one
  gemm_high: cover property (@(posedge clk_i) disable iff (!rst_ni) level_q[0+:Lw] >= Lw'(npu_pkg::SendGemm - 5));
  // hit: jobs:mix=pool writes=1
  // bug: the region of the POOL overflows into the next one
  pool_full: cover property (@(posedge clk_i) disable iff (!rst_ni) level_q[Lw+:Lw] == Lw'(npu_pkg::SendPool));
  // bug: the region of the ALU overflows
  alu_full: cover property (@(posedge clk_i) disable iff (!rst_ni) level_q[2*Lw+:Lw] == Lw'(npu_pkg::SendAlu));
  // bug: two units write in one cycle: one word is lost
  two_write: cover property (@(posedge clk_i) disable iff (!rst_ni) (wvalid_i & (wvalid_i - 1'b1)) != '0);
  // bug: the last of three writers is forgotten
  all_write: cover property (@(posedge clk_i) disable iff (!rst_ni) &wvalid_i);
  // bug: a unit that has to wait goes on
  refused: cover property (@(posedge clk_i) disable iff (!rst_ni) (wvalid_i & ~wready_o) != '0);
  // bug: two units want their next word in one cycle
  two_fetch: cover property (@(posedge clk_i) disable iff (!rst_ni) (can_fetch & (can_fetch - 1'b1)) != '0);
  // bug: a word that enters while one leaves counts twice
  both: cover property (@(posedge clk_i) disable iff (!rst_ni) (push & pop) != '0);
  // bug: a word of one unit that enters while one of another leaves
  other_leaves: cover property (@(posedge clk_i) disable iff (!rst_ni) push != '0 && pop != '0 && (push & pop) == '0);
  // bug: the memory is read where it is written
  write_fetch: cover property (@(posedge clk_i) disable iff (!rst_ni) push != '0 && fetch != '0);
  // bug: a word that was not fetched yet leaves
  empty: cover property (@(posedge clk_i) disable iff (!rst_ni) (rready_i & ~rvalid_o) != '0 && level_q != '0);
  // bug: the region of the GEMM wraps one word early
  gemm_wraps: cover property (@(posedge clk_i) disable iff (!rst_ni) push[0] && wptr_q[0+:Aw] == Aw'(npu_pkg::SendGemm - 1));
  // bug: the region of the POOL wraps to the start of the memory
  pool_wraps: cover property (@(posedge clk_i) disable iff (!rst_ni) push[1] && wptr_q[Aw+:Aw] == Aw'(npu_pkg::SendGemm + npu_pkg::SendPool - 1));
  // bug: the region of the ALU wraps to the start of the memory
  alu_wraps: cover property (@(posedge clk_i) disable iff (!rst_ni) push[2] && wptr_q[2*Aw+:Aw] == '1);

endmodule

bind send_buf send_buf_cover #(.Clients(Clients), .Lw(Lw), .Aw(Aw)) u_send_buf_cover (.*);
