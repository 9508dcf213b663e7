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

#define ROW 32u /* columns of the largest mesh */
#define NONE 2u /* no value of sel_i */

#define PORTS en_i, sel_i, wgt_p_i, wgt_i, act_i[2], ps_o[2], wgt_wide_i, act_wide_i
typedef struct state {
    /* ---- members used in every cycle ---- */
    const uint8_t *en, *sel, *wgt_p;
    const void *wgt, *act[2];
    const int32_t *ps[2];
    uint64_t enabled;  /* enabled cycles; also the number of the vectors of this cycle */
    uint32_t unknowns; /* lines that are unknown */
    uint32_t waiting;  /* vectors */
    uint32_t wait_sel; /* NONE: no vector waits */
    /* of both weight registers: */
    uint32_t newest[2]; /* byte of the newest word */
    uint32_t n;
    uint64_t same[2]; /* words that came with the same wgt_wide_i as the newest: a chain that mixes both has no order */
    bool wide[2];     /* that one's */
    bool int16;       /* else wgt_wide_i and act_wide_i are of no meaning */
    bool wait_wide;   /* of the vectors that wait */
    uint64_t first;   /* number of the first vector that waits */
    TB_PORTS(ports, PORTS);
    /*
     * The last words of each register, newest first and without gaps: the last N are a block as the golden function
     * takes it, those with wgt_wide_i the last 2N. New words are put in front; when there is no place left, those that
     * are needed are moved to the end.
     */
    _Alignas(TB_CHECK_LINE) int8_t word[2][5 * ROW * ROW]; /* 4 are needed, but would share sets of a cache */
    /* vectors that wait for the golden function: [2 * vector + stream][row] */
    _Alignas(TB_CHECK_LINE) int8_t act_wait[2 * ROW * ROW];
    /*
     * Results as they are output, [line][stream][column] without gaps: a ring of 2N lines by enabled cycle. They are 0
     * from their comparison on, as are the results of vectors of 0.
     */
    _Alignas(TB_CHECK_LINE) int32_t line[2 * ROW * 2 * ROW];
    /* Lines, by the enabled cycle in which they are output, modulo 4N: of a vector that was multiplied by the initial
     * contents of a register. */
    bool unknown[4 * ROW];
} state;

/* What is output in an enabled cycle: column c belongs to the vector N + 1 + c cycles before. */
static inline int32_t *line_of(uint32_t n, state *s, uint64_t cycle) {
    return &s->line[cycle % (2 * n) * 2 * n];
}

static void mark_unknown(state *s, uint64_t from, uint64_t to) {
    for (uint64_t at = from; at < to; at++) {
        bool *unknown = &s->unknown[at % (4 * s->n)];
        s->unknowns += !*unknown;
        *unknown = true;
    }
}

/* Is the line of this cycle one of those? It is forgotten. */
__attribute__((noinline)) static bool take_unknown(state *s) {
    bool *unknown = &s->unknown[s->enabled % (4 * s->n)];
    const bool was = *unknown;
    s->unknowns -= was;
    *unknown = false;
    return was;
}

/* The mesh has no reset. */
static void clear(tb_check *c) {
    (void)c;
}

/* The results of a vector, of both streams: each column a line later than the one before it. */
static inline void put_results(uint32_t n, state *s, uint64_t vector, const int32_t *result) {
    const ptrdiff_t lines = 2 * (ptrdiff_t)n, begin = (ptrdiff_t)((vector + n + 1) % (2 * n));
#pragma GCC unroll 8
    for (ptrdiff_t c = 0; c < n; c++) {
        const ptrdiff_t at = (begin < lines - c ? begin : begin - lines) * lines + c * (lines + 1);
        s->line[at] = result[c];
        s->line[at + n] = result[n + c];
    }
}

