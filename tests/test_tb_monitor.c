/* The AXI monitor beside its rules (those: test_axi_traces.c): many bursts in flight, reset, trace hash, lanes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tb.h"

typedef struct bus {
    tb_axi_monitor mon;
    tb_axi_sample s;
    uint8_t wdata[16], rdata[16];
    uint64_t hash;
} bus;

/* One rising edge with what was put on the channels since the last one. */
static void tick(bus *b) {
    tb_axi_mon_step(&b->mon, &b->s);
    const uint64_t cycle = b->s.cycle + 1;
    memset(&b->s, 0, sizeof b->s);
    b->s.cycle = cycle;
    b->s.reset_n = true;
    b->s.w.data = b->wdata;
    b->s.r.data = b->rdata;
}

static void open_bus(bus *b, bool lite) {
    memset(b, 0, sizeof *b);
    b->hash = TB_HASH_INIT;
    const tb_axi_mon_cfg cfg = {.name = "p",
                                .port = 3,
                                .lite = lite,
                                .bytes = lite ? 4 : 16,
                                .depth = 4,
                                .widths = {.id = 16},
                                .hash = &b->hash};
    assert_int_equal(tb_axi_mon_init(&b->mon, &cfg), 0);
    tick(b); /* in reset */
}

static void put_ax(tb_axi_ax *ax, uint64_t addr, unsigned beats, unsigned size, uint32_t id, bool ready) {
    ax->valid = true;
    ax->ready = ready;
    ax->addr = addr;
    ax->len = (uint8_t)(beats - 1);
    ax->size = (uint8_t)size;
    ax->burst = TB_AXI_INCR;
    ax->id = id;
}

static void aw(bus *b, uint64_t addr, unsigned beats, bool ready) {
    put_ax(&b->s.aw, addr, beats, 4, 0, ready);
}

static void ar(bus *b, uint64_t addr, unsigned beats, bool ready) {
    put_ax(&b->s.ar, addr, beats, 4, 0, ready);
}

static void w(bus *b, uint64_t strb, bool last, bool ready) {
    b->s.w.valid = true;
    b->s.w.ready = ready;
    b->s.w.last = last;
    b->s.w.strb[0] = strb;
}

static void resp(bus *b, uint32_t id, bool ready) {
    b->s.b.valid = true;
    b->s.b.ready = ready;
    b->s.b.id = id;
}

static void r(bus *b, uint32_t id, bool last, bool ready) {
    b->s.r.valid = true;
    b->s.r.ready = ready;
    b->s.r.last = last;
    b->s.r.id = id;
}

static void responses_in_reset(void **state) {
    (void)state;
    bus b;
    open_bus(&b, false);
    resp(&b, 0, true);
    r(&b, 0, true, true);
    tick(&b);
    assert_int_equal(b.mon.per_rule[AXI4_ERRS_BVALID_RESET], 1);
    assert_int_equal(b.mon.per_rule[AXI4_ERRS_RVALID_RESET], 1);
    tb_axi_mon_free(&b.mon);
}

/* A reset in the middle forgets what was in flight; a stalled valid may fall. */
static void reset_forgets(void **state) {
    (void)state;
    bus b;
    open_bus(&b, false);
    tick(&b);
    aw(&b, 0x1000, 4, true);
    tick(&b);
    ar(&b, 0x1000, 4, false);
    tick(&b);
    b.s.reset_n = false;
    tick(&b);
    tick(&b);
    uint32_t reads = 9;
    uint32_t writes = 9;
    tb_axi_mon_open(&b.mon, &reads, &writes);
    assert_int_equal(reads + writes, 0);
    assert_int_equal(b.mon.violations, 0);
    tb_axi_mon_free(&b.mon);
}

/* More in flight than the tables were made for, many IDs, responses out of order between IDs. */
static void deep_and_out_of_order(void **state) {
    (void)state;
    bus b;
    open_bus(&b, false);
    tick(&b);
    for (uint32_t i = 0; i < 300; i++) {
        put_ax(&b.s.aw, 0x1000 + 32 * (i % 100), 2, 4, i, true);
        put_ax(&b.s.ar, 0x1000 + 32 * (i % 100), 2, 4, 0xffffu - i, true);
        tick(&b);
    }
    for (uint32_t i = 0; i < 600; i++) {
        w(&b, 0xffff, (i & 1) != 0, true);
        r(&b, 0xffffu - (i % 300), i >= 300, true); /* interleaved: first all first beats */
        tick(&b);
    }
    for (uint32_t i = 0; i < 300; i++) {
        resp(&b, 299 - i, true);
        tick(&b);
    }
    uint32_t reads = 9;
    uint32_t writes = 9;
    tb_axi_mon_open(&b.mon, &reads, &writes);
    assert_int_equal(b.mon.violations, 0);
    assert_int_equal(reads + writes, 0);
    assert_int_equal(b.mon.stats.max_reads, 300);
    assert_int_equal(b.mon.stats.read_bytes, 600 * 16);
    assert_int_equal(b.mon.stats.write_bytes, 600 * 16);
    assert_int_equal(b.mon.stats.beats[TB_AXI_B], 300);
    tb_axi_mon_free(&b.mon);
}

