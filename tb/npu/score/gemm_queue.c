/* gemm_queue.c - check of the task queue: room and fences, the task and the pointer of each engine. */
#include "score.h"

#include <inttypes.h>
#include <stdio.h>

#define ENTRIES 4u
#define ENGINES 6u
#define LAST (ENGINES - 1) /* write-back frees the entry */
#define BITS 663u          /* of a task */
#define TASK_BYTES ((BITS + 31) / 32 * 4)

static const char *const engines[ENGINES] = {"ifm_ld", "wgt_ld 0", "wgt_ld 1", "par_ld", "im2col", "post"};

typedef struct state {
    tb_sig valid, ready, task, fence, engine_valid, engine_task, pop, ptr, busy;
    uint8_t ring[ENTRIES][TASK_BYTES + 4]; /* the rest is zero: fields are read in words */
    uint64_t pushed, popped[ENGINES];
    uint32_t fresh; /* a bit for each engine whose task is new and has not been compared */
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const npu_score_sig sigs[] = {
        {"task_valid_i", &s->valid},   {"task_ready_o", &s->ready}, {"task_i", &s->task}, {"task_fence_i", &s->fence},
        {"valid_o", &s->engine_valid}, {"task_o", &s->engine_task}, {"pop_i", &s->pop},   {"ptr_o", &s->ptr},
        {"busy_o", &s->busy}};
    if (npu_score_bind(c, sigs, sizeof sigs / sizeof *sigs, err, err_size) != 0) {
        return -1;
    }
    if (s->task.width != BITS || s->engine_task.width != BITS * ENGINES) {
        snprintf(err, err_size, "%s: tasks of %u and %u bits, expected %u and %u", c->tap->path, s->task.width, s->engine_task.width, BITS,
                 BITS * ENGINES);
        return -1;
    }
    return 0;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->pushed = 0;
    memset(s->popped, 0, sizeof s->popped);
    s->fresh = 0;
    c->task = 0;
}

/* 32 bits at any bit of a row of words. */
static uint32_t bits_at(const uint8_t *row, uint32_t bit) {
    uint32_t w[2];
    memcpy(w, &row[bit / 32 * 4], sizeof w);
    return (uint32_t)((w[0] | (uint64_t)w[1] << 32) >> bit % 32);
}

static void compare_task(tb_check *c, const state *s, uint32_t engine) {
    const uint8_t *expected = s->ring[s->popped[engine] % ENTRIES], *all = (const uint8_t *)s->engine_task.ptr;
    for (uint32_t bit = 0; bit < BITS; bit += 32) {
        const uint32_t take = BITS - bit < 32 ? BITS - bit : 32, mask = take < 32 ? (1u << take) - 1 : UINT32_MAX;
        const uint32_t at = BITS * engine + bit;
        /* the last words of the row have nothing behind them */
        const uint32_t got = at / 32 + 1 < (BITS * ENGINES + 31) / 32 ? bits_at(all, at) : (uint32_t)tb_get_field(s->engine_task, at, take);
        const uint32_t want = bits_at(expected, bit);
        if (((got ^ want) & mask) != 0) {
            char where[64], g[16], e[16];
            snprintf(where, sizeof where, "engine %s, bits %" PRIu32 "..%" PRIu32, engines[engine], bit, bit + take - 1);
            snprintf(g, sizeof g, "0x%08" PRIx32, got & mask);
            snprintf(e, sizeof e, "0x%08" PRIx32, want & mask);
            tb_check_fail(c, "task", s->popped[engine], where, g, e);
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
    const bool fence = tb_get(s->fence) != 0, room = held < ENTRIES && (held == 0 || !fence), ready = tb_get(s->ready) != 0;
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

static const char *const inputs[] = {"gemm_slot", NULL};

const tb_check_ops npu_score_gemm_queue = {
    .unit = "gemm_queue", .inputs = inputs, .state_bytes = sizeof(state), .open = open, .clear = clear, .cycle = cycle, .finish = finish};
