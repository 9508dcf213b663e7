/* access.c - accesses of the registers, and the order of the tasks that they start. Names and masks come from the
 * generated register description. */
#include "models.h"
#include "npu_regs.h"

#include <string.h>

/* Units in the order of their bits in IRQ_STATUS; registers of no unit are common. */
enum { ALU, POOL, GEMM, COMMON };

static const struct {
    const char *name;
    uint32_t offset, access, flags;
} regs[] = {
#define ROW(name_, offset_, access_, exact_, timed_, w1c_, reset_) {#name_, offset_, access_, w1c_},
    NPU_REGS_TABLE(ROW)
#undef ROW
};
#define REGS COV_COUNT(regs)
/* names of all registers, then those of unused offsets */
static const char *const reg_names[] = {
#define ROW(name_, offset_, access_, exact_, timed_, w1c_, reset_) #name_,
    NPU_REGS_TABLE(ROW)
#undef ROW
        "unused offset"};

enum { R_REG, R_OP, R_STATE, R_CLEAR, R_FLAGS, R_AFTER, R_POINTS };
static const cov_bin reg_bins[] = {{COV_NAMES(reg_names, REGS + 1)}};
static const cov_bin op_bins[] = {{COV_VALUE("read", 0)}, {COV_VALUE("write", 1)}};
static const cov_bin state_bins[] = {
    {COV_VALUE("idle", 0)}, {COV_VALUE("its unit is busy", 1)}, {COV_VALUE("others are busy", 2)}};
static const cov_bin clear_bins[] = {
    {COV_VALUE("nothing", 0)}, {COV_VALUE("one flag", 1)}, {COV_VALUE("some flags", 2)}, {COV_VALUE("all flags", 3)}};
static const cov_bin flags_bins[] = {{COV_VALUE("IRQ_STATUS", 0)}, {COV_VALUE("ERR", 1)}};
static const cov_bin after_bins[] = {{COV_VALUE("a read of the same", 0)},
                                     {COV_VALUE("a write of the same", 1)},
                                     {COV_VALUE("a read of another", 2)},
                                     {COV_VALUE("a write of another", 3)}};

static const cov_point reg_points[R_POINTS] = {
    [R_REG] = {COV_POINT("reg", "an address is decoded as its neighbour's", reg_bins), .hint = "regs:rounds=2"},
    [R_OP] = {COV_POINT("op", "a read clears a flag that only a write may clear", op_bins), .hint = "regs:rounds=2"},
    [R_STATE] = {COV_POINT("state", "settings of a running task change", state_bins), .hint = "regs:rounds=2"},
    [R_CLEAR] = {COV_POINT("clear", "a write of zeros clears a flag, or one of ones clears its neighbours", clear_bins),
                 .hint = "regs:rounds=2"},
    [R_FLAGS] = {COV_POINT("flags", "one of the registers with flags behaves as an ordinary one", flags_bins),
                 .hint = "regs:rounds=2"},
    [R_AFTER] = {COV_POINT("after", "an access gets the data of the previous one", after_bins),
                 .hint = "regs:rounds=2"},
};
/* Registers of no unit: all but the settings of the units. */
#define COMMON_REGS                                                                                                    \
    "ID|CONFIG|CTRL|STATUS|IRQ_STATUS|IRQ_ENABLE|IRQ_ID|ERR|GEMM_COUNT|PERF_CTRL|PERF_SEL|PERF_LO|PERF_HI|ALU_COUNT|"  \
    "POOL_COUNT|ALU_"                                                                                                  \
    "RESULT|unused offset"
static const cov_rule state_rules[] = {{COV_IGNORED,
                                        "the register belongs to no unit: every busy unit is another one",
                                        {COMMON_REGS, NULL, "its unit is busy"}}};
static const cov_cross reg_crosses[] = {
    {COV_CROSS("reg_op_state", "one register is written, or shows an old value, while a task runs", "reg", "op",
               "state"),
     COV_RULES(state_rules)},
    {COV_CROSS("op_after", "a read overtakes the write before it", "op", "after")},
    {COV_CROSS("flags_clear", "flags of one register are cleared by another value", "flags", "clear", "state"),
     .rules = (const cov_rule[]){{COV_IGNORED,
                                  "flags belong to no unit: every busy unit is another one",
                                  {NULL, NULL, "its unit is busy"}}},
     .rule_count = 1}};
const cov_group npu_regs_group = {
    COV_GROUP("regs", "accesses of registers on the RTL, by driver and tests", reg_points), COV_CROSSES(reg_crosses)};

