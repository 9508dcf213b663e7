/* Project rules: properties beyond the protocol of a design, or of a memory connected to it. */
#include "mon_priv.h"

#include <inttypes.h>

#define SHAPE (TB_AXI_X(TB_AXI_AWADDR) | TB_AXI_X(TB_AXI_AWLEN) | TB_AXI_X(TB_AXI_AWSIZE) | TB_AXI_X(TB_AXI_AWBURST))

/* Bytes that a burst touches: first and last. */
static void reach(const tb_axi_monitor *mon, uint64_t addr, unsigned len, unsigned size, unsigned burst,
                  uint64_t *first, uint64_t *last) {
    const uint64_t step = UINT64_C(1) << (mon->cfg.lite ? mon->size_max : size & 7u);
    const uint64_t total = mon->cfg.lite ? step : step * (len + 1u);
    *first = addr;
    if (mon->cfg.lite || burst == TB_AXI_FIXED) {
        *first = mon->cfg.lite ? addr & ~(step - 1) : addr;
        *last = (addr & ~(step - 1)) + step - 1;
    } else if (burst == TB_AXI_WRAP) {
        *first = addr / total * total;
        *last = *first + total - 1;
    } else {
        *last = (addr & ~(step - 1)) + total - 1;
    }
}

static bool mapped(const tb_axi_project *p, uint64_t first, uint64_t last) {
    for (uint32_t i = 0; i < p->range_count; i++) {
        const tb_axi_range *r = &p->ranges[i];
        if (first >= r->base && last - r->base < r->bytes) {
            return true;
        }
    }
    return p->range_count == 0;
}

void axi_project_wrote(const tb_axi_monitor *mon, tb_axi_open *b, const uint64_t strb[2]) {
    uint64_t at;
    unsigned lo;
    unsigned hi;
    if ((strb[0] | strb[1]) == 0 || (b->unknown & UNKNOWN_LANES) != 0) {
        return;
    }
    if (b->full) {
        at = (b->addr & ~(uint64_t)(mon->cfg.bytes - 1)) + (uint64_t)b->beat * mon->cfg.bytes;
    } else {
        tb_axi_beat(b->addr, b->len, b->size, b->burst, b->beat, mon->cfg.bytes, &at, &lo, &hi);
    }
    const uint64_t from = at + (unsigned)(strb[0] != 0 ? __builtin_ctzll(strb[0]) : 64 + __builtin_ctzll(strb[1]));
    const uint64_t to = at + (unsigned)(strb[1] != 0 ? 127 - __builtin_clzll(strb[1]) : 63 - __builtin_clzll(strb[0]));
    b->from = !b->wrote || from < b->from ? from : b->from;
    b->to = !b->wrote || to > b->to ? to : b->to;
    b->wrote = true;
}

/* The oldest write without a response that contains any of these bytes. */
static const tb_axi_open *writes(const tb_axi_monitor *mon, uint64_t first, uint64_t last) {
    for (uint32_t i = 0; i < mon->wr_count; i++) {
        const tb_axi_open *b = wr_at(mon, i);
        if (b->wrote && !b->resp_done && b->from <= last && b->to >= first) {
            return b;
        }
    }
    return NULL;
}

/* The last byte that a read surely wants: masters may take the rest of the last beat with it. */
static uint64_t wanted(const tb_axi_monitor *mon, const tb_axi_ax *ax, uint64_t first, uint64_t last) {
    const uint64_t step = UINT64_C(1) << (mon->cfg.lite ? mon->size_max : ax->size & 7u);
    const uint64_t start = last & ~(step - 1);
    return ax->burst == TB_AXI_WRAP && !mon->cfg.lite ? last : start > first ? start : first;
}

