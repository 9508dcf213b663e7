/* Shrinking: knobs fall as long as the failure keeps its signature; children that die or hang; what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tb.h"

static const char *const colours[] = {"red", "green", "blue"};
static const tb_knob table[] = {
    {"w", 1, 1000, TB_KNOB_UNIFORM, NULL, NULL, "width"},
    {"h", 1, 1000, TB_KNOB_UNIFORM, NULL, NULL, "height"},
    {"colour", 0, 2, TB_KNOB_ENUM, colours, NULL, "no size"},
    {"seed", 0, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "data"},
};

static int64_t knob(const tb_knobs *k, const char *name) {
    return tb_knobs_get(k, name);
}

static void start(tb_knobs *k, int64_t w, int64_t h, int64_t colour, int64_t seed) {
    tb_knobs_init(k, table, 4);
    assert_int_equal(tb_knobs_set(k, "w", w), 0);
    assert_int_equal(tb_knobs_set(k, "h", h), 0);
    assert_int_equal(tb_knobs_set(k, "colour", colour), 0);
    assert_int_equal(tb_knobs_set(k, "seed", seed), 0);
}

/* An area of 60 or more fails; with a width above 500 in another way. */
static int area(void *ctx, const tb_knobs *k, char signature[TB_SHRINK_SIGNATURE], uint64_t *cycles) {
    (void)ctx;
    *cycles = (uint64_t)(knob(k, "w") * knob(k, "h"));
    snprintf(signature, TB_SHRINK_SIGNATURE, "%s", knob(k, "w") > 500 ? "wide" : *cycles >= 60 ? "area" : "");
    return 0;
}

static bool odd_height(void *ctx, const tb_knobs *k) {
    (void)ctx;
    return knob(k, "h") % 2 == 1;
}

static void test_small(void **state) {
    (void)state;
    tb_knobs k;
    tb_shrink_stats stats;
    char err[256];
    const tb_shrink_cfg cfg = {.run = area};
    start(&k, 400, 300, 2, 12345);
    assert_int_equal(tb_shrink(&cfg, &k, &stats, err, sizeof err), 0);
    assert_string_equal(stats.signature, "area");
    assert_true(knob(&k, "w") * knob(&k, "h") >= 60);
    /* no single step is left */
    assert_true((knob(&k, "w") - 1) * knob(&k, "h") < 60 && knob(&k, "w") * (knob(&k, "h") - 1) < 60);
    assert_int_equal(knob(&k, "colour"), 0);
    assert_int_equal(knob(&k, "seed"), 0);
    assert_int_equal(stats.cycles_before, 120000);
    assert_int_equal(stats.cycles_after, knob(&k, "w") * knob(&k, "h"));
    assert_true(stats.runs > stats.steps && stats.steps > 0 && !stats.out_of_time);
}

static void test_signature_is_kept(void **state) {
    (void)state;
    tb_knobs k;
    tb_shrink_stats stats;
    char err[256];
    const tb_shrink_cfg cfg = {.run = area};
    start(&k, 900, 300, 0, 0);
    assert_int_equal(tb_shrink(&cfg, &k, &stats, err, sizeof err), 0);
    assert_string_equal(stats.signature, "wide");
    assert_int_equal(knob(&k, "w"), 501);
    assert_int_equal(knob(&k, "h"), 1);
}

static void test_keep_and_legal(void **state) {
    (void)state;
    tb_knobs k;
    tb_shrink_stats stats;
    char err[256];
    const tb_shrink_cfg cfg = {.run = area, .legal = odd_height, .keep = "seed,w"};
    start(&k, 10, 301, 1, 77);
    assert_int_equal(tb_shrink(&cfg, &k, &stats, err, sizeof err), 0);
    assert_int_equal(knob(&k, "w"), 10);
    assert_int_equal(knob(&k, "seed"), 77);
    assert_int_equal(knob(&k, "h") % 2, 1);
    assert_in_range(knob(&k, "h"), 7, 9);
}

/* Dies with a width of 5 or more. */
static int dies(void *ctx, const tb_knobs *k, char signature[TB_SHRINK_SIGNATURE], uint64_t *cycles) {
    (void)ctx;
    *cycles = 1;
    signature[0] = '\0';
    if (knob(k, "w") >= 5) {
        abort();
    }
    return 0;
}

static void test_death_is_a_failure(void **state) {
    (void)state;
    tb_knobs k;
    tb_shrink_stats stats;
    char err[256];
    const tb_shrink_cfg cfg = {.run = dies};
    start(&k, 80, 1, 0, 0);
    assert_int_equal(tb_shrink(&cfg, &k, &stats, err, sizeof err), 0);
    assert_string_equal(stats.signature, "host:signal 6");
    assert_int_equal(knob(&k, "w"), 5);
}

