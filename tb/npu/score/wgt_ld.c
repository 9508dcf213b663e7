/*
 * wgt_ld.c - check of the two weight loaders: requested blocks, the words made from the data, and the state of the bank
 * that im2col sees.
 *
 * A loader gets the tasks one by one, and each check models its own bank only: loader b loads every second block
 * (ping-pong: of all blocks, resident: of the task).
 */
#include "score.h"
#include "num.h"

#include <inttypes.h>
#include <stdio.h>

#define PIECE 1024u /* bytes of the longest request */
#define AHEAD 64u   /* beats in flight above which a resident task makes no request after its first block */
#define PATIENCE 4u /* cycles for actions that depend on no other unit */
#define BEAT 16u
#define STREAM 64u /* bytes that are not in words yet: two beats at most */
#define OP_DEPTHWISE 1u
#define OP_CONVERT 2u

#define PORTS                                                                                                          \
    task_valid_i, task_op_i, task_wide_i, task_wgt_res_i, task_wgt_keep_i, task_kw_i, task_kh_i, task_ic_i, task_oc_i, \
        task_wgt_addr_i, task_pop_o, busy_o, req_valid_o, req_ready_i, req_addr_o, req_bytes_o, dat_valid_i,           \
        dat_ready_o, dat_i, we_o, waddr_o, wdata_o, full_o, blocks_o, release_i
typedef struct state {
    TB_PORTS(ports, PORTS);
    /* the task on offer */
    bool on, convert, resident, kept;
    bool mine;                  /* resident: the bank belongs to it */
    uint32_t base, words, step; /* words of a block, bytes from one block to the next */
    /* blocks of the task; the first one of this bank, and the number of blocks of this bank */
    uint32_t ocb, first, total;
    uint32_t ask, ask_byte; /* block of this bank that is being requested, bytes requested of it */
    uint32_t load, word;    /* block whose data are arriving, words of it that have arrived */
    uint32_t beats;         /* requested and not accepted */
    bool waiting;           /* a request was on offer and not accepted */
    uint8_t stream[STREAM];
    uint32_t bytes; /* in it */
    bool seen;      /* the beat on offer is in the stream already, as its words may be output before it is accepted */
    bool done;      /* a block became complete in this cycle */
    bool popped;    /* the task ends in this cycle */
    /* the bank */
    uint32_t sequence;    /* blocks of all ping-pong tasks, modulo 2 */
    bool whole, full;     /* a complete ping-pong block is in the bank; full_o has shown it */
    bool held, kept_held; /* by a resident task; by one that keeps the weights */
    uint32_t blocks;      /* complete blocks of that task */
    uint32_t last_blocks; /* of the resident task that was loaded last */
    uint32_t late, late_full, late_blocks;
    uint64_t requests, written;
} state;

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->on = s->waiting = s->seen = s->done = s->popped = s->whole = s->full = s->held = s->kept_held = false;
    s->bytes = s->beats = s->sequence = s->blocks = s->last_blocks = s->late = s->late_full = s->late_blocks = 0;
    c->task = 0;
}

/* A change of full_o or blocks_o wakes the check; im2col has them of both loaders as one signal each. */
static int open(tb_check *c, char *err, size_t err_size) {
    const state *s = (const state *)c->state;
    const tb_tap *im2col = tb_taps_find(&c->all->taps, "im2col", 0);
    tb_sig full = s->full_o, blocks = s->blocks_o;
    if (im2col != NULL && (tb_tap_sig(im2col, "wgt_full_i", 0, &full, err, err_size) != 0 ||
                           tb_tap_sig(im2col, "wgt_blocks_i", 0, &blocks, err, err_size) != 0)) {
        return -1;
    }
    return tb_check_watch(c, s->task_valid_i, err, err_size) != 0 || tb_check_watch(c, full, err, err_size) != 0 ||
                   tb_check_watch(c, blocks, err, err_size) != 0
               ? -1
               : 0;
}

