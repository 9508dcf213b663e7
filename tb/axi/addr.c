/* The address channels: stability, legality of bursts, bursts that begin. */
#include "mon_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Rule of the channel for a rule of AW: both blocks of rules.def have the same order. */
static tb_axi_rule rule_of(tb_axi_rule aw, bool write) {
    return (tb_axi_rule)(write ? aw : aw + (AXI4_ERRM_ARADDR_BOUNDARY - AXI4_ERRM_AWADDR_BOUNDARY));
}

/* Bits of x of this channel, moved to the positions of AW's signals. */
static uint64_t x_of(uint64_t x, bool write) {
    return write ? x : x >> (TB_AXI_ARVALID - TB_AXI_AWVALID);
}

/* ---- stability ---- */

static uint64_t attributes(const tb_axi_ax *ax) {
    uint64_t word;
    memcpy(&word, &ax->len, 8);
    return word;
}

static bool same(const tb_axi_ax *a, const tb_axi_ax *b) {
    return a->addr == b->addr && a->id == b->id && a->user == b->user && attributes(a) == attributes(b);
}

/* x: signals that are or were X, at the positions of AW's */
static COLD void report_changes(tb_axi_monitor *mon, const tb_axi_ax *ax, const tb_axi_ax *was, bool write,
                                uint64_t cycle, uint64_t x) {
    const struct {
        tb_axi_rule rule;
        tb_axi_signal signal;
        uint64_t now, before;
    } all[] = {{AXI4_ERRM_AWADDR_STABLE, TB_AXI_AWADDR, ax->addr, was->addr},
               {AXI4_ERRM_AWBURST_STABLE, TB_AXI_AWBURST, ax->burst, was->burst},
               {AXI4_ERRM_AWCACHE_STABLE, TB_AXI_AWCACHE, ax->cache, was->cache},
               {AXI4_ERRM_AWID_STABLE, TB_AXI_AWID, ax->id, was->id},
               {AXI4_ERRM_AWLEN_STABLE, TB_AXI_AWLEN, ax->len, was->len},
               {AXI4_ERRM_AWLOCK_STABLE, TB_AXI_AWLOCK, ax->lock, was->lock},
               {AXI4_ERRM_AWPROT_STABLE, TB_AXI_AWPROT, ax->prot, was->prot},
               {AXI4_ERRM_AWSIZE_STABLE, TB_AXI_AWSIZE, ax->size, was->size},
               {AXI4_ERRM_AWQOS_STABLE, TB_AXI_AWQOS, ax->qos, was->qos},
               {AXI4_ERRM_AWREGION_STABLE, TB_AXI_AWREGION, ax->region, was->region},
               {AXI4_ERRM_AWUSER_STABLE, TB_AXI_AWUSER, ax->user, was->user}};
    const tb_axi_channel ch = write ? TB_AXI_AW : TB_AXI_AR;
    const tb_axi_open b = axi_offered(mon, was, write, cycle);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const tb_axi_rule rule = rule_of(all[i].rule, write);
        if (all[i].now != all[i].before && (x & TB_AXI_X(all[i].signal)) == 0 &&
            tb_axi_rule_applies(rule, mon->cfg.lite)) {
            axi_bad(mon, rule, ch, cycle, &b, -1, "%s%s changed from 0x%" PRIx64 " to 0x%" PRIx64 " before %sREADY",
                    tb_axi_channel_name(ch), tb_axi_signal_get(all[i].signal)->name + 2, all[i].before, all[i].now,
                    tb_axi_channel_name(ch));
        }
    }
}

/* ---- legality ---- */

static bool crosses(const tb_axi_ax *ax) {
    const uint64_t step = UINT64_C(1) << (ax->size & 7u);
    const uint64_t last = (ax->addr & ~(step - 1)) + (ax->len + UINT64_C(1)) * step - 1;
    return (ax->addr ^ last) >> 12 != 0;
}

static bool wrap_length(unsigned len) {
    return len == 1 || len == 3 || len == 7 || len == 15;
}

static uint64_t user_width(const tb_axi_monitor *mon, bool write) {
    return write ? mon->cfg.widths.awuser : mon->cfg.widths.aruser;
}

