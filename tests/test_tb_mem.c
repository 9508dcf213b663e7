/* Memory, scoreboard and result files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include "tb.h"

#define BASE UINT64_C(0x10000000)
#define SIZE UINT64_C(0x100000)

static void ddr_bounds(void **state) {
    (void)state;
    tb_ddr m;
    uint8_t v[4] = {1, 2, 3, 4};
    assert_int_equal(tb_ddr_init(&m, BASE + 1, SIZE, 0), -1);
    assert_int_equal(tb_ddr_init(&m, BASE, SIZE + 1, 0), -1);
    assert_int_equal(tb_ddr_init(&m, BASE, SIZE, 0), 0);
    assert_true(tb_ddr_write(&m, BASE, v, 4));
    assert_true(tb_ddr_write(&m, BASE + SIZE - 4, v, 4));
    assert_false(tb_ddr_write(&m, BASE + SIZE - 3, v, 4));
    assert_false(tb_ddr_write(&m, BASE - 1, v, 4));
    assert_false(tb_ddr_write(&m, UINT64_MAX - 1, v, 4));
    assert_false(tb_ddr_read(&m, BASE + SIZE, v, 1));
    assert_true(tb_ddr_read(&m, BASE + SIZE, v, 0));
    tb_ddr_free(&m);
}

/* Random writes, permissions and reads against flat arrays. */
static void ddr_against_flat(void **state) {
    (void)state;
    enum { FLAT = 3 * 65536 };
    tb_ddr m;
    uint8_t *flat = (uint8_t *)calloc(FLAT, 1);
    uint8_t *known = (uint8_t *)calloc(FLAT, 1);
    uint8_t *allowed = (uint8_t *)calloc(FLAT, 1);
    assert_non_null(flat);
    assert_non_null(known);
    assert_non_null(allowed);
    assert_int_equal(tb_ddr_init(&m, BASE, FLAT, 1), 0);
    tb_rng r = tb_rng_stream(1, "flat");
    uint8_t data[3000];
    uint8_t back[3000];
    for (int i = 0; i < 1500; i++) {
        const size_t n = tb_rng_small(&r, 1, sizeof data);
        const size_t at = tb_rng_range(&r, 0, FLAT - n);
        const unsigned what = (unsigned)tb_rng_range(&r, 0, 4);
        uint64_t where = 0;
        tb_rng_fill(&r, data, n);
        if (what == 0) {
            assert_true(tb_ddr_write(&m, BASE + at, data, n));
            memcpy(flat + at, data, n);
            memset(known + at, 1, n);
        } else if (what == 1) {
            assert_true(tb_ddr_unwrite(&m, BASE + at, n));
            memset(known + at, 0, n);
        } else if (what == 2) {
            const bool on = tb_rng_chance(&r, 1, 2);
            assert_true(tb_ddr_allow(&m, BASE + at, n, on));
            memset(allowed + at, on, n);
        } else if (what == 3) {
            assert_true(tb_ddr_read(&m, BASE + at, back, n));
            for (size_t k = 0; k < n; k++) {
                assert_true(known[at + k] == 0 || back[k] == flat[at + k]);
            }
        }
        const uint8_t *hole = (const uint8_t *)memchr(known + at, 0, n);
        assert_int_equal(tb_ddr_find_unwritten(&m, BASE + at, n, &where), hole != NULL);
        assert_true(hole == NULL || where == BASE + (uint64_t)(hole - known));
        const uint8_t *wall = (const uint8_t *)memchr(allowed + at, 0, n);
        assert_int_equal(tb_ddr_find_protected(&m, BASE + at, n, &where), wall != NULL);
        assert_true(wall == NULL || where == BASE + (uint64_t)(wall - allowed));
    }
    tb_ddr_free(&m);
    free(flat);
    free(known);
    free(allowed);
}

