/* bench.c - axis_async_fifo: packets from one clock to the other, compared byte by byte. */
#include "../common.h"

typedef struct device {
    tb_run run;
} device;

static const tb_clock clocks[] = {{.clk = "s_clk", .rst = "s_rst", .period = 10},
                                  {.clk = "m_clk", .rst = "m_rst", .period = 14}};
static const tb_stream_cfg streams[] = {
    {.name = "s_axis", .prefix = "s_axis_"},
    {.name = "m_axis", .prefix = "m_axis_", .source = true, .from = "s_axis", .clock = 1},
};
static const tb_tandem bench = {.bytes = sizeof(device),
                                .run_at = offsetof(device, run),
                                .cfg = {.clocks = clocks, .nclocks = 2},
                                TB_TANDEM_STREAMS(streams)};
static const tb_knob knobs[] = {PACKET_KNOBS};

static int body(void *ctx, tb_prog_run *run) {
    send_packets(&((device *)ctx)->run, run->knobs);
    return 0;
}

int main(int argc, char **argv) {
    return example_main(
        argc, argv,
        (tb_test){
            .name = "axis_async_fifo", .about = "random packets", TB_KNOBS_OF(knobs), .bench = &bench, .body = body});
}
