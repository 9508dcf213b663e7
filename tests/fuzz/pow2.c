/* pow2.c - records of power-of-two weights: what is read can be written, and that is the same network. */
#include <stdlib.h>
#include <string.h>

#include "../../network/pow2.h"
#include "fuzz.h"

void fuzz_pow2(const uint8_t *data, size_t size) {
    net_pow2 p, again;
    net_error err = {""};
    if (net_pow2_parse(&p, data, size, "fuzz", &err) != NET_OK) {
        fuzz_check_line(err.text);
        return;
    }
    uint8_t *bytes = NULL;
    size_t count = 0;
    if (net_pow2_print(&p, &bytes, &count, &err) != NET_OK ||
        net_pow2_parse(&again, bytes, count, "again", &err) != NET_OK) {
        fuzz_fail("what is read can be written and read", err.text);
    }
    if (count != size || again.count != p.count) {
        fuzz_fail("no record is lost", "sizes differ");
    }
    for (uint32_t i = 0; i < p.count; i++) {
        const net_pow2_record *a = &p.record[i], *b = &again.record[i];
        const size_t codes = (size_t)a->n * a->c * a->h * a->w;
        if (a->bias != b->bias || a->nmin != b->nmin ||
            (a->bias ? memcmp(a->value, b->value, a->n * sizeof *a->value) : memcmp(a->code, b->code, codes)) != 0) {
            fuzz_fail("every record is the same", a->bias ? "bias" : "weights");
        }
    }
    free(bytes);
    net_pow2_free(&again);
    net_pow2_free(&p);
}
