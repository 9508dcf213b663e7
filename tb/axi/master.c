#include "master.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master_priv.h"

#define MASK (TB_AXI_MASTER_CAP - 1u)
#define BEATS 256u

int tb_axi_master_init(tb_axi_master *m, tb_axi_port *port, const tb_axi_master_cfg *cfg) {
    memset(m, 0, sizeof *m);
    m->cfg = *cfg;
    m->port = port;
    m->rng = cfg->rng;
    m->data[0] = (uint8_t *)malloc((size_t)TB_AXI_MASTER_CAP * BEATS * port->bytes);
    m->data[1] = (uint8_t *)malloc((size_t)TB_AXI_MASTER_CAP * BEATS * port->bytes);
    m->strb = (uint64_t *)malloc((size_t)TB_AXI_MASTER_CAP * BEATS * 2 * sizeof *m->strb);
    if (m->data[0] == NULL || m->data[1] == NULL || m->strb == NULL) {
        tb_axi_master_free(m);
        return -1;
    }
    return 0;
}

void tb_axi_master_free(tb_axi_master *m) {
    free(m->data[0]);
    free(m->data[1]);
    free(m->strb);
    m->data[0] = m->data[1] = NULL;
    m->strb = NULL;
}

void tb_axi_master_reset(tb_axi_master *m) {
    tb_axi_port *p = m->port;
    for (uint32_t i = 0; i < TB_AXI_MASTER_CAP; i++) {
        tb_shadow_end(m->cfg.shadow, m->rd[i].access);
        tb_shadow_end(m->cfg.shadow, m->wr[i].access);
    }
    memset(m->rd, 0, sizeof m->rd);
    memset(m->wr, 0, sizeof m->wr);
    m->rd_head = m->rd_addr = m->rd_tail = 0;
    m->wr_head = m->wr_addr = m->wr_data = m->wr_beat = m->wr_tail = 0;
    m->ar_live = m->aw_live = m->w_live = false;
    m->has_next = m->pair = m->pair_write = false;
    m->traffic.count = 0;
    *p->aw.valid = *p->w_valid = *p->ar.valid = 0;
    *p->b_ready = *p->r_ready = 0;
}

bool tb_axi_master_busy(const tb_axi_master *m) {
    return m->traffic.count > 0 || m->has_next || m->pair || m->rd_head != m->rd_tail || m->wr_head != m->wr_tail;
}

static uint64_t order_of(const tb_axi_master *m, const tb_axi_request *b) {
    return ((uint64_t)m->cfg.number + 1) << 32 | b->id;
}

/* First and last byte of a burst. */
static void reach(const tb_axi_request *b, uint64_t *from, uint64_t *to) {
    const uint64_t step = UINT64_C(1) << b->size, all = step * (b->len + UINT64_C(1));
    if (b->burst == TB_AXI_WRAP) {
        *from = b->addr / all * all;
        *to = *from + all - 1;
    } else {
        *from = b->addr;
        *to = b->addr / step * step + (b->burst == TB_AXI_FIXED ? step : all) - 1;
    }
}

/* Into the ring of its direction, if there is room and nothing in flight forbids it. NULL: not now. */
static tb_axi_flight *begin(tb_axi_master *m, const tb_axi_request *b) {
    const uint32_t flying = b->write ? m->wr_tail - m->wr_head : m->rd_tail - m->rd_head;
    uint64_t from, to;
    if (flying >= TB_AXI_MASTER_CAP || flying >= m->cfg.profile->outstanding) {
        return NULL;
    }
    reach(b, &from, &to);
    const unsigned access = tb_shadow_begin(m->cfg.shadow, b->write, from, to, order_of(m, b));
    if (access == 0) {
        return NULL;
    }
    tb_axi_flight *f = b->write ? &m->wr[m->wr_tail++ & MASK] : &m->rd[m->rd_tail++ & MASK];
    *f = (tb_axi_flight){.b = *b, .number = ++m->number, .access = access};
    return f;
}

static size_t place(const tb_axi_master *m, const tb_axi_flight *f, uint32_t beat) {
    const size_t slot = (size_t)(f - (f->b.write ? m->wr : m->rd));
    return slot * BEATS + beat;
}

static void fill_strb(uint64_t strb[2], unsigned lo, unsigned hi) {
    strb[0] = strb[1] = 0;
    for (unsigned i = lo; i <= hi; i++) {
        strb[i / 64] |= UINT64_C(1) << (i % 64);
    }
}

