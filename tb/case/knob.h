/*
 * knob.h - the table of knobs of a test, which are drawn, pinned, shrunk and steered by coverage.
 *
 * Every knob draws from its own random stream (its name), so that a new knob changes no other draw.
 */
#ifndef TB_KNOB_H
#define TB_KNOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kv.h"
#include "rng.h"

#define TB_KNOB_MAX 160u

typedef enum tb_knob_kind {
    TB_KNOB_UNIFORM,  /* every value equally likely */
    TB_KNOB_SMALL,    /* log-uniform: small values likely; the ends get one draw in sixteen each */
    TB_KNOB_ENUM,     /* one of names[0 .. hi]; lo must be 0; weight may be NULL */
    TB_KNOB_WEIGHTED, /* lo .. hi with weight[value - lo] */
    /*
     * Flag, added to a kind: the knob was added after cases had been stored. In a case without it the value is lo, so
     * lo must be the former behaviour of the test; that keeps old stored cases valid.
     */
    TB_KNOB_LATER = 0x10
} tb_knob_kind;

typedef struct tb_knob {
    const char *name; /* [a-z][a-z0-9_]* */
    int64_t lo, hi;   /* legal values, both included */
    tb_knob_kind kind;
    const char *const *names; /* ENUM only */
    const uint32_t *weight;   /* hi - lo + 1 weights, or NULL */
    const char *help;
} tb_knob;

/* The knobs of a test, for its description. */
#define TB_KNOBS_OF(TABLE) .knobs = (TABLE), .knob_count = sizeof(TABLE) / sizeof *(TABLE)

/* The kind without its flag. */
static inline tb_knob_kind tb_knob_kind_of(const tb_knob *knob) {
    return (tb_knob_kind)((unsigned)knob->kind & ~(unsigned)TB_KNOB_LATER);
}

typedef struct tb_knobs {
    const tb_knob *table;
    size_t count;
    int64_t value[TB_KNOB_MAX];
    bool pinned[TB_KNOB_MAX];
} tb_knobs;

/* Every value lo, nothing pinned. count <= TB_KNOB_MAX (more are ignored). */
void tb_knobs_init(tb_knobs *knobs, const tb_knob *table, size_t count);
/* Index of a knob by name or -1. */
int tb_knobs_find(const tb_knobs *knobs, const char *name);
/* Pin from "name=value" (a number, or a name of an ENUM). -1 with a line naming the legal values. */
int tb_knobs_pin(tb_knobs *knobs, const char *text, char *err, size_t err_size);
/* Pin by name and value text. */
int tb_knobs_pin_value(tb_knobs *knobs, const char *name, const char *value, char *err, size_t err_size);
/* Draw every knob that is not pinned. */
void tb_knobs_draw(tb_knobs *knobs, uint64_t seed);
/* Draw one knob again in a narrower range (clipped to the legal one), unless pinned; for ranges that depend on other
 * knobs. Returns its value. */
int64_t tb_knobs_draw_in(tb_knobs *knobs, const char *name, uint64_t seed, int64_t lo, int64_t hi);

/* Value by name; 0 for an unknown name. */
int64_t tb_knobs_get(const tb_knobs *knobs, const char *name);
/* Name of an ENUM's value; NULL when the knob is no ENUM or unknown. */
const char *tb_knobs_get_name(const tb_knobs *knobs, const char *name);
bool tb_knobs_is_pinned(const tb_knobs *knobs, const char *name);
/* Set a value by a program (a derived one). -1: unknown name or not legal. */
int tb_knobs_set(tb_knobs *knobs, const char *name, int64_t value);

/* All knobs into case text, and back (every knob but those with TB_KNOB_LATER must be present and legal; other keys are
 * ignored). 0 or -1. */
int tb_knobs_to_kv(const tb_knobs *knobs, tb_kv *kv);
int tb_knobs_from_kv(tb_knobs *knobs, const tb_kv *kv, char *err, size_t err_size);
/* The table as text: name, legal values, help; one line a knob. */
void tb_knobs_list(const tb_knob *table, size_t count, FILE *file);
/* Legal values of a knob as text: "1..7" or "a|b|c". */
void tb_knob_range_text(const tb_knob *knob, char *dst, size_t size);

#endif
