/* shape.c - names and attributes as lines of text: the first part of a coverage file (docs/coverage.md, "The file"). */
#include "priv.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char role_letter[] = "cxi"; /* cov_role */

/* ---- writing ---- */

static void put_cells(FILE *out, const cov_data_cross *cross) {
    fputs("L", out);
    for (uint32_t from = 0; from < cross->cell_count;) {
        uint32_t to = from + 1;
        while (to < cross->cell_count && cross->cells[to] == cross->cells[from]) {
            to++;
        }
        fprintf(out, " %u*%" PRIu32, cross->cells[from], to - from);
        from = to;
    }
    fputc('\n', out);
}

static void put_group(FILE *out, const cov_data_group *group) {
    fprintf(out, "G %" PRIu32 " %" PRIu32 " %s\na %s\n", group->rank, group->weight, group->name, group->about);
    for (uint32_t p = 0; p < group->point_count; p++) {
        const cov_data_point *point = &group->points[p];
        fprintf(out, "P %" PRIu32 " %" PRIu32 " %d %s\nb %s\n", point->rank, point->weight, point->partial, point->name,
                point->bug);
        for (uint32_t b = 0; b < point->bin_count; b++) {
            const cov_data_bin *bin = &point->bins[b];
            fprintf(out, "B %" PRIu32 " %" PRIu32 " %d %c%c %s\nv %s\n", bin->rank, bin->goal, bin->partial,
                    role_letter[bin->role], bin->steps ? 's' : 'v', bin->name, bin->values);
            if (bin->why[0] != '\0') {
                fprintf(out, "w %s\n", bin->why);
            }
            if (bin->hint[0] != '\0') {
                fprintf(out, "h %s\n", bin->hint);
            }
        }
    }
    for (uint32_t c = 0; c < group->cross_count; c++) {
        const cov_data_cross *cross = &group->crosses[c];
        fprintf(out, "C %" PRIu32 " %" PRIu32 " %" PRIu32 " %d ", cross->rank, cross->weight, cross->goal,
                cross->partial);
        for (uint32_t p = 0; p < cross->point_count; p++) {
            fprintf(out, "%s%" PRIu32, p == 0 ? "" : ",", cross->points[p]);
        }
        fprintf(out, " %s\nb %s\n", cross->name, cross->bug);
        for (uint32_t r = 0; r < cross->rule_count; r++) {
            fprintf(out, "R %c %s\n", role_letter[cross->rules[r].role], cross->rules[r].why);
        }
        put_cells(out, cross);
    }
}

int cov_shape_make(cov_data *data, cov_error *err) {
    if (data->shape != NULL) {
        return COV_OK;
    }
    FILE *out = rep_memory(&data->shape, &data->shape_bytes);
    if (out == NULL) {
        return cov_no_memory(err);
    }
    for (uint32_t g = 0; g < data->group_count; g++) {
        put_group(out, &data->groups[g]);
    }
    const bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(data->shape);
        data->shape = NULL;
        return cov_no_memory(err);
    }
    return COV_OK;
}

/* ---- reading ---- */

typedef struct reader {
    cov_data *data;
    char *at, *end; /* what is left of the text */
    const char *name;
    uint32_t line;
    cov_error *err;
    cov_data_group *group;
    cov_data_point *point;
    cov_data_bin *bin;
    cov_data_cross *cross;
} reader;

static int bad(const reader *r, const char *what) {
    return cov_fail(r->err, COV_BAD_FILE, "%s: line %" PRIu32 " of the shape: %s", r->name, r->line, what);
}

/* Room for one more element, by doubling. */
static void *grow(cov_data *data, void *items, uint32_t count, size_t bytes) {
    if (count != 0 && (count & (count - 1)) != 0) {
        return items;
    }
    void *more = cov_alloc(data, count == 0 ? 1 : (size_t)count * 2, bytes);
    if (more != NULL && count != 0) {
        memcpy(more, items, count * bytes);
    }
    return more;
}