static void ddr_beats(void **state) {
    (void)state;
    tb_ddr m;
    assert_int_equal(tb_ddr_init(&m, BASE, SIZE, 7), 0);
    m.protect = true;
    m.check_reads = true;
    uint8_t data[128];
    uint8_t back[128];
    for (unsigned i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)(i + 1);
    }
    assert_true(tb_ddr_allow(&m, BASE + 0x100, 0x100, true));
    for (unsigned bytes = 4; bytes <= 128; bytes *= 2) {
        uint64_t strb[2] = {UINT64_C(0xa5a5a5a5a5a5a5a5), UINT64_C(0x123456789abcdef1)};
        assert_true(tb_ddr_unwrite(&m, BASE + 0x100, bytes));
        tb_ddr_beat_write(&m, BASE + 0x100, data, strb, bytes);
        assert_int_equal(m.events, 0);
        tb_ddr_beat_read(&m, BASE + 0x100, back, bytes, 0, bytes - 1);
        assert_int_equal(m.events, 0);
        for (unsigned i = 0; i < bytes; i++) {
            uint64_t where;
            const bool on = ((strb[i / 64] >> (i % 64)) & 1u) != 0;
            assert_int_equal(tb_ddr_find_unwritten(&m, BASE + 0x100 + i, 1, &where), !on);
            assert_true(!on || back[i] == data[i]);
        }
    }
    const uint64_t all[2] = {UINT64_MAX, UINT64_MAX};
    tb_ddr_beat_write(&m, BASE + 0x1f0, data, all, 16);
    assert_int_equal(m.events, 0);
    const uint64_t top = 0x8000;
    tb_ddr_beat_write(&m, BASE + 0x200, data, &top, 16);
    assert_int_equal(m.events, 1);
    assert_int_equal(m.first.kind, TB_DDR_WRITE_OUTSIDE);
    assert_int_equal(m.first.addr, BASE + 0x20f);
    tb_ddr_clear(&m);
    tb_ddr_beat_read(&m, BASE + 0x4000, back, 16, 4, 15);
    assert_int_equal(m.events, 1);
    assert_int_equal(m.first.kind, TB_DDR_READ_UNWRITTEN);
    assert_int_equal(m.first.addr, BASE + 0x4004);
    /* poison is a pure function of the address, page or no page */
    uint8_t again[16];
    assert_true(tb_ddr_write(&m, BASE + 0x5000, data, 1));
    assert_true(tb_ddr_read(&m, BASE + 0x4000, again, 16));
    assert_memory_equal(back, again, 16);
    tb_ddr_free(&m);
}

/* What is open to the bus, against a flat array. */
static void ddr_open(void **state) {
    (void)state;
    enum { FLAT = 3 * 65536 };
    tb_ddr m;
    uint8_t *open[2] = {(uint8_t *)calloc(FLAT, 1), (uint8_t *)calloc(FLAT, 1)};
    assert_true(open[0] != NULL && open[1] != NULL);
    assert_int_equal(tb_ddr_init(&m, BASE, FLAT, 1), 0);
    tb_rng r = tb_rng_stream(1, "open");
    for (int i = 0; i < 500; i++) {
        const tb_ddr_use use = tb_rng_chance(&r, 1, 2) ? TB_DDR_READ : TB_DDR_WRITE;
        const size_t n = tb_rng_small(&r, 1, 70000);
        const size_t at = tb_rng_range(&r, 0, FLAT - n);
        const bool on = tb_rng_chance(&r, 1, 2);
        uint64_t where;
        assert_true(tb_ddr_open(&m, use, BASE + at, n, on));
        memset(open[use] + at, on, n);
        const size_t from = tb_rng_range(&r, 0, FLAT - 1);
        const uint8_t *wall = (const uint8_t *)memchr(open[use] + from, 0, FLAT - from);
        assert_int_equal(tb_ddr_find_closed(&m, use, BASE + from, FLAT - from, &where), wall != NULL);
        assert_true(wall == NULL || where == BASE + (uint64_t)(wall - open[use]));
    }
    free(open[0]);
    free(open[1]);
    /* what lies outside memory is left out */
    uint64_t where;
    assert_true(tb_ddr_open(&m, TB_DDR_READ, 0, UINT64_MAX, true));
    assert_false(tb_ddr_find_closed(&m, TB_DDR_READ, BASE, FLAT, &where));
    assert_true(tb_ddr_open(&m, TB_DDR_READ, BASE + FLAT, 16, false) &&
                tb_ddr_open(&m, TB_DDR_READ, BASE - 16, 16, false));
    assert_true(tb_ddr_open(&m, TB_DDR_READ, UINT64_MAX - 4, 16, false));
    assert_false(tb_ddr_find_closed(&m, TB_DDR_READ, BASE, FLAT, &where));
    tb_ddr_free(&m);
}

