/* cov.c - coverage files: what is read can be written and read, and merging it with itself doubles it. */
#include <stdlib.h>
#include <string.h>

#include "../../coverage/priv.h"
#include "fuzz.h"

static void same(cov_data *a, cov_data *b, const char *what) {
    if (a->count_count != b->count_count || memcmp(a->counts, b->counts, a->count_count * sizeof *a->counts) != 0 ||
        a->shape_bytes != b->shape_bytes || memcmp(a->shape, b->shape, a->shape_bytes) != 0) {
        fuzz_fail(what, "differs");
    }
}

static void doubled(cov_data *data) {
    cov_error err = {""};
    cov_data twice;
    uint64_t hits[2] = {0, 0};
    cov_data_init(&twice);
    for (int i = 0; i < 2; i++) {
        const int rc = cov_merge(&twice, data, &err);
        /* a name is a coverpoint and a cross, or a cell has no place: the first merge says so */
        if (rc == COV_CONFLICT) {
            fuzz_check_line(err.text);
            cov_data_free(&twice);
            return;
        }
        if (rc != COV_OK) {
            fuzz_fail("what is read can be merged with itself", err.text);
        }
    }
    for (uint32_t i = 0; i < data->count_count; i++) {
        cov_add(&hits[0], data->counts[i]);
        cov_add(&hits[0], data->counts[i]);
    }
    for (uint32_t i = 0; i < twice.count_count; i++) {
        cov_add(&hits[1], twice.counts[i]);
    }
    if (twice.count_count != data->count_count || hits[0] != hits[1]) {
        fuzz_fail("merged with itself it has all hits twice", "other hits");
    }
    const cov_score s = cov_score_all(&twice);
    if (!(s.percent >= 0.0 && s.percent <= 100.0001) || s.covered > s.total) {
        fuzz_fail("a score is between 0 and 100", "it is not");
    }
    cov_data_free(&twice);
}

void fuzz_cov(const uint8_t *data, size_t size) {
    const uint8_t *zero = memchr(data, 0, size);
    const size_t shape_bytes = zero == NULL ? size : (size_t)(zero - data);
    const size_t count_bytes = zero == NULL ? 0 : size - shape_bytes - 1;
    cov_error err = {""};
    cov_data first;
    cov_data back;
    char *bytes = NULL;
    size_t printed = 0;
    if (cov_parse_parts(&first, (const char *)data, shape_bytes, zero == NULL ? data : zero + 1, count_bytes, &err) !=
        COV_OK) {
        fuzz_check_line(err.text);
    } else {
        if (cov_print(&first, &bytes, &printed, &err) != COV_OK ||
            cov_parse(&back, bytes, printed, "again", &err) != COV_OK) {
            fuzz_fail("what is read can be written and read", err.text);
        }
        same(&first, &back, "what is written is the same data");
        cov_data_free(&back);
        doubled(&first);
    }
    free(bytes);
    cov_data_free(&first);
    if (cov_parse(&first, data, size, "fuzz", &err) != COV_OK) { /* as a file, too: the header */
        fuzz_check_line(err.text);
    }
    cov_data_free(&first);
}
