/* report_wave.c - what the waveform of a failure shows: save file for GTKWave, timing diagram for the page. */

#include <stdio.h>
#include <string.h>

#include "../wave/wave.h"
#include "report.h"
#include "report/bundle.h"

#define WIDE 140u /* cycles in GTKWave and in the diagram with more of them */
#define FEW 26u   /* signals of a unit in the diagram */
#define GROUPS 5u /* what failed and the ports */
#define SECONDS 60u
#define MIB 2048u

/* Ports before internal signals, each in the order of the file's view. */
static void ports_first(const char **path, size_t signals) {
    const char *sorted[TB_WAVE_SIGNALS];
    size_t count = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < signals; i++) {
            const size_t length = strlen(path[i]);
            const char *end = path[i] + (length > 2 ? length - 2 : 0);
            const bool port = strcmp(end, "_i") == 0 || strcmp(end, "_o") == 0 || strcmp(end, "ni") == 0;
            if (port == (pass == 0)) {
                sorted[count++] = path[i];
            }
        }
    }
    memcpy(path, sorted, count * sizeof sorted[0]);
}

/* The instance whose assertion failed, and its parent. */
static void find_assertion(const tb_report *r, tb_wave_pictures *p) {
    char scope[sizeof r->first->failure.path];
    snprintf(scope, sizeof scope, "%s", r->first->failure.path);
    while (p->view.groups < 2 && strchr(scope, '.') != NULL) { /* the whole design would be too much */
        if (!tb_wave_pictures_inner(p, scope) || strchr(scope, '.') == NULL) {
            break;
        }
        *strrchr(scope, '.') = '\0';
    }
}

/* Does the failure's text name this port? */
static bool is_named(const tb_report *r, unsigned port) {
    const char *signature = r->result->signature;
    const char *end = strrchr(signature, ':');
    return (strncmp(signature, "axi:", 4) == 0 && end != NULL && strcmp(end + 1, r->story->port[port].log.name) == 0) ||
           (r->culprit != NULL && r->culprit_port == port);
}

/* Signals to show: the unit or the instance that failed, then the ports; without one only the ports, the one that a
   rule names first. A design without buses: all of its own ports. */
static void find_groups(const tb_report *r, tb_wave_pictures *p) {
    char title[128];
    if (r->check != NULL) {
        snprintf(title, sizeof title, "%s %u", r->check->unit, r->check->index);
        tb_wave_pictures_instance(p, r->check->path, title);
    } else {
        find_assertion(r, p);
    }
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = r->story->ports; i-- > 0;) {
            const bool named = is_named(r, i);
            if (named == (pass == 0) && p->view.groups < GROUPS) {
                snprintf(title, sizeof title, "%s (%s)", r->story->port[i].registers ? "registers" : "memory",
                         r->story->port[i].log.name);
                tb_wave_pictures_port(p, r->story->port[i].prefix, !named, title);
            }
        }
    }
    if (r->story->ports == 0 && p->view.groups < GROUPS) {
        tb_wave_pictures_port(p, "", false, "ports");
    }
}

static int write_svg(const tb_report *r, const char *name, tb_wave_view *view, unsigned cycles, char *err,
                     size_t err_size) {
    char path[640];
    snprintf(path, sizeof path, "%s/%s", r->temp, name);
    view->cycles = cycles;
    return tb_wave_svg(view, path, err, err_size);
}

/* The unit alone, where there is one, and not all of it: once as wide as a page, once with more cycles. */
static int draw_pictures(const tb_report *r, tb_wave_pictures *p, char *err, size_t err_size) {
    p->view.groups = r->check != NULL || r->first->failure.path[0] != '\0' ? 1 : p->view.groups;
    for (size_t i = 0; i < p->view.groups; i++) {
        ports_first(p->path[i], p->group[i].count);
        p->group[i].count = p->group[i].count > FEW ? FEW : p->group[i].count;
    }
    return write_svg(r, REP_BUNDLE_TIMING, &p->view, 0, err, err_size) != 0
               ? -1
               : write_svg(r, REP_BUNDLE_TIMING_WIDE, &p->view, WIDE, err, err_size);
}

static int draw(void *ctx) {
    const tb_report *r = (const tb_report *)ctx;
    char err[512] = "", path[640];
    tb_wave_pictures p;
    int rc = tb_wave_pictures_open(&p, r->wave, r->headline, tb_schedule_time(&r->story->schedule, r->marker), err,
                                   sizeof err);
    if (rc == 0) {
        find_groups(r, &p);
        p.view.cycles = WIDE;
        p.view.link = REP_BUNDLE_WAVE; /* the folder will be moved: the save file names the waveform by a path relative
                                        * to itself */
        snprintf(path, sizeof path, "%s/" REP_BUNDLE_GTKW, r->temp);
        rc = tb_wave_gtkw(&p.view, path, err, sizeof err);
        rc = rc == 0 ? draw_pictures(r, &p, err, sizeof err) : rc;
        tb_wave_pictures_close(&p);
    }
    if (rc != 0) {
        fprintf(stderr, "no timing diagram: %s\n", err);
    }
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
