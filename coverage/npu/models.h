/* models.h - private to coverage/npu: tables of the models, and bins that several of them share. */
#ifndef COVERAGE_NPU_MODELS_H
#define COVERAGE_NPU_MODELS_H

#include "npu_cov.h"
#include "npu_regs.h"

/* A case, for values that are derived from several knobs. */
typedef struct npu_case {
    uint32_t n;
    bool rtl;
    const tb_knobs *knobs;
} npu_case;

/* The value of a coverpoint; NULL in a table: the knob of its name (a name of an ENUM knob is looked up in the
 * coverpoint's own COV_NAMES). */
typedef int64_t (*npu_value_fn)(const npu_case *c);

typedef struct npu_model {
    const char *test; /* the test whose cases are counted */
    const cov_group *group;
    const npu_value_fn *values; /* one for each coverpoint */
    bool only_rtl;              /* not counted on the golden model alone */
} npu_model;

/* each ends with a model without a test */
extern const npu_model npu_models_gemm[], npu_models_vector[], npu_models_system[], npu_models_graph[];
extern const cov_group npu_layer_group;

/* bus.c: one instance for each port */
extern const cov_group npu_bus_group;
/* Sample the counts of its monitor, each observed bin once. Returns illegal hits. */
uint32_t npu_bus_sample(cov_inst *inst, const tb_axi_stats *stats);

/* fp.c: operations of the floating-point units. inst: one for each group; op from npu_cov_fp_find(); used: the instance
 * that was sampled. Returns illegal hits. */
enum { NPU_FP_GROUPS = 3 };
extern const cov_group npu_fp_arith_group, npu_fp_select_group, npu_fp_convert_group;
uint32_t npu_fp_sample(cov_inst *const inst[NPU_FP_GROUPS], int op, uint32_t a, uint32_t b, cov_inst **used);

/* access.c: state between accesses. */
typedef struct npu_access {
    cov_inst *regs, *tasks;
    int64_t last; /* offset * 2, + 1: a write; -1: none */
    int64_t form; /* of the last GEMM task, or COV_NONE */
    int before;   /* kind of the last task */
    bool error;   /* an error was read in ERR since */
} npu_access;
extern const cov_group npu_regs_group, npu_tasks_group;
/* A device begins. */
void npu_access_start(npu_access *a);
/* busy: units, as bits of IRQ_STATUS. used: an instance that was sampled. Returns illegal hits. */
uint32_t npu_access_sample(npu_access *a, bool write, uint32_t offset, uint32_t value, unsigned busy, cov_inst **used);

/* A function of that type: a value is an expression over the case `c`. */
#define NPU_VALUE(name, expression)                                                                                    \
    static int64_t name(const npu_case *c) {                                                                           \
        return expression;                                                                                             \
    }

/* Value of a knob; COV_NONE: the test has no such knob. */
static inline int64_t npu_knob(const npu_case *c, const char *name) {
    return tb_knobs_find(c->knobs, name) < 0 ? COV_NONE : tb_knobs_get(c->knobs, name);
}
/* How the limit `cap` splits `size`, for split_bins: 0: the driver decides, 1: one piece, 2: two equal ones, 3: more
 * equal ones, 4: with a rest. */
int64_t npu_pieces(int64_t cap, int64_t size);
/* Remainder of a size by the mesh, for rest_bins: 0: none, 1: one over, 2: in between, 3: one short of a multiple. */
int64_t npu_rest(int64_t size, uint32_t n);

/* ---- bins that several models share (names: npu_cov.c) ---- */

/* The bins of an ENUM knob; text: the hint. */
#define NPU_ENUM(table, count, text)                                                                                   \
    {COV_NAMES(table, count), .hint = (text)}, {                                                                       \
        COV_VALUE("unknown", -1), COV_FORBID("the test has a name that is missing in the model")                       \
    }

/* Bins of npu_rest(); knob: the hint up to the size. The sizes are valid for every mesh. */
#define NPU_RESTS(knob)                                                                                                \
    {COV_VALUE("multiple", 0), .hint = knob "32"}, {COV_VALUE("one over", 1), .hint = knob "33"},                      \
        {COV_VALUE("between", 2), .hint = knob "34"}, {                                                                \
        COV_VALUE("one short", 3), .hint = knob "31"                                                                   \
    }

/* Beside NPU_ENUM. */
#define NPU_ONES                                                                                                       \
    { COV_VALUE("ones", 1000), COV_IGNORE("no generator draws it: it makes failures easier to read") }

extern const char *const npu_act_names[NPU_GEMM_ACT_TYPE_COUNT];
extern const char *const npu_bus_names[6];
extern const char *const npu_wait_names[2];

/*
 * A model is a list MODEL(P, D) of P(name, bug, bins), a coverpoint whose value is the knob of its name, and
 * D(name, bug, bins, value, hint), one whose value is a function of the case. As coverpoints and as values:
 */
#define AS_POINT(name_, bug_, bins_) {COV_POINT(#name_, bug_, bins_), .hint = ":" #name_ "=%"},
#define AS_DERIVED(name_, bug_, bins_, value_, hint_) {COV_POINT(#name_, bug_, bins_), .hint = (hint_)},
#define AS_KNOB(name_, bug_, bins_) NULL,
#define AS_VALUE(name_, bug_, bins_, value_, hint_) value_,
/* The npu_model of a list: a group of the test's name. */
#define NPU_MODEL(test_, MODEL, about_, crosses_, ...)                                                                 \
    {                                                                                                                  \
        .test = (test_),                                                                                               \
        .group = &(const cov_group){.name = (test_),                                                                   \
                                    .about = about_ ": cases of the test " test_,                                      \
                                    .points = (const cov_point[]){MODEL(AS_POINT, AS_DERIVED)},                        \
                                    .point_count = COV_COUNT(((const cov_point[]){MODEL(AS_POINT, AS_DERIVED)})),      \
                                    COV_CROSSES(crosses_)},                                                            \
        .values = (const npu_value_fn[]){MODEL(AS_KNOB, AS_VALUE)}, __VA_ARGS__                                        \
    }

static const cov_bin bus_bins[] = {NPU_ENUM(npu_bus_names, 6, ":bus=%")};
static const cov_bin wait_bins[] = {NPU_ENUM(npu_wait_names, 2, ":wait=%")};
static const cov_bin flag_bins[] = {{COV_VALUE("no", 0)}, {COV_VALUE("yes", 1)}};

#endif
