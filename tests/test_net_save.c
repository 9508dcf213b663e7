/* Writer of networks: ncnn's .bin and the 16-byte aligned one, and the reader of the latter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "../tb/case/rng.h"
#include "net_equal.h"

#define DIGITS "models/digits/"
#define HEAD2 "7767517\n2 2\nInput in 0 1 x 0=4 1=4 2=1\n"

static uint8_t *slurp(const char *path, size_t *bytes) {
    struct stat st;
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_int_equal(fstat(fileno(in), &st), 0);
    *bytes = (size_t)st.st_size;
    uint8_t *data = malloc(*bytes + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *bytes, in), *bytes);
    data[*bytes] = 0;
    fclose(in);
    return data;
}

static void load(net_graph *g, const char *param, const char *bin) {
    net_error err = {""};
    if (net_graph_load(g, param, bin, &err) != NET_OK) {
        fail_msg("%s", err.text);
    }
}

static void parse(net_graph *g, const char *text) {
    net_error err = {""};
    if (net_graph_parse_param(g, text, strlen(text), "t", &err) != NET_OK) {
        fail_msg("%s", err.text);
    }
}

static uint8_t *pack(const net_graph *g, net_layout layout, net_storage storage, size_t *bytes) {
    const net_save_options how = {layout, storage};
    uint8_t *data = NULL;
    net_error err = {""};
    if (net_graph_pack_bin(g, &how, &data, bytes, &err) != NET_OK) {
        fail_msg("%s", err.text);
    }
    return data;
}

static void put_u32(uint8_t *p, uint32_t v) {
    memcpy(p, &v, 4);
}

/* ncnn's bytes come back; the aligned form holds the same network. */
static void round_trip(const char *param, const char *bin) {
    net_graph g;
    net_graph h;
    net_error err = {""};
    size_t bytes;
    size_t packed;
    load(&g, param, bin);
    assert_int_equal(g.layout, NET_LAYOUT_STOCK);
    uint8_t *file = slurp(bin, &bytes);
    uint8_t *data = pack(&g, NET_LAYOUT_AUTO, NET_STORE_EXACT, &packed);
    assert_int_equal(packed, bytes);
    assert_memory_equal(data, file, bytes);
    free(data);
    free(file);

    char *text = NULL;
    assert_int_equal(net_graph_print_param(&g, &text, &bytes, &err), NET_OK);
    assert_int_equal(net_graph_parse_param(&h, text, bytes, "again", &err), NET_OK);
    free(text);
    data = pack(&g, NET_LAYOUT_ALIGNED, NET_STORE_EXACT, &packed);
    assert_int_equal(packed % 16, 0);
    assert_int_equal(net_graph_parse_bin(&h, data, packed, "as stock", &err), NET_ERR_FORMAT);
    assert_int_equal(net_graph_parse_bin_as(&h, NET_LAYOUT_AUTO, data, packed, "aligned", &err), NET_OK);
    assert_int_equal(h.layout, NET_LAYOUT_ALIGNED);
    assert_true(net_equal(&g, &h));
    uint8_t *again = pack(&h, NET_LAYOUT_AUTO, NET_STORE_EXACT, &bytes);
    assert_int_equal(bytes, packed);
    assert_memory_equal(again, data, bytes);
    free(again);
    free(data);
    net_graph_free(&g);
    net_graph_free(&h);
}

static void test_round_trip(void **state) {
    (void)state;
    round_trip(DIGITS "digits.param", DIGITS "digits.bin");
    round_trip(DIGITS "digits-int8.param", DIGITS "digits-int8.bin");
    static const char *const name[] = {"squeezenet_v1.1", "sq-int8", "sq-int8-w127"};
    for (size_t i = 0; i < 3; i++) {
        const char *root = getenv("TANDEM_DATA");
        char param[512];
        char bin[512];
        (void)snprintf(param, sizeof param, "%s/squeezenet/%s.param", root != NULL ? root : "../shared/data", name[i]);
        (void)snprintf(bin, sizeof bin, "%s/squeezenet/%s.bin", root != NULL ? root : "../shared/data", name[i]);
        if (access(param, R_OK) != 0 || access(bin, R_OK) != 0) {
            printf("not run: no data (%s)\n", bin);
            continue;
        }
        round_trip(param, bin);
        printf("%s: byte for byte, and through the aligned form\n", bin);
    }
}

