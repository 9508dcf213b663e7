/*
 * pool_seq.c - the taps of a POOL channel in order, the rows that it releases, and its requests for factors.
 */
#include "fields.h"
#include "pool_walk.h"

#include <inttypes.h>
#include <stdio.h>

#define PAUSE 4u /* cycles between the rows of windows, at most */
#define NEAR 4u  /* pieces of memory with the signals below, in the whole NPU */

/* of a tap, all but the address; then what may happen besides */
enum { FIRST, INIT, LAST, FIN, END, HALF, OW, COLS, ROWS, LANES, CHANS, TAB, FIELDS, SIGNALS = FIELDS + 6 };

static const char *const field_name[SIGNALS] = {"tap_first_o", "tap_init_o", "tap_last_o", "tap_fin_o",  "tap_end_o",
                                                "tap_half_o",  "tap_ow_o",   "tap_cols_o", "tap_rows_o", "tap_lanes_o",
                                                "tap_chans_o", "tap_tab_o",  "start_i",    "row_done_i", "tab_ack_i",
                                                "tab_done_i",  "release_i",  "free_o"};

#define PORTS                                                                                                          \
    tap_valid_o, busy_o, tap_addr_o, slow_i, start_i, slide_i, units_i, tab_en_i, tab_whole_i, row_done_i, free_o,     \
        tab_addr_o, tab_ack_i, tab_done_i, release_i
typedef struct state {
    TB_PORTS(ports, PORTS);
    bool row_begun, fin; /* the row's first tap was taken; it is the last one of its window */
    uint32_t x, end;     /* column of the next tap; end of its window inside the map */
    uint32_t base;       /* address of row y in the line memory */
    uint64_t taps;
    uint16_t at[SIGNALS]; /* bytes of `want` */
    npu_score_fields fields;
    npu_score_want want[NPU_SCORE_PIECES]; /* values in a cycle with the next tap, and nothing besides */
    uint32_t ow, start;                    /* output column; its window's first one, padding included */
    uint32_t tab_row;                      /* the table's row for the window */
    npu_score_pool_walk walk;
    uint32_t y;                       /* row of the next tap */
    uint32_t arrived, freed, to_free; /* rows */
    uint32_t claimed;                 /* halves of the output memory in use */
    uint32_t table;                   /* rows of the windows whose factors have been loaded; 0: none yet */
    uint32_t pause;                   /* cycles for which a row has been able to begin */
    uint64_t rows, finished;          /* finished: cycle of the last window's last tap */
    bool any_finished;
    bool use[FIELDS]; /* those that are used in this task */
    tb_sig task, field[SIGNALS];
} state;

/* Expected value of a field in the next tap. */
static inline uint8_t *want(state *s, uint32_t field) {
    return (uint8_t *)s->want + s->at[field];
}

/* Which fields are compared; the events always are. */
static void use(state *s, uint32_t field, bool used) {
    const uint32_t mask_behind = (uint32_t)offsetof(npu_score_want, mask);
    s->use[field] = used;
    want(s, field)[mask_behind] = used ? 0xff : 0;
}

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    for (size_t i = 0; i < SIGNALS; i++) {
        if (tb_check_sig(c, field_name[i], 0, &s->field[i], err, err_size) != 0) {
            return -1;
        }
    }
    memset(s->use, true, sizeof s->use);
    return npu_score_pool_port(c, &s->task, err, err_size) != 0
               ? -1
               : npu_score_fields_open(&s->fields, s->field, SIGNALS, s->task, s->at, s->want, err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->walk.active = s->row_begun = false;
    s->claimed = s->freed = s->to_free = 0;
    s->any_finished = false;
}

static uint32_t rows_of(const state *s) {
    return s->walk.last - s->walk.first;
}

/* First tap of output column s->ow in row s->y of its window. */
static inline void begin_column(state *s) {
    const cm_pool_task *t = &s->walk.t;
    const uint32_t begin = s->start > t->pad_l ? s->start - t->pad_l : 0;
    s->end = tb_min_u32(s->start + t->kw, t->iw + t->pad_l) - t->pad_l;
    s->x = begin;
    *want(s, FIRST) = 1;
    *want(s, LAST) = begin + 1 == s->end;
    *want(s, OW) = (uint8_t)s->ow;
    *want(s, END) = s->ow == t->ow - 1;
    *want(s, COLS) = (uint8_t)(s->end - begin);
    *want(s, TAB) = (uint8_t)(s->tab_row + s->end - begin - 1);
}

