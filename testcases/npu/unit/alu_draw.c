/* alu_draw.c - tasks of the ALU over the whole legal space. */
#include "alu_draw.h"

#include <string.h>

#include "npu_regs.h"

#define MOST 24000u /* elements of a task */
#define OPS NPU_ALU_CTRL_OP_COUNT

static bool reduces(const cm_alu_task *t) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_REDUCE, t->op);
}

static bool uses_p(const cm_alu_task *t) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_P, t->op);
}

static bool uses_q(const cm_alu_task *t) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_Q, t->op);
}

static bool has_vector(const cm_alu_task *t) {
    return (uses_p(t) && t->p_kind == 1) || (uses_q(t) && t->q_kind == 1);
}

uint32_t alu_draw_value(alu_draw *b) {
    static const uint32_t few[8] = {0,           0x80000000u, 0x3f800000u, 0xbf800000u,
                                    0x40000000u, 0x7fc00001u, 0x7f800000u, 0x00000001u};
    const float f = tb_rng_f32_range(&b->rng_data, -9.0f, 9.0f);
    const uint32_t hard = tb_rng_f32_hard(&b->rng_data);
    uint32_t mild;
    memcpy(&mild, &f, 4);
    switch (b->values) {
    case 0:
        return mild;
    case 1:
        return hard;
    case 2:
        return few[hard >> 3 & 7u];
    default:
        return tb_rng_chance(&b->rng_data, 1, 100) ? hard : mild;
    }
}

static uint32_t small_gap(alu_draw *b, uint32_t most_words) {
    return 4 * (uint32_t)tb_rng_range(&b->rng, 0, most_words);
}

/*
 * A place for rows of `bytes` bytes: contiguous rows of a plane, or planes interleaved in rows, steps of either sign.
 * shared: rows or planes may coincide. Addresses are often not multiples of 16.
 */
static void place(alu_draw *b, const cm_alu_task *t, uint32_t bytes, bool shared, uint32_t *addr, uint32_t *rstep,
                  uint32_t *pstep) {
    const uint32_t gap = tb_rng_chance(&b->rng, 1, 2) ? 0 : small_gap(b, 9);
    const bool planes_inside = tb_rng_chance(&b->rng, 1, 4);
    const bool same_row = shared && tb_rng_chance(&b->rng, 1, 5);
    const bool same_plane = shared && tb_rng_chance(&b->rng, 1, 5);
    const uint32_t rows = same_row ? 1 : t->rows, planes = same_plane ? 1 : t->planes;
    uint32_t r, p;
    if (planes_inside) {
        p = bytes + gap;
        r = p * planes + small_gap(b, 2);
    } else {
        r = bytes + gap;
        p = r * rows + small_gap(b, 2);
    }
    const uint32_t lead = small_gap(b, 40);
    const uint32_t lo = b->used + lead;
    const uint32_t span = (rows - 1) * r + (planes - 1) * p + bytes;
    const bool up_rows = tb_rng_chance(&b->rng, 4, 5), up_planes = tb_rng_chance(&b->rng, 4, 5);
    *addr = ALU_DRAW_BASE + lo + (up_rows ? 0 : (rows - 1) * r) + (up_planes ? 0 : (planes - 1) * p);
    *rstep = same_row ? 0 : up_rows ? r : 0u - r;
    *pstep = same_plane ? 0 : up_planes ? p : 0u - p;
    b->used = lo + span;
}

static void place_array(alu_draw *b, const cm_alu_task *t, uint32_t *addr) {
    const uint32_t lo = b->used + small_gap(b, 40);
    *addr = ALU_DRAW_BASE + lo;
    b->used = lo + 4 * t->planes;
}

static void draw_shape(alu_draw *b, cm_alu_task *t) {
    if (b->long_rows) {
        t->planes = 1;
        t->rows = reduces(t) ? 4 : 1;
        const bool most = tb_rng_chance(&b->rng, 1, 4);
        t->count = (uint32_t)tb_rng_range(&b->rng, most ? 16384 : 8000, 16384) / t->rows;
        return;
    }
    t->count = (uint32_t)tb_rng_small(&b->rng, 1, b->count);
    const uint64_t rows = MOST / t->count < b->rows ? MOST / t->count : b->rows;
    t->rows = (uint32_t)tb_rng_small(&b->rng, 1, rows);
    const uint64_t planes = MOST / (t->count * t->rows);
    t->planes = (uint32_t)tb_rng_small(&b->rng, 1, planes < b->planes ? planes : b->planes);
}

/* Operands that the operation does not use are outside memory. */
static void draw_places(alu_draw *b, cm_alu_task *t) {
    const uint32_t bytes = 4 * t->count;
    const bool in_place = !t->dup && tb_rng_chance(&b->rng, 1, 3);
    const bool onto_b = has_vector(t) && in_place && tb_rng_chance(&b->rng, 1, 2);
    b->used = 0;
    place(b, t, bytes, !in_place || onto_b, &t->a_addr, &t->a_rstep, &t->a_pstep);
    if (has_vector(t)) {
        place(b, t, bytes, !onto_b, &t->b_addr, &t->b_rstep, &t->b_pstep);
    }
    if (uses_p(t) && t->p_kind == 2) {
        place_array(b, t, &t->p_addr);
    }
    if (uses_q(t) && t->q_kind == 2) {
        place_array(b, t, &t->q_addr);
    }
    if (in_place) {
        t->o_addr = onto_b ? t->b_addr : t->a_addr;
        t->o_rstep = onto_b ? t->b_rstep : t->a_rstep;
        t->o_pstep = onto_b ? t->b_pstep : t->a_pstep;
    } else {
        place(b, t, reduces(t) ? 4 : t->dup ? 2 * bytes : bytes, false, &t->o_addr, &t->o_rstep, &t->o_pstep);
    }
}

void alu_draw_task(alu_draw *b, cm_alu_task *t) {
    const uint32_t bits = tb_rng_u32(&b->rng);
    *t = (cm_alu_task){.b_addr = 16, .p_addr = 32, .q_addr = 48, .b_rstep = bits & ~3u, .b_pstep = bits << 2};
    const uint32_t op = b->op;
    const uint32_t any = (uint32_t)tb_rng_range(&b->rng, 0, OPS + 4);
    t->op = op < OPS ? op : any < OPS ? any : any < OPS + 3 ? NPU_ALU_CTRL_OP_DOT : NPU_ALU_CTRL_OP_RMAX;
    t->p_kind = (uint32_t)tb_rng_range(&b->rng, 0, 2);
    t->q_kind = reduces(t) ? 0 : (uint32_t)tb_rng_range(&b->rng, 0, 2);
    if (t->p_kind == 1 && t->q_kind == 1) {
        t->q_kind = (bits & 1u) ? 2 : 0;
    }
    t->dup = !reduces(t) && (bits & 0x30u) == 0;
    t->act =
        t->op == NPU_ALU_CTRL_OP_ADD_I32 || (bits & 0x40u) ? 0 : (uint32_t)tb_rng_range(&b->rng, 0, CM_ACT_COUNT - 1);
    t->func = t->op == NPU_ALU_CTRL_OP_ADD_I32 || t->act != 0 || (bits & 0x80u) != 0
                  ? 0
                  : (uint32_t)tb_rng_range(&b->rng, 0, NPU_ALU_ACT_FUNC_COUNT - 1);
    t->p = alu_draw_value(b);
    t->q = alu_draw_value(b);
    for (uint32_t i = 0; i < 4; i++) {
        t->act_p[i] = alu_draw_value(b);
    }
    draw_shape(b, t);
    draw_places(b, t);
}
