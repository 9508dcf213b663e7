/* Taps and the checks that sit on them (tb/tap), on a design written in C that has nothing but public signals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tb.h"

/* ---- the design ---- */
#define VARS_MAX 700u

typedef struct fake {
    uint8_t clk, rst_n;
    uint32_t value[VARS_MAX][4];
    tb_shim_var var[VARS_MAX];
    size_t vars;
} fake;

static void *fake_create(const char *const *plusargs, uint64_t seed) {
    (void)plusargs;
    (void)seed;
    return calloc(1, sizeof(fake));
}
static void fake_destroy(void *inst) {
    free(inst);
}
static void fake_ports(void *inst, tb_shim_port *out) {
    fake *f = (fake *)inst;
    out[0] = (tb_shim_port){.name = "clk_i", .width = 1, .input = true, .ptr = &f->clk};
    out[1] = (tb_shim_port){.name = "rst_ni", .width = 1, .input = true, .ptr = &f->rst_n};
}
static void fake_eval(void *inst) {
    (void)inst;
}
static bool fake_finished(void *inst) {
    (void)inst;
    return false;
}
static const char *fake_message(void *inst) {
    (void)inst;
    return NULL;
}
static const tb_shim_var *fake_vars(void *inst, size_t *count, uintptr_t *base) {
    const fake *f = (const fake *)inst;
    *count = f->vars;
    *base = 0;
    return f->var;
}

static const tb_shim fake_shim = {.top = "toy",
                                  .nports = 2,
                                  .create = fake_create,
                                  .destroy = fake_destroy,
                                  .ports = fake_ports,
                                  .eval = fake_eval,
                                  .finished = fake_finished,
                                  .assert_message = fake_message,
                                  .vars = fake_vars};

static const tb_shim old_shim = {.top = "toy",
                                 .nports = 2,
                                 .create = fake_create,
                                 .destroy = fake_destroy,
                                 .ports = fake_ports,
                                 .eval = fake_eval,
                                 .finished = fake_finished,
                                 .assert_message = fake_message};

static void start(tb_sim *sim, const tb_shim *shim) {
    char err[200] = "";
    const tb_sim_cfg cfg = {.shim = shim, .clk = "clk_i", .rst_n = "rst_ni"};
    assert_int_equal(tb_sim_open(sim, &cfg, err, sizeof err), 0);
}

/* Signals must be added in the order of scopes, then names, as the shim gives them. */
static void *add(tb_sim *sim, const char *scope, const char *name, uint32_t width) {
    fake *f = (fake *)sim->dut;
    assert_true(f->vars < VARS_MAX);
    void *ptr = f->value[f->vars];
    f->var[f->vars++] = (tb_shim_var){.scope = scope, .name = name, .width = width, .at = (uintptr_t)ptr};
    return ptr;
}

/* ---- taps ---- */
static void no_taps(void **state) {
    (void)state;
    char err[200] = "";
    tb_sim sim;
    tb_taps taps;
    start(&sim, &old_shim);
    assert_int_equal(tb_taps_open(&taps, &sim, err, sizeof err), 0);
    assert_int_equal(taps.count, 0);
    assert_null(tb_taps_find(&taps, "fifo", 0));
    tb_taps_close(&taps);
    tb_sim_close(&sim);
    start(&sim, &fake_shim);
    assert_int_equal(tb_taps_open(&taps, &sim, err, sizeof err), 0);
    assert_int_equal(taps.count, 0);
    tb_taps_close(&taps);
    /* public signals of other modules are none */
    add(&sim, "toy", "whole", 1);
    add(&sim, "toy.toy.u_core", "mode", 3);
    add(&sim, "toy.toy.u_tapper.u_core", "mode", 3);
    add(&sim, "toy.toy.u_core.u_tap_core.u_part", "mode", 3);
    assert_int_equal(tb_taps_open(&taps, &sim, err, sizeof err), 0);
    assert_int_equal(taps.count, 0);
    tb_taps_close(&taps);
    tb_sim_close(&sim);
}

static void finding(void **state) {
    (void)state;
    char err[200] = "";
    tb_sim sim;
    tb_taps taps;
    start(&sim, &fake_shim);
    add(&sim, "toy.toy.g_lane[0].u_fifo.u_tap_fifo", "data", 100);
    uint8_t *valid0 = (uint8_t *)add(&sim, "toy.toy.g_lane[0].u_fifo.u_tap_fifo", "valid", 1);
    uint8_t *valid1 = (uint8_t *)add(&sim, "toy.toy.g_lane[1].u_fifo.u_tap_fifo", "valid", 1);
    add(&sim, "toy.toy.u_core", "mode", 3);
    add(&sim, "toy.toy.u_core.u_tap_core", "mode", 3);
    add(&sim, "toy.toyish.u_tap_core", "mode", 3); /* an instance whose name begins like the top's */
    add(&sim, "toy.u_fifo.u_tap_fifo", "valid", 1);
    assert_int_equal(tb_taps_open(&taps, &sim, err, sizeof err), 0);
    assert_int_equal(taps.count, 5);
    const tb_tap *a = tb_taps_find(&taps, "fifo", 0);
    const tb_tap *b = tb_taps_find(&taps, "fifo", 1);
    assert_string_equal(a->path, "toy.g_lane[0].u_fifo");
    assert_string_equal(b->path, "toy.g_lane[1].u_fifo");
    assert_string_equal(tb_taps_find(&taps, "fifo", 2)->path, "toy.u_fifo");
    assert_null(tb_taps_find(&taps, "fifo", 3));
    assert_null(tb_taps_find(&taps, "fif", 0));
    assert_string_equal(tb_taps_find(&taps, "core", 0)->path, "toy.u_core");
    assert_string_equal(tb_taps_find(&taps, "core", 1)->path, "toy.toyish");
    assert_int_equal(a->vars, 2);
    assert_int_equal(b->vars, 1);
    assert_ptr_equal(tb_tap_find(a, "valid").ptr, valid0);
    assert_ptr_equal(tb_tap_find(b, "valid").ptr, valid1);
    assert_int_equal(tb_tap_find(a, "data").width, 100);
    assert_null(tb_tap_find(b, "data").ptr);
    tb_sig sig;
    assert_int_equal(tb_tap_sig(a, "data", 100, &sig, err, sizeof err), 0);
    assert_int_equal(tb_tap_sig(a, "data", 0, &sig, err, sizeof err), 0);
    assert_int_equal(sig.width, 100);
    assert_int_equal(tb_tap_sig(a, "data", 99, &sig, err, sizeof err), -1);
    assert_string_equal(err, "tap of toy.g_lane[0].u_fifo: signal data has 100 bits, expected 99");
    assert_int_equal(tb_tap_sig(b, "data", 0, &sig, err, sizeof err), -1);
    assert_string_equal(err, "tap of toy.g_lane[1].u_fifo: there is no signal data");
    tb_taps_close(&taps);
    assert_int_equal(taps.count, 0);
    tb_sim_close(&sim);
}