static void begin_row(state *s) {
    const npu_score_pool_walk *p = &s->walk;
    const uint32_t channels = p->t.c > p->group * 32 ? p->t.c - p->group * 32 : 0;
    s->fin = s->y == p->last - 1;
    *want(s, FIN) = s->fin;
    *want(s, INIT) = s->y == p->first;
    *want(s, HALF) = s->rows & 1u;
    *want(s, ROWS) = (uint8_t)rows_of(s);
    *want(s, LANES) = (uint8_t)p->lanes;
    *want(s, CHANS) = (uint8_t)(channels < 32 ? channels : 32);
    s->tab_row = npu_score_b(s->tab_whole_i) != 0 ? (rows_of(s) - 1) * p->t.kw : 0;
    s->base = (p->row + s->y - p->first) * p->slot;
    s->pause = 0;
    s->ow = s->start = 0;
    begin_column(s);
}

static void begin(tb_check *c, state *s) {
    c->task++;
    npu_score_pool_begin(&s->walk, s->task, c->index, (uint32_t)tb_get(s->units_i), npu_score_b(s->slide_i) != 0);
    s->y = s->walk.first;
    s->rows = 0;
    s->arrived = s->freed = s->to_free = s->table = 0;
    s->row_begun = false;
    use(s, TAB, npu_score_b(s->tab_en_i) != 0);
    use(s, CHANS, s->walk.t.int8);
    begin_row(s);
}

/* A row is not read again when the windows of the next output row begin below it. */
static void end_row(state *s) {
    npu_score_pool_walk *p = &s->walk;
    const uint32_t y = s->y;
    const bool loaded_once = p->slide && p->oy + 1 < p->t.oh;
    uint32_t below = 0, end;
    npu_score_pool_inside(p->oy + 1, p->t.sh, p->t.pad_t, p->t.kh, p->t.ih, &below, &end);
    s->to_free += !loaded_once || y < below;
    s->y++;
    s->row_begun = false;
    if (s->fin) {
        npu_score_pool_next(p);
        s->y = p->first;
        s->rows++;
    }
    if (p->active) {
        begin_row(s);
    }
}

static void place(const state *s, char where[96]) {
    const npu_score_pool_walk *p = &s->walk;
    snprintf(where, 96,
             "channel %" PRIu32 ", output row %" PRIu32 ", column %" PRIu32 ", tap in row %" PRIu32 ", column %" PRIu32
             " of the map",
             p->group * (p->t.int8 ? 32 : NPU_SCORE_POOL_LANES), p->oy, s->ow, s->y, s->x);
}

static void fail(tb_check *c, const state *s, const char *stream, const char *got, const char *expected) {
    char where[96];
    place(s, where);
    tb_check_fail(c, stream, s->taps, where, got, expected);
}

static bool table_there(const state *s) {
    return npu_score_b(s->tab_en_i) == 0 ||
           (s->table != 0 && (npu_score_b(s->tab_whole_i) != 0 || s->table == rows_of(s)));
}

/* Has the row arrived, may its taps begin, and was everything before it released? */
static void check_row(tb_check *c, state *s) {
    const npu_score_pool_walk *p = &s->walk;
    if (s->arrived <= p->row + s->y - p->first) {
        fail(c, s, "tap", "a tap of a row that has not arrived", "none");
    }
    if (s->freed != s->to_free) {
        fail(c, s, "free", "a row that is kept", "the row released");
    }
    if (s->fin && ++s->claimed > 2) {
        fail(c, s, "tap", "a tap of a window's last row", "none: both halves of the output memory are in use");
    }
    if (!table_there(s)) {
        fail(c, s, "tap", "a tap", "none before the factors of its window");
    }
    s->row_begun = true;
}

/* No tap: is there a reason for it? */
static void check_pause(tb_check *c, state *s) {
    const npu_score_pool_walk *p = &s->walk;
    if (s->row_begun) {
        const bool divides = npu_score_b(s->slow_i) != 0 && s->fin && s->x + 1 == s->end;
        if (!divides || !s->any_finished || c->all->sim->cycle - s->finished >= 4) {
            fail(c, s, "tap", "none", "one in every cycle of a row");
        }
    } else if (s->arrived > p->row + s->y - p->first && (!s->fin || s->claimed < 2) && table_there(s) &&
               ++s->pause > PAUSE) {
        fail(c, s, "tap", "none", "the first one of the row: everything that it needs is available");
    }
}

/* Note what is wrong with a tap, if anything is. */
__attribute__((noinline, hot)) static void look_at_tap(tb_check *c, state *s, uint32_t addr) {
    npu_score_pool_value v[FIELDS + 1] = {{"tap_addr_o", s->tap_addr_o, addr}};
    size_t count = 1;
    for (uint32_t i = 0; i < FIELDS; i++) {
        if (s->use[i]) {
            v[count++] = (npu_score_pool_value){field_name[i], s->field[i], *want(s, i)};
        }
    }
    const npu_score_pool_value *wrong = npu_score_pool_differs(v, count);
    if (wrong != NULL) {
        char where[96];
        place(s, where);
        npu_score_pool_fail(c, wrong, s->taps, where);
    }
}

