/*
 * cov.h - functional coverage: covergroups described by static tables, sampled into counters, kept in files that merge.
 *
 * A description (cov_group) is a table of coverpoints and crosses. cov_open() checks it and compiles it; cov_instance()
 * returns an object to be sampled. cov_write() stores names and counts, so that the tool `tandem-cov` merges, reports
 * and ranks files without the description (docs/coverage.md). There are no globals: everything belongs to a cov_db or
 * to a cov_data, and both belong to the caller. Not for several threads at a time.
 */
#ifndef COVERAGE_COV_H
#define COVERAGE_COV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum cov_status {
    COV_OK = 0,
    COV_BAD_MODEL, /* a description is wrong */
    COV_BAD_FILE,  /* a coverage file is damaged */
    COV_CONFLICT,  /* two files use one name for different items */
    COV_IO,        /* a file cannot be read or written */
    COV_NO_MEMORY
} cov_status;

/* One printable line that says what is wrong. */
typedef struct cov_error {
    char text[400];
} cov_error;
/* Fill it; returns `status`. */
int cov_fail(cov_error *err, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- descriptions ---- */

#define COV_MIN INT64_MIN /* lower end of a range without a lower end */
#define COV_MAX INT64_MAX /* upper end of a range without an upper end */
#define COV_NONE                                                                                                       \
    INT64_MIN /* as a sample: the coverpoint has no value this time; its crosses are not counted either                \
               */

/* Limits of a description. */
#define COV_CROSS_MAX 4u        /* coverpoints of a cross */
#define COV_STEPS_MAX 8u        /* bins of a transition */
#define COV_BINS_MAX 4096u      /* bins of a coverpoint */
#define COV_CELLS_MAX 65536u    /* cells of a cross */
#define COV_RULES_MAX 250u      /* rules of a cross */
#define COV_COUNTS_MAX 4194304u /* counters of a file */

typedef enum cov_kind {
    COV_KIND_RANGE,  /* lo .. hi */
    COV_KIND_EACH,   /* a bin for each value of lo .. hi, named by it */
    COV_KIND_POW2,   /* bins 1, 2..3, 4..7 and so on that cover lo .. hi; lo > 0 is the start of the first one */
    COV_KIND_SET,    /* the values of `set` */
    COV_KIND_NAMES,  /* value i has the name names[i]; NULL: no bin */
    COV_KIND_MASK,   /* values from 0 up with (value & lo) == hi */
    COV_KIND_STEPS,  /* bins of this coverpoint one after the other: "idle => busy => idle" */
    COV_KIND_DEFAULT /* all values in no other bin */
} cov_kind;

typedef enum cov_role {
    COV_COUNTED,
    COV_ILLEGAL, /* a hit is an error, which cov_sample() returns */
    COV_IGNORED  /* counted, but excluded from the score; `why` is required */
} cov_role;

/* One line of a coverpoint. The macros below fill it: {COV_RANGE("small", 1, 4)}, {COV_VALUE("none", 0),
 * COV_IGNORE("the driver refuses it")}. */
typedef struct cov_bin {
    /* EACH, POW2: put before the number, or NULL; NAMES: not used; STEPS: NULL is the steps themselves */
    const char *name;
    cov_kind kind;
    cov_role role;
    int64_t lo, hi;
    const int64_t *set;
    uint32_t count; /* of set or of names */
    const char *const *names;
    const char *steps;
    uint32_t goal;    /* hits that cover it; 0: as the coverpoint says */
    const char *why;  /* IGNORED: the reason; ILLEGAL: what is wrong, or NULL */
    const char *hint; /* "test:knob=value" that hits it; each % becomes the lowest value (NAMES: the name), a leading
                         ':' gets the name of the group; NULL: as the coverpoint says */
} cov_bin;

#define COV_RANGE(n, from, to) .name = (n), .kind = COV_KIND_RANGE, .lo = (from), .hi = (to)
#define COV_VALUE(n, v) .name = (n), .kind = COV_KIND_RANGE, .lo = (v), .hi = (v)
#define COV_EACH(from, to) .kind = COV_KIND_EACH, .lo = (from), .hi = (to)
#define COV_POW2(from, to) .kind = COV_KIND_POW2, .lo = (from), .hi = (to)
#define COV_SET(n, ...)                                                                                                \
    .name = (n), .kind = COV_KIND_SET, .set = (const int64_t[]){__VA_ARGS__},                                          \
    .count = (uint32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#define COV_NAMES(table, n) .kind = COV_KIND_NAMES, .names = (table), .count = (n)
#define COV_MASK(n, mask, value) .name = (n), .kind = COV_KIND_MASK, .lo = (mask), .hi = (value)
#define COV_STEPS(text) .kind = COV_KIND_STEPS, .steps = (text)
#define COV_DEFAULT(n) .name = (n), .kind = COV_KIND_DEFAULT
#define COV_IGNORE(reason) .role = COV_IGNORED, .why = (reason)
#define COV_FORBID(reason) .role = COV_ILLEGAL, .why = (reason)

#define COV_NO_WEIGHT UINT32_MAX /* as a weight: excluded from the score */

typedef struct cov_point {
    const char *name;
    const char *bug; /* required: the bug that a hole would hide */
    const cov_bin *bins;
    uint32_t bin_count;
    uint32_t goal;    /* hits that cover a bin; 0: 1 */
    uint32_t weight;  /* in the score of the group; 0: 1 */
    const char *hint; /* of the bins that have none; or NULL */
} cov_point;

/* Cells of a cross that do not count. The first rule that fits a cell holds. */
typedef struct cov_rule {
    cov_role role; /* COV_IGNORED or COV_ILLEGAL */
    const char *why;
    const char *bins[COV_CROSS_MAX]; /* for each of its coverpoints: NULL: any bin; "a|b": one of these; "!a|b": none of
                                        these */
} cov_rule;

/* The cells are the tuples of counted bins, transitions left out. */
typedef struct cov_cross {
    const char *name;
    const char *bug;                   /* required */
    const char *points[COV_CROSS_MAX]; /* 2 .. 4 names of coverpoints of this group, then NULL */
    const cov_rule *rules;
    uint32_t rule_count;
    uint32_t goal, weight; /* as those of a coverpoint */
} cov_cross;

typedef struct cov_group {
    const char *name;  /* letters, digits, '_' and '-' */
    const char *about; /* one line */
    const cov_point *points;
    uint32_t point_count;
    const cov_cross *crosses;
    uint32_t cross_count;
    uint32_t weight;   /* in the score of all; 0: 1 */
    bool per_instance; /* each instance has counters of its own, "group@instance" in files; else they share those of the
                          group */
} cov_group;

/* Number of elements of a table. */
#define COV_COUNT(table) ((uint32_t)(sizeof(table) / sizeof((table)[0])))
/* Tables of the above: {COV_POINT("size", "the bug", size_bins), .weight = 2}, {COV_CROSS("both", "the bug", "size",
 * "mode")}. */
#define COV_POINT(n, b, table) .name = (n), .bug = (b), .bins = (table), .bin_count = COV_COUNT(table)
#define COV_CROSS(n, b, ...) .name = (n), .bug = (b), .points = {__VA_ARGS__}
#define COV_RULES(table) .rules = (table), .rule_count = COV_COUNT(table)
#define COV_GROUP(n, a, table) .name = (n), .about = (a), .points = (table), .point_count = COV_COUNT(table)
#define COV_CROSSES(table) .crosses = (table), .cross_count = COV_COUNT(table)

/* ---- contents of files and databases ---- */

typedef struct cov_data_bin {
    const char *name;
    const char *values;     /* "1..4", "1,2,5", "&0x3=0x1", "a => b", "*" */
    const char *why, *hint; /* empty: none */
    cov_role role;
    uint32_t goal;
    uint32_t rank; /* place in the description */
    bool steps;    /* a transition */
    bool partial;  /* some of the merged files have the group, but not this */
} cov_data_bin;

typedef struct cov_data_point {
    const char *name, *bug;
    uint32_t rank, weight; /* weight: 0: excluded from the score */
    bool partial;
    cov_data_bin *bins;
    uint32_t bin_count;
    uint32_t first; /* the counter of its first bin */
} cov_data_point;

typedef struct cov_data_rule {
    cov_role role;
    const char *why;
} cov_data_rule;

#define COV_CELL_UNKNOWN 255u /* a cell that no merged description has: excluded from the score */

typedef struct cov_data_cross {
    const char *name, *bug;
    uint32_t rank, weight, goal;
    bool partial;
    uint32_t point_count;
    uint32_t points[COV_CROSS_MAX]; /* of its group */
    uint32_t dim[COV_CROSS_MAX];    /* bins of each that are crossed */
    cov_data_rule *rules;
    uint32_t rule_count;
    uint8_t *cells; /* the last coverpoint's index varies fastest; 0: counted, n: rules[n - 1], or COV_CELL_UNKNOWN */
    uint32_t cell_count;
    uint32_t first;
} cov_data_cross;

typedef struct cov_data_group {
    const char *name, *about; /* name: with "@instance", if that has counters of its own */
    uint32_t rank, weight;
    uint64_t samples;
    cov_data_point *points;
    uint32_t point_count;
    cov_data_cross *crosses;
    uint32_t cross_count;
} cov_data_group;

struct cov_arena;

typedef struct cov_data {
    cov_data_group *groups;
    uint32_t group_count;
    uint64_t *counts; /* hits; they saturate at UINT64_MAX */
    uint32_t count_count;
    uint64_t files;  /* merged into it, itself included */
    const char *job; /* a line of a suite that repeats the run; empty: not known, or merged */
    char *shape;     /* as text, made when it is needed */
    size_t shape_bytes;
    struct cov_arena *arena; /* owns all of the above but counts */
} cov_data;

void cov_data_init(cov_data *data);
void cov_data_free(cov_data *data);
/* Index of the i-th bin of a coverpoint that crosses have; UINT32_MAX: there are no more. */
uint32_t cov_crossed_bin(const cov_data_point *point, uint32_t i);
/* Index in bins of the tuple of a cell, for each coverpoint of the cross. */
void cov_cell_bins(const cov_data_group *group, const cov_data_cross *cross, uint32_t cell,
                   uint32_t bins[COV_CROSS_MAX]);
/* "a, b, c": the bins of a cell. */
void cov_cell_name(const cov_data_group *group, const cov_data_cross *cross, uint32_t cell, char *dst, size_t size);
/* The hints of its bins, each one once; may be empty. */
void cov_cell_hint(const cov_data_group *group, const cov_data_cross *cross, uint32_t cell, char *dst, size_t size);
/* Role of a cell; its rule or NULL. Unknown cells are ignored. */
cov_role cov_cell_role(const cov_data_cross *cross, uint32_t cell, const cov_data_rule **rule);

/* ---- sampling ---- */

typedef struct cov_db cov_db;
typedef struct cov_inst cov_inst;

/*
 * Check and compile descriptions, which must outlive the database. COV_BAD_MODEL: bins that overlap or are empty, names
 * that are missing, doubled or unknown, an ignored bin without a reason, a coverpoint without its bug: err has one line
 * that names the place.
 */
int cov_open(cov_db **db, const cov_group *const *groups, uint32_t count, cov_error *err);
void cov_close(cov_db *db);
/*
 * An instance of a group; it belongs to the database. name: of the instance (letters, digits, '_', '-'), NULL: "0";
 * asked for twice, it is the same one. COV_BAD_MODEL: no such group, or no such name.
 */
int cov_instance(cov_db *db, const char *group, const char *name, cov_inst **inst, cov_error *err);
/*
 * Count one value for each coverpoint, in the order of the description (COV_NONE: it has none), and then the crosses.
 * No allocation; a table lookup or a binary search for each coverpoint. Returns the number of illegal bins and cells
 * that were hit: 0 is good.
 */
uint32_t cov_sample(cov_inst *inst, const int64_t *values);
/* The same for one coverpoint, without crosses. */
uint32_t cov_hit(cov_inst *inst, uint32_t point, int64_t value);
/* Restart transitions, for example after a reset. */
void cov_restart(cov_inst *inst);
/* "group.point.bin: why" of the last illegal hit of this instance; empty: there was none. */
void cov_illegal(const cov_inst *inst, char *dst, size_t size);
/* What was counted so far; it belongs to the database. */
cov_data *cov_db_data(cov_db *db);
/* The line of a suite that repeats this run (printable, at most 200 bytes): rank writes it. */
int cov_set_job(cov_db *db, const char *job, cov_error *err);

/*
 * What a program needs whose errors are lines of text: the database and the instance of one group, and a file of all
 * that was counted, for a job (cov_set_job()). 0, or -1 with one line in err; a database that was not opened is NULL.
 */
int cov_open_group(const cov_group *group, cov_db **db, cov_inst **inst, char *err, size_t err_size);
int cov_write_job(cov_db *db, const char *path, const char *job, char *err, size_t err_size);

/* ---- files (docs/coverage.md, "The file") ---- */

/* Write under a temporary name, then rename. */
int cov_write(cov_data *data, const char *path, cov_error *err);
int cov_read(cov_data *data, const char *path, cov_error *err);
/* The same of bytes in memory; name is for error lines. */
int cov_parse(cov_data *data, const void *bytes, size_t size, const char *name, cov_error *err);
/* To be freed. */
int cov_print(cov_data *data, char **bytes, size_t *size, cov_error *err);

/*
 * Add `from` to `into`, group by group and bin by bin, by names. The result is the union and does not depend on the
 * order of merging; items that only one of two groups of the same name has become `partial`. COV_CONFLICT: a bin with
 * other values or another role, a cross of other coverpoints, other goals or weights; `into` is unchanged.
 */
int cov_merge(cov_data *into, cov_data *from, cov_error *err);
/* Read and merge; a file of the same shape costs no more than adding its counters. Nothing merged so far: `into` is as
 * after cov_data_init(). */
int cov_merge_file(cov_data *into, const char *path, cov_error *err);

/* Called for each item that `from` has and `into` has not ("group.point.bin"), with its hits. */
typedef void (*cov_stale_fn)(void *ctx, const char *what, uint64_t hits);
/* Add to `into` the items that it has, without changing its shape; told may be NULL. Bins whose values are others
 * are stale, too. */
int cov_load(cov_data *into, const cov_data *from, cov_stale_fn told, void *ctx, cov_error *err);

/* ---- score ---- */

typedef struct cov_score {
    uint64_t total, covered; /* counted bins or cells */
    uint64_t illegal;        /* hits */
    uint64_t ignored;        /* bins or cells */
    double
        /* 0 .. 100: of a coverpoint or cross covered / total; above, the mean by weights. 100 where there is nothing to
           cover */
        percent;
} cov_score;

cov_score cov_score_point(const cov_data *data, const cov_data_point *point);
cov_score cov_score_cross(const cov_data *data, const cov_data_cross *cross);
cov_score cov_score_group(const cov_data *data, const cov_data_group *group);
cov_score cov_score_all(const cov_data *data);

/*
 * A small set of files with the coverage of all: greedy by the missing hits that each adds, then without those that
 * later ones made redundant. `order`: place in data[] of each chosen one, `gain`: hits up to goals that it added. All
 * must have the shape of `all`, which holds their sum. Deterministic: of equal gains the lower index.
 */
int cov_rank(const cov_data *all, const uint64_t *const *counts, uint32_t files, uint32_t *order, uint64_t *gain,
             uint32_t *chosen, cov_error *err);

#endif
