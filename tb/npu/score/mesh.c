/*
 * mesh.c - predicts the partial sums of the mesh from its weights and vectors.
 *
 * INT16 (EnInt16): the last 2N words of a chain are the weights of a block whose words came with wgt_wide_i, and a
 * vector with act_wide_i is one of 16 bits. Its results are int64, the high half in the second stream.
 *
 * The mesh has no reset and no input that marks the start of a block, so the check treats every enabled cycle alike:
 * both weight registers are chains of N words, wgt_p_i selects the one that gets the word of this cycle, and the
 * vectors of this cycle are multiplied by the words that the chain sel_i held before. Up to N successive vectors with
 * the same words go through the golden function together, which is early enough: the first result of a vector is output
 * N + 1 cycles later.
 */
#include "gemm_work.h"

#include <inttypes.h>

#define LINES 128u /* results that are predicted and have not been output: at most 2N + 2, a power of two */

#define CHAIN 64u /* words of the longest chain */
typedef struct chain {
    int8_t word[CHAIN][32]; /* ring */
    uint64_t words;         /* that ever entered */
    bool wide;              /* the last one came with wgt_wide_i, */
    uint64_t same;          /* as so many did before it: a chain that mixes both has no order */
} chain;

#define PORTS en_i, wgt_p_i, wgt_wide_i, wgt_i, sel_i, act_wide_i, act_i[2], ps_o[2]
typedef struct state {
    TB_PORTS(ports, PORTS);
    uint32_t n;
    uint32_t mask; /* of the numbers of lines: 4N are enough, and use few lines of the cache */
    chain chain[2];
    uint64_t enabled; /* enabled cycles; also the number of the vectors of this cycle */
    /* vectors that wait for the golden function: [2 * vector + stream][row] */
    int8_t act_wait[64 * 32];
    uint64_t first; /* number of the first one */
    uint32_t waiting, wait_sel;
    bool wait_wide;
    /* results by the enabled cycle in which they are output, [cycle & mask][stream][column] without gaps */
    int32_t line[LINES * 2 * 32];
    bool unknown[LINES]; /* a vector was multiplied by the initial contents of a register */
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    s->n = npu_score_n(c);
    s->mask = 4 * s->n - 1;
    (void)err, (void)err_size;
    return 0;
}

/* The mesh has no reset. */
static void clear(tb_check *c) {
    (void)c;
}

/*
 * Results of vector j leave column c in cycle first + j + N + 1 + c. Inlined with a constant N, so that where the ring
 * does not end among them, a result is copied from one fixed distance to another.
 */
static inline void spread_rows(uint32_t n, state *s, const int32_t *out) {
    for (uint32_t j = 0; j < s->waiting; j++, out += 2 * n) {
        const uint32_t leaves = ((uint32_t)s->first + j + n + 1) & s->mask;
        if (leaves + n <= s->mask + 1) {
            int32_t *const line = &s->line[leaves * 2 * n];
            for (uint32_t c = 0; c < n; c++) {
                line[c * 2 * n + c] = out[c];
                line[c * 2 * n + n + c] = out[n + c];
            }
            continue;
        }
        for (uint32_t c = 0; c < n; c++) {
            int32_t *const line = &s->line[((leaves + c) & s->mask) * 2 * n + c];
            line[0] = out[c];
            line[n] = out[n + c];
        }
    }
}

static void spread(state *s, const int32_t *out) {
    const uint32_t n = s->n;
    const chain *k = &s->chain[s->wait_sel];
    const bool unknown = k->words < n << k->wide || k->same < n << k->wide || k->wide != s->wait_wide;
    switch (n) {
    case 8:
        spread_rows(8, s, out);
        break;
    case 32:
        spread_rows(32, s, out);
        break;
    default:
        spread_rows(n, s, out);
    }
    for (uint32_t at = 0; unknown && at < s->waiting + n - 1; at++) {
        s->unknown[((uint32_t)s->first + n + 1 + at) & s->mask] = true;
    }
}

/* The even vectors of act_wait are low bytes, the odd ones high bytes, and so are the words of the chain. */
static void flush_wide(state *s, const chain *k) {
    const uint32_t n = s->n;
    int8_t wgt[64 * 32], act[2][64 * 32] = {{0}};
    int64_t sum[64 * 32];
    int32_t out[64 * 32];
    for (uint32_t w = 0; w < 2 * n; w++) { /* the newest word has the low bytes of row 0 */
        npu_score_copy(&wgt[w * n], k->word[(k->words - 1 - w) % CHAIN], n);
    }
    for (uint32_t j = 0; j < s->waiting; j++) {
        npu_score_copy(&act[0][j * n], &s->act_wait[2 * j * n], n);
        npu_score_copy(&act[1][j * n], &s->act_wait[(2 * j + 1) * n], n);
    }
    cm_mesh_block_wide(n, act[0], act[1], wgt, sum);
    for (uint32_t j = 0; j < s->waiting; j++) {
        for (uint32_t c = 0; c < n; c++) {
            out[2 * j * n + c] = (int32_t)(uint32_t)(uint64_t)sum[j * n + c];
            out[(2 * j + 1) * n + c] = (int32_t)(uint32_t)((uint64_t)sum[j * n + c] >> 32);
        }
    }
    spread(s, out);
    s->waiting = 0;
}

