/*
 * network.c - whole networks as Caffe computes them on the engine, in tandem: LeNet and the digits network on the
 * held-out digits, layers of SqueezeNet v1.1 at reduced size (network/tried.h).
 */
#include <inttypes.h>

#include "network/tried.h"
#include "network/sgemm/net_sgemm.h"
#include "opt/opt.h"
#include "tests.h"

static const char *const half_names[] = {"fp32", "half"};
static const uint32_t bus_weights[] = {4, 4, 4, 2, 3, 3};
static const tb_knob knobs[] = {
    NET_TRIED_KNOBS,
    {"half", 0, 1, TB_KNOB_ENUM, half_names, NULL, "operands rounded to binary16"},
    {"bus", 0, 5, TB_KNOB_ENUM, gemm_bus_names, bus_weights, "timing of the buses"},
};

/* Sums of at most 4,608 products in another order than the reference's; rounded operands are 2^-11 away each. */
#define BOUND_FP32 1e-5
#define BOUND_HALF 2e-3

static void run_network(test_bench *t) {
    const tb_knobs *k = t->run->knobs;
    const bool half = tb_knobs_get(k, "half") != 0;
    const net_sgemm_port port = net_sgemm_tandem(t->dev);
    net_sgemm engine;
    net_error err = {""};
    net_tried_result r = {0};
    const net_tried tried = {.target = &net_target_sgemm, .engine = &engine, .bound = half ? BOUND_HALF : BOUND_FP32};
    if (net_sgemm_init(&engine, &port, half, &err) != NET_OK || net_tried_run(&tried, k, t->run->seed, &r, &err) != 0) {
        tb_run_fail(&t->dev->run, "net:input", "%s", err.text);
    } else if (r.signature[0] != '\0') {
        tb_run_fail(&t->dev->run, r.signature, "%s", r.message);
    } else if (!t->run->again && !t->run->o->quiet) {
        printf("%s %s %s: %" PRIu64 " tasks, %" PRIu64 " cycles of the engine, %" PRIu64 " by the formula",
               tb_knobs_get_name(k, "net"), SGEMM_CFG_NAME, half ? "binary16 operands" : "FP32", r.tasks, r.cycles,
               r.expected);
        if (r.images > 0) {
            printf("; %u of %u images right, in FP32 %u", r.right, r.images, r.fp32_right);
        }
        printf("\n");
    }
}

static int body(void *bench, tb_prog_run *run) {
    test_bench t;
    test_begin(&t, bench, run);
    if (!tb_run_failed(&t.dev->run)) {
        run_network(&t);
    }
    return 0;
}

static void constrain(tb_knobs *k, uint64_t seed) {
    net_tried_constrain(k, seed);
    if (!gemm_mode_legal(tb_knobs_get(k, "half")) && !tb_knobs_is_pinned(k, "half")) {
        tb_knobs_set(k, "half", gemm_mode_legal(0) ? 0 : 1);
    }
}

static int check(const tb_test *test, const tb_knobs *k, char *err, size_t err_size) {
    (void)test;
    return gemm_mode_legal(tb_knobs_get(k, "half"))
               ? 0
               : opt_fail(err, err_size, "half=%s: configuration " SGEMM_CFG_NAME " has no such mode",
                          tb_knobs_get_name(k, "half"));
}

const tb_test test_network = {.name = "network",
                              .about = "LeNet, the digits network, layers of SqueezeNet as Caffe computes them",
                              .is_operator = true,
                              TB_KNOBS_OF(knobs),
                              .constrain = constrain,
                              .check = check,
                              .bench = &sgemm_bench,
                              .body = body};
