/*
 * int16.h - private to the int16 test: the operator, its data in device memory, its definition.
 */
#ifndef TESTCASES_INT16_H
#define TESTCASES_INT16_H

#include "conv.h"

typedef enum int16_op { INT16_CONV, INT16_DW, INT16_TO, INT16_FROM, INT16_OPS } int16_op;
typedef enum int16_data { INT16_PLAIN, INT16_EXTREME, INT16_SMALL, INT16_SPECIALS, INT16_DATA } int16_data;

typedef struct op16 {
    tc_run *run;
    int16_op op;
    npu_conv conv;
    npu_convert convert;
    npu_tensor in, out;
    uint32_t *f32; /* [c][pixel] of an FP32 input */
    int16_t *q;    /* [c][pixel], quantised */
    int16_t *w;    /* [oc][ic][tap] */
    float *oscale, *bias;
    uint8_t *expected; /* memory of the output */
} op16;

/* A value for inputs and weights. */
int16_t int16_draw(tb_rng *rng, int16_data data);
/* The input: t->q, and t->f32 where it is FP32, quantised with `scale`. -1: out of memory. */
int int16_draw_input(op16 *t, tb_rng *rng, int16_data data, float scale);
/* Steps of a tensor in memory: its channels, or in NHWC its pixels. */
uint32_t int16_pieces(const npu_tensor *x);
/* Step and address of a tensor. -1: no room. */
int int16_place(op16 *t, const char *name, npu_tensor *x, npu_buf_kind kind);
/* The input to device memory. -1: it failed. */
int int16_write_input(op16 *t);
/* t->expected by the definition; bytes that the operator does not write stay as they are. */
void int16_expect(op16 *t);
/* The output in device memory beside t->expected; fails the run, naming `what`. */
void int16_compare(op16 *t, const char *what);

#endif
