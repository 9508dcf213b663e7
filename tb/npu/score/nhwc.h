/*
 * nhwc.h - the share of one channel of a tile of INT8 NHWC pixels: its write jobs and words, for the checks of requant
 * and post (docs/npu/npu.md sections 3.1, 4.2).
 *
 * The pixels are 8k + 4*chan + i (k < N/4, i < 4) of the 2N of a tile; here they are numbered 0..N-1. A job is up to
 * four pixels where the pitch is N, else one. Its data are words of 16 bytes, the first byte of the job in byte 0 of
 * the first word. INT16: 4k + 2*chan + i (k < N/2, i < 2), two pixels, 2N bytes each.
 */
#ifndef NPU_SCORE_NHWC_H
#define NPU_SCORE_NHWC_H

#include <stdbool.h>
#include <stdint.h>

typedef struct npu_score_nhwc {
    uint32_t addr;   /* of pixel 4*chan of the tile */
    uint32_t pitch;  /* bytes from a pixel to the next */
    uint32_t pixels; /* number of pixels of this share inside the map */
    uint32_t bytes;  /* of a pixel of a block: N; INT16: 2N */
    uint32_t run;    /* neighbouring pixels of a share: 4; INT16: 2 */
} npu_score_nhwc;

/* Next job or word. */
typedef struct npu_score_place {
    uint32_t pixel; /* first one of the job */
    uint32_t byte;  /* of the job */
} npu_score_place;

/* The share of channel `chan` when `npix` pixels of the tile exist. */
static inline npu_score_nhwc npu_score_share(uint32_t n, bool wide, uint32_t chan, uint32_t npix) {
    const uint32_t run = wide ? 2 : 4, odd = npix & (2 * run - 1), rest = odd < run * chan ? 0 : odd - run * chan;
    return (npu_score_nhwc){.pixels = (npix - odd) / 2 + (rest < run ? rest : run), .bytes = n << wide, .run = run};
}

/* Pixel of the tile, from the first one of the share of channel 0 on. A run is a power of two. */
static inline uint32_t npu_score_tile_pixel(const npu_score_nhwc *b, uint32_t chan, uint32_t pixel) {
    return 2 * pixel - (pixel & (b->run - 1)) + b->run * chan;
}

static inline uint32_t npu_score_job_addr(const npu_score_nhwc *b, npu_score_place at) {
    return b->addr + npu_score_tile_pixel(b, 0, at.pixel) * b->pitch;
}

static inline uint32_t npu_score_job_pixels(const npu_score_nhwc *b, npu_score_place at) {
    const uint32_t left = b->pixels - at.pixel;
    return b->pitch != b->bytes ? 1 : left < b->run ? left : b->run;
}

static inline uint32_t npu_score_job_bytes(const npu_score_nhwc *b, npu_score_place at) {
    return npu_score_job_pixels(b, at) * b->bytes;
}

/* Bytes of the next word that belong to its job. */
static inline uint32_t npu_score_word_bytes(const npu_score_nhwc *b, npu_score_place at) {
    const uint32_t left = npu_score_job_bytes(b, at) - at.byte;
    return left < 16 ? left : 16;
}

static inline void npu_score_next_job(const npu_score_nhwc *b, npu_score_place *at) {
    at->pixel += npu_score_job_pixels(b, *at);
    at->byte = 0;
}

static inline void npu_score_next_word(const npu_score_nhwc *b, npu_score_place *at) {
    at->byte += npu_score_word_bytes(b, *at);
    if (at->byte == npu_score_job_bytes(b, *at)) {
        npu_score_next_job(b, at);
    }
}

#endif