/* Passes at 1, fails above, and hangs on the way down. */
static int hangs(void *ctx, const tb_knobs *k, char signature[TB_SHRINK_SIGNATURE], uint64_t *cycles) {
    (void)ctx;
    *cycles = 1;
    if (knob(k, "h") == 1) {
        pause();
    }
    snprintf(signature, TB_SHRINK_SIGNATURE, "bad");
    return 0;
}

static void test_hang_is_another_failure(void **state) {
    (void)state;
    tb_knobs k;
    tb_shrink_stats stats;
    char err[256];
    const tb_shrink_cfg cfg = {.run = hangs, .seconds = 30};
    start(&k, 1, 2, 0, 0);
    assert_int_equal(tb_shrink(&cfg, &k, &stats, err, sizeof err), 0);
    assert_int_equal(knob(&k, "h"), 2);
    assert_int_equal(knob(&k, "w"), 1);
}

static int passes(void *ctx, const tb_knobs *k, char signature[TB_SHRINK_SIGNATURE], uint64_t *cycles) {
    (void)k;
    *cycles = 0;
    signature[0] = '\0';
    return *(const int *)ctx;
}

static void test_refused(void **state) {
    (void)state;
    tb_knobs k;
    tb_shrink_stats stats;
    char err[256];
    int rc = 0;
    const tb_shrink_cfg cfg = {.run = passes, .ctx = &rc};
    start(&k, 9, 9, 1, 9);
    assert_int_equal(tb_shrink(&cfg, &k, &stats, err, sizeof err), -1);
    assert_non_null(strstr(err, "passes"));
    rc = -1;
    assert_int_equal(tb_shrink(&cfg, &k, &stats, err, sizeof err), -1);
    assert_non_null(strstr(err, "cannot be run"));
    assert_int_equal(knob(&k, "w"), 9);
}

static void test_log(void **state) {
    (void)state;
    char text[4096] = "";
    tb_knobs k;
    tb_shrink_stats stats;
    char err[256];
    FILE *log = fmemopen(text, sizeof text - 1, "w");
    const tb_shrink_cfg cfg = {.run = area, .log = log};
    assert_non_null(log);
    start(&k, 100, 1, 0, 0);
    assert_int_equal(tb_shrink(&cfg, &k, &stats, err, sizeof err), 0);
    fclose(log);
    assert_int_equal(knob(&k, "w"), 60);
    assert_non_null(strstr(text, "  w "));
    assert_non_null(strstr(text, "-> 60: 60 cycles, attempt "));
}

/* Like area(), but the larger a case, the sooner it is done: side by side they end in another order than they began. */
static int area_in_disorder(void *ctx, const tb_knobs *k, char signature[TB_SHRINK_SIGNATURE], uint64_t *cycles) {
    const int64_t size = knob(k, "w") * knob(k, "h");
    const struct timespec pause_for = {.tv_nsec = size < 40 ? 20000000 : size < 400 ? 5000000 : 0};
    nanosleep(&pause_for, NULL);
    return area(ctx, k, signature, cycles);
}

static void test_jobs_do_not_matter(void **state) {
    (void)state;
    tb_knobs k[3];
    tb_shrink_stats stats[3];
    char err[256];
    char text[3][8192];
    static const unsigned jobs[] = {1, 2, 7};
    for (int i = 0; i < 3; i++) {
        memset(text[i], 0, sizeof text[i]);
        FILE *log = fmemopen(text[i], sizeof text[i] - 1, "w");
        const tb_shrink_cfg cfg = {.run = area_in_disorder, .jobs = jobs[i], .log = log};
        start(&k[i], 317, 211, 2, 12345);
        assert_int_equal(tb_shrink(&cfg, &k[i], &stats[i], err, sizeof err), 0);
        fclose(log);
        assert_memory_equal(k[i].value, k[0].value, sizeof k[0].value);
        assert_string_equal(text[i], text[0]);
        assert_int_equal(stats[i].runs, stats[0].runs);
        assert_int_equal(stats[i].steps, stats[0].steps);
    }
}

static const char *const data_names[] = {"random", "zeros", "odd", "ramp"};
static const tb_knob parts_table[] = {
    {"tasks", 1, 16, TB_KNOB_UNIFORM, NULL, NULL, "how many"},
    {"skip", 0, 0xFFFF, TB_KNOB_UNIFORM, NULL, NULL, "bit i: without task i"},
    {"data", 0, 3, TB_KNOB_ENUM, data_names, NULL, "values"},
    {"cut", 0, 9, TB_KNOB_UNIFORM, NULL, NULL, "cut by so much"},
};
static const char *const simple_data[] = {"zeros", "ones", "ramp", NULL};
static const tb_shrink_wish parts_wishes[] = {{"skip", TB_SHRINK_BITS, NULL, "jobs"},
                                              {"skip", TB_SHRINK_BITS, NULL, "tasks"},
                                              {"data", TB_SHRINK_NAMES, simple_data, NULL},
                                              {"cut", TB_SHRINK_UP, NULL, NULL}};

