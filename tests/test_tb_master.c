/* The master of the bench against its slave: both sides of one port, every kind of burst, and what each fault of a
 * slave is called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tb.h"

#define BASE UINT64_C(0x20000000)
#define SPAN 0x10000u
#define PORTS 2u

/* A port, its wires, and who is at its ends. */
typedef struct wires {
    tb_axi_port port;
    uint8_t awvalid, awready, awlen, awsize, awburst, awid, awlock, awcache, wvalid, wready, wlast, bvalid, bready;
    uint8_t bresp, bid;
    uint8_t arvalid, arready, arlen, arsize, arburst, arid, arlock, arcache, rvalid, rready, rlast, rresp, rid;
    uint32_t awaddr, araddr;
    uint8_t wdata[128], rdata[128];
    uint64_t wstrb[2];
    tb_axi_master master;
    tb_axi_slave slave;
    tb_axi_monitor mon;
} wires;

typedef struct rig {
    wires w[PORTS];
    unsigned ports;
    tb_ddr ddr;
    tb_shadow shadow;
    uint64_t hash, cycle;
    bool overtook, mixed; /* an answer came before that of an older burst; beats of two reads were interleaved */
} rig;

static void bind_ax(tb_axi_ax_sig *ax, uint8_t *valid, uint8_t *ready, uint32_t *addr, uint8_t *id) {
    ax->valid = valid;
    ax->ready = ready;
    ax->addr = (tb_sig){addr, 32};
    ax->id = (tb_sig){id, 4};
}

static void bind(wires *w, uint32_t bytes, bool lite) {
    tb_axi_port *p = &w->port;
    tb_axi_port_init(p, lite, bytes);
    bind_ax(&p->aw, &w->awvalid, &w->awready, &w->awaddr, &w->awid);
    bind_ax(&p->ar, &w->arvalid, &w->arready, &w->araddr, &w->arid);
    p->w_valid = &w->wvalid;
    p->w_ready = &w->wready;
    p->w_data = w->wdata;
    p->w_strb = (tb_sig){w->wstrb, bytes};
    p->b_valid = &w->bvalid;
    p->b_ready = &w->bready;
    p->b_resp = &w->bresp;
    p->r_valid = &w->rvalid;
    p->r_ready = &w->rready;
    p->r_resp = &w->rresp;
    p->r_data = w->rdata;
    if (lite) {
        p->aw.id = p->ar.id = p->b_id;
        return;
    }
    p->aw.len = &w->awlen, p->aw.size = &w->awsize, p->aw.burst = &w->awburst;
    p->ar.len = &w->arlen, p->ar.size = &w->arsize, p->ar.burst = &w->arburst;
    p->aw.lock = &w->awlock, p->ar.lock = &w->arlock, p->aw.cache = &w->awcache, p->ar.cache = &w->arcache;
    p->w_last = &w->wlast;
    p->r_last = &w->rlast;
    p->b_id = (tb_sig){&w->bid, 4};
    p->r_id = (tb_sig){&w->rid, 4};
    p->widths.id = 4;
}

static void rig_open(rig *r, unsigned ports, uint32_t bytes, bool lite, const char *profile, uint64_t seed) {
    memset(r, 0, sizeof *r);
    r->ports = ports;
    r->hash = TB_HASH_INIT;
    assert_int_equal(tb_ddr_init(&r->ddr, BASE, SPAN, 5), 0);
    assert_int_equal(tb_shadow_init(&r->shadow, BASE, SPAN), 0);
    const tb_axi_profile *p = tb_axi_profile_find(profile);
    assert_non_null(p);
    for (unsigned i = 0; i < ports; i++) {
        wires *w = &r->w[i];
        bind(w, bytes, lite);
        const tb_rng rng = tb_rng_stream(seed, "port");
        const tb_axi_master_cfg cfg = {
            .name = i == 0 ? "s0" : "s1", .shadow = &r->shadow, .number = i, .profile = p, .rng = tb_rng_fork(&rng, i)};
        assert_int_equal(tb_axi_master_init(&w->master, &w->port, &cfg), 0);
        assert_int_equal(tb_axi_slave_init(&w->slave, &w->port, &r->ddr, p, tb_rng_fork(&rng, 2 + i)), 0);
        tb_axi_mon_cfg mon;
        tb_axi_mon_defaults(&mon, cfg.name, &w->port);
        mon.hash = &r->hash;
        assert_int_equal(tb_axi_mon_init(&w->mon, &mon), 0);
        tb_axi_master_reset(&w->master);
        tb_axi_slave_reset(&w->slave);
    }
}

