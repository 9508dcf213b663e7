#include "apb.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "../case/hash.h"
#include "opt/opt.h"

/* The part of this port of each signal that is divided; requester's: PENABLE to PWDATA, PSTRB, PPROT. */
static void take_slice(tb_apb *p, const tb_sim *sim) {
    tb_sig *const asked[] = {&p->enable, &p->addr, &p->write, &p->wdata, &p->strb, &p->prot};
    tb_sig *const answer[] = {&p->rdata, &p->ready, &p->slverr};
    const unsigned slice = p->cfg.slice, slices = p->cfg.slices;
    const bool ask = p->enable.width == slices;
    for (unsigned i = 0; ask && i < sizeof asked / sizeof *asked; i++) {
        *asked[i] = tb_sim_slice(sim, *asked[i], slice, slices);
    }
    const bool parts = p->ready.ptr != NULL ? p->ready.width == slices : p->rdata.width == slices * p->wdata.width;
    for (unsigned i = 0; parts && i < sizeof answer / sizeof *answer; i++) {
        *answer[i] = tb_sim_slice(sim, *answer[i], slice, slices);
    }
    p->sel = tb_sim_slice(sim, p->sel, slice, slices);
}

int tb_apb_open(tb_apb *p, const tb_sim *sim, const tb_apb_cfg *cfg, tb_rng rng, char *err, size_t err_size) {
    static const char *const word[] = {"psel",   "penable", "paddr", "pwrite", "pwdata",
                                       "prdata", "pstrb",   "pprot", "pready", "pslverr"};
    memset(p, 0, sizeof *p);
    tb_sig *const sig[] = {&p->sel,   &p->enable, &p->addr, &p->write, &p->wdata,
                           &p->rdata, &p->strb,   &p->prot, &p->ready, &p->slverr};
    p->cfg = *cfg;
    p->rng = rng;
    for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
        *sig[i] = tb_sim_find_word(sim, cfg->prefix, word[i]);
        if (sig[i]->ptr == NULL && i < 6) {
            return opt_fail(err, err_size, "APB port %s: there is no %s%s", cfg->name, cfg->prefix, word[i]);
        }
    }
    if (p->strb.ptr == NULL) {
        p->strb = tb_sim_find_word(sim, cfg->prefix, "pwstrb"); /* as some call it */
    }
    if (cfg->slices > 1) {
        take_slice(p, sim);
    }
    for (size_t i = 0; i < 6; i++) {
        if (sig[i]->ptr == NULL) {
            return opt_fail(err, err_size, "APB port %s: %s%s cannot be divided among %u ports", cfg->name, cfg->prefix,
                            word[i], cfg->slices);
        }
    }
    p->bytes = p->wdata.width / 8;
    if (p->sel.width > 32 || p->wdata.width != p->rdata.width || p->wdata.width % 8 != 0 ||
        (p->bytes != 1 && p->bytes != 2 && p->bytes != 4)) {
        return opt_fail(err, err_size,
                        "APB port %s: expected psel of at most 32 bits, pwdata and prdata of 8, 16 or 32 bits",
                        cfg->name);
    }
    if ((cfg->requester && cfg->mem == NULL) || (p->strb.ptr != NULL && p->strb.width != p->bytes)) {
        return opt_fail(err, err_size, "APB port %s: %s", cfg->name,
                        cfg->requester && cfg->mem == NULL ? "a requester needs memory"
                                                           : "pstrb must have one bit for each byte of pwdata");
    }
    return 0;
}

static void put(tb_sig sig, uint64_t value) {
    if (sig.ptr != NULL) {
        tb_set(sig, value);
    }
}

static uint64_t get(tb_sig sig, uint64_t otherwise) {
    return sig.ptr != NULL ? tb_get(sig) : otherwise;
}

void tb_apb_reset(tb_apb *p) {
    p->phase = TB_APB_IDLE;
    p->busy = p->driven = false;
    p->access = 0;
    p->traffic.count = 0;
    if (p->cfg.requester) {
        put(p->ready, 1);
        put(p->slverr, 0);
    } else {
        put(p->sel, 0);
        put(p->enable, 0);
    }
}

void tb_apb_send(tb_apb *p, const tb_apb_traffic *traffic) {
    p->traffic = *traffic;
}

void tb_apb_start(tb_apb *p, bool write, uint64_t addr, uint32_t value, uint32_t lanes) {
    p->busy = true;
    p->drawn = p->failed = false;
    p->writes = write;
    p->where = addr;
    p->value = value;
    p->lanes = lanes;
}

bool tb_apb_busy(const tb_apb *p) {
    return p->busy || p->traffic.count > 0;
}

/* ---- outputs ---- */

