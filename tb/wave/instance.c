/* The signals of an instance, in the order that is useful for debugging. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "wave/wave_priv.h"

typedef enum rank { RANK_CLOCK, RANK_HANDSHAKE, RANK_STATE, RANK_DATA, RANKS } rank;

/* `part` is one of the words that '_' joins in `name`, in any case. */
static bool has_word(const char *name, const char *part) {
    const size_t n = strlen(part);
    for (const char *p = name; *p != '\0'; p++) {
        if ((p == name || p[-1] == '_') && strncasecmp(p, part, n) == 0 && (p[n] == '\0' || p[n] == '_')) {
            return true;
        }
    }
    return false;
}

static bool any_word(const char *name, const char *const *word, size_t words) {
    for (size_t i = 0; i < words; i++) {
        if (has_word(name, word[i])) {
            return true;
        }
    }
    return false;
}

static bool ends_with(const char *name, const char *tail) {
    const size_t n = strlen(name);
    const size_t t = strlen(tail);
    return n >= t && strcasecmp(name + n - t, tail) == 0;
}

static bool is_clock(const char *name) {
    static const char *const clock[] = {"clk", "clock", "aclk"};
    return any_word(name, clock, sizeof clock / sizeof clock[0]);
}

static rank rank_of(const tb_wave_signal *s) {
    static const char *const reset[] = {"rst", "reset", "aresetn", "ni"};
    static const char *const shake[] = {"valid", "ready", "en",   "enable", "req",   "ack", "gnt",
                                        "we",    "re",    "push", "pop",    "start", "done"};
    static const char *const state[] = {"state", "fsm", "busy", "idle"};
    if (s->width == 1 && (is_clock(s->name) || any_word(s->name, reset, sizeof reset / sizeof reset[0]))) {
        return RANK_CLOCK;
    }
    /* AXI joins the channel and the word: awvalid, rready */
    if (s->width == 1 && (any_word(s->name, shake, sizeof shake / sizeof shake[0]) || ends_with(s->name, "valid") ||
                          ends_with(s->name, "ready"))) {
        return RANK_HANDSHAKE;
    }
    if (any_word(s->name, state, sizeof state / sizeof state[0]) || ends_with(s->name, "_q") ||
        ends_with(s->name, "state")) {
        return RANK_STATE;
    }
    return RANK_DATA;
}

/* The scope of the file that is meant: as it is, or behind the outermost one. */
static const char *scope_of(const tb_wave *wave, const char *scope) {
    const char *inner = NULL;
    size_t count = 0;
    const tb_wave_signal *s = tb_wave_signals(wave, &count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(s[i].scope, scope) == 0) {
            return s[i].scope;
        }
        const char *dot = strchr(s[i].scope, '.');
        if (inner == NULL && dot != NULL && strcmp(dot + 1, scope) == 0) {
            inner = s[i].scope;
        }
    }
    return inner;
}

char *wave_path(const tb_wave_signal *s) {
    const size_t size = strlen(s->scope) + strlen(s->name) + 2;
    char *path = malloc(size);
    if (path != NULL) {
        snprintf(path, size, "%s%s%s", s->scope, s->scope[0] != '\0' ? "." : "", s->name);
    }
    return path;
}

/* Ports before internal signals: within a rank, names that end with _i or _o come first. */
static bool is_port(const tb_wave_signal *s) {
    return ends_with(s->name, "_i") || ends_with(s->name, "_o") || ends_with(s->name, "_ni");
}

size_t tb_wave_instance(const tb_wave *wave, const char *scope, const char **path, size_t max) {
    const char *found = scope_of(wave, scope);
    size_t count = 0;
    size_t n = 0;
    const tb_wave_signal *s = tb_wave_signals(wave, &count);
    for (int pass = 0; found != NULL && pass < 2 * RANKS; pass++) {
        for (size_t i = 0; i < count && n < max; i++) {
            if (s[i].parameter || rank_of(&s[i]) != (rank)(pass / 2) || is_port(&s[i]) != (pass % 2 == 0) ||
                strcmp(s[i].scope, found) != 0) {
                continue;
            }
            path[n++] = wave_path(&s[i]);
        }
    }
    return n;
}

size_t tb_wave_instance_of(const tb_wave *wave, char *scope, const char **path, size_t max) {
    for (;;) {
        const size_t n = tb_wave_instance(wave, scope, path, max);
        char *dot = strrchr(scope, '.');
        if (n > 0 || dot == NULL) {
            return n;
        }
        *dot = '\0';
    }
}

const tb_wave_signal *tb_wave_clock(const tb_wave *wave) {
    const tb_wave_signal *best = NULL;
    size_t best_len = 0;
    size_t count = 0;
    const tb_wave_signal *s = tb_wave_signals(wave, &count);
    for (size_t i = 0; i < count; i++) {
        const size_t len = strlen(s[i].scope);
        if (s[i].width == 1 && is_clock(s[i].name) && (best == NULL || len < best_len)) {
            best = &s[i];
            best_len = len;
        }
    }
    return best;
}
