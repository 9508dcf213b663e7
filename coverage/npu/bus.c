/* bus.c - traffic of a port to memory in a run, from the statistics of its monitor. */
#include "models.h"

enum {
    BUS_DIR,
    BUS_BEATS,
    BUS_DEPTH,
    BUS_LATENCY,
    BUS_STALL,
    BUS_ERROR,
    BUS_LENGTH,
    BUS_START,
    BUS_ROOM,
    BUS_PLACE,
    BUS_STROBES,
    BUS_POINTS
};

/*
 * Long bursts are those of rows and partial sums of FP32, several tiles at a time. LONG: the output begins exactly at a
 * multiple of a size, because `place` determines its address; ONE: one row, so that the space after it is known, too.
 */
#define LONG(shift, at) "conv:k=1 s=1 iw=1024 gap=0 group=255 out_layout=fp32 out_shift=" shift " place=" at
#define ONE(columns, space) "conv:k=1 s=1 ih=1 group=255 out_shift=0 place=0 iw=" columns " gap=" space

/* The reads are those of partial sums. */
static const cov_bin dir_bins[] = {{COV_VALUE("reads", 0), .hint = "conv:ic=64 max_ic=32"},
                                   {COV_VALUE("writes", 1), .hint = "conv:out_layout=fp32"}};
static const cov_bin beats_bins[] = {{COV_EACH(1, 17)},
                                     {COV_RANGE("18..31", 18, 31)},
                                     {COV_RANGE("32..63", 32, 63)},
                                     {COV_RANGE("64..127", 64, 127)},
                                     {COV_RANGE("128..254", 128, 254)},
                                     {COV_VALUE("255", 255), .hint = ONE("1020", "1")},
                                     {COV_VALUE("256", 256), .hint = ONE("1024", "0")}};
static const cov_bin depth_bins[] = {
    {COV_EACH(0, 16)}, {COV_RANGE("more", 17, COV_MAX), COV_FORBID("docs/npu/npu.md: at most 16 bursts in flight")}};
static const cov_bin latency_bins[] = {
    {COV_RANGE("0..3", 0, 3)}, {COV_POW2(4, 511)}, {COV_RANGE("512..", 512, COV_MAX), .hint = "conv:bus=hostile"}};
static const cov_bin stall_bins[] = {{COV_VALUE("none", 0), .hint = "conv:bus=ideal"},
                                     {COV_RANGE("below 10 %", 1, 9)},
                                     {COV_RANGE("below 30 %", 10, 29)},
                                     {COV_RANGE("below 60 %", 30, 59)},
                                     {COV_RANGE("60 % and more", 60, 100), .hint = "conv:bus=hostile"}};
static const cov_bin error_bins[] = {{COV_VALUE("none", 0)}, {COV_VALUE("some", 1), .hint = "faults:kind=response"}};
/* In the order of the monitor's classes. */
static const char *const lengths[] = {"1", "2", "3..4", "5..8", "9..16", "17..32", "33..64"};
static const char *const places[TB_AXI_BEAT_PLACES] = {"only", "first", "middle", "last"};
static const char *const strobes[] = {"all", "low", "high", "inner"};
static const cov_bin length_bins[] = {{COV_NAMES(lengths, 7)},
                                      {COV_RANGE("65..256", 7, 8), .hint = "conv:out_layout=fp32"}};
static const cov_bin start_bins[] = {
    {COV_VALUE("1", 0), COV_IGNORE("docs/npu/npu.md section 3: all addresses and steps are multiples of 4")},
    {COV_VALUE("2", 1), COV_IGNORE("docs/npu/npu.md section 3: all addresses and steps are multiples of 4")},
    {COV_VALUE("4", 2), .hint = LONG("1", "4")},
    {COV_VALUE("8", 3), .hint = LONG("2", "4")},
    {COV_VALUE("16", 4), .hint = LONG("0", "4")},
    {COV_VALUE("32", 5), .hint = LONG("0", "14")},
    {COV_VALUE("64", 6), .hint = LONG("0", "10")},
    {COV_VALUE("128", 7), .hint = LONG("0", "3")},
    {COV_VALUE("256", 8), .hint = LONG("0", "9")},
    {COV_VALUE("512", 9), .hint = LONG("0", "6")},
    {COV_VALUE("1024", 10), .hint = LONG("0", "84")},
    {COV_VALUE("2048", 11),
     .hint = "conv:k=1 s=1 iw=1024 gap=0 place=0 group=64 conv:k=1 s=1 iw=1024 gap=0 place=0 group=32"},
    {COV_VALUE("4096", 12), .hint = LONG("0", "0")}};
