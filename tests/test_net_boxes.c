/* Boxes: where a picture lies in an input, rows of a detection layer as boxes in pixels, outlines, PNG files. */
#include <math.h>
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

static net_picture solid(uint32_t w, uint32_t h, uint8_t value) {
    net_picture p = {w, h, malloc(3 * (size_t)w * h)};
    assert_non_null(p.rgb);
    memset(p.rgb, value, 3 * (size_t)w * h);
    return p;
}

/* What every size must keep: one side full, the aspect within a pixel, bars of the fill colour that differ by one at
 * most, and corners that come back. */
static void check_letterbox(uint32_t w, uint32_t h, uint32_t in_w, uint32_t in_h) {
    net_picture p = solid(w, h, 200);
    net_picture out;
    net_fit fit;
    net_error err = {""};
    assert_int_equal(net_fit_letterbox(&p, in_w, in_h, 7, &out, &fit, &err), NET_OK);
    assert_true(out.w == in_w && out.h == in_h && fit.w == w && fit.h == h);
    uint32_t columns = 0;
    uint32_t rows = 0;
    for (uint32_t x = 0; x < in_w; x++) {
        columns += out.rgb[3 * ((size_t)((in_h - 1) / 2) * in_w + x)] == 200;
    }
    for (uint32_t y = 0; y < in_h; y++) {
        rows += out.rgb[3 * ((size_t)y * in_w + (in_w - 1) / 2)] == 200;
    }
    assert_true(columns == in_w || rows == in_h);
    assert_true(columns >= 1 && rows >= 1);
    double scale = fmin((double)in_w / w, (double)in_h / h);
    assert_true(columns == 1 || fabs(columns - scale * w) < 1.001);
    assert_true(rows == 1 || fabs(rows - scale * h) < 1.001);
    uint32_t inner = 0;
    for (size_t i = 0; i < 3 * (size_t)in_w * in_h; i++) {
        assert_true(out.rgb[i] == 200 || out.rgb[i] == 7);
        inner += out.rgb[i] == 200;
    }
    assert_int_equal(inner, 3 * columns * rows);
    assert_true((uint32_t)fit.left == (in_w - columns) / 2 && (uint32_t)fit.top == (in_h - rows) / 2);
    float row[6] = {1,
                    0.5f,
                    fit.left / (float)in_w,
                    fit.top / (float)in_h,
                    (fit.left + fit.scale_x * (float)w) / (float)in_w,
                    (fit.top + fit.scale_y * (float)h) / (float)in_h};
    net_box box;
    assert_int_equal(net_boxes_read(row, 1, &fit, &box), 1);
    assert_true(box.x >= 0 && box.y >= 0 && box.x < 0.01f * (float)w + 0.01f && box.y < 0.01f * (float)h + 0.01f);
    assert_true(fabsf(box.w - (float)w) < 0.01f * (float)w + 0.01f &&
                fabsf(box.h - (float)h) < 0.01f * (float)h + 0.01f);
    net_picture_free(&p);
    net_picture_free(&out);
}

static void test_letterbox(void **state) {
    (void)state;
    check_letterbox(80, 45, 8, 6);
    check_letterbox(45, 80, 8, 6);
    check_letterbox(1, 1, 5, 9);
    check_letterbox(1, 3000, 16, 16); /* less than a pixel wide: one pixel */
    check_letterbox(3000, 1, 16, 16);
    check_letterbox(96, 96, 96, 96);
    tb_rng rng = tb_rng_stream(1, "boxes");
    for (int i = 0; i < 300; i++) {
        check_letterbox(1 + (uint32_t)(tb_rng_u64(&rng) % 100), 1 + (uint32_t)(tb_rng_u64(&rng) % 100),
                        1 + (uint32_t)(tb_rng_u64(&rng) % 60), 1 + (uint32_t)(tb_rng_u64(&rng) % 60));
    }
    net_picture p = solid(2, 2, 0);
    net_picture out;
    net_fit fit;
    net_error err = {""};
    assert_int_equal(net_fit_letterbox(&p, 0, 4, 0, &out, &fit, &err), NET_ERR_ARG);
    assert_int_equal(net_fit_letterbox(&p, 4, 16385, 0, &out, &fit, &err), NET_ERR_ARG);
    assert_non_null(strstr(err.text, "1..16384"));
    net_picture_free(&p);
}

