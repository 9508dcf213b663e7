// Tap of pool_chan: the task that it works on and what is derived from it (tb/npu/score/pool.c). Its parts get the same task, which is named here once for all of
// them: it is 387 bits wide.
module tap_pool_chan (
  input logic                          start_i,
  input logic [npu_pkg::PoolTaskW-1:0] task_i,
  input logic                          slide_i,
  input logic [16:0]                   units_i,
  input logic [31:0]                   shstep_i,
  input logic [31:0]                   topstep_i,
  input logic [15:0]                   count_i,
  input logic                          tab_whole_i
);
endmodule

bind pool_chan tap_pool_chan u_tap_pool_chan (.*);