static const cov_bin room_bins[] = {{COV_VALUE("none", 0), .hint = ONE("1024", "0")},
                                    {COV_VALUE("1", 1), .hint = ONE("1020", "1")},
                                    {COV_VALUE("2..3", 2), .hint = ONE("1016", "2")},
                                    {COV_VALUE("4..15", 3), .hint = ONE("992", "8")},
                                    {COV_VALUE("16..", 4), .hint = ONE("600", "0")}};
static const cov_bin place_bins[] = {{COV_NAMES(places, TB_AXI_BEAT_PLACES)}};
static const cov_bin strobe_bins[] = {
    {COV_NAMES(strobes, 4)},
    {COV_VALUE("none", TB_AXI_STROBES_NONE), .hint = "faults:kind=soft_reset"},
    {COV_VALUE("holes", TB_AXI_STROBES_HOLES), COV_FORBID("bytes of a task's row are contiguous")}};

static const cov_point points[BUS_POINTS] = {
    [BUS_DIR] = {COV_POINT("dir", "reads and writes disturb each other", dir_bins)},
    [BUS_BEATS] = {COV_POINT("beats", "the last beat is wrong, or missing, for one length of a burst", beats_bins),
                   .hint = "conv:group=255"},
    [BUS_DEPTH] = {COV_POINT("depth",
                             "the counter of bursts in flight is off by one, or wraps, when it is full or empty",
                             depth_bins),
                   .hint = "conv:bus=slow"},
    [BUS_LATENCY] = {COV_POINT("latency", "a unit does not expect data that arrives at once, or very late",
                               latency_bins),
                     .hint = "conv:bus=bursty"},
    [BUS_STALL] = {COV_POINT("stall", "data is lost or duplicated when the receiver is not ready", stall_bins),
                   .hint = "conv:bus=typical"},
    [BUS_ERROR] = {COV_POINT("error", "an error response is not reported, or ends the wrong task", error_bins),
                   .hint = "conv:bus=ideal"},
    [BUS_LENGTH] = {COV_POINT("length", "bursts of one class of lengths go to the wrong address", length_bins),
                    .hint = "conv:tight=1"},
    [BUS_START] = {COV_POINT("start", "an address of exactly this alignment is rounded down, or up", start_bins)},
    [BUS_ROOM] = {COV_POINT("room", "a burst is split one beat before 4 KB, or one after", room_bins)},
    [BUS_PLACE] = {COV_POINT("place", "a burst of one beat is first and last, and only one of them counts", place_bins),
                   .hint = "conv:tight=1"},
    [BUS_STROBES] = {COV_POINT("strobes", "bytes next to those of a row are written", strobe_bins),
                     .hint = "conv:tight=1"},
};
static const cov_rule strobe_rules[] = {
    {COV_IGNORED,
     "the bytes of a burst are contiguous: its first beat goes up to the highest lane",
     {"first", "low|inner"}},
    {COV_IGNORED, "the bytes of a burst are contiguous: beats in the middle are full", {"middle", "low|high|inner"}},
    {COV_IGNORED,
     "the bytes of a burst are contiguous: its last beat begins with the lowest lane",
     {"last", "high|inner"}}};
