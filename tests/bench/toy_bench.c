/*
 * toy_bench.c - a bench without a Verilated design, for the tests of the benches' command line: it fails when its knobs
 * say so.
 */
#include "../../testcases/npu/unit/bench.h"

#include <stdlib.h>

typedef struct toy {
    uint8_t clk_i, rst_ni;
} toy;

static void *create(const char *const *plusargs, uint64_t init_seed) {
    (void)plusargs;
    (void)init_seed;
    return calloc(1, sizeof(toy));
}

static void destroy(void *inst) {
    free(inst);
}

static void ports(void *inst, tb_shim_port *out) {
    toy *t = (toy *)inst;
    out[0] = (tb_shim_port){.name = "clk_i", .width = 1, .input = true, .ptr = &t->clk_i};
    out[1] = (tb_shim_port){.name = "rst_ni", .width = 1, .input = true, .ptr = &t->rst_ni};
}

static void eval(void *inst) {
    (void)inst;
}

static bool finished(void *inst) {
    (void)inst;
    return false;
}

static const char *assert_message(void *inst) {
    (void)inst;
    return NULL;
}

const tb_shim *tb_shim_get(void) {
    static const tb_shim shim = {.top = "toy",
                                 .nports = 2,
                                 .create = create,
                                 .destroy = destroy,
                                 .ports = ports,
                                 .eval = eval,
                                 .finished = finished,
                                 .assert_message = assert_message};
    return &shim;
}

enum { RANDOM, IDEAL };
static const char *const pace_names[] = {"random", "ideal"};
static const tb_knob knobs[] = {
    {"pace", 0, 1, TB_KNOB_ENUM, pace_names, NULL, "ideal: fails when loops is above 2"},
    {"loops", 1, 9, TB_KNOB_UNIFORM, NULL, NULL, "turns"},
    {"blind", 0, 1, TB_KNOB_WEIGHTED, NULL, (const uint32_t[]){1, 0}, "1: nothing is checked"},
};

static int run(unit *u) {
    unit_reset(u);
    for (int64_t i = 0; i < unit_knob(u, "loops") && unit_edge(u); i++) {
    }
    if (unit_ok(u) && unit_knob(u, "pace") == IDEAL && unit_knob(u, "loops") > 2) {
        unit_fail(u, "loops", "%d turns at the pace ideal", (int)unit_knob(u, "loops"));
    }
    u->compared = unit_knob(u, "blind") == 0;
    return 0;
}

const unit_bench unit_this_bench = {.name = "toy",
                                    .about = "for tests of the command line",
                                    .knobs = knobs,
                                    .knob_count = sizeof knobs / sizeof *knobs,
                                    .run = run};
