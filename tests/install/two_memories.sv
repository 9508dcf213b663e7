// One memory behind two AXI4 slaves whose signals are slices of vectors, in capital letters. One burst at a time in
// each direction of a port; FIXED, INCR and WRAP; no exclusive accesses (every response is OKAY).
module two_memories #(
  parameter int unsigned Ports = 2,
  parameter int unsigned Words = 1024
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [Ports*4-1:0]  S_AXI_AWID,
  input  logic [Ports*12-1:0] S_AXI_AWADDR,
  input  logic [Ports*8-1:0]  S_AXI_AWLEN,
  input  logic [Ports*3-1:0]  S_AXI_AWSIZE,
  input  logic [Ports*2-1:0]  S_AXI_AWBURST,
  input  logic [Ports-1:0]    S_AXI_AWVALID,
  output logic [Ports-1:0]    S_AXI_AWREADY,
  input  logic [Ports*32-1:0] S_AXI_WDATA,
  input  logic [Ports*4-1:0]  S_AXI_WSTRB,
  input  logic [Ports-1:0]    S_AXI_WLAST,
  input  logic [Ports-1:0]    S_AXI_WVALID,
  output logic [Ports-1:0]    S_AXI_WREADY,
  output logic [Ports*4-1:0]  S_AXI_BID,
  output logic [Ports*2-1:0]  S_AXI_BRESP,
  output logic [Ports-1:0]    S_AXI_BVALID,
  input  logic [Ports-1:0]    S_AXI_BREADY,
  input  logic [Ports*4-1:0]  S_AXI_ARID,
  input  logic [Ports*12-1:0] S_AXI_ARADDR,
  input  logic [Ports*8-1:0]  S_AXI_ARLEN,
  input  logic [Ports*3-1:0]  S_AXI_ARSIZE,
  input  logic [Ports*2-1:0]  S_AXI_ARBURST,
  input  logic [Ports-1:0]    S_AXI_ARVALID,
  output logic [Ports-1:0]    S_AXI_ARREADY,
  output logic [Ports*4-1:0]  S_AXI_RID,
  output logic [Ports*32-1:0] S_AXI_RDATA,
  output logic [Ports*2-1:0]  S_AXI_RRESP,
  output logic [Ports-1:0]    S_AXI_RLAST,
  output logic [Ports-1:0]    S_AXI_RVALID,
  input  logic [Ports-1:0]    S_AXI_RREADY
);

  // Address of the next beat of a burst (AMBA AXI, section A3.4.1).
  function automatic logic [11:0] next_beat(logic [11:0] addr, logic [7:0] len, logic [2:0] size, logic [1:0] burst);
    logic [11:0] step, all;
    step = 12'd1 << size;
    all = ({4'd0, len} + 12'd1) << size;
    next_beat = burst == 2'd0 ? addr : (addr & ~(step - 12'd1)) + step;
    if (burst == 2'd2) next_beat = (addr & ~(all - 12'd1)) | (next_beat & (all - 12'd1));
  endfunction

  logic [31:0] mem[Words];
  logic [Ports-1:0] w_busy_q, b_valid_q, r_busy_q;
  logic [3:0] w_id_q[Ports], r_id_q[Ports];
  logic [11:0] w_addr_q[Ports], r_addr_q[Ports];
  logic [7:0] w_len_q[Ports], r_len_q[Ports], r_left_q[Ports];
  logic [2:0] w_size_q[Ports], r_size_q[Ports];
  logic [1:0] w_burst_q[Ports], r_burst_q[Ports];

  assign S_AXI_AWREADY = ~w_busy_q & ~b_valid_q;
  assign S_AXI_WREADY = w_busy_q;
  assign S_AXI_BVALID = b_valid_q;
  assign S_AXI_ARREADY = ~r_busy_q;
  assign S_AXI_RVALID = r_busy_q;
  assign S_AXI_BRESP = '0;
  assign S_AXI_RRESP = '0;

  for (genvar i = 0; i < Ports; i++) begin : g_out
    assign S_AXI_BID[4*i+:4] = w_id_q[i];
    assign S_AXI_RID[4*i+:4] = r_id_q[i];
    assign S_AXI_RDATA[32*i+:32] = mem[r_addr_q[i][11:2]];
    assign S_AXI_RLAST[i] = r_left_q[i] == 8'd0;
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Ports; i++) begin
      if (S_AXI_AWVALID[i] && S_AXI_AWREADY[i]) begin
        w_busy_q[i] <= 1'b1;
        w_id_q[i] <= S_AXI_AWID[4*i+:4];
        w_addr_q[i] <= S_AXI_AWADDR[12*i+:12];
        w_len_q[i] <= S_AXI_AWLEN[8*i+:8];
        w_size_q[i] <= S_AXI_AWSIZE[3*i+:3];
        w_burst_q[i] <= S_AXI_AWBURST[2*i+:2];
      end
      if (S_AXI_WVALID[i] && S_AXI_WREADY[i]) begin
        for (int unsigned b = 0; b < 4; b++) begin
          if (S_AXI_WSTRB[4*i+b]) mem[w_addr_q[i][11:2]][8*b+:8] <= S_AXI_WDATA[32*i+8*b+:8];
        end
        w_addr_q[i] <= next_beat(w_addr_q[i], w_len_q[i], w_size_q[i], w_burst_q[i]);
        w_busy_q[i] <= !S_AXI_WLAST[i];
        b_valid_q[i] <= S_AXI_WLAST[i];
      end
      if (S_AXI_BVALID[i] && S_AXI_BREADY[i]) b_valid_q[i] <= 1'b0;
      if (S_AXI_ARVALID[i] && S_AXI_ARREADY[i]) begin
        r_busy_q[i] <= 1'b1;
        r_id_q[i] <= S_AXI_ARID[4*i+:4];
        r_addr_q[i] <= S_AXI_ARADDR[12*i+:12];
        r_len_q[i] <= S_AXI_ARLEN[8*i+:8];
        r_left_q[i] <= S_AXI_ARLEN[8*i+:8];
        r_size_q[i] <= S_AXI_ARSIZE[3*i+:3];
        r_burst_q[i] <= S_AXI_ARBURST[2*i+:2];
      end
      if (S_AXI_RVALID[i] && S_AXI_RREADY[i]) begin
        r_addr_q[i] <= next_beat(r_addr_q[i], r_len_q[i], r_size_q[i], r_burst_q[i]);
        r_left_q[i] <= r_left_q[i] - 8'd1;
        r_busy_q[i] <= r_left_q[i] != 8'd0;
      end
    end
    if (!rst_ni) begin
      w_busy_q <= '0;
      b_valid_q <= '0;
      r_busy_q <= '0;
    end
  end

endmodule
