/*
 * waivers.c - reviewed reasons why something needs no hit.
 *
 * A waiver is a line "KIND FILE PATTERN", then "why: ..." and "check: ..."; several in a row may share these two. FILE and PATTERN know '*' and "[3..7]". What a pattern is held against survives a shift of lines: of a
 * toggle the name of the bit, of a line the text of the source, of a branch its arm and the text: "else if (full)".
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "part.h"

#define LINE_BYTES_MAX 1000u

/* "[3..7]" in a pattern against "[5]" in a text: bytes of both. */
static bool match_range(const char *pattern, const char *text, size_t *pattern_bytes, size_t *text_bytes) {
    unsigned first = 0;
    unsigned last = 0;
    unsigned index = 0;
    int used = 0;
    int seen = 0;
    if (sscanf(pattern, "[%9u..%9u]%n", &first, &last, &used) != 2 || used == 0 || sscanf(text, "[%9u]%n", &index, &seen) != 1 ||
        seen == 0) {
        return false;
    }
    *pattern_bytes = (size_t)used;
    *text_bytes = (size_t)seen;
    return index >= first && index <= last;
}

bool code_match(const char *pattern, const char *text) {
    const char *star = NULL; /* the last '*', and the text that it might still take */
    const char *again = NULL;
    for (;;) {
        size_t p = 1;
        size_t t = 1;
        if (*pattern == '*') {
            star = pattern++;
            again = text;
        } else if (*pattern == '\0' && *text == '\0') {
            return true;
        } else if (*text != '\0' && (*pattern == '[' && match_range(pattern, text, &p, &t))) {
            pattern += p;
            text += t;
        } else if (*text != '\0' && *pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL && *again != '\0') {
            pattern = star + 1;
            text = ++again;
        } else {
            return false;
        }
    }
}

/* ---- the file ---- */

static int bad(const char *path, uint32_t line, const char *what, cov_error *err) {
    return cov_fail(err, COV_BAD_FILE, "%s:%" PRIu32 ": %s", path, line, what);
}

static void trim(char *text) {
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        text[--length] = '\0';
    }
}

static int begin(code_waivers *w, char *line, uint32_t number, const char *path, cov_error *err) {
    const size_t kind = strcspn(line, " ");
    const char *what = line;
    char *file = line + kind + strspn(line + kind, " ");
    char *pattern = file + strcspn(file, " ");
    if (*pattern != '\0') {
        *pattern++ = '\0';
        pattern += strspn(pattern, " ");
    }
    if (file[0] == '\0' || pattern[0] == '\0') {
        return bad(path, number, "expected KIND FILE PATTERN", err);
    }
    code_waiver *more = realloc(w->waiver, (w->count + 1) * sizeof *more);
    if (more == NULL) {
        return cov_no_memory(err);
    }
    w->waiver = more;
    code_waiver *waiver = &more[w->count];
    *waiver = (code_waiver){.line = number, .metric = (code_metric)CODE_METRICS};
    for (unsigned m = 0; m < CODE_SCORED; m++) {
        const char *name = code_metric_name((code_metric)m);
        waiver->metric = strlen(name) == kind && strncmp(what, name, kind) == 0 ? (code_metric)m : waiver->metric;
    }
    if ((unsigned)waiver->metric == CODE_METRICS) {
        return bad(path, number, "expected line, branch or toggle, then a file and a pattern", err);
    }
    w->count++;
    waiver->file = strdup(file);
    waiver->pattern = strdup(pattern);
    waiver->what = waiver->file != NULL && waiver->pattern != NULL ? malloc(strlen(file) + strlen(pattern) + 20) : NULL;
    if (waiver->what == NULL) {
        return cov_no_memory(err);
    }
    (void)sprintf(waiver->what, "%s %s %s", code_metric_name(waiver->metric), file, pattern);
    return COV_OK;
}

/* The waiver before this line must be whole. */
static int end(const code_waivers *w, const char *path, cov_error *err) {
    const code_waiver *last = w->count > 0 ? &w->waiver[w->count - 1] : NULL;
    if (last != NULL && (last->why == NULL || last->check == NULL)) {
        return bad(path, last->line, last->why == NULL ? "a waiver without its line \"why: \"" : "a waiver without its line \"check: \"",
                   err);
    }
    return COV_OK;
}

