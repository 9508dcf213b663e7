/*
 * par_ld.c - check of the loader of factors: requests, space and addresses in the ring of par_buf, and the end of each
 * task.
 */
#include "score.h"

#include <inttypes.h>

#define RING 256u   /* words of four factors */
#define PATIENCE 4u /* cycles for actions that depend on no other unit */
#define BEAT 16u

/* Scales or biases of the current task. */
typedef struct array {
    uint32_t addr, bytes, asked, came;
    bool waiting; /* a request was on offer and not accepted */
} array;

#define PORTS                                                                                                          \
    task_valid_i, task_oscale_en_i, task_bias_en_i, task_oc_i, task_oscale_addr_i, task_bias_addr_i, task_pop_o,       \
        busy_o, free_i, free_words_i, req_valid_o, req_ready_i, req_addr_o[2], req_bytes_o, dat_valid_i, dat_ready_o,  \
        we_o, waddr_o[2]
typedef struct state {
    TB_PORTS(ports, PORTS);
    array part[2];
    uint32_t words, base, used, late;
    bool on, begun; /* a task is valid; its words are allocated */
    uint64_t requests[2], beats[2];
} state;

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    memset(s->part, 0, sizeof s->part);
    s->words = s->base = s->used = s->late = 0;
    s->on = s->begun = false;
}

static int open(tb_check *c, char *err, size_t err_size) {
    const state *s = (const state *)c->state;
    return tb_check_watch(c, s->task_valid_i, err, err_size) != 0 || tb_check_watch(c, s->busy_o, err, err_size) != 0
               ? -1
               : 0;
}

static void begin_task(state *s) {
    const bool en[2] = {tb_get(s->task_oscale_en_i) != 0, tb_get(s->task_bias_en_i) != 0};
    s->on = true;
    s->begun = false;
    s->words = en[0] || en[1] ? ((uint32_t)tb_get(s->task_oc_i) + 3) / 4 : 0;
    for (uint32_t i = 0; i < 2; i++) {
        s->part[i] = (array){.addr = (uint32_t)tb_get(i == 0 ? s->task_oscale_addr_i : s->task_bias_addr_i),
                             .bytes = en[i] ? s->words * BEAT : 0};
    }
}

static void allocate(tb_check *c, state *s) {
    if (s->begun) {
        return;
    }
    s->begun = true;
    s->used += s->words;
    if (s->used > RING) {
        tb_check_failf(c, "ring", c->task, "%" PRIu32 " words in use with the task's own %" PRIu32 "|at most %u",
                       s->used, s->words, RING);
    }
}

static void see_request(tb_check *c, state *s, uint32_t i) {
    static const char *const streams[2] = {"oscale request", "bias request"};
    array *p = &s->part[i];
    if ((*(const uint8_t *)s->req_valid_o.ptr >> i & 1u) == 0) {
        tb_check_value(c, streams[i], s->requests[i], 0, p->waiting);
        return;
    }
    const uint32_t bytes = (uint32_t)tb_get(s->req_bytes_o), left = s->on ? p->bytes - p->asked : 0;
    if (bytes == 0 || bytes > left) {
        tb_check_failf(c, streams[i], s->requests[i],
                       "bytes %" PRIu32 ".. of %" PRIu32 "|%" PRIu32 " bytes|at most %" PRIu32 " and not 0", p->asked,
                       p->bytes, bytes, left);
        return;
    }
    allocate(c, s);
    tb_check_value(c, streams[i], s->requests[i], tb_get(s->req_addr_o[i]), (uint32_t)(p->addr + p->asked));
    p->waiting = (*(const uint8_t *)s->req_ready_i.ptr >> i & 1u) == 0;
    if (!p->waiting) {
        p->asked += bytes;
        s->requests[i]++;
    }
}

