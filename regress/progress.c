/* progress.c - the live line on a terminal and the failure lines everywhere. */
#define _GNU_SOURCE
#include "schedule.h"

#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DRAW_INTERVAL_S 0.2
#define SLOW_S 5.0
#define LINE_INTERVAL_S 60.0 /* where there is no terminal */

static size_t terminal_columns(void) {
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

void reg_progress_clear(reg_progress *progress) {
    if (progress->drawn) {
        fputs("\r\033[K", stdout);
        progress->drawn = false;
    }
}

bool reg_progress_due(const reg_progress *progress) {
    const double since = progress->last_draw > 0 ? progress->last_draw : progress->started;
    return reg_now() - since >= (progress->terminal ? DRAW_INTERVAL_S : LINE_INTERVAL_S);
}

/* "  built 12 of 212: CXX top (n32-tap) 41 s", with what is compiled at the moment, and for how long when it takes
 * long; empty when nothing is built. */
static void building(const reg_progress *progress, char *out, size_t size) {
    const char *now = progress->now;
    const double since = reg_now() - progress->now_since;
    char seconds[16] = "";
    out[0] = '\0';
    if (now != NULL && now[0] != '\0' && since >= SLOW_S) {
        (void)reg_format(seconds, sizeof seconds, " %.0f s", since);
    }
    if (progress->built < progress->asked) {
        (void)reg_format(out, size, "  built %zu of %zu%s%s%s", progress->built, progress->asked,
                         now != NULL && now[0] != '\0' ? ": " : "", now != NULL ? now : "", seconds);
    }
}

void reg_progress_draw(reg_progress *progress) {
    const double now = reg_now();
    progress->last_draw = now;
    double elapsed = now - progress->started;
    char eta[48] = "";
    const size_t fresh = progress->done - progress->before;
    if (progress->left_s >= 0 && progress->done < progress->total) {
        unsigned seconds = (unsigned)(progress->left_s + 0.5);
        (void)reg_format(eta, sizeof eta, "  eta %u:%02u", seconds / 60, seconds % 60);
    }
    char host[48] = "";
    if (progress->host != 0) {
        (void)reg_format(host, sizeof host, "  %zu kept from running", progress->host);
    }
    char built[112];
    char line[336];
    building(progress, built, sizeof built);
    (void)reg_format(line, sizeof line, "[%zu/%zu] %zu failed%s  %.1f jobs/s  %u:%02u%s%s%s", progress->done,
                     progress->total, progress->failed, host, elapsed > 0 ? (double)fresh / elapsed : 0.0,
                     (unsigned)elapsed / 60, (unsigned)elapsed % 60, eta, progress->note, built);
    size_t columns = terminal_columns();
    if (progress->terminal && strlen(line) >= columns) {
        line[columns - 1] = '\0';
    }
    printf(progress->terminal ? "\r\033[K%s" : "%s\n", line);
    (void)fflush(stdout);
    progress->drawn = progress->terminal;
}

void reg_progress_failure(reg_progress *progress, const reg_job *job, const reg_result *result) {
    if (progress->quiet && strcmp(result->outcome, "host") != 0) {
        return;
    }
    reg_progress_clear(progress);
    const char *red = progress->terminal ? "\033[31m" : "";
    const char *plain = progress->terminal ? "\033[0m" : "";
    printf("%s%s%s %s %s %s-%s", red, result->outcome, plain, reg_what_name(job->what), job->name, job->cfg, job->kind);
    if (reg_has_cases(job->what)) {
        printf(" index %" PRIu64, job->index);
    }
    printf(": %s | %s\n", result->message, result->repro);
    (void)fflush(stdout);
}
