/*
 * faults.c - fault injection while an operator runs: error responses, a memory channel that hangs or is slow, resets of
 * the NPU, reads and writes of its registers. It works with any operator's test, unchanged.
 *
 * Each case executes it three times on one device. First without a fault, to measure duration and traffic. Then with
 * the fault: a harmless fault must not change the outcome; for others the driver has to return the right error within a
 * bounded time. Then the device is reset, memory and registers are compared (only outputs of tasks affected by the
 * fault are undefined), and the third execution must have the results of the first.
 */
#include "faults.h"

#include "npu_regs.h"
#include "opt/opt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CYCLES_PER_US 200u
#define SLACK 20000u   /* cycles: register accesses, the longest pause of a bus */
#define PATIENCE 16u   /* time-outs that one execution may take */
#define IMPATIENT 100u /* microseconds until npu_init() gives up on a device whose memory hangs */

#define TEST(name)
#define OPERATOR(name) &tc_##name,
static const tc_test *const operators[] = {
#include "designs/npu/tests.def"
};
#undef OPERATOR
#define OPERATOR(name) #name,
static const char *const operator_names[] = {
#include "designs/npu/tests.def"
};
#define OPERATORS (sizeof operators / sizeof operators[0])

const char *const fault_kind_names[FAULT_KINDS] = {"response",   "hang",  "slow",   "reset",
                                                   "soft_reset", "reads", "writes", "start"};
static const uint32_t kind_weight[FAULT_KINDS] = {4, 4, 1, 3, 3, 1, 2, 2};

enum { ANY_BEAT, FIRST_BEAT, LAST_BEAT, ALL_BEATS };
static const char *const beat_names[] = {"any", "first", "last", "all"};
static const char *const axi_names[TB_AXI_CHANNELS] = {
    [TB_AXI_AW] = "aw", [TB_AXI_W] = "w", [TB_AXI_B] = "b", [TB_AXI_AR] = "ar", [TB_AXI_R] = "r"};
static const char *const dir_names[] = {"read", "write"};
static const char *const resp_names[] = {"slverr", "decerr"};
static const char *const unit_names[NPU_UNIT_COUNT] = {
    [NPU_UNIT_ALU] = "alu", [NPU_UNIT_POOL] = "pool", [NPU_UNIT_GEMM] = "gemm"};
static const char *const mend_names[] = {"reset", "power"};
static const char *const wait_names[] = {"irq", "poll"};

#define WHEN 4096
static const tb_knob knobs[] = {
    {"op", 0, OPERATORS - 1, TB_KNOB_ENUM, operator_names, NULL, "test whose cases are executed"},
    {"kind", 0, FAULT_KINDS - 1, TB_KNOB_ENUM, fault_kind_names, kind_weight, "what happens"},
    {"when", 0, WHEN - 1, TB_KNOB_UNIFORM, NULL, NULL,
     "after so many 4096ths of the time, the bursts or the handshakes of a run without it"},
    {"count", 1, 4, TB_KNOB_SMALL, NULL, NULL,
     "response, reads, writes, start: so many times; soft_reset: from 3 on responses as well"},
    {"channel", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "response, hang, slow: DMA channel, where it has such transfers"},
    {"axi", 0, TB_AXI_CHANNELS - 1, TB_KNOB_ENUM, axi_names, NULL, "hang, slow: its channel of the bus"},
    {"dir", 0, 1, TB_KNOB_ENUM, dir_names, NULL, "response: of reads or of writes"},
    {"resp", 0, 1, TB_KNOB_ENUM, resp_names, NULL, "response: which"},
    {"beat", 0, ALL_BEATS, TB_KNOB_ENUM, beat_names, NULL,
     "response: beat with the error; of a write: beats that are written all the same"},
    {"slow", 1, 200, TB_KNOB_SMALL, NULL, NULL, "slow: most cycles between two handshakes"},
    {"mend", 0, 1, TB_KNOB_ENUM, mend_names, NULL,
     "hang: the memory moves again during the soft reset, or after a hard one"},
    {"unit", 0, NPU_UNIT_COUNT - 1, TB_KNOB_ENUM, unit_names, NULL, "start: of which unit"},
    {"frills", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "0: the case of the test at its simplest (splits, places)"},
    {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, NULL, "bus timing"},
    {"wait", 0, 1, TB_KNOB_ENUM, wait_names, NULL, "how the driver waits"},
    {"dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"},
};

