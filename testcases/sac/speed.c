/* speed.c - whole layers on an ideal bus. */
#include "speed.h"

#include <stdlib.h>

#include "sac.h"

#define BASE 0x40000000u
#define PLACE 0x1000000u

static const char *const layer_names[] = {"c64_n64_56_k3",        "c512_n512_7_k3",      "c256_n128_56_k1_s2",
                                          "c12_n64_113_k4",       "c1024_n1000_fc",      "squeeze_c64_n16_56_k1",
                                          "expand_c16_n64_56_k3", "expand_c16_n64_56_k1"};
const tb_knob speed_knobs[] = {{"layer", 0, 7, TB_KNOB_ENUM, layer_names, NULL, "which"}};
const size_t speed_knob_count = sizeof speed_knobs / sizeof *speed_knobs;

static const struct {
    uint32_t c, n, side, k, stride, pad, out;
} layers[] = {{64, 64, 56, 3, 1, 1, 56},   {512, 512, 7, 3, 1, 1, 7},   {256, 128, 56, 1, 2, 0, 28},
              {12, 64, 113, 4, 1, 2, 112}, {1024, 1000, 1, 1, 1, 0, 1}, {64, 16, 56, 1, 1, 0, 56},
              {16, 64, 56, 3, 1, 1, 56},   {16, 64, 56, 1, 1, 0, 56}};

static uint64_t up(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

static uint64_t max(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/*
 * The total of the cycle model: pages * beats + LOAD + the longest of convolution, LOAD, write beats and columns behind
 * the array for each batch but the last, then the last convolution (or what is longer) and the drain, one PARAM beat a
 * filter with each LOAD.
 */
static uint64_t total(const sac_dev *dev, const sac_task *t) {
    const uint64_t page_beats = up((uint64_t)dev->wv * dev->cv, 16), batches = up(t->n, dev->nv);
    const uint64_t words = (uint64_t)dev->nv * up(t->c, (t->kw == 1 ? 3u : 1u) * dev->cv) * t->kh * up(t->kw, 3);
    const uint64_t load = max(words, up(words * dev->cv * 12 / 8, 16)) + dev->nv;
    const uint64_t input = up(t->c, dev->cv) * t->h * up(t->w, dev->wv) * page_beats;
    const uint64_t conv = sac_conv_cycles(dev, t) / batches;
    const uint64_t write = (uint64_t)t->oh * up(t->ow, dev->wv) * page_beats * (dev->nv / dev->cv);
    const uint64_t behind = max(write, (uint64_t)t->oh * t->ow);
    return input + load + (batches - 1) * max(max(conv, load), behind) + max(conv, behind);
}

static void fill_random(sac_device *dev, tb_rng *rng, uint32_t addr, uint32_t bytes, uint8_t keep, uint8_t set) {
    uint8_t *data = malloc(bytes);
    if (data == NULL) {
        tb_run_fail(&dev->run, "host:memory", "out of memory");
        return;
    }
    tb_rng_fill(rng, data, bytes);
    for (uint32_t i = 0; i < bytes && keep != 0xFF; i++) {
        data[i] = (data[i] & keep) | set;
    }
    tb_pair_fill(&dev->pair, addr, data, bytes);
    free(data);
}

int speed_case(void *bench, tb_prog_run *run) {
    sac_device *dev = (sac_device *)bench;
    const size_t i = (size_t)tb_knobs_get(run->knobs, "layer");
    sac_dev drv;
    sac_cycles cycles;
    tb_rng rng = tb_rng_stream(run->seed, "speed");
    const sac_task t = {.in = BASE,
                        .out = BASE + PLACE,
                        .filters = BASE + 2 * PLACE,
                        .params = BASE + 3 * PLACE,
                        .dtab = BASE + 4 * PLACE,
                        .res = BASE + 5 * PLACE,
                        .c = layers[i].c,
                        .n = layers[i].n,
                        .h = layers[i].side,
                        .w = layers[i].side,
                        .kh = layers[i].k,
                        .kw = layers[i].k,
                        .stride = layers[i].stride,
                        .pt = layers[i].pad,
                        .pl = layers[i].pad,
                        .oh = layers[i].out,
                        .ow = layers[i].out,
                        .relu = true,
                        .to_memory = true};
    sac_status status = sac_open(&drv, &dev->hal);
    if (status == SAC_OK) {
        const uint32_t filters = sac_filter_bytes(&drv, t.n, t.c, t.kh, t.kw);
        fill_random(dev, &rng, t.in, sac_tensor_bytes(&drv, t.c, t.h, t.w), 0xFF, 0);
        /* absent taps must be 7: where the kernel has some all weights are 0, which takes as long */
        fill_random(dev, &rng, t.filters, filters, t.kw % 3 == 0 || t.kw == 1 ? 0xFF : 0, 0x77);
        fill_random(dev, &rng, t.params, sac_param_bytes(&drv, t.n), 0x0F, 0);
        fill_random(dev, &rng, t.dtab, t.c, 0x03, 0);
        status = sac_start(&drv, &t, true);
    }
    status = status == SAC_OK ? sac_wait(&drv, true) : status;
    if (status != SAC_OK || tb_run_failed(&dev->run) || sac_read_cycles(&drv, &cycles) != SAC_OK) {
        tb_run_fail(&dev->run, "driver:status", "the driver answered \"%s\"", sac_strerror(status));
        return 0;
    }
    sac_device_end(dev);
    const uint64_t all =
        (uint64_t)cycles.input + cycles.preload + cycles.conv + cycles.idle + cycles.load_stall + cycles.write_stall;
    const uint64_t bound = total(&drv, &t), fixed = 200;
    if (cycles.conv != sac_conv_cycles(&drv, &t)) {
        tb_run_fail(&dev->run, "cycles:conv", "CYC_CONV: got %u, expected %u", cycles.conv,
                    (unsigned)sac_conv_cycles(&drv, &t));
    } else if (all > bound + bound / 10 + fixed) {
        tb_run_fail(
            &dev->run, "cycles:total",
            "%s: %u cycles, expected at most a tenth and %u more than %u (input %u, preload %u, conv %u, idle %u, "
            "load stall %u, write stall %u)",
            layer_names[i], (unsigned)all, (unsigned)fixed, (unsigned)bound, cycles.input, cycles.preload, cycles.conv,
            cycles.idle, cycles.load_stall, cycles.write_stall);
    }
    printf("%-22s conv %7u  total %7u  model %7u  %.3f\n", layer_names[i], cycles.conv, (unsigned)all, (unsigned)bound,
           (double)all / (double)bound);
    sac_device_compare(dev, false);
    return 0;
}
