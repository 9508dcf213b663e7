/* test_cov.c - the coverage library: every kind of bin, crosses, transitions, and descriptions that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "coverage/cov.h"
#include "coverage/priv.h"

/* ---- a group with every kind of bin ---- */

static const char *const modes[] = {"none", NULL, "fast"};

static const cov_bin size_bins[] = {
    {COV_VALUE("zero", 0), COV_IGNORE("nothing to do is no job")},
    {COV_EACH(1, 4), .hint = "job:size=%"},
    {COV_POW2(5, 20)},
    {COV_RANGE("large", 21, COV_MAX), .goal = 2},
    {COV_RANGE("below", COV_MIN, -1), COV_FORBID("sizes are not negative")},
};
static const cov_bin mode_bins[] = {
    {COV_NAMES(modes, 3), .hint = "job:mode=%"}, {COV_SET("odd ones", 5, 1000000, 9)}, {COV_DEFAULT("other")}};
static const cov_bin addr_bins[] = {{COV_MASK("aligned", 7, 0)},
                                    {COV_MASK("half", 7, 4)},
                                    {COV_MASK("odd", 1, 1), .hint = "job:odd=1"},
                                    {COV_DEFAULT("rest")}};
static const cov_bin state_bins[] = {{COV_VALUE("idle", 0)},
                                     {COV_VALUE("busy", 1)},
                                     {COV_VALUE("wait", 2)},
                                     {COV_STEPS("idle => busy => idle")},
                                     {COV_STEPS("busy=>wait"), .name = "stall"},
                                     {COV_STEPS("wait => idle"), COV_FORBID("a wait ends busy")},
                                     {COV_STEPS("idle => idle"), COV_IGNORE("nothing happened")}};
static const cov_point points[] = {
    {COV_POINT("size", "sizes at the edge of a buffer", size_bins), .hint = "job:n=%"},
    {COV_POINT("mode", "a mode that nobody chose", mode_bins), .weight = 3},
    {COV_POINT("addr", "an address that is not aligned", addr_bins), .goal = 2},
    {COV_POINT("state", "a way back that is not there", state_bins)},
};
static const cov_rule rules[] = {
    {COV_IGNORED, "one item is always fast", {"1", "!fast"}},
    {COV_ILLEGAL, "large ones have a mode", {"large", "none|other"}},
};
static const cov_cross crosses[] = {
    {COV_CROSS("size_mode", "a size that one mode cuts", "size", "mode"), COV_RULES(rules)}};
static const cov_group group = {COV_GROUP("job", "all there is", points), COV_CROSSES(crosses)};
static const cov_group *const groups[] = {&group};

static cov_db *opened(const cov_group *const *g, uint32_t count) {
    cov_db *db = NULL;
    cov_error err = {""};
    if (cov_open(&db, g, count, &err) != COV_OK) {
        fail_msg("%s", err.text);
    }
    return db;
}

static cov_inst *instance(cov_db *db, const char *of, const char *name) {
    cov_inst *inst = NULL;
    cov_error err = {""};
    if (cov_instance(db, of, name, &inst, &err) != COV_OK) {
        fail_msg("%s", err.text);
    }
    return inst;
}

static const cov_data_bin *find(const cov_data *data, const char *point, const char *bin, uint64_t *hits) {
    const cov_data_group *g = &data->groups[0];
    for (uint32_t p = 0; p < g->point_count; p++) {
        for (uint32_t b = 0; strcmp(g->points[p].name, point) == 0 && b < g->points[p].bin_count; b++) {
            if (strcmp(g->points[p].bins[b].name, bin) == 0) {
                *hits = data->counts[g->points[p].first + b];
                return &g->points[p].bins[b];
            }
        }
    }
    fail_msg("no bin %s.%s", point, bin);
    return NULL;
}

static uint64_t hits_of(cov_db *db, const char *point, const char *bin) {
    uint64_t hits = 0;
    (void)find(cov_db_data(db), point, bin, &hits);
    return hits;
}

