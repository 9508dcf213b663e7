/*
 * pool_walk.h - a POOL task on the ports, and the order in which a channel works on it (docs/npu/npu.md sections 3.4
 * and 4); for the checks of its units.
 *
 * Channel c works on the groups c, c + 2, ..: 8 FP32 channels, or 32 bytes of an INT8 pixel. For each group it goes
 * over all output rows, and for each of these over the rows of its windows inside the map. A row takes `slot`
 * successive words of each lane of the line memory, a ring of 1024 words. With `slide` a row is loaded once for a
 * group, else again for each output row.
 */
#ifndef NPU_SCORE_POOL_WALK_H
#define NPU_SCORE_POOL_WALK_H

#include "score.h"

#define NPU_SCORE_POOL_LANES 8u
#define NPU_SCORE_POOL_LINE 1024u /* words of a lane */

typedef struct npu_score_pool_walk {
    cm_pool_task t;
    uint32_t chan;
    uint32_t units; /* FP32: channels; INT8: words of a pixel */
    bool slide;
    uint32_t slot;
    /* position of the walk */
    bool active;
    uint32_t group, lanes, oy;
    uint32_t first, last; /* rows of the window inside the map: first .. last - 1 */
    uint32_t load;        /* of these, the first one that has not been loaded before this window; last: all have been */
    uint32_t row;         /* number of row `first` in the order of loads */
    uint32_t rows;        /* rows loaded after the last one of this window */
} npu_score_pool_walk;

/* Words of a pixel, or channels, that the task has: units of the groups. */
uint32_t npu_score_pool_units(const cm_pool_task *t, uint32_t n);
/* Task from a port of the type pool_task_t. */
cm_pool_task npu_score_pool_task(tb_sig port);
/* The task of the pool_chan that the unit of `c` is part of. 0 or -1 with one line in err. */
int npu_score_pool_port(const tb_check *c, tb_sig *task, char *err, size_t err_size);
/* First window of a task. */
void npu_score_pool_begin(npu_score_pool_walk *p, tb_sig task, uint32_t chan, uint32_t units, bool slide);
/* Windows of the next output row; active is false after the last one. */
void npu_score_pool_next(npu_score_pool_walk *p);
/* The part of a window along one dimension that lies inside the map: begin .. end - 1. */
void npu_score_pool_inside(uint32_t out, uint32_t stride, uint32_t pad, uint32_t k, uint32_t size, uint32_t *begin,
                           uint32_t *end);
/* Lanes of a group. */
uint32_t npu_score_pool_lanes(uint32_t units, uint32_t group);
/*
 * Jobs of a row of a group, `*words` each: a lane (FP32), the row (contiguous INT8 pixels) or a pixel. width: columns
 * of the row.
 */
uint32_t npu_score_pool_jobs(const cm_pool_task *t, uint32_t lanes, uint32_t cstep, uint32_t width, uint32_t *words);

/* Expected value of a port in a transaction. */
typedef struct npu_score_pool_value {
    const char *stream;
    tb_sig sig;
    uint32_t expected;
} npu_score_pool_value;
/* The first one that differs, or NULL. */
const npu_score_pool_value *npu_score_pool_differs(const npu_score_pool_value *values, size_t count);
/* Note the failure of `v`. */
void npu_score_pool_fail(tb_check *c, const npu_score_pool_value *v, uint64_t transaction, const char *where);

#endif
