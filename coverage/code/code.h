/*
 * code.h - code coverage of sources, from Verilator and from gcov, in files that merge
 * (docs/coverage-code.md).
 *
 * A code_data holds points as the tools count them, sorted and each one once. code_items() derives the scored items:
 * lines, branches (one for each arm), toggles. Waivers exclude items with a reason, explanations give holes a reason
 * and exclude nothing. Functions return cov_status; err has one printable line. No globals; a code_data is for one
 * thread at a time.
 */
#ifndef COVERAGE_CODE_CODE_H
#define COVERAGE_CODE_CODE_H

#include "../cov.h"

/* ---- points ---- */

typedef enum code_kind {
    CODE_BLOCK,   /* Verilator: statements that run together */
    CODE_ARM,     /* an arm of an if or case */
    CODE_LINE,    /* gcov: a line */
    CODE_TOGGLE,  /* a bit of a signal */
    CODE_USER,    /* a cover property */
    CODE_EXPR,    /* a term of an expression (later Verilators) */
    CODE_FUNCTION /* gcov: a function */
} code_kind;
#define CODE_KINDS 7u

typedef struct code_point {
    const char *file;   /* path of the source as the tool names it */
    const char *module; /* without parameters; empty: none */
    const char *name;   /* "if", "else", "case", "block", "a_q[3]", the label of a cover property, a function */
    const char *lines;  /* BLOCK, ARM: "12-15,17", the lines of its statements; else, or without statements: empty */
    uint32_t line, column;
    code_kind kind;
    uint64_t hits; /* saturates at UINT64_MAX */
} code_point;

typedef struct code_data {
    code_point *points; /* by file, line, column, kind, name, lines, module */
    size_t count;
    uint64_t files;  /* merged into it, itself included */
    cov_data memory; /* owner of the texts only */
} code_data;

void code_init(code_data *data);
void code_free(code_data *data);
/* Add a point; its texts are copied. Names and paths are one line of printable text. The data is sorted no more until
 * code_settle(). */
int code_add(code_data *data, const code_point *point, cov_error *err);
/* Sort, and add up points that are the same. */
void code_settle(code_data *data);

/*
 * Verilator's coverage file ("# SystemC::Coverage-3"), in memory: pages v_line, v_branch, v_toggle, v_user and v_expr,
 * hierarchy and parameters of modules folded. Other texts, and pages of other names, are refused.
 */
int code_parse_dat(code_data *data, const char *text, size_t size, const char *name, cov_error *err);
/*
 * gcov over all objects below a build folder. root: the folder that sources' paths are relative to; only: NULL, or
 * "dir,dir": sources elsewhere are left out. COV_IO: there are no objects, or gcov (environment GCOV) cannot be run.
 */
int code_run_gcov(code_data *data, const char *root, const char *build, const char *only, cov_error *err);
/* The same of one document of `gcov --json-format`. */
int code_parse_gcov(code_data *data, const char *json, size_t size, const char *root, const char *only,
                    const char *name, cov_error *err);

/* ---- files ---- */

/* Write under a temporary name, then rename. The data must be settled. */
int code_write(const code_data *data, const char *path, cov_error *err);
/* A file of code_write() or of Verilator. */
int code_read(code_data *data, const char *path, cov_error *err);
/* Write a text of Verilator: to a name that ends in ".code" in our own format, a fortieth of its size, else
 * unchanged. */
int code_save_dat(const char *text, size_t size, const char *path, cov_error *err);
/* The same for programs whose errors are text: 0 or -1. */
int code_save_text(const char *text, size_t size, const char *path, char *err, size_t err_size);
/* Bytes in memory. */
int code_parse(code_data *data, const void *bytes, size_t size, const char *name, cov_error *err);
/* To be freed. */
int code_print(const code_data *data, char **bytes, size_t *size, cov_error *err);
/* All files added up, by `threads` threads; the result does not depend on their order or on the threads. */
int code_merge(code_data *data, char *const *paths, size_t count, unsigned threads, cov_error *err);

/* ---- what is scored ---- */

