/*
 * fp_vectors.c - prints vectors for the fp units in TestFloat's text form: `a b result flags` or `a result flags`,
 * hexadecimal.
 *
 * All pairs of special exponents and fractions first, then random ones, with corner cases more often. Results and flags
 * come from the host's floating point (IEEE-754, round to nearest even), not from the golden model. NaN results of
 * arithmetic are printed as 7FC00000, whatever the host computes.
 */
#include <errno.h>
#include <fenv.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt/opt.h"

#if FLT_EVAL_METHOD != 0
#error "float operations of this host are not binary32 operations"
#endif

#define SIGN 0x80000000u
#define FRAC 0x007FFFFFu
#define INF 0x7F800000u
#define NAN_OUT 0x7FC00000u
#define INVALID 0x10u
#define INEXACT 0x01u
#define COUNT 100000u

typedef struct answer {
    uint32_t bits, flags;
} answer;

typedef answer compute_fn(uint32_t a, uint32_t b);

typedef enum input { PAIR, FLOAT, INTEGER, HALF } input;

typedef struct operation {
    const char *name;
    const char *units; /* units with this operation */
    input in;
    int digits; /* of the result */
    compute_fn *compute;
} operation;

/* ---- results ---- */

static float to_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t to_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static bool is_nan(uint32_t v) {
    return (v & ~SIGN) > INF;
}

/* TestFloat's bits. */
static uint32_t flags_now(void) {
    const int raised = fetestexcept(FE_ALL_EXCEPT);
    return (raised & FE_INVALID ? INVALID : 0u) | (raised & FE_DIVBYZERO ? 8u : 0u) | (raised & FE_OVERFLOW ? 4u : 0u) |
           (raised & FE_UNDERFLOW ? 2u : 0u) | (raised & FE_INEXACT ? INEXACT : 0u);
}

static answer arithmetic(float f) {
    const uint32_t flags = flags_now();
    const uint32_t bits = to_bits(f);
    return (answer){is_nan(bits) ? NAN_OUT : bits, flags};
}

/* Operands and results are volatile, so that each operation is executed between clearing and reading the flags. */
static answer f32_add(uint32_t a, uint32_t b) {
    volatile float x = to_float(a), y = to_float(b);
    feclearexcept(FE_ALL_EXCEPT);
    volatile float r = x + y;
    return arithmetic(r);
}

static answer f32_sub(uint32_t a, uint32_t b) {
    volatile float x = to_float(a), y = to_float(b);
    feclearexcept(FE_ALL_EXCEPT);
    volatile float r = x - y;
    return arithmetic(r);
}

static answer f32_mul(uint32_t a, uint32_t b) {
    volatile float x = to_float(a), y = to_float(b);
    feclearexcept(FE_ALL_EXCEPT);
    volatile float r = x * y;
    return arithmetic(r);
}

static answer i32_to_f32(uint32_t a, uint32_t b) {
    (void)b;
    volatile int32_t x = (int32_t)a;
    feclearexcept(FE_ALL_EXCEPT);
    volatile float r = (float)x;
    return arithmetic(r);
}

static answer f32_to_i32(uint32_t a, uint32_t b) {
    (void)b;
    const float x = to_float(a);
    if (is_nan(a)) {
        return (answer){0, INVALID};
    }
    if (x >= 0x1p31f || x < -0x1p31f) {
        return (answer){x > 0 ? 0x7FFFFFFFu : SIGN, INVALID};
    }
    const float whole = nearbyintf(x);
    return (answer){(uint32_t)(int32_t)whole, whole == x ? 0u : INEXACT};
}

static answer f32_to_i8(uint32_t a, uint32_t b) {
    (void)b;
    const float x = to_float(a);
    if (is_nan(a)) {
        return (answer){0, INVALID};
    }
    const float whole = roundf(x);
    if (whole > 127.0f || whole < -127.0f) {
        return (answer){whole > 0 ? 0x7Fu : 0x81u, INVALID};
    }
    return (answer){(uint8_t)(int8_t)whole, whole == x ? 0u : INEXACT};
}

static answer f32_to_i16(uint32_t a, uint32_t b) {
    (void)b;
    const float x = to_float(a);
    if (is_nan(a)) {
        return (answer){0, INVALID};
    }
    const float whole = roundf(x);
    if (whole > 32767.0f || whole < -32767.0f) {
        return (answer){whole > 0 ? 0x7FFFu : 0x8001u, INVALID};
    }
    return (answer){(uint16_t)(int16_t)whole, whole == x ? 0u : INEXACT};
}

static answer f32_eq(uint32_t a, uint32_t b) {
    volatile float x = to_float(a), y = to_float(b);
    feclearexcept(FE_ALL_EXCEPT);
    volatile int r = x == y;
    return (answer){(uint32_t)r, flags_now()};
}

