/* Slave, register master and binding, against small designs written in C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tb.h"

/* ---- a master that writes random bursts and reads them back ---- */

#define BASE UINT64_C(0x20000000)
#define SPAN 0x10000u
#define BURSTS 60u

typedef struct burst {
    uint64_t addr;
    uint8_t len, size, burst, id;
} burst;

typedef struct toy {
    tb_axi_port port;
    /* the wires */
    uint8_t awvalid, awready, awlen, awsize, awburst, awid, wvalid, wready, wlast, bvalid, bready, bresp, bid;
    uint8_t arvalid, arready, arlen, arsize, arburst, arid, rvalid, rready, rlast, rresp, rid;
    uint32_t awaddr, araddr;
    uint8_t wdata[16], rdata[16];
    uint16_t wstrb;
    tb_rng rng;
    burst wr[BURSTS], rd[BURSTS];
    unsigned aw_at, w_at, w_beat, b_at, ar_at, r_at, r_beat;
    bool reading;
    uint8_t ref[SPAN];
    unsigned wrong, error_beats, error_resps;
} toy;

static void toy_bind(toy *t) {
    tb_axi_port *p = &t->port;
    tb_axi_port_init(p, false, 16);
    p->aw.valid = &t->awvalid;
    p->aw.ready = &t->awready;
    p->aw.addr = (tb_sig){&t->awaddr, 32};
    p->aw.id = (tb_sig){&t->awid, 4};
    p->aw.len = &t->awlen;
    p->aw.size = &t->awsize;
    p->aw.burst = &t->awburst;
    p->w_valid = &t->wvalid;
    p->w_ready = &t->wready;
    p->w_last = &t->wlast;
    p->w_data = t->wdata;
    p->w_strb = (tb_sig){&t->wstrb, 16};
    p->b_valid = &t->bvalid;
    p->b_ready = &t->bready;
    p->b_resp = &t->bresp;
    p->b_id = (tb_sig){&t->bid, 4};
    p->ar.valid = &t->arvalid;
    p->ar.ready = &t->arready;
    p->ar.addr = (tb_sig){&t->araddr, 32};
    p->ar.id = (tb_sig){&t->arid, 4};
    p->ar.len = &t->arlen;
    p->ar.size = &t->arsize;
    p->ar.burst = &t->arburst;
    p->r_valid = &t->rvalid;
    p->r_ready = &t->rready;
    p->r_last = &t->rlast;
    p->r_resp = &t->rresp;
    p->r_id = (tb_sig){&t->rid, 4};
    p->r_data = t->rdata;
}

static burst draw_burst(tb_rng *r) {
    burst b;
    b.size = (uint8_t)(tb_rng_chance(r, 3, 4) ? 4 : tb_rng_range(r, 0, 4));
    b.burst = (uint8_t)(tb_rng_chance(r, 3, 4) ? TB_AXI_INCR : tb_rng_range(r, 0, 2));
    b.len = (uint8_t)(b.burst == TB_AXI_WRAP ? (2u << tb_rng_range(r, 0, 3)) - 1 : tb_rng_range(r, 0, 15));
    b.id = (uint8_t)tb_rng_range(r, 0, 15);
    const uint64_t step = UINT64_C(1) << b.size;
    do {
        b.addr = BASE + tb_rng_range(r, 0, SPAN - 1);
        if (b.burst == TB_AXI_WRAP) {
            b.addr &= ~(step - 1);
        }
    } while (b.burst == TB_AXI_INCR && b.addr >> 12 != ((b.addr & ~(step - 1)) + (b.len + 1u) * step - 1) >> 12);
    return b;
}

static void toy_init(toy *t, uint64_t seed) {
    memset(t, 0, sizeof *t);
    toy_bind(t);
    t->rng = tb_rng_stream(seed, "toy");
    for (unsigned i = 0; i < BURSTS; i++) {
        t->wr[i] = draw_burst(&t->rng);
        t->rd[i] = draw_burst(&t->rng);
    }
}

/* Data and strobes of a beat are pure functions of its number, so that driver and reference need no queue. */
static void put_w(toy *t) {
    const burst *b = &t->wr[t->w_at];
    unsigned lo;
    unsigned hi;
    tb_axi_beat(b->addr, b->len, b->size, b->burst, t->w_beat, 16, NULL, &lo, &hi);
    tb_rng r = tb_rng_fork(&t->rng, t->w_at * 256u + t->w_beat);
    tb_rng_fill(&r, t->wdata, 16);
    uint32_t strb = 0;
    for (unsigned i = lo; i <= hi; i++) {
        strb |= tb_rng_chance(&r, 7, 8) ? 1u << i : 0;
    }
    t->wstrb = (uint16_t)strb;
    t->wlast = t->w_beat == b->len;
    t->wvalid = 1;
}

