/*
 * nhwc.h - what one channel has to write of an INT8 NHWC block: write jobs and beats of data, each in their order, from a block of requantised results.
 *
 * A block is the share of one channel of a tile of 2N pixels: the pixels 8k + 4*chan + i (k < N/4, i < 4), N channels each. A job is a range of bytes; its data are
 * beats of 16 bytes of which the first is byte 0 of the first beat.
 */
#ifndef UNIT_NHWC_H
#define UNIT_NHWC_H

#include "bench.h"

#define NHWC_JOBS 32u
#define NHWC_BEATS 64u

typedef struct nhwc_job {
    uint32_t addr, bytes;
} nhwc_job;

typedef struct nhwc_beat {
    uint32_t bytes; /* of the beat that belong to the job */
    uint32_t pixel; /* of the tile, the first one in the beat */
    int8_t data[16];
} nhwc_beat;

typedef struct nhwc_block {
    uint32_t jobs, beats;
    nhwc_job job[NHWC_JOBS];
    nhwc_beat beat[NHWC_BEATS];
} nhwc_block;

/*
 * n: mesh size; chan: 0 or 1; addr: of pixel 4*chan of the tile; pitch: bytes from a pixel to the next; npix: pixels of the tile that exist, 0..2n; value: the INT8
 * results, [2n pixels of the tile][n channels], those of channels that do not exist 0.
 */
void nhwc_plan(uint32_t n, uint32_t chan, uint32_t addr, uint32_t pitch, uint32_t npix, const int8_t *value, nhwc_block *out);

#endif
