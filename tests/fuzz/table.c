/* table.c - calibration tables: what is read can be written, and that is the same table. */
#include <stdlib.h>
#include <string.h>

#include "../../network/network.h"
#include "fuzz.h"

void fuzz_table(const uint8_t *data, size_t size) {
    net_table t;
    net_table again;
    net_error err = {""};
    if (net_table_parse(&t, (const char *)data, size, "fuzz", &err) != NET_OK) {
        fuzz_check_line(err.text);
        return;
    }
    char *text = NULL;
    size_t bytes = 0;
    if (net_table_print(&t, &text, &bytes, &err) != NET_OK ||
        net_table_parse(&again, text, bytes, "again", &err) != NET_OK) {
        fuzz_fail("what is read can be written and read", err.text);
    }
    if (again.count != t.count) {
        fuzz_fail("no line is lost", text);
    }
    for (uint32_t i = 0; i < t.count; i++) {
        const net_table_line *a = &t.line[i];
        const net_table_line *b = net_table_find(&again, a->key, false);
        if (b != &again.line[i] || a->count != b->count ||
            memcmp(a->scale, b->scale, a->count * sizeof *a->scale) != 0) {
            fuzz_fail("every line is found, with its scales", a->key);
        }
    }
    free(text);
    net_table_free(&again);
    net_table_free(&t);
}
