/* fp_bench.c - operands and executor of the floating-point benches. */
#include "fp_bench.h"

#include <inttypes.h>

const tb_knob fp_bench_knobs[FP_BENCH_KNOBS] = {
    {"vectors", 1, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "operations"},
    UNIT_STALL_KNOB("in", "percent of cycles with en_i low"),
    UNIT_STALL_RUN_KNOB,
};

/* A shrunk case may have fewer operations than a generated one. */
void fp_bench_constrain(tb_knobs *knobs, uint64_t seed) {
    tb_knobs_draw_in(knobs, "vectors", seed, 100000, 120000);
}

#define SIGN 0x80000000u
#define FRAC 0x007fffffu

/* Exponent and fraction drawn apart: fractions with few ones or few zeros exercise the special cases of rounding. */
static uint32_t fraction(tb_rng *rng) {
    const uint32_t bits = tb_rng_u32(rng);
    const uint32_t at = (uint32_t)tb_rng_range(rng, 0, 22);
    switch (tb_rng_range(rng, 0, 5)) {
    case 0:
        return bits & FRAC;
    case 1:
        return (1u << at) & FRAC;
    case 2:
        return FRAC & ~(1u << at);
    case 3:
        return (FRAC << at) & FRAC;
    case 4:
        return FRAC >> at;
    default:
        return (bits & 3u) | (((bits >> 2) & 3u) << 21);
    }
}

/*
 * Draws the fraction after the exponent, which the caller has drawn: two draws in one expression would depend on the
 * compiler.
 */
static uint32_t pack(tb_rng *rng, uint32_t sign, int64_t exponent) {
    const int64_t e = exponent < 0 ? 0 : exponent > 255 ? 255 : exponent;
    return (sign & SIGN) | ((uint32_t)e << 23) | fraction(rng);
}

static int64_t exponent_of(uint32_t v) {
    return (int64_t)((v >> 23) & 0xffu);
}

uint32_t fp_hard(tb_rng *rng) {
    const uint32_t v = tb_rng_f32_hard(rng);
    const bool nan = (v & ~SIGN) > 0x7f800000u;
    return nan && (v & 7u) == 0 ? (v & SIGN) | 0x7f800001u : v;
}

void fp_operands_mul(tb_rng *rng, uint32_t *a, uint32_t *b) {
    const uint32_t signs = tb_rng_u32(rng);
    uint32_t ma, mb; /* significands */
    int64_t e;
    *a = fp_hard(rng);
    switch (tb_rng_range(rng, 0, 4)) {
    case 0:
        *b = fp_hard(rng);
        return;
    case 4: /* product 2^47 and less than 2^25: hardly above a half of the smallest subnormal, or of another unit */
        ma = FRAC + 2u + (uint32_t)tb_rng_range(rng, 0, FRAC - 1u);
        mb = (uint32_t)(((UINT64_C(1) << 47) + ma - 1u) / ma) + (signs & 1u);
        e = tb_rng_range_i64(rng, 1, 100);
        *a = (signs & SIGN) | (uint32_t)e << 23 | (ma & FRAC);
        *b = (signs << 1 & SIGN) | (uint32_t)(103 + tb_rng_range_i64(rng, -1, 2) - e) << 23 | (mb & FRAC);
        return;
    case 1: /* product near the smallest normal and below */
        *a = pack(rng, signs, tb_rng_range_i64(rng, 0, 150));
        *b = pack(rng, signs << 1, 127 - exponent_of(*a) + tb_rng_range_i64(rng, -26, 3));
        return;
    case 2: /* product near the largest finite number */
        *a = pack(rng, signs, tb_rng_range_i64(rng, 110, 254));
        *b = pack(rng, signs << 1, 381 - exponent_of(*a) + tb_rng_range_i64(rng, -2, 2));
        return;
    default:
        *a = pack(rng, signs, tb_rng_range_i64(rng, 64, 190));
        *b = pack(rng, signs << 1, tb_rng_range_i64(rng, 64, 190));
        return;
    }
}

