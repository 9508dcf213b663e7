/* code.c - files of code coverage, Verilator's and our own: what is read can be written and read, and merged with
 * itself it has all hits twice. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../../coverage/code/part.h"
#include "fuzz.h"

static void same(const code_data *a, const code_data *b, uint64_t times) {
    bool good = a->count == b->count;
    for (size_t i = 0; good && i < a->count; i++) {
        uint64_t hits = 0;
        for (uint64_t k = 0; k < times; k++) {
            cov_add(&hits, a->points[i].hits);
        }
        good = code_order(&a->points[i], &b->points[i]) == 0 && hits == b->points[i].hits;
    }
    if (!good) {
        fuzz_fail("what is written is the same data", "it differs");
    }
}

static void doubled(const code_data *data, const uint8_t *bytes, size_t size) {
    cov_error err = {""};
    code_data twice;
    const char *path = fuzz_file(bytes, size);
    char *copy = strdup(path);
    char *paths[2] = {copy, copy};
    code_init(&twice);
    if (copy == NULL || code_merge(&twice, paths, 2, 1, &err) != COV_OK) {
        fuzz_fail("what is read can be merged with itself", err.text);
    }
    same(data, &twice, 2);
    code_free(&twice);
    free(copy);
}

static void survives(const code_data *data) {
    cov_error err = {""};
    code_items items;
    code_data back;
    char *bytes = NULL;
    size_t size = 0;
    if (code_print(data, &bytes, &size, &err) != COV_OK || code_parse(&back, bytes, size, "again", &err) != COV_OK) {
        fuzz_fail("what is read can be written and read", err.text);
    }
    same(data, &back, 1);
    doubled(data, (const uint8_t *)bytes, size);
    if (code_items_make(&items, &back, &err) != COV_OK) {
        fuzz_fail("what is read can be scored", err.text);
    }
    code_items_free(&items);
    code_free(&back);
    free(bytes);
}

/* The points as text, a zero byte, the counters: what stands behind the checksums of an own file. */
static void as_parts(const uint8_t *data, size_t size) {
    const uint8_t *zero = memchr(data, 0, size);
    const size_t text = zero == NULL ? size : (size_t)(zero - data);
    cov_error err = {""};
    code_data read;
    code_parts parts = {.files = 1, .shape_text = text};
    uLongf packed = compressBound(text);
    unsigned char *shape = malloc(packed);
    if (shape == NULL || compress2(shape, &packed, data, text, 1) != Z_OK) {
        fuzz_fail("the points can be packed", "they cannot");
    }
    for (size_t i = 0; i < text; i++) {
        parts.points += data[i] == '\n' && i + 1 < text && data[i + 1] != 'F' && data[i + 1] != 'M';
    }
    parts.shape = shape;
    parts.shape_bytes = packed;
    parts.counts = zero == NULL ? data : zero + 1;
    parts.count_bytes = zero == NULL ? 0 : size - text - 1;
    code_init(&read);
    if (code_parse_shape(&read, &parts, "fuzz", &err) != COV_OK) {
        fuzz_check_line(err.text);
    } else {
        uint64_t *hits = calloc(parts.points + 1, sizeof *hits);
        if (hits == NULL) {
            fuzz_fail("memory for counters", "there is none");
        }
        if (code_add_counts(hits, &parts, "fuzz", &err) != COV_OK) {
            fuzz_check_line(err.text);
        }
        for (size_t i = 0; i < read.count; i++) {
            read.points[i].hits = hits[i];
        }
        read.files = 1;
        free(hits);
        survives(&read);
    }
    free(shape);
    code_free(&read);
}

void fuzz_code(const uint8_t *data, size_t size) {
    cov_error err = {""};
    code_data read;
    if (code_parse(&read, data, size, "fuzz", &err) != COV_OK) {
        fuzz_check_line(err.text);
    } else {
        survives(&read);
        code_free(&read);
    }
    as_parts(data, size);
}
