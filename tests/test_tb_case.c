/* Random streams, hash, case text and knobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tb.h"
#include "opt/opt.h"

/* Stored cases and printed seeds depend on these values: they may never change. */
static void rng_values_are_pinned(void **state) {
    (void)state;
    tb_rng r = tb_rng_stream(1, "k");
    const uint64_t a = tb_rng_u64(&r);
    const uint64_t b = tb_rng_u64(&r);
    assert_int_equal(a, UINT64_C(0x17848d8aeb93a73e));
    assert_int_equal(b, UINT64_C(0x96bac20503dd34ac));
    assert_int_equal(tb_rng_test_seed(1, "conv", 7), UINT64_C(0xc774ba55624d0db7));
    assert_int_equal(tb_hash_final(tb_hash_str(TB_HASH_INIT, "tandem")), UINT64_C(0x4bddbd2d2abd2b55));
}

static void rng_streams_are_independent(void **state) {
    (void)state;
    tb_rng a = tb_rng_stream(5, "a");
    tb_rng again = tb_rng_stream(5, "a");
    tb_rng b = tb_rng_stream(5, "b");
    tb_rng c = tb_rng_stream(6, "a");
    tb_rng f0 = tb_rng_fork(&a, 0);
    tb_rng f1 = tb_rng_fork(&a, 1);
    unsigned same = 0;
    unsigned ones = 0;
    for (int i = 0; i < 1000; i++) {
        const uint64_t v = tb_rng_u64(&a);
        assert_int_equal(v, tb_rng_u64(&again));
        assert_int_equal(v, tb_rng_at(&again, (uint64_t)i));
        same += v == tb_rng_u64(&b) || v == tb_rng_u64(&c) || tb_rng_u64(&f0) == tb_rng_u64(&f1);
        ones += (unsigned)__builtin_popcountll(v);
    }
    assert_int_equal(same, 0);
    assert_in_range(ones, 31000, 33000);
}

static void rng_ranges_hold(void **state) {
    (void)state;
    tb_rng r = tb_rng_stream(9, "range");
    unsigned seen[7] = {0};
    for (int i = 0; i < 7000; i++) {
        const uint64_t v = tb_rng_range(&r, 3, 9);
        assert_in_range(v, 3, 9);
        seen[v - 3]++;
        const int64_t s = tb_rng_range_i64(&r, -5, 5);
        assert_true(s >= -5 && s <= 5);
        const uint64_t l = tb_rng_small(&r, 1, 1000);
        assert_in_range(l, 1, 1000);
        const float f = tb_rng_f32(&r);
        assert_true(f >= 0.0f && f < 1.0f);
    }
    for (int i = 0; i < 7; i++) {
        assert_in_range(seen[i], 850, 1150);
    }
    assert_int_equal(tb_rng_range(&r, 8, 8), 8);
    (void)tb_rng_range(&r, 0, UINT64_MAX);
    (void)tb_rng_small(&r, 0, UINT64_MAX);
    const uint32_t weight[3] = {0, 5, 0};
    for (int i = 0; i < 100; i++) {
        assert_int_equal(tb_rng_weighted(&r, weight, 3), 1);
    }
}

/* Every class of float comes up. */
static void rng_hard_floats(void **state) {
    (void)state;
    tb_rng r = tb_rng_stream(2, "hard");
    unsigned zero = 0;
    unsigned sub = 0;
    unsigned inf = 0;
    unsigned nan = 0;
    for (int i = 0; i < 2000; i++) {
        const uint32_t v = tb_rng_f32_hard(&r) & 0x7fffffffu;
        zero += v == 0;
        sub += v > 0 && v < 0x00800000u;
        inf += v == 0x7f800000u;
        nan += v > 0x7f800000u;
    }
    assert_true(zero > 50 && sub > 50 && inf > 50 && nan > 50);
}

