/* tlog_task.c - the tensors of a task, with their natural axes, from its registers (docs/npu/npu.md section 3). */
#include "tlog_npu.h"
#include "num.h"

#include <stdlib.h>
#include <string.h>

#define NEVER_I8 0x80u
#define NEVER_I32 0x80000000u
#define NEVER_F32 0x7fc0deadu

static uint32_t bytes_of(tb_tlog_type type) {
    return type == TB_TLOG_I8 || type == TB_TLOG_U8 ? 1 : 4;
}

/* Up to four axes; a size of 0 ends the list. */
static npu_tlog_tensor *tensor(npu_tlog_task *t, unsigned slot, const char *stream, tb_tlog_type type,
                               const char *const axis[TB_TLOG_AXES], const uint32_t size[TB_TLOG_AXES]) {
    npu_tlog_tensor *x = &t->tensor[slot];
    *x = (npu_tlog_tensor){.stream = stream, .type = type, .elements = 1};
    for (unsigned i = 0; i < TB_TLOG_AXES && size[i] != 0; i++) {
        x->axis[x->axes] = axis[i];
        x->size[x->axes++] = size[i];
        x->elements *= size[i];
    }
    return x;
}

static void in_memory(npu_tlog_tensor *x, uint32_t addr, const uint32_t step[TB_TLOG_AXES]) {
    x->memory = true;
    x->addr = addr;
    for (unsigned i = 0; i < x->axes; i++) {
        x->step[i] = (npu_tlog_axis){.block = 1, .hi = step[i]};
    }
}

static const char *const chw[] = {"c", "h", "w", NULL};
static const char *const pri[] = {"plane", "row", "i", NULL};
static const char *const kernel[] = {"oc", "ic", "kh", "kw"};
static const char *const taps[] = {"c", "kh", "kw", NULL};
static const char *const window[] = {"kh", "kw", NULL, NULL};
#define SIZE(...) ((const uint32_t[TB_TLOG_AXES]){__VA_ARGS__})

static void gemm_weights(npu_tlog_task *t, const cm_gemm_task *g, uint32_t n) {
    if (g->op == NPU_GEMM_CTRL_OP_CONVERT || g->wgt_keep) { /* kept weights are not read */
        return;
    }
    if (g->op == NPU_GEMM_CTRL_OP_DEPTHWISE) {
        npu_tlog_tensor *x = tensor(t, NPU_TLOG_B, "gemm.wgt", TB_TLOG_I8, taps, SIZE(g->oc, g->kh, g->kw));
        in_memory(x, g->wgt_addr, SIZE(0, g->kw * n, n));
        x->step[0] = (npu_tlog_axis){.block = n, .hi = tb_align_up(g->kh * g->kw * n, 16), .lo = 1};
        return;
    }
    const uint32_t position = tb_align_up(g->ic, n) * n;
    npu_tlog_tensor *x = tensor(t, NPU_TLOG_B, "gemm.wgt", TB_TLOG_I8, kernel, SIZE(g->oc, g->ic, g->kh, g->kw));
    in_memory(x, g->wgt_addr, SIZE(0, 0, g->kw * position, position));
    x->step[0] = (npu_tlog_axis){.block = n, .hi = g->kh * g->kw * position, .lo = 1};
    x->step[1] = (npu_tlog_axis){.block = n, .hi = n * n, .lo = n};
}

