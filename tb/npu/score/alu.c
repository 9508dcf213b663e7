/*
 * alu.c - the ALU as a whole: tasks, how they reach the channels, and that a task is complete only when all of it is
 * written.
 */
#include "alu_part.h"

#include <inttypes.h>
#include <stdio.h>

#define CHANNELS 2u
#define LATE 16u       /* cycles from the last response to the end of the task, at most */
#define TASK_WORDS 20u /* of 32 bits in a task_i */

typedef struct state {
    tb_sig task_valid, task_ready, task, done, busy, result_we, result, job_valid, job_ready, job_bytes, word_valid,
        word_ready, word, idle, event;
    tb_sig walk_start[CHANNELS], walk_task[CHANNELS], chan_task[CHANNELS], chan_data[CHANNELS], chan_room[CHANNELS];
    bool active, fresh; /* a task runs; it has begun in the cycle before */
    uint32_t raw[TASK_WORDS];
    npu_score_task now;
    uint32_t over;                                 /* cycles in which all writes have been complete */
    uint64_t bytes, written;                       /* to be written by the task, asked for in write jobs */
    uint32_t last_channel, result_value[CHANNELS]; /* reductions: of the last row, the word that left last */
} state;

static bool inside(const tb_tap *tap, const tb_check *c) {
    const size_t length = strlen(c->tap->path);
    return strncmp(tap->path, c->tap->path, length) == 0 && tap->path[length] == '.';
}

