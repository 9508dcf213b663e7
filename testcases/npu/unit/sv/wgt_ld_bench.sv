// Weight loaders of both banks side by side, as in gemm: each sees the sequence of all tasks and takes the blocks of its parity.
module wgt_ld_bench #(
  parameter int unsigned N = 8
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic [1:0]                task_valid_i,
  input  npu_pkg::gemm_task_t       task0_i,
  input  npu_pkg::gemm_task_t       task1_i,
  output logic [1:0]                task_pop_o,
  output logic [1:0]                req_valid_o,
  input  logic [1:0]                req_ready_i,
  output logic [31:0]               req_addr0_o,
  output logic [31:0]               req_addr1_o,
  output logic [23:0]               req_bytes0_o,
  output logic [23:0]               req_bytes1_o,
  input  logic [1:0]                dat_valid_i,
  output logic [1:0]                dat_ready_o,
  input  logic [127:0]              dat0_i,
  input  logic [127:0]              dat1_i,
  output logic [1:0]                we_o,
  output logic [npu_pkg::WgtAw-1:0] waddr0_o,
  output logic [npu_pkg::WgtAw-1:0] waddr1_o,
  output logic [8*N-1:0]            wdata0_o,
  output logic [8*N-1:0]            wdata1_o,
  output logic [1:0]                full_o,
  output logic [9:0]                blocks0_o,
  output logic [9:0]                blocks1_o,
  output logic [1:0]                busy_o,
  input  logic [1:0]                release_i
);

  wgt_ld #(
    .N(N),
    .Bank(1'b0)
  ) u_bank0 (
    .clk_i,
    .rst_ni,
    .task_valid_i(task_valid_i[0]),
    .task_i(task0_i),
    .task_pop_o(task_pop_o[0]),
    .req_valid_o(req_valid_o[0]),
    .req_ready_i(req_ready_i[0]),
    .req_addr_o(req_addr0_o),
    .req_bytes_o(req_bytes0_o),
    .dat_valid_i(dat_valid_i[0]),
    .dat_ready_o(dat_ready_o[0]),
    .dat_i(dat0_i),
    .we_o(we_o[0]),
    .waddr_o(waddr0_o),
    .wdata_o(wdata0_o),
    .full_o(full_o[0]),
    .blocks_o(blocks0_o),
    .busy_o(busy_o[0]),
    .release_i(release_i[0])
  );

  wgt_ld #(
    .N(N),
    .Bank(1'b1)
  ) u_bank1 (
    .clk_i,
    .rst_ni,
    .task_valid_i(task_valid_i[1]),
    .task_i(task1_i),
    .task_pop_o(task_pop_o[1]),
    .req_valid_o(req_valid_o[1]),
    .req_ready_i(req_ready_i[1]),
    .req_addr_o(req_addr1_o),
    .req_bytes_o(req_bytes1_o),
    .dat_valid_i(dat_valid_i[1]),
    .dat_ready_o(dat_ready_o[1]),
    .dat_i(dat1_i),
    .we_o(we_o[1]),
    .waddr_o(waddr1_o),
    .wdata_o(wdata1_o),
    .full_o(full_o[1]),
    .blocks_o(blocks1_o),
    .busy_o(busy_o[1]),
    .release_i(release_i[1])
  );

endmodule
