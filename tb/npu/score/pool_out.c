/* pool_out.c - results of a POOL channel, packed into words for send_buf, and the write jobs for them. */
#include "pool_walk.h"

#include <inttypes.h>
#include <stdio.h>

#define LANES NPU_SCORE_POOL_LANES
#define COLUMNS 64u
#define BEAT 4u  /* words */
#define PAUSE 4u /* cycles without a word, or without a job, that could be sent, at most */
#define ROWS 4u  /* more complete rows than the unit holds before their last word was sent */

typedef struct row {
    uint32_t word[COLUMNS][LANES]; /* only the words whose results have arrived are defined, and sent */
} row;

/* Position of words and write jobs in the task. */
typedef struct cursor {
    uint32_t group, oy, job, word; /* word: of the job */
    uint32_t lanes, in_row, words; /* of the group; jobs of the row, words of each of them; lanes 0: the task is over */
    uint32_t addr;                 /* of the row */
    uint64_t row, jobs;            /* since the start of the task */
} cursor;

#define PORTS                                                                                                          \
    start_i, busy_o, units_i, we_i, end_i, waddr_i, wdata_i, release_o, wr_valid_o, wr_ready_i, wr_data_o,             \
        req_valid_o, req_ready_i, req_addr_o, req_bytes_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    uint64_t complete, released; /* rows */
    cursor send, ask;
    uint32_t silent, unasked; /* cycles without a word that could be sent; without a job whose words were sent */
    uint64_t words, requests;
    uint32_t unit_count;
    cm_pool_task t;
    row half[2], full[ROWS];
    tb_sig task;
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    return npu_score_pool_port(c, &s->task, err, err_size) != 0 ? -1 : tb_check_watch(c, s->busy_o, err, err_size);
}

/* What is constant in a group. */
static void begin_group(const state *s, cursor *at) {
    const cm_pool_task *t = &s->t;
    at->lanes = npu_score_pool_lanes(s->unit_count, at->group);
    at->in_row = npu_score_pool_jobs(t, at->lanes, t->ofm_cstep, t->ow, &at->words);
    at->addr = t->ofm_addr + at->group * (t->int8 ? 32 : LANES * t->ofm_cstep);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->complete = s->released = 0;
    s->silent = s->unasked = 0;
    s->send = s->ask = (cursor){.group = c->index}; /* without lanes: there is no task */
}

static bool over(const cursor *at) {
    return at->lanes == 0;
}

static void next_job(const state *s, cursor *at) {
    at->word = 0;
    at->jobs++;
    if (++at->job < at->in_row) {
        return;
    }
    at->job = 0;
    at->row++;
    at->addr += s->t.ofm_rstep;
    if (++at->oy == s->t.oh) {
        at->oy = 0;
        at->group += 2;
        begin_group(s, at);
    }
}

static void begin(tb_check *c, state *s) {
    c->task++;
    clear(c);
    s->t = npu_score_pool_task(s->task);
    s->unit_count = (uint32_t)tb_get(s->units_i);
    begin_group(s, &s->send);
    s->ask = s->send;
}

/* Column and lane of word `k` of job `job`. */
static void word_place(const state *s, uint32_t lanes, uint32_t job, uint32_t k, uint32_t *column, uint32_t *lane) {
    *column = s->t.int8 ? job + k / lanes : k;
    *lane = s->t.int8 ? k % lanes : job;
}

__attribute__((cold, noinline)) static void wrong_word(tb_check *c, const state *s, const uint32_t *want) {
    uint32_t got[BEAT];
    memcpy(got, s->wr_data_o.ptr, sizeof got);
    char where[96];
    for (uint32_t i = 0; i < BEAT; i++) {
        if (got[i] == want[i]) {
            continue;
        }
        uint32_t column, lane;
        word_place(s, s->send.lanes, s->send.job, s->send.word + i, &column, &lane);
        if (s->send.word + i >= s->send.words) {
            snprintf(where, sizeof where, "after the end of the job");
        } else {
            snprintf(where, sizeof where, "channel %" PRIu32 "%s, output row %" PRIu32 ", column %" PRIu32,
                     s->send.group * (s->t.int8 ? 32 : LANES) + lane * (s->t.int8 ? 4 : 1),
                     s->t.int8 ? " and three more" : "", s->send.oy, column);
        }
        tb_check_failf(c, "word", s->words, "%s|0x%08" PRIx32 "|0x%08" PRIx32, where, got[i], want[i]);
        return;
    }
}

static void take_word(tb_check *c, state *s) {
    cursor *at = &s->send;
    if (over(at) || at->row == s->complete) {
        tb_check_fail(c, "word", s->words, NULL, "a word", "none: its results have not arrived");
        return;
    }
    uint32_t want[BEAT] = {0};
    const row *r = &s->full[at->row % ROWS];
    for (uint32_t i = 0; i < BEAT && at->word + i < at->words; i++) {
        uint32_t column, lane;
        word_place(s, at->lanes, at->job, at->word + i, &column, &lane);
        want[i] = r->word[column % COLUMNS][lane];
    }
    if (memcmp(s->wr_data_o.ptr, want, sizeof want) != 0) {
        wrong_word(c, s, want);
    }
    s->words++;
    at->word += BEAT;
    if (at->word >= at->words) {
        next_job(s, at);
        if (at->job == 0 && s->released != at->row) {
            tb_check_fail(c, "release", s->words, NULL, "a half that is kept", "its release: all its words were sent");
        }
    }
}

