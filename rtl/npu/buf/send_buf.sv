// Output buffer of one write channel, shared by GEMM, POOL and ALU: three FIFOs in one memory.
//
// Function     Client i (npu_pkg::WrId*) writes words that it reads back in order at its own read port, which feeds the
//              client's data port of dma_wr. Capacity of a client: npu_pkg::SendGemm, SendPool, SendAlu words.
// Memory       1024 words of 128 bit, one write and one read a cycle; a region of it for each client.
// Writes       One a cycle: fixed priority, index 0 first, a client whose region is full is skipped. wready_o
//              depends on wvalid_i in the same cycle.
// Reads        The memory has a latency of one cycle, so each client has a prefetch FIFO of four words. It is
//              refilled by one word per cycle, first for the client that dma_wr serves (its rready_i is 1), else for
//              the lowest that has space and data: the served client gets a word per cycle. rvalid_o does not depend
//              on rready_i.
// Latency      Three cycles from a write into an empty FIFO to rvalid_o.
// Throughput   One word a cycle in, one word a cycle out.
// level_o      Words held for each client, written and not yet read (16 bit each).
// active_o     The next clock edge may change a register; while it is 0 the clock may stand still.
// Document     docs/npu/npu.md sections 4.3 and 4.4.
`include "assert.svh"

module send_buf (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic [npu_pkg::WrReqs-1:0]     wvalid_i,
  output logic [npu_pkg::WrReqs-1:0]     wready_o,
  input  logic [128*npu_pkg::WrReqs-1:0] wdata_i,
  output logic [npu_pkg::WrReqs-1:0]     rvalid_o,
  input  logic [npu_pkg::WrReqs-1:0]     rready_i,
  output logic [128*npu_pkg::WrReqs-1:0] rdata_o,
  output logic [16*npu_pkg::WrReqs-1:0]  level_o,
  output logic                           active_o
);

  localparam int unsigned Clients = npu_pkg::WrReqs;
  localparam int unsigned Depth = npu_pkg::SendGemm + npu_pkg::SendPool + npu_pkg::SendAlu;
  localparam int unsigned Aw = $clog2(Depth);
  localparam int unsigned Lw = Aw + 1;
  // words in front of a client: covers the three cycles of the loop pop, read, refill
  localparam int unsigned HeadAw = 2;
  localparam int unsigned Heads = 1 << HeadAw;

  // first address and size of each region, client 0 in the lowest bits
  localparam logic [Lw*Clients-1:0] Size = {Lw'(npu_pkg::SendAlu), Lw'(npu_pkg::SendPool), Lw'(npu_pkg::SendGemm)};
  localparam logic [Aw*Clients-1:0] Base = {Aw'(npu_pkg::SendGemm + npu_pkg::SendPool), Aw'(npu_pkg::SendGemm), Aw'(0)};

  logic [127:0]               mem[Depth];
  logic [127:0]               head[4*Heads];  // client in the upper address bits
  logic [Lw*Clients-1:0]      level_q;        // written and not read by the client
  logic [Lw*Clients-1:0]      stored_q;       // of these: still to be fetched from the memory
  logic [(HeadAw+1)*Clients-1:0] front_q;     // of these: fetched or in flight
  logic [Aw*Clients-1:0]      wptr_q;
  logic [Aw*Clients-1:0]      rptr_q;
  logic [HeadAw*Clients-1:0]  hwptr_q;
  logic [HeadAw*Clients-1:0]  hrptr_q;
  logic [(HeadAw+1)*Clients-1:0] ready_q;     // in the head
  logic [127:0]               rd_q;           // read register of the memory
  logic                       rd_valid_q;
  logic [1:0]                 rd_id_q;

  logic [Clients-1:0] push;
  logic [Clients-1:0] pop;
  logic [Clients-1:0] can_fetch;
  logic [Clients-1:0] first_fetch;
  logic [Clients-1:0] fetch;
  logic [Aw-1:0]      waddr;
  logic [Aw-1:0]      raddr;
  logic [127:0]       wdata;
  logic [1:0]         fetch_id;

  always_comb begin
    logic free;
    free = 1'b1;
    wready_o = '0;
    for (int unsigned i = 0; i < Clients; i++) begin
      if (free && level_q[Lw*i+:Lw] != Size[Lw*i+:Lw]) begin
        wready_o[i] = 1'b1;
        free = !wvalid_i[i];
      end
    end
  end
  assign push = wvalid_i & wready_o;

  always_comb begin
    waddr = '0;
    wdata = '0;
    if (push != '0) begin
      for (int unsigned i = 0; i < Clients; i++) begin
        if (push[i]) begin
          waddr = wptr_q[Aw*i+:Aw];
          wdata = wdata_i[128*i+:128];
        end
      end
    end
  end

  always_comb begin
    for (int unsigned i = 0; i < Clients; i++) begin
      can_fetch[i] = stored_q[Lw*i+:Lw] != '0 && !front_q[(HeadAw+1)*i+HeadAw];
      rvalid_o[i] = ready_q[(HeadAw+1)*i+:HeadAw+1] != '0;
    end
  end
  assign pop = rvalid_o & rready_i;
  assign first_fetch = (can_fetch & rready_i) != '0 ? can_fetch & rready_i : can_fetch;
  assign fetch = first_fetch & (~first_fetch + 1'b1);

  always_comb begin
    raddr = '0;
    fetch_id = '0;
    for (int unsigned i = 0; i < Clients; i++) begin
      if (fetch[i]) begin
        raddr = rptr_q[Aw*i+:Aw];
        fetch_id = i[1:0];
      end
    end
  end

  always_comb begin
    for (int unsigned i = 0; i < Clients; i++) begin
      rdata_o[128*i+:128] = head[{i[1:0], hrptr_q[HeadAw*i+:HeadAw]}];
      level_o[16*i+:16] = 16'(level_q[Lw*i+:Lw]);
    end
  end

  assign active_o = wvalid_i != '0 || level_q != '0 || rd_valid_q;

  always_ff @(posedge clk_i) begin
    if (push != '0) mem[waddr] <= wdata;
    if (fetch != '0) rd_q <= mem[raddr];
    if (rd_valid_q) head[{rd_id_q, hwptr_q[HeadAw*rd_id_q+:HeadAw]}] <= rd_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      level_q <= '0;
      stored_q <= '0;
      front_q <= '0;
      ready_q <= '0;
      wptr_q <= Base;
      rptr_q <= Base;
      hwptr_q <= '0;
      hrptr_q <= '0;
      rd_valid_q <= 1'b0;
      rd_id_q <= '0;
    end else begin
      rd_valid_q <= fetch != '0;
      if (fetch != '0) rd_id_q <= fetch_id;
      if (push != '0 || pop != '0 || fetch != '0 || rd_valid_q) begin
        for (int unsigned i = 0; i < Clients; i++) begin
          level_q[Lw*i+:Lw] <= level_q[Lw*i+:Lw] + Lw'(push[i]) - Lw'(pop[i]);
          stored_q[Lw*i+:Lw] <= stored_q[Lw*i+:Lw] + Lw'(push[i]) - Lw'(fetch[i]);
          front_q[(HeadAw+1)*i+:HeadAw+1] <= front_q[(HeadAw+1)*i+:HeadAw+1] +
              (HeadAw + 1)'(fetch[i]) - (HeadAw + 1)'(pop[i]);
          ready_q[(HeadAw+1)*i+:HeadAw+1] <= ready_q[(HeadAw+1)*i+:HeadAw+1] +
              (HeadAw + 1)'(rd_valid_q && rd_id_q == i[1:0]) - (HeadAw + 1)'(pop[i]);
          if (push[i])
            wptr_q[Aw*i+:Aw] <= wptr_q[Aw*i+:Aw] == Base[Aw*i+:Aw] + Aw'(Size[Lw*i+:Lw] - 1'b1) ?
                Base[Aw*i+:Aw] : wptr_q[Aw*i+:Aw] + 1'b1;
          if (fetch[i])
            rptr_q[Aw*i+:Aw] <= rptr_q[Aw*i+:Aw] == Base[Aw*i+:Aw] + Aw'(Size[Lw*i+:Lw] - 1'b1) ?
                Base[Aw*i+:Aw] : rptr_q[Aw*i+:Aw] + 1'b1;
          if (rd_valid_q && rd_id_q == i[1:0]) hwptr_q[HeadAw*i+:HeadAw] <= hwptr_q[HeadAw*i+:HeadAw] + 1'b1;
          if (pop[i]) hrptr_q[HeadAw*i+:HeadAw] <= hrptr_q[HeadAw*i+:HeadAw] + 1'b1;
        end
      end
    end
  end

  for (genvar i = 0; i < Clients; i++) begin : g_assert
    `ASSERT(SendBufLevelRange, level_q[Lw*i+:Lw] <= Size[Lw*i+:Lw])
    `ASSERT(SendBufLevelSum, level_q[Lw*i+:Lw] == stored_q[Lw*i+:Lw] + Lw'(front_q[(HeadAw+1)*i+:HeadAw+1]))
    `ASSERT(SendBufFrontRange, front_q[(HeadAw+1)*i+:HeadAw+1] <= (HeadAw + 1)'(Heads) &&
        ready_q[(HeadAw+1)*i+:HeadAw+1] <= front_q[(HeadAw+1)*i+:HeadAw+1])
    `ASSERT_STABLE(RStable, rvalid_o[i], rready_i[i], rdata_o[128*i+:128])
  end
  `ASSERT_ONEHOT0(SendBufOneWrite, push)
  `ASSERT_ONEHOT0(SendBufOneFetch, fetch)

endmodule
