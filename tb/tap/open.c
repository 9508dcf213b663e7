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

#define SPARE ((size_t)64 << 10) /* what else most designs need */
#define PAGE 4096u

typedef struct tb_check_block {
    struct tb_check_block *next;
    size_t free;
    uint8_t *end;
} tb_check_block;

/*
 * So many bytes, in a large block mostly new memory of the process, which calloc() need not zero. What is used in every
 * cycle is at the begin of the design and of the checks. A first-level cache has a place for data by their place in a
 * page, so these two are half a page apart.
 */
static tb_check_block *new_block(uintptr_t design, size_t bytes) {
    tb_check_block *m = (tb_check_block *)calloc(1, sizeof *m + PAGE + bytes);
    if (m != NULL) {
        const uintptr_t after = (uintptr_t)(m + 1), begin = in_lines(design) + PAGE / 2;
        m->free = bytes;
        m->end = (uint8_t *)(m + 1) + (begin - after) % PAGE + bytes;
    }
    return m;
}

void *tb_check_memory(tb_checks *checks, size_t bytes) {
    tb_check_block *m = checks->memory;
    bytes = in_lines(bytes);
    if (m == NULL || m->free < bytes) {
        tb_check_block **place = m == NULL ? &checks->memory : &m->next; /* the first one keeps what is spare */
        m = new_block(checks->taps.tap->base, bytes + (m == NULL ? SPARE : 0));
        if (m == NULL) {
            return NULL;
        }
        m->next = *place;
        *place = m;
    }
    uint8_t *p = m->end - m->free;
    m->free -= bytes;
    return p;
}

/* What one instance of a unit has, the next one most likely has at the same places of its tap. */
typedef struct tb_check_found {
    tb_tap_places ports, wake, watch, own;
} tb_check_found;

/* The plan, all checks, and their states; counts the taps whose kind is known. 0 or -1. */
static int allocate(tb_checks *checks, uint8_t **states, size_t *known, const tb_check_ops *const *ops, size_t nops) {
    const size_t plan = in_lines(sizeof *checks->plan), all = in_lines(checks->taps.count * sizeof *checks->check);
    size_t bytes = plan + all;
    for (size_t k = 0; k < nops; k++) {
        const size_t count = tb_taps_count(&checks->taps, ops[k]->unit);
        bytes += in_lines(count * ops[k]->state_bytes);
        *known += count;
    }
    uint8_t *memory = (uint8_t *)tb_check_memory(checks, bytes);
    checks->found = (tb_check_found *)tb_check_memory(checks, sizeof *checks->found);
    if (memory == NULL || checks->found == NULL) {
        return -1;
    }
    checks->plan = (tb_check_plan *)memory;
    checks->check = (tb_check *)(memory + plan);
    *states = memory + plan + all;
    return 0;
}

/* Of a component of a path, from the first one on to this one. */
typedef struct level {
    size_t end;          /* characters of the path, without the point behind it */
    tb_sig clock, outer; /* as those of a check at this place */
} level;

/* The path whose clock was looked for last: neighbours share most of the levels. */
typedef struct tb_check_path {
    const tb_check_ops *gate; /* of clocks */
    const tb_tap_kind *taps;  /* its taps */
    const char *text;
    size_t levels; /* behind the first one */
    level level[LEVELS + 1];
    uint64_t any;    /* the bits of all parts with a gate */
    uint64_t part[]; /* the first characters of their names */
} tb_check_path;

/* The first characters of a component or of a whole name, at most 8; its characters. */
static uint64_t word_of(const char *name, size_t *length) {
    uint64_t word = 0;
    size_t i = 0;
    for (; name[i] != '\0' && name[i] != '.'; i++) {
        word |= i < 8 ? (uint64_t)(uint8_t)name[i] << 8 * i : 0;
    }
    *length = i;
    return word;
}

