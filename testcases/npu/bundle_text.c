/* bundle_text.c - the report and the lists of a bundle as text. */
#include "bundle.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SCREEN_CHECKS 4u
#define SCREEN_TASKS 3u
#define SCREEN_WRONG 3u
#define FULL_WRONG 20u
#define FULL_TASKS 12u

/* ---- registers ---- */

/* A register that a task of the unit reads: its name, or NULL. */
static const char *task_reg(unsigned unit, uint32_t offset, char *scratch, size_t size) {
    const char *name = npu_explain_reg(offset, scratch, size);
    const char *prefix = npu_explain_unit(unit);
    const size_t n = strlen(prefix);
    const bool of_unit = strncmp(name, prefix, n) == 0 && name[n] == '_';
    return of_unit && strcmp(name + n, "_COUNT") != 0 && strcmp(name + n, "_RESULT") != 0 ? name : NULL;
}

/* Meaning of a value: fields, and the buffer that an address points into. */
static void meaning(const struct bundle *b, const char *name, uint32_t offset, uint32_t value, char *dst, size_t size) {
    const size_t n = strlen(name);
    if (n > 5 && strcmp(name + n - 5, "_ADDR") == 0) {
        npu_explain_where(&b->ex, value, dst, size);
    } else {
        npu_explain_fields(offset, value, dst, size);
    }
}

/* The task of the same unit before this one, or NULL. */
static const npu_ex_task *task_before(const npu_explain *ex, uint32_t task) {
    for (uint32_t i = task; i-- > 0;) {
        if (ex->task[i].unit == ex->task[task].unit) {
            return &ex->task[i];
        }
    }
    return NULL;
}

void bundle_each_register(const struct bundle *b, uint32_t task, bundle_register *each, void *ctx) {
    const npu_ex_task *t = &b->ex.task[task];
    const npu_ex_task *before = task_before(&b->ex, task);
    for (uint32_t offset = 0; offset < 4 * NPU_EX_REGS; offset += 4) {
        char scratch[16], text[256];
        const char *name = task_reg(t->unit, offset, scratch, sizeof scratch);
        if (name != NULL) {
            const uint32_t value = t->regs[offset / 4];
            meaning(b, name, offset, value, text, sizeof text);
            each(ctx, name, offset, value, before != NULL && before->regs[offset / 4] != value, text);
        }
    }
}

static void print_register(void *ctx, const char *name, uint32_t offset, uint32_t value, bool changed, const char *text) {
    if (value == 0 && !changed) {
        return;
    }
    fprintf((FILE *)ctx, "  %c %-18s 0x%03x  0x%08x  %s\n", changed ? '*' : ' ', name, offset, value, text);
}

static void print_program(const struct bundle *b, uint32_t task, FILE *out) {
    char name[48];
    bundle_task_name(b, task, name, sizeof name);
    fprintf(out, "%s, started at cycle %" PRIu64 " (* differs from the task before it; those that are not listed are 0)\n", name,
            b->ex.task[task].cycle);
    bundle_each_register(b, task, print_register, out);
}

void bundle_registers_txt(const struct bundle *b, FILE *out) {
    if (b->task < b->ex.tasks) {
        print_program(b, b->task, out);
    } else {
        fputs("no task was started\n", out);
    }
    fprintf(out, "\nall %zu register writes, in order: cycle, register, offset, value\n", b->ex.writes);
    for (size_t i = 0; i < b->ex.writes; i++) {
        const npu_ex_write *w = &b->ex.write[i];
        char scratch[16], text[256], task[48];
        const char *name = npu_explain_reg(w->offset, scratch, sizeof scratch);
        meaning(b, name, w->offset, w->value, text, sizeof text);
        fprintf(out, "%10" PRIu64 "  %-18s 0x%03x  0x%08x  %s", w->cycle, name, w->offset, w->value, text);
        if (w->task != NPU_EX_NONE) {
            bundle_task_name(b, w->task, task, sizeof task);
            fprintf(out, "  -> starts %s", task);
        }
        fputs("\n", out);
    }
    if (b->ex.oom) {
        fputs("(the list is not complete: out of memory, or too many)\n", out);
    }
}

/* ---- bus ---- */

