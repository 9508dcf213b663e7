/* Reader of ncnn .param/.bin: what it accepts, and that damaged files end in one error line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../network/network.h"
#include "../tb/case/rng.h"

#define DIGITS "models/digits/"

typedef struct file_bytes {
    char *data;
    size_t bytes;
} file_bytes;

static file_bytes slurp(const char *path) {
    file_bytes f = {NULL, 0};
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_int_equal(fseek(in, 0, SEEK_END), 0);
    f.bytes = (size_t)ftell(in);
    rewind(in);
    f.data = malloc(f.bytes + 1);
    assert_non_null(f.data);
    assert_int_equal(fread(f.data, 1, f.bytes, in), f.bytes);
    f.data[f.bytes] = '\0';
    fclose(in);
    return f;
}

/* An error is one line of printable text that is not empty. */
static void check_line(const net_error *err) {
    assert_true(err->text[0] != '\0');
    assert_null(strchr(err->text, '\n'));
    for (const char *p = err->text; *p != '\0'; p++) {
        assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
    }
}

/* The text has to fail, with `part` in its error line. */
static void refuse(const char *text, const char *part) {
    net_graph g;
    net_error err = {""};
    /* An exact copy, so that the sanitizer sees a read past the end. */
    char *copy = malloc(strlen(text) + 1);
    assert_non_null(copy);
    memcpy(copy, text, strlen(text));
    net_status status = net_graph_parse_param(&g, copy, strlen(text), "t", &err);
    if (status == NET_OK) {
        net_graph_parse_bin(&g, "", 0, "b", NULL);
        status = net_graph_plan(&g, &err);
        net_graph_free(&g);
    }
    free(copy);
    assert_int_not_equal(status, NET_OK);
    check_line(&err);
    if (strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" does not contain \"%s\"", err.text, part);
    }
}

static void parse_ok(net_graph *g, const char *text) {
    net_error err = {""};
    if (net_graph_parse_param(g, text, strlen(text), "t", &err) != NET_OK) {
        fail_msg("%s", err.text);
    }
}

static void test_digits_load(void **state) {
    (void)state;
    net_graph g;
    net_error err = {""};
    assert_int_equal(net_graph_load(&g, DIGITS "digits.param", DIGITS "digits.bin", &err), NET_OK);
    assert_int_equal(net_graph_plan(&g, &err), NET_OK);
    assert_int_equal(g.num_layers, 9);
    assert_int_equal(net_graph_macs(&g), 159232);
    assert_false(net_graph_is_int8(&g));
    const net_shape *out = &g.blob[g.output].shape;
    assert_int_equal(out->c, 10);
    assert_int_equal(net_shape_elements(out), 10);
    net_graph_free(&g);
    assert_int_equal(net_graph_load(&g, DIGITS "digits-int8.param", DIGITS "digits-int8.bin", &err), NET_OK);
    assert_int_equal(net_graph_plan(&g, &err), NET_OK);
    assert_true(net_graph_is_int8(&g));
    assert_int_equal(net_graph_macs(&g), 159232);
    assert_true(g.layer[1].conv.relu);
    assert_int_equal(net_layer_tensor(&g.layer[1], NET_ROLE_WEIGHT)->tag, 0x000D4B38);
    net_graph_free(&g);
}

