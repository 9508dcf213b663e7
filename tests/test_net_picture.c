/* Pictures and .npy files: decoding, resizing and conversion against values worked out here, and damaged files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "../network/network.h"
#include "../tb/case/rng.h"

/* A grey JPEG of 16 x 8 pixels: 100 on the left, 200 on the right. */
static const uint8_t jpeg[] = {
    0xFF, 0xD8, 0xFF, 0xE0, 0x00, 0x10, 0x4A, 0x46, 0x49, 0x46, 0x00, 0x01, 0x01, 0x00, 0x00, 0x01, 0x00, 0x01,
    0x00, 0x00, 0xFF, 0xDB, 0x00, 0x43, 0x00, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
    0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
    0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
    0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0xFF,
    0xC0, 0x00, 0x0B, 0x08, 0x00, 0x08, 0x00, 0x10, 0x01, 0x01, 0x11, 0x00, 0xFF, 0xC4, 0x00, 0x15, 0x00, 0x01,
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x0A, 0xFF,
    0xC4, 0x00, 0x14, 0x10, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0xFF, 0xDA, 0x00, 0x08, 0x01, 0x01, 0x00, 0x00, 0x3F, 0x00, 0x0F, 0xAC, 0x81, 0xFF, 0xD9,
};

static const char ppm[] = "P6\n2 1\n255\n\x01\x02\x03\xff\xfe\xfd";

static bool no_decoder(void) {
    if (!net_picture_can_decode()) {
        printf("not run: built without libstb-dev (make deps)\n");
    }
    return !net_picture_can_decode();
}

static void test_decode(void **state) {
    (void)state;
    net_picture p;
    net_error err = {""};
    if (no_decoder()) {
        assert_int_equal(net_picture_decode(&p, ppm, sizeof ppm - 1, "x", &err), NET_ERR_UNSUPPORTED);
        return;
    }
    assert_int_equal(net_picture_decode(&p, ppm, sizeof ppm - 1, "x", &err), NET_OK);
    assert_true(p.w == 2 && p.h == 1);
    assert_memory_equal(p.rgb, "\x01\x02\x03\xff\xfe\xfd", 6);
    net_picture_free(&p);
    assert_null(p.rgb);
    assert_int_equal(net_picture_decode(&p, "P5 1 2 255\n\x07\x08", 13, "x", &err), NET_OK);
    assert_true(p.w == 1 && p.h == 2);
    assert_memory_equal(p.rgb, "\x07\x07\x07\x08\x08\x08", 6);
    net_picture_free(&p);
    assert_int_equal(net_picture_decode(&p, jpeg, sizeof jpeg, "x", &err), NET_OK);
    assert_true(p.w == 16 && p.h == 8);
    for (uint32_t i = 0; i < 16 * 8 * 3; i++) {
        assert_int_equal(p.rgb[i], i / 3 % 16 < 8 ? 100 : 200);
    }
    net_picture_free(&p);
}

/* Whatever the bytes are: a picture or an error, never both. Truncated and changed files. */
static void test_damaged(void **state) {
    (void)state;
    net_picture p;
    net_error err = {""};
    assert_int_equal(net_picture_decode(NULL, jpeg, sizeof jpeg, "x", &err), NET_ERR_ARG);
    assert_int_equal(net_picture_decode(&p, NULL, 0, "x", &err), NET_ERR_ARG);
    assert_int_equal(net_picture_load(&p, "no-such.png", &err), NET_ERR_IO);
    assert_non_null(strstr(err.text, "no-such.png: cannot open"));
    if (no_decoder()) {
        return;
    }
    assert_int_equal(net_picture_load(&p, "README.md", &err), NET_ERR_FORMAT);
    assert_non_null(strstr(err.text, "README.md: expected a PNG, JPEG or PNM picture"));
    assert_int_equal(net_picture_decode(&p, "P6\n99999 99999\n255\n", 19, "x", &err), NET_ERR_FORMAT);
    assert_int_equal(net_picture_decode(&p, "", 0, "x", &err), NET_ERR_FORMAT);
    uint8_t bytes[sizeof jpeg];
    tb_rng rng = tb_rng_stream(1, "test_net_picture");
    uint32_t refused = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        memcpy(bytes, jpeg, sizeof jpeg);
        bytes[tb_rng_range(&rng, 0, sizeof jpeg - 1)] = (uint8_t)tb_rng_range(&rng, 0, 255);
        size_t size = i % 2 == 0 ? sizeof jpeg : (size_t)tb_rng_range(&rng, 1, sizeof jpeg);
        net_status status = net_picture_decode(&p, bytes, size, "x", &err);
        assert_true((status == NET_OK) == (p.rgb != NULL));
        refused += status != NET_OK;
        net_picture_free(&p);
    }
    assert_true(refused > 100);
}

