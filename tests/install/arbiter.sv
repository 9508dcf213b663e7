// Four requesters share an APB port: an arbiter in a round robin; who is granted writes a word of its own, and reads it
// back.
module arbiter (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic [3:0]  req_i,
    output logic [3:0]  gnt_o,
    output logic        psel_o,
    output logic        penable_o,
    output logic [7:0]  paddr_o,
    output logic        pwrite_o,
    output logic [31:0] pwdata_o,
    output logic [3:0]  pstrb_o,
    input  logic [31:0] prdata_i,
    input  logic        pready_i,
    input  logic        pslverr_i,
    output logic        wrong_o
);
    logic [1:0]  last_q;  // who was granted last
    logic        busy_q, enable_q, write_q;
    logic [31:0] data_q;

    // The next one after the last, if it asks.
    logic [1:0] next;
    always_comb begin
        next = last_q;
        for (int i = 4; i >= 1; i--) begin
            if (req_i[last_q+2'(i)]) next = last_q + 2'(i);
        end
    end
    assign gnt_o = busy_q || req_i == '0 ? '0 : 4'd1 << next;

    assign psel_o = busy_q;
    assign penable_o = enable_q;
    assign paddr_o = {4'd0, last_q, 2'd0};
    assign pwrite_o = write_q;
    assign pwdata_o = data_q;
    assign pstrb_o = write_q ? '1 : '0;

    always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) begin
            last_q   <= '0;
            busy_q   <= 1'b0;
            enable_q <= 1'b0;
            write_q  <= 1'b0;
            data_q   <= '0;
            wrong_o  <= 1'b0;
        end else if (!busy_q) begin
            if (req_i != '0) begin
                last_q  <= next;
                busy_q  <= 1'b1;
                write_q <= 1'b1;
                data_q  <= data_q + 32'd1;
            end
        end else if (!enable_q) begin
            enable_q <= 1'b1;
        end else if (pready_i) begin
            enable_q <= 1'b0;
            write_q  <= 1'b0;
            busy_q   <= write_q;
            if (!write_q && !pslverr_i && prdata_i != data_q) wrong_o <= 1'b1;
        end
    end

    assert property (@(posedge clk_i) disable iff (!rst_ni) !wrong_o);
endmodule
