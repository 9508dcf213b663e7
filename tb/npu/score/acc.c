/*
 * acc.c - predicts the sums of tiles from the results of the mesh.
 *
 * INT16 (EnInt16): a result is an int64, its high half in the second stream, and a tile has 2N slots. The places below
 * are those of INT8, where a slot is half of a tile's.
 */
#include "gemm_work.h"

#include <inttypes.h>

#define PORTS en_i, first_i, last_i, wide_i, ps_i[2], valid_o, sum_o[2]
typedef struct state {
    TB_PORTS(ports, PORTS);
    uint32_t n;
    /* cycles; not cleared by a reset, as the vectors of im2col are counted the same way */
    uint64_t enabled;
    uint64_t first_bits, last_bits, wide_bits; /* flags of the columns: bit c is that of column c */
    int32_t sums[64][2][32];  /* by slot: all blocks of a tile put the same pixels into the same slot */
    int32_t mixed[2][32];     /* those of the last line, where its columns have different flags */
    const int32_t (*out)[32]; /* the last line of sums, of both streams */
    uint32_t expected;        /* columns whose sums are output now */
    uint64_t count;
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    s->n = npu_score_n(c);
    s->out = s->mixed;
    (void)err, (void)err_size;
    return 0;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->first_bits = s->last_bits = s->wide_bits = 0;
    s->expected = 0;
}

/*
 * The current sums were completed in the enabled cycle before; their vectors entered the mesh N + 1 + column earlier.
 */
static void where_is(tb_check *c, const state *s, uint32_t stream, uint32_t col, char *dst, size_t size) {
    npu_score_vector_text(c, s->enabled - 1 - (s->n + 1 + col), stream, col, false, dst, size);
}

static void wrong_columns(tb_check *c, const state *s, uint32_t valid) {
    uint32_t col = 0;
    while (((valid ^ s->expected) >> col & 1u) == 0) {
        col++;
    }
    char where[96];
    where_is(c, s, 0, col, where, sizeof where);
    tb_check_failf(c, "columns", s->count, "%s|sums of the columns 0x%" PRIx32 "|0x%" PRIx32, where, valid,
                   s->expected);
}

static void wrong_sum(tb_check *c, state *s, uint32_t stream, uint32_t col, int32_t got, int32_t expected) {
    char where[96];
    where_is(c, s, stream, col, where, sizeof where);
    tb_check_failf(c, "sum", s->count, "%s|%" PRId32 "|%" PRId32, where, got, expected);
}

static void check_sums(tb_check *c, state *s) {
    for (uint32_t stream = 0; stream < 2; stream++) {
        const int32_t *got = (const int32_t *)s->sum_o[stream].ptr, *expected = s->out[stream];
        if (npu_score_same(got, expected, 4 * s->n)) {
            continue;
        }
        for (uint32_t col = 0; col < s->n; col++) {
            if ((s->expected >> col & 1u) != 0 && got[col] != expected[col]) {
                wrong_sum(c, s, stream, col, got[col], expected[col]);
                return;
            }
        }
    }
    s->count++;
}

static int64_t joined(int32_t low, int32_t high) {
    return (int64_t)((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
}

/* Columns from..to-1 as int64. */
static void add_long(bool first, uint32_t from, uint32_t to, const int32_t *const ps[2], int32_t sums[2][32]) {
    for (uint32_t c = from; c < to; c++) {
        const int64_t in = joined(ps[0][c], ps[1][c]);
        int64_t sum = joined(sums[0][c], sums[1][c]);
        cm_acc_wide(first, 1, &in, &sum);
        sums[0][c] = (int32_t)(uint32_t)(uint64_t)sum;
        sums[1][c] = (int32_t)(uint32_t)((uint64_t)sum >> 32);
    }
}

/* How many columns from `from` on have the same flag. */
static uint32_t alike(uint64_t flags, uint32_t from, uint32_t n) {
    const uint64_t here = flags >> from;
    return (uint32_t)__builtin_ctzll(((here & 1u) != 0 ? ~here : here) | UINT64_C(1) << (n - from));
}

/* A line whose columns differ in their flags; neighbours with the same ones go through the golden function together. */
static void add_mixed(state *s, const int32_t *const ps[2]) {
    for (uint32_t from = 0, to; from < s->n; from = to) {
        const uint32_t same_first = alike(s->first_bits, from, s->n), same_wide = alike(s->wide_bits, from, s->n);
        const bool flag = (s->first_bits >> from & 1u) != 0, long_sums = (s->wide_bits >> from & 1u) != 0;
        to = from + (same_first < same_wide ? same_first : same_wide);
        const uint32_t slot = (uint32_t)(s->enabled % (s->n << long_sums));
        if (long_sums) {
            add_long(flag, from, to, ps, s->sums[slot]);
        } else {
            for (uint32_t stream = 0; stream < 2; stream++) {
                cm_acc(flag, to - from, ps[stream] + from, &s->sums[slot][stream][from]);
            }
        }
        for (uint32_t stream = 0; stream < 2; stream++) {
            memcpy(&s->mixed[stream][from], &s->sums[slot][stream][from], 4 * (to - from));
        }
    }
    s->out = s->mixed;
}

/* One line of results. */
static void add(state *s, uint64_t mask) {
    const int32_t *const ps[2] = {(const int32_t *)s->ps_i[0].ptr, (const int32_t *)s->ps_i[1].ptr};
    if (s->wide_bits != 0 || (s->first_bits != 0 && s->first_bits != mask)) {
        add_mixed(s, ps);
        return;
    }
    int32_t(*const sums)[32] = s->sums[s->enabled % s->n];
    cm_acc(s->first_bits != 0, s->n, ps[0], sums[0]);
    cm_acc(s->first_bits != 0, s->n, ps[1], sums[1]);
    s->out = (const int32_t(*)[32])sums;
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t valid = (uint32_t)tb_get(s->valid_o);
    if ((valid | s->expected) != 0) {
        if (valid != s->expected) {
            wrong_columns(c, s, valid);
            return;
        }
        check_sums(c, s);
    }
    c->again = s->expected != 0;
    if (*(const uint8_t *)s->en_i.ptr == 0) {
        return;
    }
    const uint64_t mask = (UINT64_C(1) << s->n) - 1;
    s->first_bits = (s->first_bits << 1 | *(const uint8_t *)s->first_i.ptr) & mask;
    s->wide_bits = (s->wide_bits << 1 | *(const uint8_t *)s->wide_i.ptr) & mask;
    s->last_bits = (s->last_bits << 1 | *(const uint8_t *)s->last_i.ptr) & mask;
    add(s, mask);
    s->expected = (uint32_t)s->last_bits;
    s->enabled++;
    c->again = c->again || s->expected != 0;
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if ((s->first_bits | s->last_bits) != 0) {
        tb_check_fail(c, "sum", s->count, NULL, "an end", "sums that are not complete");
    }
}

const tb_check_ops npu_score_acc = {.unit = "acc",
                                    .inputs = (const char *const[]){"mesh", NULL},
                                    TB_STATE(state, PORTS),
                                    .wake = "valid_o, en_i",
                                    .open = open,
                                    .clear = clear,
                                    .cycle = cycle,
                                    .finish = finish};
