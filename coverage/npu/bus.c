/* bus.c - what a port to memory has seen in a run, from the statistics of its monitor. */
#include "models.h"

static const cov_bin dir_bins[] = {{COV_VALUE("reads", 0)}, {COV_VALUE("writes", 1)}};
static const cov_bin beats_bins[] = {{COV_EACH(1, 17)},
                                     {COV_RANGE("18..31", 18, 31)},
                                     {COV_RANGE("32..63", 32, 63)},
                                     {COV_RANGE("64..127", 64, 127)},
                                     {COV_RANGE("128..254", 128, 254)},
                                     {COV_EACH(255, 256)}};
static const cov_bin depth_bins[] = {{COV_EACH(0, 16)},
                                     {COV_RANGE("more", 17, COV_MAX), COV_FORBID("docs/npu.md: at most 16 bursts in flight")}};
static const cov_bin latency_bins[] = {
    {COV_RANGE("0..3", 0, 3)}, {COV_POW2(4, 511)}, {COV_RANGE("512..", 512, COV_MAX), .hint = "conv:bus=hostile"}};
static const cov_bin stall_bins[] = {{COV_VALUE("none", 0), .hint = "conv:bus=ideal"},
                                     {COV_RANGE("below 10 %", 1, 9)},
                                     {COV_RANGE("below 30 %", 10, 29)},
                                     {COV_RANGE("below 60 %", 30, 59)},
                                     {COV_RANGE("60 % and more", 60, 100), .hint = "conv:bus=hostile"}};
static const cov_bin error_bins[] = {{COV_VALUE("none", 0)}, {COV_VALUE("some", 1), .hint = "bus_error:what=read bus_error:what=write"}};

static const cov_point points[BUS_POINTS] = {
    [BUS_DIR] = {COV_POINT("dir", "a channel whose other direction never moves hides what they do to each other", dir_bins)},
    [BUS_BEATS] = {COV_POINT("beats", "the last beat is wrong, or missing, for one length of a burst", beats_bins)},
    [BUS_DEPTH] = {COV_POINT("depth", "the counter of bursts in flight is off by one, or wraps, when it is full or empty", depth_bins)},
    [BUS_LATENCY] = {COV_POINT("latency", "data that comes at once, or very late, meets a unit that does not expect it", latency_bins)},
    [BUS_STALL] = {COV_POINT("stall", "data is lost or doubled where the receiver is not ready", stall_bins)},
    [BUS_ERROR] = {COV_POINT("error", "an error response is not reported, or ends the wrong task", error_bins)},
};
static const cov_cross crosses[] = {
    {COV_CROSS("dir_beats", "reads and writes count beats by themselves: one of them is off", "dir", "beats")},
    {COV_CROSS("dir_depth", "reads and writes count bursts by themselves: one of them is off", "dir", "depth")},
    {COV_CROSS("dir_latency", "responses of writes are waited for as data is", "dir", "latency")},
    {COV_CROSS("dir_stall", "back-pressure holds reads but not writes", "dir", "stall")},
    {COV_CROSS("dir_error", "errors of reads and of writes take different ways to the status", "dir", "error")},
};

const cov_group npu_bus_group = {COV_GROUP("bus", "ports to memory: a hit is a run in which it was seen", points), COV_CROSSES(crosses),
                                 .per_instance = true};