/* After the last tap of a column. */
__attribute__((noinline, hot)) static void end_column(tb_check *c, state *s) {
    if (s->fin && npu_score_b(s->slow_i) != 0) {
        const uint64_t now = c->all->sim->cycle;
        if (s->any_finished && now - s->finished < 4) {
            fail(c, s, "tap", "windows that end less than four cycles apart", "at least four cycles for the division");
        }
        s->finished = now;
        s->any_finished = true;
    }
    if (++s->ow < s->walk.t.ow) {
        s->start += s->walk.t.sw;
        begin_column(s);
    } else {
        end_row(s);
    }
    c->again = s->walk.active;
}

static inline uint32_t addr_of(const state *s) {
    return (s->base + s->x) % NPU_SCORE_POOL_LINE;
}

/* The tap is as expected, and nothing happens besides. */
static inline bool right_tap(const state *s) {
    return npu_score_h(s->tap_addr_o) == addr_of(s) && !npu_score_fields_differ(&s->fields, NEAR, s->want);
}

/* The next tap is that of the column to the right, or of the next window. */
static inline void step(tb_check *c, state *s) {
    const uint32_t next = s->x + 1;
    if (next < s->end) {
        s->x = next;
        *want(s, FIRST) = 0;
        *want(s, LAST) = next + 1 == s->end;
        c->again = true;
        return;
    }
    end_column(c, s);
}

static void take_tap(tb_check *c, state *s) {
    if (!s->walk.active) {
        tb_check_fail(c, "tap", s->taps, NULL, "a tap", "none: the task has no more");
        return;
    }
    if (!s->row_begun) {
        check_row(c, s);
    }
    if (!right_tap(s)) {
        look_at_tap(c, s, addr_of(s));
    }
    if (!c->failed) {
        s->taps++;
        step(c, s);
    }
}

static void take_table(tb_check *c, state *s) {
    const npu_score_pool_walk *p = &s->walk;
    const bool whole = npu_score_b(s->tab_whole_i) != 0;
    const bool there = s->table != 0 && (whole || s->table == rows_of(s));
    if (!p->active || s->row_begun || s->y != p->first || npu_score_b(s->tab_en_i) == 0 || there) {
        fail(c, s, "table address", "a request for factors", "none in this cycle");
        return;
    }
    tb_check_value(c, "table address", s->taps, tb_get(s->tab_addr_o),
                   (uint32_t)(p->t.tab_addr + (whole ? 0 : 4 * (rows_of(s) - 1) * p->t.kw)));
}

__attribute__((noinline, hot)) static void any_cycle(tb_check *c, state *s) {
    if (s->walk.active && npu_score_b(s->busy_o) == 0) {
        fail(c, s, "busy", "0", "1: taps are missing");
    }
    if (npu_score_b(s->free_o) != 0 && ++s->freed > s->to_free) {
        fail(c, s, "free", "a row released", "the row kept");
    }
    if (npu_score_b(s->tap_valid_o) != 0) {
        take_tap(c, s);
    } else if (s->walk.active) {
        check_pause(c, s);
    }
    s->arrived += npu_score_b(s->row_done_i) != 0;
    if (npu_score_b(s->release_i) != 0 && s->claimed > 0) {
        s->claimed--;
    }
    if (npu_score_b(s->tab_ack_i) != 0) {
        take_table(c, s);
    }
    if (npu_score_b(s->tab_done_i) != 0) {
        s->table = rows_of(s);
    }
    if (npu_score_b(s->start_i) != 0) {
        begin(c, s);
    }
    c->again = s->walk.active;
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    /* in most cycles a tap comes in the middle of a row */
    if (!s->row_begun || (npu_score_b(s->tap_valid_o) & npu_score_b(s->busy_o)) == 0 || !right_tap(s)) {
        any_cycle(c, s);
        return;
    }
    s->taps++;
    step(c, s);
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->walk.active) {
        fail(c, s, "tap", "no more taps", "this one");
    } else if (s->freed != s->to_free) {
        tb_check_fail(c, "free", s->taps, NULL, "rows that are kept", "all rows released");
    }
}

const tb_check_ops npu_score_pool_seq = {
    .unit = "pool_seq",
    .inputs = (const char *const[]){"pool", "pool_line", "pool_ld", "pool_out", NULL},
    TB_STATE(state, PORTS),
    .wake = "start_i, free_o, tap_valid_o, row_done_i, release_i, tab_ack_i, tab_done_i",
    .open = open,
    .clear = clear,
    .cycle = cycle,
    .finish = finish};
