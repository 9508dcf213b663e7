/* gemm.c - the draw of random GEMMs. */
#include "gemm.h"

#include <stdlib.h>
#include <string.h>

#define STEP 0x2000000u /* from one GEMM's matrices to those of the next */
#define PLACE 0x800000u /* from A to B to C */

const char *const gemm_bus_names[6] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};
static const uint32_t bus_weights[] = {4, 4, 4, 2, 3, 3};
static const char *const data_names[] = {"small",  "normal", "random",  "hard",     "zeros",
                                         "cancel", "large",  "special", "half_ties"};
static const uint32_t data_weights[] = {3, 4, 4, 4, 1, 2, 2, 1, 2};
static const char *const factor_names[] = {"one",       "zero",     "minus_zero", "minus_one", "random",
                                           "subnormal", "infinite", "nan",        "large",     "two"};
static const uint32_t factor_weights[] = {12, 3, 1, 3, 8, 1, 1, 1, 1, 2};
static const char *const half_names[] = {"fp32", "half", "a", "b", "c", "ab", "abc", "all"};
static const uint32_t half_weights[] = {8, 2, 1, 1, 1, 1, 1, 2};
static const char *const ld_names[] = {"least", "plus_one", "some", "large"};
static const char *const split_names[] = {"none", "one", "block", "odd", "k_only"};
static const uint32_t split_weights[] = {10, 1, 1, 1, 1};
static const uint32_t rare[] = {9, 1};
static const char *const error_names[] = {"none", "read0", "read1", "write"};
static const uint32_t error_weights[] = {20, 1, 1, 1};
static const char *const cpu_names[] = {"engine", "some", "cpu"};
static const uint32_t cpu_weights[] = {20, 2, 1};

/* The lowest value of a knob is its simplest. */
const tb_knob gemm_knobs[GEMM_KNOBS] = {
    {"gemms", 1, GEMM_MAX, TB_KNOB_SMALL, NULL, NULL, "GEMMs one after the other"},
    {"m", 0, GEMM_DIM_MAX, TB_KNOB_SMALL, NULL, NULL, "rows of C of the first one; the others draw their own, at most"},
    {"n", 0, GEMM_DIM_MAX, TB_KNOB_SMALL, NULL, NULL, "columns of C"},
    {"k", 0, GEMM_DIM_MAX, TB_KNOB_SMALL, NULL, NULL, "length of the sums"},
    {"ta", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "A is stored transposed"},
    {"tb", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "B is stored transposed"},
    {"col", 0, 1, TB_KNOB_WEIGHTED, NULL, rare, "column-major order"},
    {"a_at", 0, 15, TB_KNOB_UNIFORM, NULL, NULL, "offset of A, elements"},
    {"b_at", 0, 15, TB_KNOB_UNIFORM, NULL, NULL, "offset of B, elements"},
    {"c_at", 0, 15, TB_KNOB_UNIFORM, NULL, NULL, "offset of C, elements"},
    {"lda", 0, 3, TB_KNOB_ENUM, ld_names, NULL, "leading dimension of A"},
    {"ldb", 0, 3, TB_KNOB_ENUM, ld_names, NULL, "leading dimension of B"},
    {"ldc", 0, 3, TB_KNOB_ENUM, ld_names, NULL, "leading dimension of C"},
    {"alpha", 0, 9, TB_KNOB_ENUM, factor_names, factor_weights, "factor of the product"},
    {"beta", 0, 9, TB_KNOB_ENUM, factor_names, factor_weights, "factor of C"},
    {"data", 0, 8, TB_KNOB_ENUM, data_names, data_weights, "elements of the matrices"},
    {"half", 0, 7, TB_KNOB_ENUM, half_names, half_weights, "binary16 modes: rounded operands, stored matrices"},
    {"fed", 0, 1, TB_KNOB_WEIGHTED, NULL, rare, "a GEMM reads what the one before writes"},
    {"queued", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "a GEMM is started before the one before is done"},
    {"irq", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "wait for the interrupt instead of polling"},
    {"split", 0, 4, TB_KNOB_ENUM, split_names, split_weights, "limits of a task"},
    {"cpu", 0, 2, TB_KNOB_ENUM, cpu_names, cpu_weights, "which GEMMs the processor computes"},
    {"error", 0, 3, TB_KNOB_ENUM, error_names, error_weights, "one burst is answered with an error"},
    {"error_at", 0, 40, TB_KNOB_SMALL, NULL, NULL, "number of that burst"},
    {"bus", 0, 5, TB_KNOB_ENUM, gemm_bus_names, bus_weights, "timing of the buses"},
};

