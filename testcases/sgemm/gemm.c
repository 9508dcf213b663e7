/* gemm.c - the draw of random GEMMs. */
#include "gemm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE 0x1000000u /* space of a matrix */
#define MARGIN 0x800000u /* before its first element, at most */
#define GEMM_BYTES_MAX (PLACE - MARGIN - 0x2000u)
#define GEMM_PLACES 7u      /* GEMMs that have places of their own */
#define GEMM_WORK (1 << 22) /* products of a GEMM whose A is the C of the one before, at most */

const char *const gemm_bus_names[6] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};
static const uint32_t bus_weights[] = {4, 4, 4, 2, 3, 3};
static const char *const data_names[] = {"small",  "normal", "random",  "hard",     "zeros",
                                         "cancel", "large",  "special", "half_ties"};
static const uint32_t data_weights[] = {3, 4, 4, 4, 1, 2, 2, 1, 2};
static const char *const factor_names[] = {"one",       "zero",     "minus_zero", "minus_one", "random",
                                           "subnormal", "infinite", "nan",        "large",     "two"};
static const uint32_t factor_weights[] = {12, 3, 1, 3, 8, 1, 1, 1, 1, 2};
static const char *const half_names[] = {"fp32", "half", "a",      "b",      "c",      "ab",      "abc",     "all",
                                         "ac",   "bc",   "half_a", "half_b", "half_c", "half_ab", "half_ac", "half_bc"};
static const uint32_t half_weights[] = {16, 4, 2, 2, 2, 2, 2, 4, 1, 1, 1, 1, 1, 1, 1, 1};
static const char *const ld_names[] = {"least", "plus_one", "some", "large"};
static const char *const split_names[] = {"none", "one", "block", "odd", "k_only"};
static const uint32_t split_weights[] = {10, 1, 1, 1, 1};
static const uint32_t rare[] = {9, 1};
static const uint32_t span_weights[] = {2, 1};
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
    {"half", 0, 15, TB_KNOB_ENUM, half_names, half_weights, "binary16 modes: rounded operands, stored matrices"},
    {"fed", 0, 1, TB_KNOB_WEIGHTED, NULL, rare, "a GEMM reads what the one before writes"},
    {"queued", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "a GEMM is started before the one before is done"},
    {"irq", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "wait for the interrupt instead of polling"},
    {"split", 0, 4, TB_KNOB_ENUM, split_names, split_weights, "limits of a task"},
    {"cpu", 0, 2, TB_KNOB_ENUM, cpu_names, cpu_weights, "which GEMMs the processor computes"},
    {"error", 0, 3, TB_KNOB_ENUM, error_names, error_weights, "one burst is answered with an error"},
    {"error_at", 0, 40, TB_KNOB_SMALL, NULL, NULL, "number of that burst"},
    {"bus", 0, 5, TB_KNOB_ENUM, gemm_bus_names, bus_weights, "timing of the buses"},
    {"span", 0, 1, (tb_knob_kind)(TB_KNOB_WEIGHTED | TB_KNOB_LATER), NULL, span_weights, "matrices anywhere in 4 GB"},
    {"beside", 0, 1, (tb_knob_kind)(TB_KNOB_WEIGHTED | TB_KNOB_LATER), NULL, rare,
     "A, C and B are columns of one larger matrix"},
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

static uint32_t flags_of(int64_t half) {
    static const uint32_t flags[] = {0,
                                     SGEMM_HALF,
                                     SGEMM_A_F16,
                                     SGEMM_B_F16,
                                     SGEMM_C_F16,
                                     SGEMM_A_F16 | SGEMM_B_F16,
                                     SGEMM_A_F16 | SGEMM_B_F16 | SGEMM_C_F16,
                                     SGEMM_A_F16 | SGEMM_B_F16 | SGEMM_C_F16 | SGEMM_HALF,
                                     SGEMM_A_F16 | SGEMM_C_F16,
                                     SGEMM_B_F16 | SGEMM_C_F16,
                                     SGEMM_A_F16 | SGEMM_HALF,
                                     SGEMM_B_F16 | SGEMM_HALF,
                                     SGEMM_C_F16 | SGEMM_HALF,
                                     SGEMM_A_F16 | SGEMM_B_F16 | SGEMM_HALF,
                                     SGEMM_A_F16 | SGEMM_C_F16 | SGEMM_HALF,
                                     SGEMM_B_F16 | SGEMM_C_F16 | SGEMM_HALF};
    return flags[half];
}

