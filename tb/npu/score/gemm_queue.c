/* gemm_queue.c - check of the task queue: room and fences, the task and the pointer of each engine. */
#include "score.h"

#include <inttypes.h>
#include <stdio.h>

#define ENTRIES 4u
#define ENGINES 6u
#define LAST (ENGINES - 1) /* write-back frees the entry */
#define BITS 663u          /* of a task */
#define TASK_BYTES ((BITS + 31) / 32 * 4)
#define FENCE 660u /* its bit in a task */

static const char *const engines[ENGINES] = {"ifm_ld", "wgt_ld 0", "wgt_ld 1", "par_ld", "im2col", "post"};

/* What an engine sees of its task: a signal of its tap, or a part of one. Bits count as in gemm_task_t of rtl/npu/npu_pkg.sv, the lowest is 0. */
typedef struct view {
    uint32_t engine;
    const char *kind; /* tap */
    uint32_t index;
    const char *name;
    uint32_t lsb, bits; /* of the signal */
    uint32_t at;        /* in the task */
} view;

static const view views[] = {
    {0, "ifm_ld", 0, "task_ifm_addr_i", 0, 32, 448},
    {0, "ifm_ld", 0, "task_ifm_cstep_i", 0, 32, 416},
    {0, "ifm_ld", 0, "task_ic_i", 0, 16, 536},
    {0, "ifm_ld", 0, "task_ih_i", 0, 16, 552},
    {0, "ifm_ld", 0, "task_iw_i", 0, 16, 568},
    {0, "ifm_ld", 0, "task_nhwc_in_i", 0, 1, 655},
    {0, "layout", 0, "cfg_in_scale_i", 0, 32, 160},
    {0, "layout", 1, "cfg_in_scale_i", 0, 32, 160},
    {0, "layout", 0, "cfg_cstep_i", 0, 32, 416},
    {0, "layout", 1, "cfg_cstep_i", 0, 32, 416},
    {0, "layout", 0, "cfg_nhwc_i", 0, 1, 655},
    {0, "layout", 1, "cfg_nhwc_i", 0, 1, 655},
    {1, "wgt_ld", 0, "task_wgt_addr_i", 0, 32, 384},
    {1, "wgt_ld", 0, "task_oc_i", 0, 16, 488},
    {1, "wgt_ld", 0, "task_ic_i", 0, 16, 536},
    {1, "wgt_ld", 0, "task_kh_i", 0, 8, 632},
    {1, "wgt_ld", 0, "task_kw_i", 0, 8, 640},
    {1, "wgt_ld", 0, "task_wgt_keep_i", 0, 1, 652},
    {1, "wgt_ld", 0, "task_wgt_res_i", 0, 1, 653},
    {1, "wgt_ld", 0, "task_op_i", 0, 2, 661},
    {2, "wgt_ld", 1, "task_wgt_addr_i", 0, 32, 384},
    {2, "wgt_ld", 1, "task_oc_i", 0, 16, 488},
    {2, "wgt_ld", 1, "task_ic_i", 0, 16, 536},
    {2, "wgt_ld", 1, "task_kh_i", 0, 8, 632},
    {2, "wgt_ld", 1, "task_kw_i", 0, 8, 640},
    {2, "wgt_ld", 1, "task_wgt_keep_i", 0, 1, 652},
    {2, "wgt_ld", 1, "task_wgt_res_i", 0, 1, 653},
    {2, "wgt_ld", 1, "task_op_i", 0, 2, 661},
    {3, "par_ld", 0, "task_bias_addr_i", 0, 32, 320},
    {3, "par_ld", 0, "task_oscale_addr_i", 0, 32, 352},
    {3, "par_ld", 0, "task_oc_i", 0, 16, 488},
    {3, "par_ld", 0, "task_oscale_en_i", 0, 1, 658},
    {3, "par_ld", 0, "task_bias_en_i", 0, 1, 659},
    {4, "im2col", 0, "shape_i", 0, 168, 480},
    {4, "im2col", 0, "shape_i", 168, 1, 653},
    {4, "im2col", 0, "shape_i", 169, 2, 661},
    {5, "post", 0, "task_i", 0, BITS, 0},
    {5, "post", 1, "task_i", 0, BITS, 0},
};

