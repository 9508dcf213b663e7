// Assertion macros. Checked at each rising edge of clk_i while rst_ni is high; a failure prints the instance path and
// the name and stops the simulation. Yosys does not read them, and code coverage does not count them. They are
// processes rather than assertion properties because Verilator 5.006 warns about a reset that is both asynchronous and
// the condition of a `disable iff`.
//
// ASSERT(Name, Expr)                  Expr must hold
// ASSERT_COMB(Name, Expr)             Expr must hold whenever it changes (units without a clock)
// ASSERT_STABLE(Valid, Ready, Data)   after Valid without Ready, Valid and Data are stable. A unit with a synchronous
//                                     clear passes (Ready || Clear) as Ready.
// ASSERT_ONEHOT0(Name, Vec)           at most one bit of Vec is 1
`ifndef ASSERT_SVH
`define ASSERT_SVH

`ifdef YOSYS
`define ASSERT(Name, Expr)
`define ASSERT_COMB(Name, Expr)
`define ASSERT_STABLE(Valid, Ready, Data)
`define ASSERT_ONEHOT0(Name, Vec)
`else
`define ASSERT(Name, Expr) \
  /*verilator coverage_off*/ \
  always @(posedge clk_i or negedge rst_ni) begin \
    if (!rst_ni) begin \
    end else if (!(Expr)) begin \
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
`define ASSERT_STABLE(Valid, Ready, Data) \
  /*verilator coverage_off*/ \
  always @(posedge clk_i or negedge rst_ni) begin \
    if (!rst_ni) begin \
    end else if ($past((Valid) && !(Ready) && rst_ni) && (!(Valid) || $past(Data) != (Data))) begin \
      $error("%m: assertion stable failed: %s, %s until %s", `"Valid`", `"Data`", `"Ready`"); \
    end \
  end \
  /*verilator coverage_on*/
`define ASSERT_ONEHOT0(Name, Vec) `ASSERT(Name, ((Vec) & ((Vec) - 1'b1)) == '0)
`endif

`endif
