/* plan_search.c - enumerates the splits of a convolution, bounds them (plan_bound.c) and predicts those that could be
 * the fastest, task by task (predict_gemm.c). */
#include <stdlib.h>
#include <string.h>

#include "plan_search.h"
#include "report/report.h"

#define SLICES 64u          /* sizes tried along a dimension */
#define ACC_PIXELS 512u     /* tiles of a group: this / N at most */
#define TRIED_AT_MOST 2000u /* predictions of one convolution */

/* Addresses of a prediction: far apart, aligned as the runtime's are. */
#define PROBE_IN 0x10000000u
#define PROBE_OUT 0x50000000u
#define PROBE_SCRATCH 0x90000000u
#define PROBE_WEIGHTS 0xC0000000u
#define PROBE_FACTORS 0xF0000000u
#define PROBE_BIAS 0xF8000000u

typedef struct candidate {
    npu_conv_split split;
    uint64_t bound, tasks;
    uint32_t number; /* in the order of the loops */
} candidate;

typedef struct search {
    uint32_t n;
    const npu_conv *conv;
    net_rt_schedule *found;
    candidate *list;
    uint32_t count, number;
    bool no_memory;
} search;

net_rt_estimate net_plan_predict(const npu_conv *conv, const npu_conv_plan *plan, net_tasks *list) {
    static const npu_hal nothing;
    const npu dev = {.hal = &nothing, .n = plan->n, .int16 = true, .units = (1u << NPU_UNIT_COUNT) - 1};
    npu_conv c = *conv;
    npu_job job;
    net_rt_estimate e = {0};
    c.ifm_addr = PROBE_IN;
    c.ofm_addr = PROBE_OUT;
    c.wgt_addr = PROBE_WEIGHTS;
    c.oscale_addr = PROBE_FACTORS;
    c.bias_addr = PROBE_BIAS;
    c.scratch_addr = PROBE_SCRATCH;
    c.scratch_bytes = plan->scratch_bytes;
    if (npu_job_conv(&job, &dev, &c, plan) != NPU_OK || !net_predict_job(&job, plan->n, list, &e)) {
        return (net_rt_estimate){0};
    }
    e.bound = tb_max_u64(e.mesh, tb_max_u64(e.read, e.write));
    return e;
}

/* The sizes of equal cuts of `total`, the largest first; at most SLICES. */
static uint32_t sizes_of(uint32_t total, uint32_t size[SLICES]) {
    uint32_t count = 0;
    for (uint32_t pieces = 1; pieces <= total && count < SLICES; pieces++) {
        const uint32_t next = tb_div_up(total, pieces);
        if (count == 0 || next != size[count - 1]) {
            size[count++] = next;
        }
    }
    return count;
}

static void add(search *s, const npu_conv_split *split) {
    npu_conv_plan plan;
    s->number++;
    if (npu_conv_plan_make(s->n, s->conv, split, &plan) != NPU_OK || plan.resident != split->resident) {
        return;
    }
    const net_rt_estimate e = net_plan_bound(s->conv, &plan);
    if (e.bound >= s->found->own_cycles) {
        return;
    }
    if (!rep_more(&s->list, s->count, sizeof *s->list)) {
        s->no_memory = true;
        return;
    }
    s->list[s->count++] = (candidate){*split, e.bound, e.tasks, s->number};
}

/* All groups of tiles and cuts of rows for these slices. */
static void add_rows(search *s, npu_conv_split split, const uint32_t *rows, uint32_t row_sizes) {
    for (uint32_t r = 0; r < row_sizes; r++) {
        split.max_oh = rows[r];
        for (uint32_t group = 1; group <= ACC_PIXELS / s->n; group *= 2) {
            split.group = group;
            add(s, &split);
        }
    }
}

