/* ofm_buf.c - a copy of the output buffer: post must read the sums that acc wrote. */
#include "gemm_work.h"

#include <inttypes.h>

#define PAIRS 1024u /* pixel pairs of a column */
#define WORDS (PAIRS / 2)
#define COLS 4u /* columns of the widest read */
#define PAD 4u  /* words: else the columns would share few sets of a cache */

/* The read of a port in the cycle before. */
typedef struct access {
    uint32_t col, cols; /* `cols` columns from `col` on */
    uint32_t word;
    int32_t expected[COLS][4];
} access;

#define PORTS re_i, wide_i, rcol_i[2], raddr_i[2], rdata_o[2], we_i, wdata_i[2]
typedef struct state {
    /* ---- members used in every cycle ---- */
    const uint8_t *re, *we, *wide, *rcol[2];
    const void *raddr[2], *rdata[2], *wdata[2];
    uint32_t asked; /* by which ports */
    uint32_t wrote; /* columns that were written in the cycle before */
    uint64_t reads;
    access port[2];
    uint64_t pairs[32]; /* written to each column since reset */
    uint32_t n;
    TB_PORTS(ports, PORTS);
    int32_t mem[32][WORDS + PAD][4]; /* of words that have been written since reset, as `pairs` says */
} state;

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    memset(s->pairs, 0, sizeof s->pairs);
    s->asked = 0;
}

/* Number of the word since reset, counted when it was last written. */
static uint64_t lap(const state *s, uint32_t col, uint32_t word) {
    const uint64_t words = s->pairs[col] / 2;
    return words - 1 - (words - 1 - word) % WORDS;
}

typedef npu_score_four four;
typedef uint64_t two __attribute__((vector_size(16), may_alias));

/* The data of a port differ. A word that has not been written since reset is not compared. */
__attribute__((cold, noinline)) static void wrong_word(tb_check *c, const state *s, uint32_t p) {
    const access *a = &s->port[p];
    for (uint32_t j = 0; j < a->cols; j++) {
        const uint32_t col = a->col + j;
        const uint64_t pairs = s->pairs[col] - (s->wrote >> col & 1u); /* before the edge of the read */
        int32_t got[4];
        memcpy(got, (const uint8_t *)s->rdata[p] + 16 * j, sizeof got);
        if (pairs < 2 * (uint64_t)a->word + 2 || npu_score_same(got, a->expected[j], sizeof got)) {
            continue;
        }
        uint32_t i = 0;
        while (got[i] == a->expected[j][i]) {
            i++;
        }
        const uint64_t first = 4 * lap(s, col, a->word); /* pixels of the column before the word */
        char where[96];
        npu_score_tile_text(c, first / (2 * s->n), (uint32_t)(first % (2 * s->n)) + i, col, where, sizeof where);
        tb_check_failf(c, p == 0 ? "read port 0" : "read port 1", s->reads, "%s|%" PRId32 "|%" PRId32, where, got[i],
                       a->expected[j][i]);
    }
}

/* Columns of a wide read. */
static inline uint32_t wide_cols(uint32_t n) {
    return n >= 16 ? COLS : n / COLS;
}

static inline bool differs(const state *s, uint32_t p, uint32_t cols) {
    const four *got = (const four *)s->rdata[p];
    four differ = {0};
    for (uint32_t j = 0; j < cols; j++) {
        differ |= got[j] ^ *(const four *)s->port[p].expected[j];
    }
    return npu_score_any(differ);
}

static inline bool port_differs(uint32_t n, const state *s, uint32_t p) {
    return (s->asked >> p & 1u) != 0 && (s->port[p].cols == 1 ? differs(s, p, 1) : differs(s, p, wide_cols(n)));
}

/* Reads differ, maybe those of words that were not written. Then they have been compared. */
__attribute__((cold, noinline)) static void look_closer(tb_check *c, state *s) {
    for (uint32_t p = 0; p < 2; p++) {
        if (port_differs(s->n, s, p)) {
            wrong_word(c, s, p);
        }
    }
    s->asked = 0;
    c->cycle(c);
}

static inline bool read_cols(uint32_t n, state *s, uint32_t p, uint32_t col, uint32_t cols, uint32_t word) {
    access *a = &s->port[p];
    if (col + cols > n) { /* no such column: the data are not defined */
        return false;
    }
    a->col = col;
    a->cols = cols;
    a->word = word;
    for (uint32_t j = 0; j < cols; j++) {
        memcpy(a->expected[j], s->mem[col + j][word], sizeof a->expected[j]);
    }
    return true;
}

