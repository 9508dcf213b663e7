/* tlog_rtl.c - the RTL's side of a tensor log in a build with taps: the ends of tasks, values of ALU and POOL. */
#include "tlog_rtl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 256u    /* elements of the ALU */
#define LANES 4u      /* of a word of the ALU */
#define POOL_LANES 8u /* channels of a group, 32 bytes */
#define POOL_COLUMNS 64u
#define ACT_PORTS valid_i, x_i
#define MATH_PORTS valid_o, y_o
#define OP_PORTS out_we_o, out_end_o, out_addr_o, out_data_o

/* Position of a channel of the ALU: word `word` of the chunk from element `at` on. */
typedef struct alu_place {
    uint64_t number;
    bool on, mine;
    uint32_t plane, row, at, word;
} alu_place;

struct npu_tlog_rtl {
    npu_dev *dev;
    npu_tlog_side *side;
    npu_tlog_gemm gemm;
    npu_tlog_streams *streams;
    struct {
        npu_tlog_probe probe;
        tb_sig task_done_o;
    } end[UNITS];
    struct {
        npu_tlog_probe probe;
        TB_PORTS(ports, MATH_PORTS);
    } math[NPU_TLOG_CHANNELS];
    struct {
        npu_tlog_probe probe;
        TB_PORTS(ports, ACT_PORTS);
    } act[NPU_TLOG_CHANNELS], func[NPU_TLOG_CHANNELS]; /* inside of math: a value enters one of them */
    struct {
        npu_tlog_probe probe;
        TB_PORTS(ports, OP_PORTS);
    } op[NPU_TLOG_CHANNELS];
    alu_place in[NPU_TLOG_CHANNELS], out[NPU_TLOG_CHANNELS];
    uint64_t pool_row[NPU_TLOG_CHANNELS]; /* output rows of the task that the channel has completed */
};

int npu_tlog_bind(npu_tlog_probe *p, tb_checks *all, const char *kind, size_t index, tb_ports ports, char *err,
                  size_t err_size) {
    p->check = (tb_check){.tap = tb_taps_find(&all->taps, kind, index), .all = all, .index = (unsigned)index};
    if (p->check.tap == NULL) {
        return opt_fail(err, err_size, "tensor log: the design has no tap %zu of %s", index, kind);
    }
    return tb_check_ports(&p->check, ports, err, err_size);
}

void npu_tlog_look(npu_tlog_probe *p) {
    const tb_check *c = &p->check;
    p->runs = (c->reset_n.ptr == NULL || *(const uint8_t *)c->reset_n.ptr != 0) &&
              (c->clock.ptr == NULL || *(const uint8_t *)c->clock.ptr != 0);
}

/* The activation, or the functions, inside of a channel of the ALU. */
static int bind_inside(npu_tlog_rtl *r, unsigned chan, const char *kind, npu_tlog_probe *probe, tb_ports ports,
                       char *err, size_t err_size) {
    tb_checks *all = &r->dev->run.checks;
    const char *whole = r->math[chan].probe.check.tap->path;
    const size_t length = strlen(whole);
    for (size_t i = 0; tb_taps_find(&all->taps, kind, i) != NULL; i++) {
        const char *path = tb_taps_find(&all->taps, kind, i)->path;
        if (strncmp(path, whole, length) == 0 && path[length] == '.') {
            return npu_tlog_bind(probe, all, kind, i, ports, err, err_size);
        }
    }
    return opt_fail(err, err_size, "tensor log: there is no tap of %s in %s", kind, whole);
}

