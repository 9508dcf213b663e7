/* bench.c - the main program of every unit bench, operands. */
#include "bench.h"

#include <string.h>

#include "coverage/code/code.h"

void bench_floats(tb_sig port, tb_rng *rng) {
    for (uint32_t i = 0; i < port.width / 32; i++) {
        const uint32_t v = tb_rng_f32_hard(rng);
        memcpy((uint8_t *)port.ptr + 4 * i, &v, sizeof v);
    }
}

int main(int argc, char **argv) {
    const bench_design design = {.cfg = SGEMM_CFG_NAME,
                                 .checks = sgemm_checks,
                                 .check_count = sgemm_check_count,
                                 .max_cycles = 2000000,
                                 .code_save = code_save_text};
    return bench_main(&design, argc, argv);
}
