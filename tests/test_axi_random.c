/* Random legal traffic through the AXI checker: it says nothing. The same with one mistake: it says that one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tb.h"

#define BURSTS 60u
#define IDS 4u

typedef enum mistake {
    NONE,
    WLAST_EARLY,   /* the mark of the last beat is also on an earlier one */
    WLAST_MISSING, /* it is not on the last one */
    W_SHORT,       /* the burst ends too early, */
    W_LONG,        /* or has a beat too many, each with its mark */
    RLAST_EARLY,
    RLAST_MISSING,
    R_SHORT,
    R_LONG,
    VALID_FALLS, /* WVALID, before it is taken */
    STROBE_OUTSIDE,
    READY_X, /* of any channel with a valid; there is a handshake or there is none */
    VALID_X, /* the same, where the ready is known */
    MISTAKES
} mistake;

static const char *const mistake_names[MISTAKES] = {
    "none",    "WLAST early", "WLAST missing", "W short",        "W long",  "RLAST early", "RLAST missing",
    "R short", "R long",      "VALID falls",   "strobe outside", "READY X", "VALID X"};

typedef struct burst {
    tb_axi_ax ax;
    unsigned sent, got; /* beats of data: of the master, of the slave */
    unsigned beats;     /* that it has */
    bool accepted, answered;
} burst;

typedef struct bus {
    tb_rng rng;
    bool lite;
    unsigned bytes, size_max;
    burst wr[BURSTS], rd[BURSTS];
    unsigned aw, ar;         /* next address */
    unsigned w, w_beat;      /* next beat of data */
    bool aw_up, ar_up, w_up; /* valid now */
    int b_of, r_of;          /* burst that is answered now, -1: none */
    unsigned hurry;          /* chance in 8 that something begins, or is ready */
    tb_axi_sample s;
    uint8_t wdata[TB_AXI_MAX_BYTES], rdata[TB_AXI_MAX_BYTES];
    mistake mistake;
    uint64_t when; /* not before this cycle */
    bool made;
    bool w_waits; /* the beat of data waited at the last edge */
    bool second;  /* the write behind the one with the mistake gets a strobe outside its lanes, */
    int broken;   /* that is this one, -1: it was not made yet */
    bool outside; /* which was made */
} bus;

static bool some(bus *b) {
    return tb_rng_chance(&b->rng, b->hurry, 8);
}

/* ---- bursts ---- */

static tb_axi_ax draw(bus *b) {
    tb_rng *r = &b->rng;
    tb_axi_ax a = {.size = (uint8_t)b->size_max, .burst = TB_AXI_INCR, .addr = tb_rng_range(r, 0, 0xffff)};
    if (b->lite) {
        return a;
    }
    a.id = tb_rng_range(r, 0, IDS - 1);
    a.size = (uint8_t)(tb_rng_chance(r, 1, 2) ? b->size_max : tb_rng_range(r, 0, b->size_max));
    a.burst = (uint8_t)(tb_rng_chance(r, 1, 2) ? TB_AXI_INCR : tb_rng_range(r, 0, 2));
    a.cache = tb_rng_chance(r, 1, 2) ? 15 : 1;
    a.qos = (uint8_t)tb_rng_range(r, 0, 15);
    a.user = tb_rng_range(r, 0, 7);
    const uint64_t step = UINT64_C(1) << a.size;
    if (a.burst == TB_AXI_WRAP) {
        a.len = (uint8_t)((2u << tb_rng_range(r, 0, 3)) - 1);
        a.addr &= ~(step - 1);
    } else {
        a.len = (uint8_t)tb_rng_small(r, 0, 15);
        const uint64_t room = (4096 - (a.addr & 4095 & ~(step - 1))) / step; /* beats up to the end of the page */
        a.len = a.burst == TB_AXI_INCR && a.len >= room ? (uint8_t)(room - 1) : a.len;
    }
    return a;
}

static void open_bus(bus *b, uint64_t seed, mistake m) {
    memset(b, 0, sizeof *b);
    b->rng = tb_rng_stream(seed, "axi-random");
    b->lite = m == NONE && tb_rng_chance(&b->rng, 1, 5);
    b->size_max = (unsigned)(b->lite ? tb_rng_range(&b->rng, 2, 3) : tb_rng_range(&b->rng, 0, 7));
    b->bytes = 1u << b->size_max;
    b->hurry = (unsigned)tb_rng_range(&b->rng, 2, 8);
    b->b_of = b->r_of = b->broken = -1;
    b->mistake = m;
    b->when = tb_rng_range(&b->rng, 5, 150);
    for (unsigned i = 0; i < BURSTS; i++) {
        b->wr[i].ax = draw(b);
        b->rd[i].ax = draw(b);
        b->wr[i].beats = b->wr[i].ax.len + 1u;
        b->rd[i].beats = b->rd[i].ax.len + 1u;
    }
}

