/* gemm_queue.c - check of the task queue: space and fences, the task and the pointer of each engine. */
#include "task_bits.h"

#include <inttypes.h>
#include <stdio.h>

#define ENTRIES 4u
#define ENGINES 6u
#define LAST (ENGINES - 1) /* write-back frees the entry */
#define BITS CM_GEMM_TASK_WIDTH
#define VIEWS_MAX 320u
#define MEMBERS_MAX 64u /* of a task */

static const npu_task_fields *const members = &npu_task_tables[NPU_SCORE_GEMM];
static const char *const engines[ENGINES] = {"ifm_ld", "wgt_ld 0", "wgt_ld 1", "par_ld", "im2col", "post"};

/* Taps that show an engine's task: the whole of it as task_i, or members of it, `wgt_res` as task_wgt_res_i. */
typedef struct place {
    uint32_t engine;
    const char *kind; /* of the tap */
    uint32_t index;
} place;
static const place places[] = {{0, "ifm_ld", 0}, {1, "wgt_ld", 0}, {2, "wgt_ld", 1}, {3, "par_ld", 0},
                               {4, "im2col", 0}, {5, "post", 0},   {5, "post", 1}};

/* Members that the layout units get from engine 0, under other names. */
static const struct {
    const char *member, *name;
} layout_names[] = {{"in_scale", "cfg_in_scale_i"}, {"ifm_cstep", "cfg_cstep_i"}, {"nhwc_in", "cfg_nhwc_i"}};
#define LAYOUT_NAMES (sizeof layout_names / sizeof *layout_names)

/* A member of an engine's task on a signal. */
typedef struct view {
    tb_sig sig;
    uint32_t member, lsb;
    uint32_t engine;
} view;

#define PORTS task_valid_i, task_ready_o, valid_o, pop_i, ptr_o, busy_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    tb_sig task;
    view seen[VIEWS_MAX];
    size_t views;
    uint32_t ring[ENTRIES][MEMBERS_MAX];
    uint64_t pushed, popped[ENGINES];
    uint32_t fresh; /* a bit for each engine whose task is new and has not been compared */
} state;

static void add_view(state *s, uint32_t engine, size_t member, tb_sig sig, uint32_t lsb) {
    if (s->views < VIEWS_MAX) {
        s->seen[s->views++] = (view){sig, (uint32_t)member, lsb, engine};
    }
}

/* The member that a tap's signal is, task_<member>_i or one of the layout units'; NULL: none. */
static const npu_task_field *member_of(const char *name) {
    const npu_task_field *const end = members->f + members->count;
    const bool plain = name[0] == 't';
    size_t k = 0, length = 0;
    while (!plain && k < LAYOUT_NAMES &&
           (layout_names[k].name[0] != name[0] || strcmp(layout_names[k].name, name) != 0)) {
        k++;
    }
    if (k == LAYOUT_NAMES || (plain && (strncmp(name, "task_", 5) != 0 || (length = strlen(name)) < 8 ||
                                        strcmp(name + length - 2, "_i") != 0))) {
        return NULL;
    }
    const char *member = plain ? name + 5 : layout_names[k].member;
    const size_t bytes = plain ? length - 7 : strlen(member);
    for (const npu_task_field *f = members->f; f < end; f++) {
        if (f->name[0] == member[0] && strncmp(f->name, member, bytes) == 0 && f->name[bytes] == '\0') {
            return f;
        }
    }
    return NULL;
}

/* The members of an engine's task that a tap has; a tap without any is an error. */
__attribute__((hot)) static int add_place(const tb_check *c, state *s, const place *at, char *err, size_t err_size) {
    const tb_tap *tap = tb_taps_find(&c->all->taps, at->kind, at->index);
    const size_t before = s->views;
    const tb_sig whole = tap != NULL ? tb_tap_find(tap, "task_i") : (tb_sig){.ptr = NULL};
    for (size_t i = 0; whole.ptr != NULL && i < members->count; i++) {
        add_view(s, at->engine, i, whole, members->f[i].lsb);
    }
    for (size_t i = 0; tap != NULL && i < tap->vars; i++) {
        const npu_task_field *f = member_of(tap->var[i].name);
        if (f != NULL) {
            add_view(s, at->engine, (size_t)(f - members->f), tb_tap_at(tap, i), 0);
        }
    }
    if (s->views == before) {
        return opt_fail(err, err_size, "%s: no tap of %s %" PRIu32 " shows its task", c->tap->path, at->kind,
                        at->index);
    }
    return 0;
}

/* The task at the input, and the tasks at the engines, from the taps of the units around the queue. */
static int open_taps(const tb_check *c, char *err, size_t err_size) {
    static const place layout[] = {{0, "layout", 0}, {0, "layout", 1}};
    state *s = (state *)c->state;
    const tb_tap *regs = tb_taps_find(&c->all->taps, "npu_regs", 0);
    if (tb_tap_sig(regs, "task_o", BITS, &s->task, err, err_size) != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (add_place(c, s, &places[i], err, err_size) != 0) {
            return -1;
        }
    }
    return add_place(c, s, &layout[0], err, err_size) != 0 || add_place(c, s, &layout[1], err, err_size) != 0 ? -1 : 0;
}