/* ---- checks: `first` feeds `middle`, which feeds `last`; `lone` takes nothing from them ---- */
typedef struct probe {
    tb_sig value;
    unsigned cycles;
} probe;

/* What the checks share: the order of their calls. */
typedef struct record {
    char calls[256];
    unsigned closed;
    bool refuse; /* open of `last` fails */
} record;

static record *record_of(const tb_check *c) {
    return (record *)c->all->ctx;
}

static void note(const tb_check *c, const char *what) {
    record *r = record_of(c);
    const size_t length = strlen(r->calls);
    snprintf(r->calls + length, sizeof r->calls - length, "%s%s%u%s", length > 0 ? " " : "", c->ops->unit, c->index,
             what);
}

static int probe_open(tb_check *c, char *err, size_t err_size) {
    probe *p = (probe *)c->state;
    if (record_of(c)->refuse && strcmp(c->ops->unit, "last") == 0) {
        snprintf(err, err_size, "last: refused");
        return -1;
    }
    assert_int_equal(p->cycles + p->value.width, 0); /* zeroed */
    c->reset_n = tb_tap_find(c->tap, "rst_ni");
    c->clock = tb_tap_find(c->tap, "en_i");
    return tb_check_sig(c, "value", 8, &p->value, err, err_size);
}
/* Any value but 0 is wrong. */
static void probe_cycle(tb_check *c) {
    probe *p = (probe *)c->state;
    note(c, "");
    if (tb_check_value(c, "value", p->cycles, tb_get(p->value), 0)) {
        p->cycles++;
    }
}
/* Complains twice: only the first time counts. */
static void twice_cycle(tb_check *c) {
    probe_cycle(c);
    c->task = 7;
    if (c->failed) {
        tb_check_value(c, "again", 0, 1, 0);
    }
}
static void probe_clear(tb_check *c) {
    note(c, "-clear");
}
static void probe_finish(tb_check *c) {
    note(c, "-finish");
    if (tb_get(((probe *)c->state)->value) == 9) {
        tb_check_fail(c, "finish", 3, "at the end", "less", "more");
    }
}
static void probe_close(tb_check *c) {
    record_of(c)->closed++;
}

#define OPS(name, from, cyc)                                                                                           \
    {                                                                                                                  \
        .unit = name, .inputs = from, .state_bytes = sizeof(probe), .open = probe_open, .cycle = cyc,                  \
        .clear = probe_clear, .finish = probe_finish, .close = probe_close                                             \
    }

static const char *const from_first[] = {"first", NULL};
static const char *const from_middle[] = {"lone", "middle", NULL};
static const tb_check_ops ops_first = OPS("first", NULL, probe_cycle);
static const tb_check_ops ops_middle = OPS("middle", from_first, probe_cycle);
static const tb_check_ops ops_last = OPS("last", from_middle, probe_cycle);
static const tb_check_ops ops_lone = OPS("lone", NULL, probe_cycle);
static const tb_check_ops ops_first_twice = OPS("first", NULL, twice_cycle);

static int served_open(tb_check *c, char *err, size_t err_size) {
    tb_sig sig;
    return tb_check_sig(c, "value", 0, &sig, err, err_size);
}
static const tb_check_ops ops_served = {.unit = "served", .open = served_open};

/* Signals by one list, what wakes the check, and the gate of its clock: nothing is left for open. */
#define PORTS value, d_i[2], wide
typedef struct listed {
    uint64_t before;
    TB_PORTS(ports, PORTS);
} listed;
static void listed_cycle(tb_check *c) {
    note(c, "");
}
static const tb_check_ops ops_listed = {
    .unit = "listed", TB_STATE(listed, PORTS), .wake = "value, wide", .cycle = listed_cycle, .clear = probe_clear};
static const tb_check_gate gated[] = {{"u_in", "g2"}, {"u_x", "g0"}, {"u_g", "g1"}, {NULL, NULL}};
static const tb_check_ops ops_gate = {
    .unit = "gate", .state_bytes = sizeof(probe), .gates = gated, .cycle = listed_cycle, .clear = probe_clear};

/* The order of calls in a cycle: not that of the paths. */
static const tb_check_ops *const chain[] = {&ops_last, &ops_middle, &ops_first, &ops_lone};
#define CHAIN (sizeof chain / sizeof *chain)

typedef struct bench {
    tb_sim sim;
    tb_checks checks;
    record rec;
    uint8_t *first, *last, *lone, *middle, *first_rst, *middle_en; /* signals */
    char err[200];
} bench;

static void build(bench *b) {
    memset(b, 0, sizeof *b);
    start(&b->sim, &fake_shim);
    b->first_rst = (uint8_t *)add(&b->sim, "toy.toy.u_a.u_tap_first", "rst_ni", 1);
    b->first = (uint8_t *)add(&b->sim, "toy.toy.u_a.u_tap_first", "value", 8);
    b->last = (uint8_t *)add(&b->sim, "toy.toy.u_b.u_tap_last", "value", 8);
    b->lone = (uint8_t *)add(&b->sim, "toy.toy.u_c.u_tap_lone", "value", 8);
    b->middle_en = (uint8_t *)add(&b->sim, "toy.toy.u_d.u_tap_middle", "en_i", 1);
    b->middle = (uint8_t *)add(&b->sim, "toy.toy.u_d.u_tap_middle", "value", 8);
    *b->first_rst = *b->middle_en = 1;
}

static void open_chain(bench *b) {
    build(b);
    assert_int_equal(tb_checks_open(&b->checks, &b->sim, chain, CHAIN, NULL, &b->rec, b->err, sizeof b->err), 0);
    assert_int_equal(b->checks.count, 4);
}

static void done(bench *b) {
    tb_checks_close(&b->checks);
    tb_sim_close(&b->sim);
}

static bool cycle(bench *b) {
    b->rec.calls[0] = '\0';
    const bool good = tb_checks_cycle(&b->checks);
    tb_sim_edge(&b->sim);
    return good;
}

