#include "monitor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../case/hash.h"

int tb_axi_mon_init(tb_axi_monitor *mon, const tb_axi_mon_cfg *cfg) {
    memset(mon, 0, sizeof *mon);
    mon->cfg = *cfg;
    if (cfg->bytes < 4 || cfg->bytes > TB_AXI_MAX_BYTES || (cfg->bytes & (cfg->bytes - 1)) != 0) {
        return -1;
    }
    uint32_t cap = 32;
    while (cap < cfg->depth && cap < UINT32_C(1) << 20) {
        cap *= 2;
    }
    mon->rd_cap = mon->wr_cap = cap;
    mon->early_cap = 256;
    mon->rd = (tb_axi_open *)calloc(cap, sizeof *mon->rd);
    mon->wr = (tb_axi_open *)calloc(cap, sizeof *mon->wr);
    mon->early = (tb_axi_early *)calloc(mon->early_cap, sizeof *mon->early);
    if (mon->rd == NULL || mon->wr == NULL || mon->early == NULL) {
        tb_axi_mon_free(mon);
        return -1;
    }
    mon->in_reset = true;
    return 0;
}

void tb_axi_mon_free(tb_axi_monitor *mon) {
    free(mon->rd);
    free(mon->wr);
    free(mon->early);
    mon->rd = NULL;
    mon->wr = NULL;
    mon->early = NULL;
}

void tb_axi_mon_reset(tb_axi_monitor *mon) {
    mon->rd_head = mon->rd_count = 0;
    mon->wr_head = mon->wr_count = mon->wr_filled = 0;
    mon->early_head = mon->early_count = 0;
    mon->stalled = 0;
    mon->in_reset = true;
}

__attribute__((format(printf, 6, 7))) static void violation(tb_axi_monitor *mon, tb_axi_rule rule, tb_axi_channel channel, uint64_t cycle,
                                                            uint64_t addr, const char *format, ...) {
    if (mon->violations < TB_AXI_KEEP) {
        tb_axi_violation *v = &mon->first[mon->violations];
        v->rule = rule;
        v->channel = channel;
        v->cycle = cycle;
        v->addr = addr;
        va_list args;
        va_start(args, format);
        vsnprintf(v->text, sizeof v->text, format, args);
        va_end(args);
    }
    mon->violations++;
    mon->per_rule[rule]++;
}

/* Room for one more element in a ring of elements of `size` bytes. Rings only grow when a design has more in flight than ever before. */
static bool ring_room(tb_axi_monitor *mon, void **ring, size_t size, uint32_t *cap, uint32_t *head, uint32_t count) {
    if (count < *cap) {
        return true;
    }
    uint8_t *bigger = (uint8_t *)malloc((size_t)*cap * 2 * size);
    if (bigger == NULL) {
        mon->oom = true;
        return false;
    }
    const uint8_t *old = (const uint8_t *)*ring;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(bigger + i * size, old + ((*head + i) & (*cap - 1)) * size, size);
    }
    free(*ring);
    *ring = bigger;
    *cap *= 2;
    *head = 0;
    return true;
}

static tb_axi_open *rd_at(tb_axi_monitor *mon, uint32_t i) {
    return &mon->rd[(mon->rd_head + i) & (mon->rd_cap - 1)];
}

static tb_axi_open *wr_at(tb_axi_monitor *mon, uint32_t i) {
    return &mon->wr[(mon->wr_head + i) & (mon->wr_cap - 1)];
}

/* Lanes lo..hi as a mask. */
static void lane_mask(unsigned lo, unsigned hi, uint64_t mask[2]) {
    for (unsigned w = 0; w < 2; w++) {
        const unsigned first = w * 64;
        if (hi < first || lo >= first + 64) {
            mask[w] = 0;
            continue;
        }
        const unsigned a = lo > first ? lo - first : 0;
        const unsigned b = hi - first > 63 ? 63 : hi - first;
        mask[w] = (UINT64_MAX << a) & (UINT64_MAX >> (63 - b));
    }
}

/* A burst whose size is legal for the bus; others are reported by their own rule and used as full width. */
static unsigned legal_size(const tb_axi_monitor *mon, unsigned size) {
    unsigned max = 0;
    while ((1u << max) < mon->cfg.bytes) {
        max++;
    }
    return size > max ? max : size;
}

