/* Samples of a port from the changes of a waveform (wave/edges.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../case/hash.h"
#include "../wave/edges.h"
#include "wave_port.h"

_Static_assert(TB_AXI_SIGNALS <= TB_WAVE_EDGE_SIGNALS, "signals of a port");
#define INTERN_START 64u

/* IDs of more than 64 bits get numbers in the order of their occurrence. */
typedef struct intern {
    struct {
        uint64_t hash, number;
        char *bits;
    } * slot;
    uint64_t room, count; /* room: a power of two */
} intern;

typedef struct sampler {
    const tb_axi_wave_bus *bus;
    intern ids;
    bool wide_ids; /* some ID has more than 64 bits */
    bool oom;
    tb_axi_sample s; /* before it */
    uint8_t wdata[TB_AXI_MAX_BYTES], rdata[TB_AXI_MAX_BYTES];
    tb_axi_wave_edge *edge;
    void *ctx;
    tb_axi_wave_seen *seen;
} sampler;

/* ---- values ---- */

/* The low 64 bits; unknown bits are 0. */
static uint64_t number_of(const char *bits, uint32_t width) {
    uint64_t v = 0;
    for (uint32_t i = width > 64 ? width - 64 : 0; i < width; i++) {
        v = v << 1 | (bits[i] == '1' ? 1u : 0u);
    }
    return v;
}

static bool any_unknown(const char *bits, uint32_t width) {
    for (uint32_t i = 0; i < width; i++) {
        if (bits[i] != '0' && bits[i] != '1') {
            return true;
        }
    }
    return false;
}

static bool intern_grow(intern *t) {
    const uint64_t room = t->room == 0 ? INTERN_START : 2 * t->room;
    intern more = {.room = room, .count = t->count};
    more.slot = calloc(room, sizeof *more.slot);
    if (more.slot == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < t->room; i++) {
        uint64_t at = t->slot[i].hash & (room - 1);
        if (t->slot[i].bits == NULL) {
            continue;
        }
        while (more.slot[at].bits != NULL) {
            at = (at + 1) & (room - 1);
        }
        more.slot[at] = t->slot[i];
    }
    free(t->slot);
    *t = more;
    return true;
}

/* Value of an ID, the same for the same bits, whatever the width of the signal; 0 for 0. */
static uint64_t id_of(sampler *p, const char *bits, uint32_t width) {
    char *text = (char *)malloc((size_t)width + 1);
    size_t n = 0;
    if (text == NULL || (p->ids.count * 2 >= p->ids.room && !intern_grow(&p->ids))) {
        p->oom = true;
        free(text);
        return 0;
    }
    for (uint32_t i = 0; i < width; i++) {
        if (n > 0 || bits[i] == '1') {
            text[n++] = bits[i] == '1' ? '1' : '0';
        }
    }
    text[n] = '\0';
    uint64_t number = 0;
    if (n > 0) {
        const uint64_t hash = tb_hash_bytes(TB_HASH_INIT, text, n);
        uint64_t at = hash & (p->ids.room - 1);
        while (p->ids.slot[at].bits != NULL &&
               (p->ids.slot[at].hash != hash || strcmp(p->ids.slot[at].bits, text) != 0)) {
            at = (at + 1) & (p->ids.room - 1);
        }
        if (p->ids.slot[at].bits == NULL) {
            p->ids.slot[at].hash = hash;
            p->ids.slot[at].number = ++p->ids.count;
            p->ids.slot[at].bits = text;
            text = NULL;
        }
        number = p->ids.slot[at].number;
    }
    free(text);
    return number;
}

/* A user signal: only compared for equality. */
static uint64_t user_of(const char *bits, uint32_t width) {
    if (width <= 64) {
        return number_of(bits, width);
    }
    bool any = false;
    uint64_t h = TB_HASH_INIT;
    for (uint32_t i = 0; i < width; i++) {
        any |= bits[i] == '1';
        h = tb_hash_u64(h, bits[i] == '1' ? 1 : 0);
    }
    return any ? h | 1 : 0;
}