static void order_reset_clock(void **state) {
    (void)state;
    bench b;
    open_chain(&b);
    assert_true(cycle(&b));
    assert_string_equal(b.rec.calls, "last0 middle0 first0 lone0");
    *b.first_rst = 0;
    assert_true(cycle(&b));
    assert_string_equal(b.rec.calls, "first0-clear last0 middle0 lone0");
    *b.first_rst = 1;
    *b.middle_en = 0;
    assert_true(cycle(&b));
    assert_string_equal(b.rec.calls, "last0 first0 lone0");
    *b.middle_en = 1;
    assert_true(cycle(&b));
    b.rec.calls[0] = '\0';
    assert_true(tb_checks_finish(&b.checks));
    assert_string_equal(b.rec.calls, "last0-finish middle0-finish first0-finish lone0-finish");
    done(&b);
    assert_int_equal(b.rec.closed, 4);
}

static void port_names(void **state) {
    (void)state;
    char name[32];
    const tb_ports ports = {.names = "a_i, bc_o[2], d[2]", .prefix = "m_"}, none = {.names = ""};
    static const char *const names[] = {"m_a_i", "m_bc0_o", "m_bc1_o", "m_d0", "m_d1"};
    tb_ports_place next = TB_PORTS_FIRST, empty = TB_PORTS_FIRST;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_true(tb_ports_next(&ports, &next, name, sizeof name));
        assert_string_equal(name, names[i]);
    }
    assert_false(tb_ports_next(&ports, &next, name, sizeof name));
    assert_false(tb_ports_next(&none, &empty, name, sizeof name));
    /* what does not fit is cut */
    next = TB_PORTS_FIRST;
    assert_true(tb_ports_next(&ports, &next, name, 4));
    assert_string_equal(name, "m_a");
}

static void ports_and_gates(void **state) {
    (void)state;
    bench b;
    memset(&b, 0, sizeof b);
    start(&b.sim, &fake_shim);
    add(&b.sim, "toy.toy.g0.u_tap_gate", "en_i", 1);
    uint8_t *en = (uint8_t *)add(&b.sim, "toy.toy.g1.u_tap_gate", "en_i", 1);
    uint8_t *d0 = (uint8_t *)add(&b.sim, "toy.toy.u_g.u_tap_listed", "d0_i", 8);
    uint8_t *d1 = (uint8_t *)add(&b.sim, "toy.toy.u_g.u_tap_listed", "d1_i", 8);
    uint8_t *rst = (uint8_t *)add(&b.sim, "toy.toy.u_g.u_tap_listed", "rst_ni", 1);
    uint8_t *value = (uint8_t *)add(&b.sim, "toy.toy.u_g.u_tap_listed", "value", 8);
    add(&b.sim, "toy.toy.u_g.u_tap_listed", "wide", 8);
    const tb_check_ops *const ops[] = {&ops_gate, &ops_listed};
    *en = *rst = 1;
    *d0 = 3;
    *d1 = 4;
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, ops, 2, NULL, &b.rec, b.err, sizeof b.err), 0);
    const listed *s = (const listed *)b.checks.check[2].state;
    assert_int_equal(s->before, 0);
    assert_ptr_equal(s->value.ptr, value);
    assert_int_equal(tb_get(s->d_i[0]) * 10 + tb_get(s->d_i[1]), 34);
    cycle(&b);
    assert_string_equal(b.rec.calls, "gate0 gate1"); /* nothing wakes it */
    *value = 1;
    cycle(&b);
    assert_string_equal(b.rec.calls, "gate0 gate1 listed0");
    *en = 0; /* its clock stands */
    cycle(&b);
    assert_string_equal(b.rec.calls, "gate0 gate1");
    *rst = 0;
    cycle(&b);
    assert_string_equal(b.rec.calls, "listed0-clear gate0 gate1");
    done(&b);
    /* a signal of the list is not there; neither is the gate of an instance */
    start(&b.sim, &fake_shim);
    add(&b.sim, "toy.toy.g0.u_tap_gate", "en_i", 1);
    add(&b.sim, "toy.toy.u_h.u_tap_listed", "value", 8);
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, ops, 2, NULL, &b.rec, b.err, sizeof b.err), -1);
    assert_string_equal(b.err, "tap of toy.u_h: there is no signal d0_i");
    tb_sim_close(&b.sim);
    start(&b.sim, &fake_shim);
    add(&b.sim, "toy.toy.g0.u_tap_gate", "en_i", 1);
    add(&b.sim, "toy.toy.u_g.u_tap_listed", "d0_i", 8);
    add(&b.sim, "toy.toy.u_g.u_tap_listed", "d1_i", 8);
    add(&b.sim, "toy.toy.u_g.u_tap_listed", "value", 8);
    add(&b.sim, "toy.toy.u_g.u_tap_listed", "wide", 8);
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, ops, 2, NULL, &b.rec, b.err, sizeof b.err), -1);
    assert_string_equal(b.err, "toy.u_g: there is no tap of the clock gate of u_g");
    tb_sig sig[2];
    tb_taps taps;
    assert_int_equal(tb_taps_open(&taps, &b.sim, b.err, sizeof b.err), 0);
    assert_int_equal(tb_taps_ports(&taps, "listed", 0, TB_PORTS_OF(sig, d_i[2]), b.err, sizeof b.err), 0);
    assert_int_equal(tb_taps_ports(&taps, "listed", 1, TB_PORTS_OF(sig, d_i[2]), b.err, sizeof b.err), -1);
    assert_string_equal(b.err, "listed: there is no tap 1 of this kind");
    tb_taps_close(&taps);
    tb_sim_close(&b.sim);
}

