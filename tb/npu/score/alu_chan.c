/*
 * alu_chan.c - one channel of the ALU: chunks become requests, read data become words for alu_math, its results become
 * words for send_buf and write jobs (header of alu_chan.sv). The results are taken from alu_math as they are: its own
 * check compares them.
 */
#include "alu_part.h"

#include <inttypes.h>

#define SLOTS 16u  /* chunks requested and not yet written */
#define SEND 256u  /* words of the ALU in send_buf */
#define SRC 128u   /* words of src_mem */
#define FLIGHT 64u /* words between alu_math and send_buf: more than the unit holds */
#define WORD 16u   /* bytes */
#define LANES 4u
/*
 * Limits of the pace, in cycles: from data to the last write job, overhead of a chunk, and from a row of a reduction to
 * the next.
 */
#define START 30u
#define CHUNK 4u
#define ROW 12u

enum { NEED_P = 1, NEED_Q = 2, NEED_B = 4 }; /* in the order of the requests, A comes last */

/* A chunk from its first request to its write job. */
typedef struct slot {
    uint32_t need; /* data before A */
    uint32_t count, words, out_words;
    uint32_t o_addr, cost; /* cost: see below */
    bool first, last, job;
} slot;

/* A word between alu_math and send_buf. */
typedef struct result {
    uint32_t lanes; /* that exist */
    uint32_t y[LANES];
} result;

#define MATH_PORTS                                                                                                     \
    op_i, p_vec_i, q_vec_i, red_q_i, act_i, act_p_i[4], valid_i, x_i, p_i, q_i, lanes_i, first_i, last_i, vec_i,       \
        word_ok_o, last_ok_o, valid_o, y_o
#define PORTS                                                                                                          \
    task_i, chunk_valid_i, chunk_ready_o, chunk_a_i, chunk_b_i, chunk_o_i, chunk_p_i, chunk_q_i, chunk_count_i,        \
        chunk_plane_i, chunk_first_i, chunk_last_i, idle_o, result_o, rd_req_valid_o, rd_req_ready_i, rd_req_addr_o,   \
        rd_req_bytes_o, rd_valid_i, rd_ready_o, rd_data_i, wr_req_valid_o, wr_req_ready_i, wr_req_addr_o,              \
        wr_req_bytes_o, wr_valid_o, wr_ready_i, wr_data_o, wr_level_i, ev_data_o, ev_room_o, ev_word_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    TB_SIGNALS(math, MATH_PORTS); /* alu_math inside */
    const tb_check *alu;
    bool loaded; /* the task is known */
    cm_alu_task now;
    bool reduce, vec;
    bool fixed_p, fixed_q; /* p and q are operands of alu_math, and no vectors, */
    bool plane_p, plane_q; /* but read for each plane */
    uint32_t sent;         /* of the chunk on offer: requests that have been accepted */
    bool reserved;         /* it has a slot */
    bool offered;          /* `offer` is the chunk on offer, while it has none */
    slot offer;
    slot slot[SLOTS];
    uint64_t asked, data, jobs; /* chunks: with a slot, with all data, finished */
    uint32_t got, in_word;      /* of the chunk that receives data: operands received before A, word of B or A */
    uint32_t p, q;              /* of the plane */
    uint32_t src[SRC][LANES];   /* B */
    uint64_t src_asked, src_in, src_out; /* words of B: requested, received, used */
    bool vec_due;                        /* alu_math gets a word of B in this cycle: the one before src_out */
    uint32_t entered[FLIGHT];            /* lanes of the words in alu_math that produce results */
    uint64_t entered_in, entered_out;    /* also the numbers of results */
    result ring[FLIGHT];
    bool half;                     /* DUP: the first word of a pair was sent */
    uint64_t left;                 /* results sent */
    uint64_t owed, words, claimed; /* words for send_buf: reserved, sent, in write jobs */
    uint32_t last_word;            /* low 32 bits of the last one */
    bool result_due;
    uint32_t silent;            /* cycles without a request although there is space */
    uint64_t requests, answers; /* reads: requested, and complete */
    /* pace: cycles not caused by other units or by its work, in thirds; since its last data were accepted */
    uint32_t lag, drain;
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    return npu_score_alu_bind(c, "alu_math", 0, TB_PORTS_OF(s->math, MATH_PORTS), err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->loaded = s->reserved = s->offered = s->vec_due = s->half = s->result_due = false;
    s->sent = s->got = s->in_word = 0;
    s->asked = s->data = s->jobs = 0;
    s->src_asked = s->src_in = s->src_out = 0;
    s->entered_in = s->entered_out = s->left = 0;
    s->owed = s->words = s->claimed = 0;
    s->requests = s->answers = 0;
    s->lag = s->drain = s->silent = 0;
}