/* Positions and weights by hand. 2 -> 4 columns: -0.25 (all of the first), 0.25, 0.75, 1.25 (all of the second). */
static void test_resize(void **state) {
    (void)state;
    uint8_t pixels[6] = {0, 10, 255, 200, 20, 255};
    uint8_t out[64 * 3];
    const net_picture p = {2, 1, pixels};
    net_error err = {""};
    assert_int_equal(net_picture_resize(&p, 4, 1, out, &err), NET_OK);
    const uint8_t expected[12] = {0, 10, 255, 50, 13, 255, 150, 18, 255, 200, 20, 255};
    assert_memory_equal(out, expected, 12);
    /* the same size is the same picture, whatever is in it */
    uint8_t many[5 * 7 * 3];
    for (uint32_t i = 0; i < sizeof many; i++) {
        many[i] = (uint8_t)(i * 37 + i / 3);
    }
    const net_picture q = {5, 7, many};
    uint8_t same[sizeof many];
    assert_int_equal(net_picture_resize(&q, 5, 7, same, &err), NET_OK);
    assert_memory_equal(same, many, sizeof many);
    /* one pixel fills everything; many become one: the middle of the middle */
    const net_picture one = {1, 1, pixels};
    assert_int_equal(net_picture_resize(&one, 4, 4, out, &err), NET_OK);
    for (uint32_t i = 0; i < 48; i++) {
        assert_int_equal(out[i], pixels[i % 3]);
    }
    assert_int_equal(net_picture_resize(&p, 1, 1, out, &err), NET_OK);
    assert_int_equal(out[0], 100);
    assert_int_equal(net_picture_resize(&p, 0, 1, out, &err), NET_ERR_ARG);
    assert_int_equal(net_picture_resize(&p, NET_MAX_PICTURE_SIDE + 1, 1, out, &err), NET_ERR_ARG);
}

static void test_input(void **state) {
    (void)state;
    uint8_t pixels[6] = {10, 20, 30, 40, 50, 60};
    const net_picture p = {2, 1, pixels};
    net_shape shape = {3, 2, 1, 3, 1};
    net_error err = {""};
    float out[6];
    net_picture_prep prep = {.order = NET_PIXEL_BGR};
    assert_int_equal(net_picture_input(&p, &prep, &shape, out, &err), NET_OK);
    const float bgr[6] = {30, 60, 20, 50, 10, 40};
    assert_memory_equal(out, bgr, sizeof bgr);
    prep = (net_picture_prep){.order = NET_PIXEL_RGB, .has_mean = true, .mean = {1, 2, 3}};
    assert_int_equal(net_picture_input(&p, &prep, &shape, out, &err), NET_OK);
    const float less[6] = {9, 39, 18, 48, 27, 57};
    assert_memory_equal(out, less, sizeof less);
    prep.has_norm = true;
    prep.norm[0] = prep.norm[1] = prep.norm[2] = 1.0f / 255.0f;
    assert_int_equal(net_picture_input(&p, &prep, &shape, out, &err), NET_OK);
    float offset = -1.0f * (1.0f / 255.0f);
    float first = 10.0f * (1.0f / 255.0f);
    first += offset;
    assert_true(out[0] == first);
    prep.has_mean = false;
    assert_int_equal(net_picture_input(&p, &prep, &shape, out, &err), NET_OK);
    assert_true(out[5] == 60.0f * (1.0f / 255.0f));
    prep = (net_picture_prep){.order = NET_PIXEL_GRAY};
    assert_int_equal(net_picture_input(&p, &prep, &shape, out, &err), NET_ERR_UNSUPPORTED);
    shape.c = 1;
    assert_int_equal(net_picture_input(&p, &prep, &shape, out, &err), NET_OK);
    assert_true(out[0] == (float)((77 * 10 + 150 * 20 + 29 * 30) >> 8));
}

