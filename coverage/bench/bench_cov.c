/* bench_cov.c - covergroups made from the knobs of tests and from the statistics of their buses. */
#include "bench_cov.h"
#include "other_ports.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- buses ---- */

enum { DIR, LENGTH, START, ROOM, DEPTH, STALL, RESP, BUS_POINTS };

static const char *const lengths[TB_AXI_LENGTHS] = {"1",      "2",      "3..4",    "5..8",    "9..16",
                                                    "17..32", "33..64", "65..128", "129..256"};
static const char *const starts[TB_AXI_ALIGNS] = {"1",   "2",   "4",   "8",    "16",   "32",  "64",
                                                  "128", "256", "512", "1024", "2048", "4096"};
static const char *const rooms[TB_AXI_ROOMS] = {"none", "1 beat", "2..3 beats", "4..15 beats", "more"};
static const char *const dirs[] = {"reads", "writes"};
static const char *const responses[] = {"okay", "error"};
static const char *const channels[TB_AXI_CHANNELS] = {"AW", "W", "B", "AR", "R"};
static const cov_bin dir_bins[] = {{COV_NAMES(dirs, 2)}};
static const cov_bin length_bins[] = {{COV_NAMES(lengths, TB_AXI_LENGTHS)}};
static const cov_bin start_bins[] = {{COV_NAMES(starts, TB_AXI_ALIGNS)}};
static const cov_bin room_bins[] = {{COV_NAMES(rooms, TB_AXI_ROOMS)}};
static const cov_bin depth_bins[] = {{COV_VALUE("1", 1)},
                                     {COV_RANGE("2..3", 2, 3)},
                                     {COV_RANGE("4..7", 4, 7)},
                                     {COV_RANGE("8..15", 8, 15)},
                                     {COV_RANGE("16 and more", 16, COV_MAX)}};
static const cov_bin stall_bins[] = {{COV_NAMES(channels, TB_AXI_CHANNELS)}};
static const cov_bin resp_bins[] = {{COV_NAMES(responses, 2)}};
/* Which of these a design can do is its own affair: they are counted and shown, and no part of the score. */
#define SHOWN .weight = COV_NO_WEIGHT
static const cov_point bus_points[BUS_POINTS] = {
    [DIR] = {COV_POINT("direction", "one direction is never used", dir_bins), SHOWN},
    [LENGTH] = {COV_POINT("beats", "bursts of another length lose a beat", length_bins), SHOWN},
    [START] = {COV_POINT("aligned_to", "the first beat of an unaligned burst has wrong lanes", start_bins), SHOWN},
    [ROOM] = {COV_POINT("room_to_4k", "a burst crosses a boundary of 4 KB", room_bins), SHOWN},
    [DEPTH] = {COV_POINT("in_flight", "bookkeeping fails when bursts overlap", depth_bins), SHOWN},
    [STALL] = {COV_POINT("waited", "a signal changes while its channel waits", stall_bins), SHOWN},
    [RESP] = {COV_POINT("response", "an error response is lost", resp_bins), SHOWN}};
static const cov_group bus_group = {COV_GROUP("bus", "traffic of the buses, each by itself", bus_points),
                                    .per_instance = true, SHOWN};

static void count_dir(cov_inst *inst, const tb_axi_dir_stats *d, unsigned dir) {
    for (unsigned length = 0; length < TB_AXI_LENGTHS; length++) {
        for (unsigned i = 0; i < TB_AXI_ALIGNS; i++) {
            if (d->start[length][i] > 0) {
                (void)cov_hit(inst, DIR, dir);
                (void)cov_hit(inst, LENGTH, length);
                (void)cov_hit(inst, START, i);
            }
        }
        for (unsigned i = 0; i < TB_AXI_ROOMS; i++) {
            if (d->room[length][i] > 0) {
                (void)cov_hit(inst, ROOM, i);
            }
        }
    }
    for (unsigned i = 1; i < TB_AXI_DEPTH_BINS; i++) {
        if (d->depth[i] > 0) {
            (void)cov_hit(inst, DEPTH, i);
        }
    }
}