/* Lanes of a beat, and the address of lane 0. */
static uint64_t lanes(const tb_axi_master *m, const tb_axi_request *b, uint32_t beat, unsigned *lo, unsigned *hi) {
    uint64_t addr;
    tb_axi_beat(b->addr, b->len, b->size, b->burst, beat, m->port->bytes, &addr, lo, hi);
    return addr;
}

/* Random data and strobes of a burst. */
static void fill(tb_axi_master *m, const tb_axi_flight *f) {
    tb_rng rng = tb_rng_fork(&m->cfg.rng, f->number);
    for (uint32_t beat = 0; beat <= f->b.len; beat++) {
        unsigned lo, hi;
        uint64_t *strb = &m->strb[place(m, f, beat) * 2];
        (void)lanes(m, &f->b, beat, &lo, &hi);
        fill_strb(strb, lo, hi);
        if (m->traffic.sparse && tb_rng_chance(&rng, 1, 4)) {
            strb[0] &= tb_rng_u64(&rng) & (tb_rng_chance(&rng, 1, 4) ? 0 : UINT64_MAX);
            strb[1] &= tb_rng_u64(&rng) & strb[0];
        }
        tb_rng_fill(&rng, m->data[1] + place(m, f, beat) * m->port->bytes, m->port->bytes);
    }
}

void tb_axi_master_traffic(tb_axi_master *m, const tb_axi_traffic *traffic) {
    m->traffic = *traffic;
}

bool tb_axi_master_start(tb_axi_master *m, const tb_axi_request *burst, const uint8_t *data, const uint64_t *strb) {
    const tb_axi_flight *f = m->has_next ? NULL : begin(m, burst);
    if (f == NULL) {
        return false;
    }
    for (uint32_t beat = 0; burst->write && beat <= burst->len; beat++) {
        unsigned lo, hi;
        uint64_t *to = &m->strb[place(m, f, beat) * 2];
        (void)lanes(m, burst, beat, &lo, &hi);
        fill_strb(to, lo, hi);
        if (strb != NULL) {
            memcpy(to, strb + (size_t)beat * 2, 16);
        }
        memcpy(m->data[1] + place(m, f, beat) * m->port->bytes, data + (size_t)beat * m->port->bytes, m->port->bytes);
    }
    return true;
}

/* ---- outputs ---- */

/* The next burst of the traffic begins, if it can. */
static void more(tb_axi_master *m) {
    if (!m->has_next && (m->traffic.count > 0 || m->pair_write)) {
        m->has_next = axi_master_draw(m, &m->next);
    }
    const tb_axi_flight *f = m->has_next ? begin(m, &m->next) : NULL;
    if (f == NULL) {
        return;
    }
    m->has_next = false;
    if (f->b.write) {
        fill(m, f);
    } else if (f->b.lock) {
        m->pair_number = f->number;
    }
}

/* Cycles before the next valid of a channel. */
static uint64_t pause(tb_axi_master *m, const tb_axi_ready_profile *p) {
    const uint32_t chance = (uint32_t)p->pause + p->wait + p->flap;
    if (chance == 0 || !tb_rng_chance(&m->rng, chance, 256)) {
        return 0;
    }
    return tb_rng_range(&m->rng, 1, p->pause_max);
}

/* A signal that the design has not is not driven: the port has a constant in its place. */
static void put(const tb_axi_port *p, uint8_t *signal, uint8_t value) {
    if (signal != (const uint8_t *)&p->none && signal != &p->const_size && signal != &p->const_burst) {
        *signal = value;
    }
}

static void put_wide(const tb_axi_port *p, tb_sig signal, uint64_t value) {
    if (signal.ptr != &p->none) {
        tb_set(signal, value);
    }
}

static void put_ax(const tb_axi_port *p, tb_axi_ax_sig *ax, const tb_axi_request *b) {
    *ax->valid = 1;
    tb_set(ax->addr, b->addr);
    put_wide(p, ax->id, b->id);
    put(p, ax->len, b->len);
    put(p, ax->size, b->size);
    put(p, ax->burst, b->burst);
    put(p, ax->lock, b->lock);
    put(p, ax->cache, b->cache);
    put(p, ax->prot, b->prot);
    put(p, ax->qos, b->qos);
}

static void put_w(tb_axi_master *m) {
    tb_axi_port *p = m->port;
    const tb_axi_flight *f = &m->wr[m->wr_data & MASK];
    const size_t at = place(m, f, m->wr_beat);
    *p->w_valid = 1;
    memcpy(p->w_data, m->data[1] + at * p->bytes, p->bytes);
    tb_set(p->w_strb, m->strb[at * 2]);
    if (p->w_strb.width > 64) {
        tb_set_field(p->w_strb, 64, p->w_strb.width - 64, m->strb[at * 2 + 1]);
    }
    if (p->w_last != &p->const_one) {
        *p->w_last = m->wr_beat == f->b.len;
    }
}

