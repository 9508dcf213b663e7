#include "copy_cov.h"

#define LANES 16 /* of the widest data bus */

static const char *const bus_names[] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};
static const char *const error_names[] = {"none", "read", "write"};
static const char *const wait_names[] = {"poll", "irq"};
static const char *const no_yes[] = {"no", "yes"};

static const cov_bin copies_bins[] = {{COV_EACH(1, 8)}};
static const cov_bin len_bins[] = {{COV_VALUE("nothing", 0)},           {COV_VALUE("a byte", 1)},
                                   {COV_RANGE("within a beat", 2, 15)}, {COV_RANGE("beats", 16, 255)},
                                   {COV_RANGE("bursts", 256, 4095)},    {COV_RANGE("over a page", 4096, 12000)}};
static const cov_bin lane_bins[] = {{COV_EACH(0, LANES - 1)}};
static const cov_bin wait_bins[] = {{COV_NAMES(wait_names, 2)}};
static const cov_bin flag_bins[] = {{COV_NAMES(no_yes, 2)}};
static const cov_bin error_bins[] = {{COV_NAMES(error_names, 3)}};
static const cov_bin bus_bins[] = {{COV_NAMES(bus_names, 6)}};

enum { COPIES, LEN, SRC, DST, WAIT, EARLY, AGAIN, RANGE, ERROR, BUS, POINTS };
static const cov_point points[POINTS] = {
    [COPIES] = {COV_POINT("copies", "state of one copy affects the next", copies_bins), .hint = ":copies=%"},
    [LEN] = {COV_POINT("len", "first and last beat of a copy, of a burst, of a page", len_bins), .hint = ":len=%"},
    [SRC] = {COV_POINT("src_lane", "a lane that the aligner does not read", lane_bins), .hint = ":src=%"},
    [DST] = {COV_POINT("dst_lane", "a strobe at one end of a copy", lane_bins), .hint = ":dst=%"},
    [WAIT] = {COV_POINT("wait", "an interrupt before the copy is done", wait_bins)},
    [EARLY] = {COV_POINT("early", "registers of the next copy change the one in flight", flag_bins)},
    [AGAIN] = {COV_POINT("again", "a START while a copy is in flight disturbs it", flag_bins)},
    [RANGE] = {COV_POINT("range", "a copy beyond the end of the address space", flag_bins)},
    [ERROR] = {COV_POINT("error", "an error response that is lost", error_bins), .hint = ":error=%"},
    [BUS] = {COV_POINT("bus", "a handshake that only works without stalls", bus_bins), .hint = ":bus=%"},
};
static const cov_cross crosses[] = {
    {COV_CROSS("lanes", "the aligner shifts wrongly between two alignments", "src_lane", "dst_lane")},
    {COV_CROSS("error_bus", "an error response after stalls is lost", "error", "bus")},
};
static const cov_group group = {COV_GROUP("axi_copy", "copies of the cases", points), COV_CROSSES(crosses)};

int copy_cov_open(copy_cov *cov, char *err, size_t err_size) {
    return cov_open_group(&group, &cov->db, &cov->inst, err, err_size);
}

void copy_cov_close(copy_cov *cov) {
    cov_close(cov->db);
    *cov = (copy_cov){0};
}

void copy_cov_case(copy_cov *cov, const tb_knobs *knobs) {
    const int64_t values[POINTS] = {
        [COPIES] = tb_knobs_get(knobs, "copies"),   [LEN] = tb_knobs_get(knobs, "len"),
        [SRC] = tb_knobs_get(knobs, "src") % LANES, [DST] = tb_knobs_get(knobs, "dst") % LANES,
        [WAIT] = tb_knobs_get(knobs, "irq"),        [EARLY] = tb_knobs_get(knobs, "early"),
        [AGAIN] = tb_knobs_get(knobs, "again"),     [RANGE] = tb_knobs_get(knobs, "range"),
        [ERROR] = tb_knobs_get(knobs, "error"),     [BUS] = tb_knobs_get(knobs, "bus")};
    (void)cov_sample(cov->inst, values);
}

int copy_cov_save(copy_cov *cov, const char *path, const char *job, char *err, size_t err_size) {
    return cov_write_job(cov->db, path, job, err, err_size);
}
