/* Ports in a waveform file: signals with one stem in one scope are a port; lookup of a port by prefix. */
#include "wave_port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "wave_name.h"
#include "report/report.h"

#define STRUCT_BITS 40u /* fewer are no request or response of a bus */

/* A candidate signal of a port. */
typedef struct entry {
    const tb_wave_signal *signal;
    char *stem;
    uint32_t order; /* in the file */
    uint8_t which;  /* tb_axi_signal */
    uint8_t side;
    uint16_t at, elements; /* a slice of a vector: number, of how many; 0: the whole signal */
} entry;

typedef struct entries {
    entry *at;
    size_t count;
} entries;

/* ---- collect ---- */

/* Takes the stem. */
static int add_entry(entries *e, entry more, char *stem) {
    if (stem == NULL || !rep_more(&e->at, e->count, sizeof *e->at)) {
        free(stem);
        return -1;
    }
    more.stem = stem;
    e->at[e->count++] = more;
    return 0;
}

static int collect(const tb_wave *wave, entries *e) {
    size_t count = 0;
    axi_name n;
    const tb_wave_signal *s = tb_wave_signals(wave, &count);
    for (size_t i = 0; i < count; i++) {
        if (s[i].parameter) {
            continue;
        }
        axi_name_read(s[i].name, &n);
        if (n.signal == TB_AXI_SIGNALS) {
            continue;
        }
        const entry one = {.signal = &s[i], .order = (uint32_t)i, .which = (uint8_t)n.signal, .side = (uint8_t)n.side};
        if (add_entry(e, one, strdup(n.stem)) != 0) {
            return -1;
        }
    }
    return 0;
}

static int by_port(const void *x, const void *y) {
    const entry *a = (const entry *)x;
    const entry *b = (const entry *)y;
    int d = strcmp(a->signal->scope, b->signal->scope);
    d = d != 0 ? d : strcasecmp(a->stem, b->stem);
    return d != 0 ? d : a->order < b->order ? -1 : a->order > b->order ? 1 : 0;
}

/* All entries from `first` on with its scope and stem; the end of them. */
static size_t group_end(const entries *e, size_t first) {
    size_t end = first + 1;
    while (end < e->count && strcmp(e->at[first].signal->scope, e->at[end].signal->scope) == 0 &&
           strcasecmp(e->at[first].stem, e->at[end].stem) == 0) {
        end++;
    }
    return end;
}

/* ---- vectors of ports ---- */

/* So many ports have their signals side by side in these; 0: it is one port. */
static unsigned elements_of(const entry *e, size_t count) {
    uint32_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const bool valid = e[i].which == TB_AXI_AWVALID || e[i].which == TB_AXI_ARVALID;
        n = valid && n == 0 ? e[i].signal->width : n;
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = tb_axi_signal_get((tb_axi_signal)e[i].which)->bits;
        const uint32_t width = e[i].signal->width;
        if (n < 2 || n > TB_AXI_WAVE_ELEMENTS || width % n != 0 || (bits != 0 && width / n > bits)) {
            return 0;
        }
    }
    return n;
}

/* Entries of vectors of ports become one for each port, named as the element of an array. The rest moves along. */
static int split(entries *e) {
    entries all = {0};
    int rc = 0;
    for (size_t i = 0; i < e->count && rc == 0;) {
        const size_t end = group_end(e, i);
        const unsigned n = elements_of(e->at + i, end - i);
        for (; i < end && rc == 0; i++) {
            entry one = e->at[i];
            for (unsigned k = 0; k < n && rc == 0; k++) {
                const size_t size = strlen(one.stem) + 16;
                char *stem = (char *)malloc(size);
                if (stem != NULL) {
                    snprintf(stem, size, "%s[%u]", one.stem, k);
                }
                one.at = (uint16_t)k;
                one.elements = (uint16_t)n;
                rc = add_entry(&all, one, stem);
                one.stem = e->at[i].stem;
            }
            rc = n == 0 ? add_entry(&all, one, strdup(one.stem)) : rc;
        }
    }
    for (size_t i = 0; i < e->count; i++) {
        free(e->at[i].stem);
    }
    free(e->at);
    *e = all;
    return rc;
}

/* ---- ports ---- */

