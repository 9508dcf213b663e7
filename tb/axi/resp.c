/* Responses of writes and data of reads: to which burst they belong, legal values, last beats. */
#include "mon_priv.h"

#include <inttypes.h>
#include <string.h>

/* The response may belong to a burst hidden by a handshake with X. */
static COLD bool excused(tb_axi_monitor *mon, bool write) {
    const bool yes = mon->excuse[write] > 0;
    mon->excuse[write] -= yes;
    return yes;
}

/* ---- B ---- */

tb_axi_open *axi_wr_search(const tb_axi_monitor *mon, uint64_t id, bool id_x) {
    for (uint32_t i = 0; i < mon->wr_count; i++) {
        tb_axi_open *b = wr_at(mon, i);
        if (!b->resp_done && (b->id == id || mon->one_id)) {
            return b;
        }
    }
    for (uint32_t i = 0; UNLIKELY(id_x || mon->wild[1] > 0) && i < mon->wr_count; i++) {
        tb_axi_open *b = wr_at(mon, i);
        if (!b->resp_done && (id_x || (b->unknown & UNKNOWN_ID) != 0)) {
            return b;
        }
    }
    return NULL;
}

static COLD void b_changed(tb_axi_monitor *mon, const tb_axi_sample *s) {
    const uint64_t x = s->x | mon->prev.x;
    const tb_axi_open *b = axi_wr_find(mon, mon->prev.b.id, false);
    if (s->b.id != mon->prev.b.id && (x & TB_AXI_X(TB_AXI_BID)) == 0 && !mon->cfg.lite) {
        axi_bad(mon, AXI4_ERRS_BID_STABLE, TB_AXI_B, s->cycle, b, -1,
                "BID changed from 0x%" PRIx64 " to 0x%" PRIx64 " before BREADY", mon->prev.b.id, s->b.id);
    }
    if (s->b.resp != mon->prev.b.resp && (x & TB_AXI_X(TB_AXI_BRESP)) == 0) {
        axi_bad(mon, AXI4_ERRS_BRESP_STABLE, TB_AXI_B, s->cycle, b, -1, "BRESP changed from %u to %u before BREADY",
                mon->prev.b.resp, s->b.resp);
    }
    if (s->b.user != mon->prev.b.user && (x & TB_AXI_X(TB_AXI_BUSER)) == 0 && !mon->cfg.lite) {
        axi_bad(mon, AXI4_ERRS_BUSER_STABLE, TB_AXI_B, s->cycle, b, -1,
                "BUSER changed from 0x%" PRIx64 " to 0x%" PRIx64 " before BREADY", mon->prev.b.user, s->b.user);
    }
}

static COLD void b_exokay(tb_axi_monitor *mon, const tb_axi_sample *s, const tb_axi_open *b) {
    if (mon->cfg.lite) {
        axi_bad(mon, AXI4LITE_ERRS_BRESP_EXOKAY, TB_AXI_B, s->cycle, b, -1, "BRESP is EXOKAY");
    } else if (b != NULL && !b->lock && (b->unknown & UNKNOWN_LOCK) == 0) {
        axi_bad(mon, AXI4_ERRS_BRESP_EXOKAY, TB_AXI_B, s->cycle, b, -1,
                "BRESP is EXOKAY, but the write is not exclusive");
    }
}

static COLD void b_tied(tb_axi_monitor *mon, const tb_axi_sample *s, const tb_axi_open *b) {
    if (s->b.id != 0 && mon->cfg.widths.id == 0) {
        axi_bad(mon, AXI4_ERRS_BID_TIEOFF, TB_AXI_B, s->cycle, b, -1, "BID is 0x%" PRIx64 " on a port without IDs",
                s->b.id);
    }
    if (s->b.user != 0 && mon->cfg.widths.buser == 0) {
        axi_bad(mon, AXI4_ERRS_BUSER_TIEOFF, TB_AXI_B, s->cycle, b, -1,
                "BUSER is 0x%" PRIx64 " on a port that has no bit of it", s->b.user);
    }
}

