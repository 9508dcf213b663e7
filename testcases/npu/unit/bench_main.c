/*
 * bench_main.c - the main program of every unit bench: one test, "unit-<name>", and vectors for the units that have
 * them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "coverage/code/code.h"

#define MAX_CYCLES UINT64_C(5000000) /* of a case, unless --cycles says otherwise */
#define RESET_CYCLES 3u
#define AFTER_FAILURE 5000u /* cycles of a run for a report: further failures follow soon */

/* tb_prog.ctx of a bench. */
typedef struct bench {
    uint64_t max_cycles;
    bool have_cycles;
    const char *vectors;
    npu_cov *cov; /* --cov, while cases run */
} bench;

static bench *of(const tb_prog *prog) {
    return (bench *)prog->ctx;
}

/* ---- one case ---- */

static int open_model(unit *u, const tb_prog_run *run, char *err, size_t err_size) {
    const tb_run_cfg cfg = {.seed = u->seed,
                            .clk = "clk_i",
                            .rst_n = unit_this_bench.no_reset ? NULL : "rst_ni",
                            .reset_cycles = RESET_CYCLES,
                            .wave = run->wave,
                            .fail_wave = run->fail_wave,
                            .wave_window = run->wave_window,
                            .story = run->story};
    u->score = (npu_score_ctx){.n = NPU_CFG_N, .int16 = UNIT_INT16};
    u->state = calloc(1, unit_this_bench.state_bytes + 1);
    if (u->state == NULL || tb_run_open(&u->run, &cfg, err, err_size) != 0) {
        return -1;
    }
    unit_ports(u, tb_ports_of(&unit_this_bench.ports, u->state));
    return tb_run_checks(&u->run, npu_score_all, npu_score_count_bench, TB_CHECKS_SOME, &u->score, err, err_size);
}

static void close_model(unit *u) {
    free(u->state);
    tb_run_close(&u->run);
    tb_ddr_free(&u->mem);
    if (u->sb_used) {
        tb_sb_free(&u->sb);
    }
}

/* Missing outputs in the scoreboard at the end are a failure like any other. */
static void final_checks(unit *u) {
    if (!unit_this_bench.open_end) {
        unit_finish_checks(u);
    }
    if (!u->sb_used || u->result->outcome != TB_PASS || tb_sb_done(&u->sb)) {
        return;
    }
    char text[256];
    char signature[96];
    tb_sb_report(&u->sb, text, sizeof text);
    snprintf(signature, sizeof signature, "%s: %s", u->name, u->sb.mismatches > 0 ? "mismatch" : "missing output");
    tb_result_fail(u->result, TB_FAIL, signature, "%s", text);
}

static void note_failure(unit *u, tb_prog_run *run) {
    /* an attempt of the shrinker that takes too long is not a failure of the design */
    if (run->max_cycles != 0 && u->cycle >= run->max_cycles) {
        snprintf(run->result->signature, sizeof run->result->signature, "host:cycles");
    }
    tb_prog_failed(run, &u->run);
}

static int execute(tb_prog_run *run) {
    bench *b = of(run->o->prog);
    unit u = {.name = unit_this_bench.name,
              .seed = run->seed,
              .knobs = run->knobs,
              .max_cycles = run->max_cycles != 0 ? run->max_cycles : b->max_cycles,
              .hash = TB_HASH_INIT,
              .result = run->result,
              .cov = run->again ? NULL : b->cov};
    if (run->story != NULL) {
        run->story->limit = AFTER_FAILURE;
    }
    int rc = open_model(&u, run, run->err, sizeof run->err);
    if (rc == 0) {
        rc = unit_this_bench.run(&u);
        final_checks(&u);
        tb_story_end(&u.run);
        if (tb_run_failed(&u.run)) { /* a run with a story may have continued after its failure */
            tb_result_fail(run->result, TB_FAIL, u.run.failure.signature, "%s", u.run.failure.message);
        }
        if (rc != 0 && run->result->outcome == TB_PASS) {
            snprintf(run->err, sizeof run->err, "%s: out of memory", u.name);
        }
        run->result->cycles += u.cycle;
        run->result->trace_hash = tb_hash_u64(run->result->trace_hash, tb_hash_final(u.hash));
    }
    if (run->result->outcome != TB_PASS) {
        note_failure(&u, run);
    }
    close_model(&u);
    return rc;
}