/* One convolution, byte by byte: 5 weights in FP16, one bias. */
static void test_aligned_bytes(void **state) {
    (void)state;
    net_graph g;
    net_error err = {""};
    uint8_t data[80] = {0};
    const uint16_t half[9] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x8000, 0x3555, 0x0400, 0x83ff};
    put_u32(data, 0x01306B47);
    memcpy(data + 16, half, sizeof half); /* 18 bytes, filled up to 32 */
    put_u32(data + 64, 0x40400000);       /* behind an FP32 tag */
    const char *text = HEAD2 "Convolution c 1 1 x y 0=1 1=3 5=1 6=9\n";
    parse(&g, text);
    assert_int_equal(net_graph_parse_bin_as(&g, NET_LAYOUT_ALIGNED, data, 80, "b", &err), NET_OK);
    const net_tensor *weight = net_layer_tensor(&g.layer[1], NET_ROLE_WEIGHT);
    assert_true(weight->tag == NET_TAG_FP16 && weight->f32[1] == -2.0f && weight->f32[8] == -1023 * 0x1p-24f);
    assert_true(net_layer_tensor(&g.layer[1], NET_ROLE_BIAS)->f32[0] == 3.0f);
    size_t bytes;
    uint8_t *again = pack(&g, NET_LAYOUT_AUTO, NET_STORE_EXACT, &bytes);
    assert_int_equal(bytes, 80);
    assert_memory_equal(again, data, 80);
    free(again);
    /* any byte of the fill, any other tag, any length */
    const struct {
        size_t at;
        uint32_t value;
        const char *part;
    } bad[] = {
        {4, 1, "b: 16-byte aligned file: byte 4 is 0x01, expected zeros (layer 'c')"},
        {12, 0xff000000, "byte 15 is 0xff"},
        {36, 0x100, "byte 37 is 0x01"},
        {52, 1, "byte 52 is 0x01"},
        {76, 1, "byte 76 is 0x01"},
        {0, 0x0002C056, "tag 0x0002c056 at offset 0 (layer 'c'), expected FP32, FP16 or INT8"},
        {48, 0x000D4B38, "tag 0x000d4b38 at offset 48 (layer 'c'), expected FP32, FP16"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint8_t copy[80];
        memcpy(copy, data, 80);
        put_u32(copy + bad[i].at, bad[i].value);
        assert_int_equal(net_graph_parse_bin_as(&g, NET_LAYOUT_ALIGNED, copy, 80, "b", &err), NET_ERR_FORMAT);
        if (strstr(err.text, bad[i].part) == NULL) {
            fail_msg("\"%s\" does not contain \"%s\"", err.text, bad[i].part);
        }
        assert_false(g.has_weights);
    }
    assert_int_equal(net_graph_parse_bin_as(&g, NET_LAYOUT_AUTO, data, 79, "b", &err), NET_ERR_FORMAT);
    assert_string_equal(err.text,
                        "b: 16-byte aligned file truncated: layer 'c' (t:4) needs 16 bytes at offset 64, 15 are left");
    assert_int_equal(net_graph_parse_bin_as(&g, NET_LAYOUT_ALIGNED, data, 0, "b", &err), NET_ERR_FORMAT);
    assert_int_equal(net_graph_parse_bin_as(&g, (net_layout)3, data, 80, "b", &err), NET_ERR_ARG);
    net_graph_free(&g);
}

static void test_truncated_aligned(void **state) {
    (void)state;
    net_graph g;
    net_error err;
    size_t bytes;
    load(&g, DIGITS "digits-int8.param", DIGITS "digits-int8.bin");
    uint8_t *data = pack(&g, NET_LAYOUT_ALIGNED, NET_STORE_EXACT, &bytes);
    uint8_t *room = malloc(bytes);
    assert_non_null(room);
    for (size_t len = 0; len < bytes; len++) {
        uint8_t *copy = room + bytes - len; /* ends where the allocation ends */
        memcpy(copy, data, len);
        assert_int_equal(net_graph_parse_bin_as(&g, NET_LAYOUT_ALIGNED, copy, len, "b", &err), NET_ERR_FORMAT);
        assert_non_null(strstr(err.text, "truncated"));
    }
    uint8_t *longer = calloc(1, bytes + 16);
    assert_non_null(longer);
    memcpy(longer, data, bytes);
    assert_int_equal(net_graph_parse_bin_as(&g, NET_LAYOUT_ALIGNED, longer, bytes + 16, "b", &err), NET_ERR_FORMAT);
    assert_non_null(strstr(err.text, "16 bytes are left over"));
    free(longer);
    free(room);
    free(data);
    net_graph_free(&g);
}