/* Is there a write that this response may belong to? */
static void b_belongs(tb_axi_monitor *mon, const tb_axi_sample *s, const tb_axi_open *b) {
    const tb_axi_project *p = &mon->cfg.proj;
    if (UNLIKELY(b == NULL)) {
        if (mon->blind[1] == 0 && !excused(mon, true)) {
            axi_bad(mon, AXI4_ERRS_BRESP_AW, TB_AXI_B, s->cycle, NULL, -1,
                    "response to ID %" PRIu64 ", but no write of that ID was accepted at an earlier edge", s->b.id);
        }
    } else if (UNLIKELY(!b->data_done)) {
        if (b->slack == 0) {
            axi_bad(mon, AXI4_ERRS_BRESP_WLAST, TB_AXI_B, s->cycle, b, -1,
                    "response before the last data beat was accepted at an earlier edge");
        }
    } else if (UNLIKELY(p->on && p->w_to_b != 0 && s->cycle - b->moved > p->w_to_b)) {
        axi_bad(mon, PROJ_RECS_W_TO_B, TB_AXI_B, s->cycle, b, -1, "response %" PRIu64 " cycles after address and data",
                s->cycle - b->moved);
    }
}

bool axi_check_b(tb_axi_monitor *mon, const tb_axi_sample *s) {
    const bool waited = held(mon, TB_AXI_B);
    if (waited) {
        if (UNLIKELY(!s->b.valid)) {
            axi_bad(mon, AXI4_ERRS_BVALID_STABLE, TB_AXI_B, s->cycle, axi_wr_find(mon, mon->prev.b.id, false), -1,
                    "BVALID fell before BREADY");
            return false;
        }
        if (s->b.id == mon->prev.b.id && s->b.resp == mon->prev.b.resp && s->b.user == mon->prev.b.user) {
            return false;
        }
        b_changed(mon, s);
    }
    const tb_axi_open *b = axi_wr_find(mon, s->b.id, (s->x & TB_AXI_X(TB_AXI_BID)) != 0);
    if (UNLIKELY((s->b.id != 0 || s->b.user != 0) && !mon->cfg.lite)) {
        b_tied(mon, s, b);
    }
    if ((!waited || s->b.id != mon->prev.b.id) && (!mon->first_edge || axi_off(mon, AXI4_ERRS_BVALID_RESET))) {
        b_belongs(mon, s, b);
    }
    if (UNLIKELY(s->b.resp == TB_AXI_EXOKAY)) {
        b_exokay(mon, s, b);
    }
    return true;
}

void axi_answered(tb_axi_monitor *mon, tb_axi_open *b, uint64_t cycle) {
    axi_stat_depth(mon, true, cycle);
    axi_stat_done(mon, b, true, cycle);
    mon->wr_live--;
    if (UNLIKELY(mon->unsure[1] != 0) && mon->wr_live == 0) {
        mon->unsure[1] = 0;
    }
    b->resp_done = true;
    mon->wild[1] -= (b->unknown & UNKNOWN_ID) != 0;
}

/* A response without a write. */
static COLD void stray_b(tb_axi_monitor *mon, const tb_axi_sample *s) {
    if (mon->blind[1] != 0) {
        axi_blind_answer(mon, true, s->cycle);
        return;
    }
    if (mon->stray_bs < axi_early_bursts(mon) && mon->stray_bs < sizeof mon->stray_b / sizeof mon->stray_b[0]) {
        mon->stray_b[mon->stray_bs++] = s->b.id;
        return;
    }
    mon->strays[1]++;
    mon->stray_at[1] = s->cycle;
}

void axi_take_b(tb_axi_monitor *mon, const tb_axi_sample *s) {
    mon->stats.error_resp[1] += s->b.resp >= TB_AXI_SLVERR ? 1 : 0;
    tb_axi_open *b = axi_wr_find(mon, s->b.id, (s->x & TB_AXI_X(TB_AXI_BID)) != 0);
    if (UNLIKELY(b == NULL)) {
        stray_b(mon, s);
        return;
    }
    axi_answered(mon, b, s->cycle);
    axi_drop_writes(mon);
}

/* ---- R ---- */

tb_axi_open *axi_rd_search(const tb_axi_monitor *mon, uint64_t id, bool id_x) {
    for (uint32_t i = 0; i < mon->rd_count; i++) {
        tb_axi_open *b = rd_at(mon, i);
        if (!b->data_done && (b->id == id || mon->one_id)) {
            return b;
        }
    }
    for (uint32_t i = 0; UNLIKELY(id_x || mon->wild[0] > 0) && i < mon->rd_count; i++) {
        tb_axi_open *b = rd_at(mon, i);
        if (!b->data_done && (id_x || (b->unknown & UNKNOWN_ID) != 0)) {
            return b;
        }
    }
    return NULL;
}