static void beat_lanes(const tb_axi_monitor *mon, const tb_axi_open *b, uint32_t beat, unsigned *lo, unsigned *hi) {
    if (mon->cfg.lite) {
        *lo = 0;
        *hi = mon->cfg.bytes - 1;
        return;
    }
    tb_axi_beat(b->addr, b->len, legal_size(mon, b->size), b->burst, beat, mon->cfg.bytes, NULL, lo, hi);
}

/* ---- rules of one channel against the last sample ---- */

static void check_ax(tb_axi_monitor *mon, const tb_axi_sample *s, bool write) {
    const tb_axi_ax *ax = write ? &s->aw : &s->ar;
    const tb_axi_ax *was = write ? &mon->prev.aw : &mon->prev.ar;
    const tb_axi_channel ch = write ? TB_AXI_AW : TB_AXI_AR;
    const char *name = write ? "AW" : "AR";
    if (mon->in_reset && ax->valid) {
        violation(mon, write ? AXI4_ERRM_AWVALID_RESET : AXI4_ERRM_ARVALID_RESET, ch, s->cycle, ax->addr,
                  "%sVALID is high at the first edge after reset", name);
    }
    if (((mon->stalled >> ch) & 1u) != 0) {
        if (!ax->valid) {
            violation(mon, write ? AXI4_ERRM_AWVALID_STABLE : AXI4_ERRM_ARVALID_STABLE, ch, s->cycle, was->addr,
                      "%sVALID fell before %sREADY", name, name);
        } else if (ax->addr != was->addr) {
            violation(mon, write ? AXI4_ERRM_AWADDR_STABLE : AXI4_ERRM_ARADDR_STABLE, ch, s->cycle, was->addr,
                      "%sADDR changed to 0x%" PRIx64 " before %sREADY", name, ax->addr, name);
        }
    }
    if (!ax->valid || mon->cfg.lite) {
        return;
    }
    if (((mon->stalled >> ch) & 1u) != 0 && ax->addr == was->addr && ax->len == was->len && ax->size == was->size &&
        ax->burst == was->burst) {
        return; /* judged when it first appeared */
    }
    if (ax->size > 7 || (1u << ax->size) > mon->cfg.bytes) {
        violation(mon, write ? AXI4_ERRM_AWSIZE : AXI4_ERRM_ARSIZE, ch, s->cycle, ax->addr, "%sSIZE %u is wider than the bus of %u bytes",
                  name, ax->size, mon->cfg.bytes);
    }
    if (ax->burst == TB_AXI_INCR) {
        const uint64_t step = UINT64_C(1) << (ax->size & 7u);
        const uint64_t last = (ax->addr & ~(step - 1)) + (ax->len + UINT64_C(1)) * step - 1;
        if (ax->addr >> 12 != last >> 12) {
            violation(mon, write ? AXI4_ERRM_AWADDR_BOUNDARY : AXI4_ERRM_ARADDR_BOUNDARY, ch, s->cycle, ax->addr,
                      "burst of %u beats of %u bytes crosses a 4 KB boundary", ax->len + 1u, 1u << (ax->size & 7u));
        }
    }
}

static void check_w_stable(tb_axi_monitor *mon, const tb_axi_sample *s) {
    if (mon->in_reset && s->w.valid) {
        violation(mon, AXI4_ERRM_WVALID_RESET, TB_AXI_W, s->cycle, 0, "WVALID is high at the first edge after reset");
    }
    if (((mon->stalled >> TB_AXI_W) & 1u) == 0) {
        return;
    }
    const uint64_t addr = mon->wr_filled < mon->wr_count ? wr_at(mon, mon->wr_filled)->addr : 0;
    if (!s->w.valid) {
        violation(mon, AXI4_ERRM_WVALID_STABLE, TB_AXI_W, s->cycle, addr, "WVALID fell before WREADY");
        return;
    }
    for (unsigned i = 0; i < mon->cfg.bytes; i++) {
        if (((mon->prev.w.strb[i >> 6] >> (i & 63u)) & 1u) != 0 && mon->prev_w[i] != s->w.data[i]) {
            violation(mon, AXI4_ERRM_WDATA_STABLE, TB_AXI_W, s->cycle, addr, "WDATA lane %u changed from 0x%02x to 0x%02x before WREADY", i,
                      mon->prev_w[i], s->w.data[i]);
            return;
        }
    }
}

/* Index of the oldest read of an ID, or rd_count. */
static uint32_t rd_find(tb_axi_monitor *mon, uint64_t id) {
    for (uint32_t i = 0; i < mon->rd_count; i++) {
        const tb_axi_open *b = rd_at(mon, i);
        if (!b->data_done && b->id == id) {
            return i;
        }
    }
    return mon->rd_count;
}