static int bind_channels(npu_tlog_rtl *r, char *err, size_t err_size) {
    tb_checks *all = &r->dev->run.checks;
    for (unsigned i = 0; i < NPU_TLOG_CHANNELS; i++) {
        const tb_ports math = TB_PORTS_OF(r->math[i].ports, MATH_PORTS), op = TB_PORTS_OF(r->op[i].ports, OP_PORTS);
        const tb_ports act = TB_PORTS_OF(r->act[i].ports, ACT_PORTS), func = TB_PORTS_OF(r->func[i].ports, ACT_PORTS);
        if (npu_tlog_bind(&r->math[i].probe, all, "alu_math", i, math, err, err_size) != 0 ||
            npu_tlog_bind(&r->op[i].probe, all, "pool_op", i, op, err, err_size) != 0 ||
            bind_inside(r, i, "act", &r->act[i].probe, act, err, err_size) != 0 ||
            bind_inside(r, i, "alu_func", &r->func[i].probe, func, err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

static int bind_all(npu_tlog_rtl *r, char *err, size_t err_size) {
    static const char *const kinds[UNITS] = {[UNIT_ALU] = "alu", [UNIT_POOL] = "pool", [UNIT_GEMM] = "gemm"};
    for (unsigned u = 0; u < UNITS; u++) {
        const tb_ports end = TB_PORTS_OF(r->end[u].task_done_o, task_done_o);
        if (npu_tlog_bind(&r->end[u].probe, &r->dev->run.checks, kinds[u], 0, end, err, err_size) != 0) {
            return -1;
        }
    }
    return bind_channels(r, err, err_size) != 0
               ? -1
               : npu_tlog_gemm_open(&r->gemm, r->dev, r->side, &r->dev->run.checks, err, err_size);
}

npu_tlog_rtl *npu_tlog_rtl_open(npu_dev *dev, char *err, size_t err_size) {
    npu_tlog_rtl *r = (npu_tlog_rtl *)calloc(1, sizeof *r);
    if (r == NULL) {
        snprintf(err, err_size, "out of memory");
        return NULL;
    }
    r->dev = dev;
    r->side = &dev->tlog->rtl;
    if (bind_all(r, err, err_size) != 0) {
        free(r);
        return NULL;
    }
    r->streams = npu_tlog_streams_open(dev, dev->tlog->streams, err, err_size);
    if (r->streams == NULL) {
        free(r);
        return NULL;
    }
    npu_tlog_rtl_clear(r);
    return r;
}

void npu_tlog_rtl_close(npu_tlog_rtl *r) {
    if (r != NULL) {
        npu_tlog_streams_close(r->streams);
        free(r);
    }
}

static void clear_alu(npu_tlog_rtl *r, uint64_t number) {
    for (unsigned i = 0; i < NPU_TLOG_CHANNELS; i++) {
        r->in[i] = r->out[i] = (alu_place){.number = number};
    }
}

void npu_tlog_rtl_clear(npu_tlog_rtl *r) {
    npu_tlog_gemm_clear(&r->gemm);
    clear_alu(r, r->side->started[UNIT_ALU]);
    memset(r->pool_row, 0, sizeof r->pool_row);
}

/* ---- ALU: chunks, or rows of a reduction, alternate between the channels ---- */

static bool reduces(const cm_alu_task *a) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_REDUCE, a->op);
}

static uint32_t chunk_elements(const cm_alu_task *a, const alu_place *p) {
    return reduces(a) ? 1 : a->count - p->at < CHUNK ? a->count - p->at : CHUNK;
}

static void next_chunk(const cm_alu_task *a, alu_place *p) {
    p->mine = !p->mine;
    p->word = 0;
    p->at += CHUNK;
    if (!reduces(a) && p->at < a->count) {
        return;
    }
    p->at = 0;
    if (++p->row == a->rows) {
        p->row = 0;
        p->plane++;
    }
}

static void take_alu(npu_tlog_rtl *r, alu_place *p, unsigned chan, unsigned slot, const uint32_t *v) {
    npu_tlog_task *t = npu_tlog_find(r->side, UNIT_ALU, p->number);
    if (t == NULL) {
        return;
    }
    const cm_alu_task *a = &t->task.alu;
    if (!p->on) {
        *p = (alu_place){.number = p->number, .on = true, .mine = chan == 0};
    }
    while (!p->mine) {
        next_chunk(a, p);
    }
    const uint64_t row = (uint64_t)p->plane * a->rows + p->row, width = reduces(a) ? 1 : a->count;
    const uint32_t elements = chunk_elements(a, p);
    for (uint32_t i = 0; i < LANES && LANES * p->word + i < elements; i++) {
        npu_tlog_put(t, slot, row * width + p->at + LANES * p->word + i, v[i]);
    }
    if (LANES * ++p->word >= elements) {
        next_chunk(a, p);
    }
}

static void cycle_alu(npu_tlog_rtl *r) {
    for (unsigned i = 0; i < NPU_TLOG_CHANNELS; i++) {
        if (r->math[i].probe.runs && tb_get(r->act[i].valid_i) != 0) {
            take_alu(r, &r->in[i], i, NPU_TLOG_SUM, (const uint32_t *)r->act[i].x_i.ptr);
        }
        if (r->math[i].probe.runs && tb_get(r->func[i].valid_i) != 0) {
            take_alu(r, &r->in[i], i, NPU_TLOG_SUM, (const uint32_t *)r->func[i].x_i.ptr);
        }
        if (r->math[i].probe.runs && tb_get(r->math[i].valid_o) != 0) {
            take_alu(r, &r->out[i], i, NPU_TLOG_POST, (const uint32_t *)r->math[i].y_o.ptr);
        }
    }
}

/* ---- POOL: groups of 8 FP32 channels or 32 bytes of a pixel alternate between the channels ---- */

static void take_pool(npu_tlog_rtl *r, unsigned chan) {
    npu_tlog_task *t = npu_tlog_find(r->side, UNIT_POOL, r->side->done[UNIT_POOL]);
    if (t == NULL) {
        return;
    }
    const cm_pool_task *p = &t->task.pool;
    const uint32_t lanes = p->int8 ? 4 * POOL_LANES : POOL_LANES,
                   x = (uint32_t)tb_get(r->op[chan].out_addr_o) % POOL_COLUMNS;
    const uint64_t group = 2 * (r->pool_row[chan] / p->oh) + chan, y = r->pool_row[chan] % p->oh;
    for (uint32_t i = 0; x < p->ow && i < lanes && group * lanes + i < p->c; i++) {
        const void *data = r->op[chan].out_data_o.ptr;
        npu_tlog_put(t, NPU_TLOG_POST, ((group * lanes + i) * p->oh + y) * p->ow + x,
                     p->int8 ? ((const uint8_t *)data)[i] : ((const uint32_t *)data)[i]);
    }
    r->pool_row[chan] += tb_get(r->op[chan].out_end_o) != 0;
}

/* ---- */

static void cycle_ends(npu_tlog_rtl *r) {
    for (unsigned u = 0; u < UNITS; u++) {
        if (!r->end[u].probe.runs || tb_get(r->end[u].task_done_o) == 0) {
            continue;
        }
        if (u == UNIT_GEMM) {
            npu_tlog_gemm_end(&r->gemm);
        }
        npu_tlog_completed(r->side, u, true);
        if (u == UNIT_ALU) {
            clear_alu(r, r->side->done[u]);
        } else if (u == UNIT_POOL) {
            memset(r->pool_row, 0, sizeof r->pool_row);
        }
    }
}

void npu_tlog_rtl_cycle(npu_tlog_rtl *r) {
    npu_tlog_gemm *g = &r->gemm;
    npu_tlog_look(&g->ifm.probe);
    npu_tlog_look(&g->ofm.probe);
    for (unsigned i = 0; i < NPU_TLOG_CHANNELS; i++) {
        npu_tlog_look(&g->post[i].probe);
        npu_tlog_look(&g->requant[i].probe);
        npu_tlog_look(&r->math[i].probe);
        npu_tlog_look(&r->op[i].probe);
    }
    for (unsigned u = 0; u < UNITS; u++) {
        npu_tlog_look(&r->end[u].probe);
    }
    npu_tlog_gemm_cycle(g);
    cycle_alu(r);
    for (unsigned i = 0; i < NPU_TLOG_CHANNELS; i++) {
        if (r->op[i].probe.runs && tb_get(r->op[i].out_we_o) != 0) {
            take_pool(r, i);
        }
    }
    cycle_ends(r);
    npu_tlog_streams_cycle(r->streams);
}