/* The number of the beat that comes next, -1: it is not known. */
static int r_beat(const tb_axi_monitor *mon, const tb_axi_open *b) {
    return b == NULL || (mon->syncs > 0 && axi_r_broken(mon, b->id) != NULL) ? -1 : (int)b->beat;
}

static COLD bool r_changed(tb_axi_monitor *mon, const tb_axi_sample *s) {
    const uint64_t x = s->x | mon->prev.x;
    const tb_axi_open *b = axi_rd_find(mon, mon->prev.r.id, false);
    const int beat = r_beat(mon, b);
    const bool meta = s->r.id != mon->prev.r.id || s->r.resp != mon->prev.r.resp || s->r.last != mon->prev.r.last ||
                      s->r.user != mon->prev.r.user || (x & TB_AXI_X(TB_AXI_RDATA)) != 0;
    if (s->r.id != mon->prev.r.id && (x & TB_AXI_X(TB_AXI_RID)) == 0 && !mon->cfg.lite) {
        axi_bad(mon, AXI4_ERRS_RID_STABLE, TB_AXI_R, s->cycle, b, beat,
                "RID changed from 0x%" PRIx64 " to 0x%" PRIx64 " before RREADY", mon->prev.r.id, s->r.id);
    }
    if (s->r.resp != mon->prev.r.resp && (x & TB_AXI_X(TB_AXI_RRESP)) == 0) {
        axi_bad(mon, AXI4_ERRS_RRESP_STABLE, TB_AXI_R, s->cycle, b, beat, "RRESP changed from %u to %u before RREADY",
                mon->prev.r.resp, s->r.resp);
    }
    if (s->r.last != mon->prev.r.last && (x & TB_AXI_X(TB_AXI_RLAST)) == 0 && !mon->cfg.lite) {
        axi_bad(mon, AXI4_ERRS_RLAST_STABLE, TB_AXI_R, s->cycle, b, beat, "RLAST changed to %u before RREADY",
                s->r.last ? 1u : 0u);
    }
    if (s->r.user != mon->prev.r.user && (x & TB_AXI_X(TB_AXI_RUSER)) == 0 && !mon->cfg.lite) {
        axi_bad(mon, AXI4_ERRS_RUSER_STABLE, TB_AXI_R, s->cycle, b, beat,
                "RUSER changed from 0x%" PRIx64 " to 0x%" PRIx64 " before RREADY", mon->prev.r.user, s->r.user);
    }
    uint64_t lanes[2];
    const bool judged = axi_r_lanes(mon, b, lanes);
    for (unsigned i = 0; i < 2; i++) {
        lanes[i] = mon->cfg.strict_data ? UINT64_MAX : lanes[i];
        lanes[i] &= (x & TB_AXI_X(TB_AXI_RDATA)) != 0 ? ~(mon->prev.r_x[i] | s->r_x[i]) : UINT64_MAX;
    }
    const int lane =
        judged || mon->cfg.strict_data ? axi_data_differs(mon->prev_r, s->r.data, mon->cfg.bytes, lanes) : -1;
    if (lane >= 0) {
        axi_bad(mon, AXI4_ERRS_RDATA_STABLE, TB_AXI_R, s->cycle, b, beat,
                "RDATA lane %d changed from 0x%02x to 0x%02x before RREADY", lane, mon->prev_r[lane], s->r.data[lane]);
    }
    return meta || lane >= 0;
}

bool axi_r_lanes(const tb_axi_monitor *mon, const tb_axi_open *b, uint64_t lanes[2]) {
    unsigned lo = 0;
    unsigned hi = mon->cfg.bytes - 1;
    const bool known = mon->cfg.lite || (b != NULL && (b->unknown & UNKNOWN_LANES) == 0 && b->slack == 0);
    const tb_axi_resync *y = known && UNLIKELY(mon->syncs > 0) ? axi_r_broken(mon, b->id) : NULL;
    if (known && b != NULL) {
        burst_lanes(mon, b, y != NULL ? y->beats : b->beat, &lo, &hi);
    }
    lane_mask(lo, hi, lanes);
    return known && (y == NULL || axi_sync_lanes(mon, y, b, lanes));
}

