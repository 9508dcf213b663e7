/* run_wave.c - the signals to show of a failure's waveform: the unit that failed, then the ports. */
#include <stdio.h>
#include <string.h>

#include "../wave/wave.h"
#include "run.h"

#define MANY 64u    /* signals of a group */
#define SECONDS 60u /* limits of the process that reads the waveform */
#define MIB 2048u

/* "fail.fst" becomes "fail" + end. */
static void beside(const tb_run *run, const char *end, char *dst, size_t size) {
    const char *wave = run->cfg.fail_wave;
    const size_t length = strlen(wave);
    const bool fst = length > 4 && strcmp(wave + length - 4, ".fst") == 0;
    snprintf(dst, size, "%.*s%s", (int)(fst ? length - 4 : length), wave, end);
}

static int draw(void *ctx) {
    const tb_run *run = (const tb_run *)ctx;
    char err[512] = "", path[640];
    char scope[sizeof run->failure.path];
    tb_wave_pictures p;
    snprintf(scope, sizeof scope, "%s", run->failure.path);
    if (tb_wave_pictures_open(&p, run->cfg.fail_wave, run->failure.signature,
                              tb_schedule_time(&run->sim.schedule, run->failure.cycle), err, sizeof err) != 0) {
        fprintf(stderr, "no timing diagram: %s\n", err);
        return 1;
    }
    if (run->checks.failures > 0) {
        const char *unit = run->checks.failure[0].check->tap->path;
        tb_wave_pictures_instance(&p, unit, unit);
    } else if (scope[0] != '\0') {
        tb_wave_pictures_inner(&p, scope);
    }
    const bool one = p.view.groups > 0;
    for (unsigned i = 0; i < run->ports; i++) {
        tb_wave_pictures_port(&p, run->port[i]->cfg.prefix, false, run->port[i]->cfg.name);
    }
    for (unsigned i = 0; i < run->streams; i++) {
        const tb_stream_cfg *c = &run->stream[i]->cfg;
        char prefix[128];
        const size_t valid =
            c->prefix == NULL && strstr(c->valid, "valid") != NULL ? (size_t)(strstr(c->valid, "valid") - c->valid) : 0;
        snprintf(prefix, sizeof prefix, "%.*s", valid != 0 ? (int)valid : 120,
                 c->prefix != NULL ? c->prefix : c->valid);
        tb_wave_pictures_port(&p, prefix, false, c->name);
    }
    for (unsigned i = 0; i < run->apbs; i++) {
        tb_wave_pictures_port(&p, run->apb[i]->cfg.prefix, false, run->apb[i]->cfg.name);
    }
    for (unsigned i = 0; i < run->fairs; i++) {
        tb_wave_pictures_port(&p, run->fair[i]->cfg.request, false, run->fair[i]->cfg.name);
        tb_wave_pictures_port(&p, run->fair[i]->cfg.grant, false, run->fair[i]->cfg.name);
    }
    for (unsigned i = 0; i < run->pins; i++) {
        tb_wave_pictures_port(&p, run->pin_name[i], false, run->pin_name[i]);
    }
    for (size_t i = 0; i < p.view.groups; i++) {
        p.group[i].count = p.group[i].count < MANY ? p.group[i].count : MANY;
    }
    beside(run, ".gtkw", path, sizeof path);
    int rc = tb_wave_gtkw(&p.view, path, err, sizeof err);
    if (rc == 0) {
        p.view.groups = one ? 1 : p.view.groups; /* a page holds the unit, GTKWave has room for all */
        beside(run, ".svg", path, sizeof path);
        rc = tb_wave_svg(&p.view, path, err, sizeof err);
    }
    if (rc != 0) {
        fprintf(stderr, "no timing diagram: %s\n", err);
    }
    tb_wave_pictures_close(&p);
    return rc != 0;
}

int tb_run_draw(tb_run *run, char *err, size_t err_size) {
    const int rc = tb_wave_guard(run->cfg.fail_wave, draw, run, SECONDS, MIB, err, err_size);
    if (rc > 0) {
        snprintf(err, err_size, "%.200s: the pictures beside it are not complete", run->cfg.fail_wave);
    }
    return rc == 0 ? 0 : -1;
}