typedef struct faults {
    tc_run *run;
    const tb_knobs *given; /* the case of this test, also while run->knobs is that of the operator */
    uint64_t case_seed;
    const tc_test *op;
    tb_knobs knobs; /* of its case */
    uint64_t seed;
    fault_kind kind;
    tc_share share;
    fault_hal hal;
    fault_clean clean;
    /* of an execution */
    bool faulty;
    uint64_t begin;
    uint64_t moves[2][TB_AXI_CHANNELS];
    uint64_t errors;
} faults;

/* ---- the case of the operator ---- */

static int pin(faults *f, const char *name, const char *value) {
    return tb_knobs_find(&f->knobs, name) < 0
               ? 0
               : tb_knobs_pin_value(&f->knobs, name, value, f->run->err, sizeof f->run->err);
}

static int draw_case(faults *f) {
    tc_run *run = f->run;
    const tb_knobs *k = f->given;
    char dseed[32];
    f->op = operators[tb_knobs_get(k, "op")];
    f->seed = tb_rng_test_seed(f->case_seed, "faults.case", 0);
    tb_knobs_init(&f->knobs, f->op->knobs, f->op->knob_count);
    snprintf(dseed, sizeof dseed, "%" PRId64, tb_knobs_get(k, "dseed"));
    if (pin(f, "bus", tb_knobs_get_name(k, "bus")) != 0 || pin(f, "wait", tb_knobs_get_name(k, "wait")) != 0 ||
        pin(f, "dseed", dseed) != 0 || pin(f, "second", "0") != 0 || pin(f, "alone", "0") != 0) {
        return -1;
    }
    return tc_generate(f->op, run->n, f->seed, tb_knobs_get(k, "frills") == 0, &f->knobs, run->err, sizeof run->err);
}

/* ---- the fault ---- */

/* The fraction `when` (a knob) of `all`: 0 .. all - 1. */
static uint64_t part(const faults *f, uint64_t all) {
    return all * (uint64_t)tb_knobs_get(f->given, "when") / WHEN;
}

/* The DMA channel of the case; the other one if that has no traffic. */
static unsigned channel_of(const faults *f, unsigned axi) {
    const unsigned channel = tc_knob(f->given, "channel");
    return f->clean.moves[channel][axi] > 0 || f->clean.moves[1 - channel][axi] == 0 ? channel : 1 - channel;
}

static void arm_responses(faults *f) {
    static const uint16_t beats[] = {
        [ANY_BEAT] = TB_AXI_ANY_BEAT, [FIRST_BEAT] = 0, [LAST_BEAT] = 255, [ALL_BEATS] = TB_AXI_ALL_BEATS};
    const tb_knobs *k = f->given;
    const unsigned dir = tc_knob(k, "dir");
    const unsigned channel = channel_of(f, dir == 0 ? TB_AXI_AR : TB_AXI_AW);
    const uint64_t bursts = f->clean.moves[channel][dir == 0 ? TB_AXI_AR : TB_AXI_AW];
    tb_rng rng = tb_rng_stream(f->case_seed, "faults.bursts");
    for (uint32_t i = 0; i < tc_knob(k, "count") && bursts > 0; i++) {
        const uint64_t burst = i == 0 ? part(f, bursts) : tb_rng_range(&rng, 0, bursts - 1);
        npu_dev_inject_response(f->run->dev, channel, dir, burst,
                                tb_knobs_get(k, "resp") == 0 ? TB_AXI_SLVERR : TB_AXI_DECERR,
                                beats[tb_knobs_get(k, "beat")]);
    }
}

static void arm(faults *f) {
    tc_run *run = f->run;
    const tb_knobs *k = f->given;
    const unsigned axi = tc_knob(k, "axi");
    const unsigned channel = channel_of(f, axi);
    fault_hal *h = &f->hal;
    *h = (fault_hal){.kind = f->kind,
                     .rng = tb_rng_stream(f->case_seed, "faults.hal"),
                     .at = npu_dev_cycles(run->dev) + part(f, f->clean.cycles),
                     .left = tc_knob(k, "count"),
                     .every = (uint32_t)(1 + f->clean.cycles / 4),
                     .unit = tc_knob(k, "unit"),
                     .start = (uint32_t)part(f, f->clean.starts),
                     .all_starts = f->clean.starts};
    switch (f->kind) {
    case FAULT_RESPONSE:
        arm_responses(f);
        break;
    case FAULT_HANG:
        npu_dev_inject_hang(run->dev, channel, axi, part(f, f->clean.moves[channel][axi]));
        break;
    case FAULT_SLOW:
        npu_dev_inject_slow(run->dev, channel, axi, (uint16_t)tc_knob(k, "slow"));
        break;
    case FAULT_SOFT_RESET:
        if (h->left > 2) { /* also error responses: before the reset, during it, or never */
            arm_responses(f);
        }
        h->left = 1;
        h->armed = true;
        break;
    case FAULT_RESET:
        h->left = 1;
        h->armed = true;
        break;
    case FAULT_START:
        break;
    default:
        h->armed = true;
        break;
    }
}