#if SGEMM_CFG_DIM > 16
#define LARGEST (2 * SGEMM_CFG_DIM + 1)
#else
#define LARGEST 40
#endif
#ifdef SGEMM_CFG_HALFBUF
#define HALF_ONLY 1
#else
#define HALF_ONLY 0
#endif
#ifdef SGEMM_CFG_ENHALF
#define EN_HALF SGEMM_CFG_ENHALF
#else
#define EN_HALF 1
#endif

bool gemm_mode_legal(int64_t half) {
    const bool rounds = half == 1 || half == 7;
    return (EN_HALF != 0 || half == 0) && (HALF_ONLY == 0 || rounds);
}

/* A size: at the ends of blocks, or small; sometimes 0. */
static void draw_size(tb_knobs *k, const char *name, uint64_t seed, uint32_t block) {
    const tb_rng all = tb_rng_stream(seed, "sizes");
    tb_rng rng = tb_rng_fork(&all, (uint64_t)name[0]);
    const uint64_t ends[] = {1, block - 1, block, block + 1, 2 * block + 1, 2 * block, 3 * block - 1, 4};
    const uint64_t end = tb_rng_pick(&rng, ends, sizeof ends / sizeof *ends);
    const uint64_t small = tb_rng_small(&rng, 1, LARGEST);
    const bool at_end = tb_rng_chance(&rng, 1, 2), zero = tb_rng_chance(&rng, 1, 40);
    if (!tb_knobs_is_pinned(k, name)) {
        tb_knobs_set(k, name, zero ? 0 : (int64_t)(at_end ? end : small));
    }
}

void gemm_constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "gemms", seed, 1, 4);
    draw_size(k, "m", seed, SGEMM_CFG_DIM);
    draw_size(k, "n", seed, SGEMM_CFG_DIM);
    draw_size(k, "k", seed, SGEMM_CFG_VEC);
    if (!gemm_mode_legal(tb_knobs_get(k, "half")) && !tb_knobs_is_pinned(k, "half")) {
        tb_rng rng = tb_rng_stream(seed, "half mode");
        tb_knobs_set(k, "half", HALF_ONLY != 0 ? (tb_rng_chance(&rng, 1, 2) ? 1 : 7) : 0);
    }
}

tb_shrink_size gemm_size(const tb_test *test, const tb_knobs *k) {
    (void)test;
    const uint64_t macs = (uint64_t)(tb_knobs_get(k, "gemms") * (tb_knobs_get(k, "m") + 1) *
                                     (tb_knobs_get(k, "n") + 1) * (tb_knobs_get(k, "k") + 1));
    return (tb_shrink_size){.cycles = macs * (1 + (uint64_t)tb_knobs_get(k, "bus")), .work = macs};
}

/* ---- values ---- */