static void toy_drive(toy *t, bool slow) {
    if (t->awvalid == 0 && t->aw_at < BURSTS && !t->reading && tb_rng_chance(&t->rng, slow ? 1 : 4, 4)) {
        const burst *b = &t->wr[t->aw_at];
        t->awaddr = (uint32_t)b->addr;
        t->awlen = b->len;
        t->awsize = b->size;
        t->awburst = b->burst;
        t->awid = b->id;
        t->awvalid = 1;
    }
    if (t->wvalid == 0 && t->w_at < BURSTS && !t->reading && tb_rng_chance(&t->rng, slow ? 2 : 4, 4)) {
        put_w(t);
    }
    if (t->arvalid == 0 && t->ar_at < BURSTS && t->reading) {
        const burst *b = &t->rd[t->ar_at];
        t->araddr = (uint32_t)b->addr;
        t->arlen = b->len;
        t->arsize = b->size;
        t->arburst = b->burst;
        t->arid = b->id;
        t->arvalid = 1;
    }
    t->bready = tb_rng_chance(&t->rng, slow ? 1 : 4, 4);
    t->rready = tb_rng_chance(&t->rng, slow ? 2 : 4, 4);
}

static void take_w(toy *t) {
    const burst *b = &t->wr[t->w_at];
    uint64_t addr;
    unsigned lo;
    unsigned hi;
    tb_axi_beat(b->addr, b->len, b->size, b->burst, t->w_beat, 16, &addr, &lo, &hi);
    for (unsigned i = 0; i < 16; i++) {
        if (((t->wstrb >> i) & 1u) != 0) {
            t->ref[(addr - BASE + i) % SPAN] = t->wdata[i];
        }
    }
    t->wvalid = 0;
    t->w_beat++;
    if (t->wlast != 0) {
        t->w_at++;
        t->w_beat = 0;
    }
}

static void take_r(toy *t) {
    const burst *b = &t->rd[t->r_at];
    uint64_t addr;
    unsigned lo;
    unsigned hi;
    tb_axi_beat(b->addr, b->len, b->size, b->burst, t->r_beat, 16, &addr, &lo, &hi);
    t->wrong += t->rid != b->id;
    if (t->rresp != TB_AXI_OKAY) {
        t->error_beats++;
    } else {
        t->wrong += memcmp(&t->rdata[lo], &t->ref[addr - BASE + lo], hi - lo + 1) != 0;
    }
    t->r_beat++;
    if (t->rlast != 0) {
        t->wrong += t->r_beat != b->len + 1u;
        t->r_at++;
        t->r_beat = 0;
    }
}

static void toy_sample(toy *t) {
    if ((t->awvalid & t->awready) != 0) {
        t->awvalid = 0;
        t->aw_at++;
    }
    if ((t->wvalid & t->wready) != 0) {
        take_w(t);
    }
    if ((t->bvalid & t->bready) != 0) {
        t->wrong += t->bid != t->wr[t->b_at].id;
        t->error_resps += t->bresp != TB_AXI_OKAY;
        t->b_at++;
    }
    if ((t->arvalid & t->arready) != 0) {
        t->arvalid = 0;
        t->ar_at++;
    }
    if ((t->rvalid & t->rready) != 0) {
        take_r(t);
    }
    t->reading = t->reading || t->b_at == BURSTS;
}

typedef struct outcome {
    uint64_t cycles, hash, violations, events;
    unsigned wrong, error_beats, error_resps;
    uint64_t errors[2];
} outcome;

/* What a test does to the slave before it starts, and in each cycle. */
static void (*spoil)(tb_axi_slave *slave, uint64_t cycle);

