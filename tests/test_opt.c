/* The parser of command lines: kinds of values, their limits, errors, help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "opt/opt.h"

typedef struct values {
    const char *text, *kind, *item[2], *file[3], *run;
    bool flag, have_number;
    uint64_t number;
    uint32_t small;
    int64_t wide;
    double real;
    int word, choice;
    opt_list list, files;
    const char *arg[4];
    size_t args;
} values;

static int take_pair(void *to, const char *value, char *err, size_t err_size) {
    if (strchr(value, ':') != NULL) {
        *(const char **)to = value;
        return 0;
    }
    snprintf(err, err_size, "expected A:B, got '%s'", value);
    return -1;
}

static int take_run(void *to, const char *next, char *err, size_t err_size) {
    (void)err;
    (void)err_size;
    *(const char **)to = next != NULL && next[0] >= '0' && next[0] <= '9' ? next : "newest";
    return next != NULL && next[0] >= '0' && next[0] <= '9';
}

static int take_arg(void *ctx, const char *word, char *err, size_t err_size) {
    values *v = (values *)ctx;
    if (v->args == 4) {
        snprintf(err, err_size, "unexpected argument %s", word);
        return -1;
    }
    v->arg[v->args++] = word;
    return 0;
}

/* Parses the words, or prints the help. Returns the error, or NULL. */
static const char *parse(values *v, unsigned set, FILE *help, const char *first, ...) {
    static char err[300];
    static const char *const kinds[] = {"fast", "tap", "san", NULL};
    char *argv[16];
    int argc = 0;
    *v = (values){.word = -1};
    v->list = (opt_list){.item = v->item, .most = 2};
    v->files = (opt_list){.item = v->file, .most = 3};
    const opt_row rows[] = {
        OPT(TEXT, "--text", "F", "a text", &v->text),
        OPT(TEXT, "--kind", "K", "one of some", &v->kind, .words = kinds),
        OPT(FLAG, "--flag", NULL, "a flag,\nin two lines", &v->flag),
        OPT(SET, "--two", NULL, "sets 2", &v->choice, .lo = 2),
        OPT(U64, "--number", "N", "any number", &v->number, .given = &v->have_number),
        OPT(U32, "--small", "N", "1..9", &v->small, .lo = 1, .hi = 9),
        OPT(I64, "--wide", "N", "not negative", &v->wide),
        OPT(REAL, "--real", "X", "0.5..2", &v->real, .least = 0.5, .most = 2),
        OPT(WORD, "--word", "K", "its place", &v->word, .words = kinds),
        OPT(LIST, "--item", "I", "twice", &v->list),
        OPT(WORDS, "--files", "F ...", "up to the next option", &v->files),
        OPT(TAKE, "--pair", "A:B", "two", &v->text, .take = take_pair),
        OPT(MAYBE, "--run", "[N]", "the newest one, or N", &v->run, .take = take_run),
    };
    const opt_row others[] = {OPT(FLAG, "--second", NULL, "of set 2", &v->flag, .sets = 2),
                              OPT(FLAG, "--hidden", NULL, NULL, &v->flag)};
    const opt_group groups[] = {OPT_GROUP(NULL, rows), OPT_GROUP("others", others)};
    opt_line line = {
        .group = groups, .groups = 2, .set = set, .command = "cmd", .once = true, .word = take_arg, .ctx = v};
    if (help != NULL) {
        opt_help(help, &line);
        return NULL;
    }
    va_list args;
    va_start(args, first);
    for (const char *a = first; a != NULL; a = va_arg(args, const char *)) {
        argv[argc++] = (char *)(uintptr_t)a;
    }
    va_end(args);
    return opt_parse(&line, argc, argv, err, sizeof err) == 0 ? NULL : err;
}

static void test_values(void **state) {
    values v;
    (void)state;
    assert_null(parse(&v, 1, NULL, "--text", "a", "--flag", "--number", "0x10", "--small=9", "x", "--real", "0.5",
                      "--word", "tap", "-", NULL));
    assert_string_equal(v.text, "a");
    assert_true(v.flag && v.have_number && v.number == 16 && v.small == 9 && v.word == 1);
    assert_true(v.real > 0.49 && v.real < 0.51);
    assert_int_equal(v.args, 2);
    assert_string_equal(v.arg[1], "-");
    assert_null(parse(&v, 1, NULL, "--item", "a", "--item", "b", "--files", "x", "y", "--two", "--", "--flag", NULL));
    assert_true(v.list.count == 2 && v.files.count == 2 && v.choice == 2 && !v.flag && v.args == 1);
    assert_null(
        parse(&v, 1, NULL, "--number", "18446744073709551615", "--wide", "9223372036854775807", "--pair", "a:b", NULL));
    assert_true(v.number == UINT64_MAX && v.wide == INT64_MAX);
    assert_null(parse(&v, 1, NULL, "--run", "--flag", NULL));
    assert_string_equal(v.run, "newest");
    assert_null(parse(&v, 1, NULL, "--run", "7", NULL));
    assert_string_equal(v.run, "7");
    assert_int_equal(v.args, 0);
}

static void test_errors(void **state) {
    static const char *const cases[][3] = {
        {"--frob", NULL, "cmd: unknown option --frob (--help lists them)"},
        {"--second", NULL, "cmd: unknown option --second (--help lists them)"},
        {"--text", NULL, "--text: expected a value"},
        {"--text", "", "--text: expected a value"},
        {"--kind", "slow", "--kind: expected fast, tap or san, got 'slow'"},
        {"--word", NULL, "--word: expected fast, tap or san, got nothing"},
        {"--small", "0", "--small: expected a number 1..9, got '0'"},
        {"--small", "0x", "--small: expected a number 1..9, got '0x'"},
        {"--number", "18446744073709551616", "--number: expected a number, got '18446744073709551616'"},
        {"--number", "-1", "--number: expected a number, got '-1'"},
        {"--number", "1e3", "--number: expected a number, got '1e3'"},
        {"--wide", "9223372036854775808",
         "--wide: expected a number 0..9223372036854775807, got '9223372036854775808'"},
        {"--real", "nan", "--real: expected a number 0.5..2, got 'nan'"},
        {"--real", "2.5", "--real: expected a number 0.5..2, got '2.5'"},
        {"--pair", "ab", "--pair: expected A:B, got 'ab'"},
        {"--flag=1", NULL, "--flag: takes no value, got '1'"},
        {"--run=x", NULL, "--run: illegal value 'x'"},
    };
    values v;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *err = parse(&v, 1, NULL, cases[i][0], cases[i][1], NULL);
        assert_non_null(err);
        assert_string_equal(err, cases[i][2]);
    }
    assert_string_equal(parse(&v, 1, NULL, "--number", "1", "--number", "2", NULL), "--number: given twice");
    assert_non_null(parse(&v, 1, NULL, "--item", "a", "--item", "b", "--item", "c", NULL));
    assert_string_equal(parse(&v, 1, NULL, "a", "b", "c", "d", "e", NULL), "unexpected argument e");
    assert_null(parse(&v, 2, NULL, "--second", "--hidden", NULL));
}

static void test_help(void **state) {
    values v;
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    (void)state;
    assert_non_null(f);
    (void)parse(&v, 2, f, NULL);
    fclose(f);
    assert_non_null(strstr(text, "  --text F        a text\n"));
    assert_non_null(strstr(text, "  --flag          a flag,\n                  in two lines\n"));
    assert_non_null(strstr(text, "others:\n  --second        of set 2\n  --help          this text\n"));
    assert_null(strstr(text, "--hidden"));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_help)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
