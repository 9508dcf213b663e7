/*
 * Several clocks, resets of either polarity, the hooks on_settle and on_edge, progress that no bus shows: tb_run around
 * a stand-in with two clock domains and no bus.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tb.h"

#define LIMIT 500u
#define MANY 4096u

enum { CLK_A, CLK_B, RST_A, RST_BN, READY, VALID, COUNT_A, COUNT_B, DONE, PORTS };

static const struct {
    const char *name;
    uint32_t width;
    bool input;
} port[PORTS] = {{"clk_a", 1, true},     {"clk_b", 1, true},     {"rst_a", 1, true},
                 {"rst_bn", 1, true},    {"ready_i", 1, true},   {"valid_o", 1, false},
                 {"count_a", 32, false}, {"count_b", 32, false}, {"done_o", 1, false}};

typedef struct domains {
    uint64_t wire[PORTS];
    uint8_t was[2]; /* clocks at the last evaluation */
    bool traced;
} domains;

/* What the waveform would hold: the shim interface has no other way out. */
static uint64_t dumped[MANY];
static size_t dumps;

static void *d_create(const char *const *plusargs, uint64_t seed) {
    (void)plusargs;
    (void)seed;
    return calloc(1, sizeof(domains));
}

static void d_ports(void *inst, tb_shim_port *out) {
    for (size_t i = 0; i < PORTS; i++) {
        out[i] = (tb_shim_port){
            .name = port[i].name, .width = port[i].width, .input = port[i].input, .ptr = &((domains *)inst)->wire[i]};
    }
}

static bool high(const domains *d, int i) {
    return *(const uint8_t *)&d->wire[i] != 0;
}

/* Domain A counts transfers of a handshake whose valid is the top bit of a ring; domain B counts its edges. */
static void d_eval(void *inst) {
    domains *d = (domains *)inst;
    const bool up_a = high(d, CLK_A) && d->was[0] == 0, up_b = high(d, CLK_B) && d->was[1] == 0;
    if (up_a) {
        d->wire[COUNT_A] = high(d, RST_A) ? 0 : d->wire[COUNT_A] + (high(d, VALID) && high(d, READY));
        d->wire[VALID] = high(d, RST_A) ? 0 : 1;
    }
    if (up_b) {
        d->wire[COUNT_B] = high(d, RST_BN) ? d->wire[COUNT_B] + 1 : 0;
    }
    d->was[0] = high(d, CLK_A);
    d->was[1] = high(d, CLK_B);
    d->wire[DONE] = high(d, READY); /* combinational */
}

static bool d_finished(void *inst) {
    (void)inst;
    return false;
}

static const char *d_message(void *inst) {
    (void)inst;
    return NULL;
}

static bool d_open(void *inst, const char *path, char *err, size_t err_size) {
    (void)path, (void)err, (void)err_size;
    ((domains *)inst)->traced = true;
    dumps = 0;
    return true;
}

static void d_dump(void *inst, uint64_t time) {
    assert_true(((domains *)inst)->traced);
    if (dumps < MANY) {
        dumped[dumps++] = time;
    }
}

static void d_close(void *inst) {
    ((domains *)inst)->traced = false;
}

static const tb_shim shim = {.top = "domains",
                             .nports = PORTS,
                             .create = d_create,
                             .destroy = free,
                             .ports = d_ports,
                             .eval = d_eval,
                             .finished = d_finished,
                             .assert_message = d_message,
                             .trace_open = d_open,
                             .trace_dump = d_dump,
                             .trace_close = d_close};

typedef struct bench {
    tb_run run;
    tb_sig valid, ready, done, a, b;
    uint32_t edges[2]; /* of each clock, as on_edge tells */
    bool answers, loops, silent;
} bench;

/* A combinational ready. */
static bool on_settle(void *ctx) {
    bench *b = (bench *)ctx;
    const uint64_t before = tb_get(b->ready);
    if (b->loops) {
        tb_set(b->ready, !tb_get(b->done));
        return true;
    }
    tb_set(b->ready, b->answers && tb_get(b->valid));
    return tb_get(b->ready) != before;
}

static void on_edge(void *ctx, uint32_t clocks) {
    bench *b = (bench *)ctx;
    b->edges[0] += clocks & 1u;
    b->edges[1] += clocks >> 1 & 1u;
    if (!b->silent) {
        tb_run_progress(&b->run);
    }
}