/* Rules of the three burst types. */
static void judge_burst(tb_axi_monitor *mon, const tb_axi_ax *ax, bool write, uint64_t cycle, uint64_t x,
                        const tb_axi_open *b) {
    const tb_axi_channel ch = write ? TB_AXI_AW : TB_AXI_AR;
    const char *name = tb_axi_channel_name(ch);
    const uint64_t place = TB_AXI_X(TB_AXI_AWADDR) | TB_AXI_X(TB_AXI_AWSIZE);
    const uint64_t length = TB_AXI_X(TB_AXI_AWLEN);
    if (ax->burst == TB_AXI_INCR && (x & (place | length)) == 0 && crosses(ax)) {
        axi_bad(mon, rule_of(AXI4_ERRM_AWADDR_BOUNDARY, write), ch, cycle, b, -1,
                "burst of %u beats of %u bytes crosses a 4 KB boundary", ax->len + 1u, 1u << (ax->size & 7u));
    }
    if (ax->burst == TB_AXI_WRAP && (x & place) == 0 && (ax->addr & ((1u << (ax->size & 7u)) - 1)) != 0) {
        axi_bad(mon, rule_of(AXI4_ERRM_AWADDR_WRAP_ALIGN, write), ch, cycle, b, -1,
                "a WRAP burst starts at no multiple of its %u bytes", 1u << (ax->size & 7u));
    }
    if (ax->burst == TB_AXI_WRAP && (x & length) == 0 && !wrap_length(ax->len)) {
        axi_bad(mon, rule_of(AXI4_ERRM_AWLEN_WRAP, write), ch, cycle, b, -1,
                "a WRAP burst of %u beats, expected 2, 4, 8 or 16", ax->len + 1u);
    }
    if (ax->burst == TB_AXI_FIXED && (x & length) == 0 && ax->len > 15) {
        axi_bad(mon, rule_of(AXI4_ERRM_AWLEN_FIXED, write), ch, cycle, b, -1,
                "a FIXED burst of %u beats, expected at most 16", ax->len + 1u);
    }
    if (ax->burst > TB_AXI_WRAP) {
        axi_bad(mon, rule_of(AXI4_ERRM_AWBURST, write), ch, cycle, b, -1, "%sBURST is %u, which is reserved", name,
                ax->burst);
    }
}

static COLD void judge(tb_axi_monitor *mon, const tb_axi_ax *ax, bool write, uint64_t cycle, uint64_t x) {
    const tb_axi_channel ch = write ? TB_AXI_AW : TB_AXI_AR;
    const char *name = tb_axi_channel_name(ch);
    const tb_axi_open b = axi_offered(mon, ax, write, cycle);
    if ((x & TB_AXI_X(TB_AXI_AWBURST)) == 0) {
        judge_burst(mon, ax, write, cycle, x, &b);
    }
    if (ax->size > mon->size_max) {
        axi_bad(mon, rule_of(AXI4_ERRM_AWSIZE, write), ch, cycle, &b, -1, "%sSIZE %u is wider than the bus of %u bytes",
                name, ax->size, mon->cfg.bytes);
    }
    if ((ax->cache & 2u) == 0 && (ax->cache & 12u) != 0 && (x & TB_AXI_X(TB_AXI_AWCACHE)) == 0) {
        axi_bad(mon, rule_of(AXI4_ERRM_AWCACHE, write), ch, cycle, &b, -1,
                "%sCACHE is 0x%x: allocation of an access that is not modifiable", name, ax->cache);
    }
    if (ax->id != 0 && mon->cfg.widths.id == 0) {
        axi_bad(mon, rule_of(AXI4_ERRM_AWID_TIEOFF, write), ch, cycle, &b, -1,
                "%sID is 0x%" PRIx64 " on a port without IDs", name, ax->id);
    }
    if (ax->user != 0 && user_width(mon, write) == 0) {
        axi_bad(mon, rule_of(AXI4_ERRM_AWUSER_TIEOFF, write), ch, cycle, &b, -1,
                "%sUSER is 0x%" PRIx64 " on a port that has no bit of it", name, ax->user);
    }
    if (ax->lock != 0 && ax->len > 15) {
        axi_bad(mon, rule_of(AXI4_ERRM_AWLEN_LOCK, write), ch, cycle, &b, -1,
                "an exclusive burst of %u beats, expected at most 16", ax->len + 1u);
    }
    if (ax->lock != 0) {
        axi_check_exclusive(mon, ax, write, cycle, x);
    }
}

