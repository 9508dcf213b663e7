/*
 * edges.h - values of signals of a waveform file just before each rising edge of a clock.
 *
 * All changes at one time are collected; if the clock rises at that time, the values are those before, and the changes
 * apply afterwards. So the order in which a simulator recorded simultaneous changes does not matter.
 */
#ifndef TB_WAVE_EDGES_H
#define TB_WAVE_EDGES_H

#include "wave.h"

#define TB_WAVE_EDGE_SIGNALS 63u

typedef struct tb_wave_edges {
    struct {
        const tb_wave_signal *signal; /* NULL: none; one signal may stand at several places */
        uint32_t at, elements;        /* only slice `at` of `elements` of equal width, 0 in bit 0; elements 0: all */
    } in[TB_WAVE_EDGE_SIGNALS];
    const tb_wave_signal *clock;
    void *ctx;
    /* Signal number `which` has another value from now on: `width` characters, highest bit first. */
    void (*set)(void *ctx, unsigned which, const char *bits, uint32_t width);
    /* The clock goes from 0 to 1 at `time`. Nonzero ends the reading. */
    int (*edge)(void *ctx, uint64_t time);
    /* All changes of a time have been set; may be NULL. Nonzero ends the reading. */
    int (*moment)(void *ctx);
} tb_wave_edges;

/* Bits of signal number `which`, 0 without one. */
uint32_t tb_wave_edges_width(const tb_wave_edges *e, unsigned which);
/* Read the whole file. 0, what a function returned, or -1 with one line in err. */
int tb_wave_edges_read(tb_wave *wave, const tb_wave_edges *e, char *err, size_t err_size);

#endif
