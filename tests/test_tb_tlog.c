/* Tensor logs (tb/tlog): what is written, what is read back, and what of damaged folders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tb.h"

typedef struct fixture {
    char root[64], a[96], b[96], err[512];
} fixture;

static int setup(void **state) {
    fixture *f = (fixture *)calloc(1, sizeof *f);
    assert_non_null(f);
    snprintf(f->root, sizeof f->root, "build/test_tlog.XXXXXX");
    mkdir("build", 0777);
    assert_non_null(mkdtemp(f->root));
    snprintf(f->a, sizeof f->a, "%s/a", f->root);
    snprintf(f->b, sizeof f->b, "%s/b", f->root);
    *state = f;
    return 0;
}

static void clear(const char *dir) {
    char path[512];
    DIR *d = opendir(dir);
    for (const struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL; e = readdir(d)) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && unlink(path) != 0) {
            clear(path);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    rmdir(dir);
}

static int teardown(void **state) {
    fixture *f = (fixture *)*state;
    clear(f->root);
    free(f);
    return 0;
}

static tb_tlog *create(fixture *f, const char *dir) {
    tb_tlog *log = tb_tlog_create(dir, f->err, sizeof f->err);
    if (log == NULL) {
        fail_msg("%s", f->err);
    }
    return log;
}

static void finish(fixture *f, tb_tlog *log) {
    if (tb_tlog_close(log, f->err, sizeof f->err) != 0) {
        fail_msg("%s", f->err);
    }
}

static const tb_tlog_entry sums = {.stream = "gemm.sum",
                                   .task = 3,
                                   .unit = "gemm",
                                   .type = TB_TLOG_I32,
                                   .axes = 3,
                                   .axis = {"c", "h", "w"},
                                   .size = {2, 3, 4}};
static const tb_tlog_entry words = {.stream = "fifo/0.word",
                                    .task = UINT64_MAX,
                                    .unit = "fifo",
                                    .stream_order = true,
                                    .type = TB_TLOG_U8,
                                    .axes = 2,
                                    .axis = {"t", "i"},
                                    .size = {0, 4}};

/* A folder with a tensor, whose element `at` is different, and a stream of `count` words. */
static void fill(fixture *f, const char *dir, uint32_t at, uint32_t count) {
    int32_t data[24];
    tb_tlog *log = create(f, dir);
    for (int i = 0; i < 24; i++) {
        data[i] = i - 5 + (i == (int)at ? 1000 : 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t word[4] = {(uint8_t)i, 1, 2, 3};
        assert_int_equal(tb_tlog_append(log, &words, word), 0);
    }
    assert_int_equal(tb_tlog_tensor(log, &sums, data), 0);
    finish(f, log);
}

typedef struct seen {
    unsigned calls, stop;
    char text[8][160];
} seen;

static int note(void *ctx, const tb_tlog_diff *d) {
    seen *s = (seen *)ctx;
    snprintf(s->text[s->calls % 8], sizeof s->text[0], "%s %s %d %s%s%s %llu/%llu %zu,%zu,%zu %s %s", d->stream,
             d->unit, (int)d->task, d->only_a ? "A" : "", d->only_b ? "B" : "", d->shape_differs ? "S" : "",
             (unsigned long long)d->wrong, (unsigned long long)d->total, d->first[0], d->axes > 1 ? d->first[1] : 0,
             d->axes > 2 ? d->first[2] : 0, d->a, d->b);
    return ++s->calls == s->stop;
}

static int compare(fixture *f, seen *s) {
    *s = (seen){.stop = s->stop};
    f->err[0] = '\0';
    return tb_tlog_compare(f->a, f->b, note, s, f->err, sizeof f->err);
}

static void test_equal(void **state) {
    fixture *f = (fixture *)*state;
    seen s = {0};
    fill(f, f->a, 99, 5);
    fill(f, f->b, 99, 5);
    assert_int_equal(compare(f, &s), 0);
    assert_int_equal(s.calls, 2);
    assert_string_equal(s.text[0], "fifo/0.word fifo -1  0/20 0,0,0  ");
    assert_string_equal(s.text[1], "gemm.sum gemm 3  0/24 0,0,0  ");
}

static void test_difference(void **state) {
    fixture *f = (fixture *)*state;
    seen s = {0};
    fill(f, f->a, 99, 5);
    fill(f, f->b, 17, 7);
    assert_int_equal(compare(f, &s), 0);
    assert_string_equal(s.text[0], "fifo/0.word fifo -1 S 0/20 0,0,0  ");
    assert_string_equal(s.text[1], "gemm.sum gemm 3  1/24 1,1,1 12 1012");
    s.stop = 1;
    assert_int_equal(compare(f, &s), 0);
    assert_int_equal(s.calls, 1);
}

static void test_only_one(void **state) {
    fixture *f = (fixture *)*state;
    seen s = {0};
    const float nan[2] = {0.5f, -0.0f};
    tb_tlog_entry e = {
        .stream = "x", .task = 0, .unit = "u", .type = TB_TLOG_F32, .axes = 1, .axis = {"i"}, .size = {2}};
    tb_tlog *log = create(f, f->a);
    assert_int_equal(tb_tlog_tensor(log, &e, nan), 0);
    finish(f, log);
    log = create(f, f->b);
    e.stream = "y";
    assert_int_equal(tb_tlog_tensor(log, &e, nan), 0);
    e.stream = "z";
    e.size[0] = 0;
    assert_int_equal(tb_tlog_tensor(log, &e, nan), 0);
    finish(f, log);
    assert_int_equal(compare(f, &s), 0);
    assert_int_equal(s.calls, 3);
    assert_string_equal(s.text[0], "x u 0 A 0/0 0,0,0  ");
    assert_string_equal(s.text[1], "y u 0 B 0/0 0,0,0  ");
    assert_string_equal(s.text[2], "z u 0 B 0/0 0,0,0  ");
}

/* Bits count: NaNs of equal bits are equal, zeros of different sign are not. */
static void test_bits(void **state) {
    fixture *f = (fixture *)*state;
    seen s = {0};
    const uint32_t x[3] = {0x7fc00001u, 0x80000000u, 0x3f800000u}, y[3] = {0x7fc00001u, 0, 0x3f800000u};
    const tb_tlog_entry e = {
        .stream = "x", .task = 0, .unit = "u", .type = TB_TLOG_F32, .axes = 1, .axis = {"i"}, .size = {3}};
    tb_tlog *log = create(f, f->a);
    tb_tlog_tensor(log, &e, x);
    finish(f, log);
    log = create(f, f->b);
    tb_tlog_tensor(log, &e, y);
    finish(f, log);
    assert_int_equal(compare(f, &s), 0);
    assert_string_equal(s.text[0], "x u 0  1/3 1,0,0 -0 (0x80000000) 0 (0x00000000)");
}

static void slurp(const char *dir, const char *file, char *dst, size_t size, size_t *bytes) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    *bytes = fread(dst, 1, size - 1, in);
    dst[*bytes] = '\0';
    fclose(in);
}