/* Signals of one tap after the other: the places in the one before are of use only where the same signals are. */
static void ports_of_neighbours(void **state) {
    (void)state;
    static const char *const tap[] = {"toy.a.u_tap_k", "toy.b.u_tap_k", "toy.c.u_tap_k", "toy.d.u_tap_k",
                                      "toy.e.u_tap_k"};
    static const char *const names[][3] = {{"a", "c"}, {"a", "b", "c"}, {"b", "c", "d"}, {"a", "b", "c"}, {"a", "c"}};
    void *ptr[5][3];
    char err[200] = "";
    tb_sim sim;
    tb_taps taps;
    tb_sig sig[1];
    start(&sim, &fake_shim);
    for (size_t i = 0; i < 5; i++) {
        for (size_t k = 0; k < 3 && names[i][k] != NULL; k++) {
            ptr[i][k] = add(&sim, tap[i], names[i][k], 8);
        }
    }
    assert_int_equal(tb_taps_open(&taps, &sim, err, sizeof err), 0);
    tb_tap_places places;
    places.tap = NULL;
    for (size_t i = 0; i < 5; i++) {
        const size_t at = i == 1 || i == 3 ? 2 : 1;
        assert_int_equal(tb_tap_ports_as(&taps.tap[i], &places, TB_PORTS_OF(sig, c), err, sizeof err), 0);
        assert_ptr_equal(sig[0].ptr, ptr[i][at]);
        assert_ptr_equal(places.tap, &taps.tap[i]);
    }
    assert_int_equal(tb_tap_ports_as(&taps.tap[0], &places, TB_PORTS_OF(sig, c), err, sizeof err), 0);
    assert_ptr_equal(sig[0].ptr, ptr[0][1]);
    assert_ptr_equal(places.tap, &taps.tap[4]); /* nothing was searched for */
    assert_int_equal(tb_tap_ports_as(&taps.tap[2], &places, TB_PORTS_OF(sig, a), err, sizeof err), -1);
    assert_string_equal(err, "tap of toy.c: there is no signal a");
    tb_taps_close(&taps);
    tb_sim_close(&sim);
}

/* A part is found among 64 components, and not by the first letters of its name. */
static void deep_paths(void **state) {
    (void)state;
    static const tb_check_gate gates[] = {{"u_long_name_1", "g0"}, {NULL, NULL}};
    static const tb_check_ops gate = {.unit = "gate", .gates = gates};
    static const tb_check_ops unit = {.unit = "unit"};
    const tb_check_ops *const ops[] = {&gate, &unit};
    for (size_t depth = 62; depth <= 65; depth++) {
        char path[400] = "toy.u_long_name", err[500] = "";
        tb_sim sim;
        tb_checks checks;
        for (size_t i = 3; i < depth; i++) { /* with the part, so many behind the first one */
            strcat(path, ".u");
        }
        strcat(path, ".u_long_name_2.u_long_name_1.u_tap_unit");
        start(&sim, &fake_shim);
        uint8_t *en = (uint8_t *)add(&sim, "toy.g0.u_tap_gate", "en_i", 1);
        add(&sim, path, "a", 1);
        const int rc = tb_checks_open(&checks, &sim, ops, 2, NULL, NULL, err, sizeof err);
        assert_int_equal(rc, depth <= 64 ? 0 : -1);
        if (rc == 0) {
            assert_ptr_equal(checks.check[1].clock.ptr, en);
            tb_checks_close(&checks);
        } else {
            assert_non_null(strstr(err, ".u_long_name_2.u_long_name_1: more than 64 levels"));
        }
        tb_sim_close(&sim);
    }
}

/* The innermost gate counts, also one in a scope around the part; a gate of the same name elsewhere does not. */
static void inner_gates(void **state) {
    (void)state;
    static const char *const scopes[] = {"toy.toy.u_g.u_tap_listed", "toy.toy.u_g.s[0].u_in.u_tap_listed"};
    bench b;
    memset(&b, 0, sizeof b);
    start(&b.sim, &fake_shim);
    add(&b.sim, "toy.toy.g0.u_tap_gate", "en_i", 1);
    uint8_t *outer = (uint8_t *)add(&b.sim, "toy.toy.g1.u_tap_gate", "en_i", 1);
    *(uint8_t *)add(&b.sim, "toy.toy.u_f.g2.u_tap_gate", "en_i", 1) = 1;
    uint8_t *inner = (uint8_t *)add(&b.sim, "toy.toy.u_g.g2.u_tap_gate", "en_i", 1);
    for (size_t i = 0; i < 2; i++) {
        static const char *const names[] = {"d0_i", "d1_i", "value", "wide"};
        for (size_t k = 0; k < 4; k++) {
            *(uint8_t *)add(&b.sim, scopes[i], names[k], 8) = 1;
        }
    }
    const tb_check_ops *const ops[] = {&ops_gate, &ops_listed};
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, ops, 2, NULL, &b.rec, b.err, sizeof b.err), 0);
    *outer = 1;
    cycle(&b); /* that of u_g.g2 has the clock of u_g */
    assert_string_equal(b.rec.calls, "gate0 gate1 gate2 gate3 listed0");
    *inner = 1;
    cycle(&b);
    assert_string_equal(b.rec.calls, "gate0 gate1 gate2 gate3 listed0 listed1");
    *outer = *inner = 0;
    cycle(&b);
    assert_string_equal(b.rec.calls, "gate0 gate1 gate2");
    done(&b);
}

static void formatted(void **state) {
    (void)state;
    static const char *const want[] = {"lane 3|2 words|none", "1|0", "only this"};
    static const char *const text[] = {"first 0 (toy.u_a): data, task 0, transaction 5, lane 3, cycle 0: got 2 words, "
                                       "expected none; its input was right",
                                       "first 0 (toy.u_a): data, task 0, transaction 5, cycle 0: got 1, expected 0; "
                                       "its input was right",
                                       "first 0 (toy.u_a): data, task 0, transaction 5, cycle 0: got only this, "
                                       "expected ; its input was right"};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        char line[300];
        bench b;
        open_chain(&b);
        tb_check_failf(&b.checks.check[2], "data", 5, "%s", want[i]);
        tb_check_text(&b.checks.failure[0], line, sizeof line);
        assert_string_equal(line, text[i]);
        done(&b);
    }
}

/* ---- checks that sleep ---- */
static tb_sig sleeper_value(const tb_check *c) {
    return ((probe *)c->state)->value;
}

static int sleeper_open(tb_check *c, char *err, size_t err_size) {
    if (probe_open(c, err, err_size) != 0) {
        return -1;
    }
    const tb_sig more = tb_tap_find(c->tap, "wide");
    if (more.ptr != NULL && tb_check_wake(c, more, err, err_size) != 0) {
        return -1;
    }
    return tb_check_wake(c, sleeper_value(c), err, err_size);
}

/* Once more after each value but 5. */
static void sleeper_cycle(tb_check *c) {
    note(c, "");
    c->again = tb_get(sleeper_value(c)) != 0 && tb_get(sleeper_value(c)) != 5;
}

static const tb_check_ops ops_sleeper = {.unit = "sleeper",
                                         .state_bytes = sizeof(probe),
                                         .open = sleeper_open,
                                         .cycle = sleeper_cycle,
                                         .clear = probe_clear};

