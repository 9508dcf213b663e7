/* test_regress_table.c - the runner's tables, draws, order of jobs and locks. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "../regress/schedule.h" /* not the network's */
#include "table.h"

static const reg_column columns[] = {{"name", "name", REG_CELL_TEXT}, {"count", "count", REG_CELL_NUMBER},
                                     {"hidden", NULL, REG_CELL_TEXT}, {"share", "%", REG_CELL_REAL},
                                     {"good", "good", REG_CELL_FLAG}, {"note", "note", REG_CELL_TEXT}};

static reg_table filled(void) {
    reg_table table;
    reg_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    assert_int_equal(
        reg_table_add(&table, (const char *const[]){"a\xc3\xa9", "12345678901234567", "x", "0.5", "1", NULL}), REG_OK);
    assert_int_equal(
        reg_table_add(&table, (const char *const[]){"longer", "7", NULL, NULL, "0", "bad \xff \x01 \"q\""}), REG_OK);
    return table;
}

/* What is printed; to be freed. */
static char *printed(const reg_table *table, bool json) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(reg_table_show(table, json, out), REG_OK);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void test_text(void **state) {
    (void)state;
    reg_table table = filled();
    char *text = printed(&table, false);
    assert_string_equal(text, "name                count    %  good  note\n"
                              "a\xc3\xa9      12345678901234567  0.5  yes   -\n"
                              "longer                  7    -  no    bad \xff \x01 \"q\"\n");
    free(text);
    reg_table_free(&table);
    text = printed(&table, false);
    assert_string_equal(text, ""); /* no row, no titles */
    free(text);
}

static void test_json(void **state) {
    (void)state;
    reg_table table = filled();
    char *text = printed(&table, true);
    assert_string_equal(
        text,
        "[\n {\n  \"name\": \"a\xc3\xa9\",\n  \"count\": 12345678901234567,\n  \"hidden\": \"x\",\n  \"share\": 0.5,\n"
        "  \"good\": true,\n  \"note\": null\n },\n {\n  \"name\": \"longer\",\n  \"count\": 7,\n  \"hidden\": null,\n"
        "  \"share\": null,\n  \"good\": false,\n  \"note\": \"bad ? \\u0001 \\\"q\\\"\"\n }\n]\n");
    free(text);
    reg_table_free(&table);
    text = printed(&table, true);
    assert_string_equal(text, "[]\n");
    free(text);
}

/* n jobs with their places as indices; every third one runs twice, every fifth one has a weight. */
static reg_suite suite_of(size_t n) {
    reg_suite suite = {.seed = 1};
    for (size_t i = 0; i < n; i++) {
        reg_job job = {.what = REG_TEST, .name = "t", .cfg = "n4", .kind = "fast", .cases = 1, .index = i};
        job.weight = i % 5 == 0 ? 50 : 1;
        job.checked_twice = i % 3 == 0;
        assert_int_equal(reg_suite_add(&suite, &job), REG_OK);
        if (job.checked_twice) {
            job.checked_twice = false;
            job.second_run = true;
            assert_int_equal(reg_suite_add(&suite, &job), REG_OK);
        }
    }
    return suite;
}

static void check_pairs(const reg_suite *suite) {
    for (size_t i = 0; i < suite->count; i++) {
        const reg_job *job = &suite->jobs[i];
        assert_true(!job->checked_twice || (i + 1 < suite->count && job[1].second_run && job[1].index == job->index));
        assert_true(!job->second_run || (i > 0 && job[-1].checked_twice));
        assert_true(i == 0 || job->index > job[-1].index || job->second_run);
    }
}

static size_t firsts(const reg_suite *suite) {
    size_t count = 0;
    for (size_t i = 0; i < suite->count; i++) {
        count += suite->jobs[i].second_run ? 0 : 1;
    }
    return count;
}