static void check_r(tb_axi_monitor *mon, const tb_axi_sample *s) {
    const bool held = ((mon->stalled >> TB_AXI_R) & 1u) != 0;
    if (mon->in_reset && s->r.valid) {
        violation(mon, AXI4_ERRS_RVALID_RESET, TB_AXI_R, s->cycle, 0, "RVALID is high at the first edge after reset");
    }
    if (held && !s->r.valid) {
        const uint32_t was = rd_find(mon, mon->prev.r.id);
        violation(mon, AXI4_ERRS_RVALID_STABLE, TB_AXI_R, s->cycle, was < mon->rd_count ? rd_at(mon, was)->addr : 0,
                  "RVALID fell before RREADY");
    }
    if (!s->r.valid) {
        return;
    }
    const uint32_t i = rd_find(mon, s->r.id);
    if (i == mon->rd_count) {
        if (!held || s->r.id != mon->prev.r.id) {
            violation(mon, AXI4_ERRS_RID, TB_AXI_R, s->cycle, 0,
                      "read data of ID %u, but no read of that ID was accepted at an earlier edge", (unsigned)s->r.id);
        }
        return;
    }
    const tb_axi_open *b = rd_at(mon, i);
    if (held) {
        unsigned lo;
        unsigned hi;
        beat_lanes(mon, b, b->beat, &lo, &hi);
        for (unsigned k = lo; k <= hi; k++) {
            if (mon->prev_r[k] != s->r.data[k]) {
                violation(mon, AXI4_ERRS_RDATA_STABLE, TB_AXI_R, s->cycle, b->addr,
                          "RDATA lane %u changed from 0x%02x to 0x%02x before RREADY", k, mon->prev_r[k], s->r.data[k]);
                break;
            }
        }
    }
    const bool fresh = !held || s->r.last != mon->prev.r.last || s->r.id != mon->prev.r.id;
    if (fresh && !mon->cfg.lite && s->r.last != (b->beat == b->len)) {
        violation(mon, AXI4_ERRS_RDATA_NUM, TB_AXI_R, s->cycle, b->addr, "RLAST is %u on beat %u of %u", s->r.last ? 1u : 0u, b->beat + 1u,
                  b->len + 1u);
    }
}

/* Index of the oldest write of an ID without a response, or wr_count. */
static uint32_t wr_find(tb_axi_monitor *mon, uint64_t id) {
    for (uint32_t i = 0; i < mon->wr_count; i++) {
        const tb_axi_open *b = wr_at(mon, i);
        if (!b->resp_done && b->id == id) {
            return i;
        }
    }
    return mon->wr_count;
}

static void check_b(tb_axi_monitor *mon, const tb_axi_sample *s) {
    const bool held = ((mon->stalled >> TB_AXI_B) & 1u) != 0;
    if (mon->in_reset && s->b.valid) {
        violation(mon, AXI4_ERRS_BVALID_RESET, TB_AXI_B, s->cycle, 0, "BVALID is high at the first edge after reset");
    }
    if (held) {
        const uint32_t was = wr_find(mon, mon->prev.b.id);
        const uint64_t addr = was < mon->wr_count ? wr_at(mon, was)->addr : 0;
        if (!s->b.valid) {
            violation(mon, AXI4_ERRS_BVALID_STABLE, TB_AXI_B, s->cycle, addr, "BVALID fell before BREADY");
        } else if (s->b.resp != mon->prev.b.resp) {
            violation(mon, AXI4_ERRS_BRESP_STABLE, TB_AXI_B, s->cycle, addr, "BRESP changed from %u to %u before BREADY", mon->prev.b.resp,
                      s->b.resp);
        }
    }
    if (!s->b.valid || (held && s->b.id == mon->prev.b.id)) {
        return;
    }
    const uint32_t i = wr_find(mon, s->b.id);
    if (i == mon->wr_count) {
        violation(mon, AXI4_ERRS_BRESP_AW, TB_AXI_B, s->cycle, 0,
                  "response to ID %u, but no write of that ID was accepted at an earlier edge", (unsigned)s->b.id);
    } else if (!wr_at(mon, i)->data_done) {
        violation(mon, AXI4_ERRS_BRESP_WLAST, TB_AXI_B, s->cycle, wr_at(mon, i)->addr,
                  "response before the last data beat was accepted at an earlier edge");
    }
}

