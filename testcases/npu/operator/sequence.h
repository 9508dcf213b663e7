/*
 * sequence.h - random tasks on the registers of all units, for the test `sequence`.
 */
#ifndef TESTCASES_SEQUENCE_H
#define TESTCASES_SEQUENCE_H

#include "../tests.h"

#define SEQ_MAX_WRITES 40u
#define SEQ_MAX_OUTPUTS 4u

/* Bytes that a task writes: rows x planes ranges. */
typedef struct seq_output {
    uint32_t addr, bytes, rows, rstep, planes, pstep;
} seq_output;

/* State of a GEMM task for the next one: WGT_KEEP reuses its weights. */
typedef struct seq_weights {
    bool resident, wide;
    uint32_t op, kw, kh, ic, oc, addr;
} seq_weights;

typedef struct seq_task {
    npu_unit unit;
    uint32_t writes[SEQ_MAX_WRITES][2]; /* register, value; the last one starts the task */
    uint32_t write_count;
    seq_output outputs[SEQ_MAX_OUTPUTS];
    uint32_t output_count;
    uint32_t number; /* in the order of draws, from 0 */
    char what[160];  /* in one line */
} seq_task;

#define SEQ_MAX_TASKS 16u
#define SEQ_MAX_ERRORS 5u

/* A burst that is answered with SLVERR. */
typedef struct seq_error {
    bool write;
    uint32_t channel, burst; /* which one of a run, from 0 */
} seq_error;

typedef struct seq_list {
    seq_task task[SEQ_MAX_TASKS];
    uint32_t count, started, runs; /* tasks; those of the last run that were started; runs so far */
    seq_error error[SEQ_MAX_ERRORS];
    uint32_t errors;
} seq_list;

/* Run all tasks, up to the end of the last one. serial: each one alone. false: failed, noted. */
bool seq_run(tc_run *run, seq_list *list, bool serial);
/* Clean, with errors on the bus, and clean again; failures are noted. Needs RTL. */
void seq_run_with_errors(tc_run *run, seq_list *list, uint32_t errors);

/* Draw a legal task with buffers of its own (allocated and filled). -1 with run->err: out of memory. */
int seq_draw_gemm(tc_run *run, tb_rng *rng, seq_weights *before, seq_task *task);
int seq_draw_alu(tc_run *run, tb_rng *rng, seq_task *task);
int seq_draw_pool(tc_run *run, tb_rng *rng, seq_task *task);

void seq_write(seq_task *task, uint32_t offset, uint32_t value);
void seq_out(seq_task *task, seq_output out);
/* lo..hi, small values preferred. */
uint32_t seq_small(tb_rng *rng, uint32_t lo, uint32_t hi);
bool seq_chance(tb_rng *rng, uint32_t one_in);
/* FP32 bits: mostly moderate numbers, now and then zeros, subnormals, infinities, NaN. */
uint32_t seq_float(tb_rng *rng);
/* A buffer of `bytes` bytes at an address that is `align` past a multiple of 64 at random; 0: out of memory. */
uint32_t seq_alloc(tc_run *run, tb_rng *rng, uint32_t bytes, uint32_t align, npu_buf_kind kind);
/* Fill planes x rows x count FP32 values. */
bool seq_fill_f32(tc_run *run, tb_rng *rng, seq_output at, bool special);
bool seq_fill_bytes(tc_run *run, tb_rng *rng, uint32_t addr, uint32_t bytes);
/* A size that a knob cut_... limits. */
uint32_t seq_cut(const tc_run *run, const char *knob, uint32_t size);
/* The data of the knob `values` instead of the drawn ones. */
void seq_set_bytes(const tc_run *run, int8_t *data, uint32_t count);

#endif