/* INT16: the tensors in memory, as bytes in planes and int64 in halves; there are none between the units. */
static void gemm_tensors_wide(npu_tlog_task *t, const cm_gemm_task *g, uint32_t n) {
    static const char *const byte[] = {"c", "h", "w", "byte"}, *const half[] = {"c", "h", "w", "half"};
    const npu_tlog_axis channel = {.block = n, .hi = 2 * n, .lo = 1};
    npu_tlog_tensor *x;
    if (g->nhwc_in) {
        x = tensor(t, NPU_TLOG_IN, "gemm.in", TB_TLOG_I8, byte, SIZE(g->ic, g->ih, g->iw, 2));
        in_memory(x, g->ifm_addr, SIZE(0, g->iw * g->ifm_cstep, g->ifm_cstep, n));
        x->step[0] = channel;
    } else {
        x = tensor(t, NPU_TLOG_IN, "gemm.in", TB_TLOG_F32, chw, SIZE(g->ic, g->ih, g->iw));
        in_memory(x, g->ifm_addr, SIZE(g->ifm_cstep, 4 * g->iw, 4));
    }
    if (g->psum_add) {
        x = tensor(t, NPU_TLOG_PSUM, "gemm.psum", TB_TLOG_U32, half, SIZE(g->oc, g->oh, g->ow, 2));
        in_memory(x, g->psum_addr, SIZE(g->psum_cstep, 8 * g->ow, 8, 4));
    }
    if (g->requant) {
        x = tensor(t, NPU_TLOG_OUT, "gemm.out", TB_TLOG_I8, byte, SIZE(g->oc, g->oh, g->ow, 2));
        in_memory(x, g->ofm_addr, SIZE(0, g->ow * g->ofm_cstep, g->ofm_cstep, n));
        x->step[0] = channel;
    } else if (g->raw_out) {
        x = tensor(t, NPU_TLOG_OUT, "gemm.out", TB_TLOG_U32, half, SIZE(g->oc, g->oh, g->ow, 2));
        in_memory(x, g->ofm_addr, SIZE(g->ofm_cstep, 8 * g->ow, 8, 4));
    } else {
        x = tensor(t, NPU_TLOG_OUT, "gemm.out", TB_TLOG_F32, chw, SIZE(g->oc, g->oh, g->ow));
        in_memory(x, g->ofm_addr, SIZE(g->ofm_cstep, 4 * g->ow, 4));
    }
}

static void gemm_tensors(npu_tlog_task *t, const cm_gemm_task *g, uint32_t n) {
    if (g->wide) {
        gemm_tensors_wide(t, g, n);
        return;
    }
    const uint32_t *in = SIZE(g->ic, g->ih, g->iw), *out = SIZE(g->oc, g->oh, g->ow);
    const tb_tlog_type post = g->raw_out ? TB_TLOG_I32 : TB_TLOG_F32;
    npu_tlog_tensor *x = tensor(t, NPU_TLOG_IN, "gemm.in", g->nhwc_in ? TB_TLOG_I8 : TB_TLOG_F32, chw, in);
    in_memory(x, g->ifm_addr,
              g->nhwc_in ? SIZE(1, g->iw * g->ifm_cstep, g->ifm_cstep) : SIZE(g->ifm_cstep, 4 * g->iw, 4));
    gemm_weights(t, g, n);
    if (g->oscale_en) {
        in_memory(tensor(t, NPU_TLOG_P, "gemm.oscale", TB_TLOG_F32, chw, SIZE(g->oc)), g->oscale_addr, SIZE(4));
    }
    if (g->bias_en) {
        in_memory(tensor(t, NPU_TLOG_Q, "gemm.bias", TB_TLOG_F32, chw, SIZE(g->oc)), g->bias_addr, SIZE(4));
    }
    if (g->psum_add) {
        in_memory(tensor(t, NPU_TLOG_PSUM, "gemm.psum", TB_TLOG_I32, chw, out), g->psum_addr,
                  SIZE(g->psum_cstep, 4 * g->ow, 4));
    }
    tensor(t, NPU_TLOG_IFM, "gemm.ifm", TB_TLOG_I8, chw, in);
    tensor(t, NPU_TLOG_SUM, "gemm.sum", TB_TLOG_I32, chw, out);
    tensor(t, NPU_TLOG_POST, "gemm.post", post, chw, out);
    if (g->requant) {
        tensor(t, NPU_TLOG_REQUANT, "gemm.requant", TB_TLOG_I8, chw, out);
    }
    x = tensor(t, NPU_TLOG_OUT, "gemm.out", g->requant ? TB_TLOG_I8 : post, chw, out);
    in_memory(x, g->ofm_addr,
              g->requant ? SIZE(1, g->ow * g->ofm_cstep, g->ofm_cstep) : SIZE(g->ofm_cstep, 4 * g->ow, 4));
}

