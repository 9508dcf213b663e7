/*
 * tensor.h - tensors of operator tests: data, addresses in device memory, comparison with expected values; and running
 * one operator.
 *
 * All functions that return int: 0, or -1 with run->err (could not be done).
 */
#ifndef TESTCASES_TENSOR_H
#define TESTCASES_TENSOR_H

#include "../tests.h"

#include "num.h"
#include "ref.h"

#include <string.h>

#define TENSOR_ONE 0x3F800000u
#define TENSOR_FILL 0xA5u /* initial value of output memory: bytes that the NPU may not write must keep it */
#define TENSOR_MAX_ELEMENTS (UINT64_C(1) << 24)
#define TENSOR_TIMEOUT_US 1000000u
#define TENSOR_GEMM_TIMEOUT_US 200000u /* of tests that run the GEMM alone */

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
#define TENSOR_KNOBS                                                                                                   \
    {"data", 0, TENSOR_DATA_COUNT - 1, TB_KNOB_ENUM, tensor_data_names, tensor_data_weight, "values of the operands"}, \
        {"gap",                                                                                                        \
         0,                                                                                                            \
         8,                                                                                                            \
         TB_KNOB_SMALL,                                                                                                \
         NULL,                                                                                                         \
         NULL,                                                                                                         \
         "most unused units between channels (16 bytes) or pixels (N bytes); place=0: exactly so many"},               \
        {"place", 0, 255, TB_KNOB_UNIFORM, NULL, NULL, "seed of buffer addresses and gaps; 0: aligned to 4 KB"},       \
        {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, tensor_bus_weight, "bus timing"},                     \
        {"wait", 0, 1, TB_KNOB_ENUM, tensor_wait_names, NULL, "how the driver waits"}, {                               \
        "dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"                    \
    }

/* ---- tensors as bytes of device memory (tensor_mem.c). The knob `place` of the case shifts buffers against 4 KB. ----
 */

/* A buffer. `name` is its random stream. `shift`: bytes past the alignment of 16. 0: no room, with run->err. */
uint32_t tensor_alloc(tc_run *run, const char *name, uint32_t bytes, uint32_t shift, npu_buf_kind kind);
int tensor_write(tc_run *run, uint32_t addr, const void *src, size_t bytes);
/* A buffer with these bytes in it. */
int tensor_new_bytes(tc_run *run, const char *name, const void *src, size_t bytes, uint32_t *addr);

/* Number of channels (FP32) or pixels (INT8) of a tensor, and the bytes of one without the gap after it. */
uint32_t tensor_pieces(const npu_tensor *t);
uint32_t tensor_piece_bytes(const tc_run *run, const npu_tensor *t);
/*
 * A step with `gap` units (16 bytes, or N channels) between channels or pixels. tight: channels of one pixel are
 * contiguous.
 */
uint32_t tensor_step(const tc_run *run, const npu_tensor *t, uint32_t gap, bool tight);
/* Bytes from the first to the end of the last channel or pixel, its gap included. */
uint64_t tensor_bytes(const npu_tensor *t);
/* Offset of an element in the memory of a tensor; pixel is y*w + x. */
size_t tensor_offset(const npu_tensor *t, uint32_t c, uint32_t pixel);
/* Allocate a tensor whose step is set. */
int tensor_new(tc_run *run, const char *name, npu_tensor *t, uint32_t shift, npu_buf_kind kind);
/*
 * Write a tensor piece by piece: pack() puts `bytes` bytes of piece i into dst. Other bytes that the NPU may read with
 * them (up to multiples of 16) get random values; bytes beyond stay unwritten, and must not be read. image: a copy of
 * the memory from address `base` on that is written, too, or NULL.
 */
typedef void tensor_pack(const void *ctx, const npu_tensor *t, uint32_t i, uint32_t bytes, uint8_t *dst);
int tensor_write_pieces(tc_run *run, const npu_tensor *t, tensor_pack *pack, const void *ctx, uint8_t *image,
                        uint32_t base);