static void kv_round_trip(void **state) {
    (void)state;
    char err[200];
    tb_kv kv;
    tb_kv_init(&kv);
    static const char text[] = "# a case\n test=conv\r\nseed=0xff\n\nk=3\nneg=-7\nempty=\n";
    assert_int_equal(tb_kv_parse(&kv, text, sizeof text - 1, "x.case", err, sizeof err), 0);
    uint64_t u = 0;
    assert_string_equal(tb_kv_find(&kv, "test"), "conv");
    assert_string_equal(tb_kv_find(&kv, "empty"), "");
    assert_int_equal(tb_kv_get_u64(&kv, "seed", 0, UINT64_MAX, &u, err, sizeof err), 0);
    assert_int_equal(u, 255);
    assert_int_equal(tb_kv_get_u64(&kv, "neg", 0, 10, &u, err, sizeof err), -1);
    assert_int_equal(tb_kv_get_u64(&kv, "k", 4, 9, &u, err, sizeof err), -1);
    assert_string_equal(err, "x.case:5: k=3, expected a whole number from 4 to 9");
    assert_int_equal(tb_kv_get_u64(&kv, "q", 4, 9, &u, err, sizeof err), -1);
    assert_string_equal(err, "x.case: key q is missing");
    assert_int_equal(tb_kv_set(&kv, "k", "5"), 0);
    assert_int_equal(tb_kv_set(&kv, "k", "a\nb"), -1);
    assert_int_equal(tb_kv_set(&kv, "Bad", "5"), -1);
    char path[64];
    snprintf(path, sizeof path, "/tmp/tb_kv_%ld", (long)getpid());
    assert_int_equal(tb_kv_save(&kv, path, err, sizeof err), 0);
    tb_kv back;
    tb_kv_init(&back);
    assert_int_equal(tb_kv_load(&back, path, err, sizeof err), 0);
    unlink(path);
    assert_int_equal(back.count, kv.count);
    for (size_t k = 0; k < kv.count; k++) {
        assert_string_equal(kv.entry[k].key, back.entry[k].key);
        assert_string_equal(kv.entry[k].value, back.entry[k].value);
    }
    tb_kv_free(&back);
    tb_kv_free(&kv);
}

static void kv_errors_have_lines(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"a=1\nb\n", "f:2: expected key=value"},
        {"a=1\nb=2\na=3\n", "f:3: key a is already in line 1"},
        {"1a=1\n", "f:1: illegal key, expected [a-z][a-z0-9_]* of at most 63 characters"},
        {"=1\n", "f:1: illegal key, expected [a-z][a-z0-9_]* of at most 63 characters"},
        {"a=\x01\n", "f:1: illegal value of a: control characters or more than 4095 bytes"},
    };
    char err[200];
    tb_kv kv;
    tb_kv_init(&kv);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(tb_kv_parse(&kv, bad[i][0], strlen(bad[i][0]), "f", err, sizeof err), -1);
        assert_string_equal(err, bad[i][1]);
        assert_int_equal(kv.count, 0);
    }
    assert_int_equal(tb_kv_load(&kv, "/nonexistent/x", err, sizeof err), -1);
    assert_non_null(strstr(err, "/nonexistent/x: No such file"));
    assert_int_equal(tb_kv_load(&kv, "/", err, sizeof err), -1);
    assert_int_equal(tb_kv_set(&kv, "a", "1"), 0);
    assert_int_equal(tb_kv_save(&kv, "/dev/full", err, sizeof err), -1);
    assert_non_null(strstr(err, "No space left"));
    assert_int_equal(tb_kv_save(&kv, "/nonexistent/x", err, sizeof err), -1);
    tb_kv_free(&kv);
}

/* Arbitrary bytes: parsed or refused with one line, never more. */
static void kv_survives_anything(void **state) {
    (void)state;
    tb_rng r = tb_rng_stream(3, "fuzz");
    static const char alphabet[] = "ab=\n#_ 0\t\r\x01\xff\0=x\n";
    for (int round = 0; round < 3000; round++) {
        char text[300];
        char err[120];
        const size_t len = tb_rng_range(&r, 0, sizeof text);
        for (size_t i = 0; i < len; i++) {
            text[i] = (round & 1) != 0 ? (char)tb_rng_u64(&r) : alphabet[tb_rng_range(&r, 0, sizeof alphabet - 2)];
        }
        tb_kv kv;
        tb_kv_init(&kv);
        err[0] = '\0';
        if (tb_kv_parse(&kv, text, len, "fuzz", err, sizeof err) != 0) {
            assert_true(err[0] != '\0');
            assert_null(strchr(err, '\n'));
        } else {
            for (size_t i = 0; i < kv.count; i++) {
                assert_ptr_equal(tb_kv_find(&kv, kv.entry[i].key), kv.entry[i].value);
            }
        }
        tb_kv_free(&kv);
    }
}

