/* score.c - the table of checks. */
#include "score.h"

const tb_check_ops *const sgemm_checks[] = {&sgemm_score_mac};
const size_t sgemm_check_count = sizeof sgemm_checks / sizeof *sgemm_checks;
