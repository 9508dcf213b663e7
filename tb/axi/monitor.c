/* One clock edge: order of the checks, handshakes, the trace hash, the end. */
#include "mon_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../case/hash.h"

#define MAX_WAITS 16u
#define EXCLUSIVES 64u

void tb_axi_mon_defaults(tb_axi_mon_cfg *cfg, const char *name, const tb_axi_port *port) {
    memset(cfg, 0, sizeof *cfg);
    cfg->name = name;
    cfg->lite = port->lite;
    cfg->bytes = port->bytes;
    cfg->widths = port->widths;
}

static bool legal_width(const tb_axi_mon_cfg *cfg) {
    return (cfg->bytes & (cfg->bytes - 1)) == 0 && cfg->bytes >= (cfg->lite ? 4 : 1) &&
           cfg->bytes <= (cfg->lite ? 8 : TB_AXI_MAX_BYTES);
}

int tb_axi_mon_init(tb_axi_monitor *mon, const tb_axi_mon_cfg *cfg) {
    memset(mon, 0, sizeof *mon);
    mon->cfg = *cfg;
    if (!legal_width(cfg)) {
        axi_bad(mon, cfg->lite ? AXI4LITE_AUXM_DATA_WIDTH : AXI4_AUXM_DATA_WIDTH, TB_AXI_W, cfg->from, NULL, -1,
                "a data bus of %u bytes, expected %s", cfg->bytes,
                cfg->lite ? "4 or 8" : "a power of two from 1 to 128");
        return -1;
    }
    uint32_t cap = 32;
    while (cap < cfg->depth && cap < UINT32_C(1) << 20) {
        cap *= 2;
    }
    while ((1u << mon->size_max) < cfg->bytes) {
        mon->size_max++;
    }
    mon->max_waits = cfg->max_waits != 0 ? cfg->max_waits : MAX_WAITS;
    lane_mask(0, cfg->bytes - 1, mon->lanes);
    mon->one_id = cfg->lite || cfg->widths.id == 0;
    mon->w_extra = cfg->proj.on && (cfg->proj.read_only || cfg->proj.w_gap != 0);
    mon->rd_cap = mon->wr_cap = cap;
    mon->early_cap = 256;
    mon->excl_cap = cfg->exclusives != 0 ? cfg->exclusives : EXCLUSIVES;
    mon->rd = (tb_axi_open *)calloc(cap, sizeof *mon->rd);
    mon->wr = (tb_axi_open *)calloc(cap, sizeof *mon->wr);
    mon->early = (tb_axi_early *)calloc(mon->early_cap, sizeof *mon->early);
    mon->excl = (tb_axi_exclusive *)calloc(mon->excl_cap, sizeof *mon->excl);
    if (mon->rd == NULL || mon->wr == NULL || mon->early == NULL || mon->excl == NULL) {
        tb_axi_mon_free(mon);
        return -1;
    }
    tb_axi_mon_reset(mon);
    mon->reset_known = false;
    return 0;
}

void tb_axi_mon_free(tb_axi_monitor *mon) {
    free(mon->rd);
    free(mon->wr);
    free(mon->early);
    free(mon->excl);
    mon->rd = mon->wr = NULL;
    mon->early = NULL;
    mon->excl = NULL;
}

void axi_forget(tb_axi_monitor *mon, bool write) {
    mon->wild[write] = mon->excuse[write] = mon->unsure[write] = 0;
    mon->strays[write] = 0;
    if (write) {
        mon->wr_head = mon->wr_count = mon->wr_filled = mon->wr_live = 0;
        mon->early_head = mon->early_count = 0;
        mon->stray_bs = 0;
        mon->w_sync.active = false;
    } else {
        mon->rd_head = mon->rd_count = mon->rd_live = 0;
        mon->r_stray = false;
        memset(mon->r_sync, 0, sizeof mon->r_sync);
        mon->syncs = 0;
    }
}