static void spill(const char *dir, const char *file, const char *data, size_t bytes) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(data, 1, bytes, out), bytes);
    fclose(out);
}

static void test_files(void **state) {
    fixture *f = (fixture *)*state;
    char text[1024];
    size_t bytes;
    fill(f, f->a, 99, 2);
    slurp(f->a, "index.txt", text, sizeof text, &bytes);
    assert_string_equal(text, "stream=fifo/0.word task=- unit=fifo file=fifo+0.word.npy kind=stream axes=t,i\n"
                              "stream=gemm.sum task=3 unit=gemm file=gemm.sum.3.npy kind=tensor axes=c,h,w\n");
    slurp(f->a, "gemm.sum.3.npy", text, sizeof text, &bytes);
    assert_int_equal(bytes, 128 + 96);
    assert_memory_equal(text, "\x93NUMPY\x01\x00v\x00{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3, 4), }   ",
                        75);
    assert_int_equal(text[127], '\n');
}

/* A stream that does not fit into memory: the same elements, another length of the header. */
static void test_long_stream(void **state) {
    fixture *f = (fixture *)*state;
    static uint8_t page[8192];
    char text[256];
    size_t bytes;
    seen s = {0};
    struct stat st;
    tb_tlog_entry e = words;
    e.size[1] = sizeof page;
    for (unsigned k = 0; k < 2; k++) {
        tb_tlog *log = create(f, k == 0 ? f->a : f->b);
        assert_int_equal(tb_tlog_append(log, &e, NULL), 0);
        for (uint32_t i = 0; i < 1500; i++) {
            page[0] = (uint8_t)i;
            page[1] = (uint8_t)(i >> 8);
            page[2] = (uint8_t)(k == 1 && i == 1400);
            assert_int_equal(tb_tlog_append(log, &e, page), 0);
        }
        finish(f, log);
    }
    assert_int_equal(compare(f, &s), 0);
    assert_string_equal(s.text[0], "fifo/0.word fifo -1  1/12288000 1400,2,0 0 1");
    slurp(f->a, "fifo+0.word.npy", text, sizeof text, &bytes);
    assert_memory_equal(
        text, "\x93NUMPY\x01\x00\xb6\x00{'descr': '|u1', 'fortran_order': False, 'shape': (1500, 8192), }   ", 74);
    snprintf(text, sizeof text, "%s/fifo+0.word.npy", f->a);
    assert_int_equal(stat(text, &st), 0);
    assert_int_equal(st.st_size, 192 + 1500 * 8192);
    snprintf(text, sizeof text, "%s/.fifo+0.word.npy.tmp", f->a);
    assert_int_not_equal(stat(text, &st), 0);
}