static void count_bus(cov_inst *inst, const tb_axi_stats *s) {
    const uint64_t errors = s->error_resp[0] + s->error_resp[1];
    for (unsigned dir = 0; dir < 2; dir++) {
        count_dir(inst, &s->dir[dir], dir);
    }
    for (unsigned c = 0; c < TB_AXI_CHANNELS; c++) {
        if (s->stall[c] > 0) {
            (void)cov_hit(inst, STALL, c);
        }
    }
    if (s->beats[TB_AXI_B] + s->beats[TB_AXI_R] > errors) {
        (void)cov_hit(inst, RESP, 0);
    }
    if (errors > 0) {
        (void)cov_hit(inst, RESP, 1);
    }
}

/* ---- knobs ---- */

#define KNOB_BINS 3u /* lowest, between, highest */
#define EACH_MAX 16  /* values of a knob that get a bin each */

/* The description of a test: coverpoint i is knob i. */
typedef struct knob_group {
    cov_group group;
    cov_point *point;
    cov_cross *cross;
    cov_bin (*bin)[KNOB_BINS];
    char (*text)[120]; /* of each knob: its hint, the name of its cross */
} knob_group;

struct bench_cov_texts {
    size_t count;
    knob_group *group;
    const cov_group **all; /* these, and the buses */
};

/* The simplest value, the largest one, and what lies between by powers of two. */
static uint32_t make_bins(const tb_knob *knob, cov_bin *bin) {
    if (tb_knob_kind_of(knob) == TB_KNOB_ENUM) {
        bin[0] = (cov_bin){COV_NAMES(knob->names, (uint32_t)knob->hi + 1)};
        return 1;
    }
    if (knob->hi - knob->lo < EACH_MAX || knob->lo < 0) {
        const bool each = knob->hi - knob->lo < EACH_MAX;
        bin[0] = each ? (cov_bin){COV_EACH(knob->lo, knob->hi)} : (cov_bin){COV_RANGE("below 0", knob->lo, -1)};
        bin[1] = (cov_bin){COV_RANGE("0 and more", 0, knob->hi > 0 ? knob->hi : 0)};
        return each || knob->hi < 0 ? 1 : 2;
    }
    bin[0] = (cov_bin){COV_EACH(knob->lo, knob->lo)};
    bin[1] = (cov_bin){COV_POW2(knob->lo + 1, knob->hi - 1)};
    bin[2] = (cov_bin){COV_EACH(knob->hi, knob->hi)};
    return KNOB_BINS;
}

/* Knobs whose bits leave out parts of a case belong to the shrinker. */
static bool leaves_out(const tb_prog *prog, const char *name) {
    for (size_t i = 0; i < prog->wish_count; i++) {
        if (prog->wishes[i].order == TB_SHRINK_BITS && strcmp(prog->wishes[i].knob, name) == 0) {
            return true;
        }
    }
    return false;
}

static void make_point(const tb_prog *prog, knob_group *g, size_t i, const tb_knob *knob) {
    char *hint = g->text[2 * i];
    snprintf(hint, sizeof g->text[0], ":%s=%%", knob->name);
    g->point[i] = (cov_point){.name = knob->name,
                              .bug = knob->help != NULL && knob->help[0] != '\0' ? knob->help : knob->name,
                              .bins = g->bin[i],
                              .bin_count = make_bins(knob, g->bin[i]),
                              .weight = knob->hi > knob->lo && !leaves_out(prog, knob->name) ? 0 : COV_NO_WEIGHT,
                              .hint = hint};
}

/* Each knob of names on each timing of the buses. */
static void make_crosses(knob_group *g, const tb_test *test) {
    for (size_t i = 0; i < test->knob_count; i++) {
        const tb_knob *knob = &test->knobs[i];
        if (tb_knob_kind_of(knob) != TB_KNOB_ENUM || strcmp(knob->name, "bus") == 0) {
            continue;
        }
        snprintf(g->text[2 * i + 1], sizeof g->text[0], "%s_bus", knob->name);
        g->cross[g->group.cross_count++] =
            (cov_cross){COV_CROSS(g->text[2 * i + 1], "it only works on some timing of the buses", knob->name, "bus")};
    }
}

static int make_group(const tb_prog *prog, knob_group *g, const tb_test *test) {
    tb_knobs names;
    const size_t n = test->knob_count;
    g->point = (cov_point *)calloc(n + 1, sizeof *g->point);
    g->cross = (cov_cross *)calloc(n + 1, sizeof *g->cross);
    g->bin = (cov_bin(*)[KNOB_BINS])calloc(n + 1, sizeof *g->bin);
    g->text = (char(*)[120])calloc(2 * n + 1, sizeof *g->text);
    if (g->point == NULL || g->cross == NULL || g->bin == NULL || g->text == NULL) {
        return -1;
    }
    g->group = (cov_group){
        .name = test->name, .about = test->about, .points = g->point, .point_count = (uint32_t)n, .crosses = g->cross};
    for (size_t i = 0; i < n; i++) {
        make_point(prog, g, i, &test->knobs[i]);
    }
    tb_knobs_init(&names, test->knobs, n);
    if (tb_knobs_get_name(&names, "bus") != NULL) {
        make_crosses(g, test);
    }
    return 0;
}