static COLD void r_exokay(tb_axi_monitor *mon, const tb_axi_sample *s, const tb_axi_open *b) {
    if (mon->cfg.lite) {
        axi_bad(mon, AXI4LITE_ERRS_RRESP_EXOKAY, TB_AXI_R, s->cycle, b, 0, "RRESP is EXOKAY");
    } else if (b != NULL && !b->lock && (b->unknown & UNKNOWN_LOCK) == 0) {
        const tb_axi_resync *y = mon->syncs > 0 ? axi_r_sync(mon, b->id) : NULL;
        if (y != NULL && (y->of.lock || (y->of.unknown & UNKNOWN_LOCK) != 0)) {
            return; /* it may be the rest of that one */
        }
        axi_bad(mon, AXI4_ERRS_RRESP_EXOKAY, TB_AXI_R, s->cycle, b, r_beat(mon, b),
                "RRESP is EXOKAY, but the read is not exclusive");
    }
}

static COLD void r_tied(tb_axi_monitor *mon, const tb_axi_sample *s, const tb_axi_open *b) {
    const int beat = b != NULL ? (int)b->beat : -1;
    if (s->r.id != 0 && mon->cfg.widths.id == 0) {
        axi_bad(mon, AXI4_ERRS_RID_TIEOFF, TB_AXI_R, s->cycle, b, beat, "RID is 0x%" PRIx64 " on a port without IDs",
                s->r.id);
    }
    if (s->r.user != 0 && mon->cfg.widths.ruser == 0) {
        axi_bad(mon, AXI4_ERRS_RUSER_TIEOFF, TB_AXI_R, s->cycle, b, beat,
                "RUSER is 0x%" PRIx64 " on a port that has no bit of it", s->r.user);
    }
}

/* Read data of an ID without a pending read. A burst of it is reported once, in the cycles that count. */
static COLD void stray_data(tb_axi_monitor *mon, const tb_axi_sample *s) {
    const bool told = mon->r_stray && (mon->r_stray_id == s->r.id || mon->one_id);
    if (mon->blind[0] != 0 || told || axi_r_sync(mon, s->r.id) != NULL) {
        return;
    }
    mon->r_told =
        excused(mon, false) ||
        axi_bad(mon, AXI4_ERRS_RID, TB_AXI_R, s->cycle, NULL, -1,
                "read data of ID %" PRIu64 ", but no read of that ID was accepted at an earlier edge", s->r.id);
}

/* Is this the right end of the burst? An early end is accepted with beats that X may have hidden. */
static bool right_end(const tb_axi_monitor *mon, const tb_axi_open *b, bool last) {
    const bool full = b->beat == b->len;
    return last == full || mon->cfg.lite || (b->unknown & UNKNOWN_LEN) != 0 || (last && b->len - b->beat <= b->slack);
}

static void r_belongs(tb_axi_monitor *mon, const tb_axi_sample *s, const tb_axi_open *b) {
    const tb_axi_project *p = &mon->cfg.proj;
    if (UNLIKELY(b == NULL)) {
        stray_data(mon, s);
        return;
    }
    if (UNLIKELY(!right_end(mon, b, s->r.last)) && (s->x & TB_AXI_X(TB_AXI_RLAST)) == 0 &&
        (mon->syncs == 0 || axi_r_sync(mon, b->id) == NULL)) {
        axi_bad(mon, AXI4_ERRS_RDATA_NUM, TB_AXI_R, s->cycle, b, (int)b->beat, "RLAST is %u on beat %u of %u",
                s->r.last ? 1u : 0u, b->beat + 1u, b->len + 1u);
    }
    if (UNLIKELY(p->on && p->r_gap != 0 && b->beat > 0 && s->cycle - b->moved > p->r_gap + UINT64_C(1))) {
        axi_bad(mon, PROJ_RECS_R_GAP, TB_AXI_R, s->cycle, b, (int)b->beat, "%" PRIu64 " idle cycles inside a burst",
                s->cycle - b->moved - 1);
    }
}

