/* The data channel of writes: stability, strobes, number of beats. Addresses and data pair in order, whichever comes
 * first. */
#include "mon_priv.h"

#include <inttypes.h>
#include <string.h>

/* ---- stability ---- */

int axi_data_differs(const uint8_t *a, const uint8_t *b, uint32_t bytes, const uint64_t lanes[2]) {
    for (uint32_t i = 0; i < bytes; i++) {
        if (a[i] != b[i] && ((lanes[i >> 6] >> (i & 63u)) & 1u) != 0) {
            return (int)i;
        }
    }
    return -1;
}

/* The beat changed while it was stalled. True: compare with the new beat from now on. */
static COLD bool changed(tb_axi_monitor *mon, const tb_axi_sample *s) {
    const uint64_t x = s->x | mon->prev.x;
    const tb_axi_open *b = wr_filling(mon);
    const int beat = b != NULL ? (int)b->beat : -1;
    bool found = false;
    const bool strb = (s->w.strb[0] ^ mon->prev.w.strb[0]) != 0 || (s->w.strb[1] ^ mon->prev.w.strb[1]) != 0;
    if (strb && (x & TB_AXI_X(TB_AXI_WSTRB)) == 0) {
        axi_bad(mon, AXI4_ERRM_WSTRB_STABLE, TB_AXI_W, s->cycle, b, beat, "WSTRB changed before WREADY");
    }
    if (s->w.last != mon->prev.w.last && (x & TB_AXI_X(TB_AXI_WLAST)) == 0 && !mon->cfg.lite) {
        axi_bad(mon, AXI4_ERRM_WLAST_STABLE, TB_AXI_W, s->cycle, b, beat, "WLAST changed to %u before WREADY",
                s->w.last ? 1u : 0u);
    }
    if (s->w.user != mon->prev.w.user && (x & TB_AXI_X(TB_AXI_WUSER)) == 0 && !mon->cfg.lite) {
        axi_bad(mon, AXI4_ERRM_WUSER_STABLE, TB_AXI_W, s->cycle, b, beat,
                "WUSER changed from 0x%" PRIx64 " to 0x%" PRIx64 " before WREADY", mon->prev.w.user, s->w.user);
    }
    /* lanes whose strobe changes during the stall are covered by WSTRB_STABLE */
    uint64_t lanes[2] = {UINT64_MAX, UINT64_MAX};
    for (unsigned i = 0; i < 2; i++) {
        lanes[i] = mon->cfg.strict_data ? UINT64_MAX : s->w.strb[i] & mon->prev.w.strb[i];
        lanes[i] &= (x & TB_AXI_X(TB_AXI_WDATA)) != 0 ? ~(mon->prev.w_x[i] | s->w_x[i]) : UINT64_MAX;
    }
    const int lane = axi_data_differs(mon->prev_w, s->w.data, mon->cfg.bytes, lanes);
    if (lane >= 0) {
        axi_bad(mon, AXI4_ERRM_WDATA_STABLE, TB_AXI_W, s->cycle, b, beat,
                "WDATA lane %d changed from 0x%02x to 0x%02x before WREADY", lane, mon->prev_w[lane], s->w.data[lane]);
        found = true;
    }
    return found || strb || s->w.last != mon->prev.w.last || s->w.user != mon->prev.w.user ||
           (x & TB_AXI_X(TB_AXI_WDATA)) != 0;
}

static bool same(const tb_axi_monitor *mon, const tb_axi_sample *s) {
    return ((s->w.strb[0] ^ mon->prev.w.strb[0]) | (s->w.strb[1] ^ mon->prev.w.strb[1]) |
            (s->w.user ^ mon->prev.w.user)) == 0 &&
           s->w.last == mon->prev.w.last && axi_data_same(mon->prev_w, s->w.data, mon->cfg.bytes);
}

