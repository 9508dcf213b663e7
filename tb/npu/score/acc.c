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
    /* ---- members used in every cycle ---- */
    const uint8_t *en, *first, *last, *valid;
    const int32_t *ps; /* the first stream of ps_i */
    /* cycles; not cleared by a reset, as the vectors of im2col are counted the same way */
    uint64_t enabled;
    /* flags of the columns: bit c is that of column c; of last_i: its sum is output now */
    uint32_t first_bits, wide_bits, expected;
    bool int16, joined; /* joined: the second stream of ps_i follows the first one in memory */
    const int32_t *out; /* the last line of sums, if one is output: [stream][column] without gaps */
    const int32_t *sum[2];
    uint64_t count;
    uint32_t n;
    TB_PORTS(ports, PORTS);
    /* lines by slot: all blocks of a tile put the same pixels into the same slot */
    _Alignas(TB_CHECK_LINE) int32_t sums[64 * 2 * 32];
    int32_t mixed[2 * 32]; /* that of the last line, where its columns have different flags */
} state;

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->first_bits = s->wide_bits = s->expected = 0;
}

/*
 * The current sums were completed in the enabled cycle before; their vectors entered the mesh N + 1 + column earlier.
 */
static void where_is(tb_check *c, const state *s, uint32_t stream, uint32_t col, char *dst, size_t size) {
    npu_score_vector_text(c, s->enabled - 1 - (s->n + 1 + col), stream, col, false, dst, size);
}

__attribute__((cold, noinline)) static void wrong_columns(tb_check *c, const state *s, uint32_t valid) {
    uint32_t col = 0;
    while (((valid ^ s->expected) >> col & 1u) == 0) {
        col++;
    }
    char where[96];
    where_is(c, s, 0, col, where, sizeof where);
    tb_check_failf(c, "columns", s->count, "%s|sums of the columns 0x%" PRIx32 "|0x%" PRIx32, where, valid,
                   s->expected);
}

/* Of the columns that are output. */
static bool find_wrong_sum(tb_check *c, const state *s) {
    for (uint32_t stream = 0; stream < 2; stream++) {
        const int32_t *got = s->sum[stream], *expected = s->out + stream * s->n;
        for (uint32_t col = 0; col < s->n; col++) {
            if ((s->expected >> col & 1u) != 0 && got[col] != expected[col]) {
                char where[96];
                where_is(c, s, stream, col, where, sizeof where);
                tb_check_failf(c, "sum", s->count, "%s|%" PRId32 "|%" PRId32, where, got[col], expected[col]);
                return true;
            }
        }
    }
    return false;
}

