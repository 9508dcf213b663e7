/* sgemm.c - random GEMMs through the driver. */
#include <inttypes.h>
#include <string.h>

#include "tests.h"

/* Does the processor compute it? */
static uint32_t min_dim(const tb_knobs *k, uint32_t i) {
    const int64_t cpu = tb_knobs_get(k, "cpu");
    return cpu == 0 ? 0 : cpu == 1 ? (i % 2 == 0 ? 5 : 0) : 0x7FFFFFFF;
}

/* The status that the driver must return: with an injected error it may be that of a bus error. */
static bool status_right(test_bench *t, sgemm_status got, const uint64_t before[2][2], bool *stop) {
    bool error = false;
    for (unsigned port = 0; port < 2; port++) {
        const tb_axi_slave *slave = &t->dev->run.port[SGEMM_PORT_M0 + port]->slave;
        error = error || slave->errors[0] != before[port][0] || slave->errors[1] != before[port][1];
    }
    const sgemm_status expected = error ? SGEMM_ERR_BUS : SGEMM_OK;
    *stop = error;
    if (got != expected && !tb_run_failed(&t->dev->run)) {
        tb_run_fail(&t->dev->run, "driver:status", "the driver answered \"%s\", expected \"%s\"", sgemm_strerror(got),
                    sgemm_strerror(expected));
    }
    return got == expected;
}

static void inject(test_bench *t, const tb_knobs *k) {
    const int64_t error = tb_knobs_get(k, "error");
    if (error != 0) {
        const unsigned port = error == 1 ? SGEMM_PORT_M0 : SGEMM_PORT_M1;
        const uint8_t resp = (t->run->seed & 1) != 0 ? TB_AXI_DECERR : TB_AXI_SLVERR;
        tb_axi_slave_inject_as(&t->dev->run.port[port]->slave, error == 3 ? 1 : 0,
                               (uint64_t)tb_knobs_get(k, "error_at"), resp, error == 3 ? 0 : TB_AXI_ANY_BEAT);
    }
}

/* The GEMMs of the case, up to the first that meets a bus error. */
static void run_case(test_bench *t) {
    const tb_knobs *k = t->run->knobs;
    const uint32_t gemms = (uint32_t)tb_knobs_get(k, "gemms");
    const bool queued = tb_knobs_get(k, "queued") != 0;
    uint64_t before[2][2];
    gemm prev = {0};
    bool stop = false;
    inject(t, k);
    for (unsigned port = 0; port < 2; port++) {
        memcpy(before[port], t->dev->run.port[SGEMM_PORT_M0 + port]->slave.errors, sizeof before[port]);
    }
    for (uint32_t i = 0; i < gemms && !stop && !tb_run_failed(&t->dev->run); i++) {
        const gemm g = gemm_make(t->run->seed, k, i, i > 0 ? &prev : NULL);
        const sgemm_limits l = gemm_limits(k, &g);
        gemm_fill(t->dev, &g);
        sgemm_set_limits(&t->drv, &l);
        t->drv.min_dim = min_dim(k, i);
        sgemm_status status = sgemm_submit(&t->drv, &g.x);
        prev = g;
        if (status == SGEMM_OK && queued && i + 1 < gemms) {
            continue;
        }
        const sgemm_status waited = sgemm_wait(&t->drv);
        status = status == SGEMM_OK ? waited : status;
        if (!status_right(t, status, before, &stop) || !sgemm_device_compare(t->dev)) {
            return;
        }
    }
}

static int body(void *bench, tb_prog_run *run) {
    test_bench t;
    test_begin(&t, bench, run);
    if (!tb_run_failed(&t.dev->run)) {
        run_case(&t);
    }
    return 0;
}

const tb_test test_sgemm = {.name = "sgemm",
                            .about = "random GEMMs through the driver",
                            .is_operator = true,
                            .knobs = gemm_knobs,
                            .knob_count = GEMM_KNOBS,
                            .constrain = gemm_constrain,
                            .check = gemm_check,
                            .size = gemm_size,
                            .bench = &sgemm_bench,
                            .body = body};
