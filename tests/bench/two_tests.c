/* two_tests.c - a program with two tests and no design, for the tests of its command line: the second one fails. */
#include <stdlib.h>

#include "prog/prog.h"
#include "sim/shim.h"

const tb_shim *tb_shim_get(void) {
    static const tb_shim shim = {.top = "none"};
    return &shim;
}

static int passes(tb_prog_run *run) {
    (void)run;
    return 0;
}

static int fails(tb_prog_run *run) {
    if (tb_knobs_get(run->knobs, "loops") > 2) {
        tb_result_fail(run->result, TB_FAIL, "loops", "%d turns", (int)tb_knobs_get(run->knobs, "loops"));
    }
    return 0;
}

int main(int argc, char **argv) {
    static const tb_knob knobs[] = {{"loops", 0, 9, TB_KNOB_UNIFORM, NULL, NULL, "turns"}};
    static const tb_test tests[] = {
        {.name = "good", .about = "passes", .knobs = knobs, .knob_count = 1, .execute = passes},
        {.name = "bad", .about = "fails", .knobs = knobs, .knob_count = 1, .execute = fails}};
    static const tb_prog prog = {.about = "two tests", .cfg = "one", .tests = tests, .test_count = 2};
    return tb_prog_main(&prog, argc, argv);
}