static void sleep_and_wake(void **state) {
    (void)state;
    bench b;
    build(&b);
    memset(b.sim.dut, 0, sizeof(fake));
    add(&b.sim, "toy.toy.u_a.u_tap_lone", "value", 8);
    uint8_t *en = (uint8_t *)add(&b.sim, "toy.toy.u_b.u_tap_sleeper", "en_i", 1);
    uint8_t *rst = (uint8_t *)add(&b.sim, "toy.toy.u_b.u_tap_sleeper", "rst_ni", 1);
    uint8_t *first = (uint8_t *)add(&b.sim, "toy.toy.u_b.u_tap_sleeper", "value", 8);
    uint8_t *second = (uint8_t *)add(&b.sim, "toy.toy.u_c.u_tap_sleeper", "value", 8);
    uint32_t *wide = (uint32_t *)add(&b.sim, "toy.toy.u_c.u_tap_sleeper", "wide", 32);
    const tb_check_ops *const ops[] = {&ops_sleeper, &ops_lone};
    *en = *rst = 1;
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, ops, 2, NULL, &b.rec, b.err, sizeof b.err), 0);
    cycle(&b);
    assert_string_equal(b.rec.calls, "lone0"); /* named no signal: always */
    *first = 1;
    cycle(&b);
    assert_string_equal(b.rec.calls, "sleeper0 lone0");
    *first = 0;
    cycle(&b);
    assert_string_equal(b.rec.calls, "sleeper0 lone0"); /* it asked for it */
    cycle(&b);
    assert_string_equal(b.rec.calls, "lone0");
    *second = 5;
    cycle(&b);
    assert_string_equal(b.rec.calls, "sleeper1 lone0");
    *second = 0;
    cycle(&b);
    assert_string_equal(b.rec.calls, "lone0");
    *wide = UINT32_C(1) << 31;
    cycle(&b);
    assert_string_equal(b.rec.calls, "sleeper1 lone0");
    *wide = 0;
    /* what was asked for waits for the clock; a reset asks for the first cycle after it */
    *first = 1;
    cycle(&b);
    *first = 0;
    *en = 0;
    cycle(&b);
    assert_string_equal(b.rec.calls, "lone0");
    *en = 1;
    cycle(&b);
    assert_string_equal(b.rec.calls, "sleeper0 lone0");
    *first = 1;
    cycle(&b);
    *first = *rst = 0;
    cycle(&b);
    assert_string_equal(b.rec.calls, "sleeper0-clear lone0");
    *rst = 1;
    *en = 0;
    cycle(&b);
    assert_string_equal(b.rec.calls, "lone0");
    *en = 1;
    cycle(&b);
    assert_string_equal(b.rec.calls, "sleeper0 lone0");
    cycle(&b);
    assert_string_equal(b.rec.calls, "lone0");
    done(&b);
}

/* Another name for a signal. */
static void same_as(tb_sim *sim, const char *scope, const char *name, uint32_t width, void *ptr) {
    add(sim, scope, name, width);
    fake *f = (fake *)sim->dut;
    f->var[f->vars - 1].at = (uintptr_t)ptr;
}

/* ---- checks that watch signals for a change ---- */
static int watcher_open(tb_check *c, char *err, size_t err_size) {
    const tb_sig wide = tb_tap_find(c->tap, "wide");
    if (probe_open(c, err, err_size) != 0) {
        return -1;
    }
    return wide.ptr != NULL ? tb_check_watch(c, wide, err, err_size) : 0;
}

static void watcher_cycle(tb_check *c) {
    note(c, "");
}

static const tb_check_ops ops_watcher = {.unit = "watcher",
                                         .state_bytes = sizeof(probe),
                                         .watch = "value",
                                         .open = watcher_open,
                                         .cycle = watcher_cycle,
                                         .clear = probe_clear};

static void watched_signals(void **state) {
    (void)state;
    bench b;
    build(&b);
    memset(b.sim.dut, 0, sizeof(fake));
    uint8_t *asleep = (uint8_t *)add(&b.sim, "toy.toy.u_a.u_tap_sleeper", "value", 8);
    uint8_t *en = (uint8_t *)add(&b.sim, "toy.toy.u_b.u_tap_watcher", "en_i", 1);
    uint8_t *rst = (uint8_t *)add(&b.sim, "toy.toy.u_b.u_tap_watcher", "rst_ni", 1);
    uint8_t *value = (uint8_t *)add(&b.sim, "toy.toy.u_b.u_tap_watcher", "value", 8);
    same_as(&b.sim, "toy.toy.u_c.u_tap_watcher", "value", 8, asleep); /* the other check waits for this one */
    uint32_t *wide = (uint32_t *)add(&b.sim, "toy.toy.u_c.u_tap_watcher", "wide", 32);
    const tb_check_ops *const ops[] = {&ops_sleeper, &ops_watcher};
    *en = *rst = *value = 1;
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, ops, 2, NULL, &b.rec, b.err, sizeof b.err), 0);
    cycle(&b);
    assert_string_equal(b.rec.calls, "watcher0 watcher1"); /* the first cycle */
    cycle(&b);
    assert_string_equal(b.rec.calls, "");
    *value = 3;
    cycle(&b);
    assert_string_equal(b.rec.calls, "watcher0");
    *value = 0;
    *asleep = 5;
    cycle(&b);
    assert_string_equal(b.rec.calls, "sleeper0 watcher0 watcher1");
    cycle(&b);
    assert_string_equal(b.rec.calls, "sleeper0");
    *asleep = 0;
    *wide = UINT32_C(1) << 24;
    cycle(&b);
    assert_string_equal(b.rec.calls, "watcher1");
    /* a change while the clock stands is seen when it runs again, also one that was taken back */
    *en = 0;
    *value = 2;
    cycle(&b);
    *value = 0;
    cycle(&b);
    assert_string_equal(b.rec.calls, "");
    *en = 1;
    cycle(&b);
    assert_string_equal(b.rec.calls, "watcher0");
    cycle(&b);
    assert_string_equal(b.rec.calls, "");
    *rst = 0;
    cycle(&b);
    assert_string_equal(b.rec.calls, "watcher0-clear");
    *rst = 1;
    cycle(&b);
    assert_string_equal(b.rec.calls, "watcher0");
    cycle(&b);
    assert_string_equal(b.rec.calls, "");
    done(&b);
}

/* ---- instances that are called together ---- */
#define CROWD 70u
#define SHARING 300u /* more than a lot of words of a bitmap */

