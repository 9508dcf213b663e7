/*
 * op_matmul.c - products of matrices: MatMul of two blobs, and Gemm, whose operands may be constants.
 *
 * As ncnn's plain C++ layers: a sum begins with 0, or for Gemm with C * beta, and has its products in the order of k.
 */
#include <string.h>

#include "gemm_f32.h"
#include "op.h"

/* ---- MatMul: A x B, or A x B transposed; maps are batches ---- */

/* A vector is one row (A) or one column (B) of a matrix. */
typedef struct matmul_form {
    uint32_t m, n, k, k_b;                     /* k_b: that of B, which must be k */
    uint32_t batch[2], batch_a[2], batch_b[2]; /* outer and inner; 1: for each one of the other operand */
    bool b_rows;
} matmul_form;

enum { MATMUL_FLOAT, MATMUL_INT8 = 2, MATMUL_STEPS };

/* Three dimensions are one batch of the inner kind. */
static void matmul_batch(const net_shape *s, uint32_t batch[2]) {
    batch[0] = s->dims == 4 ? s->c : 1;
    batch[1] = s->dims == 4 ? s->d : s->c;
}

static matmul_form matmul_form_of(const net_layer *layer, const net_shape *a, const net_shape *b) {
    bool vector = b->dims == 1;
    matmul_form f = {.m = a->h, .k = a->w};
    matmul_batch(a, f.batch_a);
    matmul_batch(b, f.batch_b);
    for (int i = 0; i < 2; i++) {
        f.batch[i] = f.batch_a[i] > f.batch_b[i] ? f.batch_a[i] : f.batch_b[i];
    }
    f.b_rows = vector || net_layer_int(layer, 0, 0) != 0;
    f.n = f.b_rows ? b->h : b->w; /* a vector has h = 1 */
    f.k_b = f.b_rows ? b->w : b->h;
    return f;
}

static bool matmul_fits(const matmul_form *f) {
    bool fits = f->k == f->k_b;
    for (int i = 0; i < 2; i++) {
        fits = fits && (f->batch_a[i] == f->batch_b[i] || f->batch_a[i] == 1 || f->batch_b[i] == 1);
    }
    return fits;
}

static net_status matmul_shape(net_plan *p) {
    const net_shape *a = net_plan_in(p, 0);
    const net_shape *b = net_plan_in(p, 1);
    matmul_form f = matmul_form_of(p->layer, a, b);
    int32_t term = net_layer_int(p->layer, 8, 0);
    if (term != MATMUL_FLOAT && term != MATMUL_INT8 && term != MATMUL_STEPS) {
        return NET_CANNOT(p, "key 8 is %d, expected 0, 2 or 3", (int)term);
    }
    if (!matmul_fits(&f)) {
        return NET_BAD(p, "inputs of %ux%ux%u and %ux%ux%u (c, h, w): %u and %u products in a sum", a->c, a->h, a->w,
                       b->c, b->h, b->w, f.k, f.k_b);
    }
    p->layer->scratch = net_layer_int(p->layer, 8, 0) != 0
                            ? ((size_t)f.m * f.n + f.m + 1) * sizeof(float) + (size_t)(f.m + f.n) * f.k
                            : (size_t)f.k * GEMM_COLUMNS * sizeof(float);
    /* the dimension of a vector is not in the result */
    bool row = a->dims == 1;
    bool column = b->dims == 1;
    uint32_t dims = a->dims > b->dims ? a->dims : b->dims;
    if (row && column) {
        return net_plan_out(p, 0, (net_shape){1, 1, 1, 1, 1});
    }
    if (row || column) {
        const uint32_t size[NET_MAX_DIMS] = {f.batch[0], f.batch[1], row ? f.n : f.m, 1};
        return net_plan_out(p, 0, net_shape_from(dims - 1, size + 4 - dims));
    }
    const uint32_t size[NET_MAX_DIMS] = {f.batch[0], f.batch[1], f.m, f.n};
    return net_plan_out(p, 0, net_shape_from(dims, size + 4 - dims));
}