void tb_axi_mon_reset(tb_axi_monitor *mon) {
    for (unsigned d = 0; d < 2; d++) {
        axi_forget(mon, d != 0);
        mon->blind[d] = 0;
    }
    mon->w_inside = false;
    mon->w_lasts = mon->number[1];
    mon->excl_count = 0;
    mon->excl_lost = false;
    mon->stalled = mon->maybe = mon->waited = mon->reset_said = 0;
    mon->x_said = mon->prev.x = 0;
    mon->deadline = UINT64_MAX;
    mon->in_reset = mon->reset_known = true;
}

/* ---- bursts that are not followed ---- */

void axi_blind_answer(tb_axi_monitor *mon, bool write, uint64_t cycle) {
    if (mon->blind[write] == BLIND_FOREVER) {
        return;
    }
    if (!mon->blind_said[write]) {
        mon->blind_said[write] =
            axi_bad(mon, write ? AXI4_AUXM_WCAM_UNDERFLOW : AXI4_AUXM_RCAM_UNDERFLOW, write ? TB_AXI_B : TB_AXI_R,
                    cycle, NULL, -1, "the answer belongs to a burst that was not stored");
    }
    mon->blind[write] -= mon->blind[write] > 1;
    /* data must be at the boundary of a burst, too */
    const bool aligned = !write || (mon->w_lasts == mon->number[1] && !mon->w_inside);
    if (mon->blind[write] == 1 && aligned) {
        mon->blind[write] = 0;
        axi_forget(mon, write);
    }
}

/* A trace that began in the middle of traffic: after an idle time nothing can be in flight. */
static COLD void rested(tb_axi_monitor *mon, const tb_axi_sample *s) {
    const bool busy[2] = {s->ar.valid || s->r.valid, s->aw.valid || s->w.valid || s->b.valid};
    for (unsigned d = 0; d < 2; d++) {
        if (mon->blind[d] == BLIND_FOREVER && s->cycle - mon->active[d] >= TB_AXI_QUIET) {
            mon->blind[d] = 0;
            mon->w_lasts = d == 1 ? mon->number[1] : mon->w_lasts;
            mon->w_inside = d == 0 && mon->w_inside;
        }
        mon->active[d] = busy[d] ? s->cycle : mon->active[d];
    }
}

/* ---- trace hash ---- */

static inline uint64_t hash_beat(const tb_axi_monitor *mon, uint64_t cycle, tb_axi_channel ch, uint64_t a, uint64_t b) {
    uint64_t h = tb_hash_u64(*mon->cfg.hash, cycle);
    h = tb_hash_u64(h, ((uint64_t)mon->cfg.port << 8) | (uint64_t)ch);
    h = tb_hash_u64(h, a);
    return tb_hash_u64(h, b);
}

/* Data lanes under a mask; the others count as 0. */
static inline uint64_t hash_data(const tb_axi_monitor *mon, uint64_t h, const uint8_t *data, const uint64_t mask[2]) {
    uint64_t word = 0;
    if (mon->cfg.bytes < 8) {
        memcpy(&word, data, mon->cfg.bytes);
        return tb_hash_u64(h, word & lane_bytes(mask, 0));
    }
    const bool all = ((~mask[0] & mon->lanes[0]) | (~mask[1] & mon->lanes[1])) == 0;
    for (unsigned i = 0; i < mon->cfg.bytes; i += 8) {
        memcpy(&word, data + i, 8);
        h = tb_hash_u64(h, all ? word : word & lane_bytes(mask, i));
    }
    return h;
}

static void hash_ax(const tb_axi_monitor *mon, const tb_axi_ax *ax, tb_axi_channel ch, uint64_t cycle) {
    const uint64_t word = ax->id | (uint64_t)ax->len << 16 | (uint64_t)ax->size << 24 | (uint64_t)ax->burst << 32 |
                          (uint64_t)ax->lock << 36 | (uint64_t)ax->cache << 40 | (uint64_t)ax->prot << 44 |
                          (uint64_t)ax->qos << 48 | (uint64_t)ax->region << 52;
    *mon->cfg.hash = hash_beat(mon, cycle, ch, ax->addr, word);
}

