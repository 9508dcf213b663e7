/* pool_op.c - running maxima and sums of a POOL channel, and the results at the end of a window. */
#include "pool_walk.h"

#include <inttypes.h>
#include <stdio.h>

#define LANES NPU_SCORE_POOL_LANES
#define BYTES (4 * LANES)
#define COLUMNS 64u
#define RESULTS 8u /* more than the unit has in flight */

/* Running values: bits of FP32, or sums and maxima of INT8. */
typedef union values {
    uint32_t f[LANES];
    int32_t i[BYTES];
} values;

typedef struct result {
    uint32_t data[LANES];
    uint32_t addr, bytes; /* bytes to compare */
    uint32_t row;         /* number of the output row in the task */
    bool end;
    uint64_t due; /* last cycle in which it may be output */
} result;

/* A tap, kept until its data arrive. */
typedef struct tap {
    bool valid, first, init, last, fin, end;
    uint32_t half, ow, cols, rows, tab, lanes, chans;
} tap;

#define PORTS                                                                                                          \
    avg_i, int8_i, exclude_i, recip_i, count_i, tap_valid_i, line_i, tab_re_o, tab_addr_o, tab_i, out_we_o, out_end_o, \
        out_addr_o, out_data_o, tap_first_i, tap_init_i, tap_last_i, tap_fin_i, tap_end_i, tap_half_i, tap_ow_i,       \
        tap_cols_i, tap_rows_i, tap_tab_i, tap_lanes_i, tap_chans_i