static unsigned crowd_calls, crowd_seen[SHARING];

/* Once more after an odd value; 9 is wrong. */
static uint64_t crowd_cycle(tb_check *check, void *states, uint64_t due) {
    uint64_t again = 0;
    crowd_calls++;
    for (; due != 0; due &= due - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(due);
        const uint64_t value = tb_get(sleeper_value(&check[i]));
        assert_ptr_equal(check[i].ops->cycle_all, crowd_cycle);
        assert_ptr_equal(check[i].state, &((probe *)states)[i]);
        crowd_seen[check[i].index]++;
        again |= (value & 1u) << i;
        if (value == 9) {
            tb_check_value(&check[i], "value", 0, value, 0);
        }
    }
    return again;
}

static int crowd_open(tb_check *c, char *err, size_t err_size) {
    return probe_open(c, err, err_size) != 0 ? -1 : tb_check_wake(c, sleeper_value(c), err, err_size);
}

static const tb_check_ops ops_crowd = {
    .unit = "crowd", .state_bytes = sizeof(probe), .open = crowd_open, .cycle_all = crowd_cycle, .clear = probe_clear};

/* Calls since the last look, and how often check i was among the due ones. */
static void crowd_expect(bench *b, unsigned calls, unsigned i, unsigned seen) {
    crowd_calls = 0;
    memset(crowd_seen, 0, sizeof crowd_seen);
    cycle(b);
    assert_int_equal(crowd_calls, calls);
    assert_int_equal(crowd_seen[i], seen);
    assert_non_null(strstr(b->rec.calls, "lone0")); /* stands behind them */
}

static void called_together(void **state) {
    (void)state;
    bench b;
    char scope[CROWD + 1][48];
    uint8_t *value[CROWD];
    build(&b);
    memset(b.sim.dut, 0, sizeof(fake));
    for (unsigned i = 0; i < CROWD; i++) {
        snprintf(scope[i], sizeof scope[i], "toy.toy.u_b%02u.u_tap_crowd", i);
        value[i] = (uint8_t *)add(&b.sim, scope[i], "value", 8);
    }
    add(&b.sim, "toy.toy.u_c.u_tap_lone", "value", 8);
    const tb_check_ops *const ops[] = {&ops_crowd, &ops_lone};
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, ops, 2, NULL, &b.rec, b.err, sizeof b.err), 0);
    crowd_expect(&b, 0, 0, 0);
    *value[3] = *value[69] = 2;
    crowd_expect(&b, 2, 69, 1); /* a call for 64 checks */
    *value[69] = 0;
    crowd_expect(&b, 1, 69, 0);
    *value[3] = 1;
    crowd_expect(&b, 1, 3, 1);
    *value[3] = 0;
    crowd_expect(&b, 1, 3, 1); /* it asked for it */
    crowd_expect(&b, 0, 3, 0);
    *value[3] = 9;
    crowd_expect(&b, 1, 3, 1);
    assert_int_equal(b.checks.failures, 1);
    assert_int_equal(b.checks.failure[0].check->index, 3);
    crowd_expect(&b, 0, 3, 0); /* rests */
    *value[4] = 2;
    crowd_expect(&b, 1, 4, 1);
    done(&b);
}

/* ---- signals that wake several checks, and checks that see parts of a signal ---- */
static int bits_open(tb_check *c, char *err, size_t err_size) {
    if (probe_open(c, err, err_size) != 0) {
        return -1;
    }
    /* the last ones see bit 1 only */
    return c->index < SHARING - 2 ? tb_check_wake(c, sleeper_value(c), err, err_size)
                                  : tb_check_wake_bits(c, sleeper_value(c), 2, err, err_size);
}

static const tb_check_ops ops_bits = {
    .unit = "bits", .state_bytes = sizeof(probe), .open = bits_open, .cycle_all = crowd_cycle, .clear = probe_clear};

static void expect_seen(bench *b, unsigned first, unsigned second, unsigned third) {
    memset(crowd_seen, 0, sizeof crowd_seen);
    cycle(b);
    for (unsigned i = 0; i < SHARING; i++) {
        assert_int_equal(crowd_seen[i], i == first || i == second || i == third);
    }
}

static void shared_signals(void **state) {
    (void)state;
    enum { NOBODY = SHARING };
    bench b;
    static char scope[SHARING][48];
    static uint8_t *value[SHARING];
    build(&b);
    memset(b.sim.dut, 0, sizeof(fake));
    for (unsigned i = 0; i < SHARING; i++) {
        snprintf(scope[i], sizeof scope[i], "toy.toy.u_b%03u.u_tap_bits", i);
        /* in other words of a bitmap than the first one of that name; the last one sees other bits */
        if (i == 200 || i == 299) {
            value[i] = value[5];
            same_as(&b.sim, scope[i], "value", 8, value[5]);
        } else {
            value[i] = (uint8_t *)add(&b.sim, scope[i], "value", 8);
        }
    }
    const tb_check_ops *const ops[] = {&ops_bits};
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, ops, 1, NULL, &b.rec, b.err, sizeof b.err), 0);
    assert_int_equal(b.checks.count, SHARING);
    expect_seen(&b, NOBODY, NOBODY, NOBODY);
    *value[5] = 4;
    expect_seen(&b, 5, 200, NOBODY);
    *value[5] = 2;
    expect_seen(&b, 5, 200, 299);
    *value[5] = 0;
    expect_seen(&b, NOBODY, NOBODY, NOBODY);
    *value[298] = 4;
    expect_seen(&b, NOBODY, NOBODY, NOBODY);
    *value[298] = 6;
    expect_seen(&b, 298, NOBODY, NOBODY);
    *value[298] = 0;
    /* each alone, then with its neighbour: what a block woke before is not what it wakes now */
    for (unsigned i = 0; i + 1 < SHARING; i++) {
        if (value[i] != value[5] && value[i + 1] != value[5]) {
            *value[i] = 2;
            expect_seen(&b, i, NOBODY, NOBODY);
            *value[i + 1] = 2;
            expect_seen(&b, i, i + 1, NOBODY);
            *value[i] = *value[i + 1] = 0;
            expect_seen(&b, NOBODY, NOBODY, NOBODY);
        }
    }
    done(&b);
}

