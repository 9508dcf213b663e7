/*
 * opt.h - command lines: a table of options is parsed, checked and printed as help by one parser; numbers and errors
 * as text. A leaf library: it needs libc and nothing else.
 *
 * A program has groups of rows. A row names the option, where its value goes, which values are legal and its line of
 * --help. Errors are one line: "--seed: expected a number 1..10, got 'x'".
 */
#ifndef OPT_H
#define OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum opt_kind {
    OPT_TEXT,  /* const char *: not empty; with `words`: one of them */
    OPT_FLAG,  /* bool, has no value: true */
    OPT_SET,   /* int, has no value: becomes `lo` */
    OPT_U64,   /* uint64_t of lo..hi, decimal or 0x */
    OPT_U32,   /* uint32_t of lo..hi */
    OPT_I64,   /* int64_t of lo..hi, not negative */
    OPT_REAL,  /* double of least..most */
    OPT_WORD,  /* int: place of the value in `words` */
    OPT_LIST,  /* opt_list: one more item each time that it is given */
    OPT_WORDS, /* opt_list: all arguments up to the next option */
    OPT_TAKE,  /* converted by take() */
    OPT_MAYBE /* take() looks at the next argument (NULL: there is none) and returns 1 when that is the value, 0 when it
                 is not */
} opt_kind;

typedef struct opt_list {
    const char **item;
    size_t count, most;
} opt_list;

/*
 * 0 (OPT_MAYBE: or 1); -1 with the reason in err, to be printed behind the name of the option: "expected A.B, got 'x'".
 */
typedef int opt_take(void *to, const char *value, char *err, size_t err_size);

typedef struct opt_row {
    const char *name;  /* with its dashes */
    const char *value; /* placeholder of the value in the help, NULL: it has none */
    const char *help;  /* one or more lines; NULL: the option is not listed */
    opt_kind kind;
    void *to;
    bool *given;              /* becomes true when the option is given; or NULL */
    uint64_t lo, hi;          /* of numbers; hi 0: up to the end of the type */
    double least, most;       /* of OPT_REAL, both 0: any finite number */
    const char *const *words; /* ends with NULL */
    opt_take *take;
    unsigned sets; /* a bit for each set of options that has it; 0: all have it */
} opt_row;

/* A row: OPT(U32, "--jobs", "N", "processes at a time", &jobs, .lo = 1, .hi = 64). */
#define OPT(KIND, NAME, VALUE, HELP, TO, ...)                                                                          \
    { .name = NAME, .value = VALUE, .help = HELP, .kind = OPT_##KIND, .to = TO, __VA_ARGS__ }

typedef struct opt_group {
    const char *title; /* of its lines in the help, or NULL */
    const opt_row *row;
    size_t count;
} opt_group;

#define OPT_GROUP(TITLE, ROWS)                                                                                         \
    { TITLE, ROWS, sizeof(ROWS) / sizeof(ROWS)[0] }

typedef struct opt_line {
    const opt_group *group;
    size_t groups;
    unsigned set;        /* bit of the set that is parsed; 0: all rows */
    const char *command; /* named in errors, or NULL */
    bool once;           /* an option that has a value may be given only once */
    /*
     * An argument that is no option, also "-" and everything after "--". 0, or -1 with one line in err. NULL: none is
     * expected.
     */
    int (*word)(void *ctx, const char *word, char *err, size_t err_size);
    void *ctx;
    bool help; /* result: --help or -h was given; later arguments are parsed, too */
} opt_line;

/*
 * Parse all `argc` arguments (without the program's name). Options and their values may be joined: --name=value. 0, or
 * -1 with one line in err.
 */
int opt_parse(opt_line *line, int argc, char *const *argv, char *err, size_t err_size);
/* The lines of the options, group by group. */
void opt_help(FILE *out, const opt_line *line);

/* The whole text is a number of lo..hi, decimal or 0x. False: it is not, *value is untouched. */
bool opt_number(const char *text, uint64_t lo, uint64_t hi, uint64_t *value);
/* Place of a word in a list that ends with NULL; -1: not there. */
int opt_find(const char *const *words, const char *word);
/* "a, b or c" */
void opt_words_text(const char *const *words, char *dst, size_t size);

/* Write one line of text for the caller, and return -1: the first form of errors (docs/architecture.md, section 14). */
int opt_fail(char *err, size_t err_size, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "PROGRAM: text" on stderr, and 2, the exit status for bad input. */
int opt_bad(const char *program, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