/* INT8 (key 8, not of ncnn, which ignores it): 2: scales found here, one for each row of A and one for B, as ncnn's
 * INT8 Gemm has them; 3: both operands are integers of -127..127 already, so that the sums are exact. */
static void matmul_int8(const net_work *work, const matmul_form *f, const float *a, const float *b, float *out) {
    float *sums = work->scratch;
    float *scale = sums + (size_t)f->m * f->n;
    float *of_b = scale + f->m;
    int8_t *qa = (int8_t *)(of_b + 1);
    int8_t *qb = qa + (size_t)f->m * f->k;
    bool steps = net_layer_int(work->layer, 8, 0) == MATMUL_STEPS;
    net_dynamic_quantise(&(net_quantised){a, f->k, f->m, f->k, qa, scale, true, false, steps});
    net_dynamic_quantise(f->b_rows ? &(net_quantised){b, f->k, f->n, f->k, qb, of_b, false, false, steps}
                                   : &(net_quantised){b, f->n, f->k, f->n, qb, of_b, false, true, steps});
    net_work_product(work, &(net_product){f->m, f->n, f->k, qa, qb, sums});
    for (size_t i = 0; i < f->m; i++) {
        float descale = 1.0f / (scale[i] * of_b[0]);
        for (size_t j = 0; j < f->n; j++) {
            out[i * f->n + j] = sums[i * f->n + j] * descale;
        }
    }
}

uint32_t net_matmul_product(const net_graph *graph, const net_layer *layer, net_product *product) {
    matmul_form f = matmul_form_of(layer, &graph->blob[layer->in[0]].shape, &graph->blob[layer->in[1]].shape);
    *product = (net_product){f.m, f.n, f.k, NULL, NULL, NULL};
    return f.batch[0] * f.batch[1];
}

/* Which matrix of an operand belongs to matrix i of the result. */
static size_t matmul_at(const matmul_form *f, const uint32_t batch[2], uint32_t i) {
    uint32_t outer = batch[0] == 1 ? 0 : i / f->batch[1];
    uint32_t inner = batch[1] == 1 ? 0 : i % f->batch[1];
    return (size_t)outer * batch[1] + inner;
}

static void matmul_run(const net_work *work) {
    matmul_form f = matmul_form_of(work->layer, net_work_in(work, 0), net_work_in(work, 1));
    bool int8 = net_layer_int(work->layer, 8, 0) != 0;
    gemm_f32 g = {.m = f.m, .n = f.n, .k = f.k, .a_step = f.k, .b_rows = f.b_rows, .out_step = f.n};
    g.b_step = f.b_rows ? f.k : f.n;
    g.pack = work->scratch;
    for (uint32_t i = 0; i < f.batch[0] * f.batch[1]; i++) {
        g.a = work->in[0] + matmul_at(&f, f.batch_a, i) * f.m * f.k;
        g.b = work->in[1] + matmul_at(&f, f.batch_b, i) * f.k * f.n;
        g.out = work->out[0] + (size_t)i * f.m * f.n;
        if (int8) {
            matmul_int8(work, &f, g.a, g.b, g.out);
        } else {
            gemm_f32_run(&g);
        }
    }
}

static uint64_t matmul_macs(const net_graph *graph, const net_layer *layer) {
    matmul_form f = matmul_form_of(layer, &graph->blob[layer->in[0]].shape, &graph->blob[layer->in[1]].shape);
    return (uint64_t)f.m * f.n * f.k * f.batch[0] * f.batch[1];
}

/* ---- Gemm: alpha * (A x B + beta * C), each a constant of the .bin or an input ---- */

enum { GEMM_NO_C = -1, GEMM_SCALAR, GEMM_PER_ROW, GEMM_PER_ROW_2, GEMM_WHOLE, GEMM_PER_COLUMN };

