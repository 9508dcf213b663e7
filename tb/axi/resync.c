/*
 * Resynchronisation after a burst with a wrong number of beats.
 *
 * Two mistakes look the same at first. An early last beat may end a burst that is really too short, or the rest of it
 * may still come. Without LAST the burst may have too many beats, or only LAST is missing. The beats that follow, up to
 * the next LAST, decide: if their number is that of the next burst in order, they are the next burst; else they belong
 * to the broken one. Without LAST they are held until the next burst has its address, which may come after them. So one
 * mistake is reported once, and later bursts are checked again. Strobes of those beats are not checked.
 */
#include "mon_priv.h"

tb_axi_resync *axi_r_sync(tb_axi_monitor *mon, uint64_t id) {
    for (uint32_t i = 0; i < TB_AXI_RESYNCS; i++) {
        if (mon->r_sync[i].active && (mon->r_sync[i].id == id || mon->one_id)) {
            return &mon->r_sync[i];
        }
    }
    return NULL;
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
    *y = (tb_axi_resync){
        .active = true, .missing = missing, .id = b->id, .owed = b->len >= b->beat ? b->len + 1u - b->beat : 0};
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

static void finish_write(tb_axi_monitor *mon, tb_axi_open *b, uint32_t beats, uint64_t cycle) {
    b->beat = beats;
    b->first = b->moved = cycle;
    b->data_done = true;
    mon->wr_filled++;
}

bool axi_sync_can(const tb_axi_monitor *mon) {
    return !mon->w_sync.missing || mon->wr_filled < mon->wr_count;
}

void axi_sync_w(tb_axi_monitor *mon, const tb_axi_early *e, uint64_t cycle) {
    tb_axi_resync *y = &mon->w_sync;
    tb_axi_open *next = wr_filling(mon);
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
            axi_store_guessed(mon, beats, e->cycle); /* data whose address is still to come */
        }
        return;
    }
    finish_write(mon, next, beats, e->cycle);
    if (open_still(y, v == BROKEN)) {
        y->beats = 0;
    } else {
        end(mon, y);
    }
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
    } else {
        end(mon, y);
    }
}
