/* Waveform files: reading, damaged files, instances, save files, timing diagrams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tb.h"
#include "wave/wave_priv.h"

static char dir[64];

static char *in_dir(const char *name) {
    static char path[4][128];
    static unsigned next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", dir, name);
    return p;
}

static void write_file(const char *path, const void *data, size_t len) {
    unlink(path); /* some file systems wait for the disk when a file is written over */
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static char *read_whole(const char *path, size_t *len) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = calloc(1, 4u << 20);
    assert_non_null(text);
    const size_t n = fread(text, 1, (4u << 20) - 1, f);
    fclose(f);
    if (len != NULL) {
        *len = n;
    }
    return text;
}

static const char small[] =
    "$date today $end\n$comment a [b] $end\n$timescale 10 ns $end\n"
    "$scope module TOP $end\n$var wire 1 ! clk_i $end\n"
    "$scope module u_a $end\n$var wire 1 ! clk_i $end\n$var reg 8 \" data_q [7:0] $end\n$var wire 1 # valid_o $end\n"
    "$var wire 1 $ ready_i $end\n$var wire 4 % mem[3][3:0] $end\n$var real 64 & temp $end\n$var parameter 8 ' W [7:0] "
    "$end\n"
    "$scope struct task_i $end\n$var wire 3 ( rows [2:0] $end\n$upscope $end\n"
    "$scope module u_sub $end\n$var wire 1 ) inner $end\n$upscope $end\n"
    "$upscope $end\n$upscope $end\n$enddefinitions $end\n"
    "#0\n$dumpvars\n0!\nbx \"\n0#\nz$\nb0 %\nr1.5 &\nb101 '\nb1 (\n1)\n$end\n"
    "#5\n1!\n#10\n0!\nb101 \"\n1#\n#15\n1!\nbX1 \"\nr-2e3 &\n#20\n0!\nbz01 \"\n#25\n1!\nb11111111 \"\n#30\n0!\n";

static tb_wave *open_ok(const char *path) {
    char err[256] = "";
    tb_wave *w = tb_wave_open(path, err, sizeof err);
    if (w == NULL) {
        fail_msg("%s", err);
    }
    return w;
}

typedef struct seen {
    char text[4096];
    size_t len;
    int stop_at; /* return 7 with this change */
    int count;
} seen;

static int note(void *ctx, uint64_t time, uint32_t handle, const char *bits, uint32_t width) {
    seen *s = ctx;
    s->len += (size_t)snprintf(s->text + s->len, sizeof s->text - s->len, "%llu:%u=%.*s ", (unsigned long long)time,
                               handle, (int)width, bits);
    return ++s->count == s->stop_at ? 7 : 0;
}

/* The changes of one signal as text. */
static const char *changes(tb_wave *w, const char *path, uint64_t from, uint64_t to, seen *s) {
    char err[256] = "";
    const tb_wave_signal *signal = tb_wave_find(w, path);
    assert_non_null(signal);
    uint8_t *want = calloc(tb_wave_handles(w), 1);
    assert_non_null(want);
    want[signal->handle] = 1;
    *s = (seen){.text = ""};
    assert_int_equal(tb_wave_read(w, want, from, to, note, s, err, sizeof err), 0);
    free(want);
    return s->text;
}

