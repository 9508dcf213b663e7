/*
 * fp_golden.c - the golden model behind the ports and the tap of an fp unit, in place of a Verilated design: tests of
 * `--vectors` hold the model to the vectors.
 *
 * Which operation is told by the name of the bench that it is linked with.
 */
#include "../../testcases/npu/unit/fp_bench.h"

#include <stdlib.h>
#include <string.h>

typedef struct golden {
    uint8_t clk_i, en_i, before;
    uint32_t a_i, b_i, y_o;
    uint16_t a16_i, y16_o;
    uint8_t y8_o;
    uint32_t in, out; /* bits of an operand and of the result */
    uint32_t (*op)(uint32_t a, uint32_t b);
    char tap[40]; /* its instance */
    tb_shim_var var[4];
} golden;

static uint32_t compare(uint32_t a, uint32_t b) {
    return (uint32_t)cm_fp_lt(a, b) << FP_LT | (uint32_t)cm_fp_le(a, b) << FP_LE | (uint32_t)cm_fp_eq(a, b) << FP_EQ;
}

static uint32_t from_i32(uint32_t a, uint32_t b) {
    (void)b;
    return cm_fp_i32_to_f32((int32_t)a);
}

static uint32_t to_i32(uint32_t a, uint32_t b) {
    (void)b;
    return (uint32_t)cm_fp_f32_to_i32(a);
}

static uint32_t to_i8(uint32_t a, uint32_t b) {
    return (uint8_t)cm_fp_quantise(a, b);
}

static uint32_t to_i16(uint32_t a, uint32_t b) {
    (void)b;
    return (uint16_t)cm_fp_f32_to_i16(a);
}

static uint32_t from_f16(uint32_t a, uint32_t b) {
    (void)b;
    return cm_fp_from_f16((uint16_t)a);
}

static uint32_t to_f16(uint32_t a, uint32_t b) {
    (void)b;
    return cm_fp_to_f16(a);
}

static const struct {
    const char *name;
    uint32_t (*op)(uint32_t a, uint32_t b);
    uint32_t in, out;
} ops[] = {{"fp_add", cm_fp_add, 32, 32},       {"fp_sub", cm_fp_sub, 32, 32},     {"fp_mul", cm_fp_mul, 32, 32},
           {"fp_max", cm_fp_max, 32, 32},       {"fp_min", cm_fp_min, 32, 32},     {"fp_i32_to_f32", from_i32, 32, 32},
           {"fp_f32_to_i32", to_i32, 32, 32},   {"fp_f32_to_i8", to_i8, 32, 8},    {"fp_cmp", compare, 32, 8},
           {"fp_eq", compare, 32, 8},           {"fp_le", compare, 32, 8},         {"fp_lt", compare, 32, 8},
           {"fp_f16_to_f32", from_f16, 16, 32}, {"fp_f32_to_f16", to_f16, 32, 16}, {"fp_f32_to_i16", to_i16, 32, 16}};

static void *create(const char *const *plusargs, uint64_t init_seed) {
    (void)plusargs;
    (void)init_seed;
    golden *g = calloc(1, sizeof(golden));
    for (size_t i = 0; g && i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(ops[i].name, unit_this_bench.name) == 0) {
            g->op = ops[i].op;
            g->in = ops[i].in;
            g->out = ops[i].out;
            snprintf(g->tap, sizeof g->tap, "golden.u_tap_%s", ops[i].op == compare ? "fp_cmp" : ops[i].name);
        }
    }
    if (g && !g->op) {
        free(g);
        return NULL;
    }
    return g;
}

static void destroy(void *inst) {
    free(inst);
}

static void *operand(golden *g) {
    return g->in == 16 ? (void *)&g->a16_i : (void *)&g->a_i;
}

static void *result(golden *g) {
    return g->out == 8 ? (void *)&g->y8_o : g->out == 16 ? (void *)&g->y16_o : (void *)&g->y_o;
}

static void ports(void *inst, tb_shim_port *out) {
    golden *g = (golden *)inst;
    out[0] = (tb_shim_port){.name = "clk_i", .width = 1, .input = true, .ptr = &g->clk_i};
    out[1] = (tb_shim_port){.name = "en_i", .width = 1, .input = true, .ptr = &g->en_i};
    out[2] = (tb_shim_port){.name = "a_i", .width = g->in, .input = true, .ptr = operand(g)};
    out[3] = (tb_shim_port){.name = "b_i", .width = 32, .input = true, .ptr = &g->b_i};
    out[4] = (tb_shim_port){.name = "y_o", .width = g->out, .ptr = result(g)};
}

/* By name, as a tap has them. */
static const tb_shim_var *vars(void *inst, size_t *count, uintptr_t *base) {
    golden *g = (golden *)inst;
    const tb_shim_var all[] = {{g->tap, "a_i", g->in, (uintptr_t)operand(g)},
                               {g->tap, "b_i", 32, (uintptr_t)&g->b_i},
                               {g->tap, "en_i", 1, (uintptr_t)&g->en_i},
                               {g->tap, "y_o", g->out, (uintptr_t)result(g)}};
    memcpy(g->var, all, sizeof g->var);
    *count = sizeof all / sizeof *all;
    *base = 0;
    return g->var;
}

static void eval(void *inst) {
    golden *g = (golden *)inst;
    if (g->clk_i && !g->before && g->en_i) {
        g->y_o = g->op(g->in == 16 ? g->a16_i : g->a_i, g->b_i);
        g->y16_o = (uint16_t)g->y_o;
        g->y8_o = (uint8_t)g->y_o;
    }
    g->before = g->clk_i;
}

static bool finished(void *inst) {
    (void)inst;
    return false;
}

static const char *assert_message(void *inst) {
    (void)inst;
    return NULL;
}

const tb_shim *tb_shim_get(void) {
    static const tb_shim shim = {.top = "golden",
                                 .nports = 5,
                                 .create = create,
                                 .destroy = destroy,
                                 .ports = ports,
                                 .vars = vars,
                                 .eval = eval,
                                 .finished = finished,
                                 .assert_message = assert_message};
    return &shim;
}