static answer f32_le(uint32_t a, uint32_t b) {
    volatile float x = to_float(a), y = to_float(b);
    feclearexcept(FE_ALL_EXCEPT);
    volatile int r = x <= y;
    return (answer){(uint32_t)r, flags_now()};
}

static answer f32_lt(uint32_t a, uint32_t b) {
    volatile float x = to_float(a), y = to_float(b);
    feclearexcept(FE_ALL_EXCEPT);
    volatile int r = x < y;
    return (answer){(uint32_t)r, flags_now()};
}

/* Conversions of the compiler's binary16, one rounding each. */
static answer f16_to_f32(uint32_t a, uint32_t b) {
    (void)b;
    const uint16_t bits = (uint16_t)a;
    _Float16 half;
    memcpy(&half, &bits, sizeof half);
    feclearexcept(FE_ALL_EXCEPT);
    volatile float r = (float)half;
    return (answer){to_bits(r), flags_now()};
}

static answer f32_to_f16(uint32_t a, uint32_t b) {
    (void)b;
    volatile float x = to_float(a);
    feclearexcept(FE_ALL_EXCEPT);
    const _Float16 half = (_Float16)x;
    uint16_t bits;
    memcpy(&bits, &half, sizeof bits);
    return (answer){bits, flags_now()};
}

/* The selected operand keeps its bits: a, unless b is larger (fp_max) or smaller (fp_min). */
static answer f32_max(uint32_t a, uint32_t b) {
    volatile float x = to_float(a), y = to_float(b);
    feclearexcept(FE_ALL_EXCEPT);
    volatile int r = isgreater(y, x);
    return (answer){r ? b : a, flags_now()};
}

static answer f32_min(uint32_t a, uint32_t b) {
    volatile float x = to_float(a), y = to_float(b);
    feclearexcept(FE_ALL_EXCEPT);
    volatile int r = isless(y, x);
    return (answer){r ? b : a, flags_now()};
}

static const operation operations[] = {
    {"f32_add", "fp_add", PAIR, 8, f32_add},
    {"f32_sub", "fp_sub", PAIR, 8, f32_sub},
    {"f32_mul", "fp_mul", PAIR, 8, f32_mul},
    {"i32_to_f32", "fp_i32_to_f32", INTEGER, 8, i32_to_f32},
    {"f32_to_i32", "fp_f32_to_i32", FLOAT, 8, f32_to_i32},
    {"f32_to_i8", "fp_f32_to_i8", FLOAT, 2, f32_to_i8},
    {"f32_to_i16", "fp_f32_to_i16", FLOAT, 4, f32_to_i16},
    {"f16_to_f32", "fp_f16_to_f32", HALF, 8, f16_to_f32},
    {"f32_to_f16", "fp_f32_to_f16", FLOAT, 4, f32_to_f16},
    {"f32_eq", "fp_eq fp_cmp", PAIR, 1, f32_eq},
    {"f32_le", "fp_le fp_cmp", PAIR, 1, f32_le},
    {"f32_lt", "fp_lt fp_cmp", PAIR, 1, f32_lt},
    {"f32_max", "fp_max", PAIR, 8, f32_max},
    {"f32_min", "fp_min", PAIR, 8, f32_min},
};
#define OPERATIONS (sizeof operations / sizeof *operations)

/* ---- output ---- */

static char *put_hex(char *p, uint32_t v, int digits) {
    for (int i = digits - 1; i >= 0; i--) {
        *p++ = "0123456789ABCDEF"[v >> (4 * i) & 15u];
    }
    return p;
}

static void vector(const operation *op, uint32_t a, uint32_t b) {
    const answer r = op->compute(a, b);
    char line[40];
    char *p = put_hex(line, a, op->in == HALF ? 4 : 8);
    *p++ = ' ';
    if (op->in == PAIR) {
        p = put_hex(p, b, 8);
        *p++ = ' ';
    }
    p = put_hex(p, r.bits, op->digits);
    *p++ = ' ';
    p = put_hex(p, r.flags, 2);
    *p++ = '\n';
    fwrite(line, 1, (size_t)(p - line), stdout);
}

/* ---- corners ---- */

static const uint32_t exponents[] = {0,   1,   2,   24,  64,  102, 103, 104, 126, 127,
                                     128, 150, 151, 152, 190, 230, 253, 254, 255};
static const uint32_t fractions[] = {0, 1, 2, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFE, 0x7FFFFF};
#define EXPONENTS (sizeof exponents / sizeof *exponents)
#define FRACTIONS (sizeof fractions / sizeof *fractions)
#define SPECIALS (2 * EXPONENTS * FRACTIONS)

