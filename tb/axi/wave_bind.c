/* A port of a waveform file made ready for sampling: the signals that it must have, widths, clock, reset. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "wave_name.h"

typedef struct binder {
    const tb_axi_wave_port *port;
    tb_axi_wave_bus *bus;
    char *err;
    size_t err_size;
    bool failed;
} binder;

/* The first error counts. */
__attribute__((format(printf, 2, 3))) static void complain(binder *b, const char *format, ...) {
    char name[256];
    char text[256];
    va_list args;
    if (b->failed) {
        return;
    }
    b->failed = true;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tb_axi_wave_port_name(b->port, name, sizeof name);
    snprintf(b->err, b->err_size, "port %s: %s", name, text);
}

uint32_t tb_axi_wave_width(const tb_axi_wave_bus *bus, tb_axi_signal signal) {
    const tb_wave_signal *s = bus->signal[signal];
    const bool slice = (bus->slice.of & TB_AXI_X(signal)) != 0;
    return s == NULL ? 0 : slice ? s->width / bus->slice.elements : s->width;
}

static uint32_t width_of(const binder *b, tb_axi_signal signal) {
    return tb_axi_wave_width(b->bus, signal);
}

static uint32_t wider(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

/* Remove signals of missing channels, and those that the protocol does not have. */
static void choose(binder *b, tb_axi_wave_protocol protocol) {
    static const tb_axi_signal bursts[] = {TB_AXI_AWLEN, TB_AXI_AWSIZE, TB_AXI_AWBURST, TB_AXI_WLAST,
                                           TB_AXI_ARLEN, TB_AXI_ARSIZE, TB_AXI_ARBURST, TB_AXI_RLAST};
    tb_axi_wave_bus *bus = b->bus;
    const tb_wave_signal *const *s = b->port->signal;
    bus->writes = s[TB_AXI_AWVALID] != NULL;
    bus->reads = s[TB_AXI_ARVALID] != NULL;
    if (!bus->writes && (s[TB_AXI_AWADDR] != NULL || (s[TB_AXI_WVALID] != NULL && s[TB_AXI_BVALID] != NULL))) {
        complain(b, "no signal AWVALID");
    }
    if (!bus->reads && (s[TB_AXI_ARADDR] != NULL || (s[TB_AXI_RVALID] != NULL && s[TB_AXI_RDATA] != NULL))) {
        complain(b, "no signal ARVALID");
    }
    bus->lite = true;
    for (unsigned i = TB_AXI_AWVALID; i < TB_AXI_SIGNALS; i++) {
        const tb_axi_signal_info *info = tb_axi_signal_get((tb_axi_signal)i);
        const bool write = info->channel < TB_AXI_AR;
        bus->signal[i] = (write ? bus->writes : bus->reads) ? s[i] : NULL;
        bus->lite &= bus->signal[i] == NULL || info->lite;
    }
    for (size_t i = 0; protocol == TB_AXI_WAVE_LITE && i < sizeof bursts / sizeof bursts[0]; i++) {
        if (bus->signal[bursts[i]] != NULL) {
            complain(b, "--lite, but the port has %s, which AXI4-Lite lacks", tb_axi_signal_get(bursts[i])->name);
        }
    }
    bus->lite = protocol == TB_AXI_WAVE_FIND ? bus->lite : protocol == TB_AXI_WAVE_LITE;
    for (unsigned i = TB_AXI_AWVALID; bus->lite && i < TB_AXI_SIGNALS; i++) {
        bus->signal[i] = tb_axi_signal_get((tb_axi_signal)i)->lite ? bus->signal[i] : NULL;
    }
}

/* Handshakes and addresses are required, and LAST where bursts have several beats. */
static void check_present(binder *b) {
    static const tb_axi_signal needed[] = {TB_AXI_AWREADY, TB_AXI_AWADDR,  TB_AXI_WVALID, TB_AXI_WREADY, TB_AXI_BVALID,
                                           TB_AXI_BREADY,  TB_AXI_ARREADY, TB_AXI_ARADDR, TB_AXI_RVALID, TB_AXI_RREADY};
    const tb_axi_wave_bus *bus = b->bus;
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        const tb_axi_signal_info *info = tb_axi_signal_get(needed[i]);
        if ((info->channel < TB_AXI_AR ? bus->writes : bus->reads) && bus->signal[needed[i]] == NULL) {
            complain(b, "no signal %s", info->name);
        }
    }
    if (bus->signal[TB_AXI_AWLEN] != NULL && bus->signal[TB_AXI_WLAST] == NULL) {
        complain(b, "no signal WLAST, although AWLEN exists");
    }
    if (bus->signal[TB_AXI_ARLEN] != NULL && bus->signal[TB_AXI_RLAST] == NULL) {
        complain(b, "no signal RLAST, although ARLEN exists");
    }
}