/* A new task on offer: its blocks of this bank. */
static void begin_task(tb_check *c, state *s) {
    const uint32_t n = npu_score_n(c), op = (uint32_t)tb_get(s->task_op_i),
                   taps = (uint32_t)tb_get(s->task_kw_i) * (uint32_t)tb_get(s->task_kh_i);
    s->on = true;
    s->convert = op == OP_CONVERT;
    s->resident = !s->convert && tb_get(s->task_wgt_res_i) != 0;
    s->kept = s->resident && tb_get(s->task_wgt_keep_i) != 0;
    s->words = (op == OP_DEPTHWISE ? taps : taps * (tb_div_up((uint32_t)tb_get(s->task_ic_i), n)) * n)
               << tb_get(s->task_wide_i);
    s->step = (s->words * n + BEAT - 1) / BEAT * BEAT;
    s->base = (uint32_t)tb_get(s->task_wgt_addr_i);
    s->ocb = s->convert ? 0 : tb_div_up((uint32_t)tb_get(s->task_oc_i), n);
    s->first = s->resident ? c->index : (s->sequence + c->index) & 1u;
    s->total = s->kept || s->ocb <= s->first ? 0 : (s->ocb - s->first + 1) / 2;
    s->ask = s->ask_byte = s->load = s->word = s->beats = s->bytes = 0;
    s->waiting = s->seen = s->mine = false;
}

static bool bank_free(const state *s) {
    return !s->whole && !s->held;
}

/* May the loader work on a block? A resident task must have the bank already. */
static bool may_load(const state *s) {
    return s->on && (s->resident ? s->mine : bank_free(s));
}

static void fail_at(tb_check *c, const state *s, const char *stream, uint64_t number, uint32_t block, const char *what,
                    uint32_t at, uint64_t got, uint64_t expected) {
    tb_check_failf(c, stream, number, "block %" PRIu32 " of the task, %s %" PRIu32 "|0x%" PRIx64 "|0x%" PRIx64,
                   s->first + 2 * block, what, at, got, expected);
}

static void see_request(tb_check *c, state *s) {
    const uint32_t size = s->words * npu_score_n(c);
    const bool may = may_load(s) && s->ask < s->total && (s->resident || s->ask == s->load);
    const uint32_t left = may ? size - s->ask_byte : 0, bytes = (uint32_t)tb_get(s->req_bytes_o);
    if (left == 0) {
        tb_check_fail(c, "request", s->requests, NULL, "a request",
                      s->on ? "none: no block is left, or no space for it" : "none: no task");
        return;
    }
    if (bytes == 0 || bytes > (left < PIECE ? left : PIECE) || (bytes % BEAT != 0 && bytes != left)) {
        fail_at(c, s, "request bytes", s->requests, s->ask, "byte", s->ask_byte, bytes, left < PIECE ? left : PIECE);
    }
    const uint32_t addr = s->base + (s->first + 2 * s->ask) * s->step + s->ask_byte;
    if (tb_get(s->req_addr_o) != addr) {
        fail_at(c, s, "request address", s->requests, s->ask, "byte", s->ask_byte, tb_get(s->req_addr_o), addr);
    }
    if (s->resident && s->ask > 0 && s->beats > AHEAD) {
        fail_at(c, s, "beats in flight", s->requests, s->ask, "byte", s->ask_byte, s->beats, AHEAD);
    }
    s->waiting = *(const uint8_t *)s->req_ready_i.ptr == 0;
    if (!s->waiting) {
        s->requests++;
        s->beats += (bytes + BEAT - 1) / BEAT;
        s->ask_byte += bytes;
        if (s->ask_byte >= size) {
            s->ask_byte = 0;
            s->ask++;
        }
    }
}

