/* test_cov_file.c - coverage files: written and read, merged in any order, damaged, loaded into another shape, ranked.
 * TANDEM_CHECK merges 1000 of them. */
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

#include "coverage/cov.h"

/* ---- shapes that differ: each bit of `has` leaves something out ---- */

static const cov_bin size_bins[] = {{COV_EACH(1, 4), .hint = "t:size=%"},
                                    {COV_RANGE("large", 5, COV_MAX)},
                                    {COV_VALUE("none", 0), COV_IGNORE("nothing")}};
static const cov_bin size_fewer[] = {{COV_EACH(2, 4), .hint = "t:size=%"},
                                     {COV_VALUE("none", 0), COV_IGNORE("nothing")}};
static const cov_bin mode_bins[] = {{COV_EACH(0, 2), .name = "m", .goal = 2},
                                    {COV_RANGE("bad", COV_MIN, -1), COV_FORBID("never")}};
static const cov_bin mode_more[] = {
    {COV_VALUE("m9", 9)}, {COV_EACH(0, 2), .name = "m", .goal = 2}, {COV_STEPS("m0 => m1")}};
static const cov_rule rules[] = {{COV_IGNORED, "ones have no mode 2", {"1", "m2"}},
                                 {COV_ILLEGAL, "not so large", {"large", "m0"}}};
static const cov_rule rules_fewer[] = {{COV_IGNORED, "an older reason", {"2", "m2"}}};
static const cov_cross crosses[] = {{COV_CROSS("sm", "both at once", "size", "mode"), COV_RULES(rules)}};
static const cov_cross crosses_ms[] = {{COV_CROSS("ms", "the other way round", "mode", "size")}};

static const cov_point points_a[] = {{COV_POINT("size", "a size", size_bins)},
                                     {COV_POINT("mode", "a mode", mode_bins), .weight = 2}};
static const cov_point points_b[] = {{COV_POINT("mode", "a mode, as it was", mode_more), .weight = 2},
                                     {COV_POINT("size", "a size", size_bins)}};
static const cov_point points_c[] = {{COV_POINT("size", "a size", size_fewer)},
                                     {COV_POINT("extra", "something else", mode_bins)}};
static const cov_group group_a = {COV_GROUP("g", "as it is", points_a), COV_CROSSES(crosses)};
static const cov_group group_b = {COV_GROUP("g", "as it was", points_b), COV_CROSSES(crosses_ms)};
static const cov_group group_c = {COV_GROUP("g", "as it was before", points_c)};
static const cov_group group_d = {COV_GROUP("h", "another one", points_b), COV_CROSSES(crosses)};
static const cov_group *const shapes[][2] = {
    {&group_a, NULL}, {&group_b, NULL}, {&group_c, NULL}, {&group_d, &group_a}, {&group_d, NULL}};
#define SHAPES ((unsigned)(sizeof shapes / sizeof shapes[0]))

