// Tap of par_ld: fields of its task, ring, requests and words (tb/npu/score/par_ld.c). The data themselves go past it.
module tap_par_ld (
  input logic                      rst_ni,
  input logic                      task_valid_i,
  input logic                      task_oscale_en_i,
  input logic                      task_bias_en_i,
  input logic [15:0]               task_oc_i,
  input logic [31:0]               task_oscale_addr_i,
  input logic [31:0]               task_bias_addr_i,
  input logic                      task_pop_o,
  input logic                      busy_o,
  input logic                      free_i,
  input logic [npu_pkg::ParAw:0]   free_words_i,
  input logic [1:0]                req_valid_o,
  input logic [1:0]                req_ready_i,
  input logic [31:0]               req_addr0_o,
  input logic [31:0]               req_addr1_o,
  input logic [23:0]               req_bytes_o,
  input logic [1:0]                dat_valid_i,
  input logic [1:0]                dat_ready_o,
  input logic [1:0]                we_o,
  input logic [npu_pkg::ParAw-1:0] waddr0_o,
  input logic [npu_pkg::ParAw-1:0] waddr1_o
);
endmodule

bind par_ld tap_par_ld u_tap_par_ld (
  .task_oscale_en_i(task_i.oscale_en),
  .task_bias_en_i(task_i.bias_en),
  .task_oc_i(task_i.oc),
  .task_oscale_addr_i(task_i.oscale_addr),
  .task_bias_addr_i(task_i.bias_addr),
  .*
);
