/* bench.c - axi_ram: bursts against a shadow of its memory. */
#include "../common.h"

typedef struct device {
    tb_run run;
    tb_shadow shadow;
} device;

static const tb_tandem_port ports[] = {{.name = "s", .prefix = "s_axi_", .shadow = true}};
static const tb_tandem bench = {.bytes = sizeof(device),
                                .run_at = offsetof(device, run),
                                .shadow_at = offsetof(device, shadow),
                                .cfg = {.clk = "clk", .rst = "rst"},
                                .shadow_size = 0x10000,
                                TB_TANDEM_PORTS(ports)};
static const tb_knob knobs[] = {BURST_KNOBS};

static int body(void *ctx, tb_prog_run *run) {
    device *dev = (device *)ctx;
    const tb_axi_traffic traffic = burst_traffic(run->knobs, 0);
    tb_axi_master_traffic(&dev->run.port[0]->master, &traffic);
    tb_run_drain(&dev->run);
    return 0;
}

int main(int argc, char **argv) {
    return example_main(
        argc, argv,
        (tb_test){.name = "axi_ram", .about = "random bursts", TB_KNOBS_OF(knobs), .bench = &bench, .body = body});
}