static void check_small(tb_wave *w) {
    size_t count = 0;
    uint64_t first = 9;
    uint64_t last = 0;
    int exponent = 0;
    seen s;
    char want[128];
    const tb_wave_signal *sig = tb_wave_signals(w, &count);
    assert_int_equal(count, 9);
    assert_string_equal(sig[0].scope, "TOP");
    assert_string_equal(sig[0].name, "clk_i");
    assert_string_equal(sig[2].scope, "TOP.u_a");
    assert_string_equal(sig[2].name, "data_q");
    assert_string_equal(sig[2].range, "[7:0]");
    assert_int_equal(sig[2].width, 8);
    assert_int_equal(sig[0].handle, sig[1].handle);
    assert_string_equal(sig[5].name, "mem[3]");
    assert_string_equal(sig[5].range, "[3:0]");
    assert_true(sig[6].parameter);
    assert_string_equal(sig[7].name, "task_i.rows");
    assert_string_equal(sig[7].scope, "TOP.u_a");
    assert_string_equal(sig[8].scope, "TOP.u_a.u_sub");
    tb_wave_times(w, &first, &last, &exponent);
    assert_int_equal(first, 0);
    assert_int_equal(last, 30);
    assert_int_equal(exponent, -8);
    const unsigned h = sig[2].handle;
    /* x is repeated to the left, 0 and 1 are filled with 0, z is repeated */
    snprintf(want, sizeof want, "0:%u=xxxxxxxx 10:%u=00000101 15:%u=xxxxxxx1 20:%u=zzzzzz01 25:%u=11111111 ", h, h, h,
             h, h);
    assert_string_equal(changes(w, "TOP.u_a.data_q", 0, 30, &s), want);
    /* a window begins with what holds there, the change at its first moment included; the outermost scope may be
     * missing */
    snprintf(want, sizeof want, "15:%u=xxxxxxx1 20:%u=zzzzzz01 ", h, h);
    assert_string_equal(changes(w, "u_a.data_q", 15, 24, &s), want);
    snprintf(want, sizeof want, "14:%u=00000101 ", h);
    assert_string_equal(changes(w, "u_a.data_q", 14, 14, &s), want);
    assert_null(tb_wave_find(w, "u_a.data"));
    /* behind the last time its values hold */
    snprintf(want, sizeof want, "99:%u=11111111 ", h);
    assert_string_equal(changes(w, "u_a.data_q", 99, 100, &s), want);
}

static void vcd_is_read(void **state) {
    (void)state;
    char *path = in_dir("small.vcd");
    write_file(path, small, sizeof small - 1);
    tb_wave *w = open_ok(path);
    check_small(w);
    /* the callback can stop the reading */
    char err[128] = "";
    uint8_t want[16] = {1};
    seen s = {.stop_at = 3};
    assert_int_equal(tb_wave_read(w, want, 0, 30, note, &s, err, sizeof err), 7);
    assert_int_equal(s.count, 3);
    tb_wave_close(w);
}

/* The same file as an FST. false: the program that makes it is missing. */
static bool make_fst(const char *vcd, const char *fst) {
    char command[512];
    snprintf(command, sizeof command, "vcd2fst '%s' '%s' >/dev/null 2>&1", vcd, fst);
    const int status = system(command);
    if (status != 0) {
        printf("not run: needs vcd2fst (make deps-dev: gtkwave)\n");
    }
    return status == 0;
}

static void fst_is_read(void **state) {
    (void)state;
    char *vcd = in_dir("small.vcd");
    char *fst = in_dir("small.fst");
    write_file(vcd, small, sizeof small - 1);
    if (!make_fst(vcd, fst)) {
        skip();
    }
    tb_wave *w = open_ok(fst);
    check_small(w);
    tb_wave_close(w);
    /* and through the program that newer Verilators need */
    char err[256] = "";
    w = wave_open_with(fst, wave_open_pipe, err, sizeof err);
    assert_non_null(w);
    check_small(w);
    tb_wave_close(w);
}

static void missing_converter_is_said(void **state) {
    (void)state;
    char err[256] = "";
    char *fst = in_dir("any.fst");
    char *path = strdup(getenv("PATH"));
    write_file(fst, "x", 1);
    setenv("PATH", "/nowhere", 1);
    tb_wave *w = wave_open_with(fst, wave_open_pipe, err, sizeof err);
    setenv("PATH", path, 1);
    free(path);
    assert_null(w);
    assert_non_null(strstr(err, "any.fst: cannot be read: fst2vcd (of the package gtkwave): No such file"));
}

/* ---- bad input ---- */