/* An unsigned number and the blank behind it. */
static bool number(char **at, uint32_t most, uint32_t *value) {
    uint64_t v = 0;
    char *p = *at;
    if (*p < '0' || *p > '9') {
        return false;
    }
    for (; *p >= '0' && *p <= '9' && v <= UINT32_MAX; p++) {
        v = v * 10 + (uint64_t)(*p - '0');
    }
    if (v > most || *p != ' ') {
        return false;
    }
    *value = (uint32_t)v;
    *at = p + 1;
    return true;
}

static bool role_of(char letter, cov_role *role) {
    const char *at = letter == '\0' ? NULL : strchr(role_letter, letter);
    *role = at == NULL ? COV_COUNTED : (cov_role)(at - role_letter);
    return at != NULL;
}

/* "name" or "name@instance" */
static bool is_group_name(const char *text) {
    char part[64];
    const char *at = strchr(text, '@');
    const size_t length = at == NULL ? strlen(text) : (size_t)(at - text);
    if (length >= sizeof part) {
        return false;
    }
    memcpy(part, text, length);
    part[length] = '\0';
    return cov_is_word(part) && (at == NULL || cov_is_word(at + 1));
}

static int read_group(reader *r, char *text) {
    cov_data *data = r->data;
    cov_data_group group = {.about = ""};
    data->groups = grow(data, data->groups, data->group_count, sizeof group);
    if (data->groups == NULL) {
        return cov_no_memory(r->err);
    }
    if (!number(&text, UINT32_MAX, &group.rank) || !number(&text, UINT32_MAX - 1, &group.weight) ||
        !is_group_name(text)) {
        return bad(r, "not a covergroup");
    }
    group.name = text;
    r->group = &data->groups[data->group_count++];
    *r->group = group;
    r->point = NULL;
    r->bin = NULL;
    r->cross = NULL;
    return COV_OK;
}

static int read_point(reader *r, char *text) {
    cov_data_point point = {.bug = ""};
    uint32_t partial = 0;
    if (r->group == NULL || r->group->cross_count > 0) {
        return bad(r, "a coverpoint in the wrong place");
    }
    r->group->points = grow(r->data, r->group->points, r->group->point_count, sizeof point);
    if (r->group->points == NULL) {
        return cov_no_memory(r->err);
    }
    if (!number(&text, UINT32_MAX, &point.rank) || !number(&text, UINT32_MAX - 1, &point.weight) ||
        !number(&text, 1, &partial) || !cov_is_word(text)) {
        return bad(r, "not a coverpoint");
    }
    point.partial = partial != 0;
    point.name = text;
    r->point = &r->group->points[r->group->point_count++];
    *r->point = point;
    r->bin = NULL;
    return COV_OK;
}

static int read_bin(reader *r, char *text) {
    cov_data_bin bin = {.values = "", .why = "", .hint = ""};
    uint32_t partial = 0;
    if (r->point == NULL || r->cross != NULL || r->point->bin_count >= COV_BINS_MAX) {
        return bad(r, "a bin in the wrong place, or one too many");
    }
    r->point->bins = grow(r->data, r->point->bins, r->point->bin_count, sizeof bin);
    if (r->point->bins == NULL) {
        return cov_no_memory(r->err);
    }
    if (!number(&text, UINT32_MAX, &bin.rank) || !number(&text, UINT32_MAX, &bin.goal) || bin.goal == 0 ||
        !number(&text, 1, &partial) || !role_of(text[0], &bin.role) || (text[1] != 's' && text[1] != 'v') ||
        text[2] != ' ' || !cov_is_name(text + 3)) {
        return bad(r, "not a bin");
    }
    bin.partial = partial != 0;
    bin.steps = text[1] == 's';
    bin.name = text + 3;
    r->bin = &r->point->bins[r->point->bin_count++];
    *r->bin = bin;
    return COV_OK;
}

