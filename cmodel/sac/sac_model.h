/*
 * sac_model.h - golden model of the shift-add engine: registers, memory and feature cache, untimed. A task is done when
 * CTRL.START is written.
 */
#ifndef SAC_MODEL_H
#define SAC_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sac_tasks.h"

/* Memory of the model. False: the range is not mapped. */
typedef struct sac_mem {
    void *ctx;
    bool (*read)(void *ctx, uint64_t addr, void *data, size_t bytes);
    bool (*write)(void *ctx, uint64_t addr, const void *data, size_t bytes);
} sac_mem;

/* Sizes of a build: W_VECTOR, C_VECTOR, N_VECTOR, and pages of each half of the feature cache. */
typedef struct sac_build {
    uint32_t w, c, n, pages;
} sac_build;

#define SAC_MODEL_REGS 128u

typedef struct sac_model {
    sac_mem mem;
    sac_build build;
    uint32_t reg[SAC_MODEL_REGS]; /* as they read back */
    uint8_t *cache[2];            /* halves, pages of w * c bytes */
} sac_model;

/* 0, or -1 without memory. sac_model_free() in any case. */
int sac_model_init(sac_model *m, const sac_mem *mem, const sac_build *build);
void sac_model_free(sac_model *m);
void sac_model_write(sac_model *m, uint32_t reg, uint32_t value);
uint32_t sac_model_read(const sac_model *m, uint32_t reg);
/* The task that START would start now. */
void sac_model_task(const sac_model *m, cm_layer_task *t);
/* Are all sizes of a task in range (docs/sac/sac.md, section 7)? */
bool sac_task_legal(const sac_build *b, const cm_layer_task *t);
/* Vectors that the array gets: docs/sac/sac.md, section 5, equations 27 to 31. */
uint64_t sac_task_conv(const sac_build *b, const cm_layer_task *t);
/* Pages of the input, of the output and, when it is in memory, bytes of a page there. */
uint64_t sac_task_in_pages(const sac_build *b, const cm_layer_task *t);
uint64_t sac_task_out_pages(const sac_build *b, const cm_layer_task *t);
uint32_t sac_page_bytes(const sac_build *b);
/* Words of a filter; bytes of a batch of filters in the stream. */
uint32_t sac_task_words(const sac_build *b, const cm_layer_task *t);
uint32_t sac_task_batch_bytes(const sac_build *b, const cm_layer_task *t);

#endif
