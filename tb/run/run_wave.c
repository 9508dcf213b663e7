/* run_wave.c - what to look at in the waveform of a failure: the unit that failed, then the ports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../wave/wave.h"
#include "run.h"

#define STEP 10u /* time units of a cycle (sim.c) */
#define MANY 64u
#define GROUPS (TB_RUN_PORTS + 1u) /* a unit or an instance, the ports */
#define SECONDS 60u                /* limits of the process that reads the waveform */
#define MIB 2048u

typedef struct paths {
    const char *name[MANY];
    size_t count;
} paths;

/* The signals of a port: those of the outermost scope that has any. */
static void find_port(const tb_wave *wave, const char *prefix, paths *p) {
    size_t count;
    const char *scope = NULL;
    const tb_wave_signal *s = tb_wave_signals(wave, &count);
    for (size_t i = 0; i < count && p->count < MANY; i++) {
        char path[512];
        if (strncmp(s[i].name, prefix, strlen(prefix)) != 0 || (scope != NULL && strcmp(scope, s[i].scope) != 0)) {
            continue;
        }
        scope = s[i].scope;
        snprintf(path, sizeof path, "%s%s%s", scope, scope[0] != '\0' ? "." : "", s[i].name);
        p->name[p->count] = strdup(path);
        p->count += p->name[p->count] != NULL;
    }
}

/* "fail.fst" becomes "fail" + end. */
static void beside(const tb_run *run, const char *end, char *dst, size_t size) {
    const char *wave = run->cfg.fail_wave;
    const size_t length = strlen(wave);
    const bool fst = length > 4 && strcmp(wave + length - 4, ".fst") == 0;
    snprintf(dst, size, "%.*s%s", (int)(fst ? length - 4 : length), wave, end);
}

static int write_svg(const tb_wave_view *view, const char *path, char *err, size_t err_size) {
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        snprintf(err, err_size, "%.200s cannot be written", path);
        return -1;
    }
    const int rc = tb_wave_svg(view, out, err, err_size);
    if (fclose(out) != 0 || rc != 0) {
        remove(path);
        return -1;
    }
    return 0;
}

static int draw(void *ctx) {
    const tb_run *run = (const tb_run *)ctx;
    char err[512] = "", path[640], clock[512] = "";
    paths p[GROUPS] = {0};
    tb_wave_group group[GROUPS] = {{0}};
    size_t groups = 0;
    char scope[sizeof run->failure.path];
    snprintf(scope, sizeof scope, "%s", run->failure.path);
    tb_wave *wave = tb_wave_open(run->cfg.fail_wave, err, sizeof err);
    if (wave == NULL) {
        fprintf(stderr, "no timing diagram: %s\n", err);
        return 1;
    }
    if (run->checks.failures > 0) {
        const tb_check *c = run->checks.failure[0].check;
        p[0].count = tb_wave_instance(wave, c->tap->path, p[0].name, MANY);
        group[groups++].title = c->tap->path;
    } else if (scope[0] != '\0') {
        p[0].count = tb_wave_instance_of(wave, scope, p[0].name, MANY);
        groups = p[0].count > 0;
        group[0].title = scope;
    }
    const bool one = groups > 0;
    for (unsigned i = 0; i < run->ports; i++) {
        find_port(wave, run->port[i]->cfg.prefix, &p[groups]);
        group[groups++].title = run->port[i]->cfg.name;
    }
    for (size_t i = 0; i < groups; i++) {
        group[i].signal = p[i].name;
        group[i].count = p[i].count;
    }
    const tb_wave_signal *c = tb_wave_clock(wave);
    if (c != NULL) {
        snprintf(clock, sizeof clock, "%s%s%s", c->scope, c->scope[0] != '\0' ? "." : "", c->name);
    }
    tb_wave_view view = {.wave = run->cfg.fail_wave,
                         .title = run->failure.signature,
                         .group = group,
                         .groups = groups,
                         .clock = clock[0] != '\0' ? clock : NULL,
                         .marker = run->failure.cycle * STEP + STEP / 2};
    beside(run, ".gtkw", path, sizeof path);
    int rc = tb_wave_gtkw(&view, path, err, sizeof err);
    if (rc == 0) {
        view.groups = one ? 1 : groups; /* a page holds the unit, GTKWave has room for all */
        beside(run, ".svg", path, sizeof path);
        rc = write_svg(&view, path, err, sizeof err);
    }
    if (rc != 0) {
        fprintf(stderr, "no timing diagram: %s\n", err);
    }
    for (size_t i = 0; i < groups; i++) {
        for (size_t k = 0; k < p[i].count; k++) {
            free((void *)(uintptr_t)p[i].name[k]);
        }
    }
    tb_wave_close(wave);
    return rc != 0;
}

int tb_run_draw(tb_run *run, char *err, size_t err_size) {
    const int rc = tb_wave_guard(run->cfg.fail_wave, draw, run, SECONDS, MIB, err, err_size);
    if (rc > 0) {
        snprintf(err, err_size, "%.200s: the pictures beside it are not complete", run->cfg.fail_wave);
    }
    return rc == 0 ? 0 : -1;
}