static void gemm_arrays(const net_layer *layer, net_arrays *a) {
    int64_t m = net_layer_int(layer, 7, 0);
    int64_t n = net_layer_int(layer, 8, 0);
    int64_t k = net_layer_int(layer, 9, 0);
    const int64_t of_c[5] = {1, m, m, m * n, n};
    int32_t kind = net_layer_int(layer, 10, 0);
    if (net_layer_int(layer, 4, 0) == 1) {
        net_arrays_add(a, NET_ROLE_OTHER, true, m * k);
    }
    if (net_layer_int(layer, 5, 0) == 1) {
        net_arrays_add(a, NET_ROLE_WEIGHT, true, k * n);
    }
    if (net_layer_int(layer, 6, 0) == 1 && kind >= GEMM_SCALAR && kind <= GEMM_PER_COLUMN) {
        net_arrays_add(a, NET_ROLE_BIAS, true, of_c[kind]);
    }
    if (net_layer_int(layer, 18, 0) != 0 && net_layer_int(layer, 4, 0) == 1) {
        net_arrays_add(a, NET_ROLE_SCALE, false, m);
    }
    if (net_layer_int(layer, 18, 0) != 0 && net_layer_int(layer, 5, 0) == 1) {
        net_arrays_add(a, NET_ROLE_WEIGHT_SCALE, false, 1);
    }
}

typedef struct gemm_form {
    uint32_t m, n, k, k_b;
    int32_t c;      /* how C is repeated */
    uint32_t in[3]; /* numbers of the inputs of A, B, C; NET_NONE: a constant, or not there */
    bool flip_a, flip_b, flip_out;
} gemm_form;

static uint32_t rows_of(const net_shape *s) {
    return s->dims == 3 ? s->c : s->h;
}

static int32_t c_kind(const net_shape *c, uint32_t m, uint32_t n) {
    int32_t kind = GEMM_NO_C - 1;
    kind = c->dims == 1 && c->w == 1 ? GEMM_SCALAR : kind;
    kind = c->dims == 1 && c->w == m ? GEMM_PER_ROW : kind;
    kind = c->dims == 1 && c->w == n ? GEMM_PER_COLUMN : kind;
    kind = c->dims == 2 && c->w == 1 && c->h == m ? GEMM_PER_ROW_2 : kind;
    kind = c->dims == 2 && c->w == n && c->h == m ? GEMM_WHOLE : kind;
    return c->dims == 2 && c->w == n && c->h == 1 ? GEMM_PER_COLUMN : kind;
}

static gemm_form gemm_form_of(const net_graph *graph, const net_layer *layer) {
    gemm_form f = {.in = {NET_NONE, NET_NONE, NET_NONE}, .c = GEMM_NO_C};
    uint32_t next = 0;
    f.flip_a = net_layer_int(layer, 2, 0) != 0;
    f.flip_b = net_layer_int(layer, 3, 0) != 0;
    f.flip_out = net_layer_int(layer, 14, 0) != 0;
    for (uint32_t i = 0; i < 3; i++) {
        bool constant = net_layer_int(layer, 4 + i, 0) == 1;
        f.in[i] = !constant && next < layer->num_in ? next++ : NET_NONE;
    }
    f.m = (uint32_t)net_layer_int(layer, 7, 0);
    f.n = (uint32_t)net_layer_int(layer, 8, 0);
    f.k = f.k_b = (uint32_t)net_layer_int(layer, 9, 0);
    if (f.in[0] != NET_NONE) {
        const net_shape *a = &graph->blob[layer->in[f.in[0]]].shape;
        f.m = f.flip_a ? a->w : rows_of(a);
        f.k = f.flip_a ? rows_of(a) : a->w;
    }
    if (f.in[1] != NET_NONE) {
        const net_shape *b = &graph->blob[layer->in[f.in[1]]].shape;
        f.n = f.flip_b ? rows_of(b) : b->w;
        f.k_b = f.flip_b ? b->w : rows_of(b);
    }
    if (net_layer_int(layer, 6, 0) == 1) {
        f.c = net_layer_int(layer, 10, 0);
    } else if (f.in[2] != NET_NONE) {
        f.c = c_kind(&graph->blob[layer->in[f.in[2]]].shape, f.m, f.n);
    }
    return f;
}