/* Tasks 3 and 9 fail together, with data that are not all zeros, where no more than 4 is cut off. */
static int needs_two(void *ctx, const tb_knobs *k, char signature[TB_SHRINK_SIGNATURE], uint64_t *cycles) {
    const int64_t need = 1 << 3 | 1 << 9;
    (void)ctx;
    *cycles = 100;
    const bool there = knob(k, "tasks") > 9 && (knob(k, "skip") & need) == 0;
    snprintf(signature, TB_SHRINK_SIGNATURE, "%s", there && knob(k, "data") != 1 && knob(k, "cut") <= 4 ? "two" : "");
    return 0;
}

static bool leaves_one(void *ctx, const tb_knobs *k) {
    const int64_t all = (1 << knob(k, "tasks")) - 1;
    (void)ctx;
    return (knob(k, "skip") & all) != all;
}

static void test_wishes(void **state) {
    (void)state;
    tb_knobs k;
    tb_shrink_stats stats;
    char err[256];
    const tb_shrink_cfg cfg = {
        .run = needs_two, .legal = leaves_one, .wishes = parts_wishes, .wish_count = 4, .jobs = 2};
    tb_knobs_init(&k, parts_table, 4);
    assert_int_equal(tb_knobs_set(&k, "tasks", 16), 0);
    assert_int_equal(tb_shrink(&cfg, &k, &stats, err, sizeof err), 0);
    assert_int_equal(knob(&k, "tasks"), 10);
    assert_int_equal(knob(&k, "skip"), 0x3FF & ~(1 << 3 | 1 << 9)); /* no bit beyond the tasks */
    assert_string_equal(tb_knobs_get_name(&k, "data"), "ramp");     /* zeros pass, ones do not exist */
    assert_int_equal(knob(&k, "cut"), 4);
}

static const tb_knob tied_table[] = {
    {"groups", 1, 512, TB_KNOB_UNIFORM, NULL, NULL, "groups"},
    {"in", 1, 512, TB_KNOB_UNIFORM, NULL, NULL, "channels"},
    {"out", 1, 512, TB_KNOB_UNIFORM, NULL, NULL, "channels"},
    {"k", 0, 9, TB_KNOB_UNIFORM, NULL, NULL, "both sides, or 0"},
    {"kw", 1, 9, TB_KNOB_UNIFORM, NULL, NULL, "one side"},
    {"kh", 1, 9, TB_KNOB_UNIFORM, NULL, NULL, "the other"},
};

/* Depthwise: as many groups as channels; at least 5 of them, windows of two rows. */
static int depthwise(void *ctx, const tb_knobs *k, char signature[TB_SHRINK_SIGNATURE], uint64_t *cycles) {
    (void)ctx;
    *cycles = 0;
    const bool same = knob(k, "groups") == knob(k, "in") && knob(k, "groups") == knob(k, "out");
    snprintf(signature, TB_SHRINK_SIGNATURE, "%s", same && knob(k, "in") >= 5 && knob(k, "kh") >= 2 ? "depthwise" : "");
    return 0;
}

static bool groups_divide(void *ctx, const tb_knobs *k) {
    const int64_t both = knob(k, "k");
    (void)ctx;
    return knob(k, "in") % knob(k, "groups") == 0 && knob(k, "out") % knob(k, "groups") == 0 &&
           (both == 0 || (both == knob(k, "kw") && both == knob(k, "kh")));
}

static void settle(void *ctx, tb_knobs *k) {
    (void)ctx;
    tb_knobs_set(k, "k", knob(k, "kw") == knob(k, "kh") ? knob(k, "kw") : 0);
}

static tb_shrink_size products(void *ctx, const tb_knobs *k) {
    (void)ctx;
    const uint64_t work =
        (uint64_t)(knob(k, "in") * knob(k, "out") / knob(k, "groups") * knob(k, "kw") * knob(k, "kh"));
    return (tb_shrink_size){.cycles = work + 10, .work = work};
}

