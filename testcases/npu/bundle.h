/*
 * bundle.h - private to the program `tandem`: the NPU's part of a report of a failure (tb/prog/report.h).
 */
#ifndef TESTCASES_BUNDLE_H
#define TESTCASES_BUNDLE_H

#include "cli.h"
#include "explain.h"

/* tb_report.more */
typedef struct npu_bundle {
    npu_explain ex;
    uint32_t task; /* the task that the failure concerns, or NPU_EX_NONE */
} npu_bundle;

static inline const npu_bundle *npu_bundle_of(const tb_report *r) {
    return (const npu_bundle *)r->more;
}

/* "GEMM task 3" */
void bundle_task_name(const tb_report *r, uint32_t task, char *dst, size_t size);
/* Wrong elements of a task: "12 of 96 elements, channels 1..3, rows 0..4, columns 0..4". */
void bundle_extent_line(const tb_report *r, uint32_t task, char *dst, size_t size);
/* One wrong element: place, got, expected. */
void bundle_wrong_line(const tb_report *r, const npu_ex_wrong *w, char *dst, size_t size);
/* Its two values as text, each of `size` bytes. */
void bundle_wrong_values(const tb_report *r, const npu_ex_wrong *w, char *got, char *expected, size_t size);

typedef void bundle_register(void *ctx, const char *name, uint32_t offset, uint32_t value, bool changed,
                             const char *meaning);
/* The registers that a task was started with; changed: it differs from the previous task of the unit. */
void bundle_each_register(const tb_report *r, uint32_t task, bundle_register *each, void *ctx);

/* Sections and files. */
void bundle_text(const tb_report *r, FILE *out, bool full);
void bundle_html(const tb_report *r, FILE *out);
void bundle_registers_txt(const tb_report *r, FILE *out);
void bundle_wrong_txt(const tb_report *r, FILE *out);
extern const char bundle_style[];

#endif
