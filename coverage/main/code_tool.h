/* code_tool.h - private to the program tandem-cov: its commands about code coverage. */
#ifndef COVERAGE_CODE_TOOL_H
#define COVERAGE_CODE_TOOL_H

#include "../code/code.h"
#include "tool.h"

typedef struct code_options {
    const char *prog;
    const char *output;     /* -o */
    const char *source;     /* --source, --root: the folder that paths of sources begin in */
    const char *waivers;    /* --waivers */
    const char *reasons;    /* --explain: explanations of holes */
    const char *thresholds; /* --thresholds */
    const char *only;       /* --only */
    const char *modules;    /* --modules: folder of the modules that should have points; NULL: "rtl", if there is one */
    uint64_t threads;       /* -j */
    uint64_t holes;         /* --holes: at most so many in a text, 0: all */
    bool json;
    char **files;
    uint32_t file_count;
} code_options;

/* `tandem-cov code ...`; exit status. */
int tool_code(int argc, char **argv);

/* ---- code_view.c: a file prepared for reports ---- */

typedef struct code_group {
    char name[200];
    code_tally tally[CODE_METRICS];
    size_t first, count; /* of a file: its items */
} code_group;

typedef struct code_view {
    code_data data;
    code_items items;
    code_waivers waivers, reasons; /* reasons: explanations of holes */
    code_tally total[CODE_METRICS];
    code_group *units, *files; /* by name */
    size_t unit_count, file_count;
    code_module *empty; /* modules without any point */
    size_t empty_count;
    size_t stale, idle;        /* waivers and explanations that match no hole */
    uint64_t holes, explained; /* lines, arms and bits without a hit, and those of them that have an explanation */
} code_view;

int code_view_open(code_view *view, const code_options *o, cov_error *err);
void code_view_close(code_view *view);
/* Of lines, branches and toggles together. */
code_tally code_view_all(const code_view *view);
/* A hole: items of one line that belong together and have the same explanation. text: "a_q[3..7]", "else". Returns the
 * item behind it; items[from] has no hit and is not waived. */
size_t code_view_hole(const code_view *view, size_t from, size_t end, char *text, size_t size);

/* The explanation of a hole; NULL: it has none. */
const code_waiver *code_view_reason(const code_view *view, const code_item *item);

/* ---- commands ---- */

int code_tool_report(const code_options *o, const code_view *view);
void code_tool_json(FILE *out, const code_view *view);
int code_tool_info(const code_options *o, const code_view *view, FILE *out);
int code_tool_cobertura(const code_options *o, const code_view *view, FILE *out);
int code_tool_html(const code_view *view, const char *source, const char *dir, cov_error *err);
/* Waivers and explanations that are stale, a line each. */
void code_tool_stale(FILE *out, const code_options *o, const code_view *view);
int code_tool_gate(const code_options *o, const code_view *view);
int code_tool_user(const code_options *o, const code_view *view);

/* code_page.c: the page of a source. */
void code_page(const code_view *view, const code_group *file, const code_source *source, FILE *out);
/* "rtl--dma--dma_rd.sv.html" */
void code_page_name(const char *file, char *dst, size_t size);
/* "97.31 %" and "(96.10 % before waivers)" */
void code_put_percent(FILE *out, const code_tally *tally, bool html);

#endif