static uint32_t special(size_t i) {
    return (i & 1u ? SIGN : 0u) | exponents[i / 2 / FRACTIONS] << 23 | fractions[i / 2 % FRACTIONS];
}

static void corner_pairs(const operation *op) {
    for (size_t i = 0; i < SPECIALS * SPECIALS; i++) {
        vector(op, special(i / SPECIALS), special(i % SPECIALS));
    }
}

/* Every exponent and sign with one bit set, one bit clear, ones at the upper and at the lower end; then integers and
 * halves with their neighbours. */
static void corner_floats(const operation *op) {
    for (uint32_t top = 0; top < 512; top++) {
        vector(op, top << 23, 0);
        for (uint32_t i = 0; i < 23; i++) {
            vector(op, top << 23 | 1u << i, 0);
            vector(op, top << 23 | (FRAC & ~(1u << i)), 0);
            vector(op, top << 23 | (FRAC << i & FRAC), 0);
            vector(op, top << 23 | FRAC >> i, 0);
        }
    }
    for (int power = 0; power <= 31; power++) {
        for (int half = -520; half <= 520; half++) {
            const uint32_t v = to_bits((power > 0 ? ldexpf(1.0f, power) : 0.0f) + (float)half / 2.0f);
            for (uint32_t d = 0; d < 3; d++) {
                vector(op, v + d - 1, 0);
                vector(op, (v + d - 1) ^ SIGN, 0);
            }
        }
    }
}

/* Around powers of two; then 24 bits, even and odd, with a half and its neighbours below them. */
static void corner_integers(const operation *op) {
    for (uint32_t power = 0; power < 32; power++) {
        for (uint32_t d = 0; d < 17; d++) {
            vector(op, (1u << power) + d - 8, 0);
            vector(op, 0u - ((1u << power) + d - 8), 0);
        }
    }
    for (uint32_t drop = 1; drop <= 8; drop++) {
        for (uint32_t i = 0; i < 2 * 23; i++) {
            const uint32_t kept = 0x800000u | (i & 1u ? FRAC & ~(1u << i / 2) : 1u << i / 2);
            for (uint32_t d = 0; d < 3; d++) {
                const uint32_t v = (kept << drop) + (1u << (drop - 1)) + d - 1;
                vector(op, v, 0);
                vector(op, 0u - v, 0);
            }
        }
    }
}

/* Every binary16. */
static void corner_halves(const operation *op) {
    for (uint32_t v = 0; v < 0x10000u; v++) {
        vector(op, v, 0);
    }
}

/* ---- random ---- */

