/*
 * pool_ld.c - the read requests of a POOL channel: rows of the windows in order, and the table of factors between rows.
 */
#include "pool_walk.h"

#include <inttypes.h>
#include <stdio.h>

/* cycles without a request although one is possible, at most; one more for each output row that needs no new rows */
#define PAUSE 4u

#define PORTS                                                                                                          \
    start_i, busy_o, slide_i, units_i, tab_words_i, free_i, tab_req_i, tab_addr_i, tab_ack_o, req_valid_o,             \
        req_ready_i, req_addr_o, req_bytes_o, job_valid_o, job_ready_i, job_tab_o, job_one_o, job_last_o, job_addr_o,  \
        job_lane_o, job_lanes_o, job_words_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    tb_sig task;
    npu_score_pool_walk walk;
    uint32_t y, sub;        /* next row, and next job of the row */
    uint32_t loaded;        /* rows before it */
    uint32_t used;          /* words of a lane whose rows have not been released */
    uint32_t silent, pause; /* cycles without a request although one is possible: so far, and at most */
    uint64_t requests;
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    return npu_score_pool_port(c, &s->task, err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->walk.active = false;
    s->used = 0;
}

/* Windows whose rows have all been loaded need no request. */
static void skip_loaded(state *s) {
    s->silent = 0;
    s->pause = PAUSE;
    while (s->walk.active && s->y >= s->walk.last) {
        npu_score_pool_next(&s->walk);
        s->y = s->walk.load;
        s->pause++;
    }
}

/* A job in each cycle, except for a few between rows, while there is space for the row and for the job. */
static void check_pace(tb_check *c, state *s) {
    const bool room = s->sub > 0 || s->used + s->walk.slot <= NPU_SCORE_POOL_LINE;
    const bool silent = s->walk.active && room && npu_score_b(s->job_ready_i) != 0 && npu_score_b(s->req_valid_o) == 0;
    s->silent += silent;
    if (s->silent > s->pause) {
        tb_check_fail(c, "request", s->requests, NULL, "none", "the next one: there is space for it");
    }
}

static void begin(tb_check *c, state *s) {
    c->task++;
    npu_score_pool_begin(&s->walk, s->task, c->index, (uint32_t)tb_get(s->units_i), npu_score_b(s->slide_i) != 0);
    s->y = s->walk.load;
    s->sub = s->loaded = 0;
    skip_loaded(s);
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

static void next_job(state *s, uint32_t jobs) {
    if (++s->sub < jobs) {
        s->silent = 0;
        return;
    }
    s->sub = 0;
    s->loaded++;
    s->y++;
    skip_loaded(s);
}

static void take_row(tb_check *c, state *s) {
    const npu_score_pool_walk *p = &s->walk;
    const cm_pool_task *t = &p->t;
    if (!p->active) {
        tb_check_fail(c, "request", s->requests, NULL, "a request", "none: all rows of the task have been requested");
        return;
    }
    uint32_t words;
    const uint32_t jobs = npu_score_pool_jobs(t, p->lanes, t->ifm_cstep, t->iw, &words);
    const uint32_t first =
        t->ifm_addr + p->group * (t->int8 ? 32 : NPU_SCORE_POOL_LANES * t->ifm_cstep) + s->y * t->ifm_rstep;
    const uint32_t place = s->loaded * p->slot + (t->int8 ? s->sub : 0);
    const bool one = !t->int8 || p->lanes == 1;
    const npu_score_pool_value v[] = {
        {"request address", s->req_addr_o, first + s->sub * t->ifm_cstep},
        {"request bytes", s->req_bytes_o, 4 * words},
        {"job, words", s->job_words_o, words},
        {"job, place", s->job_addr_o, place % NPU_SCORE_POOL_LINE},
        {"job, lane", s->job_lane_o, t->int8 ? 0 : s->sub},
        {"job, one lane", s->job_one_o, one},
        {"job, end of row", s->job_last_o, s->sub == jobs - 1},
        {"job, lanes", s->job_lanes_o, one ? (uint32_t)tb_get(s->job_lanes_o) : p->lanes}};
    const npu_score_pool_value *wrong = npu_score_pool_differs(v, sizeof v / sizeof *v);
    if (wrong != NULL) {
        char where[96];
        snprintf(where, sizeof where,
                 "channel %" PRIu32 ", row %" PRIu32 " of the map for output row %" PRIu32 ", %s %" PRIu32,
                 p->group * (t->int8 ? 32 : 8) + (t->int8 ? 0 : s->sub), s->y, p->oy, t->int8 ? "pixel" : "lane",
                 s->sub);
        npu_score_pool_fail(c, wrong, s->requests, where);
        return;
    }
    if (s->sub == 0) {
        s->used += p->slot;
        if (s->used > NPU_SCORE_POOL_LINE) {
            tb_check_fail(c, "request", s->requests, NULL, "one more row", "none: the line memory is full");
        }
    }
    next_job(s, jobs);
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    if (s->walk.active && npu_score_b(s->busy_o) == 0) {
        tb_check_fail(c, "busy", s->requests, NULL, "0", "1: rows have not been requested");
    }
    check_pace(c, s);
    const bool fire = npu_score_fire(s->req_valid_o, s->req_ready_i);
    const bool table = fire && npu_score_b(s->job_tab_o) != 0;
    if ((npu_score_b(s->job_valid_o) != 0) != fire) {
        tb_check_value(c, "job", s->requests, tb_get(s->job_valid_o), fire);
    } else if ((npu_score_b(s->tab_ack_o) != 0) != table) {
        tb_check_value(c, "table taken", s->requests, tb_get(s->tab_ack_o), table);
    } else if (table) {
        take_table(c, s);
    } else if (fire) {
        take_row(c, s);
    }
    s->requests += fire;
    if (npu_score_b(s->free_i) != 0) {
        s->used -= s->walk.slot < s->used ? s->walk.slot : s->used;
    }
    if (npu_score_b(s->start_i) != 0) {
        begin(c, s);
    }
    c->again = s->walk.active;
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
