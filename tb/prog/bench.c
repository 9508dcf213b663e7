/* bench.c - the main program of unit benches, ports, stalls. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

tb_sig bench_port(bench *b, const char *name) {
    const tb_sig sig = tb_sim_find(&b->run.sim, name);
    if (sig.ptr != NULL) {
        return sig;
    }
    b->no_port = true;
    tb_run_fail(&b->run, "bench:port", "%s: the unit has no port %s", bench_this.name, name);
    return (tb_sig){.ptr = b->nowhere, .width = 32};
}

void bench_noise(tb_sig port, tb_rng *rng) {
    uint8_t *bytes = (uint8_t *)port.ptr;
    if (port.width <= 64) {
        tb_set(port, tb_rng_u64(rng) & (UINT64_MAX >> (64 - port.width)));
        return;
    }
    tb_rng_fill(rng, bytes, tb_sig_bytes(port));
    if (port.width % 8 != 0) { /* bits beyond the port stay 0 */
        bytes[port.width / 8] &= (uint8_t)((1u << port.width % 8) - 1);
    }
}

tb_rng bench_stream(const bench *b, const char *name) {
    return tb_rng_stream(b->prog->seed, name);
}

int64_t bench_knob(const bench *b, const char *name) {
    return tb_knobs_get(b->prog->knobs, name);
}

void bench_settle(bench *b) {
    tb_run_settle(&b->run);
}

bool bench_step(bench *b) {
    return tb_run_step(&b->run) && !b->no_port;
}

bool bench_pulse(bench *b, const char *name) {
    const tb_sig sig = bench_port(b, name);
    tb_set(sig, 1);
    const bool ok = bench_step(b);
    tb_set(sig, 0);
    return ok;
}

bench_stall bench_stall_of(const bench *b, const char *knob) {
    return (bench_stall){.rng = bench_stream(b, knob), .percent = (uint32_t)bench_knob(b, knob)};
}

bool bench_go(bench_stall *stall) {
    if (stall->left == 0) {
        stall->go = !tb_rng_chance(&stall->rng, stall->percent, 100);
        stall->left = (uint32_t)tb_rng_range(&stall->rng, 1, 8);
    }
    stall->left--;
    return stall->go;
}

/* ---- one case ---- */

/* The unit, its checks, and the bench on them. 0, or -1 with prog->err: it could not be run. */
static int run_case(bench *b, tb_prog_run *prog, const bench_design *d) {
    const tb_run_cfg cfg = {.clk = "clk_i",
                            .rst_n = "rst_ni",
                            .seed = prog->seed,
                            .wave = prog->wave,
                            .fail_wave = prog->fail_wave,
                            .wave_window = prog->wave_window,
                            .max_cycles = prog->max_cycles != 0 ? prog->max_cycles : d->max_cycles,
                            .story = prog->story};
    if (tb_run_open(&b->run, &cfg, prog->err, sizeof prog->err) != 0 ||
        tb_run_checks(&b->run, d->checks, d->check_count, TB_CHECKS_SOME, b->ctx, prog->err, sizeof prog->err) != 0) {
        return -1;
    }
    tb_run_reset(&b->run);
    tb_run_reset(&b->run); /* a reset in operation falls; the first one began with the power */
    bench_this.run(b);
    if (b->run.checks.count == 0) {
        tb_run_fail(&b->run, "bench:no check", "%s: no check judges this unit", bench_this.name);
    }
    tb_run_end(&b->run);
    return 0;
}

static int execute(tb_prog_run *prog) {
    const bench_design *d = prog->o->prog->ctx;
    bench *b = calloc(1, sizeof *b);
    void *ctx = calloc(1, d->ctx_bytes + 1);
    int rc = -1;
    if (b == NULL || ctx == NULL) {
        snprintf(prog->err, sizeof prog->err, "out of memory");
    } else {
        b->prog = prog;
        b->ctx = ctx;
        prog->devices = 1;
        if (d->open != NULL) {
            d->open(b);
        }
        rc = run_case(b, prog, d);
        if (tb_run_failed(&b->run)) {
            tb_result_fail(prog->result, TB_FAIL, b->run.failure.signature, "%s", b->run.failure.message);
            tb_prog_failed(prog, &b->run);
        }
        prog->result->cycles += b->run.sim.cycle;
        prog->result->trace_hash = tb_hash_u64(prog->result->trace_hash, b->run.sim.cycle);
        tb_run_close(&b->run);
    }
    free(ctx);
    free(b);
    return rc;
}

int bench_main(const bench_design *design, int argc, char **argv) {
    const tb_test test = {.name = bench_this.name,
                          .about = bench_this.about,
                          .knobs = bench_this.knobs,
                          .knob_count = bench_this.knob_count,
                          .execute = execute};
    const tb_prog prog = {.about = bench_this.about,
                          .cfg = design->cfg,
                          .tests = &test,
                          .test_count = 1,
                          .ctx = (void *)design,
                          .case_dir = "build/cases",
                          .work_name = "cycles",
                          .code_save = design->code_save};
    return tb_prog_main(&prog, argc, argv);
}
