/* bench.c - axi_cdma: descriptors in, copies in memory, a status for each. */
#include <inttypes.h>

#include "tb.h"

#define BASE 0x0u
#define HALF 0x8000u /* sources, then destinations */
#define LENGTH 512u  /* of the longest copy */

typedef struct device {
    tb_run run;
    tb_pair pair;
    uint64_t started, ended;
    bool aligned;
} device;

static tb_sig field(tb_stream *s, const char *end) {
    return tb_stream_signal(s, end)->sig;
}

/* A descriptor that is possible. */
static void draw(tb_stream *s) {
    const device *dev = (const device *)s->ctx;
    const uint64_t step = dev->aligned ? 4 : 1, bytes = tb_rng_small(&s->own, 1, LENGTH / step) * step;
    tb_set(field(s, "read_addr"), BASE + tb_rng_range(&s->own, 0, (HALF - LENGTH) / step) * step);
    tb_set(field(s, "write_addr"), BASE + HALF + tb_rng_range(&s->own, 0, (HALF - LENGTH) / step) * step);
    tb_set(field(s, "len"), bytes);
    tb_set(field(s, "tag"), dev->started & 0xff);
}

/* The design has taken it: so does the golden model, at once. */
static void start(tb_stream *s) {
    device *dev = (device *)s->ctx;
    uint8_t data[LENGTH];
    const uint64_t bytes = tb_get(field(s, "len"));
    tb_ddr_read(&dev->pair.model, tb_get(field(s, "read_addr")), data, bytes);
    tb_ddr_write(&dev->pair.model, tb_get(field(s, "write_addr")), data, bytes);
    dev->started++;
}

/* A copy is complete: they end in their order, without an error. */
static void end(tb_stream *s) {
    device *dev = (device *)s->ctx;
    const uint64_t tag = tb_get(field(s, "tag")), error = tb_get(field(s, "error"));
    if (tag != (dev->ended & 0xff) || error != 0) {
        tb_run_fail(&dev->run, "cdma:status",
                    "copy %" PRIu64 ": status with tag %" PRIu64 " and error %" PRIu64 ", expected tag %" PRIu64
                    " and error 0",
                    dev->ended, tag, error, dev->ended & 0xff);
    }
    dev->ended++;
}

static const tb_tandem_port ports[] = {{.name = "mem", .prefix = "m_axi_", .memory = true}};
static const tb_stream_cfg streams[] = {
    {.name = "desc",
     .valid = "s_axis_desc_valid",
     .ready = "s_axis_desc_ready",
     .draw = draw,
     .taken = start,
     .payload = {"s_axis_desc_read_addr", "s_axis_desc_write_addr", "s_axis_desc_len", "s_axis_desc_tag"}},
    {.name = "status",
     .valid = "m_axis_desc_status_valid",
     .source = true,
     .taken = end,
     .payload = {"m_axis_desc_status_tag", "m_axis_desc_status_error"}}};

static int open_model(void *ctx, const tb_prog_run *run, char *err, size_t err_size) {
    device *dev = (device *)ctx;
    uint8_t data[HALF];
    tb_rng rng = tb_rng_stream(run->seed, "data");
    (void)err, (void)err_size;
    tb_rng_fill(&rng, data, sizeof data);
    tb_pair_fill(&dev->pair, BASE, data, sizeof data);
    dev->pair.rtl.watch = false;
    return 0;
}

static const tb_tandem bench = {.bytes = sizeof(device),
                                .run_at = offsetof(device, run),
                                .pair_at = offsetof(device, pair),
                                .cfg = {.clk = "clk", .rst = "rst", .watchdog_cycles = 5000},
                                .mem_base = BASE,
                                .mem_size = 2 * HALF,
                                TB_TANDEM_PORTS(ports),
                                TB_TANDEM_STREAMS(streams),
                                .open = open_model};

static const char *const bus_names[] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};
static const tb_knob knobs[] = {
    {"copies", 1, 60, TB_KNOB_SMALL, NULL, NULL, "descriptors"},
    {"stall", 0, 90, TB_KNOB_UNIFORM, NULL, NULL, "percent of cycles without a new descriptor"},
    {"aligned", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "addresses and lengths are multiples of a word"},
    {"bus", 0, 5, TB_KNOB_ENUM, bus_names, NULL, "timing of the memory"},
};

static int body(void *ctx, tb_prog_run *run) {
    device *dev = (device *)ctx;
    const tb_stream_traffic traffic = {.packets = (uint64_t)tb_knobs_get(run->knobs, "copies")};
    const tb_sig enable = tb_sim_find(&dev->run.sim, "enable");
    tb_set(enable, 1);
    dev->aligned = tb_knobs_get(run->knobs, "aligned") != 0;
    for (unsigned i = 0; i < 2; i++) {
        dev->run.stream[i]->ctx = dev;
    }
    dev->run.stream[0]->stall = (unsigned)tb_knobs_get(run->knobs, "stall");
    tb_stream_send(dev->run.stream[0], &traffic);
    while (dev->ended < traffic.packets && tb_run_step(&dev->run)) {
    }
    if (!tb_run_failed(&dev->run)) {
        tb_pair_compare(&dev->pair, &dev->run);
    }
    return 0;
}

static tb_shrink_size size(const tb_test *test, const tb_knobs *k) {
    (void)test;
    const uint64_t copies = (uint64_t)tb_knobs_get(k, "copies");
    return (tb_shrink_size){.cycles = copies * 300, .work = copies};
}

int main(int argc, char **argv) {
    const tb_test test = {.name = "axi_cdma",
                          .about = "random copies",
                          .is_operator = true,
                          TB_KNOBS_OF(knobs),
                          .size = size,
                          .bench = &bench,
                          .body = body};
    const tb_prog prog = {.about = "axi_cdma",
                          .cfg = TANDEM_CFG_NAME,
                          .kind = TANDEM_KIND,
                          .tests = &test,
                          .test_count = 1,
                          .case_dir = "build/cases",
                          .work_name = "copies"};
    return tb_prog_main(&prog, argc, argv);
}
