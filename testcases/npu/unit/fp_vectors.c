/* fp_vectors.c - reader of vectors in TestFloat's text form, and the check of a unit against them. */
#include "fp_vectors.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define INVALID 0x10u
#define CANONICAL_NAN 0x7FC00000u
#define CANONICAL_NAN_F16 0x7E00u
#define SHOWN 10u
#define RELATIONS 3u
#define BUFFER 65536u

/* In the order of the bits of y_o (fp_bench.h). */
static const char *const relation_names[RELATIONS] = {"lt", "le", "eq"};

/* ---- reading ---- */

typedef struct reader {
    FILE *in;
    const char *where;
    size_t at, end; /* unread part of buf */
    bool eof;
    uint64_t line; /* number of the line last read, from 1 */
    char buf[BUFFER];
} reader;

typedef struct vector {
    uint32_t a, b, want, flags;
    unsigned digits; /* of want */
} vector;

/*
 * One line: 1 with its text, 0 at the end, -1 with a line in err. Reads in blocks, so that a pipe of millions of lines
 * costs little.
 */
static int next_line(reader *r, const char **text, const char **text_end, char *err, size_t err_size) {
    size_t scanned = 0;
    for (;;) {
        char *start = r->buf + r->at;
        char *stop = memchr(start + scanned, '\n', r->end - r->at - scanned);
        if (stop || (r->eof && r->at < r->end)) {
            *text = start;
            *text_end = stop ? stop : r->buf + r->end;
            r->at = stop ? (size_t)(stop + 1 - r->buf) : r->end;
            r->line++;
            return 1;
        }
        if (r->eof) {
            return 0;
        }
        scanned = r->end - r->at;
        memmove(r->buf, start, scanned);
        r->at = 0;
        r->end = scanned;
        if (r->end == BUFFER) {
            return opt_fail(err, err_size, "%s, line %" PRIu64 ": longer than %u characters, expected a vector",
                            r->where, r->line + 1, BUFFER);
        }
        r->end += fread(r->buf + r->end, 1, BUFFER - r->end, r->in);
        if (ferror(r->in)) {
            return opt_fail(err, err_size, "%s: cannot be read after line %" PRIu64 ": %s", r->where, r->line,
                            strerror(errno));
        }
        r->eof = feof(r->in) != 0;
    }
}

static bool blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* Next word of 1..8 hexadecimal digits; NULL when there is none. */
static const char *hex_word(const char *p, const char *end, uint32_t *value, unsigned *digits) {
    uint32_t v = 0;
    unsigned n = 0;
    while (p < end && blank(*p)) {
        p++;
    }
    for (; p < end && !blank(*p); p++, n++) {
        const unsigned decimal = (unsigned)(unsigned char)*p - '0';
        const unsigned letter = ((unsigned)(unsigned char)*p | 0x20u) - 'a';
        if (n == 8 || (decimal > 9 && letter > 5)) {
            return NULL;
        }
        v = v << 4 | (decimal <= 9 ? decimal : letter + 10);
    }
    *value = v;
    *digits = n;
    return n > 0 ? p : NULL;
}

static bool result_fits(fp_vectors_kind kind, const vector *v) {
    switch (kind) {
    case FP_VECTORS_F32:
    case FP_VECTORS_SELECT:
    case FP_VECTORS_I32:
    case FP_VECTORS_OF_F16:
        return v->digits == 8;
    case FP_VECTORS_F16:
    case FP_VECTORS_I16:
        return v->digits == 4;
    case FP_VECTORS_I8:
        return v->digits == 2 || v->digits == 8;
    default:
        return v->digits == 1 && v->want <= 1;
    }
}

static const char *result_form(fp_vectors_kind kind) {
    switch (kind) {
    case FP_VECTORS_F32:
    case FP_VECTORS_SELECT:
    case FP_VECTORS_I32:
    case FP_VECTORS_OF_F16:
        return "8 digits";
    case FP_VECTORS_F16:
    case FP_VECTORS_I16:
        return "4 digits";
    case FP_VECTORS_I8:
        return "2 or 8 digits";
    default:
        return "0 or 1";
    }
}

/* Digits of an operand. */
static unsigned operand_digits(fp_vectors_kind kind) {
    return kind == FP_VECTORS_OF_F16 ? 4 : 8;
}

static bool parse(fp_vectors_kind kind, unsigned operands, const char *p, const char *end, vector *v) {
    unsigned digits = 0;
    v->b = 0;
    p = hex_word(p, end, &v->a, &digits);
    if (p && digits == operand_digits(kind) && operands == 2) {
        p = hex_word(p, end, &v->b, &digits);
    }
    if (!p || digits != operand_digits(kind)) {
        return false;
    }
    p = hex_word(p, end, &v->want, &v->digits);
    if (!p || !result_fits(kind, v)) {
        return false;
    }
    p = hex_word(p, end, &v->flags, &digits);
    while (p && p < end && blank(*p)) {
        p++;
    }
    return p == end && digits <= 2;
}

