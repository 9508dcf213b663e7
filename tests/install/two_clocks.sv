// Two clock domains for tests of `tandem new`: words of a stream cross from clk_a (reset active high) to clk_b (active
// low) through a toggle, one at a time; an APB register in the second domain counts them.
module two_clocks (
  input  logic        clk_a,
  input  logic        rst_a,
  input  logic        clk_b,
  input  logic        rst_bn,
  input  logic        s_axis_a_tvalid,
  output logic        s_axis_a_tready,
  input  logic [15:0] s_axis_a_tdata,
  input  logic        s_axis_a_tlast,
  output logic        m_axis_b_tvalid,
  input  logic        m_axis_b_tready,
  output logic [15:0] m_axis_b_tdata,
  output logic        m_axis_b_tlast,
  input  logic        apb_b_psel,
  input  logic        apb_b_penable,
  input  logic [7:0]  apb_b_paddr,
  input  logic        apb_b_pwrite,
  input  logic [31:0] apb_b_pwdata,
  output logic [31:0] apb_b_prdata,
  output logic        apb_b_pready,
  output logic        irq_o
);
    logic [16:0] word_q;
    logic [1:0]  back_q;  // acknowledge toggle in domain a
    logic [1:0]  there_q;  // request toggle in domain b
    logic        request_q, taken_q, full_q;
    logic [31:0] count_q, limit_q;

    assign s_axis_a_tready = !rst_a && request_q == back_q[1];
    always_ff @(posedge clk_a) begin
        back_q <= {back_q[0], taken_q};
        if (rst_a) begin
            request_q <= 1'b0;
            back_q    <= 2'b0;
        end else if (s_axis_a_tvalid && s_axis_a_tready) begin
            word_q    <= {s_axis_a_tlast, s_axis_a_tdata};
            request_q <= !request_q;
        end
    end

    assign m_axis_b_tvalid = full_q;
    always_ff @(posedge clk_b or negedge rst_bn) begin
        if (!rst_bn) begin
            there_q <= 2'b0;
            taken_q <= 1'b0;
            full_q  <= 1'b0;
            count_q <= 32'd0;
            limit_q <= 32'd8;
        end else begin
            there_q <= {there_q[0], request_q};
            if (!full_q && there_q[1] != taken_q) begin
                {m_axis_b_tlast, m_axis_b_tdata} <= word_q;
                full_q  <= 1'b1;
                taken_q <= !taken_q;
            end else if (full_q && m_axis_b_tready) begin
                full_q  <= 1'b0;
                count_q <= count_q + 32'd1;
            end
            if (apb_b_psel && apb_b_penable && apb_b_pwrite) limit_q <= apb_b_pwdata;
        end
    end

    assign apb_b_pready = apb_b_penable;
    assign apb_b_prdata = apb_b_paddr[2] ? limit_q : count_q;
    assign irq_o        = count_q >= limit_q;
endmodule
