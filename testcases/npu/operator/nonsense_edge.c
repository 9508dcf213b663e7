/*
 * nonsense_edge.c - tasks at a limit: only this limit is violated, or it is just kept. One that violates it is found by
 * a random walk; then each setting is moved back to that of the original task, as far as the violation allows.
 */
#include "nonsense.h"

#include "npu_regs.h"
#include "num.h"

#define WALKS 20u
#define STEPS 200u /* of a walk */
#define FAR 4u     /* one in so many is not moved back */

#define REG(t, reg) ((t)->regs[NPU_REG_##reg / 4])
#define PUT(reg, field, value) ((uint32_t)(value) << NPU_##reg##_##field##_LSB)
#define GET(t, reg, field) ((REG(t, reg) & NPU_##reg##_##field##_MASK) >> NPU_##reg##_##field##_LSB)

typedef struct search {
    uint32_t n;
    const non_before *before;
    uint64_t want; /* the bit of the limit */
} search;

static uint64_t violated(const search *s, non_task *t) {
    non_judge(s->n, s->before, t);
    return t->violated;
}

/* The same task in the extended form: kw and kh, for example, can only differ there. */
static void extend(non_task *t) {
    if (GET(t, GEMM_CTRL, EXT) != 0) {
        return;
    }
    const uint32_t k = GET(t, GEMM_CTRL, KERNEL);
    const uint32_t stride = GET(t, GEMM_CTRL, STRIDE);
    REG(t, GEMM_EXT_KERNEL) = PUT(GEMM_EXT_KERNEL, KW, k) | PUT(GEMM_EXT_KERNEL, KH, k) | PUT(GEMM_EXT_KERNEL, DW, 1) |
                              PUT(GEMM_EXT_KERNEL, DH, 1);
    REG(t, GEMM_EXT_STRIDE) = PUT(GEMM_EXT_STRIDE, SW, stride) | PUT(GEMM_EXT_STRIDE, SH, stride);
    REG(t, GEMM_EXT_PAD) =
        PUT(GEMM_EXT_PAD, LEFT, GET(t, GEMM_CTRL, PAD_LEFT)) | PUT(GEMM_EXT_PAD, TOP, GET(t, GEMM_CTRL, PAD_TOP));
    REG(t, GEMM_CTRL) |= NPU_GEMM_CTRL_EXT_MASK;
}

/* Keep the weights of the last accepted task. */
static void keep(uint32_t n, const non_before *b, non_task *t) {
    const uint32_t in = tb_align_up(b->ic, n);
    const uint32_t out = tb_align_up(b->oc, n);
    extend(t);
    REG(t, GEMM_CTRL) = (REG(t, GEMM_CTRL) & ~NPU_GEMM_CTRL_OP_MASK) | PUT(GEMM_CTRL, OP, b->op) |
                        NPU_GEMM_CTRL_WGT_RES_MASK | NPU_GEMM_CTRL_WGT_KEEP_MASK;
    REG(t, GEMM_EXT_KERNEL) = (REG(t, GEMM_EXT_KERNEL) & ~(NPU_GEMM_EXT_KERNEL_KW_MASK | NPU_GEMM_EXT_KERNEL_KH_MASK)) |
                              PUT(GEMM_EXT_KERNEL, KW, b->kw) | PUT(GEMM_EXT_KERNEL, KH, b->kh);
    REG(t, GEMM_CHANNELS) = PUT(GEMM_CHANNELS, IC, b->ic) | PUT(GEMM_CHANNELS, OC, b->oc);
    REG(t, GEMM_WGT_ADDR) = b->wgt_addr;
    REG(t, GEMM_IFM_CSTEP) = REG(t, GEMM_IFM_CSTEP) < in ? in : REG(t, GEMM_IFM_CSTEP);
    REG(t, GEMM_OFM_CSTEP) = REG(t, GEMM_OFM_CSTEP) < out ? out : REG(t, GEMM_OFM_CSTEP);
}

