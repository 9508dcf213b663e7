// A copy engine of a few lines with the ports of verilog-axi's axi_cdma, for the test of docs/own-design.md: a word at
// a time, one read and one write of a single beat, addresses that are multiples of a word. Not part of any design of
// this tree.
module axi_cdma (
  input  wire        clk,
  input  wire        rst,
  input  wire [15:0] s_axis_desc_read_addr,
  input  wire [15:0] s_axis_desc_write_addr,
  input  wire [19:0] s_axis_desc_len,
  input  wire [7:0]  s_axis_desc_tag,
  input  wire        s_axis_desc_valid,
  output wire        s_axis_desc_ready,
  output reg  [7:0]  m_axis_desc_status_tag,
  output reg  [3:0]  m_axis_desc_status_error,
  output reg         m_axis_desc_status_valid,
  output wire [7:0]  m_axi_awid,
  output wire [15:0] m_axi_awaddr,
  output wire [7:0]  m_axi_awlen,
  output wire [2:0]  m_axi_awsize,
  output wire [1:0]  m_axi_awburst,
  output wire        m_axi_awlock,
  output wire [3:0]  m_axi_awcache,
  output wire [2:0]  m_axi_awprot,
  output wire        m_axi_awvalid,
  input  wire        m_axi_awready,
  output wire [31:0] m_axi_wdata,
  output wire [3:0]  m_axi_wstrb,
  output wire        m_axi_wlast,
  output wire        m_axi_wvalid,
  input  wire        m_axi_wready,
  input  wire [7:0]  m_axi_bid,
  input  wire [1:0]  m_axi_bresp,
  input  wire        m_axi_bvalid,
  output wire        m_axi_bready,
  output wire [7:0]  m_axi_arid,
  output wire [15:0] m_axi_araddr,
  output wire [7:0]  m_axi_arlen,
  output wire [2:0]  m_axi_arsize,
  output wire [1:0]  m_axi_arburst,
  output wire        m_axi_arlock,
  output wire [3:0]  m_axi_arcache,
  output wire [2:0]  m_axi_arprot,
  output wire        m_axi_arvalid,
  input  wire        m_axi_arready,
  input  wire [7:0]  m_axi_rid,
  input  wire [31:0] m_axi_rdata,
  input  wire [1:0]  m_axi_rresp,
  input  wire        m_axi_rlast,
  input  wire        m_axi_rvalid,
  output wire        m_axi_rready,
  input  wire        enable
);
  localparam [2:0] Idle = 3'd0, Read = 3'd1, Data = 3'd2, Write = 3'd3, Answer = 3'd4;

  reg  [2:0]  state;
  reg  [15:0] from, to;
  reg  [19:0] left;
  reg  [7:0]  tag;
  reg  [31:0] m_axi_wdata_reg;
  reg         sent_address, sent_data;
  wire        m_axi_wlast_reg = 1'b1;

  assign s_axis_desc_ready = state == Idle && enable;
  assign m_axi_arvalid = state == Read;
  assign m_axi_araddr = from;
  assign m_axi_rready = state == Data;
  assign m_axi_awvalid = state == Write && !sent_address;
  assign m_axi_awaddr = to;
  assign m_axi_wvalid = state == Write && !sent_data;
  assign m_axi_wdata  = m_axi_wdata_reg;
  assign m_axi_wlast  = m_axi_wlast_reg;
  assign m_axi_wstrb  = left >= 20'd4 ? 4'hf : 4'hf >> (20'd4 - left);
  assign m_axi_bready = state == Answer;
  assign {m_axi_awid, m_axi_awlen, m_axi_awsize, m_axi_awburst} = {8'd0, 8'd0, 3'd2, 2'd1};
  assign {m_axi_awlock, m_axi_awcache, m_axi_awprot} = {1'b0, 4'd3, 3'd2};
  assign {m_axi_arid, m_axi_arlen, m_axi_arsize, m_axi_arburst} = {8'd0, 8'd0, 3'd2, 2'd1};
  assign {m_axi_arlock, m_axi_arcache, m_axi_arprot} = {1'b0, 4'd3, 3'd2};

  always @(posedge clk) begin
    m_axis_desc_status_valid <= 1'b0;
    case (state)
      Idle: begin
        m_axis_desc_status_error <= 4'd0;
        if (s_axis_desc_valid && s_axis_desc_ready) begin
          from  <= s_axis_desc_read_addr;
          to    <= s_axis_desc_write_addr;
          left  <= s_axis_desc_len;
          tag   <= s_axis_desc_tag;
          state <= Read;
        end
      end
      Read: if (m_axi_arready) state <= Data;
      Data: if (m_axi_rvalid) begin
        m_axi_wdata_reg <= m_axi_rdata;
        sent_address <= 1'b0;
        sent_data <= 1'b0;
        if (m_axi_rresp[1]) m_axis_desc_status_error <= 4'd4;
        state <= Write;
      end
      Write: begin
        sent_address <= sent_address || m_axi_awready;
        sent_data <= sent_data || m_axi_wready;
        if ((sent_address || m_axi_awready) && (sent_data || m_axi_wready)) state <= Answer;
      end
      Answer: if (m_axi_bvalid) begin
        if (m_axi_bresp[1]) m_axis_desc_status_error <= 4'd6;
        from <= from + 16'd4;
        to   <= to + 16'd4;
        left <= left - 20'd4;
        state <= Read;
        if (left <= 20'd4) begin
          state <= Idle;
          m_axis_desc_status_tag <= tag;
          m_axis_desc_status_valid <= 1'b1;
        end
      end
      default: state <= Idle;
    endcase
    if (rst) begin
      state <= Idle;
      m_axis_desc_status_valid <= 1'b0;
    end
  end
endmodule
