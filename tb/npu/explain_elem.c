/* Registers and addresses in readable form: names, fields, tensors, elements. Nothing here needs a device. */
#include "explain.h"

#include "cmodel.h"
#include "inflight.h"
#include "npu_regs.h"
#include "num.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *npu_explain_unit(unsigned unit) {
    static const char *const names[] = {[UNIT_ALU] = "ALU", [UNIT_POOL] = "POOL", [UNIT_GEMM] = "GEMM"};
    return unit < UNITS ? names[unit] : "?";
}

typedef struct reg_row {
    const char *name;
    uint32_t offset;
} reg_row;
typedef struct field_row {
    const char *name;
    uint32_t offset, lsb, width;
} field_row;
typedef struct enum_row {
    const char *name;
    uint32_t offset, lsb, value;
} enum_row;

#define REG(name, offset, access, exact, timed, w1c, reset) {#name, offset},
static const reg_row regs_table[] = {NPU_REGS_TABLE(REG)};
#undef REG
#define FIELD(reg, field, offset, lsb, width) {#field, offset, lsb, width},
static const field_row fields_table[] = {NPU_FIELD_TABLE(FIELD)};
#undef FIELD
#define ENUM(reg, field, name, offset, lsb, value) {#name, offset, lsb, value},
static const enum_row enums_table[] = {NPU_ENUM_TABLE(ENUM)};
#undef ENUM

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

const char *npu_explain_reg(uint32_t offset, char *dst, size_t size) {
    for (size_t i = 0; i < COUNT(regs_table); i++) {
        if (regs_table[i].offset == offset) {
            return regs_table[i].name;
        }
    }
    snprintf(dst, size, "0x%03x", offset);
    return dst;
}

