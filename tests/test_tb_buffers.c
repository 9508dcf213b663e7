/* The table of live buffers: against brute force over a small memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tb.h"

#define BASE UINT64_C(0x10000000)
#define SIZE ((size_t)65536)
#define AREA 4096u /* of it, where buffers lie */
#define WORKS 12u
#define BUFFERS 4u

/* What the table ought to know. */
typedef struct work {
    bool live, folded[BUFFERS], in_place[BUFFERS];
    unsigned count;
    tb_ddr_use use[BUFFERS];
    unsigned mems[BUFFERS];
    uint8_t has[BUFFERS][AREA];
} work;

static const char *const names[BUFFERS] = {"one", "two", "three", "four"};

static void describe(tb_buffers *t, tb_rng *r, work *w) {
    memset(w, 0, sizeof *w);
    w->live = true;
    w->count = (unsigned)tb_rng_range(r, 1, BUFFERS);
    for (unsigned b = 0; b < w->count; b++) {
        w->use[b] = tb_rng_chance(r, 1, 2) ? TB_DDR_READ : TB_DDR_WRITE;
        w->mems[b] = UINT32_MAX;
        tb_buffers_name(t, names[b], w->use[b]);
        for (uint64_t pieces = tb_rng_range(r, 1, 6); pieces > 0; pieces--) {
            const uint64_t n = tb_rng_small(r, 1, 200);
            const uint64_t at = tb_rng_range(r, 0, AREA - n);
            tb_buffers_range(t, BASE + at, n);
            for (uint64_t i = at; i < at + n; i++) {
                w->folded[b] = w->folded[b] || w->has[b][i] != 0;
                w->has[b][i] = 1;
            }
        }
        if (w->use[b] == TB_DDR_READ && tb_rng_chance(r, 1, 4)) {
            w->in_place[b] = true;
            tb_buffers_in_place(t);
        }
        if (tb_rng_chance(r, 1, 4)) {
            w->mems[b] = 2;
            tb_buffers_only(t, 2);
        }
    }
}

static void check_open(const work *all, unsigned works, const tb_ddr mem[2]) {
    for (unsigned m = 0; m < 2; m++) {
        for (unsigned use = 0; use < 2; use++) {
            for (uint64_t i = 0; i < AREA; i++) {
                uint64_t where;
                bool open = false;
                for (unsigned k = 0; k < works; k++) {
                    for (unsigned b = 0; b < all[k].count; b++) {
                        open = open || (all[k].live && all[k].use[b] == use && (all[k].mems[b] >> m & 1u) != 0 &&
                                        all[k].has[b][i] != 0);
                    }
                }
                assert_int_equal(tb_ddr_find_closed(&mem[m], (tb_ddr_use)use, BASE + i, 1, &where), !open);
            }
        }
    }
}

static bool share(const uint8_t *a, const uint8_t *b) {
    for (unsigned i = 0; i < AREA; i++) {
        if ((a[i] & b[i]) != 0) {
            return true;
        }
    }
    return false;
}

static bool meets(const work *a, const work *b) {
    bool found = false;
    for (unsigned i = 0; i < a->count; i++) {
        found = found || (a == b && a->use[i] == TB_DDR_WRITE && a->folded[i]);
        for (unsigned j = 0; j < b->count; j++) {
            const bool written = a->use[i] == TB_DDR_WRITE || b->use[j] == TB_DDR_WRITE;
            const bool allowed = a == b && (i == j || a->in_place[i] || a->in_place[j]);
            found = found || (written && !allowed && share(a->has[i], b->has[j]));
        }
    }
    return found;
}

static bool feeds(const work *a, const work *b) {
    bool found = false;
    for (unsigned i = 0; i < a->count; i++) {
        for (unsigned j = 0; j < b->count; j++) {
            found = found || (a->use[i] == TB_DDR_WRITE && b->use[j] == TB_DDR_READ && share(a->has[i], b->has[j]));
        }
    }
    return found;
}

static void check_meetings(const tb_buffers *t, const work *all, unsigned works) {
    for (unsigned i = 0; i < works; i++) {
        for (unsigned j = 0; j < works; j++) {
            tb_meet m;
            const bool found = tb_buffers_meet(t, i, j, &m);
            assert_int_equal(found, meets(&all[i], &all[j]));
            if (found) {
                size_t from = (size_t)(m.a - t->buffer);
                assert_int_equal(m.b->use, TB_DDR_WRITE);
                assert_true(m.a->work == i || m.a->work == j);
                assert_true(m.b->work == i || m.b->work == j);
                assert_ptr_equal(tb_buffers_at(t, &from, m.addr, 1, m.a->use), m.a);
            }
            assert_int_equal(tb_buffers_feeds(t, i, j), feeds(&all[i], &all[j]));
        }
    }
}

/* Distance from an address to a buffer. */
static uint64_t distance(const uint8_t *has, uint64_t at) {
    for (uint64_t d = 0; d < 2 * AREA; d++) {
        if ((at + d < AREA && has[at + d] != 0) || (at >= d && at - d < AREA && has[at - d] != 0)) {
            return d;
        }
    }
    return UINT64_MAX;
}

static void check_near(const tb_buffers *t, const work *all, unsigned works, tb_rng *r) {
    for (int k = 0; k < 20; k++) {
        const uint64_t at = tb_rng_range(r, 0, AREA - 1);
        const tb_ddr_use use = tb_rng_chance(r, 1, 2) ? TB_DDR_READ : TB_DDR_WRITE;
        uint64_t best[2] = {UINT64_MAX, UINT64_MAX}; /* complete, live */
        for (unsigned i = 0; i < works; i++) {
            for (unsigned b = 0; b < all[i].count; b++) {
                const uint64_t d = all[i].use[b] == use ? distance(all[i].has[b], at) : UINT64_MAX;
                best[all[i].live] = d < best[all[i].live] ? d : best[all[i].live];
            }
        }
        const tb_near n = tb_buffers_near(t, BASE + at, use, NULL);
        const uint64_t want = best[1] != UINT64_MAX ? best[1] : best[0];
        assert_int_equal(n.buffer != NULL, want != UINT64_MAX);
        assert_true(n.buffer == NULL || n.bytes == want);
        assert_null(tb_buffers_near(t, BASE + at, use, "nobody").buffer);
    }
}