/* ---- handshakes ---- */

static void hash_beat(const tb_axi_monitor *mon, uint64_t cycle, tb_axi_channel ch, uint64_t a, uint64_t b) {
    uint64_t h = tb_hash_u64(*mon->cfg.hash, cycle);
    h = tb_hash_u64(h, ((uint64_t)mon->cfg.port << 8) | (uint64_t)ch);
    h = tb_hash_u64(h, a);
    *mon->cfg.hash = tb_hash_u64(h, b);
}

/* Data lanes under a mask; the others count as 0. */
static void hash_data(const tb_axi_monitor *mon, const uint8_t *data, const uint64_t mask[2]) {
    uint64_t h = *mon->cfg.hash;
    for (unsigned i = 0; i < mon->cfg.bytes; i += 8) {
        const unsigned n = mon->cfg.bytes < 8 ? mon->cfg.bytes : 8;
        uint64_t word = 0;
        memcpy(&word, data + i, n);
        const uint64_t lanes = (mask[i >> 6] >> (i & 63u)) & 0xffu;
        if (lanes != 0xff) {
            /* one bit a byte -> 0xff a byte */
            uint64_t m = 0;
            for (unsigned k = 0; k < 8; k++) {
                m |= ((lanes >> k) & 1u) != 0 ? UINT64_C(0xff) << (8 * k) : 0;
            }
            word &= m;
        }
        h = tb_hash_u64(h, word);
    }
    *mon->cfg.hash = h;
}

static uint64_t ax_word(const tb_axi_ax *ax) {
    return (uint64_t)ax->id | (uint64_t)ax->len << 16 | (uint64_t)ax->size << 24 | (uint64_t)ax->burst << 32 | (uint64_t)ax->lock << 36 |
           (uint64_t)ax->cache << 40 | (uint64_t)ax->prot << 44 | (uint64_t)ax->qos << 48 | (uint64_t)ax->region << 52;
}

static unsigned popcount(const uint64_t v[2]) {
    return (unsigned)(__builtin_popcountll(v[0]) + __builtin_popcountll(v[1]));
}

/* One data beat against the burst that it belongs to. */
static void match_w(tb_axi_monitor *mon, uint64_t cycle, tb_axi_open *b, const uint64_t strb[2], bool last) {
    unsigned lo;
    unsigned hi;
    uint64_t lanes[2];
    beat_lanes(mon, b, b->beat, &lo, &hi);
    lane_mask(lo, hi, lanes);
    if (!mon->cfg.lite && ((strb[0] & ~lanes[0]) | (strb[1] & ~lanes[1])) != 0) {
        violation(mon, AXI4_ERRM_WSTRB, TB_AXI_W, cycle, b->addr, "strobes outside lanes %u..%u on beat %u", lo, hi, b->beat + 1u);
    }
    const bool full = b->beat >= b->len;
    if (!mon->cfg.lite && last != full) {
        violation(mon, AXI4_ERRM_WDATA_NUM, TB_AXI_W, cycle, b->addr, "WLAST is %u on beat %u of %u", last ? 1u : 0u, b->beat + 1u,
                  b->len + 1u);
    }
    b->beat++;
    b->moved = cycle;
    /* after a wrong number of beats the design's own WLAST tells where the next burst begins */
    if (last || mon->cfg.lite) {
        b->data_done = true;
        mon->wr_filled++;
    }
}

static void drop_writes(tb_axi_monitor *mon) {
    while (mon->wr_count > 0 && wr_at(mon, 0)->resp_done && wr_at(mon, 0)->data_done) {
        mon->wr_head = (mon->wr_head + 1) & (mon->wr_cap - 1);
        mon->wr_count--;
        mon->wr_filled--;
    }
}

static void open_init(tb_axi_open *b, const tb_axi_ax *ax, uint64_t cycle) {
    memset(b, 0, sizeof *b);
    b->since = cycle;
    b->moved = cycle;
    b->addr = ax->addr;
    b->id = ax->id;
    b->len = ax->len;
    b->size = ax->size;
    b->burst = ax->burst;
}