static void test_values(void **state) {
    (void)state;
    net_graph g;
    parse_ok(
        &g,
        "7767517\r\n2 2\r\nInput a 0 1 x\t0=1 1=-2 2=1.5e+0 3=2.\n\n"
        "Anything b 1 1 x y -23310=3,1.0e-01,7,-3 5=1,2 6=1.5,2 7=abc 8=\"0w, 1\" -23311=0 30=3,1,1,1 -23331=1,4\n");
    const net_layer *in = &g.layer[0];
    assert_int_equal(net_layer_int(in, 0, 9), 1);
    assert_int_equal(net_layer_int(in, 1, 9), -2);
    assert_float_equal(net_layer_float(in, 2, 0.0f), 1.5, 0.0);
    assert_float_equal(net_layer_float(in, 3, 0.0f), 2.0, 0.0);
    assert_int_equal(net_layer_int(in, 4, 9), 9);
    assert_int_equal(net_layer_int(in, 2, 0), 0x3fc00000); /* bits, as in ncnn */
    const net_layer *any = &g.layer[1];
    assert_int_equal(any->line, 5);
    assert_int_equal(any->kind, NET_OTHER);
    const net_param *p = net_layer_param(any, 10);
    assert_true(p->is_array && p->count == 3 && p->value[0].is_float && !p->value[1].is_float && p->value[1].bits == 7);
    assert_int_equal(net_layer_param(any, 5)->count, 2);
    assert_string_equal(net_layer_param(any, 7)->text, "abc");
    assert_string_equal(net_layer_param(any, 8)->text, "0w, 1");
    assert_int_equal(net_layer_param(any, 11)->count, 0);
    assert_int_equal(net_layer_param(any, 30)->count, 4);
    assert_int_equal(net_layer_param(any, 31)->count, 1);
    assert_int_equal(g.extra_lines, 0);
    net_graph_free(&g);
    /* lines behind the announced layers are not read, but they are counted */
    parse_ok(&g, "7767517\n1 1\nInput a 0 1 x 0=1\nnot a layer\n\nReLU b 1 1 x y\n");
    assert_int_equal(g.num_layers, 1);
    assert_int_equal(g.extra_lines, 2);
    net_graph_free(&g);
}

#define HEAD1 "7767517\n1 1\n"
#define HEAD2 "7767517\n2 2\n"
#define IN "Input in 0 1 x 0=4 1=4 2=1\n"

static void test_bad_param(void **state) {
    (void)state;
    refuse("", "magic");
    refuse("7767518\n1 1\n", "t:1: magic is '7767518', expected 7767517");
    refuse("7767517 1\n1 1\n" IN, "t:1:");
    refuse("7767517\n", "number of layers");
    refuse("7767517\n1\n" IN, "number of layers");
    refuse("7767517\n0 1\n" IN, "number of layers");
    refuse("7767517\n99999999999999999999 1\n", "number of layers");
    refuse("7767517\n8192 16384\n" IN, "do not fit");
    refuse("7767517\n2 2\n" IN, "t:3: 1 layers and 1 blobs up to here, line 2 announces 2 and 2");
    refuse("7767517\n1 2\n" IN, "1 layers and 1 blobs up to here, line 2 announces 1 and 2");
    refuse(HEAD1 "Input in 0 2 x y 0=4\n", "more blobs");
    refuse(HEAD1 "Input in 0\n", "t:3: layer 'Input': expected type");
    refuse(HEAD1 "Input in 0 -1\n", "not a possible number");
    refuse(HEAD1 "Input in 0 2000000000\n", "not a possible number");
    refuse(HEAD1 "Input in 0 1\n", "not a possible number");
    refuse(HEAD2 IN "Split s 1 2 x x\n", "produced twice");
    refuse(HEAD2 IN "Split s 1 1 z y\n", "t:4: input 'z' of layer 's' is not an output");
    refuse("7767517\n3 3\n" IN "ReLU a 1 1 x y\nReLU b 1 1 x z\n", "already has a consumer");
    refuse(HEAD1 "Input in 0 1 x 0\n", "not key=value");
    refuse(HEAD1 "Input in 0 1 x 32=1\n", "not key=value");
    refuse(HEAD1 "Input in 0 1 x -1=1\n", "not key=value");
    refuse(HEAD1 "Input in 0 1 x -23332=1,1\n", "not key=value");
    refuse(HEAD1 "Input in 0 1 x 0=\n", "is not a number");
    refuse(HEAD1 "Input in 0 1 x 0=4x\n", "is not a number");
    refuse(HEAD1 "Input in 0 1 x 0=2147483648\n", "is not a number");
    refuse(HEAD1 "Input in 0 1 x 0=1.0.0\n", "is not a number");
    refuse(HEAD1 "Input in 0 1 x 0=0x1.8\n", "is not a number");
    refuse(HEAD1 "Input in 0 1 x 0=1 0=2\n", "given twice");
    refuse(HEAD1 "Input in 0 1 x -23300=2,1\n", "length says 2");
    refuse(HEAD1 "Input in 0 1 x -23300=1,1,2\n", "length says 1");
    refuse(HEAD1 "Input in 0 1 x -23300=a\n", "not a number");
    refuse(HEAD1 "Input in 0 1 x 0=1,,2\n", "not a number");
    refuse(HEAD1 "Input in 0 1 x 0=\"abc\n", "no closing quote");
    refuse(HEAD1 "Input in 0 1 \x01 0=1\n", "expected text");
}