__attribute__((noinline)) static void load_task(tb_check *c, state *s) {
    s->alu = s->alu != NULL ? s->alu : npu_score_alu_whole(c);
    c->task = s->alu->task;
    npu_score_task task;
    npu_score_task_get(NPU_SCORE_ALU, s->task_i, &task);
    s->now = task.alu;
    s->reduce = npu_score_alu_reduces(task.alu.op);
    const bool p = npu_score_alu_uses_p(task.alu.op), q = npu_score_alu_uses_q(task.alu.op);
    s->fixed_p = p && task.alu.p_kind != NPU_ALU_CTRL_P_KIND_VECTOR;
    s->fixed_q = q && task.alu.q_kind != NPU_ALU_CTRL_Q_KIND_VECTOR;
    s->plane_p = p && task.alu.p_kind == NPU_ALU_CTRL_P_KIND_PLANE;
    s->plane_q = q && task.alu.q_kind == NPU_ALU_CTRL_Q_KIND_PLANE;
    s->vec = (p && !s->fixed_p) || (q && !s->fixed_q);
    s->loaded = true;
}

/* ---- requests ---- */

/*
 * Thirds of a cycle allowed for a chunk: for its words, with a margin of a tenth, and for the chunk itself; between two
 * rows of a reduction some more.
 */
static uint32_t cost(const state *s, uint32_t words, bool last) {
    const uint32_t word = s->vec && s->now.dup ? 8 : s->vec || s->now.dup ? 6 : 3;
    return words * word * 11 / 10 + 3 * (s->reduce && last ? ROW : CHUNK);
}

/* The next chunk to be requested. */
static slot chunk_of(const state *s) {
    const uint32_t count = npu_score_h(s->chunk_count_i);
    const uint32_t words = (count + LANES - 1) / LANES;
    const bool last = npu_score_b(s->chunk_last_i) != 0;
    const uint32_t need = (s->plane_p && npu_score_b(s->chunk_plane_i) != 0 ? (uint32_t)NEED_P : 0) |
                          (s->plane_q && npu_score_b(s->chunk_plane_i) != 0 ? (uint32_t)NEED_Q : 0) |
                          (s->vec ? (uint32_t)NEED_B : 0);
    return (slot){.need = need,
                  .count = count,
                  .words = words,
                  .out_words = s->reduce    ? last
                               : s->now.dup ? (count + 1) / 2
                                            : words,
                  .o_addr = npu_score_w(s->chunk_o_i),
                  .cost = cost(s, words, last),
                  .first = npu_score_b(s->chunk_first_i) != 0,
                  .last = last,
                  .job = !s->reduce || last};
}

/* Why the chunk on offer has to wait; NULL: there is space for it. */
static const char *no_room(const state *s, const slot *t) {
    return npu_score_h(s->wr_level_i) + (s->owed - s->words) + t->out_words > SEND ? "256 words in send_buf at most"
           : s->vec && s->src_asked - s->src_out + t->words > SRC                  ? "128 words in src_mem at most"
           : s->asked - s->jobs >= SLOTS                                           ? "16 chunks at most"
                                                                                   : NULL;
}

static void reserve(tb_check *c, state *s) {
    const slot t = chunk_of(s);
    const char *full = no_room(s, &t);
    if (full != NULL) {
        tb_check_fail(c, "request without room", s->requests, NULL, "a request", full);
        return;
    }
    s->slot[s->asked++ % SLOTS] = t;
    s->owed += t.out_words;
    s->src_asked += s->vec ? t.words : 0;
    s->reserved = true;
}