/* Early data of many bursts, far more beats than the table was made for. */
static void data_long_before_address(void **state) {
    (void)state;
    bus b;
    open_bus(&b, false);
    tick(&b);
    for (unsigned i = 0; i < 1000; i++) {
        w(&b, 0xffff, i % 10 == 9, true);
        tick(&b);
    }
    for (unsigned i = 0; i < 100; i++) {
        aw(&b, 0x1000, 10, true);
        tick(&b);
        resp(&b, 0, true);
        tick(&b);
    }
    assert_int_equal(b.mon.violations, 0);
    tb_axi_mon_free(&b.mon);
}

static void lite_rules(void **state) {
    (void)state;
    bus b;
    open_bus(&b, true);
    tick(&b);
    put_ax(&b.s.aw, 0x13, 1, 2, 0, true); /* address not aligned, strobes sparse: legal */
    w(&b, 0x5, true, true);
    tick(&b);
    resp(&b, 0, true);
    tick(&b);
    put_ax(&b.s.ar, 0x10, 1, 2, 0, true);
    tick(&b);
    r(&b, 0, true, true);
    tick(&b);
    assert_int_equal(b.mon.violations, 0);
    r(&b, 0, true, true); /* nothing was asked */
    tick(&b);
    resp(&b, 0, true);
    tick(&b);
    assert_int_equal(b.mon.per_rule[AXI4_ERRS_RID], 1);
    assert_int_equal(b.mon.per_rule[AXI4_ERRS_BRESP_AW], 1);
    tb_axi_mon_free(&b.mon);
}

static uint64_t hash_of(unsigned lane, uint8_t value, uint64_t late) {
    bus b;
    open_bus(&b, false);
    tick(&b);
    aw(&b, 0x1000, 1, true);
    tick(&b);
    b.s.cycle += late;
    b.wdata[lane] = value;
    w(&b, 0x00ff, true, true);
    tick(&b);
    tb_axi_mon_free(&b.mon);
    return b.hash;
}

/* The trace hash sees cycle and strobed bytes, and nothing else of the data. */
static void trace_hash(void **state) {
    (void)state;
    const uint64_t h = hash_of(0, 0, 0);
    assert_true(h == hash_of(0, 0, 0));
    assert_true(h != hash_of(0, 1, 0));
    assert_true(h != hash_of(7, 1, 0));
    assert_true(h == hash_of(8, 1, 0));
    assert_true(h != hash_of(0, 0, 1));
}

static void violations_are_kept(void **state) {
    (void)state;
    bus b;
    open_bus(&b, false);
    tick(&b);
    for (unsigned i = 0; i < 40; i++) {
        r(&b, 0, true, true);
        tick(&b);
    }
    assert_int_equal(b.mon.violations, 40);
    char text[300];
    tb_axi_violation_text(&b.mon, &b.mon.first[0], text, sizeof text);
    assert_string_equal(
        text,
        "AXI4_ERRS_RID on p (R) at cycle 2: read data of ID 0, but no read of that ID was accepted at an earlier edge");
    tb_axi_mon_free(&b.mon);
}

/* Lanes of beats, against a byte-wise definition. */
static void beat_lanes(void **state) {
    (void)state;
    tb_rng rng = tb_rng_stream(4, "lanes");
    for (int i = 0; i < 5000; i++) {
        const unsigned bytes = 4u << tb_rng_range(&rng, 0, 5);
        unsigned size = (unsigned)tb_rng_range(&rng, 0, 7);
        while ((1u << size) > bytes) {
            size--;
        }
        const unsigned burst = (unsigned)tb_rng_range(&rng, 0, 2);
        const unsigned len =
            burst == TB_AXI_WRAP ? (2u << tb_rng_range(&rng, 0, 3)) - 1 : (unsigned)tb_rng_range(&rng, 0, 15);
        uint64_t addr = tb_rng_range(&rng, 0, 0xffffff);
        if (burst == TB_AXI_WRAP) {
            addr &= ~((UINT64_C(1) << size) - 1);
        }
        const uint64_t step = UINT64_C(1) << size;
        uint64_t at = addr;
        for (unsigned beat = 0; beat <= len; beat++) {
            uint64_t beat_addr;
            unsigned lo;
            unsigned hi;
            tb_axi_beat(addr, len, size, burst, beat, bytes, &beat_addr, &lo, &hi);
            const uint64_t end = at / step * step + step; /* first byte after the container */
            assert_int_equal(beat_addr, at / bytes * bytes);
            assert_int_equal(lo, at % bytes);
            assert_int_equal(hi, (end - 1) % bytes);
            if (burst != TB_AXI_FIXED) {
                at = end;
                const uint64_t total = step * (len + 1);
                if (burst == TB_AXI_WRAP && at % total == 0) {
                    at -= total;
                }
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(responses_in_reset),
        cmocka_unit_test(reset_forgets),
        cmocka_unit_test(deep_and_out_of_order),
        cmocka_unit_test(data_long_before_address),
        cmocka_unit_test(lite_rules),
        cmocka_unit_test(trace_hash),
        cmocka_unit_test(violations_are_kept),
        cmocka_unit_test(beat_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
