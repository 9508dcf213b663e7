/* part.h - private to coverage/code/. */
#ifndef COVERAGE_CODE_PART_H
#define COVERAGE_CODE_PART_H

#include "../priv.h"
#include "code.h"

#define CODE_NAME_BYTES 400u /* of a name, a path, a list of lines */

/* ---- table.c ---- */

/* The order of points. */
int code_order(const code_point *a, const code_point *b);
/* Room for one more point, all zero; NULL: out of memory. */
code_point *code_place(code_data *data, cov_error *err);
/* A copy that lives as long as the data; NULL: out of memory. */
const char *code_keep(code_data *data, const char *text, size_t length);

/* ---- dat.c ---- */

bool code_is_dat(const char *text, size_t size);
/*
 * The points of a file apart from its counts: *shape has the text of every point (to be freed), counts[] the hits,
 * points of them (to be freed). Files of the same program have the same shape, which need not be parsed again.
 */
int code_split_dat(const char *text, size_t size, char **shape, size_t *shape_bytes, uint64_t **counts, size_t *points,
                   const char *name, cov_error *err);
/* Points of a shape, in its order, without hits. */
int code_parse_dat_shape(code_data *data, const char *shape, size_t bytes, const char *name, cov_error *err);

/* ---- file.c ---- */

/* An own file taken apart; shape is packed. */
typedef struct code_parts {
    uint64_t files;
    size_t points, shape_text, shape_bytes, count_bytes;
    const unsigned char *shape, *counts;
} code_parts;
int code_take_apart(code_parts *parts, const unsigned char *bytes, size_t size, const char *name, cov_error *err);
/* Points of a packed shape, without hits. */
int code_parse_shape(code_data *data, const code_parts *parts, const char *name, cov_error *err);
/* Add counters to `hits`, which has a place for each point. */
int code_add_counts(uint64_t *hits, const code_parts *parts, const char *name, cov_error *err);

/* ---- items.c ---- */

/* Parse "12-15,17" step by step: false at the end. *at: what is left. */
bool code_next_lines(const char **at, uint32_t *first, uint32_t *last);

#endif
