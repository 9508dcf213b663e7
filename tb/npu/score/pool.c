/*
 * pool.c - tasks of the POOL: settings of its channels, the number of their write jobs, and the end of a task.
 */
#include "pool_walk.h"

#include <inttypes.h>
#include <stdio.h>

#define LATE 16u /* cycles from the last response to the end of the task, at most */
#define BEGIN 4u /* cycles from a task to the start of its channels, at most */

/* Inputs of a pool_chan. */
#define CHAN_PORTS start_i, task_i, slide_i, units_i, shstep_i, topstep_i, count_i, tab_whole_i
typedef struct chan {
    TB_PORTS(ports, CHAN_PORTS);
    uint64_t jobs, expected; /* write jobs of the task */
} chan;

#define PORTS                                                                                                          \
    task_valid_i, task_ready_o, task_done_o, wr_idle_i, wr_req_ready_i, wr_req_valid_o, rd_valid_i, rd_ready_o,        \
        busy_o, event_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    bool running, started;
    bool due;      /* the start or the end of the task may come */
    uint32_t late; /* cycles before the start, and those in which all write jobs have been complete */
    chan ch[2];
    cm_pool_task t;
    uint32_t raw[(CM_POOL_TASK_WIDTH + 31) / 32];
    tb_sig task;
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    if (tb_check_sig(c, "task_i", CM_POOL_TASK_WIDTH, &s->task, err, err_size) != 0) {
        return -1;
    }
    for (size_t i = 0; i < 2; i++) {
        if (tb_taps_ports(&c->all->taps, "pool_chan", i, TB_PORTS_OF(s->ch[i].ports, CHAN_PORTS), err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->running = s->started = s->due = false;
}

/* Write jobs of channel `index`. */
static uint64_t jobs_of(const cm_pool_task *t, uint32_t units, uint32_t index) {
    uint64_t jobs = 0;
    uint32_t words;
    for (uint32_t group = index; npu_score_pool_lanes(units, group) != 0; group += 2) {
        jobs +=
            (uint64_t)npu_score_pool_jobs(t, npu_score_pool_lanes(units, group), t->ofm_cstep, t->ow, &words) * t->oh;
    }
    return jobs;
}

static void take_task(tb_check *c, state *s) {
    if (s->running) {
        tb_check_fail(c, "task", c->task, NULL, "one more task accepted", "none while one runs");
        return;
    }
    c->task++;
    s->running = true;
    s->started = false;
    s->late = 0;
    s->t = npu_score_pool_task(s->task);
    memcpy(s->raw, s->task.ptr, sizeof s->raw);
    for (uint32_t i = 0; i < 2; i++) {
        s->ch[i].jobs = 0;
        s->ch[i].expected = jobs_of(&s->t, npu_score_pool_units(&s->t, npu_score_n(c)), i);
    }
}

/* A channel begins: the task, and the settings that pool derives from it. */
static void start_chan(tb_check *c, const state *s, uint32_t index) {
    const chan *ch = &s->ch[index];
    const cm_pool_task *t = &s->t;
    const uint32_t rows = t->kh < t->ih ? t->kh : t->ih, slot = (t->iw + 3) & ~3u;
    const npu_score_pool_value v[] = {{"start, slide_i", ch->slide_i, rows * slot <= NPU_SCORE_POOL_LINE},
                                      {"start, units_i", ch->units_i, npu_score_pool_units(t, npu_score_n(c))},
                                      {"start, shstep_i", ch->shstep_i, t->sh * t->ifm_rstep},
                                      {"start, topstep_i", ch->topstep_i, t->pad_t * t->ifm_rstep},
                                      {"start, count_i", ch->count_i, t->kw * t->kh},
                                      {"start, tab_whole_i", ch->tab_whole_i, t->kw * t->kh <= 256}};
    const npu_score_pool_value *wrong = npu_score_pool_differs(v, sizeof v / sizeof *v);
    char where[96];
    snprintf(where, sizeof where, "channel %" PRIu32, index);
    if (memcmp(ch->task_i.ptr, s->raw, sizeof s->raw) != 0) {
        tb_check_fail(c, "start, task_i", c->task, where, "other settings", "those of the accepted task");
    } else if (wrong != NULL) {
        npu_score_pool_fail(c, wrong, c->task, where);
    }
}

static void take_start(tb_check *c, state *s) {
    const bool both = (tb_get(s->ch[0].start_i) & tb_get(s->ch[1].start_i)) != 0;
    if (!s->running || s->started || !both) {
        tb_check_fail(c, "start", c->task, NULL, both ? "start of both channels" : "start of one channel",
                      "one start of both for each task");
    }
    s->started = true;
    s->late = 0;
    start_chan(c, s, 0);
    start_chan(c, s, 1);
}

static bool all_asked(const state *s) {
    return s->ch[0].jobs == s->ch[0].expected && s->ch[1].jobs == s->ch[1].expected;
}

static void take_done(tb_check *c, state *s) {
    if (!s->running || !s->started) {
        tb_check_fail(c, "task done", c->task, NULL, "1", "0: no task runs");
    } else if (!all_asked(s) || tb_get(s->wr_idle_i) != 3) {
        tb_check_failf(
            c, "task done", c->task,
            "1 after %" PRIu64 " and %" PRIu64 " write jobs, idle %u|0 until %" PRIu64 " and %" PRIu64 " are complete",
            s->ch[0].jobs, s->ch[1].jobs, (unsigned)tb_get(s->wr_idle_i), s->ch[0].expected, s->ch[1].expected);
    }
    s->running = false;
}

__attribute__((noinline, hot)) static void any_cycle(tb_check *c, state *s) {
    const unsigned jobs = npu_score_b(s->wr_req_valid_o) & npu_score_b(s->wr_req_ready_i);
    s->ch[0].jobs += jobs & 1u;
    s->ch[1].jobs += jobs >> 1;
    tb_check_value(c, "busy", c->task, npu_score_b(s->busy_o), s->running);
    tb_check_value(c, "event busy", c->task, npu_score_b(s->event_o) & 1u, s->running);
    if ((npu_score_b(s->rd_valid_i) & ~npu_score_b(s->rd_ready_o)) != 0) {
        tb_check_fail(c, "rd_ready_o", c->task, NULL, "data refused", "always taken");
    }
    if ((npu_score_b(s->ch[0].start_i) | npu_score_b(s->ch[1].start_i)) != 0) {
        take_start(c, s);
    }
    if (npu_score_b(s->task_done_o) != 0) {
        take_done(c, s);
    } else if (s->started && s->running && all_asked(s) && npu_score_b(s->wr_idle_i) == 3 && ++s->late > LATE) {
        tb_check_fail(c, "task done", c->task, NULL, "0", "1: all write jobs are complete");
    } else if (s->running && !s->started && ++s->late > BEGIN) {
        tb_check_fail(c, "start", c->task, NULL, "none", "the start of both channels");
    }
    if (npu_score_fire(s->task_valid_i, s->task_ready_o)) {
        take_task(c, s);
    }
    s->due = s->running && (!s->started || all_asked(s));
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t wrong = (npu_score_b(s->busy_o) ^ s->running) | ((npu_score_b(s->event_o) & 1u) ^ s->running) |
                           (npu_score_b(s->rd_valid_i) & ~npu_score_b(s->rd_ready_o));
    const uint32_t event = npu_score_b(s->wr_req_valid_o) | npu_score_b(s->task_done_o) |
                           npu_score_b(s->ch[0].start_i) | npu_score_b(s->ch[1].start_i) |
                           (npu_score_b(s->task_valid_i) & npu_score_b(s->task_ready_o));
    if ((wrong | event | s->due) != 0) {
        any_cycle(c, s);
    }
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->running) {
        tb_check_fail(c, "task done", c->task, NULL, "a task that does not end", "its end");
    }
}

static const char *const inputs[] = {"pool_out", NULL};

const tb_check_ops npu_score_pool = {.unit = "pool",
                                     .inputs = inputs,
                                     TB_STATE(state, PORTS),
                                     .open = open,
                                     .clear = clear,
                                     .cycle = cycle,
                                     .finish = finish};

/* ---- pool_chan: settings of its parts, derived from the task ---- */
#define GLUE_PORTS task_i, start_i, count_i, tab_whole_i
#define SEQ_PORTS slow_i, tab_en_i, tab_whole_i
typedef struct glue {
    TB_PORTS(ports, GLUE_PORTS);
    tb_sig tab_words; /* inputs of its parts */
    TB_SIGNALS(seq, SEQ_PORTS);
} glue;

static int open_glue(tb_check *c, char *err, size_t err_size) {
    glue *g = (glue *)c->state;
    const tb_taps *taps = &c->all->taps;
    return tb_taps_ports(taps, "pool_ld", c->index, TB_PORTS_OF(g->tab_words, tab_words_i), err, err_size) != 0
               ? -1
               : tb_taps_ports(taps, "pool_seq", c->index, TB_PORTS_OF(g->seq, SEQ_PORTS), err, err_size);
}

static void clear_glue(tb_check *c) {
    (void)c; /* nothing is in flight */
}

__attribute__((hot)) static void cycle_glue(tb_check *c) {
    const glue *g = (const glue *)c->state;
    if (npu_score_b(g->start_i) == 0) {
        return;
    }
    const cm_pool_task t = npu_score_pool_task(g->task_i);
    const bool whole = tb_get(g->tab_whole_i) != 0, table = t.avg && !t.int8 && t.exclude;
    const npu_score_pool_value v[] = {
        {"slow_i of pool_seq", g->seq.slow_i, t.avg && t.int8},
        {"tab_en_i of pool_seq", g->seq.tab_en_i, table},
        {"tab_whole_i of pool_seq", g->seq.tab_whole_i, whole},
        {"tab_words_i of pool_ld", g->tab_words, whole ? (uint32_t)tb_get(g->count_i) : t.kw}};
    const npu_score_pool_value *wrong = npu_score_pool_differs(v, sizeof v / sizeof *v);
    c->task++;
    if (wrong != NULL) {
        npu_score_pool_fail(c, wrong, c->task, NULL);
    }
}

/* The checks of its parts use its tap, too. */
const tb_check_ops npu_score_pool_chan = {.unit = "pool_chan",
                                          .inputs = (const char *const[]){"pool", NULL},
                                          TB_STATE(glue, GLUE_PORTS),
                                          .wake = "start_i",
                                          .open = open_glue,
                                          .clear = clear_glue,
                                          .cycle = cycle_glue};