static int64_t join(int32_t low, int32_t high) {
    return (int64_t)((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
}

/* Columns from..to-1 as int64. */
static void add_long(const state *s, bool first, uint32_t from, uint32_t to, int32_t *sums) {
    const int32_t *low = (const int32_t *)s->ps_i[0].ptr, *high = (const int32_t *)s->ps_i[1].ptr;
    for (uint32_t c = from; c < to; c++) {
        const int64_t in = join(low[c], high[c]);
        int64_t sum = join(sums[c], sums[s->n + c]);
        cm_acc_wide(first, 1, &in, &sum);
        sums[c] = (int32_t)(uint32_t)(uint64_t)sum;
        sums[s->n + c] = (int32_t)(uint32_t)((uint64_t)sum >> 32);
    }
}

/* How many columns from `from` on have the same flag. */
static uint32_t alike(uint32_t flags, uint32_t from, uint32_t n) {
    const uint64_t here = flags >> from;
    return (uint32_t)__builtin_ctzll(((here & 1u) != 0 ? ~here : here) | UINT64_C(1) << (n - from));
}

/* A line with columns of INT16; neighbours with the same flags go through the golden function together. */
__attribute__((noinline)) static void add_mixed(state *s) {
    for (uint32_t from = 0, to; from < s->n; from = to) {
        const uint32_t same_first = alike(s->first_bits, from, s->n), same_wide = alike(s->wide_bits, from, s->n);
        const bool flag = (s->first_bits >> from & 1u) != 0, long_sums = (s->wide_bits >> from & 1u) != 0;
        to = from + (same_first < same_wide ? same_first : same_wide);
        int32_t *const sums = &s->sums[s->enabled % (s->n << long_sums) * 2 * s->n];
        if (long_sums) {
            add_long(s, flag, from, to, sums);
        }
        for (uint32_t stream = 0; stream < 2; stream++) {
            const uint32_t at = stream * s->n + from;
            if (!long_sums) {
                cm_acc(flag, to - from, (const int32_t *)s->ps_i[stream].ptr + from, &sums[at]);
            }
            memcpy(&s->mixed[at], &sums[at], 4 * (to - from));
        }
    }
    s->out = s->mixed;
}

__attribute__((noinline)) static void add_apart(const state *s, bool first, int32_t *sums) {
    cm_acc(first, s->n, s->ps, sums);
    cm_acc(first, s->n, (const int32_t *)s->ps_i[1].ptr, sums + s->n);
}

/* Both streams of a line. */
static inline void add(uint32_t n, const state *s, bool first, int32_t *sums) {
    if (__builtin_expect(s->joined, true)) {
        cm_acc(first, 2 * n, s->ps, sums);
    } else {
        add_apart(s, first, sums);
    }
}

/* The flag of a column is that of the column before it in the cycle before. */
static inline uint32_t shift(uint32_t n, uint32_t bits, const uint8_t *flag) {
    return (bits << 1 | *flag) & (uint32_t)((UINT64_C(1) << n) - 1);
}

/* One line of results. */
static inline __attribute__((always_inline)) void take_results(uint32_t n, bool int16, tb_check *c, state *s) {
    if (*s->en == 0) {
        c->again = s->expected != 0;
        return;
    }
    s->first_bits = shift(n, s->first_bits, s->first);
    s->expected = shift(n, s->expected, s->last);
    c->again = s->expected != 0;
    if (int16) {
        s->wide_bits = shift(n, s->wide_bits, (const uint8_t *)s->wide_i.ptr);
        if (s->wide_bits != 0) {
            add_mixed(s);
            s->enabled++;
            return;
        }
    }
    int32_t *const sums = &s->sums[s->enabled++ % n * 2 * n];
    const bool first = s->first_bits == (uint32_t)((UINT64_C(1) << n) - 1);
    for (uint32_t bits = first ? 0 : s->first_bits; bits != 0; bits &= bits - 1) { /* only some columns begin */
        const uint32_t col = (uint32_t)__builtin_ctz(bits);
        sums[col] = sums[n + col] = 0;
    }
    s->out = sums;
    add(n, s, first, sums);
}

/* The outputs differ, maybe in columns that are of no meaning. */
__attribute__((noinline)) static void look_closer(tb_check *c, state *s, uint32_t valid) {
    if (valid != s->expected) {
        wrong_columns(c, s, valid);
    } else if (!find_wrong_sum(c, s)) {
        s->count++;
        take_results(s->n, s->int16, c, s);
    }
}

/* Do the sums of some column differ? Those that are not output are of no meaning. */
static inline bool sums_differ(uint32_t n, const state *s) {
    npu_score_four differ = {0};
    for (uint32_t col = 0; col < n; col += 4) {
        differ |= *(const npu_score_four *)&s->sum[0][col] ^ *(const npu_score_four *)&s->out[col];
        differ |= *(const npu_score_four *)&s->sum[1][col] ^ *(const npu_score_four *)&s->out[n + col];
    }
    return npu_score_any(differ);
}

/* A line of which a column begins or ends. */
static inline __attribute__((always_inline)) void see_line(uint32_t n, bool int16, tb_check *c, state *s,
                                                           uint32_t valid) {
    if ((valid | s->expected) != 0) {
        if (valid != s->expected || sums_differ(n, s)) {
            look_closer(c, s, valid);
            return;
        }
        s->count++;
    }
    take_results(n, int16, c, s);
}

/* Inlined with a constant N where the time of a simulation matters. */
static inline __attribute__((always_inline)) void cycle_of(uint32_t n, bool int16, tb_check *c, state *s) {
    const uint32_t valid = n <= 8 ? *s->valid : (uint32_t)tb_get(s->valid_o);
    if (int16 || (valid | s->expected | s->first_bits | *s->first | *s->last) != 0 || *s->en == 0) {
        see_line(n, int16, c, s, valid);
    } else { /* in most cycles of tiles with many blocks */
        add(n, s, false, &s->sums[s->enabled++ % n * 2 * n]);
    }
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
    s->en = (const uint8_t *)s->en_i.ptr;
    s->first = (const uint8_t *)s->first_i.ptr;
    s->last = (const uint8_t *)s->last_i.ptr;
    s->valid = (const uint8_t *)s->valid_o.ptr;
    s->ps = (const int32_t *)s->ps_i[0].ptr;
    s->sum[0] = (const int32_t *)s->sum_o[0].ptr;
    s->sum[1] = (const int32_t *)s->sum_o[1].ptr;
    s->joined = (const int32_t *)s->ps_i[1].ptr == s->ps + s->n;
    s->out = s->mixed;
    c->cycle = s->int16 ? cycle : s->n == 8 ? cycle_8 : s->n == 32 ? cycle_32 : cycle;
    (void)err, (void)err_size;
    return 0;
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if ((s->first_bits | s->expected) != 0) {
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
