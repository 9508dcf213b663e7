/*
 * What all pages and files share: escaped text, JSON strings, the frame of a page, files that appear whole or not at
 * all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/report.h"

static void expect(void (*put)(FILE *out, const char *text), const char *text, const char *expected) {
    char *got = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&got, &size);
    assert_non_null(out);
    put(out, text);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(got, expected);
    free(got);
}

static void text_of_xml(void **state) {
    (void)state;
    expect(rep_xml, "a<b>&\"c\" 'd'", "a&lt;b&gt;&amp;&quot;c&quot; 'd'");
    expect(rep_xml, "1\n2\t3\r", "1&#10;2&#9;3&#13;");
    expect(rep_xml, "\x01\x1b", "??");
    expect(rep_xml, "\xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x98\x80");
    /* no character, or one that is cut off */
    expect(rep_xml, "\xff \xc3 \xe2\x80", "? ? ??");
    expect(rep_xml, "\xc0\xaf \xe0\x80\xaf", "?? ???"); /* longer than needed */
    /* surrogate, above U+10FFFF, U+FFFE */
    expect(rep_xml, "\xed\xa0\x80 \xf4\x90\x80\x80 \xef\xbf\xbe", "??? ???? ???");
    expect(rep_xml, NULL, "");
}

static void text_of_json(void **state) {
    (void)state;
    expect(rep_json, "a \"b\" \\ c", "\"a \\\"b\\\" \\\\ c\"");
    expect(rep_json, "1\n\x1f", "\"1\\u000a\\u001f\"");
    expect(rep_json, "\xff\xc3\xa9", "\"?\xc3\xa9\"");
    expect(rep_json, NULL, "\"\"");
}

static void numbers(void **state) {
    (void)state;
    expect(rep_number, "1234", "1234");
    expect(rep_number, "1234567", "1&#8239;234&#8239;567");
    expect(rep_number, "12345.6", "12345.6");
    expect(rep_number, "<12345", "&lt;12345");
    expect(rep_number, NULL, "&#8211;");
}

static void put_page(FILE *out, const char *title) {
    rep_page_begin(out, title, NULL, NULL);
    fputs("<main>", out);
    rep_page_end(out);
}

static void page(void **state) {
    (void)state;
    char *got = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&got, &size);
    assert_non_null(out);
    put_page(out, "a & b");
    assert_int_equal(fclose(out), 0);
    assert_ptr_equal(strstr(got, "<!DOCTYPE html>"), got);
    assert_non_null(strstr(got, "<title>a &amp; b</title>"));
    assert_non_null(strstr(got, "prefers-color-scheme:dark"));
    assert_null(strstr(got, "/*")); /* the comment of page.css stays there */
    assert_non_null(strstr(got, "</main>\n</body></html>\n"));
    free(got);
}

static void put_chart(FILE *out, const char *label) {
    rep_svg_begin(out, NULL, 600, 170.5, label);
    rep_svg_text(out, 36, 14.25, "end", "%d < %s", 1, label);
}

static void chart(void **state) {
    (void)state;
    expect(put_chart, "a & b",
           "<svg viewBox=\"0 0 600 170.5\" role=\"img\" aria-label=\"a &amp; b\">\n"
           "<text x=\"36\" y=\"14.25\" text-anchor=\"end\">1 &lt; a &amp; b</text>\n");
}

static void in_folder(char path[64], const char *dir, const char *name) {
    (void)snprintf(path, 64, "%s/%s", dir, name);
}

static void files(void **state) {
    (void)state;
    char dir[] = "/tmp/rep_XXXXXX";
    char path[64];
    char text[16] = "";
    rep_file f;
    assert_non_null(mkdtemp(dir));
    in_folder(path, dir, "file");
    assert_int_equal(rep_file_open(&f, path), 0);
    fputs("one", f.file);
    assert_int_equal(access(path, F_OK), -1); /* not before it is whole */
    assert_int_equal(rep_file_close(&f, true), 0);
    assert_int_equal(rep_file_open(&f, path), 0);
    fputs("two", f.file);
    rep_file_drop(&f);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_non_null(fgets(text, sizeof text, in));
    assert_string_equal(text, "one");
    assert_int_equal(fclose(in), 0);
    assert_int_equal(unlink(path), 0);
    in_folder(path, dir, "none/file");
    assert_int_equal(rep_save(path, "x", 1), ENOENT);
    assert_int_equal(rep_save("/dev/full", "x", 1), ENOSPC);
    assert_int_equal(rep_save("/dev/null", "x", 1), 0);
    struct stat info;
    assert_true(stat("/dev/null", &info) == 0 && S_ISCHR(info.st_mode));
    char name[PATH_MAX + 10];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(rep_file_open(&f, name), ENAMETOOLONG);
    rep_file_drop(&f);
    assert_int_equal(rmdir(dir), 0); /* nothing was left */
}

/* Text in memory: whole, also what is longer than any buffer; without memory there is none, and fclose() says so. */
static void memory(void **state) {
    (void)state;
    char *text = NULL;
    size_t bytes = 1;
    FILE *out = rep_memory(&text, &bytes);
    assert_non_null(out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "");
    assert_int_equal(bytes, 0);
    free(text);
    out = rep_memory(&text, &bytes);
    for (int i = 0; i < 30000; i++) {
        fprintf(out, "%05d", i);
    }
    assert_int_equal(fclose(out), 0);
    assert_int_equal(bytes, 150000);
    assert_string_equal(text + 149990, "2999829999");
    free(text);

#ifndef __SANITIZE_ADDRESS__ /* which maps what it needs */
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    small = before;
    small.rlim_cur = 1; /* what the heap has is left */
    out = rep_memory(&text, &bytes);
    assert_int_equal(setrlimit(RLIMIT_AS, &small), 0);
    for (int i = 0; i < 10000000; i++) {
        fputs("0123456789", out);
    }
    const int rc = fclose(out);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(rc, EOF);
    assert_null(text);
    assert_int_equal(bytes, 0);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_of_xml), cmocka_unit_test(text_of_json), cmocka_unit_test(numbers),
        cmocka_unit_test(page),        cmocka_unit_test(chart),        cmocka_unit_test(files),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
