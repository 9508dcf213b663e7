/* tool.h - private to the program tandem-cov. */
#ifndef COVERAGE_TOOL_H
#define COVERAGE_TOOL_H

#include "../cov.h"
#include "report/report.h"

typedef struct tool {
    const char *prog;
    bool json;
    const char *output;     /* -o */
    const char *like;       /* merge --like */
    const char *html;       /* report --html */
    const char *thresholds; /* gate */
    const char *code;       /* summary, index: JSON of code report */
    const char *trend;      /* index: JSON of tandem-regress query coverage */
    const char *gates;      /* index: array of the JSON of gates */
    struct {                /* plan */
        const char *cfg, *kind, *tried;
        uint32_t jobs, cases, round, give_up, random;
    } plan;
    char **files; /* sorted where their order must not matter */
    uint32_t file_count;
} tool;

/* Commands: exit status. */
int tool_merge(const tool *t);
int tool_report(const tool *t);
int tool_diff(const tool *t);
int tool_rank(const tool *t);
int tool_plan(const tool *t);
int tool_gate(const tool *t);
int tool_summary(const tool *t);
int tool_index(const tool *t);

/* One line on stderr; exit status 1. */
int tool_error(const tool *t, const char *text);
/* The same for a wrong argument; exit status 2. */
int tool_refuse(const tool *t, const char *what, const char *arg);

/* ---- walk.c: everything that has counters, one after the other ---- */

/* A bin or a cell. */
typedef struct tool_item {
    const cov_data_group *group;
    const cov_data_point *point; /* or NULL */
    const cov_data_cross *cross; /* or NULL */
    uint32_t index;              /* of the bin or of the cell */
    cov_role role;
    uint64_t hits;
    uint32_t goal;
    bool partial;
    const char *why; /* never NULL */
} tool_item;

typedef void (*tool_item_fn)(void *ctx, const cov_data *data, const tool_item *item);
/* Items of a group (NULL: of all). Cells that no description has are left out. */
void tool_walk(const cov_data *data, const cov_data_group *group, tool_item_fn fn, void *ctx);
/* "group.point.bin", "group.cross.(a, b)" */
void tool_item_name(const tool_item *item, char *dst, size_t size);
void tool_item_hint(const tool_item *item, char *dst, size_t size);

/* ---- thresholds.c ---- */

#define TOOL_NAME_BYTES 200
/* A threshold, not negative. COV_BAD_FILE: err names the error, by default a bad number. */
typedef int tool_judge(void *ctx, const char *name, double limit, cov_error *err);
/* The thresholds of a file, one by one; the error names the line. */
int tool_thresholds(const char *path, tool_judge *judge, void *ctx, cov_error *err);

/* ---- put.c ---- */

/* The result of a function of report.h for a file, with a line in err: COV_OK or COV_IO. */
int tool_told(int error, const char *path, cov_error *err);
/* {"percent": .., "total": .., "covered": .., "illegal": .., "ignored": ..} without the braces. */
void put_score(FILE *out, const cov_score *score);

/* report_json.c */
void tool_report_json(const cov_data *data, FILE *out);
/* html.c, html_group.c: pages into a folder, which is made when it does not exist. COV_IO with a line. */
int tool_html(const cov_data *data, const char *dir, cov_error *err);
void html_group_page(const cov_data *data, const cov_data_group *group, FILE *out);
/* Name of a group's page. */
void html_page_name(const cov_data_group *group, char *dst, size_t size);
/* Begin a page with its heading; style: rules of this page, or NULL. */
void html_begin(FILE *out, const char *title, const char *style);
/* Write a file of a folder ("": this one) through a function. COV_IO with a line. */
int tool_write(const char *dir, const char *name, void (*fn)(FILE *out, const void *ctx), const void *ctx,
               cov_error *err);
/* A share as a bar and a number. */
void html_meter(FILE *out, const cov_score *score);

#endif