static void flush(state *s) {
    const uint32_t n = s->n;
    const chain *k = &s->chain[s->wait_sel];
    int8_t wgt[32 * 32];
    int32_t out[64 * 32];
    if (s->waiting == 0) {
        return;
    }
    if (s->wait_wide) {
        flush_wide(s, k);
        return;
    }
    for (uint32_t r = 0; r < n; r++) { /* the newest word is that of row 0 */
        npu_score_copy(&wgt[r * n], k->word[(k->words - 1 - r) % CHAIN], n);
    }
    memset(&s->act_wait[2 * s->waiting * n], 0, (size_t)2 * (n - s->waiting) * n);
    cm_mesh_block(n, s->act_wait, wgt, out);
    spread(s, out);
    s->waiting = 0;
}

static bool zero(const void *p, uint32_t bytes) {
    static const uint8_t zeros[32];
    return npu_score_same(p, zeros, bytes);
}

static void take_vectors(state *s) {
    const uint32_t n = s->n, sel = *(const uint8_t *)s->sel_i.ptr;
    const bool wide = *(const uint8_t *)s->act_wide_i.ptr != 0;
    if (s->waiting > 0 && (sel != s->wait_sel || wide != s->wait_wide)) {
        flush(s);
    }
    if (s->waiting == 0) { /* zero vectors have zero results, whatever the weights are */
        if (zero(s->act_i[0].ptr, n) && zero(s->act_i[1].ptr, n)) {
            return;
        }
        s->first = s->enabled;
        s->wait_sel = sel;
        s->wait_wide = wide;
    }
    npu_score_copy(&s->act_wait[2 * s->waiting * n], s->act_i[0].ptr, n);
    npu_score_copy(&s->act_wait[(2 * s->waiting + 1) * n], s->act_i[1].ptr, n);
    if (++s->waiting == n) {
        flush(s);
    }
}

static void take_weights(state *s) {
    const uint32_t p = *(const uint8_t *)s->wgt_p_i.ptr;
    if (s->waiting > 0 && p == s->wait_sel) {
        flush(s);
    }
    chain *k = &s->chain[p];
    const bool wide = *(const uint8_t *)s->wgt_wide_i.ptr != 0;
    k->same = k->same > 0 && k->wide == wide ? k->same + 1 : 1;
    k->wide = wide;
    npu_score_copy(k->word[k->words++ % CHAIN], s->wgt_i.ptr, s->n);
}

__attribute__((cold)) static void wrong_result(tb_check *c, const state *s, uint32_t stream, const int32_t *line) {
    const int32_t *got = (const int32_t *)s->ps_o[stream].ptr;
    uint32_t col = 0;
    while (got[col] == line[col]) {
        col++;
    }
    const uint64_t vector = s->enabled - (s->n + 1 + col);
    char where[96];
    npu_score_vector_text(c, vector, stream, col, true, where, sizeof where);
    tb_check_failf(c, stream == 0 ? "partial sum 0" : "partial sum 1", vector, "%s|%" PRId32 "|%" PRId32, where,
                   got[col], line[col]);
}

static inline void check_results(tb_check *c, const state *s, const int32_t *line) {
    const uint32_t n = s->n;
    if (!npu_score_same(s->ps_o[0].ptr, line, 4 * n)) {
        wrong_result(c, s, 0, line);
    } else if (!npu_score_same(s->ps_o[1].ptr, line + n, 4 * n)) {
        wrong_result(c, s, 1, line + n);
    }
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    if (*(const uint8_t *)s->en_i.ptr == 0) {
        return;
    }
    const uint32_t at = (uint32_t)s->enabled & s->mask;
    int32_t *line = &s->line[at * 2 * s->n];
    /* earlier results depend on the initial state */
    if (s->enabled >= 2 * (uint64_t)s->n && !s->unknown[at]) {
        check_results(c, s, line);
    }
    npu_score_zero(line, 8 * s->n);
    s->unknown[at] = false;
    take_vectors(s);
    take_weights(s);
    s->enabled++;
}

const tb_check_ops npu_score_mesh = {.unit = "mesh",
                                     .inputs = (const char *const[]){"im2col", NULL},
                                     TB_STATE(state, PORTS),
                                     .wake = "en_i",
                                     .open = open,
                                     .clear = clear,
                                     .cycle = cycle};