/* Hits of a cell of the only cross, by its name. */
static uint64_t cell_of(cov_db *db, const char *want) {
    const cov_data *data = cov_db_data(db);
    const cov_data_cross *cross = &data->groups[0].crosses[0];
    char name[200];
    for (uint32_t i = 0; i < cross->cell_count; i++) {
        cov_cell_name(&data->groups[0], cross, i, name, sizeof name);
        if (strcmp(name, want) == 0) {
            return data->counts[cross->first + i];
        }
    }
    fail_msg("no cell %s", want);
    return 0;
}

static void test_bins(void **state) {
    (void)state;
    cov_db *db = opened(groups, 1);
    cov_inst *inst = instance(db, "job", NULL);
    const int64_t size[] = {0, 1, 4, 5, 7, 8, 15, 16, 20, 21, INT64_MAX};
    const char *const bins[] = {"zero",  "1",      "4",      "5..7",  "5..7", "8..15",
                                "8..15", "16..20", "16..20", "large", "large"};
    for (size_t i = 0; i < sizeof size / sizeof size[0]; i++) {
        const uint64_t before = hits_of(db, "size", bins[i]);
        assert_int_equal(cov_hit(inst, 0, size[i]), 0);
        assert_int_equal(hits_of(db, "size", bins[i]), before + 1);
    }
    const int64_t mode_values[] = {0, 2, 5, 9, 1000000, 1, -77, COV_NONE};
    for (size_t i = 0; i < sizeof mode_values / sizeof mode_values[0]; i++) {
        assert_int_equal(cov_hit(inst, 1, mode_values[i]), 0);
    }
    assert_int_equal(hits_of(db, "mode", "none"), 1);
    assert_int_equal(hits_of(db, "mode", "fast"), 1);
    assert_int_equal(hits_of(db, "mode", "odd ones"), 3);
    assert_int_equal(hits_of(db, "mode", "other"), 2);
    const int64_t addr[] = {0, 8, 1 << 20, 4, 12, 3, 0x7ffffffffffffff1, 2, 6, -8};
    for (size_t i = 0; i < sizeof addr / sizeof addr[0]; i++) {
        assert_int_equal(cov_hit(inst, 2, addr[i]), 0);
    }
    assert_int_equal(hits_of(db, "addr", "aligned"), 3);
    assert_int_equal(hits_of(db, "addr", "half"), 2);
    assert_int_equal(hits_of(db, "addr", "odd"), 2);
    assert_int_equal(hits_of(db, "addr", "rest"), 3); /* masks have no negative values */
    cov_close(db);
}

static void test_illegal(void **state) {
    (void)state;
    cov_db *db = opened(groups, 1);
    cov_inst *inst = instance(db, "job", "a");
    char text[400];
    cov_illegal(inst, text, sizeof text);
    assert_string_equal(text, "");
    assert_int_equal(cov_hit(inst, 0, -1), 1);
    cov_illegal(inst, text, sizeof text);
    assert_string_equal(text, "job.size.below: sizes are not negative");
    assert_int_equal(cov_sample(inst, (const int64_t[]){100, 0, COV_NONE, COV_NONE}), 1);
    cov_illegal(inst, text, sizeof text);
    assert_string_equal(text, "job.size_mode.(large, none): large ones have a mode");
    assert_int_equal(cell_of(db, "large, none"), 1);
    assert_int_equal(cov_score_all(cov_db_data(db)).illegal, 2);
    cov_close(db);
}

