#include "bench.h"

#include <string.h>

void *net_target_bench(const tb_tandem *bench, const net_target_options *options, char *text, size_t size) {
    static const char *const names[] = {"ideal", "fast", "typical", "slow", "bursty", "hostile", NULL};
    static const tb_knob bus[] = {{"bus", 0, 5, TB_KNOB_ENUM, names, NULL, "timing of the buses"}};
    tb_knobs knobs;
    tb_result result;
    tb_prog_run run = {.seed = options->seed,
                       .knobs = &knobs,
                       .wave = options->wave,
                       .result = &result,
                       .more = (void *)(uintptr_t)options->sizes};
    tb_knobs_init(&knobs, bus, 1);
    if (options->bus != NULL && tb_knobs_pin_value(&knobs, "bus", options->bus, text, size) != 0) {
        return NULL;
    }
    tb_result_init(&result);
    void *device = tb_tandem_open(bench, &run, text, size);
    tb_result_free(&result);
    return device;
}
