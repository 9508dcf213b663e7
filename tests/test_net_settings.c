/* Settings of layers in ncnn .param text: words, text, arrays, shape hints; changing them; writing them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "../tb/case/rng.h"
#include "net_equal.h"

#define HEAD1 "7767517\n1 1\n"

static void parse_ok(net_graph *g, const char *text, size_t bytes) {
    net_error err = {""};
    if (net_graph_parse_param(g, text, bytes, "t", &err) != NET_OK) {
        fail_msg("%s", err.text);
    }
}

static void refuse(const char *settings, const char *part) {
    char text[400];
    net_graph g;
    net_error err = {""};
    (void)snprintf(text, sizeof text, HEAD1 "Input in 0 1 x %s\n", settings);
    assert_int_equal(net_graph_parse_param(&g, text, strlen(text), "t", &err), NET_ERR_FORMAT);
    if (strstr(err.text, part) == NULL || strchr(err.text, '\n') != NULL) {
        fail_msg("%s: \"%s\" does not contain \"%s\"", settings, err.text, part);
    }
}

/* Print, read again, compare; the text is the caller's. */
static char *again(const net_graph *g, size_t *bytes) {
    char *text = NULL;
    net_graph h;
    net_error err = {""};
    assert_int_equal(net_graph_print_param(g, &text, bytes, &err), NET_OK);
    assert_int_equal(strlen(text), *bytes);
    parse_ok(&h, text, *bytes);
    assert_true(net_equal(g, &h));
    net_graph_free(&h);
    return text;
}

static void test_words(void **state) {
    (void)state;
    net_graph g;
    size_t bytes;
    /* quotes mean something in the text of a setting only */
    const char *text = "7767517\n2 2\nInput \"a 0 1 \"x\nAny b\" 1 1 \"x y 1=\"two words, 3\" 2=a=\"b 3=5\n";
    net_error err;
    assert_int_equal(net_graph_parse_param(&g, text, strlen(text), "t", &err), NET_ERR_FORMAT);
    assert_non_null(strstr(err.text, "t:4: text of key 2 has a quote or a carriage return in its middle"));
    text =
        "7767517\n2 2\nInput \"a 0 1 \"x\nAny b\" 1 1 \"x y 1=\"two words, 3\" 2=a=b 3=5 4=\"\" 5=\"1\" 6=\"\ttab\"\n";
    parse_ok(&g, text, strlen(text));
    assert_string_equal(g.layer[0].name, "\"a");
    assert_string_equal(g.blob[0].name, "\"x");
    const net_layer *b = &g.layer[1];
    assert_string_equal(b->name, "b\"");
    assert_string_equal(net_layer_param(b, 1)->text, "two words, 3");
    assert_string_equal(net_layer_param(b, 2)->text, "a=b");
    assert_int_equal(net_layer_int(b, 3, 0), 5);
    assert_string_equal(net_layer_param(b, 4)->text, "");
    assert_string_equal(net_layer_param(b, 5)->text, "1");
    assert_int_equal(net_layer_int(b, 5, 7), 7); /* text is no number */
    char *printed = again(&g, &bytes);
    assert_non_null(strstr(printed, "\"x y 1=\"two words, 3\" 2=a=b 3=5 4=\"\" 5=\"1\" 6=\"\ttab\"\n"));
    free(printed);
    net_graph_free(&g);
    refuse("1=\"a", "no closing quote");
    refuse("1=\"", "no closing quote");
    refuse("1=\"a\"b", "no closing quote");
    refuse("1=\"a\"b\"", "has a quote or");
    refuse("1=a\"b", "has a quote or");
    refuse("1=\"a\rb\"", "or a carriage return in its middle");
    refuse("1=\"a b\" c", "not key=value");
    refuse("c=\"a\tb\"", "'c=\"a?b\"' is not key=value");
}

