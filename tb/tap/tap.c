#include "tap.h"
#include "opt/opt.h"
#include "report/report.h"

#include <stdlib.h>

/* The tap's own name in a scope, or NULL: "u_tap_fifo" in "top.u_fifo.u_tap_fifo". */
static const char *tap_name(const char *scope) {
    const char *dot = strrchr(scope, '.');
    return dot != NULL && strncmp(dot + 1, TB_TAP_PREFIX, strlen(TB_TAP_PREFIX)) == 0 ? dot + 1 : NULL;
}

/* A tap's path without the tap, to `to`; returns its characters. */
static size_t put_path(char *to, const char *scope, const char *name) {
    const char *dot = strchr(scope, '.');
    const size_t top = (size_t)(dot - scope);
    if (strncmp(dot + 1, scope, top) == 0 && dot[1 + top] == '.') { /* the model and its top module have one name */
        scope = dot + 1;
    }
    const size_t length = (size_t)(name - 1 - scope);
    memcpy(to, scope, length);
    to[length] = '\0';
    return length;
}

/* The first signal of the next scope. */
static size_t scope_end(const tb_shim_var *var, size_t vars, size_t i) {
    size_t end = i + 1;
    while (end < vars && (var[end].scope == var[i].scope || strcmp(var[end].scope, var[i].scope) == 0)) {
        end++;
    }
    return end;
}

/* The taps among the scopes of the table, without their paths. 0 or -1. */
static int find_taps(tb_taps *taps, const tb_shim_var *var, size_t vars, uintptr_t base) {
    for (size_t i = 0, end; i < vars; i = end) {
        end = scope_end(var, vars, i);
        const char *name = tap_name(var[i].scope);
        if (name != NULL) {
            if (!rep_more(&taps->tap, taps->count, sizeof *taps->tap)) {
                return -1;
            }
            taps->tap[taps->count++] =
                (tb_tap){.kind = name + strlen(TB_TAP_PREFIX), .var = &var[i], .vars = end - i, .base = base};
        }
    }
    return 0;
}

static int find_paths(tb_taps *taps) {
    size_t bytes = 0;
    for (const tb_tap *t = taps->tap; t < taps->tap + taps->count; t++) {
        bytes += (size_t)(t->kind - t->var->scope);
    }
    char *next = taps->paths = (char *)malloc(bytes);
    for (tb_tap *t = taps->tap; next != NULL && t < taps->tap + taps->count; t++) {
        t->path = next;
        t->length = put_path(next, t->var->scope, t->kind - strlen(TB_TAP_PREFIX));
        next += t->length + 1;
    }
    return next != NULL ? 0 : -1;
}

/* The kind of this name. NULL: there is none; `chain` is then where its number goes. */
static tb_tap_kind *kind_of(tb_taps *taps, const char *name, size_t **chain) {
    uint32_t hash = 0;
    for (const char *c = name; *c != '\0'; c++) {
        hash = hash * 33 + (uint8_t)*c;
    }
    size_t *at = &taps->chain[hash % TB_TAP_CHAINS];
    while (*at != 0 && strcmp(taps->kind[*at - 1].name, name) != 0) {
        at = &taps->kind[*at - 1].next;
    }
    *chain = at;
    return *at != 0 ? &taps->kind[*at - 1] : NULL;
}

/* Units look for taps by their kind hundreds of times when a device is opened. */
static void find_kinds(tb_taps *taps) {
    size_t first = 0, *chain;
    for (const tb_tap *t = taps->tap; t < taps->tap + taps->count; t++) {
        tb_tap_kind *k = kind_of(taps, t->kind, &chain);
        if (k == NULL) {
            k = &taps->kind[taps->kinds++];
            *k = (tb_tap_kind){.name = t->kind};
            *chain = taps->kinds;
        }
        k->count++;
    }
    for (tb_tap_kind *k = taps->kind; k < taps->kind + taps->kinds; k++) {
        k->first = first;
        first += k->count;
        k->count = 0;
    }
    for (const tb_tap *t = taps->tap; t < taps->tap + taps->count; t++) {
        tb_tap_kind *k = kind_of(taps, t->kind, &chain);
        taps->by_kind[k->first + k->count++] = t;
    }
}

int tb_taps_open(tb_taps *taps, const tb_sim *sim, char *err, size_t err_size) {
    memset(taps, 0, sizeof *taps);
    size_t vars = 0;
    uintptr_t base = 0;
    const tb_shim_var *var = sim->cfg.shim->vars != NULL ? sim->cfg.shim->vars(sim->dut, &vars, &base) : NULL;
    const int rc = find_taps(taps, var, vars, base);
    if (rc == 0 && taps->count == 0) {
        return 0;
    }
    taps->by_kind = (const tb_tap **)malloc((taps->count + 1) * sizeof *taps->by_kind);
    taps->kind = (tb_tap_kind *)malloc((taps->count + 1) * sizeof *taps->kind);
    if (rc != 0 || taps->by_kind == NULL || taps->kind == NULL || find_paths(taps) != 0) {
        tb_taps_close(taps);
        return opt_fail(err, err_size, "out of memory");
    }
    find_kinds(taps);
    return 0;
}

void tb_taps_close(tb_taps *taps) {
    free(taps->tap);
    free(taps->by_kind);
    free(taps->kind);
    free(taps->paths);
    memset(taps, 0, sizeof *taps);
}

const tb_tap_kind *tb_taps_kind(const tb_taps *taps, const char *kind) {
    size_t *chain;
    return kind_of((tb_taps *)taps, kind, &chain);
}

size_t tb_taps_count(const tb_taps *taps, const char *kind) {
    const tb_tap_kind *k = tb_taps_kind(taps, kind);
    return k != NULL ? k->count : 0;
}