static uint32_t all_lanes(const tb_apb *p) {
    return (1u << p->bytes) - 1;
}

static void draw(tb_apb *p) {
    const tb_apb_traffic *t = &p->traffic;
    const bool write = tb_rng_chance(&p->rng, t->writes, 100);
    const uint64_t addr = t->base + tb_rng_range(&p->rng, 0, t->bytes / p->bytes - 1) * p->bytes;
    const uint32_t lanes = p->strb.ptr != NULL ? (uint32_t)tb_rng_range(&p->rng, 0, all_lanes(p)) : all_lanes(p);
    const uint32_t value = tb_rng_u32(&p->rng);
    p->access = tb_shadow_begin(p->cfg.shadow, write, addr, addr + p->bytes - 1, 0);
    if (p->access != 0) { /* else another port is at these bytes */
        tb_apb_start(p, write, addr, value, lanes);
        p->drawn = true;
        p->traffic.count--;
    }
}

/* A requester of the bench: setup, then access until PREADY. */
static void request(tb_apb *p, uint64_t cycle) {
    const bool go = p->stall == 0 || !tb_rng_chance(&p->rng, p->stall, 100);
    if (p->phase != TB_APB_IDLE) { /* setup or a wait state: the access phase follows, or goes on */
        put(p->enable, 1);
        return;
    }
    if (!p->busy && p->traffic.count > 0 && go) {
        draw(p);
    }
    const uint64_t which = p->addr.width < 64 ? p->where >> p->addr.width : 0;
    put(p->sel, p->busy ? UINT64_C(1) << (p->sel.width > 1 ? which % p->sel.width : 0) : 0);
    put(p->enable, 0);
    if (p->busy) {
        put(p->addr, p->where & (p->addr.width < 64 ? (UINT64_C(1) << p->addr.width) - 1 : UINT64_MAX));
        put(p->write, p->writes);
        put(p->wdata, p->value);
        put(p->strb, p->writes ? p->lanes : 0); /* low in reads (section 2.1) */
        put(p->prot, 0);
        p->since = cycle;
    }
}

/* A completer of the bench: memory. Outside of it there is an error. */
static void complete(tb_apb *p) {
    const bool access = p->phase != TB_APB_IDLE && tb_get(p->sel) != 0;
    const uint64_t addr = tb_get(p->addr) / p->bytes * p->bytes;
    const bool inside = tb_ddr_inside(p->cfg.mem, addr, p->bytes);
    uint32_t value = 0;
    if (access && inside) {
        (void)tb_ddr_read(p->cfg.mem, addr, &value, p->bytes);
    }
    put(p->ready, p->stall == 0 || !tb_rng_chance(&p->rng, p->stall, 100));
    put(p->slverr, access && !inside);
    put(p->rdata, access ? value : tb_rng_u32(&p->rng));
}

void tb_apb_drive(tb_apb *p, uint64_t cycle) {
    if (p->driven) {
        return;
    }
    p->driven = true;
    if (p->cfg.requester) {
        complete(p);
    } else {
        request(p, cycle);
    }
}

/* ---- what happens ---- */

__attribute__((format(printf, 3, 4))) static void complain(tb_apb *p, const char *wrong, const char *format, ...) {
    va_list args;
    if (p->wrong[0] != '\0') {
        return;
    }
    snprintf(p->wrong, sizeof p->wrong, "%s", wrong);
    const int n = snprintf(p->text, sizeof p->text, "%s: ", p->cfg.name);
    va_start(args, format);
    vsnprintf(p->text + n, sizeof p->text - (size_t)n, format, args);
    va_end(args);
}

/* What must stand still in a transfer, in the order of `held` below; PWDATA and PSTRB of writes only. */
static void hold(const tb_apb *p, uint64_t held[TB_APB_HELD]) {
    const bool write = tb_get(p->write) != 0;
    held[0] = tb_get(p->addr);
    held[1] = write;
    held[2] = write ? tb_get(p->wdata) : 0;
    held[3] = write ? get(p->strb, 0) : 0;
    held[4] = get(p->prot, 0);
}