/* A layer of many weights and no bias, as FP16: against the compiler's own conversion. */
static void test_halves(void **state) {
    (void)state;
    enum { COUNT = 200000, HALVES = 65536 };
    char text[200];
    net_graph g;
    net_error err = {""};
    tb_rng rng = tb_rng_stream(1, "test_net_save.halves");
    (void)snprintf(text, sizeof text, HEAD2 "InnerProduct c 1 1 x y 0=1 2=%d\n", COUNT);
    parse(&g, text);
    uint8_t *data = calloc(COUNT + 1, 4);
    assert_non_null(data);
    assert_int_equal(net_graph_parse_bin(&g, data, 4 * (COUNT + 1), "b", &err), NET_OK);
    float *w = g.layer[1].tensor[0].f32;
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t bits = (uint32_t)tb_rng_range(&rng, 0, UINT32_MAX);
        if (i < HALVES) {
            /* every half, and (below) the ties between them */
            const uint16_t half = (uint16_t)i;
            _Float16 value;
            memcpy(&value, &half, sizeof value);
            float wide = (float)value;
            memcpy(&bits, &wide, sizeof bits);
            bits = (half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0 ? 0 : bits; /* NaN: below */
        } else if (i < 2 * HALVES) {
            memcpy(&bits, &w[i - HALVES], sizeof bits);
            bits += (bits & 0x7fffffff) < 0x477fe000 ? (i % 3 == 0 ? 0x1000 : i % 3 == 1 ? 0xfff : 0x1001) : 0;
        } else {
            uint32_t exponent = 95 + bits % 48; /* 2^-32 .. 2^15 */
            bits = (bits & 0x807fffff) | exponent << 23;
        }
        memcpy(&w[i], &bits, sizeof bits);
        if (!isinf(w[i]) && fabsf(w[i]) >= 65520.0f) {
            w[i] = 1.0f; /* would become infinite */
        }
    }
    size_t bytes;
    uint8_t *packed = pack(&g, NET_LAYOUT_STOCK, NET_STORE_FP16, &bytes);
    assert_int_equal(bytes, 4 + 2 * COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        _Float16 want = (_Float16)w[i];
        if (memcmp(packed + 4 + 2 * (size_t)i, &want, 2) != 0) {
            fail_msg("weight %u (%a) became 0x%02x%02x", i, (double)w[i], packed[5 + 2 * (size_t)i],
                     packed[4 + 2 * (size_t)i]);
        }
    }
    free(packed);
    /* exact: FP16 only if nothing is lost; with FP32 everything stays */
    g.layer[1].tensor[0].tag = NET_TAG_FP16;
    packed = pack(&g, NET_LAYOUT_STOCK, NET_STORE_EXACT, &bytes);
    assert_int_equal(bytes, 4 + 4 * COUNT);
    assert_memory_equal(packed + 4, w, 4 * COUNT);
    free(packed);
    for (uint32_t i = HALVES; i < COUNT; i++) {
        w[i] = w[i % HALVES];
    }
    const uint32_t nan = 0xffc02000;
    memcpy(&w[5], &nan, 4);
    packed = pack(&g, NET_LAYOUT_STOCK, NET_STORE_EXACT, &bytes);
    assert_int_equal(bytes, 4 + 2 * COUNT);
    assert_true(packed[4 + 10] == 0x01 && packed[4 + 11] == 0xfe);
    free(packed);
    /* too large */
    const net_save_options how = {NET_LAYOUT_STOCK, NET_STORE_FP16};
    w[7] = 65520.0f;
    assert_int_equal(net_graph_pack_bin(&g, &how, &packed, &bytes, &err), NET_ERR_ARG);
    assert_string_equal(err.text, "t:4: layer 'c' of type 'InnerProduct': weight 7 is 65520, FP16 ends at 65504");
    assert_null(packed);
    net_graph_free(&g);
    free(data);
}