/* ---- handshakes ---- */

/* After all handshakes of an edge, as a burst that ends and one that begins cancel. */
static void count_flight(tb_axi_monitor *mon, bool write, uint64_t cycle) {
    uint32_t *most = write ? &mon->stats.max_writes : &mon->stats.max_reads;
    const uint32_t live = write ? mon->wr_live : mon->rd_live;
    *most = live > *most ? live : *most;
    if (mon->cfg.proj.on) {
        axi_project_flight(mon, write, cycle);
    }
}

static void take_write(tb_axi_monitor *mon, const tb_axi_sample *s, unsigned moved) {
    const bool hash = mon->cfg.hash != NULL;
    /* the address first: its own first data beat may be accepted at the same edge */
    if (moved >> TB_AXI_AW & 1u) {
        mon->stats.beats[TB_AXI_AW]++;
        axi_take_aw(mon, &s->aw, s->cycle, s->x);
        if (hash) {
            hash_ax(mon, &s->aw, TB_AXI_AW, s->cycle);
        }
    }
    if (moved >> TB_AXI_W & 1u) {
        mon->stats.beats[TB_AXI_W]++;
        axi_take_w(mon, s);
        if (hash) {
            const uint64_t h =
                hash_beat(mon, s->cycle, TB_AXI_W, s->w.strb[0], s->w.strb[1] << 1 | (s->w.last ? 1 : 0));
            *mon->cfg.hash = hash_data(mon, h, s->w.data, s->w.strb);
        }
    }
    if (moved >> TB_AXI_B & 1u) {
        mon->stats.beats[TB_AXI_B]++;
        axi_take_b(mon, s);
        if (hash) {
            *mon->cfg.hash = hash_beat(mon, s->cycle, TB_AXI_B, s->b.id, s->b.resp);
        }
    }
    if (moved >> TB_AXI_AW & 1u) {
        count_flight(mon, true, s->cycle);
    }
}

static void take_read(tb_axi_monitor *mon, const tb_axi_sample *s, unsigned moved) {
    const bool ar = (moved >> TB_AXI_AR & 1u) != 0;
    /* also here: data that come with their own address are reported as too early, and then they are its data */
    if (ar) {
        mon->stats.beats[TB_AXI_AR]++;
        axi_take_ar(mon, &s->ar, s->cycle, s->x);
    }
    if (moved >> TB_AXI_R & 1u) {
        uint64_t lanes[2];
        mon->stats.beats[TB_AXI_R]++;
        axi_take_r(mon, s, lanes);
        if (mon->cfg.hash != NULL) {
            const uint64_t h = hash_beat(mon, s->cycle, TB_AXI_R, s->r.id << 8 | s->r.resp, s->r.last ? 1 : 0);
            *mon->cfg.hash = hash_data(mon, h, s->r.data, lanes);
        }
    }
    if (ar) {
        if (mon->cfg.hash != NULL) {
            hash_ax(mon, &s->ar, TB_AXI_AR, s->cycle);
        }
        count_flight(mon, false, s->cycle);
    }
}

/* ---- waiting ---- */

static COLD void too_long(tb_axi_monitor *mon, uint64_t cycle) {
    static const tb_axi_rule rules[TB_AXI_CHANNELS] = {AXI4_RECS_AWREADY_MAX_WAIT, AXI4_RECS_WREADY_MAX_WAIT,
                                                       AXI4_RECM_BREADY_MAX_WAIT, AXI4_RECS_ARREADY_MAX_WAIT,
                                                       AXI4_RECM_RREADY_MAX_WAIT};
    uint64_t next = UINT64_MAX;
    for (unsigned c = 0; c < TB_AXI_CHANNELS; c++) {
        if (((mon->stalled & ~(unsigned)mon->waited) >> c & 1u) == 0) {
            continue;
        }
        const uint64_t at = mon->stalled_since[c] + mon->max_waits;
        if (cycle < at) {
            next = at < next ? at : next;
            continue;
        }
        const bool ax = c == TB_AXI_AW || c == TB_AXI_AR;
        const char *name = tb_axi_channel_name((tb_axi_channel)c);
        const tb_axi_open b =
            ax ? axi_offered(mon, c == TB_AXI_AW ? &mon->prev.aw : &mon->prev.ar, c == TB_AXI_AW, cycle)
               : (tb_axi_open){0};
        mon->waited |= (uint8_t)(1u << c);
        axi_bad(mon, rules[c], (tb_axi_channel)c, cycle, ax ? &b : NULL, -1, "%sVALID has waited %u cycles for %sREADY",
                name, mon->max_waits, name);
    }
    mon->deadline = next;
}