void fp_operands_add(tb_rng *rng, uint32_t *a, uint32_t *b) {
    const uint32_t bits = tb_rng_u32(rng);
    uint32_t x = fp_hard(rng);
    uint32_t y;
    switch (tb_rng_range(rng, 0, 3)) {
    case 0:
        y = fp_hard(rng);
        break;
    case 1: /* nearly equal magnitudes: cancellation */
        x = pack(rng, bits, tb_rng_range_i64(rng, 0, 254));
        y = (x ^ (bits & SIGN)) + (uint32_t)tb_rng_range_i64(rng, -3, 3);
        break;
    case 2: /* the smaller one decides the rounding */
        x = pack(rng, bits, tb_rng_range_i64(rng, 20, 254));
        y = pack(rng, bits << 1, exponent_of(x) - tb_rng_range_i64(rng, 20, 28));
        break;
    default:
        x = pack(rng, bits, tb_rng_range_i64(rng, 0, 254));
        y = pack(rng, bits << 1, exponent_of(x) + tb_rng_range_i64(rng, -45, 2));
        break;
    }
    const bool swap = tb_rng_chance(rng, 1, 2);
    *a = swap ? y : x;
    *b = swap ? x : y;
}

void fp_operand_i32(tb_rng *rng, uint32_t *a, uint32_t *b) {
    const uint32_t bits = tb_rng_u32(rng);
    const uint32_t top = (uint32_t)tb_rng_range(rng, 0, 31);
    uint32_t v;
    switch (tb_rng_range(rng, 0, 3)) {
    case 0:
        v = bits;
        break;
    case 1:
        v = bits >> top;
        break;
    case 2: /* next to a power of two */
        v = (1u << top) + (uint32_t)tb_rng_range_i64(rng, -2, 2);
        break;
    default: /* 24 kept bits, then a half and its neighbours */
        v = (((bits | SIGN) & 0xffffff00u) + 0x80u + (uint32_t)tb_rng_range_i64(rng, -1, 1)) >> (top & 7u);
        break;
    }
    *a = tb_rng_chance(rng, 1, 2) ? 0u - v : v;
    *b = 0;
}

void fp_operand_i8(tb_rng *rng, uint32_t *a, uint32_t *b) {
    const uint32_t bits = tb_rng_u32(rng);
    const uint32_t sign = bits & SIGN;
    *b = (bits & 1u) != 0 ? 0 : bits >> 1 & 0x3ffu;
    if ((bits & 0x1800u) == 0) { /* zero-points at the ends and around 0 */
        *b = (*b & 0x300u) | (0x7f80ff01u >> (8 * (bits >> 13 & 3u)) & 0xffu);
    }
    switch (tb_rng_range(rng, 0, 3)) {
    case 0:
        *a = fp_hard(rng);
        return;
    case 1: /* k + 1/2, and its neighbours one unit in the last place away */
        *a = cm_fp_i32_to_f32((int32_t)tb_rng_range(rng, 0, 259));
        *a = exponent_of(*a) > 0 ? *a - (1u << 23) : *a;
        *a = (*a + (uint32_t)tb_rng_range_i64(rng, -1, 1)) ^ sign;
        return;
    case 2:
        *a = pack(rng, sign, tb_rng_range_i64(rng, 118, 136));
        return;
    default:
        *a = pack(rng, sign, tb_rng_range_i64(rng, 124, 133));
        return;
    }
}

void fp_operands_cmp(tb_rng *rng, uint32_t *a, uint32_t *b) {
    const bool pick = tb_rng_chance(rng, 1, 2);
    *a = fp_hard(rng);
    if (pick) {
        *a = tb_rng_u32(rng);
    }
    switch (tb_rng_range(rng, 0, 4)) {
    case 0: /* equal, NaN included */
        *b = *a;
        return;
    case 1: /* the other sign: -0 equals +0 */
        *b = *a ^ SIGN;
        return;
    case 2: /* a few units apart, perhaps across zero or into infinity and NaN */
        *b = *a + (uint32_t)tb_rng_range_i64(rng, -3, 3);
        return;
    case 3: /* the same exponent */
        *b = (*a & ~FRAC) | fraction(rng);
        return;
    default:
        *b = fp_hard(rng);
        return;
    }
}