static void print_burst(const struct bundle *b, const tb_axi_log *log, const tb_axi_burst *burst, FILE *out) {
    char text[256], where[64] = "";
    tb_axi_burst_text(log, burst, text, sizeof text);
    if (burst->has_addr && log != &b->ex.axi[0]) {
        npu_explain_where(&b->ex, burst->addr, where, sizeof where);
    }
    const bool now = tb_axi_burst_during(burst, b->look, b->look);
    fprintf(out, "%c %-4s %s%s%s%s\n", now ? '>' : ' ', log->name, text, where[0] != '\0' ? " (" : "", where, where[0] != '\0' ? ")" : "");
}

void bundle_axi_txt(const struct bundle *b, FILE *out) {
    if (!b->ex.has_rtl) {
        fputs("not available: no RTL took part\n", out);
        return;
    }
    fprintf(out, "> in flight at cycle %" PRIu64 "\n", b->look);
    if (b->ex.bufs_from > 0) {
        fprintf(out, "names of buffers hold from cycle %" PRIu64 " on\n", b->ex.bufs_from);
    }
    for (unsigned p = 0; p < NPU_EX_PORTS; p++) {
        const tb_axi_log *log = &b->ex.axi[p];
        const uint64_t first = tb_axi_log_first(log);
        fprintf(out, "\nport %s: %" PRIu64 " transactions", log->name, log->count);
        fprintf(out, first > 0 ? ", the last %" PRIu64 " of them\n" : "\n", log->count - first);
        for (uint64_t i = first; i < log->count; i++) {
            print_burst(b, log, tb_axi_log_get(log, i), out);
        }
        if (log->strays > 0) {
            fprintf(out, "%" PRIu64 " responses or beats of read data belong to none of them\n", log->strays);
        }
    }
}

/* ---- wrong elements ---- */

void bundle_wrong_txt(const struct bundle *b, FILE *out) {
    if (!b->ex.compared) {
        fputs("not available: RTL and model were not compared\n", out);
        return;
    }
    fprintf(out, "%" PRIu64 " wrong elements in %" PRIu64 " bytes; %zu are listed\n", b->ex.wrong_elements, b->ex.wrong_bytes,
            b->ex.wrongs);
    for (size_t i = 0; i < b->ex.wrongs; i++) {
        char line[256];
        bundle_wrong_line(b, &b->ex.wrong[i], line, sizeof line);
        fprintf(out, "%s\n", line);
    }
}

/* ---- the report ---- */

