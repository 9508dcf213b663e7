/* env.c - the table of tests, and functions that their executors share. */
#include "tests.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

/*
 * Seconds of CPU time before the first snapshot. A snapshot costs some milliseconds, so a snapshot for every case of a
 * few milliseconds would dominate the time of many tests; repeating such a short case costs almost nothing.
 */
#define SNAP_DELAY 0.25

/* Parameter EnInt16 of this build; a device with RTL says so itself. */
#ifdef NPU_CFG_ENINT16
#define INT16 (NPU_CFG_ENINT16 != 0)
#else
#define INT16 false
#endif

#define TEST(name) &tc_##name,
#define OPERATOR TEST
const tc_test *const tc_tests[] = {
#include "designs/npu/tests.def"
};
const size_t tc_test_count = sizeof tc_tests / sizeof tc_tests[0];

const char *const tc_bus_names[TC_BUS_COUNT] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};
const uint32_t tc_writes_weight[2] = {3, 1};

const tc_test *tc_test_find(const char *name) {
    for (size_t i = 0; i < tc_test_count; i++) {
        if (strcmp(tc_tests[i]->name, name) == 0) {
            return tc_tests[i];
        }
    }
    return NULL;
}

static const npu_dev_failure *device_failure(const tc_run *run) {
    const npu_dev_failure *f = run->dev != NULL ? npu_dev_get_failure(run->dev) : NULL;
    return f != NULL && f->signature[0] != '\0' ? f : NULL;
}

/* A failure of the device takes precedence: it is the cause of later ones of driver and executor. */
static bool take_device_failure(tc_run *run) {
    const npu_dev_failure *f = device_failure(run);
    if (f == NULL) {
        return false;
    }
    tb_result_fail(run->result, TB_FAIL, f->signature, "%s", f->message);
    return true;
}

void tc_fail(tc_run *run, const char *signature, const char *format, ...) {
    char text[400];
    va_list args;
    if (take_device_failure(run)) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tb_result_fail(run->result, TB_FAIL, signature, "%s", text);
}

void tc_driver_failed(tc_run *run, const char *what, npu_status got, npu_status want) {
    char signature[96];
    snprintf(signature, sizeof signature, "driver: %s: %s", what, npu_strerror(got));
    if (run->share != NULL && run->share->may_fail) {
        run->share->answer = run->share->answer == NPU_OK ? got : run->share->answer;
    } else if (got == NPU_ERR_TIMEOUT) {
        npu_dev_check_hang(run->dev); /* the device's failure has more information than the driver's */
    }
    if (got == NPU_ERR_BUS || got == NPU_ERR_DEVICE) {
        tc_fail(run, signature, "%s: the driver returned \"%s\" (ERR = 0x%02X), expected \"%s\"", what,
                npu_strerror(got), run->npu.last_err, npu_strerror(want));
    } else {
        tc_fail(run, signature, "%s: the driver returned \"%s\", expected \"%s\"", what, npu_strerror(got),
                npu_strerror(want));
    }
}

bool tc_ok(const tc_run *run) {
    return run->result->outcome == TB_PASS && device_failure(run) == NULL;
}

/* A register access of the RTL. An illegal hit fails the case at its end. */
static void count_access(void *ctx, bool write, uint32_t offset, uint32_t value, unsigned busy) {
    tc_run *run = (tc_run *)ctx;
    char what[400];
    if (npu_cov_access(run->cov, write, offset, value, busy, what, sizeof what) > 0) {
        tc_fail(run, "illegal coverage", "illegal bin hit: %s", what);
    }
}

static int open_device(tc_run *run, const char *bus, uint64_t device_seed, uint64_t ddr_bytes) {
    char dump[1100];
    run->devices++;
    snprintf(dump, sizeof dump, run->devices == 1 ? "%.1000s" : "%.1000s/device-%u", run->dump != NULL ? run->dump : "",
             run->devices);
    const npu_dev_cfg cfg = {.kind = run->setup.kind,
                             .n = run->n,
                             .int16 = INT16,
                             .seed = device_seed,
                             .have_init_seed = run->setup.have_init_seed,
                             .init_seed = run->setup.init_seed,
                             .plusargs = run->setup.plusargs,
                             .no_checks = run->setup.no_checks,
                             .bus_profile = bus,
                             .wave = run->wave,
                             .fail_wave = run->fail_wave,
                             .fail_wave_delay = run->snap_early ? 0 : SNAP_DELAY,
                             .wave_window = run->wave_window,
                             .dump = run->dump != NULL ? dump : NULL,
                             .ddr_bytes = ddr_bytes,
                             .scatter = run->test->is_operator && tb_mix64(device_seed) % 4 == 0,
                             .max_cycles = run->setup.max_cycles,
                             .poison_reads = true,
                             .explain = run->explain,
                             .on_access = run->cov != NULL ? count_access : NULL,
                             .access_ctx = run};
    if (bus != NULL && tb_axi_profile_find(bus) == NULL) {
        return opt_fail(run->err, sizeof run->err, "bus profile %s is unknown to the testbench", bus);
    }
    run->dev = npu_dev_open(&cfg, run->err, sizeof run->err);
    if (run->dev == NULL) {
        return -1;
    }
    if (run->cov != NULL) {
        npu_cov_power_up(run->cov);
    }
    if (run->perf) {
        npu_dev_perf_start(run->dev, run->perf_window);
    }
    npu_dev_inject_broken(run->dev, &run->setup.broken);
    return 0;
}

