// Tap of par_buf: both write ports and both reads (tb/npu/score/bufs.c).
module tap_par_buf (
  input logic [1:0]                we_i,
  input logic [npu_pkg::ParAw-1:0] waddr0_i,
  input logic [npu_pkg::ParAw-1:0] waddr1_i,
  input logic [127:0]              wdata0_i,
  input logic [127:0]              wdata1_i,
  input logic [1:0]                re_i,
  input logic [npu_pkg::ParAw-1:0] raddr0_i,
  input logic [npu_pkg::ParAw-1:0] raddr1_i,
  input logic [127:0]              oscale0_o,
  input logic [127:0]              bias0_o,
  input logic [127:0]              oscale1_o,
  input logic [127:0]              bias1_o
);
endmodule

bind par_buf tap_par_buf u_tap_par_buf (.*);
