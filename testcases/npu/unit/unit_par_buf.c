/* dut: par_buf */
#include "ram_bench.h"

static const ram_desc desc = {
    .depth = 256,
    .bytes = 16,
    .write = {{"we_i", 0, "waddr0_i", "wdata0_i", 0}, {"we_i", 1, "waddr1_i", "wdata1_i", 1}},
    .enable = {{"re_i", 0}, {"re_i", 1}},
    .addr = {"raddr0_i", "raddr1_i"},
    .read = {{"oscale0_o", 0, 0, 0}, {"bias0_o", 1, 0, 0}, {"oscale1_o", 0, 1, 1}, {"bias1_o", 1, 1, 1}},
};

static int run(unit *u) {
    return ram_bench_run(u, &desc);
}

const unit_bench unit_this_bench = {.name = "par_buf",
                                    .about = "output scales and biases: two memories, two read ports",
                                    .knobs = ram_bench_knobs,
                                    .nknobs = RAM_BENCH_KNOBS,
                                    .constrain = ram_bench_constrain,
                                    .run = run,
                                    .no_reset = true};