enum { T_UNIT, T_KIND, T_BEFORE, T_OVERLAP, T_BUSY, T_FENCE, T_ERROR, T_FORM, T_FORM_BEFORE, T_POINTS };
enum { K_CONV, K_DEPTHWISE, K_CONVERT, K_MAP, K_REDUCE, K_MAX, K_AVG, K_RESET };
static const char *const kinds[] = {"convolution", "depthwise", "conversion", "elementwise",
                                    "reduction",   "maximum",   "average"};
static const char *const befores[] = {"convolution", "depthwise", "conversion", "elementwise",
                                      "reduction",   "maximum",   "average",    "reset"};
static const char *const busies[] = {"none", "ALU", "POOL", "ALU, POOL", "GEMM", "ALU, GEMM", "POOL, GEMM", "all"};
static const char *const forms[] = {"INT8 to FP32", "INT8 to INT8", "FP32 to FP32", "FP32 to INT8"};
static const cov_bin kind_bins[] = {{COV_NAMES(kinds, 7)}};
static const cov_bin before_bins[] = {{COV_NAMES(befores, 8)}};
static const cov_bin overlap_bins[] = {{COV_VALUE("idle", 0), .hint = "sequence:serial=1"},
                                       {COV_VALUE("its unit is busy", 1), .hint = "sequence:serial=0"},
                                       {COV_VALUE("others are busy", 2), .hint = "sequence:serial=0 units=any"}};
static const cov_bin busy_bins[] = {{COV_NAMES(busies, 8)}};
static const cov_bin fence_bins[] = {{COV_VALUE("no", 0)}, {COV_VALUE("yes", 1)}};
static const cov_bin error_bins[] = {{COV_VALUE("no", 0)}, {COV_VALUE("yes", 1), .hint = "sequence:errors=1"}};
static const cov_bin form_bins[] = {{COV_NAMES(forms, 4)}};

static const char *const unit_names[] = {"ALU", "POOL", "GEMM"};
static const cov_bin unit_bins[] = {{COV_NAMES(unit_names, 3)}};

static const cov_point task_points[T_POINTS] = {
    [T_UNIT] = {COV_POINT("unit", "the start of one unit starts another one", unit_bins), .hint = "sequence:tasks=16"},
    [T_KIND] = {COV_POINT("kind", "a kind of task is started by the register of another one", kind_bins),
                .hint = "sequence:tasks=16"},
    [T_BEFORE] = {COV_POINT("before", "state of the previous task affects this one", before_bins),
                  .hint = "sequence:tasks=16"},
    [T_OVERLAP] = {COV_POINT("overlap", "a start while tasks run changes their settings", overlap_bins),
                   .hint = "sequence:tasks=16"},
    [T_BUSY] = {COV_POINT("busy", "a start disturbs the clock, channel or flags of another unit", busy_bins),
                .hint = "sequence:units=any serial=0"},
    [T_FENCE] = {COV_POINT("fence", "a fence has no effect, or is never resolved", fence_bins),
                 .hint = "chain:tasks=4"},
    [T_ERROR] = {COV_POINT("error", "a task after one with an error is dropped, or blamed", error_bins),
                 .hint = "sequence:tasks=16"},
    [T_FORM] = {COV_POINT("form", "a GEMM task uses the layouts of the previous one", form_bins),
                .hint = "sequence:tasks=16"},
    [T_FORM_BEFORE] = {COV_POINT("form_before", "layouts of one GEMM task affect the next", form_bins),
                       .hint = "sequence:tasks=16"},
};
static const cov_cross task_crosses[] = {
    {COV_CROSS("order", "one kind of task after one other", "kind", "before")},
    {COV_CROSS("kind_overlap", "one kind of task is started while something runs", "kind", "overlap")},
    {COV_CROSS("unit_busy", "a unit is started while these units are busy", "unit", "busy")},
    {COV_CROSS("kind_error", "one kind of task after an error", "kind", "error")},
    {COV_CROSS("fence_overlap", "a fence where nothing runs, or where something does", "fence", "overlap")},
    {COV_CROSS("forms", "layouts change from one GEMM task to the next", "form_before", "form")}};
const cov_group npu_tasks_group = {COV_GROUP("tasks", "tasks in the order of their start on the RTL", task_points),
                                   COV_CROSSES(task_crosses)};

/* Index of a register; REGS: there is none. */
static uint32_t reg_of(uint32_t offset) {
    uint32_t i = 0;
    while (i < REGS && regs[i].offset != offset) {
        i++;
    }
    return i;
}

/* The settings of a unit follow the common registers. */
static unsigned unit_of(uint32_t reg) {
    if (reg >= REGS || regs[reg].offset < NPU_REG_GEMM_IFM_ADDR) {
        return COMMON;
    }
    return strncmp(regs[reg].name, "GEMM", 4) == 0 ? GEMM : strncmp(regs[reg].name, "ALU", 3) == 0 ? ALU : POOL;
}

