/*
 * waivers.c - reviewed reasons: why an item needs no hit (waivers), why it has none (explanations).
 *
 * An entry is a line "KIND FILE PATTERN", then "why: ..." and "check: ..." (an explanation: "hit: ..."); several in a
 * row may share these two. Names of bits have no blanks, so a line "toggle" may have several patterns. FILE and PATTERN
 * may contain '*' and "[3..7]"; an explanation's PATTERN no '*', so that it never matches later additions. Patterns are
 * independent of line numbers; they match of a toggle the name of the bit, of a line the text of the source, of a
 * branch its arm and the text: "else if (full)"; where other lines have the same text, " // next: " and the text of the
 * line below.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "part.h"
#include "report/report.h"

#define LINE_BYTES_MAX 1000u

/* "[3..7]" in a pattern against "[5]" in a text: bytes of both. */
static bool match_range(const char *pattern, const char *text, size_t *pattern_bytes, size_t *text_bytes) {
    unsigned first = 0;
    unsigned last = 0;
    unsigned index = 0;
    int used = 0;
    int seen = 0;
    if (sscanf(pattern, "[%9u..%9u]%n", &first, &last, &used) != 2 || used == 0 ||
        sscanf(text, "[%9u]%n", &index, &seen) != 1 || seen == 0) {
        return false;
    }
    *pattern_bytes = (size_t)used;
    *text_bytes = (size_t)seen;
    return index >= first && index <= last;
}

