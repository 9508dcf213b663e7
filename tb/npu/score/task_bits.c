/* task_bits.c - tables of fields of each descriptor, from the generated ones. */
#include "task_bits.h"

#include <inttypes.h>

#include "npu_regs.h"

typedef npu_task_field field;

#define FIELD(type, name, element, lsb, width, reg, reg_field, one)                                                    \
    {#name,                                                                                                            \
     lsb,                                                                                                              \
     width,                                                                                                            \
     offsetof(type, element),                                                                                          \
     sizeof(((type *)NULL)->element),                                                                                  \
     NPU_REG_##reg,                                                                                                    \
     NPU_##reg##_##reg_field##_LSB,                                                                                    \
     one},
#define GEMM(...) FIELD(cm_gemm_task, __VA_ARGS__)
#define ALU(...) FIELD(cm_alu_task, __VA_ARGS__)
#define POOL(...) FIELD(cm_pool_task, __VA_ARGS__)
static const field gemm_fields[] = {CM_GEMM_TASK_TABLE(GEMM)};
static const field alu_fields[] = {CM_ALU_TASK_TABLE(ALU)};
static const field pool_fields[] = {CM_POOL_TASK_TABLE(POOL)};

/* Bits of registers that are inverted when a task is written to them. */
typedef struct flip {
    uint32_t reg, mask;
} flip;
#define FLIP(reg, mask) {NPU_REG_##reg, mask},
static const flip gemm_flips[] = {CM_GEMM_TASK_FLIPS(FLIP){0, 0}};
static const flip alu_flips[] = {CM_ALU_TASK_FLIPS(FLIP){0, 0}};
static const flip pool_flips[] = {CM_POOL_TASK_FLIPS(FLIP){0, 0}};
static const flip *const flips[NPU_SCORE_KINDS] = {gemm_flips, alu_flips, pool_flips};

#define COUNT(a) (sizeof(a) / sizeof *(a))
const npu_task_fields npu_task_tables[NPU_SCORE_KINDS] = {
    [NPU_SCORE_GEMM] = {gemm_fields, COUNT(gemm_fields), CM_GEMM_TASK_WIDTH},
    [NPU_SCORE_ALU] = {alu_fields, COUNT(alu_fields), CM_ALU_TASK_WIDTH},
    [NPU_SCORE_POOL] = {pool_fields, COUNT(pool_fields), CM_POOL_TASK_WIDTH}};

uint32_t npu_task_value(const npu_task_field *f, const void *task) {
    const uint8_t *at = (const uint8_t *)task + f->offset;
    uint32_t value;
    if (f->bytes == 1) {
        return *(const bool *)at;
    }
    memcpy(&value, at, sizeof value);
    return value;
}

static void store(const field *f, void *task, uint32_t value) {
    uint8_t *at = (uint8_t *)task + f->offset;
    if (f->bytes == 1) {
        *(bool *)at = value != 0;
    } else {
        memcpy(at, &value, sizeof value);
    }
}

__attribute__((hot)) void npu_score_task_get(npu_score_kind kind, tb_sig sig, npu_score_task *task) {
    memset(task, 0, sizeof *task);
    for (size_t i = 0; i < npu_task_tables[kind].count; i++) {
        const field *f = &npu_task_tables[kind].f[i];
        store(f, task, (uint32_t)tb_get_field(sig, f->lsb, f->bits));
    }
}

void npu_task_set_bits(npu_score_kind kind, tb_sig sig, const void *task) {
    for (size_t i = 0; i < npu_task_tables[kind].count; i++) {
        const field *f = &npu_task_tables[kind].f[i];
        tb_set_field(sig, f->lsb, f->bits, npu_task_value(f, task));
    }
}

bool npu_score_task_same(tb_check *c, const char *stream, npu_score_kind kind, tb_sig sig,
                         const npu_score_task *expected) {
    npu_score_task got;
    npu_score_task_get(kind, sig, &got);
    for (size_t i = 0; i < npu_task_tables[kind].count; i++) {
        const field *f = &npu_task_tables[kind].f[i];
        const uint32_t g = npu_task_value(f, &got), e = npu_task_value(f, expected);
        if (g != e) {
            tb_check_failf(c, stream, c->task, "%s|0x%" PRIx32 "|0x%" PRIx32, f->name, g, e);
            return false;
        }
    }
    return true;
}

void npu_score_task_regs(npu_score_kind kind, const npu_score_task *task, uint32_t regs[NPU_SCORE_REGS]) {
    memset(regs, 0, NPU_SCORE_REGS * sizeof *regs);
    for (size_t i = 0; i < npu_task_tables[kind].count; i++) {
        const field *f = &npu_task_tables[kind].f[i];
        regs[f->reg / 4] |= npu_task_value(f, task) * f->one << f->reg_lsb;
    }
    for (const flip *f = flips[kind]; f->mask != 0; f++) {
        regs[f->reg / 4] ^= f->mask;
    }
}

bool npu_score_task_decode(npu_score_kind kind, uint32_t n, const uint32_t regs[NPU_SCORE_REGS], npu_score_task *task) {
    switch (kind) {
    case NPU_SCORE_GEMM:
        return cm_gemm_decode(n, regs, &task->gemm);
    case NPU_SCORE_ALU:
        return cm_alu_decode(regs, &task->alu);
    default:
        return cm_pool_decode(n, regs, &task->pool);
    }
}
