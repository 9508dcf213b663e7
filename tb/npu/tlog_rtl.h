/* tlog_rtl.h - what the files that follow the RTL's taps share. */
#ifndef NPU_TLOG_RTL_H
#define NPU_TLOG_RTL_H

#include "tlog_npu.h"

#define NPU_TLOG_CHANNELS 2u

/* A tap that is looked at; its check has only what npu_score_bind() needs. */
typedef struct npu_tlog_probe {
    tb_check check;
    bool runs; /* in this cycle: not in reset, and its clock is on */
} npu_tlog_probe;

/* Signals of the `index`-th tap of a kind. 0 or -1 with one line in err. */
int npu_tlog_bind(npu_tlog_probe *p, tb_checks *all, const char *kind, size_t index, const npu_score_sig *sigs,
                  size_t count, char *err, size_t err_size);

/* Does it run in this cycle? */
void npu_tlog_look(npu_tlog_probe *p);

/* Next job of a layout unit. */
typedef struct npu_tlog_job {
    uint64_t number, sequence; /* task; chunk since reset */
    uint32_t chunk, block, word;
} npu_tlog_job;

/* Where one column of the mesh, or one post unit, stands. */
typedef struct npu_tlog_place {
    bool on; /* the work is that of task `number` */
    uint64_t number;
    npu_score_post_work w;
    npu_score_post_walk k;
    uint32_t at; /* pixel pair of the tile; word of the pass; byte of the job */
    npu_score_place data;
} npu_tlog_place;

typedef struct npu_tlog_gemm {
    const npu_tlog_side *side;
    uint32_t n, cols;
    npu_tlog_probe layout[NPU_TLOG_CHANNELS], ifm, ofm, post[NPU_TLOG_CHANNELS], requant[NPU_TLOG_CHANNELS];
    tb_sig lw_valid[NPU_TLOG_CHANNELS], lw_ready[NPU_TLOG_CHANNELS], ifm_we, ifm_data, ofm_we, ofm_data[2];
    tb_sig wr_valid[NPU_TLOG_CHANNELS], wr_ready[NPU_TLOG_CHANNELS], wr_data[NPU_TLOG_CHANNELS], end[NPU_TLOG_CHANNELS];
    tb_sig rq_valid[NPU_TLOG_CHANNELS], rq_data[NPU_TLOG_CHANNELS], rq_single[NPU_TLOG_CHANNELS];
    npu_tlog_job job[NPU_TLOG_CHANNELS];
    npu_tlog_place column[32], in[NPU_TLOG_CHANNELS], out[NPU_TLOG_CHANNELS];
} npu_tlog_gemm;

/* ---- tlog_gemm.c ---- */
int npu_tlog_gemm_open(npu_tlog_gemm *g, const npu_dev *dev, const npu_tlog_side *side, tb_checks *all, char *err,
                       size_t err_size);
void npu_tlog_gemm_clear(npu_tlog_gemm *g);
/* The oldest task is complete and still there: what is missing of it will not come. */
void npu_tlog_gemm_end(npu_tlog_gemm *g);
/* Values of this cycle. */
void npu_tlog_gemm_cycle(npu_tlog_gemm *g);

/* ---- tlog_streams.c ---- */
typedef struct npu_tlog_streams npu_tlog_streams;
/* NULL with one line in err. */
npu_tlog_streams *npu_tlog_streams_open(npu_dev *dev, tb_tlog *log, char *err, size_t err_size);
void npu_tlog_streams_close(npu_tlog_streams *x);
void npu_tlog_streams_cycle(npu_tlog_streams *x);

#endif