/* The text of the line, without control characters, shortened. */
static int malformed(const reader *r, fp_vectors_kind kind, unsigned operands, const char *text, const char *end,
                     char *err, size_t err_size) {
    char shown[44];
    size_t n = 0;
    for (; text < end && n < 40; text++) {
        shown[n++] = isprint((unsigned char)*text) ? *text : '?';
    }
    snprintf(shown + n, sizeof shown - n, "%s", text < end ? "..." : "");
    return opt_fail(
        err, err_size,
        "%s, line %" PRIu64
        ": expected '%s result flags' in hexadecimal (operand %u digits, result %s, flags 2 digits), got '%s'",
        r->where, r->line, operands == 2 ? "a b" : "a", operand_digits(kind), result_form(kind), shown);
}

/* ---- checking ---- */

typedef struct mismatch {
    uint64_t line;
    vector v;
    uint32_t got, want;
    bool by_rule;
} mismatch;

/* The lines checked against one interpretation of their results. */
typedef struct tally {
    uint64_t passed, failed;
    mismatch shown[SHOWN];
} tally;

static bool is_nan(uint32_t v) {
    return (v & 0x7FFFFFFFu) > 0x7F800000u;
}

/* docs/npu/npu.md section 2, with the host's float: nearest even, saturated, NaN gives 0. */
static uint32_t rule_i32(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    if (is_nan(bits)) {
        return 0;
    }
    if (f >= 2147483648.0f || f < -2147483648.0f) {
        return f > 0 ? 0x7FFFFFFFu : 0x80000000u;
    }
    return (uint32_t)(int32_t)nearbyintf(f);
}

static bool by_rule(fp_vectors_kind kind, const vector *v) {
    return kind == FP_VECTORS_I32 && (v->flags & INVALID);
}

/* y as it is compared, and its expected value; `relation` selects one where there are several. */
static bool matches(fp_vectors_kind kind, const vector *v, unsigned relation, uint32_t y, uint32_t *got,
                    uint32_t *want) {
    *got = y;
    *want = v->want;
    switch (kind) {
    case FP_VECTORS_F32: /* any NaN in the vector means the canonical one */
    case FP_VECTORS_OF_F16:
        *want = is_nan(*want) ? CANONICAL_NAN : *want;
        break;
    case FP_VECTORS_F16:
        *want = (*want & 0x7FFFu) > 0x7C00u ? CANONICAL_NAN_F16 : *want;
        break;
    case FP_VECTORS_SELECT:
        return *got == *want || (is_nan(*got) && is_nan(*want));
    case FP_VECTORS_I32:
        *want = by_rule(kind, v) ? rule_i32(v->a) : *want;
        break;
    case FP_VECTORS_I16:
        *got = y & 0xFFFFu;
        break;
    case FP_VECTORS_I8:
        *got = v->digits == 2 || !(y & 0x80u) ? y : y | 0xFFFFFF00u;
        break;
    default:
        *got = y >> relation & 1u;
        break;
    }
    return *got == *want;
}

static void check(tally *t, const reader *r, fp_vectors_kind kind, const vector *v, unsigned relation, uint32_t y) {
    uint32_t got, want;
    if (matches(kind, v, relation, y, &got, &want)) {
        t->passed++;
        return;
    }
    if (t->failed < SHOWN) {
        t->shown[t->failed] =
            (mismatch){.line = r->line, .v = *v, .got = got, .want = want, .by_rule = by_rule(kind, v)};
    }
    t->failed++;
}

/* ---- the report ---- */

static void print_mismatches(const tally *t, const char *where, fp_vectors_kind kind, unsigned operands) {
    for (uint64_t i = 0; i < t->failed && i < SHOWN; i++) {
        const mismatch *m = &t->shown[i];
        printf("  %s, line %" PRIu64 ": a %0*" PRIX32, where, m->line, (int)operand_digits(kind), m->v.a);
        if (operands == 2) {
            printf(" b %08" PRIX32, m->v.b);
        }
        printf(": got %0*" PRIX32 ", expected %0*" PRIX32 "%s\n", (int)m->v.digits, m->got, (int)m->v.digits, m->want,
               m->by_rule ? " (by the rule)" : "");
    }
    if (t->failed > SHOWN) {
        printf("  ... and %" PRIu64 " more\n", t->failed - SHOWN);
    }
}

/*
 * Counts of every relation; names of those that hold for all lines go into `names`. Returns the one to report: it has
 * the fewest failures.
 */
