/* test_regress_parse.c - the runner's readers: suites, job lists and result files, well-formed and not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "design.h"
#include "process.h"
#include "opt/opt.h"

/* Small generator of the test itself: the readers take no random numbers. */
static uint32_t draw(uint64_t *state, uint32_t below) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % below;
}

typedef struct fixture {
    char path[64];
    int saved_stderr;
    reg_suite_options options;
} fixture;

static int setup(void **state) {
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    (void)reg_format(f->path, sizeof f->path, "/tmp/test_regress_XXXXXX");
    int fd = mkstemp(f->path);
    assert_true(fd >= 0);
    (void)close(fd);
    static reg_design design = {.name = "chip", .is_default = true, .cfg = {"n4", "n8", "n16", "n32"}, .cfgs = 4};
    static const reg_designs designs = {.list = &design, .count = 1};
    f->options = (reg_suite_options){.kind = "fast", .designs = &designs, .timeout_s = 60, .unit_dir = "/nonexistent"};
    f->saved_stderr = -1;
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    if (f->saved_stderr >= 0) {
        (void)dup2(f->saved_stderr, STDERR_FILENO);
        (void)close(f->saved_stderr);
    }
    (void)unlink(f->path);
    free(f);
    return 0;
}

/* Thousands of expected error lines are no use to a reader. */
static void quiet(fixture *f) {
    f->saved_stderr = dup(STDERR_FILENO);
    FILE *null = fopen("/dev/null", "w");
    assert_non_null(null);
    (void)dup2(fileno(null), STDERR_FILENO);
    (void)fclose(null);
}

