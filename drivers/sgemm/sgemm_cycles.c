/* sgemm_cycles.c - cycles of a task by the formula of docs/sgemm/performance.md. */
#include "sgemm_priv.h"

/* of an ideal bus, the DMA channels and the loaders: before the first pass, after the last */
#define LATENCY 40u

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Beats of a block of `rows` stored rows of `cols` elements, from element (row, col) of a matrix on. */
static uint64_t load(const sgemm_matrix *m, uint64_t row, uint64_t col, uint64_t rows, uint64_t cols) {
    uint64_t beats = 0;
    for (uint64_t r = 0; r < rows; r++) {
        const uint64_t at = m->addr + ((row + r) * m->ld + col) * m->size;
        beats += (at % 16 + cols * m->size + 15) / 16;
    }
    return beats;
}

/* One pass of the walk, from element (i, j) of C and index k of the sums on. */
static void pass(sgemm_bound *b, const sgemm_gemm *g, const sgemm_build *build, const uint64_t at[3]) {
    const uint64_t i = at[0], j = at[1], k = at[2];
    const sgemm_matrix ma = sgemm_matrix_a(g), mb = sgemm_matrix_b(g), mc = sgemm_matrix_c(g);
    const uint64_t rows = least(build->dim, g->m - i), cols = least(build->dim, g->n - j);
    const uint64_t depth = least(build->vec, g->k - k);
    const uint64_t la = g->ta ? load(&ma, k, i, depth, rows) : load(&ma, i, k, rows, depth);
    const uint64_t lb = g->tb ? load(&mb, j, k, cols, depth) : load(&mb, k, j, depth, cols);
    const uint64_t enters = (rows + build->r - 1) / build->r * cols;
    b->sum += most(most(enters, build->vec + 2), most(la, lb));
    b->enters += enters;
    b->passes++;
    b->read0 += la;
    b->read1 += lb;
    if (k == 0) {
        const uint64_t lc = load(&mc, i, j, rows, cols), old = g->beta != 0.0f ? lc : 0;
        b->read0 += old;
        b->write += lc;
        b->tiles++;
        b->drain = lc + build->vec + LATENCY;
        b->fill = i + j == 0 ? most(la + old, lb) + LATENCY : b->fill;
    }
}

sgemm_build sgemm_build_of(const sgemm_dev *dev) {
    return (sgemm_build){(dev->config & SGEMM_CONFIG_DIM_MASK) >> SGEMM_CONFIG_DIM_LSB,
                         (dev->config & SGEMM_CONFIG_VEC_MASK) >> SGEMM_CONFIG_VEC_LSB,
                         (dev->config & SGEMM_CONFIG_CHAINS_MASK) >> SGEMM_CONFIG_CHAINS_LSB};
}

sgemm_bound sgemm_cycles(const sgemm_dev *dev, const sgemm_args *args) {
    const sgemm_gemm g = sgemm_row_major(args);
    const sgemm_build build = sgemm_build_of(dev);
    sgemm_bound b = {0};
    uint64_t at[3];
    for (at[0] = 0; at[0] < g.m; at[0] += build.dim) {
        for (at[1] = 0; at[1] < g.n; at[1] += build.dim) {
            for (at[2] = 0; at[2] < g.k; at[2] += build.vec) {
                pass(&b, &g, &build, at);
            }
        }
    }
    b.bound = most(most(b.sum, b.read0), most(b.read1, b.write));
    return b;
}