/* Varies the task to be changed: extended form, or kept weights. */
static void vary(const search *s, tb_rng *rng, non_task *t) {
    if (t->unit == NPU_UNIT_GEMM && seq_chance(rng, 2)) {
        extend(t);
    }
    if (t->unit == NPU_UNIT_GEMM && s->before->kw != 0 && seq_chance(rng, 2)) {
        keep(s->n, s->before, t);
    }
}

/* Restores all fields that need not differ from `base`, starting with a random one. */
static void undo(const search *s, tb_rng *rng, const non_task *base, non_task *t) {
    const size_t count = non_fields(t->unit);
    const size_t first = tb_rng_range(rng, 0, count - 1);
    for (size_t i = 0; i < count; i++) {
        const size_t f = (first + i) % count;
        const uint32_t value = non_get(t, f);
        non_set(t, f, non_get(base, f));
        if (violated(s, t) != s->want) {
            non_set(t, f, value);
        }
    }
}

/*
 * Bring a legal and an illegal value of a field together, in steps of `step`, until there is no value in between; stops
 * at a value that violates another limit.
 */
static void narrow(const search *s, non_task *t, size_t f, uint32_t step, uint32_t *good, uint32_t *bad) {
    for (;;) {
        const uint32_t apart = *bad > *good ? *bad - *good : *good - *bad;
        if (apart % step != 0 || apart <= step) {
            return;
        }
        const uint32_t half = apart / step / 2 * step;
        const uint32_t mid = *bad > *good ? *good + half : *good - half;
        non_set(t, f, mid);
        const uint64_t v = violated(s, t);
        if (v != 0 && v != s->want) {
            return;
        }
        *(v != 0 ? bad : good) = mid;
    }
}

/* Move a field towards its legal value, as far as the limit stays violated, or one step further. false: the field is
 * not the one to move. */
static bool to_edge(const search *s, const non_task *base, size_t f, bool beyond, non_task *t) {
    uint32_t bad = non_get(t, f);
    uint32_t good = non_get(base, f);
    non_set(t, f, good);
    if (good == bad || violated(s, t) != 0) {
        non_set(t, f, bad);
        return false;
    }
    narrow(s, t, f, 1, &good, &bad);
    narrow(s, t, f, 4, &good, &bad);
    narrow(s, t, f, s->n, &good, &bad);
    non_set(t, f, beyond ? bad : good);
    return true;
}

/* From a legal task over other legal ones, a random field at a time, to one that violates the limit. */
static bool walk(const search *s, tb_rng *rng, uint32_t scratch, uint32_t bytes, non_task *t) {
    const size_t count = non_fields(t->unit);
    if (violated(s, t) != 0) {
        return t->violated == s->want;
    }
    for (uint32_t i = 0; i < STEPS; i++) {
        const size_t f = tb_rng_range(rng, 0, count - 1);
        const uint32_t value = non_get(t, f);
        non_spoil_field(rng, f, scratch, bytes, t);
        if (violated(s, t) == s->want) {
            return true;
        }
        if (t->violated != 0) {
            non_set(t, f, value);
        }
    }
    return false;
}

bool non_edge(uint32_t n, const non_before *before, tb_rng *rng, uint32_t limit, bool beyond, uint32_t scratch,
              uint32_t bytes, non_task *task) {
    const search s = {n, before, UINT64_C(1) << limit};
    const size_t count = non_fields(task->unit);
    for (uint32_t i = 0; i < WALKS; i++) {
        non_task base = *task;
        vary(&s, rng, &base);
        non_task t = base;
        if (!walk(&s, rng, scratch, bytes, &t)) {
            continue;
        }
        if (!beyond || !seq_chance(rng, FAR)) {
            undo(&s, rng, &base, &t);
            const size_t first = tb_rng_range(rng, 0, count - 1);
            for (size_t f = 0; f < count && !to_edge(&s, &base, (first + f) % count, beyond, &t); f++) {
            }
        }
        (void)violated(&s, &t);
        *task = t;
        return true;
    }
    return false;
}
