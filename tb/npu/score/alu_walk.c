/*
 * alu_walk.c - the chunks of a task that belong to one channel, in order (docs/npu/npu.md section 3.3, header of
 * alu_walk.sv).
 */
#include "alu_part.h"

#include <inttypes.h>

#define CHANNELS 2u
#define LATE 4u /* cycles to the next chunk, at most: those of the other channel are in between */

#define PORTS                                                                                                          \
    start_i, task_i, done_o, last_mine_o, chunk_valid_o, chunk_ready_i, chunk_a_o, chunk_b_o, chunk_o_o, chunk_p_o,    \
        chunk_q_o, chunk_count_o, chunk_plane_o, chunk_first_o, chunk_last_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    const tb_check *alu;
    npu_score_task now;
    bool load, active; /* the task is on the port from the cycle after the start on; it is being walked through */
    bool left;         /* this channel has chunks left; the next one: */
    bool mine, seen;   /* belongs to this channel; is not the first one of its plane on this channel */
    bool offered;      /* the chunk on offer has been compared */
    bool last_was_mine;
    uint32_t late;           /* cycles without a chunk on offer although there are chunks left */
    uint32_t plane, row, at; /* at: its first element */
    uint64_t chunks;
} state;

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->load = s->active = s->left = s->offered = false;
    s->late = 0;
}

static uint32_t elements(const state *s) {
    const uint32_t rest = s->now.alu.count - s->at;
    return rest < NPU_SCORE_ALU_CHUNK ? rest : NPU_SCORE_ALU_CHUNK;
}

/* Advances by one chunk, and updates its flags. */
static void advance(state *s) {
    const cm_alu_task *t = &s->now.alu;
    const bool row_ends = s->at + elements(s) == t->count;
    s->last_was_mine = s->mine;
    s->seen = s->seen || s->mine;
    if (row_ends || !npu_score_alu_reduces(t->op)) {
        s->mine = !s->mine;
    }
    s->at += elements(s);
    if (!row_ends) {
        return;
    }
    s->at = 0;
    if (++s->row == t->rows) {
        s->row = 0;
        s->seen = false;
        s->left = ++s->plane < t->planes;
    }
}

/* Advances to the next chunk of this channel, if there is one. */
static void find_mine(state *s) {
    s->offered = false;
    while (s->left && !s->mine) {
        if (npu_score_alu_reduces(s->now.alu.op)) { /* with the rest of the row */
            s->at = (s->now.alu.count - 1) / NPU_SCORE_ALU_CHUNK * NPU_SCORE_ALU_CHUNK;
        }
        advance(s);
    }
}

static void load(tb_check *c, state *s) {
    npu_score_task_get(NPU_SCORE_ALU, s->task_i, &s->now);
    s->load = false;
    s->active = s->left = true;
    s->mine = c->index % CHANNELS == 0;
    s->seen = false;
    s->plane = s->row = s->at = 0;
    find_mine(s);
}

/* The chunk on offer. */
static void compare(tb_check *c, const state *s) {
    const cm_alu_task *t = &s->now.alu;
    const uint32_t bytes = 4 * s->at;
    const uint32_t out = npu_score_alu_reduces(t->op) ? 0 : t->dup ? 2 * bytes : bytes;
    const struct {
        const char *name;
        tb_sig sig;
        uint32_t value;
    } ports[] = {{"address of A", s->chunk_a_o, t->a_addr + s->plane * t->a_pstep + s->row * t->a_rstep + bytes},
                 {"address of B", s->chunk_b_o, t->b_addr + s->plane * t->b_pstep + s->row * t->b_rstep + bytes},
                 {"output address", s->chunk_o_o, t->o_addr + s->plane * t->o_pstep + s->row * t->o_rstep + out},
                 {"address of P", s->chunk_p_o, t->p_addr + 4 * s->plane},
                 {"address of Q", s->chunk_q_o, t->q_addr + 4 * s->plane},
                 {"elements", s->chunk_count_o, elements(s)},
                 {"first of plane", s->chunk_plane_o, !s->seen},
                 {"first of row", s->chunk_first_o, s->at == 0},
                 {"last of row", s->chunk_last_o, s->at + elements(s) == t->count}};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        const uint32_t got = (uint32_t)tb_get(ports[i].sig);
        if (got != ports[i].value) {
            tb_check_failf(c, ports[i].name, s->chunks,
                           "plane %" PRIu32 ", row %" PRIu32 ", element %" PRIu32 "|0x%" PRIx32 "|0x%" PRIx32, s->plane,
                           s->row, s->at, got, ports[i].value);
            return;
        }
    }
}

static void take_chunk(tb_check *c, state *s) {
    const bool taken = npu_score_b(s->chunk_ready_i) != 0;
    if (!s->left) {
        tb_check_fail(c, "chunk", s->chunks, NULL, "a chunk", "none: all have been handed out");
        return;
    }
    if (!s->offered || taken) { /* the chunk on offer is used before it is accepted */
        compare(c, s);
        s->offered = true;
    }
    if (taken) {
        s->chunks++;
        advance(s);
        find_mine(s);
    }
}

__attribute__((noinline, hot)) static void any_cycle(tb_check *c, state *s) {
    const bool done = npu_score_b(s->done_o) != 0;
    s->alu = s->alu != NULL ? s->alu : npu_score_alu_whole(c);
    c->task = s->alu->task;
    s->late = s->active && s->left && npu_score_b(s->chunk_valid_o) == 0 ? s->late + 1 : 0;
    if (s->late > LATE) {
        tb_check_fail(c, "chunk", s->chunks, NULL, "none", "the next one of this channel");
    }
    if (npu_score_b(s->chunk_valid_o) != 0) {
        take_chunk(c, s);
    } else if (done && s->active) {
        tb_check_value(c, "chunks left at the end", s->chunks, s->left, 0);
        tb_check_value(c, "last one mine", s->chunks, npu_score_b(s->last_mine_o), s->last_was_mine);
        s->active = false;
    }
    tb_check_value(c, "done", s->chunks, done, done && !s->load && !s->left);
    if (s->load) {
        load(c, s);
    }
    if (npu_score_b(s->start_i) != 0) {
        s->load = true;
    }
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t event = npu_score_b(s->start_i) | npu_score_b(s->done_o) | s->load;
    /* in most cycles the chunk on offer has been compared and is not accepted, or there is none left */
    const bool offers = npu_score_b(s->chunk_valid_o) != 0;
    if (event == 0 && (offers ? s->offered && npu_score_b(s->chunk_ready_i) == 0 : !s->active || !s->left)) {
        s->late = 0;
        return;
    }
    any_cycle(c, s);
    c->again = true;
}

const tb_check_ops npu_score_alu_walk = {.unit = "alu_walk",
                                         .inputs = (const char *const[]){"npu_regs", NULL},
                                         TB_STATE(state, PORTS),
                                         .watch = "start_i, done_o, chunk_valid_o, chunk_ready_i",
                                         .clear = clear,
                                         .cycle = cycle};