static void alu_tensors(npu_tlog_task *t, const cm_alu_task *a) {
    const bool reduces = NPU_HAS(NPU_ALU_CTRL_OP_WITH_REDUCE, a->op);
    const bool q = NPU_HAS(NPU_ALU_CTRL_OP_WITH_Q, a->op), p = NPU_HAS(NPU_ALU_CTRL_OP_WITH_P, a->op);
    const tb_tlog_type type = a->op == NPU_ALU_CTRL_OP_ADD_I32 ? TB_TLOG_I32 : TB_TLOG_F32;
    const uint32_t results = reduces ? 1 : a->count;
    in_memory(tensor(t, NPU_TLOG_IN, "alu.a", type, pri, SIZE(a->planes, a->rows, a->count)), a->a_addr,
              SIZE(a->a_pstep, a->a_rstep, 4));
    if ((p && a->p_kind == NPU_ALU_CTRL_P_KIND_VECTOR) || (q && a->q_kind == NPU_ALU_CTRL_Q_KIND_VECTOR)) {
        in_memory(tensor(t, NPU_TLOG_B, "alu.b", type, pri, SIZE(a->planes, a->rows, a->count)), a->b_addr,
                  SIZE(a->b_pstep, a->b_rstep, 4));
    }
    if (p && a->p_kind == NPU_ALU_CTRL_P_KIND_PLANE) {
        in_memory(tensor(t, NPU_TLOG_P, "alu.p", type, pri, SIZE(a->planes)), a->p_addr, SIZE(4));
    }
    if (q && a->q_kind == NPU_ALU_CTRL_Q_KIND_PLANE) {
        in_memory(tensor(t, NPU_TLOG_Q, "alu.q", type, pri, SIZE(a->planes)), a->q_addr, SIZE(4));
    }
    tensor(t, NPU_TLOG_SUM, "alu.value", type, pri, SIZE(a->planes, a->rows, results));
    tensor(t, NPU_TLOG_POST, "alu.result", type, pri, SIZE(a->planes, a->rows, results));
    npu_tlog_tensor *x =
        tensor(t, NPU_TLOG_OUT, "alu.out", type, pri, SIZE(a->planes, a->rows, a->dup ? 2 * results : results));
    in_memory(x, a->o_addr, SIZE(a->o_pstep, a->o_rstep, 4));
}

static void pool_tensors(npu_tlog_task *t, const cm_pool_task *p) {
    /* further ones are not read */
    const uint32_t last = (p->oh - 1) * p->sh + p->kh - p->pad_t, rows = last < p->ih ? last : p->ih;
    const uint32_t *out = SIZE(p->c, p->oh, p->ow);
    const tb_tlog_type type = p->int8 ? TB_TLOG_I8 : TB_TLOG_F32;
    in_memory(tensor(t, NPU_TLOG_IN, "pool.in", type, chw, SIZE(p->c, rows, p->iw)), p->ifm_addr,
              p->int8 ? SIZE(1, p->ifm_rstep, p->ifm_cstep) : SIZE(p->ifm_cstep, p->ifm_rstep, 4));
    if (p->avg && p->exclude && !p->int8) {
        in_memory(tensor(t, NPU_TLOG_B, "pool.factor", TB_TLOG_F32, window, SIZE(p->kh, p->kw)), p->tab_addr,
                  SIZE(4 * p->kw, 4));
    }
    tensor(t, NPU_TLOG_POST, "pool.result", type, chw, out);
    in_memory(tensor(t, NPU_TLOG_OUT, "pool.out", type, chw, out), p->ofm_addr,
              p->int8 ? SIZE(1, p->ofm_rstep, p->ofm_cstep) : SIZE(p->ofm_cstep, p->ofm_rstep, 4));
}

/* Memory for a tensor, filled with the values for "never seen". */
static bool allocate(npu_tlog_tensor *x) {
    const uint32_t bytes = bytes_of(x->type);
    x->data = malloc((size_t)x->elements * bytes);
    if (x->data == NULL) {
        return false;
    }
    if (bytes == 1) {
        memset(x->data, NEVER_I8, (size_t)x->elements);
    }
    for (uint64_t i = 0; bytes == 4 && i < x->elements; i++) {
        ((uint32_t *)x->data)[i] = x->type == TB_TLOG_F32 ? NEVER_F32 : NEVER_I32;
    }
    return true;
}

npu_tlog_task *npu_tlog_task_new(unsigned unit, const npu_score_task *task, uint32_t n) {
    npu_tlog_task *t = (npu_tlog_task *)calloc(1, sizeof *t);
    if (t == NULL) {
        return NULL;
    }
    t->unit = unit;
    t->task = *task;
    switch (unit) {
    case UNIT_ALU:
        alu_tensors(t, &task->alu);
        break;
    case UNIT_POOL:
        pool_tensors(t, &task->pool);
        break;
    default:
        gemm_tensors(t, &task->gemm, n);
        break;
    }
    for (unsigned i = 0; i < NPU_TLOG_SLOTS; i++) {
        if (t->tensor[i].stream != NULL && !allocate(&t->tensor[i])) {
            npu_tlog_task_free(t);
            return NULL;
        }
    }
    return t;
}

