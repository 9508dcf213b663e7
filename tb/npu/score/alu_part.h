/* alu_part.h - shared by the checks of the ALU and its parts. */
#ifndef NPU_ALU_PART_H
#define NPU_ALU_PART_H

#include "task_bits.h"

#include "npu_regs.h"

#define NPU_SCORE_ALU_CHUNK 256u /* elements of a chunk at most */

static inline bool npu_score_alu_reduces(uint32_t op) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_REDUCE, op);
}

/* p is a parameter of the operation. */
static inline bool npu_score_alu_uses_p(uint32_t op) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_P, op);
}

/* q is a parameter of the operation; that of a reduction is a factor of its result. */
static inline bool npu_score_alu_uses_q(uint32_t op) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_Q, op);
}

/* Signals of the `number`-th unit of a kind inside the instance of this check. 0 or -1 with one line in err. */
int npu_score_alu_bind(const tb_check *c, const char *kind, size_t number, tb_ports ports, char *err, size_t err_size);
/* The check of the whole ALU, which counts tasks; not before all checks are open. */
const tb_check *npu_score_alu_whole(const tb_check *c);

#endif