static void check_rules(tb_apb *p, bool sel, bool enable) {
    static const char *const name[TB_APB_HELD] = {"PADDR", "PWRITE", "PWDATA", "PSTRB", "PPROT"};
    uint64_t now[TB_APB_HELD];
    const uint64_t which = tb_get(p->sel);
    if ((which & (which - 1)) != 0) {
        complain(p, "apb:APB_ERRM_PSEL_ONEHOT", "PSEL is 0x%" PRIx64 ", expected one bit", which);
    }
    if (p->phase == TB_APB_IDLE) {
        if (sel && enable) {
            complain(p, "apb:APB_ERRM_PENABLE_SETUP", "PENABLE is high in the first cycle of a transfer");
        }
        if (sel && tb_get(p->write) == 0 && get(p->strb, 0) != 0) {
            complain(p, "apb:APB_ERRM_PSTRB_READ", "PSTRB is 0x%" PRIx64 " in a read, expected 0", get(p->strb, 0));
        }
        return;
    }
    if (!sel) {
        complain(p, "apb:APB_ERRM_PSEL_STABLE", "PSEL fell before the transfer was complete");
    } else if (!enable) {
        complain(p, p->phase == TB_APB_SETUP ? "apb:APB_ERRM_PENABLE_ACCESS" : "apb:APB_ERRM_PENABLE_STABLE",
                 "PENABLE is low in the access phase");
    }
    hold(p, now);
    for (unsigned i = 0; sel && i < TB_APB_HELD; i++) {
        if (now[i] != p->held[i]) {
            char rule[48];
            snprintf(rule, sizeof rule, "apb:APB_ERRM_%s_STABLE", name[i]);
            complain(p, rule, "%s changed within a transfer: 0x%" PRIx64 ", then 0x%" PRIx64, name[i], p->held[i],
                     now[i]);
        }
    }
}

/* A transfer that the bench asked for is complete. */
static void answered(tb_apb *p) {
    unsigned lane;
    uint8_t want;
    p->busy = false;
    p->failed = get(p->slverr, 0) != 0;
    if (!p->writes) {
        p->value = (uint32_t)tb_get(p->rdata);
    }
    if (!p->drawn) {
        return;
    }
    const uint64_t strb[2] = {p->lanes, 0};
    uint8_t data[4];
    tb_shadow_end(p->cfg.shadow, p->access);
    p->access = 0;
    memcpy(data, &p->value, sizeof data);
    if (p->failed) {
        complain(p, "shadow:response", "%s of 0x%" PRIx64 " answered with PSLVERR", p->writes ? "write" : "read",
                 p->where);
    } else if (p->writes) {
        tb_shadow_write(p->cfg.shadow, p->where, data, strb, p->bytes, 0);
    } else if (!tb_shadow_read(p->cfg.shadow, p->where, data, 0, p->bytes - 1, &lane, &want)) {
        complain(p, "shadow:data", "read of 0x%" PRIx64 ", byte %u: got 0x%02x, expected 0x%02x", p->where, lane,
                 data[lane], want);
    }
}

/* A transfer that the design asked for is complete. */
static void stored(tb_apb *p) {
    const uint64_t addr = tb_get(p->addr) / p->bytes * p->bytes, strb = get(p->strb, all_lanes(p));
    const uint32_t value = (uint32_t)tb_get(p->wdata);
    uint8_t data[4];
    memcpy(data, &value, sizeof data);
    for (uint32_t i = 0; p->cfg.mem != NULL && tb_get(p->write) != 0 && i < p->bytes; i++) {
        if ((strb >> i & 1u) != 0) {
            (void)tb_ddr_write(p->cfg.mem, addr + i, &data[i], 1); /* outside: PSLVERR, and nothing is written */
        }
    }
}

void tb_apb_sample(tb_apb *p, uint64_t cycle, uint64_t *hash) {
    const bool sel = tb_get(p->sel) != 0, enable = tb_get(p->enable) != 0, ready = get(p->ready, 1) != 0;
    check_rules(p, sel, enable);
    if (!sel) {
        p->phase = TB_APB_IDLE;
    } else if (p->phase == TB_APB_IDLE) {
        hold(p, p->held);
        p->phase = TB_APB_SETUP;
    } else if (!ready) {
        p->waits++;
        p->phase = TB_APB_ACCESS;
    } else {
        const bool write = tb_get(p->write) != 0;
        *hash = tb_hash_u64(tb_hash_u64(tb_hash_u64(*hash, cycle), tb_get(p->addr) << 1 | write),
                            tb_get(write ? p->wdata : p->rdata));
        p->transfers++;
        p->stores += write;
        p->errors += get(p->slverr, 0) != 0;
        p->phase = TB_APB_IDLE;
        if (p->cfg.requester) {
            stored(p);
        } else {
            answered(p);
        }
    }
}

bool tb_apb_owes(const tb_apb *p, char *text, size_t size) {
    const bool owes = !p->cfg.requester && p->phase != TB_APB_IDLE;
    if (owes) {
        snprintf(text, size, "the design has not answered the %s of 0x%" PRIx64 " on %s since cycle %" PRIu64,
                 p->writes ? "write" : "read", p->where, p->cfg.name, p->since);
    }
    return owes;
}