static void against_brute_force(void **state) {
    (void)state;
    tb_ddr mem[2];
    tb_buffers t;
    static work all[WORKS];
    assert_int_equal(tb_ddr_init(&mem[0], BASE, SIZE, 1), 0);
    assert_int_equal(tb_ddr_init(&mem[1], BASE, SIZE, 2), 0);
    tb_buffers_init(&t, "task", (tb_ddr *[]){&mem[0], &mem[1]}, 2);
    tb_rng r = tb_rng_stream(1, "buffers");
    for (int round = 0; round < 40; round++) {
        unsigned works = 0;
        for (int i = 0; i < 30; i++) {
            if (works < WORKS && tb_rng_chance(&r, 1, 2)) {
                assert_int_equal(tb_buffers_begin(&t, works % 2 == 0 ? "even" : "odd", works), works);
                describe(&t, &r, &all[works]);
                tb_buffers_start(&t);
                works++;
            } else if (works > 0) {
                const uint32_t k = (uint32_t)tb_rng_range(&r, 0, works - 1);
                tb_buffers_end(&t, k);
                all[k].live = false;
            }
            if (i % 7 == 0) {
                check_open(all, works, mem);
            }
        }
        check_open(all, works, mem);
        check_meetings(&t, all, works);
        check_near(&t, all, works, &r);
        tb_buffers_clear(&t);
        check_open(all, 0, mem);
    }
    assert_false(t.oom);
    tb_buffers_free(&t);
    tb_ddr_free(&mem[0]);
    tb_ddr_free(&mem[1]);
}

static void sides(void **state) {
    (void)state;
    tb_buffers t;
    tb_meet m;
    char text[160];
    tb_buffers_init(&t, "task", NULL, 0);
    tb_near n = tb_buffers_near(&t, 0xff, TB_DDR_WRITE, NULL);
    tb_buffers_place(&t, &n, text, sizeof text);
    assert_string_equal(text, "no task is in flight");
    tb_buffers_begin(&t, "alu", 3);
    tb_buffers_name(&t, "nothing", TB_DDR_READ);
    tb_buffers_name(&t, "out", TB_DDR_WRITE);
    tb_buffers_range(&t, 0x200, 16);
    tb_buffers_range(&t, 0x100, 16);
    tb_buffers_range(&t, 0x110, 16);
    tb_buffers_start(&t);
    assert_int_equal(t.buffers, 1);
    assert_int_equal(t.range.count, 2);
    n = tb_buffers_near(&t, 0xff, TB_DDR_WRITE, "alu");
    assert_true(n.side == TB_BEFORE && n.bytes == 1);
    tb_buffers_place(&t, &n, text, sizeof text);
    assert_string_equal(text, "1 byte before `out` of alu task 3");
    n = tb_buffers_near(&t, 0x210, TB_DDR_WRITE, NULL);
    assert_true(n.side == TB_BEHIND && n.bytes == 1);
    n = tb_buffers_near(&t, 0x122, TB_DDR_WRITE, NULL);
    assert_true(n.side == TB_BETWEEN && n.bytes == 3);
    tb_buffers_place(&t, &n, text, sizeof text);
    assert_string_equal(text, "in a gap of `out` of alu task 3, 3 bytes from it");
    n = tb_buffers_near(&t, 0x11f, TB_DDR_WRITE, NULL);
    assert_int_equal(n.bytes, 0);
    assert_string_equal(n.buffer->name, "out");
    assert_false(tb_buffers_meet(&t, 0, 0, &m));
    assert_false(tb_buffers_meet(&t, 0, UINT32_MAX, &m));
    tb_buffers_end(&t, 7); /* there is none */
    tb_buffers_free(&t);
}

static void ranges(void **state) {
    (void)state;
    tb_ranges v = {0};
    bool overlap = true;
    uint64_t where;
    tb_ranges_add(&v, 0, 100, 0);
    assert_int_equal(v.count, 0);
    tb_ranges_add(&v, 0, 100, 10);
    tb_ranges_add(&v, 0, 110, 10); /* grows */
    tb_ranges_add(&v, 1, 120, 10); /* may not: it belongs to another list */
    assert_int_equal(v.count, 2);
    v.count = tb_ranges_order(v.r, v.count, &overlap);
    assert_int_equal(v.count, 1);
    assert_false(overlap);
    tb_ranges_add(&v, 0, 90, 11);
    v.count = tb_ranges_order(v.r, v.count, &overlap);
    assert_true(overlap && v.count == 1 && v.r[0].begin == 90 && v.r[0].end == 130);
    assert_int_equal(tb_ranges_find(v.r, 1, 129), 0);
    assert_int_equal(tb_ranges_find(v.r, 1, 130), 1);
    const tb_range a[] = {{10, 20}, {30, 40}}, b[] = {{20, 30}, {39, 50}};
    assert_true(tb_ranges_common(a, 2, b, 2, &where));
    assert_int_equal(where, 39);
    assert_false(tb_ranges_common(a, 2, b, 1, &where));
    assert_false(tb_ranges_common(a, 0, b, 1, &where));
    free(v.r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_brute_force), cmocka_unit_test(sides),
                                       cmocka_unit_test(ranges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