bool code_match(const char *pattern, const char *text) {
    const char *star = NULL; /* the last '*', and the text that it might still match */
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

/* What a file of this use calls an entry, and its second text. */
static const char *entry_name(code_use use) {
    return use == CODE_WAIVE ? "a waiver" : "an explanation";
}

static const char *how_name(code_use use) {
    return use == CODE_WAIVE ? "check:" : "hit:";
}

/* One entry. */
static int add(code_waivers *w, code_metric metric, const char *file, const char *pattern, uint32_t number,
               const char *path, cov_error *err) {
    if (w->use == CODE_EXPLAIN && strchr(pattern, '*') != NULL) {
        return bad(path, number, "an explanation names what it explains: no * in its pattern", err);
    }
    if (!rep_more(&w->waiver, w->count, sizeof *w->waiver)) {
        return cov_no_memory(err);
    }
    code_waiver *waiver = &w->waiver[w->count++];
    *waiver = (code_waiver){.line = number, .metric = metric, .file = strdup(file), .pattern = strdup(pattern)};
    waiver->what = waiver->file != NULL && waiver->pattern != NULL ? malloc(strlen(file) + strlen(pattern) + 20) : NULL;
    if (waiver->what == NULL) {
        return cov_no_memory(err);
    }
    (void)sprintf(waiver->what, "%s %s %s", code_metric_name(metric), file, pattern);
    return COV_OK;
}

/* Terminate the text at the end of a word; returns the rest after it. */
static char *cut(char *text) {
    char *at = text + strcspn(text, " ");
    if (*at != '\0') {
        *at++ = '\0';
        at += strspn(at, " ");
    }
    return at;
}

static int begin(code_waivers *w, char *line, uint32_t number, const char *path, cov_error *err) {
    char *file = cut(line);
    char *pattern = cut(file);
    if (file[0] == '\0' || pattern[0] == '\0') {
        return bad(path, number, "expected KIND FILE PATTERN", err);
    }
    code_metric metric = (code_metric)CODE_METRICS;
    for (unsigned m = 0; m < CODE_SCORED; m++) {
        metric = strcmp(line, code_metric_name((code_metric)m)) == 0 ? (code_metric)m : metric;
    }
    if ((unsigned)metric == CODE_METRICS) {
        return bad(path, number, "expected line, branch or toggle, then a file and a pattern", err);
    }
    int rc = COV_OK;
    while (rc == COV_OK && pattern[0] != '\0') {
        char *rest = metric == CODE_M_TOGGLE ? cut(pattern) : pattern + strlen(pattern);
        rc = add(w, metric, file, pattern, number, path, err);
        pattern = rest;
    }
    return rc;
}

/* The entry before this line must be complete. */
static int end(const code_waivers *w, const char *path, cov_error *err) {
    char text[80];
    const code_waiver *last = w->count > 0 ? &w->waiver[w->count - 1] : NULL;
    if (last == NULL || (last->why != NULL && last->how != NULL)) {
        return COV_OK;
    }
    (void)snprintf(text, sizeof text, "%s without its line \"%s \"", entry_name(w->use),
                   last->why == NULL ? "why:" : how_name(w->use));
    return bad(path, last->line, text, err);
}

/* One of the two texts, for all entries above that have none. */
static int give(code_waivers *w, bool why, const char *text, uint32_t number, const char *path, cov_error *err) {
    size_t given = 0;
    if (w->count == 0 || text[0] == '\0') {
        return bad(path, number,
                   text[0] == '\0'        ? "expected a reason"
                   : w->use == CODE_WAIVE ? "no waiver before it"
                                          : "no explanation before it",
                   err);
    }
    for (size_t i = w->count; i > 0; i--) {
        char **place = why ? &w->waiver[i - 1].why : &w->waiver[i - 1].how;
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
    const char *how = how_name(w->use);
    if (why || strncmp(line, how, strlen(how)) == 0) {
        const char *text = line + (why ? 4 : strlen(how));
        return give(w, why, text + strspn(text, " "), number, path, err);
    }
    const code_waiver *last = w->count > 0 ? &w->waiver[w->count - 1] : NULL;
    const bool group = last != NULL && last->why == NULL && last->how == NULL;
    const int rc = group ? COV_OK : end(w, path, err);
    return rc == COV_OK ? begin(w, line, number, path, err) : rc;
}

int code_waivers_read(code_waivers *w, const char *path, code_use use, cov_error *err) {
    code_source source;
    char line[LINE_BYTES_MAX];
    *w = (code_waivers){.use = use};
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
        free(w->waiver[i].how);
    }
    free(w->waiver);
    *w = (code_waivers){0};
}

/* ---- matching ---- */

/* The text after it selects one of several lines with the same text, by the line that follows. */
#define NEXT " // next: "

/* The text that a pattern is compared with; next: with the line that follows. */
static void subject(const code_item *item, const code_source *source, bool next, char *dst, size_t size) {
    if (item->metric == CODE_M_TOGGLE) {
        (void)snprintf(dst, size, "%s", item->name);
        return;
    }
    const char *text = code_source_line(source, item->line);
    const char *after = next ? code_source_line(source, item->line + 1) : "";
    text += strspn(text, " \t");
    after += strspn(after, " \t");
    (void)snprintf(dst, size, "%s%s%s%s%s", item->metric == CODE_M_BRANCH ? item->name : "",
                   item->metric == CODE_M_BRANCH ? " " : "", text, next ? NEXT : "", after);
}

/* An item that entry `index` matches. */
static void mark(code_waivers *w, size_t index, code_item *item) {
    code_waiver *waiver = &w->waiver[index];
    waiver->matched++;
    if (item->hits > 0) {
        return;
    }
    if (w->use == CODE_WAIVE) {
        waiver->missing++;
        item->waiver = item->waiver == 0 ? (uint32_t)index + 1 : item->waiver;
    } else if (item->waiver == 0 && item->reason == 0) {
        waiver->missing++;
        item->reason = (uint32_t)index + 1;
    }
}

/* Items of one file; source: read when an entry needs it. */
static int waive_file(code_waivers *w, code_item *item, size_t count, const char *root, cov_error *err) {
    char text[LINE_BYTES_MAX];
    code_source source = {0};
    int rc = COV_OK;
    for (size_t k = 0; rc == COV_OK && k < w->count; k++) {
        const code_waiver *waiver = &w->waiver[k];
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
            subject(&item[i], &source, strstr(waiver->pattern, NEXT) != NULL, text, sizeof text);
            if (code_match(waiver->pattern, text)) {
                mark(w, k, &item[i]);
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