/* A bit for a word, mostly another one for another word. */
static uint64_t bit_of(uint64_t word) {
    return UINT64_C(1) << (word * UINT64_C(0x9E3779B97F4A7C15) >> 58);
}

/* The tap of a gate in the scope of so many characters of the path, which end with a point, or in one around it. */
static const tb_tap *gate_around(const tb_checks *checks, const char *path, size_t scope, const char *name) {
    const tb_tap_kind *kind = checks->path->taps;
    const tb_tap *const *gates = &checks->taps.by_kind[kind->first];
    const size_t length = strlen(name);
    for (; scope > 0; scope--) {
        for (size_t i = 0; path[scope - 1] == '.' && i < kind->count; i++) {
            if (gates[i]->length == scope + length && strncmp(gates[i]->path, path, scope) == 0 &&
                strcmp(gates[i]->path + scope, name) == 0) {
                return gates[i];
            }
        }
    }
    return NULL;
}

/* The level of the component that begins at this character of the path, in the level `l`. 0 or -1. */
static int next_level(const tb_check *c, const level *l, size_t at, level *to, char *err, size_t err_size) {
    const tb_check_path *p = c->all->path;
    const char *path = c->tap->path;
    size_t length;
    const uint64_t word = word_of(path + at, &length);
    *to = (level){.end = at + length, .clock = l->clock, .outer = l->outer};
    if ((p->any & bit_of(word)) == 0) {
        return 0;
    }
    for (const tb_check_gate *g = p->gate->gates; g->part != NULL; g++) {
        if (p->part[g - p->gate->gates] == word && strncmp(path + at, g->part, length) == 0 &&
            g->part[length] == '\0') {
            const tb_tap *tap = gate_around(c->all, path, at, g->gate);
            to->outer = l->outer.ptr == NULL ? l->clock : l->outer;
            return tap != NULL ? tb_tap_sig(tap, "en_i", 1, &to->clock, err, err_size)
                               : opt_fail(err, err_size, "%s: there is no tap of the clock gate of %s", path, g->part);
        }
    }
    return 0;
}

static int find_clock(tb_check *c, char *err, size_t err_size) {
    tb_check_path *p = c->all->path;
    const char *path = c->tap->path;
    if (p == NULL) {
        return 0;
    }
    level *l = &p->level[p->levels];
    while (l > p->level && (strncmp(path, p->text, l->end) != 0 || (path[l->end] != '.' && path[l->end] != '\0'))) {
        l--;
    }
    if (l == p->level) {
        l->end = strcspn(path, ".");
    }
    p->levels = 0;
    for (; path[l->end] == '.'; l++) {
        if (l == &p->level[LEVELS]) {
            return opt_fail(err, err_size, "%s: more than %u levels", path, LEVELS);
        }
        if (next_level(c, l, l->end + 1, l + 1, err, err_size) != 0) {
            return -1;
        }
    }
    p->text = path;
    p->levels = (size_t)(l - p->level);
    c->clock = l->clock;
    c->outer = l->outer;
    return 0;
}

int tb_check_ports(tb_check *c, tb_ports ports, char *err, size_t err_size) {
    c->reset_n = tb_tap_find(c->tap, "rst_ni");
    return tb_tap_ports(c->tap, ports, err, err_size) != 0 ? -1 : find_clock(c, err, err_size);
}

int tb_check_list(const tb_check *c, tb_ports ports, char *err, size_t err_size) {
    return tb_tap_ports_as(c->tap, &c->all->found->own, ports, err, err_size);
}

