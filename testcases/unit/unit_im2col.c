/* dut: im2col */
/*
 * Random tasks. The bench plays the loaders (pixels and weight banks arrive in any rhythm; what has not arrived is garbage), the two buffers and the room in
 * ofm_buf. Checked: every weight word and row vector, which cycle it leaves in relation to its block, register selects, first and last flags, no gap inside a tile,
 * the array enabled until its last sum is out, releases of banks, words returned to the ring.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "npu_task.h"

#define N ((uint32_t)NPU_CFG_N)
#define IFM_WORDS 16384u
#define WGT_WORDS 4608u
#define HISTORY 64u /* cycles, at least N */

static const tb_knob knobs[] = {
    {"tasks", 1, 1000, TB_KNOB_UNIFORM, NULL, NULL, "tasks"},
    {"kernel", 1, 7, TB_KNOB_UNIFORM, NULL, NULL, "largest kernel"},
    {"stride", 1, 7, TB_KNOB_UNIFORM, NULL, NULL, "largest stride"},
    {"dilation", 1, 3, TB_KNOB_SMALL, NULL, NULL, "largest dilation"},
    {"pad", 0, 6, TB_KNOB_SMALL, NULL, NULL, "most padding"},
    {"map", 1, 64, TB_KNOB_UNIFORM, NULL, NULL, "largest input rows and columns"},
    {"channels", 1, 160, TB_KNOB_UNIFORM, NULL, NULL, "most channels"},
    {"arrive", 1, 32, TB_KNOB_SMALL, NULL, NULL, "most pixels that arrive in a cycle"},
    UNIT_STALL_KNOB("task", "percent of cycles without a task on offer"),
    UNIT_STALL_KNOB("ifm", "percent of cycles in which no pixels arrive"),
    UNIT_STALL_KNOB("wgt", "percent of cycles in which an empty bank stays empty"),
    UNIT_STALL_KNOB("ofm", "percent of cycles without room for a tile"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    /* mostly maps of several tiles, with strides: the walk over rows is where the unit can go wrong */
    tb_knobs_draw_in(k, "tasks", seed, 4, 10);
    tb_knobs_draw_in(k, "kernel", seed, 1, 4);
    tb_knobs_draw_in(k, "stride", seed, 1, 4);
    tb_knobs_draw_in(k, "arrive", seed, 1, 8);
    tb_knobs_draw_in(k, "map", seed, 6, 40);
    tb_knobs_draw_in(k, "channels", seed, 1, 3 * N);
}

/* One cycle of the outputs to the mesh that do not belong to a vector. */
typedef struct past {
    int8_t word[32];
    bool p, en;
} past;

typedef struct bench {
    tb_sig task_valid, task, pop, ifm_all, pix_ready, wgt_full, wgt_release, free, free_words, tile_room, tile_start, wgt_re, wgt_bank,
        wgt_raddr, wgt_rdata, ifm_re, ifm_ra[2], ifm_rd[2], mesh_en, wgt_p, wgt_word, sel, act[2], act_valid, acc_first, acc_last;
    cm_gemm_task t;
    uint32_t icb, ocb, tiles, blocks; /* blocks of a tile */
    bool active;
    int8_t *ifm; /* [ih][iw][icb*N] of the task */
    int8_t (*ring)[32];
    uint32_t base, arrive, arrived, pixels;
    int8_t (*bank[2])[32];
    bool full[2];
    uint32_t fill_bank, filled, read_bank, released; /* banks of this task */
    int8_t (*weights)[32];                           /* of all output blocks of the task */
    /* the next vector to come */
    uint32_t ob, tile, block, step;
    int8_t *expected; /* vectors of the current block */
    past history[HISTORY];
    uint64_t last_vector, next_vector; /* cycle of the last vector; when the next one must come (0: any time) */
    bool first_vector_seen;
    uint64_t tiles_started;
    int8_t wgt_read[32], ifm_read[2][32]; /* what the buffers show from the next cycle on */
    tb_rng rng, rng_data;
    unit_stall task_stall, ifm_stall, wgt_stall, ofm_stall;
} bench;

static uint32_t pick(bench *b, const unit *u, const char *knob) {
    const uint64_t hi = (uint64_t)unit_knob(u, knob);
    return (uint32_t)tb_rng_range(&b->rng, hi > 0 ? 1 : 0, hi);
}

/* A task within the limits of docs/npu.md; all knobs are upper ends. */
static void draw_task(const unit *u, bench *b) {
    cm_gemm_task *t = &b->t;
    memset(t, 0, sizeof *t);
    do {
        t->kw = pick(b, u, "kernel");
        t->kh = pick(b, u, "kernel");
        t->ic = pick(b, u, "channels");
        t->iw = pick(b, u, "map");
        t->ih = pick(b, u, "map");
        b->icb = (t->ic + N - 1) / N;
    } while (t->kw * t->kh * b->icb * N > WGT_WORDS || t->iw * t->ih * b->icb > IFM_WORDS);
    t->sw = pick(b, u, "stride");
    t->sh = pick(b, u, "stride");
    t->dw = pick(b, u, "dilation");
    t->dh = pick(b, u, "dilation");
    t->pad_l = (uint32_t)tb_rng_range(&b->rng, 0, (uint64_t)unit_knob(u, "pad"));
    t->pad_t = (uint32_t)tb_rng_range(&b->rng, 0, (uint64_t)unit_knob(u, "pad"));
    /* any output size is legal: positions outside the map are zeros */
    t->ow = (t->iw + t->pad_l) / t->sw + (uint32_t)tb_rng_range(&b->rng, 0, 2);
    t->oh = (t->ih + t->pad_t) / t->sh + (uint32_t)tb_rng_range(&b->rng, 0, 2);
    t->ow = t->ow == 0 ? 1 : t->ow;
    t->oh = t->oh == 0 ? 1 : t->oh;
    t->oc = (uint32_t)tb_rng_range(&b->rng, 1, 3 * N);
    t->group = 1;
}

static int begin_task(const unit *u, bench *b) {
    draw_task(u, b);
    b->ocb = (b->t.oc + N - 1) / N;
    b->tiles = (b->t.ow * b->t.oh + 2 * N - 1) / (2 * N);
    b->blocks = b->t.kw * b->t.kh * b->icb;
    b->pixels = b->t.iw * b->t.ih;
    b->ob = b->tile = b->block = b->step = b->arrived = b->filled = b->released = 0;
    b->tiles_started = 0;
    b->next_vector = 0;
    free(b->ifm);
    free(b->weights);
    b->ifm = malloc((size_t)b->pixels * b->icb * N);
    b->weights = malloc(sizeof *b->weights * b->ocb * b->blocks * N);
    if (!b->ifm || !b->weights) {
        return -1;
    }
    tb_rng_fill(&b->rng_data, b->ifm, (size_t)b->pixels * b->icb * N);
    tb_rng_fill(&b->rng_data, b->weights, sizeof *b->weights * b->ocb * b->blocks * N);
    npu_task_set(b->task, &b->t);
    b->active = true;
    return 0;
}

/* The loaders: pixels in raster order with all their channel blocks; banks in the order of output blocks. */
static void load(bench *b) {
    if (unit_go(&b->ifm_stall) && b->arrived < b->pixels) {
        uint32_t more = (uint32_t)tb_rng_range(&b->rng, 1, b->arrive);
        for (; more > 0 && b->arrived < b->pixels; more--, b->arrived++) {
            for (uint32_t i = 0; i < b->icb; i++) {
                const uint32_t word = b->arrived * b->icb + i;
                memcpy(b->ring[(b->base + word) % IFM_WORDS], &b->ifm[(size_t)word * N], N);
            }
        }
    }
    if (unit_go(&b->wgt_stall) && b->filled < b->ocb && !b->full[b->fill_bank]) {
        memcpy(b->bank[b->fill_bank], b->weights[(size_t)b->filled * b->blocks * N], sizeof *b->weights * b->blocks * N);
        b->full[b->fill_bank] = true;
        b->filled++;
        b->fill_bank ^= 1u;
    }
}

static void expect_block(bench *b) {
    const uint32_t ib = b->block % b->icb;
    const uint32_t kx = b->block / b->icb % b->t.kw;
    const uint32_t ky = b->block / b->icb / b->t.kw;
    cm_im2col_block(&b->t, N, b->ifm, b->tile, ky, kx, ib, b->expected);
}

/* The N weight words of the block whose first vector leaves now left in the N cycles before, last word first. */
static void check_weights(unit *u, bench *b, bool sel) {
    for (uint32_t i = 0; i < N; i++) {
        const past *h = &b->history[(u->cycle - N + i) % HISTORY];
        const int8_t *word = b->weights[((size_t)b->ob * b->blocks + b->block) * N + (N - 1 - i)];
        unit_compare(u, h->word, word, N, "weights of output block %" PRIu32 ", tile %" PRIu32 ", block %" PRIu32 ", word %" PRIu32, b->ob,
                     b->tile, b->block, N - 1 - i);
        unit_expect_value(u, "wgt_p_o at a block's weights", h->p, sel);
        unit_expect_value(u, "mesh_en_o at a block's weights", h->en, 1);
    }
}

static void check_vector(unit *u, bench *b) {
    int8_t got[32];
    if (!b->active && b->ob == b->ocb) {
        unit_fail(u, "act_valid_o", "cycle %" PRIu64 ": a vector after the end of the task", u->cycle);
        return;
    }
    const bool sel = tb_get(b->sel) != 0;
    if (b->next_vector != 0 && u->cycle != b->next_vector) {
        unit_fail(u, "gap", "cycle %" PRIu64 ": gap inside tile %" PRIu32 ", expected a vector in cycle %" PRIu64, u->cycle, b->tile,
                  b->next_vector);
    }
    if (b->step == 0) {
        expect_block(b);
        check_weights(u, b, sel);
    }
    unit_expect_value(u, "wgt_p_o beside vectors", tb_get(b->wgt_p), !sel);
    unit_expect_value(u, "acc_first_o", tb_get(b->acc_first), b->block == 0);
    unit_expect_value(u, "acc_last_o", tb_get(b->acc_last), b->block + 1 == b->blocks);
    for (uint32_t s = 0; s < 2; s++) {
        unit_get_slice(b->act[s], 0, got, N);
        unit_compare(u, got, &b->expected[(2 * b->step + s) * N], N,
                     "output block %" PRIu32 ", tile %" PRIu32 ", block %" PRIu32 ", stream %" PRIu32 ", vector %" PRIu32, b->ob, b->tile,
                     b->block, s, b->step);
    }
    b->last_vector = u->cycle;
    b->first_vector_seen = true;
    b->next_vector = u->cycle + 1;
    if (++b->step == N) {
        b->step = 0;
        if (++b->block == b->blocks) {
            b->block = 0;
            b->next_vector = 0;
            b->ob += ++b->tile == b->tiles;
            b->tile %= b->tiles;
        }
    }
}

/* Outputs of this cycle. */
static void sample(unit *u, bench *b) {
    past *h = &b->history[u->cycle % HISTORY];
    unit_get_slice(b->wgt_word, 0, h->word, N);
    h->p = tb_get(b->wgt_p) != 0;
    h->en = tb_get(b->mesh_en) != 0;
    if (tb_get(b->act_valid)) {
        unit_expect_value(u, "mesh_en_o at a vector", h->en, 1);
        check_vector(u, b);
    } else {
        unit_expect_value(u, "acc_first_o, acc_last_o without a vector", tb_get(b->acc_first) | tb_get(b->acc_last), 0);
        if (b->next_vector != 0) {
            unit_fail(u, "gap", "cycle %" PRIu64 ": gap inside tile %" PRIu32, u->cycle, b->tile);
        }
    }
    /* the last sum leaves column N-1 after 2N cycles and acc one later */
    if (b->first_vector_seen && u->cycle - b->last_vector <= 2 * N + 1) {
        unit_expect_value(u, "mesh_en_o while sums are under way", h->en, 1);
    }
}

/* Reads of this cycle give data after the edge; a read enable that is low keeps the data. */
static void serve_reads(unit *u, bench *b) {
    if (tb_get(b->wgt_re)) {
        const uint32_t bank = (uint32_t)tb_get(b->wgt_bank);
        const uint32_t word = (uint32_t)tb_get(b->wgt_raddr);
        if (!b->full[bank] || word >= WGT_WORDS) {
            unit_fail(u, "wgt_re_o", "cycle %" PRIu64 ": read of word %" PRIu32 " of bank %" PRIu32 ", which is not full", u->cycle, word,
                      bank);
            return;
        }
        memcpy(b->wgt_read, b->bank[bank][word], N);
    }
    if (tb_get(b->ifm_re)) {
        for (uint32_t s = 0; s < 2; s++) {
            memcpy(b->ifm_read[s], b->ring[tb_get(b->ifm_ra[s]) % IFM_WORDS], N);
        }
    }
}

static void take_back(unit *u, bench *b) {
    const uint64_t release = tb_get(b->wgt_release);
    if (release != 0) {
        unit_expect_value(u, "wgt_release_o", release, UINT64_C(1) << b->read_bank);
        b->full[b->read_bank] = false;
        tb_rng_fill(&b->rng_data, b->bank[b->read_bank], sizeof **b->bank * b->blocks * N);
        b->read_bank ^= 1u;
        b->released++;
    }
    if (tb_get(b->tile_start)) {
        unit_expect_value(u, "tile_start_o without room", tb_get(b->tile_room), 1);
        b->tiles_started++;
    }
    unit_expect_value(u, "free_o", tb_get(b->free), tb_get(b->pop));
    if (tb_get(b->pop)) {
        unit_expect_value(u, "task_pop_o without a task", b->active && tb_get(b->task_valid), 1);
        unit_expect_value(u, "free_words_o", tb_get(b->free_words), b->pixels * b->icb);
        unit_expect_value(u, "tiles started", b->tiles_started, (uint64_t)b->tiles * b->ocb);
        unit_expect_value(u, "banks released", b->released, b->ocb);
        b->active = false;
    }
}

/* After a task its words are garbage again. */
static void end_task(unit *u, bench *b) {
    unit_expect_value(u, "output blocks finished", b->ob, b->ocb);
    for (uint32_t i = 0; i < b->pixels * b->icb; i++) {
        tb_rng_fill(&b->rng_data, b->ring[(b->base + i) % IFM_WORDS], N);
    }
    b->base = (b->base + b->pixels * b->icb) % IFM_WORDS;
}

static void cycle(unit *u, bench *b, bool offer) {
    if (offer) {
        load(b);
    }
    const bool all = b->arrived == b->pixels;
    tb_set(b->task_valid, offer);
    tb_set(b->ifm_all, offer && all);
    tb_set(b->pix_ready, all ? tb_rng_range(&b->rng, 0, b->pixels) : b->arrived);
    tb_set(b->wgt_full, (uint64_t)b->full[0] | ((uint64_t)b->full[1] << 1));
    tb_set(b->tile_room, unit_go(&b->ofm_stall));
    unit_settle(u);
    sample(u, b);
    serve_reads(u, b);
    take_back(u, b);
    unit_edge(u);
    unit_set_slice(b->wgt_rdata, 0, b->wgt_read, N);
    unit_set_slice(b->ifm_rd[0], 0, b->ifm_read[0], N);
    unit_set_slice(b->ifm_rd[1], 0, b->ifm_read[1], N);
}

static void find_ports(unit *u, bench *b) {
    const struct {
        tb_sig *sig;
        const char *name;
    } ports[] = {{&b->task_valid, "task_valid_i"},
                 {&b->task, "task_i"},
                 {&b->pop, "task_pop_o"},
                 {&b->ifm_all, "ifm_all_i"},
                 {&b->pix_ready, "pix_ready_i"},
                 {&b->wgt_full, "wgt_full_i"},
                 {&b->wgt_release, "wgt_release_o"},
                 {&b->free, "free_o"},
                 {&b->free_words, "free_words_o"},
                 {&b->tile_room, "tile_room_i"},
                 {&b->tile_start, "tile_start_o"},
                 {&b->wgt_re, "wgt_re_o"},
                 {&b->wgt_bank, "wgt_bank_o"},
                 {&b->wgt_raddr, "wgt_raddr_o"},
                 {&b->wgt_rdata, "wgt_rdata_i"},
                 {&b->ifm_re, "ifm_re_o"},
                 {&b->ifm_ra[0], "ifm_raddr0_o"},
                 {&b->ifm_ra[1], "ifm_raddr1_o"},
                 {&b->ifm_rd[0], "ifm_rdata0_i"},
                 {&b->ifm_rd[1], "ifm_rdata1_i"},
                 {&b->mesh_en, "mesh_en_o"},
                 {&b->wgt_p, "wgt_p_o"},
                 {&b->wgt_word, "wgt_word_o"},
                 {&b->sel, "sel_o"},
                 {&b->act[0], "act0_o"},
                 {&b->act[1], "act1_o"},
                 {&b->act_valid, "act_valid_o"},
                 {&b->acc_first, "acc_first_o"},
                 {&b->acc_last, "acc_last_o"}};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        *ports[i].sig = unit_port(u, ports[i].name);
    }
    b->rng = unit_stream(u, "shape");
    b->arrive = (uint32_t)unit_knob(u, "arrive");
    b->rng_data = unit_stream(u, "values");
    b->task_stall = unit_stall_make(u, "task");
    b->ifm_stall = unit_stall_make(u, "ifm");
    b->wgt_stall = unit_stall_make(u, "wgt");
    b->ofm_stall = unit_stall_make(u, "ofm");
}