static void test_arrays(void **state) {
    (void)state;
    net_graph g;
    size_t bytes;
    parse_ok(&g, HEAD1 "Input in 0 1 x 1=5, 2=5,6 -23303=1,5 -23304=0 5=1.5e+00,-2\n", strlen(HEAD1) + 59);
    const net_layer *in = &g.layer[0];
    for (uint32_t key = 1; key <= 3; key += 2) {
        const net_param *p = net_layer_param(in, key);
        assert_true(p->is_array && p->count == 1 && p->value[0].bits == 5);
        assert_int_equal(net_layer_int(in, key, 9), 9); /* an array is no number */
    }
    assert_true(net_layer_param(in, 4)->is_array && net_layer_param(in, 4)->count == 0);
    assert_true(net_layer_param(in, 5)->value[0].is_float && !net_layer_param(in, 5)->value[1].is_float);
    char *printed = again(&g, &bytes);
    assert_non_null(strstr(printed, " 0 1 x -23301=1,5 -23302=2,5,6 -23303=1,5 -23304=0 -23305=2,1.500000e+00,-2\n"));
    free(printed);
    net_graph_free(&g);
    refuse("1=,", "not a number");
    refuse("1=,5", "not a number");
    refuse("1=5,6,", "not a number");
    refuse("-23301=2,5,", "not a number");
    refuse("-23301=", "not a number");
    refuse("-23301=2147483647,1", "length says");
}

static void test_hints(void **state) {
    (void)state;
    net_graph g;
    net_hint hint;
    const char *text = "7767517\n4 6\nInput a 0 1 x -23330=4,3,5,6,7\nSplit s 1 2 x y z -23330=8,3,5,6,7,1,9,0,0\n"
                       "Any n 1 2 y v w 30=4,5,6,2,7,0,0,0,0,0\nAny m 1 1 z u 30=3\n";
    parse_ok(&g, text, strlen(text));
    assert_true(net_layer_hint(&g.layer[0], 0, &hint));
    assert_true(hint.dims == 3 && hint.w == 5 && hint.h == 6 && hint.d == 1 && hint.c == 7);
    assert_true(net_layer_hint(&g.layer[1], 1, &hint));
    assert_true(hint.dims == 1 && hint.w == 9 && hint.h == 0 && hint.d == 1 && hint.c == 0);
    assert_true(net_layer_hint(&g.layer[2], 0, &hint));
    assert_true(hint.dims == 4 && hint.w == 5 && hint.h == 6 && hint.d == 2 && hint.c == 7);
    assert_true(net_layer_hint(&g.layer[2], 1, &hint));
    assert_int_equal(hint.dims, 0);
    assert_false(net_layer_hint(&g.layer[2], 2, &hint));
    assert_false(net_layer_hint(&g.layer[3], 0, &hint)); /* one number is no hint, ncnn does not look at it either */
    net_graph_free(&g);
    refuse("-23330=3,1,2,3",
           "shape hints (key 30) of layer 'in' are 3 values, expected 4 or 5 for each of its 1 outputs");
    refuse("30=1,2,3,4,5,6", "are 6 values");
    refuse("30=5,2,3,4", "shape hint 0 (key 30) of layer 'in' is not a possible number of dimensions");
    refuse("30=3,2,-3,4", "shape hint 2 (key 30) of layer 'in' is not a possible size");
    refuse("30=3,2.5,3,4", "shape hint 1");
}