static void rig_close(rig *r) {
    for (unsigned i = 0; i < r->ports; i++) {
        tb_axi_mon_free(&r->w[i].mon);
        tb_axi_slave_free(&r->w[i].slave);
        tb_axi_master_free(&r->w[i].master);
    }
    tb_ddr_free(&r->ddr);
    tb_shadow_free(&r->shadow);
}

static void rig_step(rig *r, void (*spoil)(wires *w)) {
    r->cycle++;
    for (unsigned i = 0; i < r->ports; i++) {
        wires *w = &r->w[i];
        tb_axi_master_drive(&w->master, r->cycle);
        tb_axi_slave_drive(&w->slave, r->cycle);
        if (spoil != NULL) {
            spoil(w);
        }
    }
    for (unsigned i = 0; i < r->ports; i++) {
        wires *w = &r->w[i];
        tb_axi_mon_port(&w->mon, &w->port, r->cycle);
        r->overtook = r->overtook || (w->bvalid != 0 && w->slave.wr_now != w->slave.wr_head);
        const uint32_t cap = TB_AXI_SLAVE_CAP - 1;
        r->mixed = r->mixed || (w->rvalid != 0 && w->slave.rd_now != w->slave.rd_head &&
                                w->slave.rd[w->slave.rd_head & cap].beat != 0);
        tb_axi_slave_sample(&w->slave);
        tb_axi_master_sample(&w->master);
    }
}

/* Until all is answered, or something is wrong. */
static void rig_run(rig *r, void (*spoil)(wires *w)) {
    bool busy = true, wrong = false;
    while (busy && !wrong) {
        assert_true(r->cycle < 400000);
        rig_step(r, spoil);
        busy = false;
        for (unsigned i = 0; i < r->ports; i++) {
            busy = busy || tb_axi_master_busy(&r->w[i].master);
            wrong = wrong || r->w[i].master.wrong != NULL || r->w[i].mon.violations > 0;
        }
    }
}

static tb_axi_traffic everything(uint64_t count) {
    return (tb_axi_traffic){.count = count,
                            .base = BASE,
                            .bytes = 0x3000,
                            .ids = 6,
                            .writes = 50,
                            .fixed = true,
                            .wrap = true,
                            .narrow = true,
                            .unaligned = true,
                            .sparse = true};
}

static void assert_clean(const rig *r) {
    char text[320];
    for (unsigned i = 0; i < r->ports; i++) {
        if (r->w[i].mon.violations > 0) {
            tb_axi_violation_text(&r->w[i].mon, &r->w[i].mon.first[0], text, sizeof text);
            fail_msg("%s", text);
        }
        if (r->w[i].master.wrong != NULL) {
            fail_msg("%s", r->w[i].master.text);
        }
    }
}

static void every_profile_and_width(void **state) {
    (void)state;
    static const uint32_t bytes[] = {1, 2, 4, 16, 128};
    static rig r;
    for (size_t i = 0; i < tb_axi_profile_count; i++) {
        const bool reorders = tb_axi_profiles[i].reorder != 0;
        uint64_t hash = 0;
        for (unsigned again = 0; again < 7; again++) { /* the first width twice: the same cycles */
            tb_ddr_diff diff;
            const uint32_t width = bytes[again < 2 ? 2 : again - 2];
            rig_open(&r, 1, width, false, tb_axi_profiles[i].name, 7);
            const tb_axi_traffic t = everything(300);
            tb_axi_master_traffic(&r.w[0].master, &t);
            rig_run(&r, NULL);
            tb_axi_mon_finish(&r.w[0].mon, r.cycle);
            assert_clean(&r);
            const tb_axi_master *m = &r.w[0].master;
            assert_int_equal(m->answered[0] + m->answered[1], 300);
            assert_true(m->answered[0] > 80 && m->answered[1] > 80 && r.shadow.checked > 1000);
            assert_true(tb_shadow_compare(&r.shadow, &r.ddr, &diff));
            assert_true(again != 1 || hash == r.hash);
            hash = r.hash;
            assert_true(!reorders || (r.overtook && r.mixed));
            assert_true(reorders || !(r.overtook || r.mixed));
            rig_close(&r);
        }
    }
}