/* True: the data of this read are to be compared. */
static inline bool read_word(uint32_t n, state *s, uint32_t p) {
    const uint32_t addr = npu_score_half(s->raddr[p]), rcol = *s->rcol[p], cols = wide_cols(n);
    s->reads++;
    return *s->wide != 0 ? read_cols(n, s, p, cols * rcol, cols, (addr & ~1u) | p)
                         : read_cols(n, s, p, 2 * rcol + p, 1, addr);
}

static void write_some(state *s, uint32_t we) {
    const int32_t *even = (const int32_t *)s->wdata[0], *odd = (const int32_t *)s->wdata[1];
    for (; we != 0; we &= we - 1) {
        const uint32_t col = (uint32_t)__builtin_ctz(we);
        const uint64_t pair = s->pairs[col]++ % PAIRS;
        int32_t *word = &s->mem[col][pair / 2][2 * (pair % 2)];
        word[0] = even[col];
        word[1] = odd[col];
    }
}

static inline void write_pair(state *s, uint32_t col, uint64_t pair) {
    memcpy(&s->mem[col][0][2 * (s->pairs[col] % PAIRS)], &pair, sizeof pair);
}

/* All columns, as in most cycles. */
static inline void write_all(uint32_t n, state *s) {
    const four *even = (const four *)s->wdata[0], *odd = (const four *)s->wdata[1];
    for (uint32_t col = 0; col < n; col += 4, even++, odd++) {
        const two low = (two)__builtin_shufflevector(*even, *odd, 0, 4, 1, 5);
        const two high = (two)__builtin_shufflevector(*even, *odd, 2, 6, 3, 7);
        write_pair(s, col, low[0]);
        write_pair(s, col + 1, low[1]);
        write_pair(s, col + 2, high[0]);
        write_pair(s, col + 3, high[1]);
    }
    for (uint32_t col = 0; col < n; col++) {
        s->pairs[col]++;
    }
}

/* Inlined with a constant N where the time of a simulation matters. */
static inline __attribute__((always_inline)) void cycle_of(uint32_t n, tb_check *c, state *s) {
    if (port_differs(n, s, 0) || port_differs(n, s, 1)) {
        look_closer(c, s);
        return;
    }
    const uint32_t re = *s->re, we = n == 8 ? *s->we : (uint32_t)tb_get(s->we_i);
    uint32_t asked = 0;
    for (uint32_t p = 0; p < 2; p++) {
        if ((re >> p & 1u) != 0 && read_word(n, s, p)) {
            asked |= 1u << p;
        }
    }
    s->asked = asked;
    c->again = asked != 0;
    s->wrote = we; /* last: a read of the word that is written returns the old one */
    if (we == (uint32_t)((UINT64_C(1) << n) - 1)) {
        write_all(n, s);
    } else {
        write_some(s, we);
    }
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    cycle_of(s->n, c, s);
}

__attribute__((hot)) static void cycle_8(tb_check *c) {
    cycle_of(8, c, (state *)c->state);
}

__attribute__((hot)) static void cycle_32(tb_check *c) {
    cycle_of(32, c, (state *)c->state);
}

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    s->n = npu_score_n(c);
    s->re = (const uint8_t *)s->re_i.ptr;
    s->we = (const uint8_t *)s->we_i.ptr;
    s->wide = (const uint8_t *)s->wide_i.ptr;
    for (uint32_t p = 0; p < 2; p++) {
        s->rcol[p] = (const uint8_t *)s->rcol_i[p].ptr;
        s->raddr[p] = s->raddr_i[p].ptr;
        s->rdata[p] = s->rdata_o[p].ptr;
        s->wdata[p] = s->wdata_i[p].ptr;
    }
    c->cycle = s->n == 8 ? cycle_8 : s->n == 32 ? cycle_32 : cycle;
    return s->raddr_i[0].width <= 16 && WORDS == 1u << s->raddr_i[0].width
               ? 0
               : opt_fail(err, err_size, "ofm_buf: an address of %" PRIu32 " bits for %u words", s->raddr_i[0].width,
                          WORDS);
}

const tb_check_ops npu_score_ofm_buf = {.unit = "ofm_buf",
                                        .inputs = (const char *const[]){"acc", NULL},
                                        TB_STATE(state, PORTS),
                                        .wake = "re_i, we_i",
                                        .open = open,
                                        .clear = clear,
                                        .cycle = cycle};