static void test_set(void **state) {
    (void)state;
    net_graph g;
    size_t bytes;
    parse_ok(&g, HEAD1 "Input in 0 1 x 0=1 1=2 2=abc\n", strlen(HEAD1) + 29);
    net_layer *in = &g.layer[0];
    const net_value v[2] = {{.bits = 7}, {.bits = 0x3f800000, .is_float = true}};
    assert_int_equal(net_layer_set_int(in, 1, -5), NET_OK);
    assert_int_equal(net_layer_set_array(in, 2, v, 2), NET_OK);
    assert_int_equal(net_layer_set_float(in, 8, 0.1f), NET_OK);
    assert_int_equal(net_layer_set_array(in, 9, NULL, 0), NET_OK);
    net_layer_unset(in, 0);
    net_layer_unset(in, 31);
    char *printed = again(&g, &bytes);
    assert_non_null(strstr(printed, " 0 1 x 1=-5 -23302=2,7,1.000000e+00 8=1.000000e-01 -23309=0\n"));
    free(printed);
    /* all keys have room */
    for (uint32_t key = 0; key <= NET_MAX_KEY; key++) {
        if (key != NET_KEY_HINTS) {
            assert_int_equal(net_layer_set_int(in, key, (int32_t)key), NET_OK);
        }
    }
    assert_int_equal(in->num_params, NET_MAX_KEY);
    free(again(&g, &bytes));
    assert_int_equal(net_layer_set_int(in, 32, 1), NET_ERR_ARG);
    assert_int_equal(net_layer_set_array(in, 1, NULL, 1), NET_ERR_ARG);
    assert_int_equal(net_layer_set_int(NULL, 1, 1), NET_ERR_ARG);
    /* a layer that no reader made */
    net_layer made = {0};
    assert_int_equal(net_layer_set_int(&made, 31, 4), NET_OK);
    assert_int_equal(net_layer_set_int(&made, 0, 5), NET_OK);
    assert_int_equal(net_layer_int(&made, 31, 0), 4);
    net_layer_unset(&made, 31);
    net_layer_unset(&made, 0);
    assert_int_equal(made.num_params, 0);
    free(made.param);
    net_graph_free(&g);
}

/* Every float comes back with its bits, from at most the 15 characters that ncnn reads. */
static void test_floats(void **state) {
    (void)state;
    tb_rng rng = tb_rng_stream(1, "test_net_settings.floats");
    net_graph g;
    net_value v[3000] = {0};
    const float special[] = {0.0f, -0.0f,        FLT_MIN,    FLT_MAX,  -FLT_MAX, FLT_TRUE_MIN,
                             0.1f, -1.0f / 3.0f, 88.376262f, INFINITY, -INFINITY};
    const uint32_t count = sizeof v / sizeof v[0];
    const uint32_t specials = sizeof special / sizeof special[0];
    for (uint32_t i = 0; i < count; i++) {
        do {
            v[i] = (net_value){.bits = (uint32_t)tb_rng_range(&rng, 0, UINT32_MAX), .is_float = true};
        } while ((v[i].bits & 0x7fffffff) > 0x7f800000);
        if (i < specials) {
            memcpy(&v[i].bits, &special[i], 4);
        }
    }
    parse_ok(&g, HEAD1 "Input in 0 1 x\n", strlen(HEAD1) + 15);
    assert_int_equal(net_layer_set_array(&g.layer[0], 3, v, count), NET_OK);
    size_t bytes;
    char *text = again(&g, &bytes);
    size_t longest = 0;
    uint32_t words = 0;
    for (char *rest = NULL, *w = strtok_r(strchr(text, '='), ",\n", &rest); w != NULL;
         w = strtok_r(NULL, ",\n", &rest), words++) {
        longest = strlen(w) > longest ? strlen(w) : longest;
    }
    assert_int_equal(words, count + 1);
    assert_int_equal(longest, 15);
    free(text);
    /* the bits of a NaN are written as a whole number */
    v[0].bits = 0x7fc00001;
    assert_int_equal(net_layer_set_array(&g.layer[0], 3, v, 1), NET_OK);
    text = again(&g, &bytes);
    assert_non_null(strstr(text, "=1,2143289345\n"));
    free(text);
    net_graph_free(&g);
}

