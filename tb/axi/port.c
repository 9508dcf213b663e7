#include "port.h"

#include <stdio.h>
#include <string.h>

#include "../case/hash.h"

static uint32_t log2_of(uint32_t v) {
    uint32_t n = 0;
    while ((UINT32_C(1) << n) < v && n < 31) {
        n++;
    }
    return n;
}

/* A channel that is not there: nothing is ever valid, and what the other side drives goes nowhere. */
static void ax_default(tb_axi_port *port, tb_axi_ax_sig *ax) {
    uint8_t *none = (uint8_t *)&port->none;
    ax->valid = none;
    ax->ready = &port->sink;
    ax->addr = (tb_sig){.ptr = none, .width = 64};
    ax->id = ax->user = (tb_sig){.ptr = none, .width = 64};
    ax->len = none;
    ax->size = &port->const_size;
    ax->burst = &port->const_burst;
    ax->lock = ax->cache = ax->prot = ax->qos = ax->region = none;
}

void tb_axi_port_init(tb_axi_port *port, bool lite, uint32_t bytes) {
    memset(port, 0, sizeof *port);
    port->lite = lite;
    port->bytes = bytes;
    port->size_max = log2_of(bytes);
    port->const_size = (uint8_t)port->size_max;
    port->const_burst = TB_AXI_INCR;
    port->const_one = 1;
    uint8_t *none = (uint8_t *)&port->none;
    ax_default(port, &port->aw);
    ax_default(port, &port->ar);
    port->w_valid = port->b_ready = none;
    port->w_ready = port->b_valid = port->b_resp = &port->sink;
    port->r_valid = port->r_ready = port->r_resp = none;
    port->w_last = port->r_last = &port->const_one;
    port->w_data = port->r_data = NULL;
    port->w_strb = (tb_sig){.ptr = none, .width = 64};
    port->b_id = port->r_id = port->w_user = port->b_user = port->r_user = (tb_sig){.ptr = none, .width = 64};
}

typedef struct binder {
    const tb_sim *sim;
    const char *prefix;
    unsigned index, count; /* slice */
    char *err;
    size_t err_size;
    int rc;
} binder;

/* The design's port for a word, whole: "awvalid" or "aw_valid". */
static tb_sig look_whole(const binder *b, const char *name) {
    const unsigned channel = name[0] == 'a' ? 2 : 1; /* letters of "aw", "ar"; "w", "b", "r" */
    return tb_sim_find_split(b->sim, b->prefix, name, channel);
}

static void complain(binder *b, const char *name, const char *what) {
    if (b->rc == 0) {
        snprintf(b->err, b->err_size, "%s: port %s%s %s", b->sim->cfg.shim->top, b->prefix, name, what);
        b->rc = -1;
    }
}

static tb_sig look(binder *b, const char *name) {
    const tb_sig whole = look_whole(b, name), s = tb_sim_slice(b->sim, whole, b->index, b->count);
    if (whole.ptr != NULL && s.ptr == NULL) {
        complain(b, name, "has a width that cannot be divided among its ports");
    }
    return s;
}

/* A signal of at most 8 bits. */
static void small(binder *b, const char *name, bool required, uint8_t **out) {
    const tb_sig s = look(b, name);
    if (s.ptr == NULL) {
        if (required) {
            complain(b, name, "is missing");
        }
        return;
    }
    if (s.width > 8) {
        complain(b, name, "is wider than 8 bits");
        return;
    }
    *out = (uint8_t *)s.ptr;
}

static void number(binder *b, const char *name, bool required, uint32_t max_width, tb_sig *out) {
    const tb_sig s = look(b, name);
    if (s.ptr == NULL) {
        if (required) {
            complain(b, name, "is missing");
        }
        return;
    }
    if (s.width > max_width) {
        complain(b, name, "is too wide");
        return;
    }
    *out = s;
}

