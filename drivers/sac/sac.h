/*
 * sac.h - driver of the shift-add engine. Freestanding: <stdint.h>, <stddef.h>, <stdbool.h> and the HAL.
 *
 *     sac_open()            sizes of the vectors from the device
 *     sac_pack_*()          weights, parameters and features in the device's formats, into memory of the caller
 *     sac_start(), sac_wait()   one task, every argument checked
 *     sac_plan.h            whole layers: scales to shifts, groups, tiles of rows
 *
 * Formats and limits: docs/sac/sac.md; registers: docs/sac/registers.md.
 */
#ifndef SAC_H
#define SAC_H

#include <stddef.h>

#include "sac_hal.h"

typedef enum sac_status {
    SAC_OK,
    SAC_FAIL_ARG,        /* a null pointer, an address that is not a multiple of 16 */
    SAC_FAIL_MAP,        /* map or channels: 1..1023 columns and rows, 1..4096 channels and filters */
    SAC_FAIL_KERNEL,     /* kernel 1..11, stride 1..4, padding 0..7 */
    SAC_FAIL_OUTPUT,     /* output size does not follow from the map */
    SAC_FAIL_POOL,       /* window 2..3, stride 1..3, padding 0..1 */
    SAC_FAIL_WINDOW,     /* a pooling window holds no part of the map */
    SAC_FAIL_FULL,       /* a map of more than 16384 pixels cannot be pooled as a whole */
    SAC_FAIL_WORDS,      /* a filter takes more than 1024 words */
    SAC_FAIL_CACHE_SIZE, /* the map does not fit into half of the feature cache */
    SAC_FAIL_UNWRITTEN,  /* the input is to come from a half of the cache that no task has written so */
    SAC_FAIL_OVERLAP,    /* the output overlaps something that the task reads */
    SAC_FAIL_CODE,       /* a weight has the code 15 */
    SAC_FAIL_SHIFT,      /* sh -8..31, d 0..7, la and lb 0..7, r -8..15, g -7..7 */
    SAC_FAIL_OVERFLOW,   /* a sum could leave 32 bits */
    SAC_FAIL_DILATION,   /* dilation */
    SAC_FAIL_DEPTHWISE,  /* groups whose channels are no multiple of C_VECTOR: depthwise convolutions */
    SAC_FAIL_AVERAGE,    /* average pooling over windows */
    SAC_FAIL_ACTIVATION, /* activations other than ReLU */
    SAC_FAIL_RECORD,     /* a record of floating-point weights as a convolution's */
    SAC_FAIL_DEVICE,     /* the device does not answer, or is none of these */
    SAC_FAIL_CONFIG,     /* the device refused the sizes */
    SAC_FAIL_ABORTED,    /* sac_abort() */
    SAC_FAIL_READ_F,     /* error response to a read of features */
    SAC_FAIL_READ_W,     /* error response to a read of weights */
    SAC_FAIL_WRITE,      /* error response to a write */
    SAC_STATUS_COUNT
} sac_status;

/* One line about a status. */
const char *sac_strerror(sac_status status);

/* A tensor that a half of the feature cache holds; c = 0: nothing that the driver knows of. */
typedef struct sac_cached {
    uint32_t c, h, w;
} sac_cached;

typedef struct sac_dev {
    const sac_hal *hal;
    uint32_t wv, cv, nv;  /* W_VECTOR, C_VECTOR, N_VECTOR */
    uint32_t cache_pages; /* of each half */
    sac_cached cached[2];
    sac_cached next[2]; /* what the halves hold once the task under way has ended without error */
} sac_dev;

typedef enum sac_full { SAC_FULL_NONE, SAC_FULL_MAX, SAC_FULL_AVG } sac_full;

/*
 * A task: one convolution and what follows it. Addresses are bytes, multiples of 16. Tensors are pages [channel group
 * of C_VECTOR][row][ceil(w / W_VECTOR)] of [W_VECTOR][C_VECTOR] INT8, each page on 16 bytes; the steps are bytes from
 * one channel group to the next, 0: groups follow each other without a gap.
 */