static void test_unprintable(void **state) {
    (void)state;
    static char bad[][8] = {"", "a b", "a\n", "a\t", "\x7f"};
    net_graph g;
    size_t bytes = 1;
    char *text = bad[0];
    parse_ok(&g, HEAD1 "Input in 0 1 x 1=abc\n", strlen(HEAD1) + 21);
    char **const place[] = {&g.layer[0].type, &g.layer[0].name, &g.blob[0].name};
    for (size_t p = 0; p < 3; p++) {
        char *kept = *place[p];
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            net_error err = {""};
            *place[p] = bad[i];
            assert_int_equal(net_graph_print_param(&g, &text, &bytes, &err), NET_ERR_ARG);
            assert_null(text);
            assert_int_equal(bytes, 0);
            assert_non_null(strstr(err.text, "cannot hold"));
        }
        *place[p] = kept;
    }
    char *kept = g.layer[0].param[0].text;
    g.layer[0].param[0].text = (char[]){"a\"b"};
    assert_int_equal(net_graph_print_param(&g, &text, &bytes, NULL), NET_ERR_ARG);
    g.layer[0].param[0].text = kept;
    assert_int_equal(net_graph_print_param(&g, NULL, &bytes, NULL), NET_ERR_ARG);
    net_graph_free(&g);
}

/* As many layers and blobs as there may be: names are looked up in a table, not one by one. */
static void test_many_blobs(void **state) {
    (void)state;
    const size_t room = 1u << 21;
    char *text = malloc(room);
    assert_non_null(text);
    size_t len = (size_t)sprintf(text, "7767517\n%u %u\nInput a 0 1 b00000000000000000000000000000000\n",
                                 NET_MAX_LAYERS, NET_MAX_BLOBS);
    uint32_t blobs = 1;
    for (uint32_t i = 1; i < NET_MAX_LAYERS; i++, blobs += 2) {
        len += (size_t)sprintf(text + len, "L l 1 2 b%032u b%032u b%032u\n", i - 1, blobs, blobs + 1);
    }
    assert_int_equal(blobs, NET_MAX_BLOBS - 1);
    net_graph g;
    net_error err;
    clock_t start = clock();
    assert_int_equal(net_graph_parse_param(&g, text, len, "t", &err), NET_ERR_FORMAT);
    assert_non_null(strstr(err.text, "8192 layers and 16383 blobs up to here, line 2 announces 8192 and 16384"));
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 2.0);
    free(text);
}

/* The public files: hints are decoded, and what is printed is the same graph. */
static void test_public(void **state) {
    (void)state;
    const char *root = getenv("TANDEM_DATA");
    char folder[512];
    (void)snprintf(folder, sizeof folder, "%s/param", root != NULL ? root : "../shared/data");
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        printf("not run: no data (%s)\n", folder);
        return;
    }
    uint32_t files = 0;
    uint32_t hints = 0;
    uint32_t same = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[1024];
        size_t len = strlen(entry->d_name);
        if (len < 6 || strcmp(entry->d_name + len - 6, ".param") != 0) {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *in = fopen(path, "rb");
        assert_non_null(in);
        char *text = calloc(1, 1u << 20);
        assert_non_null(text);
        size_t bytes = fread(text, 1, (1u << 20) - 1, in);
        fclose(in);
        net_graph g;
        net_hint hint;
        parse_ok(&g, text, bytes);
        for (uint32_t i = 0; i < g.num_layers; i++) {
            hints += net_layer_hint(&g.layer[i], 0, &hint);
        }
        size_t out_bytes;
        char *out = again(&g, &out_bytes);
        same += out_bytes == bytes && memcmp(text, out, bytes) == 0;
        free(out);
        free(text);
        net_graph_free(&g);
        files++;
    }
    closedir(dir);
    printf("%u files, %u layers with hints, %u files printed byte for byte\n", files, hints, same);
    assert_true(files > 0 && hints > 0 && same > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),      cmocka_unit_test(test_arrays), cmocka_unit_test(test_hints),
        cmocka_unit_test(test_set),        cmocka_unit_test(test_floats), cmocka_unit_test(test_unprintable),
        cmocka_unit_test(test_many_blobs), cmocka_unit_test(test_public),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
