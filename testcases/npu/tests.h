/*
 * tests.h - the tests of the whole NPU: a table of generators and executors, and functions that executors share.
 *
 * A case is a test, a configuration, a seed and the value of every knob of the test (docs/architecture.md section 2).
 * The generator fills the knobs; the executor reads nothing but the case.
 */
#ifndef TESTCASES_TESTS_H
#define TESTCASES_TESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coverage/npu/npu_cov.h"
#include "device.h"
#include "npu.h"
#include "tb.h"

/*
 * Minimum work of an operator, however it is split into tasks: each executor fills it from the shape. The report prints
 * the lower bound of the time and the measured time.
 */
typedef struct tc_bounds {
    const char *op; /* "conv", "max pooling", ..; NULL: not filled */
    /* cycles of the mesh with all PEs active: MACs / (2*N*N), rounded up; 0 if the mesh is not used */
    uint64_t mac_cycles;
    uint64_t read_bytes;  /* every operand once, weights and factors included */
    uint64_t write_bytes; /* the result once */
} tc_bounds;

/* Measurements of an executor, for `tandem run`. */
typedef struct tc_stats {
    bool measured;
    char what[256];  /* the operator, in one line */
    char tasks[128]; /* its split into tasks */
    uint64_t cycles; /* clock cycles from the first register access of the operator to the last; 0 without RTL */
    uint64_t macs;   /* multiply-accumulates of the operator */
    tc_bounds bounds;
    uint64_t perf[NPU_PERF_COUNT]; /* performance counters, docs/npu/npu.md section 5 */
    bool has_time;                 /* the following two: RTL took part */
    /* CPU time of those cycles in the model of the RTL and around it; both without the golden model's */
    double rtl_s, harness_s;
    const npu_dev_perf_window *series; /* --perf: the time series, owned by tc_run; NULL: not sampled */
    size_t series_count;
} tc_stats;

struct tc_test;

/* Settings of an execution that are not part of the case: a repeated run must have the same. */
typedef struct tc_setup {
    npu_dev_kind kind;
    uint64_t max_cycles; /* a device that runs longer fails with host:cycles; 0: no limit */
    npu_dev_broken broken;
    bool have_init_seed; /* the initial state of registers and memories has this seed, else that of the case */
    uint64_t init_seed;
    const char *const *plusargs; /* for the design, NULL-terminated, or NULL */
    bool no_checks;              /* of the units */
} tc_setup;

/*
 * Several executions on one device, one after the other, for a test that runs other tests
 * (testcases/npu/operator/faults.c): tc_open() resets the device instead of opening one, and the outer test checks the
 * driver's status.
 */
struct tc_run;
typedef struct tc_share {
    uint32_t timeout_us; /* of the driver; 0: the value of the executor */
    /* called after the start of the driver, before the executor continues; or NULL */
    void (*opened)(struct tc_run *run, void *ctx);
    void *ctx;
    bool may_fail;     /* the driver may return an error */
    npu_status answer; /* the first error; NPU_OK: none */
} tc_share;

/* One case in execution. */
typedef struct tc_run {
    const struct tc_test *test;
    uint32_t n;            /* mesh size */
    uint64_t seed;         /* of the case */
    const tb_knobs *knobs; /* of the case */
    tc_setup setup;
    const char *wave;      /* FST file or NULL */
    const char *fail_wave; /* FST file around a failure, or NULL */
    /* its first snapshot when the device is opened; else after some time, and a case that fails before is repeated */
    bool snap_early;
    /* folder for tensor logs, or NULL; a further device of the case has a folder device-<number> in it */
    const char *dump;
    unsigned devices;     /* opened so far */
    uint64_t wave_window; /* its cycles before the failure; 0: the device's default */
    bool perf;            /* sample the debug port */
    uint32_t perf_window; /* cycles of a window, 0: automatic */
    tb_result *result;
    npu_dev *dev;    /* open between tc_open() and tc_close() */
    npu npu;         /* the driver's device */
    tc_share *share; /* NULL: every execution opens a device */
    tc_stats stats;
    npu_dev_perf_window *series;
    npu_cov *cov;              /* --cov: the traffic of the ports is counted when a device is closed; NULL: it is not */
    bool bus;                  /* keep statistics of the buses: */
    char *bus_text, *bus_json; /* of the last device that was closed, or NULL */
    char *hang;                /* the device's report on a hang, or NULL */
    char err[512];             /* why the case could not be run */
    /* of a failure */
    const char *folder;          /* made before fail_wave is written, or NULL */
    struct npu_explain *explain; /* filled with the device's record of the failure, or NULL */
    npu_dev_failure failure;     /* the device's, after tc_close() */
    char no_wave[256];           /* why fail_wave was not written; empty: it was */
} tc_run;

