/*
 * explain.h - what a device records of a run that is known to fail: registers, bus, every failed check, every wrong
 * byte.
 *
 * A run with npu_dev_cfg.explain does not stop at the first failed unit check, bus rule or memory access; it continues
 * to the compare point that fails, a hang, an assertion, the end, or story.limit cycles after the first failure. The
 * struct is filled when the device is finished and outlives it.
 */
#ifndef NPU_EXPLAIN_H
#define NPU_EXPLAIN_H

#include "device.h"

#define NPU_EX_NONE UINT32_MAX /* of no task */
#define NPU_EX_REGS 128u

typedef enum npu_elem_type { NPU_ELEM_F32, NPU_ELEM_I32, NPU_ELEM_I8 } npu_elem_type;

/*
 * The output of a task as a tensor; element (c, h, w) is at addr + c * step[0] + h * step[1] + w * step[2], modulo
 * 2^32.
 */
typedef struct npu_out_tensor {
    npu_elem_type type;
    uint32_t addr;
    uint32_t size[3], step[3]; /* c, h, w */
} npu_out_tensor;

/* A write of a register. */
typedef struct npu_ex_write {
    uint64_t cycle; /* after it */
    uint32_t offset, value;
    uint32_t task; /* the task that it started, or NPU_EX_NONE */
} npu_ex_write;

typedef struct npu_ex_task {
    unsigned unit;   /* 0 ALU, 1 POOL, 2 GEMM */
    uint32_t number; /* of its unit, refused ones not counted */
    bool refused;
    uint64_t cycle; /* of its start */
    uint32_t regs[NPU_EX_REGS];
    bool has_out;
    npu_out_tensor out;
    /* the output in the RTL's memory before the task, element by element (c, h, w), or NULL */
    uint8_t *before;
    uint64_t wrong, missing; /* elements that differ; elements not written by the RTL */
} npu_ex_task;

/* A wrong element of a task's output; a single byte where it belongs to no output. */
typedef struct npu_ex_wrong {
    uint32_t task; /* index of the task, or NPU_EX_NONE */
    uint32_t at[3];
    uint64_t addr;
    uint32_t got, expected;
    bool by_model; /* the model wrote it */
    bool missing;  /* the RTL did not, or it still holds its value from before the task */
} npu_ex_wrong;

typedef struct npu_ex_buf {
    uint32_t addr, bytes;
    npu_buf_kind kind;
} npu_ex_buf;

typedef struct npu_explain {
    tb_story story; /* the log of every design: bus, checks, failures (tb/run/story.h); port 0 has the registers */
    uint32_t n;
    npu_ex_task *task;
    size_t tasks, task_cap;
    npu_ex_write *write;
    size_t writes, write_cap;
    uint32_t regs[NPU_EX_REGS]; /* as written */
    uint32_t number[3];         /* tasks of each unit so far */
    bool compared;              /* the memories were compared */
    npu_ex_wrong *wrong;
    size_t wrongs, wrong_cap;
    uint64_t wrong_elements, wrong_bytes; /* all; of the elements only NPU_EX_KEEP are kept */
    npu_ex_buf *buf;
    size_t bufs;
    uint64_t bufs_from; /* cycle from which on these buffers are valid */
} npu_explain;

#define NPU_EX_KEEP 1000000u /* wrong elements */

/* Free the contents, and zero the struct. Safe on a zeroed struct. */
void npu_explain_free(npu_explain *ex);

/* "GEMM", "ALU", "POOL" */
const char *npu_explain_unit(unsigned unit);
/* Name of a register, or its offset as "0x1f0". */
const char *npu_explain_reg(uint32_t offset, char *dst, size_t size);
/*
 * Its fields as text: "OP=CONV KERNEL=3 EN=1"; those that are 0 are left out. A register of one field is written as its
 * number, FP32 or decimal.
 */
void npu_explain_fields(uint32_t offset, uint32_t value, char *dst, size_t size);
/* "output buffer 1 + 64" of an address, or "in no buffer". */
void npu_explain_where(const npu_explain *ex, uint64_t addr, char *dst, size_t size);
/* An element's bits as text. */
void npu_explain_value(npu_elem_type type, uint32_t bits, char *dst, size_t size);
/* Index of the task that a failed check refers to, by its unit and number; NPU_EX_NONE: not known. */
uint32_t npu_explain_task_of(const npu_explain *ex, const tb_story_check *check);

/* Output of a task with these registers (128 words, a legal task) on a mesh of size n. false: it has none. */
bool npu_out_tensor_of(unsigned unit, const uint32_t *regs, uint32_t n, npu_out_tensor *out);
/* The element that contains a byte. false: none of this tensor does. */
bool npu_out_tensor_find(const npu_out_tensor *t, uint64_t addr, uint32_t at[3]);
/* Bytes of an element. */
uint32_t npu_elem_bytes(npu_elem_type type);

#endif
