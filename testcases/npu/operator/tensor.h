/*
 * tensor.h - tensors of operator tests: data, places in device memory, comparison with expected values; and the frame that runs one operator.
 *
 * Elements are kept on the host as 32 bits in the order [c][h][w], whatever the layout: FP32 bits, or an INT8 value with its sign extended.
 */
#ifndef TESTCASES_TENSOR_H
#define TESTCASES_TENSOR_H

#include "../tests.h"

#include <string.h>

#define TENSOR_NAN 0x7FC00000u /* what arithmetic answers with */
#define TENSOR_ONE 0x3F800000u
#define TENSOR_FILL 0xA5u /* what output memory holds before */
#define TENSOR_MAX_ELEMENTS (UINT64_C(1) << 24)
#define TENSOR_TIMEOUT_US 1000000u

typedef enum tensor_data {
    TENSOR_PLAIN,    /* ordinary activations: -4..4; INT8 the whole range */
    TENSOR_EXTREME,  /* largest values of both signs: sums overflow, averages clamp */
    TENSOR_HALVES,   /* halves and their neighbours; INT8: few small values, so averages tie */
    TENSOR_ZEROS,    /* zeros of both signs */
    TENSOR_RAMP,     /* counts up */
    TENSOR_SPECIALS, /* NaN, infinities, zeros, subnormals among others; INT8: -128 too */
    TENSOR_ONES,     /* never drawn, for shrinking */
    TENSOR_DATA_COUNT
} tensor_data;

extern const char *const tensor_data_names[TENSOR_DATA_COUNT];
extern const uint32_t tensor_data_weight[TENSOR_DATA_COUNT];
extern const char *const tensor_wait_names[2];
extern const uint32_t tensor_bus_weight[TC_BUS_COUNT];

/* Knobs of every operator test. */
#define TENSOR_KNOBS                                                                                                                       \
    {"data", 0, TENSOR_DATA_COUNT - 1, TB_KNOB_ENUM, tensor_data_names, tensor_data_weight, "values of the operands"},                     \
        {"gap",                                                                                                                            \
         0,                                                                                                                                \
         8,                                                                                                                                \
         TB_KNOB_SMALL,                                                                                                                    \
         NULL,                                                                                                                             \
         NULL,                                                                                                                             \
         "most unused units between channels (16 bytes) or pixels (N bytes); place=0: exactly so many"},                                   \
        {"place", 0, 255, TB_KNOB_UNIFORM, NULL, NULL, "seed of buffer addresses and gaps; 0: aligned to 4 KB"},                           \
        {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, tensor_bus_weight, "bus timing"},                                         \
        {"wait", 0, 1, TB_KNOB_ENUM, tensor_wait_names, NULL, "how the driver waits"}, {                                                   \
        "dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"                                        \
    }

typedef struct tensor {
    npu_tensor at;
    uint32_t *v;             /* [c][h][w]: contents, or what is expected */
    size_t count;            /* w*h*c */
    uint32_t base, capacity; /* the buffer around it */
    uint8_t *image;          /* what the buffer held before the operator, NULL: it was not filled */
} tensor;

static inline float tensor_float(uint32_t bits) {
    float v;
    memcpy(&v, &bits, 4);
    return v;
}

/* Result of an arithmetic operation: NaN in its one form. */
static inline uint32_t tensor_bits(float v) {
    uint32_t bits;
    memcpy(&bits, &v, 4);
    return v != v ? TENSOR_NAN : bits;
}

static inline size_t tensor_index(const tensor *t, uint32_t c, uint32_t y, uint32_t x) {
    return ((size_t)c * t->at.h + y) * t->at.w + x;
}

/* Where the values of a knob table and a seed put buffers. */
typedef struct tensor_place {
    const tb_knobs *knobs; /* gap, place */
    uint64_t seed;
} tensor_place;

/*
 * A tensor in device memory, at an address and with gaps that follow from place and name; nothing is written yet, v is allocated and zero. -1 with run->err: out of
 * memory. Release with tensor_free(), also after an error (t is zero at first).
 */
int tensor_make(tc_run *run, const tensor_place *place, const char *name, npu_tensor shape, npu_buf_kind kind, tensor *t);
void tensor_free(tensor *t);

/* Contents from a stream. */
void tensor_fill(tensor *t, tb_rng *rng, tensor_data data);
/* One value of a class of data. */
uint32_t tensor_value(tb_rng *rng, npu_layout layout, tensor_data data, size_t i);