/* The same from the unit's own ports, in the bench of the unit. */
static int open_ports(const tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    tb_sig tasks;
    if (tb_sim_port(c->all->sim, "task_i", BITS, true, &s->task, err, err_size) != 0 ||
        tb_sim_port(c->all->sim, "task_o", ENGINES * BITS, false, &tasks, err, err_size) != 0) {
        return -1;
    }
    for (uint32_t e = 0; e < ENGINES; e++) {
        for (size_t i = 0; i < members->count; i++) {
            add_view(s, e, i, tasks, e * BITS + members->f[i].lsb);
        }
    }
    return 0;
}

static int open(tb_check *c, char *err, size_t err_size) {
    if (members->count > MEMBERS_MAX) {
        return opt_fail(err, err_size, "gemm_queue: a task has more than %u members", MEMBERS_MAX);
    }
    const bool alone = tb_taps_find(&c->all->taps, "npu_regs", 0) == NULL;
    return (alone ? open_ports : open_taps)(c, err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->pushed = 0;
    memset(s->popped, 0, sizeof s->popped);
    s->fresh = 0;
    c->task = 0;
}

__attribute__((hot)) static void compare_task(tb_check *c, const state *s, uint32_t engine) {
    const uint32_t *taken = s->ring[s->popped[engine] % ENTRIES];
    for (const view *v = s->seen, *const end = v + s->views; v < end; v++) {
        if (v->engine != engine) {
            continue;
        }
        const npu_task_field *f = &members->f[v->member];
        const uint64_t got = v->sig.width == f->bits ? tb_get(v->sig) : tb_get_field(v->sig, v->lsb, f->bits);
        if (got != taken[v->member]) {
            tb_check_failf(c, "task", s->popped[engine], "engine %s, %s of the task|0x%" PRIx64 "|0x%" PRIx32,
                           engines[engine], f->name, got, taken[v->member]);
            return;
        }
    }
}

static void push(state *s) {
    for (size_t i = 0; i < members->count; i++) {
        s->ring[s->pushed % ENTRIES][i] = (uint32_t)tb_get_field(s->task, members->f[i].lsb, members->f[i].bits);
    }
    for (uint32_t e = 0; e < ENGINES; e++) {
        s->fresh |= (uint32_t)(s->popped[e] == s->pushed) << e;
    }
    s->pushed++;
}

/* State outputs of the queue: all of them follow from the tasks and pops up to the last cycle. */
static void see_state(tb_check *c, const state *s) {
    uint32_t valid = 0, ptr = 0;
    for (uint32_t e = 0; e < ENGINES; e++) {
        valid |= (uint32_t)(s->popped[e] != s->pushed) << e;
        ptr |= (uint32_t)(s->popped[e] % (2 * ENTRIES)) << 3 * e;
    }
    if (tb_get(s->valid_o) != valid) {
        tb_check_value(c, "valid", s->pushed, tb_get(s->valid_o), valid);
    }
    if (tb_get(s->ptr_o) != ptr) {
        tb_check_value(c, "pointers", s->pushed, tb_get(s->ptr_o), ptr);
    }
    const bool empty = s->popped[LAST] == s->pushed;
    if (tb_get(s->busy_o) == empty) {
        tb_check_value(c, "busy", s->pushed, tb_get(s->busy_o), !empty);
    }
}

/* A task is offered: whether it is accepted follows from the contents of the queue up to the last cycle. */
static bool see_task(tb_check *c, const state *s) {
    const uint64_t held = s->pushed - s->popped[LAST];
    const bool fence = tb_get_field(s->task, CM_GEMM_TASK_FENCE_LSB, 1) != 0,
               room = held < ENTRIES && (held == 0 || !fence), ready = tb_get(s->task_ready_o) != 0;
    if (ready != room) {
        tb_check_failf(c, "ready", s->pushed, "%" PRIu64 " tasks in the queue%s|%s|%s", held, fence ? ", a fence" : "",
                       ready ? "1" : "0", room ? "1" : "0");
    }
    return ready;
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    see_state(c, s);
    if (c->all->every_cycle) {
        s->fresh = (uint32_t)tb_get(s->valid_o);
    }
    if (s->fresh != 0) {
        for (uint32_t e = 0; e < ENGINES; e++) {
            if ((s->fresh >> e & 1u) != 0) {
                compare_task(c, s, e);
            }
        }
        s->fresh = 0;
    }
    const bool taken = *(const uint8_t *)s->task_valid_i.ptr != 0 && see_task(c, s);
    const uint32_t pop = *(const uint8_t *)s->pop_i.ptr;
    for (uint32_t e = 0; pop != 0 && e < ENGINES; e++) {
        if ((pop >> e & 1u) != 0 && s->popped[e] != s->pushed) {
            compare_task(c, s, e); /* it was unchanged since then */
            s->popped[e]++;
            s->fresh |= (uint32_t)(s->popped[e] != s->pushed) << e;
        }
    }
    if (taken) {
        push(s);
        c->task++;
    }
    c->again = taken || pop != 0; /* the outputs change in the next cycle, and then stay */
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    for (uint32_t e = 0; e < ENGINES; e++) {
        if (s->popped[e] != s->pushed) {
            tb_check_failf(c, "task", s->popped[e], "%s has finished %" PRIu64 " tasks|%" PRIu64, engines[e],
                           s->popped[e], s->pushed);
        }
    }
}

const tb_check_ops npu_score_gemm_queue = {.unit = "gemm_queue",
                                           .inputs = (const char *const[]){"npu_regs", NULL},
                                           TB_STATE(state, PORTS),
                                           .wake = "task_valid_i, pop_i",
                                           .open = open,
                                           .clear = clear,
                                           .cycle = cycle,
                                           .finish = finish};