static COLD void odd_beat(tb_axi_monitor *mon, const tb_axi_sample *s) {
    const tb_axi_project *p = &mon->cfg.proj;
    const tb_axi_open *b = wr_filling(mon);
    const int beat = b != NULL ? (int)b->beat : -1;
    if (s->w.user != 0 && mon->cfg.widths.wuser == 0 && !mon->cfg.lite) {
        axi_bad(mon, AXI4_ERRM_WUSER_TIEOFF, TB_AXI_W, s->cycle, b, beat,
                "WUSER is 0x%" PRIx64 " on a port that has no bit of it", s->w.user);
    }
    if (p->on && p->read_only && !mon->told_data) { /* once: the address is reported separately */
        mon->told_data = axi_bad(mon, PROJ_ERRM_RDONLY, TB_AXI_W, s->cycle, b, beat, "data on a port that only reads");
    }
    if (p->on && p->w_gap != 0 && mon->w_inside && s->cycle - mon->w_moved > p->w_gap + UINT64_C(1)) {
        axi_bad(mon, PROJ_RECM_W_GAP, TB_AXI_W, s->cycle, b, beat, "%" PRIu64 " idle cycles inside a burst",
                s->cycle - mon->w_moved - 1);
    }
}

bool axi_check_w(tb_axi_monitor *mon, const tb_axi_sample *s) {
    if (held(mon, TB_AXI_W)) {
        if (UNLIKELY(!s->w.valid)) {
            const tb_axi_open *b = wr_filling(mon);
            axi_bad(mon, AXI4_ERRM_WVALID_STABLE, TB_AXI_W, s->cycle, b, b != NULL ? (int)b->beat : -1,
                    "WVALID fell before WREADY");
            return false;
        }
        return !same(mon, s) && changed(mon, s);
    }
    if (UNLIKELY(s->w.user != 0 || mon->w_extra)) {
        odd_beat(mon, s);
    }
    return true;
}

/* ---- beats ---- */

/* WLAST does not come with beat AWLEN + 1. False: that may be due to a handshake that was X. */
static COLD bool wrong_end(tb_axi_monitor *mon, tb_axi_open *b, const tb_axi_early *e, uint64_t cycle) {
    if (e->last && b->len - b->beat <= b->slack) {
        return false;
    }
    axi_bad(mon, AXI4_ERRM_WDATA_NUM, TB_AXI_W, cycle, b, (int)b->beat, "WLAST is %u on beat %u of %u",
            e->last ? 1u : 0u, b->beat + 1u, b->len + 1u);
    return true;
}

/* Lanes of the next beat, if they are known. */
static inline bool lanes_known(const tb_axi_monitor *mon, const tb_axi_open *b) {
    return !mon->cfg.lite && (b->unknown & UNKNOWN_LANES) == 0 && b->slack == 0;
}

/* Strobes on other lanes than those of the burst, and these. */
static inline void check_strobes(tb_axi_monitor *mon, const tb_axi_open *b, const uint64_t strb[2],
                                 const uint64_t more[2], uint64_t cycle) {
    unsigned lo;
    unsigned hi;
    uint64_t lanes[2];
    burst_lanes(mon, b, b->beat, &lo, &hi);
    lane_mask(lo, hi, lanes);
    if (UNLIKELY(((strb[0] & ~(lanes[0] | more[0])) | (strb[1] & ~(lanes[1] | more[1]))) != 0)) {
        axi_bad(mon, AXI4_ERRM_WSTRB, TB_AXI_W, cycle, b, (int)b->beat, "strobes outside lanes %u..%u on beat %u", lo,
                hi, b->beat + 1u);
    }
}

void axi_check_strobes(tb_axi_monitor *mon, const tb_axi_open *b, const tb_axi_open *other, const uint64_t strb[2],
                       uint64_t cycle) {
    unsigned lo;
    unsigned hi;
    uint64_t more[2] = {0, 0};
    if (other != NULL) {
        burst_lanes(mon, other, other->beat, &lo, &hi);
        lane_mask(lo, hi, more);
    }
    if (lanes_known(mon, b)) {
        check_strobes(mon, b, strb, more, cycle);
    }
}