static void run(const char *profile, uint64_t seed, bool slow, bool inject, outcome *out) {
    static toy t;
    tb_ddr ddr;
    tb_axi_slave slave;
    tb_axi_monitor mon;
    uint64_t hash = TB_HASH_INIT;
    toy_init(&t, seed);
    assert_int_equal(tb_ddr_init(&ddr, BASE, SPAN, 0), 0);
    assert_true(tb_ddr_write(&ddr, BASE, t.ref, SPAN));
    const tb_axi_profile *p = tb_axi_profile_find(profile);
    assert_non_null(p);
    assert_int_equal(tb_axi_slave_init(&slave, &t.port, &ddr, p, tb_rng_stream(seed, "slave")), 0);
    const tb_axi_mon_cfg cfg = {.name = "toy", .bytes = 16, .widths = {.id = 4}, .hash = &hash};
    assert_int_equal(tb_axi_mon_init(&mon, &cfg), 0);
    if (inject) {
        assert_true(tb_axi_slave_inject(&slave, 0, 0));
        assert_true(tb_axi_slave_inject(&slave, 0, 7));
        assert_true(tb_axi_slave_inject(&slave, 1, 5));
    }
    tb_axi_slave_reset(&slave);
    tb_axi_mon_port(&mon, &t.port, 0);
    uint64_t cycle = 1;
    for (; cycle < 200000 && t.r_at < BURSTS; cycle++) {
        if (spoil != NULL) {
            spoil(&slave, cycle);
        }
        tb_axi_slave_drive(&slave, cycle);
        toy_drive(&t, slow);
        tb_axi_mon_port(&mon, &t.port, cycle);
        tb_axi_slave_sample(&slave);
        toy_sample(&t);
    }
    assert_int_equal(t.r_at, BURSTS);
    assert_int_equal(slave.rd_tail, slave.rd_head);
    assert_int_equal(slave.wr_tail, slave.wr_head);
    *out = (outcome){.cycles = cycle,
                     .hash = hash,
                     .violations = mon.violations,
                     .events = ddr.events,
                     .wrong = t.wrong,
                     .error_beats = t.error_beats,
                     .error_resps = t.error_resps,
                     .errors = {slave.errors[0], slave.errors[1]}};
    if (mon.violations > 0) {
        char text[300];
        tb_axi_violation_text(&mon, &mon.first[0], text, sizeof text);
        print_message("%s: %s\n", profile, text);
    }
    tb_axi_mon_free(&mon);
    tb_axi_slave_free(&slave);
    tb_ddr_free(&ddr);
}

static void slave_in_every_profile(void **state) {
    (void)state;
    uint64_t ideal = 0;
    uint64_t worst = 0;
    /* this master takes answers in order; test_tb_master.c has one for those that overtake each other */
    for (size_t i = 0; i < tb_axi_profile_count && tb_axi_profiles[i].reorder == 0; i++) {
        for (uint64_t seed = 0; seed < 6; seed++) {
            outcome a;
            outcome b;
            run(tb_axi_profiles[i].name, seed, (seed & 1) != 0, false, &a);
            assert_int_equal(a.violations, 0);
            assert_int_equal(a.wrong, 0);
            assert_int_equal(a.events, 0);
            assert_int_equal(a.error_beats + a.error_resps, 0);
            /* the same seed gives the same traffic, cycle by cycle */
            run(tb_axi_profiles[i].name, seed, (seed & 1) != 0, false, &b);
            assert_true(a.hash == b.hash && a.cycles == b.cycles);
            ideal += i == 0 ? a.cycles : 0;
            worst += strcmp(tb_axi_profiles[i].name, "writes") == 0 ? a.cycles : 0;
        }
    }
    assert_true(worst > 2 * ideal);
}

static void slave_injects_errors(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        outcome o;
        run("typical", seed, false, true, &o);
        assert_int_equal(o.violations, 0);
        assert_int_equal(o.error_beats, 2); /* one beat in each of two bursts */
        assert_int_equal(o.error_resps, 1);
        assert_int_equal(o.errors[0], 2);
        assert_int_equal(o.errors[1], 1);
    }
}

static void decerr(tb_axi_slave *slave, uint64_t cycle) {
    if (cycle == 1) {
        assert_true(tb_axi_slave_inject_as(slave, 0, 3, TB_AXI_DECERR, TB_AXI_ALL_BEATS));
        assert_true(tb_axi_slave_inject_as(slave, 0, 4, TB_AXI_SLVERR, 0));
        /* and written all the same */
        assert_true(tb_axi_slave_inject_as(slave, 1, 5, TB_AXI_DECERR, TB_AXI_ALL_BEATS));
        assert_true(tb_axi_slave_inject_as(slave, 1, BURSTS + 5, TB_AXI_DECERR, 0)); /* there is none */
    }
    slave->r_at = slave->r_at < cycle ? cycle : slave->r_at;
}

