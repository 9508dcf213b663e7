/*
 * tlog_streams.c - raw streams of the RTL's units: the payload of every handshake, in order, "layout/0.word". The
 * golden model has no such streams, so only two RTL runs can be compared.
 */
#include "tlog_rtl.h"

#include <stdio.h>
#include <stdlib.h>

/* A stream of every instance of a unit. */
typedef struct spec {
    const char *unit, *name, *valid, *ready, *data; /* ready NULL: no back-pressure */
    tb_tlog_type type;                              /* U64: the payload is one number */
} spec;

/* Units in the order of the data flow. */
static const spec specs[] = {
    {"npu_regs", "gemm_task", "task_valid_o", "task_ready_i", "task_o", TB_TLOG_U8},
    {"npu_regs", "alu_task", "alu_task_valid_o", "alu_task_ready_i", "alu_task_o", TB_TLOG_U8},
    {"npu_regs", "pool_task", "pool_task_valid_o", "pool_task_ready_i", "pool_task_o", TB_TLOG_U8},
    {"dma_rd", "burst", "arvalid_o", "arready_i", "araddr_o", TB_TLOG_U64},
    {"dma_rd", "data_for", "dat_valid_o", "dat_ready_i", "dat_id_o", TB_TLOG_U64},
    {"dma_rd", "data", "dat_valid_o", "dat_ready_i", "dat_o", TB_TLOG_U8},
    {"wgt_ld", "request", "req_valid_o", "req_ready_i", "req_addr_o", TB_TLOG_U64},
    {"wgt_ld", "word_addr", "we_o", NULL, "waddr_o", TB_TLOG_U64},
    {"wgt_ld", "word", "we_o", NULL, "wdata_o", TB_TLOG_I8},
    {"layout", "job", "job_valid_i", "job_ready_o", "job_addr_i", TB_TLOG_U64},
    {"layout", "request", "req_valid_o", "req_ready_i", "req_addr_o", TB_TLOG_U64},
    {"layout", "data", "dat_valid_i", "dat_ready_o", "dat_i", TB_TLOG_U8},
    {"layout", "word_addr", "wr_valid_o", "wr_ready_i", "wr_addr_o", TB_TLOG_U64},
    {"layout", "word", "wr_valid_o", "wr_ready_i", "wr_data_o", TB_TLOG_I8},
    {"im2col", "even", "act_valid_o", NULL, "act0_o", TB_TLOG_I8},
    {"im2col", "odd", "act_valid_o", NULL, "act1_o", TB_TLOG_I8},
    {"post", "psum_request", "psum_req_valid_o", "psum_req_ready_i", "psum_req_addr_o", TB_TLOG_U64},
    {"post", "psum", "psum_valid_i", "psum_ready_o", "psum_i", TB_TLOG_I32},
    {"requant", "in", "in_valid_i", NULL, "in_data_i", TB_TLOG_F32},
    {"post", "job", "wr_req_valid_o", "wr_req_ready_i", "wr_req_addr_o", TB_TLOG_U64},
    {"post", "word", "wr_valid_o", "wr_ready_i", "wr_data_o", TB_TLOG_U32},
    {"alu_walk", "chunk", "chunk_valid_o", "chunk_ready_i", "chunk_a_o", TB_TLOG_U64},
    {"alu_chan", "request", "rd_req_valid_o", "rd_req_ready_i", "rd_req_addr_o", TB_TLOG_U64},
    {"alu_chan", "data", "rd_valid_i", "rd_ready_o", "rd_data_i", TB_TLOG_F32},
    {"alu_math", "x", "valid_i", NULL, "x_i", TB_TLOG_F32},
    {"alu_math", "result", "valid_o", NULL, "y_o", TB_TLOG_F32},
    {"alu_chan", "job", "wr_req_valid_o", "wr_req_ready_i", "wr_req_addr_o", TB_TLOG_U64},
    {"alu_chan", "word", "wr_valid_o", "wr_ready_i", "wr_data_o", TB_TLOG_F32},
    {"pool_ld", "request", "req_valid_o", "req_ready_i", "req_addr_o", TB_TLOG_U64},
    {"pool_op", "line", "tap_valid_i", NULL, "line_i", TB_TLOG_U32},
    {"pool_op", "result", "out_we_o", NULL, "out_data_o", TB_TLOG_U32},
    {"pool_out", "job", "req_valid_o", "req_ready_i", "req_addr_o", TB_TLOG_U64},
    {"pool_out", "word", "wr_valid_o", "wr_ready_i", "wr_data_o", TB_TLOG_U32},
    {"dma_wr", "burst", "awvalid_o", "awready_i", "awaddr_o", TB_TLOG_U64},
    {"dma_wr", "beat", "wvalid_o", "wready_i", "wdata_o", TB_TLOG_U8},
};