static void print_streams(const struct bundle *b, FILE *out, unsigned max) {
    if (b->no_tensors[0] != '\0') {
        fprintf(out, "  streams of the tasks: %s\n", b->no_tensors);
        return;
    }
    for (size_t i = 0; i < b->streams && i < max; i++) {
        const bundle_stream *s = &b->stream[i];
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
    if (b->streams_wrong > 0 && bundle_cut_short(b)) {
        fprintf(out, "  (the run ended at cycle %" PRIu64 ": in these streams, what had not come by then counts as wrong)\n", b->ex.cycles);
    }
    if (b->streams_wrong > max) {
        fprintf(out, "  and %zu more streams\n", b->streams_wrong - max);
    } else if (b->streams_wrong == 0) {
        fprintf(out, "  streams of the tasks: all %zu are equal\n", b->streams_all);
    }
}

static void print_spread(const struct bundle *b, FILE *out, unsigned max) {
    char line[700];
    fputs("\nHow it spread\n", out);
    const size_t first = b->check != NULL ? 1 : 0;
    for (size_t i = first; i < b->ex.checks && i < first + max; i++) {
        bundle_check_line(&b->ex.check[i], line, sizeof line);
        fprintf(out, "  %s\n", line);
    }
    if (b->ex.checks > first + max) {
        fprintf(out, "  and %zu more units\n", b->ex.checks - first - max);
    }
    if (b->culprit != NULL) {
        tb_axi_burst_text(&b->ex.axi[b->culprit_port], b->culprit, line, sizeof line);
        fprintf(out, "  %s brought the first wrong element: %s\n", b->ex.axi[b->culprit_port].name, line);
    }
    print_streams(b, out, max);
    for (uint64_t i = 0; i < b->ex.rules && i < 4 && i < max; i++) {
        fprintf(out, "  bus: %s\n", b->ex.rule[i]);
    }
    bundle_end_line(b, line, sizeof line);
    if (strcmp(line, b->result->message) == 0) {
        return; /* that is the headline */
    }
    fprintf(out, "  cycle %" PRIu64 ": %s\n", b->ex.cycles, line);
}

static void print_outputs(const struct bundle *b, FILE *out, unsigned tasks, unsigned elements) {
    char line[256], name[48];
    unsigned shown = 0, more = 0;
    fputs("\nOutput elements\n", out);
    if (!b->ex.compared) {
        fputs("  not available: RTL and model were not compared\n", out);
        return;
    }
    if (b->ex.wrong_elements == 0) {
        fputs("  all are right\n", out);
    }
    for (uint32_t i = 0; i < b->ex.tasks; i++) {
        const npu_ex_task *t = &b->ex.task[i];
        if (t->wrong + t->missing == 0) {
            continue;
        }
        if (shown++ >= tasks) {
            more++;
            continue;
        }
        bundle_task_name(b, i, name, sizeof name);
        bundle_extent_line(b, i, line, sizeof line);
        fprintf(out, "  %s: %s\n", name, line);
    }
    if (more > 0) {
        fprintf(out, "  and %u more tasks\n", more);
    }
    for (size_t i = 0; i < b->ex.wrongs && i < elements; i++) {
        bundle_wrong_line(b, &b->ex.wrong[i], line, sizeof line);
        fprintf(out, "    %s\n", line);
    }
}

static void print_window(const struct bundle *b, FILE *out) {
    uint64_t from, to;
    bundle_window(b, &from, &to);
    fprintf(out, "\nBus, cycles %" PRIu64 " to %" PRIu64 " (> in flight at cycle %" PRIu64 "; all in axi.txt)\n", from, to, b->look);
    for (unsigned p = 0; p < NPU_EX_PORTS; p++) {
        const tb_axi_log *log = &b->ex.axi[p];
        for (uint64_t i = tb_axi_log_first(log); i < log->count; i++) {
            if (tb_axi_burst_during(tb_axi_log_get(log, i), from, to)) {
                print_burst(b, log, tb_axi_log_get(log, i), out);
            }
        }
    }
}

/* What tensors/ had no room for. */
static void print_left(const struct bundle *b, FILE *out, bool full) {
    char line[400];
    bundle_left_line(b, line, sizeof line);
    if (line[0] == '\0') {
        return;
    }
    fprintf(out, "\nLeft out  %s%s\n", line, full ? "" : "; report.txt names them");
    for (size_t i = 0; full && i < b->lefts; i++) {
        bundle_left_stream(&b->left[i], line, sizeof line);
        fprintf(out, "  %s\n", line);
    }
}

static void print_places(const struct bundle *b, FILE *out) {
    fprintf(out, "\nAgain     %s\nReport    %s/report.html\n", b->again, b->dir);
    if (b->has_wave) {
        fprintf(out, "Waveform  %s/wave.fst\n", b->dir);
    } else {
        fprintf(out, "Waveform  none: %s\n", b->no_wave);
    }
}

void bundle_report_txt(const struct bundle *b, FILE *out, bundle_text how) {
    const bool full = how == BUNDLE_FULL;
    char name[48];
    fprintf(out, "\n%s\n", b->headline);
    if (b->check != NULL) {
        fprintf(out, "  in %s, task %" PRIu64 ", transaction %" PRIu64 "\n", b->check->path, b->check->task, b->check->transaction);
    } else if (b->ex.has_rtl) {
        fprintf(out, "  at cycle %" PRIu64 "; %s\n", b->cycle, bundle_checks_text(b));
    }
    if (!b->same) {
        fputs("  A second run did not fail in the same way: what follows is from the second run.\n", out);
    }
    if (full && b->first->hang != NULL) {
        fprintf(out, "\n%s", b->first->hang);
    }
    print_spread(b, out, full ? TB_CHECK_KEEP : SCREEN_CHECKS);
    print_outputs(b, out, full ? FULL_TASKS : SCREEN_TASKS, full ? FULL_WRONG : SCREEN_WRONG);
    if (b->task < b->ex.tasks && full) {
        fputs("\nRegisters of ", out);
        print_program(b, b->task, out);
    } else if (b->task < b->ex.tasks) {
        bundle_task_name(b, b->task, name, sizeof name);
        fprintf(out, "\nTask      %s of %zu tasks, started at cycle %" PRIu64 "\n", name, b->ex.tasks, b->ex.task[b->task].cycle);
    }
    if (full && b->ex.has_rtl) {
        print_window(b, out);
    }
    print_left(b, out, full);
    print_places(b, out);
    if (full) {
        fputs("\n", out);
        bundle_versions(b, out);
    }
}