static void slave_injects_by_kind(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        outcome o;
        spoil = decerr;
        run("typical", seed, false, false, &o);
        spoil = NULL;
        assert_int_equal(o.violations, 0);
        assert_int_equal(o.errors[1], 1);
        assert_int_equal(o.error_resps, 1);
        assert_int_equal(o.wrong, 0); /* what the burst with the error wrote is there */
        assert_true(o.errors[0] >= 2);
        assert_int_equal(o.errors[0], o.error_beats);
    }
}

static tb_axi_channel slow_channel;

static void slow_down(tb_axi_slave *slave, uint64_t cycle) {
    if (cycle == 1) {
        tb_axi_slave_slow(slave, slow_channel, 30);
    }
}

static void hang_and_mend(tb_axi_slave *slave, uint64_t cycle) {
    if (cycle == 1) {
        tb_axi_slave_hang(slave, slow_channel, 5);
    } else if (cycle == 20000) {
        tb_axi_slave_mend(slave);
    }
}

/* A slow channel delays and changes nothing else; one that hangs stands until it is mended. */
static void slave_slow_and_mended(void **state) {
    (void)state;
    for (unsigned c = 0; c < TB_AXI_CHANNELS; c++) {
        outcome plain, slow, mended;
        run("fast", c, false, false, &plain);
        slow_channel = (tb_axi_channel)c;
        spoil = slow_down;
        run("fast", c, false, false, &slow);
        spoil = hang_and_mend;
        run("fast", c, false, false, &mended);
        spoil = NULL;
        assert_int_equal(slow.violations + slow.wrong + slow.error_beats + slow.error_resps, 0);
        assert_int_equal(mended.violations + mended.wrong + mended.error_beats + mended.error_resps, 0);
        assert_true(slow.cycles > plain.cycles + 2 * BURSTS);
        assert_true(mended.cycles > 20000);
    }
}

/* A beat every cycle when nothing slows it down, and DECERR outside memory. */
static void slave_full_rate_and_decerr(void **state) {
    (void)state;
    static toy t;
    tb_ddr ddr;
    tb_axi_slave slave;
    memset(&t, 0, sizeof t);
    toy_bind(&t);
    assert_int_equal(tb_ddr_init(&ddr, BASE, SPAN, 0), 0);
    assert_int_equal(tb_axi_slave_init(&slave, &t.port, &ddr, tb_axi_profile_find("ideal"), tb_rng_stream(0, "s")), 0);
    unsigned beats = 0;
    unsigned errors = 0;
    for (unsigned cycle = 0; cycle < 140; cycle++) {
        tb_axi_slave_drive(&slave, cycle);
        t.arvalid = cycle < 9;
        t.araddr = cycle < 8 ? (uint32_t)BASE : (uint32_t)(BASE + SPAN);
        t.arlen = 15;
        t.arsize = 4;
        t.arburst = TB_AXI_INCR;
        t.rready = 1;
        beats += t.rvalid;
        errors += t.rvalid != 0 && t.rresp == TB_AXI_DECERR;
        assert_true(t.rvalid == 0 || (beats <= 128) == (t.rresp == TB_AXI_OKAY));
        tb_axi_slave_sample(&slave);
        assert_true(cycle < 4 || beats >= cycle - 2);
    }
    assert_int_equal(errors, beats - 128);
    tb_axi_slave_free(&slave);
    tb_ddr_free(&ddr);
}

static void profile_names(void **state) {
    (void)state;
    char names[200];
    tb_axi_profile_names(names, sizeof names);
    assert_string_equal(names, "ideal, fast, typical, slow, bursty, hostile, writes, reorder");
    assert_null(tb_axi_profile_find("nice"));
}

/* ---- registers ---- */

typedef struct regs {
    tb_axi_port port;
    uint8_t awvalid, awready, wvalid, wready, wstrb, bvalid, bready, bresp, arvalid, arready, rvalid, rready, rresp;
    uint16_t awaddr, araddr;
    uint32_t bytes; /* of a beat: 4 or 8 */
    uint32_t wdata[2], rdata[2], value[8];
    bool have_aw, have_w;
    bool deaf;
    tb_lite_master m;
    tb_axi_monitor mon;
    uint64_t cycle;
    unsigned aw_first, w_first, together;
} regs;

