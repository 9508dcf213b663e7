#include "pool_walk.h"
#include "num.h"

#include "task_bits.h"

#include <inttypes.h>

uint32_t npu_score_pool_units(const cm_pool_task *t, uint32_t n) {
    return t->int8 ? tb_align_up(t->c, n) / 4 : t->c;
}

cm_pool_task npu_score_pool_task(tb_sig port) {
    npu_score_task task;
    npu_score_task_get(NPU_SCORE_POOL, port, &task);
    return task.pool;
}

int npu_score_pool_port(const tb_check *c, tb_sig *task, char *err, size_t err_size) {
    const tb_tap *chan = tb_taps_find(&c->all->taps, "pool_chan", c->index);
    if (chan == NULL) {
        return opt_fail(err, err_size, "%s: there is no tap of its pool_chan", c->tap->path);
    }
    return tb_tap_sig(chan, "task_i", CM_POOL_TASK_WIDTH, task, err, err_size);
}

void npu_score_pool_inside(uint32_t out, uint32_t stride, uint32_t pad, uint32_t k, uint32_t size, uint32_t *begin,
                           uint32_t *end) {
    const uint32_t start = out * stride; /* counted from the edge of the padding */
    *end = tb_min_u32(start + k, size + pad) - pad;
    *begin = start > pad ? start - pad : 0;
}

uint32_t npu_score_pool_lanes(uint32_t units, uint32_t group) {
    const uint32_t before = group * NPU_SCORE_POOL_LANES;
    return units > before ? tb_min_u32(units - before, NPU_SCORE_POOL_LANES) : 0;
}

uint32_t npu_score_pool_jobs(const cm_pool_task *t, uint32_t lanes, uint32_t cstep, uint32_t width, uint32_t *words) {
    if (!t->int8) {
        *words = width;
        return lanes;
    }
    const bool dense = cstep == 4 * lanes;
    *words = dense ? width * lanes : lanes;
    return dense ? 1 : width;
}

/* The window of output row oy; `loaded` rows of the map from the top have been loaded for this group, `rows` in all. */
static void window(npu_score_pool_walk *p, uint32_t loaded, uint32_t rows) {
    const cm_pool_task *t = &p->t;
    npu_score_pool_inside(p->oy, t->sh, t->pad_t, t->kh, t->ih, &p->first, &p->last);
    p->load = p->slide && loaded > p->first ? tb_min_u32(loaded, p->last) : p->first;
    /* rows that were loaded before and are needed again are the last ones, and consecutive */
    p->row = rows - (p->slide && loaded > p->first ? loaded - p->first : 0);
    p->rows = rows + p->last - p->load;
}

static void group(npu_score_pool_walk *p) {
    p->lanes = npu_score_pool_lanes(p->units, p->group);
    p->active = p->lanes != 0;
    p->oy = 0;
    window(p, 0, p->rows);
}

void npu_score_pool_begin(npu_score_pool_walk *p, tb_sig task, uint32_t chan, uint32_t units, bool slide) {
    *p = (npu_score_pool_walk){
        .t = npu_score_pool_task(task), .chan = chan, .units = units, .slide = slide, .group = chan};
    p->slot = (p->t.iw + 3) & ~3u;
    group(p);
}

void npu_score_pool_next(npu_score_pool_walk *p) {
    if (++p->oy < p->t.oh) {
        window(p, p->last, p->rows);
    } else {
        p->group += 2;
        group(p);
    }
}

__attribute__((hot)) const npu_score_pool_value *npu_score_pool_differs(const npu_score_pool_value *values,
                                                                        size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (tb_get(values[i].sig) != values[i].expected) {
            return &values[i];
        }
    }
    return NULL;
}

void npu_score_pool_fail(tb_check *c, const npu_score_pool_value *v, uint64_t transaction, const char *where) {
    tb_check_failf(c, v->stream, transaction, "%s|0x%" PRIx64 "|0x%" PRIx32, where, tb_get(v->sig), v->expected);
}
