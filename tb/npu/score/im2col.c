/*
 * im2col.c - predicts weights and vectors from tasks, progress of the loaders and data of the buffers.
 *
 * The check models the unit's two stages: from the start of a tile on, every output has a fixed cycle. The unit may
 * choose when a tile starts, as long as everything that the tile needs has arrived. What a block must show is prepared
 * when it enters a stage, so that a cycle only compares.
 */
#include "im2col_state.h"
#include "num.h"

#include <inttypes.h>
#include <stdio.h>

/*
 * cycles from a task on offer to its first tile, besides those of the division of 2N by OW, when input and weights have
 * arrived
 */
#define SETUP 8u
#define LATE 3u /* cycles that the unit may take to notice that the rows have arrived */

/* What mesh and buffers get in most cycles of a convolution, and of a conversion. */
#define CONV (ACT_VALID | WORD | WGT_RE | IFM_RE)
#define CONVERT (ACT_VALID | WORD | DIAGONAL | IFM_RE)

typedef im2col_state state;

/* Both stages are empty. */
static void expect_nothing(state *s) {
    s->steady.want = MESH_EN | (s->p_now ? WGT_P : 0);
    s->steady.care = ACT_VALID | FIRST | LAST | WGT_RE | IFM_RE;
    s->step = s->last = s->attend = s->release = 0;
    s->in_tile = false;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->weights = npu_im2col_shown(s, WORD);
    s->vectors = npu_im2col_shown(s, ACT_VALID);
    s->have = s->pp = s->w_valid = s->a_valid = s->p_now = false;
    s->base = s->busy = s->late = s->ready = 0;
    expect_nothing(s);
    s->now = s->steady;
    s->work.tiles = 0;
}

/*
 * While blocks, vectors or sums are in flight, or it is counted for how long a tile could have started, the check asks
 * to be called again. Else nothing can differ before one of the signals changes that it looks at then.
 */
static int open_wakes(tb_check *c, const state *s, char *err, size_t err_size) {
    const tb_sig set[] = {s->act_valid_o, s->acc_first_o, s->acc_last_o, s->wgt_re_o,     s->ifm_re_o,
                          s->mesh_en_o,   s->free_o,      s->task_pop_o, s->tile_start_o, s->wgt_release_o};
    const tb_sig change[] = {s->wait_ifm_o,  s->wait_wgt_o, s->wait_ofm_o,   s->task_valid_i, s->ifm_all_i,
                             s->pix_ready_i, s->wgt_full_i, s->wgt_blocks_i, s->tile_room_i};
    return npu_score_wakes(c, set, sizeof set / sizeof *set, change, sizeof change / sizeof *change, err, err_size);
}

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const tb_sig *sig = (const tb_sig *)&s->ports;
    s->n = s->work.n = npu_score_n(c);
    npu_score_row_open(&s->row, sig);
    npu_score_row_open(&s->flags, sig + 8);
    s->task_pop = (const uint8_t *)s->task_pop_o.ptr;
    s->wgt_release = (const uint8_t *)s->wgt_release_o.ptr;
    for (uint32_t i = 0; i < 2; i++) {
        s->act[i] = s->act_o[i].ptr;
        s->ifm[i] = s->ifm_rdata_i[i].ptr;
        s->ifm_raddr[i] = s->ifm_raddr_o[i].ptr;
    }
    s->word = s->wgt_word_o.ptr;
    s->wgt = s->wgt_rdata_i.ptr;
    s->wgt_raddr = s->wgt_raddr_o.ptr;
    s->side_by_side = (const uint8_t *)s->ifm_raddr[1] == (const uint8_t *)s->ifm_raddr[0] + 2;
    clear(c);
    return npu_score_shape_open(c, s->shape, err, err_size) != 0 ? -1 : open_wakes(c, s, err, err_size);
}

const npu_score_work *npu_score_work_of(const tb_check *c) {
    const tb_check *im2col = npu_score_check_of(c, &npu_score_im2col);
    return im2col != NULL ? &((const state *)im2col->state)->work : NULL;
}

/* ---- the stages ---- */