/* ---- executions ---- */

static uint64_t errors_so_far(const faults *f) {
    return npu_dev_error_responses(f->run->dev, false) + npu_dev_error_responses(f->run->dev, true);
}

/* Called after the start of the device, before the executor uses it. */
static void opened(tc_run *run, void *ctx) {
    faults *f = ctx;
    f->begin = npu_dev_cycles(run->dev);
    f->errors = errors_so_far(f);
    for (unsigned c = 0; c < 2; c++) {
        for (unsigned a = 0; a < TB_AXI_CHANNELS; a++) {
            f->moves[c][a] = npu_dev_handshakes(run->dev, c, a);
        }
    }
    f->hal = (fault_hal){.kind = FAULT_KINDS};
    if (f->faulty) {
        arm(f);
    }
    if (run->setup.kind != NPU_DEV_MODEL) { /* the model has no time */
        fault_hal_insert(&f->hal, run);
    }
}

/* Runs the operator's test on the open device, with a separate result. -1 with run->err. */
static int execute_op(faults *f, tb_result *result) {
    tc_run *run = f->run;
    const tc_run outer = *run;
    f->share.answer = NPU_OK;
    tb_result_init(result);
    run->test = f->op;
    run->seed = f->seed;
    run->knobs = &f->knobs;
    run->result = result;
    run->share = &f->share;
    const int rc = f->op->execute(run);
    run->test = outer.test;
    run->seed = outer.seed;
    run->knobs = outer.knobs;
    run->result = outer.result;
    run->share = NULL;
    return rc;
}

/* An execution has failed: its failure becomes that of this case. */
static void adopt(faults *f, const char *when, const tb_result *result) {
    char signature[96];
    snprintf(signature, sizeof signature, "faults: %s: %.70s", when, result->signature);
    tc_fail(f->run, signature, "%s: %s", when, result->message);
}

/* Measurements of the run. */
static void measure(faults *f) {
    f->clean.cycles = npu_dev_cycles(f->run->dev) - f->begin;
    f->clean.starts = f->hal.starts;
    for (unsigned c = 0; c < 2; c++) {
        for (unsigned a = 0; a < TB_AXI_CHANNELS; a++) {
            f->clean.moves[c][a] = npu_dev_handshakes(f->run->dev, c, a) - f->moves[c][a];
        }
    }
}

/* An execution without a fault. */
static int run_clean(faults *f, const char *when) {
    tb_result result;
    f->faulty = f->share.may_fail = false;
    f->share.timeout_us = 0;
    const int rc = execute_op(f, &result);
    if (rc == 0 && result.outcome != TB_PASS) {
        adopt(f, when, &result);
    }
    tb_result_free(&result);
    return rc;
}

/* Upper bound of the cycles of any legal execution. */
static uint64_t longest(const faults *f) {
    const tb_knobs *k = f->given;
    const unsigned axi = tc_knob(k, "axi");
    const uint64_t moves = f->clean.moves[channel_of(f, axi)][axi];
    const uint64_t slow = f->kind == FAULT_SLOW ? moves * (1 + tc_knob(k, "slow")) : 0;
    return 2 * f->clean.cycles + slow + SLACK;
}

#define BIT(status) (UINT32_C(1) << (status))
/* Lost tasks do not complete; a task that keeps the weights of a lost one is refused. */
#define LOST (BIT(NPU_ERR_TIMEOUT) | BIT(NPU_ERR_BUSY) | BIT(NPU_ERR_DEVICE))