/* Lanes of data; those with X as bits of x. */
static void set_data(const char *bits, uint32_t width, uint8_t *data, uint64_t x[2]) {
    x[0] = x[1] = 0;
    for (uint32_t lane = 0; lane < width / 8 && lane < TB_AXI_MAX_BYTES; lane++) {
        const char *byte = bits + width - 8 * (lane + 1);
        data[lane] = (uint8_t)number_of(byte, 8);
        x[lane >> 6] |= any_unknown(byte, 8) ? UINT64_C(1) << (lane & 63u) : 0;
    }
}

static void set_ax(sampler *p, tb_axi_ax *ax, unsigned place, const char *bits, uint32_t width) {
    const uint64_t v = number_of(bits, width);
    uint8_t *const small[] = {&ax->len, &ax->size, &ax->burst, &ax->lock, &ax->cache, &ax->prot, &ax->qos, &ax->region};
    switch (place + TB_AXI_AWVALID) {
    case TB_AXI_AWVALID:
        ax->valid = v != 0;
        break;
    case TB_AXI_AWREADY:
        ax->ready = v != 0;
        break;
    case TB_AXI_AWADDR:
        ax->addr = v;
        break;
    case TB_AXI_AWID:
        ax->id = p->wide_ids ? id_of(p, bits, width) : v;
        break;
    case TB_AXI_AWUSER:
        ax->user = user_of(bits, width);
        break;
    default:
        *small[place + TB_AXI_AWVALID - TB_AXI_AWLEN] = (uint8_t)v;
    }
}

static void set_write(sampler *p, tb_axi_signal signal, const char *bits, uint32_t width) {
    tb_axi_sample *s = &p->s;
    const uint64_t v = number_of(bits, width);
    switch (signal) {
    case TB_AXI_WVALID:
        s->w.valid = v != 0;
        break;
    case TB_AXI_WREADY:
        s->w.ready = v != 0;
        break;
    case TB_AXI_WDATA:
        set_data(bits, width, p->wdata, s->w_x);
        break;
    case TB_AXI_WSTRB:
        s->w.strb[0] = v;
        s->w.strb[1] = width > 64 ? number_of(bits, width - 64) : 0;
        break;
    case TB_AXI_WLAST:
        s->w.last = v != 0;
        break;
    case TB_AXI_WUSER:
        s->w.user = user_of(bits, width);
        break;
    case TB_AXI_BVALID:
        s->b.valid = v != 0;
        break;
    case TB_AXI_BREADY:
        s->b.ready = v != 0;
        break;
    case TB_AXI_BID:
        s->b.id = p->wide_ids ? id_of(p, bits, width) : v;
        break;
    case TB_AXI_BRESP:
        s->b.resp = (uint8_t)v;
        break;
    default: /* TB_AXI_BUSER */
        s->b.user = user_of(bits, width);
    }
}

static void set_read(sampler *p, tb_axi_signal signal, const char *bits, uint32_t width) {
    tb_axi_sample *s = &p->s;
    const uint64_t v = number_of(bits, width);
    switch (signal) {
    case TB_AXI_RVALID:
        s->r.valid = v != 0;
        break;
    case TB_AXI_RREADY:
        s->r.ready = v != 0;
        break;
    case TB_AXI_RID:
        s->r.id = p->wide_ids ? id_of(p, bits, width) : v;
        break;
    case TB_AXI_RDATA:
        set_data(bits, width, p->rdata, s->r_x);
        break;
    case TB_AXI_RRESP:
        s->r.resp = (uint8_t)v;
        break;
    case TB_AXI_RLAST:
        s->r.last = v != 0;
        break;
    default: /* TB_AXI_RUSER */
        s->r.user = user_of(bits, width);
    }
}

static void set(void *ctx, unsigned signal, const char *bits, uint32_t width) {
    sampler *p = (sampler *)ctx;
    const bool x = any_unknown(bits, width);
    p->s.x = x ? p->s.x | TB_AXI_X(signal) : p->s.x & ~TB_AXI_X(signal);
    if (signal == TB_AXI_ARESETN) {
        p->s.reset_n = !x && (bits[0] == '1') != p->bus->reset_high;
    } else if (signal < TB_AXI_WVALID) {
        set_ax(p, &p->s.aw, signal - TB_AXI_AWVALID, bits, width);
    } else if (signal < TB_AXI_ARVALID) {
        set_write(p, (tb_axi_signal)signal, bits, width);
    } else if (signal < TB_AXI_RVALID) {
        set_ax(p, &p->s.ar, signal - TB_AXI_ARVALID, bits, width);
    } else {
        set_read(p, (tb_axi_signal)signal, bits, width);
    }
}