int npu_score_alu_bind(const tb_check *c, const char *kind, size_t number, const npu_score_sig *sigs, size_t count,
                       char *err, size_t err_size) {
    const tb_tap *tap = NULL;
    size_t found = 0;
    for (size_t i = 0; found <= number; i++) {
        tap = tb_taps_find(&c->all->taps, kind, i);
        if (tap == NULL) {
            snprintf(err, err_size, "%s: there is no tap %zu of %s inside", c->tap->path, number, kind);
            return -1;
        }
        found += inside(tap, c);
    }
    for (size_t i = 0; i < count; i++) {
        if (tb_tap_sig(tap, sigs[i].name, 0, sigs[i].sig, err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

const tb_check *npu_score_alu_whole(const tb_check *c) {
    for (size_t i = 0; i < c->all->count; i++) {
        if (c->all->check[i].ops == &npu_score_alu) {
            return &c->all->check[i];
        }
    }
    return c;
}

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const npu_score_sig sigs[] = {{"task_valid_i", &s->task_valid},
                                  {"task_ready_o", &s->task_ready},
                                  {"task_i", &s->task},
                                  {"task_done_o", &s->done},
                                  {"busy_o", &s->busy},
                                  {"result_we_o", &s->result_we},
                                  {"result_o", &s->result},
                                  {"wr_req_valid_o", &s->job_valid},
                                  {"wr_req_ready_i", &s->job_ready},
                                  {"wr_req_bytes_o", &s->job_bytes},
                                  {"wr_valid_o", &s->word_valid},
                                  {"wr_ready_i", &s->word_ready},
                                  {"wr_data_o", &s->word},
                                  {"wr_idle_i", &s->idle},
                                  {"event_o", &s->event}};
    if (npu_score_bind(c, sigs, sizeof sigs / sizeof *sigs, err, err_size) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < CHANNELS; i++) {
        const npu_score_sig walk[] = {{"start_i", &s->walk_start[i]}, {"task_i", &s->walk_task[i]}};
        const npu_score_sig chan[] = {
            {"task_i", &s->chan_task[i]}, {"ev_data_o", &s->chan_data[i]}, {"ev_room_o", &s->chan_room[i]}};
        if (npu_score_alu_bind(c, "alu_walk", i, walk, 2, err, err_size) != 0 ||
            npu_score_alu_bind(c, "alu_chan", i, chan, 3, err, err_size) != 0) {
            return -1;
        }
    }
    if (tb_sig_bytes(s->task) != sizeof s->raw || s->task.width != CM_ALU_TASK_WIDTH) {
        snprintf(err, err_size, "%s: a task of %" PRIu32 " bits, expected %" PRIu32, c->tap->path, s->task.width,
                 CM_ALU_TASK_WIDTH);
        return -1;
    }
    return 0;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->active = s->fresh = false;
}

static void begin(tb_check *c, state *s) {
    const cm_alu_task *t = &s->now.alu;
    memcpy(s->raw, s->task.ptr, sizeof s->raw);
    npu_score_task_get(NPU_SCORE_ALU, s->task, &s->now);
    const uint64_t rows = (uint64_t)t->rows * t->planes;
    s->bytes = npu_score_alu_reduces(t->op) ? 4 * rows : rows * t->count * (t->dup ? 8 : 4);
    s->last_channel = (uint32_t)(rows - 1) % CHANNELS;
    s->written = s->over = 0;
    s->active = s->fresh = true;
    c->task++;
}

/* The cycle after the handshake: both walks and channels hold the task. */
static void compare_copies(tb_check *c, state *s) {
    static const char *const names[2 * CHANNELS] = {"task of walk 0", "task of walk 1", "task of channel 0",
                                                    "task of channel 1"};
    for (uint32_t i = 0; i < 2 * CHANNELS; i++) {
        const tb_sig sig = i < CHANNELS ? s->walk_task[i] : s->chan_task[i - CHANNELS];
        if (memcmp(sig.ptr, s->raw, sizeof s->raw) != 0) {
            npu_score_task_same(c, names[i], NPU_SCORE_ALU, sig, &s->now);
        }
    }
    s->fresh = false;
}

static void take_writes(tb_check *c, state *s) {
    const uint32_t words = (uint32_t)(tb_get(s->word_valid) & tb_get(s->word_ready));
    const uint32_t jobs = (uint32_t)(tb_get(s->job_valid) & tb_get(s->job_ready));
    tb_check_value(c, "event word", c->task, tb_get(s->event) >> 3, words);
    for (uint32_t i = 0; i < CHANNELS; i++) {
        if ((words >> i & 1u) != 0) {
            s->result_value[i] = ((const uint32_t *)s->word.ptr)[4 * i];
        }
        if ((jobs >> i & 1u) != 0) {
            s->written += tb_get_field(s->job_bytes, 24 * i, 24);
        }
    }
}

static void complete(tb_check *c, state *s) {
    const bool reduces = npu_score_alu_reduces(s->now.alu.op);
    tb_check_value(c, "bytes written", c->task, s->written, s->bytes);
    tb_check_value(c, "done before responses", c->task, tb_get(s->idle), 3);
    tb_check_value(c, "result valid", c->task, tb_get(s->result_we), reduces);
    if (reduces) {
        tb_check_value(c, "result", c->task, tb_get(s->result), s->result_value[s->last_channel]);
    }
    s->active = false;
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const bool start = npu_score_fire(s->task_valid, s->task_ready);
    tb_check_value(c, "busy", c->task, tb_get(s->busy), s->active);
    tb_check_value(c, "busy event", c->task, tb_get(s->event) & 1u, s->active);
    tb_check_value(c, "ready", c->task, tb_get(s->task_ready), !s->active);
    for (uint32_t i = 0; i < CHANNELS; i++) {
        tb_check_value(c, "start of walk", i, tb_get(s->walk_start[i]), start);
    }
    if (s->fresh) {
        compare_copies(c, s);
    }
    /* a channel that waits for operands or for room */
    const uint64_t waits = (tb_get(s->chan_data[0]) | tb_get(s->chan_data[1])) << 1 |
                           (tb_get(s->chan_room[0]) | tb_get(s->chan_room[1])) << 2;
    tb_check_value(c, "event waits", c->task, tb_get(s->event) & 6u, waits);
    if (s->active && tb_get(s->done) != 0) {
        complete(c, s);
    } else {
        if (s->active && s->written == s->bytes && tb_get(s->idle) == 3 && ++s->over > LATE) {
            tb_check_fail(c, "done", c->task, NULL, "0", "1: all writes are complete");
        }
        tb_check_value(c, "done", c->task, tb_get(s->done), 0);
        tb_check_value(c, "result valid", c->task, tb_get(s->result_we), 0);
    }
    take_writes(c, s);
    if (start) {
        begin(c, s);
    }
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    tb_check_value(c, "done", c->task, !s->active, 1);
}

static const char *const inputs[] = {"npu_regs", "alu_walk", "alu_chan", NULL};

const tb_check_ops npu_score_alu = {.unit = "alu",
                                    .inputs = inputs,
                                    .state_bytes = sizeof(state),
                                    .open = open,
                                    .clear = clear,
                                    .cycle = cycle,
                                    .finish = finish};