/* Fast path of the usual address. */
static bool plain(const tb_axi_monitor *mon, const tb_axi_ax *ax, bool write) {
    return ax->burst == TB_AXI_INCR && ax->size <= mon->size_max && !crosses(ax) && ax->lock == 0 &&
           ((ax->cache & 2u) != 0 || (ax->cache & 12u) == 0) && (ax->id == 0 || mon->cfg.widths.id != 0) &&
           (ax->user == 0 || user_width(mon, write) != 0);
}

bool axi_check_ax(tb_axi_monitor *mon, const tb_axi_sample *s, bool write) {
    const tb_axi_ax *ax = write ? &s->aw : &s->ar;
    const tb_axi_channel ch = write ? TB_AXI_AW : TB_AXI_AR;
    if (held(mon, ch)) {
        const tb_axi_ax *was = write ? &mon->prev.aw : &mon->prev.ar;
        if (UNLIKELY(!ax->valid)) {
            const tb_axi_open b = axi_offered(mon, was, write, s->cycle);
            axi_bad(mon, rule_of(AXI4_ERRM_AWVALID_STABLE, write), ch, s->cycle, &b, -1, "%sVALID fell before %sREADY",
                    tb_axi_channel_name(ch), tb_axi_channel_name(ch));
            return false;
        }
        if (same(ax, was)) {
            return false;
        }
        report_changes(mon, ax, was, write, s->cycle, x_of(s->x | mon->prev.x, write));
    }
    const uint64_t x = x_of(s->x, write);
    if (!mon->cfg.lite && UNLIKELY(x != 0 || !plain(mon, ax, write))) {
        judge(mon, ax, write, s->cycle, x);
    }
    if (mon->cfg.proj.on) {
        axi_project_ax(mon, ax, write, s->cycle, x);
    }
    return true;
}

/* ---- bursts that begin ---- */