bool axi_check_r(tb_axi_monitor *mon, const tb_axi_sample *s) {
    const bool waited = held(mon, TB_AXI_R);
    bool again = false; /* what says where the beat belongs has changed */
    if (waited) {
        const tb_axi_sample *was = &mon->prev;
        if (UNLIKELY(!s->r.valid)) {
            const tb_axi_open *b = axi_rd_find(mon, was->r.id, false);
            axi_bad(mon, AXI4_ERRS_RVALID_STABLE, TB_AXI_R, s->cycle, b, r_beat(mon, b), "RVALID fell before RREADY");
            return false;
        }
        const bool same =
            s->r.id == was->r.id && s->r.resp == was->r.resp && s->r.last == was->r.last && s->r.user == was->r.user;
        if (same && axi_data_same(mon->prev_r, s->r.data, mon->cfg.bytes)) {
            return false;
        }
        if (!r_changed(mon, s)) {
            return false;
        }
        again = s->r.id != was->r.id || s->r.last != was->r.last;
    }
    const tb_axi_open *b = axi_rd_find(mon, s->r.id, (s->x & TB_AXI_X(TB_AXI_RID)) != 0);
    if (UNLIKELY((s->r.id != 0 || s->r.user != 0) && !mon->cfg.lite)) {
        r_tied(mon, s, b);
    }
    if ((!waited || again) && (!mon->first_edge || axi_off(mon, AXI4_ERRS_RVALID_RESET))) {
        r_belongs(mon, s, b);
    }
    if (UNLIKELY(s->r.resp == TB_AXI_EXOKAY)) {
        r_exokay(mon, s, b);
    }
    return true;
}

void axi_read_done(tb_axi_monitor *mon, tb_axi_open *b, uint64_t cycle) {
    axi_stat_depth(mon, false, cycle);
    axi_stat_done(mon, b, false, cycle);
    mon->rd_live--;
    if (UNLIKELY(mon->unsure[0] != 0) && mon->rd_live == 0) {
        mon->unsure[0] = 0;
    }
    b->data_done = true;
    mon->wild[0] -= (b->unknown & UNKNOWN_ID) != 0;
    while (mon->rd_count > 0 && rd_at(mon, 0)->data_done) {
        mon->rd_head = (mon->rd_head + 1) & (mon->rd_cap - 1);
        mon->rd_count--;
    }
}

static COLD void stray_r(tb_axi_monitor *mon, const tb_axi_sample *s, bool last) {
    if (mon->blind[0] != 0) {
        if (last) {
            axi_blind_answer(mon, false, s->cycle);
        }
        return;
    }
    mon->r_stray = !last && mon->r_told;
    mon->r_stray_id = s->r.id;
    mon->strays[0] += last;
    mon->stray_at[0] = s->cycle;
}

void axi_take_r(tb_axi_monitor *mon, const tb_axi_sample *s, uint64_t lanes[2]) {
    const bool last = s->r.last || mon->cfg.lite;
    mon->stats.error_resp[0] += s->r.resp >= TB_AXI_SLVERR ? 1 : 0;
    tb_axi_open *b = axi_rd_find(mon, s->r.id, (s->x & TB_AXI_X(TB_AXI_RID)) != 0);
    tb_axi_resync *y = UNLIKELY(mon->syncs > 0) ? axi_r_sync(mon, b != NULL ? b->id : s->r.id) : NULL;
    lanes[0] = lanes[1] = UINT64_MAX;
    if (UNLIKELY(y != NULL)) {
        axi_sync_r(mon, y, b, last, s->cycle);
        return;
    }
    if (UNLIKELY(b == NULL)) {
        stray_r(mon, s, last);
        return;
    }
    if (b->full && b->beat > 0) { /* mostly so */
        mon->stats.read_bytes += mon->cfg.bytes;
    } else {
        unsigned lo;
        unsigned hi;
        burst_lanes(mon, b, b->beat, &lo, &hi);
        lane_mask(lo, hi, lanes);
        mon->stats.read_bytes += hi - lo + 1u;
    }
    const bool end = (s->x & TB_AXI_X(TB_AXI_RLAST)) != 0 && (b->unknown & UNKNOWN_LEN) == 0 ? b->beat == b->len : last;
    const bool right = right_end(mon, b, end);
    b->first = b->beat == 0 ? s->cycle : b->first;
    b->beat++;
    b->moved = s->cycle;
    if (UNLIKELY(!right)) {
        axi_sync_begin(mon, false, b, !end);
    }
    if (end || !right) {
        axi_read_done(mon, b, s->cycle);
    }
}