static void test_knobs_that_move_together(void **state) {
    (void)state;
    tb_knobs k;
    tb_shrink_stats stats;
    char err[256];
    char text[4096] = "";
    FILE *log = fmemopen(text, sizeof text - 1, "w");
    const tb_shrink_cfg cfg = {.run = depthwise,
                               .legal = groups_divide,
                               .settle = settle,
                               .size = products,
                               .log = log,
                               .work_name = "products",
                               .jobs = 2};
    tb_knobs_init(&k, tied_table, 6);
    for (size_t i = 0; i < 6; i++) {
        k.value[i] = i < 3 ? 96 : 3;
    }
    assert_int_equal(tb_shrink(&cfg, &k, &stats, err, sizeof err), 0);
    fclose(log);
    assert_int_equal(knob(&k, "groups"), 5);
    assert_int_equal(knob(&k, "in"), 5);
    assert_int_equal(knob(&k, "out"), 5);
    assert_int_equal(knob(&k, "kh"), 2);
    assert_int_equal(knob(&k, "kw"), 1);
    assert_int_equal(knob(&k, "k"), 0);
    assert_int_equal(stats.work_before, 96 * 9);
    assert_int_equal(stats.work_after, 10);
    assert_non_null(strstr(text, " 10 products, "));
}

/* Signatures of a unit, more of them the larger it is. */
static int streams(void *ctx, const tb_knobs *k, char signature[TB_SHRINK_SIGNATURE], uint64_t *cycles) {
    (void)ctx;
    *cycles = 1;
    snprintf(signature, TB_SHRINK_SIGNATURE,
             knob(k, "w") >= 50   ? "a:sum"
             : knob(k, "w") >= 20 ? "a:word"
             : knob(k, "w") >= 10 ? "b:word"
                                  : "");
    return 0;
}

static bool same_letter(void *ctx, const char *want, const char *got) {
    (void)ctx;
    return want[0] == got[0];
}

static void test_same(void **state) {
    (void)state;
    tb_knobs k;
    tb_shrink_stats stats;
    char err[256];
    const tb_shrink_cfg exact = {.run = streams};
    const tb_shrink_cfg loose = {.run = streams, .same = same_letter};
    start(&k, 300, 1, 0, 0);
    assert_int_equal(tb_shrink(&exact, &k, &stats, err, sizeof err), 0);
    assert_int_equal(knob(&k, "w"), 50);
    start(&k, 300, 1, 0, 0);
    assert_int_equal(tb_shrink(&loose, &k, &stats, err, sizeof err), 0);
    assert_int_equal(knob(&k, "w"), 20);
    assert_string_equal(stats.signature, "a:sum");
}

typedef struct watch {
    uint64_t limit; /* in a child */
    unsigned steps;
    int64_t last;
} watch;

static void limit(void *ctx, uint64_t cycles) {
    ((watch *)ctx)->limit = cycles;
}

static void step(void *ctx, const tb_knobs *k) {
    watch *w = (watch *)ctx;
    w->steps++;
    w->last = knob(k, "w") * knob(k, "h");
}

/* Fails with 60 or more; below, it would run for ever, if there were no limit. */
static int runs_long(void *ctx, const tb_knobs *k, char signature[TB_SHRINK_SIGNATURE], uint64_t *cycles) {
    const watch *w = (const watch *)ctx;
    const int64_t size = knob(k, "w") * knob(k, "h");
    *cycles = size >= 60 ? (uint64_t)size : w->limit;
    if (size < 60 && w->limit == 0) {
        pause();
    }
    snprintf(signature, TB_SHRINK_SIGNATURE, size >= 60 ? "area" : "cycles");
    return 0;
}

static void test_limit_and_steps(void **state) {
    (void)state;
    tb_knobs k;
    tb_shrink_stats stats;
    char err[256];
    watch w = {0};
    const tb_shrink_cfg cfg = {
        .run = runs_long, .ctx = &w, .limit = limit, .step = step, .step_ctx = &w, .jobs = 2, .seconds = 60};
    start(&k, 40, 30, 0, 0);
    assert_int_equal(tb_shrink(&cfg, &k, &stats, err, sizeof err), 0);
    assert_false(stats.out_of_time);
    assert_int_equal(w.steps, stats.steps);
    assert_int_equal(w.last, knob(&k, "w") * knob(&k, "h"));
    assert_int_equal(w.limit, 0); /* the parent's stays as it was */
    assert_int_equal(knob(&k, "w") * knob(&k, "h"), 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_signature_is_kept),
        cmocka_unit_test(test_keep_and_legal),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_death_is_a_failure),
        cmocka_unit_test(test_hang_is_another_failure),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_jobs_do_not_matter),
        cmocka_unit_test(test_wishes),
        cmocka_unit_test(test_knobs_that_move_together),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_limit_and_steps),
    };
    return cmocka_run_group_tests_name("tb_shrink", tests, NULL, NULL);
}