const tb_tap *tb_taps_find(const tb_taps *taps, const char *kind, size_t index) {
    const tb_tap_kind *k = tb_taps_kind(taps, kind);
    return k != NULL && index < k->count ? taps->by_kind[k->first + index] : NULL;
}

size_t tb_tap_place(const tb_tap *tap, const char *name) {
    size_t low = 0, high = tap->vars;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const char *other = tap->var[middle].name;
        const int order = *other != *name ? (uint8_t)*other - (uint8_t)*name : strcmp(other, name); /* mostly no call */
        if (order == 0) {
            return middle;
        }
        low = order < 0 ? middle + 1 : low;
        high = order > 0 ? middle : high;
    }
    return SIZE_MAX;
}

tb_sig tb_tap_find(const tb_tap *tap, const char *name) {
    const size_t i = tb_tap_place(tap, name);
    return i != SIZE_MAX ? tb_tap_at(tap, i) : (tb_sig){.ptr = NULL, .width = 0};
}

int tb_tap_sig(const tb_tap *tap, const char *name, uint32_t width, tb_sig *out, char *err, size_t err_size) {
    *out = tb_tap_find(tap, name);
    if (out->ptr == NULL) {
        return opt_fail(err, err_size, "tap of %s: there is no signal %s", tap->path, name);
    }
    if (width != 0 && out->width != width) {
        return opt_fail(err, err_size, "tap of %s: signal %s has %u bits, expected %u", tap->path, name, out->width,
                        width);
    }
    return 0;
}

tb_ports tb_ports_of(const tb_port_list *list, void *state) {
    return (tb_ports){list->names, (tb_sig *)(void *)((uint8_t *)state + list->at), list->count, NULL};
}

/* As much of the text as fits in front of `end`, and a zero behind it; returns where the next one goes. */
static char *put(char *to, const char *end, const char *text, size_t length) {
    const size_t room = (size_t)(end - to) - 1, bytes = length < room ? length : room;
    memcpy(to, text, bytes);
    to[bytes] = '\0';
    return to + bytes;
}

/* The name of an element of an array, whose number stands before the direction: data0_i. */
static void put_element(char *to, const char *end, const char *at, size_t length, size_t element) {
    const char *direction = memrchr(at, '_', length);
    const size_t stem = direction != NULL ? (size_t)(direction - at) : length;
    char number[24], *digit = number + sizeof number;
    do {
        *--digit = (char)('0' + element % 10);
        element /= 10;
    } while (element != 0);
    to = put(to, end, at, stem);
    to = put(to, end, digit, (size_t)(number + sizeof number - digit));
    (void)put(to, end, at + stem, length - stem);
}

bool tb_ports_next(const tb_ports *ports, tb_ports_place *next, char *name, size_t size) {
    const char *names = ports->names != NULL ? ports->names : ""; /* a state without a list of ports */
    const char *at = next->at != NULL ? next->at : names, *end = name + size;
    const size_t length = strcspn(at, ",[");
    const bool found = *at != '\0';
    if (ports->prefix != NULL) {
        name = put(name, end, ports->prefix, strlen(ports->prefix));
    }
    if (at[length] != '[') {
        (void)put(name, end, at, length);
        at += length;
    } else {
        put_element(name, end, at, length, next->element);
        if (++next->element < strtoul(at + length + 1, NULL, 10)) {
            next->at = at;
            return true;
        }
        at = strchrnul(at + length, ',');
        next->element = 0;
    }
    while (*at == ',' || *at == ' ') {
        at++;
    }
    next->at = at;
    return found;
}

/* Has the tap the signals of the list at the same places as the one before? */
static bool known(const tb_tap *tap, const tb_tap_places *places, tb_ports ports) {
    if (places->names == NULL || places->names != ports.names || places->tap->vars != tap->vars) {
        return false;
    }
    for (size_t i = 0; i < places->count; i++) {
        const size_t at = places->at[i];
        const char *name = tap->var[at].name, *other = places->tap->var[at].name;
        if (name != other && strcmp(name, other) != 0) {
            return false;
        }
        ports.sig[i] = tb_tap_at(tap, at);
    }
    return true;
}

int tb_tap_ports_as(const tb_tap *tap, tb_tap_places *places, tb_ports ports, char *err, size_t err_size) {
    tb_ports_place next = TB_PORTS_FIRST;
    char name[64];
    if (ports.prefix == NULL && known(tap, places, ports)) {
        return 0;
    }
    places->tap = tap;
    places->names = NULL;
    size_t i = 0;
    for (; i < ports.count && tb_ports_next(&ports, &next, name, sizeof name); i++) {
        const size_t at = tb_tap_place(tap, name);
        if (at == SIZE_MAX) {
            return tb_tap_sig(tap, name, 0, &ports.sig[i], err, err_size);
        }
        ports.sig[i] = tb_tap_at(tap, at);
        places->at[i % TB_TAP_PLACES] = (uint32_t)at;
    }
    places->count = i;
    places->names = i <= TB_TAP_PLACES && ports.prefix == NULL ? ports.names : NULL;
    return 0;
}

int tb_tap_ports(const tb_tap *tap, tb_ports ports, char *err, size_t err_size) {
    tb_tap_places places;
    places.names = NULL;
    return tb_tap_ports_as(tap, &places, ports, err, err_size);
}

int tb_taps_ports(const tb_taps *taps, const char *kind, size_t index, tb_ports ports, char *err, size_t err_size) {
    const tb_tap *tap = tb_taps_find(taps, kind, index);
    if (tap == NULL) {
        return opt_fail(err, err_size, "%s: there is no tap %zu of this kind", kind, index);
    }
    return tb_tap_ports(tap, ports, err, err_size);
}
