#include "nets.h"

#include <inttypes.h>

#include "network/sac/net_sac.h"
#include "network/tried.h"

static const char *const bus_names[] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};
static const uint32_t bus_weights[] = {4, 4, 4, 2, 3, 3};
const tb_knob network_knobs[] = {NET_TRIED_KNOBS,
                                 {"bus", 0, 5, TB_KNOB_ENUM, bus_names, bus_weights, "timing of the buses"}};
const size_t network_knob_count = sizeof network_knobs / sizeof *network_knobs;

/* The reference's own rounding: sums of at most 4,608 products in binary32. */
#define BOUND 1e-5

void network_constrain(tb_knobs *k, uint64_t seed) {
    net_tried_constrain(k, seed);
}

int network_case(void *bench, tb_prog_run *run) {
    sac_device *dev = (sac_device *)bench;
    const tb_knobs *k = run->knobs;
    const net_sac_port port = net_sac_tandem(dev);
    net_scales scales = {0};
    net_sac engine;
    net_error err = {""};
    net_tried_result r = {0};
    const net_tried tried = {.target = &net_target_sac, .engine = &engine, .scales = &scales, .bound = BOUND};
    if (net_sac_init(&engine, &port, &scales, &err) != NET_OK || net_tried_run(&tried, k, run->seed, &r, &err) != 0) {
        tb_run_fail(&dev->run, "net:input", "%s", err.text);
    } else if (r.signature[0] != '\0') {
        tb_run_fail(&dev->run, r.signature, "%s", r.message);
    } else if (!run->again && !run->o->quiet) {
        printf("%s %s: %" PRIu64 " tasks, %" PRIu64 " cycles of the engine, %" PRIu64 " of them convolving",
               tb_knobs_get_name(k, "net"), SAC_CFG_NAME, r.tasks, r.cycles, r.expected);
        if (r.images > 0) {
            printf("; %u of %u images right, with FP32 activations %u", r.right, r.images, r.fp32_right);
        }
        printf("\n");
    }
    net_scales_free(&scales);
    return 0;
}