static void bad_text_is_refused(void **state) {
    (void)state;
    static const char head[] =
        "$timescale 1ns $end $scope module t $end\n$var wire 4 ! a $end $upscope $end\n$enddefinitions $end\n";
    static const struct {
        const char *text; /* behind the header; '$': instead of it */
        const char *message;
    } bad[] = {
        {"#5\nb2 !\n", ":5: value 'b2', expected digits"},
        {"#5\nb0 ?\n", ":5: value of the unknown identifier '?'"},
        {"#5\n#4\n", ":5: time 4 after time 5"},
        {"#x\n", ":4: '#x', expected a time"},
        {"#5\nb01", "end of the file, expected an identifier"},
        {"hello\n", "'hello', expected a value, a time or a keyword"},
        {"$comment never closed", "end of the file, expected $end"},
        {"$date x $end", ":1: end of the file, expected $enddefinitions"},
        {"$var wire 4", "end of the file, expected an identifier"},
        {"$var wire 99999999999 ! a $end", "width '99999999999', expected 1 to"},
        {"$var wire 4 ! $end", "a variable without a name"},
        {"$var wire 4 ! a $end $var wire 5 ! b $end", "identifier '!' of 5 bits had 4 bits before"},
        {"$upscope $end", "$upscope outside of every scope"},
        {"$timescale 7 ns $end", "time scale '7ns'"},
    };
    char *path = in_dir("bad.vcd");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[512];
        char err[256] = "";
        snprintf(text, sizeof text, "%s%s", bad[i].text[0] == '$' && bad[i].text[1] != 'c' ? "" : head, bad[i].text);
        write_file(path, text, strlen(text));
        tb_wave *w = tb_wave_open(path, err, sizeof err);
        if (w != NULL || strstr(err, bad[i].message) == NULL || strstr(err, "bad.vcd:") == NULL) {
            fail_msg("%s: %s", bad[i].text, w != NULL ? "accepted" : err);
        }
    }
}

static void other_files_are_refused(void **state) {
    (void)state;
    char err[256] = "";
    char *path = in_dir("other");
    assert_null(tb_wave_open(path, err, sizeof err));
    assert_non_null(strstr(err, "other: no such file"));
    write_file(path, "", 0);
    assert_null(tb_wave_open(path, err, sizeof err));
    assert_non_null(strstr(err, "empty file"));
    write_file(path, "ELF", 3);
    assert_null(tb_wave_open(path, err, sizeof err));
    assert_non_null(strstr(err, "neither an FST nor a VCD file"));
    assert_null(tb_wave_open(dir, err, sizeof err));
    assert_non_null(strstr(err, "not a regular file"));
}

/* ---- guard ---- */

static int work_ok(void *ctx) {
    fprintf(stderr, "%s", "");
    return *(int *)ctx;
}

static int work_dies(void *ctx) {
    (void)ctx;
    fprintf(stderr, "noise of a library\n");
    raise(SIGSEGV);
    return 0;
}

static int work_hangs(void *ctx) {
    for (volatile int *forever = ctx; *forever != 0;) {
    }
    return 0;
}

static int work_leaves(void *ctx) {
    (void)ctx;
    exit(0);
}

static int work_pipes(void *ctx) {
    /* the caller's pipe is closed here, its file is not */
    const int *fd = ctx;
    return fcntl(fd[0], F_GETFD) < 0 && fcntl(fd[1], F_GETFD) >= 0 ? 3 : 4;
}

static void guard_survives(void **state) {
    (void)state;
    char err[256] = "";
    int value = 42;
    int fd[2];
    assert_int_equal(tb_wave_guard("f.fst", work_ok, &value, 5, 512, err, sizeof err), 42);
    assert_int_equal(tb_wave_guard("f.fst", work_dies, NULL, 5, 512, err, sizeof err), -1);
    assert_string_equal(err, "f.fst: damaged FST");
    err[0] = '\0';
    assert_int_equal(tb_wave_guard("f.fst", work_hangs, &value, 1, 512, err, sizeof err), -1);
    assert_string_equal(err, "f.fst: damaged FST");
    assert_int_equal(tb_wave_guard("f.fst", work_leaves, NULL, 5, 512, err, sizeof err), -1);
    assert_string_equal(err, "f.fst: damaged FST");
    assert_int_equal(pipe(fd), 0);
    const int file = open("/dev/null", O_RDWR);
    int both[2] = {fd[0], file};
    assert_int_equal(tb_wave_guard("f.fst", work_pipes, both, 5, 512, err, sizeof err), 3);
    close(fd[0]);
    close(fd[1]);
    close(file);
}