void fp_operand_f32_i32(tb_rng *rng, uint32_t *a, uint32_t *b) {
    const uint32_t sign = tb_rng_u32(rng) & SIGN;
    *b = 0;
    switch (tb_rng_range(rng, 0, 4)) {
    case 0:
        *a = fp_hard(rng);
        return;
    case 1: /* k + 1/2, and its neighbours one unit in the last place away */
        *a = tb_rng_u32(rng);
        *a = cm_fp_i32_to_f32((int32_t)(*a >> tb_rng_range(rng, 7, 31)));
        *a = exponent_of(*a) > 0 ? *a - (1u << 23) : *a;
        *a = (*a + (uint32_t)tb_rng_range_i64(rng, -1, 1)) ^ sign;
        return;
    case 2: /* the ends of int32 */
        *a = (0x4F000000u + (uint32_t)tb_rng_range_i64(rng, -4, 4)) | sign;
        return;
    case 3: /* the last bits before the point */
        *a = pack(rng, sign, tb_rng_range_i64(rng, 145, 151));
        return;
    default:
        *a = pack(rng, sign, tb_rng_range_i64(rng, 120, 160));
        return;
    }
}

void fp_operand_f16(tb_rng *rng, uint32_t *a, uint32_t *b) {
    *a = tb_rng_u32(rng) & 0xFFFFu;
    *b = 0;
}

void fp_operand_f32_f16(tb_rng *rng, uint32_t *a, uint32_t *b) {
    const uint32_t sign = tb_rng_u32(rng) & SIGN;
    *b = 0;
    switch (tb_rng_range(rng, 0, 3)) {
    case 0:
        *a = fp_hard(rng);
        return;
    case 1: /* 11 bits and a half, and its neighbours one unit in the last place away; also subnormal results */
        *a = pack(rng, sign, tb_rng_range_i64(rng, 99, 144));
        *a = (*a & ~0x1FFFu) + 0x1000u + (uint32_t)tb_rng_range_i64(rng, -1, 1);
        return;
    case 2: /* the half of a subnormal lies higher */
        *a = pack(rng, sign, tb_rng_range_i64(rng, 100, 114)) & ~((1u << tb_rng_range(rng, 12, 23)) - 1);
        *a += (uint32_t)tb_rng_range_i64(rng, -1, 1);
        return;
    default: /* between the largest number and infinity */
        *a = (0x477FE000u + (uint32_t)tb_rng_range(rng, 0, 0x2000)) | sign;
        return;
    }
}

static void count(unit *u, int op, uint32_t a, uint32_t b) {
    char what[400];
    if (u->cov != NULL && op >= 0 && unit_ok(u) && npu_cov_fp(u->cov, op, a, b, what, sizeof what) > 0) {
        unit_fail(u, "illegal coverage", "illegal bin hit: %s", what);
    }
}

int fp_bench_run(unit *u, fp_operands_fn *operands) {
    const tb_sig en = unit_port(u, "en_i");
    const tb_sig a_port = unit_port(u, "a_i");
    const tb_sig b_port = tb_sim_find(&u->run.sim, "b_i");
    const uint64_t vectors = (uint64_t)unit_knob(u, "vectors");
    tb_rng rng = unit_stream(u, "operands");
    unit_stall stall = unit_stall_make(u, "in");
    const int op = npu_cov_fp_find(u->name);
    uint32_t a = 0, b = 0;
    for (uint64_t done = 0; done < vectors && unit_ok(u);) {
        const bool enable = unit_go(&stall);
        operands(&rng, &a, &b);
        tb_set(en, enable);
        tb_set(a_port, a);
        if (b_port.ptr) {
            tb_set(b_port, b);
        }
        unit_settle(u);
        if (unit_edge(u) && enable) {
            count(u, op, a, b);
            done++;
        }
    }
    return 0;
}
