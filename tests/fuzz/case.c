/* case.c - case files: what is read can be written, and that is the same text; the knobs of a table take what they
 * accept. */
#include <stdlib.h>
#include <string.h>

#include "case/store.h"
#include "fuzz.h"

static const char *const modes[] = {"none", "relu", "a_long_name"};
static const uint32_t weights[] = {1, 0, 5};
static const tb_knob table[] = {
    {"ic", 1, 1024, TB_KNOB_SMALL, NULL, NULL, "a size"},
    {"k", -3, 7, TB_KNOB_UNIFORM, NULL, NULL, "with negative values"},
    {"act", 0, 2, TB_KNOB_ENUM, modes, NULL, "a name"},
    {"stall", 0, 2, TB_KNOB_WEIGHTED, NULL, weights, "with weights"},
    {"late", 5, 9, (tb_knob_kind)((unsigned)TB_KNOB_UNIFORM | (unsigned)TB_KNOB_LATER), NULL, NULL, "came later"},
    {"wide", INT64_MIN, INT64_MAX, TB_KNOB_UNIFORM, NULL, NULL, "any number"},
};

#define KNOBS (sizeof table / sizeof table[0])

static void same_text(const tb_kv *kv) {
    char err[400] = "";
    char *text = NULL;
    size_t bytes = 0;
    tb_kv again;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL || tb_kv_write(kv, out) != 0 || fclose(out) != 0) {
        fuzz_fail("what is read can be written", kv->name);
    }
    tb_kv_init(&again);
    if (tb_kv_parse(&again, text, bytes, "again", err, sizeof err) != 0) {
        fuzz_fail("what is written can be read", err);
    }
    for (size_t i = 0; i < kv->count; i++) {
        if (again.count != kv->count || strcmp(again.entry[i].key, kv->entry[i].key) != 0 ||
            strcmp(again.entry[i].value, kv->entry[i].value) != 0) {
            fuzz_fail("what is written is the same text", kv->entry[i].key);
        }
    }
    tb_kv_free(&again);
    free(text);
}

/* A case that is taken is resolved: as text again it gives the same knobs. */
static void same_knobs(const tb_kv *kv, const char *test, uint64_t seed) {
    char err[400] = "";
    tb_knobs knobs;
    tb_knobs back;
    tb_kv text;
    tb_knobs_init(&knobs, table, KNOBS);
    if (tb_case_knobs(kv, "fuzz", &knobs, err, sizeof err) != 0) {
        fuzz_check_line(err);
        return;
    }
    tb_kv_init(&text);
    tb_knobs_init(&back, table, KNOBS);
    if (tb_case_to_kv(test, "n8", seed, &knobs, &text) != 0 ||
        tb_case_knobs(&text, "again", &back, err, sizeof err) != 0) {
        fuzz_fail("a resolved case is a case", err);
    }
    for (size_t i = 0; i < KNOBS; i++) {
        if (knobs.value[i] < table[i].lo || knobs.value[i] > table[i].hi || knobs.value[i] != back.value[i]) {
            fuzz_fail("a knob has one of its values, and keeps it", table[i].name);
        }
    }
    tb_kv_free(&text);
}

void fuzz_case(const uint8_t *data, size_t size) {
    char err[400] = "";
    const char *test = NULL;
    uint64_t seed = 0;
    uint64_t value = 0;
    tb_kv kv;
    tb_kv_init(&kv);
    if (tb_kv_parse(&kv, (const char *)data, size, "fuzz", err, sizeof err) != 0) {
        fuzz_check_line(err);
        if (kv.count != 0) {
            fuzz_fail("text that is refused leaves nothing", err);
        }
        tb_kv_free(&kv);
        return;
    }
    same_text(&kv);
    if (tb_kv_get_u64(&kv, "k", 2, 5, &value, err, sizeof err) == 0 && (value < 2 || value > 5)) {
        fuzz_fail("a number is within its limits", "k");
    }
    if (tb_case_head(&kv, "fuzz", "n8", &test, &seed, err, sizeof err) == 0) {
        same_knobs(&kv, test, seed);
    } else {
        fuzz_check_line(err);
    }
    tb_kv_free(&kv);
}
