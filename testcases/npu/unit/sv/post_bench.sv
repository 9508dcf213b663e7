// Both post units of the NPU side by side: index 0 for even, 1 for odd output channels (REQUANT: for pixels 8k + 0..3 and 8k + 4..7).
module post_bench #(
  parameter int unsigned N = 8,
  localparam int unsigned Cols = N >= 16 ? 4 : N / 4
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            task_valid_i,
  input  npu_pkg::gemm_task_t             task_i,
  input  logic                            par_ready_i,
  output logic [1:0]                      task_wait_o,
  input  logic                            task_done_i,
  input  logic                            tile_i,
  output logic [1:0]                      free_o,
  output logic [2*(npu_pkg::OfmAw+1)-1:0] free_tiles_o,
  output logic [1:0]                      par_re_o,
  output logic [2*npu_pkg::ParAw-1:0]     par_addr_o,
  input  logic [255:0]                    par_oscale_i,
  input  logic [255:0]                    par_bias_i,
  output logic [1:0]                      ofm_re_o,
  output logic [2*$clog2(N)-1:0]          ofm_col_o,
  output logic [2*(npu_pkg::OfmAw+1)-1:0] ofm_addr_o,
  input  logic [2*128*Cols-1:0]           ofm_data_i,
  output logic [1:0]                      psum_req_valid_o,
  input  logic [1:0]                      psum_req_ready_i,
  output logic [63:0]                     psum_req_addr_o,
  output logic [47:0]                     psum_req_bytes_o,
  input  logic [1:0]                      psum_valid_i,
  output logic [1:0]                      psum_ready_o,
  input  logic [255:0]                    psum_i,
  output logic [1:0]                      wr_req_valid_o,
  input  logic [1:0]                      wr_req_ready_i,
  output logic [63:0]                     wr_req_addr_o,
  output logic [47:0]                     wr_req_bytes_o,
  output logic [1:0]                      wr_valid_o,
  input  logic [1:0]                      wr_ready_i,
  output logic [255:0]                    wr_data_o,
  input  logic [31:0]                     wr_level_i,
  output logic [5:0]                      event_o
);

  localparam int unsigned Tw = npu_pkg::OfmAw + 1;
  localparam int unsigned Pw = npu_pkg::ParAw;
  localparam int unsigned Cw = $clog2(N);

  for (genvar c = 0; c < 2; c++) begin : g_chan
    post #(
      .N(N),
      .Chan(c)
    ) u_post (
      .clk_i,
      .rst_ni,
      .task_valid_i,
      .task_i,
      .par_ready_i,
      .task_wait_o(task_wait_o[c]),
      .task_done_i,
      .tile_i,
      .free_o(free_o[c]),
      .free_tiles_o(free_tiles_o[Tw*c+:Tw]),
      .par_re_o(par_re_o[c]),
      .par_addr_o(par_addr_o[Pw*c+:Pw]),
      .par_oscale_i(par_oscale_i[128*c+:128]),
      .par_bias_i(par_bias_i[128*c+:128]),
      .ofm_re_o(ofm_re_o[c]),
      .ofm_col_o(ofm_col_o[Cw*c+:Cw]),
      .ofm_addr_o(ofm_addr_o[Tw*c+:Tw]),
      .ofm_data_i(ofm_data_i[128*Cols*c+:128*Cols]),
      .psum_req_valid_o(psum_req_valid_o[c]),
      .psum_req_ready_i(psum_req_ready_i[c]),
      .psum_req_addr_o(psum_req_addr_o[32*c+:32]),
      .psum_req_bytes_o(psum_req_bytes_o[24*c+:24]),
      .psum_valid_i(psum_valid_i[c]),
      .psum_ready_o(psum_ready_o[c]),
      .psum_i(psum_i[128*c+:128]),
      .wr_req_valid_o(wr_req_valid_o[c]),
      .wr_req_ready_i(wr_req_ready_i[c]),
      .wr_req_addr_o(wr_req_addr_o[32*c+:32]),
      .wr_req_bytes_o(wr_req_bytes_o[24*c+:24]),
      .wr_valid_o(wr_valid_o[c]),
      .wr_ready_i(wr_ready_i[c]),
      .wr_data_o(wr_data_o[128*c+:128]),
      .wr_level_i(wr_level_i[16*c+:16]),
      .event_o(event_o[3*c+:3])
    );
  end

endmodule
