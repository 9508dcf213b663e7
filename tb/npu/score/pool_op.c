/* pool_op.c - running maxima and sums of a POOL channel, and the results at the end of a window. */
#include "cm_fp_lanes.h"
#include "fields.h"
#include "pool_walk.h"

#include <inttypes.h>
#include <stdio.h>

#define LANES NPU_SCORE_POOL_LANES
#define BYTES (4 * LANES)
#define COLUMNS 64u
#define NEAR 2u    /* pieces of memory with the fields of a tap, in the whole NPU */
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
    uint64_t due;   /* last cycle in which it may be output */
    uint64_t spare; /* up to a line of the cache */
} result;

/* of a tap */
enum { FIRST, INIT, LAST, FIN, END, HALF, OW, COLS, ROWS, TAB, TAP_LANES, CHANS, FIELDS };

#define TAP                                                                                                            \
    tap_first_i, tap_init_i, tap_last_i, tap_fin_i, tap_end_i, tap_half_i, tap_ow_i, tap_cols_i, tap_rows_i,           \
        tap_tab_i, tap_lanes_i, tap_chans_i
#define PORTS                                                                                                          \
    recip_i, count_i, tab_re_o, tab_addr_o, tab_i, out_end_o, out_addr_o, out_data_o, exclude_i, int8_i, out_we_o,     \
        avg_i, line_i, tap_valid_i
typedef struct state {
    TB_PORTS(ports, PORTS);
    tb_sig start;
    bool tap;            /* there was one in the cycle before: its data arrive */
    bool pending;        /* scale, or there are results that are not out */
    bool scale;          /* the FP32 average that ended in the cycle before is multiplied by its factor */
    uint16_t at[FIELDS]; /* bytes of `field` */
    npu_score_fields fields;
    npu_score_piece field[NPU_SCORE_PIECES]; /* of the tap */
    values run, column[COLUMNS];
    result ring[RESULTS];
    uint64_t made, out;
    uint32_t row; /* output rows complete */
    tb_sig task;
} state;

/* A field of the tap. */
static inline uint32_t tap(const state *s, uint32_t field) {
    return ((const uint8_t *)s->field)[s->at[field]];
}

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const tb_tap *chan = tb_taps_find(&c->all->taps, "pool_chan", c->index);
    TB_SIGNALS(sig, TAP);
    if (npu_score_pool_port(c, &s->task, err, err_size) != 0 ||
        tb_tap_sig(chan, "start_i", 1, &s->start, err, err_size) != 0 ||
        tb_tap_ports(c->tap, TB_PORTS_OF(sig, TAP), err, err_size) != 0 ||
        npu_score_fields_open(&s->fields, (const tb_sig *)&sig, FIELDS, s->task, s->at, NULL, err, err_size) != 0) {
        return -1;
    }
    return tb_check_wake(c, s->start, err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->tap = s->scale = s->pending = false;
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
    const uint8_t *data = (const uint8_t *)s->out_data_o.ptr;
    tb_check_value(c, "result place", s->out, npu_score_b(s->out_addr_o), r->addr);
    tb_check_value(c, "end of row", s->out, npu_score_b(s->out_end_o), r->end);
    if (r->bytes == sizeof r->data ? npu_score_rows_differ(data, r->data) : memcmp(data, r->data, r->bytes) != 0) {
        wrong_data(c, s, r, data);
    }
    s->out++;
}

/* The FP32 average that ended in the cycle before. */
__attribute__((noinline)) static void scale(state *s) {
    result *r = &s->ring[(s->made - 1) % RESULTS];
    const uint32_t factor = npu_score_w(npu_score_b(s->exclude_i) != 0 ? s->tab_i : s->recip_i);
    for (uint32_t l = 0; l < LANES; l++) {
        r->data[l] = cm_fp_mul(r->data[l], factor);
    }
    s->scale = false;
}

/* What does not happen with every tap. */
static void look_at_results(tb_check *c, state *s) {
    if (npu_score_b(s->start) != 0) {
        c->task++;
        s->row = 0;
    }
    if (npu_score_b(s->out_we_o) != 0) {
        take_result(c, s);
    } else if (s->out != s->made && c->all->sim->cycle >= s->ring[s->out % RESULTS].due) {
        tb_check_fail(c, "result", s->out, NULL, "none so far", "the result of a window that has ended");
    }
    if (s->scale) {
        scale(s);
    }
    s->pending = s->out != s->made;
}

/* ---- prediction ---- */
/* Half away from zero, clamped (docs/npu/npu.md section 2). */
static int8_t divide(int32_t sum, uint32_t count) {
    const uint32_t size = sum < 0 ? 0u - (uint32_t)sum : (uint32_t)sum;
    const uint32_t q = (2 * size + count) / (2 * count);
    const int32_t limited = q > 127 ? 127 : (int32_t)q;
    return (int8_t)(sum < 0 ? -limited : limited);
}

__attribute__((noinline)) static void divide_all(const state *s, result *r, bool avg) {
    const uint32_t count = npu_score_b(s->exclude_i) != 0 ? tap(s, COLS) * tap(s, ROWS) : npu_score_h(s->count_i);
    int8_t *y = (int8_t *)r->data;
    memset(r->data, 0, sizeof r->data);
    for (uint32_t i = 0; i < tap(s, CHANS) && i < BYTES; i++) {
        y[i] = avg ? count != 0 ? divide(s->run.i[i], count) : 0 : (int8_t)s->run.i[i];
    }
}