static void test_rows(void **state) {
    (void)state;
    const net_picture p = {200, 100, NULL};
    net_fit fit = net_fit_stretched(&p, 10, 20);
    float big = INFINITY;
    const float rows[][6] = {
        {2, 0.75f, 0.25f, 0.5f, 0.75f, 1.0f},  /* plain */
        {1, 0.5f, -1.0f, -0.5f, 0.5f, 2.0f},   /* cut off at three sides */
        {3, 0.5f, 1.1f, 0.1f, 1.5f, 0.2f},     /* outside */
        {0, 0, 0, 0, 0, 0},                    /* no detection */
        {4, 0.25f, -big, -big, big, big},      /* everything */
        {5, 0.25f, NAN, 0.25f, 0.5f, 0.75f},   /* NaN is the edge */
        {6, 0.25f, 0.5f, 0.25f, NAN, 0.75f},   /* nothing inside */
        {NAN, 0.25f, 0.5f, 0.25f, 0.6f, 0.75f} /* no class */
    };
    net_box box[8];
    assert_int_equal(net_boxes_read(&rows[0][0], 8, &fit, box), 4);
    const net_box expected[4] = {
        {2, 0.75f, 50, 50, 100, 50}, {1, 0.5f, 0, 0, 100, 100}, {4, 0.25f, 0, 0, 200, 100}, {5, 0.25f, 0, 25, 100, 50}};
    for (int i = 0; i < 4; i++) {
        assert_true(box[i].label == expected[i].label && box[i].score == expected[i].score &&
                    box[i].x == expected[i].x && box[i].y == expected[i].y && box[i].w == expected[i].w &&
                    box[i].h == expected[i].h);
    }
}

/* Every pixel of the outline, and no other. */
static void check_outline(const net_box *b, uint32_t thick, int x0, int y0, int x1, int y1) {
    net_picture p = solid(20, 12, 9);
    uint8_t rgb[3];
    net_box_colour(b->label, rgb);
    net_picture_draw_box(&p, b, thick);
    int t = (int)thick;
    for (int y = 0; y < 12; y++) {
        for (int x = 0; x < 20; x++) {
            bool in = x >= x0 && x <= x1 && y >= y0 && y <= y1;
            bool edge = in && (x < x0 + t || x > x1 - t || y < y0 + t || y > y1 - t);
            const uint8_t *pixel = p.rgb + 3 * (20 * y + x);
            assert_true(edge ? memcmp(pixel, rgb, 3) == 0 : pixel[0] == 9 && pixel[1] == 9 && pixel[2] == 9);
        }
    }
    net_picture_free(&p);
}

static void test_outline(void **state) {
    (void)state;
    check_outline(&(net_box){1, 1, 2, 3, 10, 5}, 1, 2, 3, 11, 7);
    check_outline(&(net_box){2, 1, 2.5f, 3.9f, 10, 5}, 2, 2, 3, 12, 8);
    check_outline(&(net_box){13, 1, 0, 0, 20, 12}, 1, 0, 0, 19, 11);
    check_outline(&(net_box){3, 1, -5, -5, 100, 100}, 3, 0, 0, 19, 11);
    check_outline(&(net_box){4, 1, 19.5f, 11.5f, 0.25f, 0.25f}, 4, 19, 11, 19, 11);
    check_outline(&(net_box){5, 1, 3, 3, 3, 3}, 50, 3, 3, 5, 5);
    check_outline(&(net_box){6, 1, 20, 3, 3, 3}, 1, 0, 0, -1, -1); /* outside: nothing */
    check_outline(&(net_box){6, 1, 3, -4, 3, 3}, 1, 0, 0, -1, -1);
    check_outline(&(net_box){7, 1, NAN, 3, 3, 3}, 1, 0, 0, -1, -1);
    check_outline(&(net_box){7, 1, 3, 3, 3, 3}, 0, 0, 0, -1, -1);
    uint8_t a[3];
    uint8_t b[3];
    net_box_colour(1, a);
    net_box_colour(13, b);
    assert_memory_equal(a, b, 3);
    net_box_colour(2, b);
    assert_true(memcmp(a, b, 3) != 0);
}