static net_status gemm_shape(net_plan *p) {
    const net_layer *layer = p->layer;
    int32_t term = net_layer_int(layer, 18, 0);
    if (term < 0 || term >= 4 || (term != 0 && net_layer_int(layer, 4, 0) == 1) || net_layer_int(layer, 12, 0) > 1 ||
        net_layer_int(layer, 13, 0) > 1) {
        return NET_CANNOT(p, "%s", "blocks of quantised weights (key 18), an INT8 constant A, or packed outputs");
    }
    gemm_form f = gemm_form_of(p->graph, layer);
    bool whole = true;
    for (uint32_t i = 0; i < layer->num_in; i++) {
        const net_shape *in = net_plan_in(p, i);
        whole = whole && (in->dims < 3 || in->h == 1);
    }
    bool constants = net_layer_int(layer, 4, 0) == 1 || net_layer_int(layer, 5, 0) == 1;
    if (f.m == 0 || f.n == 0 || f.k == 0 || f.k != f.k_b || f.c < GEMM_NO_C || f.c > GEMM_PER_COLUMN || !whole ||
        (f.in[0] == NET_NONE && f.in[1] == NET_NONE && !constants)) {
        return NET_BAD(p, "%u x %u by %u x %u, and C of kind %d", f.m, f.k, f.k_b, f.n, (int)f.c);
    }
    /* a constant C has the sizes of the settings */
    bool fixed = net_layer_int(layer, 6, 0) == 1 && f.c > GEMM_SCALAR;
    uint32_t set_m = (uint32_t)net_layer_int(layer, 7, 0);
    uint32_t set_n = (uint32_t)net_layer_int(layer, 8, 0);
    if ((fixed && f.c != GEMM_PER_COLUMN && set_m != f.m) || (fixed && f.c >= GEMM_WHOLE && set_n != f.n)) {
        return NET_BAD(p, "a constant C for %u x %u, the product is %u x %u", set_m, set_n, f.m, f.n);
    }
    p->layer->scratch = ((size_t)f.k * GEMM_COLUMNS + (size_t)f.m * f.k + 2 * (size_t)f.m * f.n) * sizeof(float);
    if (term != 0) {
        p->layer->scratch += ((size_t)f.m + 1) * sizeof(float) + (size_t)(f.m + f.n) * f.k;
    }
    uint32_t w = f.flip_out ? f.m : f.n;
    uint32_t h = f.flip_out ? f.n : f.m;
    bool apart = net_layer_int(layer, 11, 0) != 0; /* each row a map */
    return net_plan_out(p, 0, apart ? (net_shape){3, w, 1, h, 1} : (net_shape){2, w, h, 1, 1});
}

static const float *operand(const net_work *work, uint32_t in, net_role role) {
    const net_tensor *tensor = net_layer_tensor(work->layer, role);
    return in != NET_NONE ? work->in[in] : tensor != NULL ? tensor->f32 : NULL;
}

/* The sums begin with C * beta. */
static void gemm_start(const net_work *work, const gemm_form *f, float *start) {
    const float *c = operand(work, f->in[2], NET_ROLE_BIAS);
    float beta = net_layer_float(work->layer, 1, 1.0f);
    for (size_t i = 0; i < f->m; i++) {
        for (size_t j = 0; j < f->n; j++) {
            size_t at = f->c == GEMM_SCALAR ? 0 : f->c == GEMM_WHOLE ? i * f->n + j : f->c == GEMM_PER_COLUMN ? j : i;
            start[i * f->n + j] = f->c == GEMM_NO_C || c == NULL ? 0.0f : c[at] * beta;
        }
    }
}

/* B as rows of INT8, [n][k], and its one scale: that of the file, or found here for an input. */
static void gemm_int8_b(const net_work *work, const gemm_form *f, int8_t *q, float *scale) {
    const net_tensor *weight = net_layer_tensor(work->layer, NET_ROLE_WEIGHT);
    if (f->in[1] != NET_NONE) {
        const float *b = work->in[f->in[1]];
        net_dynamic_quantise(f->flip_b ? &(net_quantised){b, f->k, f->n, f->k, q, scale, false, false, false}
                                       : &(net_quantised){b, f->n, f->k, f->n, q, scale, false, true, false});
        return;
    }
    scale[0] = net_layer_tensor(work->layer, NET_ROLE_WEIGHT_SCALE)->f32[0];
    for (size_t j = 0; j < f->n; j++) {
        for (size_t k = 0; k < f->k; k++) {
            size_t at = f->flip_b ? j * f->k + k : k * f->n + j;
            q[j * f->k + k] = weight->i8 != NULL ? weight->i8[at] : net_quantize_value(weight->f32[at], scale[0]);
        }
    }
}

