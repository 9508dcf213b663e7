/* dut: npu_regs */
/* The register file of an NPU with all its units. */
#include "regs_bench.h"

static int run(unit *u) {
    return regs_bench_run(u, true, true);
}

UNIT_BENCH("npu_regs", "register file: accesses, task start, interrupts, counters, soft reset", regs_bench_knobs,
           .constrain = regs_bench_constrain);
