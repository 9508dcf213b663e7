/* Save files for GTKWave: which signals, in groups, the marker, the window. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "wave/view.h"

#define CYCLES 40u /* that are shown first, unless the view says otherwise */
#define NAMED_MARKERS 26
/* GTKWave's zoom is the exponent of the time that 200 pixels show; its wave area has about five times as many */
#define WINDOW_FRAMES 5.0

/* flags of a trace, in hexadecimal as the save file has them */
#define FLAG_BIT "@28"
#define FLAG_HEX "@22"
#define FLAG_GROUP_BEGIN "@800200"
#define FLAG_GROUP_END "@1000200"

/* The branches of the tree that lead to the first signal, open. */
static void print_tree(FILE *f, const view_state *v) {
    for (size_t r = 0; r < v->rows; r++) {
        if (v->row[r].signal != NULL) {
            const char *scope = v->row[r].signal->scope;
            for (const char *dot = strchr(scope, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
                fprintf(f, "[treeopen] %.*s.\n", (int)(dot - scope), scope);
            }
            fprintf(f, "[treeopen] %s.\n", scope);
            return;
        }
    }
}

static void print_head(FILE *f, const view_state *v) {
    char full[PATH_MAX];
    const double window = (double)(v->to - v->from) + 1;
    const long long marker = v->marked ? (long long)v->view->marker : -1;
    fprintf(f, "[*]\n[*] %s\n[*]\n", v->view->title != NULL ? v->view->title : "");
    fprintf(f, "[dumpfile] \"%s\"\n",
            v->view->link != NULL                   ? v->view->link
            : realpath(v->view->wave, full) != NULL ? full
                                                    : v->view->wave);
    fprintf(f, "[timestart] %llu\n[size] 1600 900\n[pos] -1 -1\n", (unsigned long long)v->from);
    fprintf(f, "*%.6f %lld %lld", -log2(window / WINDOW_FRAMES > 1 ? window / WINDOW_FRAMES : 1), marker, marker);
    for (int i = 1; i < NAMED_MARKERS; i++) {
        fputs(" -1", f);
    }
    fputc('\n', f);
    if (v->marked) {
        fputs("[markername] Afirst mismatch\n", f);
    }
    print_tree(f, v);
    fputs("[sst_width] 220\n[signals_width] 300\n[sst_expanded] 1\n", f);
}

static void print_signal(FILE *f, const tb_wave_signal *s) {
    fprintf(f, "%s\n%s%s%s%s\n", s->width == 1 ? FLAG_BIT : FLAG_HEX, s->scope, s->scope[0] != '\0' ? "." : "", s->name,
            s->range);
}

static void print_groups(FILE *f, const view_state *v) {
    size_t r = 0;
    for (size_t g = 0; g < v->view->groups; g++) {
        const tb_wave_group *group = &v->view->group[g];
        fprintf(f, FLAG_GROUP_BEGIN "\n-%s\n", group->title);
        for (size_t i = 0; i < group->count; i++, r++) {
            if (v->row[r].signal != NULL) {
                print_signal(f, v->row[r].signal);
            }
        }
        fprintf(f, FLAG_GROUP_END "\n-%s\n", group->title);
    }
    fputs("[pattern_trace] 1\n[pattern_trace] 0\n", f);
}

int tb_wave_gtkw(const tb_wave_view *view, const char *output, char *err, size_t err_size) {
    view_state v;
    if (view_open(&v, view, err, err_size) != 0) {
        view_close(&v);
        return -1;
    }
    view_narrow(&v, CYCLES); /* the window of the file can be large */
    rep_file f;
    int error = rep_file_open(&f, output);
    if (error == 0) {
        print_head(f.file, &v);
        print_groups(f.file, &v);
        error = rep_file_close(&f, false);
    }
    if (error != 0) {
        snprintf(err, err_size, "%.200s: %s", output, strerror(error));
    }
    view_close(&v);
    return error == 0 ? 0 : -1;
}