/* Store the payload that must be stable until the handshake. fresh: bit per channel whose payload is not stored yet. */
static void remember(tb_axi_monitor *mon, const tb_axi_sample *s, unsigned stalled, unsigned fresh) {
    if ((fresh & stalled) != 0) {
        if ((fresh & stalled) >> TB_AXI_AW & 1u) {
            mon->prev.aw = s->aw;
        }
        if ((fresh & stalled) >> TB_AXI_AR & 1u) {
            mon->prev.ar = s->ar;
        }
        if ((fresh & stalled) >> TB_AXI_W & 1u) {
            mon->prev.w = s->w;
            memcpy(mon->prev_w, s->w.data, mon->cfg.bytes);
        }
        if ((fresh & stalled) >> TB_AXI_B & 1u) {
            mon->prev.b = s->b;
        }
        if ((fresh & stalled) >> TB_AXI_R & 1u) {
            mon->prev.r = s->r;
            memcpy(mon->prev_r, s->r.data, mon->cfg.bytes);
        }
    }
    const unsigned began = stalled & ~(unsigned)mon->stalled;
    mon->stalled = (uint8_t)stalled;
    if (began != 0) {
        for (unsigned left = began; left != 0; left &= left - 1) {
            mon->stalled_since[__builtin_ctz(left)] = s->cycle;
        }
        mon->waited &= (uint8_t)~began;
        const uint64_t at = mon->max_waits == UINT32_MAX ? UINT64_MAX : s->cycle + mon->max_waits;
        mon->deadline = at < mon->deadline ? at : mon->deadline;
    }
    for (unsigned left = stalled; left != 0; left &= left - 1) {
        mon->stats.stall[__builtin_ctz(left)]++;
    }
    if (UNLIKELY(s->cycle >= mon->deadline)) {
        too_long(mon, s->cycle);
    }
}

/* ---- one edge ---- */

static unsigned bit(bool set, tb_axi_channel ch) {
    return (set ? 1u : 0u) << ch;
}

/* An edge outside reset without X in any valid or ready. */
static void edge(tb_axi_monitor *mon, const tb_axi_sample *s) {
    const unsigned valid = bit(s->aw.valid, TB_AXI_AW) | bit(s->w.valid, TB_AXI_W) | bit(s->b.valid, TB_AXI_B) |
                           bit(s->ar.valid, TB_AXI_AR) | bit(s->r.valid, TB_AXI_R);
    const unsigned ready = bit(s->aw.ready, TB_AXI_AW) | bit(s->w.ready, TB_AXI_W) | bit(s->b.ready, TB_AXI_B) |
                           bit(s->ar.ready, TB_AXI_AR) | bit(s->r.ready, TB_AXI_R);
    const unsigned look = valid | mon->stalled;
    const unsigned moved = valid & ready;
    unsigned fresh = 0;
    if (UNLIKELY((mon->blind[0] | mon->blind[1]) != 0)) {
        rested(mon, s);
    }
    if (look >> TB_AXI_AW & 1u) {
        fresh |= bit(axi_check_ax(mon, s, true), TB_AXI_AW);
    }
    if (look >> TB_AXI_W & 1u) {
        fresh |= bit(axi_check_w(mon, s), TB_AXI_W);
    }
    if (look >> TB_AXI_B & 1u) {
        fresh |= bit(axi_check_b(mon, s), TB_AXI_B);
    }
    if (look >> TB_AXI_AR & 1u) {
        fresh |= bit(axi_check_ax(mon, s, false), TB_AXI_AR);
    }
    if (look >> TB_AXI_R & 1u) {
        fresh |= bit(axi_check_r(mon, s), TB_AXI_R);
    }
    if (moved != 0) {
        mon->progress += (unsigned)__builtin_popcount(moved);
        mon->last = s->cycle;
        if ((moved & (1u << TB_AXI_AW | 1u << TB_AXI_W | 1u << TB_AXI_B)) != 0) {
            take_write(mon, s, moved);
        }
        if ((moved & (1u << TB_AXI_AR | 1u << TB_AXI_R)) != 0) {
            take_read(mon, s, moved);
        }
    }
    remember(mon, s, valid & ~ready, fresh);
}