static void lite_and_two_masters(void **state) {
    (void)state;
    static rig r;
    rig_open(&r, 1, 8, true, "hostile", 3);
    const tb_axi_traffic t = everything(300);
    tb_axi_master_traffic(&r.w[0].master, &t);
    rig_run(&r, NULL);
    assert_clean(&r);
    assert_true(r.shadow.checked > 100 && r.w[0].mon.stats.max_writes > 1);
    rig_close(&r);
    rig_open(&r, 2, 4, false, "reorder", 3); /* one memory: what one has written the other reads */
    for (unsigned i = 0; i < 2; i++) {
        tb_axi_traffic few = everything(400);
        few.bytes = 256;
        tb_axi_master_traffic(&r.w[i].master, &few);
    }
    rig_run(&r, NULL);
    assert_clean(&r);
    rig_close(&r);
}

/* A burst that a bench gives, and its answer. */
typedef struct answer {
    unsigned count;
    uint8_t data[64], resp;
} answer;

static void take(void *ctx, const tb_axi_request *b, const uint8_t *data, uint8_t resp) {
    answer *a = (answer *)ctx;
    a->count++;
    a->resp = resp;
    memcpy(a->data, data, 4u * (b->len + 1u));
}

static void given_bursts(void **state) {
    (void)state;
    static rig r;
    answer a = {0};
    const uint8_t data[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    const uint64_t strb[8] = {0xf, 0, 0x5, 0, 0, 0, 0xf, 0};
    tb_axi_request b = {.write = true, .len = 3, .size = 2, .burst = TB_AXI_INCR, .addr = BASE + 64, .id = 2};
    rig_open(&r, 1, 4, false, "typical", 3);
    r.w[0].master.cfg.done = take;
    r.w[0].master.cfg.done_ctx = &a;
    assert_true(tb_axi_master_start(&r.w[0].master, &b, data, NULL));
    b.write = false;
    assert_false(tb_axi_master_start(&r.w[0].master, &b, NULL, NULL)); /* of bytes that are being written */
    rig_run(&r, NULL);
    assert_true(tb_axi_master_start(&r.w[0].master, &b, NULL, NULL));
    rig_run(&r, NULL);
    assert_int_equal(a.count, 2);
    assert_memory_equal(a.data, data, 16);
    b.write = true;
    b.addr += 16;
    assert_true(tb_axi_master_start(&r.w[0].master, &b, data, strb));
    rig_run(&r, NULL);
    uint8_t got[16] = {0};
    uint64_t where;
    assert_true(tb_ddr_read(&r.ddr, BASE + 80, got, 16));
    assert_true(got[4] == 5 && got[6] == 7 && got[15] == 16);
    assert_true(tb_ddr_find_unwritten(&r.ddr, BASE + 85, 1, &where));
    assert_clean(&r);
    rig_close(&r);
}

/* ---- exclusive accesses: a monitor in front of the slave, which has none ---- */

static struct { bool broken; /* every exclusive write succeeds */ } monitor;

/* The slave answers OKAY; what the design would say is put in its place. One pair at a time, so one flag is enough. */
static void exclusive(wires *w) {
    const uint32_t cap = TB_AXI_SLAVE_CAP - 1;
    if (w->rvalid != 0) {
        const tb_axi_read_slot *slot = &w->slave.rd[w->slave.rd_now & cap];
        for (uint32_t i = w->master.rd_head; i != w->master.rd_tail; i++) {
            const tb_axi_flight *f = &w->master.rd[i & (TB_AXI_MASTER_CAP - 1)];
            if (!f->done && f->b.id == slot->id) {
                w->rresp = f->b.lock ? TB_AXI_EXOKAY : TB_AXI_OKAY;
                break;
            }
        }
    }
    if (w->bvalid != 0) {
        for (uint32_t i = w->master.wr_head; i != w->master.wr_tail; i++) {
            const tb_axi_flight *f = &w->master.wr[i & (TB_AXI_MASTER_CAP - 1)];
            if (!f->done && f->b.id == w->bid) {
                const uint64_t all = (f->b.len + UINT64_C(1)) << f->b.size, order = UINT64_C(1) << 32 | f->b.id;
                const bool may = tb_shadow_holds(w->master.cfg.shadow, f->b.addr, f->b.addr + all - 1, order);
                w->bresp = f->b.lock && (may || monitor.broken) ? TB_AXI_EXOKAY : TB_AXI_OKAY;
                break;
            }
        }
    }
}

static void exclusive_pairs(void **state) {
    (void)state;
    static rig r;
    for (unsigned broken = 0; broken < 2; broken++) {
        rig_open(&r, 1, 4, false, "reorder", 11);
        monitor.broken = broken != 0;
        tb_axi_traffic t = everything(600);
        t.bytes = broken ? 64 : SPAN; /* 64: other IDs write the same bytes between a read and its write */
        t.exclusive = 30;
        tb_axi_master_traffic(&r.w[0].master, &t);
        rig_run(&r, exclusive);
        if (broken != 0) {
            assert_string_equal(r.w[0].master.wrong, "exclusive");
            assert_non_null(strstr(r.w[0].master.text, "s0: exclusive write "));
            assert_non_null(strstr(r.w[0].master.text, "although another master has written to its bytes"));
        } else {
            assert_clean(&r);
            assert_true(r.w[0].master.exclusive > 5);
        }
        rig_close(&r);
    }
}

/* ---- faults of the slave ---- */

static void fault(void (*spoil)(wires *w), void (*before)(wires *w), const char *wrong, const char *text) {
    static rig r;
    rig_open(&r, 1, 4, false, "typical", 5);
    const tb_axi_traffic t = everything(300);
    tb_axi_master_traffic(&r.w[0].master, &t);
    if (before != NULL) {
        before(&r.w[0]);
    }
    rig_run(&r, spoil);
    assert_non_null(r.w[0].master.wrong);
    assert_string_equal(r.w[0].master.wrong, wrong);
    if (strstr(r.w[0].master.text, text) == NULL) {
        fail_msg("expected '%s' in '%s'", text, r.w[0].master.text);
    }
    rig_close(&r);
}

static void flip(wires *w) {
    tb_axi_slave_flip(&w->slave, 400);
}

static void lose_strobes(wires *w) { /* of one lane, on the way to the memory */
    if (w->master.answered[1] > 40) {
        w->wstrb[0] &= ~UINT64_C(2);
    }
}

static void refuse(wires *w) {
    assert_true(tb_axi_slave_inject_as(&w->slave, 0, 3, TB_AXI_DECERR, 0));
}

static void refuse_write(wires *w) {
    assert_true(tb_axi_slave_inject_as(&w->slave, 1, 3, TB_AXI_SLVERR, 0));
}

static void as_incr(wires *w) { /* the mistake of many memories: WRAP is taken for INCR */
    w->awburst = w->awburst == TB_AXI_WRAP ? TB_AXI_INCR : w->awburst;
}

static void faults(void **state) {
    (void)state;
    fault(NULL, flip, "data", ": got 0x");
    fault(NULL, refuse, "response", "answered with DECERR, expected OKAY");
    fault(NULL, refuse_write, "response", "s0: write ");
    static rig r; /* what the master has sent is not what the memory gets: its next read says so */
    for (unsigned i = 0; i < 2; i++) {
        rig_open(&r, 1, 4, false, "ideal", 5);
        const tb_axi_traffic t = everything(600);
        tb_axi_master_traffic(&r.w[0].master, &t);
        rig_run(&r, i == 0 ? lose_strobes : as_incr);
        assert_true(r.w[0].master.wrong != NULL || r.w[0].mon.violations > 0);
        rig_close(&r);
    }
}

static void errors_that_may_be(void **state) {
    (void)state;
    static rig r;
    rig_open(&r, 1, 4, false, "typical", 5);
    r.w[0].master.cfg.errors_ok = true;
    refuse(&r.w[0]);
    refuse_write(&r.w[0]);
    const tb_axi_traffic t = everything(300);
    tb_axi_master_traffic(&r.w[0].master, &t);
    rig_run(&r, NULL);
    assert_clean(&r);
    assert_true(r.w[0].master.errors >= 2);
    rig_close(&r);
}

/* ---- the shadow by itself ---- */

static void shadow_alone(void **state) {
    (void)state;
    tb_shadow s;
    tb_ddr mem;
    tb_ddr_diff diff;
    unsigned lane;
    uint8_t want;
    const uint8_t a[4] = {1, 2, 3, 4}, b[4] = {1, 2, 9, 4};
    const uint64_t all[2] = {0xf, 0};
    assert_int_equal(tb_shadow_init(&s, 0, SPAN), 0);
    assert_int_equal(tb_ddr_init(&mem, 0, SPAN, 3), 0);
    const unsigned w1 = tb_shadow_begin(&s, true, 0, 15, 1);
    assert_int_not_equal(w1, 0);
    assert_int_equal(tb_shadow_begin(&s, false, 15, 20, 0), 0); /* read of what is being written */
    assert_int_equal(tb_shadow_begin(&s, true, 15, 20, 2), 0);  /* write of another order */
    const unsigned w2 = tb_shadow_begin(&s, true, 15, 20, 1);   /* the bus keeps their order */
    const unsigned r1 = tb_shadow_begin(&s, false, 30, 40, 0), r2 = tb_shadow_begin(&s, false, 35, 36, 0);
    assert_true(w2 != 0 && r1 != 0 && r2 != 0);
    assert_int_equal(tb_shadow_begin(&s, true, 36, 36, 1), 0); /* write of what is being read */
    tb_shadow_end(&s, w1), tb_shadow_end(&s, w2), tb_shadow_end(&s, r1), tb_shadow_end(&s, r2);
    assert_int_equal(s.opens, 0);
    tb_shadow_write(&s, 8, a, all, 4, 0);
    assert_true(tb_shadow_read(&s, 8, a, 0, 3, &lane, &want));
    assert_false(tb_shadow_read(&s, 8, b, 0, 3, &lane, &want));
    assert_true(lane == 2 && want == 3);
    assert_true(tb_shadow_read(&s, 100, a, 0, 3, &lane, &want)); /* the first read counts */
    assert_false(tb_shadow_read(&s, 100, b, 0, 3, &lane, &want));
    assert_false(tb_shadow_compare(&s, &mem, &diff));
    assert_true(diff.addr == 8 && diff.b == 1);
    assert_true(tb_ddr_write(&mem, 8, a, 4) && tb_ddr_write(&mem, 100, a, 4) && tb_shadow_compare(&s, &mem, &diff));
    assert_true(tb_ddr_write(&mem, 5000, a, 1)); /* written behind the bench's back */
    assert_false(tb_shadow_compare(&s, &mem, &diff));
    assert_true(diff.addr == 5000 && !diff.b_written);
    tb_shadow_reserve(&s, 8, 11, 7);
    tb_shadow_write(&s, 8, a, all, 4, 7); /* its own */
    assert_true(tb_shadow_holds(&s, 8, 11, 7));
    tb_shadow_write(&s, 11, a, all, 1, 0);
    assert_false(tb_shadow_holds(&s, 8, 11, 7));
    tb_shadow_clear(&s);
    assert_true(tb_shadow_read(&s, 8, b, 0, 3, &lane, &want));
    tb_shadow_free(&s);
    tb_ddr_free(&mem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_profile_and_width),
        cmocka_unit_test(lite_and_two_masters),
        cmocka_unit_test(given_bursts),
        cmocka_unit_test(exclusive_pairs),
        cmocka_unit_test(faults),
        cmocka_unit_test(errors_that_may_be),
        cmocka_unit_test(shadow_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