/* Shall the mistake happen here? */
static bool err(bus *b, mistake m) {
    if (b->mistake != m || b->made || b->s.cycle < b->when) {
        return false;
    }
    return b->made = true;
}

/* ---- the channels, before an edge ---- */

static void noise(bus *b, uint8_t *data, unsigned lo, unsigned hi, bool only_outside) {
    for (unsigned i = 0; i < b->bytes; i++) {
        if (!only_outside || i < lo || i > hi) {
            data[i] = (uint8_t)tb_rng_u32(&b->rng);
        }
    }
}

static void lanes(const bus *b, const burst *u, unsigned beat, unsigned *lo, unsigned *hi) {
    if (b->lite) {
        *lo = 0;
        *hi = b->bytes - 1;
    } else {
        tb_axi_beat(u->ax.addr, u->ax.len, u->ax.size, u->ax.burst, beat, b->bytes, NULL, lo, hi);
    }
}

static void put_address(bus *b, tb_axi_ax *ax, const burst *list, unsigned next, bool *up) {
    if (!*up && next < BURSTS && some(b)) {
        *ax = list[next].ax;
        *up = true;
    }
    ax->valid = *up;
    ax->ready = some(b);
}

/* The mark of the last beat, right or wrong; the four kinds of mistakes of a direction stand side by side. */
static bool mark(bus *b, burst *u, unsigned beat, mistake early) {
    if (b->lite) {
        return true;
    }
    if (beat + 1 < u->beats && err(b, early)) {
        return true;
    }
    if (beat + 1 == u->beats && err(b, (mistake)(early + 1))) {
        return false;
    }
    if (beat + 1 < u->beats && err(b, (mistake)(early + 2))) {
        u->beats = beat + 1;
    } else if (beat + 1 == u->beats && err(b, (mistake)(early + 3))) {
        u->beats++;
    }
    return beat + 1 == u->beats;
}

static void new_beat(bus *b) {
    burst *u = &b->wr[b->w];
    unsigned lo;
    unsigned hi;
    lanes(b, u, b->w_beat, &lo, &hi);
    b->s.w.strb[0] = b->s.w.strb[1] = 0;
    for (unsigned i = lo; i <= hi; i++) {
        b->s.w.strb[i >> 6] |= (tb_rng_chance(&b->rng, 3, 4) ? UINT64_C(1) : 0) << (i & 63u);
    }
    const bool behind = b->second && !b->outside && b->broken >= 0 && b->w == (unsigned)b->broken + 1;
    if ((lo > 0 || hi + 1 < b->bytes) && !b->lite && (behind || err(b, STROBE_OUTSIDE))) {
        b->outside = true;
        const unsigned lane = lo > 0 ? lo - 1 : hi + 1;
        b->s.w.strb[lane >> 6] |= UINT64_C(1) << (lane & 63u);
    }
    noise(b, b->wdata, 0, 0, false);
    const bool before = b->made;
    b->s.w.last = mark(b, u, b->w_beat, WLAST_EARLY);
    b->broken = b->made && !before ? (int)b->w : b->broken;
    if (b->w_beat > u->ax.len) {
        b->s.w.strb[0] = b->s.w.strb[1] = 0;
    }
}

/* Data may run ahead of the addresses by some bursts. */
static void put_data(bus *b) {
    if (!b->w_up && b->w < BURSTS && b->w < b->aw + 3 && some(b)) {
        new_beat(b);
        b->w_up = true;
    } else if (b->w_up && !b->lite) { /* lanes without a strobe may change while they wait */
        for (unsigned i = 0; i < b->bytes; i++) {
            b->wdata[i] ^= (b->s.w.strb[i >> 6] >> (i & 63u) & 1u) == 0 ? 0x5a : 0;
        }
    }
    b->s.w.valid = b->w_up;
    b->s.w.ready = some(b);
}

/* The oldest burst of an ID, drawn, that may be answered; -1: none. Of one ID the order is that of the addresses. */
static int pick(bus *b, const burst *list, bool write) {
    const uint64_t id = b->lite ? 0 : tb_rng_range(&b->rng, 0, IDS - 1);
    for (unsigned i = 0; i < BURSTS; i++) {
        if (list[i].ax.id == id && list[i].accepted && !list[i].answered) {
            return write && list[i].sent < list[i].beats ? -1 : (int)i;
        }
    }
    return -1;
}

