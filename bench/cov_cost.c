/* cov_cost.c - `make cov-cost`: samples of a covergroup, as many as the argument says, for counting instructions under
 * callgrind. */
#include <stdio.h>
#include <stdlib.h>

#include "coverage/cov.h"

static const cov_bin small[] = {{COV_EACH(0, 15)}, {COV_DEFAULT("more")}};
static const cov_bin wide[] = {{COV_POW2(1, INT64_C(1) << 40)}};
static const cov_bin masks[] = {{COV_MASK("aligned", 63, 0)}, {COV_MASK("word", 63, 4)}, {COV_DEFAULT("other")}};
static const cov_bin steps[] = {
    {COV_EACH(0, 3)}, {COV_STEPS("0 => 1 => 2")}, {COV_STEPS("1 => 2")}, {COV_STEPS("3 => 0")}};
static const cov_point points[] = {{COV_POINT("a", "bug", small)}, {COV_POINT("b", "bug", small)},
                                   {COV_POINT("c", "bug", small)}, {COV_POINT("d", "bug", small)},
                                   {COV_POINT("e", "bug", wide)},  {COV_POINT("f", "bug", wide)},
                                   {COV_POINT("g", "bug", masks)}, {COV_POINT("h", "bug", steps)}};
static const cov_cross crosses[] = {{COV_CROSS("ab", "bug", "a", "b")}, {COV_CROSS("abc", "bug", "a", "b", "c")}};
static const cov_group group = {COV_GROUP("g", "eight coverpoints, two crosses", points), COV_CROSSES(crosses)};
static const cov_group *const groups[] = {&group};

int main(int argc, char **argv) {
    const long samples = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    cov_db *db = NULL;
    cov_inst *inst = NULL;
    cov_error err;
    if (cov_open(&db, groups, 1, &err) != COV_OK || cov_instance(db, "g", NULL, &inst, &err) != COV_OK) {
        fprintf(stderr, "cov_cost: %s\n", err.text);
        return 1;
    }
    uint64_t seed = 1;
    uint32_t illegal = 0;
    for (long i = 0; i < samples; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1;
        const int64_t v = (int64_t)(seed >> 33);
        const int64_t values[] = {v & 15, v >> 4 & 15, v >> 8 & 31, v >> 12 & 15, v + 1, v % 1000 + 1, v, v & 3};
        illegal += cov_sample(inst, values);
    }
    printf("%llu samples, %u illegal\n", (unsigned long long)cov_db_data(db)->groups[0].samples, illegal);
    cov_close(db);
    return 0;
}