static void test_transitions(void **state) {
    (void)state;
    cov_db *db = opened(groups, 1);
    cov_inst *a = instance(db, "job", "a");
    cov_inst *b = instance(db, "job", "b");
    assert_ptr_equal(instance(db, "job", "a"), a);
    const int64_t walk[] = {0, 1, 0, 1, 2, 1, COV_NONE, 0};
    for (size_t i = 0; i < sizeof walk / sizeof walk[0]; i++) {
        assert_int_equal(cov_hit(a, 3, walk[i]), 0);
        assert_int_equal(cov_hit(b, 3, 7), 0); /* no bin: another instance does not disturb */
    }
    assert_int_equal(hits_of(db, "state", "idle => busy => idle"), 1);
    assert_int_equal(hits_of(db, "state", "stall"), 1);
    assert_int_equal(hits_of(db, "state", "idle"), 3);
    assert_int_equal(cov_hit(a, 3, 0), 0);
    assert_int_equal(hits_of(db, "state", "idle => idle"), 1);
    assert_int_equal(cov_hit(a, 3, 99), 0); /* a value without a bin is a step that nothing has */
    assert_int_equal(cov_hit(a, 3, 0), 0);
    assert_int_equal(hits_of(db, "state", "idle => idle"), 1);
    assert_int_equal(cov_hit(a, 3, 2), 0);
    cov_restart(a);
    assert_int_equal(cov_hit(a, 3, 0), 0);
    assert_int_equal(cov_hit(b, 3, 2), 0);
    assert_int_equal(cov_hit(b, 3, 0), 1);
    cov_close(db);
}

static void test_cross(void **state) {
    (void)state;
    cov_db *db = opened(groups, 1);
    cov_inst *inst = instance(db, "job", NULL);
    const cov_data *data = cov_db_data(db);
    const cov_data_cross *cross = &data->groups[0].crosses[0];
    assert_int_equal(cross->dim[0], 8); /* 1 2 3 4 5..7 8..15 16..20 large: neither the ignored nor the illegal one */
    assert_int_equal(cross->dim[1], 4);
    assert_int_equal(cross->cell_count, 32);
    const int64_t samples[][4] = {{1, 2, 0, 0}, {0, 2, 0, 0}, {1, 0, 0, 0}, {17, -5, COV_NONE, 1}, {COV_NONE, 2, 0, 0}};
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        assert_int_equal(cov_sample(inst, samples[i]), 0);
    }
    assert_int_equal(cell_of(db, "1, fast"), 1);
    assert_int_equal(cell_of(db, "1, none"), 1);
    assert_int_equal(cell_of(db, "16..20, other"), 1);
    uint64_t all = 0;
    for (uint32_t i = 0; i < cross->cell_count; i++) {
        all += data->counts[cross->first + i];
    }
    assert_int_equal(all, 3);
    assert_int_equal(data->groups[0].samples, 5);
    const cov_score s = cov_score_cross(data, cross);
    assert_int_equal(s.ignored, 3);
    assert_int_equal(s.total, 32 - 3 - 2);
    assert_int_equal(s.covered, 2);
    char hint[100];
    cov_cell_hint(&data->groups[0], cross, 2, hint, sizeof hint);
    assert_string_equal(hint, "job:size=1");
    cov_cell_hint(&data->groups[0], cross, 1, hint, sizeof hint);
    assert_string_equal(hint, "job:size=1 job:mode=fast");
    cov_close(db);
}

static void test_score(void **state) {
    (void)state;
    cov_db *db = opened(groups, 1);
    cov_inst *inst = instance(db, "job", NULL);
    const cov_data *data = cov_db_data(db);
    const cov_data_group *g = &data->groups[0];
    uint64_t hits = 0;
    assert_string_equal(find(data, "size", "3", &hits)->hint, "job:size=3");
    assert_string_equal(find(data, "size", "8..15", &hits)->hint, "job:n=8");
    assert_string_equal(find(data, "size", "zero", &hits)->hint, ""); /* what does not count needs none */
    (void)cov_hit(inst, 0, 21);
    assert_int_equal(cov_score_point(data, &g->points[0]).covered, 0); /* its goal is 2 */
    (void)cov_hit(inst, 0, 22);
    assert_int_equal(cov_score_point(data, &g->points[0]).covered, 1);
    (void)cov_hit(inst, 1, 0);
    const double want = (1 * 100.0 / 8 + 3 * 100.0 / 4 + 0 + 0 + 0) / (1 + 3 + 1 + 1 + 1);
    assert_float_equal(cov_score_group(data, g).percent, want, 1e-4);
    assert_float_equal(cov_score_all(data).percent, want, 1e-4);
    cov_close(db);
}

