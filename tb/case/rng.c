#include "rng.h"

#include <string.h>

tb_rng tb_rng_stream(uint64_t seed, const char *name) {
    tb_rng r = {.key = tb_hash_final(tb_hash_str(tb_hash_u64(TB_HASH_INIT, seed), name)), .ctr = 0};
    return r;
}

tb_rng tb_rng_fork(const tb_rng *rng, uint64_t index) {
    tb_rng r = {.key = tb_hash_final(tb_hash_u64(tb_hash_u64(TB_HASH_INIT, rng->key), index)), .ctr = 0};
    return r;
}

uint64_t tb_rng_test_seed(uint64_t run_seed, const char *test, uint64_t index) {
    uint64_t h = tb_hash_u64(TB_HASH_INIT, run_seed);
    h = tb_hash_str(h, test);
    return tb_hash_final(tb_hash_u64(h, index));
}

uint64_t tb_rng_small(tb_rng *rng, uint64_t lo, uint64_t hi) {
    const uint64_t r = tb_rng_u64(rng);
    if (hi <= lo) {
        return lo;
    }
    const uint64_t span = hi - lo; /* offsets 0..span */
    unsigned bits = 0;             /* offset + 1 lies in [2^b, 2^(b+1)) for b = 0..bits */
    while (bits < 63 && (UINT64_C(2) << bits) - 1 <= span) {
        bits++;
    }
    const unsigned b = (unsigned)(((r >> 32) * (bits + 1u)) >> 32);
    const uint64_t first = (UINT64_C(1) << b) - 1;
    uint64_t last = b >= 63 ? UINT64_MAX : (UINT64_C(2) << b) - 2;
    if (last > span) {
        last = span;
    }
    const uint64_t width = last - first + 1;
    return lo + first + (width == 0 ? r : (uint64_t)(((unsigned __int128)tb_mix64(r) * width) >> 64));
}

size_t tb_rng_weighted(tb_rng *rng, const uint32_t *weight, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += weight[i];
    }
    uint64_t r = tb_rng_range(rng, 0, sum == 0 ? 0 : sum - 1);
    for (size_t i = 0; i < count; i++) {
        if (r < weight[i]) {
            return i;
        }
        r -= weight[i];
    }
    return 0;
}

uint64_t tb_rng_pick(tb_rng *rng, const uint64_t *values, size_t count) {
    return values[tb_rng_range(rng, 0, count - 1)];
}

float tb_rng_f32(tb_rng *rng) {
    return (float)(tb_rng_u64(rng) >> 40) * 0x1p-24f;
}

float tb_rng_f32_range(tb_rng *rng, float lo, float hi) {
    const float u = tb_rng_f32(rng);
    return lo * (1.0f - u) + hi * u;
}

uint32_t tb_rng_f32_hard(tb_rng *rng) {
    const uint64_t a = tb_rng_u64(rng);
    const uint32_t r = tb_rng_u32(rng);
    const uint32_t sign = (uint32_t)(a & 1u) << 31;
    const uint32_t man = r & 0x7fffffu;
    const uint32_t few = (uint32_t)((a >> 8) & 7u); /* a few units in the last place */
    switch ((a >> 1) & 15u) {
    case 0:
        return sign; /* zero */
    case 1:
        return sign | man; /* subnormal */
    case 2:
        return sign | (0x00800000u - 4u + few); /* around the smallest normal */
    case 3:
        return sign | (0x7f7fffffu - few); /* largest finite */
    case 4:
        return sign | 0x7f800000u; /* infinity */
    case 5:
        return sign | 0x7f800001u | man; /* NaN */
    case 6:
        return sign | ((uint32_t)(r % 254u + 1u) << 23); /* power of two */
    case 7:
        return sign | (0x3f000000u - 4u + few); /* around one half */
    case 8:
        return sign | (0x42fe0000u + (few << 14)); /* 127, 127.5, 128 ...: the quantiser's clamp */
    case 9:
    case 10:
        return sign | ((126u + (r >> 24) % 10u) << 23) | (man & 0x7e0000u); /* small numbers of few bits: ties */
    case 11:
    case 12:
        return sign | ((118u + (r >> 24) % 18u) << 23) | man; /* everyday magnitudes */
    default:
        return r; /* anything */
    }
}

void tb_rng_fill(tb_rng *rng, void *dst, size_t bytes) {
    uint8_t *p = (uint8_t *)dst;
    while (bytes > 0) {
        const uint64_t v = tb_rng_u64(rng);
        const size_t n = bytes < 8 ? bytes : 8;
        memcpy(p, &v, n);
        p += n;
        bytes -= n;
    }
}