static int read_cross(reader *r, char *text) {
    cov_data_cross cross = {.bug = ""};
    uint32_t partial = 0;
    if (r->group == NULL) {
        return bad(r, "a cross in the wrong place");
    }
    r->group->crosses = grow(r->data, r->group->crosses, r->group->cross_count, sizeof cross);
    if (r->group->crosses == NULL) {
        return cov_no_memory(r->err);
    }
    bool good = number(&text, UINT32_MAX, &cross.rank) && number(&text, UINT32_MAX - 1, &cross.weight) &&
                number(&text, UINT32_MAX, &cross.goal) && cross.goal != 0 && number(&text, 1, &partial);
    for (bool more = good; more && good;) {
        char *comma = text + strcspn(text, ", ");
        more = *comma == ',';
        good = *comma != '\0' && cross.point_count < COV_CROSS_MAX;
        *comma = ' ';
        good = good && number(&text, r->group->point_count == 0 ? 0 : r->group->point_count - 1,
                              &cross.points[cross.point_count]);
        for (uint32_t i = 0; good && i < cross.point_count; i++) {
            good = cross.points[i] != cross.points[cross.point_count];
        }
        cross.point_count++;
    }
    if (!good || cross.point_count < 2 || r->group->point_count == 0 || !cov_is_word(text)) {
        return bad(r, "not a cross");
    }
    cross.partial = partial != 0;
    cross.name = text;
    r->cross = &r->group->crosses[r->group->cross_count++];
    *r->cross = cross;
    r->point = NULL;
    r->bin = NULL;
    return COV_OK;
}

static int read_rule(reader *r, char *text) {
    cov_data_rule rule;
    cov_data_cross *cross = r->cross;
    if (cross == NULL || cross->cells != NULL || cross->rule_count >= COV_RULES_MAX) {
        return bad(r, "a rule in the wrong place, or one too many");
    }
    cross->rules = grow(r->data, cross->rules, cross->rule_count, sizeof rule);
    if (cross->rules == NULL) {
        return cov_no_memory(r->err);
    }
    if (!role_of(text[0], &rule.role) || rule.role == COV_COUNTED || text[1] != ' ') {
        return bad(r, "not a rule");
    }
    rule.why = text + 2;
    cross->rules[cross->rule_count++] = rule;
    return COV_OK;
}

static int read_cells(reader *r, char *text) {
    cov_data_cross *cross = r->cross;
    if (cross == NULL || cross->cells != NULL) {
        return bad(r, "cells in the wrong place");
    }
    const int rc = cov_cross_size(r->data, r->group, cross, r->err);
    if (rc != COV_OK) {
        return rc;
    }
    uint32_t at = 0;
    while (*text != '\0') {
        uint32_t rule = 0;
        uint32_t count = 0;
        char *star = text + strcspn(text, "* ");
        char *blank = star + strcspn(star, " ");
        const bool last = *blank == '\0';
        if (*star != '*') {
            return bad(r, "not cells");
        }
        *star = ' ';
        *blank = ' '; /* the byte behind the line belongs to the buffer */
        const bool good = number(&text, COV_CELL_UNKNOWN, &rule) && number(&text, cross->cell_count - at, &count) &&
                          count > 0 && (rule <= cross->rule_count || rule == COV_CELL_UNKNOWN);
        if (last) {
            *blank = '\0';
            text = blank;
        }
        if (!good) {
            return bad(r, "not cells");
        }
        memset(cross->cells + at, (int)rule, count);
        at += count;
    }
    return at == cross->cell_count ? COV_OK : bad(r, "cells are missing");
}