static uint64_t draw(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* A fraction from the bits of r: any, few ones, few zeros, a short one. */
static uint32_t random_fraction(uint64_t r) {
    const uint32_t bits = (uint32_t)(r >> 8) & FRAC;
    const uint32_t at = (uint32_t)(r >> 40) % 23, too = (uint32_t)(r >> 48) % 23;
    switch (r % 5) {
    case 0:
        return 1u << at | 1u << too;
    case 1:
        return FRAC & ~(1u << at) & ~(1u << too);
    case 2:
        return FRAC << at & FRAC;
    case 3:
        return bits & ~0xFFFu; /* their products are exact or ties */
    default:
        return bits;
    }
}

static uint32_t assemble(uint64_t *state, int exponent) {
    const uint32_t e = exponent < 0 ? 0u : exponent > 255 ? 255u : (uint32_t)exponent;
    const uint64_t r = draw(state);
    return (r >> 63 ? SIGN : 0u) | e << 23 | random_fraction(draw(state));
}

static void random_pair(const operation *op, uint64_t *state) {
    const uint64_t r = draw(state);
    const int e = (int)(r >> 8 & 255u);
    uint32_t a = assemble(state, e), b;
    switch (r & 7u) {
    case 0:
        b = (uint32_t)draw(state);
        break;
    case 1: /* exponents so far apart that the smaller operand decides the rounding, or nothing */
    case 2:
        b = assemble(state, e + (int)(r >> 16) % 29);
        break;
    case 3: /* neighbours, of equal or of other sign */
        b = (a + (uint32_t)(r >> 16 & 7u) - 3u) ^ (r >> 63 ? SIGN : 0u);
        break;
    case 4: /* a product around the smallest normal and below */
        b = assemble(state, 127 - e + (int)(r >> 16 & 31u) - 27);
        break;
    case 5: /* a product around the largest finite number */
        b = assemble(state, 381 - e + (int)(r >> 16 & 3u) - 2);
        break;
    case 6:
        b = special((size_t)(r >> 16) % SPECIALS);
        break;
    default:
        b = assemble(state, (int)(r >> 16 & 255u));
        break;
    }
    const bool swap = r >> 62 & 1u;
    vector(op, swap ? b : a, swap ? a : b);
}

static void random_float(const operation *op, uint64_t *state) {
    const uint64_t r = draw(state);
    switch (r & 3u) {
    case 0:
        vector(op, (uint32_t)(r >> 32), 0);
        break;
    case 1: /* halves and their neighbours */
        vector(op, to_bits((float)((int32_t)(r >> 32) >> (r >> 8 & 31u)) / 2.0f) + (uint32_t)(r >> 16) % 3 - 1, 0);
        break;
    case 2: /* values in the range of int8 */
        vector(op, assemble(state, 124 + (int)(r >> 8) % 12), 0);
        break;
    default:
        vector(op, assemble(state, 120 + (int)(r >> 8) % 42), 0);
        break;
    }
}

static void random_integer(const operation *op, uint64_t *state) {
    const uint64_t r = draw(state);
    const uint32_t bits = (uint32_t)(r >> 32);
    const uint32_t half = ((bits | SIGN) & 0xFFFFFF00u) + 0x80u + (uint32_t)(r >> 16) % 3 - 1;
    const uint32_t v = r & 1u ? bits >> (r >> 8 & 31u) : half >> (r >> 8 & 7u);
    vector(op, r & 2u ? 0u - v : v, 0);
}

static void random_half(const operation *op, uint64_t *state) {
    vector(op, (uint32_t)(draw(state) & 0xFFFFu), 0);
}

/* ---- command line ---- */

static int take_operation(void *ctx, const char *word, char *err, size_t err_size) {
    const operation **op = (const operation **)ctx;
    for (size_t k = 0; k < OPERATIONS && *op == NULL; k++) {
        if (strcmp(word, operations[k].name) == 0) {
            *op = &operations[k];
            return 0;
        }
    }
    snprintf(err, err_size, "%.60s: expected one operation and options (--help lists them)", word);
    return -1;
}

static void usage(const opt_line *line) {
    fputs("usage: fp-vectors OP [--seed S] [--count K]\n"
          "prints vectors of an operation, `a b result flags` or `a result flags` in hexadecimal: all corner cases, "
          "then K random ones\n\n",
          stdout);
    opt_help(stdout, line);
    fputs("\nOP:", stdout);
    for (size_t i = 0; i < OPERATIONS; i++) {
        printf(" %s", operations[i].name);
    }
    putchar('\n');
}

/* 0, 1 (done: --help, --list) or -1. */
static int parse_args(int argc, char **argv, const operation **op, uint64_t *seed, uint64_t *count) {
    char err[200];
    bool list = false;
    const opt_row rows[] = {
        OPT(U64, "--seed", "S", "of the random ones (1)", seed),
        OPT(U64, "--count", "K", "how many of them (100000)", count),
        OPT(FLAG, "--list", NULL, "the operations and the units that they are for", &list),
    };
    const opt_group group = OPT_GROUP(NULL, rows);
    opt_line line = {.group = &group, .groups = 1, .word = take_operation, .ctx = (void *)(uintptr_t)op};
    if (opt_parse(&line, argc - 1, argv + 1, err, sizeof err) != 0) {
        fprintf(stderr, "fp-vectors: %s\n", err);
        return -1;
    }
    if (line.help) {
        usage(&line);
        return 1;
    }
    for (size_t k = 0; list && k < OPERATIONS; k++) {
        printf("%s %s\n", operations[k].name, operations[k].units);
    }
    if (!list && *op == NULL) {
        fprintf(stderr, "fp-vectors: no operation, expected one (--help lists them)\n");
        return -1;
    }
    return list ? 1 : 0;
}

int main(int argc, char **argv) {
    static void (*const corners[])(const operation *) = {corner_pairs, corner_floats, corner_integers, corner_halves};
    static void (*const randoms[])(const operation *, uint64_t *) = {random_pair, random_float, random_integer,
                                                                     random_half};
    const operation *op = NULL;
    uint64_t seed = 1, count = COUNT;
    const int rc = parse_args(argc, argv, &op, &seed, &count);
    if (rc < 0) {
        return 2;
    }
    if (rc == 0) {
        if (fegetround() != FE_TONEAREST || f32_mul(1, 0x3F800000u).bits != 1) {
            fprintf(stderr, "fp-vectors: this host does not round to nearest, or loses subnormals\n");
            return 1;
        }
        corners[op->in](op);
        for (uint64_t i = 0; i < count && !ferror(stdout); i++) {
            randoms[op->in](op, &seed);
        }
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "fp-vectors: stdout: cannot be written\n");
        return 1;
    }
    return 0;
}