/* One data beat and the burst that it belongs to. */
static void match(tb_axi_monitor *mon, tb_axi_open *b, const tb_axi_early *e, uint64_t cycle) {
    static const uint64_t none[2] = {0, 0};
    if (!(b->full && b->beat > 0) && lanes_known(mon, b) && !e->guessed) {
        check_strobes(mon, b, e->strb, none, cycle);
    }
    if (mon->cfg.proj.order) {
        axi_project_wrote(mon, b, e->strb);
    }
    const bool full = b->beat >= b->len;
    bool last = e->last;
    bool wrong = false;
    if (UNLIKELY(last != full || e->last_x) && !mon->cfg.lite) {
        const bool known = (b->unknown & UNKNOWN_LEN) == 0;
        last = e->last_x && known ? full : last;
        wrong = last != full && known && wrong_end(mon, b, e, cycle);
    }
    b->first = b->beat == 0 ? e->cycle : b->first;
    b->beat++;
    b->moved = e->cycle > b->moved ? e->cycle : b->moved;
    if (last || wrong) {
        b->data_done = true;
        mon->wr_filled++;
        if (UNLIKELY(wrong)) {
            axi_sync_begin(mon, true, b, !last);
        }
    }
}

static void store_early(tb_axi_monitor *mon, const tb_axi_early *e) {
    void *ring = mon->early;
    const bool room =
        axi_ring_room(mon, &ring, sizeof *mon->early, &mon->early_cap, &mon->early_head, mon->early_count);
    mon->early = (tb_axi_early *)ring;
    if (room) {
        mon->early[(mon->early_head + mon->early_count++) & (mon->early_cap - 1)] = *e;
    }
}

void axi_store_held(tb_axi_monitor *mon, uint32_t beats, uint64_t cycle) {
    for (uint32_t i = 0; i < beats; i++) {
        const bool held = i < TB_AXI_HELD;
        const tb_axi_early e = {.strb = {held ? mon->sync_strb[i][0] : 0, held ? mon->sync_strb[i][1] : 0},
                                .cycle = cycle,
                                .last = i + 1 == beats};
        store_early(mon, &e);
    }
}

uint32_t axi_early_bursts(const tb_axi_monitor *mon) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < mon->early_count; i++) {
        n += mon->early[(mon->early_head + i) & (mon->early_cap - 1)].last;
    }
    return n;
}

void axi_drop_strays(tb_axi_monitor *mon) {
    const uint32_t most = mon->stray_bs > 0 ? axi_early_bursts(mon) : 0;
    const uint32_t less = mon->stray_bs > most ? mon->stray_bs - most : 0;
    memmove(mon->stray_b, mon->stray_b + less, (mon->stray_bs - less) * sizeof mon->stray_b[0]);
    mon->stray_bs -= less;
    mon->strays[1] += less;
}

void axi_feed_early(tb_axi_monitor *mon, uint64_t cycle) {
    while (mon->early_count > 0 && mon->wr_filled < mon->wr_count) {
        const tb_axi_early e = mon->early[mon->early_head];
        mon->early_head = (mon->early_head + 1) & (mon->early_cap - 1);
        mon->early_count--;
        if (UNLIKELY(mon->w_sync.active)) {
            axi_sync_w(mon, &e, cycle);
        } else {
            match(mon, wr_filling(mon), &e, cycle);
        }
    }
}

void axi_drop_writes(tb_axi_monitor *mon) {
    while (mon->wr_count > 0 && wr_at(mon, 0)->resp_done && wr_at(mon, 0)->data_done) {
        mon->wr_head = (mon->wr_head + 1) & (mon->wr_cap - 1);
        mon->wr_count--;
        mon->wr_filled--;
    }
}

void axi_take_w(tb_axi_monitor *mon, const tb_axi_sample *s) {
    const bool last = s->w.last || mon->cfg.lite;
    axi_stat_strobes(mon, s->w.strb, last);
    mon->w_inside = !last;
    mon->w_moved = s->cycle;
    mon->w_lasts += last;
    if (UNLIKELY(mon->blind[1] != 0)) {
        return;
    }
    const tb_axi_early e = {.strb = {s->w.strb[0], s->w.strb[1]},
                            .cycle = s->cycle,
                            .last = last,
                            .last_x = (s->x & TB_AXI_X(TB_AXI_WLAST)) != 0,
                            .guessed = (s->x & TB_AXI_X(TB_AXI_WSTRB)) != 0};
    if (mon->early_count == 0 && UNLIKELY(mon->w_sync.active) && axi_sync_can(mon)) {
        axi_sync_w(mon, &e, s->cycle);
    } else if (mon->early_count == 0 && mon->wr_filled < mon->wr_count) {
        match(mon, wr_filling(mon), &e, s->cycle);
    } else {
        store_early(mon, &e);
        return;
    }
    axi_drop_writes(mon);
}