/* Allowed results of the driver: a bit for each status. */
static uint32_t allowed(const faults *f) {
    const fault_hal *h = &f->hal;
    switch (f->kind) {
    case FAULT_RESPONSE:
        return errors_so_far(f) != f->errors ? BIT(NPU_ERR_BUS) : BIT(NPU_OK);
    case FAULT_HANG: /* OK if it was too late to have an effect */
        return BIT(NPU_OK) | LOST;
    case FAULT_RESET:
    case FAULT_SOFT_RESET:
        /* between two writes of the registers of a task: a task with addresses at 0, outside of memory */
        return h->happened > 0                 ? LOST | BIT(NPU_ERR_BUS)
               : errors_so_far(f) != f->errors ? BIT(NPU_ERR_BUS)
                                               : BIT(NPU_OK);
    case FAULT_START: /* the driver sees an error of a unit that it does not use now at the next use, if any */
        return h->happened == 0 ? BIT(NPU_OK) : h->same_unit ? BIT(NPU_ERR_DEVICE) : BIT(NPU_OK) | BIT(NPU_ERR_DEVICE);
    default:
        return BIT(NPU_OK);
    }
}

/* "time-out or refused" */
static void names_of(uint32_t statuses, char *dst, size_t size) {
    size_t used = 0;
    dst[0] = '\0';
    for (uint32_t s = 0; s < NPU_STATUS_COUNT && used < size; s++) {
        if ((statuses & BIT(s)) != 0) {
            const int n =
                snprintf(dst + used, size - used, "%s\"%s\"", used > 0 ? " or " : "", npu_strerror((npu_status)s));
            used += n > 0 ? (size_t)n : 0;
        }
    }
}

static void judge(faults *f, const tb_result *result) {
    tc_run *run = f->run;
    const char *kind = fault_kind_names[f->kind];
    const npu_status got = f->share.answer;
    char signature[96];
    char want[200];
    snprintf(signature, sizeof signature, "faults: %s: the driver's answer", kind);
    if (result->outcome != TB_PASS && got == NPU_OK) { /* wrong results, or the device itself has failed */
        adopt(f, kind, result);
    } else if ((allowed(f) & BIT(got)) == 0) {
        if (got == NPU_ERR_TIMEOUT) {
            npu_dev_check_hang(run->dev);
        }
        names_of(allowed(f), want, sizeof want);
        tc_fail(run, signature, "%s (%u times): the driver returned \"%s\" (ERR = 0x%02X), expected %s", kind,
                f->hal.happened, npu_strerror(got), run->npu.last_err, want);
    }
    if (f->hal.endless) {
        tc_fail(run, "faults: soft_reset: endless", "STATUS.RESETTING stays 1 after a soft reset among tasks");
    }
}

/* The execution with the fault. */
static int run_faulty(faults *f) {
    tc_run *run = f->run;
    tb_result result;
    const uint64_t most = longest(f);
    f->faulty = f->share.may_fail = true;
    f->share.timeout_us = (uint32_t)(most / CYCLES_PER_US + 1);
    npu_dev_watchdog(run->dev, 4 * PATIENCE * most);
    const int rc = execute_op(f, &result);
    if (rc == 0 || f->share.answer != NPU_OK) {
        judge(f, &result);
        if (tc_ok(run) && npu_dev_cycles(run->dev) - f->begin > PATIENCE * most) {
            tc_fail(run, "faults: too long",
                    "%s: the driver took %" PRIu64 " cycles to answer, expected at most %" PRIu64,
                    fault_kind_names[f->kind], npu_dev_cycles(run->dev) - f->begin, PATIENCE * most);
        }
    }
    tb_result_free(&result);
    return rc == 0 || f->share.answer != NPU_OK ? 0 : rc;
}

/* Counts a case under this key in the result, so that a run of many cases shows the outcomes and their numbers. */
static void count_case(tc_run *run, const char *key) {
    uint64_t so_far = 0;
    const char *value = tb_kv_find(&run->result->extra, key);
    if (value == NULL || opt_number(value, 0, UINT64_MAX, &so_far)) {
        tb_kv_set_u64(&run->result->extra, key, so_far + 1);
    }
}

static void count(const faults *f) {
    static const char *const answers[NPU_STATUS_COUNT] = {[NPU_OK] = "passed",
                                                          [NPU_ERR_TIMEOUT] = "timeout",
                                                          [NPU_ERR_BUSY] = "busy",
                                                          [NPU_ERR_DEVICE] = "device",
                                                          [NPU_ERR_BUS] = "bus"};
    const bool in_memory = f->kind == FAULT_HANG || f->kind == FAULT_SLOW;
    const bool never = !in_memory && f->hal.happened == 0 && errors_so_far(f) == f->errors;
    const char *answer = never ? "never" : answers[f->share.answer];
    char key[64];
    snprintf(key, sizeof key, "faults_%s_%s", fault_kind_names[f->kind], answer != NULL ? answer : "other");
    count_case(f->run, key);
    snprintf(key, sizeof key, "faults_op_%s", f->op->name);
    count_case(f->run, key);
}