static void test_create(void **state) {
    fixture *f = (fixture *)*state;
    char path[128];
    fill(f, f->a, 99, 1);
    assert_null(tb_tlog_create(f->a, f->err, sizeof f->err));
    assert_non_null(strstr(f->err, "expected a new or an empty folder"));
    snprintf(path, sizeof path, "%s/index.txt", f->a);
    assert_null(tb_tlog_create(path, f->err, sizeof f->err));
    snprintf(path, sizeof path, "%s/no/where", f->root);
    assert_null(tb_tlog_create(path, f->err, sizeof f->err));
    assert_non_null(strstr(f->err, "No such file"));
}

static void expect_close(fixture *f, tb_tlog *log, const char *part) {
    assert_int_equal(tb_tlog_close(log, f->err, sizeof f->err), -1);
    assert_non_null(strstr(f->err, part));
}

static void test_misuse(void **state) {
    fixture *f = (fixture *)*state;
    const int32_t data[24] = {0};
    tb_tlog_entry e = sums;
    tb_tlog *log = create(f, f->a);
    assert_int_equal(tb_tlog_tensor(log, &e, data), 0);
    assert_int_equal(tb_tlog_tensor(log, &e, data), -1);
    assert_int_equal(tb_tlog_append(log, &words, "abcd"), -1); /* after an error nothing more */
    expect_close(f, log, "written twice");
    static const char *const bad[] = {"", "../x", "a b", "a=b", ".x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        clear(f->b);
        log = create(f, f->b);
        e.stream = bad[i];
        assert_int_equal(tb_tlog_tensor(log, &e, data), -1);
        expect_close(f, log, "cannot stand in an index");
    }
    clear(f->b);
    log = create(f, f->b);
    tb_tlog_entry w = words;
    assert_int_equal(tb_tlog_append(log, &w, "abcd"), 0);
    w.size[1] = 5;
    assert_int_equal(tb_tlog_append(log, &w, "abcde"), -1);
    expect_close(f, log, "another type or size");
}

static void test_full_disk(void **state) {
    fixture *f = (fixture *)*state;
    struct rlimit old, small = {.rlim_cur = 100, .rlim_max = RLIM_INFINITY};
    const int32_t data[24] = {0};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    tb_tlog *log = create(f, f->a);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const int rc = tb_tlog_tensor(log, &sums, data);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(rc, -1);
    expect_close(f, log, "cannot be written");
    assert_null(fopen("build/none/index.txt", "r"));
    DIR *d = opendir(f->a);
    assert_non_null(d);
    for (const struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        assert_true(e->d_name[0] == '.' && strstr(e->d_name, "tmp") == NULL); /* nothing half written stays */
    }
    closedir(d);
}

static void expect_error(fixture *f, const char *part) {
    seen s = {0};
    assert_int_equal(compare(f, &s), -1);
    if (strstr(f->err, part) == NULL || strchr(f->err, '\n') != NULL) {
        fail_msg("got \"%s\", expected \"%s\"", f->err, part);
    }
}

static void test_damaged_index(void **state) {
    fixture *f = (fixture *)*state;
    static const struct {
        const char *text, *part;
    } bad[] = {{"stream=x\n", "line 1: expected task=NUMBER"},
               {"\n", "line 1: expected stream=NAME"},
               {"stream=x task=0 unit=u file=x.npy kind=tensor axes=i", "cut off"},
               {"stream=x task=0 unit=u file=../x.npy kind=tensor axes=i\n", "a file of this folder"},
               {"stream=x task=0 unit=u file=.npy kind=tensor axes=i\n", "a file of this folder"},
               {"stream=x task=0 unit=u file=x.txt kind=tensor axes=i\n", "a file of this folder"},
               {"stream=x task=-1 unit=u file=x.npy kind=tensor axes=i\n", "task=NUMBER"},
               {"stream=x task=99999999999999999999 unit=u file=x.npy kind=tensor axes=i\n", "task=NUMBER"},
               {"stream=x\x1b[31m task=0 unit=u file=x.npy kind=tensor axes=i\n", "stream=NAME"},
               {"stream=x task=0 unit=u file=x.npy kind=heap axes=i\n", "kind=tensor or kind=stream"},
               {"stream=x task=0 unit=u file=x.npy kind=tensor axes=a,b,c,d,e\n", "at most four"},
               {"stream=x task=0 unit=u file=x.npy kind=tensor axes=a, more=1\n", "axes=NAME"},
               {"stream=x task=0 unit=u file=x.npy kind=tensor axes=i\n", "x.npy: No such file"},
               {"stream=x task=0 unit=u file=gemm.sum.3.npy kind=tensor axes=i\n", "3 axes, expected 1"},
               {"stream=gemm.sum task=3 unit=u file=x.npy kind=tensor axes=i\nstream=gemm.sum task=3 unit=u file=x.npy "
                "kind=tensor axes=i\n",
                "line 2: gemm.sum of this task is already in line 1"}};
    fill(f, f->a, 99, 1);
    fill(f, f->b, 99, 1);
    spill(f->b, "index.txt", "stream=x task=0 unit=u file=gemm.sum.3.npy kind=tensor axes=i,j,k\n", 66);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        spill(f->a, "index.txt", bad[i].text, strlen(bad[i].text));
        expect_error(f, bad[i].part);
    }
    clear(f->a);
    expect_error(f, "a/index.txt: No such file");
}