static void put_response(bus *b) {
    if (b->b_of < 0 && some(b)) {
        b->b_of = pick(b, b->wr, true);
        if (b->b_of >= 0) {
            b->s.b.id = b->wr[b->b_of].ax.id;
            b->s.b.resp = (uint8_t)(tb_rng_chance(&b->rng, 1, 8) ? TB_AXI_SLVERR : TB_AXI_OKAY);
        }
    }
    b->s.b.valid = b->b_of >= 0;
    b->s.b.ready = some(b);
}

static void put_read(bus *b) {
    unsigned lo;
    unsigned hi;
    if (b->r_of < 0 && some(b)) {
        b->r_of = pick(b, b->rd, false);
        if (b->r_of >= 0) {
            burst *u = &b->rd[b->r_of];
            b->s.r.id = u->ax.id;
            b->s.r.resp = (uint8_t)(tb_rng_chance(&b->rng, 1, 8) ? TB_AXI_DECERR : TB_AXI_OKAY);
            b->s.r.last = mark(b, u, u->got, RLAST_EARLY);
            noise(b, b->rdata, 0, 0, false);
        }
    } else if (b->r_of >= 0) {
        lanes(b, &b->rd[b->r_of], b->rd[b->r_of].got, &lo, &hi);
        noise(b, b->rdata, lo, hi, true);
    }
    b->s.r.valid = b->r_of >= 0;
    b->s.r.ready = some(b);
}

/* ---- after it ---- */

static void take(bus *b) {
    const tb_axi_sample *s = &b->s;
    if (s->aw.valid && s->aw.ready) {
        b->wr[b->aw++].accepted = true;
        b->aw_up = false;
    }
    if (s->ar.valid && s->ar.ready) {
        b->rd[b->ar++].accepted = true;
        b->ar_up = false;
    }
    if (s->w.valid && s->w.ready) {
        burst *u = &b->wr[b->w];
        u->sent++;
        b->w_up = false;
        b->w += u->sent == u->beats;
        b->w_beat = u->sent == u->beats ? 0 : b->w_beat + 1;
    }
    if (s->b.valid && s->b.ready) {
        b->wr[b->b_of].answered = true;
        b->b_of = -1;
    }
    if (s->r.valid && s->r.ready) {
        burst *u = &b->rd[b->r_of];
        u->answered = ++u->got == u->beats;
        b->r_of = -1;
    }
}

/* What the checker sees of an edge, where the mistake is one of valid and ready. */
static void spoil(bus *b, tb_axi_sample *s) {
    const struct {
        bool *valid, *ready;
        tb_axi_signal signal; /* valid; ready is the next one */
    } all[TB_AXI_CHANNELS] = {{&s->aw.valid, &s->aw.ready, TB_AXI_AWVALID},
                              {&s->w.valid, &s->w.ready, TB_AXI_WVALID},
                              {&s->b.valid, &s->b.ready, TB_AXI_BVALID},
                              {&s->ar.valid, &s->ar.ready, TB_AXI_ARVALID},
                              {&s->r.valid, &s->r.ready, TB_AXI_RVALID}};
    const unsigned c = (unsigned)tb_rng_range(&b->rng, 0, TB_AXI_CHANNELS - 1);
    *s = b->s;
    if (b->w_waits && err(b, VALID_FALLS)) {
        s->w.valid = b->s.w.valid = false;
    } else if (*all[c].valid && err(b, READY_X)) {
        *all[c].ready = false;
        s->x = TB_AXI_X(all[c].signal + 1);
    } else if (*all[c].valid && err(b, VALID_X)) {
        *all[c].valid = false;
        s->x = TB_AXI_X(all[c].signal);
    }
    b->w_waits = b->s.w.valid && !b->s.w.ready;
}

static bool over(const bus *b) {
    for (unsigned i = 0; i < BURSTS; i++) {
        if (!b->wr[i].answered || !b->rd[i].answered) {
            return false;
        }
    }
    return true;
}

static void run(bus *b, tb_axi_monitor *mon) {
    const tb_axi_mon_cfg cfg = {.name = "random",
                                .lite = b->lite,
                                .bytes = b->bytes,
                                .max_waits = UINT32_MAX,
                                .widths = {.id = 8, .awuser = 4, .wuser = 4, .buser = 4, .aruser = 4, .ruser = 4}};
    assert_int_equal(tb_axi_mon_init(mon, &cfg), 0);
    b->s.reset_n = true;
    tb_axi_sample seen;
    b->s.w.data = b->wdata;
    b->s.r.data = b->rdata;
    tb_axi_mon_step(mon, &b->s);
    for (uint64_t cycle = 1; cycle < 100000 && !over(b); cycle++) {
        b->s.cycle = cycle;
        put_address(b, &b->s.aw, b->wr, b->aw, &b->aw_up);
        put_address(b, &b->s.ar, b->rd, b->ar, &b->ar_up);
        put_data(b);
        put_response(b);
        put_read(b);
        spoil(b, &seen);
        tb_axi_mon_step(mon, &seen);
        take(b);
    }
    assert_true(over(b));
    tb_axi_mon_finish(mon, b->s.cycle);
}

