/* score.c - the table of checks. */
#include "score.h"

const tb_check_ops *const sgemm_checks[] = {&sgemm_score_check, &sgemm_score_ld,  &sgemm_score_blk_buf,
                                            &sgemm_score_c_buf, &sgemm_score_seq, &sgemm_score_mac,
                                            &sgemm_score_c_st};
const size_t sgemm_check_count = sizeof sgemm_checks / sizeof *sgemm_checks;
