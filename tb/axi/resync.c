/*
 * Resynchronisation after a burst with a wrong number of beats.
 *
 * Two mistakes look the same at first. An early last beat may end a burst that is really too short, or the rest of it
 * may still come. Without LAST the burst may have too many beats, or only LAST is missing. The beats that follow, up to
 * the next LAST, decide: if their number is that of the next burst in order, they are the next burst; else they belong
 * to the broken one. Without LAST they are held until the next burst has its address, which may come after them. So one
 * mistake is reported once, and later bursts are checked again. Their strobes are kept, and checked when it is clear
 * whose they are; where both bursts are possible, those are wrong that neither allows.
 */
#include "mon_priv.h"

const tb_axi_resync *axi_r_broken(const tb_axi_monitor *mon, uint64_t id) {
    for (uint32_t i = 0; i < TB_AXI_RESYNCS; i++) {
        if (mon->r_sync[i].active && (mon->r_sync[i].id == id || mon->one_id)) {
            return &mon->r_sync[i];
        }
    }
    return NULL;
}

tb_axi_resync *axi_r_sync(tb_axi_monitor *mon, uint64_t id) {
    const tb_axi_resync *y = axi_r_broken(mon, id);
    return y != NULL ? &mon->r_sync[y - mon->r_sync] : NULL;
}

void axi_sync_begin(tb_axi_monitor *mon, bool write, const tb_axi_open *b, bool missing) {
    tb_axi_resync *y = &mon->w_sync;
    if (!write) {
        y = axi_r_sync(mon, b->id);
        for (uint32_t i = 0; y == NULL && i < TB_AXI_RESYNCS; i++) {
            y = mon->r_sync[i].active ? NULL : &mon->r_sync[i];
        }
        if (y == NULL) { /* as many IDs at a time are broken: go on without */
            return;
        }
        mon->syncs += !y->active;
    }
    *y = (tb_axi_resync){.active = true,
                         .missing = missing,
                         .id = b->id,
                         .owed = b->len >= b->beat ? b->len + 1u - b->beat : 0,
                         .of = *b};
}

/* The beats were taken as one burst. If the broken one lacked as many, they may have been its rest, and the burst
 * itself follows now. */
static bool open_still(const tb_axi_resync *y, bool broken) {
    return y->missing ? broken : y->beats == y->owed;
}

static void end(tb_axi_monitor *mon, tb_axi_resync *y) {
    mon->syncs -= y != &mon->w_sync;
    y->active = false;
}

typedef enum verdict {
    MORE,  /* not clear yet */
    REST,  /* the beats belong to the broken burst */
    NEXT,  /* they are the next burst */
    BROKEN /* they are the next burst, and it is broken as well */
} verdict;

/* beats: of the next burst, 0: there is none. */
static verdict judge(const tb_axi_resync *y, uint32_t beats, bool last) {
    if (y->missing) {
        return y->beats == beats ? (last ? NEXT : BROKEN) : last ? REST : MORE;
    }
    if (!last) {
        return MORE;
    }
    return y->beats == beats ? NEXT : y->beats == y->owed || beats == 0 ? REST : BROKEN;
}

/* either: the beats may be those of the broken burst as well. taken: cycle of the last beat. */
static void finish_write(tb_axi_monitor *mon, tb_axi_open *b, uint32_t beats, bool either, uint64_t taken,
                         uint64_t cycle) {
    tb_axi_open other = mon->w_sync.of;
    for (b->beat = 0; b->beat < beats && b->beat <= b->len; b->beat++) {
        const uint64_t *strb = mon->sync_strb[b->beat];
        if (!mon->w_sync.again) {
            axi_check_strobes(mon, b, either ? &other : NULL, strb, cycle);
        }
        if (mon->cfg.proj.order) {
            axi_project_wrote(mon, b, strb);
        }
        other.beat++;
    }
    b->beat = beats;
    b->first = b->moved = taken;
    b->data_done = true;
    mon->wr_filled++;
}

bool axi_sync_can(const tb_axi_monitor *mon) {
    return !mon->w_sync.missing || mon->wr_filled < mon->wr_count;
}

void axi_sync_w(tb_axi_monitor *mon, const tb_axi_early *e, uint64_t cycle) {
    tb_axi_resync *y = &mon->w_sync;
    tb_axi_open *next = wr_filling(mon);
    if (y->beats < TB_AXI_HELD) {
        mon->sync_strb[y->beats][0] = e->guessed ? 0 : e->strb[0];
        mon->sync_strb[y->beats][1] = e->guessed ? 0 : e->strb[1];
    }
    y->beats++;
    const verdict v = judge(y, next != NULL ? next->len + 1u : 0, e->last);
    if (v == MORE) {
        return;
    }
    const uint32_t beats = y->beats;
    if (v == BROKEN) {
        axi_bad(mon, AXI4_ERRM_WDATA_NUM, TB_AXI_W, cycle, next, (int)beats - 1, "WLAST is %u on beat %u of %u",
                e->last ? 1u : 0u, beats, next->len + 1u);
    }
    if (v == REST) {
        end(mon, y);
        if (!y->missing && next == NULL && beats != y->owed) {
            axi_store_held(mon, beats, e->cycle); /* data whose address is still to come */
        }
        return;
    }
    const bool open = open_still(y, v == BROKEN);
    finish_write(mon, next, beats, open && !y->missing, e->cycle, cycle);
    if (open) {
        y->beats = 0;
        y->again = true;
    } else {
        end(mon, y);
    }
}

bool axi_sync_lanes(const tb_axi_monitor *mon, const tb_axi_resync *y, const tb_axi_open *b, uint64_t lanes[2]) {
    unsigned lo;
    unsigned hi;
    uint64_t rest[2];
    if (y->missing || y->again || (y->of.unknown & UNKNOWN_LANES) != 0 || y->beats > b->len) {
        return false; /* a beat too many has no lanes */
    }
    if (y->beats < y->owed) {
        burst_lanes(mon, &y->of, y->of.beat + y->beats, &lo, &hi);
        lane_mask(lo, hi, rest);
        lanes[0] &= rest[0];
        lanes[1] &= rest[1];
    }
    return true;
}

void axi_sync_r(tb_axi_monitor *mon, tb_axi_resync *y, tb_axi_open *next, bool last, uint64_t cycle) {
    y->beats++;
    verdict v = judge(y, next != NULL ? next->len + 1u : 0, last);
    if (v == MORE && next == NULL && !y->missing && y->beats >= y->owed) {
        v = REST; /* no other read is possible */
    }
    if (v == MORE) {
        return;
    }
    if (v == REST) {
        end(mon, y);
        return;
    }
    if (v == BROKEN) {
        axi_bad(mon, AXI4_ERRS_RDATA_NUM, TB_AXI_R, cycle, next, (int)y->beats - 1, "RLAST is %u on beat %u of %u",
                last ? 1u : 0u, y->beats, next->len + 1u);
    }
    next->beat = y->beats;
    next->first = next->moved = cycle;
    axi_read_done(mon, next, cycle);
    if (open_still(y, v == BROKEN)) {
        y->beats = 0;
        y->again = true;
    } else {
        end(mon, y);
    }
}
