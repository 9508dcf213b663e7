/* npu_task.c - tasks on ports of a bench. */
#include "npu_task.h"

#include <stdio.h>

#include "score/task_bits.h"

static void expect(unit *u, tb_sig port, npu_score_kind kind, const void *task) {
    const npu_task_fields *all = &npu_task_tables[kind];
    for (size_t i = 0; i < all->count; i++) {
        const npu_task_field *f = &all->f[i];
        const uint64_t got = tb_get_field(port, f->lsb, f->bits), expected = npu_task_value(f, task);
        if (got != expected) {
            char name[32];
            snprintf(name, sizeof name, "task.%s", f->name);
            unit_expect_value(u, name, got, expected);
        }
    }
    unit_expect_value(u, "bits of a task", all->bits, port.width);
}

void npu_task_set(tb_sig port, const cm_gemm_task *task) {
    npu_task_set_bits(NPU_SCORE_GEMM, port, task);
}

void npu_task_expect(unit *u, tb_sig port, const cm_gemm_task *task) {
    expect(u, port, NPU_SCORE_GEMM, task);
}

void npu_alu_task_set(tb_sig port, const cm_alu_task *task) {
    npu_task_set_bits(NPU_SCORE_ALU, port, task);
}

void npu_alu_task_expect(unit *u, tb_sig port, const cm_alu_task *task) {
    expect(u, port, NPU_SCORE_ALU, task);
}

void npu_pool_task_set(tb_sig port, const cm_pool_task *task) {
    npu_task_set_bits(NPU_SCORE_POOL, port, task);
}

void npu_pool_task_expect(unit *u, tb_sig port, const cm_pool_task *task) {
    expect(u, port, NPU_SCORE_POOL, task);
}
