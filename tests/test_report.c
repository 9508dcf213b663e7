/*
 * What `tandem run` prints: shares and bounds, counters by unit, time series as text and as a picture.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testcases/npu/cli.h"
#include "report/report.h"

#define N 8u
#define WINDOWS 4u

static npu_dev_perf_window windows[WINDOWS];

static tc_stats make_stats(void) {
    tc_stats s = {.measured = true, .what = "a <b> & c", .tasks = "1", .cycles = 1100, .macs = 64000, .has_time = true};
    memset(windows, 0, sizeof windows);
    for (uint32_t i = 0; i < WINDOWS; i++) {
        windows[i].from = 1000 + 100 * i;
        windows[i].cycles = 100;
        windows[i].event[2] = 25 * i;                           /* beats of read channel 0 */
        windows[i].level[46 - NPU_DEV_PERF_FIRST_LEVEL] = 32;   /* tiles; full is 1024 / N */
        windows[i].level[40 - NPU_DEV_PERF_FIRST_LEVEL] = 9999; /* more than full shows as full */
    }
    s.perf[0] = 1000;
    s.perf[1] = 500;
    s.perf[2] = 100;
    s.perf[3] = 300;
    s.perf[33] = 900;
    s.series = windows;
    s.series_count = WINDOWS;
    return s;
}

/* Everything that a function printed. */
static char *printed(void (*print)(FILE *out, const tc_stats *s), const tc_stats *s) {
    static char text[65536];
    FILE *f = fmemopen(text, sizeof text, "w");
    assert_non_null(f);
    print(f, s);
    assert_int_equal(fclose(f), 0);
    return text;
}

static void print_short(FILE *out, const tc_stats *s) {
    cli_print_stats(out, s, N, 0.5);
}

static void print_long(FILE *out, const tc_stats *s) {
    cli_print_perf(out, s, N);
}

static void expect(const char *text, const char *part) {
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' is missing in:\n%s", part, text);
    }
}

static void expect_not(const char *text, const char *part) {
    if (strstr(text, part) != NULL) {
        fail_msg("'%s' should not be in:\n%s", part, text);
    }
}

static void shares_and_bounds(void **state) {
    (void)state;
    tc_stats s = make_stats();
    char *text = printed(print_short, &s);
    expect(text, "GEMM compute (mesh works)           500  50.0 %");
    expect(text, "read bus, both channels             400  20.0 %");
    expect_not(text, "ALU");
    expect_not(text, "POOL");
    expect_not(text, "bound"); /* not filled */
    s.bounds = (tc_bounds){.op = "conv", .mac_cycles = 250, .read_bytes = 3201, .write_bytes = 32};
    text = printed(print_short, &s);
    expect(text, "conv needs at least these cycles; share of the 1000 with a task:");
    expect(text, "MAC bound                           250  25.0 %");
    expect(text, "read bus bound                      101  10.1 %");
    expect(text, "write bus bound                       1   0.1 %");
    /* a task of the ALU alone */
    s = make_stats();
    s.macs = s.perf[1] = s.perf[33] = 0;
    s.perf[27] = 800;
    s.perf[28] = 200;
    s.perf[29] = 100;
    s.bounds = (tc_bounds){.op = "add", .read_bytes = 64, .write_bytes = 32};
    text = printed(print_short, &s);
    expect(text, "ALU compute                         500  50.0 %");
    expect(text, "stall: operands (load)              200  20.0 %");
    expect_not(text, "GEMM");
    expect_not(text, "MAC");
    s.perf[27] = 0;
    s.perf[30] = 800;
    s.perf[31] = 600;
    expect(printed(print_short, &s), "POOL compute                        200  20.0 %");
    s.has_time = false;
    expect(printed(print_short, &s), "not measured, the model has no clock");
}

static void series_as_text(void **state) {
    (void)state;
    tc_stats s = make_stats();
    char *text = printed(print_long, &s);
    expect(text, " 1 compute: mesh works                   500  50.0 %");
    expect(text, "one line is 100 cycles");
    expect(text, "       cycle  rd0  OFM  SG0\n"); /* nothing else happened */
    expect(text, "        1000    .  25\u2582 100\u2588\n");
    expect(text, "        1300  75\u2586  25\u2582 100\u2588\n");
    s.series_count = 0;
    expect(printed(print_long, &s), "over time: not sampled");
    /* each counter and mark of the list is printed once */
    for (uint32_t i = 0; i < NPU_PERF_COUNT; i++) {
        s.perf[i] = 7000000 + i;
    }
    text = printed(print_long, &s);
    for (uint32_t i = 1; i < NPU_PERF_COUNT; i++) {
        char number[16];
        snprintf(number, sizeof number, "%u", 7000000 + i);
        unsigned count = 0;
        for (const char *at = text; (at = strstr(at, number)) != NULL; at++) {
            count++;
        }
        assert_int_equal(count, i >= NPU_DEV_PERF_EVENTS && i < NPU_DEV_PERF_FIRST_LEVEL ? 0 : 1);
    }
}

static char *read_file(const char *path) {
    static char text[65536];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return text;
}

static void picture(void **state) {
    (void)state;
    tc_stats s = make_stats();
    char err[512] = "";
    char dir[] = "/tmp/test_report.XXXXXX";
    char path[64];
    char temp[80];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/a.svg", dir);
    snprintf(temp, sizeof temp, "%s.tmp", path);
    assert_int_equal(cli_perf_svg(path, &s, N, err, sizeof err), 0);
    const char *text = read_file(path);
    expect(text, "a &lt;b&gt; &amp; c");
    expect(text, "read channel 0</text>");
    expect(text, "</svg>\n");
    expect_not(text, "write channel 0");
    assert_int_not_equal(access(temp, F_OK), 0);
    /* a file that may not grow leaves nothing behind, and the old picture as it was */
    struct rlimit old;
    struct rlimit small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 100;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const int rc = cli_perf_svg(path, &s, N, err, sizeof err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(rc, -1);
    expect(err, "a.svg: cannot be written");
    assert_int_not_equal(access(temp, F_OK), 0);
    expect(read_file(path), "</svg>\n");
    unlink(path);
    assert_int_equal(cli_perf_svg("/nonexistent/a.svg", &s, N, err, sizeof err), -1);
    expect(err, "/nonexistent/a.svg: cannot be written: No such file");
    s.series_count = 0; /* a file that was asked for and is not there is an error */
    assert_int_equal(cli_perf_svg(path, &s, N, err, sizeof err), -1);
    expect(err, "not written: nothing was sampled");
    assert_int_not_equal(access(path, F_OK), 0);
    rmdir(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares_and_bounds), cmocka_unit_test(series_as_text),
                                       cmocka_unit_test(picture)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