static void test_bad_plan(void **state) {
    (void)state;
    refuse(HEAD2 IN "Diag strange 1 1 x y\n", "t:4: layer 'strange' of type 'Diag' is not supported");
    refuse(HEAD2 IN "Quantize q 1 1 x y 0=1\n", "t:4: layer 'q' of type 'Quantize' is not supported"); /* can be read */
    refuse(HEAD1 "Input in 0 1 x\n", "without a fixed shape");
    refuse(HEAD1 "Input in 0 1 x 0=65536 1=65536 2=65536\n", "impossible output shape");
    refuse(HEAD1 "Input in 0 1 x 0=2147483647 1=2147483647 2=2147483647\n", "impossible output shape");
    refuse(HEAD2 IN "Convolution c 1 1 x y 0=1 1=3 6=9 9=7\n", "activation type 7 is not supported");
    refuse(HEAD2 IN "Convolution c 1 1 x y 0=1 1=0 6=9\n", "kernel width (key 1) is 0");
    refuse(HEAD2 IN "Convolution c 1 1 x y 0=1 1=3 3=0 6=9\n", "stride (key 3) is 0");
    refuse(HEAD2 IN "Convolution c 1 1 x y 0=1 1=3 2=-1 6=9\n", "dilation (key 2) is -1");
    refuse(HEAD2 IN "Convolution c 1 1 x y 0=1 1=3 6=8\n", "need 9");
    refuse(HEAD2 IN "Convolution c 1 1 x y 0=1 1=3 6=-9\n", "need 9");
    refuse(HEAD2 IN "Convolution c 1 1 x y 0=1 1=5 6=25\n", "smaller than the kernel");
    refuse(HEAD2 IN "Convolution c 1 1 x y 0=1 1=3 6=9 4=-5\n", "padding");
    refuse(HEAD2 IN "Convolution c 1 1 x y 0=1 1=3 6=9 18=1.0\n", "pad value");
    refuse(HEAD2 IN "Convolution c 1 1 x y 0=1 1=3 6=9 8=1\n", "int8_scale_term 1");
    refuse(HEAD2 IN "Softmax r 1 1 x y 0=3 1=1\n", "axis 3");
    refuse(HEAD2 IN "Reshape r 1 1 x y 0=3\n", "16 elements");
    refuse(HEAD2 IN "Reshape r 1 1 x y 0=-1 1=-1\n", "impossible shape");
}

/* Several inputs and outputs are listed in the order of the file; the single ones say that there are several. */
static void test_ends(void **state) {
    (void)state;
    net_graph g;
    net_error err = {""};
    parse_ok(&g, "7767517\n3 4\nInput a 0 1 x 0=1\nSplit s 1 2 x y z\nInput b 0 1 w 0=2\n");
    assert_int_equal(net_graph_plan(&g, &err), NET_OK);
    assert_int_equal(net_graph_plan(&g, &err), NET_OK); /* again: nothing is kept twice */
    assert_true(g.num_inputs == 2 && g.inputs[0] == 0 && g.inputs[1] == 3);
    assert_true(g.num_outputs == 3 && g.outputs[0] == 1 && g.outputs[1] == 2 && g.outputs[2] == 3);
    assert_true(g.input == NET_NONE && g.output == NET_NONE);
    net_graph_free(&g);
    parse_ok(&g, "7767517\n2 2\nInput a 0 1 x 0=1\nNoop n 1 1 x y\n");
    assert_int_equal(net_graph_plan(&g, &err), NET_OK);
    assert_true(g.num_inputs == 1 && g.num_outputs == 1 && g.input == 0 && g.output == 1);
    net_graph_free(&g);
}