/* All signals that wake checks lie in a few bytes: no more of the design is read. */
static void few_signals(void **state) {
    (void)state;
    bench b;
    build(&b);
    memset(b.sim.dut, 0, sizeof(fake));
    uint8_t *alone = (uint8_t *)malloc(8);
    memset(alone, 0, 8);
    same_as(&b.sim, "toy.toy.u_b.u_tap_sleeper", "value", 8, alone + 3);
    same_as(&b.sim, "toy.toy.u_c.u_tap_sleeper", "value", 8, alone);
    same_as(&b.sim, "toy.toy.u_c.u_tap_sleeper", "wide", 32, alone + 4);
    const tb_check_ops *const ops[] = {&ops_sleeper};
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, ops, 1, NULL, &b.rec, b.err, sizeof b.err), 0);
    cycle(&b);
    assert_string_equal(b.rec.calls, "");
    alone[3] = 5;
    cycle(&b);
    assert_string_equal(b.rec.calls, "sleeper0");
    alone[3] = 0;
    alone[7] = 0x80;
    cycle(&b);
    assert_string_equal(b.rec.calls, "sleeper1");
    alone[7] = 0;
    cycle(&b);
    assert_string_equal(b.rec.calls, "");
    done(&b);
    free(alone);
}

static void wake_errors(void **state) {
    (void)state;
    bench b;
    build(&b);
    memset(b.sim.dut, 0, sizeof(fake));
    add(&b.sim, "toy.toy.u_c.u_tap_sleeper", "value", 8);
    add(&b.sim, "toy.toy.u_c.u_tap_sleeper", "wide", 64);
    const tb_check_ops *const ops[] = {&ops_sleeper};
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, ops, 1, NULL, &b.rec, b.err, sizeof b.err), -1);
    assert_non_null(strstr(b.err, "at most 32 bits, got 64"));
    tb_sim_close(&b.sim);
}

static void reset_beats_clock(void **state) {
    (void)state;
    bench b;
    build(&b);
    /* a unit in reset whose clock stands */
    fake *f = (fake *)b.sim.dut;
    f->vars = 0;
    uint8_t *en = (uint8_t *)add(&b.sim, "toy.toy.u_a.u_tap_first", "en_i", 1);
    uint8_t *rst = (uint8_t *)add(&b.sim, "toy.toy.u_a.u_tap_first", "rst_ni", 1);
    add(&b.sim, "toy.toy.u_a.u_tap_first", "value", 8);
    const tb_check_ops *const ops[] = {&ops_first};
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, ops, 1, NULL, &b.rec, b.err, sizeof b.err), 0);
    *en = 0;
    *rst = 0;
    cycle(&b);
    assert_string_equal(b.rec.calls, "first0-clear");
    *rst = 1;
    cycle(&b);
    assert_string_equal(b.rec.calls, "");
    done(&b);
}

static void open_errors(void **state) {
    (void)state;
    bench b;
    build(&b);
    const tb_check_ops *const few[] = {&ops_last, &ops_first, &ops_lone};
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, few, 3, NULL, &b.rec, b.err, sizeof b.err), -1);
    assert_string_equal(b.err, "tap of toy.u_d: no check knows the kind 'middle'");
    const tb_check_ops *const many[] = {&ops_last, &ops_middle, &ops_first, &ops_lone, &ops_served};
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, many, 5, NULL, &b.rec, b.err, sizeof b.err), -1);
    assert_string_equal(b.err, "served: the design has no tap of this kind");
    static const char *const other[] = {"serve", NULL};
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, many, 5, other, &b.rec, b.err, sizeof b.err), -1);
    static const char *const absent[] = {"middle", "served", NULL};
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, many, 5, absent, &b.rec, b.err, sizeof b.err), 0);
    assert_int_equal(b.checks.count, 4); /* one that may be absent and is there works all the same */
    tb_checks_close(&b.checks);
    b.rec.refuse = true;
    b.rec.closed = 0;
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, chain, CHAIN, NULL, &b.rec, b.err, sizeof b.err), -1);
    assert_string_equal(b.err, "last: refused");
    assert_int_equal(b.rec.closed, 1);
    assert_int_equal(b.checks.count, 0);
    tb_checks_close(&b.checks); /* again: harmless */
    /* a signal of another width */
    ((fake *)b.sim.dut)->var[1].width = 9;
    b.rec.refuse = false;
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, chain, CHAIN, NULL, &b.rec, b.err, sizeof b.err), -1);
    assert_string_equal(b.err, "tap of toy.u_a: signal value has 9 bits, expected 8");
    tb_sim_close(&b.sim);
}

static void without_taps(void **state) {
    (void)state;
    bench b;
    build(&b);
    memset(b.sim.dut, 0, sizeof(fake));
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, chain, CHAIN, NULL, &b.rec, b.err, sizeof b.err), 0);
    assert_int_equal(b.checks.count, 0);
    assert_true(cycle(&b));
    assert_true(tb_checks_finish(&b.checks));
    done(&b);
}

/* A tap that only serves others: no calls. */
static void served(void **state) {
    (void)state;
    bench b;
    build(&b);
    add(&b.sim, "toy.toy.u_e.u_tap_served", "value", 8);
    const tb_check_ops *const ops[] = {&ops_served, &ops_last, &ops_middle, &ops_first, &ops_lone};
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, ops, 5, NULL, &b.rec, b.err, sizeof b.err), 0);
    assert_int_equal(b.checks.count, 5);
    assert_true(cycle(&b));
    assert_string_equal(b.rec.calls, "last0 middle0 first0 lone0");
    assert_true(tb_checks_finish(&b.checks));
    done(&b);
}

static void first_failure_rests(void **state) {
    (void)state;
    bench b;
    build(&b);
    const tb_check_ops *const ops[] = {&ops_last, &ops_middle, &ops_first_twice, &ops_lone};
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, ops, 4, NULL, &b.rec, b.err, sizeof b.err), 0);
    for (int i = 0; i < 5; i++) {
        assert_true(cycle(&b));
    }
    *b.first = 0xa5;
    assert_false(cycle(&b));
    assert_int_equal(b.checks.failures, 1);
    const tb_check_failure *f = &b.checks.failure[0];
    assert_string_equal(f->check->ops->unit, "first");
    assert_string_equal(f->stream, "value");
    assert_int_equal(f->cycle, 5);
    assert_int_equal(f->transaction, 5);
    assert_int_equal(f->task, 7);
    assert_string_equal(f->got, "0xa5");
    assert_string_equal(f->expected, "0x0");
    assert_string_equal(f->where, "");
    assert_true(f->input_right);
    assert_false(cycle(&b)); /* and stays so */
    assert_string_equal(b.rec.calls, "last0 middle0 lone0");
    b.rec.calls[0] = '\0';
    assert_false(tb_checks_finish(&b.checks));
    assert_string_equal(b.rec.calls, "last0-finish middle0-finish lone0-finish");
    assert_int_equal(b.checks.failures, 1);
    done(&b);
}