/* A memory that watches: bytes that are not open are noise, and touching nothing else is an event. */
static void ddr_watch(void **state) {
    (void)state;
    tb_ddr m, other;
    uint8_t data[128], back[128], there[128];
    assert_int_equal(tb_ddr_init(&m, BASE, SIZE, 7), 0);
    assert_int_equal(tb_ddr_init(&other, BASE, SIZE, 8), 0);
    m.watch = m.check_reads = m.protect = other.watch = true;
    memset(data, 0x55, sizeof data);
    for (unsigned bytes = 4; bytes <= 128; bytes *= 2) {
        const unsigned first = bytes / 4, last = bytes - 2; /* open: [first, last] */
        assert_true(tb_ddr_write(&m, BASE + 0x100, data, bytes) && tb_ddr_write(&other, BASE + 0x100, data, bytes));
        assert_true(tb_ddr_open(&m, TB_DDR_READ, BASE + 0x100 + first, last - first + 1, true));
        assert_true(tb_ddr_open(&other, TB_DDR_READ, BASE + 0x100 + first, last - first + 1, true));
        for (unsigned lo = 0; lo <= last; lo++) {
            unsigned noise = 0;
            tb_ddr_beat_read(&m, BASE + 0x100, back, bytes, lo, bytes - 1);
            tb_ddr_beat_read(&other, BASE + 0x100, there, bytes, lo, bytes - 1);
            for (unsigned i = 0; i < bytes; i++) {
                const bool shown = i >= first && i <= last && i >= lo;
                assert_true(!shown || (back[i] == 0x55 && there[i] == 0x55));
                noise += !shown && back[i] != there[i] ? 1 : 0;
            }
            assert_true(noise > 0); /* not the same on both */
        }
        assert_int_equal(m.events, 0);
        tb_ddr_beat_read(&m, BASE + 0x100, back, bytes, bytes - 1, bytes - 1); /* only the closed byte behind */
        assert_int_equal(m.events, 1);
        assert_int_equal(m.first.kind, TB_DDR_READ_OUTSIDE);
        assert_int_equal(m.first.addr, BASE + 0x100 + bytes - 1);
        m.events = 0;
        assert_true(tb_ddr_unwrite(&m, BASE + 0x100 + last, 1)); /* one open byte that nobody wrote */
        tb_ddr_beat_read(&m, BASE + 0x100, back, bytes, 0, bytes - 1);
        assert_int_equal(m.events, 1);
        assert_int_equal(m.first.kind, TB_DDR_READ_UNWRITTEN);
        assert_int_equal(m.first.addr, BASE + 0x100 + last);
        assert_int_equal(m.first.bytes, 1);
        m.events = 0;
        assert_true(tb_ddr_open(&m, TB_DDR_READ, BASE, 0x1000, false) &&
                    tb_ddr_open(&other, TB_DDR_READ, BASE, 0x1000, false));
    }
    const uint64_t all = 0xffff;
    m.agent = 5;
    assert_true(tb_ddr_allow(&m, BASE + 0x200, 16, true));
    tb_ddr_beat_write(&m, BASE + 0x200, data, &all, 16); /* writable, but not now */
    assert_int_equal(m.events, 1);
    assert_int_equal(m.first.kind, TB_DDR_WRITE_OUTSIDE);
    assert_int_equal(m.first.bytes, 16);
    assert_int_equal(m.first.agent, 5);
    m.events = 0;
    assert_true(tb_ddr_open(&m, TB_DDR_WRITE, BASE + 0x200, 32, true));
    tb_ddr_beat_write(&m, BASE + 0x200, data, &all, 16);
    assert_int_equal(m.events, 0);
    tb_ddr_beat_write(&m, BASE + 0x210, data, &all, 16); /* open, but never to be written */
    assert_int_equal(m.events, 1);
    tb_ddr_beat_read(&m, BASE + 0x9000, back, 16, 0, 15); /* no page */
    assert_int_equal(m.events, 2);
    tb_ddr_free(&m);
    tb_ddr_free(&other);
}