static void test_shapes(void **state) {
    (void)state;
    net_graph g;
    net_error err = {""};
    parse_ok(&g, "7767517\n6 7\nInput in 0 1 x 0=9 1=7 2=2\n"
                 "Convolution c 1 1 x y 0=3 1=3 11=2 3=2 13=1 4=1 15=0 14=1 16=0 6=36\n"
                 "Split s 1 2 y y1 y2\n"
                 "Convolution d 1 1 y1 z 0=4 1=3 3=2 4=-233 15=-233 14=-233 16=-233 6=108\n"
                 "Flatten f 1 1 y2 v\nDropout n 2 1 z v w\n");
    assert_int_equal(net_graph_plan(&g, &err), NET_ERR_FORMAT); /* Dropout with two inputs */
    assert_non_null(strstr(err.text, "2 inputs and 1 outputs, expected 1 and 1"));
    const net_shape *y = &g.blob[1].shape;
    assert_true(y->w == 4 && y->h == 7 && y->c == 3);
    const net_shape *z = &g.blob[4].shape;
    assert_true(z->w == 2 && z->h == 4 && z->c == 4);
    /* width: covered 5 of 4 -> pad 1 at the end; height: covered 9 of 7 -> 1 and 1 */
    const net_conv *d = &g.layer[3].conv;
    assert_true(d->pad_l == 0 && d->pad_r == 1 && d->pad_t == 1 && d->pad_b == 1);
    const net_shape *v = &g.blob[5].shape;
    assert_true(v->dims == 1 && v->w == 84);
    net_graph_free(&g);
}

/* ---- .bin ---- */

static void put_u32(uint8_t *p, uint32_t v) {
    memcpy(p, &v, 4);
}

static const char one_conv[] = HEAD2 IN "Convolution c 1 1 x y 0=1 1=3 5=1 6=9\n";

/* Weights of one_conv from these bytes. */
static net_status one_conv_bin(net_graph *g, const uint8_t *data, size_t bytes, net_error *err) {
    parse_ok(g, one_conv);
    uint8_t *copy = malloc(bytes + 1);
    assert_non_null(copy);
    memcpy(copy, data, bytes);
    uint8_t *exact = realloc(copy, bytes == 0 ? 1 : bytes);
    net_status status = net_graph_parse_bin(g, exact, bytes, "b", err);
    free(exact);
    return status;
}

static void test_tags(void **state) {
    (void)state;
    net_graph g;
    net_error err = {""};
    uint8_t data[2048] = {0};
    /* fp16: 1.0, -2.0, smallest subnormal, largest, +inf, -0; two bytes of padding */
    const uint16_t half[9] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x8000, 0x3555, 0x0400, 0x83ff};
    put_u32(data, 0x01306B47);
    memcpy(data + 4, half, 18);
    put_u32(data + 24, 0x40400000);
    assert_int_equal(one_conv_bin(&g, data, 28, &err), NET_OK);
    const float *w = net_layer_tensor(&g.layer[1], NET_ROLE_WEIGHT)->f32;
    assert_true(w[0] == 1.0f && w[1] == -2.0f && w[2] == 0x1p-24f && w[3] == 65504.0f && w[4] > 1e30f && w[5] == 0.0f);
    assert_true(w[7] == 0x1p-14f && w[8] == -1023 * 0x1p-24f);
    assert_true(net_layer_tensor(&g.layer[1], NET_ROLE_BIAS)->f32[0] == 3.0f);
    net_graph_free(&g);
    /* raw floats under both tags */
    for (uint32_t tag = 0; tag <= 0x0002C056; tag += 0x0002C056) {
        memset(data, 0, sizeof data);
        put_u32(data, tag);
        put_u32(data + 4 + 8 * 4, 0xc0a00000);
        assert_int_equal(one_conv_bin(&g, data, 44, &err), NET_OK);
        assert_true(net_layer_tensor(&g.layer[1], NET_ROLE_WEIGHT)->f32[8] == -5.0f);
        net_graph_free(&g);
    }
    /* codebook: entry 200 is 7, the last index 200, three bytes of padding */
    memset(data, 0, sizeof data);
    put_u32(data, 0x00000001);
    put_u32(data + 4 + 4 * 200, 0x40e00000);
    data[4 + 1024 + 8] = 200;
    assert_int_equal(one_conv_bin(&g, data, 4 + 1024 + 12 + 4, &err), NET_OK);
    assert_true(net_layer_tensor(&g.layer[1], NET_ROLE_WEIGHT)->f32[8] == 7.0f);
    assert_true(net_layer_tensor(&g.layer[1], NET_ROLE_WEIGHT)->f32[7] == 0.0f);
    net_graph_free(&g);
    /* INT8 weights in a layer without scales are a contradiction */
    put_u32(data, 0x000D4B38);
    assert_int_equal(one_conv_bin(&g, data, 4 + 12 + 4, &err), NET_OK);
    assert_int_equal(net_graph_plan(&g, &err), NET_ERR_FORMAT);
    assert_non_null(strstr(err.text, "INT8 weights without int8_scale_term"));
    net_graph_free(&g);
}