bool gemm_mode_legal(int64_t half) {
    const bool rounds = (flags_of(half) & SGEMM_HALF) != 0;
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

/* Now and then one of the sizes is as large as a task can be, the others are tiny. */
static void draw_long(tb_knobs *k, uint64_t seed) {
    static const char *const names[] = {"m", "n", "k"};
    tb_rng rng = tb_rng_stream(seed, "long");
    if (!tb_rng_chance(&rng, 1, 100)) {
        return;
    }
    const uint64_t which = tb_rng_range(&rng, 0, 2);
    for (uint64_t i = 0; i < 3; i++) {
        const uint64_t size = i == which ? 65535 - tb_rng_small(&rng, 0, 40000) : tb_rng_range(&rng, 1, 2);
        if (!tb_knobs_is_pinned(k, names[i])) {
            tb_knobs_set(k, names[i], (int64_t)size);
        }
    }
    tb_knobs_draw_in(k, "gemms", seed, 2, 2);
    tb_knobs_draw_in(k, "split", seed, 0, 0); /* thousands of tasks would take too long */
    tb_knobs_draw_in(k, "bus", seed, 0, 1);
}

void gemm_constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "gemms", seed, 1, 4);
    draw_size(k, "m", seed, SGEMM_CFG_DIM);
    draw_size(k, "n", seed, SGEMM_CFG_DIM);
    draw_size(k, "k", seed, SGEMM_CFG_VEC);
    draw_long(k, seed);
    if (!gemm_mode_legal(tb_knobs_get(k, "half")) && !tb_knobs_is_pinned(k, "half")) {
        tb_rng rng = tb_rng_stream(seed, "half mode");
        static const uint64_t rounding[] = {1, 7, 10, 11, 12, 13, 14, 15};
        tb_knobs_set(k, "half", HALF_ONLY != 0 ? (int64_t)tb_rng_pick(&rng, rounding, 8) : 0);
    }
}