/* Data pending for this address: cycles since its last beat; 0: there is none. */
static uint64_t data_waits(const tb_axi_monitor *mon, uint64_t cycle) {
    for (uint32_t i = 0; mon->wr_filled == mon->wr_count && i < mon->early_count; i++) {
        const tb_axi_early *e = &mon->early[(mon->early_head + i) & (mon->early_cap - 1)];
        if (e->last) {
            return cycle - e->cycle;
        }
    }
    return 0;
}

/* Bits of an address beyond its space. */
static uint64_t no_bits(const tb_axi_project *p) {
    return p->addr_bits > 0 && p->addr_bits < 64 ? UINT64_MAX << p->addr_bits : 0;
}

static COLD void judge_address(tb_axi_monitor *mon, const tb_axi_ax *ax, tb_axi_channel ch, uint64_t cycle,
                               const tb_axi_open *b) {
    const tb_axi_project *p = &mon->cfg.proj;
    uint64_t first;
    uint64_t last;
    reach(mon, ax->addr, ax->len, ax->size, ax->burst, &first, &last);
    if (last < first || (last & no_bits(p)) != 0 || !mapped(p, first, last)) {
        axi_bad(mon, PROJ_ERRM_ADDR_RANGE, ch, cycle, b, -1,
                "bytes 0x%" PRIx64 " .. 0x%" PRIx64 " are not all in a mapped range", first, last);
    }
    if (p->align > 1 && (ax->addr & (p->align - 1)) != 0 && !mon->cfg.lite) {
        axi_bad(mon, PROJ_ERRM_ADDR_ALIGN, ch, cycle, b, -1, "the address is not a multiple of %u", p->align);
    }
}

/* The remaining checks of an AXI4 address, whose shape may be X in part. */
static COLD void judge_shape(tb_axi_monitor *mon, const tb_axi_ax *ax, tb_axi_channel ch, uint64_t cycle, uint64_t x,
                             const tb_axi_open *b) {
    const tb_axi_project *p = &mon->cfg.proj;
    const char *name = tb_axi_channel_name(ch);
    if (p->incr_only && ax->burst != TB_AXI_INCR && (x & TB_AXI_X(TB_AXI_AWBURST)) == 0) {
        axi_bad(mon, PROJ_ERRM_BURST_INCR, ch, cycle, b, -1, "%sBURST is %u, only INCR (1) is used", name, ax->burst);
    }
    if (p->no_lock && ax->lock != 0) {
        axi_bad(mon, PROJ_ERRM_AXLOCK_TIED, ch, cycle, b, -1, "%sLOCK is 1, no access is exclusive", name);
    }
    if (p->ids != 0 && ax->id >= p->ids && (x & TB_AXI_X(TB_AXI_AWID)) == 0) {
        axi_bad(mon, PROJ_ERRM_ID_RANGE, ch, cycle, b, -1, "ID %" PRIu64 ", expected one below %" PRIu64, ax->id,
                p->ids);
    }
    if (p->no_narrow && ax->len > 0 && ax->size < mon->size_max && (x & SHAPE) == 0) {
        axi_bad(mon, PROJ_ERRM_NARROW, ch, cycle, b, -1, "%u beats of %u bytes on a bus of %u", ax->len + 1u,
                1u << ax->size, mon->cfg.bytes);
    }
}

static COLD void judge(tb_axi_monitor *mon, const tb_axi_ax *ax, bool write, uint64_t cycle, uint64_t x) {
    const tb_axi_project *p = &mon->cfg.proj;
    const tb_axi_channel ch = write ? TB_AXI_AW : TB_AXI_AR;
    const tb_axi_open b = axi_offered(mon, ax, write, cycle);
    if (write ? p->read_only : p->write_only) {
        axi_bad(mon, write ? PROJ_ERRM_RDONLY : PROJ_ERRM_WRONLY, ch, cycle, &b, -1,
                "an address on a port that only %s", write ? "reads" : "writes");
    }
    if ((x & SHAPE) == 0) {
        judge_address(mon, ax, ch, cycle, &b);
    }
    if (!mon->cfg.lite) {
        judge_shape(mon, ax, ch, cycle, x, &b);
    }
    const uint64_t waits = write && p->wlast_to_aw != 0 ? data_waits(mon, cycle) : 0;
    if (waits > p->wlast_to_aw) {
        axi_bad(mon, PROJ_RECM_WLAST_TO_AW, ch, cycle, &b, -1, "the last beat of its data came %" PRIu64 " cycles ago",
                waits);
    }
}

