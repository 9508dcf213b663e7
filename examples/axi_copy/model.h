/*
 * model.h - golden model of the copy engine: registers and memory, no time. A copy is done when START is written.
 */
#ifndef COPY_MODEL_H
#define COPY_MODEL_H

#include "tb.h"

typedef struct copy_model {
    tb_ddr *mem;
    uint32_t src, dst, len, count, err;
    bool irq_en, done;
} copy_model;

void copy_model_write(copy_model *m, uint32_t reg, uint32_t value);
uint32_t copy_model_read(const copy_model *m, uint32_t reg);

#endif