static void test_saturation(void **state) {
    (void)state;
    cov_db *db = opened(groups, 1);
    cov_inst *inst = instance(db, "job", NULL);
    cov_data *data = cov_db_data(db);
    data->counts[1] = UINT64_MAX - 1;
    for (int i = 0; i < 3; i++) {
        (void)cov_hit(inst, 0, 1);
    }
    assert_true(data->counts[1] == UINT64_MAX);
    cov_close(db);
}

static void test_instances(void **state) {
    (void)state;
    static const cov_group own = {COV_GROUP("port", "each one by itself", points), COV_CROSSES(crosses),
                                  .per_instance = true};
    static const cov_group *const both[] = {&group, &own};
    cov_db *db = opened(both, 2);
    cov_inst *m0 = instance(db, "port", "m0");
    cov_inst *m1 = instance(db, "port", "m1");
    (void)cov_sample(m0, (const int64_t[]){1, 2, 0, 0});
    (void)cov_sample(m1, (const int64_t[]){2, 2, 0, 0});
    (void)cov_sample(m1, (const int64_t[]){2, 2, 0, 0});
    const cov_data *data = cov_db_data(db);
    assert_int_equal(data->group_count, 3);
    assert_string_equal(data->groups[1].name, "port@m0");
    assert_string_equal(data->groups[2].name, "port@m1");
    assert_int_equal(data->counts[data->groups[1].points[0].first + 1], 1);
    assert_int_equal(data->counts[data->groups[1].points[0].first + 2], 0);
    assert_int_equal(data->counts[data->groups[2].points[0].first + 2], 2);
    assert_int_equal(data->groups[2].samples, 2);
    assert_int_equal(data->groups[0].samples, 0);
    cov_inst *none = NULL;
    cov_error err;
    assert_int_equal(cov_instance(db, "nobody", NULL, &none, &err), COV_BAD_MODEL);
    assert_string_equal(err.text, "nobody: no such covergroup");
    assert_int_equal(cov_instance(db, "port", "a b", &none, &err), COV_BAD_MODEL);
    cov_close(db);
}

/* Lookups of random intervals and masks agree with looking at every bin. */
static void test_lookup(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 300; round++) {
        int64_t lo[20];
        int64_t hi[20];
        static char names[20][8];
        cov_bin bins[21];
        seed = seed * UINT64_C(6364136223846793005) + 1;
        const uint32_t count = 1 + (uint32_t)(seed >> 60);
        const int64_t scale = (seed >> 40 & 1) != 0 ? 1 : 100000;
        int64_t at = -50 * scale + (int64_t)(seed >> 33 & 63) * scale;
        for (uint32_t i = 0; i < count; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1;
            lo[i] = at;
            hi[i] = at + (int64_t)(seed >> 61) * scale;
            at = hi[i] + 1 + (int64_t)(seed >> 50 & 3) * scale;
            (void)snprintf(names[i], sizeof names[i], "b%u", i);
            bins[count - 1 - i] = (cov_bin){COV_RANGE(names[i], lo[i], hi[i])};
        }
        const cov_point p = {.name = "p", .bug = "bug", .bins = bins, .bin_count = count};
        const cov_group g = {.name = "g", .about = "", .points = &p, .point_count = 1};
        const cov_group *const one[] = {&g};
        cov_db *db = opened(one, 1);
        cov_inst *inst = instance(db, "g", NULL);
        for (uint32_t i = 0; i < count; i++) {
            for (int64_t v = lo[i] - 1; v <= hi[i] + 1; v += hi[i] - lo[i] > 20 ? hi[i] - lo[i] + 1 : 1) {
                uint64_t before[20];
                memcpy(before, cov_db_data(db)->counts, count * sizeof before[0]);
                (void)cov_hit(inst, 0, v);
                for (uint32_t k = 0; k < count; k++) {
                    const bool in = v >= lo[k] && v <= hi[k];
                    assert_int_equal(cov_db_data(db)->counts[count - 1 - k], before[count - 1 - k] + in);
                }
            }
        }
        cov_close(db);
    }
}