static void enter_activation(state *s) {
    s->a_valid = s->w_valid;
    if (!s->w_valid) {
        return;
    }
    s->a = s->w;
    s->a_sel = s->p_now;
    s->p_now = !s->p_now;
    npu_im2col_addresses(s);
    /* the mesh is enabled in the next cycle, too, and its first vector appears in the one after it */
    s->work.block[s->work.blocks++ % NPU_SCORE_BLOCKS] =
        (npu_score_block){.vector = s->enabled + 1, .task = s->t->number, .at = s->a};
}

/* The bank of the next tile. */
static bool next_bank(const state *s) {
    return s->t->wgt_res ? (s->next.ob & 1u) != 0 : s->pp;
}

/* Addresses of the block in the weight stage. */
static void enter_words(state *s) {
    const npu_score_shape *t = s->t;
    const uint32_t first = t->wgt_res ? (s->w.ob >> 1) * t->words : 0;
    if (t->op == NPU_SCORE_CONV) { /* last word first */
        s->weight_base = first + s->w.block * t->cycles + t->cycles - 1;
        s->weight_step = UINT32_MAX;
    } else { /* one word; INT16: two, high bytes first */
        s->weight_base = first + (s->w.block << t->wide) + t->wide;
        s->weight_step = t->wide;
    }
}

static void enter_weights(state *s, bool start) {
    if (s->in_tile) {
        npu_score_walk_block(s->t, &s->w);
        enter_words(s);
        return;
    }
    s->w_valid = start;
    if (!start) {
        return;
    }
    s->w = s->next;
    s->w_bank = next_bank(s);
    s->work.tile[s->work.tiles++ % NPU_SCORE_TILES] = npu_im2col_block(s, &s->w);
    npu_score_walk_tile(s->t, &s->next);
    s->need = s->next.end ? 0 : npu_score_need(s->t, s->n, &s->next);
    enter_words(s);
}

/* Flags of the blocks of a task. */
static void expect_task(state *s) {
    const npu_score_shape *t = s->t;
    s->all.want = MESH_EN | (t->wide ? WGT_WIDE | ACT_WIDE : 0);
    s->all.care = ACT_VALID | FIRST | LAST | WGT_RE | IFM_RE | MESH_EN | WGT_P;
    s->words.want = WORD | (t->op != NPU_SCORE_CONV ? DIAGONAL : 0) | (t->op != NPU_SCORE_CONVERT ? WGT_RE : 0);
    s->words.care = WGT_WIDE | (t->op != NPU_SCORE_CONVERT ? WGT_BANK : 0);
}

/* Flags while these blocks are in the stages. */
static inline void expect_blocks(state *s) {
    const npu_score_shape *t = s->t;
    uint64_t want = s->all.want | s->p_now * WGT_P, care = s->all.care;
    if (s->a_valid) {
        want |= ACT_VALID | IFM_RE | (s->a.block == 0) * FIRST | (s->a.block + 1 == t->blocks) * LAST | s->a_sel * SEL;
        care |= SEL | ACT_WIDE;
    }
    s->in_tile = false;
    s->release = 0;
    if (s->w_valid) {
        want |= s->words.want | s->w_bank * WGT_BANK;
        care |= s->words.care;
        s->in_tile = s->w.block + 1 < t->blocks;
        if (!s->in_tile && s->w.tile + 1 == t->tiles && t->op != NPU_SCORE_CONVERT) {
            s->release = !t->wgt_res ? 1u << s->w_bank : s->w.ob + 1 == t->ocb ? 3 : 0;
        }
    }
    s->steady.want = want | ((want & (CONV | DIAGONAL)) == CONV && s->n == 8) * CONV_OF_8;
    s->steady.care = care;
    s->step = 0;
    s->last = t->cycles - 1;
    /* in the last block of a tile it counts how long the next tile could have started */
    s->attend = s->in_tile || s->next.end ? s->last : s->last - LATE;
}

/* Both stages move on. */
__attribute__((noinline, hot)) static void next_blocks(state *s, bool start) {
    const im2col_flags mesh = s->steady; /* which gets what was read in this cycle */
    s->weights += s->w_valid ? s->last + 1 : 0;
    if (s->a_valid) {
        s->vectors += s->last + 1;
        s->busy = 2 * s->n + 1; /* from its last vector on; then the last column's sums have left acc */
    }
    s->before = s->a;
    enter_activation(s);
    enter_weights(s, start);
    if (s->a_valid || s->w_valid) {
        expect_blocks(s);
    } else {
        expect_nothing(s);
    }
    s->now.want = (mesh.want & ~(READS | CONV_OF_8)) | (s->steady.want & (READS | (mesh.want & CONV_OF_8)));
    s->now.care = (mesh.care & ~READS) | (s->steady.care & READS);
}

