/* other_ports.c - covergroups made from the statistics of streams, APB ports and interrupts. */
#include "other_ports.h"

#define SHOWN .weight = COV_NO_WEIGHT

enum { BEATS, LANES, WAITED, STREAM_POINTS };
enum { KIND, WAITS, ANSWER, APB_POINTS };

static const char *const beats[TB_STREAM_LENGTHS] = {"1", "2", "3..4", "5..8", "9..16", "17 and more"};
static const char *const lanes[] = {"all lanes", "some lanes"};
static const char *const waited[] = {"taken at once", "waited"};
static const char *const kinds[] = {"read", "write"};
static const char *const answers[] = {"okay", "error"};

static const cov_bin beat_bins[] = {{COV_NAMES(beats, TB_STREAM_LENGTHS)}};
static const cov_bin lane_bins[] = {{COV_NAMES(lanes, 2)}};
static const cov_bin waited_bins[] = {{COV_NAMES(waited, 2)}};
static const cov_bin kind_bins[] = {{COV_NAMES(kinds, 2)}};
static const cov_bin answer_bins[] = {{COV_NAMES(answers, 2)}};

static const cov_point stream_points[STREAM_POINTS] = {
    [BEATS] = {COV_POINT("beats", "packets of another length lose a beat", beat_bins), SHOWN},
    [LANES] = {COV_POINT("last_beat", "a part of the last beat is lost, or comes too many", lane_bins), SHOWN},
    [WAITED] = {COV_POINT("handshake", "a beat that waits changes", waited_bins), SHOWN}};
const cov_group bench_stream_group = {COV_GROUP("stream", "traffic of the streams, each by itself", stream_points),
                                      .per_instance = true, SHOWN};

static const cov_point apb_points[APB_POINTS] = {
    [KIND] = {COV_POINT("transfer", "one direction is never used", kind_bins), SHOWN},
    [WAITS] = {COV_POINT("access", "a wait state ends the transfer too early", waited_bins), SHOWN},
    [ANSWER] = {COV_POINT("answer", "an error is lost", answer_bins), SHOWN}};
const cov_group bench_apb_group = {COV_GROUP("apb", "traffic of the APB ports, each by itself", apb_points),
                                   .per_instance = true, SHOWN};

static const char *const changes[] = {"never", "rose", "fell again", "rose more than once"};
static const cov_bin change_bins[] = {{COV_NAMES(changes, 4)}};
static const cov_point pin_points[] = {{COV_POINT("changes", "an interrupt is lost, or stays", change_bins), SHOWN}};
const cov_group bench_pin_group = {COV_GROUP("interrupt", "each interrupt by itself", pin_points), .per_instance = true,
                                   SHOWN};

static void hit_if(cov_inst *inst, uint32_t point, int64_t value, uint64_t count) {
    if (count > 0) {
        (void)cov_hit(inst, point, value);
    }
}

static void count_stream(cov_inst *inst, const tb_stream *s) {
    for (int i = 0; i < (int)TB_STREAM_LENGTHS; i++) {
        hit_if(inst, BEATS, i, s->lengths[i]);
    }
    hit_if(inst, LANES, 0, s->packets - s->partial);
    hit_if(inst, LANES, 1, s->partial);
    hit_if(inst, WAITED, 0, s->transfers > s->stalled);
    hit_if(inst, WAITED, 1, s->stalled);
}

static void count_apb(cov_inst *inst, const tb_apb *p) {
    hit_if(inst, KIND, 0, p->transfers - p->stores);
    hit_if(inst, KIND, 1, p->stores);
    hit_if(inst, WAITS, 0, p->transfers > p->waits);
    hit_if(inst, WAITS, 1, p->waits);
    hit_if(inst, ANSWER, 0, p->transfers - p->errors);
    hit_if(inst, ANSWER, 1, p->errors);
}

void bench_cov_others(cov_db *db, const tb_run *of) {
    cov_inst *inst = NULL;
    cov_error why;
    for (unsigned i = 0; i < of->streams; i++) {
        if (cov_instance(db, bench_stream_group.name, of->stream[i]->cfg.name, &inst, &why) == COV_OK) {
            count_stream(inst, of->stream[i]);
        }
    }
    for (unsigned i = 0; i < of->apbs; i++) {
        if (cov_instance(db, bench_apb_group.name, of->apb[i]->cfg.name, &inst, &why) == COV_OK) {
            count_apb(inst, of->apb[i]);
        }
    }
    for (unsigned i = 0; i < of->pins; i++) {
        if (cov_instance(db, bench_pin_group.name, of->pin_name[i], &inst, &why) == COV_OK) {
            hit_if(inst, 0, 0, of->pin_rises[i] == 0);
            hit_if(inst, 0, 1, of->pin_rises[i]);
            hit_if(inst, 0, 2, of->pin_falls[i]);
            hit_if(inst, 0, 3, of->pin_rises[i] > 1);
        }
    }
}