__attribute__((noinline)) static void look_at_offer(state *s) {
    s->offer = chunk_of(s);
    s->offered = true;
}

/* A cycle without a request. */
static inline void wait_for_request(tb_check *c, state *s, bool has_chunk) {
    if (!has_chunk) {
        s->silent = 0;
        s->offered = false;
        return;
    }
    if (!s->reserved && !s->offered) {
        look_at_offer(s);
    }
    /* slots of chunks without a job are freed one after the other */
    s->silent = s->reserved || no_room(s, &s->offer) == NULL ? s->silent + 1 : 0;
    if (s->silent > SLOTS) {
        tb_check_fail(c, "request", s->requests, NULL, "none", "one: there is a chunk, and space for it");
    }
}

/* A request waits, or is accepted. */
__attribute__((noinline)) static void take_request(tb_check *c, state *s) {
    const bool fresh = !s->reserved;
    s->silent = 0;
    if (fresh) {
        s->offered = false;
        reserve(c, s);
    }
    const bool taken = npu_score_b(s->rd_req_ready_i) != 0;
    const slot *t = &s->slot[(s->asked - 1) % SLOTS];
    const uint32_t need = t->need & ~s->sent;
    const uint32_t part = (need & NEED_P) != 0   ? (uint32_t)NEED_P
                          : (need & NEED_Q) != 0 ? (uint32_t)NEED_Q
                                                 : need & NEED_B;
    if (fresh || taken) {
        const tb_sig addr = part == NEED_P   ? s->chunk_p_i
                            : part == NEED_Q ? s->chunk_q_i
                            : part == NEED_B ? s->chunk_b_i
                                             : s->chunk_a_i;
        tb_check_value(c, "request address", s->requests, npu_score_w(s->rd_req_addr_o), npu_score_w(addr));
        tb_check_value(c, "request bytes", s->requests, npu_score_w(s->rd_req_bytes_o),
                       part == NEED_P || part == NEED_Q ? 4 : 4 * t->count);
    }
    tb_check_value(c, "chunk taken", s->asked - 1, npu_score_b(s->chunk_ready_o), taken && part == 0);
    if (taken) {
        s->requests++;
        s->sent = part == 0 ? 0 : s->sent | part;
        s->reserved = part != 0;
    }
}

static inline void follow_requests(tb_check *c, state *s, bool has_chunk, bool asks) {
    if (has_chunk && !s->loaded) {
        load_task(c, s);
    }
    if (asks && has_chunk) {
        take_request(c, s);
        return;
    }
    if (asks || (has_chunk && npu_score_b(s->chunk_ready_o) != 0)) {
        tb_check_value(c, "request", s->requests, asks, 0);
        tb_check_value(c, "chunk taken", s->asked, has_chunk && npu_score_b(s->chunk_ready_o) != 0, 0);
    }
    wait_for_request(c, s, has_chunk);
}

/* ---- write jobs ---- */

/* Chunks in the middle of a reduced row have no job; they are finished when their data have arrived. */
static void skip_jobless(state *s) {
    while (s->jobs < s->data && !s->slot[s->jobs % SLOTS].job) {
        s->jobs++;
    }
}

/* A write job waits, or is accepted. */
__attribute__((noinline)) static void follow_job(tb_check *c, state *s) {
    const slot *t = &s->slot[s->jobs % SLOTS];
    if (s->jobs == s->asked || !t->job || s->words - s->claimed < t->out_words) {
        tb_check_failf(c, "write job", s->jobs, "a job, %" PRIu64 " words sent without one|all its words sent before",
                       s->words - s->claimed);
        return;
    }
    const uint32_t bytes = s->reduce ? 4 : s->now.dup ? 8 * t->count : 4 * t->count;
    tb_check_value(c, "write address", s->jobs, npu_score_w(s->wr_req_addr_o), t->o_addr);
    tb_check_value(c, "write bytes", s->jobs, npu_score_w(s->wr_req_bytes_o), bytes);
    if (npu_score_b(s->wr_req_ready_i) != 0) {
        s->claimed += t->out_words;
        s->jobs++;
        skip_jobless(s);
    }
}