static void regs_bind(regs *g) {
    tb_axi_port *p = &g->port;
    tb_axi_port_init(p, true, g->bytes);
    p->aw.valid = &g->awvalid;
    p->aw.ready = &g->awready;
    p->aw.addr = (tb_sig){&g->awaddr, 9};
    p->w_valid = &g->wvalid;
    p->w_ready = &g->wready;
    p->w_data = (uint8_t *)g->wdata;
    p->w_strb = (tb_sig){&g->wstrb, g->bytes};
    p->b_valid = &g->bvalid;
    p->b_ready = &g->bready;
    p->b_resp = &g->bresp;
    p->ar.valid = &g->arvalid;
    p->ar.ready = &g->arready;
    p->ar.addr = (tb_sig){&g->araddr, 9};
    p->r_valid = &g->rvalid;
    p->r_ready = &g->rready;
    p->r_resp = &g->rresp;
    p->r_data = (uint8_t *)g->rdata;
}

/* Rising edge of a register file that takes address and data in any order. Offsets from 0x40 on answer SLVERR. */
static void regs_edge(regs *g) {
    const bool aw = (g->awvalid & g->awready) != 0;
    const bool w = (g->wvalid & g->wready) != 0;
    g->together += aw && w;
    g->aw_first += aw && !w && !g->have_w;
    g->w_first += w && !aw && !g->have_aw;
    g->have_aw |= aw;
    g->have_w |= w;
    if ((g->bvalid & g->bready) != 0) {
        g->bvalid = 0;
    }
    if ((g->rvalid & g->rready) != 0) {
        g->rvalid = 0;
    }
    if (g->have_aw && g->have_w && g->bvalid == 0) {
        for (unsigned i = 0; i < g->bytes && g->awaddr < 0x20; i++) {
            if (((g->wstrb >> i) & 1u) != 0) {
                memcpy((uint8_t *)g->value + g->awaddr / g->bytes * g->bytes + i, (uint8_t *)g->wdata + i, 1);
            }
        }
        g->bvalid = 1;
        g->bresp = g->awaddr >= 0x40 ? TB_AXI_SLVERR : TB_AXI_OKAY;
        g->have_aw = g->have_w = false;
    }
    if ((g->arvalid & g->arready) != 0) {
        g->rvalid = 1;
        for (unsigned i = 0; i < g->bytes / 4; i++) {
            g->rdata[i] = g->araddr < 0x20 ? g->value[g->araddr / g->bytes * (g->bytes / 4) + i] : 0;
        }
        g->rresp = g->araddr >= 0x40 ? TB_AXI_SLVERR : TB_AXI_OKAY;
    }
    g->awready = !g->have_aw && !g->deaf;
    g->wready = !g->have_w;
    g->arready = g->rvalid == 0 && !g->deaf;
}

static bool regs_step(void *ctx) {
    regs *g = (regs *)ctx;
    tb_lite_drive(&g->m);
    tb_axi_mon_port(&g->mon, &g->port, g->cycle++);
    tb_lite_sample(&g->m);
    regs_edge(g);
    return g->cycle < 100000;
}