/* Write elements [c][h][w], FP32 bits or int8, in the tensor's layout; pad channels get random values. */
int tensor_write_elements(tc_run *run, const npu_tensor *t, const void *elements);
/* Fill a tensor's memory with TENSOR_FILL. */
int tensor_prefill(tc_run *run, const npu_tensor *t);
/* Its memory, tensor_bytes() long, to be freed. NULL: with run->err, or noted as a failure. */
uint8_t *tensor_read(tc_run *run, const char *what, const npu_tensor *t);
/* Checks that gaps have their filling, and pad channels are zero. */
void tensor_check_gaps(tc_run *run, const char *what, const npu_tensor *t, const uint8_t *image);
uint32_t tensor_word(const uint8_t *bytes);
/* The INT8 elements of an image as [c][h][w], to be freed. NULL: out of memory. */
int8_t *tensor_take_i8(const npu_tensor *t, const uint8_t *image);
/* The same bytes in both images (gaps apart)? The first difference is noted. */
void tensor_check_same(tc_run *run, const char *signature, const npu_tensor *t, const uint8_t *first,
                       const uint8_t *second);

/* ---- tensors with their contents: 32 bits an element in the order [c][h][w], whatever the layout: FP32 bits, or an
 * INT8 value with its sign extended ---- */

typedef struct tensor {
    npu_tensor at;
    uint32_t *v;             /* [c][h][w]: contents, or expected values */
    size_t count;            /* w*h*c */
    uint32_t base, capacity; /* the buffer around it */
    uint8_t *image;          /* contents of the buffer before the operator, NULL: it was not filled */
} tensor;

static inline size_t tensor_index(const tensor *t, uint32_t c, uint32_t y, uint32_t x) {
    return ((size_t)c * t->at.h + y) * t->at.w + x;
}

/* Placement of buffers by the values of a knob table and a seed. */
typedef struct tensor_place {
    const tb_knobs *knobs; /* gap, place */
    uint64_t seed;
    bool wide; /* addresses and steps of pixels are multiples of 2N bytes, as INT16 wants them */
} tensor_place;

/*
 * A tensor in device memory, at an address and with gaps that follow from place and name; nothing is written yet, v is
 * allocated and zero. -1 with run->err: out of memory. Release with tensor_free(), also after an error (t is zero at
 * first).
 */
int tensor_make(tc_run *run, const tensor_place *place, const char *name, npu_tensor shape, npu_buf_kind kind,
                tensor *t);
void tensor_free(tensor *t);

/* Contents from a stream. */
void tensor_fill(tensor *t, tb_rng *rng, tensor_data data);
/* One value of a class of data. */
uint32_t tensor_value(tb_rng *rng, npu_layout layout, tensor_data data, size_t i);

/*
 * Write v to device memory. Bytes next to it that hardware may read get random values, others stay unwritten (after
 * tensor_blank(): filled). Pad channels of an NHWC tensor get zeros, or random values.
 */
int tensor_put(tc_run *run, tensor *t, bool junk_pads);
/* Fill the buffer, gaps included; tensor_check() expects gaps to be as they were. */
int tensor_blank(tc_run *run, tensor *t);
/* Contiguous FP32 values at an address that is a multiple of 4, with random values around them. 0 with run->err: out of
 * memory. */
uint32_t tensor_put_array(tc_run *run, const tensor_place *place, const char *name, const uint32_t *values,
                          uint32_t count);

/* v from device memory. false: it cannot be read. */
bool tensor_get(tc_run *run, tensor *t);
/* Is `got` right for element i, for which `want` is expected? */
typedef bool (*tensor_match)(const void *ctx, size_t i, uint32_t want, uint32_t got);
/* Compare device memory with v and with the image; the first wrong element is named. match NULL: equal bits. */
void tensor_check(tc_run *run, const tensor *t, const char *op, tensor_match match, const void *ctx);

