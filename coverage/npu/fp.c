/*
 * fp.c - single operations of the floating-point units: classes of operands, rounding of results, results out of range.
 */
#include "models.h"

#include <math.h>
#include <string.h>

/* A case of any of these draws all classes. */
#define ANY_ARITH "unit-fp_add:vectors=100000 unit-fp_sub:vectors=100000 unit-fp_mul:vectors=100000"
#define ANY_SELECT "unit-fp_max:vectors=100000 unit-fp_min:vectors=100000 unit-fp_cmp:vectors=100000"
#define ANY_FLOAT "unit-fp_f32_to_i32:vectors=100000 unit-fp_f32_to_i8:vectors=100000"
#define ANY_INT "unit-fp_i32_to_f32:vectors=100000"
#define ANY_SIGN "unit-fp_f32_to_i32:vectors=99000 unit-fp_f32_to_i8:vectors=99000 unit-fp_i32_to_f32:vectors=99000"

/* Operations by the name of their unit; fp_lt, fp_le and fp_eq are bits of fp_cmp. */
enum { ADD, SUB, MUL, MAX, MIN, CMP, TO_I32, TO_I8, FROM_I32 };
static const struct {
    const char *unit;
    int op;
} units[] = {{"fp_add", ADD}, {"fp_sub", SUB},           {"fp_mul", MUL},         {"fp_max", MAX},
             {"fp_min", MIN}, {"fp_cmp", CMP},           {"fp_lt", CMP},          {"fp_le", CMP},
             {"fp_eq", CMP},  {"fp_f32_to_i32", TO_I32}, {"fp_f32_to_i8", TO_I8}, {"fp_i32_to_f32", FROM_I32}};

#define SIGN 0x80000000u
#define INF 0x7f800000u
#define LARGEST 0x7f7fffffu
#define SMALLEST 0x00800000u

static const cov_bin arith_op_bins[] = {{COV_VALUE("add", ADD), .hint = "unit-fp_add:vectors=100000"},
                                        {COV_VALUE("sub", SUB), .hint = "unit-fp_sub:vectors=100000"},
                                        {COV_VALUE("mul", MUL), .hint = "unit-fp_mul:vectors=100000"}};
static const cov_bin select_op_bins[] = {{COV_VALUE("max", MAX), .hint = "unit-fp_max:vectors=100000"},
                                         {COV_VALUE("min", MIN), .hint = "unit-fp_min:vectors=100000"},
                                         {COV_VALUE("compare", CMP), .hint = "unit-fp_cmp:vectors=100000"}};
static const cov_bin convert_op_bins[] = {
    {COV_VALUE("to int32", TO_I32), .hint = "unit-fp_f32_to_i32:vectors=100000"},
    {COV_VALUE("to int8", TO_I8), .hint = "unit-fp_f32_to_i8:vectors=100000"},
    {COV_VALUE("from int32", FROM_I32), .hint = "unit-fp_i32_to_f32:vectors=100000"}};

enum { ZERO, SUBNORMAL, SMALL, MIDDLE, LARGE, MOST, INFINITE, QUIET, SIGNALLING };
static const char *const classes[] = {"zero",           "subnormal", "small",     "middle",        "large",
                                      "largest finite", "infinity",  "quiet NaN", "signalling NaN"};
static const char *const sign_names[] = {"+ +", "+ -", "- +", "- -"};
static const cov_bin class_bins[] = {{COV_NAMES(classes, 9)}};
static const cov_bin signs_bins[] = {{COV_NAMES(sign_names, 4)}};
static const cov_bin one_sign_bins[] = {{COV_VALUE("+", 0)}, {COV_VALUE("-", 1)}};

enum {
    R_ZERO,
    R_TO_ZERO,
    R_SUBNORMAL,
    R_SUBNORMAL_ROUNDED,
    R_UP_TO_NORMAL,
    R_NORMAL,
    R_LARGEST,
    R_OVERFLOW,
    R_INFINITE,
    R_NAN,
    R_INVALID
};
static const char *const results[] = {
    "zero",   "underflow to zero", "subnormal", "subnormal, rounded", "rounded up to the smallest normal",
    "normal", "largest finite",    "overflow",  "infinity",           "NaN of NaN",
    "invalid"};
static const cov_bin result_bins[] = {{COV_NAMES(results, 11)}};

