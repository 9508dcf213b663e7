/* Tensor logs that must not take more room than so much. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tb.h"

static char root[64], a[96], b[96], err[512];

/* Bytes of the files; with `remove`, they and the folder go. */
static uint64_t bytes_in(const char *dir, bool remove) {
    char path[512];
    struct stat st;
    uint64_t sum = 0;
    DIR *d = opendir(dir);
    for (const struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL; e = readdir(d)) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            sum += (uint64_t)st.st_size;
            assert_true(!remove || unlink(path) == 0);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    assert_true(d == NULL || !remove || rmdir(dir) == 0);
    return sum;
}

static int setup(void **state) {
    (void)state;
    mkdir("build", 0777);
    snprintf(root, sizeof root, "build/test_trim.XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(a, sizeof a, "%s/a", root);
    snprintf(b, sizeof b, "%s/b", root);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    bytes_in(a, true);
    bytes_in(b, true);
    return rmdir(root);
}

#define WORDS 1000
#define WORD_BYTES 4128u     /* of the file */
#define TENSOR_BYTES 224u    /* the same */
#define INDEX_LINE_BYTES 90u /* at most */

/* 1,000 words and `tensors` tensors, of tasks 3 and on. */
static void fill(const char *dir, unsigned tensors) {
    static const uint8_t word[4] = {1, 2, 3, 4};
    static const int32_t data[24] = {0};
    const tb_tlog_entry words = {.stream = "fifo/0.word",
                                 .task = UINT64_MAX,
                                 .unit = "fifo",
                                 .stream_order = true,
                                 .type = TB_TLOG_U8,
                                 .axes = 2,
                                 .axis = {"t", "i"},
                                 .size = {0, 4}};
    tb_tlog_entry sums = {.stream = "lane.sum",
                          .unit = "lane",
                          .type = TB_TLOG_I32,
                          .axes = 3,
                          .axis = {"c", "h", "w"},
                          .size = {2, 3, 4}};
    tb_tlog *log = tb_tlog_create(dir, err, sizeof err);
    assert_non_null(log);
    for (int i = 0; i < WORDS; i++) {
        assert_int_equal(tb_tlog_append(log, &words, word), 0);
    }
    for (unsigned i = 0; i < tensors; i++) {
        sums.task = 3 + i;
        assert_int_equal(tb_tlog_tensor(log, &sums, data), 0);
    }
    assert_int_equal(tb_tlog_close(log, err, sizeof err), 0);
}

typedef struct trimmed {
    const char *first; /* stream that stays before all others, or NULL */
    uint64_t bytes;
    char text[200];
} trimmed;

static bool is_first(void *ctx, const char *stream, uint64_t task) {
    const trimmed *t = (const trimmed *)ctx;
    (void)task;
    return t->first != NULL && strcmp(t->first, stream) == 0;
}

static void note_gone(void *ctx, const char *stream, uint64_t task, uint64_t bytes) {
    trimmed *t = (trimmed *)ctx;
    const size_t at = strlen(t->text);
    snprintf(t->text + at, sizeof t->text - at, "%s/%d ", stream, (int)task);
    t->bytes += bytes;
}

/* Two folders, filled anew; the second has a tensor that the first has not. */
static uint64_t trim(uint64_t most, const char *first, trimmed *t) {
    const char *const dirs[] = {a, "nowhere/at/all", b};
    bytes_in(a, true);
    bytes_in(b, true);
    fill(a, 1);
    fill(b, 2);
    *t = (trimmed){.first = first};
    assert_int_equal(tb_tlog_trim(dirs, 3, &most, is_first, note_gone, t, err, sizeof err), 0);
    return most;
}

static int list(void *ctx, const tb_tlog_diff *d) {
    char *text = (char *)ctx;
    const size_t at = strlen(text);
    snprintf(text + at, 200 - at, "%s/%d%s%s%s ", d->stream, (int)d->task, d->only_a ? "A" : "", d->only_b ? "B" : "",
             d->shape_differs || d->wrong != 0 ? "!" : "");
    return 0;
}

/* What both folders hold, by their indexes; every file that they name can be read. */
static void expect(const char *want) {
    char text[200] = "";
    assert_int_equal(tb_tlog_compare(a, b, list, text, err, sizeof err), 0);
    assert_string_equal(text, want);
}

static void test_nothing_goes(void **state) {
    (void)state;
    trimmed t;
    const uint64_t most = 20000, left = trim(most, NULL, &t);
    const uint64_t all = bytes_in(a, false) + bytes_in(b, false);
    assert_true(all > 2 * WORD_BYTES + 3 * TENSOR_BYTES &&
                all <= 2 * WORD_BYTES + 3 * TENSOR_BYTES + 5 * INDEX_LINE_BYTES);
    assert_true(left == most - all && t.text[0] == '\0');
    assert_int_equal(trim(all, NULL, &t), 0); /* exactly enough */
    assert_string_equal(t.text, "");
    expect("fifo/0.word/-1 lane.sum/3 lane.sum/4B ");
}

static void test_the_largest_goes(void **state) {
    (void)state;
    trimmed t;
    trim(20000, NULL, &t);
    const uint64_t all = bytes_in(a, false) + bytes_in(b, false);
    const uint64_t left = trim(all - 1, NULL, &t);
    assert_string_equal(t.text, "fifo/0.word/-1 ");
    assert_int_equal(t.bytes, 2 * WORD_BYTES);
    assert_int_equal(left, all - 1 - (all - t.bytes));
    assert_true(bytes_in(a, false) + bytes_in(b, false) < all - t.bytes); /* the indexes are shorter, too */
    expect("lane.sum/3 lane.sum/4B ");
}

static void test_what_comes_first_stays(void **state) {
    (void)state;
    trimmed t;
    trim(2 * WORD_BYTES + TENSOR_BYTES + 5 * INDEX_LINE_BYTES, "fifo/0.word", &t);
    assert_string_equal(t.text, "lane.sum/3 ");
    expect("fifo/0.word/-1 lane.sum/4B ");
}

static void test_nothing_fits(void **state) {
    (void)state;
    trimmed t;
    assert_int_equal(trim(0, "fifo/0.word", &t), 0);
    assert_string_equal(t.text, "fifo/0.word/-1 lane.sum/3 lane.sum/4 ");
    assert_true(bytes_in(a, false) == 0 && bytes_in(b, false) == 0);
    expect("");
}

static void test_damaged_index(void **state) {
    (void)state;
    const char *const dirs[] = {a, b};
    char path[128];
    uint64_t most = 0;
    trimmed t = {0};
    fill(a, 1);
    fill(b, 1);
    const uint64_t before = bytes_in(a, false);
    snprintf(path, sizeof path, "%s/index.txt", b);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fputs("stream=../x task=0\n", f);
    fclose(f);
    assert_int_equal(tb_tlog_trim(dirs, 2, &most, is_first, note_gone, &t, err, sizeof err), -1);
    assert_non_null(strstr(err, "b/index.txt: line 3: expected"));
    assert_int_equal(bytes_in(a, false), before); /* and nothing has gone */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_largest_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_comes_first_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_fits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_index, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