/* ---- times ---- */

static int edge(void *ctx, uint64_t time) {
    sampler *p = (sampler *)ctx;
    p->seen->reset_before |= p->seen->edges == 0 && !p->s.reset_n;
    p->s.cycle = p->seen->edges++;
    return p->edge(p->ctx, &p->s, time);
}

static int moment(void *ctx) {
    const sampler *p = (const sampler *)ctx;
    p->seen->reset_before |= p->seen->edges == 0 && !p->s.reset_n && (p->s.x & TB_AXI_X(TB_AXI_ARESETN)) == 0;
    return p->oom ? -1 : 0;
}

/* ---- begin and end ---- */

/* Missing signals are tied off, the others are unknown until the file has a value. */
static void tie_off(sampler *p) {
    const tb_axi_wave_bus *bus = p->bus;
    tb_axi_sample *s = &p->s;
    uint8_t size = 0;
    while ((1u << size) < bus->bytes && size < 7) {
        size++;
    }
    s->aw.size = s->ar.size = size;
    s->aw.burst = s->ar.burst = TB_AXI_INCR;
    s->w.last = s->r.last = true;
    s->w.strb[0] = bus->bytes >= 64 ? UINT64_MAX : (UINT64_C(1) << bus->bytes) - 1;
    s->w.strb[1] = bus->bytes >= 128 ? UINT64_MAX : bus->bytes <= 64 ? 0 : (UINT64_C(1) << (bus->bytes - 64)) - 1;
    s->w.data = p->wdata;
    s->r.data = p->rdata;
    s->reset_n = bus->reset == NULL;
    s->x = bus->reset != NULL ? TB_AXI_X(TB_AXI_ARESETN) : 0;
    for (unsigned i = TB_AXI_AWVALID; i < TB_AXI_SIGNALS; i++) {
        s->x |= bus->signal[i] != NULL ? TB_AXI_X(i) : 0;
    }
    if (bus->signal[TB_AXI_WDATA] != NULL) {
        s->w_x[0] = s->w_x[1] = UINT64_MAX;
    }
    if (bus->signal[TB_AXI_RDATA] != NULL) {
        s->r_x[0] = s->r_x[1] = UINT64_MAX;
    }
}

int tb_axi_wave_samples(tb_wave *wave, const tb_axi_wave_bus *bus, tb_axi_wave_edge *each, void *ctx,
                        tb_axi_wave_seen *seen, char *err, size_t err_size) {
    sampler *p = (sampler *)calloc(1, sizeof *p);
    snprintf(err, err_size, "out of memory");
    if (p == NULL) {
        return -1;
    }
    *p = (sampler){.bus = bus, .edge = each, .ctx = ctx, .seen = seen};
    tb_wave_edges e = {.clock = bus->clock, .ctx = p, .set = set, .edge = edge, .moment = moment};
    for (unsigned i = TB_AXI_AWVALID; i < TB_AXI_SIGNALS; i++) {
        const bool part = (bus->slice.of & TB_AXI_X(i)) != 0;
        e.in[i].signal = bus->signal[i];
        e.in[i].at = part ? bus->slice.at : 0;
        e.in[i].elements = part ? bus->slice.elements : 0;
        p->wide_ids |= tb_wave_edges_width(&e, i) > 64 &&
                       (i == TB_AXI_AWID || i == TB_AXI_BID || i == TB_AXI_ARID || i == TB_AXI_RID);
    }
    e.in[TB_AXI_ARESETN].signal = bus->reset;
    memset(seen, 0, sizeof *seen);
    tie_off(p);
    const int rc = tb_wave_edges_read(wave, &e, err, err_size);
    for (uint64_t i = 0; i < p->ids.room; i++) {
        free(p->ids.slot[i].bits);
    }
    free(p->ids.slot);
    free(p);
    return rc;
}
