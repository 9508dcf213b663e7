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
    uint64_t row, jobs;            /* since the start of the task */
} cursor;

#define PORTS                                                                                                          \
    start_i, busy_o, units_i, we_i, end_i, waddr_i, wdata_i, release_o, wr_valid_o, wr_ready_i, wr_data_o,             \
        req_valid_o, req_ready_i, req_addr_o, req_bytes_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    tb_sig task;
    cm_pool_task t;
    uint32_t unit_count;
    row half[2], full[ROWS];
    uint64_t complete, released; /* rows */
    cursor send, ask;
    uint32_t silent, unasked; /* cycles without a word that could be sent; without a job whose words were sent */
    uint64_t words, requests;
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    return npu_score_pool_port(c, &s->task, err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->unit_count = 0; /* a task without units has no jobs */
    s->complete = s->released = 0;
    s->silent = s->unasked = 0;
    s->send = s->ask = (cursor){.group = c->index};
}

static uint32_t lanes_at(const state *s, const cursor *at) {
    return npu_score_pool_lanes(s->unit_count, at->group);
}

/* Jobs of the row at the cursor, 0: the task is over. */
static uint32_t jobs_at(const state *s, const cursor *at, uint32_t *words) {
    *words = 0;
    return npu_score_pool_jobs(&s->t, lanes_at(s, at), s->t.ofm_cstep, s->t.ow, words);
}

static bool over(const state *s, const cursor *at) {
    return lanes_at(s, at) == 0;
}

static void next_job(const state *s, cursor *at, uint32_t jobs) {
    at->word = 0;
    at->jobs++;
    if (++at->job < jobs) {
        return;
    }
    at->job = 0;
    at->row++;
    if (++at->oy == s->t.oh) {
        at->oy = 0;
        at->group += 2;
    }
}

static void begin(tb_check *c, state *s) {
    c->task++;
    clear(c);
    s->t = npu_score_pool_task(s->task);
    s->unit_count = (uint32_t)tb_get(s->units_i);
}

/* Column and lane of word `k` of job `job`. */
static void word_place(const state *s, uint32_t lanes, uint32_t job, uint32_t k, uint32_t *column, uint32_t *lane) {
    *column = s->t.int8 ? job + k / lanes : k;
    *lane = s->t.int8 ? k % lanes : job;
}

static void wrong_word(tb_check *c, const state *s, const uint32_t *want, const uint32_t *got, uint32_t words) {
    char where[96];
    for (uint32_t i = 0; i < BEAT; i++) {
        if (got[i] == want[i]) {
            continue;
        }
        uint32_t column, lane;
        word_place(s, lanes_at(s, &s->send), s->send.job, s->send.word + i, &column, &lane);
        if (s->send.word + i >= words) {
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
    if (over(s, &s->send) || s->send.row == s->complete) {
        tb_check_fail(c, "word", s->words, NULL, "a word", "none: its results have not arrived");
        return;
    }
    uint32_t words, want[BEAT] = {0}, got[BEAT];
    const uint32_t lanes = lanes_at(s, &s->send), jobs = jobs_at(s, &s->send, &words);
    const row *r = &s->full[s->send.row % ROWS];
    for (uint32_t i = 0; i < BEAT && s->send.word + i < words; i++) {
        uint32_t column, lane;
        word_place(s, lanes, s->send.job, s->send.word + i, &column, &lane);
        want[i] = r->word[column % COLUMNS][lane];
    }
    memcpy(got, s->wr_data_o.ptr, sizeof got);
    if (memcmp(got, want, sizeof want) != 0) {
        wrong_word(c, s, want, got, words);
    }
    s->words++;
    s->send.word += BEAT;
    if (s->send.word >= words) {
        next_job(s, &s->send, jobs);
        if (s->send.job == 0 && s->released != s->send.row) {
            tb_check_fail(c, "release", s->words, NULL, "a half that is kept", "its release: all its words were sent");
        }
    }
}

/* A half may be released when the last one of its words has been read, one word before it is sent. */
static void take_release(tb_check *c, state *s) {
    uint32_t words;
    const bool last_row = !over(s, &s->send) && s->released == s->send.row && s->released < s->complete;
    const uint32_t jobs = jobs_at(s, &s->send, &words);
    s->released++;
    if (!last_row || s->send.job + 1 != jobs || s->send.word + BEAT < words) {
        tb_check_fail(c, "release", s->words, NULL, "a half released", "none: it holds words that were not sent");
    }
}

static void take_request(tb_check *c, state *s) {
    if (s->ask.jobs >= s->send.jobs) {
        tb_check_fail(c, "write job", s->requests, NULL, "a job", "none before its words are in send_buf");
        return;
    }
    uint32_t words;
    const uint32_t jobs = jobs_at(s, &s->ask, &words);
    const cm_pool_task *t = &s->t;
    const uint32_t addr = t->ofm_addr + s->ask.group * (t->int8 ? 32 : LANES * t->ofm_cstep) +
                          s->ask.oy * t->ofm_rstep + s->ask.job * t->ofm_cstep;
    const npu_score_pool_value v[] = {{"write job, address", s->req_addr_o, addr},
                                      {"write job, bytes", s->req_bytes_o, 4 * words}};
    const npu_score_pool_value *wrong = npu_score_pool_differs(v, sizeof v / sizeof *v);
    if (wrong != NULL) {
        char where[96];
        snprintf(where, sizeof where, "channel %" PRIu32 ", output row %" PRIu32 ", %s %" PRIu32,
                 s->ask.group * (t->int8 ? 32 : LANES), s->ask.oy, t->int8 ? "pixel" : "lane", s->ask.job);
        npu_score_pool_fail(c, wrong, s->requests, where);
    }
    s->requests++;
    next_job(s, &s->ask, jobs);
}

static void take_result(tb_check *c, state *s) {
    const uint32_t addr = (uint32_t)tb_get(s->waddr_i);
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

static void check_pace(tb_check *c, state *s) {
    const bool refused =
        /* the last word of a job needs space for the job */
        npu_score_b(s->req_valid_o) != 0 && npu_score_b(s->req_ready_i) == 0;
    const bool could = s->send.row < s->complete && !over(s, &s->send) && !refused;
    s->silent = could && npu_score_b(s->wr_valid_o) == 0 ? s->silent + 1 : 0;
    s->unasked = s->ask.jobs < s->send.jobs && npu_score_b(s->req_valid_o) == 0 ? s->unasked + 1 : 0;
    if (s->silent > PAUSE) {
        tb_check_fail(c, "word", s->words, NULL, "none", "one: a row is complete");
    } else if (s->unasked > PAUSE) {
        tb_check_fail(c, "write job", s->requests, NULL, "none", "one: all its words are in send_buf");
    }
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    check_pace(c, s);
    tb_check_value(c, "busy", s->requests, tb_get(s->busy_o), !over(s, &s->ask));
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
    c->again = !over(s, &s->ask);
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (!over(s, &s->ask)) {
        tb_check_fail(c, "write job", s->requests, NULL, "no more jobs", "all rows of the task");
    }
}

const tb_check_ops npu_score_pool_out = {.unit = "pool_out",
                                         .inputs = (const char *const[]){"pool", "pool_op", NULL},
                                         TB_STATE(state, PORTS),
                                         .wake = "busy_o, req_valid_o, wr_valid_o, release_o, we_i, start_i",
                                         .open = open,
                                         .clear = clear,
                                         .cycle = cycle,
                                         .finish = finish};
