/*
 * score.h - the checks of the NPU's units inside the running NPU (tb/tap/check.h); one file for each unit.
 *
 * layout.c follows the ports of layout, and so on; tb/npu/taps.list has the tapped signals. Predictions use the golden
 * functions of cmodel.h; where a unit has none (queues, walkers), the check implements its behaviour from
 * docs/npu/npu.md.
 */
#ifndef NPU_SCORE_H
#define NPU_SCORE_H

#include <stdlib.h>

#include "cmodel.h"
#include "tb.h"

/* Parameters of the design; the ctx of all checks. */
typedef struct npu_score_ctx {
    uint32_t n;
    bool int16; /* a bench: EnInt16 */
} npu_score_ctx;

static inline uint32_t npu_score_n(const tb_check *c) {
    return ((const npu_score_ctx *)c->all->ctx)->n;
}

/* Parameter EnInt16; the whole NPU shows it by the units that only INT16 has. */
static inline bool npu_score_int16(const tb_check *c) {
    return ((const npu_score_ctx *)c->all->ctx)->int16 || tb_taps_find(&c->all->taps, "fp_i64_to_f32", 0) != NULL;
}

/* Value of a signal of up to 8 bits. */
static inline uint32_t npu_score_b(tb_sig s) {
    return *(const uint8_t *)s.ptr;
}

/* Value of a signal of 9 to 16 bits. */
static inline uint32_t npu_score_half(const void *signal) {
    uint16_t value;
    memcpy(&value, signal, sizeof value);
    return value;
}

static inline uint32_t npu_score_h(tb_sig s) {
    return npu_score_half(s.ptr);
}

/*
 * Signals that a check reads in every cycle, as distances from one of them: of 4 bytes each, so that few lines of the
 * cache hold them all. NPU_SCORE_PLACES(at, valid_i, ready_o) is a member `at` with the members valid_i and ready_o;
 * they come in the order of the signals that they stand for.
 */
#define NPU_SCORE_PLACES(NAME, ...)                                                                                    \
    struct {                                                                                                           \
        int32_t __VA_ARGS__;                                                                                           \
    } NAME

/* 0 or -1. A design is one object, so the distances fit. */
static inline int npu_score_places(const tb_check *c, int32_t *place, const uint8_t *base, const tb_sig *sig,
                                   size_t count, char *err, size_t err_size) {
    for (size_t i = 0; i < count; i++) {
        const ptrdiff_t distance = (const uint8_t *)sig[i].ptr - base;
        place[i] = (int32_t)distance;
        if (place[i] != distance) {
            return opt_fail(err, err_size, "%s: the design is not one object", c->tap->path);
        }
    }
    return 0;
}

/* Eight signals of up to 8 bits as the bytes of a word, the first one lowest: one load where they lie side by side. */
typedef struct npu_score_row {
    const uint8_t *at[8];
    bool together;
} npu_score_row;

static inline void npu_score_row_open(npu_score_row *r, const tb_sig sig[8]) {
    r->together = true;
    for (uint32_t i = 0; i < 8; i++) {
        r->at[i] = (const uint8_t *)sig[i].ptr;
        r->together = r->together && r->at[i] == r->at[0] + i;
    }
}

static inline uint64_t npu_score_row_get(const npu_score_row *r) {
    uint64_t value = 0;
    if (__builtin_expect(r->together, true)) {
        memcpy(&value, r->at[0], sizeof value);
        return value;
    }
    for (uint32_t i = 0; i < 8; i++) {
        value |= (uint64_t)*r->at[i] << 8 * i;
    }
    return value;
}

/* The same of signals of one bit, as the bits of a byte. */
static inline uint64_t npu_score_row_bits(const npu_score_row *r) {
    return npu_score_row_get(r) * UINT64_C(0x0102040810204080) >> 56; /* moves byte i to bit 56 + i */
}

/* Value of a signal of 17 to 32 bits. */
static inline uint32_t npu_score_w(tb_sig s) {
    return *(const uint32_t *)s.ptr;
}

/*
 * All signals of a state that way, from the first one: NPU_AT_PORTS declares `base` and, with the names of PORTS, `at`;
 * NPU_AT_FIND() sets them.
 */
#define NPU_AT_PORTS(...)                                                                                              \
    const uint8_t *base;                                                                                               \
    NPU_SCORE_PLACES(at, __VA_ARGS__)
#define NPU_AT(STATE, NAME) (&(STATE)->base[(STATE)->at.NAME])
/* Values of up to 8 bits, of 9 to 16, and of 17 to 32. */
#define NPU_AT_BYTE(STATE, NAME) ((uint32_t)(STATE)->base[(STATE)->at.NAME])
#define NPU_AT_HALF(STATE, NAME) npu_score_half(NPU_AT(STATE, NAME))
#define NPU_AT_WORD(STATE, NAME) npu_score_word(NPU_AT(STATE, NAME))

static inline uint32_t npu_score_word(const void *signal) {
    uint32_t value;
    memcpy(&value, signal, sizeof value);
    return value;
}

static inline int npu_score_near(const tb_check *c, const void *state, const uint8_t **base, int32_t *at, char *err,
                                 size_t err_size) {
    const tb_sig *sig = (const tb_sig *)((const uint8_t *)state + c->ops->ports.at);
    *base = (const uint8_t *)sig[0].ptr;
    return npu_score_places(c, at, *base, sig, c->ops->ports.count, err, err_size);
}
#define NPU_AT_FIND(C, STATE, ERR, SIZE) npu_score_near(C, STATE, &(STATE)->base, (int32_t *)&(STATE)->at, ERR, SIZE)