static bool ends_with(const char *text, const char *end) {
    const size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

/* Registers whose only field is a number in FP32. */
static bool holds_f32(const char *name) {
    static const char *const ends[] = {"_IN_SCALE", "_OUT_SCALE", "ACT_P0", "ACT_P1", "ACT_P2",
                                       "ACT_P3",    "ALU_P",      "ALU_Q",  "_RECIP"};
    for (size_t i = 0; i < COUNT(ends); i++) {
        if (ends_with(name, ends[i])) {
            return true;
        }
    }
    return false;
}

static double f32(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static const char *enum_name(const field_row *f, uint32_t value) {
    for (size_t i = 0; i < COUNT(enums_table); i++) {
        const enum_row *e = &enums_table[i];
        if (e->offset == f->offset && e->lsb == f->lsb && e->value == value) {
            return e->name;
        }
    }
    return NULL;
}

void npu_explain_fields(uint32_t offset, uint32_t value, char *dst, size_t size) {
    char scratch[16];
    size_t at = 0;
    dst[0] = '\0';
    for (size_t i = 0; i < COUNT(fields_table); i++) {
        const field_row *f = &fields_table[i];
        if (f->offset != offset) {
            continue;
        }
        int n = 0;
        const uint32_t v = f->width == 32 ? value : value >> f->lsb & ((1u << f->width) - 1);
        if (f->width == 32) {
            const char *name = npu_explain_reg(offset, scratch, sizeof scratch);
            n = holds_f32(name)            ? snprintf(dst, size, "%.9g", f32(v))
                : ends_with(name, "_ADDR") ? 0
                                           : snprintf(dst, size, "%" PRIu32, v);
        } else if (enum_name(f, v) != NULL) {
            n = snprintf(dst + at, size - at, "%s%s=%s", at > 0 ? " " : "", f->name, enum_name(f, v));
        } else if (v != 0) {
            n = snprintf(dst + at, size - at, "%s%s=%" PRIu32, at > 0 ? " " : "", f->name, v);
        }
        at = n > 0 && (size_t)n < size - at ? at + (size_t)n : at;
    }
}

void npu_explain_value(npu_elem_type type, uint32_t bits, char *dst, size_t size) {
    switch (type) {
    case NPU_ELEM_F32:
        snprintf(dst, size, "%.9g (0x%08" PRIx32 ")", f32(bits), bits);
        break;
    case NPU_ELEM_I32:
        snprintf(dst, size, "%" PRId32, (int32_t)bits);
        break;
    default:
        snprintf(dst, size, "%d", (int8_t)bits);
        break;
    }
}

void npu_explain_where(const npu_explain *ex, uint64_t addr, char *dst, size_t size) {
    static const char *const names[] = {
        [NPU_BUF_IN] = "input", [NPU_BUF_OUT] = "output", [NPU_BUF_SCRATCH] = "scratch"};
    for (size_t i = 0; i < ex->bufs; i++) {
        const npu_ex_buf *b = &ex->buf[i];
        if (addr >= b->addr && addr - b->addr < b->bytes) {
            snprintf(dst, size, "%s buffer %zu + %" PRIu64, names[b->kind], i, addr - b->addr);
            return;
        }
    }
    snprintf(dst, size, "in no buffer");
}

uint32_t npu_explain_task_of(const npu_explain *ex, const tb_story_check *check) {
    static const char *const inside[] = {[UNIT_ALU] = "u_alu", [UNIT_POOL] = "u_pool", [UNIT_GEMM] = "u_gemm"};
    for (unsigned u = 0; u < UNITS; u++) {
        for (size_t i = 0; strstr(check->path, inside[u]) != NULL && i < ex->tasks; i++) {
            const npu_ex_task *t = &ex->task[i];
            if (t->unit == u && !t->refused && t->number == check->task) {
                return (uint32_t)i;
            }
        }
    }
    return NPU_EX_NONE;
}

/* ---- tensors ---- */

static bool gemm_out(const uint32_t *regs, uint32_t n, npu_out_tensor *out) {
    cm_gemm_task t;
    if (!cm_gemm_decode(n, regs, &t) || t.wide) { /* elements of INT16 are not named */
        return false;
    }
    *out = (npu_out_tensor){.type = t.raw_out ? NPU_ELEM_I32 : NPU_ELEM_F32,
                            .addr = t.ofm_addr,
                            .size = {t.oc, t.oh, t.ow},
                            .step = {t.ofm_cstep, t.ow * 4, 4}};
    if (t.requant) {
        out->type = NPU_ELEM_I8;
        out->size[0] = tb_align_up(t.oc, n);
        out->step[0] = 1;
        out->step[1] = t.ow * t.ofm_cstep;
        out->step[2] = t.ofm_cstep;
    }
    return true;
}

static bool alu_out(const uint32_t *regs, npu_out_tensor *out) {
    cm_alu_task t;
    if (!cm_alu_decode(regs, &t)) {
        return false;
    }
    const uint32_t row = npu_footprint_reduces(regs) ? 1 : t.dup ? 2 * t.count : t.count;
    *out = (npu_out_tensor){
        .type = NPU_ELEM_F32, .addr = t.o_addr, .size = {t.planes, t.rows, row}, .step = {t.o_pstep, t.o_rstep, 4}};
    return true;
}

static bool pool_out(const uint32_t *regs, uint32_t n, npu_out_tensor *out) {
    cm_pool_task t;
    if (!cm_pool_decode(n, regs, &t)) {
        return false;
    }
    *out = (npu_out_tensor){
        .type = NPU_ELEM_F32, .addr = t.ofm_addr, .size = {t.c, t.oh, t.ow}, .step = {t.ofm_cstep, t.ofm_rstep, 4}};
    if (t.int8) {
        out->type = NPU_ELEM_I8;
        out->size[0] = tb_align_up(t.c, n);
        out->step[0] = 1;
        out->step[2] = t.ofm_cstep;
    }
    return true;
}

bool npu_out_tensor_of(unsigned unit, const uint32_t *regs, uint32_t n, npu_out_tensor *out) {
    switch (unit) {
    case UNIT_ALU:
        return alu_out(regs, out);
    case UNIT_POOL:
        return pool_out(regs, n, out);
    default:
        return gemm_out(regs, n, out);
    }
}

uint32_t npu_elem_bytes(npu_elem_type type) {
    return type == NPU_ELEM_I8 ? 1 : 4;
}

/* Nested steps, as those of whole maps: divide by the longest one first. */
static bool find_nested(const npu_out_tensor *t, uint32_t offset, uint32_t at[3]) {
    unsigned order[3] = {0, 1, 2};
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned j = i + 1; j < 3; j++) {
            if (t->step[order[j]] > t->step[order[i]]) {
                const unsigned swap = order[i];
                order[i] = order[j];
                order[j] = swap;
            }
        }
    }
    for (unsigned i = 0; i < 3; i++) {
        const unsigned d = order[i];
        const uint32_t q = t->step[d] != 0 ? offset / t->step[d] : 0;
        at[d] = q < t->size[d] ? q : t->size[d] - 1;
        offset -= at[d] * t->step[d];
    }
    return offset < npu_elem_bytes(t->type);
}

bool npu_out_tensor_find(const npu_out_tensor *t, uint64_t addr, uint32_t at[3]) {
    if (t->size[0] == 0 || t->size[1] == 0 || t->size[2] == 0) {
        return false;
    }
    if (find_nested(t, (uint32_t)addr - t->addr, at)) {
        return true;
    }
    if ((uint64_t)t->size[0] * t->size[1] > 65536) { /* tensors of that size have no negative steps */
        return false;
    }
    for (at[0] = 0; at[0] < t->size[0]; at[0]++) {
        for (at[1] = 0; at[1] < t->size[1]; at[1]++) {
            const uint32_t offset = (uint32_t)addr - (t->addr + at[0] * t->step[0] + at[1] * t->step[1]);
            at[2] = t->step[2] != 0 ? offset / t->step[2] : 0;
            if (at[2] < t->size[2] && offset - at[2] * t->step[2] < npu_elem_bytes(t->type)) {
                return true;
            }
        }
    }
    return false;
}