/* ---- flow ---- */

__attribute__((noinline)) static void take_task(tb_check *c, state *s) {
    c->task = s->work.tasks;
    s->t = npu_score_task(&s->work, s->work.tasks);
    s->t->number = s->work.tasks++;
    npu_score_shape_read(s->t, s->n, s->shape);
    expect_task(s);
    memset(s->padding, (int)s->t->zin, sizeof s->padding);
    s->have = true;
    s->freed = 0;
    s->next = (npu_score_walk){0};
    s->need = npu_score_need(s->t, s->n, &s->next);
}

static bool rows_there(const state *s) {
    return npu_score_b(s->ifm_all_i) != 0 || tb_get(s->pix_ready_i) >= s->need;
}

__attribute__((hot)) static bool weights_there(const state *s) {
    const uint32_t bank = next_bank(s);
    const uint64_t blocks = tb_get(s->wgt_blocks_i) >> (10 * bank) & 0x3ff;
    return s->t->op == NPU_SCORE_CONVERT ||
           (s->t->wgt_res ? blocks > s->next.ob >> 1 : (npu_score_b(s->wgt_full_i) >> bank & 1u) != 0);
}

/* Could a tile start, considering only the block before it? */
static bool may_start(const state *s) {
    return s->have && !s->next.end && s->step == s->last && !s->in_tile;
}

/* A bank is released with the last word of the last tile that needs it. */
static inline void check_release(tb_check *c, state *s) {
    const uint32_t expected = s->step == s->last ? s->release : 0, got = npu_score_b(s->wgt_release_o);
    if (got != expected) {
        tb_check_value(c, "release of weights", s->weights + (s->w_valid ? s->step : 0), got, expected);
    }
    if (expected != 0 && !s->t->wgt_res) {
        s->pp = !s->pp;
    }
}

/* A tile must start when everything that it needs has been available for as long as the unit takes to see it: no idle
 * cycle between tiles when no side stalls. */
static inline void check_pause(tb_check *c, state *s) {
    if (s->ready <= LATE || !may_start(s) || npu_score_b(s->wait_ofm_o) != 0) {
        return;
    }
    const uint32_t limit = s->next.tile == 0 && s->next.ob == 0 ? SETUP + 2 * s->n / s->t->ow : LATE;
    if (s->ready > limit) {
        const bool room = npu_score_b(s->tile_room_i) != 0;
        npu_im2col_fail(c, room ? "tile start" : "waits", s->work.tiles, &s->next, 0, "none",
                        room ? "one: input, weights and space are available" : "for space: there is none");
    }
}

__attribute__((noinline, hot)) static void check_start(tb_check *c, state *s) {
    const uint64_t tile = s->work.tiles;
    if (!may_start(s)) {
        tb_check_fail(c, "tile start", tile, NULL, "a start",
                      !s->have || s->next.end ? "none: there is no tile" : "none in a block");
        return;
    }
    if (!rows_there(s)) {
        char got[40], expected[40];
        snprintf(got, sizeof got, "%" PRIu64 " pixels of the input", tb_get(s->pix_ready_i));
        snprintf(expected, sizeof expected, "%" PRIu32, s->need);
        npu_im2col_fail(c, "tile start", tile, &s->next, 0, got, expected);
    } else if (!weights_there(s)) {
        npu_im2col_fail(c, "tile start", tile, &s->next, 0, "a start", "none before the weights have arrived");
    } else if (npu_score_b(s->tile_room_i) == 0) {
        npu_im2col_fail(c, "tile start", tile, &s->next, 0, "a start", "none without space in ofm_buf");
    }
}

/* Words of the input that may have been released: all of them have arrived, and none is still to be read. */
static uint32_t may_free(const state *s) {
    const npu_score_walk *k = s->a_valid ? &s->a : s->w_valid ? &s->w : &s->next;
    const uint32_t pixels = npu_score_first_row(s->t, s->n, k) * s->t->iw;
    const uint64_t here = npu_score_b(s->ifm_all_i) != 0 ? UINT64_MAX : tb_get(s->pix_ready_i);
    return (uint32_t)(here < pixels ? here : pixels) * s->t->icw;
}