static void registers(void **state) {
    (void)state;
    static regs g;
    for (uint16_t gap = 0; gap < 8; gap = (uint16_t)(gap + 3)) {
        memset(&g, 0, sizeof g);
        g.bytes = gap < 6 ? 4 : 8;
        regs_bind(&g);
        const tb_axi_mon_cfg cfg = {.name = "lite", .lite = true, .bytes = g.bytes};
        assert_int_equal(tb_axi_mon_init(&g.mon, &cfg), 0);
        tb_lite_init(&g.m, &g.port, gap, tb_rng_stream(gap, "lite"));
        regs_step(&g);
        tb_rng r = tb_rng_stream(gap, "access");
        uint32_t ref[8] = {0};
        for (int i = 0; i < 400; i++) {
            const uint32_t k = (uint32_t)tb_rng_range(&r, 0, 7);
            uint32_t v = tb_rng_u32(&r);
            if (tb_rng_chance(&r, 1, 2)) {
                assert_int_equal(tb_lite_write(&g.m, k * 4, v, 0xf, regs_step, &g, 100), TB_LITE_OK);
                ref[k] = v;
            } else {
                assert_int_equal(tb_lite_read(&g.m, k * 4, &v, regs_step, &g, 100), TB_LITE_OK);
                assert_int_equal(v, ref[k]);
            }
        }
        uint32_t v = 0;
        assert_int_equal(tb_lite_write(&g.m, 4, 0xaabbccdd, 0x5, regs_step, &g, 100), TB_LITE_OK);
        assert_int_equal(g.value[1], (ref[1] & 0xff00ff00u) | 0x00bb00ddu);
        if (g.bytes == 8) {
            uint64_t both = 0;
            assert_int_equal(tb_lite_write64(&g.m, 8, 0x0123456789abcdefu, 0xff, regs_step, &g, 100), TB_LITE_OK);
            assert_int_equal(g.value[2], 0x89abcdefu);
            assert_int_equal(tb_lite_read(&g.m, 12, &v, regs_step, &g, 100), TB_LITE_OK);
            assert_int_equal(v, 0x01234567u);
            assert_int_equal(tb_lite_read64(&g.m, 8, &both, regs_step, &g, 100), TB_LITE_OK);
            assert_true(both == 0x0123456789abcdefu);
        }
        assert_int_equal(tb_lite_read(&g.m, 0x40, &v, regs_step, &g, 100), TB_LITE_ERROR);
        assert_int_equal(tb_lite_write(&g.m, 0x40, 0, 0xf, regs_step, &g, 100), TB_LITE_ERROR);
        assert_int_equal(g.mon.violations, 0);
        assert_true(gap == 0 ? g.together > 0 : g.together > 0 && g.aw_first > 0 && g.w_first > 0);
        g.deaf = true;
        regs_step(&g);
        regs_step(&g);
        assert_int_equal(tb_lite_read(&g.m, 0, &v, regs_step, &g, 100), TB_LITE_TIMEOUT);
        tb_axi_mon_free(&g.mon);
    }
}

/* ---- a design behind the shim interface ---- */

static const struct {
    const char *name;
    uint32_t width;
    bool input;
} fake_ports[] = {
    {"clk_i", 1, true},        {"rst_ni", 1, true},      {"x_awvalid_o", 1, false}, {"x_awready_i", 1, true},
    {"x_awaddr_o", 40, false}, {"x_awlen_o", 8, false},  {"x_wvalid_o", 1, false},  {"x_wready_i", 1, true},
    {"x_wdata_o", 256, false}, {"x_wstrb_o", 32, false}, {"x_wlast_o", 1, false},   {"x_bvalid_i", 1, true},
    {"x_bready_o", 1, false},  {"x_bresp_i", 2, true},   {"x_arvalid_o", 1, false}, {"x_arready_i", 1, true},
    {"x_araddr_o", 40, false}, {"x_rvalid_i", 1, true},  {"x_rready_o", 1, false},  {"x_rdata_i", 256, true},
    {"x_rresp_i", 2, true},    {"x_rlast_i", 1, true},   {"count_o", 96, false},    {"y_wdata", 24, false},
    {"y_rdata", 24, true},     {"r_arvalid", 1, false},  {"r_arready", 1, true},    {"r_araddr", 32, false},
    {"r_rvalid", 1, true},     {"r_rready", 1, false},   {"r_rdata", 64, true},     {"r_rresp", 2, true},
    {"r_rlast", 1, true},      {"w_rdata", 64, true},    {"w_awvalid", 1, false},
};
#define FAKE_PORTS (sizeof fake_ports / sizeof fake_ports[0])

typedef struct fake {
    uint64_t store[FAKE_PORTS][4];
    uint8_t last_clk;
    bool failed;
} fake;

static void *fake_create(const char *const *plusargs, uint64_t seed) {
    (void)plusargs;
    (void)seed;
    fake *f = (fake *)calloc(1, sizeof *f);
    if (f != NULL) {
        f->store[0][0] = 1; /* inputs start anywhere: tb_sim_open clears them */
    }
    return f;
}
static void fake_destroy(void *inst) {
    free(inst);
}
static void fake_list(void *inst, tb_shim_port *out) {
    fake *f = (fake *)inst;
    for (size_t i = 0; i < FAKE_PORTS; i++) {
        out[i] = (tb_shim_port){
            .name = fake_ports[i].name, .width = fake_ports[i].width, .input = fake_ports[i].input, .ptr = f->store[i]};
    }
}
static void fake_eval(void *inst) {
    fake *f = (fake *)inst;
    const uint8_t clk = *(uint8_t *)f->store[0];
    uint8_t rst_n = *(uint8_t *)f->store[1];
    if (clk != 0 && f->last_clk == 0) {
        f->store[22][0] = rst_n == 0 ? 0 : f->store[22][0] + 1;
        f->failed = f->failed || f->store[22][0] == 50;
    }
    f->last_clk = clk;
}
static bool fake_finished(void *inst) {
    return ((fake *)inst)->failed;
}
static const char *fake_message(void *inst) {
    return ((fake *)inst)->failed ? "[49] %Error: fifo.sv:77: Assertion failed in top.u: overflow" : NULL;
}
static const tb_shim fake_shim = {.top = "fake",
                                  .nports = FAKE_PORTS,
                                  .create = fake_create,
                                  .destroy = fake_destroy,
                                  .ports = fake_list,
                                  .eval = fake_eval,
                                  .finished = fake_finished,
                                  .assert_message = fake_message};

