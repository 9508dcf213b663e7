/* Bus timing profiles, mildest first; the last ones are for special purposes. */
#include <stdio.h>
#include <string.h>

#include "slave.h"

#define NO_STALL                                                                                                       \
    { .pause = 0, .wait = 0, .flap = 0, .pause_max = 1 }

const tb_axi_profile tb_axi_profiles[] = {
    /* a memory that is never the limit */
    {.name = "ideal",
     .aw = NO_STALL,
     .w = NO_STALL,
     .ar = NO_STALL,
     .read_lat_min = 1,
     .read_lat_max = 1,
     .write_lat_min = 1,
     .write_lat_max = 1,
     .outstanding = 32},
    /* on-chip memory */
    {.name = "fast",
     .aw = {8, 0, 0, 2},
     .w = {4, 0, 0, 2},
     .ar = {8, 0, 0, 2},
     .read_lat_min = 4,
     .read_lat_max = 12,
     .write_lat_min = 2,
     .write_lat_max = 6,
     .gap = 4,
     .gap_max = 2,
     .outstanding = 32,
     .lite_gap_max = 1},
    /* DDR behind an interconnect */
    {.name = "typical",
     .aw = {32, 8, 0, 4},
     .w = {16, 4, 0, 4},
     .ar = {32, 8, 0, 4},
     .read_lat_min = 20,
     .read_lat_max = 60,
     .write_lat_min = 8,
     .write_lat_max = 30,
     .gap = 16,
     .gap_max = 4,
     .stop = 2,
     .stop_max = 60,
     .outstanding = 24,
     .lite_gap_max = 3},
    /* DDR under load of other masters */
    {.name = "slow",
     .aw = {64, 32, 0, 12},
     .w = {64, 16, 0, 8},
     .ar = {64, 32, 0, 12},
     .read_lat_min = 80,
     .read_lat_max = 240,
     .write_lat_min = 30,
     .write_lat_max = 120,
     .gap = 64,
     .gap_max = 12,
     .stop = 8,
     .stop_max = 200,
     .outstanding = 16,
     .late_commit = true,
     .lite_gap_max = 6},
    /* full speed, then long pauses */
    {.name = "bursty",
     .aw = {4, 4, 8, 60},
     .w = {2, 2, 4, 60},
     .ar = {4, 4, 8, 60},
     .read_lat_min = 1,
     .read_lat_max = 150,
     .write_lat_min = 1,
     .write_lat_max = 150,
     .gap = 3,
     .gap_max = 80,
     .stop = 24,
     .stop_max = 300,
     .outstanding = 32,
     .data_first = true,
     .lite_gap_max = 12},
    /* everything that the protocol allows, at a high rate */
    {.name = "hostile",
     .aw = {80, 80, 60, 9},
     .w = {70, 70, 50, 6},
     .ar = {80, 80, 60, 9},
     .read_lat_min = 1,
     .read_lat_max = 90,
     .write_lat_min = 1,
     .write_lat_max = 120,
     .gap = 90,
     .gap_max = 7,
     .stop = 12,
     .stop_max = 150,
     .outstanding = 20,
     .data_first = true,
     .late_commit = true,
     .lite_gap_max = 15},
    /* reads at full speed, writes very slow: back-pressure reaches the units that compute the results */
    {.name = "writes",
     .aw = {128, 0, 0, 60},
     .w = {192, 0, 0, 24},
     .ar = NO_STALL,
     .read_lat_min = 1,
     .read_lat_max = 4,
     .write_lat_min = 8,
     .write_lat_max = 200,
     .outstanding = 16,
     .lite_gap_max = 1},
    /* several banks or a network: answers of different IDs overtake each other and are interleaved */
    {.name = "reorder",
     .aw = {32, 8, 0, 4},
     .w = {16, 4, 0, 4},
     .ar = {32, 8, 0, 4},
     .read_lat_min = 1,
     .read_lat_max = 60,
     .write_lat_min = 1,
     .write_lat_max = 60,
     .gap = 16,
     .gap_max = 4,
     .outstanding = 32,
     .reorder = 128,
     .lite_gap_max = 3},
};
const size_t tb_axi_profile_count = sizeof tb_axi_profiles / sizeof tb_axi_profiles[0];

const tb_axi_profile *tb_axi_profile_find(const char *name) {
    for (size_t i = 0; i < tb_axi_profile_count; i++) {
        if (strcmp(tb_axi_profiles[i].name, name) == 0) {
            return &tb_axi_profiles[i];
        }
    }
    return NULL;
}

void tb_axi_profile_names(char *dst, size_t size) {
    size_t at = 0;
    for (size_t i = 0; i < tb_axi_profile_count && at < size; i++) {
        const int n = snprintf(dst + at, size - at, "%s%s", i == 0 ? "" : ", ", tb_axi_profiles[i].name);
        at += n > 0 ? (size_t)n : 0;
    }
}
