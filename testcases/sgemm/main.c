/* main.c - the tests of the GEMM engine, the program. */
#include <string.h>

#include "coverage/code/code.h"
#include "coverage/sgemm/sgemm_cov.h"
#include "tests.h"

#define TIMEOUT_US 1000000u

void test_begin(test_bench *t, void *bench, tb_prog_run *run) {
    const bool irq = tb_knobs_find(run->knobs, "irq") >= 0 && tb_knobs_get(run->knobs, "irq") != 0;
    *t = (test_bench){.run = run, .dev = (sgemm_device *)bench};
    const sgemm_status status = sgemm_init(&t->drv, &t->dev->hal, irq, TIMEOUT_US);
    if (status != SGEMM_OK) {
        tb_run_fail(&t->dev->run, "driver:init", "sgemm_init: %s", sgemm_strerror(status));
    }
}

/* ---- coverage files ---- */

static sgemm_cov *cov_of(const tb_prog *prog) {
    return (sgemm_cov *)prog->ctx;
}

static int cov_begin(const tb_prog *prog, char *err, size_t err_size) {
    return sgemm_cov_open(cov_of(prog), SGEMM_CFG_DIM, SGEMM_CFG_VEC, SGEMM_CFG_R, err, err_size);
}

static int cov_end(const tb_prog *prog, const char *path, const char *again, char *err, size_t err_size) {
    return sgemm_cov_save(cov_of(prog), path, again, err, err_size);
}

static void cov_drop(const tb_prog *prog) {
    sgemm_cov_close(cov_of(prog));
}

/* A case that has passed is covered. */
static int passed(tb_prog_run *run) {
    sgemm_cov *cov = cov_of(run->o->prog);
    if (cov->db != NULL && strcmp(run->test->name, "sgemm") == 0) {
        sgemm_cov_case(cov, run->knobs);
    }
    return 0;
}

int main(int argc, char **argv) {
    const tb_test tests[] = {test_sgemm, test_same, test_perf, test_network, test_regs, test_nonsense};
    sgemm_cov cov = {0};
    const tb_prog prog = {.about = "random GEMMs and registers on the engine and its golden model",
                          .cfg = SGEMM_CFG_NAME,
                          .kind = SGEMM_BUILD_KIND,
                          .tests = tests,
                          .test_count = sizeof tests / sizeof *tests,
                          .case_dir = "build/cases",
                          .work_name = "multiplications",
                          .ctx = &cov,
                          .passed = passed,
                          .cov_open = cov_begin,
                          .cov_save = cov_end,
                          .cov_close = cov_drop,
                          .code_save = code_save_text,
                          .judges = true};
    return tb_prog_main(&prog, argc, argv);
}