static void bind_ax(binder *b, const char *which, tb_axi_ax_sig *ax) {
    char name[32];
#define AX(signal) (snprintf(name, sizeof name, "%s%s", which, signal), name)
    small(b, AX("valid"), true, &ax->valid);
    small(b, AX("ready"), true, &ax->ready);
    number(b, AX("addr"), true, 64, &ax->addr);
    number(b, AX("id"), false, UINT16_MAX, &ax->id);
    number(b, AX("user"), false, UINT16_MAX, &ax->user);
    small(b, AX("len"), false, &ax->len);
    small(b, AX("size"), false, &ax->size);
    small(b, AX("burst"), false, &ax->burst);
    small(b, AX("lock"), false, &ax->lock);
    small(b, AX("cache"), false, &ax->cache);
    small(b, AX("prot"), false, &ax->prot);
    small(b, AX("qos"), false, &ax->qos);
    small(b, AX("region"), false, &ax->region);
#undef AX
}

/* Width of a signal, 0 for a stand-in. */
static uint16_t width_of(const tb_axi_port *port, tb_sig s) {
    return s.ptr == &port->none ? 0 : (uint16_t)s.width;
}

static uint16_t widest(uint16_t a, uint16_t b) {
    return a > b ? a : b;
}

static void bind_widths(tb_axi_port *port) {
    const uint16_t write_id = widest(width_of(port, port->aw.id), width_of(port, port->b_id));
    const uint16_t read_id = widest(width_of(port, port->ar.id), width_of(port, port->r_id));
    port->widths = (tb_axi_widths){.id = widest(write_id, read_id),
                                   .awuser = width_of(port, port->aw.user),
                                   .wuser = width_of(port, port->w_user),
                                   .buser = width_of(port, port->b_user),
                                   .aruser = width_of(port, port->ar.user),
                                   .ruser = width_of(port, port->r_user)};
}

static void bind_writes(binder *b, tb_axi_port *port) {
    bind_ax(b, "aw", &port->aw);
    small(b, "wvalid", true, &port->w_valid);
    small(b, "wready", true, &port->w_ready);
    small(b, "wlast", !port->lite, &port->w_last);
    number(b, "wstrb", true, TB_AXI_MAX_BYTES, &port->w_strb);
    small(b, "bvalid", true, &port->b_valid);
    small(b, "bready", true, &port->b_ready);
    small(b, "bresp", true, &port->b_resp);
    number(b, "wuser", false, UINT16_MAX, &port->w_user);
    number(b, "bid", false, UINT16_MAX, &port->b_id);
    number(b, "buser", false, UINT16_MAX, &port->b_user);
    if (b->rc == 0 && port->w_strb.width != port->bytes) {
        complain(b, "wstrb", "must have one bit for each byte of wdata");
    }
}

static void bind_reads(binder *b, tb_axi_port *port) {
    bind_ax(b, "ar", &port->ar);
    small(b, "rvalid", true, &port->r_valid);
    small(b, "rready", true, &port->r_ready);
    small(b, "rresp", true, &port->r_resp);
    small(b, "rlast", !port->lite, &port->r_last);
    number(b, "rid", false, UINT16_MAX, &port->r_id);
    number(b, "ruser", false, UINT16_MAX, &port->r_user);
}

/* Width of the data bus in bytes; 0: complained. reads, writes: the directions that the port has. */
static uint32_t bind_width(binder *b, bool lite, tb_sig wdata, tb_sig rdata, bool *reads, bool *writes) {
    *writes = lite || wdata.ptr != NULL || look_whole(b, "awvalid").ptr != NULL; /* else it only reads */
    *reads = lite || rdata.ptr != NULL || look_whole(b, "arvalid").ptr != NULL || wdata.ptr == NULL;
    if ((*writes && wdata.ptr == NULL) || (*reads && rdata.ptr == NULL)) {
        complain(b, rdata.ptr == NULL && *reads ? "rdata" : "wdata", "is missing");
        return 0;
    }
    const uint32_t bits = *reads ? rdata.width : wdata.width, bytes = bits / 8;
    if ((*writes && wdata.width != bits) || bytes < (lite ? 4 : 1) || bytes > TB_AXI_MAX_BYTES ||
        (bytes & (bytes - 1)) != 0 || bits % 8 != 0) {
        complain(
            b, *writes ? "wdata" : "rdata",
            "has an illegal width, expected a power of two from 8 to 1024 bits (AXI4-Lite: from 32), as wide as rdata");
        return 0;
    }
    return bytes;
}