int tc_open(tc_run *run, uint64_t ddr_bytes, uint32_t timeout_us) {
    const tb_knobs *k = run->knobs;
    const npu_wait wait = tb_knobs_find(k, "wait") >= 0 ? (npu_wait)tb_knobs_get(k, "wait") : NPU_WAIT_POLL;
    const char *bus = tb_knobs_get(k, "writes") != 0 ? "writes" : tb_knobs_get_name(k, "bus");
    if (run->dev != NULL) { /* shared */
        npu_dev_alloc_reset(run->dev);
    } else if (open_device(run, bus, (uint64_t)tb_knobs_get(k, "dseed"), ddr_bytes) != 0) {
        return -1;
    }
    const uint32_t patience = run->share != NULL && run->share->timeout_us != 0 ? run->share->timeout_us : timeout_us;
    npu_status status = npu_init(&run->npu, npu_dev_hal(run->dev), wait, patience);
    if (status != NPU_OK) {
        tc_driver_failed(run, "npu_init", status, NPU_OK);
        return -1;
    }
    if (run->npu.n != run->n) {
        tc_fail(run, "config: MESH_N", "CONFIG.MESH_N reads %u, expected %u", run->npu.n, run->n);
        return -1;
    }
    if (run->share != NULL && run->share->opened != NULL) {
        run->share->opened(run, run->share->ctx);
    }
    return 0;
}

/* The time series outlives the device. */
static void take_series(tc_run *run) {
    const npu_dev_perf_window *windows;
    const size_t count = npu_dev_perf_stop(run->dev, &windows);
    free(run->series);
    run->series = count > 0 ? malloc(count * sizeof *windows) : NULL;
    run->stats.series = run->series;
    run->stats.series_count = run->series != NULL ? count : 0;
    if (run->series != NULL) {
        memcpy(run->series, windows, count * sizeof *windows);
    }
}

/* The statistics of the buses, too. */
static char *bus_stats(const npu_dev *dev, bool json) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = rep_memory(&text, &size);
    if (f != NULL) {
        npu_dev_bus_stats(dev, json, f);
        fclose(f);
    }
    return text;
}

/* The case failed before its first snapshot: execute it once more with a snapshot at the beginning. 0, or -1 with one
 * line in run->no_wave. */
static int repeat_for_wave(tc_run *run) {
    tb_result result;
    tb_result_init(&result);
    tc_run again = {.test = run->test,
                    .n = run->n,
                    .seed = run->seed,
                    .knobs = run->knobs,
                    .setup = run->setup,
                    .fail_wave = run->fail_wave,
                    .snap_early = true,
                    .wave_window = run->wave_window,
                    .result = &result};
    int rc = -1;
    snprintf(run->no_wave, sizeof run->no_wave, "stopped by a signal before the first snapshot");
    if (tb_sim_signal() == 0) {
        (void)again.test->execute(&again); /* ends early if the device fails in its reset */
        tc_close(&again);
        const bool failed = result.outcome != TB_PASS;
        rc = failed && again.no_wave[0] == '\0' ? 0 : -1;
        snprintf(run->no_wave, sizeof run->no_wave, "%s", failed ? again.no_wave : "the failure did not occur again");
    }
    free(again.series);
    free(again.hang);
    tb_result_free(&result);
    return rc;
}

static int try_fail_wave(tc_run *run) {
    if (run->folder != NULL && tb_make_folder(run->folder, run->no_wave, sizeof run->no_wave) != 0) {
        return -1;
    }
    const int rc = npu_dev_fail_wave(run->dev, run->no_wave, sizeof run->no_wave);
    return rc == 1 ? repeat_for_wave(run) : rc;
}