/* The even vectors of act_wait are low bytes, the odd ones high bytes, and so are the words of the chain. */
static void multiply_wide(state *s, const int8_t *wgt, int32_t *out) {
    const uint32_t n = s->n;
    int8_t act[2][2 * ROW * ROW] = {{0}};
    int64_t sum[2 * ROW * ROW];
    for (uint32_t j = 0; j < s->waiting; j++) {
        memcpy(&act[0][j * n], &s->act_wait[2 * j * n], n);
        memcpy(&act[1][j * n], &s->act_wait[(2 * j + 1) * n], n);
    }
    cm_mesh_block_wide(n, act[0], act[1], wgt, sum);
    for (uint32_t j = 0; j < s->waiting; j++) {
        for (uint32_t c = 0; c < n; c++) {
            out[2 * j * n + c] = (int32_t)(uint32_t)(uint64_t)sum[j * n + c];
            out[(2 * j + 1) * n + c] = (int32_t)(uint32_t)((uint64_t)sum[j * n + c] >> 32);
        }
    }
}

/* Vectors that are no whole block. */
__attribute__((noinline)) static void multiply_part(state *s, const int8_t *wgt, int32_t *out) {
    const uint32_t n = s->n, waiting = s->waiting;
    memset(&s->act_wait[2 * waiting * n], 0, (size_t)2 * (n - waiting) * n);
    if (s->wait_wide) {
        multiply_wide(s, wgt, out);
    } else {
        cm_mesh_block(n, s->act_wait, wgt, out);
    }
}

/* The vectors that wait go through the golden function. Inlined with a constant N. */
static inline __attribute__((always_inline)) void flush_rows(uint32_t n, state *s) {
    const uint32_t sel = s->wait_sel, waiting = s->waiting;
    const int8_t *wgt = &s->word[sel][s->newest[sel]];
    int32_t result[2 * ROW * ROW];
    if (waiting == n && !s->wait_wide) {
        cm_mesh_block(n, s->act_wait, wgt, result);
    } else {
        multiply_part(s, wgt, result);
    }
    for (uint32_t j = 0; j < waiting; j++) {
        put_results(n, s, s->first + j, &result[2 * j * n]);
    }
    if (s->same[sel] < n << s->wide[sel] || s->wide[sel] != s->wait_wide) {
        mark_unknown(s, s->first + n + 1, s->first + waiting + 2 * n);
    }
    s->waiting = 0;
    s->wait_sel = NONE;
}

__attribute__((noinline, hot)) static void flush(state *s) {
    switch (s->n) {
    case 8:
        flush_rows(8, s);
        break;
    case 32:
        flush_rows(32, s);
        break;
    default:
        flush_rows(s->n, s);
    }
}

/* Zero vectors need not wait, as they have zero results, whatever the weights are. */
static inline bool zero_vectors(uint32_t n, const state *s) {
    static const int8_t zeros[ROW];
    return npu_score_same(s->act[0], zeros, n) && npu_score_same(s->act[1], zeros, n);
}

static inline void take_vectors(uint32_t n, bool int16, state *s) {
    const bool wide = int16 && npu_score_b(s->act_wide_i) != 0;
    if (*s->sel != s->wait_sel || (int16 && wide != s->wait_wide)) { /* the first ones of a block, or other weights */
        if (s->waiting > 0) {
            flush(s);
        }
        if (zero_vectors(n, s)) {
            return;
        }
        s->first = s->enabled;
        s->wait_sel = *s->sel;
        s->wait_wide = wide;
    }
    int8_t *const to = &s->act_wait[2 * s->waiting * n];
    npu_score_copy(to, s->act[0], n);
    npu_score_copy(to + n, s->act[1], n);
    s->waiting++;
    /* the word of this cycle must not come before those that these vectors meet */
    if (s->waiting == n || *s->wgt_p == s->wait_sel) {
        flush(s);
    }
}