/* A half may be released when the last one of its words has been read, one word before it is sent. */
static void take_release(tb_check *c, state *s) {
    const cursor *at = &s->send;
    const bool last_row = !over(at) && s->released == at->row && s->released < s->complete;
    s->released++;
    if (!last_row || at->job + 1 != at->in_row || at->word + BEAT < at->words) {
        tb_check_fail(c, "release", s->words, NULL, "a half released", "none: it holds words that were not sent");
    }
}

__attribute__((cold, noinline)) static void wrong_request(tb_check *c, const state *s, uint32_t addr) {
    const cursor *at = &s->ask;
    const npu_score_pool_value v[] = {{"write job, address", s->req_addr_o, addr},
                                      {"write job, bytes", s->req_bytes_o, 4 * at->words}};
    char where[96];
    snprintf(where, sizeof where, "channel %" PRIu32 ", output row %" PRIu32 ", %s %" PRIu32,
             at->group * (s->t.int8 ? 32 : LANES), at->oy, s->t.int8 ? "pixel" : "lane", at->job);
    npu_score_pool_fail(c, npu_score_pool_differs(v, sizeof v / sizeof *v), s->requests, where);
}

static void take_request(tb_check *c, state *s) {
    const uint32_t addr = s->ask.addr + s->ask.job * s->t.ofm_cstep;
    if (s->ask.jobs >= s->send.jobs) {
        tb_check_fail(c, "write job", s->requests, NULL, "a job", "none before its words are in send_buf");
        return;
    }
    if (npu_score_w(s->req_addr_o) != addr || npu_score_w(s->req_bytes_o) != 4 * s->ask.words) {
        wrong_request(c, s, addr);
    }
    s->requests++;
    next_job(s, &s->ask);
}

static void take_result(tb_check *c, state *s) {
    const uint32_t addr = npu_score_b(s->waddr_i);
    memcpy(s->half[addr / COLUMNS].word[addr % COLUMNS], s->wdata_i.ptr, sizeof s->half[0].word[0]);
    if (npu_score_b(s->end_i) == 0) {
        return;
    }
    if (s->complete - s->send.row == ROWS) {
        tb_check_fail(c, "word", s->words, NULL, "none so far", "the words of rows that are complete");
        return;
    }
    memcpy(s->full[s->complete % ROWS].word, s->half[s->complete & 1u].word, s->t.ow * sizeof s->half[0].word[0]);
    s->complete++;
}

/* A word that could be sent, a job whose words were sent. */
static inline bool word_due(const state *s) {
    return s->send.row < s->complete && !over(&s->send);
}

static inline bool job_due(const state *s) {
    return s->ask.jobs < s->send.jobs;
}

static inline void check_pace(tb_check *c, state *s) {
    const bool asks = npu_score_b(s->req_valid_o) != 0;
    /* the last word of a job needs space for the job */
    const bool refused = asks && npu_score_b(s->req_ready_i) == 0;
    s->silent = word_due(s) && !refused && npu_score_b(s->wr_valid_o) == 0 ? s->silent + 1 : 0;
    s->unasked = job_due(s) && !asks ? s->unasked + 1 : 0;
    if (s->silent > PAUSE) {
        tb_check_fail(c, "word", s->words, NULL, "none", "one: a row is complete");
    } else if (s->unasked > PAUSE) {
        tb_check_fail(c, "write job", s->requests, NULL, "none", "one: all its words are in send_buf");
    }
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const bool busy = !over(&s->ask);
    check_pace(c, s);
    tb_check_value(c, "busy", s->requests, npu_score_b(s->busy_o), busy);
    if (npu_score_fire(s->req_valid_o, s->req_ready_i)) {
        take_request(c, s);
    }
    if (npu_score_fire(s->wr_valid_o, s->wr_ready_i)) {
        take_word(c, s);
    }
    if (npu_score_b(s->release_o) != 0) { /* the unit reads a word while the one before is sent */
        take_release(c, s);
    }
    if (npu_score_b(s->we_i) != 0) {
        take_result(c, s);
    }
    if (npu_score_b(s->start_i) != 0) {
        begin(c, s);
    }
    /* while nothing is due, only a signal that wakes this check or a change of busy_o can be wrong */
    c->again = word_due(s) || job_due(s) || busy == over(&s->ask);
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (!over(&s->ask)) {
        tb_check_fail(c, "write job", s->requests, NULL, "no more jobs", "all rows of the task");
    }
}

const tb_check_ops npu_score_pool_out = {.unit = "pool_out",
                                         .inputs = (const char *const[]){"pool", "pool_op", NULL},
                                         TB_STATE(state, PORTS),
                                         .wake = "req_valid_o, wr_valid_o, release_o, we_i, start_i",
                                         .open = open,
                                         .clear = clear,
                                         .cycle = cycle,
                                         .finish = finish};