static uint64_t draw(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

/* Counters of a shape after some random samples. */
static void fill(cov_data *data, unsigned shape, uint64_t seed, unsigned samples) {
    cov_db *db = NULL;
    cov_error err = {""};
    const uint32_t count = shapes[shape][1] == NULL ? 1 : 2;
    if (cov_open(&db, shapes[shape], count, &err) != COV_OK) {
        fail_msg("%s", err.text);
    }
    for (unsigned i = 0; i < samples; i++) {
        cov_inst *inst = NULL;
        const uint32_t g = (uint32_t)draw(&seed) % count;
        assert_int_equal(cov_instance(db, shapes[shape][g]->name, NULL, &inst, &err), COV_OK);
        const int64_t values[2] = {(int64_t)(draw(&seed) % 11) - 1, (int64_t)(draw(&seed) % 11) - 1};
        (void)cov_sample(inst, values);
    }
    char *bytes = NULL;
    size_t size = 0;
    assert_int_equal(cov_set_job(db, "unit x count=1", &err), COV_OK);
    assert_int_equal(cov_print(cov_db_data(db), &bytes, &size, &err), COV_OK);
    if (cov_parse(data, bytes, size, "bytes", &err) != COV_OK) {
        fail_msg("%s", err.text);
    }
    free(bytes);
    cov_close(db);
}

static char *printed(cov_data *data, size_t *size) {
    char *bytes = NULL;
    cov_error err = {""};
    assert_int_equal(cov_print(data, &bytes, size, &err), COV_OK);
    return bytes;
}

static void assert_same(cov_data *a, cov_data *b) {
    size_t na = 0;
    size_t nb = 0;
    char *ta = printed(a, &na);
    char *tb = printed(b, &nb);
    if (na != nb || memcmp(ta, tb, na) != 0) {
        fail_msg("differ:\n%s\n--\n%s", ta, tb);
    }
    free(ta);
    free(tb);
}

static void merge(cov_data *into, cov_data *from) {
    cov_error err = {""};
    if (cov_merge(into, from, &err) != COV_OK) {
        fail_msg("%s", err.text);
    }
}

static void copy(cov_data *to, cov_data *from) {
    size_t size = 0;
    char *bytes = printed(from, &size);
    cov_error err;
    assert_int_equal(cov_parse(to, bytes, size, "copy", &err), COV_OK);
    free(bytes);
}

/* (a + b) + c, a + (b + c), c + (b + a): the same bytes, for all triples of shapes. */
static void test_merge_order(void **state) {
    (void)state;
    for (unsigned t = 0; t < SHAPES * SHAPES * SHAPES; t++) {
        cov_data x[3];
        cov_data y[3];
        cov_data z[3];
        for (unsigned i = 0; i < 3; i++) {
            const unsigned shape = t / (i == 0 ? 1 : i == 1 ? SHAPES : SHAPES * SHAPES) % SHAPES;
            fill(&x[i], shape, t * 3 + i, 30);
            copy(&y[i], &x[i]);
            copy(&z[i], &x[i]);
        }
        merge(&x[0], &x[1]);
        merge(&x[0], &x[2]);
        merge(&y[1], &y[2]);
        merge(&y[0], &y[1]);
        merge(&z[1], &z[0]);
        merge(&z[2], &z[1]);
        assert_same(&x[0], &y[0]);
        assert_same(&x[0], &z[2]);
        assert_int_equal(x[0].files, 3);
        assert_string_equal(x[0].job, "");
        for (unsigned i = 0; i < 3; i++) {
            cov_data_free(&x[i]);
            cov_data_free(&y[i]);
            cov_data_free(&z[i]);
        }
    }
}

/* Files of one shape are added on a shorter way: the same result. */
static void test_merge_file(void **state) {
    (void)state;
    char path[64];
    cov_error err = {""};
    cov_data sum;
    cov_data slow;
    cov_data_init(&sum);
    cov_data_init(&slow);
    (void)snprintf(path, sizeof path, "/tmp/test_cov_file.%ld", (long)getpid());
    for (unsigned i = 0; i < 6; i++) {
        cov_data one;
        fill(&one, i < 4 ? 0 : i - 3, i, 50);
        assert_int_equal(cov_write(&one, path, &err), COV_OK);
        if (cov_merge_file(&sum, path, &err) != COV_OK) {
            fail_msg("%s", err.text);
        }
        merge(&slow, &one);
        assert_same(&sum, &slow);
        cov_data_free(&one);
    }
    assert_int_equal(sum.files, 6);
    cov_data_free(&sum);
    cov_data_free(&slow);
    unlink(path);
    assert_int_equal(cov_merge_file(&sum, path, &err), COV_IO);
    assert_non_null(strstr(err.text, "No such file"));
    assert_int_equal(cov_write(&sum, "/nowhere/at/all", &err), COV_IO);
    cov_data_free(&sum);
    assert_int_equal(cov_read(&sum, "/tmp", &err), COV_BAD_FILE);
}

static void test_saturation(void **state) {
    (void)state;
    cov_data a;
    cov_data b;
    fill(&a, 0, 1, 5);
    copy(&b, &a);
    a.counts[0] = UINT64_MAX - 3;
    b.counts[0] = 4;
    b.groups[0].samples = UINT64_MAX;
    merge(&a, &b);
    assert_true(a.counts[0] == UINT64_MAX && a.groups[0].samples == UINT64_MAX);
    cov_data_free(&b);
    copy(&b, &a);
    assert_true(b.counts[0] == UINT64_MAX);
    cov_data_free(&a);
    cov_data_free(&b);
}

static void test_partial(void **state) {
    (void)state;
    cov_data a;
    cov_data c;
    fill(&a, 0, 1, 50);
    fill(&c, 2, 2, 50);
    merge(&a, &c);
    const cov_data_group *g = &a.groups[0];
    assert_int_equal(g->point_count, 3);
    for (uint32_t p = 0; p < g->point_count; p++) {
        assert_int_equal(g->points[p].partial, strcmp(g->points[p].name, "size") != 0);
        for (uint32_t b = 0; b < g->points[p].bin_count && strcmp(g->points[p].name, "size") == 0; b++) {
            const char *name = g->points[p].bins[b].name;
            assert_int_equal(g->points[p].bins[b].partial, strcmp(name, "1") == 0 || strcmp(name, "large") == 0);
        }
    }
    assert_true(g->crosses[0].partial);
    cov_data_free(&a);
    cov_data_free(&c);
}

/* ---- conflicts ---- */

static void conflict(const cov_group *changed, const char *want) {
    cov_db *db = NULL;
    cov_error err = {""};
    cov_data a;
    cov_data before;
    fill(&a, 0, 1, 20);
    copy(&before, &a);
    if (cov_open(&db, &changed, 1, &err) != COV_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(cov_merge(&a, cov_db_data(db), &err), COV_CONFLICT);
    assert_string_equal(err.text, want);
    assert_same(&a, &before);
    assert_int_equal(cov_merge(cov_db_data(db), &a, &err), COV_CONFLICT);
    cov_close(db);
    cov_data_free(&a);
    cov_data_free(&before);
}

static void test_conflicts(void **state) {
    (void)state;
    static const cov_bin moved[] = {{COV_EACH(1, 4)}, {COV_RANGE("large", 6, COV_MAX)}};
    static const cov_bin counted[] = {{COV_EACH(1, 4)}, {COV_VALUE("none", 0)}};
    static const cov_bin goal[] = {{COV_EACH(1, 4), .goal = 7}};
    static const cov_point p_moved[] = {{COV_POINT("size", "a size", moved)}};
    static const cov_point p_counted[] = {{COV_POINT("size", "a size", counted)}};
    static const cov_point p_goal[] = {{COV_POINT("size", "a size", goal)}};
    static const cov_point p_weight[] = {{COV_POINT("size", "a size", size_bins), .weight = 9}};
    static const cov_point p_kind[] = {{COV_POINT("sm", "a size", size_bins)}};
    static const cov_cross x_points[] = {{COV_CROSS("sm", "bug", "mode", "size")}};
    static const cov_cross x_goal[] = {{COV_CROSS("sm", "bug", "size", "mode"), COV_RULES(rules), .goal = 3}};
    static const cov_cross x_rules[] = {{COV_CROSS("sm", "bug", "size", "mode"), COV_RULES(rules_fewer)}};
    conflict(&(cov_group){COV_GROUP("g", "", p_moved)},
             "g.size.large has other values or another role in another file");
    conflict(&(cov_group){COV_GROUP("g", "", p_counted)},
             "g.size.none has other values or another role in another file");
    conflict(&(cov_group){COV_GROUP("g", "", p_goal)}, "g.size.1 has another goal in another file");
    conflict(&(cov_group){COV_GROUP("g", "", p_weight)}, "g.size has another weight in another file");
    conflict(&(cov_group){COV_GROUP("g", "", p_kind)}, "g.sm has another kind in another file");
    conflict(&(cov_group){COV_GROUP("g", "", points_a), COV_CROSSES(x_points)},
             "g.sm has other coverpoints in another file");
    conflict(&(cov_group){COV_GROUP("g", "", points_a), COV_CROSSES(x_goal)},
             "g.sm has another goal or weight in another file");
    conflict(&(cov_group){COV_GROUP("g", "", points_a), COV_CROSSES(x_rules)},
             "g.sm has a cell of another role in another file");
    conflict(&(cov_group){COV_GROUP("g", "", points_a), COV_CROSSES(crosses), .weight = 5},
             "g has another weight in another file");
}

/* ---- into a given shape ---- */

typedef struct stale_list {
    char text[2000];
} stale_list;

static void told(void *ctx, const char *what, uint64_t hits) {
    stale_list *list = ctx;
    const size_t at = strlen(list->text);
    (void)snprintf(list->text + at, sizeof list->text - at, "%s %d;", what, hits > 0);
}

static void test_load(void **state) {
    (void)state;
    cov_data a;
    cov_data b;
    stale_list list = {""};
    cov_error err;
    fill(&a, 0, 1, 2000);
    fill(&b, 1, 2, 2000);
    const uint64_t before = a.counts[0];
    assert_int_equal(cov_load(&a, &b, told, &list, &err), COV_OK);
    assert_string_equal(list.text, "g.mode.m9 1;g.mode.m0 => m1 1;g.ms 1;");
    assert_int_equal(a.groups[0].point_count, 2);
    assert_int_equal(a.counts[0], before + b.counts[b.groups[0].points[1].first]);
    assert_int_equal(a.groups[0].samples, 4000);
    cov_data_free(&a);
    cov_data_free(&b);
}

/* ---- damage ---- */

/* Every byte changed, every length: one line, or (where only the header's job is hit) a file. */
static void test_damage(void **state) {
    (void)state;
    cov_data data;
    size_t size = 0;
    fill(&data, 0, 1, 50);
    char *good = printed(&data, &size);
    char *bad = malloc(size);
    assert_non_null(bad);
    size_t job = 5; /* the first byte of the job */
    while (job < size && memcmp(good + job - 5, "\njob ", 5) != 0) {
        job++;
    }
    assert_in_range(job, 5, size - 1);
    for (size_t i = 0; i < size; i++) {
        for (unsigned change = 1; change < 256; change += 51) {
            cov_error err = {""};
            cov_data back;
            memcpy(bad, good, size);
            bad[i] = (char)((unsigned char)bad[i] ^ change);
            const int rc = cov_parse(&back, bad, size, "bad", &err);
            const bool is_job = i >= job && i < job + strlen("unit x count=1");
            /* another number of files */
            const bool is_files = i >= strlen("tandem-cov 1\nfiles ") && i < strlen("tandem-cov 1\nfiles 1");
            assert_true(rc == COV_BAD_FILE ||
                        (rc == COV_OK && (is_job || is_files || bad[i] == ' ' || good[i] == ' ')));
            assert_true(rc == COV_OK || (err.text[0] != '\0' && strpbrk(err.text, "\n\t\r") == NULL));
            cov_data_free(&back);
        }
    }
    for (size_t length = 0; length < size; length++) {
        cov_error err = {""};
        cov_data back;
        assert_int_equal(cov_parse(&back, good, length, "short", &err), COV_BAD_FILE);
        assert_true(err.text[0] != '\0');
        cov_data_free(&back);
    }
    free(bad);
    free(good);
    cov_data_free(&data);
}

/* ---- rank ---- */

static void test_rank(void **state) {
    (void)state;
    enum { FILES = 40 };
    cov_data all;
    uint64_t *counts[FILES];
    uint32_t order[FILES];
    uint64_t gain[FILES];
    uint32_t chosen = 0;
    cov_error err;
    cov_data_init(&all);
    for (unsigned i = 0; i < FILES; i++) {
        cov_data one;
        fill(&one, 0, 100 + i, 3);
        counts[i] = calloc(one.count_count, sizeof(uint64_t));
        memcpy(counts[i], one.counts, one.count_count * sizeof(uint64_t));
        merge(&all, &one);
        assert_int_equal(all.count_count, one.count_count);
        cov_data_free(&one);
    }
    const cov_score want = cov_score_all(&all);
    assert_int_equal(cov_rank(&all, (const uint64_t *const *)counts, FILES, order, gain, &chosen, &err), COV_OK);
    assert_in_range(chosen, 2, FILES - 5);
    for (uint32_t without = 0; without <= chosen; without++) { /* the last time with all */
        memset(all.counts, 0, all.count_count * sizeof *all.counts);
        for (uint32_t i = 0; i < chosen; i++) {
            for (uint32_t k = 0; k < all.count_count && i != without; k++) {
                all.counts[k] += counts[order[i]][k];
            }
        }
        const cov_score s = cov_score_all(&all);
        assert_int_equal(s.total, want.total);
        assert_true(without < chosen ? s.covered < want.covered : s.covered == want.covered); /* none is superfluous */
    }
    for (unsigned i = 0; i < FILES; i++) {
        free(counts[i]);
    }
    cov_data_free(&all);
}

/* ---- a thousand files of three thousand bins ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void test_thousand(void **state) {
    (void)state;
    enum { FILES = 1000 };
    if (getenv("TANDEM_CHECK") == NULL) {
        printf("not run: a thousand files (make check)\n");
        return;
    }
    static const cov_bin row[] = {{COV_EACH(0, 59), .hint = "test:row=%"}};
    static const cov_bin column[] = {{COV_EACH(0, 49), .hint = "test:column=%"}};
    static const cov_bin other[] = {{COV_EACH(0, 399), .hint = "test:other=%"}, {COV_POW2(400, 1 << 20)}};
    static const cov_point pts[] = {
        {COV_POINT("row", "bug", row)}, {COV_POINT("column", "bug", column)}, {COV_POINT("other", "bug", other)}};
    static const cov_cross x[] = {{COV_CROSS("cells", "bug", "row", "column")}};
    static const cov_group big = {COV_GROUP("big", "many", pts), COV_CROSSES(x)};
    static const cov_group *const one[] = {&big};
    char dir[64];
    char path[128];
    uint64_t seed = 1;
    cov_error err = {""};
    cov_data sum;
    (void)snprintf(dir, sizeof dir, "/tmp/test_cov.XXXXXX");
    assert_non_null(mkdtemp(dir));
    cov_data_init(&sum);
    uint64_t samples = 0;
    for (unsigned f = 0; f < FILES; f++) {
        cov_db *db = NULL;
        cov_inst *inst = NULL;
        assert_int_equal(cov_open(&db, one, 1, &err), COV_OK);
        assert_int_equal(cov_instance(db, "big", NULL, &inst, &err), COV_OK);
        for (unsigned i = 0; i < 500; i++) {
            const int64_t values[] = {(int64_t)(draw(&seed) % 60), (int64_t)(draw(&seed) % 50),
                                      (int64_t)(draw(&seed) % 500)};
            assert_int_equal(cov_sample(inst, values), 0);
            samples++;
        }
        (void)snprintf(path, sizeof path, "%s/%u.cov", dir, f);
        assert_int_equal(cov_write(cov_db_data(db), path, &err), COV_OK);
        cov_close(db);
    }
    const double begin = now();
    for (unsigned f = 0; f < FILES; f++) {
        (void)snprintf(path, sizeof path, "%s/%u.cov", dir, f);
        assert_int_equal(cov_merge_file(&sum, path, &err), COV_OK);
    }
    const double seconds = now() - begin;
    const cov_score s = cov_score_all(&sum);
    printf("merged %d files of %u bins and cells in %.2f s\n", FILES, sum.count_count, seconds);
    assert_in_range(sum.count_count, 3000, 4000);
    assert_int_equal(sum.files, FILES);
    assert_int_equal(sum.groups[0].samples, samples);
    assert_true(s.covered > 3000);
    for (unsigned f = 0; f < FILES; f++) {
        (void)snprintf(path, sizeof path, "%s/%u.cov", dir, f);
        unlink(path);
    }
    assert_int_equal(rmdir(dir), 0);
    cov_data_free(&sum);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge_order), cmocka_unit_test(test_merge_file), cmocka_unit_test(test_saturation),
        cmocka_unit_test(test_partial),     cmocka_unit_test(test_conflicts),  cmocka_unit_test(test_load),
        cmocka_unit_test(test_damage),      cmocka_unit_test(test_rank),       cmocka_unit_test(test_thousand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
