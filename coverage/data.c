/* data.c - what coverage files hold: memory, names, counters, cells of crosses. */
#include "priv.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 120u
#define BLOCK_BYTES 65536u

typedef struct cov_arena {
    struct cov_arena *next;
    size_t used, size;
    _Alignas(16) unsigned char bytes[];
} cov_arena;

void cov_data_init(cov_data *data) {
    memset(data, 0, sizeof *data);
    data->job = "";
}

void cov_data_free(cov_data *data) {
    while (data->arena != NULL) {
        cov_arena *next = data->arena->next;
        free(data->arena);
        data->arena = next;
    }
    free(data->counts);
    free(data->shape);
    cov_data_init(data);
}

void *cov_alloc(cov_data *data, size_t count, size_t bytes) {
    if (bytes != 0 && count > (SIZE_MAX / 2) / bytes) {
        return NULL;
    }
    const size_t want = (count * bytes + 15) / 16 * 16;
    cov_arena *block = data->arena;
    if (block == NULL || block->size - block->used < want) {
        const size_t size = want > BLOCK_BYTES ? want : BLOCK_BYTES;
        block = calloc(1, sizeof *block + size);
        if (block == NULL) {
            return NULL;
        }
        block->size = size;
        block->next = data->arena;
        data->arena = block;
    }
    void *at = block->bytes + block->used;
    block->used += want;
    return at;
}

char *cov_text(cov_data *data, const char *text, size_t length) {
    char *copy = cov_alloc(data, length + 1, 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
    }
    return copy;
}

int cov_fail(cov_error *err, int status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    for (char *p = err->text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            *p = '?';
        }
    }
    return status;
}

int cov_no_memory(cov_error *err) {
    return cov_fail(err, COV_NO_MEMORY, "out of memory");
}

bool cov_is_line(const char *text, size_t most) {
    size_t length = 0;
    for (; text[length] != '\0'; length++) {
        if (length >= most || (unsigned char)text[length] < 0x20 || text[length] == 0x7f) {
            return false;
        }
    }
    return true;
}

bool cov_is_name(const char *text) {
    return text[0] != '\0' && text[0] != ' ' && cov_is_line(text, NAME_MAX_BYTES) && strpbrk(text, "|!\"") == NULL;
}

bool cov_is_word(const char *text) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const size_t length = strlen(text);
    return length > 0 && length <= 60 && strspn(text, letters) == length;
}

uint32_t cov_crossed_bin(const cov_data_point *point, uint32_t i) {
    for (uint32_t b = 0; b < point->bin_count; b++) {
        if (cov_is_crossed(&point->bins[b]) && i-- == 0) {
            return b;
        }
    }
    return UINT32_MAX;
}

int cov_cross_size(cov_data *data, const cov_data_group *group, cov_data_cross *cross, cov_error *err) {
    uint64_t cells = 1;
    for (uint32_t p = 0; p < cross->point_count; p++) {
        const cov_data_point *point = &group->points[cross->points[p]];
        cross->dim[p] = 0;
        for (uint32_t b = 0; b < point->bin_count; b++) {
            cross->dim[p] += cov_is_crossed(&point->bins[b]);
        }
        cells *= cross->dim[p];
        if (cells == 0 || cells > COV_CELLS_MAX) {
            return cov_fail(err, COV_BAD_FILE, "%s.%s: a cross of %s cells (1 .. %u)", group->name, cross->name,
                            cells == 0 ? "no" : "too many", COV_CELLS_MAX);
        }
    }
    cross->cell_count = (uint32_t)cells;
    cross->cells = cov_alloc(data, cross->cell_count, 1);
    return cross->cells == NULL ? cov_no_memory(err) : COV_OK;
}

int cov_place(cov_data *data, cov_error *err) {
    uint64_t total = 0;
    for (uint32_t g = 0; g < data->group_count; g++) {
        cov_data_group *group = &data->groups[g];
        for (uint32_t p = 0; p < group->point_count; p++) {
            group->points[p].first = (uint32_t)total;
            total += group->points[p].bin_count;
        }
        for (uint32_t c = 0; c < group->cross_count; c++) {
            group->crosses[c].first = (uint32_t)total;
            total += group->crosses[c].cell_count;
        }
        if (total > COV_COUNTS_MAX) {
            return cov_fail(err, COV_BAD_FILE, "more than %u bins and cells", COV_COUNTS_MAX);
        }
    }
    uint64_t *counts = calloc(total == 0 ? 1 : (size_t)total, sizeof *counts);
    if (counts == NULL) {
        return cov_no_memory(err);
    }
    free(data->counts);
    data->counts = counts;
    data->count_count = (uint32_t)total;
    return COV_OK;
}

void cov_cell_bins(const cov_data_group *group, const cov_data_cross *cross, uint32_t cell,
                   uint32_t bins[COV_CROSS_MAX]) {
    for (uint32_t p = cross->point_count; p-- > 0;) {
        bins[p] = cov_crossed_bin(&group->points[cross->points[p]], cell % cross->dim[p]);
        cell /= cross->dim[p];
    }
}

static size_t append(char *dst, size_t size, size_t at, const char *text) {
    const size_t length = strlen(text);
    if (at + 1 < size) {
        const size_t room = size - at - 1;
        memcpy(dst + at, text, length < room ? length : room);
        dst[at + (length < room ? length : room)] = '\0';
    }
    return at + length;
}

void cov_cell_name(const cov_data_group *group, const cov_data_cross *cross, uint32_t cell, char *dst, size_t size) {
    uint32_t bins[COV_CROSS_MAX];
    size_t at = 0;
    cov_cell_bins(group, cross, cell, bins);
    dst[0] = '\0';
    for (uint32_t p = 0; p < cross->point_count; p++) {
        at = append(dst, size, at, p == 0 ? "" : ", ");
        at = append(dst, size, at, group->points[cross->points[p]].bins[bins[p]].name);
    }
}

void cov_cell_hint(const cov_data_group *group, const cov_data_cross *cross, uint32_t cell, char *dst, size_t size) {
    uint32_t bins[COV_CROSS_MAX];
    size_t at = 0;
    cov_cell_bins(group, cross, cell, bins);
    dst[0] = '\0';
    for (uint32_t p = 0; p < cross->point_count; p++) {
        const char *hint = group->points[cross->points[p]].bins[bins[p]].hint;
        if (hint[0] != '\0' && strstr(dst, hint) == NULL) {
            at = append(dst, size, at, at == 0 ? "" : " ");
            at = append(dst, size, at, hint);
        }
    }
}

cov_role cov_cell_role(const cov_data_cross *cross, uint32_t cell, const cov_data_rule **rule) {
    static const cov_data_rule unknown = {COV_IGNORED, "no description has this cell"};
    const uint8_t number = cross->cells[cell];
    *rule = number == 0 ? NULL : number == COV_CELL_UNKNOWN ? &unknown : &cross->rules[number - 1];
    return *rule == NULL ? COV_COUNTED : (*rule)->role;
}