static void add_slices(search *s, npu_conv_split split) {
    const npu_conv *c = s->conv;
    const npu_conv_plan *own = &s->found->own;
    const uint32_t batch = own->merge;
    uint32_t rows[SLICES];
    uint32_t in[SLICES];
    uint32_t out[SLICES];
    const uint32_t row_sizes = sizes_of(own->oh, rows);
    const uint32_t in_sizes = sizes_of(tb_div_up(c->ic / c->groups * batch, s->n), in);
    const uint32_t out_sizes = sizes_of(tb_div_up(c->oc / c->groups * batch, s->n), out);
    const bool depthwise = own->op == NPU_GEMM_DEPTHWISE;
    for (uint32_t o = 0; o < out_sizes; o++) {
        split.max_oc = out[o] * s->n;
        for (uint32_t i = 0; i < (depthwise ? 1 : in_sizes); i++) {
            split.max_ic = depthwise ? 0 : in[i] * s->n;
            add_rows(s, split, rows, split.max_ow == 0 ? row_sizes : 1);
        }
    }
}

static void enumerate(search *s) {
    uint32_t kernel[SLICES];
    const uint32_t kernel_sizes = sizes_of(s->conv->kh, kernel);
    for (uint32_t resident = 0; resident < 2; resident++) {
        for (uint32_t k = 0; k < kernel_sizes; k++) {
            add_slices(s,
                       (npu_conv_split){.max_kh = kernel[k], .resident = resident == 1, .no_resident = resident == 0});
        }
    }
    for (uint32_t pieces = 2; pieces <= 4 && pieces <= s->found->own.ow; pieces *= 2) { /* segments of rows */
        add_slices(s, (npu_conv_split){.max_ow = tb_div_up(s->found->own.ow, pieces), .no_resident = true});
    }
}

static int by_bound(const void *a, const void *b) {
    const candidate *x = a;
    const candidate *y = b;
    return x->bound != y->bound    ? (x->bound < y->bound ? -1 : 1)
           : x->tasks != y->tasks  ? (x->tasks < y->tasks ? -1 : 1)
           : x->number < y->number ? -1
                                   : 1;
}

/* Predicts the candidates from the lowest bound on, until none below the best is left. */
static void predict(search *s, net_tasks *tasks) {
    net_rt_schedule *f = s->found;
    for (uint32_t i = 0; i < s->count && s->list[i].bound < f->best_cycles && f->tried < TRIED_AT_MOST; i++) {
        npu_conv_plan plan;
        memset(&plan, 0, sizeof plan);
        (void)npu_conv_plan_make(s->n, s->conv, &s->list[i].split, &plan);
        const net_rt_estimate e = net_plan_predict(s->conv, &plan, tasks);
        f->tried++;
        if (e.cycles != 0 && e.cycles < f->best_cycles) {
            f->best = plan;
            f->best_cycles = e.cycles;
        }
    }
    f->complete = f->tried < TRIED_AT_MOST;
}

npu_status net_plan_search(uint32_t n, const npu_conv *conv, net_rt_schedule *found) {
    search s = {.n = n, .conv = conv, .found = found};
    net_tasks tasks = {0};
    memset(found, 0, sizeof *found);
    npu_status status = npu_conv_plan_make(n, conv, NULL, &found->own);
    if (status != NPU_OK) {
        return status;
    }
    const net_rt_estimate own = net_plan_predict(conv, &found->own, &tasks);
    found->conv = *conv;
    found->best = found->own;
    found->own_cycles = found->best_cycles = own.cycles;
    found->bound = own.bound;
    if (own.cycles != 0) {
        enumerate(&s);
        qsort(s.list, s.count, sizeof *s.list, by_bound);
        predict(&s, &tasks);
    }
    found->plans = s.number;
    found->open = s.count;
    if ((found->own_cycles - found->best_cycles) * 1000 < found->own_cycles * NET_PLAN_MARGIN) {
        found->best = found->own;
        found->best_cycles = found->own_cycles;
    }
    free(s.list);
    free(tasks.task);
    return s.no_memory ? NPU_ERR_ARG : NPU_OK;
}
