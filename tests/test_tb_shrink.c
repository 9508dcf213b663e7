/* Shrinking: knobs fall as long as the failure keeps its signature; children that die or hang; what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    assert_true((knob(&k, "w") - 1) * knob(&k, "h") < 60 && knob(&k, "w") * (knob(&k, "h") - 1) < 60); /* no single step is left */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),   cmocka_unit_test(test_signature_is_kept),  cmocka_unit_test(test_keep_and_legal),
        cmocka_unit_test(test_log),     cmocka_unit_test(test_death_is_a_failure), cmocka_unit_test(test_hang_is_another_failure),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("tb_shrink", tests, NULL, NULL);
}