static COLD void overtakes(tb_axi_monitor *mon, const tb_axi_ax *ax, uint64_t cycle, const tb_axi_open *w) {
    const tb_axi_open b = axi_offered(mon, ax, false, cycle);
    axi_bad(mon, PROJ_ERRM_READ_WRITE_ORDER, TB_AXI_AR, cycle, &b, -1,
            "write %" PRIu64 " at 0x%" PRIx64 " to these bytes has no response yet", w->number, w->addr);
}

/* Fast path of the usual burst. */
static bool plain(const tb_axi_monitor *mon, const tb_axi_ax *ax, bool write) {
    const tb_axi_project *p = &mon->cfg.proj;
    const uint64_t end = ax->addr + ((ax->len + UINT64_C(1)) << (ax->size & 7u)); /* or beyond it */
    return !mon->cfg.lite && ax->burst == TB_AXI_INCR && ax->lock == 0 &&
           (ax->size == mon->size_max || ax->len == 0 || !p->no_narrow) && (p->ids == 0 || ax->id < p->ids) &&
           ((ax->addr | end) & no_bits(p)) == 0 && p->range_count == 0 &&
           (p->align == 0 || (ax->addr & (p->align - 1)) == 0) &&
           !(write ? p->read_only || p->wlast_to_aw != 0 : p->write_only);
}

void axi_project_ax(tb_axi_monitor *mon, const tb_axi_ax *ax, bool write, uint64_t cycle, uint64_t x) {
    if (UNLIKELY(x != 0 || !plain(mon, ax, write))) {
        judge(mon, ax, write, cycle, x);
    }
    if (mon->cfg.proj.order && !write && mon->wr_count > 0 && (x & SHAPE) == 0) {
        uint64_t first;
        uint64_t last;
        reach(mon, ax->addr, ax->len, ax->size, ax->burst, &first, &last);
        const tb_axi_open *w = writes(mon, first, wanted(mon, ax, first, last));
        if (UNLIKELY(w != NULL)) {
            overtakes(mon, ax, cycle, w);
        }
    }
}

void axi_project_flight(tb_axi_monitor *mon, bool write, uint64_t cycle) {
    const tb_axi_project *p = &mon->cfg.proj;
    const uint32_t limit = write ? p->max_writes : p->max_reads;
    const uint32_t live = write ? mon->wr_live : mon->rd_live;
    const uint32_t count = write ? mon->wr_count : mon->rd_count;
    if (limit != 0 && live > limit && count > 0) {
        axi_bad(mon, write ? PROJ_ERRM_WR_OUTSTANDING : PROJ_ERRM_RD_OUTSTANDING, write ? TB_AXI_AW : TB_AXI_AR, cycle,
                write ? wr_at(mon, count - 1) : rd_at(mon, count - 1), -1,
                "%u bursts in flight, at most %u are allowed", live, limit);
    }
}

void axi_project_reset(tb_axi_monitor *mon, const tb_axi_sample *s, unsigned valids) {
    for (unsigned c = 0; mon->cfg.proj.on && mon->cfg.proj.reset_async && c < TB_AXI_CHANNELS; c++) {
        if ((valids >> c & 1u) != 0) {
            axi_bad(mon, PROJ_ERR_RESET_ASYNC, (tb_axi_channel)c, s->cycle, NULL, -1,
                    "%sVALID is high although reset is low", tb_axi_channel_name((tb_axi_channel)c));
        }
    }
}