static unsigned weigh_relations(const tally *tallies, char *names, size_t size) {
    unsigned best = 0;
    size_t n = 0;
    names[0] = '\0';
    for (unsigned i = 0; i < RELATIONS; i++) {
        printf("  relation %s: passed=%" PRIu64 " failed=%" PRIu64 "\n", relation_names[i], tallies[i].passed,
               tallies[i].failed);
        best = tallies[i].failed < tallies[best].failed ? i : best;
        if (tallies[i].failed == 0 && n < size) {
            n += (size_t)snprintf(names + n, size - n, "%s%s", n > 0 ? "," : "", relation_names[i]);
        }
    }
    if (names[0] == '\0') {
        snprintf(names, size, "none closest=%s", relation_names[best]);
    }
    return best;
}

/* t: of the unit's own relation, NULL where the unit has several. */
static void report(unit *u, fp_vectors_kind kind, unsigned operands, const tally *t, const tally *tallies,
                   uint64_t ruled, const char *where) {
    char names[64] = "";
    if (!t) {
        t = &tallies[weigh_relations(tallies, names, sizeof names)];
    }
    print_mismatches(t, where, kind, operands);
    if (t->failed > 0) {
        unit_fail(u, "vectors", "%s, line %" PRIu64 ": got %" PRIX32 ", expected %" PRIX32, where, t->shown[0].line,
                  t->shown[0].got, t->shown[0].want);
    }
    /* every line is compared: none is excluded */
    printf("%s unit-%s vectors=%s%s%s passed=%" PRIu64 " failed=%" PRIu64 " excluded=0", unit_ok(u) ? "PASS" : "FAIL",
           u->name, where, names[0] ? " relation=" : "", names, t->passed, t->failed);
    if (kind == FP_VECTORS_I32) {
        printf(" by-rule=%" PRIu64, ruled);
    }
    putchar('\n');
}

/* The unit's result for one vector. False: the simulation has stopped. */
static bool apply(unit *u, const tb_sig port[3], const vector *v, uint32_t *y) {
    tb_set(port[0], v->a);
    if (port[1].ptr) {
        tb_set(port[1], v->b);
    }
    unit_settle(u);
    if (!unit_edge(u)) {
        return false;
    }
    *y = (uint32_t)tb_get(port[2]);
    return true;
}

/* All lines of r. 0 (also when the simulation has stopped: unit_ok() tells) or -1. */
static int stream(unit *u, fp_vectors_kind kind, unsigned operands, reader *r, tally *tallies, uint64_t *ruled,
                  char *err, size_t err_size) {
    const tb_sig port[3] = {unit_port(u, "a_i"), operands == 2 ? unit_port(u, "b_i") : (tb_sig){.ptr = NULL},
                            unit_port(u, "y_o")};
    const unsigned first = kind >= FP_VECTORS_LT && kind <= FP_VECTORS_EQ ? (unsigned)(kind - FP_VECTORS_LT) : 0;
    const unsigned last = kind == FP_VECTORS_ANY ? RELATIONS - 1 : first;
    const char *text = NULL, *end = NULL;
    int rc = 0;
    tb_set(unit_port(u, "en_i"), 1);
    while (unit_ok(u) && (rc = next_line(r, &text, &end, err, err_size)) > 0) {
        vector v;
        uint32_t y;
        const char *p = text;
        while (p < end && blank(*p)) {
            p++;
        }
        if (p == end) {
            continue;
        }
        if (!parse(kind, operands, p, end, &v)) {
            return malformed(r, kind, operands, text, end, err, err_size);
        }
        if (!apply(u, port, &v, &y)) {
            break;
        }
        *ruled += by_rule(kind, &v);
        for (unsigned i = first; i <= last; i++) {
            check(&tallies[i], r, kind, &v, i, y);
        }
    }
    return rc < 0 ? -1 : 0;
}

int fp_vectors_run(unit *u, fp_vectors_kind kind, unsigned operands, FILE *in, const char *where, char *err,
                   size_t err_size) {
    tally tallies[RELATIONS] = {0};
    uint64_t ruled = 0;
    reader r = {.in = in, .where = where};
    u->run.cfg.no_checks = true; /* the reference is the vectors, not the golden model */
    if (stream(u, kind, operands, &r, tallies, &ruled, err, err_size) != 0) {
        return -1;
    }
    const tally *t = &tallies[kind >= FP_VECTORS_LT && kind <= FP_VECTORS_EQ ? kind - FP_VECTORS_LT : 0];
    if (!unit_ok(u)) { /* a signal, or a port is missing */
        printf("FAIL unit-%s vectors=%s at line %" PRIu64 ": %s\n", u->name, where, r.line, u->result->message);
    } else if (t->passed + t->failed == 0) {
        return opt_fail(err, err_size, "%s: no vectors, expected lines '%s result flags'", where,
                        operands == 2 ? "a b" : "a");
    } else {
        report(u, kind, operands, kind == FP_VECTORS_ANY ? NULL : t, tallies, ruled, where);
    }
    return 0;
}
