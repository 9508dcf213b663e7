/* dut: npu_regs */
/* The register file of an NPU with all its units. */
#include "regs_bench.h"

static int run(unit *u) {
    return regs_bench_run(u, true, true);
}

const unit_bench unit_this_bench = {.name = "npu_regs",
                                    .about = "register file: accesses, task start, interrupts, counters, soft reset",
                                    .knobs = regs_bench_knobs,
                                    .nknobs = REGS_BENCH_KNOBS,
                                    .constrain = regs_bench_constrain,
                                    .run = run};