static const tb_clock clocks[2] = {{.clk = "clk_a", .rst = "rst_a", .period = 4},
                                   {.clk = "clk_b", .rst_n = "rst_bn", .period = 10, .phase = 3}};

static void start(bench *b, tb_run_cfg cfg) {
    char err[256] = "";
    memset(b, 0, sizeof *b);
    b->answers = true;
    cfg.shim = &shim;
    cfg.watchdog_cycles = LIMIT;
    cfg.hooks = (tb_run_hooks){.ctx = b, .on_settle = on_settle, .on_edge = on_edge};
    if (tb_run_open(&b->run, &cfg, err, sizeof err) != 0) {
        fail_msg("%s", err);
    }
    b->valid = tb_sim_find(&b->run.sim, "valid_o");
    b->ready = tb_sim_find(&b->run.sim, "ready_i");
    b->done = tb_sim_find(&b->run.sim, "done_o");
    b->a = tb_sim_find(&b->run.sim, "count_a");
    b->b = tb_sim_find(&b->run.sim, "count_b");
    tb_run_reset(&b->run);
}

static void schedule(void **state) {
    (void)state;
    static const struct {
        uint64_t time;
        uint32_t mask;
    } want[] = {{3, 2},  {4, 1},  {8, 1},  {12, 1}, {13, 2}, {16, 1},
                {20, 1}, {23, 2}, {24, 1}, {28, 1}, {32, 1}, {33, 2}};
    tb_schedule s = {.count = 2, .period = {4, 10}, .phase = {0, 3}};
    uint64_t at, last = 0;
    tb_schedule_start(&s);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_int_equal(tb_schedule_time(&s, i), last * TB_CLOCK_SCALE);
        assert_int_equal(tb_schedule_next(&s, &at), want[i].mask);
        assert_int_equal(at, want[i].time);
        last = at;
        for (uint64_t fall; tb_schedule_fall(&s, at, &fall) != 0;) {
            assert_true(fall <= at);
        }
        assert_int_equal(tb_schedule_rise(&s), want[i].mask);
    }
    const tb_schedule one = {.count = 0};
    assert_int_equal(tb_schedule_time(&one, 7), 70);
    /* together */
    tb_schedule both = {.count = 2, .period = {6, 4}};
    tb_schedule_start(&both);
    uint32_t mask = 0;
    while (both.now < 12) {
        mask = tb_schedule_rise(&both);
    }
    assert_int_equal(mask, 3);
}

/* Both domains see their edges in reset and after it; a combinational ready is answered in the same cycle. */
static void two_clocks(void **state) {
    (void)state;
    bench b;
    start(&b, (tb_run_cfg){.clocks = clocks, .nclocks = 2});
    assert_string_equal(b.run.sim.warning, "");        /* rst_bn reads as active low */
    assert_int_equal(b.run.sim.schedule.cycles[1], 5); /* the slow one needs longer */
    assert_int_equal(tb_get(b.a), 0);
    assert_int_equal(tb_get(b.b), 0);
    assert_true(b.edges[0] == 0 && b.edges[1] == 0);
    for (unsigned i = 0; i < 140; i++) {
        assert_true(tb_run_step(&b.run));
    }
    assert_int_equal(b.edges[0] + b.edges[1], 140); /* 4 and 10 with phases 0 and 3 never meet */
    assert_int_equal(b.edges[0], 100);
    assert_int_equal(tb_get(b.b), b.edges[1]);
    assert_int_equal(tb_get(b.a), b.edges[0] - 1); /* valid rises with the first */
    assert_int_equal(b.run.sim.cycle, 140 + b.run.sim.schedule.cycles[0] + b.run.sim.schedule.cycles[1] - 140);
    tb_run_reset(&b.run); /* in the middle of a run */
    assert_int_equal(tb_get(b.a), 0);
    assert_int_equal(tb_get(b.b), 0);
    assert_true(tb_run_step(&b.run));
    tb_run_close(&b.run);
}

/* Times of a waveform rise, and edges are where the schedule says. */
static void wave_times(void **state) {
    (void)state;
    bench b;
    start(&b, (tb_run_cfg){.clocks = clocks, .nclocks = 2, .wave = "none.fst"});
    for (unsigned i = 0; i < 50; i++) {
        assert_true(tb_run_step(&b.run));
    }
    const uint64_t end = tb_schedule_time(&b.run.sim.schedule, b.run.sim.cycle);
    assert_int_equal(dumped[dumps - 1], end);
    for (size_t i = 1; i < dumps; i++) {
        assert_true(dumped[i] > dumped[i - 1]);
    }
    tb_run_close(&b.run);
}

