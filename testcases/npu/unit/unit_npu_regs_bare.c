/* dut: npu_regs params: -GEnAlu=0 -GEnPool=0 */
/*
 * The register file of an NPU without ALU and POOL: their starts are errors, their inputs do not matter. Else as unit_npu_regs.c.
 */
#include "regs_bench.h"

static int run(unit *u) {
    return regs_bench_run(u, false, false);
}

const unit_bench unit_this_bench = {.name = "npu_regs_bare",
                                    .about = "register file of an NPU without ALU and POOL",
                                    .knobs = regs_bench_knobs,
                                    .nknobs = REGS_BENCH_KNOBS,
                                    .constrain = regs_bench_constrain,
                                    .run = run};