/* State of a generator of cases: knobs, of which some may be pinned. Helpers: gen_*() of operator/tensor.h. */
typedef struct tc_gen {
    tb_knobs *knobs;
    uint64_t seed;
    uint32_t n;
    /*
     * Knobs that are not part of the operator itself (splits, bus timing, a second run) get their simplest values
     * instead of being drawn.
     */
    bool plain;
    const char *channels; /* the knob that is ic, oc and groups; NULL: each of them is one */
} tc_gen;

typedef struct tc_test {
    const char *name;
    const char *help; /* one line */
    bool is_operator; /* can be used with `tandem run` */
    const tb_knob *knobs;
    size_t knob_count;
    /* Fill every knob that is not pinned. NULL: each is drawn independently. */
    void (*generate)(const tc_gen *g);
    /* Can these knobs be executed? -1 with one line: no. NULL: all can. */
    int (*check)(uint32_t n, const tb_knobs *knobs, char *err, size_t err_size);
    const struct tensor_kind *kind; /* for tensor_execute(): an operator on tensors (operator/tensor.h) */
    /* Execute. Failures go into run->result. -1 with run->err: it could not be run. */
    int (*execute)(tc_run *run);
    /* For shrinking; NULL: not known. Roughly the clock cycles and the MACs of a case that check() accepts. */
    tb_shrink_size (*size)(uint32_t n, const tb_knobs *knobs);
    /* For shrinking; NULL: there is none. Set the knobs that only repeat what others say. */
    void (*settle)(tb_knobs *knobs);
} tc_test;

#define TEST(name) extern const tc_test tc_##name;
#define OPERATOR TEST
#include "designs/npu/tests.def"
#undef TEST
#undef OPERATOR

extern const tc_test *const tc_tests[];
extern const size_t tc_test_count;
/* By name; NULL: unknown. */
const tc_test *tc_test_find(const char *name);

/* ---- for executors (env.c) ---- */

/* Names of the bus profiles of tb_axi_profiles, for an ENUM knob. */
#define TC_BUS_COUNT 6
extern const char *const tc_bus_names[TC_BUS_COUNT];
/* The knob `writes` of tests whose results can come faster than memory takes them. */
extern const uint32_t tc_writes_weight[2];
#define TC_WRITES_HELP "1: instead of `bus`, a memory that reads at once and hardly takes writes"

/*
 * Open the device (or start the shared one over) and start the driver on it, as the knobs `bus` (or `writes`), `dseed`
 * and `wait` ask for; without `wait` the driver polls. 0; -1 with run->err (could not run) or with a failure in
 * run->result.
 */
int tc_open(tc_run *run, uint64_t ddr_bytes, uint32_t timeout_us);
/* End checks, cycles and trace hash into run->result, device closed. Safe when nothing is open. */
void tc_close(tc_run *run);
/* Note a failure: stable signature, then one line. The device's own failure, if it has one, takes precedence. */
void tc_fail(tc_run *run, const char *signature, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Say in run->err that memory has run out. -1. */
int tc_no_memory(tc_run *run);
/* Note that the driver returned `got`, and `want` was expected. */
void tc_driver_failed(tc_run *run, const char *what, npu_status got, npu_status want);
/* Nothing failed so far, on the device and in the executor. */
bool tc_ok(const tc_run *run);
/* Register access of directed tests through the HAL; false: it failed, noted. */
bool tc_read(tc_run *run, uint32_t offset, uint32_t *value);
bool tc_write(tc_run *run, uint32_t offset, uint32_t value);
/* Read a register and expect a value in the bits of the mask. */
bool tc_expect(tc_run *run, const char *name, uint32_t offset, uint32_t mask, uint32_t want);

/* The functions of a test, or defaults for those that are NULL. Generated cases are checked, because pinned knobs may
 * contradict each other. 0, or -1 with one line in err. */
int tc_generate(const tc_test *test, uint32_t n, uint64_t seed, bool plain, tb_knobs *knobs, char *err,
                size_t err_size);
int tc_check(const tc_test *test, uint32_t n, const tb_knobs *knobs, char *err, size_t err_size);

/* Value of a knob as it is used in sizes. */
static inline uint32_t tc_knob(const tb_knobs *knobs, const char *name) {
    return (uint32_t)tb_knobs_get(knobs, name);
}

#endif
