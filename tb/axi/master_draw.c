/* master_draw.c - random bursts that keep every rule of AXI: 4 KB lines, lengths of each kind, alignment. */
#include "master_priv.h"

#define LINE UINT64_C(4096) /* no INCR burst crosses it (AMBA AXI, section A3.4.1) */

/* Has the port this signal, or a constant in its place? */
static bool has(const tb_axi_port *p, const uint8_t *signal) {
    return signal != (const uint8_t *)&p->none && signal != &p->const_size && signal != &p->const_burst;
}

static uint8_t smaller(uint64_t a, uint64_t b) {
    return (uint8_t)(a < b ? a : b);
}

/* Log2 of the bytes of a beat. */
static uint8_t draw_size(tb_axi_master *m, const tb_axi_ax_sig *ax) {
    const tb_axi_port *p = m->port;
    const bool narrow = m->traffic.narrow && has(p, ax->size) && tb_rng_chance(&m->rng, 1, 4);
    return (uint8_t)(narrow ? tb_rng_range(&m->rng, 0, p->size_max) : p->size_max);
}

static uint8_t draw_kind(tb_axi_master *m, const tb_axi_ax_sig *ax) {
    const uint64_t x = tb_rng_range(&m->rng, 0, 7);
    if (!has(m->port, ax->burst) || !has(m->port, ax->len)) {
        return TB_AXI_INCR;
    }
    return x == 0 && m->traffic.fixed ? TB_AXI_FIXED : x <= 2 && m->traffic.wrap ? TB_AXI_WRAP : TB_AXI_INCR;
}

/* Length and address of a burst whose kind and size are known. */
static void draw_place(tb_axi_master *m, const tb_axi_ax_sig *ax, tb_axi_request *b) {
    const tb_axi_traffic *t = &m->traffic;
    const uint64_t step = UINT64_C(1) << b->size, end = t->base + t->bytes;
    const uint64_t most = t->max_beats == 0 || t->max_beats > 256 ? 256 : t->max_beats;
    const uint64_t len = has(m->port, ax->len) ? tb_rng_small(&m->rng, 0, most - 1) : 0;
    b->addr = (t->base + tb_rng_range(&m->rng, 0, t->bytes - step)) / step * step;
    b->addr = b->addr < t->base ? b->addr + step : b->addr;
    if (b->burst == TB_AXI_WRAP) {
        b->len = (uint8_t)((UINT64_C(2) << tb_rng_range(&m->rng, 0, 3)) - 1);
        const uint64_t all = step * (b->len + UINT64_C(1)), from = b->addr / all * all;
        if (b->len < most && from >= t->base && from + all <= end) {
            return;
        }
        b->burst = TB_AXI_INCR;
    }
    if (b->burst == TB_AXI_FIXED) {
        b->len = smaller(len, 15);
    } else {
        const uint64_t line = (b->addr / LINE + 1) * LINE, room = ((line < end ? line : end) - b->addr) / step;
        b->len = smaller(len, room - 1);
    }
    if (t->unaligned && !m->port->lite && tb_rng_chance(&m->rng, 1, 4)) {
        b->addr += tb_rng_range(&m->rng, 0, step - 1);
    }
}

/* An exclusive read: 1 to 128 bytes, a power of two, aligned to all of them (AMBA AXI, section A7.2.4). */
static bool draw_exclusive(tb_axi_master *m, tb_axi_request *b) {
    const tb_axi_traffic *t = &m->traffic;
    const tb_axi_port *p = m->port;
    b->size = draw_size(m, &p->ar);
    b->burst = TB_AXI_INCR;
    b->len = (uint8_t)(has(p, p->ar.len) ? (UINT64_C(1) << tb_rng_range(&m->rng, 0, 4)) - 1 : 0);
    const uint64_t all = (b->len + UINT64_C(1)) << b->size;
    b->addr = (t->base + tb_rng_range(&m->rng, 0, t->bytes - 1)) / all * all;
    b->lock = true;
    b->write = false;
    return all <= 128 && b->addr >= t->base && b->addr + all <= t->base + t->bytes &&
           (t->max_beats == 0 || b->len < t->max_beats);
}

static uint8_t draw_cache(tb_axi_master *m) {
    const uint8_t x = (uint8_t)tb_rng_range(&m->rng, 0, 15);
    return (x & 2u) != 0 ? x : x & 1u; /* allocation without modifiable is reserved (section A4.4) */
}

bool axi_master_draw(tb_axi_master *m, tb_axi_request *b) {
    const tb_axi_port *p = m->port;
    tb_axi_traffic *t = &m->traffic;
    const uint32_t width = p->widths.id;
    const uint64_t ids = width == 0 ? 1 : width < 32 && t->ids > 1u << width ? UINT64_C(1) << width : t->ids;
    const bool reads = p->r_data != NULL, writes = p->w_data != NULL;
    if (m->pair_write) { /* the second half of a pair */
        *b = m->pair_of;
        b->write = true;
        m->pair_write = false;
        return true;
    }
    if (t->count == 0) {
        return false;
    }
    t->count--;
    *b = (tb_axi_request){.id = (uint32_t)tb_rng_range(&m->rng, 0, ids > 0 ? ids - 1 : 0)};
    const bool write = tb_rng_chance(&m->rng, t->writes, 100);
    const bool both = reads && writes && has(p, p->ar.lock) && has(p, p->aw.lock);
    if (t->exclusive > 0 && both && !m->pair && tb_rng_chance(&m->rng, t->exclusive, 100) && draw_exclusive(m, b)) {
        m->pair = true;
        m->pair_of = *b;
        return true;
    }
    const tb_axi_ax_sig *ax = (write && writes) || !reads ? &p->aw : &p->ar;
    b->write = ax == &p->aw;
    b->lock = false;
    b->size = draw_size(m, ax);
    b->burst = draw_kind(m, ax);
    b->cache = p->lite ? 0 : draw_cache(m);
    draw_place(m, ax, b);
    return true;
}
