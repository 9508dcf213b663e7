/*
 * alu.c - the ALU as a whole: tasks, how they reach the channels, and that a task is complete only when all its results
 * are written.
 */
#include "alu_part.h"

#include <inttypes.h>
#include <stdio.h>

#define CHANNELS 2u
#define LATE 16u       /* cycles from the last response to the end of the task, at most */
#define TASK_WORDS 20u /* of 32 bits in a task_i */

#define WALK_PORTS start_i, task_i
#define CHAN_PORTS task_i, ev_data_o, ev_room_o
#define PORTS                                                                                                          \
    task_valid_i, task_ready_o, task_i, task_done_o, busy_o, result_we_o, result_o, wr_req_valid_o, wr_req_ready_i,    \
        wr_req_bytes_o, wr_valid_o, wr_ready_i, wr_data_o, wr_idle_i, event_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    TB_SIGNALS(walk[CHANNELS], WALK_PORTS);
    TB_SIGNALS(chan[CHANNELS], CHAN_PORTS);
    bool active, fresh; /* a task runs; it has begun in the cycle before */
    uint32_t raw[TASK_WORDS];
    npu_score_task now;
    uint32_t over;                                 /* cycles in which all writes have been complete */
    uint64_t bytes, written;                       /* to be written by the task, requested in write jobs */
    uint32_t last_channel, result_value[CHANNELS]; /* reductions: of the last row, the last word sent */
} state;

static bool inside(const tb_tap *tap, const tb_check *c) {
    const size_t length = strlen(c->tap->path);
    return strncmp(tap->path, c->tap->path, length) == 0 && tap->path[length] == '.';
}

int npu_score_alu_bind(const tb_check *c, const char *kind, size_t number, tb_ports ports, char *err, size_t err_size) {
    const tb_tap *tap = NULL;
    size_t found = 0;
    for (size_t i = 0; found <= number; i++) {
        tap = tb_taps_find(&c->all->taps, kind, i);
        if (tap == NULL) {
            return opt_fail(err, err_size, "%s: there is no tap %zu of %s inside", c->tap->path, number, kind);
        }
        found += inside(tap, c);
    }
    return tb_tap_ports(tap, ports, err, err_size);
}

__attribute__((hot)) const tb_check *npu_score_alu_whole(const tb_check *c) {
    for (size_t i = 0; i < c->all->count; i++) {
        if (c->all->check[i].ops == &npu_score_alu) {
            return &c->all->check[i];
        }
    }
    return c;
}

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    for (uint32_t i = 0; i < CHANNELS; i++) {
        if (npu_score_alu_bind(c, "alu_walk", i, TB_PORTS_OF(s->walk[i], WALK_PORTS), err, err_size) != 0 ||
            npu_score_alu_bind(c, "alu_chan", i, TB_PORTS_OF(s->chan[i], CHAN_PORTS), err, err_size) != 0) {
            return -1;
        }
    }
    if (tb_sig_bytes(s->task_i) != sizeof s->raw || s->task_i.width != CM_ALU_TASK_WIDTH) {
        return opt_fail(err, err_size, "%s: a task of %" PRIu32 " bits, expected %" PRIu32, c->tap->path,
                        s->task_i.width, CM_ALU_TASK_WIDTH);
    }
    return 0;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->active = s->fresh = false;
}

__attribute__((noinline)) static void begin(tb_check *c, state *s) {
    const cm_alu_task *t = &s->now.alu;
    memcpy(s->raw, s->task_i.ptr, sizeof s->raw);
    npu_score_task_get(NPU_SCORE_ALU, s->task_i, &s->now);
    const uint64_t rows = (uint64_t)t->rows * t->planes;
    s->bytes = npu_score_alu_reduces(t->op) ? 4 * rows : rows * t->count * (t->dup ? 8 : 4);
    s->last_channel = (uint32_t)(rows - 1) % CHANNELS;
    s->written = s->over = 0;
    s->active = s->fresh = true;
    c->task++;
}

/* The cycle after the handshake: both walks and channels hold the task. */
__attribute__((noinline)) static void compare_copies(tb_check *c, state *s) {
    static const char *const names[2 * CHANNELS] = {"task of walk 0", "task of walk 1", "task of channel 0",
                                                    "task of channel 1"};
    for (uint32_t i = 0; i < 2 * CHANNELS; i++) {
        const tb_sig sig = i < CHANNELS ? s->walk[i].task_i : s->chan[i - CHANNELS].task_i;
        if (memcmp(sig.ptr, s->raw, sizeof s->raw) != 0) {
            npu_score_task_same(c, names[i], NPU_SCORE_ALU, sig, &s->now);
        }
    }
    s->fresh = false;
}