static void see_data(tb_check *c, state *s, uint32_t i) {
    static const char *const streams[2] = {"oscale", "bias"};
    array *p = &s->part[i];
    const uint32_t valid = *(const uint8_t *)s->dat_valid_i.ptr >> i & 1u,
                   ready = *(const uint8_t *)s->dat_ready_o.ptr >> i & 1u;
    const uint32_t we = *(const uint8_t *)s->we_o.ptr >> i & 1u;
    if (valid != 0 && ready == 0) {
        tb_check_fail(c, streams[i], s->beats[i], NULL, "data that waits", "data accepted at once");
    }
    if (we != (valid & ready)) {
        tb_check_fail(c, streams[i], s->beats[i], NULL, we != 0 ? "a write" : "no write",
                      we != 0 ? "none: no data" : "a write");
    }
    if (we != 0) {
        const uint32_t at = (s->base + p->came / BEAT) % RING;
        if (tb_get(s->waddr_o[i]) != at) {
            tb_check_failf(c, streams[i], s->beats[i],
                           "channels %" PRIu32 "..%" PRIu32 "|word %" PRIu64 "|word %" PRIu32, p->came / 4,
                           p->came / 4 + 3, tb_get(s->waddr_o[i]), at);
        }
        p->came += BEAT;
        s->beats[i]++;
    }
}

static bool arrived(const state *s) {
    return s->part[0].came >= s->part[0].bytes && s->part[1].came >= s->part[1].bytes;
}

static void see_pop(tb_check *c, state *s) {
    if (!s->on || !arrived(s)) {
        tb_check_fail(c, "pop", c->task, NULL, "end of a task",
                      s->on ? "none before its data" : "no pop: no task is on offer");
        return;
    }
    allocate(c, s);
    s->base = (s->base + s->words) % RING;
    s->on = false;
    c->task++;
}

/* Are requests due, and does that depend on no other unit? */
static bool ask_due(const state *s) {
    return s->begun ? (s->part[0].asked < s->part[0].bytes && !s->part[0].waiting) ||
                          (s->part[1].asked < s->part[1].bytes && !s->part[1].waiting)
                    : s->used + s->words <= RING;
}

static bool pop_due(const state *s) {
    return s->begun && arrived(s);
}

/* Limit of the delay of actions that depend on no other unit. */
static void see_delay(tb_check *c, state *s) {
    const bool pop = pop_due(s);
    s->late = pop || ask_due(s) ? s->late + 1 : 0;
    if (s->late > PATIENCE) {
        tb_check_fail(c, pop ? "pop" : "request", c->task, NULL, "nothing",
                      pop ? "end of a task" : "requests: there is space");
    }
}

/* Must something happen without a signal that wakes the check? A request that was not accepted must stay. */
static bool pending(const state *s) {
    return s->on && (s->part[0].waiting || s->part[1].waiting || ask_due(s) || pop_due(s));
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    if (!s->on) {
        s->late = 0;
        if (*(const uint8_t *)s->task_valid_i.ptr != 0) {
            begin_task(s);
        }
    }
    const uint8_t any =
        *(const uint8_t *)s->req_valid_o.ptr | *(const uint8_t *)s->dat_valid_i.ptr | *(const uint8_t *)s->we_o.ptr;
    const bool busy = *(const uint8_t *)s->busy_o.ptr != 0;
    if (busy ? !s->on || arrived(s) : s->begun && !arrived(s)) {
        tb_check_value(c, "busy", c->task, busy, !busy);
    }
    const bool pop = *(const uint8_t *)s->task_pop_o.ptr != 0;
    if (pop) {
        see_pop(c, s); /* data of the same cycle are too late for it */
    }
    if (s->on || any != 0) {
        for (uint32_t i = 0; i < 2; i++) {
            see_data(c, s, i);
            see_request(c, s, i);
        }
    }
    if (s->on) {
        see_delay(c, s);
    }
    if (*(const uint8_t *)s->free_i.ptr != 0) {
        s->used -= (uint32_t)tb_get(s->free_words_i);
    }
    c->again = pop || pending(s); /* after a pop, the next task may be on offer already */
    if (!c->again) {
        s->late = 0;
    }
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->on) {
        tb_check_fail(c, "pop", c->task, NULL, "a task that is not finished", "none");
    }
}

const tb_check_ops npu_score_par_ld = {.unit = "par_ld",
                                       .inputs = (const char *const[]){"gemm_queue", NULL},
                                       TB_STATE(state, PORTS),
                                       .wake = "req_valid_o, dat_valid_i, we_o, task_pop_o, free_i",
                                       .open = open,
                                       .clear = clear,
                                       .cycle = cycle,
                                       .finish = finish};