/* Calls tb_check_wake() or tb_check_watch() for each signal of a list. */
static int add_wakes(tb_check *c, const char *names, tb_tap_places *known,
                     int add(tb_check *c, tb_sig sig, char *err, size_t err_size), char *err, size_t err_size) {
    tb_sig sig[TB_TAP_PLACES + 1];
    const tb_ports list = {.names = names, .sig = sig, .count = TB_TAP_PLACES + 1};
    if (tb_tap_ports_as(c->tap, known, list, err, err_size) != 0) {
        return -1;
    }
    if (known->count > TB_TAP_PLACES) {
        return opt_fail(err, err_size, "%s: more than %u signals wake a check", c->ops->unit, TB_TAP_PLACES);
    }
    for (size_t i = 0; i < known->count; i++) {
        if (add(c, sig[i], err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

static int open_check(tb_check *c, char *err, size_t err_size) {
    tb_check_found *known = c->all->found;
    const tb_check_ops *ops = c->ops;
    c->reset_n = tb_tap_find(c->tap, "rst_ni");
    if (tb_tap_ports_as(c->tap, &known->ports, tb_ports_of(&ops->ports, c->state), err, err_size) != 0 ||
        find_clock(c, err, err_size) != 0 || (ops->open != NULL && ops->open(c, err, err_size) != 0)) {
        return -1;
    }
    return (ops->wake != NULL && add_wakes(c, ops->wake, &known->wake, tb_check_wake, err, err_size) != 0) ||
                   (ops->watch != NULL && add_wakes(c, ops->watch, &known->watch, tb_check_watch, err, err_size) != 0)
               ? -1
               : 0;
}

/* The instances of a unit, their states from `state` on. */
static int open_unit(tb_checks *checks, const tb_check_ops *ops, const tb_tap_kind *kind, uint8_t *state, char *err,
                     size_t err_size) {
    tb_check_found *known = checks->found;
    known->ports.names = known->wake.names = known->watch.names = known->own.names = NULL;
    for (unsigned i = 0; i < kind->count; i++) {
        tb_check *c = &checks->check[checks->count++];
        *c = (tb_check){.ops = ops,
                        .cycle = ops->cycle_all != NULL ? NULL : ops->cycle,
                        .tap = checks->taps.by_kind[kind->first + i],
                        .all = checks,
                        .index = i};
        c->state = &state[i * ops->state_bytes];
        if (open_check(c, err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

/* A unit with gates of clocks, if the design has taps of it. 0 or -1 (out of memory). */
static int open_gates(tb_checks *checks, const tb_check_ops *gate) {
    const tb_tap_kind *taps = tb_taps_kind(&checks->taps, gate->unit);
    size_t count = 0;
    while (gate->gates[count].part != NULL) {
        count++;
    }
    if (taps == NULL) {
        return 0;
    }
    checks->path = (tb_check_path *)tb_check_memory(checks, sizeof *checks->path + count * sizeof *checks->path->part);
    if (checks->path == NULL) {
        return -1;
    }
    checks->path->gate = gate;
    checks->path->taps = taps;
    for (size_t i = 0, length; i < count; i++) {
        checks->path->part[i] = word_of(gate->gates[i].part, &length);
        checks->path->any |= bit_of(checks->path->part[i]);
    }
    return 0;
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
    uint8_t *state = NULL;
    size_t known = 0;
    if (allocate(checks, &state, &known, ops, nops) != 0) {
        snprintf(err, err_size, "out of memory");
        goto fail;
    }
    for (const tb_tap_kind *kind = checks->taps.kind; known < checks->taps.count; kind++) {
        if (find_ops(ops, nops, kind->name) == NULL) {
            const tb_tap *tap = checks->taps.by_kind[kind->first];
            snprintf(err, err_size, "tap of %s: no check knows the kind '%s'", tap->path, tap->kind);
            goto fail;
        }
    }
    for (size_t k = 0; k < nops; k++) {
        if (ops[k]->gates != NULL && open_gates(checks, ops[k]) != 0) {
            snprintf(err, err_size, "out of memory");
            goto fail;
        }
    }
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
    tb_plan_free(checks);
    for (tb_check_block *m = checks->memory, *next; m != NULL; m = next) {
        next = m->next;
        free(m);
    }
    tb_taps_close(&checks->taps);
    memset(checks, 0, sizeof *checks);
}
