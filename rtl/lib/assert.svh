// Assertion macros. Checked at each rising edge of clk_i while rst_ni is high; a failure prints the instance path and
// the name and stops the simulation. Yosys does not read them, and code coverage does not count them. They are
// processes rather than assertion properties because Verilator 5.006 warns about a reset that is both asynchronous and
// the condition of a `disable iff`.
//
// ASSERT(Name, Expr)                  Expr must hold
// ASSERT_COMB(Name, Expr)             Expr must hold whenever it changes (units without a clock)
// ASSERT_STABLE(Name, Valid, Ready, Data)
//                                     after Valid without Ready, Valid and Data are stable. A unit with a synchronous
//                                     clear passes (Ready || Clear) as Ready. It has registers of its own, because a
//                                     simulator copies the operands of $past in every evaluation.
// ASSERT_ONEHOT0(Name, Vec)           at most one bit of Vec is 1
`ifndef ASSERT_SVH
`define ASSERT_SVH

`ifdef YOSYS
`define ASSERT(Name, Expr)
`define ASSERT_COMB(Name, Expr)
`define ASSERT_STABLE(Name, Valid, Ready, Data)
`define ASSERT_ONEHOT0(Name, Vec)
`else
`define ASSERT(Name, Expr) \
  /*verilator coverage_off*/ \
  always @(posedge clk_i or negedge rst_ni) begin \
    if (Expr) begin \
    end else if (rst_ni) begin \
      $error("%m: assertion %s failed", `"Name`"); \
    end \
  end \
  /*verilator coverage_on*/
`define ASSERT_COMB(Name, Expr) \
  /*verilator coverage_off*/ \
  always_comb begin \
    if (!(Expr)) $error("%m: assertion %s failed", `"Name`"); \
  end \
  /*verilator coverage_on*/
`define ASSERT_STABLE(Name, Valid, Ready, Data) \
  logic Name``_waits_q; \
  logic [$bits(Data)-1:0] Name``_held_q; \
  /*verilator coverage_off*/ \
  always @(posedge clk_i or negedge rst_ni) begin \
    if (!rst_ni) begin \
      Name``_waits_q <= 1'b0; \
    end else if (Name``_waits_q) begin \
      if (!(Valid) || Name``_held_q != (Data)) \
        $error("%m: assertion %s failed: %s, %s until %s", `"Name`", `"Valid`", `"Data`", `"Ready`"); \
      Name``_waits_q <= !(Ready); \
    end else if ((Valid) && !(Ready)) begin \
      Name``_waits_q <= 1'b1; \
      Name``_held_q <= Data; \
    end \
  end \
  /*verilator coverage_on*/
`define ASSERT_ONEHOT0(Name, Vec) `ASSERT(Name, ((Vec) & ((Vec) - 1'b1)) == '0)
`endif

`endif
