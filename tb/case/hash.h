/*
 * hash.h - streaming 64-bit hash: deterministic, the same on every little-endian machine, fast on words. Not
 * cryptographic.
 */
#ifndef TB_HASH_H
#define TB_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TB_HASH_INIT UINT64_C(0x6a09e667f3bcc908)

/* Bijective mix of 64 bits: every input bit reaches every output bit. */
static inline uint64_t tb_mix64(uint64_t x) {
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    return x;
}

/* Add one word. The rotation keeps the order of the words relevant. */
static inline uint64_t tb_hash_u64(uint64_t h, uint64_t v) {
    h = ((h << 23) | (h >> 41)) ^ v;
    h *= UINT64_C(0x9fb21c651e98df25);
    return h ^ (h >> 35);
}

/* Add `bytes` bytes and their number. */
static inline uint64_t tb_hash_bytes(uint64_t h, const void *src, size_t bytes) {
    const unsigned char *p = (const unsigned char *)src;
    size_t left = bytes;
    while (left >= 8) {
        uint64_t v;
        memcpy(&v, p, 8);
        h = tb_hash_u64(h, v);
        p += 8;
        left -= 8;
    }
    if (left > 0) {
        uint64_t v = 0;
        memcpy(&v, p, left);
        h = tb_hash_u64(h, v);
    }
    return tb_hash_u64(h, (uint64_t)bytes);
}

/* Add a string without its terminator. */
static inline uint64_t tb_hash_str(uint64_t h, const char *s) {
    return tb_hash_bytes(h, s, strlen(s));
}

/* Final value: mixes the state once more. */
static inline uint64_t tb_hash_final(uint64_t h) {
    return tb_mix64(h);
}

#endif
