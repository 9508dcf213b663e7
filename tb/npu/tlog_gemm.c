/*
 * tlog_gemm.c - values inside the GEMM, from the taps: the n-th value of a stream belongs to the n-th place in the
 * order of work (docs/npu/npu.md section 4.2), whatever the units around it do.
 */
#include "tlog_rtl.h"
#include "num.h"

#include <string.h>

#define CHUNK 64u /* pixels of a chunk of the input */

static bool high(tb_sig s) {
    return *(const uint8_t *)s.ptr != 0;
}

int npu_tlog_gemm_open(npu_tlog_gemm *g, const npu_dev *dev, const npu_tlog_side *side, tb_checks *all, char *err,
                       size_t err_size) {
    g->side = side;
    g->n = dev->cfg.n;
    g->cols = g->n >= 16 ? 4 : g->n / 4;
    if (npu_tlog_bind(&g->ifm.probe, all, "ifm_buf", 0, TB_PORTS_OF(g->ifm.ports, NPU_TLOG_IFM_PORTS), err, err_size) !=
            0 ||
        npu_tlog_bind(&g->ofm.probe, all, "ofm_buf", 0, TB_PORTS_OF(g->ofm.ports, NPU_TLOG_OFM_PORTS), err, err_size) !=
            0) {
        return -1;
    }
    for (unsigned i = 0; i < NPU_TLOG_CHANNELS; i++) {
        const tb_ports layout = TB_PORTS_OF(g->layout[i].ports, NPU_TLOG_LAYOUT_PORTS),
                       post = TB_PORTS_OF(g->post[i].ports, NPU_TLOG_POST_PORTS),
                       requant = TB_PORTS_OF(g->requant[i].ports, NPU_TLOG_REQUANT_PORTS);
        if (npu_tlog_bind(&g->layout[i].probe, all, "layout", i, layout, err, err_size) != 0 ||
            npu_tlog_bind(&g->post[i].probe, all, "post", i, post, err, err_size) != 0 ||
            npu_tlog_bind(&g->requant[i].probe, all, "requant", i, requant, err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

void npu_tlog_gemm_clear(npu_tlog_gemm *g) {
    const uint64_t next = g->side->started[UNIT_GEMM];
    for (unsigned i = 0; i < NPU_TLOG_CHANNELS; i++) {
        g->job[i] = (npu_tlog_job){.number = next};
        g->in[i] = g->out[i] = (npu_tlog_place){.number = next};
    }
    for (uint32_t c = 0; c < 32; c++) {
        g->column[c] = (npu_tlog_place){.number = next};
    }
}

/* ---- quantised input ---- */

static uint32_t blocks(const npu_tlog_task *t, uint32_t n) {
    return tb_div_up(t->task.gemm.ic, n);
}

static uint32_t chunks(const npu_tlog_task *t) {
    return (t->task.gemm.iw * t->task.gemm.ih + CHUNK - 1) / CHUNK;
}

static void next_job(const npu_tlog_gemm *g, npu_tlog_job *j, const npu_tlog_task *t) {
    j->word = 0;
    if (!t->task.gemm.nhwc_in && ++j->block < blocks(t, g->n)) {
        return;
    }
    j->block = 0;
    j->sequence++;
    if (++j->chunk == chunks(t)) {
        j->chunk = 0;
        j->number++;
    }
}

/* A word of layout unit `unit` enters ifm_buf. Jobs alternate between the units (docs/npu/npu.md section 4.2). */
static void take_word(npu_tlog_gemm *g, unsigned unit) {
    npu_tlog_job *j = &g->job[unit];
    npu_tlog_task *t = npu_tlog_find(g->side, UNIT_GEMM, j->number);
    while (t != NULL && ((j->sequence + j->block) & 1u) != unit) {
        next_job(g, j, t);
        t = npu_tlog_find(g->side, UNIT_GEMM, j->number);
    }
    if (t == NULL) {
        return;
    }
    const cm_gemm_task *k = &t->task.gemm;
    const uint32_t pixels = k->iw * k->ih, icb = blocks(t, g->n) << k->wide, first = j->chunk * CHUNK;
    const uint32_t pixel = first + (k->nhwc_in ? j->word / icb : j->word),
                   block = k->nhwc_in ? j->word % icb : j->block;
    const uint32_t count = pixels - first < CHUNK ? pixels - first : CHUNK;
    for (uint32_t i = 0; !k->wide && i < g->n && block * g->n + i < k->ic; i++) {
        npu_tlog_put(t, NPU_TLOG_IFM, (uint64_t)(block * g->n + i) * pixels + pixel,
                     ((const uint8_t *)g->ifm.wdata_i.ptr)[i]);
    }
    if (++j->word == (k->nhwc_in ? count * icb : count << k->wide)) {
        next_job(g, j, t);
    }
}

/* ---- places in the order of tiles ---- */

/* The task of the place; begins its walk if needed. NULL: there is none. */
static npu_tlog_task *task_at(const npu_tlog_gemm *g, npu_tlog_place *p, uint32_t chan, npu_score_post_walk_kind kind) {
    npu_tlog_task *t = npu_tlog_find(g->side, UNIT_GEMM, p->number);
    if (t == NULL) {
        return NULL;
    }
    if (!p->on) {
        npu_score_post_work_set(&p->w, &t->task.gemm, g->n, chan);
        p->k = npu_score_post_walk_first(&p->w, kind);
        p->at = 0;
        p->data = (npu_score_place){0, 0};
        p->on = true;
    }
    return t;
}

static uint64_t element(const npu_tlog_place *p, uint32_t channel, uint32_t pixel) {
    return channel < p->w.t.oc && pixel < p->w.pixels ? (uint64_t)channel * p->w.pixels + pixel : UINT64_MAX;
}

/* Two sums of a column. */
static void take_sums(npu_tlog_gemm *g, uint32_t column) {
    npu_tlog_place *p = &g->column[column];
    npu_tlog_task *t = task_at(g, p, 0, NPU_WALK_TILES);
    if (t == NULL) {
        return;
    }
    for (uint32_t i = 0; !p->w.t.wide && i < 2; i++) {
        const uint32_t pixel = npu_score_post_walk_pixel(&p->w, &p->k) + 2 * p->at + i;
        npu_tlog_put(t, NPU_TLOG_SUM, element(p, p->k.ob * g->n + column, pixel),
                     ((const uint32_t *)g->ofm.wdata_i[i].ptr)[column]);
    }
    if (++p->at == g->n << p->w.t.wide) {
        p->at = 0;
        npu_score_post_walk_next(&p->w, &p->k);
        if (p->k.end) {
            p->on = false;
            p->number++;
        }
    }
}

/* ---- results ---- */

/* FP32: a word of four pixels. */
static void take_results(npu_tlog_gemm *g, unsigned chan, npu_tlog_task *t) {
    npu_tlog_place *p = &g->out[chan];
    if (p->k.end) {
        return;
    }
    const uint32_t channel = npu_score_post_walk_channel(&p->w, &p->k),
                   pixels = npu_score_post_walk_pixels(&p->w, &p->k);
    for (uint32_t i = 0; i < 4 && 4 * p->at + i < pixels; i++) {
        npu_tlog_put(t, NPU_TLOG_POST, element(p, channel, npu_score_post_walk_pixel(&p->w, &p->k) + 4 * p->at + i),
                     ((const uint32_t *)g->post[chan].wr_data_o.ptr)[i]);
    }
    if (4 * ++p->at >= pixels) {
        p->at = 0;
        npu_score_post_walk_next(&p->w, &p->k);
    }
}

/* The unit's share of the tile at the place. */
static npu_score_nhwc share(const npu_tlog_place *p, unsigned chan) {
    npu_score_nhwc b = npu_score_share(p->w.n, p->w.t.wide, chan, npu_score_post_walk_pixels(&p->w, &p->k));
    b.pitch = p->w.t.ofm_cstep;
    return b;
}

/* REQUANT: values that enter requant, four pixels of some columns. */
static void take_unquantised(npu_tlog_gemm *g, unsigned chan) {
    npu_tlog_place *p = &g->in[chan];
    npu_tlog_task *t = task_at(g, p, chan, NPU_WALK_TILES);
    if (t == NULL || p->k.end || p->w.t.wide) {
        return;
    }
    const npu_score_nhwc b = share(p, chan);
    const uint32_t columns = high(g->requant[chan].single_i) ? 1 : g->cols,
                   first = npu_score_post_walk_pixel(&p->w, &p->k);
    for (uint32_t j = 0; j < columns; j++) {
        for (uint32_t i = 0; i < 4; i++) {
            const uint64_t at =
                element(p, p->k.ob * g->n + p->k.col + j, first + npu_score_tile_pixel(&b, chan, 4 * p->at + i));
            npu_tlog_put(t, NPU_TLOG_POST, at, ((const uint32_t *)g->requant[chan].in_data_i.ptr)[4 * j + i]);
        }
    }
    if (++p->at == g->n / 4) {
        p->at = 0;
        p->k.col += columns;
        if (p->k.col >= g->n) {
            p->k.col = 0;
            npu_score_post_walk_next(&p->w, &p->k);
        }
    }
}

/* REQUANT: a word of quantised pixels. */
static void take_quantised(npu_tlog_gemm *g, unsigned chan, npu_tlog_task *t) {
    npu_tlog_place *p = &g->out[chan];
    npu_score_nhwc b = share(p, chan);
    while (!p->k.end && p->data.pixel == b.pixels) {
        p->data = (npu_score_place){0, 0};
        npu_score_post_walk_next(&p->w, &p->k);
        b = p->k.end ? b : share(p, chan);
    }
    if (p->k.end) {
        return;
    }
    const uint32_t from = p->data.pixel * g->n + p->data.byte, bytes = npu_score_word_bytes(&b, p->data);
    for (uint32_t i = 0; i < bytes; i++) {
        const uint32_t pixel =
            npu_score_post_walk_pixel(&p->w, &p->k) + npu_score_tile_pixel(&b, chan, (from + i) / g->n);
        npu_tlog_put(t, NPU_TLOG_REQUANT, element(p, p->k.ob * g->n + (from + i) % g->n, pixel),
                     ((const uint8_t *)g->post[chan].wr_data_o.ptr)[i]);
    }
    npu_score_next_word(&b, &p->data);
}

static void follow_post(npu_tlog_gemm *g, unsigned chan) {
    if (high(g->post[chan].wr_valid_o)) {
        npu_tlog_task *t = task_at(g, &g->out[chan], chan, NPU_WALK_TILES);
        if (t != NULL && t->task.gemm.wide) { /* its values between the units are not logged */
        } else if (t != NULL && t->task.gemm.requant) {
            if (high(g->post[chan].wr_ready_i)) {
                take_quantised(g, chan, t);
            }
        } else if (t != NULL) {
            if (g->out[chan].k.kind != NPU_WALK_CHANNELS) {
                g->out[chan].k = npu_score_post_walk_first(&g->out[chan].w, NPU_WALK_CHANNELS);
            }
            take_results(g, chan, t);
        }
    }
    if (high(g->post[chan].task_done_i)) {
        g->in[chan] = (npu_tlog_place){.number = g->in[chan].number + 1};
        g->out[chan] = (npu_tlog_place){.number = g->out[chan].number + 1};
    }
}

void npu_tlog_gemm_end(npu_tlog_gemm *g) {
    const uint64_t number = g->side->done[UNIT_GEMM];
    const npu_tlog_task *t = npu_tlog_find(g->side, UNIT_GEMM, number);
    for (unsigned i = 0; t != NULL && i < NPU_TLOG_CHANNELS; i++) {
        while (g->job[i].number == number) {
            next_job(g, &g->job[i], t);
        }
    }
    for (uint32_t c = 0; c < g->n; c++) {
        if (g->column[c].number == number) {
            g->column[c] = (npu_tlog_place){.number = number + 1};
        }
    }
}

void npu_tlog_gemm_cycle(npu_tlog_gemm *g) {
    if (g->ifm.probe.runs && high(g->ifm.we_i)) {
        for (unsigned i = 0; i < NPU_TLOG_CHANNELS; i++) {
            if (npu_score_fire(g->layout[i].wr_valid_o, g->layout[i].wr_ready_i)) {
                take_word(g, i);
            }
        }
    }
    const uint64_t columns = g->ofm.probe.runs ? tb_get(g->ofm.we_i) : 0;
    for (uint32_t c = 0; columns >> c != 0; c++) {
        if ((columns >> c & 1u) != 0) {
            take_sums(g, c);
        }
    }
    for (unsigned i = 0; i < NPU_TLOG_CHANNELS; i++) {
        if (g->requant[i].probe.runs && high(g->requant[i].in_valid_i)) {
            take_unquantised(g, i);
        }
        if (g->post[i].probe.runs) {
            follow_post(g, i);
        }
    }
}
