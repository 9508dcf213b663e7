/*
 * rows.c - the rows test: softmax, layer norm and RMS norm of rows, in place and not, against their definition.
 */
#include "rows.h"

#include "npu_regs.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const kind_names[NPU_ROWS_KINDS] = {"softmax", "layer_norm", "rms_norm", "softmax_across"};
enum { EPS_PLAIN, EPS_ZERO, EPS_HARD };
static const char *const eps_names[] = {"plain", "zero", "hard"};

static const tb_knob knobs_of_rows[] = {
    {"kind", 0, NPU_ROWS_KINDS - 1, TB_KNOB_ENUM, kind_names, NULL, "what is computed"},
    {"cols", 1, 1000000, TB_KNOB_SMALL, NULL, NULL, "elements of a row"},
    {"rows", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "rows"},
    {"packed", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: rows are contiguous, at any multiple of 4 bytes"},
    {"affine", 0, 2, TB_KNOB_UNIFORM, NULL, NULL, "normalisations: 1: with a gamma, 2: layer norm with a beta, too"},
    {"eps", 0, 2, TB_KNOB_ENUM, eps_names, NULL, "normalisations: what is added before the root"},
    {"in_place", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: the output overwrites the input"},
    TENSOR_KNOBS,
};

typedef struct rows_op {
    tensor_op op;
    npu_rows rows;
    uint32_t *gamma, *beta;
    rows_values values;
} rows_op;

static npu_rows_kind kind_of(const tb_knobs *knobs) {
    return (npu_rows_kind)tb_knobs_get(knobs, "kind");
}

static npu_tensor shape_of(const tb_knobs *knobs) {
    const bool packed = tb_knobs_get(knobs, "packed") != 0;
    const uint32_t rows = tc_knob(knobs, "rows");
    return (npu_tensor){
        .w = tc_knob(knobs, "cols"), .h = packed ? rows : 1, .c = packed ? 1 : rows, .layout = NPU_FP32_NCHW};
}

static uint64_t bytes_of(uint32_t n, const tb_knobs *knobs) {
    (void)n;
    const uint64_t row = UINT64_C(4) * tc_knob(knobs, "cols") + 16 * (1 + (uint64_t)tc_knob(knobs, "gap"));
    return (2 * row + 4) * tc_knob(knobs, "rows") + 2 * row;
}

static uint32_t draw_eps(const tb_knobs *knobs, uint64_t seed) {
    tb_rng rng = tb_rng_stream(seed, "rows.eps");
    const uint32_t hard = tb_rng_f32_hard(&rng);
    switch (tb_knobs_get(knobs, "eps")) {
    case EPS_PLAIN:
        return ref_bits(tb_rng_f32_range(&rng, 1e-6f, 1e-2f));
    case EPS_ZERO:
        return 0;
    default:
        return hard;
    }
}

/* gamma or beta. */
static int make_array(tc_run *run, const tensor_place *place, const char *name, uint32_t cols, uint32_t *addr,
                      uint32_t **values) {
    const tensor_data data = (tensor_data)tb_knobs_get(place->knobs, "data");
    tb_rng rng = tb_rng_stream(place->seed, name);
    *values = malloc((size_t)cols * 4);
    if (*values == NULL) {
        return tc_no_memory(run);
    }
    for (uint32_t i = 0; i < cols; i++) {
        (*values)[i] = tensor_value(&rng, NPU_FP32_NCHW, data, i);
    }
    *addr = tensor_put_array(run, place, name, *values, cols);
    return *addr == 0 ? -1 : 0;
}

static int make_buffers(tc_run *run, rows_op *o, const tensor_place *place) {
    const tb_knobs *k = place->knobs;
    const bool norm = o->rows.kind == NPU_ROWS_LAYER_NORM || o->rows.kind == NPU_ROWS_RMS_NORM;
    const uint32_t affine = norm ? tc_knob(k, "affine") : 0;
    const bool beta = affine == 2 && o->rows.kind == NPU_ROWS_LAYER_NORM;
    tb_rng rng = tb_rng_stream(place->seed, "rows.input");
    if (tensor_make(run, place, "input", shape_of(k), o->op.in_place ? NPU_BUF_SCRATCH : NPU_BUF_IN, &o->op.a) != 0 ||
        tensor_make(run, place, "output", shape_of(k), NPU_BUF_OUT, &o->op.out) != 0 ||
        (affine > 0 && make_array(run, place, "gamma", o->rows.cols, &o->rows.gamma_addr, &o->gamma) != 0) ||
        (beta && make_array(run, place, "beta", o->rows.cols, &o->rows.beta_addr, &o->beta) != 0)) {
        return -1;
    }
    tensor_fill(&o->op.a, &rng, (tensor_data)tb_knobs_get(k, "data"));
    o->rows.scratch_bytes = npu_rows_scratch_bytes(&o->rows);
    o->rows.scratch_addr = tensor_alloc(run, "scratch", o->rows.scratch_bytes, 0, NPU_BUF_SCRATCH);
    return o->rows.scratch_addr == 0 ? -1 : 0;
}

static int prepare(tc_run *run, const tb_knobs *knobs, uint64_t seed, tensor_op *op) {
    rows_op *o = (rows_op *)op;
    const tensor_place place = {.knobs = knobs, .seed = seed};
    const bool packed = tb_knobs_get(knobs, "packed") != 0;
    o->op.in_place = tb_knobs_get(knobs, "in_place") != 0;
    o->rows = (npu_rows){.kind = kind_of(knobs),
                         .rows = tc_knob(knobs, "rows"),
                         .cols = tc_knob(knobs, "cols"),
                         .eps = draw_eps(knobs, seed)};
    if (make_buffers(run, o, &place) != 0) {
        return -1;
    }
    const npu_tensor *out = o->op.in_place ? &o->op.a.at : &o->op.out.at;
    o->rows.in_addr = o->op.a.at.addr;
    o->rows.in_step = packed ? 4 * o->rows.cols : o->op.a.at.step;
    o->rows.out_addr = out->addr;
    o->rows.out_step = packed ? 4 * o->rows.cols : out->step;
    if (rows_expect(&o->rows, o->gamma, o->beta, o->op.a.v, &o->values, o->op.out.v) != 0 ||
        tensor_put_again(run, op) != 0) {
        return tc_no_memory(run);
    }
    snprintf(op->what, sizeof op->what, "%s of %u rows of %u, eps 0x%08X%s%s%s%s", kind_names[o->rows.kind],
             o->rows.rows, o->rows.cols, o->rows.eps, o->gamma != NULL ? ", gamma" : "",
             o->beta != NULL ? ", beta" : "", packed ? ", contiguous" : "", o->op.in_place ? ", in place" : "");
    op->bounds =
        (tc_bounds){.op = kind_names[o->rows.kind], .read_bytes = 4 * o->op.a.count, .write_bytes = 4 * o->op.a.count};
    return 0;
}

static npu_status start(const npu *dev, const tensor_op *op, npu_job *job) {
    return npu_job_rows(job, dev, &((const rows_op *)op)->rows);
}

static npu_status run_it(npu *dev, tensor_op *op) {
    return npu_rows_run(dev, &((rows_op *)op)->rows);
}

static void verify(tc_run *run, tensor_op *op) {
    rows_op *o = (rows_op *)op;
    tensor_check_result(run, op, kind_names[o->rows.kind], rows_match, &o->values);
}

static void release(tensor_op *op) {
    rows_op *o = (rows_op *)op;
    free(o->gamma);
    free(o->beta);
    rows_free(&o->values);
}

const tensor_kind rows_kind = {.test = &tc_rows,
                               .size = sizeof(rows_op),
                               .bytes = bytes_of,
                               .prepare = prepare,
                               .again = tensor_put_again,
                               .start = start,
                               .run = run_it,
                               .verify = verify,
                               .release = release};

static int check(uint32_t n, const tb_knobs *knobs, char *err, size_t err_size) {
    (void)n;
    if ((uint64_t)tc_knob(knobs, "cols") * tc_knob(knobs, "rows") > TENSOR_MAX_ELEMENTS) {
        return opt_fail(err, err_size, "expected at most %u elements", (unsigned)TENSOR_MAX_ELEMENTS);
    }
    return 0;
}

/* Many short rows, few long ones, the rows of transformers. */
static void generate(const tc_gen *g) {
    static const char *const sizes[] = {"cols", "rows"};
    gen_start(g);
    gen_size(g, "cols", gen_chance(g, "cols", 1, 6) ? 20000 : 800);
    gen_size(g, "rows", gen_chance(g, "rows", 1, 6) ? 2000 : 64);
    /* about five passes over the rows, of which each costs some cycles */
    if (kind_of(g->knobs) == NPU_ROWS_SOFTMAX_ACROSS) { /* two tasks for each row */
        gen_draw_in(g, "rows", 1, 40);
    }
    while ((UINT64_C(20) * tc_knob(g->knobs, "cols") / 16 + 200) * tc_knob(g->knobs, "rows") * gen_slowness(g->knobs) >
               gen_budget(g->n) / 2 &&
           gen_shrink(g, sizes, NULL, 2)) {
    }
}

const tc_test tc_rows = {.name = "rows",
                         .help = "softmax, layer norm and RMS norm of rows",
                         .is_operator = true,
                         TB_KNOBS_OF(knobs_of_rows),
                         .generate = generate,
                         .check = check,
                         .kind = &rows_kind,
                         .execute = tensor_execute};
