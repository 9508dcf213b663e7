/* sac_contract.c - arithmetic of the shift-add engine. */
#include "sac_contract.h"

int32_t sac_term(int8_t x, uint8_t code, unsigned d) {
    const unsigned k = code & 7u;
    const int32_t value = x * (1 << (k + d));
    return k == SAC_CODE_ZERO ? 0 : (code & 8u) != 0 ? value : -value;
}

static int8_t clamp(int negative, uint64_t magnitude) {
    const uint64_t most = negative ? 128 : 127;
    const int value = (int)(magnitude > most ? most : magnitude);
    return (int8_t)(negative ? -value : value);
}

int8_t sac_shr(int32_t v, int k) {
    const uint64_t m = v < 0 ? (uint64_t) - (int64_t)v : (uint64_t)v;
    const int left = -k < 8 ? -k : 8;
    return clamp(v<0, k> 0 ? (m + (UINT64_C(1) << (k - 1))) >> k : m << left);
}

int8_t sac_residual(int8_t a, int8_t b, unsigned la, unsigned lb, int r) {
    return sac_shr(a * (1 << la) + b * (1 << lb), r);
}

int8_t sac_average(int32_t sum, uint32_t pixels, int g) {
    const uint64_t m = sum < 0 ? (uint64_t) - (int64_t)sum : (uint64_t)sum;
    const uint64_t num = m << (g > 0 ? g : 0), den = (uint64_t)pixels << (g < 0 ? -g : 0);
    return clamp(sum < 0, (2 * num + den) / (2 * den));
}
