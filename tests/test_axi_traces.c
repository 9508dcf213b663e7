/* Text traces of tests/axi through the checker: each breaks exactly what it says, or nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/axi_trace.h"
#include "tb.h"

#define ALL 4096u

typedef struct seen {
    tb_axi_violation v[ALL];
    size_t count;
} seen;

static void collect(void *ctx, const tb_axi_monitor *mon, const tb_axi_violation *v) {
    seen *s = (seen *)ctx;
    (void)mon;
    if (s->count < ALL) {
        s->v[s->count++] = *v;
    }
}

/* Calls back for each file of a folder; the number of files. */
static unsigned each_file(const char *folder, void (*run)(const char *path, void *ctx), void *ctx) {
    struct dirent **names;
    char path[512];
    unsigned files = 0;
    const int n = scandir(folder, &names, NULL, alphasort);
    assert_true(n >= 0);
    for (int i = 0; i < n; i++) {
        const size_t length = strlen(names[i]->d_name);
        if (length > 4 && strcmp(names[i]->d_name + length - 4, ".txt") == 0) {
            snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
            run(path, ctx);
            files++;
        }
        free(names[i]);
    }
    free(names);
    return files;
}

typedef struct tally {
    unsigned wrong;
    bool broken[2][TB_AXI_RULES]; /* AXI4, AXI4-Lite: a trace that breaks the rule */
    bool kept[2][TB_AXI_RULES];   /* one that only just keeps it */
    unsigned quiet;               /* traces that break nothing */
    bool notes;
} tally;

/* Does what was seen match? Each expectation stands for one violation. */
static bool matches(tb_axi_trace *t, const seen *s) {
    bool used[ALL] = {false};
    for (uint32_t e = 0; e < t->expects; e++) {
        size_t i = 0;
        while (i < s->count && (used[i] || s->v[i].rule != t->expect[e].rule || s->v[i].cycle != t->expect[e].cycle)) {
            i++;
        }
        if (i == s->count) {
            return false;
        }
        used[i] = true;
    }
    return s->count == t->expects;
}

static void run_file(const char *path, void *ctx) {
    static seen s;
    tally *sum = (tally *)ctx;
    tb_axi_trace t;
    tb_axi_monitor mon;
    char err[256];
    char text[400];
    s.count = 0;
    if (tb_axi_trace_open(&t, path, err, sizeof err) != 0) {
        fail_msg("%s", err);
    }
    t.cfg.report = collect;
    t.cfg.report_ctx = &s;
    assert_int_equal(tb_axi_trace_run(&t, &mon), 0);
    if (!matches(&t, &s)) {
        sum->wrong++;
        print_error("%s: %s\n", path, t.title);
        for (uint32_t e = 0; e < t.expects; e++) {
            print_error("    expected %s cycle=%" PRIu64 "\n", tb_axi_rule_name(t.expect[e].rule), t.expect[e].cycle);
        }
        for (size_t i = 0; i < s.count && i < 10; i++) {
            tb_axi_violation_text(&mon, &s.v[i], text, sizeof text);
            print_error("    got %s\n", text);
        }
    }
    for (uint32_t e = 0; e < t.expects; e++) {
        sum->broken[t.cfg.lite][t.expect[e].rule] = true;
    }
    for (uint32_t i = 0; i < t.nears; i++) {
        sum->kept[t.cfg.lite][t.near_rule[i]] = true;
    }
    sum->quiet += t.expects == 0;
    tb_axi_mon_free(&mon);
    tb_axi_trace_close(&t);
}

static void traces(void **state) {
    (void)state;
    tally sum = {0};
    const unsigned bad = each_file("tests/axi/bad", run_file, &sum);
    const unsigned lite = each_file("tests/axi/lite", run_file, &sum);
    assert_int_equal(sum.quiet, 0);
    const unsigned good = each_file("tests/axi/good", run_file, &sum);
    assert_int_equal(sum.quiet, good);
    assert_true(good >= 30);
    assert_true(bad + lite > TB_AXI_RULES);
    for (unsigned rule = 0; rule < TB_AXI_RULES; rule++) {
        for (unsigned l = 0; l < 2; l++) {
            const bool project = tb_axi_rule_get((tb_axi_rule)rule)->level >= TB_AXI_LEVEL_PROJ_ERR;
            if (!tb_axi_rule_applies((tb_axi_rule)rule, l != 0) || (project && l != 0)) {
                continue;
            }
            if (!sum.broken[l][rule] || !sum.kept[l][rule]) {
                print_error("%s%s: no trace that %s it\n", tb_axi_rule_name((tb_axi_rule)rule),
                            l != 0 ? " (AXI4-Lite)" : "", sum.broken[l][rule] ? "just keeps" : "breaks");
                sum.wrong++;
            }
        }
    }
    assert_int_equal(sum.wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
