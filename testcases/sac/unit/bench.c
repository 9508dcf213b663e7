/* bench.c - the main program of every unit bench; tasks, streams. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "coverage/code/code.h"
#include "sac_layer.h"

tb_sig bench_port(bench *b, const char *name) {
    static uint64_t nowhere[512];
    const tb_sig sig = tb_sim_find(&b->dev.run.sim, name);
    if (sig.ptr != NULL) {
        return sig;
    }
    tb_run_fail(&b->dev.run, "bench:port", "%s: the unit has no port %s", bench_this.name, name);
    return (tb_sig){.ptr = nowhere, .width = 32};
}

int64_t bench_knob(const bench *b, const char *name) {
    return tb_knobs_get(b->prog->knobs, name);
}

bool bench_go(tb_rng *rng, int64_t percent) {
    return !tb_rng_chance(rng, (uint32_t)percent, 100);
}

bool bench_step(bench *b) {
    return tb_run_step(&b->dev.run);
}

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
}

static void set_bits(tb_sig sig, uint32_t lsb, uint32_t width, uint64_t value) {
    uint8_t *bytes = (uint8_t *)sig.ptr;
    for (uint32_t i = 0; i < width && lsb + i < sig.width; i++) {
        const uint32_t at = lsb + i;
        bytes[at / 8] = (uint8_t)((bytes[at / 8] & ~(1u << at % 8)) | (unsigned)(value >> i & 1) << at % 8);
    }
}

/* Members of geom_t, the lowest first (rtl/sac/sac_pkg.sv). */
static void set_geometry(bench *b, tb_sig sig) {
    const cm_layer_task *t = &b->dev.task;
    const sac_build *s = &b->dev.model.build;
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
    tb_sig sig = tb_sim_find(&b->dev.run.sim, "task_i");
    b->dev.task = *t;
    if (sig.ptr != NULL) {
        CM_LAYER_TASK_TABLE(MEMBER)
    }
    sig = tb_sim_find(&b->dev.run.sim, "geom_i");
    if (sig.ptr != NULL) {
        set_geometry(b, sig);
    }
}

bool bench_start(bench *b) {
    const tb_sig start = bench_port(b, "start_i");
    tb_set(start, 1);
    const bool ok = bench_step(b);
    tb_set(start, 0);
    return ok;
}

bool bench_streams(bench *b, tb_rng *rng, uint64_t in, uint64_t out) {
    const tb_sig valid_i = bench_port(b, "valid_i"), ready_o = bench_port(b, "ready_o"), data = bench_port(b, "data_i");
    const tb_sig valid_o = bench_port(b, "valid_o"), ready_i = bench_port(b, "ready_i");
    const int64_t stall_in = bench_knob(b, "stall_in"), stall_out = bench_knob(b, "stall_out");
    uint64_t sent = 0, got = 0;
    bool offered = false;
    while (sent < in || got < out) {
        if (!offered && sent < in && bench_go(rng, stall_in)) {
            tb_rng_fill(rng, (void *)data.ptr, tb_sig_bytes(data));
            offered = true;
        }
        tb_set(valid_i, offered);
        tb_set(ready_i, bench_go(rng, stall_out));
        tb_run_settle(&b->dev.run);
        got += tb_get(valid_o) != 0 && tb_get(ready_i) != 0;
        if (offered && tb_get(ready_o) != 0) {
            offered = false;
            sent++;
        }
        if (!bench_step(b)) {
            return false;
        }
    }
    tb_set(valid_i, 0);
    return bench_step(b);
}

static int execute(tb_prog_run *run) {
    const tb_run_cfg cfg = {.clk = "clk_i",
                            .rst_n = "rst_ni",
                            .seed = run->seed,
                            .wave = run->wave,
                            .fail_wave = run->fail_wave,
                            .wave_window = run->wave_window,
                            .max_cycles = run->max_cycles != 0 ? run->max_cycles : 3000000,
                            .story = run->story};
    bench *b = calloc(1, sizeof *b);
    int rc = -1;
    if (b == NULL) {
        snprintf(run->err, sizeof run->err, "out of memory");
        return -1;
    }
    tb_run *r = &b->dev.run;
    b->prog = run;
    b->dev.model.build = (sac_build){SAC_CFG_WVEC, SAC_CFG_CVEC, SAC_CFG_NVEC, SAC_CFG_CACHEPAGES};
    run->devices = 1;
    if (tb_run_open(r, &cfg, run->err, sizeof run->err) == 0 &&
        tb_run_checks(r, sac_checks, sac_check_count, TB_CHECKS_SOME, &b->dev, run->err, sizeof run->err) == 0) {
        rc = 0;
        tb_run_reset(r);
        bench_this.run(b);
        if (r->checks.count == 0) {
            tb_run_fail(r, "bench:no check", "%s: no check judges this unit", bench_this.name);
        }
        tb_run_end(r);
    }
    if (tb_run_failed(r)) {
        tb_result_fail(run->result, TB_FAIL, r->failure.signature, "%s", r->failure.message);
        tb_prog_failed(run, r);
    }
    run->result->cycles += r->sim.cycle;
    run->result->trace_hash = tb_hash_u64(run->result->trace_hash, r->sim.cycle);
    tb_run_close(r);
    free(b);
    return rc;
}

int main(int argc, char **argv) {
    const tb_test test = {.name = bench_this.name,
                          .about = bench_this.about,
                          .knobs = bench_this.knobs,
                          .knob_count = bench_this.knob_count,
                          .execute = execute};
    const tb_prog prog = {.about = bench_this.about,
                          .cfg = SAC_CFG_NAME,
                          .tests = &test,
                          .test_count = 1,
                          .case_dir = "build/cases",
                          .work_name = "cycles",
                          .code_save = code_save_text};
    return tb_prog_main(&prog, argc, argv);
}