static void ddr_compare(void **state) {
    (void)state;
    tb_ddr a;
    tb_ddr b;
    tb_ddr_diff d;
    assert_int_equal(tb_ddr_init(&a, BASE, SIZE, 1), 0);
    assert_int_equal(tb_ddr_init(&b, BASE, SIZE, 2), 0);
    assert_true(tb_ddr_compare(&a, &b, &d));
    const uint32_t v = 0x04030201;
    assert_true(tb_ddr_write(&a, BASE + 0x12345, &v, 4));
    assert_false(tb_ddr_compare(&a, &b, &d));
    assert_int_equal(d.addr, BASE + 0x12345);
    assert_int_equal(d.count, 4);
    assert_true(d.a_written && !d.b_written);
    assert_true(tb_ddr_write(&b, BASE + 0x12345, &v, 4));
    /* the line has unwritten bytes with different poison: not a difference */
    assert_true(tb_ddr_compare(&a, &b, &d));
    assert_true(tb_ddr_compare_dirty(&a, &b, &d));
    assert_true(tb_ddr_hash(&a, 5) == tb_ddr_hash(&b, 5));
    const uint8_t x = 9;
    assert_true(tb_ddr_write(&b, BASE + 0x12347, &x, 1));
    assert_false(tb_ddr_compare_dirty(&a, &b, &d));
    assert_false(tb_ddr_compare(&a, &b, &d));
    assert_int_equal(d.addr, BASE + 0x12347);
    assert_int_equal(d.count, 1);
    assert_int_equal(d.a, 3);
    assert_int_equal(d.b, 9);
    assert_true(tb_ddr_hash(&a, 5) != tb_ddr_hash(&b, 5));
    assert_true(tb_ddr_copy_range(&a, &b, BASE + 0x12340, 16));
    assert_true(tb_ddr_compare(&a, &b, &d));
    assert_true(tb_ddr_write(&a, BASE, &x, 1));
    assert_true(tb_ddr_copy_range(&a, &b, BASE, 1)); /* unwritten in b: unwritten in a */
    assert_true(tb_ddr_compare(&a, &b, &d));
    size_t index = 0;
    assert_non_null(tb_ddr_next_page(&a, &index));
    assert_int_equal(index, 0);
    index++;
    assert_non_null(tb_ddr_next_page(&a, &index));
    assert_int_equal(index, 1);
    index++;
    assert_null(tb_ddr_next_page(&a, &index));
    tb_ddr_free(&a);
    tb_ddr_free(&b);
}

static void scoreboard_finds_first(void **state) {
    (void)state;
    tb_scoreboard sb;
    const tb_sb_cfg cfg = {
        .unit = "mesh", .elem_bytes = 4, .dim_name = {"block", "column", NULL}, .dim = {0, 8}, .is_signed = true};
    char text[300];
    assert_int_equal(tb_sb_init(&sb, &cfg), 0);
    int32_t v[5000];
    for (int i = 0; i < 5000; i++) {
        v[i] = -i;
    }
    tb_sb_begin(&sb);
    assert_int_equal(tb_sb_push(&sb, v, 3000), 0);
    tb_sb_begin(&sb);
    assert_int_equal(tb_sb_push(&sb, v, 2000), 0);
    tb_sb_report(&sb, text, sizeof text);
    assert_string_equal(text, "mesh: 5000 expected elements are missing");
    assert_true(tb_sb_pop(&sb, 10, v, 3000));
    assert_int_equal(sb.count, 2000);
    assert_false(tb_sb_done(&sb));
    v[141] = 7;
    assert_false(tb_sb_pop(&sb, 20481, v, 2000));
    tb_sb_report(&sb, text, sizeof text);
    assert_string_equal(text, "mesh: transaction 1, block 17, column 5, cycle 20481: got 7, expected -141");
    assert_false(tb_sb_done(&sb));
    assert_int_equal(sb.mismatches, 1);
    assert_false(tb_sb_pop(&sb, 20482, v, 1));
    assert_true(sb.first[1].unexpected);
    tb_sb_free(&sb);
}

