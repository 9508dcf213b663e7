/* shrink.c - the search of the shrinker: joint moves first, single knobs last, until no move succeeds. */
#include "shrink.h"

#include "shrink_priv.h"
#include "opt/opt.h"
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINE 78

static void knob_text(const tb_knobs *k, size_t i, char *dst, size_t size) {
    const tb_knob *t = &k->table[i];
    if (tb_knob_kind_of(t) == TB_KNOB_ENUM) {
        snprintf(dst, size, "%s", t->names[k->value[i]]);
    } else {
        snprintf(dst, size, "%" PRId64, k->value[i]);
    }
}

/* What changed, as much of it as fits on a line. */
static void log_step(const shrinker *s, const tb_knobs *next, const shrink_answer *a, uint64_t work) {
    char line[LINE + 1];
    char end[96];
    char text[160];
    char from[48];
    char to[48];
    size_t at = 0;
    unsigned rest = 0;
    int n = s->cfg->work_name != NULL && work != 0
                ? snprintf(end, sizeof end, ": %" PRIu64 " %s, ", work, s->cfg->work_name)
                : snprintf(end, sizeof end, ": ");
    snprintf(end + n, sizeof end - (size_t)n, "%" PRIu64 " cycles, attempt %u", a->cycles, s->stats->runs);
    for (size_t i = 0; i < next->count; i++) {
        if (next->value[i] == s->best->value[i]) {
            continue;
        }
        knob_text(s->best, i, from, sizeof from);
        knob_text(next, i, to, sizeof to);
        n = snprintf(text, sizeof text, "%s%s %s -> %s", at == 0 ? "  " : ", ", next->table[i].name, from, to);
        if (at != 0 && (rest != 0 || at + (size_t)n + strlen(end) + sizeof ", 99 more" > LINE)) {
            rest++;
            continue;
        }
        at += (size_t)snprintf(line + at, sizeof line - at, "%s", text);
        at = at > LINE ? LINE : at;
    }
    fprintf(s->cfg->log, "%s%s", s->cfg->live ? "\r\033[K" : "", line);
    if (rest != 0) {
        fprintf(s->cfg->log, ", %u more", rest);
    }
    fprintf(s->cfg->log, "%s\n", end);
    fflush(s->cfg->log);
}

static uint64_t work_of(const shrinker *s, const tb_knobs *knobs) {
    return s->cfg->size != NULL ? s->cfg->size(s->cfg->ctx, knobs).work : 0;
}

static void accept(shrinker *s, const tb_knobs *next, const shrink_answer *a) {
    s->stats->steps++;
    s->stats->cycles_after = a->cycles;
    s->stats->work_after = work_of(s, next);
    if (s->cfg->log != NULL) {
        log_step(s, next, a, s->stats->work_after);
    }
    *s->best = *next;
    if (s->cfg->step != NULL) {
        s->cfg->step(s->cfg->step_ctx, s->best);
    }
}

/* Try the list. Returns the tag of the candidate that was taken, TB_KNOB_MAX: none. */
static size_t take_first(shrinker *s) {
    shrink_answer a;
    if (s->failed || s->list.count == 0) {
        return TB_KNOB_MAX;
    }
    const unsigned before = s->stats->runs;
    const size_t found = shrink_search(s, &a);
    for (size_t i = 0; i < s->list.count && i < s->stats->runs - before; i++) {
        shrink_memo_put(s, &s->list.at[i]);
    }
    if (found == s->list.count) {
        return TB_KNOB_MAX;
    }
    const tb_knobs next = s->list.at[found];
    accept(s, &next, &a);
    return s->list.tag[found];
}

/* All knobs one by one; a knob that moved is tried again before the next one. */
static bool pass_single(shrinker *s) {
    size_t order[TB_KNOB_MAX];
    const size_t count = shrink_order(s, order);
    size_t from = 0;
    bool any = false;
    while (from < count && !shrink_over(s)) {
        shrink_list_single(s, order + from, count - from);
        const size_t tag = take_first(s);
        if (tag == TB_KNOB_MAX) {
            break;
        }
        any = true;
        while (order[from] != tag) {
            from++;
        }
    }
    return any;
}

static bool pass(shrinker *s) {
    bool any = false;
    for (bool moved = true; moved && !shrink_over(s);) {
        shrink_list_sizes(s);
        moved = take_first(s) != TB_KNOB_MAX;
        any = any || moved;
    }
    for (bool moved = true; moved && !shrink_over(s);) {
        shrink_list_frills(s);
        moved = take_first(s) != TB_KNOB_MAX;
        any = any || moved;
    }
    return (!shrink_over(s) && pass_single(s)) || any;
}

int tb_shrink(const tb_shrink_cfg *cfg, tb_knobs *knobs, tb_shrink_stats *stats, char *err, size_t err_size) {
    shrink_answer a;
    shrinker s = {.cfg = cfg, .best = knobs, .stats = stats, .begin = rep_seconds(CLOCK_MONOTONIC)};
    memset(stats, 0, sizeof *stats);
    s.cpu_limit = cfg->seconds;
    if (shrink_run_one(&s, knobs, &a) != 0) {
        if (stats->out_of_time) {
            snprintf(err, err_size, "the case as it is takes more than %g s of CPU time (--seconds)", cfg->seconds);
        } else {
            snprintf(err, err_size, s.failed ? "cannot make a process: %s" : "stopped in the first run",
                     strerror(errno));
        }
        return -1;
    }
    if (rep_host_error() != 0) {
        return opt_fail(err, err_size, "the machine refused: %s", strerror(rep_host_error()));
    }
    if (a.rc != 0 || a.signature[0] == '\0') {
        return opt_fail(err, err_size,
                        a.rc != 0 ? "the case cannot be run" : "the case passes, expected one that fails");
    }
    memcpy(stats->signature, a.signature, sizeof stats->signature);
    const double first = rep_seconds(CLOCK_MONOTONIC) - s.begin;
    s.begin += first; /* the limit of time is for the attempts */
    stats->runs = 1;
    stats->cycles_before = stats->cycles_after = a.cycles;
    stats->work_before = stats->work_after = work_of(&s, knobs);
    /* the first run was the largest case: a run that takes much longer fails in another way */
    s.max_cycles = a.cycles == 0 ? 0 : a.cycles + a.cycles / 2 + 100000;
    s.cpu_limit = 3 * a.cpu + 2;
    shrink_memo_put(&s, knobs);
    while (!shrink_over(&s) && pass(&s)) {
    }
    if (cfg->live && cfg->log != NULL) {
        fputs("\r\033[K", cfg->log);
    }
    stats->seconds = rep_seconds(CLOCK_MONOTONIC) - s.begin + first;
    stats->failed = s.failed;
    shrink_list_free(&s.list);
    free(s.memo.slot);
    return 0;
}