/* Its range, where the file has one, is that of its bits. That of an array is not. */
static void check_range(binder *b, const char *name, const tb_wave_signal *s) {
    unsigned left;
    unsigned right;
    if (s == NULL || strchr(s->name, '[') != NULL || sscanf(s->range, "[%u:%u]", &left, &right) != 2) {
        return;
    }
    const uint64_t bits = (left > right ? left - right : right - left) + UINT64_C(1);
    if (bits != s->width) {
        complain(b, "%s has %u bits, but the range %.40s", name, s->width, s->range);
    }
}

/* A valid of several bits: why are these not the valids of as many ports? */
static void no_vector(binder *b, const char *name, uint32_t n) {
    if (n > TB_AXI_WAVE_ELEMENTS) {
        complain(b, "%s has %u bits, expected 1, or at most %u of a vector of ports", name, n, TB_AXI_WAVE_ELEMENTS);
    }
    for (unsigned i = TB_AXI_AWVALID; i < TB_AXI_SIGNALS; i++) {
        const tb_axi_signal_info *info = tb_axi_signal_get((tb_axi_signal)i);
        const uint32_t width = width_of(b, (tb_axi_signal)i);
        if (width % n != 0 || (info->bits != 0 && width > n * info->bits)) {
            complain(b, "%s has %u bits, expected 1, and no vector of %u ports, since %s has %u", name, n, n,
                     info->name, width);
        }
    }
}

