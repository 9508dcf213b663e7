/*
 * score.h - the checks of the GEMM engine's units inside the design (tb/tap/check.h); one file for each unit.
 *
 * mac.c follows the ports of sgemm_mac, ld.c those of sgemm_ld, bufs.c those of the buffers, store.c those of
 * sgemm_c_st, sgemm_seq and sgemm_check; tb/sgemm/taps.list has the tapped signals.
 */
#ifndef SGEMM_SCORE_H
#define SGEMM_SCORE_H

#include "tb.h"

#define SGEMM_SCORE_MAX 96u /* largest Dim and Vec */

/* Value of a signal of one bit. */
static inline bool sgemm_score_b(tb_sig s) {
    return *(const uint8_t *)s.ptr != 0;
}

/* Bits lsb .. lsb + width - 1 of a wide signal, at most 32 that lie within 64 aligned ones. */
static inline uint32_t sgemm_score_bits(tb_sig s, uint32_t lsb, uint32_t width) {
    const uint8_t *p = (const uint8_t *)s.ptr + lsb / 8;
    uint64_t v = 0;
    for (uint32_t i = 0; i < (lsb % 8 + width + 7) / 8; i++) {
        v |= (uint64_t)p[i] << (8 * i);
    }
    return (uint32_t)(v >> lsb % 8 & ((UINT64_C(1) << width) - 1));
}

extern const tb_check_ops sgemm_score_check, sgemm_score_ld, sgemm_score_blk_buf, sgemm_score_c_buf, sgemm_score_seq,
    sgemm_score_mac, sgemm_score_c_st;

/* All of them; a unit is listed before those that contain it (tb/tap/check.h). */
extern const tb_check_ops *const sgemm_checks[];
extern const size_t sgemm_check_count;

#endif
