/* report_text.c - a report and its list of bus transactions as text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report.h"
#include "report/bundle.h"

#define SCREEN_CHECKS 4u

/* ---- bus ---- */

static void print_burst(const tb_report *r, unsigned port, const tb_axi_burst *burst, FILE *out) {
    const tb_axi_log *log = &r->story->port[port].log;
    char text[256], where[64] = "";
    tb_axi_burst_text(log, burst, text, sizeof text);
    if (!r->story->port[port].registers) {
        tb_report_where(r, port, burst, where, sizeof where);
    }
    const bool now = tb_axi_burst_during(burst, r->look, r->look);
    fprintf(out, "%c %-4s %s%s%s%s\n", now ? '>' : ' ', log->name, text, where[0] != '\0' ? " (" : "", where,
            where[0] != '\0' ? ")" : "");
}

void tb_report_axi(const tb_report *r, FILE *out) {
    if (!r->story->has_rtl || r->story->ports == 0) {
        fprintf(out, "not available: %s\n", r->story->has_rtl ? "the design has no buses" : "no RTL took part");
        return;
    }
    fprintf(out, "> in flight at cycle %" PRIu64 "\n", r->look);
    for (unsigned p = 0; p < r->story->ports; p++) {
        const tb_axi_log *log = &r->story->port[p].log;
        const uint64_t first = tb_axi_log_first(log);
        fprintf(out, "\nport %s: %" PRIu64 " transactions", log->name, log->count);
        fprintf(out, first > 0 ? ", the last %" PRIu64 " of them\n" : "\n", log->count - first);
        for (uint64_t i = first; i < log->count; i++) {
            print_burst(r, p, tb_axi_log_get(log, i), out);
        }
        if (log->strays > 0) {
            fprintf(out, "%" PRIu64 " responses or beats of read data belong to none of them\n", log->strays);
        }
    }
}

/* ---- the report ---- */

static void print_streams(const tb_report *r, FILE *out, unsigned max) {
    if (!r->o->prog->dumps) {
        return;
    }
    if (r->no_streams[0] != '\0') {
        fprintf(out, "  streams of the tasks: %s\n", r->no_streams);
        return;
    }
    for (size_t i = 0; i < r->streams && i < max; i++) {
        const tb_report_stream *s = &r->stream[i];
        char task[32] = "";
        if (s->task != UINT64_MAX) {
            snprintf(task, sizeof task, " of task %" PRIu64, s->task);
        }
        if (s->missing) {
            fprintf(out, "  %s%s: %s\n", s->name, task, s->first);
            continue;
        }
        fprintf(out, "  %s%s: %" PRIu64 " of %" PRIu64 " wrong, first %s", s->name, task, s->wrong, s->total, s->first);
        fprintf(out, s->got[0] != '\0' ? ": got %s, expected %s\n" : "\n", s->got, s->expected);
    }
    if (r->streams_wrong > 0 && tb_report_cut_short(r)) {
        fprintf(out,
                "  (the run ended at cycle %" PRIu64
                ": in these streams, elements not written by then count as wrong)\n",
                r->story->cycles);
    }
    if (r->streams_wrong > max) {
        fprintf(out, "  and %zu more streams\n", r->streams_wrong - max);
    } else if (r->streams_wrong == 0 && r->streams_all > 0) {
        fprintf(out, "  streams of the tasks: all %zu are equal\n", r->streams_all);
    }
}

static void print_spread(const tb_report *r, FILE *out, unsigned max) {
    char line[700];
    fputs("\nHow it spread\n", out);
    const size_t first = r->check != NULL ? 1 : 0;
    for (size_t i = first; i < r->story->checks && i < first + max; i++) {
        tb_report_check_line(&r->story->check[i], line, sizeof line);
        fprintf(out, "  %s\n", line);
    }
    if (r->story->checks > first + max) {
        fprintf(out, "  and %zu more units\n", r->story->checks - first - max);
    }
    if (r->culprit != NULL) {
        tb_axi_burst_text(&r->story->port[r->culprit_port].log, r->culprit, line, sizeof line);
        fprintf(out, "  %s brought the first wrong element: %s\n", r->story->port[r->culprit_port].log.name, line);
    }
    print_streams(r, out, max);
    for (uint64_t i = 0; i < r->story->rules && i < 4 && i < max; i++) {
        fprintf(out, "  bus: %s\n", r->story->rule[i]);
    }
    tb_report_end_line(r, line, sizeof line);
    if (strcmp(line, r->result->message) == 0) {
        return; /* that is the headline */
    }
    fprintf(out, "  cycle %" PRIu64 ": %s\n", r->story->cycles, line);
}

static void print_window(const tb_report *r, FILE *out) {
    uint64_t from, to;
    tb_report_window(r, &from, &to);
    fprintf(out, "\nBus, cycles %" PRIu64 " to %" PRIu64 " (> in flight at cycle %" PRIu64 "; all in axi.txt)\n", from,
            to, r->look);
    for (unsigned p = 0; p < r->story->ports; p++) {
        const tb_axi_log *log = &r->story->port[p].log;
        for (uint64_t i = tb_axi_log_first(log); i < log->count; i++) {
            if (tb_axi_burst_during(tb_axi_log_get(log, i), from, to)) {
                print_burst(r, p, tb_axi_log_get(log, i), out);
            }
        }
    }
}

/* Streams left out of tensors/. */
static void print_left(const tb_report *r, FILE *out, bool full) {
    char line[400];
    tb_report_left_line(r, line, sizeof line);
    if (line[0] == '\0') {
        return;
    }
    fprintf(out, "\nLeft out  %s%s\n", line, full ? "" : "; report.txt names them");
    for (size_t i = 0; full && i < r->lefts; i++) {
        tb_report_left_stream(&r->left[i], line, sizeof line);
        fprintf(out, "  %s\n", line);
    }
}

static void print_places(const tb_report *r, FILE *out) {
    fprintf(out, "\nRepeat    %s\nReport    %s/" REP_BUNDLE_PAGE "\n", r->again, r->dir);
    if (r->has_wave) {
        fprintf(out, "Waveform  %s/" REP_BUNDLE_WAVE "\n", r->dir);
    } else {
        fprintf(out, "Waveform  none: %s\n", r->no_wave);
    }
}

void tb_report_text(const tb_report *r, FILE *out, bool full) {
    fprintf(out, "\n%s\n", r->headline);
    if (r->check != NULL) {
        fprintf(out, "  in %s, task %" PRIu64 ", transaction %" PRIu64 "\n", r->check->path, r->check->task,
                r->check->transaction);
    } else if (r->story->has_rtl) {
        fprintf(out, "  at cycle %" PRIu64 "; %s\n", r->cycle, tb_report_checks_text(r));
    }
    if (!r->same) {
        fputs("  A second run did not fail in the same way: what follows is from the second run.\n", out);
    }
    if (full && r->first->hang != NULL) {
        fprintf(out, "\n%s", r->first->hang);
    }
    print_spread(r, out, full ? TB_CHECK_KEEP : SCREEN_CHECKS);
    if (r->ops != NULL && r->ops->text != NULL) {
        r->ops->text(r, out, full);
    }
    if (full && r->story->ports > 0) {
        print_window(r, out);
    }
    print_left(r, out, full);
    print_places(r, out);
    if (full) {
        fputs("\n", out);
        tb_report_versions(r, out);
    }
}