/* A text that belongs to the thing before it. */
static int read_text(reader *r, char letter, const char *text) {
    const char **place = NULL;
    switch (letter) {
    case 'a':
        place = r->group != NULL && r->group->point_count == 0 ? &r->group->about : NULL;
        break;
    case 'b':
        place = r->cross != NULL ? &r->cross->bug : r->point != NULL && r->bin == NULL ? &r->point->bug : NULL;
        break;
    case 'v':
        place = r->bin != NULL ? &r->bin->values : NULL;
        break;
    case 'w':
        place = r->bin != NULL ? &r->bin->why : NULL;
        break;
    case 'h':
        place = r->bin != NULL ? &r->bin->hint : NULL;
        break;
    default:
        return bad(r, "not a line of a shape");
    }
    if (place == NULL || (*place)[0] != '\0') {
        return bad(r, "a text in the wrong place");
    }
    *place = text;
    return COV_OK;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names[] in any order; `what` for the error line. */
static int unique(const reader *r, const char **names, uint32_t count, const char *what) {
    if (count > 1) {
        qsort(names, count, sizeof *names, by_text);
    }
    for (uint32_t i = 1; i < count; i++) {
        if (strcmp(names[i], names[i - 1]) == 0) {
            return cov_fail(r->err, COV_BAD_FILE, "%s: two %s have the name %s", r->name, what, names[i]);
        }
    }
    return COV_OK;
}

static int check_group(const reader *r, const cov_data_group *group, const char **names) {
    uint32_t count = 0;
    int rc = COV_OK;
    for (uint32_t p = 0; p < group->point_count; p++) {
        names[count++] = group->points[p].name;
    }
    for (uint32_t c = 0; c < group->cross_count; c++) {
        names[count++] = group->crosses[c].name;
        if (group->crosses[c].cells == NULL) {
            return cov_fail(r->err, COV_BAD_FILE, "%s: %s.%s has no cells", r->name, group->name,
                            group->crosses[c].name);
        }
    }
    rc = unique(r, names, count, "coverpoints or crosses");
    for (uint32_t p = 0; rc == COV_OK && p < group->point_count; p++) {
        for (uint32_t b = 0; b < group->points[p].bin_count; b++) {
            names[b] = group->points[p].bins[b].name;
        }
        rc = unique(r, names, group->points[p].bin_count, "bins");
    }
    return rc;
}

static int check_names(const reader *r) {
    const cov_data *data = r->data;
    size_t most = data->group_count > COV_BINS_MAX ? data->group_count : COV_BINS_MAX;
    for (uint32_t g = 0; g < data->group_count; g++) {
        const size_t here = (size_t)data->groups[g].point_count + data->groups[g].cross_count;
        most = here > most ? here : most;
    }
    const char **names = calloc(most, sizeof *names);
    if (names == NULL) {
        return cov_no_memory(r->err);
    }
    for (uint32_t g = 0; g < data->group_count; g++) {
        names[g] = data->groups[g].name;
    }
    int rc = unique(r, names, data->group_count, "covergroups");
    for (uint32_t g = 0; rc == COV_OK && g < data->group_count; g++) {
        rc = check_group(r, &data->groups[g], names);
    }
    free(names);
    return rc;
}

static int read_line(reader *r, char *line) {
    if (line[0] == '\0' || line[1] != ' ') {
        return bad(r, "not a line of a shape");
    }
    switch (line[0]) {
    case 'G':
        return read_group(r, line + 2);
    case 'P':
        return read_point(r, line + 2);
    case 'B':
        return read_bin(r, line + 2);
    case 'C':
        return read_cross(r, line + 2);
    case 'R':
        return read_rule(r, line + 2);
    case 'L':
        return read_cells(r, line + 2);
    default:
        return read_text(r, line[0], line + 2);
    }
}

int cov_shape_parse(cov_data *data, const char *text, size_t bytes, const char *name, cov_error *err) {
    reader r = {.data = data, .name = name, .err = err};
    int rc = COV_OK;
    r.at = cov_text(data, text, bytes);
    if (r.at == NULL) {
        return cov_no_memory(err);
    }
    r.end = r.at + bytes;
    while (rc == COV_OK && r.at < r.end) {
        char *line = r.at;
        char *stop = memchr(line, '\n', (size_t)(r.end - line));
        r.line++;
        if (stop == NULL) {
            return bad(&r, "no end of the line");
        }
        *stop = '\0';
        r.at = stop + 1;
        if (strlen(line) != (size_t)(stop - line) || (line[0] != 'L' && !cov_is_line(line, 600))) {
            return bad(&r, "not printable, or too long");
        }
        rc = read_line(&r, line);
    }
    rc = rc == COV_OK ? check_names(&r) : rc;
    return rc == COV_OK ? cov_place(data, err) : rc;
}