static void test_mask_next(void **state) {
    (void)state;
    for (int64_t mask = 0; mask < 32; mask++) {
        for (int64_t want = 0; want < 32; want++) {
            for (int64_t lo = 0; lo < 70 && (want & ~mask) == 0; lo++) {
                int64_t slow = lo;
                while ((slow & mask) != want) {
                    slow++;
                }
                assert_int_equal(cov_mask_next(lo, mask, want), slow);
            }
        }
    }
    assert_int_equal(cov_mask_next(INT64_MAX, 1, 0), -1);
    assert_int_equal(cov_mask_next(6, INT64_MAX, 5), -1);
}

/* ---- what is refused ---- */

static void refused(const cov_group *g, const char *want) {
    cov_db *db = NULL;
    cov_error err = {""};
    assert_int_equal(cov_open(&db, &g, 1, &err), COV_BAD_MODEL);
    assert_null(db);
    assert_string_equal(err.text, want);
}

/* A group with one coverpoint of these bins. */
#define REFUSED(want, ...)                                                                                             \
    do {                                                                                                               \
        const cov_bin bad_bins[] = {__VA_ARGS__};                                                                      \
        const cov_point bad_point = {COV_POINT("p", "bug", bad_bins)};                                                 \
        const cov_group bad_group = {.name = "g", .about = "", .points = &bad_point, .point_count = 1};                \
        refused(&bad_group, want);                                                                                     \
    } while (0)

static void test_refused_bins(void **state) {
    (void)state;
    REFUSED("g.p: bins a and b overlap at 4", {COV_RANGE("a", 1, 4)}, {COV_RANGE("b", 4, 6)});
    REFUSED("g.p: bins a and b overlap at 4", {COV_RANGE("a", 4, 4)}, {COV_RANGE("b", COV_MIN, COV_MAX)});
    REFUSED("g.p: bins a and 3 overlap at 3", {COV_RANGE("a", 3, 3)}, {COV_EACH(1, 4)});
    REFUSED("g.p: bin s has the value 2 twice", {COV_SET("s", 1, 2, 2)});
    REFUSED("g.p: bins r and m overlap at 12", {COV_RANGE("r", 9, 12)}, {COV_MASK("m", 3, 0)});
    REFUSED("g.p: bins m and n overlap at 3", {COV_MASK("m", 1, 1)}, {COV_MASK("n", 2, 2)});
    REFUSED("g.p: bin r is empty: 5 > 4", {COV_RANGE("r", 5, 4)});
    REFUSED("g.p: bin s is empty: a set without values", {.name = "s", .kind = COV_KIND_SET});
    REFUSED("g.p: bin m is empty: no value has &0x3=0x4", {COV_MASK("m", 3, 4)});
    REFUSED("g.p: transition a is empty: it needs two steps", {COV_VALUE("a a", 1)}, {COV_STEPS("a a"), .name = "a"});
    REFUSED("g.p: transition a => c: no bin has the name 'c'", {COV_VALUE("a", 1)}, {COV_STEPS("a => c")});
    REFUSED("g.p: bins a=>a and x are the same transition", {COV_VALUE("a", 1)}, {COV_STEPS("a=>a")},
            {COV_STEPS("a => a"), .name = "x"});
    REFUSED("g.p: bins a and b are both the default", {COV_DEFAULT("a")}, {COV_DEFAULT("b")});
    REFUSED("g.p: two bins have the name a", {COV_VALUE("a", 1)}, {COV_VALUE("a", 2)});
    REFUSED("g.p: bin a is ignored without a reason", {COV_VALUE("a", 1), COV_IGNORE(NULL)});
    REFUSED("g.p: bin a is ignored without a reason", {COV_VALUE("a", 1), COV_IGNORE("")});
    REFUSED("g.p: bin 1 needs a name of 1 to 120 printable characters without | ! \"", {COV_VALUE("a|b", 1)});
    REFUSED("g.p: bin 1 needs a name of 1 to 120 printable characters without | ! \"", {COV_VALUE("a\nb", 1)});
    REFUSED("g.p: bin 1 needs a name of 1 to 120 printable characters without | ! \"", {COV_VALUE(NULL, 1)});
    REFUSED("g.p: bins for each of 0..4096: 1 to 4096 of them", {COV_EACH(0, 4096)});
    REFUSED("g.p: bins by powers of two: 1 <= 0 <= 4 does not hold", {COV_POW2(0, 4)});
    REFUSED("g.p: more than 4096 bins", {COV_EACH(0, 4095)}, {COV_VALUE("a", -1)});
    REFUSED("g.p: a table of names without a name", {.kind = COV_KIND_NAMES});
}