static void active_high(void **state) {
    (void)state;
    bench b;
    start(&b, (tb_run_cfg){.clk = "clk_a", .rst = "rst_a"});
    assert_string_equal(b.run.sim.warning, "");
    for (unsigned i = 0; i < 10; i++) {
        assert_true(tb_run_step(&b.run));
    }
    assert_int_equal(tb_get(b.a), 9);
    tb_run_close(&b.run);
}

/* The wrong polarity: a warning, and the hang says that nothing has ever moved. */
static void wrong_polarity(void **state) {
    (void)state;
    bench b;
    start(&b, (tb_run_cfg){.clk = "clk_a", .rst_n = "rst_a"});
    b.answers = false;
    assert_string_equal(b.run.sim.warning, "reset rst_a is taken as active low, but its name reads as active high");
    tb_run_progress(&b.run);
    b.silent = true;
    while (tb_run_step(&b.run)) {
    }
    assert_string_equal(b.run.failure.signature, "watchdog:hang");
    assert_non_null(strstr(b.run.failure.message, "no output has changed since reset"));
    tb_run_close(&b.run);
}

/* Without a bus nothing hangs, until the bench has told of progress once. */
static void progress(void **state) {
    (void)state;
    bench b;
    start(&b, (tb_run_cfg){.clk = "clk_a", .rst = "rst_a"});
    b.silent = true;
    for (unsigned i = 0; i < 3 * LIMIT; i++) {
        assert_true(tb_run_step(&b.run));
    }
    b.silent = false;
    for (unsigned i = 0; i < 3 * LIMIT; i++) {
        assert_true(tb_run_step(&b.run));
    }
    b.silent = true;
    const uint64_t from = b.run.sim.cycle;
    while (tb_run_step(&b.run)) {
    }
    assert_string_equal(b.run.failure.signature, "watchdog:hang");
    assert_non_null(strstr(b.run.failure.message, "no progress for 500 cycles"));
    assert_non_null(strstr(b.run.failure.message, "the design has stopped"));
    assert_true(b.run.sim.cycle - from <= LIMIT + 2 * 64);
    tb_run_close(&b.run);
}

static void combinational_loop(void **state) {
    (void)state;
    bench b;
    start(&b, (tb_run_cfg){.clk = "clk_a", .rst = "rst_a"});
    b.loops = true;
    assert_false(tb_run_step(&b.run));
    assert_string_equal(b.run.failure.signature, "bench:settle");
    tb_run_close(&b.run);
}

static void assert_refused(tb_run_cfg cfg, const char *text) {
    tb_run run;
    char err[256] = "";
    cfg.shim = &shim;
    assert_int_equal(tb_run_open(&run, &cfg, err, sizeof err), -1);
    assert_string_equal(err, text);
    tb_run_close(&run);
}

static void refused(void **state) {
    (void)state;
    const tb_clock slow[] = {{.clk = "clk_a", .period = 1}};
    const tb_clock twice[] = {{.clk = "clk_a", .rst = "rst_a", .rst_n = "rst_bn", .period = 2}};
    assert_refused((tb_run_cfg){.clocks = slow, .nclocks = 1},
                   "domains: clock clk_a: a period of 1, expected at least 2");
    assert_refused((tb_run_cfg){.clocks = twice, .nclocks = 1},
                   "domains: resets rst_bn and rst_a: expected one for a clock");
    assert_refused((tb_run_cfg){.clk = "clk_a", .clocks = clocks, .nclocks = 2},
                   "domains: expected one clock, or a table of at most 8");
    assert_refused((tb_run_cfg){.clk = "clk_c"}, "domains: there is no port clk_c");
    bench b;
    char err[256] = "";
    start(&b, (tb_run_cfg){.clk = "clk_a"});
    assert_int_equal(tb_run_port_open(&b.run, &(tb_run_port_cfg){.name = "regs", .clock = 1}, err, sizeof err), -1);
    assert_string_equal(err, "regs: there is no clock number 1");
    tb_run_close(&b.run);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(schedule),           cmocka_unit_test(two_clocks),
                                       cmocka_unit_test(wave_times),         cmocka_unit_test(active_high),
                                       cmocka_unit_test(progress),           cmocka_unit_test(wrong_polarity),
                                       cmocka_unit_test(combinational_loop), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
