// Shared constants, the task descriptor and geometry of the NPU.
//
// The task descriptor is what the register file hands to the engines of the GEMM path when GEMM_CTRL is written
// with its enable bit set. docs/npu.md section 3 describes each field.
package npu_pkg;

  localparam int unsigned AxiDataW = 128;  // bits of one AXI data beat
  localparam int unsigned AxiStrbW = 16;
  localparam int unsigned AxiAddrW = 32;
  localparam int unsigned AxiOutstanding = 16;  // bursts in flight for each direction of each channel

  localparam int unsigned IfmDepth = 16384;  // words of N bytes
  localparam int unsigned IfmAw = 14;
  localparam int unsigned WgtDepth = 4608;  // words of N bytes in each bank
  localparam int unsigned WgtAw = 13;
  localparam int unsigned ParDepth = 256;  // words of four FP32 factors (oscale) and four biases
  localparam int unsigned ParAw = 8;
  localparam int unsigned OfmDepth = 256;  // words of four int32 in each of the 2N banks
  localparam int unsigned OfmAw = 8;

  localparam int unsigned LayoutPixels = 64;  // pixels of one layout job

  // requesters of one read channel, highest priority first
  localparam int unsigned RdIdPar = 0;
  localparam int unsigned RdIdPsum = 1;
  localparam int unsigned RdIdWgt = 2;
  localparam int unsigned RdIdIfm = 3;
  localparam int unsigned RdReqs = 4;

  typedef struct packed {
    logic        op_dw;       // 0 convolution, 1 depthwise
    logic        fence;       // start only when all earlier tasks are complete
    logic        bias_en;
    logic        oscale_en;
    logic        raw_out;     // div_ic: write int32 partial sums
    logic        psum_add;    // add int32 partial sums read from psum_addr
    logic        act_relu;
    logic [7:0]  kw;          // kernel width, 1..255
    logic [7:0]  kh;
    logic [7:0]  sw;          // stride, 1..255
    logic [7:0]  sh;
    logic [7:0]  dw;          // dilation, 1..255
    logic [7:0]  dh;
    logic [7:0]  pad_l;
    logic [7:0]  pad_t;
    logic [15:0] iw;          // input map
    logic [15:0] ih;
    logic [15:0] ic;
    logic [15:0] ow;          // output map
    logic [15:0] oh;
    logic [15:0] oc;
    logic [7:0]  group;       // tiles written back together
    logic [31:0] ifm_addr;    // byte addresses and channel steps in bytes
    logic [31:0] ifm_cstep;
    logic [31:0] wgt_addr;
    logic [31:0] oscale_addr;
    logic [31:0] bias_addr;
    logic [31:0] ofm_addr;
    logic [31:0] ofm_cstep;
    logic [31:0] psum_addr;
    logic [31:0] in_scale;    // FP32
  } gemm_task_t;

  localparam int unsigned GemmTaskW = 463;  // bits of gemm_task_t ($bits of a type is more than Yosys 0.23 reads)

endpackage