int gemm_check(const tb_test *test, const tb_knobs *knobs, char *err, size_t err_size) {
    (void)test;
    if (!gemm_mode_legal(tb_knobs_get(knobs, "half"))) {
        snprintf(err, err_size, "half=%s: configuration " SGEMM_CFG_NAME " has no such mode",
                 tb_knobs_get_name(knobs, "half"));
        return -1;
    }
    const int64_t m = tb_knobs_get(knobs, "m"), n = tb_knobs_get(knobs, "n"), k = tb_knobs_get(knobs, "k");
    if (m * n * 4 > GEMM_BYTES_MAX || m * k * 4 > GEMM_BYTES_MAX || k * n * 4 > GEMM_BYTES_MAX) {
        snprintf(err, err_size, "m=%" PRId64 " n=%" PRId64 " k=%" PRId64 ": a matrix has at most %u bytes here", m, n,
                 k, GEMM_BYTES_MAX);
        return -1;
    }
    return 0;
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

/* Of `rows` stored rows of `row` elements; rows that would not fit into their place are dense. */
static int32_t leading(tb_rng *rng, int64_t kind, int32_t row, int32_t rows) {
    const int32_t least = row < 1 ? 1 : row;
    const int64_t gap = kind == 0   ? 0
                        : kind == 1 ? 1
                        : kind == 2 ? (int64_t)tb_rng_range(rng, 0, 20)
                                    : (int64_t)tb_rng_range(rng, 500, 2000); /* rows in different 4 KB pages */
    return (least + gap) * rows * 4 > GEMM_BYTES_MAX ? least : least + (int32_t)gap;
}

/*
 * A has the size of the C before, whatever the sizes of this GEMM: columns of C such that B and C have room, and time.
 */
static int32_t columns(const sgemm_args *x) {
    const int64_t m = x->m > 0 ? x->m : 1, k = x->k > 0 ? x->k : 1;
    const int64_t room = GEMM_BYTES_MAX / 4 / (m > k ? m : k), time = GEMM_WORK / (m * k);
    const int64_t most = room < time ? room : time;
    return x->n <= most ? x->n : most > 0 ? (int32_t)most : 1;
}

/* Where matrix number `which` of GEMM i begins: some way into a place of its own. */
static uint32_t place(const tb_knobs *k, uint64_t seed, uint32_t i, uint32_t which, tb_rng *rng) {
    const uint32_t number = 3 * (i % GEMM_PLACES) + which;
    const uint32_t in = (uint32_t)tb_rng_range(rng, 0, MARGIN / 64 - 1) * 64;
    if (tb_knobs_get(k, "span") == 0) {
        return SGEMM_MEM_BASE + number * PLACE + 0x1000 + in;
    }
    /* one of the 256 places of 4 GB: a permutation, which the seed chooses; place 0 would be the null address */
    const tb_rng all = tb_rng_stream(seed, "span");
    tb_rng way = tb_rng_fork(&all, 0);
    const uint32_t factor = (uint32_t)tb_rng_range(&way, 0, 127) * 2 + 1, first = (uint32_t)tb_rng_range(&way, 0, 255);
    const uint32_t at = (number * factor + first) % 256;
    return at * PLACE + 0x1000 + in;
}

/*
 * A, C and B side by side as columns of one larger matrix, where their elements are equally large: rows of `row` stored
 * elements each, at most `rows` of them. The matrix begins at a multiple of its own rows, so none of the three wraps.
 */
static void place_beside(sgemm_args *x, const int32_t row[3], int32_t rows, const uint32_t at[3], int32_t gap) {
    const uint32_t f16 = x->flags & (SGEMM_A_F16 | SGEMM_B_F16 | SGEMM_C_F16), size = f16 != 0 ? 2 : 4;
    const uint32_t shift = at[0] % 16, a = (uint32_t)row[0], b = (uint32_t)row[1], c = (uint32_t)row[2];
    const uint32_t ld = shift + a + c + b + at[1] % 4 + at[2] % 4 + (uint32_t)gap;
    const bool same = f16 == 0 || f16 == (SGEMM_A_F16 | SGEMM_B_F16 | SGEMM_C_F16);
    if (!same || ld == 0 || ((uint64_t)rows + 2) * ld * size > GEMM_BYTES_MAX) {
        return;
    }
    const uint32_t first = (x->a / (ld * size) + 1) * (ld * size) + shift * size;
    x->a = first;
    x->c = first + (a + at[2] % 4) * size;
    x->b = first + (a + at[2] % 4 + c + at[1] % 4) * size;
    x->lda = x->ldb = x->ldc = (int32_t)ld;
}

gemm gemm_make(uint64_t seed, const tb_knobs *k, uint32_t i, const gemm *prev) {
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
        g.x.n = columns(&g.x);
        g.x.flags = (g.x.flags & ~SGEMM_A_F16) | ((g.x.flags & SGEMM_C_F16) != 0 ? SGEMM_A_F16 : 0);
    }
    const int32_t row_a = (g.x.trans_a != SGEMM_NO_TRANS) != col ? g.x.m : g.x.k;
    const int32_t row_b = (g.x.trans_b != SGEMM_NO_TRANS) != col ? g.x.k : g.x.n;
    const int32_t row_c = col ? g.x.m : g.x.n;
    const int32_t rows_a = row_a == g.x.k ? g.x.m : g.x.k;
    g.x.lda = leading(&rng, tb_knobs_get(k, "lda"), row_a, rows_a);
    g.x.ldb = leading(&rng, tb_knobs_get(k, "ldb"), row_b, row_b == g.x.k ? g.x.n : g.x.k);
    g.x.ldc = leading(&rng, tb_knobs_get(k, "ldc"), row_c, row_c == g.x.n ? g.x.m : g.x.n);
    g.x.a = place(k, seed, i, 0, &rng) + (uint32_t)tb_knobs_get(k, "a_at") * ((g.x.flags & SGEMM_A_F16) != 0 ? 2u : 4u);
    g.x.b = place(k, seed, i, 1, &rng) + (uint32_t)tb_knobs_get(k, "b_at") * ((g.x.flags & SGEMM_B_F16) != 0 ? 2u : 4u);
    g.x.c = place(k, seed, i, 2, &rng) + (uint32_t)tb_knobs_get(k, "c_at") * ((g.x.flags & SGEMM_C_F16) != 0 ? 2u : 4u);
    if (g.fed) {
        g.x.a = prev->x.c;
        g.x.lda = prev->x.ldc;
    } else if (tb_knobs_get(k, "beside") != 0) {
        const int32_t row[] = {row_a, row_b, row_c}, most = g.x.m > g.x.k ? g.x.m : g.x.k;
        const uint32_t at[] = {(uint32_t)tb_knobs_get(k, "a_at"), (uint32_t)tb_knobs_get(k, "b_at"),
                               (uint32_t)tb_knobs_get(k, "c_at")};
        place_beside(&g.x, row, most > g.x.n ? most : g.x.n, at, (int32_t)(tb_knobs_get(k, "ldc") * 3));
    }
    return g;
}