/* Of what kind the damaged file is, its contents say, not its name. */
static void guard_names_the_format(void **state) {
    (void)state;
    char err[256] = "", want[256];
    char *path = in_dir("wave.dat");
    const unsigned char fst[16] = {0, 0, 0, 0, 0, 0, 0, 1, 73};
    write_file(path, small, sizeof small - 1);
    assert_int_equal(tb_wave_guard(path, work_dies, NULL, 5, 512, err, sizeof err), -1);
    snprintf(want, sizeof want, "%s: damaged VCD", path);
    assert_string_equal(err, want);
    write_file(path, fst, sizeof fst);
    assert_int_equal(tb_wave_guard(path, work_dies, NULL, 5, 512, err, sizeof err), -1);
    snprintf(want, sizeof want, "%s: damaged FST", path);
    assert_string_equal(err, want);
    /* a pipe without a writer: nobody waits for one */
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_null(tb_wave_open(path, err, sizeof err));
    assert_non_null(strstr(err, "not a regular file"));
    assert_int_equal(tb_wave_guard(path, work_dies, NULL, 5, 512, err, sizeof err), -1);
    unlink(path);
}

static int work_reads(void *ctx) {
    char err[256] = "";
    seen s = {.text = ""};
    tb_wave *w = tb_wave_open(ctx, err, sizeof err);
    if (w == NULL) {
        return strstr(err, "damaged FST") != NULL || strstr(err, ": ") != NULL ? 2 : 9;
    }
    uint8_t *want = malloc(tb_wave_handles(w) + 1);
    memset(want, 1, tb_wave_handles(w) + 1);
    s.stop_at = 40; /* its text is short */
    const int status = tb_wave_read(w, want, 0, UINT64_MAX, note, &s, err, sizeof err);
    tb_wave_close(w);
    free(want);
    return status < 0 ? 2 : 0;
}

/* Random bytes of an FST are changed: whatever the library does with it, the caller goes on. */
static void damaged_files_do_no_harm(void **state) {
    (void)state;
    char *vcd = in_dir("small.vcd");
    char *fst = in_dir("small.fst");
    char *bad = in_dir("bad.fst");
    size_t len = 0;
    unsigned outcome[3] = {0};
    write_file(vcd, small, sizeof small - 1);
    if (!make_fst(vcd, fst)) {
        skip();
    }
    char *data = read_whole(fst, &len);
    char *copy = malloc(len);
    assert_non_null(copy);
    tb_rng r = tb_rng_stream(1, "damage");
    const int files = getenv("TANDEM_CHECK") != NULL ? 1000 : 150;
    for (int i = 0; i < files; i++) {
        char err[256] = "";
        memcpy(copy, data, len);
        const uint64_t bytes = tb_rng_range(&r, 1, 8);
        for (uint64_t b = 0; b < bytes; b++) {
            copy[tb_rng_range(&r, 0, len - 1)] = (char)tb_rng_u64(&r);
        }
        write_file(bad, copy, len);
        const int status = tb_wave_guard(bad, work_reads, bad, 1, 256, err, sizeof err);
        assert_true(status == 0 || status == 2 || status == -1);
        if (status == -1) {
            assert_non_null(strstr(err, "bad.fst: damaged FST"));
        }
        outcome[status == -1 ? 1 : status]++;
    }
    free(data);
    free(copy);
    /* some damage is seen, some is not */
    assert_true(outcome[0] > 0 && outcome[1] + outcome[2] > 0);
}

/* ---- what to look at ---- */

static tb_wave_view small_view(const char *wave, const tb_wave_group *group, size_t groups) {
    return (tb_wave_view){
        .wave = wave, .title = "a <b> & c", .group = group, .groups = groups, .clock = "TOP.clk_i", .marker = 20};
}

static void instance_is_ordered(void **state) {
    (void)state;
    static const char *const want[] = {"TOP.u_a.clk_i",  "TOP.u_a.ready_i", "TOP.u_a.valid_o",
                                       "TOP.u_a.data_q", "TOP.u_a.mem[3]",  "TOP.u_a.task_i.rows"};
    const char *path[16];
    char *vcd = in_dir("small.vcd");
    write_file(vcd, small, sizeof small - 1);
    tb_wave *w = open_ok(vcd);
    const size_t n = tb_wave_instance(w, "u_a", path, 16);
    assert_int_equal(n, sizeof want / sizeof want[0]);
    for (size_t i = 0; i < n; i++) {
        bool found = false;
        for (size_t k = 0; k < n; k++) {
            found |= strcmp(path[i], want[k]) == 0;
        }
        assert_true(found);
    }
    assert_string_equal(path[0], "TOP.u_a.clk_i");
    assert_string_equal(path[3], "TOP.u_a.data_q");
    for (size_t i = 0; i < n; i++) {
        free((void *)(uintptr_t)path[i]);
    }
    assert_int_equal(tb_wave_instance(w, "u_none", path, 16), 0);
    char block[] = "u_a.g_loop[3].assertion", none[] = "u_none.block";
    assert_int_equal(tb_wave_instance_of(w, block, path, 1), 1);
    assert_string_equal(block, "u_a");
    assert_string_equal(path[0], "TOP.u_a.clk_i");
    free((void *)(uintptr_t)path[0]);
    assert_int_equal(tb_wave_instance_of(w, none, path, 1), 0);
    const tb_wave_signal *clock = tb_wave_clock(w);
    assert_non_null(clock);
    assert_string_equal(clock->scope, "TOP");
    tb_wave_close(w);
}

