/* bundle_text.c - the NPU's part of a report as text: output elements, register program, and their lists. */
#include "bundle.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
static void meaning(const tb_report *r, const char *name, uint32_t offset, uint32_t value, char *dst, size_t size) {
    const npu_bundle *b = npu_bundle_of(r);
    const size_t n = strlen(name);
    if (n > 5 && strcmp(name + n - 5, "_ADDR") == 0) {
        npu_explain_where(&b->ex, value, dst, size);
    } else {
        npu_explain_fields(offset, value, dst, size);
    }
}

/* The previous task of the same unit, or NULL. */
static const npu_ex_task *task_before(const npu_explain *ex, uint32_t task) {
    for (uint32_t i = task; i-- > 0;) {
        if (ex->task[i].unit == ex->task[task].unit) {
            return &ex->task[i];
        }
    }
    return NULL;
}

void bundle_each_register(const tb_report *r, uint32_t task, bundle_register *each, void *ctx) {
    const npu_bundle *b = npu_bundle_of(r);
    const npu_ex_task *t = &b->ex.task[task];
    const npu_ex_task *before = task_before(&b->ex, task);
    for (uint32_t offset = 0; offset < 4 * NPU_EX_REGS; offset += 4) {
        char scratch[16], text[256];
        const char *name = task_reg(t->unit, offset, scratch, sizeof scratch);
        if (name != NULL) {
            const uint32_t value = t->regs[offset / 4];
            meaning(r, name, offset, value, text, sizeof text);
            each(ctx, name, offset, value, before != NULL && before->regs[offset / 4] != value, text);
        }
    }
}

static void print_register(void *ctx, const char *name, uint32_t offset, uint32_t value, bool changed,
                           const char *text) {
    if (value == 0 && !changed) {
        return;
    }
    fprintf((FILE *)ctx, "  %c %-18s 0x%03x  0x%08x  %s\n", changed ? '*' : ' ', name, offset, value, text);
}

static void print_program(const tb_report *r, uint32_t task, FILE *out) {
    const npu_bundle *b = npu_bundle_of(r);
    char name[48];
    bundle_task_name(r, task, name, sizeof name);
    fprintf(out,
            "%s, started at cycle %" PRIu64
            " (* differs from the previous task; registers that are not listed are 0)\n",
            name, b->ex.task[task].cycle);
    bundle_each_register(r, task, print_register, out);
}

void bundle_registers_txt(const tb_report *r, FILE *out) {
    const npu_bundle *b = npu_bundle_of(r);
    if (b->task < b->ex.tasks) {
        print_program(r, b->task, out);
    } else {
        fputs("no task was started\n", out);
    }
    fprintf(out, "\nall %zu register writes, in order: cycle, register, offset, value\n", b->ex.writes);
    for (size_t i = 0; i < b->ex.writes; i++) {
        const npu_ex_write *w = &b->ex.write[i];
        char scratch[16], text[256], task[48];
        const char *name = npu_explain_reg(w->offset, scratch, sizeof scratch);
        meaning(r, name, w->offset, w->value, text, sizeof text);
        fprintf(out, "%10" PRIu64 "  %-18s 0x%03x  0x%08x  %s", w->cycle, name, w->offset, w->value, text);
        if (w->task != NPU_EX_NONE) {
            bundle_task_name(r, w->task, task, sizeof task);
            fprintf(out, "  -> starts %s", task);
        }
        fputs("\n", out);
    }
    if (r->story->oom) {
        fputs("(the list is not complete: out of memory, or too many)\n", out);
    }
}

/* ---- wrong elements ---- */

void bundle_wrong_txt(const tb_report *r, FILE *out) {
    const npu_bundle *b = npu_bundle_of(r);
    if (!b->ex.compared) {
        fputs("not available: RTL and model were not compared\n", out);
        return;
    }
    fprintf(out, "%" PRIu64 " wrong elements in %" PRIu64 " bytes; %zu are listed\n", b->ex.wrong_elements,
            b->ex.wrong_bytes, b->ex.wrongs);
    for (size_t i = 0; i < b->ex.wrongs; i++) {
        char line[256];
        bundle_wrong_line(r, &b->ex.wrong[i], line, sizeof line);
        fprintf(out, "%s\n", line);
    }
}

/* ---- sections ---- */

static void print_outputs(const tb_report *r, FILE *out, unsigned tasks, unsigned elements) {
    const npu_bundle *b = npu_bundle_of(r);
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
        bundle_task_name(r, i, name, sizeof name);
        bundle_extent_line(r, i, line, sizeof line);
        fprintf(out, "  %s: %s\n", name, line);
    }
    if (more > 0) {
        fprintf(out, "  and %u more tasks\n", more);
    }
    for (size_t i = 0; i < b->ex.wrongs && i < elements; i++) {
        bundle_wrong_line(r, &b->ex.wrong[i], line, sizeof line);
        fprintf(out, "    %s\n", line);
    }
}

void bundle_text(const tb_report *r, FILE *out, bool full) {
    const npu_bundle *b = npu_bundle_of(r);
    char name[48];
    print_outputs(r, out, full ? FULL_TASKS : SCREEN_TASKS, full ? FULL_WRONG : SCREEN_WRONG);
    if (b->task < b->ex.tasks && full) {
        fputs("\nRegisters of ", out);
        print_program(r, b->task, out);
    } else if (b->task < b->ex.tasks) {
        bundle_task_name(r, b->task, name, sizeof name);
        fprintf(out, "\nTask      %s of %zu tasks, started at cycle %" PRIu64 "\n", name, b->ex.tasks,
                b->ex.task[b->task].cycle);
    }
    if (full && b->ex.bufs_from > 0) {
        fprintf(out, "\nNames of buffers hold from cycle %" PRIu64 " on.\n", b->ex.bufs_from);
    }
}
