// Ports that are packed structs: an array of AXI4 request structs onto memories, an APB completer, an AXI4-Stream
// through a register, a plain handshake with a struct as payload; two streams in vectors.
package struct_pkg;
    typedef struct packed {
        logic [3:0]  id;
        logic [11:0] addr;
        logic [7:0]  len;
        logic [2:0]  size;
        logic [1:0]  burst;
    } ax_t;
    typedef struct packed {
        logic [63:0] data;
        logic [7:0]  strb;
        logic        last;
    } w_t;
    typedef struct packed {
        ax_t  aw;
        logic aw_valid;
        w_t   w;
        logic w_valid;
        logic b_ready;
        ax_t  ar;
        logic ar_valid;
        logic r_ready;
    } axi_req_t;
    typedef struct packed {
        logic       aw_ready;
        logic       ar_ready;
        logic       w_ready;
        logic       b_valid;
        struct packed {
            logic [3:0] id;
            logic [1:0] resp;
        } b;
        logic       r_valid;
        struct packed {
            logic [3:0]  id;
            logic [63:0] data;
            logic [1:0]  resp;
            logic        last;
        } r;
    } axi_rsp_t;
    typedef struct packed {
        logic [7:0]  paddr;
        logic        psel;
        logic        penable;
        logic        pwrite;
        logic [31:0] pwdata;
        logic [3:0]  pstrb;
    } apb_req_t;
    typedef struct packed {
        logic        pready;
        logic [31:0] prdata;
        logic        pslverr;
    } apb_rsp_t;
    typedef struct packed {
        struct packed {
            logic [15:0] data;
            logic [1:0]  keep;
            logic        last;
        } t;
        logic tvalid;
    } axis_req_t;
    typedef struct packed {
        logic tready;
    } axis_rsp_t;
    typedef struct packed {
        logic [4:0] kind;
        logic [8:0] value;
    } item_t;
endpackage

