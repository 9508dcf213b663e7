/*
 * pool_ld.c - the read requests of a POOL channel: rows of the windows in order, and the table of factors between rows.
 */
#include "pool_walk.h"

#include <inttypes.h>
#include <stdio.h>

/* cycles without a request although one is possible, at most; one more for each output row that needs no new rows */
#define PAUSE 4u

#define PORTS                                                                                                          \
    slide_i, units_i, tab_words_i, tab_req_i, tab_addr_i, req_addr_o, req_bytes_o, job_one_o, job_last_o, job_addr_o,  \
        job_lane_o, job_lanes_o, job_words_o, job_tab_o, start_i, free_i, tab_ack_o, job_valid_o, req_ready_i,         \
        req_valid_o, busy_o, job_ready_i
typedef struct state {
    TB_PORTS(ports, PORTS);
    uint32_t silent, pause; /* cycles without a request although one is possible: so far, and at most */
    uint32_t used;          /* words of a lane whose rows have not been released */
    uint32_t y, sub;        /* next row, and next job of the row */
    uint32_t jobs, words;   /* of a row, and of a job of it */
    uint32_t addr, place;   /* of the job, in memory and in the lanes */
    uint64_t requests;
    npu_score_pool_walk walk;
    tb_sig task;
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    return npu_score_pool_port(c, &s->task, err, err_size) != 0 ? -1 : tb_check_watch(c, s->busy_o, err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->walk.active = false;
    s->used = 0;
}

/* The first job of row y; windows whose rows have all been loaded need none. */
static void begin_row(state *s) {
    npu_score_pool_walk *p = &s->walk;
    const cm_pool_task *t = &p->t;
    s->silent = s->sub = 0;
    s->pause = PAUSE;
    while (p->active && s->y >= p->last) {
        npu_score_pool_next(p);
        s->y = p->load;
        s->pause++;
    }
    s->jobs = npu_score_pool_jobs(t, p->lanes, t->ifm_cstep, t->iw, &s->words);
    s->addr = t->ifm_addr + p->group * (t->int8 ? 32 : NPU_SCORE_POOL_LANES * t->ifm_cstep) + s->y * t->ifm_rstep;
}

/* Is there space for the job? */
static inline bool room(const state *s) {
    return s->sub > 0 || s->used + s->walk.slot <= NPU_SCORE_POOL_LINE;
}

/* A job in each cycle, except for a few between rows, while there is space for the row and for the job. */
static inline void check_pace(tb_check *c, state *s) {
    if (s->walk.active && npu_score_b(s->req_valid_o) == 0 && room(s) && npu_score_b(s->job_ready_i) != 0 &&
        ++s->silent > s->pause) {
        tb_check_fail(c, "request", s->requests, NULL, "none", "the next one: there is space for it");
    }
}

static void begin(tb_check *c, state *s) {
    c->task++;
    npu_score_pool_begin(&s->walk, s->task, c->index, (uint32_t)tb_get(s->units_i), npu_score_b(s->slide_i) != 0);
    s->y = s->walk.load;
    s->place = 0;
    begin_row(s);
}

static void take_table(tb_check *c, state *s) {
    const uint32_t words = (uint32_t)tb_get(s->tab_words_i);
    const npu_score_pool_value v[] = {
        {"table request", s->tab_req_i, 1},         {"table address", s->req_addr_o, (uint32_t)tb_get(s->tab_addr_i)},
        {"table bytes", s->req_bytes_o, 4 * words}, {"table job, words", s->job_words_o, words},
        {"table job, place", s->job_addr_o, 0},     {"table job, one lane", s->job_one_o, 1},
        {"table job, end of row", s->job_last_o, 0}};
    const npu_score_pool_value *wrong = npu_score_pool_differs(v, sizeof v / sizeof *v);
    if (wrong != NULL) {
        npu_score_pool_fail(c, wrong, s->requests, NULL);
    } else if (s->sub != 0) {
        tb_check_fail(c, "table request", s->requests, NULL, "a table within a row", "one between rows");
    }
}

static void next_job(state *s) {
    const cm_pool_task *t = &s->walk.t;
    if (++s->sub < s->jobs) {
        s->addr += t->ifm_cstep;
        s->silent = 0;
        return;
    }
    s->place += s->walk.slot;
    s->y++;
    begin_row(s);
}

/* Note what is wrong with a request, if anything is. */
__attribute__((cold, noinline)) static void look_at_job(tb_check *c, const state *s) {
    const npu_score_pool_walk *p = &s->walk;
    const cm_pool_task *t = &p->t;
    const bool one = !t->int8 || p->lanes == 1;
    const npu_score_pool_value v[] = {
        {"request address", s->req_addr_o, s->addr},
        {"request bytes", s->req_bytes_o, 4 * s->words},
        {"job, words", s->job_words_o, s->words},
        {"job, place", s->job_addr_o, (s->place + (t->int8 ? s->sub : 0)) % NPU_SCORE_POOL_LINE},
        {"job, lane", s->job_lane_o, t->int8 ? 0 : s->sub},
        {"job, one lane", s->job_one_o, one},
        {"job, end of row", s->job_last_o, s->sub == s->jobs - 1},
        {"job, lanes", s->job_lanes_o, one ? (uint32_t)tb_get(s->job_lanes_o) : p->lanes}};
    const npu_score_pool_value *wrong = npu_score_pool_differs(v, sizeof v / sizeof *v);
    if (wrong != NULL) {
        char where[96];
        snprintf(where, sizeof where,
                 "channel %" PRIu32 ", row %" PRIu32 " of the map for output row %" PRIu32 ", %s %" PRIu32,
                 p->group * (t->int8 ? 32 : 8) + (t->int8 ? 0 : s->sub), s->y, p->oy, t->int8 ? "pixel" : "lane",
                 s->sub);
        npu_score_pool_fail(c, wrong, s->requests, where);
    }
}

/* The right job of an FP32 row: in one lane, for which the number of lanes is not used. */
static inline bool right_in_fp32(const state *s) {
    const uint32_t differ = (npu_score_w(s->req_addr_o) ^ s->addr) | (npu_score_w(s->req_bytes_o) ^ 4 * s->words) |
                            (npu_score_h(s->job_words_o) ^ s->words) |
                            (npu_score_h(s->job_addr_o) ^ s->place % NPU_SCORE_POOL_LINE) |
                            (npu_score_b(s->job_lane_o) ^ s->sub) | (npu_score_b(s->job_one_o) ^ 1u) |
                            (npu_score_b(s->job_last_o) ^ (s->sub == s->jobs - 1));
    return !s->walk.t.int8 && differ == 0;
}

static void take_row(tb_check *c, state *s) {
    const npu_score_pool_walk *p = &s->walk;
    if (!p->active) {
        tb_check_fail(c, "request", s->requests, NULL, "a request", "none: all rows of the task have been requested");
        return;
    }
    if (!right_in_fp32(s)) {
        look_at_job(c, s);
    }
    if (s->sub == 0) {
        s->used += p->slot;
        if (s->used > NPU_SCORE_POOL_LINE) {
            tb_check_fail(c, "request", s->requests, NULL, "one more row", "none: the line memory is full");
        }
    }
    next_job(s);
}

static void take_request(tb_check *c, state *s) {
    const bool table = npu_score_b(s->job_tab_o) != 0;
    if (!tb_check_value(c, "table taken", s->requests, npu_score_b(s->tab_ack_o), table)) {
        return;
    }
    if (table) {
        take_table(c, s);
    } else {
        take_row(c, s);
    }
    s->requests++;
}

__attribute__((noinline, hot)) static void any_cycle(tb_check *c, state *s) {
    const bool was_active = s->walk.active;
    if (was_active && npu_score_b(s->busy_o) == 0) {
        tb_check_fail(c, "busy", s->requests, NULL, "0", "1: rows have not been requested");
    }
    check_pace(c, s);
    const uint32_t fire = npu_score_b(s->req_valid_o) & npu_score_b(s->req_ready_i);
    if (npu_score_b(s->job_valid_o) != fire) {
        tb_check_value(c, "job", s->requests, npu_score_b(s->job_valid_o), fire);
    } else if (fire != 0) {
        take_request(c, s);
    } else if (npu_score_b(s->tab_ack_o) != 0) {
        tb_check_value(c, "table taken", s->requests, 1, 0);
    }
    if (npu_score_b(s->free_i) != 0) {
        s->used -= s->walk.slot < s->used ? s->walk.slot : s->used;
    }
    if (npu_score_b(s->start_i) != 0) {
        begin(c, s);
    }
    /* without space for a job, only a signal that wakes this check or a change of busy_o can be wrong */
    c->again = s->walk.active && (room(s) || !was_active);
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t event = npu_score_b(s->job_valid_o) | npu_score_b(s->tab_ack_o) | npu_score_b(s->free_i) |
                           npu_score_b(s->start_i) | (npu_score_b(s->busy_o) ^ s->walk.active);
    const bool asks = npu_score_b(s->req_valid_o) != 0;
    /* in most cycles a request waits, or none is possible: many jobs wait for their data */
    if (event == 0 && npu_score_b(asks ? s->req_ready_i : s->job_ready_i) == 0) {
        c->again = s->walk.active;
        return;
    }
    any_cycle(c, s);
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->walk.active) {
        tb_check_fail(c, "request", s->requests, NULL, "no more requests", "all rows of the task");
    }
}

const tb_check_ops npu_score_pool_ld = {.unit = "pool_ld",
                                        .inputs = (const char *const[]){"pool", "pool_seq", NULL},
                                        TB_STATE(state, PORTS),
                                        .wake = "start_i, free_i, req_valid_o, job_valid_o, tab_ack_o",
                                        .open = open,
                                        .clear = clear,
                                        .cycle = cycle,
                                        .finish = finish};
