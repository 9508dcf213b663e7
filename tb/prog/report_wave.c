/* report_wave.c - what the waveform of a failure shows: save file for GTKWave, timing diagram for the page. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../wave/wave.h"
#include "report.h"
#include "report/bundle.h"

#define STEP 10u   /* times of a cycle; its clock rises at the end of its second half */
#define NARROW 44u /* cycles in the diagrams */
#define WIDE 140u
#define MANY 160u /* signals in the save file */
#define FEW 26u   /* signals of a unit in the diagram */
#define GROUPS 5u
#define SECONDS 60u
#define MIB 2048u

typedef struct paths {
    const char *name[MANY];
    size_t count;
} paths;

static void free_paths(paths *p) {
    for (size_t i = 0; i < p->count; i++) {
        free((void *)(uintptr_t)p->name[i]);
    }
}

/* Signals of the outermost scope that has any with this prefix. */
static void find_port(const tb_wave *wave, const char *prefix, bool handshakes_only, paths *p) {
    size_t count;
    const tb_wave_signal *s = tb_wave_signals(wave, &count);
    const char *scope = NULL;
    for (size_t i = 0; i < count && p->count < MANY; i++) {
        const bool wanted = !handshakes_only || strstr(s[i].name, "valid") != NULL ||
                            strstr(s[i].name, "ready") != NULL || strstr(s[i].name, "addr") != NULL ||
                            strstr(s[i].name, "last") != NULL;
        char path[512];
        if (strncmp(s[i].name, prefix, strlen(prefix)) != 0 || !wanted ||
            (scope != NULL && strcmp(scope, s[i].scope) != 0)) {
            continue;
        }
        scope = s[i].scope;
        snprintf(path, sizeof path, "%s%s%s", s[i].scope, s[i].scope[0] != '\0' ? "." : "", s[i].name);
        p->name[p->count] = strdup(path);
        p->count += p->name[p->count] != NULL;
    }
}

/* Ports before what is inside, each in the order of the file's view. */
static void ports_first(paths *p) {
    const char *sorted[MANY];
    size_t count = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < p->count; i++) {
            const size_t length = strlen(p->name[i]);
            const char *end = p->name[i] + (length > 2 ? length - 2 : 0);
            const bool port = strcmp(end, "_i") == 0 || strcmp(end, "_o") == 0 || strcmp(end, "ni") == 0;
            if (port == (pass == 0)) {
                sorted[count++] = p->name[i];
            }
        }
    }
    memcpy(p->name, sorted, count * sizeof sorted[0]);
}

/* The instance whose assertion failed, and the one that it is part of. Returns the number of groups. */
static size_t find_assertion(const tb_report *r, const tb_wave *wave, paths *p, char title[][64]) {
    char scope[sizeof r->first->failure.path];
    size_t groups = 0;
    snprintf(scope, sizeof scope, "%s", r->first->failure.path);
    while (groups < 2 && strchr(scope, '.') != NULL) { /* all of the design is too much */
        p[groups].count = tb_wave_instance_of(wave, scope, p[groups].name, MANY);
        char *dot = strrchr(scope, '.');
        if (p[groups].count == 0 || dot == NULL) {
            break;
        }
        snprintf(title[groups++], sizeof title[0], "%.63s", scope);
        *dot = '\0';
    }
    return groups;
}

/* Does the failure speak of this port? */
static bool is_named(const tb_report *r, unsigned port) {
    const char *signature = r->result->signature;
    const char *end = strrchr(signature, ':');
    return (strncmp(signature, "axi:", 4) == 0 && end != NULL && strcmp(end + 1, r->story->port[port].log.name) == 0) ||
           (r->culprit != NULL && r->culprit_port == port);
}

/* What to look at: the unit or the instance that failed, then the ports; without one only the ports, the one that a
   rule names first. A design without buses: all of its own ports. */
static size_t find_groups(const tb_report *r, const tb_wave *wave, paths *p, tb_wave_group *g, char title[][64]) {
    size_t groups = 0;
    if (r->check != NULL) {
        p[0].count = tb_wave_instance(wave, r->check->path, p[0].name, MANY);
        snprintf(title[0], sizeof title[0], "%s %u", r->check->unit, r->check->index);
        groups = 1;
    } else {
        groups = find_assertion(r, wave, p, title);
    }
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = r->story->ports; i-- > 0;) {
            const bool named = is_named(r, i);
            if (named == (pass == 0) && groups < GROUPS) {
                find_port(wave, r->story->port[i].prefix, !named, &p[groups]);
                snprintf(title[groups++], sizeof title[0], "%s (%s)",
                         r->story->port[i].registers ? "registers" : "memory", r->story->port[i].log.name);
            }
        }
    }
    if (r->story->ports == 0 && groups < GROUPS) {
        find_port(wave, "", false, &p[groups]);
        snprintf(title[groups++], sizeof title[0], "ports");
    }
    for (size_t i = 0; i < groups; i++) {
        g[i] = (tb_wave_group){.title = title[i], .signal = p[i].name, .count = p[i].count};
    }
    return groups;
}