enum { EXACT, TIE_DOWN, TIE_UP, DOWN, UP };
static const char *const roundings[] = {"exact", "tie, to the lower", "tie, to the higher", "to the lower",
                                        "to the higher"};
static const cov_bin rounding_bins[] = {{COV_NAMES(roundings, 5)}};
static const cov_bin where_bins[] = {{COV_VALUE("normal", 0)}, {COV_VALUE("subnormal", 1)}};
static const cov_bin apart_bins[] = {
    {COV_EACH(0, 2)}, {COV_RANGE("3..21", 3, 21)}, {COV_EACH(22, 27)}, {COV_RANGE("28..", 28, 254)}};
static const cov_bin effective_bins[] = {{COV_VALUE("sum", 0)}, {COV_VALUE("difference", 1)}};
static const cov_bin lost_bins[] = {
    {COV_EACH(0, 24)}, {COV_VALUE("all", 255)}, {COV_RANGE("wraps", 25, 254), COV_FORBID("a fraction has 24 bits")}};
static const char *const relations[] = {
    "less", "greater", "equal", "zeros of both signs", "one apart, less", "one apart, greater", "unordered"};
static const cov_bin relation_bins[] = {{COV_NAMES(relations, 7)}};

static const char *const inputs[] = {"zero",
                                     "subnormal",
                                     "below a half",
                                     "a half",
                                     "whole",
                                     "half behind an even number",
                                     "half behind an odd number",
                                     "other",
                                     "the limit",
                                     "just beyond",
                                     "far beyond it",
                                     "infinity",
                                     "quiet NaN",
                                     "signalling NaN"};
static const cov_bin input_bins[] = {{COV_NAMES(inputs, 14)}};
static const cov_bin top_bins[] = {{COV_VALUE("zero", 32)}, {COV_EACH(0, 31)}};
static const cov_bin carry_bins[] = {{COV_VALUE("no", 0)}, {COV_VALUE("yes", 1)}};

enum { A_OP, A_A, A_B, A_SIGNS, A_RESULT, A_ROUNDING, A_WHERE, A_APART, A_EFFECTIVE, A_LOST, A_POINTS };
static const cov_point arith_points[A_POINTS] = {
    [A_OP] = {COV_POINT("op", "an operation computes another one, because of a missing sign", arith_op_bins)},
    [A_A] = {COV_POINT("a", "a class of the first operand has its own data path, which is wrong", class_bins),
             .hint = ANY_ARITH},
    [A_B] = {COV_POINT("b", "a class of the second operand has its own data path, which is wrong", class_bins),
             .hint = ANY_ARITH},
    [A_SIGNS] = {COV_POINT("signs", "the sign comes from the wrong operand", signs_bins), .hint = ANY_ARITH},
    [A_RESULT] = {COV_POINT("result", "flushes subnormals, saturates instead of overflowing, or loses a NaN",
                            result_bins),
                  .hint = ANY_ARITH},
    [A_ROUNDING] = {COV_POINT("rounding", "the sticky bit misses a position, or ties are rounded up", rounding_bins),
                    .hint = ANY_ARITH},
    [A_WHERE] = {COV_POINT("where", "subnormal results are rounded at the position of normal ones", where_bins),
                 .hint = ANY_ARITH},
    [A_APART] = {COV_POINT("apart",
                           "the smaller operand is shifted out one position early, or its last bits are not sticky",
                           apart_bins),
                 .hint = ANY_ARITH},
    [A_EFFECTIVE] = {COV_POINT("effective", "a sum and a difference of magnitudes normalise in different directions",
                               effective_bins),
                     .hint = ANY_ARITH},
    [A_LOST] = {COV_POINT("lost", "the count of leading zeros is off at one distance, after cancellation", lost_bins),
                .hint = ANY_ARITH},
};
static const cov_rule result_rules[] = {
    {COV_IGNORED,
     "a sum below the smallest normal number is exact",
     {"add|sub", "underflow to zero|subnormal, rounded|rounded up to the smallest normal"}}};
static const cov_rule where_rules[] = {
    {COV_IGNORED, "a sum below the smallest normal number is exact", {"add|sub", "subnormal", "!exact"}}};
static const cov_rule lost_rules[] = {
    {COV_IGNORED,
     "only of operands two or more binary places apart: at most one bit is lost",
     {"2|3..21|22|23|24|25|26|27|28..", "!0|1"}},
    {COV_IGNORED, "operands with the same exponent differ by at least one unit in the last place", {"0", "24"}},
    {COV_IGNORED, "only equal operands have a difference of zero", {"1", "all"}},
    {COV_IGNORED, "operands far apart: rounding hides the lost bit", {"26|27|28..", "1"}}};