static int add_port(tb_axi_wave_ports *ports, const entry *e, size_t count, tb_axi_side side) {
    tb_axi_wave_port p = {.scope = e->signal->scope, .side = side};
    for (unsigned exact = 1; exact < 2; exact--) { /* a name that tells the side is preferred to one that does not */
        for (size_t i = 0; i < count; i++) {
            const bool fits = side == TB_AXI_SIDE_ANY ? exact == 1 : e[i].side == (exact == 1 ? side : TB_AXI_SIDE_ANY);
            const tb_wave_signal **place = &p.signal[e[i].which];
            if (fits && *place == NULL) {
                *place = e[i].signal;
                p.slice.of |= e[i].elements > 0 ? TB_AXI_X(e[i].which) : 0;
                p.slice.at = e[i].elements > 0 ? e[i].at : p.slice.at;
                p.slice.elements = e[i].elements > 0 ? e[i].elements : p.slice.elements;
            } else if (fits && (*place)->handle != e[i].signal->handle && p.second == NULL) {
                p.second = e[i].signal;
            }
        }
    }
    if (p.signal[TB_AXI_AWVALID] == NULL && p.signal[TB_AXI_ARVALID] == NULL) {
        return 0;
    }
    if (!rep_more(&ports->port, ports->count, sizeof *ports->port)) {
        return -1;
    }
    const size_t size = strlen(p.scope) + strlen(e->stem) + 2;
    p.stem = strdup(e->stem);
    p.path = (char *)malloc(size);
    if (p.stem == NULL || p.path == NULL) {
        free(p.stem);
        free(p.path);
        return -1;
    }
    snprintf(p.path, size, "%s%s%s", p.scope, p.scope[0] != '\0' && p.stem[0] != '\0' ? "." : "", p.stem);
    ports->port[ports->count++] = p;
    return 0;
}

/* Do these names make a port of this side, with valid and ready of an address channel? */
static bool complete(const entry *e, size_t count, tb_axi_side side) {
    uint64_t there = 0;
    for (size_t i = 0; i < count; i++) {
        there |= e[i].side == TB_AXI_SIDE_ANY || e[i].side == side ? TB_AXI_X(e[i].which) : 0;
    }
    const uint64_t write = TB_AXI_X(TB_AXI_AWVALID) | TB_AXI_X(TB_AXI_AWREADY);
    const uint64_t read = TB_AXI_X(TB_AXI_ARVALID) | TB_AXI_X(TB_AXI_ARREADY);
    return (there & write) == write || (there & read) == read;
}

/* All signals of one scope and stem: a port, or one of each side ("awvalid_i" and "awvalid_o" of a module between two
 * buses). */
static int add_group(tb_axi_wave_ports *ports, const entry *e, size_t count) {
    bool told[3] = {false, false, false};
    for (size_t i = 0; i < count; i++) {
        told[e[i].side] = true;
    }
    const bool master = told[TB_AXI_SIDE_MASTER] && complete(e, count, TB_AXI_SIDE_MASTER);
    const bool slave = told[TB_AXI_SIDE_SLAVE] && complete(e, count, TB_AXI_SIDE_SLAVE);
    if (!master && !slave) {
        return add_port(ports, e, count, TB_AXI_SIDE_ANY);
    }
    const size_t before = ports->count;
    if ((master && add_port(ports, e, count, TB_AXI_SIDE_MASTER) != 0) ||
        (slave && add_port(ports, e, count, TB_AXI_SIDE_SLAVE) != 0)) {
        return -1;
    }
    for (size_t i = before; ports->count - before == 2 && i < ports->count; i++) {
        ports->port[i].twin = true;
    }
    return 0;
}

/* Are all signals of port a also signals of port b? */
static bool part_of(const tb_axi_wave_port *a, const tb_axi_wave_port *b) {
    for (unsigned i = 0; i < TB_AXI_SIGNALS; i++) {
        const tb_wave_signal *x = a->signal[i];
        const tb_wave_signal *y = b->signal[i];
        const bool slice = x != NULL && (a->slice.of & TB_AXI_X(i)) != 0;
        if (x != NULL && (y == NULL || x->handle != y->handle || slice != ((b->slice.of & TB_AXI_X(i)) != 0) ||
                          (slice && a->slice.at != b->slice.at))) {
            return false;
        }
    }
    return true;
}

static size_t depth(const char *scope) {
    size_t n = 0;
    for (; *scope != '\0'; scope++) {
        n += *scope == '.' ? 1 : 0;
    }
    return n;
}

static void free_port(tb_axi_wave_port *port) {
    free(port->stem);
    free(port->path);
}

