/* ncnn's calibration tables: reading, finding, adding, writing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "../tb/case/rng.h"
#include "../network/network.h"

static void refuse(const char *text, const char *part) {
    net_table t;
    net_error err = {""};
    char *copy = malloc(strlen(text) + 1);
    assert_non_null(copy);
    memcpy(copy, text, strlen(text));
    copy = realloc(copy, strlen(text) == 0 ? 1 : strlen(text));
    assert_int_equal(net_table_parse(&t, copy, strlen(text), "t", &err), NET_ERR_FORMAT);
    free(copy);
    assert_int_equal(t.count, 0);
    assert_null(t.line);
    if (strstr(err.text, part) == NULL || strchr(err.text, '\n') != NULL) {
        fail_msg("\"%s\" does not contain \"%s\"", err.text, part);
    }
}

static void test_read(void **state) {
    (void)state;
    const char *text = "b_param_0 1.500000 2.250000 inf \n\na_param_0 0.090998 \r\nb\t3e2\na 0.5";
    net_table t;
    net_error err = {""};
    assert_int_equal(net_table_parse(&t, text, strlen(text), "t", &err), NET_OK);
    assert_int_equal(t.count, 4);
    const net_table_line *w = net_table_find(&t, "b", true);
    assert_true(w == &t.line[0] && w->count == 3 && w->scale[1] == 2.25f && isinf(w->scale[2]));
    assert_true(net_table_find(&t, "b", false)->scale[0] == 300.0f);
    assert_true(net_table_find(&t, "a", true)->scale[0] == 0.090998f);
    assert_true(net_table_find(&t, "a", false)->scale[0] == 0.5f);
    assert_null(net_table_find(&t, "c", false));
    assert_null(net_table_find(&t, "a_param", true));
    assert_null(net_table_find(&t, "", false));
    net_table_free(&t);
}

static void test_refused(void **state) {
    (void)state;
    refuse("", "t: no scales in it");
    refuse("\n \n", "no scales in it");
    refuse("a", "t:1: 'a' has no scales");
    refuse("a 1\n\nb \n", "t:3: 'b' has no scales");
    refuse("a 1\nb 2\na 3\n", "t:3: 'a' is given twice");
    refuse("a 1 x\n", "t:1: scale 1 of 'a' is 'x', expected a number");
    refuse("a -1\n", "scale 0 of 'a' is '-1'");
    refuse("a nan\n", "is 'nan'");
    refuse("a -inf\n", "is '-inf'");
    refuse("a 0x10\n", "is '0x10'");
    refuse("a 1.0.0\n", "is '1.0.0'");
    refuse("a +\n", "is '+'");
    refuse("a 1\x01\n", "t: byte 3 is 0x01, expected text");
    char text[600];
    memset(text, 'k', sizeof text);
    memcpy(text + 400, " 1\n", 4);
    refuse(text, "name of 400 characters");
    memcpy(text, "a ", 2);
    memset(text + 2, '1', 100);
    text[102] = '\0';
    refuse(text, "scale 0 of 'a'");
}

static void test_limits(void **state) {
    (void)state;
    net_table t;
    net_error err = {""};
    size_t room = 16 * (size_t)(2 * NET_MAX_LAYERS + 1);
    char *text = malloc(room);
    assert_non_null(text);
    size_t len = 0;
    for (uint32_t i = 0; i < 2 * NET_MAX_LAYERS; i++) {
        len += (size_t)sprintf(text + len, "%u 1\n", (i * 7919u) % (2 * NET_MAX_LAYERS));
    }
    assert_int_equal(net_table_parse(&t, text, len, "t", &err), NET_OK);
    for (uint32_t i = 0; i < t.count; i++) {
        assert_ptr_equal(net_table_find(&t, t.line[i].key, false), &t.line[i]);
    }
    const float one = 1;
    assert_int_equal(net_table_add(&t, "x", false, &one, 1, &err), NET_ERR_ARG);
    net_table_free(&t);
    len += (size_t)sprintf(text + len, "x 1\n");
    assert_int_equal(net_table_parse(&t, text, len, "t", &err), NET_ERR_FORMAT);
    assert_non_null(strstr(err.text, "t:16385: more than 16384 lines"));
    free(text);
    assert_int_equal(net_table_parse(NULL, "", 0, "t", &err), NET_ERR_ARG);
    assert_int_equal(net_table_load(&t, "no/such.table", &err), NET_ERR_IO);
    assert_int_equal(net_table_load(&t, "models", &err), NET_ERR_IO);
}

/* What is written is read again, every bit of it. */
static void test_write(void **state) {
    (void)state;
    net_table t = {0};
    net_table again;
    net_error err = {""};
    float scale[1000];
    tb_rng rng = tb_rng_stream(1, "test_net_table.write");
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t bits = (uint32_t)tb_rng_range(&rng, 0, 0x7f800000); /* 0 to inf */
        memcpy(&scale[i], &bits, sizeof bits);
    }
    const float special[] = {0.0f, FLT_MIN, FLT_TRUE_MIN, FLT_MAX, INFINITY, 0.1f, 0.090998f, 16771.933594f};
    memcpy(scale, special, sizeof special);
    assert_int_equal(net_table_add(&t, "z/conv", true, scale, 1000, &err), NET_OK);
    assert_int_equal(net_table_add(&t, "z/conv", false, scale + 6, 1, &err), NET_OK);
    assert_int_equal(net_table_add(&t, "a", false, scale + 7, 1, &err), NET_OK);
    assert_int_equal(net_table_add(&t, "a", false, scale, 1, &err), NET_ERR_ARG);
    assert_string_equal(err.text, "calibration table: 'a' is already in the table");
    const float bad[] = {-1.0f, NAN};
    assert_int_equal(net_table_add(&t, "b", false, &bad[0], 1, &err), NET_ERR_ARG);
    assert_int_equal(net_table_add(&t, "b", false, &bad[1], 1, &err), NET_ERR_ARG);
    assert_int_equal(net_table_add(&t, "b", false, scale, 0, &err), NET_ERR_ARG);
    assert_int_equal(net_table_add(&t, "b c", false, scale, 1, &err), NET_ERR_ARG);
    assert_int_equal(net_table_add(&t, "", false, scale, 1, &err), NET_ERR_ARG);
    assert_int_equal(t.count, 3);
    char path[64];
    (void)snprintf(path, sizeof path, "build/test_net_table.%ld.table", (long)getpid());
    assert_int_equal(net_table_save(&t, path, &err), NET_OK);
    assert_int_equal(net_table_load(&again, path, &err), NET_OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(again.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_string_equal(again.line[i].key, t.line[i].key);
        assert_int_equal(again.line[i].count, t.line[i].count);
        assert_memory_equal(again.line[i].scale, t.line[i].scale, t.line[i].count * sizeof(float));
    }
    char *text = NULL;
    size_t bytes;
    assert_int_equal(net_table_print(&t, &text, &bytes, &err), NET_OK);
    assert_non_null(strstr(text, "\nz/conv 0.090998 \na 16771.933594 \n"));
    free(text);
    assert_int_equal(net_table_save(&t, "no/such/folder/a", &err), NET_ERR_IO);
    net_table_free(&t);
    net_table_free(&again);
}