__attribute__((noinline)) static void check_free(tb_check *c, state *s) {
    const bool pop = npu_score_b(s->task_pop_o) != 0;
    const uint32_t words = (uint32_t)tb_get(s->free_words_o);
    if (!s->have || (pop && (s->w_valid || s->a_valid || !s->next.end || npu_score_b(s->ifm_all_i) == 0))) {
        tb_check_fail(c, "end of the task", s->work.tasks, NULL, "words returned",
                      s->have ? "more vectors" : "none: no task");
        return;
    }
    const uint32_t limit = pop ? s->t->ifm_words : s->t->wgt_res ? may_free(s) : 0;
    s->freed += words;
    if (s->freed > limit || (pop && s->freed < limit)) {
        tb_check_failf(c, "words returned", s->work.tasks, "%" PRIu32 " words returned so far|%s%" PRIu32, s->freed,
                       pop ? "" : "at most ", limit);
    }
}

/* waits: bits for input, weights and room. rows: those of the next tile have arrived. */
static inline void check_waits(tb_check *c, state *s, uint32_t waits, bool rows) {
    if ((waits & (waits - 1)) != 0 || !s->have || s->next.end || npu_score_b(s->tile_start_o) != 0 ||
        waits >> 2 == npu_score_b(s->tile_room_i)) {
        tb_check_fail(c, "waits", s->work.tiles, NULL,
                      (waits & 1u) != 0   ? "for input"
                      : (waits & 2u) != 0 ? "for weights"
                                          : "for room",
                      "another reason, or none");
        return;
    }
    s->late = (waits & 1u) != 0 && rows ? s->late + 1 : 0;
    if (s->late > LATE) {
        npu_im2col_fail(c, "waits", s->work.tiles, &s->next, 0, "for input", "none: its rows have arrived");
    }
}

/* Is there a next tile whose rows have arrived? */
static inline bool next_rows(const state *s) {
    return s->have && !s->next.end && rows_there(s);
}

/* Anything is released, starts or waits, or blocks end which are not followed by other ones of their tile. */
__attribute__((noinline, hot)) static void follow_all(tb_check *c, state *s) {
    if (!s->have && npu_score_b(s->task_valid_i) != 0) {
        take_task(c, s);
    }
    const bool rows = next_rows(s), start = npu_score_b(s->tile_start_o) != 0, pop = npu_score_b(s->task_pop_o) != 0;
    const uint32_t waits =
        npu_score_b(s->wait_ifm_o) | npu_score_b(s->wait_wgt_o) << 1 | npu_score_b(s->wait_ofm_o) << 2;
    check_release(c, s);
    if (waits != 0) {
        check_waits(c, s, waits, rows);
    } else {
        s->late = 0;
    }
    s->ready = rows && weights_there(s) ? s->ready + 1 : 0;
    if (start) {
        check_start(c, s);
        s->ready = 0;
    } else {
        check_pause(c, s);
    }
    if (npu_score_b(s->free_o) != 0) {
        check_free(c, s);
    } else if (pop) {
        tb_check_fail(c, "end of the task", s->work.tasks, NULL, "no words returned", "all remaining ones");
    }
    if (c->failed) {
        return;
    }
    if (s->step < s->last) {
        s->step++;
    } else if (s->last != 0 || start) {
        next_blocks(s, start);
    }
    if (pop) {
        s->base = (s->base + s->t->ifm_words) % RING;
        s->have = false;
    }
}

/* A cycle in which blocks end, a tile may start soon, or with events. */
__attribute__((noinline, hot)) static void follow(tb_check *c, state *s, uint32_t events) {
    if (events != 0 || (s->step == s->last && !s->in_tile)) {
        follow_all(c, s);
        return;
    }
    s->late = 0;
    s->ready = !s->in_tile && next_rows(s) && weights_there(s) ? s->ready + 1 : 0;
    if (s->step < s->last) {
        s->step++;
    } else {
        next_blocks(s, false);
    }
}