static void put(const fixture *f, const char *bytes, size_t length) {
    FILE *file = fopen(f->path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void put_text(const fixture *f, const char *text) {
    put(f, text, strlen(text));
}

static void test_numbers(void **state) {
    (void)state;
    uint64_t value = 0;
    assert_true(opt_number("0", 0, UINT64_MAX, &value) && value == 0);
    assert_true(opt_number("18446744073709551615", 0, UINT64_MAX, &value) && value == UINT64_MAX);
    assert_true(opt_number("0xFFFFFFFFFFFFFFFF", 0, UINT64_MAX, &value) && value == UINT64_MAX);
    assert_true(opt_number("010", 0, 100, &value) && value == 10);
    static const char *const wrong[] = {
        "", "0x", "-1", "+1", " 1", "1 ", "1.0", "18446744073709551616", "0x10000000000000000", "0b1", "1e3"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(opt_number(wrong[i], 0, UINT64_MAX, &value));
    }
    assert_false(opt_number("5", 6, 9, &value));
    assert_false(opt_number("10", 6, 9, &value));
}

static void test_expansion(void **state) {
    fixture *f = *state;
    reg_suite suite;
    put_text(f, "budget 42\nseed 0xab\nunit mesh cfg=n8,n4 count=3 cases=10 index=5 determinism=1\ntest conv cfg=n32 "
                "timeout=7 -- k=3");
    assert_int_equal(reg_suite_load(&suite, f->path, &f->options), REG_OK);
    assert_int_equal(suite.budget_s, 42);
    assert_int_equal(suite.seed, 0xab);
    assert_int_equal(suite.count, 9);
    static const char *const cfg[] = {"n4", "n4", "n4", "n4", "n8", "n8", "n8", "n8", "n32"};
    static const uint64_t index[] = {5, 5, 15, 25, 5, 5, 15, 25, 0};
    for (size_t i = 0; i < suite.count; i++) {
        assert_string_equal(suite.jobs[i].cfg, cfg[i]);
        assert_int_equal(suite.jobs[i].index, index[i]);
        assert_int_equal(suite.jobs[i].checked_twice, i == 0 || i == 4);
        assert_int_equal(suite.jobs[i].second_run, i == 1 || i == 5);
        assert_int_equal(suite.jobs[i].timeout_s, i == 8 ? 7 : 60);
    }
    assert_string_equal(suite.jobs[8].args, "k=3");
    reg_suite_free(&suite);
}

/* Any suite, printed and read again, is the same list of jobs. */
static void test_print_and_read_again(void **state) {
    fixture *f = *state;
    static const char *const what[] = {"unit mesh", "test conv", "unit a-b_c9", "python copy"};
    static const char *const cfg[] = {"n4", "n4,n8", "n32,n16,n8,n4", "n16"};
    static const char *const kind[] = {"", "kind=san", "kind=debug"};
    uint64_t rng = 7;
    for (int round = 0; round < 300; round++) {
        reg_suite first;
        reg_suite second;
        FILE *file = fopen(f->path, "w");
        assert_non_null(file);
        for (uint32_t lines = draw(&rng, 6) + 1; lines > 0; lines--) {
            uint32_t count = draw(&rng, 9) + 1;
            fprintf(file, "%s cfg=%s %s count=%u cases=%u index=%u determinism=%u memory=%u%s\n", what[draw(&rng, 4)],
                    cfg[draw(&rng, 4)], kind[draw(&rng, 3)], count, draw(&rng, 100) + 1, draw(&rng, 1000),
                    draw(&rng, count + 1), draw(&rng, 3) * 100, draw(&rng, 2) == 0 ? "" : " -- k=3   --flag");
        }
        assert_int_equal(fclose(file), 0);
        assert_int_equal(reg_suite_load(&first, f->path, &f->options), REG_OK);
        file = fopen(f->path, "w");
        assert_non_null(file);
        reg_suite_print(&first, 99, file);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(reg_suite_load(&second, f->path, &f->options), REG_OK);
        assert_int_equal(second.seed, 99);
        assert_int_equal(first.count, second.count);
        for (size_t i = 0; i < first.count; i++) {
            assert_memory_equal(&first.jobs[i], &second.jobs[i], sizeof first.jobs[i]);
        }
        reg_suite_free(&first);
        reg_suite_free(&second);
    }
}

/* Arbitrary bytes, and suites with a few bytes changed: an error or a list, never more. */
static void test_suite_survives_bytes(void **state) {
    fixture *f = *state;
    static const char seed_text[] =
        "budget 300 # x\nseed 0x1\nrepeat unit mesh cfg=n4,n8 count=3 cases=2 -- k=3\nnetwork digits cfg=n8 kind=san\n";
    uint64_t rng = 11;
    int good = 0;
    quiet(f);
    for (int round = 0; round < 4000; round++) {
        char bytes[sizeof seed_text + 64];
        size_t length = sizeof seed_text - 1;
        memcpy(bytes, seed_text, length);
        if (round % 4 == 0) {
            length = draw(&rng, sizeof bytes);
            for (size_t i = 0; i < length; i++) {
                bytes[i] = (char)draw(&rng, 256);
            }
        }
        for (uint32_t changes = draw(&rng, 3); changes > 0 && length > 0; changes--) {
            static const char spice[] = "\0\n\r\t =,#-0x9~\xff";
            bytes[draw(&rng, (uint32_t)length)] = spice[draw(&rng, sizeof spice - 1)];
        }
        put(f, bytes, length);
        reg_suite suite;
        reg_status status = reg_suite_load(&suite, f->path, &f->options);
        assert_true(status == REG_OK || status == REG_USAGE);
        good += status == REG_OK ? 1 : 0;
        reg_suite_free(&suite);
    }
    assert_true(good > 500 && good < 4000); /* both ways were taken */
}

static void test_result(void **state) {
    fixture *f = *state;
    reg_result result;
    memset(&result, 0, sizeof result);
    put_text(f, "# written by a "
                "test\noutcome=fail\nsignature=mesh/data\nmessage=a=b\tc\ncycles=0x10\ntrace_hash=0x12\ncase=d/"
                "1.case\nlater=1\nnoise\n\n");
    assert_null(reg_result_load(&result, f->path));
    assert_string_equal(result.outcome, "fail");
    assert_string_equal(result.signature, "mesh/data");
    assert_string_equal(result.message, "a=b c");
    assert_string_equal(result.trace_hash, "0x12");
    assert_string_equal(result.case_path, "d/1.case");
    assert_true(result.has_cycles && result.cycles == 16);
    assert_string_equal(result.repro, "");
    static const char *const wrong[] = {"",           "outcome=pass",   "outcome=pass\ncyc",
                                        "outcome=\n", "outcome=PASS\n", "cycles=1\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        memset(&result, 0, sizeof result);
        put_text(f, wrong[i]);
        assert_non_null(reg_result_load(&result, f->path));
    }
}

static void test_result_survives_bytes(void **state) {
    fixture *f = *state;
    uint64_t rng = 13;
    for (int round = 0; round < 3000; round++) {
        char bytes[4096] = "outcome=pass\nmessage=";
        size_t length = 21 + draw(&rng, (uint32_t)sizeof bytes - 21);
        for (size_t i = round % 2 == 0 ? 0 : 21; i < length; i++) {
            bytes[i] = (char)(draw(&rng, 40) == 0 ? '\n' : draw(&rng, 30) == 0 ? '=' : (int)draw(&rng, 256));
        }
        put(f, bytes, length);
        reg_result result;
        char tail[300];
        memset(&result, 0, sizeof result);
        (void)reg_result_load(&result, f->path);
        assert_true(memchr(result.message, '\0', sizeof result.message) != NULL);
        reg_log_last_line(f->path, tail, sizeof tail);
        assert_true(strlen(tail) < sizeof tail);
        for (const char *p = tail; *p != '\0'; p++) {
            assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test_setup_teardown(test_expansion, setup, teardown),
        cmocka_unit_test_setup_teardown(test_print_and_read_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_suite_survives_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_result, setup, teardown),
        cmocka_unit_test_setup_teardown(test_result_survives_bytes, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