void npu_tlog_task_free(npu_tlog_task *t) {
    for (unsigned i = 0; t != NULL && i < NPU_TLOG_SLOTS; i++) {
        free(t->tensor[i].data);
    }
    free(t);
}

static uint32_t offset(const npu_tlog_axis *a, size_t i) {
    return (uint32_t)(i / a->block) * a->hi + (uint32_t)(i % a->block) * a->lo;
}

/* Copies runs along the last axis where its elements are contiguous, else single elements. */
static void read_tensor(npu_tlog_tensor *x, const tb_ddr *mem) {
    const uint32_t bytes = bytes_of(x->type);
    const unsigned inner = x->axes - 1;
    const bool run = x->step[inner].block == 1 && x->step[inner].hi == bytes;
    const size_t width = x->size[inner], piece = run ? width * bytes : bytes;
    uint8_t *dst = (uint8_t *)x->data;
    for (uint64_t row = 0; row < x->elements / width; row++) {
        uint32_t addr = x->addr;
        uint64_t rest = row;
        for (unsigned i = inner; i-- > 0;) {
            addr += offset(&x->step[i], (size_t)(rest % x->size[i]));
            rest /= x->size[i];
        }
        for (size_t i = 0; i < width; i += run ? width : 1, dst += piece) {
            if (!tb_ddr_read(mem, addr + offset(&x->step[inner], i), dst, piece)) {
                memset(dst, 0, piece);
            }
        }
    }
}

void npu_tlog_read_inputs(npu_tlog_task *t, const tb_ddr *mem) {
    for (unsigned i = 0; i < NPU_TLOG_OUT; i++) {
        if (t->tensor[i].memory) {
            read_tensor(&t->tensor[i], mem);
        }
    }
    t->begun = true;
}

void npu_tlog_read_output(npu_tlog_task *t, const tb_ddr *mem) {
    read_tensor(&t->tensor[NPU_TLOG_OUT], mem);
}

void npu_tlog_layout(npu_tlog_task *t, uint32_t n) {
    const cm_gemm_task *g = &t->task.gemm;
    const uint64_t pixels = (uint64_t)g->ih * g->iw;
    const uint32_t *in = (const uint32_t *)t->tensor[NPU_TLOG_IN].data;
    int8_t *out = (int8_t *)t->tensor[NPU_TLOG_IFM].data;
    if (out == NULL) { /* INT16 */
        return;
    }
    if (g->nhwc_in) {
        memcpy(out, in, (size_t)t->tensor[NPU_TLOG_IN].elements);
        return;
    }
    for (uint64_t i = 0; i < g->ic * pixels; i++) {
        int8_t word[32];
        cm_layout(n, 1, 1, g->in_scale, cm_quant_in(g), &in[i], word);
        out[i] = word[0];
    }
}

static void extent(const npu_tlog_tensor *x, uint64_t *begin, uint64_t *end) {
    *begin = *end = x->addr;
    for (unsigned i = 0; i < x->axes; i++) {
        const npu_tlog_axis *a = &x->step[i];
        *end += (uint64_t)((x->size[i] - 1) / a->block) * a->hi + (uint64_t)(a->block - 1) * a->lo;
    }
    *end += bytes_of(x->type);
}

bool npu_tlog_touch(const npu_tlog_tensor *a, const npu_tlog_tensor *b) {
    uint64_t ab, ae, bb, be;
    if (!a->memory || !b->memory) {
        return false;
    }
    extent(a, &ab, &ae);
    extent(b, &bb, &be);
    return ab < be && bb < ae;
}

void npu_tlog_put(npu_tlog_task *t, unsigned slot, uint64_t at, uint32_t bits) {
    if (t == NULL || t->tensor[slot].data == NULL || at >= t->tensor[slot].elements) {
        return;
    }
    if (bytes_of(t->tensor[slot].type) == 1) {
        ((uint8_t *)t->tensor[slot].data)[at] = (uint8_t)bits;
    } else {
        ((uint32_t *)t->tensor[slot].data)[at] = bits;
    }
}