typedef enum code_metric { CODE_M_LINE, CODE_M_BRANCH, CODE_M_TOGGLE, CODE_M_USER, CODE_M_EXPR } code_metric;
#define CODE_METRICS 5u
#define CODE_SCORED 3u /* only the first three count in totals */
/* "line", "branch", ... */
const char *code_metric_name(code_metric metric);

typedef struct code_item {
    const char *file, *module, *name; /* name: of a line empty */
    uint32_t line, column;
    code_metric metric;
    uint32_t waiver; /* index + 1 of the waiver that excludes it; 0: none */
    uint32_t reason; /* index + 1 of the explanation of a hole; 0: none */
    uint64_t hits;
} code_item;

typedef struct code_items {
    code_item *item; /* by file, metric, line, column, name; texts belong to the data */
    size_t count;
} code_items;

/*
 * A line is hit when a block or arm that has it is; the line of an if when any of its arms is. An arm, a toggle, a
 * cover property is the sum over the instances. To be freed with code_items_free(); the data must outlive them.
 */
int code_items_make(code_items *items, const code_data *data, cov_error *err);
void code_items_free(code_items *items);

typedef struct code_tally {
    uint64_t points, covered, waived;
} code_tally;
/* covered / (points - waived) in percent; 100 where there is nothing. */
double code_percent(const code_tally *tally);
/* covered / points. */
double code_percent_before(const code_tally *tally);
void code_count(code_tally *tally, const code_item *item);

/* The last folder of a source's path: "rtl/x/dma/dma_rd.sv" is of "dma". */
void code_unit(const char *file, char *dst, size_t size);

/* Is it without hit and waiver? */
bool code_is_hole(const code_item *item);

/* ---- sources ---- */

typedef struct code_source {
    char *text;
    const char **line; /* [0]: line 1; without their ends and without blanks at the end */
    uint32_t count;
} code_source;
/* COV_IO: it cannot be read. */
int code_source_read(code_source *source, const char *root, const char *file, cov_error *err);
void code_source_free(code_source *source);
/* Line of a source from 1 up; empty where there is none. */
const char *code_source_line(const code_source *source, uint32_t line);
/* The text of a comment "// KEY: text" on a line, or in the lines of comments right above it. false: there is none, or
 * it is empty. */
bool code_source_note(const code_source *source, uint32_t line, const char *key, char *dst, size_t size);

typedef struct code_module {
    char *file, *name;
} code_module;
/* Modules and packages in *.sv and *.v below root/dir, by file. To be freed with code_modules_free(). */
int code_modules(code_module **modules, size_t *count, const char *root, const char *dir, cov_error *err);
void code_modules_free(code_module *modules, size_t count);

/* ---- waivers and explanations ---- */

typedef enum code_use {
    CODE_WAIVE,  /* reasons why an item needs no hit: "why:" and "check:", how to verify that */
    CODE_EXPLAIN /* why there is a hole: "why:" and "hit:", what would hit it. Its pattern has no '*' */
} code_use;

typedef struct code_waiver {
    char *what, *file, *pattern, *why, *how; /* how: text of "check:" or "hit:" */
    code_metric metric;
    uint32_t line;             /* of its file */
    uint64_t matched, missing; /* items, and those of them without a hit; an explanation: those that it explains */
} code_waiver;

typedef struct code_waivers {
    code_waiver *waiver;
    size_t count;
    code_use use;
} code_waivers;

/* Read a file of waivers or of explanations. COV_BAD_FILE: "file:line: what is wrong". */
int code_waivers_read(code_waivers *waivers, const char *path, code_use use, cov_error *err);
void code_waivers_free(code_waivers *waivers);
/*
 * Mark the items that they match and that have no hit: as waived, or as explained if neither waived nor explained by an
 * entry above. root: where sources are. An entry that is stale has missing == 0. A source that cannot be read is an
 * error where an entry matches its text.
 */
int code_waive(code_waivers *waivers, code_items *items, const char *root, cov_error *err);
/* Does a text match a pattern: '*' is any text, "[3..7]" one of the indices [3] to [7]? */
bool code_match(const char *pattern, const char *text);

#endif