typedef struct state {
    TB_PORTS(ports, PORTS);
    tb_sig task, start;
    tap now;
    values run, column[COLUMNS];
    bool scale; /* the FP32 average that ended in the cycle before is multiplied by its factor */
    result ring[RESULTS];
    uint64_t made, out;
    uint32_t row; /* output rows complete */
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const tb_tap *chan = tb_taps_find(&c->all->taps, "pool_chan", c->index);
    if (npu_score_pool_port(c, &s->task, err, err_size) != 0 ||
        tb_tap_sig(chan, "start_i", 1, &s->start, err, err_size) != 0) {
        return -1;
    }
    return tb_check_wake(c, s->start, err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->now.valid = s->scale = false;
    s->made = s->out = 0;
    s->row = 0;
}

/* ---- outputs ---- */
/* Result `got` of an element in the terms of the task; the port `task` is used for nothing else here. */
static void wrong_data(tb_check *c, const state *s, const result *r, const uint8_t *got) {
    const cm_pool_task t = npu_score_pool_task(s->task);
    const uint32_t group = 2 * (r->row / (t.oh != 0 ? t.oh : 1)) + c->index, size = t.int8 ? 1 : 4;
    for (uint32_t i = 0; i < r->bytes; i += size) {
        const uint8_t *want = (const uint8_t *)r->data + i;
        if (memcmp(got + i, want, size) == 0) {
            continue;
        }
        char where[96], g[24], e[24];
        snprintf(where, sizeof where, "channel %" PRIu32 ", output row %" PRIu32 ", column %" PRIu32,
                 group * (t.int8 ? 32 : LANES) + i / size, r->row % (t.oh != 0 ? t.oh : 1), r->addr % COLUMNS);
        if (t.int8) {
            snprintf(g, sizeof g, "%d", (int8_t)got[i]);
            snprintf(e, sizeof e, "%d", (int8_t)*want);
        } else {
            uint32_t v[2];
            memcpy(&v[0], got + i, 4);
            memcpy(&v[1], want, 4);
            snprintf(g, sizeof g, "0x%08" PRIx32, v[0]);
            snprintf(e, sizeof e, "0x%08" PRIx32, v[1]);
        }
        tb_check_fail(c, "result", s->out, where, g, e);
        return;
    }
}

static void take_result(tb_check *c, state *s) {
    if (s->out == s->made || (s->scale && s->out + 1 == s->made)) {
        tb_check_fail(c, "result", s->out, NULL, "a result", "none: no window has ended");
        return;
    }
    const result *r = &s->ring[s->out % RESULTS];
    tb_check_value(c, "result place", s->out, tb_get(s->out_addr_o), r->addr);
    tb_check_value(c, "end of row", s->out, tb_get(s->out_end_o), r->end);
    if (memcmp(s->out_data_o.ptr, r->data, r->bytes) != 0) {
        wrong_data(c, s, r, (const uint8_t *)s->out_data_o.ptr);
    }
    s->out++;
}

/* ---- prediction ---- */
/* Half away from zero, clamped (docs/npu/npu.md section 2). */
static int8_t divide(int32_t sum, uint32_t count) {
    const uint32_t size = sum < 0 ? 0u - (uint32_t)sum : (uint32_t)sum;
    const uint32_t q = (2 * size + count) / (2 * count);
    const int32_t limited = q > 127 ? 127 : (int32_t)q;
    return (int8_t)(sum < 0 ? -limited : limited);
}

static void take_data(state *s, bool avg, bool int8) {
    const tap *t = &s->now;
    const bool fresh = t->first && t->init;
    const uint8_t *line = (const uint8_t *)s->line_i.ptr;
    if (t->first && !t->init) {
        s->run = s->column[t->ow];
    }
    if (int8) {
        for (uint32_t i = 0; i < BYTES; i++) {
            const int32_t v = (int8_t)line[i], m = s->run.i[i];
            s->run.i[i] = avg ? (fresh ? v : m + v) : fresh || v > m ? v : m;
        }
        return;
    }
    uint32_t v[LANES];
    memcpy(v, line, sizeof v);
    /* all lanes, and those of the tap are kept: one vector */
    for (uint32_t l = 0; l < LANES; l++) {
        const uint32_t was = s->run.f[l], sum = cm_fp_add(fresh ? 0 : was, v[l]);
        const uint32_t most = fresh ? v[l] : cm_fp_max(was, v[l]);
        s->run.f[l] = l >= t->lanes ? was : avg ? sum : most;
    }
}

static void end_window(tb_check *c, state *s, bool avg, bool int8) {
    const tap *t = &s->now;
    if (s->made - s->out == RESULTS) {
        tb_check_fail(c, "result", s->out, NULL, "none so far", "the results of eight windows");
        return;
    }
    result *r = &s->ring[s->made++ % RESULTS];
    *r = (result){
        .addr = t->half << 6 | t->ow, .bytes = 4 * (t->lanes < LANES ? t->lanes : LANES), .row = s->row, .end = t->end};
    s->row += t->end;
    r->due = c->all->sim->cycle - 1 + (!avg ? 2 : int8 ? 7 : 3); /* the tap was one cycle before */
    if (!int8) {
        memcpy(r->data, s->run.f, sizeof r->data);
        return;
    }
    const uint32_t count = npu_score_b(s->exclude_i) != 0 ? t->cols * t->rows : (uint32_t)tb_get(s->count_i);
    int8_t *y = (int8_t *)r->data;
    for (uint32_t i = 0; i < t->chans && i < BYTES; i++) {
        y[i] = avg ? count != 0 ? divide(s->run.i[i], count) : 0 : (int8_t)s->run.i[i];
    }
}

/* The data of the tap have arrived; its factor is requested in the same cycle. */
static void follow(tb_check *c, state *s) {
    const tap *t = &s->now;
    const bool avg = npu_score_b(s->avg_i) != 0, int8 = npu_score_b(s->int8_i) != 0;
    take_data(s, avg, int8);
    if (!t->last) {
        return;
    }
    if (!t->fin) {
        s->column[t->ow] = s->run;
        return;
    }
    end_window(c, s, avg, int8);
    s->scale = avg && !int8;
    if (s->scale && npu_score_b(s->exclude_i) != 0) {
        tb_check_value(c, "factor", s->made, tb_get(s->tab_re_o), 1);
        tb_check_value(c, "factor", s->made, tb_get(s->tab_addr_o), t->tab);
    }
}

static void scale(state *s) {
    result *r = &s->ring[(s->made - 1) % RESULTS];
    const uint32_t factor = (uint32_t)tb_get(npu_score_b(s->exclude_i) != 0 ? s->tab_i : s->recip_i);
    for (uint32_t l = 0; l < LANES; l++) {
        r->data[l] = cm_fp_mul(r->data[l], factor);
    }
    s->scale = false;
}

static void take_tap(state *s) {
    s->now.valid = npu_score_b(s->tap_valid_i) != 0;
    if (!s->now.valid) {
        return;
    }
    s->now = (tap){.valid = true,
                   .first = npu_score_b(s->tap_first_i) != 0,
                   .init = npu_score_b(s->tap_init_i) != 0,
                   .last = npu_score_b(s->tap_last_i) != 0,
                   .fin = npu_score_b(s->tap_fin_i) != 0,
                   .end = npu_score_b(s->tap_end_i) != 0,
                   .half = npu_score_b(s->tap_half_i),
                   .ow = npu_score_b(s->tap_ow_i),
                   .cols = npu_score_b(s->tap_cols_i),
                   .rows = npu_score_b(s->tap_rows_i),
                   .tab = npu_score_b(s->tap_tab_i),
                   .lanes = npu_score_b(s->tap_lanes_i),
                   .chans = npu_score_b(s->tap_chans_i)};
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    if (npu_score_b(s->out_we_o) != 0) {
        take_result(c, s);
    } else if (s->out != s->made && c->all->sim->cycle >= s->ring[s->out % RESULTS].due) {
        tb_check_fail(c, "result", s->out, NULL, "none so far", "the result of a window that has ended");
    }
    if (s->scale) {
        scale(s);
    }
    if (s->now.valid) {
        follow(c, s);
    }
    take_tap(s);
    if (npu_score_b(s->start) != 0) {
        c->task++;
        s->row = 0;
    }
    c->again = s->now.valid || s->scale || s->out != s->made;
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->out != s->made) {
        tb_check_fail(c, "result", s->out, NULL, "no more results", "the result of a window that has ended");
    }
}

const tb_check_ops npu_score_pool_op = {
    .unit = "pool_op",
    .inputs = (const char *const[]){"pool", "pool_seq", "pool_line", "fp_add", "fp_mul", NULL},
    TB_STATE(state, PORTS),
    .wake = "tap_valid_i, out_we_o",
    .open = open,
    .clear = clear,
    .cycle = cycle,
    .finish = finish};
