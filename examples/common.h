/* common.h - what the small benches of this folder share: random bursts by knobs, the program. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include "tb.h"

static const char *const bus_names[] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};
static const char *const answer_names[] = {"ordered", "reordered"};

/* Knobs of benches with AXI slaves. */
#define BURST_KNOBS                                                                                                    \
    {"bus", 0, 5, TB_KNOB_ENUM, bus_names, NULL, "timing of the buses"},                                               \
        {"bursts", 1, 400, TB_KNOB_SMALL, NULL, NULL, "on each port"},                                                 \
        {"beats", 1, 256, TB_KNOB_SMALL, NULL, NULL, "longest burst"},                                                 \
        {"ids", 1, 16, TB_KNOB_SMALL, NULL, NULL, "different IDs"},                                                    \
        {"writes", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of the bursts"},                                      \
        {"window", 256, 8192, TB_KNOB_SMALL, NULL, NULL, "bytes that are accessed"},                                   \
        {"wrap", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "WRAP bursts"}, {                                                  \
        "narrow", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "narrow and unaligned bursts"                                     \
    }

/* The traffic of these knobs, from `base` on. */
static inline tb_axi_traffic burst_traffic(const tb_knobs *k, uint64_t base) {
    const bool narrow = tb_knobs_get(k, "narrow") != 0;
    return (tb_axi_traffic){.count = (uint64_t)tb_knobs_get(k, "bursts"),
                            .base = base,
                            .bytes = (uint64_t)tb_knobs_get(k, "window") / 128 * 128,
                            .ids = (uint32_t)tb_knobs_get(k, "ids"),
                            .max_beats = (uint32_t)tb_knobs_get(k, "beats"),
                            .writes = (uint8_t)tb_knobs_get(k, "writes"),
                            .fixed = true,
                            .wrap = tb_knobs_get(k, "wrap") != 0,
                            .narrow = narrow,
                            .unaligned = narrow,
                            .sparse = narrow};
}

/* Knobs of benches with a stream into the design and one out of it, and the packets that they say. */
#define PACKET_KNOBS                                                                                                   \
    {"stall", 0, 90, TB_KNOB_UNIFORM, NULL, NULL, "percent of cycles without a beat into the design"},                 \
        {"packets", 1, 200, TB_KNOB_SMALL, NULL, NULL, "packets"},                                                     \
        {"beats", 1, 40, TB_KNOB_SMALL, NULL, NULL, "longest packet"}, {                                               \
        "pause", 0, 90, TB_KNOB_UNIFORM, NULL, NULL, "percent of cycles in which nothing is taken"                     \
    }

static inline void send_packets(tb_run *r, const tb_knobs *k) {
    const tb_stream_traffic traffic = {.packets = (uint64_t)tb_knobs_get(k, "packets"),
                                       .max_beats = (uint32_t)tb_knobs_get(k, "beats"),
                                       .ids = 8,
                                       .dests = 8};
    r->stream[0]->stall = (unsigned)tb_knobs_get(k, "stall");
    r->stream[1]->stall = (unsigned)tb_knobs_get(k, "pause");
    tb_stream_send(r->stream[0], &traffic);
    tb_run_drain(r);
}

static inline tb_shrink_size example_size(const tb_test *test, const tb_knobs *k) {
    const uint64_t work = (uint64_t)tb_knobs_get(k, test->knobs[1].name); /* the second knob counts the work */
    return (tb_shrink_size){.cycles = work * 100, .work = work};
}

static inline int example_main(int argc, char **argv, tb_test test) {
    test.is_operator = true;
    test.size = example_size;
    const tb_prog prog = {.about = test.name,
                          .cfg = TANDEM_CFG_NAME,
                          .kind = TANDEM_KIND,
                          .tests = &test,
                          .test_count = 1,
                          .case_dir = "build/cases",
                          .work_name = "pieces"};
    return tb_prog_main(&prog, argc, argv);
}

#endif