static void see_beat(tb_check *c, state *s) {
    if (!s->seen) {
        if (s->beats == 0 || s->bytes + BEAT > STREAM) {
            tb_check_fail(c, "data", s->written, NULL, "data taken",
                          s->beats == 0 ? "none: there was no request" : "none before words are written");
            return;
        }
        memcpy(&s->stream[s->bytes], s->dat_i.ptr, BEAT);
        s->bytes += BEAT;
        s->seen = true;
    }
}

static void see_word(tb_check *c, state *s) {
    const uint32_t n = npu_score_n(c);
    if (!may_load(s) || s->load == s->total || s->bytes < n) {
        tb_check_fail(c, "word", s->written, NULL, "a word",
                      s->bytes < n ? "none: its data have not arrived" : "none: the bank is in use");
        return;
    }
    const uint32_t place = (s->resident ? s->load * s->words : 0) + s->word;
    if (tb_get(s->waddr_o) != place) {
        fail_at(c, s, "word address", s->written, s->load, "word", s->word, tb_get(s->waddr_o), place);
    }
    const uint8_t *got = (const uint8_t *)s->wdata_o.ptr;
    if (memcmp(got, s->stream, n) != 0) {
        uint32_t i = 0;
        while (got[i] == s->stream[i]) {
            i++;
        }
        char what[40];
        snprintf(what, sizeof what, "byte %" PRIu32 " of word", i);
        fail_at(c, s, "word", s->written, s->load, what, s->word, got[i], s->stream[i]);
    }
    if (*(const uint8_t *)s->busy_o.ptr == 0) {
        tb_check_value(c, "busy", s->written, 0, 1);
    }
    s->written++;
    s->bytes -= n;
    memmove(s->stream, &s->stream[n], s->bytes);
    if (++s->word == s->words) { /* the rest of the beat is not used */
        s->bytes = 0;
        s->word = 0;
        s->load++;
        s->done = true;
    }
}

/* full_o and blocks_o against the blocks that were complete up to the last cycle. */
static void see_bank(tb_check *c, state *s) {
    const bool full = *(const uint8_t *)s->full_o.ptr != 0;
    const uint32_t blocks = (uint32_t)tb_get(s->blocks_o);
    if (full != s->full) {
        if (tb_check_value(c, "full", s->written, full, s->whole)) {
            s->full = full;
        }
        s->late_full = 0;
    } else if (s->whole != full && ++s->late_full > PATIENCE) {
        tb_check_value(c, "full late", s->written, full, s->whole);
    }
    if (blocks != s->blocks) {
        if (blocks > s->blocks || s->kept_held || ++s->late_blocks > PATIENCE) {
            tb_check_value(c, "blocks", s->written, blocks, s->blocks);
        }
    } else {
        s->late_blocks = 0;
    }
}

static void see_pop(tb_check *c, state *s, bool release) {
    const bool loaded = s->kept ? bank_free(s) || release : s->load == s->total && (!s->resident || s->mine);
    if (!s->on || !loaded) {
        tb_check_fail(c, "pop", c->task, NULL, "end of the task",
                      !s->on    ? "no pop: no task is on offer"
                      : s->kept ? "no pop: the task before is not released"
                                : "none before its blocks");
        return;
    }
    s->sequence = (s->sequence + (s->resident ? 0 : s->ocb)) & 1u;
    s->popped = true;
}

/* Is a request due, and does that depend on no other unit? */
static bool ask_due(const state *s) {
    const bool limited = s->resident && s->ask > 0 && s->beats > AHEAD;
    return s->ask < s->total && (s->resident || s->ask == s->load) && !limited && may_load(s);
}

static bool pop_due(const state *s) {
    return !s->popped && !s->kept && s->load == s->total && (!s->resident || s->mine);
}