static void free_texts(struct bench_cov_texts *t) {
    for (size_t i = 0; t != NULL && t->group != NULL && i < t->count; i++) {
        free(t->group[i].point);
        free(t->group[i].cross);
        free(t->group[i].bin);
        free(t->group[i].text);
    }
    if (t != NULL) {
        free(t->group);
        free(t->all);
    }
    free(t);
}

/* Tests without a knob have nothing to count. */
static struct bench_cov_texts *make_texts(const tb_prog *prog, uint32_t *groups) {
    struct bench_cov_texts *t = (struct bench_cov_texts *)calloc(1, sizeof *t);
    bool good = t != NULL;
    if (good) {
        t->group = (knob_group *)calloc(prog->test_count + 1, sizeof *t->group);
        t->all = (const cov_group **)calloc(prog->test_count + 4, sizeof *t->all);
        good = t->group != NULL && t->all != NULL;
    }
    for (size_t i = 0; good && i < prog->test_count; i++) {
        if (prog->tests[i].knob_count > 0) {
            good = make_group(prog, &t->group[t->count], &prog->tests[i]) == 0;
            t->all[t->count] = &t->group[t->count].group;
            t->count++;
        }
    }
    if (!good) {
        free_texts(t);
        return NULL;
    }
    t->all[t->count] = &bus_group;
    t->all[t->count + 1] = &bench_stream_group;
    t->all[t->count + 2] = &bench_apb_group;
    t->all[t->count + 3] = &bench_pin_group;
    *groups = (uint32_t)t->count + 4;
    return t;
}

/* ---- the program's side ---- */

static bench_cov *cov_of(const tb_prog *prog) {
    return (bench_cov *)prog->ctx;
}

int bench_cov_open(const tb_prog *prog, char *err, size_t err_size) {
    bench_cov *cov = cov_of(prog);
    uint32_t groups = 0;
    cov_error why;
    *cov = (bench_cov){.made = make_texts(prog, &groups)};
    if (cov->made == NULL) {
        return opt_fail(err, err_size, "out of memory");
    }
    if (cov_open(&cov->db, cov->made->all, groups, &why) != COV_OK) {
        bench_cov_close(prog);
        return opt_fail(err, err_size, "%s", why.text);
    }
    return 0;
}

void bench_cov_close(const tb_prog *prog) {
    bench_cov *cov = cov_of(prog);
    cov_close(cov->db);
    free_texts(cov->made);
    *cov = (bench_cov){0};
}

int bench_cov_save(const tb_prog *prog, const char *path, const char *job, char *err, size_t err_size) {
    return cov_write_job(cov_of(prog)->db, path, job, err, err_size);
}

void bench_cov_seen(tb_prog_run *run, const tb_run *of) {
    bench_cov *cov = cov_of(run->o->prog);
    for (unsigned i = 0; cov->db != NULL && i < of->ports; i++) {
        cov_inst *inst = NULL;
        cov_error why;
        if (cov_instance(cov->db, bus_group.name, of->port[i]->cfg.name, &inst, &why) == COV_OK) {
            count_bus(inst, &of->port[i]->mon.stats);
        }
    }
    if (cov->db != NULL) {
        bench_cov_others(cov->db, of);
    }
}

int bench_cov_passed(tb_prog_run *run) {
    bench_cov *cov = cov_of(run->o->prog);
    int64_t value[TB_KNOB_MAX];
    cov_inst *inst = NULL;
    cov_error why;
    if (cov->db == NULL || run->knobs->count == 0) {
        return 0;
    }
    if (cov_instance(cov->db, run->test->name, NULL, &inst, &why) != COV_OK) {
        return opt_fail(run->err, sizeof run->err, "%s", why.text);
    }
    for (size_t i = 0; i < run->knobs->count; i++) {
        value[i] = run->knobs->value[i];
    }
    (void)cov_sample(inst, value);
    return 0;
}
