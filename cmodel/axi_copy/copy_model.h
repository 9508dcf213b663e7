/*
 * copy_model.h - golden model of the copy engine: registers and memory, untimed. A copy is done when START is written.
 */
#ifndef COPY_MODEL_H
#define COPY_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of the model. False: the range is not mapped. */
typedef struct copy_mem {
    void *ctx;
    bool (*read)(void *ctx, uint64_t addr, void *data, size_t bytes);
    bool (*write)(void *ctx, uint64_t addr, const void *data, size_t bytes);
} copy_mem;

typedef struct copy_model {
    copy_mem mem;
    uint32_t src, dst, len, count, err;
    bool irq_en, done;
} copy_model;

void copy_model_write(copy_model *m, uint32_t reg, uint32_t value);
uint32_t copy_model_read(const copy_model *m, uint32_t reg);

#endif
