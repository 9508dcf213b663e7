// Activation stage of im2col: walk over the pixels of a tile, addresses of their words, which are in the map.
//
// Order        The block that was in the weight stage before boundary_i, N cycles, two pixels a cycle: stream 0 the
//              even pixels of its tile, stream 1 the odd ones, which follow them directly. INT16: 2N cycles, one pixel
//              a cycle, stream 0 its low word, stream 1 the high one, which follows it.
// Outputs      Of the cycle in which ifm_buf is read at raddr0_o and raddr1_o: valid_o; first_o, last_o: block of the
//              tile; par_o as in the weight stage; in0_o, in1_o: the position is in the map, and the pixel exists.
// Throughput   Two pixels a cycle.
// Document     docs/npu/npu.md section 4.2.

module im2col_act #(
  parameter int unsigned EnInt16 = 0
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  npu_pkg::gemm_task_t               task_i,
  input  npu_pkg::im2col_consts_t           consts_i,
  input  logic                              boundary_i,
  // the tile in the weight stage
  input  logic [16:0]                       c_pix_i,
  input  logic [15:0]                       c_ow_i,
  input  logic signed [npu_pkg::CoordW-1:0] c_x_i,
  input  logic signed [npu_pkg::CoordW-1:0] c_y_i,
  input  logic [npu_pkg::IfmAw-1:0]         c_a_i,
  // the block in the weight stage
  input  logic                              w_valid_i,
  input  logic                              w_first_i,
  input  logic                              w_last_i,
  input  logic                              w_par_i,
  input  logic [npu_pkg::IfmAw-1:0]         w_tap_i,
  input  logic signed [npu_pkg::CoordW-1:0] w_dx_i,
  input  logic signed [npu_pkg::CoordW-1:0] w_dy_i,
  // the vectors
  output logic                              valid_o,
  output logic                              first_o,
  output logic                              last_o,
  output logic                              par_o,
  output logic                              in0_o,
  output logic                              in1_o,
  output logic [npu_pkg::IfmAw-1:0]         raddr0_o,
  output logic [npu_pkg::IfmAw-1:0]         raddr1_o
);

  localparam int unsigned Aw = npu_pkg::IfmAw;
  localparam int unsigned Cw = npu_pkg::CoordW;

  logic                 wide;  // INT16
  logic                 a_valid_q;
  logic signed [Cw-1:0] a_dx_q, a_dy_q;
  logic [Aw-1:0]        a_tap_q;
  // start of the tile, and the walk over its pixels: position of the even pixel
  logic [16:0]          a_pix0_q, a_pix_q;
  logic [15:0]          a_ow0_q, a_ow_q;
  logic signed [Cw-1:0] a_x0_q, a_y0_q, a_x_q, a_y_q;
  logic [Aw-1:0]        a_a0_q, a_a_q;
  logic [15:0]          e_ow, o_ow;
  logic signed [Cw-1:0] e_x, e_y, o_x, o_y;
  logic [Aw-1:0]        e_a, o_a;
  logic signed [Cw-1:0] x0, y0, x1, y1;
  logic                 in0, in1;

  assign wide = EnInt16 != 0 && task_i.wide;
  assign valid_o = a_valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      a_valid_q <= 1'b0;
      first_o <= 1'b0;
      last_o <= 1'b0;
      par_o <= 1'b0;
    end else if (boundary_i) begin
      a_valid_q <= w_valid_i;
      first_o <= w_first_i;
      last_o <= w_last_i;
      par_o <= w_par_i;
    end
  end

  // the odd pixel follows the even one, the next even one follows the odd one
  assign o_ow = a_ow_q + 16'd1 == task_i.ow ? '0 : a_ow_q + 16'd1;
  assign o_x = a_ow_q + 16'd1 == task_i.ow ? $signed(consts_i.x_first) : a_x_q + $signed(Cw'(task_i.sw));
  assign o_y = a_ow_q + 16'd1 == task_i.ow ? a_y_q + $signed(Cw'(task_i.sh)) : a_y_q;
  assign o_a = a_a_q + (a_ow_q + 16'd1 == task_i.ow ? consts_i.wrap : consts_i.sw);
  assign e_ow = o_ow + 16'd1 == task_i.ow ? '0 : o_ow + 16'd1;
  assign e_x = o_ow + 16'd1 == task_i.ow ? $signed(consts_i.x_first) : o_x + $signed(Cw'(task_i.sw));
  assign e_y = o_ow + 16'd1 == task_i.ow ? o_y + $signed(Cw'(task_i.sh)) : o_y;
  assign e_a = o_a + (o_ow + 16'd1 == task_i.ow ? consts_i.wrap : consts_i.sw);

  always_ff @(posedge clk_i) begin
    if (boundary_i) begin
      a_dx_q <= w_dx_i;
      a_dy_q <= w_dy_i;
      a_tap_q <= w_tap_i;
      if (w_first_i) begin
        a_pix0_q <= c_pix_i;
        a_ow0_q <= c_ow_i;
        a_x0_q <= c_x_i;
        a_y0_q <= c_y_i;
        a_a0_q <= c_a_i;
        a_pix_q <= c_pix_i;
        a_ow_q <= c_ow_i;
        a_x_q <= c_x_i;
        a_y_q <= c_y_i;
        a_a_q <= c_a_i;
      end else begin
        a_pix_q <= a_pix0_q;
        a_ow_q <= a_ow0_q;
        a_x_q <= a_x0_q;
        a_y_q <= a_y0_q;
        a_a_q <= a_a0_q;
      end
    end else if (a_valid_q) begin
      a_pix_q <= a_pix_q + (wide ? 17'd1 : 17'd2);
      a_ow_q <= wide ? o_ow : e_ow;
      a_x_q <= wide ? o_x : e_x;
      a_y_q <= wide ? o_y : e_y;
      a_a_q <= wide ? o_a : e_a;
    end
  end

  assign x0 = a_x_q + a_dx_q;
  assign y0 = a_y_q + a_dy_q;
  assign x1 = o_x + a_dx_q;
  assign y1 = o_y + a_dy_q;
  assign in0 = x0 >= 0 && x0 < $signed(Cw'(task_i.iw)) && y0 >= 0 && y0 < $signed(Cw'(task_i.ih)) &&
      a_pix_q < consts_i.npix;
  assign in1 = x1 >= 0 && x1 < $signed(Cw'(task_i.iw)) && y1 >= 0 && y1 < $signed(Cw'(task_i.ih)) &&
      a_pix_q + 17'd1 < consts_i.npix;
  assign in0_o = in0 && a_valid_q;
  assign in1_o = (wide ? in0 : in1) && a_valid_q;
  assign raddr0_o = a_a_q + a_tap_q;
  assign raddr1_o = (wide ? a_a_q + 1'b1 : o_a) + a_tap_q;

endmodule