static const cov_cross arith_crosses[] = {
    {COV_CROSS("op_a_b", "one pair of classes of one operation: 0 * inf, inf - inf, NaN and a number", "op", "a", "b")},
    {COV_CROSS("op_signs", "the sign of one operation, of a zero for example", "op", "signs")},
    {COV_CROSS("op_result", "one operation is wrong at one end of the range", "op", "result"), COV_RULES(result_rules)},
    {COV_CROSS("op_rounding", "one operation rounds in one direction only", "op", "where", "rounding"),
     COV_RULES(where_rules)},
    {COV_CROSS("apart_effective", "the guard bits of sums and of differences differ", "apart", "effective")},
    {COV_CROSS("apart_lost", "the close or the far path is used for the wrong operands", "apart", "lost"),
     COV_RULES(lost_rules)}};
const cov_group npu_fp_arith_group = {
    COV_GROUP("fp_arith", "sums, differences and products of the units fp_add, fp_sub, fp_mul", arith_points),
    COV_CROSSES(arith_crosses)};

enum { S_OP, S_A, S_B, S_SIGNS, S_RELATION, S_POINTS };
static const cov_point select_points[S_POINTS] = {
    [S_OP] = {COV_POINT("op", "an operation compares the wrong way round", select_op_bins)},
    [S_A] = {COV_POINT("a", "a class of the first operand is ordered wrong", class_bins), .hint = ANY_SELECT},
    [S_B] = {COV_POINT("b", "a class of the second operand is ordered wrong", class_bins), .hint = ANY_SELECT},
    [S_SIGNS] = {COV_POINT("signs", "magnitudes of negative numbers are ordered as those of positive ones", signs_bins),
                 .hint = ANY_SELECT},
    [S_RELATION] = {COV_POINT("relation", "-0 is less than +0, NaN equals itself, or the last bit is ignored",
                              relation_bins),
                    .hint = ANY_SELECT},
};
static const cov_cross select_crosses[] = {
    {COV_CROSS("op_a_b", "one pair of classes of one operation", "op", "a", "b")},
    {COV_CROSS("op_signs", "one operation is wrong for two negative numbers", "op", "signs")},
    {COV_CROSS("op_relation", "one operation selects the wrong one of equal operands, or with a NaN", "op",
               "relation")}};
const cov_group npu_fp_select_group = {
    COV_GROUP("fp_select", "comparisons and selections of the units fp_cmp, fp_max, fp_min", select_points),
    COV_CROSSES(select_crosses)};

enum { C_OP, C_INPUT, C_SIGN, C_TOP, C_ROUNDING, C_CARRY, C_POINTS };
static const cov_point convert_points[C_POINTS] = {
    [C_OP] = {COV_POINT("op", "a conversion rounds as another one does", convert_op_bins)},
    [C_INPUT] = {COV_POINT("input", "halves are rounded in the wrong direction, or the limit wraps around", input_bins),
                 .hint = ANY_FLOAT},
    [C_SIGN] = {COV_POINT("sign", "negative numbers round towards zero, or saturate at the positive end",
                          one_sign_bins),
                .hint = ANY_SIGN},
    [C_TOP] = {COV_POINT("top", "the count of leading zeros of an integer is off at one place", top_bins),
               .hint = ANY_INT},
    [C_ROUNDING] = {COV_POINT("rounding", "bits below the 24 that are kept are ignored", rounding_bins),
                    .hint = ANY_INT},
    [C_CARRY] = {COV_POINT("carry", "rounding up to the next power of two does not reach the exponent", carry_bins),
                 .hint = ANY_INT},
};
static const cov_rule input_rules[] = {{COV_IGNORED, "an integer has no classes", {"from int32", NULL, NULL}}};
static const cov_rule top_rules[] = {
    {COV_IGNORED, "two's complement has no +2^31, and no negative zero", {"31", "+"}},
    {COV_IGNORED, "two's complement has no +2^31, and no negative zero", {"zero", "-"}}};
static const cov_rule carry_rules[] = {
    {COV_IGNORED, "only results that are rounded up carry", {"exact|tie, to the lower|to the lower", "yes", NULL}}};