static int write_svg(const tb_report *r, const char *name, const tb_wave_view *view, char *err, size_t err_size) {
    char path[640];
    snprintf(path, sizeof path, "%s/%s", r->temp, name);
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        snprintf(err, err_size, "%s cannot be written", name);
        return -1;
    }
    const int rc = tb_wave_svg(view, f, err, err_size);
    if (fclose(f) != 0 || rc != 0) {
        remove(path);
        return -1;
    }
    return 0;
}

/* The folder moves: the save file names the waveform beside it, wherever that is. */
static int write_gtkw(const tb_report *r, const tb_wave_view *view, char *err, size_t err_size) {
    static const char key[] = "[dumpfile] ";
    char path[640], temp[660], line[4096];
    snprintf(path, sizeof path, "%s/" REP_BUNDLE_GTKW, r->temp);
    snprintf(temp, sizeof temp, "%s.tmp", path);
    if (tb_wave_gtkw(view, temp, err, err_size) != 0) {
        return -1;
    }
    FILE *in = fopen(temp, "r"), *out = fopen(path, "w");
    while (in != NULL && out != NULL && fgets(line, sizeof line, in) != NULL) {
        if (strncmp(line, key, sizeof key - 1) == 0) {
            snprintf(line, sizeof line, "%s\"" REP_BUNDLE_WAVE "\"\n", key);
        }
        fputs(line, out);
    }
    const bool read = in != NULL && ferror(in) == 0;
    const bool written = out != NULL && ferror(out) == 0;
    if (in != NULL) {
        fclose(in);
    }
    if ((out != NULL && fclose(out) != 0) || !read || !written) {
        remove(path);
        remove(temp);
        snprintf(err, err_size, "wave.gtkw cannot be written");
        return -1;
    }
    return remove(temp);
}

/* The unit alone, where there is one, and not all of it: once as wide as a page, once with more cycles. */
static int draw_pictures(const tb_report *r, paths *p, tb_wave_group *group, tb_wave_view *view, char *err,
                         size_t err_size) {
    view->groups = r->check != NULL || r->first->failure.path[0] != '\0' ? 1 : view->groups;
    for (size_t i = 0; i < view->groups; i++) {
        ports_first(&p[i]);
        group[i].count = group[i].count > FEW ? FEW : group[i].count;
    }
    view->cycles = NARROW;
    if (write_svg(r, REP_BUNDLE_TIMING, view, err, err_size) != 0) {
        return -1;
    }
    view->cycles = WIDE;
    return write_svg(r, REP_BUNDLE_TIMING_WIDE, view, err, err_size);
}

static int draw(void *ctx) {
    const tb_report *r = (const tb_report *)ctx;
    char err[512] = "", title[GROUPS][64], clock[512] = "";
    paths p[GROUPS] = {0};
    tb_wave_group group[GROUPS];
    tb_wave *wave = tb_wave_open(r->wave, err, sizeof err);
    if (wave == NULL) {
        fprintf(stderr, "no timing diagram: %s\n", err);
        return 1;
    }
    const size_t groups = find_groups(r, wave, p, group, title);
    const tb_wave_signal *c = tb_wave_clock(wave);
    if (c != NULL) {
        snprintf(clock, sizeof clock, "%s%s%s", c->scope, c->scope[0] != '\0' ? "." : "", c->name);
    }
    tb_wave_view view = {.wave = r->wave,
                         .title = r->headline,
                         .group = group,
                         .groups = groups,
                         .clock = clock[0] != '\0' ? clock : NULL,
                         .marker = r->marker * STEP + STEP / 2,
                         .cycles = WIDE};
    int rc = write_gtkw(r, &view, err, sizeof err);
    rc = rc == 0 ? draw_pictures(r, p, group, &view, err, sizeof err) : rc;
    if (rc != 0) {
        fprintf(stderr, "no timing diagram: %s\n", err);
    }
    for (size_t i = 0; i < groups; i++) {
        free_paths(&p[i]);
    }
    tb_wave_close(wave);
    return rc != 0;
}

void tb_report_draw(tb_report *r) {
    char err[512];
    if (!r->has_wave) {
        return;
    }
    if (tb_wave_guard(r->wave, draw, r, SECONDS, MIB, err, sizeof err) < 0) {
        fprintf(stderr, "no timing diagram: %s\n", err);
    }
}