/* One bus through several scopes is one port, in the outermost scope. */
static void drop_copies(tb_axi_wave_ports *ports) {
    size_t kept = 0;
    for (size_t i = 0; i < ports->count; i++) {
        bool copy = false;
        for (size_t k = 0; k < ports->count && !copy; k++) {
            const tb_axi_wave_port *a = &ports->port[i];
            const tb_axi_wave_port *b = &ports->port[k];
            const bool outer = depth(b->scope) < depth(a->scope) || (depth(b->scope) == depth(a->scope) && k < i);
            copy = k != i && b->path != NULL && outer && part_of(a, b);
        }
        if (copy) {
            free_port(&ports->port[i]);
            /* its scope is kept for comparison with later ones */
            ports->port[i].path = ports->port[i].stem = NULL;
        }
    }
    for (size_t i = 0; i < ports->count; i++) {
        if (ports->port[i].path != NULL) {
            ports->port[kept++] = ports->port[i];
        }
    }
    ports->count = kept;
}

int tb_axi_wave_ports_find(const tb_wave *wave, tb_axi_wave_ports *ports) {
    entries e = {0};
    *ports = (tb_axi_wave_ports){0};
    int rc = collect(wave, &e);
    for (unsigned turn = 0; turn < 2 && rc == 0 && e.count > 0; turn++) {
        qsort(e.at, e.count, sizeof *e.at, by_port);
        rc = turn == 0 ? split(&e) : 0;
    }
    for (size_t i = 0; rc == 0 && i < e.count;) {
        const size_t end = group_end(&e, i);
        rc = add_group(ports, e.at + i, end - i);
        i = end;
    }
    for (size_t i = 0; i < e.count; i++) {
        free(e.at[i].stem);
    }
    free(e.at);
    if (rc != 0) {
        tb_axi_wave_ports_free(ports);
        return -1;
    }
    drop_copies(ports);
    return 0;
}

void tb_axi_wave_ports_free(tb_axi_wave_ports *ports) {
    for (size_t i = 0; i < ports->count; i++) {
        free_port(&ports->port[i]);
    }
    free(ports->port);
    *ports = (tb_axi_wave_ports){0};
}

const tb_wave_signal *tb_axi_wave_struct(const tb_wave *wave) {
    size_t count = 0;
    const tb_wave_signal *s = tb_wave_signals(wave, &count);
    for (size_t i = 0; i < count; i++) {
        if (s[i].width >= STRUCT_BITS && axi_name_struct(s[i].name)) {
            return &s[i];
        }
    }
    return NULL;
}

/* ---- prefixes ---- */

void tb_axi_wave_port_name(const tb_axi_wave_port *port, char *dst, size_t size) {
    const char *side = !port->twin ? "" : port->side == TB_AXI_SIDE_MASTER ? " (master)" : " (slave)";
    snprintf(dst, size, "%s%s", port->path[0] != '\0' ? port->path : "(no scope)", side);
}

/* Does `path`, or the part after one of its separators, equal `prefix`, or begin with it? */
static bool part_is(const char *path, const char *separators, const char *prefix, size_t len, bool whole) {
    for (const char *at = path; at != NULL; at = strpbrk(at, separators), at += at != NULL ? 1 : 0) {
        if (strncasecmp(at, prefix, len) == 0 && (!whole || at[len] == '\0')) {
            return true;
        }
    }
    return false;
}

/* 1: the whole path; 2: its end, or the end of the scope; 3: the beginning of one of these; 4: words in the middle of a
 * name; 0: none of it. */
static unsigned rank_of(const tb_axi_wave_port *port, const char *prefix, size_t len) {
    const char *inner = strchr(port->path, '.');
    const char *whole[] = {port->path, inner != NULL ? inner + 1 : port->path};
    for (unsigned i = 0; i < 2; i++) {
        if (strncasecmp(whole[i], prefix, len) == 0 && whole[i][len] == '\0') {
            return 1;
        }
    }
    if (part_is(port->path, ".", prefix, len, true) || part_is(port->scope, ".", prefix, len, true)) {
        return 2;
    }
    return part_is(port->path, ".", prefix, len, false) ? 3 : part_is(port->stem, "._", prefix, len, false) ? 4 : 0;
}

typedef struct list {
    char text[600];
    size_t len;
    unsigned count, shown;
} list;