/* INT8 (key 18) as in ncnn: each row of A by a scale found here; C is added behind the sum. start: C * beta. */
static void gemm_int8(const net_work *work, const gemm_form *f, const float *a, const float *start, float *sum,
                      float *memory) {
    float *scale = memory;
    float *of_b = scale + f->m;
    int8_t *qa = (int8_t *)(of_b + 1);
    int8_t *qb = qa + (size_t)f->m * f->k;
    net_dynamic_quantise(&(net_quantised){a, f->k, f->m, f->k, qa, scale, true, false, false});
    gemm_int8_b(work, f, qb, of_b);
    net_work_product(work, &(net_product){f->m, f->n, f->k, qa, qb, sum});
    for (size_t i = 0; i < f->m; i++) {
        float descale = 1.0f / (scale[i] * of_b[0]);
        for (size_t j = i * f->n; j < (i + 1) * f->n; j++) {
            sum[j] = f->c == GEMM_NO_C ? sum[j] * descale : sum[j] * descale + start[j];
        }
    }
}

uint32_t net_gemm_product(const net_graph *graph, const net_layer *layer, net_product *product) {
    gemm_form f = gemm_form_of(graph, layer);
    *product = (net_product){f.m, f.n, f.k, NULL, NULL, NULL};
    return 1;
}

static void gemm_run(const net_work *work) {
    gemm_form f = gemm_form_of(work->graph, work->layer);
    float *pack = work->scratch;
    float *turned = pack + (size_t)f.k * GEMM_COLUMNS;
    float *start = turned + (size_t)f.m * f.k;
    float *sum = start + (size_t)f.m * f.n;
    const float *a = operand(work, f.in[0], NET_ROLE_OTHER);
    float alpha = net_layer_float(work->layer, 0, 1.0f);
    for (size_t i = 0; f.flip_a && i < f.m; i++) {
        for (size_t k = 0; k < f.k; k++) {
            turned[i * f.k + k] = a[k * f.m + i];
        }
    }
    gemm_start(work, &f, start);
    const gemm_f32 g = {.m = f.m,
                        .n = f.n,
                        .k = f.k,
                        .a = f.flip_a ? turned : a,
                        .a_step = f.k,
                        .b = operand(work, f.in[1], NET_ROLE_WEIGHT),
                        .b_step = f.flip_b ? f.k : f.n,
                        .b_rows = f.flip_b,
                        .start = start,
                        .start_row = f.n,
                        .start_column = 1,
                        .out = sum,
                        .out_step = f.n,
                        .pack = pack};
    if (net_layer_int(work->layer, 18, 0) != 0) {
        gemm_int8(work, &f, g.a, start, sum, sum + (size_t)f.m * f.n);
    } else {
        gemm_f32_run(&g);
    }
    for (size_t i = 0; i < f.m; i++) {
        for (size_t j = 0; j < f.n; j++) {
            work->out[0][f.flip_out ? j * f.m + i : i * f.n + j] = sum[i * f.n + j] * alpha;
        }
    }
}

static uint64_t gemm_macs(const net_graph *graph, const net_layer *layer) {
    gemm_form f = gemm_form_of(graph, layer);
    return (uint64_t)f.m * f.n * f.k;
}

const net_op net_ops_matmul[] = {
    {"MatMul", 2, 2, 1, 1, NULL, matmul_shape, matmul_run, matmul_macs, true},
    {"Gemm", 1, 3, 1, 1, gemm_arrays, gemm_shape, gemm_run, gemm_macs, false},
    {0},
};