/* op(A), op(B) or C of rows x cols, stored with or without transposing: its values do not depend on how. */
static void fill(sgemm_device *dev, const gemm *g, const char *name, uint32_t addr, int32_t ld, int32_t rows,
                 int32_t cols, bool f16, bool trans) {
    tb_rng rng = tb_rng_stream(g->stream, name);
    const size_t n_rows = (size_t)(trans ? cols : rows), n_cols = (size_t)(trans ? rows : cols), size = f16 ? 2 : 4;
    uint8_t *stored = malloc(n_rows * n_cols * size + 1);
    for (size_t i = 0; stored != NULL && i < n_rows * n_cols; i++) {
        const size_t r = i / (size_t)cols, c = i % (size_t)cols;
        uint32_t v = gemm_value(&rng, g->data);
        if (f16) { /* any pattern, or the number next to the value */
            v = g->data == 3 || g->data == 7 ? tb_rng_u32(&rng) & 0xFFFFu : sgemm_device_half(v);
        }
        memcpy(stored + (trans ? c * n_cols + r : r * n_cols + c) * size, &v, size); /* little-endian */
    }
    for (size_t r = 0; stored != NULL && n_cols > 0 && r < n_rows; r++) {
        tb_pair_fill(&dev->pair, addr + (uint32_t)(r * (size_t)ld * size), stored + r * n_cols * size, n_cols * size);
    }
    free(stored);
}

void gemm_fill(sgemm_device *dev, const gemm *g) {
    const sgemm_args *x = &g->x;
    const bool col = x->order == SGEMM_COL_MAJOR;
    const bool ta = (x->trans_a != SGEMM_NO_TRANS) != col, tb = (x->trans_b != SGEMM_NO_TRANS) != col;
    if (x->k > 0 && x->alpha != 0.0f) {
        if (!g->fed) {
            fill(dev, g, "A", x->a, x->lda, x->m, x->k, (x->flags & SGEMM_A_F16) != 0, ta);
        }
        fill(dev, g, "B", x->b, x->ldb, x->k, x->n, (x->flags & SGEMM_B_F16) != 0, tb);
    }
    if (x->beta != 0.0f) {
        fill(dev, g, "C", x->c, x->ldc, x->m, x->n, (x->flags & SGEMM_C_F16) != 0, col);
    }
}

sgemm_limits gemm_limits(const tb_knobs *k, const gemm *g) {
    static const sgemm_limits all[] = {{65535, 65535, 65535, 0xFFFFFF},
                                       {1, 1, 1, 0xFFFFFF},
                                       {SGEMM_CFG_DIM, SGEMM_CFG_DIM, SGEMM_CFG_VEC, 0xFFFFFF},
                                       {7, 13, 5, 0xFFFFFF},
                                       {65535, 65535, 3, 0xFFFFFF}};
    sgemm_limits l = all[tb_knobs_get(k, "split")];
    if (tb_knobs_get(k, "split") == 1) { /* one task an element would take too long */
        l.m = g->x.m > 4 ? 5 : 1;
        l.n = g->x.n > 4 ? 7 : 1;
        l.k = g->x.k > 8 ? 4 : 1;
    }
    l.k = (g->x.flags & SGEMM_C_F16) != 0 ? 65535 : l.k; /* sums of binary16 cannot cross tasks */
    return l;
}
