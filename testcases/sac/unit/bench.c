/* bench.c - the main program of every unit bench; tasks, streams. */
#include "bench.h"

#include <string.h>

#include "coverage/code/code.h"

const sac_build *bench_build(const bench *b) {
    return &((const sac_device *)b->ctx)->model.build;
}

const cm_layer_task *bench_task_of(const bench *b) {
    return &((const sac_device *)b->ctx)->task;
}

/* ---- tasks ---- */

#define CASE_CYCLES 200000u /* then a case begins no further task: those of the large builds are long */

static uint32_t draw(tb_rng *rng, uint32_t lo, uint32_t hi) {
    return (uint32_t)tb_rng_range(rng, lo, hi);
}

void bench_task(tb_rng *rng, const sac_build *b, cm_layer_task *t) {
    *t = (cm_layer_task){.w = draw(rng, 1, 3 * b->w), .h = draw(rng, 1, 8), .c = draw(rng, 1, 7 * b->c)};
    t->n = draw(rng, 1, 5 * b->n);
    t->kw = tb_rng_chance(rng, 1, 3) ? 1 : draw(rng, 1, 11);
    t->kh = draw(rng, 1, 11);
    t->stride = draw(rng, 1, 4);
    t->pt = draw(rng, 0, 7);
    t->pl = draw(rng, 0, 7);
    t->ow = draw(rng, 1, 4 * b->w);
    t->oh = draw(rng, 1, 6);
    t->pool = tb_rng_chance(rng, 2, 3);
    t->win = draw(rng, 2, 3);
    t->pool_stride = draw(rng, 1, 3);
    t->pool_pt = tb_rng_chance(rng, 1, 2);
    t->pool_pl = tb_rng_chance(rng, 1, 2);
    t->pw = draw(rng, 1, (t->ow + t->pool_pl - 1) / t->pool_stride + 1);
    t->ph = draw(rng, 1, (t->oh + t->pool_pt - 1) / t->pool_stride + 1);
    t->full = draw(rng, 0, 2);
    t->dst_ddr = true;
    t->relu = tb_rng_chance(rng, 1, 2);
    t->add = tb_rng_chance(rng, 1, 2);
    t->post_relu = tb_rng_chance(rng, 1, 2);
    t->half = tb_rng_chance(rng, 1, 2);
    uint32_t *const addresses[] = {&t->in, &t->out, &t->res, &t->filt, &t->param, &t->dtab, &t->in_step, &t->out_step};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        *addresses[i] = tb_rng_u32(rng) >> 4;
    }
}

static void set_bits(tb_sig sig, uint32_t lsb, uint32_t width, uint64_t value) {
    uint8_t *bytes = (uint8_t *)sig.ptr;
    for (uint32_t i = 0; i < width && lsb + i < sig.width; i++) {
        const uint32_t at = lsb + i;
        bytes[at / 8] = (uint8_t)((bytes[at / 8] & ~(1u << at % 8)) | (unsigned)(value >> i & 1) << at % 8);
    }
}

/* Members of geom_t, the lowest first (rtl/sac/sac_pkg.sv). */
static void set_geometry(const bench *b, tb_sig sig) {
    const cm_layer_task *t = bench_task_of(b);
    const sac_build *s = bench_build(b);
    uint32_t w, h;
    sac_layer_map(t, &w, &h);
    const struct {
        uint32_t width;
        uint64_t value;
    } members[] = {{12, (t->ow - 1) * t->stride + 1},
                   {12, t->pool ? (t->ph - 1) * t->pool_stride : 0},
                   {12, t->pool ? (t->pw - 1) * t->pool_stride : 0},
                   {15, w * h},
                   {10, h},
                   {10, w},
                   {11, sac_task_words(s, t)},
                   {12, sac_up(t->n, s->n)},
                   {19, sac_up(w, s->w) * h},
                   {9, sac_up(w, s->w)},
                   {3, sac_up(t->kw, 3)},
                   {12, sac_up(t->c, s->c)},
                   {31, sac_task_in_pages(s, t)},
                   {19, sac_up(t->w, s->w) * t->h},
                   {9, sac_up(t->w, s->w)},
                   {1, t->kw == 1}};
    uint32_t lsb = 0;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        set_bits(sig, lsb, members[i].width, members[i].value);
        lsb += members[i].width;
    }
}

#define MEMBER(name, element, lsb, width, reg, field, one) set_bits(sig, lsb, width, t->element);

void bench_set_task(bench *b, const cm_layer_task *t) {
    tb_sig sig = tb_sim_find(&b->run.sim, "task_i");
    ((sac_device *)b->ctx)->task = *t;
    if (sig.ptr != NULL) {
        CM_LAYER_TASK_TABLE(MEMBER)
    }
    sig = tb_sim_find(&b->run.sim, "geom_i");
    if (sig.ptr != NULL) {
        set_geometry(b, sig);
    }
}