/* ---- words of results ---- */

/* The word to be sent, and its number of lanes. */
static uint32_t next_word(const state *s, const result *r, uint32_t word[LANES]) {
    if (!s->now.dup) {
        memcpy(word, r->y, WORD);
        return r->lanes;
    }
    const uint32_t at = s->half ? 2 : 0;
    for (uint32_t i = 0; i < LANES; i++) {
        word[i] = r->y[at + i / 2];
    }
    return r->lanes - at >= 2 ? LANES : 2 * (r->lanes - at);
}

/* Words in these lanes; a wrong one is "BEFORE number AFTER". */
static inline void compare_bits(tb_check *c, const char *stream, uint64_t number, const char *before, const char *after,
                                const void *got, const void *expected, uint32_t lanes) {
    if (lanes == LANES && memcmp(got, expected, WORD) == 0) {
        return;
    }
    for (uint32_t l = 0; l < lanes; l++) {
        const uint32_t g = ((const uint32_t *)got)[l], e = ((const uint32_t *)expected)[l];
        if (g != e) {
            tb_check_failf(c, stream, number, "%s %" PRIu32 "%s|0x%08" PRIx32 "|0x%08" PRIx32, before, l, after, g, e);
            return;
        }
    }
}

/* A word waits, or is sent. */
static void follow_word(tb_check *c, state *s, bool sent) {
    if (s->left == s->entered_out) {
        tb_check_fail(c, "word", s->words, NULL, "a word", "none: alu_math has not output it yet");
        return;
    }
    if (!sent) {
        return;
    }
    const result *r = &s->ring[s->left % FLIGHT];
    const uint32_t *got = (const uint32_t *)s->wr_data_o.ptr;
    uint32_t word[LANES];
    const uint32_t lanes = next_word(s, r, word);
    compare_bits(c, "word", s->words, "element", " of the word", got, word, lanes);
    s->last_word = got[0];
    s->result_due = s->reduce;
    s->words++;
    s->half = s->now.dup && !s->half && r->lanes > 2;
    s->left += !s->half;
    if (s->words > s->owed) {
        tb_check_fail(c, "word", s->words, NULL, "a word", "none: no chunk has reserved space for it");
    }
}

static void take_result(tb_check *c, state *s) {
    if (s->entered_in == s->entered_out) {
        tb_check_fail(c, "result", s->entered_out, NULL, "a result of alu_math", "none: no word is in flight");
        return;
    }
    result *r = &s->ring[s->entered_out % FLIGHT];
    r->lanes = s->entered[s->entered_out % FLIGHT];
    memcpy(r->y, s->math.y_o.ptr, WORD);
    s->entered_out++;
}

/* ---- data ---- */

/* Settings that must not change while words are in alu_math. */
static void compare_settings(tb_check *c, const state *s) {
    const cm_alu_task *t = &s->now;
    const bool p = npu_score_alu_uses_p(t->op), q = npu_score_alu_uses_q(t->op);
    tb_check_value(c, "operation", s->data, npu_score_b(s->math.op_i), t->op);
    tb_check_value(c, "p is a vector", s->data, npu_score_b(s->math.p_vec_i),
                   p && t->p_kind == NPU_ALU_CTRL_P_KIND_VECTOR);
    tb_check_value(c, "q is a vector", s->data, npu_score_b(s->math.q_vec_i),
                   q && t->q_kind == NPU_ALU_CTRL_Q_KIND_VECTOR);
    tb_check_value(c, "activation", s->data, npu_score_b(s->math.act_i), t->act);
    for (uint32_t i = 0; i < 4; i++) {
        tb_check_value(c, "activation parameter", i, npu_score_w(s->math.act_p_i[i]), t->act_p[i]);
    }
    if (s->reduce) {
        tb_check_value(c, "factor", s->data, npu_score_w(s->math.red_q_i), t->q);
    }
}