int tb_axi_bind_slice(tb_axi_port *port, const tb_sim *sim, const char *prefix, bool lite, unsigned index,
                      unsigned count, char *err, size_t err_size) {
    binder b = {
        .sim = sim, .prefix = prefix, .index = index, .count = count, .err = err, .err_size = err_size, .rc = 0};
    bool reads, writes;
    const tb_sig wdata = look(&b, "wdata");
    const tb_sig rdata = look(&b, "rdata");
    const uint32_t bytes = bind_width(&b, lite, wdata, rdata, &reads, &writes);
    if (bytes == 0) {
        return -1;
    }
    tb_axi_port_init(port, lite, bytes);
    if (reads) {
        bind_reads(&b, port);
        port->r_data = (uint8_t *)rdata.ptr;
    }
    if (writes) {
        bind_writes(&b, port);
        port->w_data = (uint8_t *)wdata.ptr;
    }
    bind_widths(port);
    return b.rc;
}

int tb_axi_bind(tb_axi_port *port, const tb_sim *sim, const char *prefix, bool lite, char *err, size_t err_size) {
    return tb_axi_bind_slice(port, sim, prefix, lite, 0, 1, err, err_size);
}

/* A number for a value of any width. */
static uint64_t get_any(tb_sig s) {
    if (s.width <= 64) {
        return tb_get(s);
    }
    const uint32_t *word = (const uint32_t *)s.ptr;
    uint32_t any = 0;
    for (uint32_t i = 0; i < (s.width + 31) / 32; i++) {
        any |= word[i];
    }
    return any == 0 ? 0 : tb_hash_bytes(TB_HASH_INIT, s.ptr, tb_sig_bytes(s));
}

static void sample_ax(const tb_axi_ax_sig *sig, uint16_t user, tb_axi_ax *out) {
    out->valid = *sig->valid != 0;
    out->ready = *sig->ready != 0;
    if (!out->valid) {
        return;
    }
    out->addr = tb_get(sig->addr);
    out->id = get_any(sig->id);
    out->user = user != 0 ? get_any(sig->user) : 0;
    out->len = *sig->len;
    out->size = *sig->size;
    out->burst = *sig->burst;
    out->lock = *sig->lock;
    out->cache = *sig->cache;
    out->prot = *sig->prot;
    out->qos = *sig->qos;
    out->region = *sig->region;
}

void tb_axi_sample_port(const tb_axi_port *port, uint64_t cycle, bool reset_n, tb_axi_sample *out) {
    out->cycle = cycle;
    out->x = 0;
    out->reset_n = reset_n;
    sample_ax(&port->aw, port->widths.awuser, &out->aw);
    sample_ax(&port->ar, port->widths.aruser, &out->ar);
    out->w.valid = *port->w_valid != 0;
    out->w.ready = *port->w_ready != 0;
    if (out->w.valid) {
        out->w.last = *port->w_last != 0;
        out->w.data = port->w_data;
        out->w.user = port->widths.wuser != 0 ? get_any(port->w_user) : 0;
        out->w.strb[0] = tb_get(port->w_strb);
        out->w.strb[1] = port->w_strb.width > 64 ? tb_get_field(port->w_strb, 64, 64) : 0;
    }
    out->b.valid = *port->b_valid != 0;
    out->b.ready = *port->b_ready != 0;
    if (out->b.valid) {
        out->b.resp = *port->b_resp;
        out->b.id = get_any(port->b_id);
        out->b.user = port->widths.buser != 0 ? get_any(port->b_user) : 0;
    }
    out->r.valid = *port->r_valid != 0;
    out->r.ready = *port->r_ready != 0;
    if (out->r.valid) {
        out->r.last = *port->r_last != 0;
        out->r.resp = *port->r_resp;
        out->r.id = get_any(port->r_id);
        out->r.user = port->widths.ruser != 0 ? get_any(port->r_user) : 0;
        out->r.data = port->r_data;
    }
}
