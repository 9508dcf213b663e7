/*
 * score.h - checks of the engine's units inside the design (tb/tap/check.h). Each follows its unit's real inputs and
 * predicts the outputs from the task and the contract (cmodel/sac).
 */
#ifndef SAC_SCORE_H
#define SAC_SCORE_H

#include "sac_device.h"

#define SAC_W_MAX 6u /* W_VECTOR, C_VECTOR and N_VECTOR of the largest configuration */
#define SAC_C_MAX 16u
#define SAC_N_MAX 32u

extern const tb_check_ops sac_score_setup, sac_score_input, sac_score_filter, sac_score_seq, sac_score_conv,
    sac_score_retriever, sac_score_pe, sac_score_relu, sac_score_pool, sac_score_tail, sac_score_writer, sac_score_full,
    sac_score_jobs;

extern const tb_check_ops *const sac_checks[];
extern const size_t sac_check_count;

/* The engine that a check is part of, its sizes and the task in flight. */
static inline const sac_device *sac_of(const tb_check *c) {
    return (const sac_device *)c->all->ctx;
}
static inline const sac_build *sac_build_of(const tb_check *c) {
    return &sac_of(c)->model.build;
}
static inline const cm_layer_task *sac_task_of(const tb_check *c) {
    return &sac_of(c)->task;
}

static inline bool sac_bit(tb_sig s) {
    return *(const uint8_t *)s.ptr != 0;
}
static inline uint32_t sac_up(uint32_t a, uint32_t b) {
    return (a + b - 1) / b;
}
/* Bytes of a signal, a multiple of 8 bits wide. */
static inline const uint8_t *sac_bytes(tb_sig s) {
    return (const uint8_t *)s.ptr;
}
/* Compare bytes; false: noted, with the number of the first one that differs. */
bool sac_score_bytes(tb_check *c, const char *stream, uint64_t transaction, const uint8_t *got, const uint8_t *expected,
                     size_t bytes);
/* The map that the writer gets. */
void sac_score_map(const tb_check *c, uint32_t *w, uint32_t *h);
/* Filters of batch `batch` and later ones. */
static inline uint32_t sac_left(const tb_check *c, uint32_t batch) {
    return sac_task_of(c)->n - batch * sac_build_of(c)->n;
}
/* Channel groups of a batch that have filters. */
static inline uint32_t sac_groups_of(const tb_check *c, uint32_t batch) {
    const sac_build *b = sac_build_of(c);
    const uint32_t left = sac_left(c, batch);
    return sac_up(left < b->n ? left : b->n, b->c);
}

#endif