static void compare_operands(tb_check *c, const state *s, const slot *t, bool end, uint32_t lanes) {
    const cm_alu_task *k = &s->now;
    compare_bits(c, "x", s->in_word, "lane", "", s->math.x_i.ptr, s->rd_data_i.ptr, lanes);
    tb_check_value(c, "lanes", s->in_word, npu_score_b(s->math.lanes_i), (1u << lanes) - 1);
    if (s->fixed_p) {
        tb_check_value(c, "p", s->in_word, npu_score_w(s->math.p_i), s->plane_p ? s->p : k->p);
    }
    if (s->fixed_q) {
        tb_check_value(c, "q", s->in_word, npu_score_w(s->math.q_i), s->plane_q ? s->q : k->q);
    }
    if (s->reduce) {
        tb_check_value(c, "first of row", s->in_word, npu_score_b(s->math.first_i), t->first && s->in_word == 0);
        tb_check_value(c, "last of row", s->in_word, npu_score_b(s->math.last_i), t->last && end);
        tb_check_value(
            c, "word taken", s->in_word,
            npu_score_b(s->math.word_ok_o) != 0 && (!(t->last && end) || npu_score_b(s->math.last_ok_o) != 0), 1);
    }
}

/* A word of A, which enters alu_math in this cycle. */
static void take_a(tb_check *c, state *s, const slot *t) {
    const bool end = s->in_word + 1 == t->words;
    const uint32_t lanes = end ? t->count - LANES * s->in_word : LANES;
    if (s->in_word == 0) {
        compare_settings(c, s);
    }
    compare_operands(c, s, t, end, lanes);
    s->vec_due = s->vec;
    s->src_out += s->vec;
    if (!s->reduce || (t->last && end)) {
        if (s->entered_in - s->left >= FLIGHT) {
            tb_check_fail(c, "word taken", s->in_word, NULL, "one more word", "none before results are sent");
            return;
        }
        s->entered[s->entered_in++ % FLIGHT] = s->reduce ? 1 : lanes;
    }
    s->in_word++;
    if (end) {
        s->in_word = s->got = 0;
        s->answers++;
        s->lag -= tb_min_u32(s->lag, t->cost);
        s->data++;
        skip_jobless(s);
    }
}

static void take_data(tb_check *c, state *s) {
    const slot *t = &s->slot[s->data % SLOTS];
    if (s->data == s->asked) {
        tb_check_fail(c, "data", s->data, NULL, "data taken", "none: there was no request");
        return;
    }
    const uint32_t due = t->need & ~s->got;
    tb_check_value(c, "word for alu_math", s->in_word, npu_score_b(s->math.valid_i), due == 0);
    if (due == 0) {
        take_a(c, s, t);
    } else if ((due & NEED_P) != 0) {
        memcpy(&s->p, s->rd_data_i.ptr, sizeof s->p);
        s->got |= NEED_P;
        s->answers++;
    } else if ((due & NEED_Q) != 0) {
        memcpy(&s->q, s->rd_data_i.ptr, sizeof s->q);
        s->got |= NEED_Q;
        s->answers++;
    } else {
        memcpy(s->src[s->src_in++ % SRC], s->rd_data_i.ptr, WORD);
        if (++s->in_word == t->words) {
            s->in_word = 0;
            s->got |= NEED_B;
            s->answers++;
        }
    }
}

/* ---- events and pace ---- */

/* What the channel does in this cycle, and what keeps it from doing more. */
typedef struct wires {
    uint32_t chunk, asks, comes, sends, jobs; /* valid: chunk, request, data, word, write job */
    uint32_t stuck, pending;                  /* a word is not accepted; requested data have not arrived */
} wires;

static inline wires look(const state *s) {
    wires w = {.chunk = npu_score_b(s->chunk_valid_i),
               .asks = npu_score_b(s->rd_req_valid_o),
               .comes = npu_score_b(s->rd_valid_i),
               .sends = npu_score_b(s->wr_valid_o),
               .jobs = npu_score_b(s->wr_req_valid_o),
               .pending = s->requests != s->answers};
    w.stuck = w.sends & ~npu_score_b(s->wr_ready_i);
    return w;
}