void tb_axi_mon_step(tb_axi_monitor *mon, const tb_axi_sample *s) {
    if (UNLIKELY(s->x != 0 || !s->reset_n || mon->in_reset || mon->maybe != 0)) {
        tb_axi_sample clean;
        if (axi_unknown(mon, s, &clean)) {
            edge(mon, &clean);
            mon->in_reset = mon->first_edge = mon->low = false;
            mon->prev.cycle = s->cycle;
            mon->prev.x = s->x;
            memcpy(mon->prev.w_x, s->w_x, sizeof s->w_x);
            memcpy(mon->prev.r_x, s->r_x, sizeof s->r_x);
        }
        return;
    }
    edge(mon, s);
    mon->prev.x = 0;
}

/* ---- the end ---- */

/* Bursts in flight at the end. A response without a burst, which is reported by itself, is no excuse for one without a
 * response: it may be a mistake of its own, and its report may be off or before the cycles that count. */
static void unfinished(tb_axi_monitor *mon, bool write, uint64_t cycle) {
    static const char *const what[2][2] = {{"read lacks", "reads lack"}, {"write has no", "writes have no"}};
    const uint32_t live = write ? mon->wr_live : mon->rd_live;
    const tb_axi_open *b = tb_axi_mon_burst(mon, write, 0);
    char strays[96] = "";
    if (mon->blind[write] != 0 || b == NULL || live <= mon->unsure[write]) {
        return;
    }
    if (mon->strays[write] > 0) {
        snprintf(strays, sizeof strays, "; %" PRIu64 " before belonged to none, the last in cycle %" PRIu64,
                 mon->strays[write], mon->stray_at[write]);
    }
    axi_bad(mon, write ? AXI4_ERRS_BRESP_ALL_DONE_EOS : AXI4_ERRS_RLAST_ALL_DONE_EOS, write ? TB_AXI_B : TB_AXI_R,
            cycle, b, -1, "the end, and %u %s %s%s", live, what[write][live != 1], write ? "response" : "data", strays);
}

void tb_axi_mon_finish(tb_axi_monitor *mon, uint64_t cycle) {
    if (mon->over || !mon->begun) {
        return;
    }
    mon->over = true;
    axi_stat_depth(mon, false, cycle);
    axi_stat_depth(mon, true, cycle);
    unfinished(mon, false, cycle);
    unfinished(mon, true, cycle);
}

const tb_axi_open *tb_axi_mon_burst(const tb_axi_monitor *mon, bool write, uint32_t i) {
    for (uint32_t k = 0; k < (write ? mon->wr_count : mon->rd_count); k++) {
        const tb_axi_open *b = write ? wr_at(mon, k) : rd_at(mon, k);
        if (!(write ? b->resp_done && b->data_done : b->data_done) && i-- == 0) {
            return b;
        }
    }
    return NULL;
}

void tb_axi_mon_open(const tb_axi_monitor *mon, uint32_t *reads, uint32_t *writes) {
    *reads = mon->rd_live;
    *writes = mon->wr_live;
}
