/* bench.c - axis_adapter: packets through a change of width, compared byte by byte. */
#include "../common.h"

typedef struct device {
    tb_run run;
} device;

static const tb_stream_cfg streams[] = {
    {.name = "s_axis", .prefix = "s_axis_"},
    {.name = "m_axis", .prefix = "m_axis_", .source = true, .from = "s_axis"},
};
static const tb_tandem bench = {.bytes = sizeof(device),
                                .run_at = offsetof(device, run),
                                .cfg = {.clk = "clk", .rst = "rst"},
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
            .name = "axis_adapter", .about = "random packets", TB_KNOBS_OF(knobs), .bench = &bench, .body = body});
}