#define VIEWS (sizeof views / sizeof *views)

typedef struct state {
    tb_sig valid, ready, task, engine_valid, pop, ptr, busy;
    tb_sig engine_tasks; /* of the unit alone: the tasks of all engines side by side; ptr NULL in the whole NPU, where `seen` is used */
    tb_sig seen[VIEWS];
    uint8_t ring[ENTRIES][TASK_BYTES];
    uint64_t pushed, popped[ENGINES];
    uint32_t fresh; /* a bit for each engine whose task is new and has not been compared */
} state;

static int find(const tb_check *c, const char *kind, size_t index, const char *name, uint32_t width, tb_sig *out, char *err,
                size_t err_size) {
    const tb_tap *tap = tb_taps_find(&c->all->taps, kind, index);
    if (tap == NULL) {
        snprintf(err, err_size, "%s: there is no tap of %s %zu", c->tap->path, kind, index);
        return -1;
    }
    return tb_tap_sig(tap, name, width, out, err, err_size);
}

/* The task at the input, and what the engines see of theirs, from the taps of the units around the queue. */
static int open_taps(const tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    if (find(c, "npu_regs", 0, "task_o", BITS, &s->task, err, err_size) != 0) {
        return -1;
    }
    for (size_t i = 0; i < VIEWS; i++) {
        const view *v = &views[i];
        if (find(c, v->kind, v->index, v->name, 0, &s->seen[i], err, err_size) != 0) {
            return -1;
        }
        if (v->lsb + v->bits > s->seen[i].width) {
            snprintf(err, err_size, "%s %u: %s has %u bits, expected %u", v->kind, v->index, v->name, s->seen[i].width, v->lsb + v->bits);
            return -1;
        }
    }
    return 0;
}

/* The same from the unit's own ports, in a bench of the unit alone. */
static int open_ports(const tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    if (tb_sim_port(c->all->sim, "task_i", BITS, true, &s->task, err, err_size) != 0) {
        return -1;
    }
    return tb_sim_port(c->all->sim, "task_o", ENGINES * BITS, false, &s->engine_tasks, err, err_size);
}

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const npu_score_sig sigs[] = {{"task_valid_i", &s->valid}, {"task_ready_o", &s->ready}, {"valid_o", &s->engine_valid},
                                  {"pop_i", &s->pop},          {"ptr_o", &s->ptr},          {"busy_o", &s->busy}};
    if (npu_score_bind(c, sigs, sizeof sigs / sizeof *sigs, err, err_size) != 0) {
        return -1;
    }
    const bool alone = tb_taps_find(&c->all->taps, "npu_regs", 0) == NULL;
    if ((alone ? open_ports : open_taps)(c, err, err_size) != 0) {
        return -1;
    }
    const tb_sig wake[] = {s->valid, s->pop};
    return npu_score_wake(c, wake, sizeof wake / sizeof *wake, err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->pushed = 0;
    memset(s->popped, 0, sizeof s->popped);
    s->fresh = 0;
    c->task = 0;
}

/* A view of the task against the one that was taken. */
static bool compare_view(tb_check *c, const state *s, const view *v, tb_sig seen) {
    tb_sig taken = s->task;
    taken.ptr = (void *)(uintptr_t)s->ring[s->popped[v->engine] % ENTRIES];
    for (uint32_t bit = 0; bit < v->bits; bit += 32) {
        const uint32_t bits = v->bits - bit < 32 ? v->bits - bit : 32;
        const uint64_t got = tb_get_field(seen, v->lsb + bit, bits), expected = tb_get_field(taken, v->at + bit, bits);
        if (got != expected) {
            char where[96], g[24], e[24];
            snprintf(where, sizeof where, "engine %s, %s, bits %" PRIu32 "..%" PRIu32 " of the task", engines[v->engine], v->name,
                     v->at + bit, v->at + bit + bits - 1);
            snprintf(g, sizeof g, "0x%" PRIx64, got);
            snprintf(e, sizeof e, "0x%" PRIx64, expected);
            tb_check_fail(c, "task", s->popped[v->engine], where, g, e);
            return false;
        }
    }
    return true;
}