static void test_png(void **state) {
    (void)state;
    char path[] = "/tmp/tandem-boxes-XXXXXX";
    char file[64];
    net_error err = {""};
    net_picture p = {31, 17, malloc(3 * 31 * 17)};
    net_picture back;
    tb_rng rng = tb_rng_stream(2, "boxes");
    assert_non_null(p.rgb);
    for (size_t i = 0; i < 3 * 31 * 17; i++) {
        p.rgb[i] = (uint8_t)tb_rng_u64(&rng);
    }
    assert_non_null(mkdtemp(path));
    (void)snprintf(file, sizeof file, "%s/a.png", path);
    net_status status = net_picture_save_png(&p, file, &err);
    if (!net_picture_can_decode()) {
        printf("not run: built without libstb-dev (make deps)\n");
        assert_int_equal(status, NET_ERR_UNSUPPORTED);
    } else {
        assert_int_equal(status, NET_OK);
        assert_int_equal(net_picture_load(&back, file, &err), NET_OK);
        assert_true(back.w == p.w && back.h == p.h);
        assert_memory_equal(back.rgb, p.rgb, 3 * 31 * 17);
        net_picture_free(&back);
        assert_int_equal(net_picture_save_png(&p, "/no/such/folder/a.png", &err), NET_ERR_IO);
        assert_int_equal(net_picture_save_png(&p, path, &err), NET_ERR_IO); /* a folder has that name */
        assert_int_equal(unlink(file), 0);
    }
    assert_int_equal(rmdir(path), 0); /* and nothing else was in it */
    assert_int_equal(net_picture_save_png(&(net_picture){0}, file, &err), NET_ERR_ARG);
    net_picture_free(&p);
}

static void test_limits(void **state) {
    (void)state;
    static const char text[] = "7767517\n2 2\nInput x 0 1 x 0=2 1=2 2=8\nYolov3DetectionOutput d 1 1 x y 0=3 1=1 "
                               "-23304=2,4.0,4.0 -23305=1,0.0 -23306=1,4.0\n";
    net_graph g;
    net_error err = {""};
    uint32_t layer = 9;
    assert_int_equal(net_graph_parse_param(&g, text, sizeof text - 1, "n", &err), NET_OK);
    assert_int_equal(net_boxes_layer(&g, &layer, &err), NET_ERR_ARG); /* not planned */
    assert_int_equal(net_graph_plan(&g, &err), NET_OK);
    assert_int_equal(net_boxes_layer(&g, &layer, &err), NET_OK);
    assert_int_equal(layer, 1);
    assert_int_equal(net_boxes_limits(&g, NAN, NAN, &err), NET_OK);
    assert_null(net_layer_param(&g.layer[1], 2));
    assert_int_equal(net_boxes_limits(&g, 0.25f, 0.75f, &err), NET_OK);
    assert_true(net_layer_float(&g.layer[1], 2, 0) == 0.25f && net_layer_float(&g.layer[1], 3, 0) == 0.75f);
    assert_int_equal(net_boxes_limits(&g, 1.5f, NAN, &err), NET_ERR_ARG);
    net_graph_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_letterbox), cmocka_unit_test(test_rows),   cmocka_unit_test(test_outline),
        cmocka_unit_test(test_png),       cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