/* The ring wraps and grows in every position. */
static void scoreboard_ring(void **state) {
    (void)state;
    tb_scoreboard sb;
    const tb_sb_cfg cfg = {.unit = "x", .elem_bytes = 3};
    assert_int_equal(tb_sb_init(&sb, &cfg), 0);
    tb_rng in = tb_rng_stream(1, "data");
    tb_rng out = tb_rng_stream(1, "data");
    tb_rng step = tb_rng_stream(1, "step");
    size_t open = 0;
    for (int i = 0; i < 3000; i++) {
        uint64_t x;
        for (uint64_t k = tb_rng_range(&step, 0, 20); k > 0; k--, open++) {
            x = tb_rng_u64(&in);
            assert_int_equal(tb_sb_push(&sb, &x, 1), 0);
        }
        for (uint64_t k = tb_rng_range(&step, 0, i < 1000 ? 16 : 22); k > 0 && open > 0; k--, open--) {
            x = tb_rng_u64(&out);
            assert_true(tb_sb_pop(&sb, 0, &x, 1));
        }
        assert_int_equal(sb.count, open);
    }
    tb_sb_free(&sb);
    const tb_sb_cfg bad = {.unit = "x", .elem_bytes = 0};
    assert_int_equal(tb_sb_init(&sb, &bad), -1);
}

static void result_file(void **state) {
    (void)state;
    char err[300];
    char dir[] = "/tmp/tb_result_XXXXXX";
    assert_non_null(mkdtemp(dir));
    char path[64];
    snprintf(path, sizeof path, "%s/r", dir);
    tb_result r;
    tb_result_init(&r);
    r.cycles = 12;
    r.trace_hash = 0xabc;
    tb_result_fail(&r, TB_FAIL, "mem:differ", "line one\nline %d", 2);
    tb_result_fail(&r, TB_ERROR, "later", "ignored");
    assert_int_equal(tb_kv_set(&r.extra, "macs", "77"), 0);
    assert_int_equal(tb_result_exit(&r), 1);
    assert_int_equal(tb_result_save(&r, path, err, sizeof err), 0);
    tb_kv kv;
    tb_kv_init(&kv);
    assert_int_equal(tb_kv_load(&kv, path, err, sizeof err), 0);
    assert_string_equal(tb_kv_find(&kv, "outcome"), "fail");
    assert_string_equal(tb_kv_find(&kv, "signature"), "mem:differ");
    assert_string_equal(tb_kv_find(&kv, "message"), "line one line 2");
    assert_string_equal(tb_kv_find(&kv, "trace_hash"), "0x0000000000000abc");
    assert_string_equal(tb_kv_find(&kv, "macs"), "77");
    tb_kv_free(&kv);
    unlink(path);
    /* full disk: an error, and nothing left behind */
    assert_int_equal(tb_result_save(&r, "/dev/full", err, sizeof err), -1);
    assert_non_null(strstr(err, "/dev/full: cannot write: No space left"));
    struct rlimit old;
    struct rlimit small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 8;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const int rc = tb_result_save(&r, path, err, sizeof err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(rc, -1);
    assert_int_equal(rmdir(dir), 0); /* succeeds only on an empty folder */
    tb_result_free(&r);
}

static void watchdog_bites(void **state) {
    (void)state;
    tb_watchdog wd;
    tb_watchdog_init(&wd, 10);
    uint64_t progress = 0;
    for (uint64_t c = 0; c < 100; c++) {
        progress += c % 9 == 0;
        assert_false(tb_watchdog_step(&wd, c, progress));
    }
    assert_false(tb_watchdog_step(&wd, 108, progress));
    assert_true(tb_watchdog_step(&wd, 109, progress));
    tb_watchdog_kick(&wd, 109);
    assert_false(tb_watchdog_step(&wd, 110, progress));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ddr_bounds),
        cmocka_unit_test(ddr_against_flat),
        cmocka_unit_test(ddr_beats),
        cmocka_unit_test(ddr_open),
        cmocka_unit_test(ddr_watch),
        cmocka_unit_test(ddr_compare),
        cmocka_unit_test(scoreboard_finds_first),
        cmocka_unit_test(scoreboard_ring),
        cmocka_unit_test(result_file),
        cmocka_unit_test(watchdog_bites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