void tb_axi_master_drive(tb_axi_master *m, uint64_t cycle) {
    tb_axi_port *p = m->port;
    const tb_axi_profile *prof = m->cfg.profile;
    m->cycle = cycle;
    more(m);
    if (!m->ar_live) {
        m->ar_live = m->rd_addr != m->rd_tail && cycle >= m->ar_at;
        if (m->ar_live) {
            put_ax(p, &p->ar, &m->rd[m->rd_addr & MASK].b);
        } else {
            *p->ar.valid = 0;
        }
    }
    if (!m->aw_live) {
        m->aw_live = m->wr_addr != m->wr_tail && cycle >= m->aw_at;
        if (m->aw_live) {
            put_ax(p, &p->aw, &m->wr[m->wr_addr & MASK].b);
        } else {
            *p->aw.valid = 0;
        }
    }
    if (!m->w_live) {
        /* data never waits until the address is accepted: a slave may wait for both (AMBA AXI, section A3.3) */
        const bool offered = m->wr_data != m->wr_addr || m->aw_live;
        m->w_live = m->wr_data != m->wr_tail && (offered || prof->data_first) && cycle >= m->w_at;
        if (m->w_live) {
            put_w(m);
        } else {
            *p->w_valid = 0;
        }
    }
    if (p->r_data != NULL) { /* of a direction that the port lacks nothing is driven */
        *p->r_ready = tb_axi_ready_now(&m->r_rdy, &prof->w, &m->rng, cycle, *p->r_valid != 0);
    }
    if (p->w_data != NULL) {
        *p->b_ready = tb_axi_ready_now(&m->b_rdy, &prof->aw, &m->rng, cycle, *p->b_valid != 0);
    }
}

/* ---- responses ---- */

/* The oldest burst of this ID whose response may come; NULL: there is none, which the monitor reports. */
static tb_axi_flight *answered(tb_axi_master *m, bool write, tb_sig id) {
    const uint32_t sent = write ? m->wr_data : m->rd_addr;
    for (uint32_t i = write ? m->wr_head : m->rd_head; i != sent; i++) {
        tb_axi_flight *f = write ? &m->wr[i & MASK] : &m->rd[i & MASK];
        if (!f->done && (id.ptr == &m->port->none || tb_get(id) == f->b.id)) {
            return f;
        }
    }
    return NULL;
}

__attribute__((format(printf, 4, 5))) static void complain(tb_axi_master *m, const tb_axi_flight *f, const char *wrong,
                                                           const char *format, ...) {
    static const char *const kind[] = {"FIXED", "INCR", "WRAP", "?"};
    va_list args;
    if (m->wrong != NULL) {
        return;
    }
    m->wrong = wrong;
    const int n = snprintf(m->text, sizeof m->text,
                           "%s: %s%s %" PRIu64 ", ID %" PRIu32 ", %s of %u x %u bytes at 0x%" PRIx64 ": ", m->cfg.name,
                           f->b.lock ? "exclusive " : "", f->b.write ? "write" : "read", f->number, f->b.id,
                           kind[f->b.burst & 3u], f->b.len + 1u, 1u << f->b.size, f->b.addr);
    va_start(args, format);
    if (n > 0 && (size_t)n < sizeof m->text) {
        vsnprintf(m->text + n, sizeof m->text - (size_t)n, format, args);
    }
    va_end(args);
}

static void refused(tb_axi_master *m, const tb_axi_flight *f, uint8_t resp) {
    m->errors++;
    if (!m->cfg.errors_ok) {
        complain(m, f, "response", "answered with %s, expected OKAY", resp == TB_AXI_SLVERR ? "SLVERR" : "DECERR");
    }
}

static void finish(tb_axi_master *m, tb_axi_flight *f) {
    const bool write = f->b.write;
    f->done = true;
    tb_shadow_end(m->cfg.shadow, f->access);
    f->access = 0;
    m->answered[write]++;
    if (m->cfg.done != NULL) {
        m->cfg.done(m->cfg.done_ctx, &f->b, m->data[write] + place(m, f, 0) * m->port->bytes, f->resp);
    }
    while (m->rd_head != m->rd_tail && m->rd[m->rd_head & MASK].done) {
        m->rd_head++;
    }
    while (m->wr_head != m->wr_tail && m->wr[m->wr_head & MASK].done) {
        m->wr_head++;
    }
}

