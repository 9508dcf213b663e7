/* score.c - what the checks share, and their table. */
#include "score.h"

#include <stdio.h>

#include "sac_layer.h"

bool sac_score_bytes(tb_check *c, const char *stream, uint64_t transaction, const uint8_t *got, const uint8_t *expected,
                     size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        if (got[i] != expected[i]) {
            tb_check_failf(c, stream, transaction, "byte %zu|0x%02x|0x%02x", i, got[i], expected[i]);
            return false;
        }
    }
    return true;
}

void sac_score_map(const tb_check *c, uint32_t *w, uint32_t *h) {
    sac_layer_map(sac_task_of(c), w, h);
}

/* In the order of the data: a unit before those that get its outputs. */
const tb_check_ops *const sac_checks[] = {&sac_score_setup, &sac_score_input, &sac_score_filter,    &sac_score_jobs,
                                          &sac_score_seq,   &sac_score_conv,  &sac_score_retriever, &sac_score_pe,
                                          &sac_score_relu,  &sac_score_pool,  &sac_score_tail,      &sac_score_writer,
                                          &sac_score_full};
const size_t sac_check_count = sizeof sac_checks / sizeof *sac_checks;