static void write_fail_wave(tc_run *run) {
    char *err = run->no_wave;
    if (try_fail_wave(run) != 0) {
        if (!run->snap_early) { /* else the repeated run prints it */
            fprintf(stderr, "no waveform: %s\n", err);
        }
        return;
    }
    err[0] = '\0';
    if (run->folder == NULL) { /* a report is moved to its folder as a whole, and then prints the name */
        tb_kv_set(&run->result->extra, "wave", run->fail_wave);
    }
}

static void finish_dump(tc_run *run) {
    char err[512];
    const int rc = npu_dev_dump_finish(run->dev, err, sizeof err);
    if (rc < 0) {
        tb_result_fail(run->result, TB_ERROR, "dump", "%s", err);
    }
    if (rc != 0) {
        fprintf(stderr, "tensor log: %s\n", err);
    }
}

/* Only of a device without failure: a failing one proves nothing. */
static void count_ports(tc_run *run) {
    char what[400];
    for (unsigned i = 0; i < 2 && run->result->outcome == TB_PASS; i++) {
        const tb_axi_monitor *mon = npu_dev_bus_monitor(run->dev, i);
        if (mon != NULL && npu_cov_port(run->cov, i == 0 ? "m0" : "m1", mon, what, sizeof what) > 0) {
            tc_fail(run, "illegal coverage", "illegal bin hit: %s", what);
        }
    }
}

void tc_close(tc_run *run) {
    if (run->dev == NULL) {
        return;
    }
    if (run->perf) {
        take_series(run);
    }
    if (!npu_dev_finish(run->dev)) {
        take_device_failure(run);
    }
    const char *hang = npu_dev_hang_text(run->dev);
    if (hang != NULL && run->hang == NULL) {
        run->hang = strdup(hang);
    }
    run->failure = *npu_dev_get_failure(run->dev);
    if (run->fail_wave != NULL && run->result->outcome != TB_PASS) {
        write_fail_wave(run);
    }
    if (run->bus) {
        free(run->bus_text);
        free(run->bus_json);
        run->bus_text = bus_stats(run->dev, false);
        run->bus_json = bus_stats(run->dev, true);
    }
    if (run->cov != NULL) {
        count_ports(run);
    }
    run->stats.has_time = run->setup.kind != NPU_DEV_MODEL;
    run->result->cycles += npu_dev_cycles(run->dev);
    run->result->trace_hash = tb_hash_u64(run->result->trace_hash, npu_dev_trace_hash(run->dev));
    finish_dump(run);
    npu_dev_close(run->dev);
    run->dev = NULL;
}

bool tc_read(tc_run *run, uint32_t offset, uint32_t *value) {
    const npu_hal *hal = npu_dev_hal(run->dev);
    *value = 0;
    if (hal->reg_read(hal->ctx, offset, value) == NPU_HAL_OK) {
        return true;
    }
    tc_fail(run, "register read failed", "register 0x%03X: the response of the read was not OKAY", offset);
    return false;
}

bool tc_write(tc_run *run, uint32_t offset, uint32_t value) {
    const npu_hal *hal = npu_dev_hal(run->dev);
    if (hal->reg_write(hal->ctx, offset, value) == NPU_HAL_OK) {
        return true;
    }
    tc_fail(run, "register write failed", "register 0x%03X: the response of the write was not OKAY", offset);
    return false;
}

bool tc_expect(tc_run *run, const char *name, uint32_t offset, uint32_t mask, uint32_t want) {
    uint32_t value = 0;
    if (!tc_read(run, offset, &value)) {
        return false;
    }
    if ((value & mask) != (want & mask)) {
        char signature[96];
        snprintf(signature, sizeof signature, "register %s", name);
        tc_fail(run, signature, "%s (0x%03X) reads 0x%08X, expected 0x%08X in the bits 0x%08X", name, offset, value,
                want & mask, mask);
        return false;
    }
    return true;
}

int tc_no_memory(tc_run *run) {
    return opt_fail(run->err, sizeof run->err, "%s: out of memory", run->test->name);
}

int tc_check(const tc_test *test, uint32_t n, const tb_knobs *knobs, char *err, size_t err_size) {
    return test->check != NULL ? test->check(n, knobs, err, err_size) : 0;
}

int tc_generate(const tc_test *test, uint32_t n, uint64_t seed, bool plain, tb_knobs *knobs, char *err,
                size_t err_size) {
    if (test->generate != NULL) {
        test->generate(&(tc_gen){.knobs = knobs, .seed = seed, .n = n, .plain = plain});
    } else {
        tb_knobs_draw(knobs, seed);
    }
    return tc_check(test, n, knobs, err, err_size);
}
