/*
 * nhwc.h - the share of one channel of a tile of INT8 NHWC pixels: its write jobs and words, for the checks of requant
 * and post (docs/npu/npu.md sections 3.1, 4.2).
 *
 * The pixels are 8k + 4*chan + i (k < N/4, i < 4) of the 2N of a tile; here they are numbered 0..N-1. A job is up to
 * four pixels where the pitch is N, else one. Its data are words of 16 bytes, the first byte of the job in byte 0 of
 * the first word.
 */
#ifndef NPU_SCORE_NHWC_H
#define NPU_SCORE_NHWC_H

#include <stdint.h>

typedef struct npu_score_nhwc {
    uint32_t addr;   /* of pixel 4*chan of the tile */
    uint32_t pitch;  /* bytes from a pixel to the next */
    uint32_t pixels; /* number of pixels of this share inside the map */
} npu_score_nhwc;

/* Next job or word. */
typedef struct npu_score_place {
    uint32_t pixel; /* first one of the job */
    uint32_t byte;  /* of the job */
} npu_score_place;

/* Pixels of a channel's share when `npix` of the tile exist. */
static inline uint32_t npu_score_share(uint32_t chan, uint32_t npix) {
    const uint32_t rest = npix % 8 < 4 * chan ? 0 : npix % 8 - 4 * chan;
    return 4 * (npix / 8) + (rest < 4 ? rest : 4);
}

/* Pixel of the tile. */
static inline uint32_t npu_score_tile_pixel(uint32_t chan, uint32_t pixel) {
    return 8 * (pixel / 4) + 4 * chan + pixel % 4;
}

static inline uint32_t npu_score_job_addr(const npu_score_nhwc *b, npu_score_place at) {
    return b->addr + (8 * (at.pixel / 4) + at.pixel % 4) * b->pitch;
}

static inline uint32_t npu_score_job_pixels(uint32_t n, const npu_score_nhwc *b, npu_score_place at) {
    const uint32_t left = b->pixels - at.pixel;
    return b->pitch != n ? 1 : left < 4 ? left : 4;
}

/* Bytes of the next word that belong to its job. */
static inline uint32_t npu_score_word_bytes(uint32_t n, const npu_score_nhwc *b, npu_score_place at) {
    const uint32_t left = npu_score_job_pixels(n, b, at) * n - at.byte;
    return left < 16 ? left : 16;
}

static inline void npu_score_next_job(uint32_t n, const npu_score_nhwc *b, npu_score_place *at) {
    at->pixel += npu_score_job_pixels(n, b, *at);
    at->byte = 0;
}

static inline void npu_score_next_word(uint32_t n, const npu_score_nhwc *b, npu_score_place *at) {
    at->byte += npu_score_word_bytes(n, b, *at);
    if (at->byte == npu_score_job_pixels(n, b, *at) * n) {
        npu_score_next_job(n, b, at);
    }
}

#endif
