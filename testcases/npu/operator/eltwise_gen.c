/* eltwise_gen.c - generator of the eltwise test. */
#include "eltwise.h"

#include <stdio.h>

/* The settings of a named operator. */
static void draw_named(const tc_gen *g) {
    switch ((eltwise_named)gen_get(g, "named")) {
    case NAMED_THRESHOLD:
        gen_put(g, "op", NPU_ALU_GT);
        gen_put(g, "p_kind", NPU_SCALAR);
        gen_put(g, "act", NPU_ACT_NONE);
        break;
    case NAMED_CLIP:
        gen_put(g, "op", NPU_ALU_COPY);
        gen_put(g, "act", NPU_ACT_CLIP);
        break;
    case NAMED_SCALE_BIAS:
        gen_put(g, "op", NPU_ALU_MULADD);
        gen_put(g, "p_kind", NPU_CHANNEL);
        gen_put(g, "q_kind", NPU_CHANNEL);
        break;
    case NAMED_DROPOUT:
        gen_put(g, "op", NPU_ALU_MUL);
        gen_put(g, "p_kind", NPU_SCALAR);
        gen_put(g, "act", NPU_ACT_NONE);
        break;
    case NAMED_MEAN_NORM:
        gen_put(g, "op", NPU_ALU_ADDMUL);
        gen_put(g, "p_kind", NPU_CHANNEL);
        gen_put(g, "q_kind", NPU_CHANNEL);
        gen_put(g, "act", NPU_ACT_NONE);
        gen_draw_in(g, "c", 1, 3);
        break;
    case NAMED_RESIDUAL:
        gen_put(g, "op", NPU_ALU_ADD);
        gen_put(g, "p_kind", NPU_VECTOR);
        break;
    case NAMED_PRELU: /* a slope for each channel */
        gen_put(g, "op", eltwise_knob_of(NPU_ALU_PRELU));
        gen_put(g, "p_kind", NPU_CHANNEL);
        gen_put(g, "act", NPU_ACT_NONE);
        break;
    case NAMED_NONE:
    case NAMED_COUNT:
        break;
    }
}

/* Long rows, single pixels, or maps. */
static void draw_shape(const tc_gen *g) {
    tb_rng rng = tb_rng_stream(g->seed, "eltwise.shape");
    const uint64_t kind = tb_rng_range(&rng, 0, 5);
    gen_size(g, "w", 40);
    gen_size(g, "h", 40);
    gen_size(g, "c", 70);
    if (kind == 0) { /* one row */
        gen_put(g, "h", 1);
        gen_put(g, "c", 1);
        gen_draw_in(g, "w", 1, 20000);
    } else if (kind == 1) { /* single pixels */
        gen_put(g, "h", 1);
        gen_put(g, "w", 1);
        gen_draw_in(g, "c", 1, 2000);
    } else if (kind == 2) { /* channels of whole beats: no gaps between them unless drawn */
        gen_put(g, "w", (gen_get(g, "w") + 3) / 4 * 4);
        gen_put(g, "gap", 0);
    }
}

/* A function takes the place of the activation, now and then unless one of both is given. */
static void draw_func(const tc_gen *g) {
    const bool given = gen_pinned(g, "func");
    if (given ? gen_get(g, "func") == NPU_FUNC_NONE
              : gen_pinned(g, "act") || gen_get(g, "named") != NAMED_NONE || gen_chance(g, "func", 3, 4)) {
        gen_put(g, "func", NPU_FUNC_NONE);
        return;
    }
    gen_put(g, "act", NPU_ACT_NONE);
    if (eltwise_op_of(g->knobs) == NPU_ALU_ADD_I32) { /* sums of integers have neither */
        gen_put(g, gen_pinned(g, "op") ? "func" : "op", 0);
    }
}

void eltwise_generate(const tc_gen *g) {
    static const char *const sizes[] = {"c", "h", "w"};
    gen_start(g);
    draw_shape(g);
    if (gen_pinned(g, "op") || gen_pinned(g, "p_kind") || gen_pinned(g, "q_kind") || gen_pinned(g, "act")) {
        gen_put(g, "named", NAMED_NONE);
    }
    draw_named(g);
    if (gen_pinned(g, "act") && gen_get(g, "act") != NPU_ACT_NONE && eltwise_op_of(g->knobs) == NPU_ALU_ADD_I32) {
        gen_put(g, "op", NPU_ALU_ADD); /* sums of integers have no activation */
    }
    draw_func(g);
    const npu_alu_op op = eltwise_op_of(g->knobs);
    if (op == NPU_ALU_ADD_I32 || (gen_get(g, "named") == NAMED_NONE && gen_chance(g, "act", 1, 3))) {
        gen_put(g, "act", NPU_ACT_NONE);
    }
    if (eltwise_uses_q(op) && gen_get(g, "p_kind") == NPU_VECTOR && gen_get(g, "q_kind") == NPU_VECTOR) {
        gen_put(g, "q_kind", gen_chance(g, "q_kind", 1, 2) ? NPU_SCALAR : NPU_CHANNEL);
        gen_put(g, "p_kind", gen_get(g, "q_kind") == NPU_VECTOR ? NPU_CHANNEL : NPU_VECTOR);
    }
    while (UINT64_C(12) * tc_knob(g->knobs, "w") * tc_knob(g->knobs, "h") * tc_knob(g->knobs, "c") / 32 *
                   gen_slowness(g->knobs) >
               gen_budget(g->n) / 4 &&
           gen_shrink(g, sizes, NULL, 3)) {
    }
}

int eltwise_check(uint32_t n, const tb_knobs *knobs, char *err, size_t err_size) {
    const npu_alu_op op = eltwise_op_of(knobs);
    (void)n;
    if (eltwise_uses_q(op) && tb_knobs_get(knobs, "p_kind") == NPU_VECTOR &&
        tb_knobs_get(knobs, "q_kind") == NPU_VECTOR) {
        return opt_fail(err, err_size, "p_kind and q_kind: expected at most one vector");
    }
    if (op == NPU_ALU_ADD_I32 && tb_knobs_get(knobs, "act") != NPU_ACT_NONE) {
        return opt_fail(err, err_size, "act: expected none where op=add_i32");
    }
    if (tb_knobs_get(knobs, "func") != NPU_FUNC_NONE &&
        (op == NPU_ALU_ADD_I32 || tb_knobs_get(knobs, "act") != NPU_ACT_NONE)) {
        return opt_fail(err, err_size, "func: expected none with an activation, or where op=add_i32");
    }
    if ((uint64_t)tc_knob(knobs, "w") * tc_knob(knobs, "h") * tc_knob(knobs, "c") > TENSOR_MAX_ELEMENTS) {
        return opt_fail(err, err_size, "expected at most %u elements", (unsigned)TENSOR_MAX_ELEMENTS);
    }
    return 0;
}