/* ncnn's own table, byte for byte; the other one was not printed from floats, but nothing of it is lost. */
static void test_public(void **state) {
    (void)state;
    static const char *const name[] = {"squeezenet.table", "squeezenet-w127.table"};
    for (size_t i = 0; i < 2; i++) {
        const char *root = getenv("TANDEM_DATA");
        char path[512];
        (void)snprintf(path, sizeof path, "%s/squeezenet/%s", root != NULL ? root : "../shared/data", name[i]);
        FILE *in = fopen(path, "rb");
        if (in == NULL) {
            printf("not run: no data (%s)\n", path);
            continue;
        }
        char *file = calloc(1, 1u << 20);
        assert_non_null(file);
        size_t bytes = fread(file, 1, (1u << 20) - 1, in);
        fclose(in);
        net_table t;
        net_error err = {""};
        if (net_table_load(&t, path, &err) != NET_OK) {
            fail_msg("%s", err.text);
        }
        assert_int_equal(t.count, 52);
        assert_int_equal(net_table_find(&t, "fire9/expand3x3", true)->count, 256);
        assert_int_equal(net_table_find(&t, "conv10", false)->count, 1);
        char *text = NULL;
        size_t printed;
        assert_int_equal(net_table_print(&t, &text, &printed, &err), NET_OK);
        if (i == 0) {
            assert_int_equal(printed, bytes);
            assert_memory_equal(text, file, bytes);
        }
        net_table again;
        assert_int_equal(net_table_parse(&again, text, printed, "again", &err), NET_OK);
        assert_int_equal(again.count, t.count);
        for (uint32_t k = 0; k < t.count; k++) {
            assert_int_equal(again.line[k].count, t.line[k].count);
            assert_memory_equal(again.line[k].scale, t.line[k].scale, t.line[k].count * sizeof(float));
        }
        net_table_free(&again);
        free(text);
        free(file);
        net_table_free(&t);
        printf("%s: read and written\n", path);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),  cmocka_unit_test(test_refused), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_write), cmocka_unit_test(test_public),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
