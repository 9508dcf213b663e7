/*
 * svg.h - private to tb/wave: rows of a timing diagram.
 */
#ifndef TB_WAVE_SVG_H
#define TB_WAVE_SVG_H

#include "wave/view.h"

#define SVG_ROW_PX 20.0
#define SVG_CHAR_PX 6.7  /* of the monospace text */
#define SVG_DIGIT_PX 6.1 /* of the values in buses */

typedef struct svg_canvas {
    FILE *out;
    double left, plot; /* where the waves begin, and how wide they are */
    double px;         /* for a time unit */
    double bottom;
    bool *no_memory; /* becomes true when something is missing */
} svg_canvas;

/* The wave of one signal; y: top of its row. */
void svg_row(const svg_canvas *c, const view_row *row, uint64_t from, uint64_t to, double y);

#endif
