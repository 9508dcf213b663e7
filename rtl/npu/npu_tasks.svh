// Values of fields, and tasks as the units get them. Included by npu_pkg.
//
// Generated from regs/npu.regs by tools/gen_regs.py: do not edit, run `make regs`.

  // GEMM_CTRL.OP
  localparam logic [1:0] OpConv = 2'd0;
  localparam logic [1:0] OpDepthwise = 2'd1;
  localparam logic [1:0] OpConvert = 2'd2;

  // GEMM_ACT.TYPE
  localparam logic [3:0] ActNone = 4'd0;
  localparam logic [3:0] ActRelu = 4'd1;
  localparam logic [3:0] ActLeaky = 4'd2;
  localparam logic [3:0] ActClip = 4'd3;
  localparam logic [3:0] ActHardswish = 4'd4;
  localparam logic [3:0] ActHardsigmoid = 4'd5;
  localparam logic [3:0] ActSigmoid = 4'd6;
  localparam logic [3:0] ActTanh = 4'd7;
  localparam logic [3:0] ActSwish = 4'd8;
  localparam logic [3:0] ActMish = 4'd9;
  localparam logic [3:0] ActElu = 4'd10;
  localparam logic [3:0] ActSoftplus = 4'd11;

  // ALU_CTRL.OP
  localparam logic [4:0] AluCopy = 5'd0;
  localparam logic [4:0] AluAdd = 5'd1;
  localparam logic [4:0] AluSub = 5'd2;
  localparam logic [4:0] AluRsub = 5'd3;
  localparam logic [4:0] AluMul = 5'd4;
  localparam logic [4:0] AluMuladd = 5'd5;
  localparam logic [4:0] AluAddmul = 5'd6;
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

  // ALU_CTRL.P_KIND
  localparam logic [1:0] AluScalar = 2'd0;
  localparam logic [1:0] AluVector = 2'd1;
  localparam logic [1:0] AluPlane = 2'd2;

  // words of the task registers, side by side
  localparam logic [8:0] TaskRegsOffset = 9'h0C0;
  localparam int unsigned TaskRegsW = 1984;

  // GEMM task: what the register file hands to the engines of the GEMM path, docs/npu/npu.md section 3.2
  typedef struct packed {
    logic [1:0]  op;  // OpConv, OpDepthwise, OpConvert
    logic        fence;  // start only when all earlier tasks are complete
    logic        bias_en;
    logic        oscale_en;
    logic        raw_out;  // div_ic: write int32 partial sums
    logic        psum_add;  // add int32 partial sums read from psum_addr
    logic        nhwc_in;  // INT8 NHWC input
    logic        requant;  // INT8 NHWC output
    logic        wgt_res;  // resident weights, pixel groups outermost
    logic        wgt_keep;  // weights of the task before
    logic [3:0]  act;
    logic [7:0]  kw;  // kernel width, 1..255
    logic [7:0]  kh;
    logic [7:0]  sw;  // stride, 1..255
    logic [7:0]  sh;
    logic [7:0]  dw;  // dilation, 1..255
    logic [7:0]  dh;
    logic [7:0]  pad_l;
    logic [7:0]  pad_t;
    logic [15:0] iw;  // input map
    logic [15:0] ih;
    logic [15:0] ic;
    logic [15:0] ow;  // output map
    logic [15:0] oh;
    logic [15:0] oc;
    logic [7:0]  group;  // tiles written back together
    logic [31:0] ifm_addr;  // byte addresses; channel steps or pixel pitches in bytes
    logic [31:0] ifm_cstep;
    logic [31:0] wgt_addr;
    logic [31:0] oscale_addr;
    logic [31:0] bias_addr;
    logic [31:0] ofm_addr;
    logic [31:0] ofm_cstep;
    logic [31:0] psum_addr;
    logic [31:0] psum_cstep;
    logic [31:0] in_scale;  // FP32
    logic [31:0] out_scale;  // FP32
    logic [31:0] act_p0;  // FP32
    logic [31:0] act_p1;
    logic [31:0] act_p2;
    logic [31:0] act_p3;
  } gemm_task_t;

  localparam int unsigned GemmTaskW = 663;  // $bits of a type is more than Yosys 0.23 reads

  function automatic gemm_task_t gemm_task(input logic [TaskRegsW-1:0] regs, input logic [7:0] group_max);
    gemm_task.op = regs[386:385];
    gemm_task.fence = regs[410];
    gemm_task.bias_en = regs[403];
    gemm_task.oscale_en = regs[406];
    gemm_task.raw_out = regs[407];
    gemm_task.psum_add = regs[409];
    gemm_task.nhwc_in = !regs[405];
    gemm_task.requant = regs[404];
    gemm_task.wgt_res = regs[411];
    gemm_task.wgt_keep = regs[412];
    gemm_task.act = regs[515:512];
    gemm_task.kw = regs[408] ? regs[423:416] : 8'(regs[389:387]);
    gemm_task.kh = regs[408] ? regs[431:424] : 8'(regs[389:387]);
    gemm_task.sw = regs[408] ? regs[455:448] : 8'(regs[392:390]);
    gemm_task.sh = regs[408] ? regs[463:456] : 8'(regs[392:390]);
    gemm_task.dw = regs[408] ? regs[439:432] : 8'd1;
    gemm_task.dh = regs[408] ? regs[447:440] : 8'd1;
    gemm_task.pad_l = regs[408] ? regs[487:480] : 8'(regs[396:395]);
    gemm_task.pad_t = regs[408] ? regs[503:496] : 8'(regs[400:399]);
    gemm_task.iw = regs[271:256];
    gemm_task.ih = regs[287:272];
    gemm_task.ic = regs[303:288];
    gemm_task.ow = regs[335:320];
    gemm_task.oh = regs[351:336];
    gemm_task.oc = regs[319:304];
    gemm_task.group = regs[551:544] < 8'd1 ? 8'd1 : regs[551:544] > group_max ? group_max : regs[551:544];
    gemm_task.ifm_addr = regs[31:0];
    gemm_task.ifm_cstep = regs[63:32];
    gemm_task.wgt_addr = regs[95:64];
    gemm_task.oscale_addr = regs[127:96];
    gemm_task.bias_addr = regs[159:128];
    gemm_task.ofm_addr = regs[191:160];
    gemm_task.ofm_cstep = regs[223:192];
    gemm_task.psum_addr = regs[255:224];
    gemm_task.psum_cstep = regs[767:736];
    gemm_task.in_scale = regs[383:352];
    gemm_task.out_scale = regs[607:576];
    gemm_task.act_p0 = regs[639:608];
    gemm_task.act_p1 = regs[671:640];
    gemm_task.act_p2 = regs[703:672];
    gemm_task.act_p3 = regs[735:704];
  endfunction

  // ALU task, docs/npu/npu.md section 3.3
  typedef struct packed {
    logic [4:0]  op;
    logic [1:0]  p_kind;
    logic [1:0]  q_kind;
    logic        dup;
    logic [3:0]  act;
    logic [23:0] count;  // elements of a row
    logic [15:0] rows;
    logic [15:0] planes;
    logic [31:0] a_addr;  // byte addresses and steps
    logic [31:0] a_rstep;
    logic [31:0] a_pstep;
    logic [31:0] b_addr;
    logic [31:0] b_rstep;
    logic [31:0] b_pstep;
    logic [31:0] o_addr;
    logic [31:0] o_rstep;
    logic [31:0] o_pstep;
    logic [31:0] p;  // FP32
    logic [31:0] q;
    logic [31:0] p_addr;
    logic [31:0] q_addr;
    logic [31:0] act_p0;  // FP32
    logic [31:0] act_p1;
    logic [31:0] act_p2;
    logic [31:0] act_p3;
  } alu_task_t;

  localparam int unsigned AluTaskW = 614;  // $bits of a type is more than Yosys 0.23 reads

  function automatic alu_task_t alu_task(input logic [TaskRegsW-1:0] regs);
    alu_task.op = regs[1253:1249];
    alu_task.p_kind = regs[1255:1254];
    alu_task.q_kind = regs[1257:1256];
    alu_task.dup = regs[1258];
    alu_task.act = regs[1283:1280];
    alu_task.count = regs[1079:1056];
    alu_task.rows = regs[1103:1088];
    alu_task.planes = regs[1119:1104];
    alu_task.a_addr = regs[799:768];
    alu_task.a_rstep = regs[831:800];
    alu_task.a_pstep = regs[863:832];
    alu_task.b_addr = regs[895:864];
    alu_task.b_rstep = regs[927:896];
    alu_task.b_pstep = regs[959:928];
    alu_task.o_addr = regs[991:960];
    alu_task.o_rstep = regs[1023:992];
    alu_task.o_pstep = regs[1055:1024];
    alu_task.p = regs[1151:1120];
    alu_task.q = regs[1183:1152];
    alu_task.p_addr = regs[1215:1184];
    alu_task.q_addr = regs[1247:1216];
    alu_task.act_p0 = regs[1343:1312];
    alu_task.act_p1 = regs[1375:1344];
    alu_task.act_p2 = regs[1407:1376];
    alu_task.act_p3 = regs[1439:1408];
  endfunction

  // POOL task, docs/npu/npu.md section 3.4
  typedef struct packed {
    logic        avg;  // 0 maximum, 1 average
    logic        int8;  // INT8 NHWC, else FP32 NCHW
    logic        exclude;  // average over the elements inside the map
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
    logic [31:0] ifm_addr;  // byte addresses and steps
    logic [31:0] ifm_cstep;
    logic [31:0] ifm_rstep;
    logic [31:0] ofm_addr;
    logic [31:0] ofm_cstep;
    logic [31:0] ofm_rstep;
    logic [31:0] recip;  // FP32
    logic [31:0] tab_addr;
  } pool_task_t;

  localparam int unsigned PoolTaskW = 387;  // $bits of a type is more than Yosys 0.23 reads

  function automatic pool_task_t pool_task(input logic [TaskRegsW-1:0] regs);
    pool_task.avg = regs[1954:1953] == 2'd1;
    pool_task.int8 = regs[1955];
    pool_task.exclude = regs[1956];
    pool_task.kw = regs[1831:1824];
    pool_task.kh = regs[1839:1832];
    pool_task.sw = regs[1847:1840];
    pool_task.sh = regs[1855:1848];
    pool_task.pad_l = regs[1863:1856];
    pool_task.pad_t = regs[1871:1864];
    pool_task.iw = regs[1743:1728];
    pool_task.ih = regs[1759:1744];
    pool_task.ow = regs[1775:1760];
    pool_task.oh = regs[1791:1776];
    pool_task.c = regs[1807:1792];
    pool_task.ifm_addr = regs[1567:1536];
    pool_task.ifm_cstep = regs[1599:1568];
    pool_task.ifm_rstep = regs[1631:1600];
    pool_task.ofm_addr = regs[1663:1632];
    pool_task.ofm_cstep = regs[1695:1664];
    pool_task.ofm_rstep = regs[1727:1696];
    pool_task.recip = regs[1919:1888];
    pool_task.tab_addr = regs[1951:1920];
  endfunction
