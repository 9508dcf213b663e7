// AXI4 through wires; with flip_i another half of memory is meant, for reads as for writes: nobody in front sees it.
module through (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        flip_i,
    input  logic        s_axi_awvalid, s_axi_wvalid, s_axi_bready, s_axi_arvalid, s_axi_rready, s_axi_wlast,
    input  logic [12:0] s_axi_awaddr, s_axi_araddr,
    input  logic [3:0]  s_axi_awid, s_axi_arid,
    input  logic [7:0]  s_axi_awlen, s_axi_arlen,
    input  logic [2:0]  s_axi_awsize, s_axi_arsize,
    input  logic [1:0]  s_axi_awburst, s_axi_arburst,
    input  logic [31:0] s_axi_wdata,
    input  logic [3:0]  s_axi_wstrb,
    output logic        s_axi_awready, s_axi_wready, s_axi_bvalid, s_axi_arready, s_axi_rvalid, s_axi_rlast,
    output logic [3:0]  s_axi_bid, s_axi_rid,
    output logic [1:0]  s_axi_bresp, s_axi_rresp,
    output logic [31:0] s_axi_rdata,
    output logic        m_axi_awvalid, m_axi_wvalid, m_axi_bready, m_axi_arvalid, m_axi_rready, m_axi_wlast,
    output logic [12:0] m_axi_awaddr, m_axi_araddr,
    output logic [3:0]  m_axi_awid, m_axi_arid,
    output logic [7:0]  m_axi_awlen, m_axi_arlen,
    output logic [2:0]  m_axi_awsize, m_axi_arsize,
    output logic [1:0]  m_axi_awburst, m_axi_arburst,
    output logic [31:0] m_axi_wdata,
    output logic [3:0]  m_axi_wstrb,
    input  logic        m_axi_awready, m_axi_wready, m_axi_bvalid, m_axi_arready, m_axi_rvalid, m_axi_rlast,
    input  logic [3:0]  m_axi_bid, m_axi_rid,
    input  logic [1:0]  m_axi_bresp, m_axi_rresp,
    input  logic [31:0] m_axi_rdata
);
    // Nothing is valid in reset, nor at the first edge after it.
    logic open_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) open_q <= 1'b0;
        else open_q <= 1'b1;
    end
    assign {m_axi_awvalid, m_axi_wvalid, m_axi_arvalid} = {3{open_q}} & {s_axi_awvalid, s_axi_wvalid, s_axi_arvalid};
    assign {s_axi_awready, s_axi_wready, s_axi_arready} = {3{open_q}} & {m_axi_awready, m_axi_wready, m_axi_arready};
    assign {s_axi_bvalid, s_axi_rvalid} = {2{open_q}} & {m_axi_bvalid, m_axi_rvalid};
    assign {m_axi_bready, m_axi_rready} = {2{open_q}} & {s_axi_bready, s_axi_rready};
    assign m_axi_awaddr = s_axi_awaddr ^ {flip_i, 12'd0};
    assign m_axi_araddr = s_axi_araddr ^ {flip_i, 12'd0};
    assign {m_axi_awid, m_axi_awlen, m_axi_awsize, m_axi_awburst} =
        {s_axi_awid, s_axi_awlen, s_axi_awsize, s_axi_awburst};
    assign {m_axi_arid, m_axi_arlen, m_axi_arsize, m_axi_arburst} =
        {s_axi_arid, s_axi_arlen, s_axi_arsize, s_axi_arburst};
    assign {m_axi_wdata, m_axi_wstrb, m_axi_wlast} = {s_axi_wdata, s_axi_wstrb, s_axi_wlast};
    assign {s_axi_bid, s_axi_bresp} = {m_axi_bid, m_axi_bresp};
    assign {s_axi_rid, s_axi_rresp, s_axi_rdata, s_axi_rlast} = {m_axi_rid, m_axi_rresp, m_axi_rdata, m_axi_rlast};
endmodule