static void test_draws(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        for (size_t n = 1; n <= 20; n += 3) {
            reg_suite suite = suite_of(20);
            assert_int_equal(reg_draw_count(&suite, seed, n), REG_OK);
            assert_int_equal(firsts(&suite), n);
            check_pairs(&suite);
            reg_suite_free(&suite);
        }
    }
}

static void test_shards(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 25; n++) {
        unsigned seen[20] = {0};
        for (uint32_t i = 1; i <= n; i++) {
            reg_suite suite = suite_of(20);
            reg_draw_shard(&suite, i, n);
            check_pairs(&suite);
            for (size_t j = 0; j < suite.count; j++) {
                seen[suite.jobs[j].index]++;
            }
            reg_suite_free(&suite);
        }
        for (size_t j = 0; j < 20; j++) {
            assert_int_equal(seen[j], j % 3 == 0 ? 2 : 1);
        }
    }
}

static void test_order(void **state) {
    (void)state;
    reg_suite suite = suite_of(4); /* 0, 0 again, 1, 2, 3, 3 again */
    reg_past past[6] = {{.outcome = ""}, {.outcome = ""}, {.outcome = "pass"},
                        {.outcome = ""}, {.outcome = ""}, {.outcome = ""}};
    const reg_expectation list[6] = {{.seconds = 1},  {.seconds = 1}, {.seconds = 99},
                                     {.seconds = -1}, {.seconds = 5}, {.seconds = 0, .failed = true}};
    size_t *order = NULL;
    size_t count = 0;
    assert_int_equal(reg_order_jobs(&suite, past, list, &order, &count), REG_OK);
    const size_t want[] = {5, 3, 4, 0, 1}; /* failed, never timed, longest, then as listed; 2 has its outcome */
    assert_int_equal(count, 5);
    assert_memory_equal(order, want, sizeof want);
    free(order);
    suite.ordered = true;
    assert_int_equal(reg_order_jobs(&suite, past, list, &order, &count), REG_OK);
    const size_t listed[] = {5, 0, 1, 3, 4}; /* failed, then as listed */
    assert_int_equal(count, 5);
    assert_memory_equal(order, listed, sizeof listed);
    free(order);
    reg_suite_free(&suite);
}

/* Locks are between processes: another one sees them, and sees them go with their owner. */
static void test_lock(void **state) {
    (void)state;
    char path[] = "/tmp/test_regress_lock_XXXXXX";
    char lock_path[64];
    int ends[2];
    char byte = 0;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(pipe(ends), 0);
    pid_t owner = fork();
    if (owner == 0) {
        reg_lock lock = REG_UNLOCKED;
        byte = reg_lock_run(&lock, path, 7, 0) == REG_OK ? 1 : 2;
        (void)!write(ends[1], &byte, 1);
        (void)pause();
        _exit(0);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    reg_lock lock = REG_UNLOCKED;
    assert_true(reg_lock_held(&lock, path, 7));
    assert_false(reg_lock_held(&lock, path, 8));
    assert_int_equal(kill(owner, SIGKILL), 0);
    assert_int_equal(waitpid(owner, NULL, 0), owner);
    assert_false(reg_lock_held(&lock, path, 7));
    assert_int_equal(reg_lock_run(&lock, path, 7, 0), REG_OK);
    assert_true(reg_lock_held(&lock, path, 7)); /* by this process, which still has the lock after looking at another */
    assert_false(reg_lock_held(&lock, path, 8));
    assert_true(reg_lock_held(&lock, path, 7));
    reg_lock_release(&lock);
    (void)snprintf(lock_path, sizeof lock_path, "%s.lock", path);
    (void)unlink(lock_path);
    (void)unlink(path);
    (void)close(fd);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text),  cmocka_unit_test(test_json),
                                       cmocka_unit_test(test_draws), cmocka_unit_test(test_shards),
                                       cmocka_unit_test(test_order), cmocka_unit_test(test_lock)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