static void test_bad_bin(void **state) {
    (void)state;
    net_graph g;
    net_error err = {""};
    uint8_t data[64] = {0};
    assert_int_equal(one_conv_bin(&g, data, 48, &err), NET_ERR_FORMAT);
    assert_string_equal(err.text, "b: 4 bytes are left over after the last layer, expected a file of 44 bytes");
    assert_false(g.has_weights);
    net_graph_free(&g);
    assert_int_equal(one_conv_bin(&g, data, 41, &err), NET_ERR_FORMAT);
    assert_string_equal(err.text, "b: truncated: layer 'c' (t:4) needs 4 bytes at offset 40, 1 are left");
    net_graph_free(&g);
    const char *const huge[] = {"0=1 6=2147483647", "0=2147483647 5=1 6=0", "6=-1", "0=-1 5=1", "0=0"};
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, HEAD2 IN "Convolution c 1 1 x y 1=3 %s\n", huge[i]);
        parse_ok(&g, text);
        assert_int_equal(net_graph_parse_bin(&g, data, sizeof data, "b", &err), NET_ERR_FORMAT);
        check_line(&err);
        net_graph_free(&g);
    }
    parse_ok(&g, HEAD2 IN "MemoryData m 0 1 y 0=2147483647 1=2147483647 11=2147483647 2=2147483647\n");
    assert_int_equal(net_graph_parse_bin(&g, data, sizeof data, "b", &err), NET_ERR_FORMAT);
    net_graph_free(&g);
    parse_ok(&g, HEAD2 IN "Diag strange 1 1 x y\n");
    assert_int_equal(net_graph_parse_bin(&g, data, 0, "b", &err), NET_ERR_UNSUPPORTED);
    assert_string_equal(err.text, "t:4: layer 'strange' of type 'Diag' is not supported: its weights are not known");
    net_graph_free(&g);
}

/* Every length but the full one has to fail; the bytes lie at the end of an allocation, so a read past them is seen by
 * the sanitizer. */
static void truncate_bin(const char *param, const char *bin) {
    net_graph g;
    net_error err;
    file_bytes p = slurp(param);
    file_bytes b = slurp(bin);
    parse_ok(&g, p.data);
    char *room = malloc(b.bytes);
    assert_non_null(room);
    for (size_t len = 0; len < b.bytes; len++) {
        char *copy = room + b.bytes - len; /* ends where the allocation ends */
        memcpy(copy, b.data, len);
        err.text[0] = '\0';
        assert_int_equal(net_graph_parse_bin(&g, copy, len, bin, &err), NET_ERR_FORMAT);
        check_line(&err);
        assert_non_null(strstr(err.text, "truncated"));
    }
    free(room);
    assert_int_equal(net_graph_parse_bin(&g, b.data, b.bytes, bin, &err), NET_OK);
    net_graph_free(&g);
    free(p.data);
    free(b.data);
}

static void test_truncated_bin(void **state) {
    (void)state;
    truncate_bin(DIGITS "digits-int8.param", DIGITS "digits-int8.bin");
    truncate_bin(DIGITS "digits.param", DIGITS "digits.bin");
}