static void save_file_has_groups_and_marker(void **state) {
    (void)state;
    static const char *const a[] = {"TOP.u_a.valid_o", "TOP.u_a.data_q", "TOP.u_a.none"};
    static const char *const b[] = {"TOP.u_a.mem[3]"};
    const tb_wave_group group[] = {{"handshakes", a, 3}, {"data", b, 1}};
    char err[256] = "";
    char *vcd = in_dir("small.vcd");
    char *out = in_dir("small.gtkw");
    write_file(vcd, small, sizeof small - 1);
    tb_wave_view view = small_view(vcd, group, 2);
    assert_int_equal(tb_wave_gtkw(&view, out, err, sizeof err), 0);
    char *text = read_whole(out, NULL);
    assert_non_null(strstr(text, "small.vcd\"\n[timestart] 0\n"));
    assert_non_null(strstr(text, " 20 20 -1 -1"));
    assert_non_null(
        strstr(text, "@800200\n-handshakes\n@28\nTOP.u_a.valid_o\n@22\nTOP.u_a.data_q[7:0]\n@1000200\n-handshakes\n"
                     "@800200\n-data\n@22\nTOP.u_a.mem[3][3:0]\n@1000200\n-data\n"));
    free(text);
    assert_int_equal(tb_wave_gtkw(&view, "/nowhere/x.gtkw", err, sizeof err), -1);
    assert_non_null(strstr(err, "/nowhere/x.gtkw: No such file"));
    view.clock = "TOP.none";
    assert_int_equal(tb_wave_gtkw(&view, out, err, sizeof err), -1);
    assert_non_null(strstr(err, "small.vcd: no signal TOP.none"));
}

static void diagram_shows_values(void **state) {
    (void)state;
    static const char *const a[] = {"TOP.clk_i", "TOP.u_a.valid_o", "TOP.u_a.ready_i", "TOP.u_a.data_q",
                                    "TOP.u_a.none"};
    const tb_wave_group group[] = {{"unit <a>", a, 5}};
    char err[256] = "";
    char *vcd = in_dir("small.vcd");
    char *out = in_dir("small.svg");
    write_file(vcd, small, sizeof small - 1);
    const tb_wave_view view = small_view(vcd, group, 1);
    assert_int_equal(tb_wave_svg(&view, out, err, sizeof err), 0);
    char *text = read_whole(out, NULL);
    static const char *const want[] = {"<svg xmlns=",
                                       "a &lt;b&gt; &amp; c",
                                       "unit &lt;a&gt;",
                                       ">data_q<",
                                       ">xx<",
                                       ">5<",

                                       ">zz<",
                                       ">ff<",
                                       "first mismatch, cycle 2",
                                       "class=\"x\"",
                                       "class=\"z\"",
                                       "not in the file",
                                       "prefers-color-scheme:dark",
                                       "</svg>\n"};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        if (strstr(text, want[i]) == NULL) {
            fail_msg("no %s in the diagram", want[i]);
        }
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vcd_is_read),
        cmocka_unit_test(fst_is_read),
        cmocka_unit_test(missing_converter_is_said),
        cmocka_unit_test(bad_text_is_refused),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(guard_survives),
        cmocka_unit_test(guard_names_the_format),
        cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(instance_is_ordered),
        cmocka_unit_test(save_file_has_groups_and_marker),
        cmocka_unit_test(diagram_shows_values),
    };
    snprintf(dir, sizeof dir, "/tmp/tb_wave.XXXXXX");
    if (mkdtemp(dir) == NULL) {
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) != 0 || failed != 0;
}
