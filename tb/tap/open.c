#include "check.h"

#include "opt/opt.h"
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS 64u /* of a path at most */

const char *const TB_CHECKS_SOME[] = {NULL};

static const tb_check_ops *find_ops(const tb_check_ops *const *ops, size_t nops, const char *unit) {
    for (size_t i = 0; i < nops; i++) {
        if (strcmp(ops[i]->unit, unit) == 0) {
            return ops[i];
        }
    }
    return NULL;
}

static bool listed(const char *const *names, const char *name) {
    for (; names != NULL && *names != NULL; names++) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Whole lines. */
static size_t in_lines(size_t bytes) {
    return (bytes + TB_CHECK_LINE - 1) / TB_CHECK_LINE * TB_CHECK_LINE;
}

/* Memory for all checks, zeroed, and for their states. */
static int allocate(tb_checks *checks, const tb_check_ops *const *ops, size_t nops) {
    size_t bytes = TB_CHECK_LINE;
    for (size_t k = 0; k < nops; k++) {
        bytes += in_lines(tb_taps_count(&checks->taps, ops[k]->unit) * ops[k]->state_bytes);
    }
    const size_t all = in_lines(checks->taps.count * sizeof *checks->check);
    checks->check = (tb_check *)aligned_alloc(TB_CHECK_LINE, all);
    checks->states = (uint8_t *)aligned_alloc(TB_CHECK_LINE, bytes);
    checks->plan = (tb_check_plan *)calloc(1, sizeof *checks->plan);
    if (checks->check == NULL || checks->states == NULL || checks->plan == NULL) {
        return -1;
    }
    memset(checks->check, 0, all);
    return 0;
}

/* A component of a path. */
typedef struct component {
    size_t at;
    uint64_t word; /* its first characters */
} component;

/* The first characters of a component or of a whole name, at most 8. */
static uint64_t word_of(const char *name) {
    uint64_t word = 0;
    for (unsigned i = 0; i < 64 && *name != '\0' && *name != '.'; i += 8) {
        word |= (uint64_t)(uint8_t)*name++ << i;
    }
    return word;
}

/* Components of a path behind the first one. More than fit: how many fit, and one more. */
static size_t split(const char *path, component *to) {
    size_t count = 0;
    for (const char *p = strchr(path, '.'); p != NULL && count <= LEVELS; p = strchr(p, '.')) {
        p++;
        if (count < LEVELS) {
            to[count] = (component){.at = (size_t)(p - path), .word = word_of(p)};
        }
        count++;
    }
    return count;
}

/* Where `part` is a component of the instance path: characters before it, with their point; 0: nowhere. */
static size_t scope_of(const char *path, const component *components, size_t count, const char *part, uint64_t word) {
    for (const component *k = components; k < components + count; k++) {
        if (k->word == word) {
            const char *p = path + k->at;
            const size_t length = strlen(part);
            if (strncmp(p, part, length) == 0 && (p[length] == '.' || p[length] == '\0')) {
                return k->at;
            }
        }
    }
    return 0;
}

/* The tap of a gate in the scope of so many characters of the path, which end with a point, or in one around it. */
static const tb_tap *gate_around(const tb_checks *checks, const char *path, size_t scope, const char *name) {
    const tb_tap_kind *kind = checks->gates;
    const tb_tap *const *gates = &checks->taps.by_kind[kind->first];
    for (; scope > 0; scope--) {
        for (size_t i = 0; path[scope - 1] == '.' && i < kind->count; i++) {
            if (strncmp(gates[i]->path, path, scope) == 0 && strcmp(gates[i]->path + scope, name) == 0) {
                return gates[i];
            }
        }
    }
    return NULL;
}

/* Enable of the gate of a part in this scope. Neighbours have the same one. 0 or -1. */
static int find_enable(tb_check *c, const tb_check_gate *g, tb_check_enable *known, size_t scope, char *err,
                       size_t err_size) {
    if (known->scope != scope || memcmp(known->path, c->tap->path, scope) != 0) {
        const tb_tap *tap = gate_around(c->all, c->tap->path, scope, g->gate);
        if (tap == NULL) {
            snprintf(err, err_size, "%s: there is no tap of the clock gate of %s", c->tap->path, g->part);
            return -1;
        }
        if (tb_tap_sig(tap, "en_i", 1, &known->sig, err, err_size) != 0) {
            return -1;
        }
        known->path = c->tap->path;
        known->scope = scope;
    }
    *(c->clock.ptr == NULL ? &c->clock : &c->outer) = known->sig;
    return 0;
}

static int find_clock(tb_check *c, char *err, size_t err_size) {
    const tb_check_ops *ops = c->all->gate;
    component components[LEVELS];
    if (ops == NULL || c->all->gates == NULL) {
        return 0;
    }
    const size_t count = split(c->tap->path, components);
    if (count > LEVELS) {
        return opt_fail(err, err_size, "%s: more than %u levels", c->tap->path, LEVELS);
    }
    tb_check_enable *known = c->all->enable;
    for (const tb_check_gate *g = ops->gates; g->part != NULL; g++, known++) {
        const size_t scope = scope_of(c->tap->path, components, count, g->part, known->part);
        if (scope > 0 && find_enable(c, g, known, scope, err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

int tb_check_ports(tb_check *c, tb_ports ports, char *err, size_t err_size) {
    c->reset_n = tb_tap_find(c->tap, "rst_ni");
    return tb_tap_ports(c->tap, ports, err, err_size) != 0 ? -1 : find_clock(c, err, err_size);
}

/* What one instance of a unit has, the next one most likely has at the same places of its tap. */
typedef struct found {
    tb_tap_places ports, wake;
    size_t wakes;
} found;

static int open_check(tb_check *c, found *known, char *err, size_t err_size) {
    const tb_check_ops *ops = c->ops;
    tb_sig wake[TB_TAP_PLACES];
    const tb_ports woken = {.names = ops->wake, .sig = wake, .count = known->wakes};
    c->reset_n = tb_tap_find(c->tap, "rst_ni");
    if (tb_tap_ports_as(c->tap, &known->ports, tb_ports_of(&ops->ports, c->state), err, err_size) != 0 ||
        find_clock(c, err, err_size) != 0 || (ops->open != NULL && ops->open(c, err, err_size) != 0) ||
        tb_tap_ports_as(c->tap, &known->wake, woken, err, err_size) != 0) {
        return -1;
    }
    for (size_t i = 0; i < known->wakes; i++) {
        if (tb_check_wake(c, wake[i], err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

/* The instances of a unit, their states from `state` on. */
static int open_unit(tb_checks *checks, const tb_check_ops *ops, const tb_tap_kind *kind, uint8_t *state, char *err,
                     size_t err_size) {
    found known;
    const tb_ports wake = {.names = ops->wake};
    tb_ports_place next = TB_PORTS_FIRST;
    char name[64];
    known.ports.tap = known.wake.tap = NULL;
    for (known.wakes = 0; tb_ports_next(&wake, &next, name, sizeof name); known.wakes++) {
        if (known.wakes == TB_TAP_PLACES) {
            return opt_fail(err, err_size, "%s: more than %u signals wake a check", ops->unit, TB_TAP_PLACES);
        }
    }
    for (unsigned i = 0; i < kind->count; i++) {
        tb_check *c = &checks->check[checks->count++];
        *c = (tb_check){.ops = ops,
                        .cycle = ops->cycle_all != NULL ? NULL : ops->cycle,
                        .tap = checks->taps.by_kind[kind->first + i],
                        .all = checks,
                        .index = i};
        c->state = &state[i * ops->state_bytes];
        memset(c->state, 0, ops->state_zeroed != 0 ? ops->state_zeroed : ops->state_bytes);
        if (open_check(c, &known, err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

/* What is known of the parts with a clock gate before any check is open. 0 or -1 (out of memory). */
static int open_gates(tb_checks *checks) {
    size_t count = 0;
    while (checks->gate->gates[count].part != NULL) {
        count++;
    }
    checks->gates = tb_taps_kind(&checks->taps, checks->gate->unit);
    checks->enable = (tb_check_enable *)calloc(count + 1, sizeof *checks->enable);
    for (size_t i = 0; checks->enable != NULL && i < count; i++) {
        checks->enable[i].part = word_of(checks->gate->gates[i].part);
    }
    return checks->enable != NULL ? 0 : -1;
}

int tb_checks_open(tb_checks *checks, const tb_sim *sim, const tb_check_ops *const *ops, size_t nops,
                   const char *const *absent, void *ctx, char *err, size_t err_size) {
    memset(checks, 0, sizeof *checks);
    checks->sim = sim;
    checks->ctx = ctx;
    checks->every_cycle = absent == TB_CHECKS_SOME;
    if (tb_taps_open(&checks->taps, sim, err, err_size) != 0) {
        return -1;
    }
    if (checks->taps.count == 0) {
        return 0;
    }
    if (allocate(checks, ops, nops) != 0) {
        snprintf(err, err_size, "out of memory");
        goto fail;
    }
    for (const tb_tap_kind *kind = checks->taps.kind; kind < checks->taps.kind + checks->taps.kinds; kind++) {
        if (find_ops(ops, nops, kind->name) == NULL) {
            const tb_tap *tap = checks->taps.by_kind[kind->first];
            snprintf(err, err_size, "tap of %s: no check knows the kind '%s'", tap->path, tap->kind);
            goto fail;
        }
    }
    for (size_t k = 0; k < nops; k++) {
        checks->gate = ops[k]->gates != NULL ? ops[k] : checks->gate;
    }
    if (checks->gate != NULL && open_gates(checks) != 0) {
        snprintf(err, err_size, "out of memory");
        goto fail;
    }
    uint8_t *state = checks->states;
    const char *missing = NULL;
    for (size_t k = 0; k < nops; k++) {
        const tb_tap_kind *kind = tb_taps_kind(&checks->taps, ops[k]->unit);
        if (kind != NULL && open_unit(checks, ops[k], kind, state, err, err_size) != 0) {
            goto fail;
        }
        state += kind != NULL ? in_lines(kind->count * ops[k]->state_bytes) : 0;
        missing = missing == NULL && kind == NULL && !listed(absent, ops[k]->unit) ? ops[k]->unit : missing;
    }
    if (missing != NULL && absent != TB_CHECKS_SOME) {
        snprintf(err, err_size, "%s: the design has no tap of this kind", missing);
        goto fail;
    }
    if (tb_plan_make(checks, err, err_size) == 0) {
        return 0;
    }
fail:
    tb_checks_close(checks);
    return -1;
}

void tb_checks_close(tb_checks *checks) {
    for (size_t i = 0; i < checks->count; i++) {
        tb_check *c = &checks->check[i];
        if (c->ops->close != NULL) {
            c->ops->close(c);
        }
    }
    free(checks->enable);
    free(checks->states);
    free(checks->check);
    tb_plan_free(checks);
    tb_taps_close(&checks->taps);
    memset(checks, 0, sizeof *checks);
}
