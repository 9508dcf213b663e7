/* ofm_buf.c - a copy of the output buffer: post must read the sums that acc wrote. */
#include "gemm_work.h"

#include <inttypes.h>

#define PAIRS 1024u /* pixel pairs of a column */
#define WORDS (PAIRS / 2)

/* The read of a port in the cycle before. */
typedef struct access {
    bool on;
    uint32_t col, cols; /* `cols` columns from `col` on */
    uint32_t word;
    bool known[4];
    int32_t expected[4][4];
} access;

#define PORTS we_i, wdata_i[2], wide_i, re_i, rcol_i[2], raddr_i[2], rdata_o[2]
typedef struct state {
    TB_PORTS(ports, PORTS);
    uint32_t n, cols;
    int32_t mem[32][WORDS][4];
    uint64_t pairs[32]; /* written to each column since reset */
    access port[2];
    uint64_t reads;
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    s->n = npu_score_n(c);
    s->cols = s->n >= 16 ? 4 : s->n / 4;
    (void)err, (void)err_size;
    return 0;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    memset(s->pairs, 0, sizeof s->pairs);
    s->port[0].on = s->port[1].on = false;
}

/* Number of the word since reset, counted when it was last written. */
static uint64_t lap(const state *s, uint32_t col, uint32_t word) {
    const uint64_t words = s->pairs[col] / 2;
    return words - 1 - (words - 1 - word) % WORDS;
}

static void compare(tb_check *c, state *s, uint32_t p) {
    const access *a = &s->port[p];
    for (uint32_t j = 0; j < a->cols; j++) {
        const uint8_t *data = (const uint8_t *)s->rdata_o[p].ptr + 16 * j;
        if (!a->known[j] || npu_score_same(data, a->expected[j], 16)) {
            continue;
        }
        int32_t got[4];
        memcpy(got, data, sizeof got);
        uint32_t i = 0;
        while (got[i] == a->expected[j][i]) {
            i++;
        }
        const uint64_t first = 4 * lap(s, a->col + j, a->word); /* pixels of the column before the word */
        char where[96];
        npu_score_tile_text(c, first / (2 * s->n), (uint32_t)(first % (2 * s->n)) + i, a->col + j, where, sizeof where);
        tb_check_failf(c, p == 0 ? "read port 0" : "read port 1", s->reads, "%s|%" PRId32 "|%" PRId32, where, got[i],
                       a->expected[j][i]);
    }
}

static void read_word(state *s, uint32_t p) {
    access *a = &s->port[p];
    const bool wide = tb_get(s->wide_i) != 0;
    const uint32_t addr = (uint32_t)tb_get(s->raddr_i[p]), rcol = (uint32_t)tb_get(s->rcol_i[p]);
    a->on = true;
    a->cols = wide ? s->cols : 1;
    a->col = wide ? s->cols * rcol : 2 * rcol + p;
    a->word = wide ? (addr & ~1u) | p : addr;
    s->reads++;
    if (a->col + a->cols > s->n) { /* no such column: the data are not defined */
        a->on = false;
        return;
    }
    for (uint32_t j = 0; j < a->cols; j++) {
        a->known[j] = s->pairs[a->col + j] >= 2 * (uint64_t)a->word + 2;
        memcpy(a->expected[j], s->mem[a->col + j][a->word], sizeof a->expected[j]);
    }
}

static void write_pairs(state *s, uint32_t we) {
    const int32_t *even = (const int32_t *)s->wdata_i[0].ptr, *odd = (const int32_t *)s->wdata_i[1].ptr;
    for (uint32_t c = 0; c < s->n; c++) {
        if (we >> c & 1u) {
            const uint64_t pair = s->pairs[c]++ % PAIRS;
            int32_t *word = &s->mem[c][pair / 2][2 * (pair % 2)];
            word[0] = even[c];
            word[1] = odd[c];
        }
    }
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t re = *(const uint8_t *)s->re_i.ptr;
    for (uint32_t p = 0; p < 2; p++) {
        if (s->port[p].on) {
            compare(c, s, p);
            s->port[p].on = false;
        }
        if (re >> p & 1u) {
            read_word(s, p);
        }
    }
    c->again = s->port[0].on || s->port[1].on;
    const uint32_t we = (uint32_t)tb_get(s->we_i);
    if (we != 0) { /* last: a read of the word that is written returns the old one */
        write_pairs(s, we);
    }
}

const tb_check_ops npu_score_ofm_buf = {.unit = "ofm_buf",
                                        .inputs = (const char *const[]){"acc", NULL},
                                        TB_STATE(state, PORTS),
                                        .wake = "re_i, we_i",
                                        .open = open,
                                        .clear = clear,
                                        .cycle = cycle};