/* ---- afterwards ---- */

static npu_status init(faults *f, const npu_hal *hal, uint32_t timeout_us) {
    tc_run *run = f->run;
    return npu_init(&run->npu, hal, (npu_wait)tb_knobs_get(f->given, "wait"), timeout_us);
}

/*
 * Recovery of a driver after an error: npu_init(), which includes a soft reset. It cannot complete while responses of
 * the memory are outstanding; if these never arrive, only a hard reset of NPU and memory helps.
 */
static npu_status restart(faults *f) {
    tc_run *run = f->run;
    const npu_hal *hal = npu_dev_hal(run->dev);
    const uint32_t patience = (uint32_t)(longest(f) / CYCLES_PER_US + 1);
    if (f->kind == FAULT_HANG && tb_knobs_get(f->given, "mend") == 0) {
        tb_rng rng = tb_rng_stream(f->case_seed, "faults.mend");
        f->hal = (fault_hal){
            .kind = f->kind, .armed = true, .mend = true, .at = npu_dev_cycles(run->dev) + tb_rng_range(&rng, 0, 2000)};
        fault_hal_insert(&f->hal, run);
        const npu_status status = init(f, &f->hal.hal, patience);
        npu_dev_mend(run->dev); /* if the reset did not have to wait */
        return status;
    }
    if (f->kind == FAULT_HANG) {
        const npu_status status = init(f, hal, IMPATIENT);
        npu_dev_mend(run->dev);
        if (status != NPU_ERR_TIMEOUT) {
            return status;
        }
        npu_dev_reset(run->dev);
    }
    npu_dev_mend(run->dev);
    return init(f, hal, patience);
}

static void recover(faults *f) {
    tc_run *run = f->run;
    const npu_status status = restart(f);
    npu_dev_allow_overlap(run->dev, false);
    if (status != NPU_OK) {
        if (status == NPU_ERR_TIMEOUT) {
            npu_dev_check_hang(run->dev);
        }
        tc_fail(run, "faults: npu_init", "%s: npu_init() afterwards answered \"%s\"", fault_kind_names[f->kind],
                npu_strerror(status));
        return;
    }
    npu_dev_watchdog(run->dev, 0);
    if (!tc_expect(run, "ERR", NPU_REG_ERR, UINT32_MAX, 0) ||
        !tc_expect(run, "IRQ_STATUS", NPU_REG_IRQ_STATUS, UINT32_MAX, 0) ||
        !tc_expect(run, "STATUS", NPU_REG_STATUS, UINT32_MAX, NPU_REG_STATUS_RESET)) {
        return;
    }
    npu_dev_compare(run->dev);
}

static int run_all(faults *f) {
    tc_run *run = f->run;
    int rc = run_clean(f, "without a fault");
    if (rc != 0 || !tc_ok(run)) {
        return rc;
    }
    measure(f);
    if (run->setup.kind == NPU_DEV_MODEL) {
        printf("not run: faults: the model has no bus, and executes a task at once\n");
        return 0;
    }
    rc = run_faulty(f);
    if (rc == 0 && tc_ok(run)) {
        count(f);
        recover(f);
    }
    return rc == 0 && tc_ok(run) ? run_clean(f, "after the fault") : rc;
}

static int execute(tc_run *run) {
    faults f = {
        .run = run, .given = run->knobs, .case_seed = run->seed, .kind = (fault_kind)tb_knobs_get(run->knobs, "kind")};
    f.share = (tc_share){.opened = opened, .ctx = &f};
    int rc = draw_case(&f);
    if (rc == 0) {
        rc = run_all(&f);
        tc_close(run); /* the final checks belong to the case */
    }
    if (rc == 0 && run->result->outcome != TB_PASS) {
        printf("faults: %s, %s: %s\n", fault_kind_names[f.kind], f.op->name, run->stats.what);
    }
    return rc;
}

const tc_test tc_faults = {
    .name = "faults",
    .help = "something goes wrong while an operator runs: errors, hangs, resets, strange register accesses",
    TB_KNOBS_OF(knobs),
    .execute = execute};