static void simulation(void **state) {
    (void)state;
    char err[200];
    tb_sim sim;
    tb_sim_cfg cfg = {.shim = NULL, .clk = "clk_i", .rst_n = "rst_ni"};
    assert_int_equal(tb_sim_open(&sim, &cfg, err, sizeof err), -1);
    assert_string_equal(err, "this program holds no design to simulate");
    cfg.shim = &fake_shim;
    cfg.wave = "x.fst";
    assert_int_equal(tb_sim_open(&sim, &cfg, err, sizeof err), -1);
    assert_string_equal(err, "x.fst: waveforms need a build with tracing (KIND=debug)");
    cfg.wave = NULL;
    cfg.clk = "clock";
    assert_int_equal(tb_sim_open(&sim, &cfg, err, sizeof err), -1);
    assert_string_equal(err, "fake: there is no port clock");
    cfg.clk = "clk_i";
    assert_int_equal(tb_sim_open(&sim, &cfg, err, sizeof err), 0);
    tb_sig count;
    assert_int_equal(tb_sim_port(&sim, "count_o", 96, true, &count, err, sizeof err), -1);
    assert_int_equal(tb_sim_port(&sim, "count_o", 95, false, &count, err, sizeof err), -1);
    assert_int_equal(tb_sim_port(&sim, "count_o", 96, false, &count, err, sizeof err), 0);
    tb_sim_assert_reset(&sim);
    for (unsigned i = 0; i < 4; i++) {
        tb_sim_settle(&sim);
        tb_sim_edge(&sim);
    }
    tb_sim_release_reset(&sim);
    assert_int_equal(sim.cycle, 4);
    assert_int_equal(tb_get(count), 0);
    unsigned edges = 0;
    for (; edges < 100; edges++) {
        tb_sim_settle(&sim);
        if (!tb_sim_edge(&sim)) {
            break;
        }
    }
    assert_int_equal(edges, 49);
    assert_true(sim.stopped && !sim.interrupted);
    tb_sim_assert_signature(sim.failure, err, sizeof err);
    assert_string_equal(err, "assert:fifo.sv:77");
    tb_sim_assert_signature("it broke", err, sizeof err);
    assert_string_equal(err, "assert:it_broke");
    /* the 50th edge, so the values of cycle 49 + 4 of the reset */
    assert_string_equal(sim.failure, "top.u: overflow (fifo.sv:77)");
    assert_string_equal(sim.failure_path, "top.u");
    assert_int_equal(sim.failure_cycle, sim.cycle - 1);
    tb_sim_close(&sim);
}

/* What the runtime says of assertions, and what becomes of it. */
static void assertion_texts(void **state) {
    (void)state;
    static const struct {
        const char *said, *text, *path;
    } t[] = {
        {"[360] %Error: npu_fifo.sv:68: Assertion failed in chip.chip.u_rd0.u_skid: chip.chip.u_rd0.u_skid: assertion "
         "NoOverflow failed",
         "chip.u_rd0.u_skid: assertion NoOverflow failed (npu_fifo.sv:68)", "chip.u_rd0.u_skid"},
        {"[1] %Error: a.sv:7: Assertion failed in TOP.chip.u_a.g_x[2].check: it is 3: too much",
         "TOP.chip.u_a.g_x[2].check: it is 3: too much (a.sv:7)", "TOP.chip.u_a.g_x[2].check"},
        {"[1] %Error: a.sv:7: Assertion failed in chip.chip: 'assert' failed.", "chip.chip: 'assert' failed. (a.sv:7)",
         "chip.chip"},
        {"[1] %Error: a.sv:7: Assertion failed in chip", "chip: assertion failed (a.sv:7)", "chip"},
        {"%Error: a.sv:7: did not converge", "%Error: a.sv:7: did not converge", ""},
        {"the design stopped the simulation", "the design stopped the simulation", ""},
        {"", "", ""},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        char text[200], path[100], small[12], name[8];
        tb_sim_assert_text(t[i].said, text, sizeof text, path, sizeof path);
        assert_string_equal(text, t[i].text);
        assert_string_equal(path, t[i].path);
        tb_sim_assert_text(t[i].said, small, sizeof small, name, sizeof name);
        assert_memory_equal(small, t[i].text, strlen(small));
        assert_memory_equal(name, t[i].path, strlen(name));
    }
}