static uint8_t worse(uint8_t a, uint8_t b) {
    return a > b ? a : b;
}

/* An exclusive read is complete. OKAY: the slave has no exclusive accesses, so its write is not sent. */
static void read_exclusive(tb_axi_master *m, const tb_axi_flight *f) {
    const bool reserved = f->resp == TB_AXI_EXOKAY;
    uint64_t from, to;
    reach(&f->b, &from, &to);
    if (reserved) {
        tb_shadow_reserve(m->cfg.shadow, from, to, order_of(m, &f->b));
    }
    if (m->pair && f->number == m->pair_number) {
        m->pair = m->pair_write = reserved;
    }
}

static void take_r(tb_axi_master *m) {
    const tb_axi_port *p = m->port;
    tb_axi_flight *f = answered(m, false, p->r_id);
    unsigned lo, hi, lane;
    uint8_t want;
    if (f == NULL) {
        return;
    }
    const uint64_t addr = lanes(m, &f->b, f->beat, &lo, &hi);
    const uint8_t resp = *p->r_resp;
    f->resp = f->beat == 0 ? resp : worse(f->resp, resp);
    memcpy(m->data[0] + place(m, f, f->beat) * p->bytes, p->r_data, p->bytes);
    if (resp >= TB_AXI_SLVERR) {
        refused(m, f, resp);
    } else if (!tb_shadow_read(m->cfg.shadow, addr, p->r_data, lo, hi, &lane, &want)) {
        complain(m, f, "data", "beat %u, address 0x%" PRIx64 ": got 0x%02x, expected 0x%02x", f->beat + 1u, addr + lane,
                 p->r_data[lane], want);
    }
    if (f->beat++ == f->b.len) {
        if (f->b.lock) {
            read_exclusive(m, f);
        }
        finish(m, f);
    }
}

static void take_b(tb_axi_master *m) {
    const tb_axi_port *p = m->port;
    tb_axi_flight *f = answered(m, true, p->b_id);
    uint64_t from, to;
    if (f == NULL) {
        return;
    }
    reach(&f->b, &from, &to);
    f->resp = *p->b_resp;
    if (f->resp >= TB_AXI_SLVERR) {
        refused(m, f, f->resp);
        tb_shadow_forget(m->cfg.shadow, from, to);
    } else if (!f->b.lock || f->resp == TB_AXI_EXOKAY) {
        if (f->b.lock && !tb_shadow_holds(m->cfg.shadow, from, to, order_of(m, &f->b))) {
            complain(m, f, "exclusive", "succeeded, although another master has written to its bytes since the read");
        }
        m->exclusive += f->b.lock;
        for (uint32_t beat = 0; beat <= f->b.len; beat++) {
            unsigned lo, hi;
            const uint64_t addr = lanes(m, &f->b, beat, &lo, &hi);
            const size_t at = place(m, f, beat);
            tb_shadow_write(m->cfg.shadow, addr, m->data[1] + at * p->bytes, &m->strb[at * 2], p->bytes,
                            order_of(m, &f->b));
        }
    }
    m->pair = m->pair && (!f->b.lock || m->pair_write);
    finish(m, f);
}

void tb_axi_master_sample(tb_axi_master *m) {
    const tb_axi_port *p = m->port;
    const tb_axi_profile *prof = m->cfg.profile;
    const bool r = (*p->r_valid & *p->r_ready) != 0, b = (*p->b_valid & *p->b_ready) != 0;
    if (m->ar_live && *p->ar.ready != 0) {
        m->ar_live = false;
        m->rd_addr++;
        m->ar_at = m->cycle + 1 + pause(m, &prof->ar);
    }
    if (m->aw_live && *p->aw.ready != 0) {
        m->aw_live = false;
        m->wr_addr++;
        m->aw_at = m->cycle + 1 + pause(m, &prof->aw);
    }
    if (m->w_live && *p->w_ready != 0) {
        m->w_live = false;
        if (m->wr_beat++ == m->wr[m->wr_data & MASK].b.len) {
            m->wr_beat = 0;
            m->wr_data++;
        }
        m->w_at = m->cycle + 1 + pause(m, &prof->w);
    }
    if (r) {
        tb_axi_ready_next(&m->r_rdy, &prof->w, &m->rng, m->cycle);
        take_r(m);
    }
    if (b) {
        tb_axi_ready_next(&m->b_rdy, &prof->aw, &m->rng, m->cycle);
        take_b(m);
    }
}