/* ---- .npy ---- */

static net_status load_npy(const char *dict, uint8_t version, const void *data, size_t bytes, const net_shape *shape,
                           float *out, net_error *err) {
    char path[] = "/tmp/test_net_picture.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "wb");
    size_t length = strlen(dict) + 1;
    const uint8_t head[8] = {0x93, 'N', 'U', 'M', 'P', 'Y', version, 0};
    const uint8_t size[4] = {(uint8_t)length, 0, 0, 0};
    assert_non_null(file);
    assert_int_equal(fwrite(head, 1, 8, file), 8);
    assert_int_equal(fwrite(size, 1, version == 1 ? 2 : 4, file), version == 1 ? 2 : 4);
    assert_int_equal(fprintf(file, "%s\n", dict), (int)length);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
    net_status status = net_npy_load(path, shape, out, err);
    unlink(path);
    return status;
}

static void test_npy(void **state) {
    (void)state;
    const float data[6] = {1, 2, 3, 4, 5, 6.5f};
    const net_shape shape = {3, 3, 2, 1, 1};
    float out[6];
    net_error err = {""};
    const char *good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }";
    for (uint8_t version = 1; version <= 3; version++) {
        memset(out, 0, sizeof out);
        assert_int_equal(load_npy(good, version, data, sizeof data, &shape, out, &err), NET_OK);
        assert_memory_equal(out, data, sizeof data);
    }
    assert_int_equal(load_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 2, 3), }", 1, data, sizeof data,
                              &shape, out, &err),
                     NET_OK);
    assert_int_equal(load_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", 1, data, sizeof data,
                              &(net_shape){1, 6, 1, 1, 1}, out, &err),
                     NET_OK);
    const struct {
        const char *dict;
        uint8_t version;
        size_t bytes;
        net_status status;
        const char *part;
    } bad[] = {
        {good, 4, 24, NET_ERR_FORMAT, "no .npy file of version 1 to 3"},
        {good, 1, 20, NET_ERR_FORMAT, "20 bytes of data, expected 24"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 3), }", 1, 24, NET_ERR_UNSUPPORTED,
         "32 bit floats in C order"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2, 3), }", 1, 24, NET_ERR_UNSUPPORTED,
         "32 bit floats in C order"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 1), }", 1, 24, NET_ERR_FORMAT,
         "expected the shape of the input, 1x2x3"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 1, 24, NET_ERR_FORMAT, "expected the shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, x), }", 1, 24, NET_ERR_FORMAT, "expected the shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3", 1, 24, NET_ERR_FORMAT, "expected the shape"},
        {"{'descr': '<f4', 'fortran_order': False}", 1, 24, NET_ERR_FORMAT, "expected the shape"},
        {"{}", 1, 24, NET_ERR_UNSUPPORTED, "32 bit floats"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(load_npy(bad[i].dict, bad[i].version, data, bad[i].bytes, &shape, out, &err), bad[i].status);
        assert_non_null(strstr(err.text, bad[i].part));
    }
    assert_int_equal(net_npy_load("README.md", &shape, out, &err), NET_ERR_FORMAT);
    assert_int_equal(net_npy_load("no-such.npy", &shape, out, &err), NET_ERR_IO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode), cmocka_unit_test(test_damaged), cmocka_unit_test(test_resize),
        cmocka_unit_test(test_input),  cmocka_unit_test(test_npy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