/* Limit of the delay of actions that depend on no other unit; none for kept weights. */
static void see_delay(tb_check *c, state *s, bool release) {
    const bool ask = *(const uint8_t *)s->req_valid_o.ptr == 0 && ask_due(s);
    const bool word = s->bytes >= npu_score_n(c) && *(const uint8_t *)s->we_o.ptr == 0;
    s->late = ask || word || pop_due(s) ? s->late + 1 : 0;
    if (s->late > PATIENCE) {
        tb_check_fail(c,
                      ask    ? "request"
                      : word ? "word"
                             : "pop",
                      c->task, NULL, "nothing for many cycles",
                      ask    ? "a request: there is space"
                      : word ? "a word: its data have arrived"
                             : "end of the task");
    }
    if (s->kept && !s->popped && (bank_free(s) || release)) {
        tb_check_fail(c, "pop", c->task, NULL, "no pop", "end of the task: its weights are in the bank");
    }
}

/* Must something happen without a signal that wakes the check? A request that was not accepted must stay. */
static bool pending(const tb_check *c, const state *s) {
    return s->waiting || s->whole != s->full || npu_score_b(s->full_o) != s->full || tb_get(s->blocks_o) != s->blocks ||
           (s->on && (ask_due(s) || s->bytes >= npu_score_n(c) || pop_due(s) || (s->kept && bank_free(s))));
}

/* The bank at the end of this cycle. */
static void update_bank(tb_check *c, state *s, bool release) {
    if (release) {
        s->whole = s->full = s->held = s->kept_held = false;
        s->blocks = 0;
    }
    /* one that has had the bank does not take it again when it is released in the cycle of its end */
    if (s->on && s->resident && !s->mine && bank_free(s) && (!s->kept || s->popped)) {
        s->held = s->mine = true;
        s->kept_held = s->kept;
        s->last_blocks = s->kept ? s->last_blocks : 0;
        s->blocks = s->last_blocks;
    }
    if (s->done) {
        s->done = false;
        if (s->resident) {
            s->blocks = ++s->last_blocks;
        } else {
            s->whole = true;
        }
    }
    if (s->popped) {
        s->popped = s->on = false;
        c->task++;
    }
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    if (!s->on && *(const uint8_t *)s->task_valid_i.ptr != 0) {
        begin_task(c, s);
    }
    const bool release = *(const uint8_t *)s->release_i.ptr != 0;
    see_bank(c, s);
    const bool beat = *(const uint8_t *)s->dat_valid_i.ptr != 0;
    if (beat) {
        see_beat(c, s);
    }
    if (*(const uint8_t *)s->we_o.ptr != 0) {
        see_word(c, s);
    }
    if (*(const uint8_t *)s->task_pop_o.ptr != 0) {
        see_pop(c, s, release);
    }
    if (s->on) {
        see_delay(c, s, release);
    }
    if (*(const uint8_t *)s->req_valid_o.ptr != 0) {
        see_request(c, s);
    } else if (s->waiting) {
        tb_check_fail(c, "request", s->requests, NULL, "no request", "the one that was not accepted");
    }
    if (beat && *(const uint8_t *)s->dat_ready_o.ptr != 0) {
        s->seen = false;
        s->beats -= s->beats > 0;
    }
    const bool popped = s->popped;
    if (release || s->on) {
        update_bank(c, s, release);
    }
    c->again = popped || pending(c, s); /* after a pop, the next task may be on offer already */
    if (!c->again) {
        s->late = s->late_full = s->late_blocks = 0;
    }
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->on) {
        tb_check_fail(c, "pop", c->task, NULL, "a task that is not finished", "none");
    }
}

const tb_check_ops npu_score_wgt_ld = {.unit = "wgt_ld",
                                       .inputs = (const char *const[]){"gemm_queue", "dma_rd", NULL},
                                       TB_STATE(state, PORTS),
                                       .wake = "req_valid_o, dat_valid_i, we_o, task_pop_o, release_i",
                                       .open = open,
                                       .clear = clear,
                                       .cycle = cycle,
                                       .finish = finish};