static inline void take_weights(uint32_t n, bool int16, state *s) {
    const uint32_t p = *s->wgt_p, bytes = (n << int16) * n;
    uint32_t newest = s->newest[p];
    if (int16 && (npu_score_b(s->wgt_wide_i) != 0) != s->wide[p]) {
        s->wide[p] = !s->wide[p];
        s->same[p] = 0;
    }
    s->same[p]++;
    if (newest == 0) {
        memcpy(&s->word[p][bytes], s->word[p], bytes);
        newest = bytes;
    }
    s->newest[p] = newest - n;
    npu_score_copy(&s->word[p][newest - n], s->wgt, n);
}

__attribute__((cold, noinline)) static void wrong_result(tb_check *c, state *s) {
    const uint32_t n = s->n;
    const int32_t *line = line_of(n, s, s->enabled);
    for (uint32_t stream = 0; stream < 2; stream++) {
        for (uint32_t col = 0; col < n; col++) {
            const int32_t expected = line[stream * n + col];
            if (s->ps[stream][col] != expected) {
                const uint64_t vector = s->enabled - (n + 1 + col);
                char where[96];
                npu_score_vector_text(c, vector, stream, col, true, where, sizeof where);
                tb_check_failf(c, stream == 0 ? "partial sum 0" : "partial sum 1", vector, "%s|%" PRId32 "|%" PRId32,
                               where, s->ps[stream][col], expected);
                return;
            }
        }
    }
}

/* Do the outputs differ from a line? */
static inline bool line_differs(uint32_t n, const state *s, const int32_t *line) {
    npu_score_four differ = {0};
    for (uint32_t col = 0; col < n; col += 4) {
        differ |= *(const npu_score_four *)&s->ps[0][col] ^ *(const npu_score_four *)&line[col];
        differ |= *(const npu_score_four *)&s->ps[1][col] ^ *(const npu_score_four *)&line[n + col];
    }
    return npu_score_any(differ);
}

/* Inlined with a constant N where the time of a simulation matters. */
static inline __attribute__((always_inline)) void cycle_of(uint32_t n, bool int16, tb_check *c, state *s) {
    if (*s->en == 0) {
        return;
    }
    int32_t *line = line_of(n, s, s->enabled);
    if ((s->unknowns == 0 || !take_unknown(s)) && line_differs(n, s, line)) {
        wrong_result(c, s);
        return;
    }
    npu_score_zero(line, 8 * n);
    take_vectors(n, int16, s);
    take_weights(n, int16, s);
    s->enabled++;
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    cycle_of(s->n, s->int16, c, s);
}

__attribute__((hot)) static void cycle_8(tb_check *c) {
    cycle_of(8, false, c, (state *)c->state);
}

__attribute__((hot)) static void cycle_32(tb_check *c) {
    cycle_of(32, false, c, (state *)c->state);
}

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    s->n = npu_score_n(c);
    s->int16 = npu_score_int16(c);
    s->wait_sel = NONE;
    s->en = (const uint8_t *)s->en_i.ptr;
    s->sel = (const uint8_t *)s->sel_i.ptr;
    s->wgt_p = (const uint8_t *)s->wgt_p_i.ptr;
    s->wgt = s->wgt_i.ptr;
    for (uint32_t i = 0; i < 2; i++) {
        s->act[i] = s->act_i[i].ptr;
        s->ps[i] = (const int32_t *)s->ps_o[i].ptr;
    }
    mark_unknown(s, 0, 2 * s->n); /* these lines depend on the initial state */
    c->cycle = s->int16 ? cycle : s->n == 8 ? cycle_8 : s->n == 32 ? cycle_32 : cycle;
    (void)err, (void)err_size;
    return 0;
}

const tb_check_ops npu_score_mesh = {.unit = "mesh",
                                     .inputs = (const char *const[]){"im2col", NULL},
                                     TB_STATE(state, PORTS),
                                     .wake = "en_i",
                                     .open = open,
                                     .clear = clear,
                                     .cycle = cycle};
