// The requantisers of both channels side by side; index 0: Chan = 0.
module requant_bench #(
  parameter int unsigned N = 8,
  localparam int unsigned Cols = N >= 16 ? 4 : N / 4
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic [31:0]              out_scale_i,
  input  logic [31:0]              pitch_i,
  input  logic                     single_i,
  input  logic [1:0]               blk_valid_i,
  output logic [1:0]               blk_ready_o,
  input  logic [63:0]              blk_addr_i,
  input  logic [2*$clog2(N)+3:0]   blk_npix_i,
  input  logic [2*$clog2(N)+1:0]   blk_nch_i,
  input  logic [1:0]               blk_last_i,
  input  logic [1:0]               in_valid_i,
  input  logic [2*128*Cols-1:0]    in_data_i,
  output logic [1:0]               pop_o,
  output logic [1:0]               idle_o,
  output logic [1:0]               wr_req_valid_o,
  input  logic [1:0]               wr_req_ready_i,
  output logic [63:0]              wr_req_addr_o,
  output logic [47:0]              wr_req_bytes_o,
  output logic [1:0]               wr_valid_o,
  input  logic [1:0]               wr_ready_i,
  output logic [255:0]             wr_data_o
);

  localparam int unsigned Pw = $clog2(N) + 2;
  localparam int unsigned Hw = $clog2(N) + 1;

  for (genvar c = 0; c < 2; c++) begin : g_chan
    requant #(
      .N(N),
      .Chan(c)
    ) u_requant (
      .clk_i,
      .rst_ni,
      .out_scale_i,
      .pitch_i,
      .single_i,
      .blk_valid_i(blk_valid_i[c]),
      .blk_ready_o(blk_ready_o[c]),
      .blk_addr_i(blk_addr_i[32*c+:32]),
      .blk_npix_i(blk_npix_i[Pw*c+:Pw]),
      .blk_nch_i(blk_nch_i[Hw*c+:Hw]),
      .blk_last_i(blk_last_i[c]),
      .in_valid_i(in_valid_i[c]),
      .in_data_i(in_data_i[128*Cols*c+:128*Cols]),
      .pop_o(pop_o[c]),
      .idle_o(idle_o[c]),
      .wr_req_valid_o(wr_req_valid_o[c]),
      .wr_req_ready_i(wr_req_ready_i[c]),
      .wr_req_addr_o(wr_req_addr_o[32*c+:32]),
      .wr_req_bytes_o(wr_req_bytes_o[24*c+:24]),
      .wr_valid_o(wr_valid_o[c]),
      .wr_ready_i(wr_ready_i[c]),
      .wr_data_o(wr_data_o[128*c+:128])
    );
  end

endmodule