bool axi_ring_room(tb_axi_monitor *mon, void **ring, size_t size, uint32_t *cap, uint32_t *head, uint32_t count) {
    if (count < *cap) {
        return true;
    }
    uint8_t *bigger = *cap < UINT32_C(1) << 28 ? (uint8_t *)malloc((size_t)*cap * 2 * size) : NULL;
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

/* The table is full: this direction is not matched until it has nothing in flight. */
static COLD void overflow(tb_axi_monitor *mon, const tb_axi_open *b, bool write, uint64_t cycle) {
    axi_bad(mon, write ? AXI4_AUXM_WCAM_OVERFLOW : AXI4_AUXM_RCAM_OVERFLOW, write ? TB_AXI_AW : TB_AXI_AR, cycle, b, -1,
            "more than %u bursts in flight: they are not followed until none is left",
            write ? mon->wr_live : mon->rd_live);
    mon->blind[write] = (write ? mon->wr_live : mon->rd_live) + UINT64_C(2); /* with this one; 1: none */
    mon->blind_said[write] = false;
    axi_forget(mon, write);
}

static void open_init(tb_axi_monitor *mon, tb_axi_open *b, const tb_axi_ax *ax, bool write, uint64_t cycle,
                      uint64_t x) {
    memset(b, 0, sizeof *b);
    b->since = b->moved = cycle;
    b->addr = ax->addr;
    b->id = mon->one_id ? 0 : ax->id;
    b->number = ++mon->number[write];
    b->size = ax->size;
    if (mon->cfg.lite) {
        b->size = (uint8_t)mon->size_max;
        b->burst = TB_AXI_INCR;
        b->full = true;
        return;
    }
    b->len = ax->len;
    b->burst = ax->burst;
    b->lock = ax->lock != 0;
    b->full = ax->size == mon->size_max && ax->burst == TB_AXI_INCR;
    const bool bad_wrap =
        ax->burst == TB_AXI_WRAP && (!wrap_length(ax->len) || (ax->addr & ((1u << (ax->size & 7u)) - 1)) != 0);
    if (UNLIKELY(x != 0 || bad_wrap || ax->burst > TB_AXI_WRAP || ax->size > mon->size_max)) {
        const uint64_t shape = TB_AXI_X(TB_AXI_AWADDR) | TB_AXI_X(TB_AXI_AWSIZE) | TB_AXI_X(TB_AXI_AWBURST);
        const bool wrap_x = ax->burst == TB_AXI_WRAP && (x & TB_AXI_X(TB_AXI_AWLEN)) != 0;
        const bool lanes =
            (x & shape) != 0 || bad_wrap || wrap_x || ax->burst > TB_AXI_WRAP || ax->size > mon->size_max;
        b->unknown = (uint8_t)(((x & TB_AXI_X(TB_AXI_AWID)) != 0 ? UNKNOWN_ID : 0) |
                               ((x & TB_AXI_X(TB_AXI_AWLEN)) != 0 ? UNKNOWN_LEN : 0) |
                               ((x & TB_AXI_X(TB_AXI_AWLOCK)) != 0 ? UNKNOWN_LOCK : 0) | (lanes ? UNKNOWN_LANES : 0));
        b->full = b->full && !lanes;
        mon->wild[write] += (b->unknown & UNKNOWN_ID) != 0;
    }
}

/* Space for a burst at the end of its ring, which only grows when a design has more in flight than ever before. False:
 * the burst is not followed. */
static COLD bool make_room(tb_axi_monitor *mon, const tb_axi_ax *ax, bool write, uint64_t cycle) {
    const uint32_t live = write ? mon->wr_live : mon->rd_live;
    void *ring = write ? mon->wr : mon->rd;
    bool room = mon->cfg.max_depth == 0 || live < mon->cfg.max_depth;
    if (room && write) {
        room = axi_ring_room(mon, &ring, sizeof *mon->wr, &mon->wr_cap, &mon->wr_head, mon->wr_count);
        mon->wr = (tb_axi_open *)ring;
    } else if (room) {
        room = axi_ring_room(mon, &ring, sizeof *mon->rd, &mon->rd_cap, &mon->rd_head, mon->rd_count);
        mon->rd = (tb_axi_open *)ring;
    }
    if (!room) {
        const tb_axi_open b = axi_offered(mon, ax, write, cycle);
        mon->number[write]++;
        overflow(mon, &b, write, cycle);
    }
    return room;
}

/* A new burst; false: it is not followed. */
static bool begin(tb_axi_monitor *mon, const tb_axi_ax *ax, bool write, uint64_t cycle, uint64_t x) {
    axi_stat_burst(mon, ax, write);
    if (UNLIKELY(mon->blind[write] != 0)) {
        mon->number[write]++;
        mon->blind[write] += mon->blind[write] != BLIND_FOREVER;
        return false;
    }
    const bool full = write ? mon->wr_count == mon->wr_cap : mon->rd_count == mon->rd_cap;
    if (UNLIKELY(full || mon->cfg.max_depth != 0) && !make_room(mon, ax, write, cycle)) {
        return false;
    }
    axi_stat_depth(mon, write, cycle);
    if (write) {
        open_init(mon, wr_at(mon, mon->wr_count++), ax, true, cycle, x);
        mon->wr_live++;
    } else {
        open_init(mon, rd_at(mon, mon->rd_count++), ax, false, cycle, x);
        mon->rd_live++;
    }
    return true;
}

/* The response to these complete data came before their address, which was reported. */
static void take_stray_b(tb_axi_monitor *mon, tb_axi_open *b) {
    for (uint32_t i = 0; i < mon->stray_bs; i++) {
        if (mon->stray_b[i] == b->id) {
            memmove(&mon->stray_b[i], &mon->stray_b[i + 1], (mon->stray_bs - i - 1) * sizeof mon->stray_b[0]);
            mon->stray_bs--;
            axi_answered(mon, b, b->since);
            return;
        }
    }
}

void axi_take_aw(tb_axi_monitor *mon, const tb_axi_ax *ax, uint64_t cycle, uint64_t x) {
    const bool followed = begin(mon, ax, true, cycle, x);
    if (UNLIKELY(ax->lock != 0 && !mon->cfg.lite)) {
        axi_take_exclusive(mon, ax, true, cycle, x);
    }
    if (UNLIKELY(mon->early_count > 0) && followed) {
        if (mon->stray_bs > 0) {
            take_stray_b(mon, wr_at(mon, mon->wr_count - 1));
        }
        axi_feed_early(mon, cycle);
        axi_drop_strays(mon);
        axi_drop_writes(mon);
    }
}

void axi_take_ar(tb_axi_monitor *mon, const tb_axi_ax *ax, uint64_t cycle, uint64_t x) {
    if (UNLIKELY(mon->r_stray) && (mon->one_id || mon->r_stray_id == ax->id)) {
        mon->r_stray = false; /* later data without a request is another mistake */
    }
    begin(mon, ax, false, cycle, x_of(x, false));
    if (UNLIKELY(ax->lock != 0 && !mon->cfg.lite)) {
        axi_take_exclusive(mon, ax, false, cycle, x_of(x, false));
    }
}
