// Tap of dma_wr: requests, bursts, words, beats and responses (tb/npu/score/dma_wr.c).
module tap_dma_wr #(
  parameter int unsigned NumReq = 1
) (
  input logic                  rst_ni,
  input logic                  flush_i,
  input logic                  idle_o,
  input logic [NumReq-1:0]     req_valid_i,
  input logic [NumReq-1:0]     req_ready_o,
  input logic [32*NumReq-1:0]  req_addr_i,
  input logic [24*NumReq-1:0]  req_bytes_i,
  input logic [NumReq-1:0]     wdat_valid_i,
  input logic [NumReq-1:0]     wdat_ready_o,
  input logic [128*NumReq-1:0] wdat_i,
  input logic                  awid_o,
  input logic [31:0]           awaddr_o,
  input logic [7:0]            awlen_o,
  input logic [2:0]            awsize_o,
  input logic [1:0]            awburst_o,
  input logic                  awlock_o,
  input logic [3:0]            awcache_o,
  input logic [2:0]            awprot_o,
  input logic [3:0]            awqos_o,
  input logic                  awvalid_o,
  input logic                  awready_i,
  input logic [127:0]          wdata_o,
  input logic [15:0]           wstrb_o,
  input logic                  wlast_o,
  input logic                  wvalid_o,
  input logic                  wready_i,
  input logic [1:0]            bresp_i,
  input logic                  bvalid_i,
  input logic                  bready_o,
  input logic [NumReq-1:0]     idle_req_o,
  input logic [NumReq-1:0]     err_o,
  input logic                  ev_beat_o,
  input logic                  ev_burst_o,
  input logic                  ev_wait_bus_o,
  input logic                  ev_wait_data_o,
  input logic [4:0]            inflight_o
);
endmodule

bind dma_wr tap_dma_wr #(.NumReq(NumReq)) u_tap_dma_wr (.*);
