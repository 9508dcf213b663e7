/* bus_find.c - axi-check: AXI4-Stream and APB ports by the names of their signals. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../axi/wave_name.h"
#include "bus_check.h"
#include "report/report.h"

const char *const bus_words[BUS_KINDS][BUS_WORDS + 1u] = {
    {"tvalid", "tready", "tdata", "tkeep", "tstrb", "tlast", "tid", "tdest", "tuser"},
    {"psel", "penable", "paddr", "pwrite", "pwdata", "prdata", "pready", "pslverr", "pstrb", "pprot", "pwstrb"}};

/* A signal that may belong to a port. */
typedef struct entry {
    const tb_wave_signal *signal;
    char *stem;
    uint32_t order;
    uint8_t kind, word;
} entry;

typedef struct entries {
    entry *at;
    size_t count;
} entries;

static int collect(const tb_wave *wave, entries *e) {
    char stem[AXI_NAME_MAX];
    size_t count = 0;
    const tb_wave_signal *s = tb_wave_signals(wave, &count);
    for (size_t i = 0; i < count; i++) {
        for (uint8_t kind = 0; !s[i].parameter && kind < BUS_KINDS; kind++) {
            size_t words = 0;
            while (words < BUS_WORDS && bus_words[kind][words] != NULL) {
                words++;
            }
            const size_t word = axi_name_word(s[i].name, bus_words[kind], words, stem);
            if (word == words) {
                continue;
            }
            char *copy = strdup(stem);
            if (copy == NULL || !rep_more(&e->at, e->count, sizeof *e->at)) {
                free(copy);
                return -1;
            }
            e->at[e->count++] =
                (entry){.signal = &s[i], .stem = copy, .order = (uint32_t)i, .kind = kind, .word = (uint8_t)word};
        }
    }
    return 0;
}

static int same(const entry *a, const entry *b) {
    const int d = a->kind != b->kind ? a->kind - b->kind : strcmp(a->signal->scope, b->signal->scope);
    return d != 0 ? d : strcasecmp(a->stem, b->stem);
}

static int by_port(const void *x, const void *y) {
    const entry *a = (const entry *)x, *b = (const entry *)y;
    const int d = same(a, b);
    return d != 0 ? d : a->order < b->order ? -1 : 1;
}

/* Are its signals there, and do their widths fit? */
static bool whole(bus_port *p) {
    const tb_wave_signal *const *s = p->signal;
    /* TVALID alone is rather a register than a port */
    if (s[0] == NULL || s[1] == NULL ||
        (p->kind == BUS_APB && (s[2] == NULL || s[3] == NULL || (s[4] == NULL && s[5] == NULL) || s[0]->width != 1))) {
        return false;
    }
    const uint32_t n = s[0]->width;
    bool fits = n <= TB_AXI_WAVE_ELEMENTS;
    for (unsigned i = 0; i < BUS_WORDS; i++) {
        fits = fits && (s[i] == NULL || s[i]->width % n == 0);
    }
    if (p->kind == BUS_STREAM) {
        fits = fits && s[1]->width == n && (s[5] == NULL || s[5]->width == n);
        for (unsigned i = 3; i <= 4; i++) { /* a bit for each byte */
            fits = fits && (s[i] == NULL || (s[2] != NULL && s[i]->width * 8 == s[2]->width));
        }
    } else {
        for (unsigned i = 4; i <= 5; i++) {
            fits = fits && (s[i] == NULL || s[i]->width == 8 || s[i]->width == 16 || s[i]->width == 32);
        }
        fits = fits && s[1]->width == 1 && s[2]->width <= 64 && s[3]->width == 1;
    }
    p->elements = n > 1 ? n : 0;
    return fits;
}

/* The same signals in an inner scope? */
static bool seen(const struct bus_ports *ports, const bus_port *p) {
    for (size_t i = 0; i < ports->name.count; i++) {
        const bus_port *q = &ports->port[i];
        bool equal = q->kind == p->kind;
        for (unsigned k = 0; equal && k < BUS_WORDS; k++) {
            equal = (q->signal[k] == NULL) == (p->signal[k] == NULL) &&
                    (p->signal[k] == NULL || q->signal[k]->handle == p->signal[k]->handle);
        }
        if (equal) {
            return true;
        }
    }
    return false;
}

static int add(struct bus_ports *ports, bus_port p, const entry *e) {
    const uint32_t count = p.elements != 0 ? p.elements : 1;
    if (seen(ports, &p)) {
        return 0;
    }
    for (p.at = 0; p.at < count; p.at++) {
        const size_t room = strlen(e->signal->scope) + strlen(e->stem) + 24;
        char *stem = (char *)malloc(room), *path = (char *)malloc(room);
        if (stem == NULL || path == NULL || !rep_more(&ports->port, ports->name.count, sizeof *ports->port) ||
            !rep_more(&ports->name.port, ports->name.count, sizeof *ports->name.port)) {
            free(stem);
            free(path);
            return -1;
        }
        snprintf(stem, room, count > 1 ? "%s[%u]" : "%s", e->stem, p.at);
        snprintf(path, room, "%s%s%s", e->signal->scope, e->signal->scope[0] != '\0' && stem[0] != '\0' ? "." : "",
                 stem);
        ports->port[ports->name.count] = p;
        ports->name.port[ports->name.count++] =
            (tb_axi_wave_port){.scope = e->signal->scope, .stem = stem, .path = path};
    }
    return 0;
}

int bus_ports_find(const tb_wave *wave, struct bus_ports *ports) {
    entries e = {0};
    int rc = collect(wave, &e);
    if (e.count > 0) {
        qsort(e.at, e.count, sizeof *e.at, by_port);
    }
    for (size_t i = 0; i < e.count && rc == 0;) {
        bus_port p = {.kind = (bus_kind)e.at[i].kind};
        size_t end = i;
        for (; end < e.count && same(&e.at[i], &e.at[end]) == 0; end++) {
            const tb_wave_signal **to = &p.signal[e.at[end].word];
            *to = *to == NULL ? e.at[end].signal : *to; /* the first one of a name */
        }
        rc = whole(&p) ? add(ports, p, &e.at[i]) : 0;
        i = end;
    }
    for (size_t i = 0; i < e.count; i++) {
        free(e.at[i].stem);
    }
    free(e.at);
    return rc;
}

void bus_ports_free(struct bus_ports *ports) {
    tb_axi_wave_ports_free(&ports->name);
    free(ports->port);
    ports->port = NULL;
}

void bus_kind_text(const bus_port *port, char *dst, size_t size) {
    const uint32_t n = port->elements != 0 ? port->elements : 1;
    const tb_wave_signal *const *s = port->signal;
    if (port->kind == BUS_STREAM) {
        snprintf(dst, size, "AXI4-Stream, %u bits", s[2] != NULL ? s[2]->width / n : 0);
    } else {
        snprintf(dst, size, "APB, %u bits", (s[4] != NULL ? s[4] : s[5])->width);
    }
}
