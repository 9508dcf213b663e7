// Tap of dma_rd: requests, bursts, beats and words (tb/npu/score/dma_rd.c).
module tap_dma_rd #(
  parameter int unsigned NumReq = 4,
  parameter int unsigned IdW = 2
) (
  input logic                 rst_ni,
  input logic                 flush_i,
  input logic                 idle_o,
  input logic [NumReq-1:0]    req_valid_i,
  input logic [NumReq-1:0]    req_ready_o,
  input logic [32*NumReq-1:0] req_addr_i,
  input logic [24*NumReq-1:0] req_bytes_i,
  input logic                 dat_valid_o,
  input logic                 dat_ready_i,
  input logic [IdW-1:0]       dat_id_o,
  input logic [127:0]         dat_o,
  input logic                 dat_last_o,
  input logic                 arid_o,
  input logic [31:0]          araddr_o,
  input logic [7:0]           arlen_o,
  input logic [2:0]           arsize_o,
  input logic [1:0]           arburst_o,
  input logic                 arlock_o,
  input logic [3:0]           arcache_o,
  input logic [2:0]           arprot_o,
  input logic [3:0]           arqos_o,
  input logic                 arvalid_o,
  input logic                 arready_i,
  input logic [127:0]         rdata_i,
  input logic [1:0]           rresp_i,
  input logic                 rlast_i,
  input logic                 rvalid_i,
  input logic                 rready_o,
  input logic [NumReq-1:0]    err_o,
  input logic                 ev_beat_o,
  input logic                 ev_burst_o,
  input logic                 ev_wait_bus_o,
  input logic                 ev_wait_user_o,
  input logic [4:0]           inflight_o
);
endmodule

bind dma_rd tap_dma_rd #(.NumReq(NumReq), .IdW(IdW)) u_tap_dma_rd (.*);