static void refused_cross(const cov_cross *cross, const char *want) {
    static const cov_bin ab[] = {{COV_VALUE("a", 1)}, {COV_VALUE("b", 2)}, {COV_VALUE("c", 3), COV_IGNORE("no")}};
    static const cov_point two[] = {{COV_POINT("p", "bug", ab)}, {COV_POINT("q", "bug", ab)}};
    const cov_group g = {COV_GROUP("g", "", two), .crosses = cross, .cross_count = 1};
    refused(&g, want);
}

static void test_refused_crosses(void **state) {
    (void)state;
    refused_cross(&(cov_cross){.name = "x", .bug = "bug", .points = {"p", "r"}}, "g.x: no coverpoint has the name r");
    refused_cross(&(cov_cross){.name = "x", .bug = "bug", .points = {"p", "p"}}, "g.x: coverpoint p twice");
    refused_cross(&(cov_cross){.name = "x", .bug = "bug", .points = {"p"}}, "g.x: a cross has 2 to 4 coverpoints");
    refused_cross(&(cov_cross){.name = "x", .bug = NULL, .points = {"p", "q"}},
                  "g.x: a cross says in one line which bug would hide behind its holes");
    refused_cross(&(cov_cross){.name = "p", .bug = "bug", .points = {"p", "q"}},
                  "g: two coverpoints or crosses have the name p");
    refused_cross(&(cov_cross){.name = "x y", .bug = "bug", .points = {"p", "q"}},
                  "g: cross 1 needs a name of letters, digits, _ and -");
    const cov_rule unknown = {COV_IGNORED, "why", {"a", "z"}};
    refused_cross(&(cov_cross){.name = "x", .bug = "bug", .points = {"p", "q"}, .rules = &unknown, .rule_count = 1},
                  "g.x: a rule names 'z', which is not a counted bin of q");
    const cov_rule ignored = {COV_IGNORED, "why", {"a|c"}};
    refused_cross(&(cov_cross){.name = "x", .bug = "bug", .points = {"p", "q"}, .rules = &ignored, .rule_count = 1},
                  "g.x: a rule names 'c', which is not a counted bin of p");
    const cov_rule no_why = {COV_IGNORED, NULL, {"a"}};
    refused_cross(&(cov_cross){.name = "x", .bug = "bug", .points = {"p", "q"}, .rules = &no_why, .rule_count = 1},
                  "g.x: rule 1 ignores or forbids, and gives its reason in one line");
    const cov_rule all = {COV_IGNORED, "why", {NULL}};
    refused_cross(&(cov_cross){.name = "x", .bug = "bug", .points = {"p", "q"}, .rules = &all, .rule_count = 1},
                  "g.x: rule 1 takes every cell");
    const cov_rule wide = {COV_IGNORED, "why", {"a", NULL, "b"}};
    refused_cross(&(cov_cross){.name = "x", .bug = "bug", .points = {"p", "q"}, .rules = &wide, .rule_count = 1},
                  "g.x: rule 1 has bins for more coverpoints than the cross");
}