/* Signals that wake a check while they are not 0, and those that do when they change. 0 or -1. */
static inline int npu_score_wakes(tb_check *c, const tb_sig *set, size_t sets, const tb_sig *change, size_t changes,
                                  char *err, size_t err_size) {
    int status = 0;
    for (size_t i = 0; i < sets && status == 0; i++) {
        status = tb_check_wake(c, set[i], err, err_size);
    }
    for (size_t i = 0; i < changes && status == 0; i++) {
        status = tb_check_watch(c, change[i], err, err_size);
    }
    return status;
}

/* valid && ready */
static inline bool npu_score_fire(tb_sig valid, tb_sig ready) {
    return (*(const uint8_t *)valid.ptr & *(const uint8_t *)ready.ptr) != 0;
}

/* Are `bytes` (a multiple of 4) equal? For the few words of a port cheaper than memcmp. */
static inline bool npu_score_same(const void *a, const void *b, uint32_t bytes) {
    switch (bytes) { /* a row of the mesh as bytes or as words, and a word of memory */
    case 8:
        return memcmp(a, b, 8) == 0;
    case 16:
        return memcmp(a, b, 16) == 0;
    case 32:
        return memcmp(a, b, 32) == 0;
    default:
        break;
    }
    uint64_t differ = 0;
    if (bytes % 8 != 0) {
        uint32_t x, y;
        memcpy(&x, a, 4);
        memcpy(&y, b, 4);
        differ = x ^ y;
    }
    for (uint32_t i = bytes % 8; i < bytes; i += 8) {
        uint64_t x, y;
        memcpy(&x, (const uint8_t *)a + i, 8);
        memcpy(&y, (const uint8_t *)b + i, 8);
        differ |= x ^ y;
    }
    return differ == 0;
}

/* Four words at any place, for rows of words; npu_score_any(): is some bit set? */
typedef int32_t npu_score_four __attribute__((vector_size(16), aligned(4), may_alias));

static inline bool npu_score_any(npu_score_four v) {
    uint64_t half[2];
    memcpy(half, &v, sizeof half);
    return (half[0] | half[1]) != 0;
}

/* memcpy() of a port's bytes, of which there are as many as a row of the mesh has, or 16: no call for so few. */
static inline void npu_score_copy(void *to, const void *from, uint32_t bytes) {
    switch (bytes) {
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    case 16:
        memcpy(to, from, 16);
        break;
    default:
        memcpy(to, from, bytes);
    }
}

/* memset() of as many bytes to 0 as two rows of words of the mesh have. */
static inline void npu_score_zero(void *p, uint32_t bytes) {
    switch (bytes) {
    case 32:
        memset(p, 0, 32);
        break;
    case 64:
        memset(p, 0, 64);
        break;
    default:
        memset(p, 0, bytes);
    }
}

/* The check of the only instance of a unit; NULL: the design has none, as in some benches. */
tb_check *npu_score_check_of(const tb_check *c, const tb_check_ops *ops);

/*
 * All checks, npu_score_UNIT for each unit. A unit is listed before those that contain it (tb/tap/check.h). The checks
 * of FP units are called in groups of lanes (fp.c): at the start of the list, where the first ones have whole words of
 * the plan's maps, few groups are divided between two words.
 */
#define NPU_SCORES(X)                                                                                                  \
    X(fp_mul), X(fp_add), X(fp_i32_to_f32), X(fp_f32_to_i8), X(fp_i64_to_f32), X(fp_f32_to_i16), X(clk_gate),          \
        X(npu_top), X(dma_rd), X(send_buf), X(dma_wr), X(act), X(transpose), X(requant), X(post), X(layout),           \
        X(im2col), X(mesh), X(acc), X(ofm_buf), X(alu_func), X(alu_math), X(alu_chan), X(alu_walk), X(alu),            \
        X(gemm_check), X(alu_check), X(pool_check), X(npu_perf), X(npu_regs), X(gemm_queue), X(ifm_ld), X(wgt_ld),     \
        X(par_ld), X(ifm_buf), X(wgt_buf), X(par_buf), X(pool_ld), X(pool_line), X(pool_seq), X(pool_op), X(pool_out), \
        X(pool_chan), X(pool), X(gemm)
/* Units of rtl/lib that the NPU does not use. */
#define NPU_SCORES_OF_BENCHES(X)                                                                                       \
    X(fp_sub), X(fp_max), X(fp_min), X(fp_cmp), X(fp_f32_to_i32), X(fp_f16_to_f32), X(fp_f32_to_f16)

#define NPU_SCORE(unit) npu_score_##unit
extern const tb_check_ops NPU_SCORES(NPU_SCORE), NPU_SCORES_OF_BENCHES(NPU_SCORE);

/* Units of the NPU first, `npu_score_count` of them; unit benches use all. */
extern const tb_check_ops *const npu_score_all[];
extern const size_t npu_score_count, npu_score_count_bench;

/*
 * The unit ("alu", "pool", "gemm") whose job caused an access of a DMA channel to this address: that of a burst in
 * flight at the address, or of all bursts in flight. NULL: not known, as in builds without taps.
 */
const char *npu_score_dma_client(const tb_checks *checks, unsigned channel, bool write, uint64_t addr);

/*
 * The words of the layout units enter ifm_buf through gemm, whose check leaves this comparison to that of ifm_buf: it
 * is called in these cycles anyway. 0 or -1 with one line in err.
 */
int npu_score_ifm_words(tb_check *gemm, char *err, size_t err_size);
/*
 * A failure of gemm: such a word is wrong. `valid`, `fire`: a bit for each layout unit, its word is on offer, is taken;
 * `got`, `expected`: the address that ifm_buf gets, and the one that it must get.
 */
__attribute__((cold)) void npu_score_gemm_word(tb_check *gemm, uint32_t valid, uint32_t fire, bool written,
                                               uint32_t got, uint32_t expected);

#endif
