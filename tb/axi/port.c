#include "port.h"

#include <stdio.h>
#include <string.h>

const char *tb_axi_channel_name(tb_axi_channel channel) {
    static const char *const names[TB_AXI_CHANNELS] = {"AW", "W", "B", "AR", "R"};
    return (unsigned)channel < TB_AXI_CHANNELS ? names[channel] : "?";
}

static uint32_t log2_of(uint32_t v) {
    uint32_t n = 0;
    while ((UINT32_C(1) << n) < v && n < 31) {
        n++;
    }
    return n;
}

static void ax_default(tb_axi_port *port, tb_axi_ax_sig *ax) {
    uint8_t *none = (uint8_t *)&port->none;
    ax->valid = none;
    ax->ready = none;
    ax->addr = (tb_sig){.ptr = none, .width = 64};
    ax->id = (tb_sig){.ptr = none, .width = 16};
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
    port->w_valid = port->w_ready = port->b_valid = port->b_ready = port->b_resp = none;
    port->r_valid = port->r_ready = port->r_resp = none;
    port->w_last = port->r_last = &port->const_one;
    port->w_data = port->r_data = NULL;
    port->w_strb = (tb_sig){.ptr = none, .width = 64};
    port->b_id = port->r_id = (tb_sig){.ptr = none, .width = 16};
}

typedef struct binder {
    const tb_sim *sim;
    const char *prefix;
    char *err;
    size_t err_size;
    int rc;
} binder;

static tb_sig look(binder *b, const char *name) {
    static const char *const suffix[] = {"", "_i", "_o"};
    for (size_t i = 0; i < 3; i++) {
        char full[128];
        snprintf(full, sizeof full, "%s%s%s", b->prefix, name, suffix[i]);
        const tb_sig s = tb_sim_find(b->sim, full);
        if (s.ptr != NULL) {
            return s;
        }
    }
    return (tb_sig){.ptr = NULL, .width = 0};
}

static void complain(binder *b, const char *name, const char *what) {
    if (b->rc == 0) {
        snprintf(b->err, b->err_size, "%s: port %s%s %s", b->sim->cfg.shim->top, b->prefix, name, what);
        b->rc = -1;
    }
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
    number(b, AX("id"), false, 16, &ax->id);
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

int tb_axi_bind(tb_axi_port *port, const tb_sim *sim, const char *prefix, bool lite, char *err, size_t err_size) {
    binder b = {.sim = sim, .prefix = prefix, .err = err, .err_size = err_size, .rc = 0};
    const tb_sig wdata = look(&b, "wdata");
    const tb_sig rdata = look(&b, "rdata");
    const uint32_t bytes = wdata.width / 8;
    if (wdata.ptr == NULL || rdata.ptr == NULL) {
        complain(&b, wdata.ptr == NULL ? "wdata" : "rdata", "is missing");
        return -1;
    }
    if (wdata.width != rdata.width || bytes < 4 || bytes > TB_AXI_MAX_BYTES || (bytes & (bytes - 1)) != 0 || wdata.width % 8 != 0) {
        complain(&b, "wdata", "has an illegal width, expected a power of two from 32 to 1024 bits, as wide as rdata");
        return -1;
    }
    tb_axi_port_init(port, lite, bytes);
    bind_ax(&b, "aw", &port->aw);
    bind_ax(&b, "ar", &port->ar);
    small(&b, "wvalid", true, &port->w_valid);
    small(&b, "wready", true, &port->w_ready);
    small(&b, "wlast", !lite, &port->w_last);
    number(&b, "wstrb", true, TB_AXI_MAX_BYTES, &port->w_strb);
    small(&b, "bvalid", true, &port->b_valid);
    small(&b, "bready", true, &port->b_ready);
    small(&b, "bresp", true, &port->b_resp);
    number(&b, "bid", false, 16, &port->b_id);
    small(&b, "rvalid", true, &port->r_valid);
    small(&b, "rready", true, &port->r_ready);
    small(&b, "rresp", true, &port->r_resp);
    small(&b, "rlast", !lite, &port->r_last);
    number(&b, "rid", false, 16, &port->r_id);
    if (b.rc == 0 && port->w_strb.width != bytes) {
        complain(&b, "wstrb", "must have one bit for each byte of wdata");
    }
    port->w_data = (uint8_t *)wdata.ptr;
    port->r_data = (uint8_t *)rdata.ptr;
    return b.rc;
}

static void sample_ax(const tb_axi_ax_sig *sig, tb_axi_ax *out) {
    out->valid = *sig->valid != 0;
    out->ready = *sig->ready != 0;
    if (!out->valid) {
        return;
    }
    out->addr = tb_get(sig->addr);
    out->id = (uint32_t)tb_get(sig->id) & 0xffffu;
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
    out->reset_n = reset_n;
    sample_ax(&port->aw, &out->aw);
    sample_ax(&port->ar, &out->ar);
    out->w.valid = *port->w_valid != 0;
    out->w.ready = *port->w_ready != 0;
    if (out->w.valid) {
        out->w.last = *port->w_last != 0;
        out->w.data = port->w_data;
        out->w.strb[0] = tb_get(port->w_strb);
        out->w.strb[1] = port->w_strb.width > 64 ? tb_get_field(port->w_strb, 64, 64) : 0;
    }
    out->b.valid = *port->b_valid != 0;
    out->b.ready = *port->b_ready != 0;
    if (out->b.valid) {
        out->b.resp = *port->b_resp;
        out->b.id = (uint32_t)tb_get(port->b_id) & 0xffffu;
    }
    out->r.valid = *port->r_valid != 0;
    out->r.ready = *port->r_ready != 0;
    if (out->r.valid) {
        out->r.last = *port->r_last != 0;
        out->r.resp = *port->r_resp;
        out->r.id = (uint32_t)tb_get(port->r_id) & 0xffffu;
        out->r.data = port->r_data;
    }
}

void tb_axi_beat(uint64_t addr, unsigned len, unsigned size, unsigned burst, unsigned beat, unsigned bytes, uint64_t *beat_addr,
                 unsigned *lo, unsigned *hi) {
    const uint64_t step = UINT64_C(1) << size;
    uint64_t a = addr;
    if (beat > 0 && burst != TB_AXI_FIXED) {
        a = (addr & ~(step - 1)) + (uint64_t)beat * step;
        if (burst == TB_AXI_WRAP) {
            const uint64_t total = step * (len + 1u);
            const uint64_t low = addr & ~(total - 1);
            a = low + ((a - low) & (total - 1));
        }
    }
    const uint64_t top = (a & ~(step - 1)) + step - 1; /* last byte of the container */
    const uint64_t bus = bytes - 1u;
    if (beat_addr != NULL) {
        *beat_addr = a & ~bus;
    }
    *lo = (unsigned)(a & bus);
    *hi = step > bytes ? (unsigned)bus : (unsigned)(top & bus);
}