static const cov_cross convert_crosses[] = {
    {COV_CROSS("op_input", "one conversion of one class of numbers, of one sign", "op", "input", "sign"),
     COV_RULES(input_rules)},
    {COV_CROSS("top_sign", "the magnitude of one negative integer", "top", "sign"), COV_RULES(top_rules)},
    {COV_CROSS("rounding_carry", "one direction of rounding does not propagate the carry", "rounding", "carry", "sign"),
     COV_RULES(carry_rules)}};
const cov_group npu_fp_convert_group = {
    COV_GROUP("fp_convert", "conversions of the units fp_f32_to_i32, fp_f32_to_i8, fp_i32_to_f32", convert_points),
    COV_CROSSES(convert_crosses)};

static float value(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_of(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static int class_of(uint32_t v) {
    const uint32_t m = v & ~SIGN;
    const uint32_t exponent = m >> 23;
    if (m > INF) {
        return (m >> 22 & 1u) != 0 ? QUIET : SIGNALLING;
    }
    return m == 0            ? ZERO
           : m == INF        ? INFINITE
           : m == LARGEST    ? MOST
           : exponent == 0   ? SUBNORMAL
           : exponent < 64   ? SMALL
           : exponent <= 190 ? MIDDLE
                             : LARGE;
}

/* The rounding from a finite exact value, high + low with |low| below the last place of high, to r. */
static int rounding_of(double high, double low, uint32_t r) {
    const double rest = high - (double)value(r); /* exact: r is high rounded to fewer bits */
    const double sign = (r & SIGN) != 0 ? -1.0 : 1.0;
    const double beyond = sign * rest + (rest == 0 ? sign * low : 0); /* above 0: r is nearer to zero than the value */
    if (rest == 0 && low == 0) {
        return EXACT;
    }
    const bool lower = beyond > 0;
    const uint32_t other = (lower ? (r & ~SIGN) + 1 : (r & ~SIGN) - 1) | (r & SIGN);
    const bool tie = low == 0 && fabs(rest) == fabs((double)value(other) - (double)value(r)) / 2;
    return lower ? (tie ? TIE_DOWN : DOWN) : (tie ? TIE_UP : UP);
}

static int result_of(uint32_t a, uint32_t b, uint32_t r, bool exact) {
    const uint32_t m = r & ~SIGN;
    if (m > INF) {
        return class_of(a) >= QUIET || class_of(b) >= QUIET ? R_NAN : R_INVALID;
    }
    if (m == INF) {
        return class_of(a) == INFINITE || class_of(b) == INFINITE ? R_INFINITE : R_OVERFLOW;
    }
    if (m == 0) {
        return exact ? R_ZERO : R_TO_ZERO;
    }
    if (m < SMALLEST) {
        return exact ? R_SUBNORMAL : R_SUBNORMAL_ROUNDED;
    }
    return m == LARGEST ? R_LARGEST : R_NORMAL;
}

/* Of a sum: the distance of the operands' exponents, and the number of cancelled leading bits. */
static void sample_sum(uint32_t a, uint32_t b, uint32_t r, int64_t *v) {
    const int64_t ea = (a >> 23 & 0xffu) == 0 ? 1 : (int64_t)(a >> 23 & 0xffu);
    const int64_t eb = (b >> 23 & 0xffu) == 0 ? 1 : (int64_t)(b >> 23 & 0xffu);
    const uint32_t larger = (a & ~SIGN) > (b & ~SIGN) ? a & ~SIGN : b & ~SIGN;
    v[A_APART] = ea > eb ? ea - eb : eb - ea;
    v[A_EFFECTIVE] = ((a ^ b) & SIGN) != 0;
    if (v[A_EFFECTIVE] == 1 && larger >= SMALLEST) {
        v[A_LOST] = (r & ~SIGN) == 0 ? 255 : ilogbf(value(larger)) - ilogbf(value(r & ~SIGN));
    }
}

static uint32_t sample_arith(cov_inst *inst, int op, uint32_t a, uint32_t b) {
    const uint32_t other = op == SUB ? b ^ SIGN : b;
    const float x = value(a);
    const float y = value(other);
    const uint32_t r = bits_of(op == MUL ? x * y : x + y);
    const bool finite = (a & ~SIGN) < INF && (b & ~SIGN) < INF;
    int64_t v[A_POINTS] = {[A_OP] = op,
                           [A_A] = class_of(a),
                           [A_B] = class_of(b),
                           [A_SIGNS] = (a >> 31) * 2 + (b >> 31),
                           [A_ROUNDING] = COV_NONE,
                           [A_WHERE] = COV_NONE,
                           [A_APART] = COV_NONE,
                           [A_EFFECTIVE] = COV_NONE,
                           [A_LOST] = COV_NONE};
    bool exact = true;
    if (finite && (r & ~SIGN) < INF) {
        const double high = op == MUL ? (double)x * y : (double)x + y;
        const double part = high - x; /* the sum's own error, without rounding */
        const double low = op == MUL ? 0 : (x - (high - part)) + (y - part);
        v[A_ROUNDING] = rounding_of(high, low, r);
        exact = v[A_ROUNDING] == EXACT;
        v[A_WHERE] = high != 0 && fabs(high) < (double)value(SMALLEST);
        if (op != MUL && class_of(a) != ZERO && class_of(b) != ZERO) {
            sample_sum(a, other, r, v);
        }
    }
    v[A_RESULT] = result_of(a, b, r, exact);
    if (v[A_RESULT] == R_NORMAL && (r & ~SIGN) == SMALLEST && v[A_WHERE] == 1) {
        v[A_RESULT] = R_UP_TO_NORMAL;
    }
    return cov_sample(inst, v);
}

static uint32_t sample_select(cov_inst *inst, int op, uint32_t a, uint32_t b) {
    const float x = value(a);
    const float y = value(b);
    const bool beside = ((a ^ b) & SIGN) == 0 && (a - b == 1 || b - a == 1);
    const int64_t relation = x != x || y != y ? 6
                             : x == y         ? (a == b ? 2 : 3)
                             : x < y          ? (beside ? 4 : 0)
                                              : (beside ? 5 : 1);
    const int64_t v[S_POINTS] = {[S_OP] = op,
                                 [S_A] = class_of(a),
                                 [S_B] = class_of(b),
                                 [S_SIGNS] = (a >> 31) * 2 + (b >> 31),
                                 [S_RELATION] = relation};
    return cov_sample(inst, v);
}

/* Index of a number in inputs[]. */
static int64_t input_of(int op, uint32_t a) {
    const int kind = class_of(a);
    const double limit = op == TO_I32 ? 2147483648.0 : 127.0;
    const double m = fabs((double)value(a & ~SIGN));
    const double down = floor(m);
    if (kind >= INFINITE) {
        return 11 + (kind - INFINITE);
    }
    if (kind == ZERO || kind == SUBNORMAL) {
        return kind;
    }
    if (m >= limit) {
        return m == limit ? 8 : m < 2 * limit ? 9 : 10;
    }
    if (m <= 0.5) {
        return m < 0.5 ? 2 : 3;
    }
    return m == down ? 4 : m - down != 0.5 ? 7 : fmod(down, 2) == 0 ? 5 : 6;
}

static uint32_t sample_convert(cov_inst *inst, int op, uint32_t a) {
    int64_t v[C_POINTS] = {[C_OP] = op,        [C_INPUT] = COV_NONE,    [C_SIGN] = a >> 31,
                           [C_TOP] = COV_NONE, [C_ROUNDING] = COV_NONE, [C_CARRY] = COV_NONE};
    if (op != FROM_I32) {
        v[C_INPUT] = input_of(op, a);
        return cov_sample(inst, v);
    }
    const uint32_t m = (a & SIGN) != 0 ? 0u - a : a;
    const uint32_t r = bits_of((float)m);
    v[C_TOP] = m == 0 ? 32 : 31 - __builtin_clz(m);
    v[C_ROUNDING] = rounding_of((double)m, 0, r);
    v[C_CARRY] = (double)value(r) > (double)m && (r & 0x7fffffu) == 0;
    return cov_sample(inst, v);
}

int npu_cov_fp_find(const char *unit) {
    for (uint32_t i = 0; i < COV_COUNT(units); i++) {
        if (strcmp(units[i].unit, unit) == 0) {
            return units[i].op;
        }
    }
    return -1;
}

uint32_t npu_fp_sample(cov_inst *const inst[NPU_FP_GROUPS], int op, uint32_t a, uint32_t b, cov_inst **used) {
    *used = inst[op <= MUL ? 0 : op <= CMP ? 1 : 2];
    return op <= MUL   ? sample_arith(*used, op, a, b)
           : op <= CMP ? sample_select(*used, op, a, b)
                       : sample_convert(*used, op, a);
}