/* Both addresses of the input. Outside of the map any word may be read. */
static inline bool addresses_same(const state *s) {
    uint32_t addr, mask, got;
    memcpy(&addr, &s->addr[2 * s->step], sizeof addr);
    memcpy(&mask, &s->mask[2 * s->step], sizeof mask);
    if (__builtin_expect(s->side_by_side, true)) {
        memcpy(&got, s->ifm_raddr[0], sizeof got);
    } else {
        got = npu_score_half(s->ifm_raddr[0]) | npu_score_half(s->ifm_raddr[1]) << 16;
    }
    return ((got ^ addr) & mask) == 0;
}

/* Are flags, data to the mesh and addresses as they must be? `due`: what the mesh and the buffers get, of now.want. */
static inline __attribute__((always_inline)) bool as_expected(state *s, uint64_t got, uint64_t due, uint32_t n) {
    const uint32_t step = s->step;
    if (((got ^ s->now.want) & s->now.care) != 0) {
        return false;
    }
    if ((due & ACT_VALID) != 0) {
        if (!npu_score_same(s->act[0], npu_im2col_vector(s, 0), n) ||
            !npu_score_same(s->act[1], npu_im2col_vector(s, 1), n)) {
            return false;
        }
    } else if ((got & MESH_EN) != 0 ? ((got ^ s->now.want) & WGT_P) != 0 : s->busy > 0) {
        return false;
    }
    if ((due & WORD) != 0 && !npu_score_same(s->word, (due & DIAGONAL) != 0 ? npu_im2col_word(s) : s->wgt, n)) {
        return false;
    }
    if ((due & WGT_RE) != 0 && npu_score_half(s->wgt_raddr) != s->weight_base - (step & s->weight_step)) {
        return false;
    }
    return (due & IFM_RE) == 0 || addresses_same(s);
}

/* Compare the outputs of this cycle, and move on. */
static inline __attribute__((always_inline)) void compare(tb_check *c, state *s, uint64_t got, uint32_t events,
                                                          uint64_t due, uint32_t n) {
    if (!as_expected(s, got, due, n)) {
        npu_im2col_differs(c, got);
        return;
    }
    const uint32_t step = s->step;
    if ((due & ACT_VALID) == 0) {
        s->busy -= s->busy > 0;
    }
    s->enabled += (due & (ACT_VALID | WORD)) != 0 || (got & MESH_EN) != 0;
    s->now = s->steady;
    s->shown = step;
    memcpy(s->inside, &s->mask[2 * step], sizeof s->inside);
    if (events == 0 && step < s->attend) {
        s->step = step + 1;
        s->late = s->ready = 0;
        c->again = true;
    } else {
        follow(c, s, events);
        c->again = (s->last | s->busy | s->late | s->ready) != 0;
    }
}

static __attribute__((noinline)) void compare_any(tb_check *c, state *s, uint64_t got, uint32_t events) {
    compare(c, s, got, events, s->now.want, s->n);
}

/* The same of most cycles of a conversion where N is 8. */
static __attribute__((noinline, hot)) void compare_convert(tb_check *c, state *s, uint64_t got, uint32_t events) {
    compare(c, s, got, events, CONVERT, 8);
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint64_t row = npu_score_row_get(&s->row), flags = npu_score_row_bits(&s->flags);
    const uint32_t events =
        (uint32_t)(row >> ROW_EVENTS) | (uint32_t)(flags & FLAGS_EVENTS) | *s->task_pop | *s->wgt_release;
    /* most cycles of a convolution, and those in which the unit waits: the same code with fewer branches */
    const uint64_t want = s->now.want, due = want & (CONV | DIAGONAL), got = row + (flags & ~FLAGS_EVENTS);
    if ((want & CONV_OF_8) != 0) {
        compare(c, s, got, events, CONV, 8);
    } else if (due == 0) {
        compare(c, s, got, events, 0, 0);
    } else if (due == CONVERT && s->n == 8) {
        compare_convert(c, s, got, events);
    } else {
        compare_any(c, s, got, events);
    }
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->have) {
        tb_check_fail(c, "end of the task", s->work.tasks, NULL, "none", "all tasks done");
    }
}

const tb_check_ops npu_score_im2col = {
    .unit = "im2col",
    .inputs = (const char *const[]){"gemm_queue", "ifm_ld", "wgt_ld", "ifm_buf", "wgt_buf", NULL},
    TB_STATE(state, PORTS),
    .open = open,
    .clear = clear,
    .cycle = cycle,
    .finish = finish};