__attribute__((noinline)) static void take_int8(state *s, bool fresh, bool avg) {
    int8_t line[BYTES];
    memcpy(line, s->line_i.ptr, sizeof line);
    if (tap(s, FIRST) != 0 && !fresh) {
        s->run = s->column[tap(s, OW)];
    }
    for (uint32_t i = 0; i < BYTES; i++) {
        const int32_t v = line[i], m = s->run.i[i];
        s->run.i[i] = avg ? (fresh ? v : m + v) : fresh || v > m ? v : m;
    }
}

static inline void keep_column(state *s, bool int8) {
    values *column = &s->column[tap(s, OW)];
    if (int8) {
        *column = s->run;
    } else {
        memcpy(column->f, s->run.f, sizeof s->run.f);
    }
}

/* A line of FP32. The lanes that the tap does not have are kept. */
__attribute__((noinline)) static void take_fp32(state *s, bool fresh, bool avg) {
    const uint32_t lanes = tap(s, TAP_LANES);
    uint32_t line[LANES];
    memcpy(line, s->line_i.ptr, sizeof line);
    if (tap(s, FIRST) != 0 && !fresh) {
        memcpy(s->run.f, s->column[tap(s, OW)].f, sizeof s->run.f);
    }
    for (uint32_t l = 0; l < LANES; l++) { /* all lanes, and those of the tap are kept: one vector */
        const uint32_t was = s->run.f[l], sum = cm_fp_add(fresh ? 0 : was, line[l]);
        const uint32_t most = fresh ? line[l] : cm_fp_max(was, line[l]);
        s->run.f[l] = l >= lanes ? was : avg ? sum : most;
    }
}

/* The window is complete; the factor of an FP32 average is requested in the same cycle. */
static void end_window(tb_check *c, state *s, bool avg, bool int8) {
    if (s->made - s->out == RESULTS) {
        tb_check_fail(c, "result", s->out, NULL, "none so far", "the results of eight windows");
        return;
    }
    result *r = &s->ring[s->made++ % RESULTS];
    r->addr = tap(s, HALF) << 6 | tap(s, OW);
    r->bytes = 4 * tb_min_u32(tap(s, TAP_LANES), LANES);
    r->row = s->row;
    r->end = tap(s, END) != 0;
    s->row += r->end;
    r->due = c->all->sim->cycle - 1 + (!avg ? 2 : int8 ? 7 : 3); /* the tap was one cycle before */
    s->pending = true;
    if (int8) {
        divide_all(s, r, avg);
        return;
    }
    memcpy(r->data, s->run.f, sizeof r->data);
    s->scale = avg;
    if (avg && npu_score_b(s->exclude_i) != 0) {
        tb_check_value(c, "factor", s->made, npu_score_b(s->tab_re_o), 1);
        tb_check_value(c, "factor", s->made, npu_score_b(s->tab_addr_o), tap(s, TAB));
    }
}

/* The maximum of FP32 in all lanes. */
static inline void take_max(state *s) {
    const uint32_t *line = (const uint32_t *)s->line_i.ptr, *was = s->run.f;
    if (tap(s, FIRST) != 0) { /* of the window's first row, too: the maximum of a value and itself is the value */
        was = tap(s, INIT) != 0 ? line : s->column[tap(s, OW)].f;
    }
    cm_fp_lanes low, high, low_was, high_was;
    memcpy(&low, line, sizeof low);
    memcpy(&high, line + CM_FP_LANES, sizeof high);
    memcpy(&low_was, was, sizeof low);
    memcpy(&high_was, was + CM_FP_LANES, sizeof high);
    low = cm_fp_max_lanes(low_was, low);
    high = cm_fp_max_lanes(high_was, high);
    memcpy(s->run.f, &low, sizeof low);
    memcpy(s->run.f + CM_FP_LANES, &high, sizeof high);
}

static inline bool ends_window(const state *s) {
    return (tap(s, LAST) & tap(s, FIN)) != 0;
}

/* The data of the tap have arrived. */
static void follow(tb_check *c, state *s) {
    const bool avg = npu_score_b(s->avg_i) != 0, int8 = npu_score_b(s->int8_i) != 0;
    const bool fresh = (tap(s, FIRST) & tap(s, INIT)) != 0;
    if (int8) {
        take_int8(s, fresh, avg);
    } else if (avg || tap(s, TAP_LANES) < LANES) {
        take_fp32(s, fresh, avg);
    } else {
        take_max(s);
    }
    if (ends_window(s)) {
        end_window(c, s, avg, int8);
    } else if (tap(s, LAST) != 0) {
        keep_column(s, int8);
    }
}

static inline void take_tap(state *s) {
    s->tap = npu_score_b(s->tap_valid_i) != 0;
    if (s->tap) {
        npu_score_fields_get(&s->fields, NEAR, s->field);
    }
}

__attribute__((noinline, hot)) static void any_cycle(tb_check *c, state *s) {
    look_at_results(c, s);
    if (s->tap) {
        follow(c, s);
    }
    take_tap(s);
    c->again = s->tap || s->pending;
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t rare =
        npu_score_b(s->out_we_o) | npu_score_b(s->start) | npu_score_b(s->int8_i) | npu_score_b(s->avg_i) | s->pending;
    if (rare != 0 || (s->tap && (ends_window(s) || tap(s, TAP_LANES) < LANES))) {
        any_cycle(c, s);
        return;
    }
    if (s->tap) {
        take_max(s);
        if (tap(s, LAST) != 0) {
            keep_column(s, false);
        }
    }
    take_tap(s);
    c->again = s->tap;
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
