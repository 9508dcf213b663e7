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
  localparam logic [TaskRegsW-1:0] TaskRegsMask = {  // bits that exist
    32'h0000001F, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'h0000FFFF, 32'hFFFFFFFF, 32'h0000FFFF,
    32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF,
    32'hFFFFFFFF, 32'hFFFFFFFF, 32'h00000000, 32'h00000000, 32'h00000000, 32'hFFFFFFFF,
    32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'h0000000F, 32'h000007FF, 32'hFFFFFFFF,
    32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'h00FFFFFF, 32'hFFFFFFFF,
    32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF,
    32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF,
    32'hFFFFFFFF, 32'hFFFFFFFF, 32'h000000FF, 32'h0000000F, 32'hFFFFFFFF, 32'h0000FFFF,
    32'hFFFFFFFF, 32'h1FFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF,
    32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF, 32'hFFFFFFFF,
    32'hFFFFFFFF, 32'hFFFFFFFF
  };

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
    gemm_task = {
      regs[386:385],  // op
      regs[410],  // fence
      regs[403],  // bias_en
      regs[406],  // oscale_en
      regs[407],  // raw_out
      regs[409],  // psum_add
      !regs[405],  // nhwc_in
      regs[404],  // requant
      regs[411],  // wgt_res
      regs[412],  // wgt_keep
      regs[515:512],  // act
      (regs[408] ? regs[423:416] : 8'(regs[389:387])),  // kw
      (regs[408] ? regs[431:424] : 8'(regs[389:387])),  // kh
      (regs[408] ? regs[455:448] : 8'(regs[392:390])),  // sw
      (regs[408] ? regs[463:456] : 8'(regs[392:390])),  // sh
      (regs[408] ? regs[439:432] : 8'd1),  // dw
      (regs[408] ? regs[447:440] : 8'd1),  // dh
      (regs[408] ? regs[487:480] : 8'(regs[396:395])),  // pad_l
      (regs[408] ? regs[503:496] : 8'(regs[400:399])),  // pad_t
      regs[271:256],  // iw
      regs[287:272],  // ih
      regs[303:288],  // ic
      regs[335:320],  // ow
      regs[351:336],  // oh
      regs[319:304],  // oc
      (regs[551:544] < 8'd1 ? 8'd1 : regs[551:544] > group_max ? group_max : regs[551:544]),  // group
      regs[31:0],  // ifm_addr
      regs[63:32],  // ifm_cstep
      regs[95:64],  // wgt_addr
      regs[127:96],  // oscale_addr
      regs[159:128],  // bias_addr
      regs[191:160],  // ofm_addr
      regs[223:192],  // ofm_cstep
      regs[255:224],  // psum_addr
      regs[767:736],  // psum_cstep
      regs[383:352],  // in_scale
      regs[607:576],  // out_scale
      regs[639:608],  // act_p0
      regs[671:640],  // act_p1
      regs[703:672],  // act_p2
      regs[735:704]  // act_p3
    };
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
    alu_task = {
      regs[1253:1249],  // op
      regs[1255:1254],  // p_kind
      regs[1257:1256],  // q_kind
      regs[1258],  // dup
      regs[1283:1280],  // act
      regs[1079:1056],  // count
      regs[1103:1088],  // rows
      regs[1119:1104],  // planes
      regs[799:768],  // a_addr
      regs[831:800],  // a_rstep
      regs[863:832],  // a_pstep
      regs[895:864],  // b_addr
      regs[927:896],  // b_rstep
      regs[959:928],  // b_pstep
      regs[991:960],  // o_addr
      regs[1023:992],  // o_rstep
      regs[1055:1024],  // o_pstep
      regs[1151:1120],  // p
      regs[1183:1152],  // q
      regs[1215:1184],  // p_addr
      regs[1247:1216],  // q_addr
      regs[1343:1312],  // act_p0
      regs[1375:1344],  // act_p1
      regs[1407:1376],  // act_p2
      regs[1439:1408]  // act_p3
    };
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
    pool_task = {
      (regs[1954:1953] == 2'd1),  // avg
      regs[1955],  // int8
      regs[1956],  // exclude
      regs[1831:1824],  // kw
      regs[1839:1832],  // kh
      regs[1847:1840],  // sw
      regs[1855:1848],  // sh
      regs[1863:1856],  // pad_l
      regs[1871:1864],  // pad_t
      regs[1743:1728],  // iw
      regs[1759:1744],  // ih
      regs[1775:1760],  // ow
      regs[1791:1776],  // oh
      regs[1807:1792],  // c
      regs[1567:1536],  // ifm_addr
      regs[1599:1568],  // ifm_cstep
      regs[1631:1600],  // ifm_rstep
      regs[1663:1632],  // ofm_addr
      regs[1695:1664],  // ofm_cstep
      regs[1727:1696],  // ofm_rstep
      regs[1919:1888],  // recip
      regs[1951:1920]  // tab_addr
    };
  endfunction