static void take_aw(tb_axi_monitor *mon, const tb_axi_sample *s) {
    void *ring = mon->wr;
    const bool room = ring_room(mon, &ring, sizeof *mon->wr, &mon->wr_cap, &mon->wr_head, mon->wr_count);
    mon->wr = (tb_axi_open *)ring;
    if (!room) {
        return;
    }
    tb_axi_open *b = wr_at(mon, mon->wr_count);
    open_init(b, &s->aw, s->cycle);
    mon->wr_count++;
    if (mon->wr_count > mon->stats.max_writes) {
        mon->stats.max_writes = mon->wr_count;
    }
    /* data that came first */
    while (mon->early_count > 0 && !b->data_done) {
        const tb_axi_early *e = &mon->early[mon->early_head];
        match_w(mon, s->cycle, b, e->strb, e->last);
        mon->early_head = (mon->early_head + 1) & (mon->early_cap - 1);
        mon->early_count--;
    }
}

static void take_w(tb_axi_monitor *mon, const tb_axi_sample *s) {
    mon->stats.write_bytes += popcount(s->w.strb);
    if (mon->wr_filled < mon->wr_count) {
        match_w(mon, s->cycle, wr_at(mon, mon->wr_filled), s->w.strb, s->w.last);
        drop_writes(mon);
        return;
    }
    void *ring = mon->early;
    const bool room = ring_room(mon, &ring, sizeof *mon->early, &mon->early_cap, &mon->early_head, mon->early_count);
    mon->early = (tb_axi_early *)ring;
    if (room) {
        tb_axi_early *e = &mon->early[(mon->early_head + mon->early_count) & (mon->early_cap - 1)];
        e->strb[0] = s->w.strb[0];
        e->strb[1] = s->w.strb[1];
        e->last = s->w.last || mon->cfg.lite;
        mon->early_count++;
    }
}

static void take_b(tb_axi_monitor *mon, const tb_axi_sample *s) {
    mon->stats.error_resp[1] += s->b.resp >= TB_AXI_SLVERR ? 1 : 0;
    const uint32_t i = wr_find(mon, s->b.id);
    if (i < mon->wr_count) {
        wr_at(mon, i)->resp_done = true;
        drop_writes(mon);
    }
}

static void take_ar(tb_axi_monitor *mon, const tb_axi_sample *s) {
    void *ring = mon->rd;
    const bool room = ring_room(mon, &ring, sizeof *mon->rd, &mon->rd_cap, &mon->rd_head, mon->rd_count);
    mon->rd = (tb_axi_open *)ring;
    if (!room) {
        return;
    }
    open_init(rd_at(mon, mon->rd_count), &s->ar, s->cycle);
    mon->rd_count++;
    if (mon->rd_count > mon->stats.max_reads) {
        mon->stats.max_reads = mon->rd_count;
    }
}

static void take_r(tb_axi_monitor *mon, const tb_axi_sample *s) {
    mon->stats.error_resp[0] += s->r.resp >= TB_AXI_SLVERR ? 1 : 0;
    const uint32_t i = rd_find(mon, s->r.id);
    uint64_t lanes[2] = {UINT64_MAX, UINT64_MAX};
    if (i < mon->rd_count) {
        tb_axi_open *b = rd_at(mon, i);
        unsigned lo;
        unsigned hi;
        beat_lanes(mon, b, b->beat, &lo, &hi);
        lane_mask(lo, hi, lanes);
        mon->stats.read_bytes += hi - lo + 1u;
        b->beat++;
        b->moved = s->cycle;
        b->data_done = s->r.last || mon->cfg.lite;
        while (mon->rd_count > 0 && rd_at(mon, 0)->data_done) {
            mon->rd_head = (mon->rd_head + 1) & (mon->rd_cap - 1);
            mon->rd_count--;
        }
    }
    if (mon->cfg.hash != NULL) {
        hash_beat(mon, s->cycle, TB_AXI_R, (uint64_t)s->r.id << 8 | s->r.resp, s->r.last ? 1 : 0);
        hash_data(mon, s->r.data, lanes);
    }
}

