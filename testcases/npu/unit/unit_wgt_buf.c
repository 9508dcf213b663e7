/* dut: wgt_buf */
#include "ram_bench.h"

static const ram_desc desc = {.depth = 4608,
                              .bytes = NPU_CFG_N,
                              .has_reset = true,
                              .write = {{"waddr0_i", "wdata0_i"}, {"waddr1_i", "wdata1_i"}},
                              .enables = 1,
                              .addr = {"raddr_i"},
                              .bank_port = "rbank_i"};

static int run(unit *u) {
    return ram_bench_run(u, &desc);
}

UNIT_BENCH("wgt_buf", "weight buffer: two banks, each read and written in the same cycle", ram_bench_knobs,
           .constrain = ram_bench_constrain);
