/* waits.c - handshakes that stand, at the edge of a design and between its units. */
#include "waits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../tap/tap.h"

#define UNITS 24u /* lines for units */
#define UNIT_LOOKS 64u

static const char *const suffixes[] = {"_in", "_out", "_i", "_o", ""};
#define SUFFIXES (sizeof suffixes / sizeof *suffixes)

/* Length of a name without the sign of its direction. */
static size_t plain(const char *name) {
    const size_t n = strlen(name);
    for (size_t i = 0; i + 1 < SUFFIXES; i++) {
        const size_t s = strlen(suffixes[i]);
        if (n > s && strcmp(name + n - s, suffixes[i]) == 0) {
            return n - s;
        }
    }
    return n;
}

/*
 * Is this a valid? Then what stands before the word, without the line below, and the n-th name that its ready may have.
 */
static bool ready_name(const char *valid, size_t n, char *stem, char *ready, size_t size) {
    const size_t end = plain(valid);
    if (end < 5 || strncmp(valid + end - 5, "valid", 5) != 0 || end >= size) {
        return false;
    }
    if (valid[end] != '\0' && strcmp(valid + end, suffixes[n]) == 0) {
        return false; /* the other signal has the other direction */
    }
    const size_t t = end > 5 && valid[end - 6] == 't' && (end == 6 || valid[end - 7] == '_') ? 1 : 0;
    const size_t before = end - 5 - t;
    const size_t keep = before > 0 && valid[before - 1] == '_' ? before - 1 : before;
    snprintf(stem, size, "%.*s", (int)keep, valid);
    return (size_t)snprintf(ready, size, "%.*sready%s", (int)(end - 5), valid, suffixes[n]) < size;
}

/* ---- of the design ---- */