static void test_refused_groups(void **state) {
    (void)state;
    static const cov_bin a[] = {{COV_VALUE("a", 1)}};
    const cov_point no_bug = {.name = "p", .bug = NULL, .bins = a, .bin_count = 1};
    refused(&(cov_group){.name = "g", .about = "", .points = &no_bug, .point_count = 1},
            "g.p: a coverpoint says in one line which bug would hide behind its holes");
    const cov_point no_bins = {.name = "p", .bug = "bug", .bins = a, .bin_count = 0};
    refused(&(cov_group){.name = "g", .about = "", .points = &no_bins, .point_count = 1}, "g.p: no bins");
    const cov_point no_name = {.name = NULL, .bug = "bug", .bins = a, .bin_count = 1};
    refused(&(cov_group){.name = "g", .about = "", .points = &no_name, .point_count = 1},
            "g: coverpoint 1 needs a name of letters, digits, _ and -");
    refused(&(cov_group){.name = "g", .about = NULL, .points = &no_name, .point_count = 1},
            "g: a group says in one line what it is about");
    refused(&(cov_group){.name = "g", .about = "", .points = NULL, .point_count = 0}, "g: no coverpoints");
    refused(&(cov_group){.name = "g@", .about = "", .points = &no_bins, .point_count = 1},
            "group 1 needs a name of letters, digits, _ and -");
    const cov_group *const twice[] = {&group, &group};
    cov_db *db = NULL;
    cov_error err;
    assert_int_equal(cov_open(&db, twice, 2, &err), COV_BAD_MODEL);
    assert_string_equal(err.text, "two groups have the name job");
}

/* What programs use whose errors are text. */
static void test_of_programs(void **state) {
    (void)state;
    char err[200] = "", path[] = "/tmp/test_cov.XXXXXX";
    cov_db *db = NULL;
    cov_inst *inst = NULL;
    cov_error why;
    const int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
    assert_int_equal(cov_open_group(&group, &db, &inst, err, sizeof err), 0);
    (void)cov_sample(inst, (const int64_t[]){3, 2, 8, 0});
    assert_int_equal(cov_write_job(db, path, "two\nlines", err, sizeof err), -1);
    assert_string_equal(err, "a job is one line of at most 200 bytes");
    assert_int_equal(cov_write_job(db, "/nowhere/x.cov", "unit job count=1", err, sizeof err), -1);
    assert_non_null(strstr(err, "/nowhere/x.cov"));
    assert_int_equal(cov_write_job(db, path, "unit job count=1", err, sizeof err), 0);
    cov_close(db);
    cov_data data;
    assert_int_equal(cov_read(&data, path, &why), COV_OK);
    assert_string_equal(data.job, "unit job count=1");
    assert_string_equal(data.groups[0].name, "job");
    cov_data_free(&data);
    assert_int_equal(unlink(path), 0);
    const cov_group empty = {.name = "g", .about = "", .points = NULL, .point_count = 0};
    assert_int_equal(cov_open_group(&empty, &db, &inst, err, sizeof err), -1);
    assert_string_equal(err, "g: no coverpoints");
    assert_null(db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bins),
        cmocka_unit_test(test_illegal),
        cmocka_unit_test(test_transitions),
        cmocka_unit_test(test_cross),
        cmocka_unit_test(test_score),
        cmocka_unit_test(test_saturation),
        cmocka_unit_test(test_instances),
        cmocka_unit_test(test_lookup),
        cmocka_unit_test(test_mask_next),
        cmocka_unit_test(test_refused_bins),
        cmocka_unit_test(test_refused_crosses),
        cmocka_unit_test(test_refused_groups),
        cmocka_unit_test(test_of_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
