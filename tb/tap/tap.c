#include "tap.h"
#include "opt/opt.h"

#include <stdio.h>
#include <stdlib.h>

/* The tap's own name in a scope, or NULL: "u_tap_fifo" in "top.u_fifo.u_tap_fifo". */
static const char *tap_name(const char *scope) {
    const char *dot = strrchr(scope, '.');
    return dot != NULL && strncmp(dot + 1, TB_TAP_PREFIX, strlen(TB_TAP_PREFIX)) == 0 ? dot + 1 : NULL;
}

static int add(tb_taps *taps, const tb_shim_var *var, size_t vars) {
    const char *name = tap_name(var->scope);
    const char *scope = var->scope;
    const char *dot = strchr(scope, '.');
    const size_t top = (size_t)(dot - scope);
    if (strncmp(dot + 1, scope, top) == 0 && dot[1 + top] == '.') { /* the model and its top module have one name */
        scope = dot + 1;
    }
    const size_t length = (size_t)(name - 1 - scope);
    char *path = (char *)malloc(length + 1);
    if (path == NULL) {
        return -1;
    }
    memcpy(path, scope, length);
    path[length] = '\0';
    taps->tap[taps->count++] = (tb_tap){.path = path, .kind = name + strlen(TB_TAP_PREFIX), .var = var, .vars = vars};
    return 0;
}

/* qsort() is not stable: taps of a kind keep their order. */
static int by_kind(const void *a, const void *b) {
    const tb_tap *x = *(const tb_tap *const *)a, *y = *(const tb_tap *const *)b;
    const int kinds = strcmp(x->kind, y->kind);
    return kinds != 0 ? kinds : x < y ? -1 : x > y;
}

/* Units look for taps by their kind hundreds of times when a device is opened. */
static int sort_kinds(tb_taps *taps) {
    taps->by_kind = (const tb_tap **)calloc(taps->count + 1, sizeof *taps->by_kind);
    if (taps->by_kind == NULL) {
        return -1;
    }
    for (size_t i = 0; i < taps->count; i++) {
        taps->by_kind[i] = &taps->tap[i];
    }
    qsort(taps->by_kind, taps->count, sizeof *taps->by_kind, by_kind);
    return 0;
}

int tb_taps_open(tb_taps *taps, const tb_sim *sim, char *err, size_t err_size) {
    memset(taps, 0, sizeof *taps);
    const tb_shim *shim = sim->cfg.shim;
    const size_t vars = shim->vars != NULL ? shim->vars(sim->dut, NULL, 0) : 0;
    if (vars == 0) {
        return 0;
    }
    taps->var = (tb_shim_var *)calloc(vars, sizeof *taps->var);
    taps->tap = (tb_tap *)calloc(vars, sizeof *taps->tap);
    if (taps->var == NULL || taps->tap == NULL) {
        goto oom;
    }
    shim->vars(sim->dut, taps->var, vars);
    for (size_t i = 0; i < vars;) {
        size_t end = i + 1;
        while (end < vars && strcmp(taps->var[end].scope, taps->var[i].scope) == 0) {
            end++;
        }
        if (tap_name(taps->var[i].scope) != NULL && add(taps, &taps->var[i], end - i) != 0) {
            goto oom;
        }
        i = end;
    }
    if (sort_kinds(taps) != 0) {
        goto oom;
    }
    return 0;
oom:
    tb_taps_close(taps);
    return opt_fail(err, err_size, "out of memory");
}

void tb_taps_close(tb_taps *taps) {
    for (size_t i = 0; i < taps->count; i++) {
        free(taps->tap[i].path);
    }
    free(taps->tap);
    free(taps->by_kind);
    free(taps->var);
    memset(taps, 0, sizeof *taps);
}

/* Taps whose kind comes before this one, or with `also` is this one. */
static size_t before(const tb_taps *taps, const char *kind, bool also) {
    size_t low = 0, high = taps->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = strcmp(taps->by_kind[middle]->kind, kind);
        if (order < 0 || (also && order == 0)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

size_t tb_taps_before(const tb_taps *taps, const char *kind) {
    return before(taps, kind, false);
}

size_t tb_taps_count(const tb_taps *taps, const char *kind) {
    return before(taps, kind, true) - before(taps, kind, false);
}

const tb_tap *tb_taps_find(const tb_taps *taps, const char *kind, size_t index) {
    const size_t at = before(taps, kind, false) + index;
    return at < taps->count && strcmp(taps->by_kind[at]->kind, kind) == 0 ? taps->by_kind[at] : NULL;
}

static int by_name(const void *name, const void *var) {
    return strcmp((const char *)name, ((const tb_shim_var *)var)->name);
}

tb_sig tb_tap_find(const tb_tap *tap, const char *name) {
    const tb_shim_var *v = (const tb_shim_var *)bsearch(name, tap->var, tap->vars, sizeof *tap->var, by_name);
    return v != NULL ? (tb_sig){.ptr = v->ptr, .width = v->width} : (tb_sig){.ptr = NULL, .width = 0};
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

bool tb_ports_next(const tb_ports *ports, tb_ports_place *next, char *name, size_t size) {
    const char *names = ports->names != NULL ? ports->names : ""; /* a state without a list of ports */
    const char *at = next->at != NULL ? next->at : names, *end = name + size;
    const size_t length = strcspn(at, ",[");
    const size_t elements = at[length] == '[' ? strtoul(at + length + 1, NULL, 10) : 0;
    /* of an array, the number stands before the direction: data0_i */
    const char *direction = elements > 0 ? memrchr(at, '_', length) : NULL;
    const size_t stem = direction != NULL ? (size_t)(direction - at) : length;
    const char *prefix = ports->prefix != NULL ? ports->prefix : "";
    char *to = put(name, end, prefix, strlen(prefix));
    to = put(to, end, at, stem);
    if (elements > 0) {
        char number[24];
        to = put(to, end, number, (size_t)snprintf(number, sizeof number, "%zu", next->element));
        (void)put(to, end, at + stem, length - stem);
    }
    const bool found = *at != '\0';
    if (++next->element >= elements) {
        at += strcspn(at, ",");
        at += strspn(at, ", ");
        next->element = 0;
    }
    next->at = at;
    return found;
}

int tb_tap_ports(const tb_tap *tap, tb_ports ports, char *err, size_t err_size) {
    tb_ports_place next = TB_PORTS_FIRST;
    char name[64];
    for (size_t i = 0; i < ports.count && tb_ports_next(&ports, &next, name, sizeof name); i++) {
        if (tb_tap_sig(tap, name, 0, &ports.sig[i], err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

int tb_taps_ports(const tb_taps *taps, const char *kind, size_t index, tb_ports ports, char *err, size_t err_size) {
    const tb_tap *tap = tb_taps_find(taps, kind, index);
    if (tap == NULL) {
        return opt_fail(err, err_size, "%s: there is no tap %zu of this kind", kind, index);
    }
    return tb_tap_ports(tap, ports, err, err_size);
}
