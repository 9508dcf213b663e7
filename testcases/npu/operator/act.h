/*
 * act.h - activations in operator tests: names, parameters, expected values.
 */
#ifndef TESTCASES_ACT_H
#define TESTCASES_ACT_H

#include "tensor.h"

extern const char *const act_names[NPU_ACT_COUNT];

/* Parameters that are legal for the driver; hard: also corner cases of FP32. */
void act_draw_params(tb_rng *rng, npu_act act, bool hard, uint32_t p[2]);

/* An output that is act(y), with y kept for the comparison. */
typedef struct act_output {
    npu_act act;
    npu_func func; /* in place of the activation */
    uint32_t p[2];
    uint32_t *y;
} act_output;

/* out->v holds y; afterwards it holds the expected values (fitted functions: the exact value). -1: out of memory.
 * Release y with free(). */
int act_expect(act_output *a, tensor *out);
/* A tensor_match; ctx is an act_output. */
bool act_match(const void *ctx, size_t i, uint32_t want, uint32_t got);

extern const tensor_kind act_kind;

#endif