static const tb_check_failure *failure_of(const bench *b, const char *unit) {
    for (size_t i = 0; i < b->checks.failures; i++) {
        if (strcmp(b->checks.failure[i].check->ops->unit, unit) == 0) {
            return &b->checks.failure[i];
        }
    }
    return NULL;
}

/* Which unit is to blame: the one whose input was right. */
static void blame(void **state) {
    (void)state;
    bench b;
    open_chain(&b);
    *b.first = 1;
    cycle(&b);
    *b.last = 1; /* fed by middle, which is fed by first */
    cycle(&b);
    *b.lone = 1;
    cycle(&b);
    *b.middle = 1;
    cycle(&b);
    assert_int_equal(b.checks.failures, 4);
    assert_true(failure_of(&b, "first")->input_right);
    assert_false(failure_of(&b, "last")->input_right);
    assert_true(failure_of(&b, "lone")->input_right);
    assert_false(failure_of(&b, "middle")->input_right);
    done(&b);
    /* what fails later, or beside it, does not take the blame off */
    open_chain(&b);
    *b.last = 1;
    cycle(&b);
    *b.first = 1;
    cycle(&b);
    assert_true(failure_of(&b, "last")->input_right);
    assert_true(failure_of(&b, "first")->input_right);
    done(&b);
    /* in the same cycle: the order of the table decides */
    open_chain(&b);
    *b.middle = *b.first = *b.lone = 1;
    cycle(&b);
    assert_string_equal(b.checks.failure[0].check->ops->unit, "middle");
    assert_true(b.checks.failure[0].input_right);
    *b.last = 1;
    cycle(&b);
    assert_false(failure_of(&b, "last")->input_right);
    done(&b);
}

/* More checks fail than failures are kept. */
static void keep_limit(void **state) {
    (void)state;
    enum { MANY = TB_CHECK_KEEP + 4 };
    bench b;
    char scope[MANY][48];
    memset(&b, 0, sizeof b);
    start(&b.sim, &fake_shim);
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(scope[i], sizeof scope[i], "toy.toy.g[%c].u_tap_lone", 'a' + (int)i);
        *(uint8_t *)add(&b.sim, scope[i], "value", 8) = (uint8_t)(i + 1);
    }
    const tb_check_ops *const ops[] = {&ops_lone};
    assert_int_equal(tb_checks_open(&b.checks, &b.sim, ops, 1, NULL, &b.rec, b.err, sizeof b.err), 0);
    assert_int_equal(b.checks.count, MANY);
    assert_false(cycle(&b));
    assert_int_equal(b.checks.failures, TB_CHECK_KEEP);
    for (unsigned i = 0; i < TB_CHECK_KEEP; i++) {
        char got[8];
        snprintf(got, sizeof got, "0x%x", i + 1);
        assert_int_equal(b.checks.failure[i].check->index, i);
        assert_string_equal(b.checks.failure[i].got, got);
    }
    assert_true(b.checks.check[MANY - 1].failed); /* not kept, and yet at rest */
    assert_false(cycle(&b));
    assert_string_equal(b.rec.calls, "");
    done(&b);
    assert_int_equal(b.rec.closed, MANY);
}

static void text(void **state) {
    (void)state;
    bench b;
    char line[400];
    open_chain(&b);
    cycle(&b);
    *b.first = 9;
    b.checks.check[2].task = 4; /* of first, in the order of ops */
    assert_string_equal(b.checks.check[2].ops->unit, "first");
    b.rec.calls[0] = '\0';
    assert_false(tb_checks_finish(&b.checks));
    tb_check_text(&b.checks.failure[0], line, sizeof line);
    assert_string_equal(line, "first 0 (toy.u_a): finish, task 4, transaction 3, at the end, cycle 1: got less, "
                              "expected more; its input was right");
    *b.middle = 0x80;
    cycle(&b);
    tb_check_text(&b.checks.failure[1], line, sizeof line);
    assert_string_equal(line, "middle 0 (toy.u_d): value, task 0, transaction 1, cycle 1: got 0x80, expected 0x0; its "
                              "input was wrong already");
    char small[20];
    tb_check_text(&b.checks.failure[1], small, sizeof small); /* cut, not overrun */
    assert_string_equal(small, "middle 0 (toy.u_d):");
    done(&b);
}

/* Words that are longer than the fields of a failure are cut. */
static void long_words(void **state) {
    (void)state;
    bench b;
    char word[300];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    open_chain(&b);
    tb_check_fail(&b.checks.check[0], word, 0, word, word, word);
    const tb_check_failure *f = &b.checks.failure[0];
    assert_int_equal(strlen(f->stream), sizeof f->stream - 1);
    assert_int_equal(strlen(f->where), sizeof f->where - 1);
    assert_int_equal(strlen(f->got), sizeof f->got - 1);
    assert_int_equal(strlen(f->expected), sizeof f->expected - 1);
    assert_true(tb_check_value(&b.checks.check[1], "wide", 0, UINT64_MAX, UINT64_MAX));
    assert_false(tb_check_value(&b.checks.check[1], "wide", 0, UINT64_MAX, 1));
    assert_string_equal(b.checks.failure[1].got, "0xffffffffffffffff");
    done(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_taps),
        cmocka_unit_test(finding),
        cmocka_unit_test(order_reset_clock),
        cmocka_unit_test(port_names),
        cmocka_unit_test(ports_and_gates),
        cmocka_unit_test(inner_gates),
        cmocka_unit_test(ports_of_neighbours),
        cmocka_unit_test(deep_paths),
        cmocka_unit_test(formatted),
        cmocka_unit_test(sleep_and_wake),
        cmocka_unit_test(watched_signals),
        cmocka_unit_test(called_together),
        cmocka_unit_test(shared_signals),
        cmocka_unit_test(few_signals),
        cmocka_unit_test(wake_errors),
        cmocka_unit_test(reset_beats_clock),
        cmocka_unit_test(open_errors),
        cmocka_unit_test(without_taps),
        cmocka_unit_test(served),
        cmocka_unit_test(first_failure_rests),
        cmocka_unit_test(blame),
        cmocka_unit_test(keep_limit),
        cmocka_unit_test(text),
        cmocka_unit_test(long_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