static uint32_t bits_of(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t special(tb_rng *rng) {
    static const uint32_t values[] = {0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001,
                                      0xFFFFFFFF, 0x00000001, 0x80000001, 0x007FFFFF, 0x7F7FFFFF, 0xFF7FFFFF};
    return values[tb_rng_range(rng, 0, sizeof values / sizeof *values - 1)];
}

uint32_t gemm_value(tb_rng *rng, int data) {
    const uint32_t sign = tb_rng_u32(rng) & 0x80000000u;
    const uint32_t fraction = tb_rng_u32(rng) & 0x7FFFFFu;
    switch (data) {
    case 0: /* small: integers, every sum is exact */
        return bits_of((float)tb_rng_range_i64(rng, -8, 8));
    case 1: /* normal */
        return sign | (uint32_t)tb_rng_range(rng, 120, 130) << 23 | fraction;
    case 2: /* random: sums of any size, many that vanish in others */
        return sign | (uint32_t)tb_rng_range(rng, 90, 164) << 23 | fraction;
    case 3:
        return tb_rng_f32_hard(rng);
    case 4: /* zeros of either sign, so that sums of -0 and +0 meet */
        return tb_rng_chance(rng, 3, 4) ? 0x80000000u : sign;
    case 5: { /* cancel: 1, 2^24, -2^24 in any order */
        static const uint32_t values[] = {0x3F800000, 0x4B800000, 0xCB800000, 0xBF800000};
        return values[tb_rng_range(rng, 0, 3)];
    }
    case 6: /* large: products and sums overflow in the middle */
        return sign | (uint32_t)tb_rng_range(rng, 185, 254) << 23 | fraction;
    case 7:
        return tb_rng_chance(rng, 1, 8) ? special(rng) : sign | (uint32_t)tb_rng_range(rng, 120, 130) << 23 | fraction;
    default: /* ties of binary16 and their neighbours, its subnormals, its largest numbers */
        return (sign | (uint32_t)tb_rng_range(rng, 100, 143) << 23 | (fraction & 0x7FE000u) | 0x1000u) +
               (uint32_t)tb_rng_range_i64(rng, -1, 1);
    }
}

static float factor(tb_rng *rng, int64_t kind) {
    static const uint32_t values[] = {0x3F800000, 0x00000000, 0x80000000, 0xBF800000, 0,
                                      0,          0x7F800000, 0x7FC00000, 0x7F000000, 0x40000000};
    const uint32_t sign = tb_rng_u32(rng) & 0x80000000u;
    switch (kind) {
    case 4:
        return float_of(gemm_value(rng, 1));
    case 5:
        return float_of(sign | (tb_rng_u32(rng) & 0x7FFFFFu));
    default:
        return float_of(values[kind]);
    }
}

/* ---- a GEMM of a case ---- */

static int32_t leading(tb_rng *rng, int64_t kind, int32_t row) {
    const int32_t least = row < 1 ? 1 : row;
    switch (kind) {
    case 0:
        return least;
    case 1:
        return least + 1;
    case 2:
        return least + (int32_t)tb_rng_range(rng, 0, 20);
    default: /* rows in different 4 KB pages */
        return least + (int32_t)tb_rng_range(rng, 500, 2000);
    }
}

static uint32_t flags_of(int64_t half) {
    static const uint32_t flags[] = {0,
                                     SGEMM_HALF,
                                     SGEMM_A_F16,
                                     SGEMM_B_F16,
                                     SGEMM_C_F16,
                                     SGEMM_A_F16 | SGEMM_B_F16,
                                     SGEMM_A_F16 | SGEMM_B_F16 | SGEMM_C_F16,
                                     SGEMM_A_F16 | SGEMM_B_F16 | SGEMM_C_F16 | SGEMM_HALF};
    return flags[half];
}

gemm gemm_make(uint64_t seed, const tb_knobs *k, uint32_t i, const gemm *prev) {
    const uint32_t base = SGEMM_MEM_BASE + 0x1000 + STEP * (i % 7);
    tb_rng all = tb_rng_stream(seed, "gemms");
    tb_rng rng = tb_rng_fork(&all, i);
    gemm g = {.stream = tb_rng_u64(&rng), .data = (int)tb_knobs_get(k, "data")};
    int32_t size[3];
    static const char *const names[] = {"m", "n", "k"};
    for (int d = 0; d < 3; d++) {
        const int64_t first = tb_knobs_get(k, names[d]);
        size[d] = (int32_t)(i == 0 ? first : (int64_t)tb_rng_small(&rng, 0, (uint64_t)first));
    }
    const bool col = tb_knobs_get(k, "col") != 0;
    g.x = (sgemm_args){.order = col ? SGEMM_COL_MAJOR : SGEMM_ROW_MAJOR,
                       .trans_a = tb_knobs_get(k, "ta") != 0 ? SGEMM_TRANS : SGEMM_NO_TRANS,
                       .trans_b = tb_knobs_get(k, "tb") != 0 ? SGEMM_CONJ_TRANS : SGEMM_NO_TRANS,
                       .m = size[0],
                       .n = size[1],
                       .k = size[2],
                       .flags = flags_of(tb_knobs_get(k, "half"))};
    g.x.alpha = factor(&rng, tb_knobs_get(k, "alpha"));
    g.x.beta = factor(&rng, tb_knobs_get(k, "beta"));
    g.fed = prev != NULL && tb_knobs_get(k, "fed") != 0;
    if (g.fed) { /* A is that C: its rows, as stored */
        const bool whole = (g.x.trans_a != SGEMM_NO_TRANS) != col;
        const int32_t rows = col ? prev->x.n : prev->x.m, cols = col ? prev->x.m : prev->x.n;
        *(whole ? &g.x.k : &g.x.m) = rows;
        *(whole ? &g.x.m : &g.x.k) = cols;
        g.x.flags = (g.x.flags & ~SGEMM_A_F16) | ((g.x.flags & SGEMM_C_F16) != 0 ? SGEMM_A_F16 : 0);
    }
    const int32_t row_a = (g.x.trans_a != SGEMM_NO_TRANS) != col ? g.x.m : g.x.k;
    const int32_t row_b = (g.x.trans_b != SGEMM_NO_TRANS) != col ? g.x.k : g.x.n;
    g.x.lda = leading(&rng, tb_knobs_get(k, "lda"), row_a);
    g.x.ldb = leading(&rng, tb_knobs_get(k, "ldb"), row_b);
    g.x.ldc = leading(&rng, tb_knobs_get(k, "ldc"), col ? g.x.m : g.x.n);
    g.x.a = base + (uint32_t)tb_knobs_get(k, "a_at") * ((g.x.flags & SGEMM_A_F16) != 0 ? 2u : 4u);
    g.x.b = base + PLACE + (uint32_t)tb_knobs_get(k, "b_at") * ((g.x.flags & SGEMM_B_F16) != 0 ? 2u : 4u);
    g.x.c = base + 2 * PLACE + (uint32_t)tb_knobs_get(k, "c_at") * ((g.x.flags & SGEMM_C_F16) != 0 ? 2u : 4u);
    if (g.fed) {
        g.x.a = prev->x.c;
        g.x.lda = prev->x.ldc;
    }
    return g;
}

/* Rows of neighbouring elements. */
static void fill(sgemm_device *dev, const gemm *g, const char *name, uint32_t addr, int32_t ld, int32_t rows,
                 int32_t cols, bool f16) {
    tb_rng rng = tb_rng_stream(g->stream, name);
    uint32_t *row = malloc(((size_t)cols + 1) * sizeof *row);
    for (int32_t r = 0; row != NULL && r < rows && cols > 0; r++) {
        for (int32_t c = 0; c < cols; c++) {
            const uint32_t v = gemm_value(&rng, g->data);
            if (f16) { /* any pattern, or the number next to the value */
                ((uint16_t *)row)[c] = g->data == 3 || g->data == 7 ? (uint16_t)tb_rng_u32(&rng) : sgemm_device_half(v);
            } else {
                row[c] = v;
            }
        }
        const uint32_t size = f16 ? 2 : 4;
        tb_pair_fill(&dev->pair, addr + (uint32_t)r * (uint32_t)ld * size, row, (size_t)cols * size);
    }
    free(row);
}

void gemm_fill(sgemm_device *dev, const gemm *g) {
    const sgemm_args *x = &g->x;
    const bool col = x->order == SGEMM_COL_MAJOR;
    const bool ta = (x->trans_a != SGEMM_NO_TRANS) != col, tb = (x->trans_b != SGEMM_NO_TRANS) != col;
    if (x->k > 0 && x->alpha != 0.0f) {
        if (!g->fed) {
            fill(dev, g, "A", x->a, x->lda, ta ? x->k : x->m, ta ? x->m : x->k, (x->flags & SGEMM_A_F16) != 0);
        }
        fill(dev, g, "B", x->b, x->ldb, tb ? x->n : x->k, tb ? x->k : x->n, (x->flags & SGEMM_B_F16) != 0);
    }
    if (x->beta != 0.0f) {
        fill(dev, g, "C", x->c, x->ldc, col ? x->n : x->m, col ? x->m : x->n, (x->flags & SGEMM_C_F16) != 0);
    }
}
