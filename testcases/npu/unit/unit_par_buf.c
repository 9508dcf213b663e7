/* dut: par_buf */
#include "ram_bench.h"

static const ram_desc desc = {.depth = 256,
                              .bytes = 16,
                              .write = {{"waddr0_i", "wdata0_i"}, {"waddr1_i", "wdata1_i"}},
                              .enables = 2,
                              .addr = {"raddr0_i", "raddr1_i"}};

static int run(unit *u) {
    return ram_bench_run(u, &desc);
}

UNIT_BENCH("par_buf", "output scales and biases: two memories, two read ports", ram_bench_knobs,
           .constrain = ram_bench_constrain, .no_reset = true);