/* Parse, and plan and read weights when that works: whatever the bytes are, an error has a line and nothing crashes. */
static bool survive(const char *text, size_t bytes, const file_bytes *bin) {
    net_graph g;
    net_error err = {""};
    char *copy = malloc(bytes == 0 ? 1 : bytes);
    assert_non_null(copy);
    memcpy(copy, text, bytes);
    net_status status = net_graph_parse_param(&g, copy, bytes, "t", &err);
    free(copy);
    if (status == NET_OK) {
        status = net_graph_parse_bin(&g, bin->data, bin->bytes, "b", &err);
        status = status == NET_OK ? net_graph_plan(&g, &err) : status;
        net_graph_free(&g);
    }
    if (status != NET_OK) {
        check_line(&err);
    }
    return status == NET_OK;
}

static void test_damaged_param(void **state) {
    (void)state;
    static const char *const params[] = {DIGITS "digits.param", DIGITS "digits-int8.param"};
    static const char *const bins[] = {DIGITS "digits.bin", DIGITS "digits-int8.bin"};
    static const char bytes[] = {'\0', ' ', '\n', '0', '9', '-', '=', ',', '"', 'x', '.', '\x7f', '\xff'};
    uint32_t accepted = 0;
    for (int k = 0; k < 2; k++) {
        file_bytes p = slurp(params[k]);
        file_bytes b = slurp(bins[k]);
        assert_true(survive(p.data, p.bytes, &b));
        for (size_t len = 0; len + 6 < p.bytes; len++) {
            /* The last line may lose its settings (a Softmax has defaults), no other may. */
            accepted += survive(p.data, len, &b);
        }
        for (size_t i = 0; i < p.bytes; i++) {
            char kept = p.data[i];
            for (size_t c = 0; c < sizeof bytes; c++) {
                p.data[i] = bytes[c];
                (void)survive(p.data, p.bytes, &b);
            }
            p.data[i] = kept;
        }
        free(p.data);
        free(b.data);
    }
    assert_true(accepted < 60);
}

static void test_random_bytes(void **state) {
    (void)state;
    tb_rng rng = tb_rng_stream(1, "test_net_reader.random_bytes");
    file_bytes none = {malloc(1), 0};
    for (int k = 0; k < 2000; k++) {
        char text[300];
        size_t len = (size_t)tb_rng_range(&rng, 0, sizeof text - 1);
        (void)snprintf(text, sizeof text, HEAD2);
        size_t start = k % 2 == 0 ? 0 : strlen(HEAD2);
        for (size_t i = start; i < len; i++) {
            text[i] = (char)tb_rng_range(&rng, k % 3 == 0 ? 0 : 0x20, k % 3 == 0 ? 255 : 0x60);
        }
        assert_false(survive(text, len, &none));
    }
    free(none.data);
}

static void test_files(void **state) {
    (void)state;
    net_graph g;
    net_error err = {""};
    assert_int_equal(net_graph_load(&g, "no/such.param", "no/such.bin", &err), NET_ERR_IO);
    assert_non_null(strstr(err.text, "no/such.param: cannot open"));
    assert_int_equal(net_graph_load(&g, DIGITS "digits.param", "no/such.bin", &err), NET_ERR_IO);
    assert_int_equal(net_graph_load(&g, "models", DIGITS "digits.bin", &err), NET_ERR_IO);
    assert_int_equal(net_graph_load(&g, DIGITS "digits.param", DIGITS "digits-int8.bin", &err), NET_ERR_FORMAT);
    assert_int_equal(net_graph_load(&g, DIGITS "digits.bin", DIGITS "digits.bin", &err), NET_ERR_FORMAT);
    assert_int_equal(net_graph_load(NULL, "a", "b", &err), NET_ERR_ARG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digits_load),   cmocka_unit_test(test_values),       cmocka_unit_test(test_bad_param),
        cmocka_unit_test(test_bad_plan),      cmocka_unit_test(test_ends),         cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_tags),          cmocka_unit_test(test_bad_bin),      cmocka_unit_test(test_truncated_bin),
        cmocka_unit_test(test_damaged_param), cmocka_unit_test(test_random_bytes), cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