static void numbers(void **state) {
    (void)state;
    uint64_t u = 0;
    int64_t i = 0;
    assert_true(opt_number("18446744073709551615", 0, UINT64_MAX, &u));
    assert_true(u == UINT64_MAX);
    assert_int_equal(tb_parse_i64("-9223372036854775808", &i), 0);
    assert_true(i == INT64_MIN);
    static const char *const bad[] = {"",   "-",   "0x",  "18446744073709551616", "1 ", " 1",
                                      "+1", "0xg", "1e3", "0x1ffffffffffffffff"};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        assert_false(opt_number(bad[k], 0, UINT64_MAX, &u));
        assert_int_equal(tb_parse_i64(bad[k], &i), -1);
    }
    assert_int_equal(tb_parse_i64("9223372036854775808", &i), -1);
    assert_false(opt_number("-1", 0, UINT64_MAX, &u));
}

static const char *const modes[] = {"off", "on", "auto"};
static const uint32_t mode_weight[] = {1, 0, 3};
static const tb_knob table[] = {
    {.name = "k", .lo = 1, .hi = 7, .kind = TB_KNOB_UNIFORM, .help = "kernel"},
    {.name = "ic", .lo = 1, .hi = 512, .kind = TB_KNOB_SMALL, .help = "channels"},
    {.name = "mode", .lo = 0, .hi = 2, .kind = TB_KNOB_ENUM, .names = modes, .weight = mode_weight, .help = "mode"},
};

static void knobs_draw_and_pin(void **state) {
    (void)state;
    char err[300];
    tb_knobs a;
    tb_knobs b;
    unsigned ones = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        tb_knobs_init(&a, table, 3);
        tb_knobs_init(&b, table, 3);
        assert_int_equal(tb_knobs_pin(&b, "k=3", err, sizeof err), 0);
        tb_knobs_draw(&a, seed);
        tb_knobs_draw(&b, seed);
        assert_int_equal(tb_knobs_get(&b, "k"), 3);
        /* a pinned knob shifts no other draw */
        assert_int_equal(tb_knobs_get(&a, "ic"), tb_knobs_get(&b, "ic"));
        assert_int_equal(tb_knobs_get(&a, "mode"), tb_knobs_get(&b, "mode"));
        assert_in_range(tb_knobs_get(&a, "k"), 1, 7);
        assert_in_range(tb_knobs_get(&a, "ic"), 1, 512);
        assert_int_not_equal(tb_knobs_get(&a, "mode"), 1);
        assert_in_range(tb_knobs_draw_in(&a, "ic", seed, 5, 6), 5, 6);
        assert_int_equal(tb_knobs_draw_in(&b, "k", seed, 5, 6), 3);
        ones += tb_knobs_get(&b, "ic") == 1;
    }
    assert_true(ones > 20);
    tb_kv kv;
    tb_kv_init(&kv);
    assert_int_equal(tb_knobs_to_kv(&a, &kv), 0);
    assert_int_equal(tb_knobs_from_kv(&b, &kv, err, sizeof err), 0);
    assert_memory_equal(a.value, b.value, sizeof a.value);
    assert_int_equal(tb_kv_set(&kv, "mode", "maybe"), 0);
    assert_int_equal(tb_knobs_from_kv(&b, &kv, err, sizeof err), -1);
    tb_kv_free(&kv);
}

/* A case that was stored before a knob existed. */
static void knobs_later(void **state) {
    (void)state;
    static const tb_knob older[] = {{"k", 1, 7, TB_KNOB_UNIFORM, NULL, NULL, "kernel"}};
    static const tb_knob newer[] = {{"k", 1, 7, TB_KNOB_UNIFORM, NULL, NULL, "kernel"},
                                    {"dil", 1, 9, TB_KNOB_SMALL | TB_KNOB_LATER, NULL, NULL, "dilation"}};
    char err[200];
    tb_knobs k;
    tb_kv kv;
    tb_kv_init(&kv);
    tb_knobs_init(&k, older, 1);
    tb_knobs_draw(&k, 5);
    assert_int_equal(tb_knobs_to_kv(&k, &kv), 0);
    tb_knobs_init(&k, newer, 2);
    bool above = false;
    for (uint64_t seed = 0; seed < 20; seed++) {
        tb_knobs_draw(&k, seed); /* the flag does not change the draw */
        above = above || tb_knobs_get(&k, "dil") > 1;
    }
    assert_true(above);
    assert_int_equal(tb_knobs_from_kv(&k, &kv, err, sizeof err), 0);
    assert_int_equal(tb_knobs_get(&k, "dil"), 1);
    assert_int_equal(tb_kv_set(&kv, "dil", "4"), 0);
    assert_int_equal(tb_knobs_from_kv(&k, &kv, err, sizeof err), 0);
    assert_int_equal(tb_knobs_get(&k, "dil"), 4);
    /* without the flag the knob must be there */
    tb_kv_free(&kv);
    tb_kv_init(&kv);
    assert_int_equal(tb_knobs_from_kv(&k, &kv, err, sizeof err), -1);
    tb_kv_free(&kv);
}