/* Size of device memory for so many elements in `buffers` buffers. */
uint64_t tensor_memory(uint64_t bytes, uint32_t buffers);

/* ---- one operator ---- */

/* First member of the struct of each operator. */
typedef struct tensor_op {
    char what[256]; /* the operator, in one line */
    tc_bounds bounds;
    tensor a, b, out; /* operands (those that it has) and result, which are freed with it */
    bool in_place;    /* the result overwrites a; `out` has its values */
} tensor_op;

typedef struct tensor_kind {
    const tc_test *test;
    size_t size; /* of the operator's struct */
    /* Bytes of all its tensors, roughly. */
    uint64_t (*bytes)(uint32_t n, const tb_knobs *knobs);
    /* Tensors into device memory and expected results. op is zero before. -1 with run->err. */
    int (*prepare)(tc_run *run, const tb_knobs *knobs, uint64_t seed, tensor_op *op);
    /* Outputs (and what is overwritten) as before the first run. NULL: out is filled. */
    int (*again)(tc_run *run, tensor_op *op);
    npu_status (*start)(const npu *dev, const tensor_op *op, npu_job *job);
    npu_status (*run)(npu *dev, tensor_op *op);
    void (*verify)(tc_run *run, tensor_op *op); /* NULL: tensor_check() of out under the name of the test */
    void (*release)(tensor_op *op);             /* of its resources other than tensors, or NULL */
} tensor_kind;

/* The functions of a kind, or what stands for those that are NULL. */
int tensor_again(tc_run *run, const tensor_kind *kind, tensor_op *op);
void tensor_verify(tc_run *run, const tensor_kind *kind, tensor_op *op);
void tensor_release(const tensor_kind *kind, tensor_op *op);
/* again() of a kind that may work in place: its memory is filled, and `a` written. */
int tensor_put_again(tc_run *run, tensor_op *op);
/* tensor_check() of the result, where it is. */
void tensor_check_result(tc_run *run, const tensor_op *op, const char *name, tensor_match match, const void *ctx);
/* execute() of a test with a kind. */
int tensor_execute(tc_run *run);

/* Cycles and CPU time of the device so far. */
typedef struct tensor_clock {
    uint64_t cycles;
    double rtl_s, harness_s;
} tensor_clock;
tensor_clock tensor_now(const tc_run *run);
/* Differences since then, into the stats of the run. */
void tensor_measure(tc_run *run, tensor_clock begin);

/* ---- generators (tensor_gen.c) ---- */

int64_t gen_get(const tc_gen *g, const char *name);
bool gen_pinned(const tc_gen *g, const char *name);
void gen_draw_in(const tc_gen *g, const char *name, int64_t lo, int64_t hi);
/* Set unless pinned, kept inside the legal range. */
void gen_put(const tc_gen *g, const char *name, int64_t value);
/* A separate draw, independent of the knob's value. */
bool gen_chance(const tc_gen *g, const char *name, uint32_t num, uint32_t den);
/* In [1, hi]: small values in half of the cases, large ones in the other half. */
void gen_size(const tc_gen *g, const char *name, int64_t hi);
/* Draw all; plain: gaps, places, bus and wait at their simplest values. */
void gen_start(const tc_gen *g);
/* plain: these knobs at their simplest, 0. */
void gen_simplest(const tc_gen *g, const char *const *names, size_t count);
/* A knob `all` (0, or `none`: off) that stands for `count` others. Pins of those turn it off. */
void gen_spread(const tc_gen *g, const char *all, int64_t none, const char *const *names, size_t count);
/* Reduce the largest size that is not pinned, not below low[i] (NULL: 1); false: there is none. */
bool gen_shrink(const tc_gen *g, const char *const *names, const int64_t *low, size_t count);
/* Clock cycles of a beat of data, by the bus of the knobs. */
uint32_t gen_slowness(const tb_knobs *knobs);
/* Clock cycles of a case: well below a second of simulation. */
uint64_t gen_budget(uint32_t n);

#endif
