/* dut: ifm_buf */
#include "ram_bench.h"

static const ram_desc desc = {.depth = 16384,
                              .bytes = NPU_CFG_N,
                              .write = {{"waddr_i", "wdata_i"}},
                              .enables = 1,
                              .addr = {"raddr0_i", "raddr1_i"}};

static int run(unit *u) {
    return ram_bench_run(u, &desc);
}

UNIT_BENCH("ifm_buf", "input feature map buffer: one write, two reads", ram_bench_knobs,
           .constrain = ram_bench_constrain, .no_reset = true);