static void knobs_refuse(void **state) {
    (void)state;
    char err[300];
    tb_knobs k;
    tb_knobs_init(&k, table, 3);
    assert_int_equal(tb_knobs_pin(&k, "k=8", err, sizeof err), -1);
    assert_string_equal(err, "k=8: expected 1..7 (kernel)");
    assert_int_equal(tb_knobs_pin(&k, "mode=x", err, sizeof err), -1);
    assert_string_equal(err, "mode=x: expected off|on|auto (mode)");
    assert_int_equal(tb_knobs_pin(&k, "kk=8", err, sizeof err), -1);
    assert_string_equal(err, "unknown knob kk, expected one of: k ic mode");
    assert_int_equal(tb_knobs_pin(&k, "k", err, sizeof err), -1);
    assert_int_equal(tb_knobs_pin(&k, "=", err, sizeof err), -1);
    assert_int_equal(tb_knobs_pin(&k, "mode=auto", err, sizeof err), 0);
    assert_string_equal(tb_knobs_get_name(&k, "mode"), "auto");
    assert_int_equal(tb_knobs_set(&k, "k", 9), -1);
    assert_int_equal(tb_knobs_set(&k, "k", 2), 0);
    assert_int_equal(tb_knobs_get(&k, "k"), 2);
}

static void folders(void **state) {
    (void)state;
    char dir[] = "/tmp/test_tb_case.XXXXXX";
    char path[1200], err[1300] = "", want[1300];
    struct stat st;
    assert_non_null(mkdtemp(dir));
    /* those above it, too; again; with a slash behind it */
    snprintf(path, sizeof path, "%s/a/b/c", dir);
    assert_int_equal(tb_make_folder(path, err, sizeof err), 0);
    assert_true(stat(path, &st) == 0 && S_ISDIR(st.st_mode));
    snprintf(path, sizeof path, "%s/a/b/c/", dir);
    assert_int_equal(tb_make_folder(path, err, sizeof err), 0);
    assert_string_equal(err, "");
    /* a file stands there, or above it */
    snprintf(path, sizeof path, "%s/a/file", dir);
    snprintf(want, sizeof want, "%s: cannot make the folder: Not a directory", path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(tb_make_folder(path, err, sizeof err), -1);
    assert_string_equal(err, want);
    snprintf(path, sizeof path, "%s/a/file/b", dir);
    assert_int_equal(tb_make_folder(path, err, sizeof err), -1);
    assert_string_equal(err, want);
    /* longer than a path may be */
    memset(path, 'x', 1100);
    path[1100] = '\0';
    assert_int_equal(tb_make_folder(path, err, sizeof err), -1);
    assert_non_null(strstr(err, "...: longer than 1023 characters"));
    static const char *const made[] = {"a/b/c", "a/b", "a/file", "a", ""};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, made[i]);
        assert_int_equal(remove(path), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rng_values_are_pinned), cmocka_unit_test(rng_streams_are_independent),
        cmocka_unit_test(rng_ranges_hold),       cmocka_unit_test(rng_hard_floats),
        cmocka_unit_test(kv_round_trip),         cmocka_unit_test(kv_errors_have_lines),
        cmocka_unit_test(kv_survives_anything),  cmocka_unit_test(numbers),
        cmocka_unit_test(knobs_draw_and_pin),    cmocka_unit_test(knobs_later),
        cmocka_unit_test(knobs_refuse),          cmocka_unit_test(folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
