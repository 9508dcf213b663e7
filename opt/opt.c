#include "opt.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/*
 * Where the text of an option begins in the help: behind the longest name, within these. After a longer name the text
 * follows directly.
 */
#define LEFT_MIN 14
#define LEFT_MAX 18

int opt_fail(char *err, size_t err_size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(err, err_size, format, args);
    va_end(args);
    return -1;
}

int opt_bad(const char *program, const char *format, ...) {
    va_list args;
    fprintf(stderr, "%s: ", program);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return 2;
}

bool opt_number(const char *text, uint64_t lo, uint64_t hi, uint64_t *value) {
    const unsigned base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
    static const char digits[] = "0123456789abcdef";
    uint64_t v = 0;
    text += base == 16 ? 2 : 0;
    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        const char c = *text >= 'A' && *text <= 'F' ? (char)(*text - 'A' + 'a') : *text;
        const char *at = strchr(digits, c);
        const unsigned digit = at != NULL ? (unsigned)(at - digits) : base;
        if (digit >= base || v > (UINT64_MAX - digit) / base) {
            return false;
        }
        v = v * base + digit;
    }
    if (v < lo || v > hi) {
        return false;
    }
    *value = v;
    return true;
}

int opt_find(const char *const *words, const char *word) {
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0) {
            return i;
        }
    }
    return -1;
}

void opt_words_text(const char *const *words, char *dst, size_t size) {
    size_t at = 0;
    dst[0] = '\0';
    for (size_t i = 0; words[i] != NULL && at < size; i++) {
        const char *before = i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ";
        at += (size_t)snprintf(dst + at, size - at, "%s%s", before, words[i]);
    }
}

/* ---- one value ---- */

/* "got 'x'"; a missing argument is "nothing". */
static int wrong(const opt_row *o, const char *expected, const char *value, char *err, size_t err_size) {
    return value == NULL ? opt_fail(err, err_size, "%s: expected %s, got nothing", o->name, expected)
                         : opt_fail(err, err_size, "%s: expected %s, got '%.60s'", o->name, expected, value);
}

static int take_number(const opt_row *o, const char *value, uint64_t end_of_type, char *err, size_t err_size) {
    const uint64_t hi = o->hi != 0 ? o->hi : end_of_type;
    char expected[80] = "a number";
    uint64_t number = 0;
    if (o->lo != 0 || hi != UINT64_MAX) {
        snprintf(expected, sizeof expected, "a number %" PRIu64 "..%" PRIu64, o->lo, hi);
    }
    if (value == NULL || !opt_number(value, o->lo, hi, &number)) {
        return wrong(o, expected, value, err, err_size);
    }
    switch (o->kind) {
    case OPT_U32:
        *(uint32_t *)o->to = (uint32_t)number;
        break;
    case OPT_I64:
        *(int64_t *)o->to = (int64_t)number;
        break;
    default:
        *(uint64_t *)o->to = number;
        break;
    }
    return 0;
}

static int take_real(const opt_row *o, const char *value, char *err, size_t err_size) {
    const bool bounded = o->least != 0 || o->most != 0;
    char expected[80] = "a number";
    char *end = NULL;
    const double number = value != NULL ? strtod(value, &end) : 0;
    if (bounded) {
        snprintf(expected, sizeof expected, "a number %g..%g", o->least, o->most);
    }
    if (value == NULL || end == value || *end != '\0' || !isfinite(number) ||
        (bounded && (number < o->least || number > o->most))) {
        return wrong(o, expected, value, err, err_size);
    }
    *(double *)o->to = number;
    return 0;
}

static int take_word(const opt_row *o, const char *value, char *err, size_t err_size) {
    char expected[200];
    const int at = value != NULL ? opt_find(o->words, value) : -1;
    if (at < 0) {
        opt_words_text(o->words, expected, sizeof expected);
        return wrong(o, expected, value, err, err_size);
    }
    if (o->kind == OPT_WORD) {
        *(int *)o->to = at;
    } else {
        *(const char **)o->to = value;
    }
    return 0;
}

static int add_item(const opt_row *o, const char *value, char *err, size_t err_size) {
    opt_list *list = (opt_list *)o->to;
    if (list->count == list->most) {
        return opt_fail(err, err_size, "%s: expected at most %zu, '%.60s' is one more", o->name, list->most, value);
    }
    list->item[list->count++] = value;
    return 0;
}

static int call(const opt_row *o, const char *value, char *err, size_t err_size) {
    char why[600] = "";
    const int rc = o->take(o->to, value, why, sizeof why);
    return rc < 0 ? opt_fail(err, err_size, "%s: %s", o->name, why) : rc;
}

static int take_value(const opt_row *o, const char *value, char *err, size_t err_size) {
    switch (o->kind) {
    case OPT_U64:
        return take_number(o, value, UINT64_MAX, err, err_size);
    case OPT_U32:
        return take_number(o, value, UINT32_MAX, err, err_size);
    case OPT_I64:
        return take_number(o, value, INT64_MAX, err, err_size);
    case OPT_REAL:
        return take_real(o, value, err, err_size);
    default:
        break;
    }
    if (o->words != NULL) {
        return take_word(o, value, err, err_size);
    }
    if (value == NULL || value[0] == '\0') {
        return opt_fail(err, err_size, "%s: expected a value", o->name);
    }
    if (o->kind == OPT_LIST) {
        return add_item(o, value, err, err_size);
    }
    if (o->kind == OPT_TAKE) {
        return call(o, value, err, err_size);
    }
    *(const char **)o->to = value;
    return 0;
}