bool bench_more(const bench *b, int64_t done) {
    return done < bench_knob(b, "tasks") && b->run.sim.cycle < CASE_CYCLES;
}

bool bench_next(bench *b, tb_rng *rng) {
    cm_layer_task t;
    bench_task(rng, bench_build(b), &t);
    bench_set_task(b, &t);
    return bench_pulse(b, "start_i");
}

/* ---- what the neighbours do ---- */

int bench_until_done(bench *b, tb_rng *rng, bench_cycle *cycle, void *state) {
    const bool aborts = tb_rng_chance(rng, (uint32_t)bench_knob(b, "abort"), 100);
    const tb_sig clr = bench_port(b, "clr_i");
    for (uint64_t left = aborts ? tb_rng_small(rng, 1, 3000) : UINT64_MAX;; left--) {
        tb_set(clr, left == 1);
        const bool done = cycle(b, state);
        const bool ok = bench_step(b);
        tb_set(clr, 0);
        if (!ok || done || left == 1) {
            return !ok ? -1 : left != 1;
        }
    }
}

bench_source bench_source_of(bench *b, const char *valid, const char *ready, const char *data, const char *knob) {
    return (bench_source){.valid = bench_port(b, valid),
                          .ready = bench_port(b, ready),
                          .data = bench_port(b, data),
                          .stall = bench_stall_of(b, knob),
                          .values = bench_stream(b, data)};
}

bool bench_offer(bench_source *s, bool more) {
    const bool fresh = !s->offered && bench_go(&s->stall) && more;
    if (fresh) {
        bench_noise(s->data, &s->values);
        s->offered = true;
    }
    tb_set(s->valid, s->offered);
    return fresh;
}

bool bench_taken(bench_source *s) {
    const bool taken = s->offered && tb_get(s->ready) != 0;
    s->offered = s->offered && !taken;
    s->sent += taken;
    return taken;
}

bench_params bench_params_of(bench *b) {
    return (bench_params){.we = bench_port(b, "p_we_i"),
                          .n = bench_port(b, "p_n_i"),
                          .place = bench_port(b, "p_place_i"),
                          .p = bench_port(b, "p_i"),
                          .values = bench_stream(b, "p_i")};
}

void bench_param(bench *b, bench_params *p, uint32_t left) {
    const bool write = p->batches < left + 4 && p->batches < sac_up(bench_task_of(b)->n, bench_build(b)->n);
    tb_set(p->we, write);
    if (write) {
        tb_set(p->n, p->filter);
        tb_set(p->place, p->batches % 4);
        bench_noise(p->p, &p->values);
        p->filter = (p->filter + 1) % bench_build(b)->n;
        p->batches += p->filter == 0;
    }
}

typedef struct streams {
    bench_source source;
    bench_stall stall;
    tb_sig valid, ready;
    uint64_t in, got, out;
} streams;

static bool stream_cycle(bench *b, void *state) {
    streams *s = (streams *)state;
    bench_offer(&s->source, s->source.sent < s->in);
    tb_set(s->ready, bench_go(&s->stall));
    bench_settle(b);
    s->got += tb_get(s->valid) != 0 && tb_get(s->ready) != 0;
    bench_taken(&s->source);
    return s->source.sent == s->in && s->got == s->out;
}

bool bench_streams(bench *b, tb_rng *rng, uint64_t in, uint64_t out) {
    streams s = {.source = bench_source_of(b, "valid_i", "ready_o", "data_i", "stall_in"),
                 .stall = bench_stall_of(b, "stall_out"),
                 .valid = bench_port(b, "valid_o"),
                 .ready = bench_port(b, "ready_i"),
                 .in = in,
                 .out = out};
    s.source.values = s.source.stall.rng = tb_rng_fork(rng, 1);
    s.stall.rng = tb_rng_fork(rng, 2);
    const int end = bench_until_done(b, rng, stream_cycle, &s);
    tb_set(s.source.valid, 0);
    return end >= 0 && bench_step(b);
}

/* ---- the program ---- */

static void open_build(bench *b) {
    ((sac_device *)b->ctx)->model.build = (sac_build){SAC_CFG_WVEC, SAC_CFG_CVEC, SAC_CFG_NVEC, SAC_CFG_CACHEPAGES};
}

int main(int argc, char **argv) {
    const bench_design design = {.cfg = SAC_CFG_NAME,
                                 .checks = sac_checks,
                                 .check_count = sac_check_count,
                                 .max_cycles = 3000000,
                                 .ctx_bytes = sizeof(sac_device),
                                 .open = open_build,
                                 .code_save = code_save_text};
    return bench_main(&design, argc, argv);
}
