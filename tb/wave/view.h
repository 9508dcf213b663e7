/*
 * view.h - private to tb/wave: a tb_wave_view with its file open and its signals found.
 */
#ifndef TB_WAVE_VIEW_H
#define TB_WAVE_VIEW_H

#include "wave/wave_priv.h"

typedef struct view_change {
    uint64_t time;
    size_t value; /* offset of its bits in view_row.bits */
} view_change;

/* One signal of a view. */
typedef struct view_row {
    const char *path;
    const tb_wave_signal *signal; /* NULL: not in the file */
    view_change *change;
    size_t changes, room;
    char *bits;
    size_t used, bits_room;
} view_row;

typedef struct view_state {
    const tb_wave_view *view;
    tb_wave *wave;
    view_row *row; /* of all groups, in order */
    size_t rows;
    uint64_t from, to; /* within the file */
    bool marked;       /* the marker lies within the file */
    uint64_t period;   /* of the clock; 0: none, or it stands still */
} view_state;

/* Open the file, find the signals, measure the clock. 0 or -1 with one line in err; view_close() in any case. */
int view_open(view_state *v, const tb_wave_view *view, char *err, size_t err_size);
/* Narrow the window to the number of cycles that the view wishes, or to `cycles` where it has no wish; three quarters
 * of it before the marker. Without a clock there is nothing to count in. */
void view_narrow(view_state *v, unsigned cycles);
/* Collect the changes of all rows between v->from and v->to. 0 or -1. */
int view_read(view_state *v, char *err, size_t err_size);
void view_close(view_state *v);

#endif