typedef struct sac_task {
    uint32_t in, out, res, filters, params, dtab;
    uint32_t in_step, out_step; /* out_step: of output (not with `full`) and residual */
    uint32_t c, h, w;           /* input */
    uint32_t n;                 /* filters */
    uint32_t kh, kw, stride;
    uint32_t pt, pl; /* padding; below and right it follows from oh and ow, at most 7 */
    uint32_t oh, ow; /* after the convolution */
    bool relu;
    bool pool; /* max pooling */
    uint32_t win, pool_stride, pool_pt, pool_pl;
    uint32_t ph, pw; /* after pooling */
    bool add;        /* residual at `res` */
    bool post_relu;
    sac_full full;
    bool from_cache, to_memory, to_cache;
    uint32_t half; /* of the cache that holds the input; the other one gets the output */
} sac_task;

/* PARAM of a filter. */
typedef struct sac_filter {
    int32_t bias;   /* B = bias * 2^E */
    int32_t sh;     /* -8..31 */
    int32_t la, lb; /* 0..7 */
    int32_t r;      /* -8..15 */
    int32_t g;      /* -7..7 */
} sac_filter;

/* The device behind a HAL; nothing is in its cache. */
sac_status sac_open(sac_dev *dev, const sac_hal *hal);

/* Bytes of a tensor in memory, of a filter stream, of PARAM and of DTAB (what the engine reads; each begins on 16). */
uint32_t sac_tensor_bytes(const sac_dev *dev, uint32_t c, uint32_t h, uint32_t w);
uint32_t sac_filter_bytes(const sac_dev *dev, uint32_t n, uint32_t c, uint32_t kh, uint32_t kw);
uint32_t sac_param_bytes(const sac_dev *dev, uint32_t n);

/* [c][h][w] to pages, unused bytes 0, and back. */
void sac_pack_tensor(const sac_dev *dev, uint32_t c, uint32_t h, uint32_t w, const int8_t *data, uint8_t *pages);
void sac_unpack_tensor(const sac_dev *dev, uint32_t c, uint32_t h, uint32_t w, const uint8_t *pages, int8_t *data);
/* Codes [n][c][kh][kw], one a byte, to a filter stream; what is absent is 7. SAC_FAIL_CODE: a code 15 or above. */
sac_status sac_pack_filters(const sac_dev *dev, uint32_t n, uint32_t c, uint32_t kh, uint32_t kw, const uint8_t *codes,
                            uint8_t *stream);
/* PARAM of whole batches. SAC_FAIL_SHIFT: out of range. */
sac_status sac_pack_params(const sac_dev *dev, uint32_t n, const sac_filter *filter, uint8_t *params);
/*
 * Can no sum of a filter leave 32 bits: 128 * sum(2^(k + d)) + |B| < 2^31? codes [c][kh * kw], d [c]. Else
 * SAC_FAIL_OVERFLOW; SAC_FAIL_SHIFT: d above 7.
 */
sac_status sac_check_sums(uint32_t c, uint32_t kernel, const uint8_t *codes, const uint8_t *d, int32_t bias);

/* Would sac_start() start it? */
sac_status sac_check(const sac_dev *dev, const sac_task *task);
/* Start a task; none may be under way. irq: the interrupt will be waited for. */
sac_status sac_start(sac_dev *dev, const sac_task *task, bool irq);
/* Wait for its end, and acknowledge it. */
sac_status sac_wait(sac_dev *dev, bool irq);
/* End the task under way; sac_wait() then answers SAC_FAIL_ABORTED, or what the task did if it was faster. */
sac_status sac_abort(sac_dev *dev);

/* Cycles of the last task. */
typedef struct sac_cycles {
    uint32_t input, preload, conv, idle, load_stall, write_stall;
} sac_cycles;
sac_status sac_read_cycles(const sac_dev *dev, sac_cycles *cycles);
/* CYC_CONV by the formula of the document (equations 27 to 31). */
uint64_t sac_conv_cycles(const sac_dev *dev, const sac_task *task);

#endif
