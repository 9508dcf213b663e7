/* priv.h - private to coverage/ and coverage/code/. */
#ifndef COVERAGE_PRIV_H
#define COVERAGE_PRIV_H

#include "cov.h"

/* ---- data.c ---- */

/* Zeroed memory that lives as long as the data; NULL: none. */
void *cov_alloc(cov_data *data, size_t count, size_t bytes);
char *cov_text(cov_data *data, const char *text, size_t length);
int cov_no_memory(cov_error *err);
/* Printable ASCII or UTF-8 text of at most `most` bytes in one line. */
bool cov_is_line(const char *text, size_t most);
/* A line that is no name: empty, too long, or with one of "|!\"". */
bool cov_is_name(const char *text);
/* Letters, digits, '_', '-'. */
bool cov_is_word(const char *text);
/* Is this bin used in crosses? */
static inline bool cov_is_crossed(const cov_data_bin *bin) {
    return bin->role == COV_COUNTED && !bin->steps;
}
static inline void cov_add(uint64_t *count, uint64_t more) {
    *count = *count > UINT64_MAX - more ? UINT64_MAX : *count + more;
}
/* Set dim and cell_count of a cross and allocate its cells, whose points are known. COV_BAD_FILE: too many. */
int cov_cross_size(cov_data *data, const cov_data_group *group, cov_data_cross *cross, cov_error *err);
/* Give every bin and cell its counter, all of them 0. */
int cov_place(cov_data *data, cov_error *err);

/* ---- shape.c: names and attributes as text ---- */

/* data->shape; COV_OK at once if it is there. */
int cov_shape_make(cov_data *data, cov_error *err);
/* Build an empty data from a text, which is copied. */
int cov_shape_parse(cov_data *data, const char *text, size_t bytes, const char *name, cov_error *err);

/* ---- load.c: by name; `near`: where to look first ---- */

const cov_data_group *cov_find_group(const cov_data *data, const char *name, uint32_t near);
const cov_data_point *cov_find_point(const cov_data_group *group, const char *name, uint32_t near);
const cov_data_cross *cov_find_cross(const cov_data_group *group, const char *name, uint32_t near);
/* Its index; UINT32_MAX: there is none. */
uint32_t cov_find_bin(const cov_data_point *point, const char *name, uint32_t near);
/* The same values and the same role. */
bool cov_same_bin(const cov_data_bin *a, const cov_data_bin *b);
/* Crosses of the same coverpoints, in the same order. */
bool cov_same_points(const cov_data_group *ga, const cov_data_cross *a, const cov_data_group *gb,
                     const cov_data_cross *b);
/* map[cell of a] = that cell of b, or UINT32_MAX. To be freed; NULL: out of memory. */
uint32_t *cov_map_cells(const cov_data_group *ga, const cov_data_cross *a, const cov_data_group *gb,
                        const cov_data_cross *b);

/* ---- file.c ---- */

/* The whole file in memory, to be freed. */
int cov_slurp(const char *path, unsigned char **bytes, size_t *size, cov_error *err);

/* Write under a temporary name, then rename. */
int cov_save(const char *path, const void *bytes, size_t size, cov_error *err);

/* FNV-1a, eight bytes at a time: it detects accidental damage only. */
uint64_t cov_checksum(const void *bytes, size_t size);
/* A number of 7 bits a byte, at most 10 bytes; returns how many. */
size_t cov_put_varint(unsigned char *dst, uint64_t value);
/* false: there is none, or not in its shortest form. */
bool cov_get_varint(const unsigned char **at, const unsigned char *end, uint64_t *value);

/* Shape and counters without their header, for fuzzing, which cannot guess checksums. */
int cov_parse_parts(cov_data *data, const char *shape, size_t shape_bytes, const void *counts, size_t count_bytes,
                    cov_error *err);

/* ---- describe.c ---- */

/* Values of a bin, after expansion: for the lookup of samples. */
typedef struct cov_span {
    int64_t lo, hi;
    uint32_t bin;
} cov_span;

typedef struct cov_mask {
    int64_t mask, value;
    uint32_t bin;
} cov_mask;

typedef struct cov_seq {
    uint32_t bin;
    uint32_t count;
    uint16_t step[COV_STEPS_MAX]; /* bin + 1 of each step; the last one first */
} cov_seq;

/* How the values of a coverpoint find their bin. */
typedef struct cov_lookup {
    cov_span *spans; /* sorted */
    uint32_t span_count;
    cov_mask *masks;
    uint32_t mask_count;
    uint32_t fallback; /* bin + 1; 0: none */
    int64_t base;
    uint32_t width;  /* values base .. base+width-1 */
    uint16_t *dense; /* bin + 1 of each; 0: none */
    cov_seq *seqs;   /* sorted by their last bin */
    uint32_t seq_count;
    uint32_t *seq_from; /* of each bin: its first sequence; one more entry at the end */
    uint32_t *crossed;  /* of each bin: its index in crosses, or UINT32_MAX */
} cov_lookup;

/* Check a group and add its items to `group`, whose name is given; lookups[] has a place for each coverpoint. */
int cov_describe(cov_data *data, cov_data_group *group, const cov_group *text, cov_lookup *lookups, cov_error *err);
/* lookup.c: check bins for overlaps and compile. The bins of the point are there, spans, masks and seqs are filled. */
int cov_compile(cov_data *data, const char *where, const cov_data_point *point, cov_lookup *look, cov_error *err);
/* Bin + 1 of a value; 0: none. */
uint32_t cov_find_slow(const cov_lookup *look, int64_t value);
/* The lowest value from lo up (lo >= 0) with (value & mask) == want; -1: none. */
int64_t cov_mask_next(int64_t lo, int64_t mask, int64_t want);

#endif