// One burst at a time, writes before reads.
module struct_memory import struct_pkg::*; (
    input  logic     clk_i,
    input  logic     rst_ni,
    input  axi_req_t req_i,
    output axi_rsp_t rsp_o
);
    logic [63:0] memory_q [512];
    logic [1:0]  state_q;  // 0: at rest, 1: write data, 2: its response, 3: read
    ax_t         ax_q;
    logic [7:0]  beat_q;

    // The next address of a burst (AMBA AXI, section A3.4.1).
    function automatic logic [11:0] next_addr(input ax_t ax);
        logic [11:0] step, whole, next;
        step = 12'd1 << ax.size;
        whole = step * (12'(ax.len) + 12'd1);
        next = (ax.addr & ~(step - 12'd1)) + step;
        if (ax.burst == 2'd0) next = ax.addr;
        if (ax.burst == 2'd2) next = (ax.addr & ~(whole - 12'd1)) | (next & (whole - 12'd1));
        return next;
    endfunction

    always_comb begin
        rsp_o = '0;
        rsp_o.aw_ready = state_q == 2'd0;
        rsp_o.ar_ready = state_q == 2'd0 && !req_i.aw_valid;
        rsp_o.w_ready = state_q == 2'd1;
        rsp_o.b_valid = state_q == 2'd2;
        rsp_o.b.id = ax_q.id;
        rsp_o.r_valid = state_q == 2'd3;
        rsp_o.r.id = ax_q.id;
        rsp_o.r.data = memory_q[ax_q.addr[11:3]];
        rsp_o.r.last = beat_q == ax_q.len;
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) begin
            state_q <= 2'd0;
            ax_q    <= '0;
            beat_q  <= '0;
        end else begin
            if (state_q == 2'd0) begin
                beat_q <= '0;
                if (req_i.aw_valid) begin
                    ax_q    <= req_i.aw;
                    state_q <= 2'd1;
                end else if (req_i.ar_valid) begin
                    ax_q    <= req_i.ar;
                    state_q <= 2'd3;
                end
            end
            if ((state_q == 2'd1 && req_i.w_valid) || (state_q == 2'd3 && req_i.r_ready)) begin
                beat_q <= beat_q + 8'd1;
                ax_q.addr <= next_addr(ax_q);
                if (state_q == 2'd1 && req_i.w.last) state_q <= 2'd2;
                if (state_q == 2'd3 && rsp_o.r.last) state_q <= 2'd0;
            end
            if (state_q == 2'd2 && req_i.b_ready) state_q <= 2'd0;
        end
    end

    always_ff @(posedge clk_i) begin
        for (int b = 0; b < 8; b++) begin
            if (state_q == 2'd1 && req_i.w_valid && req_i.w.strb[b]) begin
                memory_q[ax_q.addr[11:3]][8*b+:8] <= req_i.w.data[8*b+:8];
            end
        end
    end
endmodule

module struct_ports import struct_pkg::*; (
    input  logic           clk_i,
    input  logic           rst_ni,
    input  axi_req_t [1:0] slv_req_i,
    output axi_rsp_t [1:0] slv_rsp_o,
    input  apb_req_t       apb_req_i,
    output apb_rsp_t       apb_rsp_o,
    input  axis_req_t      in_req_i,
    output axis_rsp_t      in_rsp_o,
    output axis_req_t      out_req_o,
    input  axis_rsp_t      out_rsp_i,
    output item_t          item_o,
    output logic           item_valid_o,
    input  logic           item_ready_i,
    input  logic [1:0]     vec_in_tvalid_i,
    output logic [1:0]     vec_in_tready_o,
    input  logic [15:0]    vec_in_tdata_i,
    output logic [1:0]     vec_out_tvalid_o,
    input  logic [1:0]     vec_out_tready_i,
    output logic [15:0]    vec_out_tdata_o
);
    // Two streams in vectors, a register each.
    logic [1:0]  vec_valid_q;
    logic [15:0] vec_data_q;
    assign vec_in_tready_o = ~vec_valid_q | vec_out_tready_i;
    assign vec_out_tvalid_o = vec_valid_q;
    assign vec_out_tdata_o = vec_data_q;
    for (genvar i = 0; i < 2; i++) begin : g_vec
        always_ff @(posedge clk_i or negedge rst_ni) begin
            if (!rst_ni) begin
                vec_valid_q[i] <= 1'b0;
            end else if (vec_in_tready_o[i]) begin
                vec_valid_q[i] <= vec_in_tvalid_i[i];
                vec_data_q[8*i+:8] <= vec_in_tdata_i[8*i+:8];
            end
        end
    end

    for (genvar i = 0; i < 2; i++) begin : g_memory
        struct_memory u_memory (
            .clk_i,
            .rst_ni,
            .req_i(slv_req_i[i]),
            .rsp_o(slv_rsp_o[i])
        );
    end

    logic [31:0] reg_q [4];
    assign apb_rsp_o = '{pready: 1'b1, prdata: reg_q[apb_req_i.paddr[3:2]], pslverr: 1'b0};

    axis_req_t held_q;
    assign out_req_o = held_q;
    assign in_rsp_o.tready = !held_q.tvalid || out_rsp_i.tready;

    // Every word of a stream is shown once more, as an item, if there is room.
    item_t item_q;
    logic  item_valid_q;
    assign item_o = item_q;
    assign item_valid_o = item_valid_q;

    always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) begin
            reg_q        <= '{default: '0};
            held_q       <= '0;
            item_q       <= '0;
            item_valid_q <= 1'b0;
        end else begin
            if (apb_req_i.psel && apb_req_i.penable && apb_req_i.pwrite) begin
                reg_q[apb_req_i.paddr[3:2]] <= apb_req_i.pwdata;
            end
            if (in_rsp_o.tready) held_q <= in_req_i;
            if (item_ready_i) item_valid_q <= 1'b0;
            if ((!item_valid_q || item_ready_i) && in_req_i.tvalid && in_rsp_o.tready) begin
                item_q       <= '{kind: in_req_i.t.data[4:0], value: in_req_i.t.data[15:7]};
                item_valid_q <= 1'b1;
            end
        end
    end
endmodule