static void complain(const tb_axi_monitor *mon, uint64_t seed, const char *what) {
    char text[320];
    for (unsigned i = 0; i < mon->violations && i < 6; i++) {
        tb_axi_violation_text(mon, &mon->first[i], text, sizeof text);
        print_error("    %s\n", text);
    }
    fail_msg("seed %u: %s", (unsigned)seed, what);
}

static unsigned runs(void) {
    return getenv("TANDEM_CHECK") != NULL ? 20000 : 1500;
}

static void legal_traffic(void **state) {
    (void)state;
    uint64_t beats = 0;
    for (uint64_t seed = 0; seed < runs(); seed++) {
        bus b;
        tb_axi_monitor mon;
        open_bus(&b, seed, NONE);
        run(&b, &mon);
        if (mon.violations + mon.notes > 0) {
            complain(&mon, seed, "legal traffic is complained of");
        }
        beats += mon.stats.beats[TB_AXI_R] + mon.stats.beats[TB_AXI_W];
        tb_axi_mon_free(&mon);
    }
    assert_true(beats > 100 * runs());
}

/* Is it the violation that this mistake is? */
static bool fits(mistake m, tb_axi_rule rule) {
    const char *name = tb_axi_rule_name(rule);
    const size_t length = strlen(name);
    switch (m) {
    case VALID_FALLS:
        return rule == AXI4_ERRM_WVALID_STABLE;
    case STROBE_OUTSIDE:
        return rule == AXI4_ERRM_WSTRB;
    case READY_X:
        return strcmp(name + length - 7, "READY_X") == 0;
    case VALID_X:
        return strcmp(name + length - 7, "VALID_X") == 0;
    default:
        return rule == (m <= W_LONG ? AXI4_ERRM_WDATA_NUM : AXI4_ERRS_RDATA_NUM);
    }
}

/* One mistake in random traffic: the first violation is that one. Others follow in a few runs only, where the traffic
 * behind it can be read in two ways. */
static void one_mistake(void **state) {
    (void)state;
    /* behind a missing WLAST the data of the next burst come before its address */
    static const uint64_t also[] = {1393};
    const unsigned plain = runs() / 5, all = plain + (unsigned)(sizeof also / sizeof *also);
    for (unsigned m = NONE + 1; m < MISTAKES; m++) {
        unsigned made = 0;
        unsigned alone = 0;
        for (unsigned i = 0; i < all; i++) {
            const uint64_t seed = i < plain ? i : also[i - plain];
            bus b;
            tb_axi_monitor mon;
            open_bus(&b, seed, (mistake)m);
            run(&b, &mon);
            made += b.made;
            alone += b.made && mon.violations == 1;
            if (b.made ? mon.violations == 0 || !fits((mistake)m, mon.first[0].rule) : mon.violations > 0) {
                complain(&mon, seed, mistake_names[m]);
            }
            tb_axi_mon_free(&mon);
        }
        const bool two_readings = m == W_LONG || m == R_LONG || m == VALID_X;
        if (made < runs() / 10 || alone < (two_readings ? made * 2 / 3 : made)) {
            fail_msg("%s: the only violation in %u of %u runs", mistake_names[m], alone, made);
        }
    }
}

/* A wrong number of beats, and a wrong strobe in the next write: both are seen, but where that strobe is right for the
 * other burst that the beat may belong to. */
static void second_mistake(void **state) {
    (void)state;
    for (unsigned m = WLAST_EARLY; m <= W_LONG; m++) {
        unsigned made = 0;
        unsigned found = 0;
        for (uint64_t seed = 0; seed < runs(); seed++) {
            bus b;
            tb_axi_monitor mon;
            open_bus(&b, seed, (mistake)m);
            b.second = true;
            run(&b, &mon);
            made += b.outside;
            found += b.outside && mon.per_rule[AXI4_ERRM_WSTRB] == 1;
            if (b.made && mon.per_rule[AXI4_ERRM_WDATA_NUM] == 0) {
                complain(&mon, seed, mistake_names[m]);
            }
            tb_axi_mon_free(&mon);
        }
        const unsigned most = m == W_LONG ? made * 2 / 3 : made * 9 / 10;
        if (made < runs() / 5 || found < most) {
            fail_msg("%s: the strobe in the next write is seen in %u of %u runs", mistake_names[m], found, made);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legal_traffic),
        cmocka_unit_test(one_mistake),
        cmocka_unit_test(second_mistake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
