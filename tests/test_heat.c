/* Maps of wrong elements: what lies in which cell, how much of it, and the picture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tb.h"

static void add(tb_heat *heat, uint32_t c, uint32_t h, uint32_t w, tb_heat_kind kind) {
    const uint32_t at[3] = {c, h, w};
    tb_heat_add(heat, at, kind);
}

static char *svg(const tb_heat *heat, uint32_t panel) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    tb_heat_svg(heat, panel, f);
    fclose(f);
    return text;
}

static void test_small(void **state) {
    tb_heat heat;
    char name[32];
    (void)state;
    assert_int_equal(tb_heat_init(&heat, 3, 4, 5), 0);
    assert_int_equal(heat.panels, 3);
    add(&heat, 1, 2, 1, TB_HEAT_WRONG);
    add(&heat, 1, 2, 2, TB_HEAT_WRONG);
    add(&heat, 1, 2, 4, TB_HEAT_MISSING);
    add(&heat, 3, 0, 0, TB_HEAT_WRONG); /* outside */
    add(&heat, 0, 0, 5, TB_HEAT_WRONG);
    assert_int_equal(tb_heat_panel_count(&heat, 0), 0);
    assert_int_equal(tb_heat_panel_count(&heat, 1), 3);
    assert_int_equal(tb_heat_level(&heat, 1, 2, 1, TB_HEAT_WRONG), TB_HEAT_LEVELS);
    assert_int_equal(tb_heat_level(&heat, 1, 2, 4, TB_HEAT_WRONG), 0);
    tb_heat_panel_name(&heat, 1, name, sizeof name);
    assert_string_equal(name, "c 1");
    char *text = svg(&heat, 1);
    assert_non_null(strstr(text, "<rect class=\"heat5\" x=\"1\" y=\"2\" width=\"2\" height=\"1\"/>"));
    assert_non_null(strstr(text, "<rect class=\"heatm\" x=\"4\" y=\"2\" width=\"1\" height=\"1\"/>"));
    free(text);
    text = svg(&heat, 0);
    assert_null(strstr(text, "heat5"));
    free(text);
    tb_heat_free(&heat);
}

/* Many channels share a panel, many rows and columns a cell; every element lies in exactly one cell. */
static void test_large(void **state) {
    static const uint32_t sizes[][3] = {{1, 1, 1},    {97, 3, 2}, {48, 48, 48}, {49, 49, 200},
                                        {1000, 1, 1}, {31, 1, 1}, {2, 1, 3000}, {500, 20, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const uint32_t *s = sizes[i];
        tb_heat heat;
        uint64_t sum = 0;
        assert_int_equal(tb_heat_init(&heat, s[0], s[1], s[2]), 0);
        assert_in_range(heat.panels, 1, TB_HEAT_PANELS);
        assert_in_range(heat.cells[0], 1, TB_HEAT_CELLS);
        assert_in_range(heat.cells[1], 1, TB_HEAT_CELLS);
        for (uint32_t c = 0; c < s[0]; c++) {
            for (uint32_t h = 0; h < s[1]; h++) {
                for (uint32_t w = 0; w < s[2]; w++) {
                    add(&heat, c, h, w, TB_HEAT_WRONG);
                }
            }
        }
        for (uint32_t p = 0; p < heat.panels; p++) {
            sum += tb_heat_panel_count(&heat, p);
        }
        assert_int_equal(sum, (uint64_t)s[0] * s[1] * s[2]);
        assert_int_equal(tb_heat_level(&heat, 0, 0, 0, TB_HEAT_WRONG), TB_HEAT_LEVELS);
        tb_heat_free(&heat);
    }
}

static void test_levels(void **state) {
    tb_heat heat;
    char name[32];
    (void)state;
    assert_int_equal(tb_heat_init(&heat, 100, 96, 96), 0); /* 3 channels, 2 rows, 2 columns in a cell */
    assert_int_equal(heat.per_panel, 3);
    tb_heat_panel_name(&heat, heat.panels - 1, name, sizeof name);
    assert_string_equal(name, "c 99");
    tb_heat_panel_name(&heat, 1, name, sizeof name);
    assert_string_equal(name, "c 3..5");
    add(&heat, 4, 10, 20, TB_HEAT_WRONG);
    assert_int_equal(tb_heat_level(&heat, 1, 5, 10, TB_HEAT_WRONG), 1); /* one of 12 */
    for (unsigned i = 0; i < 5; i++) {
        add(&heat, 3 + i % 3, 11, 20 + i % 2, TB_HEAT_WRONG);
    }
    assert_int_equal(tb_heat_level(&heat, 1, 5, 10, TB_HEAT_WRONG), 3); /* half of it */
    tb_heat_free(&heat);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small), cmocka_unit_test(test_large),
                                       cmocka_unit_test(test_levels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