static void handshakes(tb_axi_monitor *mon, const tb_axi_sample *s) {
    const bool hash = mon->cfg.hash != NULL;
    tb_axi_stats *st = &mon->stats;
    /* the address goes first: its own first data beat may be accepted at the same edge */
    if (s->aw.valid && s->aw.ready) {
        st->beats[TB_AXI_AW]++;
        mon->progress++;
        take_aw(mon, s);
        if (hash) {
            hash_beat(mon, s->cycle, TB_AXI_AW, s->aw.addr, ax_word(&s->aw));
        }
    }
    if (s->w.valid && s->w.ready) {
        st->beats[TB_AXI_W]++;
        mon->progress++;
        take_w(mon, s);
        if (hash) {
            hash_beat(mon, s->cycle, TB_AXI_W, s->w.strb[0], s->w.strb[1] << 1 | (s->w.last ? 1 : 0));
            hash_data(mon, s->w.data, s->w.strb);
        }
    }
    if (s->b.valid && s->b.ready) {
        st->beats[TB_AXI_B]++;
        mon->progress++;
        take_b(mon, s);
        if (hash) {
            hash_beat(mon, s->cycle, TB_AXI_B, s->b.id, s->b.resp);
        }
    }
    if (s->r.valid && s->r.ready) {
        st->beats[TB_AXI_R]++;
        mon->progress++;
        take_r(mon, s);
    }
    /* after R: data of a read that is accepted at this very edge is too early */
    if (s->ar.valid && s->ar.ready) {
        st->beats[TB_AXI_AR]++;
        mon->progress++;
        take_ar(mon, s);
        if (hash) {
            hash_beat(mon, s->cycle, TB_AXI_AR, s->ar.addr, ax_word(&s->ar));
        }
    }
}

/* Remember what must stay until it is taken. */
static void remember(tb_axi_monitor *mon, const tb_axi_sample *s) {
    unsigned stalled = 0;
    if (s->aw.valid && !s->aw.ready) {
        stalled |= 1u << TB_AXI_AW;
        mon->prev.aw = s->aw;
    }
    if (s->ar.valid && !s->ar.ready) {
        stalled |= 1u << TB_AXI_AR;
        mon->prev.ar = s->ar;
    }
    if (s->w.valid && !s->w.ready) {
        stalled |= 1u << TB_AXI_W;
        mon->prev.w = s->w;
        memcpy(mon->prev_w, s->w.data, mon->cfg.bytes);
    }
    if (s->b.valid && !s->b.ready) {
        stalled |= 1u << TB_AXI_B;
        mon->prev.b = s->b;
    }
    if (s->r.valid && !s->r.ready) {
        stalled |= 1u << TB_AXI_R;
        mon->prev.r = s->r;
        memcpy(mon->prev_r, s->r.data, mon->cfg.bytes);
    }
    const unsigned fresh = stalled & ~(unsigned)mon->stalled;
    mon->stalled = (uint8_t)stalled;
    for (unsigned c = 0; fresh != 0 && c < TB_AXI_CHANNELS; c++) {
        mon->stalled_since[c] = ((fresh >> c) & 1u) != 0 ? s->cycle : mon->stalled_since[c];
    }
    for (unsigned c = 0; stalled != 0 && c < TB_AXI_CHANNELS; c++) {
        mon->stats.stall[c] += (stalled >> c) & 1u;
    }
}

void tb_axi_mon_step(tb_axi_monitor *mon, const tb_axi_sample *s) {
    if (!s->reset_n) {
        tb_axi_mon_reset(mon);
        return;
    }
    check_ax(mon, s, true);
    check_w_stable(mon, s);
    check_b(mon, s);
    check_ax(mon, s, false);
    check_r(mon, s);
    mon->in_reset = false;
    const uint64_t before = mon->progress;
    handshakes(mon, s);
    if (mon->progress != before) {
        mon->last = s->cycle;
    }
    remember(mon, s);
}

const tb_axi_open *tb_axi_mon_burst(const tb_axi_monitor *mon, bool write, uint32_t i) {
    if (i >= (write ? mon->wr_count : mon->rd_count)) {
        return NULL;
    }
    return write ? &mon->wr[(mon->wr_head + i) & (mon->wr_cap - 1)] : &mon->rd[(mon->rd_head + i) & (mon->rd_cap - 1)];
}

void tb_axi_mon_open(const tb_axi_monitor *mon, uint32_t *reads, uint32_t *writes) {
    *reads = mon->rd_count;
    *writes = mon->wr_count;
}

void tb_axi_mon_defaults(tb_axi_mon_cfg *cfg, const char *name, const tb_axi_port *port) {
    memset(cfg, 0, sizeof *cfg);
    cfg->name = name;
    cfg->lite = port->lite;
    cfg->bytes = port->bytes;
    cfg->widths = port->widths;
}

void tb_axi_violation_text(const tb_axi_monitor *mon, const tb_axi_violation *v, char *dst, size_t size) {
    snprintf(dst, size, "%s on %s (%s) at cycle %" PRIu64 ", address 0x%" PRIx64 ": %s", tb_axi_rule_name(v->rule), mon->cfg.name,
             tb_axi_channel_name(v->channel), v->cycle, v->addr, v->text);
}