/* A reason, or how to look again, for all waivers above that have none. */
static int give(code_waivers *w, bool why, const char *text, uint32_t number, const char *path, cov_error *err) {
    size_t given = 0;
    if (w->count == 0 || text[0] == '\0') {
        return bad(path, number, w->count == 0 ? "no waiver before it" : "expected a reason", err);
    }
    for (size_t i = w->count; i > 0; i--) {
        char **place = why ? &w->waiver[i - 1].why : &w->waiver[i - 1].check;
        if (*place != NULL) {
            break;
        }
        *place = strdup(text);
        if (*place == NULL) {
            return cov_no_memory(err);
        }
        given++;
    }
    return given == 0 ? bad(path, number, "said twice", err) : COV_OK;
}

static int take_line(code_waivers *w, char *line, uint32_t number, const char *path, cov_error *err) {
    const bool why = strncmp(line, "why:", 4) == 0;
    if (why || strncmp(line, "check:", 6) == 0) {
        const char *text = line + (why ? 4 : 6);
        return give(w, why, text + strspn(text, " "), number, path, err);
    }
    const code_waiver *last = w->count > 0 ? &w->waiver[w->count - 1] : NULL;
    const bool group = last != NULL && last->why == NULL && last->check == NULL;
    const int rc = group ? COV_OK : end(w, path, err);
    return rc == COV_OK ? begin(w, line, number, path, err) : rc;
}

int code_waivers_read(code_waivers *w, const char *path, cov_error *err) {
    code_source source;
    char line[LINE_BYTES_MAX];
    *w = (code_waivers){0};
    int rc = code_source_read(&source, ".", path, err);
    for (uint32_t i = 1; rc == COV_OK && i <= source.count; i++) {
        const char *text = code_source_line(&source, i);
        if (text[0] == '\0' || text[0] == '#') {
            continue;
        }
        if (strlen(text) >= sizeof line || !cov_is_line(text, sizeof line)) {
            rc = bad(path, i, "not a line of printable text", err);
            break;
        }
        (void)snprintf(line, sizeof line, "%s", text);
        trim(line);
        rc = take_line(w, line, i, path, err);
    }
    rc = rc == COV_OK ? end(w, path, err) : rc;
    code_source_free(&source);
    if (rc != COV_OK) {
        code_waivers_free(w);
    }
    return rc;
}

void code_waivers_free(code_waivers *w) {
    for (size_t i = 0; i < w->count; i++) {
        free(w->waiver[i].what);
        free(w->waiver[i].file);
        free(w->waiver[i].pattern);
        free(w->waiver[i].why);
        free(w->waiver[i].check);
    }
    free(w->waiver);
    *w = (code_waivers){0};
}

/* ---- matching ---- */

/* What a pattern is held against. */
static void subject(const code_item *item, const code_source *source, char *dst, size_t size) {
    if (item->metric == CODE_M_TOGGLE) {
        (void)snprintf(dst, size, "%s", item->name);
        return;
    }
    const char *text = code_source_line(source, item->line);
    text += strspn(text, " \t");
    (void)snprintf(dst, size, "%s%s%s", item->metric == CODE_M_BRANCH ? item->name : "", item->metric == CODE_M_BRANCH ? " " : "", text);
}

/* Items of one file; source: read when a waiver needs it. */
static int waive_file(code_waivers *w, code_item *item, size_t count, const char *root, cov_error *err) {
    char text[LINE_BYTES_MAX];
    code_source source = {0};
    int rc = COV_OK;
    for (size_t k = 0; rc == COV_OK && k < w->count; k++) {
        code_waiver *waiver = &w->waiver[k];
        if (!code_match(waiver->file, item[0].file)) {
            continue;
        }
        if (waiver->metric != CODE_M_TOGGLE && source.text == NULL) {
            rc = code_source_read(&source, root, item[0].file, err);
        }
        for (size_t i = 0; rc == COV_OK && i < count; i++) {
            if (item[i].metric != waiver->metric) {
                continue;
            }
            subject(&item[i], &source, text, sizeof text);
            if (code_match(waiver->pattern, text)) {
                waiver->matched++;
                waiver->missing += item[i].hits == 0;
                item[i].waiver = item[i].hits == 0 && item[i].waiver == 0 ? (uint32_t)k + 1 : item[i].waiver;
            }
        }
    }
    code_source_free(&source);
    return rc;
}

int code_waive(code_waivers *w, code_items *items, const char *root, cov_error *err) {
    int rc = COV_OK;
    for (size_t i = 0; rc == COV_OK && i < items->count;) {
        size_t n = 1;
        while (i + n < items->count && strcmp(items->item[i + n].file, items->item[i].file) == 0) {
            n++;
        }
        rc = waive_file(w, &items->item[i], n, root, err);
        i += n;
    }
    return rc;
}
