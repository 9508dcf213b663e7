/* bench.c - axi_crossbar: two masters of the bench, two memories behind it, one shadow of both. */
#include "../common.h"

#define REGION UINT64_C(0x1000000) /* of one memory, the default of the design's parameters */

typedef struct device {
    tb_run run;
    tb_pair pair;
    tb_shadow shadow;
} device;

static const tb_tandem_port ports[] = {
    {.name = "s0", .prefix = "s_axi_", .slice = 0, .slices = 2, .shadow = true},
    {.name = "s1", .prefix = "s_axi_", .slice = 1, .slices = 2, .shadow = true},
    {.name = "m0", .prefix = "m_axi_", .slice = 0, .slices = 2, .memory = true},
    {.name = "m1", .prefix = "m_axi_", .slice = 1, .slices = 2, .memory = true},
};
static int open_memory(void *ctx, const tb_prog_run *run, char *err, size_t err_size) {
    (void)run, (void)err, (void)err_size;
    ((device *)ctx)->pair.rtl.watch = ((device *)ctx)->pair.rtl.check_reads = false;
    return 0;
}

static const tb_tandem bench = {.bytes = sizeof(device),
                                .run_at = offsetof(device, run),
                                .pair_at = offsetof(device, pair),
                                .shadow_at = offsetof(device, shadow),
                                .cfg = {.clk = "clk", .rst = "rst"},
                                .mem_size = 2 * REGION,
                                .shadow_size = 2 * REGION,
                                TB_TANDEM_PORTS(ports),
                                .open = open_memory};
static const tb_knob knobs[] = {BURST_KNOBS, {"answers", 0, 1, TB_KNOB_ENUM, answer_names, NULL, "of the memories"}};

static int body(void *ctx, tb_prog_run *run) {
    device *dev = (device *)ctx;
    tb_ddr_diff diff;
    const tb_axi_traffic traffic =
        burst_traffic(run->knobs, REGION - (uint64_t)tb_knobs_get(run->knobs, "window") / 256 * 128);
    for (unsigned i = 0; i < 2; i++) {
        tb_axi_master_traffic(&dev->run.port[i]->master, &traffic);
    }
    if (tb_run_drain(&dev->run) && !tb_shadow_compare(&dev->shadow, &dev->pair.rtl, &diff)) {
        tb_run_fail(&dev->run, "mem:mismatch", "memory at 0x%llx: got 0x%02x, expected 0x%02x",
                    (unsigned long long)diff.addr, diff.a, diff.b);
    }
    return 0;
}

int main(int argc, char **argv) {
    return example_main(
        argc, argv,
        (tb_test){.name = "axi_crossbar", .about = "random bursts", TB_KNOBS_OF(knobs), .bench = &bench, .body = body});
}
