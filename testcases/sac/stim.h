/*
 * stim.h - a random task: sizes from the knobs of the case, fitted to the limits of the engine; operands.
 */
#ifndef SAC_STIM_H
#define SAC_STIM_H

#include "sac.h"
#include "tb.h"

#define STIM_TASKS 4u /* of a case */

/* Knobs of the test "task"; the lowest value of a knob is its simplest. */
extern const tb_knob stim_knobs[];
extern const size_t stim_knob_count;

/* Operands of a task. `codes` [n][c][kh][kw], `d` [c]. */
typedef struct stim_data {
    uint8_t *input, *residual; /* pages, with random bytes where nothing is; NULL: the task has none */
    uint8_t *filters, *params, *dtab;
    uint32_t input_bytes, residual_bytes, filter_bytes, param_bytes, dtab_bytes;
} stim_data;

/*
 * Task number i of a case: the first one as its knobs say, the others drawn within them. `before`: the task before it,
 * or NULL; where that has left its output in the cache, this one may take it from there. The task is legal.
 */
void stim_task(const sac_dev *dev, const tb_knobs *knobs, uint64_t seed, uint32_t i, const sac_task *before,
               sac_task *task);
/* Its operands. 0, or -1 without memory; stim_free() in any case. */
int stim_data_make(const sac_dev *dev, const tb_knobs *knobs, uint64_t seed, uint32_t i, const sac_task *task,
                   stim_data *data);
void stim_free(stim_data *data);
/* Shift-accumulate operations of a task. */
uint64_t stim_work(const sac_task *task);

#endif