/* Tags that the writer does not use itself: scaled FP32 stays, a codebook becomes FP32. */
static void test_other_tags(void **state) {
    (void)state;
    net_graph g;
    net_error err = {""};
    uint8_t data[2048] = {0};
    size_t bytes;
    parse(&g, HEAD2 "InnerProduct c 1 1 x y 0=1 2=3\n");
    put_u32(data, 0x0002C056);
    put_u32(data + 8, 0x3f800000);
    assert_int_equal(net_graph_parse_bin(&g, data, 16, "b", &err), NET_OK);
    uint8_t *packed = pack(&g, NET_LAYOUT_AUTO, NET_STORE_EXACT, &bytes);
    assert_int_equal(bytes, 16);
    assert_memory_equal(packed, data, 16);
    free(packed);
    packed = pack(&g, NET_LAYOUT_ALIGNED, NET_STORE_EXACT, &bytes);
    assert_int_equal(bytes, 32);
    assert_int_equal(packed[0], 0);
    free(packed);
    put_u32(data, 1);
    put_u32(data + 4 + 4 * 9, 0x40e00000);
    data[4 + 1024 + 2] = 9;
    assert_int_equal(net_graph_parse_bin(&g, data, 4 + 1024 + 4, "b", &err), NET_OK);
    packed = pack(&g, NET_LAYOUT_AUTO, NET_STORE_EXACT, &bytes);
    const float want[4] = {0.0f, 0.0f, 1.0f, 7.0f};
    assert_int_equal(bytes, 16);
    assert_true(memcmp(packed + 12, &want[3], 4) == 0 && packed[0] == 0);
    free(packed);
    net_graph_free(&g);
}

/* Constants: FP32 without a tag, with a tag where key 21 says so, nothing at all without sizes. */
static void test_memory_data(void **state) {
    (void)state;
    const struct {
        const char *settings;
        size_t bytes;
    } kind[] = {{"0=2 1=3", 24}, {"0=2 1=3 21=0", 28}, {"", 0}};
    static const uint8_t zeros[32];
    for (size_t i = 0; i < sizeof kind / sizeof kind[0]; i++) {
        net_graph g;
        net_error err = {""};
        char text[200];
        size_t bytes;
        (void)snprintf(text, sizeof text, HEAD2 "MemoryData m 0 1 y %s\n", kind[i].settings);
        parse(&g, text);
        assert_int_equal(net_graph_parse_bin(&g, zeros, kind[i].bytes + 4, "b", &err), NET_ERR_FORMAT);
        if (net_graph_parse_bin(&g, zeros, kind[i].bytes, "b", &err) != NET_OK) {
            fail_msg("%s", err.text);
        }
        uint8_t *packed = pack(&g, NET_LAYOUT_AUTO, NET_STORE_EXACT, &bytes);
        assert_int_equal(bytes, kind[i].bytes);
        free(packed);
        net_graph_free(&g);
    }
}