/* Waits for operands: certainly while requested data have not arrived. Waits for space: a chunk that is not requested,
 * or a word that send_buf does not accept. */
static inline void check_events(tb_check *c, const state *s, const wires *w) {
    const uint32_t data = npu_score_b(s->ev_data_o), room = npu_score_b(s->ev_room_o);
    const uint32_t wrong_data = data != 0 ? w->comes | ((w->pending | w->asks) ^ 1u) : w->pending & ~w->comes;
    const uint32_t waits = w->stuck | (w->chunk & ~w->asks), sent = w->sends & ~w->stuck;
    if ((wrong_data | (room ^ waits)) != 0) {
        tb_check_value(c, "event data", s->answers, data, data ^ wrong_data);
        tb_check_value(c, "event room", s->words, room, waits);
    }
    if (npu_score_b(s->ev_word_o) != sent) {
        tb_check_value(c, "event word", s->words, npu_score_b(s->ev_word_o), sent);
    }
}

/* The number of cycles in which no other unit stalls the channel is limited: see cost(). */
static inline void check_pace(tb_check *c, state *s, const wires *w) {
    const uint32_t held_up = (w->pending & ~w->comes) | (w->chunk & ~w->asks & ~w->pending) |
                             (w->asks & ~npu_score_b(s->rd_req_ready_i)) | w->stuck |
                             (w->jobs & ~npu_score_b(s->wr_req_ready_i));
    if ((w->chunk | w->pending) == 0) { /* the last results are sent */
        s->lag = 0;
        s->drain = s->jobs == s->asked ? 0 : s->drain + ((held_up | w->sends | w->jobs) == 0);
    } else {
        s->lag += held_up != 0 ? 0 : 3;
        s->drain = 0;
    }
    const uint32_t took = s->drain > 0 ? 3 * s->drain : s->lag;
    if (took > 3 * START) {
        const uint32_t most = 3 * START + s->slot[s->data % SLOTS].cost;
        if (took > most) {
            tb_check_failf(c, "pace", s->data, "%" PRIu32 " cycles for it|%" PRIu32 " at most", took / 3, most / 3);
        }
    }
}

/* ---- */

static void follow_end(tb_check *c, state *s) {
    if (s->result_due) {
        tb_check_value(c, "result of the row", s->words, npu_score_w(s->result_o), s->last_word);
        s->result_due = false;
    }
    if (npu_score_b(s->idle_o) != 0) {
        tb_check_value(c, "idle", s->jobs,
                       npu_score_b(s->chunk_valid_i) == 0 && s->jobs == s->asked && s->words == s->owed, 1);
        s->loaded = false;
    }
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const wires w = look(s);
    follow_end(c, s);
    check_events(c, s, &w);
    check_pace(c, s, &w);
    follow_requests(c, s, w.chunk != 0, w.asks != 0);
    if (w.jobs != 0) {
        follow_job(c, s);
    }
    if (w.sends != 0) {
        follow_word(c, s, w.stuck == 0);
    }
    if (s->vec_due) {
        compare_bits(c, "vector operand", s->src_out - 1, "lane", "", s->math.vec_i.ptr, s->src[(s->src_out - 1) % SRC],
                     LANES);
        s->vec_due = false;
    }
    if ((w.comes & npu_score_b(s->rd_ready_o)) != 0) {
        take_data(c, s);
    } else if (npu_score_b(s->math.valid_i) != 0) {
        tb_check_value(c, "word for alu_math", s->in_word, 1, 0);
    }
    if (npu_score_b(s->math.valid_o) != 0) {
        take_result(c, s);
    }
}

const tb_check_ops npu_score_alu_chan = {.unit = "alu_chan",
                                         .inputs = (const char *const[]){"alu_walk", "dma_rd", NULL},
                                         TB_STATE(state, PORTS),
                                         .open = open,
                                         .clear = clear,
                                         .cycle = cycle};