/* ---- the command line ---- */

static bool has(const opt_line *line, const opt_row *o) {
    return line->set == 0 || o->sets == 0 || (o->sets & line->set) != 0;
}

static const opt_row *find(const opt_line *line, const char *name, size_t length) {
    for (size_t g = 0; g < line->groups; g++) {
        for (size_t i = 0; i < line->group[g].count; i++) {
            const opt_row *o = &line->group[g].row[i];
            if (strlen(o->name) == length && strncmp(o->name, name, length) == 0 && has(line, o)) {
                return o;
            }
        }
    }
    return NULL;
}

static int take_argument(const opt_line *line, const char *word, char *err, size_t err_size) {
    if (line->word != NULL) {
        return line->word(line->ctx, word, err, err_size);
    }
    return opt_fail(err, err_size, "%s%sunexpected argument %.60s", line->command != NULL ? line->command : "",
                    line->command != NULL ? ": " : "", word);
}

/* The option that argument i begins with; returns how many further arguments belong to it, or -1. */
static int take_option(const opt_line *line, const opt_row *o, const char *joined, int left, char *const *next,
                       char *err, size_t err_size) {
    int used = 0;
    if (o->kind == OPT_FLAG || o->kind == OPT_SET) {
        if (joined != NULL) {
            return opt_fail(err, err_size, "%s: takes no value, got '%.60s'", o->name, joined);
        }
        if (o->kind == OPT_FLAG) {
            *(bool *)o->to = true;
        } else {
            *(int *)o->to = (int)o->lo;
        }
    } else if (o->kind == OPT_WORDS) {
        for (; used < left && next[used][0] != '-'; used++) {
            if (add_item(o, next[used], err, err_size) != 0) {
                return -1;
            }
        }
    } else if (o->kind == OPT_MAYBE) {
        const int rc = call(o, joined != NULL ? joined : left > 0 ? next[0] : NULL, err, err_size);
        if (rc == 0 && joined != NULL) {
            return opt_fail(err, err_size, "%s: illegal value '%.60s'", o->name, joined);
        }
        used = rc < 0 || joined != NULL ? rc < 0 ? -1 : 0 : rc;
    } else {
        if (line->once && o->given != NULL && *o->given) {
            return opt_fail(err, err_size, "%s: given twice", o->name);
        }
        const char *value = joined != NULL ? joined : left > 0 ? next[0] : NULL;
        used = take_value(o, value, err, err_size) != 0 ? -1 : joined != NULL ? 0 : 1;
    }
    if (o->given != NULL && used >= 0) {
        *o->given = true;
    }
    return used;
}

int opt_parse(opt_line *line, int argc, char *const *argv, char *err, size_t err_size) {
    bool plain = false; /* behind "--" */
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i];
        if (plain || arg[0] != '-' || arg[1] == '\0') {
            if (take_argument(line, arg, err, err_size) != 0) {
                return -1;
            }
            continue;
        }
        plain = strcmp(arg, "--") == 0;
        if (plain) {
            continue;
        }
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            line->help = true;
            continue;
        }
        const char *equal = strchr(arg, '=');
        const opt_row *o = find(line, arg, equal != NULL ? (size_t)(equal - arg) : strlen(arg));
        if (o == NULL) {
            return opt_fail(err, err_size, "%s%sunknown option %.60s (--help lists them)",
                            line->command != NULL ? line->command : "", line->command != NULL ? ": " : "", arg);
        }
        const int used =
            take_option(line, o, equal != NULL ? equal + 1 : NULL, argc - i - 1, argv + i + 1, err, err_size);
        if (used < 0) {
            return -1;
        }
        i += used;
    }
    return 0;
}

/* ---- help ---- */

static int width_of(const opt_row *o) {
    return (int)(strlen(o->name) + (o->value != NULL ? strlen(o->value) + 1 : 0));
}

/* `column`: where texts begin. */
static void help_row(FILE *out, const opt_row *o, int column) {
    const int at = fprintf(out, "  %s%s%s", o->name, o->value != NULL ? " " : "", o->value != NULL ? o->value : "");
    const char *text = o->help;
    for (bool first = true; *text != '\0'; first = false) {
        const size_t length = strcspn(text, "\n");
        const int gap = !first ? column : at + 2 <= column ? column - at : 2;
        fprintf(out, "%*s%.*s\n", gap, "", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

/* Those that are listed, one after the other; NULL behind the last one. */
static const opt_row *listed_row(const opt_line *line, size_t *g, size_t *i) {
    for (; *g < line->groups; *g += 1, *i = 0) {
        for (; *i < line->group[*g].count; *i += 1) {
            const opt_row *o = &line->group[*g].row[*i];
            if (o->help != NULL && has(line, o)) {
                return o;
            }
        }
    }
    return NULL;
}

void opt_help(FILE *out, const opt_line *line) {
    static const opt_row help = {.name = "--help", .help = "this text"};
    int left = LEFT_MIN;
    size_t titled = SIZE_MAX;
    const opt_row *o;
    for (size_t g = 0, i = 0; (o = listed_row(line, &g, &i)) != NULL; i++) {
        left = width_of(o) > left && width_of(o) <= LEFT_MAX ? width_of(o) : left;
    }
    for (size_t g = 0, i = 0; (o = listed_row(line, &g, &i)) != NULL; i++) {
        if (titled != g && line->group[g].title != NULL) {
            fprintf(out, "%s:\n", line->group[g].title);
        }
        titled = g;
        help_row(out, o, left + 4);
    }
    help_row(out, &help, left + 4);
}