static void check_widths(binder *b) {
    for (unsigned i = TB_AXI_AWVALID; i < TB_AXI_SIGNALS; i++) {
        const tb_axi_signal_info *info = tb_axi_signal_get((tb_axi_signal)i);
        const uint32_t width = width_of(b, (tb_axi_signal)i);
        if (width > 1 && (i == TB_AXI_AWVALID || i == TB_AXI_ARVALID)) {
            no_vector(b, info->name, width);
        }
        if (info->bits != 0 && width > info->bits) {
            complain(b, "%s has %u bits, expected %u", info->name, width, info->bits);
        }
        check_range(b, info->name, b->bus->signal[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        const tb_axi_signal addr = i == 0 ? TB_AXI_AWADDR : TB_AXI_ARADDR;
        if (width_of(b, addr) > 64) {
            complain(b, "%s has %u bits, expected at most 64", tb_axi_signal_get(addr)->name, width_of(b, addr));
        }
    }
}

static void bind_data(binder *b) {
    const uint32_t w = width_of(b, TB_AXI_WDATA);
    const uint32_t r = width_of(b, TB_AXI_RDATA);
    const uint32_t strobes = width_of(b, TB_AXI_WSTRB);
    const uint32_t bits = w != 0 ? w : r != 0 ? r : 8 * strobes;
    if (w != 0 && r != 0 && w != r) {
        complain(b, "WDATA has %u bits and RDATA %u, expected the same", w, r);
    } else if (bits == 0) {
        complain(b, "neither WDATA nor RDATA, so the width of the bus is not known");
    } else if (bits % 8 != 0 || bits > 65536) {
        complain(b, "a data bus of %u bits, expected a power of two from 8 to 1024", bits);
    } else if (strobes != 0 && 8 * strobes != bits) {
        complain(b, "WSTRB has %u bits, expected %u, one for each byte of data", strobes, bits / 8);
    }
    b->bus->bytes = bits / 8;
}

static uint16_t narrow(uint32_t bits) {
    return (uint16_t)(bits < UINT16_MAX ? bits : UINT16_MAX);
}

int tb_axi_wave_bind(const tb_axi_wave_port *port, tb_axi_wave_protocol protocol, tb_axi_wave_bus *bus, char *err,
                     size_t err_size) {
    binder b = {.port = port, .bus = bus, .err = err, .err_size = err_size};
    memset(bus, 0, sizeof *bus);
    bus->slice = port->slice;
    choose(&b, protocol);
    check_present(&b);
    check_widths(&b);
    bind_data(&b);
    const uint32_t writes = wider(width_of(&b, TB_AXI_AWID), width_of(&b, TB_AXI_BID));
    const uint32_t reads = wider(width_of(&b, TB_AXI_ARID), width_of(&b, TB_AXI_RID));
    bus->widths = (tb_axi_widths){.id = narrow(wider(writes, reads)),
                                  .awuser = narrow(width_of(&b, TB_AXI_AWUSER)),
                                  .wuser = narrow(width_of(&b, TB_AXI_WUSER)),
                                  .buser = narrow(width_of(&b, TB_AXI_BUSER)),
                                  .aruser = narrow(width_of(&b, TB_AXI_ARUSER)),
                                  .ruser = narrow(width_of(&b, TB_AXI_RUSER))};
    return b.failed ? -1 : 0;
}

/* ---- clock and reset ---- */

/* Cut the innermost scope off. False: there was none. */
static bool outwards(char *scope) {
    char *dot = strrchr(scope, '.');
    if (scope[0] == '\0') {
        return false;
    }
    *(dot != NULL ? dot : scope) = '\0';
    return true;
}

/* The best signal of a scope; *several: there is an equally good one with other values. */
static const tb_wave_signal *best_in(const tb_wave *wave, const char *scope, const char *stem, bool reset, int *level,
                                     bool *several) {
    size_t count = 0;
    unsigned best = 0;
    const tb_wave_signal *found = NULL;
    const tb_wave_signal *s = tb_wave_signals(wave, &count);
    *several = false;
    for (size_t i = 0; i < count; i++) {
        int own = 0;
        if (s[i].width != 1 || s[i].parameter || strcmp(s[i].scope, scope) != 0) {
            continue;
        }
        const unsigned place = reset ? axi_name_reset(s[i].name, stem, &own) : axi_name_clock(s[i].name, stem);
        if (place != 0 && (best == 0 || place < best)) {
            best = place;
            found = &s[i];
            *level = own;
            *several = false;
        } else if (place != 0 && place == best && place >= AXI_NAME_VAGUE && s[i].handle != found->handle) {
            *several = true;
        }
    }
    return found;
}

static bool scope_is(const tb_wave_signal *s, const char *scope, const char *name) {
    return strcasecmp(s->scope, scope) == 0 && strcasecmp(s->name, name) == 0;
}

/* A given name: a full path first, then a name in the scope of the port and further out. */
static const tb_wave_signal *named(const tb_wave *wave, const tb_axi_wave_port *port, const char *name) {
    char scope[4096];
    size_t count = 0;
    const tb_wave_signal *s = tb_wave_signals(wave, &count);
    const tb_wave_signal *found = tb_wave_find(wave, name);
    for (size_t i = 0; found == NULL && i < count; i++) {
        found = axi_name_is(&s[i], name) ? &s[i] : NULL;
    }
    snprintf(scope, sizeof scope, "%s", port->scope);
    do {
        for (size_t i = 0; found == NULL && i < count; i++) {
            found = scope_is(&s[i], scope, name) ? &s[i] : NULL;
        }
    } while (found == NULL && outwards(scope));
    return found;
}

/* NULL: none, or ambiguous. */
static const tb_wave_signal *search(const tb_wave *wave, const tb_axi_wave_port *port, bool reset, int *level,
                                    char *where, size_t size) {
    char scope[4096];
    bool several = false;
    snprintf(scope, sizeof scope, "%s", port->scope);
    where[0] = '\0';
    do {
        const tb_wave_signal *s = best_in(wave, scope, port->stem, reset, level, &several);
        if (s != NULL && !several) {
            return s;
        }
        if (several && where[0] == '\0') {
            snprintf(where, size, "%.200s", scope);
        }
    } while (outwards(scope));
    return NULL;
}

/* NULL with one line in err. */
static const tb_wave_signal *given(const tb_wave *wave, const tb_axi_wave_port *port, const char *name,
                                   const char *what, char *err, size_t err_size) {
    const tb_wave_signal *s = named(wave, port, name);
    if (s == NULL) {
        snprintf(err, err_size,
                 "--%s %.200s: no such signal, neither as a full path nor in %.200s or a scope around it", what, name,
                 port->scope[0] != '\0' ? port->scope : "the file");
    } else if (s->width != 1) {
        snprintf(err, err_size, "--%s %.200s: has %u bits, expected 1", what, name, s->width);
        s = NULL;
    }
    return s;
}

int tb_axi_wave_clock(const tb_wave *wave, const tb_axi_wave_port *port, const char *name, tb_axi_wave_bus *bus,
                      char *err, size_t err_size) {
    char where[256];
    char path[256];
    int level;
    tb_axi_wave_port_name(port, path, sizeof path);
    if (name != NULL) {
        bus->clock = given(wave, port, name, "clock", err, err_size);
        return bus->clock != NULL ? 0 : -1;
    }
    bus->clock = search(wave, port, false, &level, where, sizeof where);
    if (bus->clock == NULL && where[0] != '\0') {
        snprintf(err, err_size, "port %s: several clocks in %s, expected --clock NAME", path, where);
    } else if (bus->clock == NULL) {
        snprintf(err, err_size,
                 "port %s: no clock (aclk, clk, clock ...) beside it or in a scope around it, expected --clock NAME",
                 path);
    }
    return bus->clock != NULL ? 0 : -1;
}

int tb_axi_wave_reset(const tb_wave *wave, const tb_axi_wave_port *port, const char *name, int level,
                      tb_axi_wave_bus *bus, char *err, size_t err_size) {
    char where[256];
    int own = 0;
    if (name != NULL) {
        bus->reset = given(wave, port, name, "reset", err, err_size);
        own = bus->reset != NULL ? axi_name_level(bus->reset->name) : 0;
    } else {
        bus->reset = search(wave, port, true, &own, where, sizeof where);
    }
    bus->reset_high = (level >= 0 ? level : own) != 0;
    return bus->reset != NULL || name == NULL ? 0 : -1;
}
