/* tlog_rtl.h - what the files that follow the RTL's taps share. */
#ifndef NPU_TLOG_RTL_H
#define NPU_TLOG_RTL_H

#include "tlog_npu.h"

#define NPU_TLOG_CHANNELS 2u

/* A tap whose signals are read; its check has only what tb_check_ports() needs. */
typedef struct npu_tlog_probe {
    tb_check check;
    bool runs; /* in this cycle: not in reset, and its clock is on */
} npu_tlog_probe;

/* Signals of the `index`-th tap of a kind. 0 or -1 with one line in err. */
int npu_tlog_bind(npu_tlog_probe *p, tb_checks *all, const char *kind, size_t index, tb_ports ports, char *err,
                  size_t err_size);

/* Does it run in this cycle? */
void npu_tlog_look(npu_tlog_probe *p);

/* Next job of a layout unit. */
typedef struct npu_tlog_job {
    uint64_t number, sequence; /* task; chunk since reset */
    uint32_t chunk, block, word;
} npu_tlog_job;

/* Position of one column of the mesh, or of one post unit, in the order of work. */
typedef struct npu_tlog_place {
    bool on; /* the work is that of task `number` */
    uint64_t number;
    npu_score_post_work w;
    npu_score_post_walk k;
    uint32_t at; /* pixel pair of the tile; word of the pass; byte of the job */
    npu_score_place data;
} npu_tlog_place;

#define NPU_TLOG_LAYOUT_PORTS wr_valid_o, wr_ready_i
#define NPU_TLOG_IFM_PORTS we_i, wdata_i
#define NPU_TLOG_OFM_PORTS we_i, wdata_i[2]
#define NPU_TLOG_POST_PORTS wr_valid_o, wr_ready_i, wr_data_o, task_done_i
#define NPU_TLOG_REQUANT_PORTS in_valid_i, in_data_i, single_i
typedef struct npu_tlog_gemm {
    const npu_tlog_side *side;
    uint32_t n, cols;
    struct {
        npu_tlog_probe probe;
        TB_PORTS(ports, NPU_TLOG_LAYOUT_PORTS);
    } layout[NPU_TLOG_CHANNELS];
    struct {
        npu_tlog_probe probe;
        TB_PORTS(ports, NPU_TLOG_IFM_PORTS);
    } ifm;
    struct {
        npu_tlog_probe probe;
        TB_PORTS(ports, NPU_TLOG_OFM_PORTS);
    } ofm;
    struct {
        npu_tlog_probe probe;
        TB_PORTS(ports, NPU_TLOG_POST_PORTS);
    } post[NPU_TLOG_CHANNELS];
    struct {
        npu_tlog_probe probe;
        TB_PORTS(ports, NPU_TLOG_REQUANT_PORTS);
    } requant[NPU_TLOG_CHANNELS];
    npu_tlog_job job[NPU_TLOG_CHANNELS];
    npu_tlog_place column[32], in[NPU_TLOG_CHANNELS], out[NPU_TLOG_CHANNELS];
} npu_tlog_gemm;

/* ---- tlog_gemm.c ---- */
int npu_tlog_gemm_open(npu_tlog_gemm *g, const npu_dev *dev, const npu_tlog_side *side, tb_checks *all, char *err,
                       size_t err_size);
void npu_tlog_gemm_clear(npu_tlog_gemm *g);
/* The oldest task is complete but still queued: its missing values will not come any more. */
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