/* ---- vectors ---- */

static int check_options(const tb_prog_options *o, char *err, size_t err_size) {
    const bench *b = of(o->prog);
    if (b->vectors != NULL && (o->have_seed || o->have_run || o->pinned || o->stored != NULL || b->have_cycles ||
                               o->case_out != NULL || o->print_case)) {
        return opt_fail(err, err_size, "--vectors: seed, count, case, cycles and knobs cannot be combined with it");
    }
    return 0;
}

/* The vectors of a stream instead of cases. */
static int run_vectors(const tb_prog_options *o, tb_result *result, char *err, size_t err_size) {
    const bench *b = of(o->prog);
    unit u = {.name = unit_this_bench.name, .max_cycles = UINT64_MAX, .hash = TB_HASH_INIT, .result = result};
    const tb_prog_run run = {.wave = o->wave};
    if (b->vectors == NULL) {
        return 1;
    }
    if (!unit_this_bench.vectors) {
        return opt_fail(err, err_size, "--vectors: unit-%s has no vectors, expected one of the fp units (docs/fp.md)",
                        u.name);
    }
    const bool from_stdin = strcmp(b->vectors, "-") == 0;
    FILE *in = from_stdin ? stdin : fopen(b->vectors, "r");
    if (!in) {
        return opt_fail(err, err_size, "%s: cannot be opened: %s", b->vectors, strerror(errno));
    }
    int rc = open_model(&u, &run, err, err_size);
    if (rc == 0) {
        rc = unit_this_bench.vectors(&u, in, from_stdin ? "stdin" : b->vectors, err, err_size);
        result->cycles = u.cycle;
        result->trace_hash = tb_hash_u64(result->trace_hash, tb_hash_final(u.hash));
    }
    close_model(&u);
    if (!from_stdin) {
        fclose(in);
    }
    return rc != 0 ? -1 : 0;
}

/* ---- the program ---- */

/* A limit on the cycles is not part of the case, but a hang may depend on it. */
static void again(const tb_prog *prog, char *dst, size_t size) {
    const bench *b = of(prog);
    dst[0] = '\0';
    if (b->have_cycles) {
        snprintf(dst, size, " --cycles %" PRIu64, b->max_cycles);
    }
}

static int cov_begin(const tb_prog *prog, char *err, size_t err_size) {
    return npu_cov_begin(&of(prog)->cov, err, err_size);
}

static int cov_save(const tb_prog *prog, const char *path, const char *job, char *err, size_t err_size) {
    return npu_cov_save(of(prog)->cov, path, job, err, err_size);
}

static void cov_end(const tb_prog *prog) {
    npu_cov_close(of(prog)->cov);
    of(prog)->cov = NULL;
}

int main(int argc, char **argv) {
    char name[64];
    bench b = {.max_cycles = MAX_CYCLES};
    const opt_row options[] = {
        OPT(U64, "--cycles", "C", "longest case in clock cycles", &b.max_cycles, .given = &b.have_cycles, .lo = 1,
            .sets = TB_IN_EVERY),
        OPT(TEXT, "--vectors", "FILE",
            "check vectors, a line each: `a b result flags` or `a result flags`, hexadecimal (TestFloat's text form);\n"
            "- is standard input; for the fp units (docs/fp.md)",
            &b.vectors, .sets = TB_IN_FLAT | TB_IN_TEST),
    };
    snprintf(name, sizeof name, "unit-%s", unit_this_bench.name);
    const tb_test test = {.name = name,
                          .about = unit_this_bench.about,
                          .is_operator = true,
                          .knobs = unit_this_bench.knobs,
                          .knob_count = unit_this_bench.knob_count,
                          .constrain = unit_this_bench.constrain,
                          .execute = execute};
    const tb_prog prog = {.about = unit_this_bench.about,
                          .cfg = NPU_CFG_NAME,
#ifdef NPU_BUILD_KIND
                          .kind = NPU_BUILD_KIND,
#endif
                          .tests = &test,
                          .test_count = 1,
                          .ctx = &b,
                          .options = options,
                          .option_count = sizeof options / sizeof options[0],
                          .check_options = check_options,
                          .again = again,
                          .instead = run_vectors,
                          .cov_open = cov_begin,
                          .cov_save = cov_save,
                          .cov_close = cov_end,
                          .code_save = code_save_text};
    return tb_prog_main(&prog, argc, argv);
}
