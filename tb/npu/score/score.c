/* score.c - the table of checks. */
#include "score.h"

#define CHECK(unit) &npu_score_##unit
const tb_check_ops *const npu_score_all[] = {NPU_SCORES(CHECK), NPU_SCORES_OF_BENCHES(CHECK)};
const size_t npu_score_count_bench = sizeof npu_score_all / sizeof *npu_score_all;
const size_t npu_score_count = sizeof(const tb_check_ops *[]){NPU_SCORES(CHECK)} / sizeof *npu_score_all;

tb_check *npu_score_check_of(const tb_check *c, const tb_check_ops *ops) {
    for (size_t i = 0; i < c->all->count; i++) {
        if (c->all->check[i].ops == ops) {
            return &c->all->check[i];
        }
    }
    return NULL;
}
