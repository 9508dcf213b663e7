// Shared constants, the task descriptor and geometry of the NPU.
//
// The task descriptor is what the register file hands to the engines of the GEMM path when GEMM_CTRL is written
// with its enable bit set. docs/npu/npu.md section 3 describes each field.
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
  localparam int unsigned RdIdAlu = 4;
  localparam int unsigned RdIdPool = 5;
  localparam int unsigned RdReqs = 6;
  localparam int unsigned RdIdW = 3;
  localparam int unsigned GemmRdReqs = 4;  // those of the GEMM path

  // requesters of one write channel and clients of send_buf, highest priority first
  localparam int unsigned WrIdGemm = 0;
  localparam int unsigned WrIdPool = 1;
  localparam int unsigned WrIdAlu = 2;
  localparam int unsigned WrReqs = 3;

  // send_buf: words of 128 bit of each client, 1024 together
  localparam int unsigned SendGemm = 512;
  localparam int unsigned SendPool = 256;
  localparam int unsigned SendAlu = 256;

  localparam int unsigned PerfEvents = 36;  // docs/npu/npu.md section 5
  localparam int unsigned PerfLevels = 12;

  // activations, GEMM_ACT.TYPE and ALU_ACT.TYPE
  localparam logic [3:0] ActNone = 4'd0;
  localparam logic [3:0] ActRelu = 4'd1;
  localparam logic [3:0] ActLeaky = 4'd2;
  localparam logic [3:0] ActClip = 4'd3;
  localparam logic [3:0] ActHardSwish = 4'd4;
  localparam logic [3:0] ActHardSigmoid = 4'd5;
  localparam logic [3:0] ActSigmoid = 4'd6;
  localparam logic [3:0] ActTanh = 4'd7;
  localparam logic [3:0] ActSwish = 4'd8;
  localparam logic [3:0] ActMish = 4'd9;
  localparam logic [3:0] ActElu = 4'd10;
  localparam logic [3:0] ActSoftplus = 4'd11;

  localparam logic [1:0] OpConv = 2'd0;
  localparam logic [1:0] OpDepthwise = 2'd1;
  localparam logic [1:0] OpConvert = 2'd2;

  typedef struct packed {
    logic [1:0]  op;          // OpConv, OpDepthwise, OpConvert
    logic        fence;       // start only when all earlier tasks are complete
    logic        bias_en;
    logic        oscale_en;
    logic        raw_out;     // div_ic: write int32 partial sums
    logic        psum_add;    // add int32 partial sums read from psum_addr
    logic        nhwc_in;     // INT8 NHWC input
    logic        requant;     // INT8 NHWC output
    logic        wgt_res;     // resident weights, pixel groups outermost
    logic        wgt_keep;    // weights of the task before
    logic [3:0]  act;
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
    logic [31:0] ifm_addr;    // byte addresses; channel steps or pixel pitches in bytes
    logic [31:0] ifm_cstep;
    logic [31:0] wgt_addr;
    logic [31:0] oscale_addr;
    logic [31:0] bias_addr;
    logic [31:0] ofm_addr;
    logic [31:0] ofm_cstep;
    logic [31:0] psum_addr;
    logic [31:0] psum_cstep;
    logic [31:0] in_scale;    // FP32
    logic [31:0] out_scale;   // FP32
    logic [31:0] act_p0;      // FP32
    logic [31:0] act_p1;
    logic [31:0] act_p2;
    logic [31:0] act_p3;
  } gemm_task_t;

  localparam int unsigned GemmTaskW = 663;  // bits of gemm_task_t ($bits of a type is more than Yosys 0.23 reads)

  // operations of the ALU, ALU_CTRL.OP
  localparam logic [4:0] AluCopy = 5'd0;
  localparam logic [4:0] AluAdd = 5'd1;
  localparam logic [4:0] AluSub = 5'd2;
  localparam logic [4:0] AluRsub = 5'd3;
  localparam logic [4:0] AluMul = 5'd4;
  localparam logic [4:0] AluMulAdd = 5'd5;
  localparam logic [4:0] AluAddMul = 5'd6;
  localparam logic [4:0] AluMax = 5'd7;
  localparam logic [4:0] AluMin = 5'd8;
  localparam logic [4:0] AluGt = 5'd9;
  localparam logic [4:0] AluGe = 5'd10;
  localparam logic [4:0] AluEq = 5'd11;
  localparam logic [4:0] AluAbs = 5'd12;
  localparam logic [4:0] AluAddI32 = 5'd13;
  localparam logic [4:0] AluDot = 5'd14;
  localparam logic [4:0] AluSum = 5'd15;
  localparam logic [4:0] AluPrelu = 5'd16;

  localparam logic [1:0] AluScalar = 2'd0;
  localparam logic [1:0] AluVector = 2'd1;
  localparam logic [1:0] AluPlane = 2'd2;

  typedef struct packed {
    logic [4:0]  op;
    logic [1:0]  p_kind;
    logic [1:0]  q_kind;
    logic        dup;
    logic [3:0]  act;
    logic [23:0] count;       // elements of a row
    logic [15:0] rows;
    logic [15:0] planes;
    logic [31:0] a_addr;      // byte addresses and steps
    logic [31:0] a_rstep;
    logic [31:0] a_pstep;
    logic [31:0] b_addr;
    logic [31:0] b_rstep;
    logic [31:0] b_pstep;
    logic [31:0] o_addr;
    logic [31:0] o_rstep;
    logic [31:0] o_pstep;
    logic [31:0] p;           // FP32
    logic [31:0] q;
    logic [31:0] p_addr;
    logic [31:0] q_addr;
    logic [31:0] act_p0;      // FP32
    logic [31:0] act_p1;
    logic [31:0] act_p2;
    logic [31:0] act_p3;
  } alu_task_t;

  localparam int unsigned AluTaskW = 614;

  typedef struct packed {
    logic        avg;         // 0 maximum, 1 average
    logic        int8;        // INT8 NHWC, else FP32 NCHW
    logic        exclude;     // average over the elements inside the map
    logic [7:0]  kw;
    logic [7:0]  kh;
    logic [7:0]  sw;
    logic [7:0]  sh;
    logic [7:0]  pad_l;
    logic [7:0]  pad_t;
    logic [15:0] iw;
    logic [15:0] ih;
    logic [15:0] ow;
    logic [15:0] oh;
    logic [15:0] c;
    logic [31:0] ifm_addr;    // byte addresses and steps
    logic [31:0] ifm_cstep;
    logic [31:0] ifm_rstep;
    logic [31:0] ofm_addr;
    logic [31:0] ofm_cstep;
    logic [31:0] ofm_rstep;
    logic [31:0] recip;       // FP32
    logic [31:0] tab_addr;
  } pool_task_t;

  localparam int unsigned PoolTaskW = 387;

  localparam int unsigned AluChunk = 64;     // words of 128 bit of an ALU chunk
  localparam int unsigned PoolMaxIw = 512;   // input columns of a POOL task
  localparam int unsigned PoolMaxOw = 64;    // output columns of a POOL task

endpackage
