/* dut: npu_regs params: -GEnAlu=0 -GEnPool=0 */
/*
 * The register file of an NPU without ALU and POOL: their starts are errors, their inputs are ignored. Otherwise like
 * unit_npu_regs.c.
 */
#include "regs_bench.h"

static int run(unit *u) {
    return regs_bench_run(u, false, false);
}

UNIT_BENCH("npu_regs_bare", "register file of an NPU without ALU and POOL", regs_bench_knobs,
           .constrain = regs_bench_constrain);