static void compare_task(tb_check *c, const state *s, uint32_t engine) {
    if (s->engine_tasks.ptr != NULL) {
        const view whole = {engine, "gemm_queue", 0, "task_o", engine * BITS, BITS, 0};
        compare_view(c, s, &whole, s->engine_tasks);
        return;
    }
    for (size_t i = 0; i < VIEWS; i++) {
        if (views[i].engine == engine && !compare_view(c, s, &views[i], s->seen[i])) {
            return;
        }
    }
}

static void push(state *s) {
    memcpy(s->ring[s->pushed % ENTRIES], s->task.ptr, tb_sig_bytes(s->task));
    for (uint32_t e = 0; e < ENGINES; e++) {
        s->fresh |= (uint32_t)(s->popped[e] == s->pushed) << e;
    }
    s->pushed++;
}

/* What the queue says of its state: all of it follows from the tasks and pops up to the last cycle. */
static void see_state(tb_check *c, const state *s) {
    uint32_t valid = 0, ptr = 0;
    for (uint32_t e = 0; e < ENGINES; e++) {
        valid |= (uint32_t)(s->popped[e] != s->pushed) << e;
        ptr |= (uint32_t)(s->popped[e] % (2 * ENTRIES)) << 3 * e;
    }
    if (tb_get(s->engine_valid) != valid) {
        tb_check_value(c, "valid", s->pushed, tb_get(s->engine_valid), valid);
    }
    if (tb_get(s->ptr) != ptr) {
        tb_check_value(c, "pointers", s->pushed, tb_get(s->ptr), ptr);
    }
    const bool empty = s->popped[LAST] == s->pushed;
    if (tb_get(s->busy) == empty) {
        tb_check_value(c, "busy", s->pushed, tb_get(s->busy), !empty);
    }
}

/* A task is offered: whether it is taken follows from what stood in the queue up to the last cycle. */
static bool see_task(tb_check *c, const state *s) {
    const uint64_t held = s->pushed - s->popped[LAST];
    const bool fence = tb_get_field(s->task, FENCE, 1) != 0, room = held < ENTRIES && (held == 0 || !fence), ready = tb_get(s->ready) != 0;
    if (ready != room) {
        char where[64];
        snprintf(where, sizeof where, "%" PRIu64 " tasks in the queue%s", held, fence ? ", a fence" : "");
        tb_check_fail(c, "ready", s->pushed, where, ready ? "1" : "0", room ? "1" : "0");
    }
    return ready;
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    see_state(c, s);
    if (c->all->every_cycle) {
        s->fresh = (uint32_t)tb_get(s->engine_valid);
    }
    if (s->fresh != 0) {
        for (uint32_t e = 0; e < ENGINES; e++) {
            if ((s->fresh >> e & 1u) != 0) {
                compare_task(c, s, e);
            }
        }
        s->fresh = 0;
    }
    const bool taken = *(const uint8_t *)s->valid.ptr != 0 && see_task(c, s);
    const uint32_t pop = *(const uint8_t *)s->pop.ptr;
    for (uint32_t e = 0; pop != 0 && e < ENGINES; e++) {
        if ((pop >> e & 1u) != 0 && s->popped[e] != s->pushed) {
            compare_task(c, s, e); /* it stood there unchanged */
            s->popped[e]++;
            s->fresh |= (uint32_t)(s->popped[e] != s->pushed) << e;
        }
    }
    if (taken) {
        push(s);
        c->task++;
    }
    c->again = taken || pop != 0; /* what they change is seen in the next cycle, then nothing moves */
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    for (uint32_t e = 0; e < ENGINES; e++) {
        if (s->popped[e] != s->pushed) {
            char got[48], expected[24];
            snprintf(got, sizeof got, "%s has given up %" PRIu64 " tasks", engines[e], s->popped[e]);
            snprintf(expected, sizeof expected, "%" PRIu64, s->pushed);
            tb_check_fail(c, "task", s->popped[e], NULL, got, expected);
        }
    }
}

static const char *const inputs[] = {"npu_regs", NULL};

const tb_check_ops npu_score_gemm_queue = {
    .unit = "gemm_queue", .inputs = inputs, .state_bytes = sizeof(state), .open = open, .clear = clear, .cycle = cycle, .finish = finish};