static void list_add(list *l, const tb_axi_wave_port *port) {
    char name[256];
    tb_axi_wave_port_name(port, name, sizeof name);
    l->count++;
    if (l->len + strlen(name) + 32 < sizeof l->text) {
        l->len += (size_t)snprintf(l->text + l->len, sizeof l->text - l->len, "%s%s", l->shown > 0 ? ", " : "", name);
        l->shown++;
    }
}

static const char *list_end(list *l) {
    if (l->count > l->shown) {
        snprintf(l->text + l->len, sizeof l->text - l->len, " and %u more", l->count - l->shown);
    }
    return l->text;
}

/* The ports of the best rank. Their number; the last one in *found. */
static unsigned best_ports(const tb_axi_wave_ports *ports, const char *prefix, size_t len, tb_axi_side side, list *l,
                           const tb_axi_wave_port **found) {
    unsigned best = 5;
    for (size_t i = 0; i < ports->count; i++) {
        const unsigned rank = rank_of(&ports->port[i], prefix, len);
        best = rank != 0 && rank < best ? rank : best;
    }
    for (size_t i = 0; i < ports->count; i++) {
        const tb_axi_wave_port *p = &ports->port[i];
        if (rank_of(p, prefix, len) == best && (side == TB_AXI_SIDE_ANY || !p->twin || p->side == side)) {
            list_add(l, p);
            *found = p;
        }
    }
    return l->count;
}

/* A port with all signals that it must have. */
static bool whole_port(const tb_axi_wave_port *port) {
    tb_axi_wave_bus bus;
    char err[256];
    return tb_axi_wave_bind(port, TB_AXI_WAVE_FIND, &bus, err, sizeof err) == 0;
}

static const tb_axi_wave_port *only_port(const tb_axi_wave_ports *ports, tb_axi_side side, const char *file, char *err,
                                         size_t err_size) {
    const tb_axi_wave_port *found = NULL;
    list l = {.len = 0};
    for (unsigned strict = 1; strict < 2 && l.count == 0; strict--) {
        for (size_t i = 0; i < ports->count; i++) {
            const tb_axi_wave_port *p = &ports->port[i];
            if ((strict == 0 || whole_port(p)) && (side == TB_AXI_SIDE_ANY || !p->twin || p->side == side)) {
                list_add(&l, p);
                found = p;
            }
        }
    }
    if (l.count == 0) {
        snprintf(err, err_size, "%s: no AXI port: no signal awvalid or arvalid, whatever the prefix", file);
    } else if (l.count > 1) {
        snprintf(err, err_size, "%s: %u ports, expected --prefix for one of them: %s", file, l.count, list_end(&l));
    }
    return l.count == 1 ? found : NULL;
}

const tb_axi_wave_port *tb_axi_wave_ports_get(const tb_axi_wave_ports *ports, const char *prefix, tb_axi_side side,
                                              const char *file, char *err, size_t err_size) {
    const tb_axi_wave_port *found = NULL;
    list l = {.len = 0};
    size_t len = prefix != NULL ? strlen(prefix) : 0;
    while (len > 0 && (prefix[len - 1] == '_' || prefix[len - 1] == '.')) {
        len--;
    }
    if (len == 0) {
        return only_port(ports, side, file, err, err_size);
    }
    unsigned count = best_ports(ports, prefix, len, side, &l, &found);
    if (count == 0) { /* "i_axi" of "i_axi_awvalid": that is a direction */
        char text[AXI_NAME_MAX];
        snprintf(text, sizeof text, "%.*s", (int)(len < sizeof text ? len : 0), prefix);
        char *dot = strrchr(text, '.');
        char *name = dot != NULL ? dot + 1 : text;
        if (name[0] != '\0' && strchr("iIoO", name[0]) != NULL && name[1] == '_') {
            memmove(name, name + 2, strlen(name + 2) + 1);
            count = best_ports(ports, text, strlen(text), side, &l, &found);
        }
    }
    if (count == 1) {
        return found;
    }
    if (count > 1) {
        snprintf(err, err_size, "%s: prefix %.120s is that of %u ports: %s", file, prefix, count, list_end(&l));
        return NULL;
    }
    for (size_t i = 0; i < ports->count; i++) {
        list_add(&l, &ports->port[i]);
    }
    snprintf(err, err_size, "%s: no AXI port with prefix %.120s%s%s", file, prefix,
             l.count > 0 ? ", there are: " : ", there is none at all", l.count > 0 ? list_end(&l) : "");
    return NULL;
}
