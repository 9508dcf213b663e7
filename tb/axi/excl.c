/* Exclusive accesses: their shape, and matching of reads and writes. */
#include "mon_priv.h"

#include <inttypes.h>
#include <string.h>

static tb_axi_exclusive *find(tb_axi_monitor *mon, uint64_t id) {
    for (uint32_t i = 0; i < mon->excl_count; i++) {
        if (mon->excl[i].id == id) {
            return &mon->excl[i];
        }
    }
    return NULL;
}

/* The first signal in which an exclusive write differs from its read; NULL: none. X matches anything. */
static const char *differs(const tb_axi_exclusive *e, const tb_axi_ax *ax, uint64_t x) {
    const uint64_t unknown = x | e->x;
    const struct {
        tb_axi_signal signal;
        bool differs;
        const char *name;
    } all[] = {
        {TB_AXI_AWADDR, e->ax.addr != ax->addr, "address"},  {TB_AXI_AWLEN, e->ax.len != ax->len, "length"},
        {TB_AXI_AWSIZE, e->ax.size != ax->size, "size"},     {TB_AXI_AWBURST, e->ax.burst != ax->burst, "burst type"},
        {TB_AXI_AWCACHE, e->ax.cache != ax->cache, "cache"}, {TB_AXI_AWPROT, e->ax.prot != ax->prot, "prot"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i].differs && (unknown & TB_AXI_X(all[i].signal)) == 0) {
            return all[i].name;
        }
    }
    return NULL;
}

static void check_pair(tb_axi_monitor *mon, const tb_axi_ax *ax, const tb_axi_open *b, uint64_t cycle, uint64_t x) {
    const tb_axi_exclusive *e = find(mon, ax->id);
    if (mon->cfg.no_exclusive || (x & TB_AXI_X(TB_AXI_AWID)) != 0 || mon->blind[0] == BLIND_FOREVER) {
        return;
    }
    if (e == NULL) {
        if (!mon->excl_lost) {
            axi_bad(mon, AXI4_RECM_EXCL_PAIR, TB_AXI_AW, cycle, b, -1,
                    "exclusive write without an exclusive read of its ID before it");
        }
        return;
    }
    const char *what = differs(e, ax, x);
    if (what != NULL) {
        axi_bad(mon, AXI4_RECM_EXCL_MATCH, TB_AXI_AW, cycle, b, -1,
                "the %s of the exclusive write is not that of its read at 0x%" PRIx64, what, e->ax.addr);
    }
}

void axi_check_exclusive(tb_axi_monitor *mon, const tb_axi_ax *ax, bool write, uint64_t cycle, uint64_t x) {
    const tb_axi_channel ch = write ? TB_AXI_AW : TB_AXI_AR;
    const tb_axi_open b = axi_offered(mon, ax, write, cycle);
    if ((x & (TB_AXI_X(TB_AXI_AWLEN) | TB_AXI_X(TB_AXI_AWSIZE))) == 0) {
        const uint64_t total = (ax->len + UINT64_C(1)) << (ax->size & 7u);
        const bool power = (total & (total - 1)) == 0;
        if (!power) {
            axi_bad(mon, AXI4_ERRM_EXCL_LEN, ch, cycle, &b, -1,
                    "exclusive burst of %u bytes, which is not a power of two", (unsigned)total);
        }
        if (total > 128) {
            axi_bad(mon, AXI4_ERRM_EXCL_MAX, ch, cycle, &b, -1, "exclusive burst of %u bytes, at most 128 are allowed",
                    (unsigned)total);
        }
        /* alignment is undefined without a power of two */
        if (power && (ax->addr & (total - 1)) != 0 && (x & TB_AXI_X(TB_AXI_AWADDR)) == 0) {
            axi_bad(mon, AXI4_ERRM_EXCL_ALIGN, ch, cycle, &b, -1,
                    "exclusive burst of %u bytes does not start at a multiple of them", (unsigned)total);
        }
    }
    if (write) {
        check_pair(mon, ax, &b, cycle, x);
    }
}

void axi_take_exclusive(tb_axi_monitor *mon, const tb_axi_ax *ax, bool write, uint64_t cycle, uint64_t x) {
    tb_axi_exclusive *e = find(mon, ax->id);
    if (mon->cfg.no_exclusive) {
        return;
    }
    if ((x & TB_AXI_X(TB_AXI_AWID)) != 0) { /* it may be the one of any ID */
        mon->excl_lost = true;
        return;
    }
    if (write) {
        if (e != NULL) {
            *e = mon->excl[--mon->excl_count];
        }
        return;
    }
    if (e == NULL && mon->excl_count == mon->excl_cap) {
        const tb_axi_open b = axi_offered(mon, ax, false, cycle);
        axi_bad(mon, AXI4_AUXM_EXCL_OVERFLOW, TB_AXI_AR, cycle, &b, -1, "more than %u IDs with an exclusive read",
                mon->excl_cap);
        mon->excl_lost = true;
        return;
    }
    e = e != NULL ? e : &mon->excl[mon->excl_count++];
    *e = (tb_axi_exclusive){.id = ax->id, .ax = *ax, .x = x};
}
