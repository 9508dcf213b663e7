/* cov_check.c - drives cov_toy for tests/test_cov_code.py: a run for each word of the command line after the first,
 * which is the file; a word is the values of a_i, one a cycle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "sim/sim.h"

static int run(const char *values) {
    tb_sim sim;
    tb_sig a;
    char err[200];
    const tb_sim_cfg cfg = {.shim = tb_shim_get(), .seed = 1, .clk = "clk_i", .rst_n = "rst_ni"};
    if (tb_sim_open(&sim, &cfg, err, sizeof err) != 0 || tb_sim_port(&sim, "a_i", 8, true, &a, err, sizeof err) != 0) {
        fprintf(stderr, "%s\n", err);
        return 1;
    }
    tb_sim_assert_reset(&sim);
    for (unsigned i = 0; i < 2; i++) {
        tb_sim_settle(&sim);
        (void)tb_sim_edge(&sim);
    }
    tb_sim_release_reset(&sim);
    for (char *end = NULL; *values != '\0'; values = *end == ',' ? end + 1 : end) {
        tb_set(a, strtoul(values, &end, 16));
        tb_sim_settle(&sim);
        (void)tb_sim_edge(&sim);
    }
    tb_sim_close(&sim);
    return 0;
}

int main(int argc, char **argv) {
    char err[300];
    char *text = NULL;
    size_t size = 0;
    for (int i = 2; i < argc; i++) {
        if (run(argv[i]) != 0) {
            return 1;
        }
    }
    if (tb_sim_coverage_text(tb_shim_get(), &text, &size, err, sizeof err) != 0) {
        fprintf(stderr, "%s\n", err);
        return 1;
    }
    const int error = rep_save(argv[1], text, size);
    free(text);
    if (error != 0) {
        fprintf(stderr, "%s: cannot be written: %s\n", argv[1], strerror(error));
    }
    return error != 0;
}