static void binding(void **state) {
    (void)state;
    char err[200];
    tb_sim sim;
    tb_axi_port port;
    const tb_sim_cfg cfg = {.shim = &fake_shim, .clk = "clk_i", .rst_n = "rst_ni"};
    assert_int_equal(tb_sim_open(&sim, &cfg, err, sizeof err), 0);
    assert_int_equal(tb_axi_bind(&port, &sim, "x_", false, err, sizeof err), 0);
    assert_int_equal(port.bytes, 32);
    assert_int_equal(*port.aw.size, 5); /* not there: the AXI default */
    assert_int_equal(*port.aw.burst, TB_AXI_INCR);
    assert_int_equal(port.aw.addr.width, 40);
    assert_int_equal(tb_axi_bind(&port, &sim, "y_", false, err, sizeof err), -1);
    assert_non_null(strstr(err, "fake: port y_wdata has an illegal width"));
    assert_int_equal(tb_axi_bind(&port, &sim, "z_", false, err, sizeof err), -1);
    assert_string_equal(err, "fake: port z_rdata is missing");
    assert_int_equal(tb_axi_bind(&port, &sim, "w_", false, err, sizeof err), -1);
    assert_string_equal(err, "fake: port w_wdata is missing");
    /* a master that only reads: no write is ever seen, whatever a memory drives */
    assert_int_equal(tb_axi_bind(&port, &sim, "r_", false, err, sizeof err), 0);
    assert_int_equal(port.bytes, 8);
    *port.aw.ready = *port.w_ready = *port.b_valid = *port.b_resp = 1;
    assert_int_equal(*port.aw.valid | *port.w_valid | *port.b_ready, 0);
    tb_sim_close(&sim);
}

static void fields(void **state) {
    (void)state;
    uint32_t words[6];
    uint8_t bits[192];
    const tb_sig sig = {words, 192};
    tb_rng r = tb_rng_stream(8, "fields");
    memset(words, 0, sizeof words);
    memset(bits, 0, sizeof bits);
    for (int i = 0; i < 3000; i++) {
        const uint32_t n = (uint32_t)tb_rng_range(&r, 1, 64);
        const uint32_t lsb = (uint32_t)tb_rng_range(&r, 0, 192 - n);
        const uint64_t v = tb_rng_u64(&r);
        tb_set_field(sig, lsb, n, v);
        for (uint32_t k = 0; k < n; k++) {
            bits[lsb + k] = (v >> k) & 1u;
        }
        const uint32_t m = (uint32_t)tb_rng_range(&r, 1, 64);
        const uint32_t at = (uint32_t)tb_rng_range(&r, 0, 192 - m);
        uint64_t want = 0;
        for (uint32_t k = 0; k < m; k++) {
            want |= (uint64_t)bits[at + k] << k;
        }
        assert_true(tb_get_field(sig, at, m) == want);
    }
    uint16_t narrow = 0;
    tb_set((tb_sig){&narrow, 9}, 0xffff);
    assert_int_equal(narrow, 0x1ff);
    tb_set_field((tb_sig){&narrow, 9}, 3, 2, 0);
    assert_int_equal(narrow, 0x1e7);
    assert_int_equal(tb_get_field((tb_sig){&narrow, 9}, 1, 3), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slave_in_every_profile),
        cmocka_unit_test(slave_injects_errors),
        cmocka_unit_test(slave_injects_by_kind),
        cmocka_unit_test(slave_slow_and_mended),
        cmocka_unit_test(slave_full_rate_and_decerr),
        cmocka_unit_test(profile_names),
        cmocka_unit_test(registers),
        cmocka_unit_test(simulation),
        cmocka_unit_test(assertion_texts),
        cmocka_unit_test(binding),
        cmocka_unit_test(fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