__attribute__((noinline)) static void complete(tb_check *c, state *s) {
    const bool reduces = npu_score_alu_reduces(s->now.alu.op);
    tb_check_value(c, "bytes written", c->task, s->written, s->bytes);
    tb_check_value(c, "done before responses", c->task, npu_score_b(s->wr_idle_i), 3);
    tb_check_value(c, "result valid", c->task, npu_score_b(s->result_we_o), reduces);
    if (reduces) {
        tb_check_value(c, "result", c->task, npu_score_w(s->result_o), s->result_value[s->last_channel]);
    }
    s->active = false;
}

/* A channel waits for operands or for space. */
static inline uint32_t waits_of(const state *s) {
    return (npu_score_b(s->chan[0].ev_data_o) | npu_score_b(s->chan[1].ev_data_o)) << 1 |
           (npu_score_b(s->chan[0].ev_room_o) | npu_score_b(s->chan[1].ev_room_o)) << 2;
}

/* Write jobs and words that are accepted, a bit for each channel. */
static inline uint32_t jobs_of(const state *s) {
    return npu_score_b(s->wr_req_valid_o) & npu_score_b(s->wr_req_ready_i);
}

static inline uint32_t words_of(const state *s) {
    return npu_score_b(s->wr_valid_o) & npu_score_b(s->wr_ready_i);
}

/* Signals that follow from others in every cycle. */
static void compare_signals(tb_check *c, const state *s, bool start) {
    tb_check_value(c, "busy", c->task, npu_score_b(s->busy_o), s->active);
    tb_check_value(c, "busy event", c->task, npu_score_b(s->event_o) & 1u, s->active);
    tb_check_value(c, "ready", c->task, npu_score_b(s->task_ready_o), !s->active);
    for (uint32_t i = 0; i < CHANNELS; i++) {
        tb_check_value(c, "start of walk", i, npu_score_b(s->walk[i].start_i), start);
    }
    tb_check_value(c, "event waits", c->task, npu_score_b(s->event_o) & 6u, waits_of(s));
    tb_check_value(c, "event word", c->task, npu_score_b(s->event_o) >> 3, words_of(s));
}

static inline void take_words(state *s, uint32_t words) {
    for (uint32_t i = 0; i < CHANNELS; i++) {
        if ((words >> i & 1u) != 0) {
            s->result_value[i] = ((const uint32_t *)s->wr_data_o.ptr)[4 * i];
        }
    }
}

__attribute__((noinline, hot)) static void any_cycle(tb_check *c, state *s) {
    const bool start = npu_score_fire(s->task_valid_i, s->task_ready_o), done = npu_score_b(s->task_done_o) != 0;
    const uint32_t jobs = jobs_of(s);
    compare_signals(c, s, start);
    if (s->fresh) {
        compare_copies(c, s);
    }
    if (s->active && done) {
        complete(c, s);
    } else {
        if (s->active && s->written == s->bytes && npu_score_b(s->wr_idle_i) == 3 && ++s->over > LATE) {
            tb_check_fail(c, "done", c->task, NULL, "0", "1: all writes are complete");
        }
        tb_check_value(c, "done", c->task, done, 0);
        tb_check_value(c, "result valid", c->task, npu_score_b(s->result_we_o), 0);
    }
    take_words(s, words_of(s));
    for (uint32_t i = 0; i < CHANNELS; i++) {
        if ((jobs >> i & 1u) != 0) {
            s->written += tb_get_field(s->wr_req_bytes_o, 24 * i, 24);
        }
    }
    if (start) {
        begin(c, s);
    }
}

/* In most cycles a task goes on, or there is none: all signals agree, and at most words are sent. */
__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t active = s->active, words = words_of(s);
    const uint32_t differ = (npu_score_b(s->busy_o) ^ active) | (npu_score_b(s->task_ready_o) ^ active ^ 1u) |
                            (npu_score_b(s->event_o) ^ (active | waits_of(s) | words << 3));
    const uint32_t event = jobs_of(s) | npu_score_b(s->task_done_o) | npu_score_b(s->result_we_o) |
                           npu_score_b(s->walk[0].start_i) | npu_score_b(s->walk[1].start_i) |
                           (npu_score_b(s->task_valid_i) & npu_score_b(s->task_ready_o));
    if ((differ | event | s->fresh) != 0 || (s->active && s->written == s->bytes)) {
        any_cycle(c, s);
        return;
    }
    take_words(s, words);
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    tb_check_value(c, "done", c->task, !s->active, 1);
}

const tb_check_ops npu_score_alu = {.unit = "alu",
                                    .inputs = (const char *const[]){"npu_regs", "alu_walk", "alu_chan", NULL},
                                    TB_STATE(state, PORTS),
                                    .open = open,
                                    .clear = clear,
                                    .cycle = cycle,
                                    .finish = finish};
