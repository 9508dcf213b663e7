/*
 * tlog_npu.h - tensor logs of the device: every task of each side with its inputs, the values between its units, and
 * its outputs.
 *
 * A task is decoded from the register write that starts it. Memory is read when the task begins and when it is
 * complete. The values between the units come from the golden units' evaluation on the model, and from the taps on the
 * RTL, each value at the place that the order of work gives it; it is independent of the checks of the units, so the
 * log continues when one has failed. Values that never appeared keep the least value of their type (floats: a NaN of
 * bits 0x7fc0dead).
 */
#ifndef NPU_TLOG_NPU_H
#define NPU_TLOG_NPU_H

#include "dev_priv.h"
#include "score/nhwc.h"
#include "score/post_walk.h"
#include "score/task_bits.h"

/* Tensors of a task, in the order of the data flow. */
enum {
    NPU_TLOG_IN,      /* GEMM, POOL: input; ALU: A */
    NPU_TLOG_B,       /* GEMM: weights; ALU: B; POOL: factors */
    NPU_TLOG_P,       /* GEMM: output scales; ALU: P of each plane */
    NPU_TLOG_Q,       /* GEMM: biases; ALU: Q of each plane */
    NPU_TLOG_PSUM,    /* GEMM */
    NPU_TLOG_IFM,     /* GEMM: quantised input */
    NPU_TLOG_SUM,     /* GEMM: sums; ALU: values before the activation */
    NPU_TLOG_POST,    /* GEMM: results before they are quantised; ALU, POOL: results */
    NPU_TLOG_REQUANT, /* GEMM: quantised results */
    NPU_TLOG_OUT,
    NPU_TLOG_SLOTS
};

/* Where element i of an axis lies: (i / block)*hi + (i % block)*lo bytes from the others. */
typedef struct npu_tlog_axis {
    uint32_t block, hi, lo;
} npu_tlog_axis;

typedef struct npu_tlog_tensor {
    const char *stream; /* NULL: the task has none */
    tb_tlog_type type;
    unsigned axes;
    const char *axis[TB_TLOG_AXES];
    size_t size[TB_TLOG_AXES];
    bool memory; /* to be read from memory */
    bool stale;  /* overwritten before it could be read: not logged */
    uint32_t addr;
    npu_tlog_axis step[TB_TLOG_AXES];
    uint64_t elements;
    void *data;
} npu_tlog_tensor;

typedef struct npu_tlog_task {
    unsigned unit;
    uint64_t number; /* of the unit's tasks since the device was opened */
    uint64_t after;  /* it begins when so many of them are complete */
    bool begun, done;
    npu_score_task task;
    npu_tlog_tensor tensor[NPU_TLOG_SLOTS];
} npu_tlog_task;

typedef struct npu_tlog_side {
    tb_tlog *log; /* NULL: this side is not logged */
    const tb_ddr *mem;
    uint32_t n;
    npu_tlog_task **queue; /* in the order of their starts, not yet written */
    size_t count, cap;
    uint64_t started[UNITS], done[UNITS];
    uint64_t fenced;      /* GEMM: `after` of the task that was started last */
    uint64_t base[UNITS]; /* tasks before the last reset */
    uint64_t stale;
    bool inner; /* values between the units are available */
    bool oom;
} npu_tlog_side;

typedef struct npu_tlog_rtl npu_tlog_rtl;

struct npu_tlog {
    npu_tlog_side rtl, model;
    tb_tlog *streams;   /* of the RTL's units; NULL: a build without taps */
    npu_tlog_rtl *taps; /* NULL: a build without taps */
    cm_log values;
    npu_tlog_task *now; /* the one that the model is executing */
};

/* ---- tlog_task.c ---- */
/* The tensors of a task. NULL: out of memory. */
npu_tlog_task *npu_tlog_task_new(unsigned unit, const npu_score_task *task, uint32_t n);
void npu_tlog_task_free(npu_tlog_task *t);
/* Inputs from memory; the output. */
void npu_tlog_read_inputs(npu_tlog_task *t, const tb_ddr *mem);
void npu_tlog_read_output(npu_tlog_task *t, const tb_ddr *mem);
/* The input as the GEMM works on it, from tensor IN, by the golden unit. */
void npu_tlog_layout(npu_tlog_task *t, uint32_t n);
/* May the bytes of two tensors in memory overlap? */
bool npu_tlog_touch(const npu_tlog_tensor *a, const npu_tlog_tensor *b);
/* Element `at` of a tensor, from bits of a value; nothing when there is no such tensor or element. */
void npu_tlog_put(npu_tlog_task *t, unsigned slot, uint64_t at, uint32_t bits);

/* ---- tlog_side.c ---- */
void npu_tlog_started(npu_tlog_side *s, unsigned unit, const npu_score_task *task);
/* The unit's next task is complete. exact: it became so in this cycle. */
void npu_tlog_completed(npu_tlog_side *s, unsigned unit, bool exact);
/* The unit's unfinished tasks were dropped. */
void npu_tlog_dropped(npu_tlog_side *s, unsigned unit);
npu_tlog_task *npu_tlog_find(const npu_tlog_side *s, unsigned unit, uint64_t number);

/* ---- tlog_rtl.c ---- */
npu_tlog_rtl *npu_tlog_rtl_open(npu_dev *dev, char *err, size_t err_size);
void npu_tlog_rtl_close(npu_tlog_rtl *r);
void npu_tlog_rtl_cycle(npu_tlog_rtl *r);
/* All started tasks were dropped. */
void npu_tlog_rtl_clear(npu_tlog_rtl *r);

#endif