static const cov_cross crosses[] = {
    {COV_CROSS("dir_beats", "reads and writes have separate counters of beats: one of them is off", "dir", "beats")},
    {COV_CROSS("dir_depth", "reads and writes have separate counters of bursts: one of them is off", "dir", "depth")},
    {COV_CROSS("dir_latency", "waiting for write responses differs from waiting for data", "dir", "latency")},
    {COV_CROSS("dir_stall", "back-pressure stalls reads but not writes", "dir", "stall")},
    {COV_CROSS("dir_error", "errors of reads and of writes have different paths to the status", "dir", "error")},
    {COV_CROSS("dir_start", "reads and writes align bursts separately: one of them is wrong", "dir", "start",
               "length")},
    {COV_CROSS("dir_room", "reads and writes are split at 4 KB separately: one of them is wrong", "dir", "room",
               "length")},
    {COV_CROSS("place_strobes", "the first beat is masked like the last one", "place", "strobes"),
     COV_RULES(strobe_rules)},
};

const cov_group npu_bus_group = {
    COV_GROUP("bus", "ports to memory: a hit is a run in which the bin was observed", points), COV_CROSSES(crosses),
    .per_instance = true};

static uint32_t sample_direction(cov_inst *inst, const tb_axi_stats *stats, int dir) {
    const tb_axi_dir_stats *s = &stats->dir[dir];
    const tb_axi_channel data = dir == 0 ? TB_AXI_R : TB_AXI_W;
    int64_t values[BUS_POINTS];
    uint32_t illegal = 0;
    for (unsigned i = 0; i < BUS_POINTS; i++) {
        values[i] = COV_NONE;
    }
    values[BUS_DIR] = dir;
    /* in percent of the cycles in which data was offered */
    values[BUS_STALL] = (int64_t)(100 * stats->stall[data] / (stats->stall[data] + stats->beats[data] + 1));
    values[BUS_ERROR] = stats->error_resp[dir] > 0;
    illegal += cov_sample(inst, values);
    values[BUS_STALL] = COV_NONE;
    values[BUS_ERROR] = COV_NONE;
    for (unsigned i = 0; i < 256; i++) {
        values[BUS_BEATS] = i + 1;
        illegal += s->bursts[i] > 0 ? cov_sample(inst, values) : 0;
    }
    values[BUS_BEATS] = COV_NONE;
    for (unsigned i = 0; i < TB_AXI_DEPTH_BINS; i++) {
        values[BUS_DEPTH] = i;
        illegal += s->depth[i] > 0 ? cov_sample(inst, values) : 0;
    }
    values[BUS_DEPTH] = COV_NONE;
    for (unsigned i = 0; i < TB_AXI_LATENCY_BINS; i++) {
        values[BUS_LATENCY] = (int64_t)tb_axi_latency_from(i);
        illegal += s->latency[i] > 0 ? cov_sample(inst, values) : 0;
    }
    values[BUS_LATENCY] = COV_NONE;
    for (unsigned i = 0; i < TB_AXI_LENGTHS; i++) {
        values[BUS_LENGTH] = i;
        for (unsigned a = 0; a < TB_AXI_ALIGNS; a++) {
            values[BUS_START] = a;
            illegal += s->start[i][a] > 0 ? cov_sample(inst, values) : 0;
        }
        values[BUS_START] = COV_NONE;
        for (unsigned r = 0; r < TB_AXI_ROOMS; r++) {
            values[BUS_ROOM] = r;
            illegal += s->room[i][r] > 0 ? cov_sample(inst, values) : 0;
        }
        values[BUS_ROOM] = COV_NONE;
    }
    return illegal;
}

uint32_t npu_bus_sample(cov_inst *inst, const tb_axi_stats *stats) {
    uint32_t illegal = 0;
    for (int dir = 0; dir < 2; dir++) {
        illegal += stats->beats[dir == 0 ? TB_AXI_AR : TB_AXI_AW] > 0 ? sample_direction(inst, stats, dir) : 0;
    }
    for (unsigned p = 0; p < TB_AXI_BEAT_PLACES; p++) {
        for (unsigned k = 0; k < TB_AXI_STROBES_KINDS; k++) {
            int64_t values[BUS_POINTS] = {[BUS_PLACE] = p, [BUS_STROBES] = k};
            for (unsigned i = 0; i < BUS_PLACE; i++) {
                values[i] = COV_NONE;
            }
            illegal += stats->strobes[p][k] > 0 ? cov_sample(inst, values) : 0;
        }
    }
    return illegal;
}