static int64_t state_of(unsigned unit, unsigned busy) {
    return busy == 0 ? 0 : unit != COMMON && (busy >> unit & 1u) != 0 ? 1 : 2;
}

static uint32_t sample_task(npu_access *a, unsigned unit, uint32_t value, unsigned busy) {
    int64_t v[T_POINTS];
    for (unsigned i = 0; i < T_POINTS; i++) {
        v[i] = COV_NONE;
    }
    if (unit == GEMM) {
        const uint32_t op = (value & NPU_GEMM_CTRL_OP_MASK) >> NPU_GEMM_CTRL_OP_LSB;
        v[T_KIND] = op == NPU_GEMM_CTRL_OP_DEPTHWISE ? K_DEPTHWISE
                    : op == NPU_GEMM_CTRL_OP_CONVERT ? K_CONVERT
                                                     : K_CONV;
        v[T_FENCE] = (value & NPU_GEMM_CTRL_FENCE_MASK) != 0;
        v[T_FORM] =
            ((value & NPU_GEMM_CTRL_LAYOUT_MASK) != 0 ? 2 : 0) + ((value & NPU_GEMM_CTRL_REQUANT_MASK) != 0 ? 1 : 0);
        v[T_FORM_BEFORE] = a->form;
    } else if (unit == ALU) {
        const uint32_t op = (value & NPU_ALU_CTRL_OP_MASK) >> NPU_ALU_CTRL_OP_LSB;
        v[T_KIND] = NPU_HAS(NPU_ALU_CTRL_OP_WITH_REDUCE, op) ? K_REDUCE : K_MAP;
    } else {
        v[T_KIND] =
            (value & NPU_POOL_CTRL_TYPE_MASK) >> NPU_POOL_CTRL_TYPE_LSB == NPU_POOL_CTRL_TYPE_MAX ? K_MAX : K_AVG;
    }
    v[T_UNIT] = unit;
    v[T_BEFORE] = a->before;
    v[T_OVERLAP] = state_of(unit, busy);
    v[T_BUSY] = busy;
    v[T_ERROR] = a->error;
    a->before = (int)v[T_KIND];
    a->form = unit == GEMM ? v[T_FORM] : a->form;
    a->error = false;
    return cov_sample(a->tasks, v);
}

/* Flags that a write clears: bins of clear_bins. */
static int64_t clear_of(uint32_t flags, uint32_t value) {
    const uint32_t v = value & flags;
    return v == 0 ? 0 : v == flags ? 3 : (v & (v - 1)) == 0 ? 1 : 2;
}

void npu_access_start(npu_access *a) {
    a->before = K_RESET;
    a->form = COV_NONE;
    a->error = false;
    a->last = -1;
}

uint32_t npu_access_sample(npu_access *a, bool write, uint32_t offset, uint32_t value, unsigned busy, cov_inst **used) {
    static const struct {
        uint32_t offset, en;
    } starts[] = {[ALU] = {NPU_REG_ALU_CTRL, NPU_ALU_CTRL_EN_MASK},
                  [POOL] = {NPU_REG_POOL_CTRL, NPU_POOL_CTRL_EN_MASK},
                  [GEMM] = {NPU_REG_GEMM_CTRL, NPU_GEMM_CTRL_EN_MASK}};
    const uint32_t reg = reg_of(offset);
    const unsigned unit = unit_of(reg);
    const bool flags = write && (offset == NPU_REG_IRQ_STATUS || offset == NPU_REG_ERR);
    const int64_t v[R_POINTS] = {[R_REG] = reg,
                                 [R_OP] = write,
                                 [R_STATE] = state_of(unit, busy),
                                 [R_CLEAR] = flags ? clear_of(regs[reg].flags, value) : COV_NONE,
                                 [R_FLAGS] = flags ? (offset == NPU_REG_ERR) : COV_NONE,
                                 [R_AFTER] =
                                     a->last < 0 ? COV_NONE : (a->last / 2 == (int64_t)offset ? 0 : 2) + a->last % 2};
    *used = a->regs;
    uint32_t illegal = cov_sample(a->regs, v);
    a->last = (int64_t)offset * 2 + write;
    if (!write && offset == NPU_REG_ERR && value != 0) {
        a->error = true;
    }
    if (write && offset == NPU_REG_CTRL && (value & NPU_CTRL_SOFT_RESET_MASK) != 0) {
        a->before = K_RESET;
        a->form = COV_NONE;
    }
    for (unsigned u = 0; write && u < COMMON; u++) {
        if (offset == starts[u].offset && (value & starts[u].en) != 0) {
            illegal += sample_task(a, u, value, busy);
            *used = a->tasks;
        }
    }
    return illegal;
}
