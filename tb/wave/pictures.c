/* pictures.c - contents of the pictures of a failure: groups of signals, the clock, the marker. */
#include <stdlib.h>
#include <string.h>

#include "wave/wave_priv.h"

#define HALF 5u /* time units from the beginning of a cycle to its settled values (sim.c), with one clock */

int tb_wave_pictures_open(tb_wave_pictures *p, const char *file, const char *title, uint64_t time, char *err,
                          size_t err_size) {
    memset(p, 0, sizeof *p);
    p->wave = tb_wave_open(file, err, err_size);
    if (p->wave == NULL) {
        return -1;
    }
    const tb_wave_signal *c = tb_wave_clock(p->wave);
    if (c != NULL) {
        snprintf(p->clock, sizeof p->clock, "%s%s%s", c->scope, c->scope[0] != '\0' ? "." : "", c->name);
    }
    p->view = (tb_wave_view){
        .wave = file, .title = title, .group = p->group, .clock = c != NULL ? p->clock : NULL, .marker = time + HALF};
    return 0;
}

/* The next group, which has `count` signals in its place of p->path already. */
static void add_group(tb_wave_pictures *p, const char *title, size_t count) {
    const size_t g = p->view.groups++;
    snprintf(p->name[g], sizeof p->name[g], "%s", title);
    p->group[g] = (tb_wave_group){.title = p->name[g], .signal = p->path[g], .count = count};
}

void tb_wave_pictures_instance(tb_wave_pictures *p, const char *scope, const char *title) {
    add_group(p, title, tb_wave_instance(p->wave, scope, p->path[p->view.groups], TB_WAVE_SIGNALS));
}

bool tb_wave_pictures_inner(tb_wave_pictures *p, char *scope) {
    const size_t count = tb_wave_instance_of(p->wave, scope, p->path[p->view.groups], TB_WAVE_SIGNALS);
    if (count > 0) {
        add_group(p, scope, count);
    }
    return count > 0;
}

/* Does a name begin with a prefix of a port? A star in it stands for the signal's word; commas part several. */
static bool of_port(const char *name, const char *prefix) {
    for (;;) {
        const size_t length = strcspn(prefix, ",");
        const char *star = (const char *)memchr(prefix, '*', length);
        const size_t head = star != NULL ? (size_t)(star - prefix) : length;
        char behind[64];
        snprintf(behind, sizeof behind, "%.*s", star != NULL ? (int)(length - head - 1) : 0, prefix + head + 1);
        /* a struct is one signal in many recordings: "axi_req_i." is axi_req_i */
        const bool whole =
            head > 0 && prefix[head - 1] == '.' && strncmp(name, prefix, head - 1) == 0 && strlen(name) == head - 1;
        if (whole || (strncmp(name, prefix, head) == 0 && strstr(name + head, behind) != NULL)) {
            return true;
        }
        if (prefix[length] == '\0') {
            return false;
        }
        prefix += length + 1;
    }
}

void tb_wave_pictures_port(tb_wave_pictures *p, const char *prefix, bool few, const char *title) {
    static const char *const main_words[] = {"valid", "ready", "addr", "last"};
    const char *scope = NULL;
    size_t signals, count = 0;
    const tb_wave_signal *s = tb_wave_signals(p->wave, &signals);
    if (p->view.groups == TB_WAVE_GROUPS) {
        return;
    }
    for (size_t i = 0; i < signals && count < TB_WAVE_SIGNALS; i++) {
        bool wanted = !few;
        for (size_t w = 0; w < sizeof main_words / sizeof main_words[0]; w++) {
            wanted = wanted || strstr(s[i].name, main_words[w]) != NULL;
        }
        if (!of_port(s[i].name, prefix) || !wanted || (scope != NULL && strcmp(scope, s[i].scope) != 0)) {
            continue;
        }
        scope = s[i].scope;
        p->path[p->view.groups][count++] = wave_path(&s[i]);
    }
    add_group(p, title, count);
}

void tb_wave_pictures_close(tb_wave_pictures *p) {
    for (size_t g = 0; g < TB_WAVE_GROUPS; g++) {
        for (size_t i = 0; i < TB_WAVE_SIGNALS; i++) {
            free((void *)(uintptr_t)p->path[g][i]);
        }
    }
    tb_wave_close(p->wave);
}