/*
 * Write v to device memory. What hardware may read beside it holds junk, what it may not read stays unwritten (after tensor_blank(): filled). Pad channels of an NHWC tensor get zeros, or junk.
 */
int tensor_put(tc_run *run, tensor *t, bool junk_pads);
/* Fill the buffer, gaps included; tensor_check() expects gaps to be as they were. */
int tensor_blank(tc_run *run, tensor *t);
/* FP32 values side by side at an address that is a multiple of 4, junk around them. 0 with run->err: out of memory. */
uint32_t tensor_put_array(tc_run *run, const tensor_place *place, const char *name, const uint32_t *values, uint32_t count);

/* v from device memory. false: it cannot be read. */
bool tensor_get(tc_run *run, tensor *t);
/* Is `got` right for element i, for which `want` is expected? */
typedef bool (*tensor_match)(const void *ctx, size_t i, uint32_t want, uint32_t got);
/* Compare device memory with v and with the image; the first wrong element is named. match NULL: equal bits. */
void tensor_check(tc_run *run, const tensor *t, const char *op, tensor_match match, const void *ctx);

/* Size of the device's memory with room for so many elements in `buffers` buffers. */
uint64_t tensor_memory(uint64_t bytes, uint32_t buffers);

/* ---- one operator ---- */

/* First member of the struct of each operator. */
typedef struct tensor_op {
    char what[256]; /* the operator, in one line */
    tc_bounds bounds;
} tensor_op;

typedef struct tensor_kind {
    const tc_test *test;
    size_t size; /* of the operator's struct */
    /* Bytes of all its tensors, roughly. */
    uint64_t (*bytes)(uint32_t n, const tb_knobs *knobs);
    /* Tensors into device memory and expected results. op is zero before. -1 with run->err. */
    int (*prepare)(tc_run *run, const tb_knobs *knobs, uint64_t seed, tensor_op *op);
    /* Outputs (and what is overwritten) as before the first run. */
    int (*again)(tc_run *run, tensor_op *op);
    npu_status (*start)(const npu *dev, const tensor_op *op, npu_job *job);
    npu_status (*run)(npu *dev, tensor_op *op);
    void (*verify)(tc_run *run, tensor_op *op);
    void (*release)(tensor_op *op);
} tensor_kind;

/* execute() of a test of one operator. */
int tensor_execute(tc_run *run, const tensor_kind *kind);

/* Cycles and CPU time of the device so far. */
typedef struct tensor_clock {
    uint64_t cycles;
    double rtl_s, harness_s;
} tensor_clock;
tensor_clock tensor_now(const tc_run *run);
/* What passed since then, into the stats of the run. */
void tensor_measure(tc_run *run, tensor_clock begin);

/* ---- generators (tensor_gen.c) ---- */

typedef struct tensor_gen {
    tb_knobs *knobs;
    uint64_t seed;
    uint32_t n;
} tensor_gen;

int64_t gen_get(const tensor_gen *g, const char *name);
bool gen_pinned(const tensor_gen *g, const char *name);
void gen_draw_in(const tensor_gen *g, const char *name, int64_t lo, int64_t hi);
/* Set unless pinned, kept inside the legal range. */
void gen_put(const tensor_gen *g, const char *name, int64_t value);
/* A draw of its own, beside that of the knob's value. */
bool gen_chance(const tensor_gen *g, const char *name, uint32_t num, uint32_t den);
/* In [1, hi]: small values in half of the cases, large ones in the other half. */
void gen_size(const tensor_gen *g, const char *name, int64_t hi);
/* Draw all; plain: gaps, places, bus and wait at their simplest. */
void gen_start(const tensor_gen *g, bool plain);
/* A knob `all` (0, or `none`: off) that stands for `count` others. Pins of those turn it off. */
void gen_spread(const tensor_gen *g, const char *all, int64_t none, const char *const *names, size_t count);
/* Make the largest of the sizes that are free smaller, not below low[i] (NULL: 1); false: there is none. */
bool gen_shrink(const tensor_gen *g, const char *const *names, const int64_t *low, size_t count);
/* Clock cycles of a beat of data, by the bus of the knobs. */
uint32_t gen_slowness(const tb_knobs *knobs);
/* Clock cycles of a case: well below a second of simulation. */
uint64_t gen_budget(uint32_t n);

#endif
