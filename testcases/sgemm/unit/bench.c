/* bench.c - the main program of every unit bench, ports, stalls. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coverage/code/code.h"

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
    uint8_t bytes[4 * SGEMM_SCORE_MAX * 4];
    const size_t size = tb_sig_bytes(port) < sizeof bytes ? tb_sig_bytes(port) : sizeof bytes;
    if (port.width <= 64) {
        tb_set(port, tb_rng_u64(rng) & (port.width == 64 ? UINT64_MAX : (UINT64_C(1) << port.width) - 1));
        return;
    }
    tb_rng_fill(rng, bytes, size);
    memcpy((void *)port.ptr, bytes, size);
}

void bench_floats(tb_sig port, tb_rng *rng) {
    for (uint32_t i = 0; i < port.width / 32; i++) {
        const uint32_t v = tb_rng_f32_hard(rng);
        memcpy((uint8_t *)port.ptr + 4 * i, &v, sizeof v);
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

static int execute(tb_prog_run *run) {
    const tb_run_cfg cfg = {.clk = "clk_i",
                            .rst_n = "rst_ni",
                            .seed = run->seed,
                            .wave = run->wave,
                            .fail_wave = run->fail_wave,
                            .wave_window = run->wave_window,
                            .max_cycles = run->max_cycles != 0 ? run->max_cycles : 2000000,
                            .story = run->story};
    bench *b = calloc(1, sizeof *b);
    int rc = -1;
    if (b == NULL) {
        snprintf(run->err, sizeof run->err, "out of memory");
        return -1;
    }
    b->prog = run;
    run->devices = 1;
    if (tb_run_open(&b->run, &cfg, run->err, sizeof run->err) == 0 &&
        tb_run_checks(&b->run, sgemm_checks, sgemm_check_count, TB_CHECKS_SOME, NULL, run->err, sizeof run->err) == 0) {
        rc = 0;
        tb_run_reset(&b->run);
        bench_this.run(b);
        if (b->run.checks.count == 0) {
            tb_run_fail(&b->run, "bench:no check", "%s: no check judges this unit", bench_this.name);
        }
        tb_run_end(&b->run);
    }
    if (tb_run_failed(&b->run)) {
        tb_result_fail(run->result, TB_FAIL, b->run.failure.signature, "%s", b->run.failure.message);
        tb_prog_failed(run, &b->run);
    }
    run->result->cycles += b->run.sim.cycle;
    run->result->trace_hash = tb_hash_u64(run->result->trace_hash, b->run.sim.cycle);
    tb_run_close(&b->run);
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
                          .cfg = SGEMM_CFG_NAME,
                          .tests = &test,
                          .test_count = 1,
                          .case_dir = "build/cases",
                          .work_name = "cycles",
                          .code_save = code_save_text};
    return tb_prog_main(&prog, argc, argv);
}