/* Each byte of the header wrong once: an error line or a type of the same size, never more. */
static void test_damaged_header(void **state) {
    fixture *f = (fixture *)*state;
    char good[512], bad[512];
    size_t bytes;
    unsigned errors = 0;
    seen s = {0};
    fill(f, f->a, 99, 1);
    fill(f, f->b, 99, 1);
    slurp(f->a, "gemm.sum.3.npy", good, sizeof good, &bytes);
    for (size_t i = 0; i < 128; i++) {
        memcpy(bad, good, bytes);
        bad[i] = (char)(bad[i] ^ 0x41);
        spill(f->a, "gemm.sum.3.npy", bad, bytes);
        if (compare(f, &s) != 0) {
            errors++;
            assert_null(strchr(f->err, '\n'));
            assert_non_null(strstr(f->err, "gemm.sum.3.npy: "));
        }
    }
    assert_true(errors > 60); /* the rest is padding that any character may fill */
    for (size_t i = 0; i < bytes; i++) {
        spill(f->a, "gemm.sum.3.npy", good, i);
        expect_error(f, "gemm.sum.3.npy: ");
    }
    memcpy(bad, good, bytes);
    bad[bytes] = 0;
    spill(f->a, "gemm.sum.3.npy", bad, bytes + 1);
    expect_error(f, "expected 96 bytes of data");
}

/* A header with this dictionary and as many bytes of data as asked for. */
static void header(const fixture *f, const char *dict, size_t data) {
    char file[1024] = "\x93NUMPY\x01";
    const size_t length = strlen(dict);
    file[8] = (char)(length & 255);
    file[9] = (char)(length >> 8);
    memcpy(file + 10, dict, length);
    spill(f->a, "gemm.sum.3.npy", file, 10 + length + data);
}

static void test_other_headers(void **state) {
    fixture *f = (fixture *)*state;
    seen s = {0};
    static const struct {
        const char *dict;
        size_t data;
        const char *part;
    } bad[] = {{"{'descr': '>i4', 'fortran_order': False, 'shape': (2, 3, 4), }\n", 96, "a type other than"},
               {"{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3, 4), }\n", 96, "an order of elements"},
               {"{'descr': '<i4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }\n", 0, "too large"},
               {"{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,), }\n", 0, "damaged shape"},
               {"{'descr': '<i4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1), }\n", 4, "more than four axes"},
               {"{'descr': '<i4', 'fortran_order': False, 'shape': (), }\n", 4, "without axes"},
               {"{'descr': '<i4', 'shape': (2, 3, 4), }\n", 96, "without descr, fortran_order or shape"},
               {"{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,), }\n", 8, "damaged header"},
               {"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3, -4), }\n", 96, "damaged shape"},
               {"", 0, "damaged header"}};
    fill(f, f->a, 99, 1);
    fill(f, f->b, 99, 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        header(f, bad[i].dict, bad[i].data);
        expect_error(f, bad[i].part);
    }
    /* other writers: other order of keys, no blanks, double quotes */
    header(f, "{\"shape\":(2,3,4),\"fortran_order\":False,\"descr\":\"<i4\"}", 96);
    assert_int_equal(compare(f, &s), 0);
    assert_string_equal(s.text[1], "gemm.sum gemm 3  23/24 0,0,0 0 -5");
    header(f, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 4, 3), }\n", 96);
    assert_int_equal(compare(f, &s), 0);
    assert_string_equal(s.text[1], "gemm.sum gemm 3 S 0/0 0,0,0  ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_equal, setup, teardown),
        cmocka_unit_test_setup_teardown(test_difference, setup, teardown),
        cmocka_unit_test_setup_teardown(test_only_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_stream, setup, teardown),
        cmocka_unit_test_setup_teardown(test_create, setup, teardown),
        cmocka_unit_test_setup_teardown(test_misuse, setup, teardown),
        cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_index, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_header, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_headers, setup, teardown),
    };
    signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