static int run_tasks(unit *u, bench *b) {
    for (int64_t k = unit_knob(u, "tasks"); k > 0 && unit_ok(u); k--) {
        if (begin_task(u, b) != 0) {
            return -1;
        }
        while (unit_ok(u) && !unit_go(&b->task_stall)) {
            cycle(u, b, false);
        }
        while (unit_ok(u) && b->active) {
            cycle(u, b, true);
        }
        cycle(u, b, false); /* the last vectors leave one cycle after the reads */
        if (unit_ok(u)) {
            end_task(u, b);
        }
    }
    for (uint32_t i = 0; i < 2 * N + 8 && unit_ok(u); i++) {
        cycle(u, b, false);
    }
    return 0;
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    int rc = -1;
    if (b) {
        b->ring = malloc(sizeof *b->ring * IFM_WORDS);
        b->bank[0] = malloc(sizeof **b->bank * WGT_WORDS);
        b->bank[1] = malloc(sizeof **b->bank * WGT_WORDS);
        b->expected = malloc(2u * 32 * 32);
    }
    if (b && b->ring && b->bank[0] && b->bank[1] && b->expected && unit_expect_init(u, 1, "channel", N, true) == 0) {
        find_ports(u, b);
        tb_rng_fill(&b->rng_data, b->ring, sizeof *b->ring * IFM_WORDS);
        unit_reset(u);
        rc = run_tasks(u, b);
    }
    if (b) {
        free(b->ring);
        free(b->bank[0]);
        free(b->bank[1]);
        free(b->expected);
        free(b->ifm);
        free(b->weights);
    }
    free(b);
    return rc;
}

const unit_bench unit_this_bench = {.name = "im2col",
                                    .about = "streams of weight words and row vectors",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