static void test_quantised(void **state) {
    (void)state;
    net_graph g;
    net_graph h;
    net_error err = {""};
    char param[64];
    char bin[64];
    load(&g, DIGITS "digits.param", DIGITS "digits.bin");
    assert_int_equal(net_graph_plan(&g, &err), NET_OK);
    float *absmax = calloc(g.num_layers, sizeof *absmax);
    assert_non_null(absmax);
    for (uint32_t i = 0; i < g.num_layers; i++) {
        absmax[i] = 3.0f;
    }
    assert_int_equal(net_quantize(&g, absmax, &err), NET_OK);
    (void)snprintf(param, sizeof param, "build/test_net_save.%ld.param", (long)getpid());
    (void)snprintf(bin, sizeof bin, "build/test_net_save.%ld.bin", (long)getpid());
    if (net_graph_save(&g, param, bin, NULL, &err) != NET_OK) {
        fail_msg("%s", err.text);
    }
    load(&h, param, bin);
    assert_true(net_equal(&g, &h));
    assert_true(net_graph_is_int8(&h));
    assert_int_equal(net_graph_plan(&h, &err), NET_OK);
    assert_int_equal(h.layer[1].conv.int8_scale_term, 2);
    net_graph_free(&h);
    /* the aligned form from files */
    const net_save_options aligned = {NET_LAYOUT_ALIGNED, NET_STORE_EXACT};
    assert_int_equal(net_graph_save(&g, param, bin, &aligned, &err), NET_OK);
    load(&h, param, bin);
    assert_int_equal(h.layout, NET_LAYOUT_ALIGNED);
    assert_true(net_equal(&g, &h));
    net_graph_free(&h);
    assert_int_equal(unlink(param), 0);
    assert_int_equal(unlink(bin), 0);
    /* nothing is left behind where a file cannot be written */
    assert_int_equal(net_graph_save(&g, param, "no/such/folder/a.bin", NULL, &err), NET_ERR_IO);
    assert_non_null(strstr(err.text, "no/such/folder/a.bin: cannot write"));
    assert_int_not_equal(access(param, F_OK), 0);
    assert_int_equal(net_graph_save(&g, "no/such/folder/a.param", bin, NULL, &err), NET_ERR_IO);
    assert_int_not_equal(access(bin, F_OK), 0);
    assert_int_equal(net_graph_save(&g, "build", bin, NULL, &err), NET_ERR_IO);
    assert_int_equal(net_graph_save(&g, NULL, bin, NULL, &err), NET_ERR_ARG);
    unlink(bin);
    free(absmax);
    net_graph_free(&g);
}

/* Arrays that do not fit the settings are not written. */
static void test_inconsistent(void **state) {
    (void)state;
    net_graph g;
    net_error err = {""};
    uint8_t *packed = NULL;
    size_t bytes;
    parse(&g, HEAD2 "Diag strange 1 1 x y\n");
    assert_int_equal(net_graph_pack_bin(&g, NULL, &packed, &bytes, &err), NET_ERR_ARG);
    assert_non_null(strstr(err.text, "no weights"));
    g.has_weights = true;
    assert_int_equal(net_graph_pack_bin(&g, NULL, &packed, &bytes, &err), NET_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "t:4: layer 'strange' of type 'Diag' is not supported"));
    net_graph_free(&g);

    load(&g, DIGITS "digits.param", DIGITS "digits.bin");
    net_layer *conv = &g.layer[1];
    assert_int_equal(net_layer_set_int(conv, 8, 2), NET_OK);
    assert_int_equal(net_graph_pack_bin(&g, NULL, &packed, &bytes, &err), NET_ERR_ARG);
    assert_non_null(strstr(err.text, "the layer has 2 arrays, its settings need 4"));
    net_layer_unset(conv, 8);
    uint32_t kept = conv->tensor[1].count--;
    assert_int_equal(net_graph_pack_bin(&g, NULL, &packed, &bytes, &err), NET_ERR_ARG);
    assert_non_null(strstr(err.text, "array 1 has"));
    conv->tensor[1].count = kept;
    conv->tensor[1].role = NET_ROLE_OTHER;
    assert_int_equal(net_graph_pack_bin(&g, NULL, &packed, &bytes, &err), NET_ERR_ARG);
    conv->tensor[1].role = NET_ROLE_BIAS;
    int8_t *bias = calloc(kept, 1);
    float *floats = conv->tensor[1].f32;
    conv->tensor[1].f32 = NULL;
    conv->tensor[1].i8 = bias;
    assert_int_equal(net_graph_pack_bin(&g, NULL, &packed, &bytes, &err), NET_ERR_ARG);
    assert_non_null(strstr(err.text, "does not have the type, float or INT8, of its role"));
    conv->tensor[1].f32 = floats;
    conv->tensor[1].i8 = NULL;
    free(bias);
    assert_int_equal(net_graph_pack_bin(&g, &(net_save_options){.storage = (net_storage)3}, &packed, &bytes, &err),
                     NET_ERR_ARG);
    assert_int_equal(net_graph_pack_bin(&g, NULL, &packed, &bytes, &err), NET_OK);
    free(packed);
    net_graph_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),        cmocka_unit_test(test_aligned_bytes),
        cmocka_unit_test(test_truncated_aligned), cmocka_unit_test(test_halves),
        cmocka_unit_test(test_other_tags),        cmocka_unit_test(test_memory_data),
        cmocka_unit_test(test_quantised),         cmocka_unit_test(test_inconsistent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