static bool of_bus(const char *name, const char *const *prefixes) {
    for (size_t i = 0; prefixes[i] != NULL; i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    return false;
}

static const tb_shim_port *port_of(const tb_sim *sim, const char *name) {
    for (size_t i = 0; i < sim->cfg.shim->nports; i++) {
        if (strcmp(sim->ports[i].name, name) == 0) {
            return &sim->ports[i];
        }
    }
    return NULL;
}

/* The ports of each handshake: those that begin with its prefix, the longest one that fits. */
static void find_payloads(tb_waits *waits, const tb_sim *sim, const size_t *prefix, const tb_shim_port *const *valid) {
    unsigned count[TB_WAITS] = {0};
    for (size_t i = 0; i < sim->cfg.shim->nports; i++) {
        const tb_shim_port *p = &sim->ports[i];
        unsigned best = waits->count;
        for (unsigned k = 0; k < waits->count; k++) {
            const bool fits = prefix[k] > 0 && p != valid[k] && strncmp(p->name, valid[k]->name, prefix[k]) == 0;
            best = fits && (best == waits->count || prefix[k] > prefix[best]) ? k : best;
        }
        tb_wait *w = &waits->wait[best < waits->count ? best : 0];
        if (best < waits->count && p->input == w->input && count[best] < TB_WAITS_PAYLOAD) {
            w->payload[count[best]++] = tb_sim_find(sim, p->name);
        }
    }
}

void tb_waits_open(tb_waits *waits, const tb_sim *sim, const char *const *prefixes) {
    char ready[64];
    size_t prefix[TB_WAITS];
    const tb_shim_port *valids[TB_WAITS];
    *waits = (tb_waits){.counts = sim->schedule.count == 0};
    for (size_t i = 0; i < sim->cfg.shim->nports && waits->count < TB_WAITS; i++) {
        const tb_shim_port *valid = &sim->ports[i];
        tb_wait *w = &waits->wait[waits->count];
        for (size_t n = 0; n < SUFFIXES && valid->width == 1 && !of_bus(valid->name, prefixes); n++) {
            const tb_shim_port *other =
                ready_name(valid->name, n, w->name, ready, sizeof ready) ? port_of(sim, ready) : NULL;
            if (other != NULL && other->width == 1 && other->input != valid->input) {
                w->valid = tb_sim_find(sim, valid->name);
                w->ready = tb_sim_find(sim, ready);
                w->input = valid->input;
                const size_t stem = strlen(w->name);
                prefix[waits->count] = stem > 0 && valid->name[stem] == '_' ? stem + 1 : stem;
                valids[waits->count++] = valid;
                break;
            }
        }
    }
    find_payloads(waits, sim, prefix, valids);
}

bool tb_waits_root(const tb_waits *waits, char *text, size_t size) {
    const tb_wait *first = NULL;
    for (unsigned i = 0; i < waits->count; i++) {
        const tb_wait *w = &waits->wait[i];
        first = w->waits && (first == NULL || w->since < first->since) ? w : first;
    }
    if (first != NULL) {
        snprintf(text, size, "the %s has not taken %s since cycle %" PRIu64, first->input ? "design" : "bench",
                 first->name, first->since);
    }
    return first != NULL;
}

static void wait_line(const tb_waits *waits, const tb_wait *w, FILE *out) {
    fprintf(out, "  %-20s ", w->name[0] != '\0' ? w->name : "valid, ready");
    if (w->waits) {
        fprintf(out, "valid since cycle %" PRIu64 ", the %s is not ready", w->since, w->input ? "design" : "bench");
    } else {
        fprintf(out, tb_get(w->valid) != 0 ? "valid and ready" : tb_get(w->ready) != 0 ? "ready, not valid" : "idle");
    }
    if (waits->counts && w->transfers > 0) {
        fprintf(out, "; %" PRIu64 " transfers, the last in cycle %" PRIu64, w->transfers, w->last);
    }
    fputs(waits->counts && w->transfers == 0 ? "; no transfer\n" : "\n", out);
}

/* ---- of units ---- */

/* Handshakes of a unit that stand: bit i for the valid that is its signal i. */
typedef struct unit_waits {
    uint64_t in, out, either; /* it does not take; what it offers is not taken; its name does not tell */
} unit_waits;

/* The ready of signal i of a tap, if that is a valid. */
static bool pair_of(const tb_tap *tap, size_t i, char *stem, size_t size, tb_sig *valid, tb_sig *ready) {
    char name[64];
    *ready = (tb_sig){0};
    for (size_t n = 0; n < SUFFIXES && ready->ptr == NULL; n++) {
        if (ready_name(tap->var[i].name, n, stem, name, size < sizeof name ? size : sizeof name)) {
            *ready = tb_tap_find(tap, name);
        }
    }
    *valid = tb_tap_find(tap, tap->var[i].name);
    return ready->ptr != NULL && ready->width == 1 && valid->width == 1;
}

static unit_waits look_at(const tb_tap *tap) {
    unit_waits u = {0};
    char stem[64];
    tb_sig valid, ready;
    for (size_t i = 0; i < tap->vars && i < 64; i++) {
        const char *name = tap->var[i].name, *sign = name + plain(name);
        if (pair_of(tap, i, stem, sizeof stem, &valid, &ready) && tb_get(valid) != 0 && tb_get(ready) == 0) {
            uint64_t *mask = sign[0] == '\0' ? &u.either : sign[1] == 'i' ? &u.in : &u.out;
            *mask |= 1ull << i;
        }
    }
    return u;
}

static void unit_line(const tb_tap *tap, const unit_waits *u, FILE *out) {
    char stem[64];
    tb_sig valid, ready;
    const char *comma = ":";
    fprintf(out, "  %s", tap->path);
    for (size_t i = 0; i < tap->vars && i < 64; i++) {
        if (((u->in | u->out | u->either) >> i & 1u) == 0 || !pair_of(tap, i, stem, sizeof stem, &valid, &ready)) {
            continue;
        }
        const char *what = (u->in >> i & 1u) != 0    ? "does not accept"
                           : (u->out >> i & 1u) != 0 ? "keeps offering"
                                                     : "waits with";
        fprintf(out, "%s %s %s", comma, what, tap->var[i].name);
        comma = ",";
    }
    fputs("\n", out);
}

/* What stands in this cycle and in all of the next ones, for random stalls are over by then. */
static unit_waits *look_at_all(const tb_taps *taps, bool (*cycle)(void *ctx), void *ctx) {
    unit_waits *u = (unit_waits *)calloc(taps->count + 1, sizeof *u);
    for (unsigned n = 0; u != NULL && n < UNIT_LOOKS; n++) {
        for (size_t i = 0; i < taps->count; i++) {
            const unit_waits now = look_at(&taps->tap[i]), *all = n == 0 ? &now : &u[i];
            u[i] = (unit_waits){all->in & now.in, all->out & now.out, all->either & now.either};
        }
        if (cycle == NULL || !cycle(ctx)) {
            break;
        }
    }
    return u;
}

void tb_waits_units(const tb_sim *sim, bool (*cycle)(void *ctx), void *ctx, FILE *out) {
    char err[200];
    tb_taps taps;
    const tb_tap *stands = NULL;
    unsigned lines = 0;
    if (tb_taps_open(&taps, sim, err, sizeof err) != 0) {
        return;
    }
    unit_waits *u = taps.count > 0 ? look_at_all(&taps, cycle, ctx) : NULL;
    for (size_t i = 0; u != NULL && i < taps.count; i++) {
        if ((u[i].in | u[i].out | u[i].either) != 0 && lines < UNITS) {
            fputs(lines++ == 0 ? "units that wait:\n" : "", out);
            unit_line(&taps.tap[i], &u[i], out);
        }
        stands = stands == NULL && u[i].in != 0 && (u[i].out | u[i].either) == 0 ? &taps.tap[i] : stands;
    }
    if (stands != NULL) {
        fprintf(out, "  %s accepts nothing although no unit makes it wait: the others wait for it\n", stands->path);
    }
    free(u);
    tb_taps_close(&taps);
}

void tb_waits_lines(const tb_waits *waits, FILE *out) {
    fputs(waits->count > 0 ? "handshakes outside the buses:\n" : "", out);
    for (unsigned i = 0; i < waits->count; i++) {
        wait_line(waits, &waits->wait[i], out);
    }
}