typedef struct stream {
    npu_tlog_probe probe;
    tb_sig valid, data, ready;
    char name[48];
    tb_tlog_entry entry;
} stream;

struct npu_tlog_streams {
    tb_tlog *log;
    stream *list;
    size_t count;
};

static size_t element_bytes(tb_tlog_type type) {
    return type == TB_TLOG_U64 ? 8 : type == TB_TLOG_I8 || type == TB_TLOG_U8 ? 1 : 4;
}

static int open_stream(stream *s, const spec *p, tb_checks *all, size_t index, char *err, size_t err_size) {
    char names[96];
    snprintf(names, sizeof names, "%s, %s, %s", p->valid, p->data, p->ready != NULL ? p->ready : "");
    const tb_ports ports = {names, &s->valid, p->ready != NULL ? 3 : 2, NULL};
    if (npu_tlog_bind(&s->probe, all, p->unit, index, ports, err, err_size) != 0) {
        return -1;
    }
    snprintf(s->name, sizeof s->name, "%s/%zu.%s", p->unit, index, p->name);
    s->entry = (tb_tlog_entry){
        .stream = s->name, .task = UINT64_MAX, .unit = p->unit, .stream_order = true, .type = p->type, .axes = 1};
    s->entry.axis[0] = "t";
    if (p->type != TB_TLOG_U64) {
        s->entry.axes = 2;
        s->entry.axis[1] = "i";
        s->entry.size[1] = tb_sig_bytes(s->data) / element_bytes(p->type);
    }
    return 0;
}

npu_tlog_streams *npu_tlog_streams_open(npu_dev *dev, tb_tlog *log, char *err, size_t err_size) {
    tb_checks *all = &dev->run.checks;
    npu_tlog_streams *x = (npu_tlog_streams *)calloc(1, sizeof *x);
    x = x != NULL && (x->list = (stream *)calloc(all->taps.count * 8, sizeof *x->list)) != NULL ? x : (free(x), NULL);
    if (x == NULL) {
        snprintf(err, err_size, "out of memory");
        return NULL;
    }
    x->log = log;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        for (size_t k = 0; tb_taps_find(&all->taps, specs[i].unit, k) != NULL && x->count < all->taps.count * 8; k++) {
            if (open_stream(&x->list[x->count++], &specs[i], all, k, err, err_size) != 0) {
                npu_tlog_streams_close(x);
                return NULL;
            }
            tb_tlog_append(log, &x->list[x->count - 1].entry, NULL);
        }
    }
    return x;
}

void npu_tlog_streams_close(npu_tlog_streams *x) {
    if (x != NULL) {
        free(x->list);
        free(x);
    }
}

void npu_tlog_streams_cycle(npu_tlog_streams *x) {
    for (size_t i = 0; i < x->count; i++) {
        stream *s = &x->list[i];
        if (*(const uint8_t *)s->valid.ptr == 0 || (s->ready.ptr != NULL && *(const uint8_t *)s->ready.ptr == 0)) {
            continue;
        }
        npu_tlog_look(&s->probe);
        if (!s->probe.runs) {
            continue;
        }
        const uint64_t number = s->entry.type == TB_TLOG_U64 ? tb_get(s->data) : 0;
        tb_tlog_append(x->log, &s->entry,
                       /* the log keeps the error */
                       s->entry.type == TB_TLOG_U64 ? (const void *)&number : s->data.ptr);
    }
}
