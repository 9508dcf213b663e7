/*
 * npu_check.c - checks that the operators share: tensors, buffers, activations.
 */
#include "npu_priv.h"

#define CHANNEL_ALIGN 16u /* of channels with more than one pixel */

float npu_float(uint32_t bits) {
    union {
        uint32_t u;
        float f;
    } v;
    v.u = bits;
    return v.f;
}

uint32_t npu_bits(float value) {
    union {
        uint32_t u;
        float f;
    } v;
    v.f = value;
    return value != value ? 0x7FC00000u : v.u;
}

uint32_t npu_reciprocal(uint32_t count) {
    return npu_bits(1.0f / (float)count);
}

npu_status npu_act_check(npu_act act, const uint32_t act_p[2]) {
    if ((uint32_t)act >= NPU_ACT_COUNT) {
        return NPU_ERR_ACT;
    }
    bool divides = act == NPU_ACT_HARDSWISH || act == NPU_ACT_HARDSIGMOID;
    return divides && (act_p[0] & 0x7FFFFFFFu) == 0 ? NPU_ERR_ACT : NPU_OK;
}

uint32_t npu_act_params(npu_act act, const uint32_t act_p[2], uint32_t out[4]) {
    out[0] = act_p[0];
    out[1] = act_p[1];
    out[2] = 0;
    out[3] = 0;
    switch (act) {
    case NPU_ACT_LEAKY:
    case NPU_ACT_ELU:
        return 1;
    case NPU_ACT_CLIP:
        return 2;
    case NPU_ACT_HARDSWISH:
    case NPU_ACT_HARDSIGMOID: {
        float alpha = npu_float(act_p[0]);
        float lower = -npu_float(act_p[1]) / alpha; /* one rounding: changing the sign is exact */
        float inverse = 1.0f / alpha;
        out[2] = npu_bits(lower);
        out[3] = npu_bits(inverse + lower);
        return 4;
    }
    default:
        return 0;
    }
}

npu_area npu_flat_area(uint32_t addr, uint64_t bytes) {
    npu_area a = {.addr = addr, .step = 0, .pieces = 1, .bytes = bytes};
    return a;
}

static uint64_t area_end(const npu_area *a) {
    return a->bytes == 0 ? a->addr : a->addr + (uint64_t)(a->pieces - 1) * a->step + a->bytes;
}

bool npu_area_overflows(const npu_area *a) {
    return area_end(a) > NPU_ADDRESS_SPACE;
}

bool npu_area_overlap(const npu_area *a, const npu_area *b) {
    if (a->addr >= area_end(b) || b->addr >= area_end(a)) {
        return false;
    }
    if (a->step != b->step || a->pieces == 1 || b->pieces == 1) {
        return true;
    }
    /* With equal steps: are the pieces inside each other's gaps? */
    uint64_t ahead = a->addr <= b->addr ? b->addr - a->addr : a->addr - b->addr;
    uint64_t shift = ahead % a->step;
    uint64_t low = a->addr <= b->addr ? a->bytes : b->bytes;
    uint64_t high = a->addr <= b->addr ? b->bytes : a->bytes;
    return shift < low || shift + high > a->step;
}

npu_area npu_tensor_area(const npu_tensor *t, uint32_t n) {
    npu_area a = {.addr = t->addr, .step = t->step, .pieces = t->c, .bytes = (uint64_t)t->w * t->h * 4};
    if (t->layout != NPU_FP32_NCHW) {
        uint64_t pixels = (uint64_t)t->w * t->h;
        /* more pixels than a uint32_t counts overflow the address space anyway */
        a.pieces = pixels > UINT32_MAX ? UINT32_MAX : (uint32_t)pixels;
        a.bytes = (uint64_t)npu_align(t->c, n) * npu_element_bytes(t->layout);
    }
    return a;
}

npu_status npu_tensor_check(const npu_tensor *t, uint32_t n) {
    return t->layout == NPU_INT16_NHWC ? NPU_ERR_LAYOUT : npu_tensor_check_gemm(t, n);
}

npu_status npu_tensor_check_gemm(const npu_tensor *t, uint32_t n) {
    if (t->layout != NPU_FP32_NCHW && t->layout != NPU_INT8_NHWC && t->layout != NPU_INT16_NHWC) {
        return NPU_ERR_ARG;
    }
    if (t->w == 0 || t->h == 0 || t->c == 0) {
        return NPU_ERR_ZERO_SIZE;
    }
    if (t->w > NPU_MAX_DIM || t->h > NPU_MAX_DIM || t->c > NPU_MAX_DIM) {
        return NPU_ERR_TOO_LARGE;
    }
    bool nhwc = t->layout != NPU_FP32_NCHW;
    uint32_t block = n * npu_element_bytes(t->layout);
    uint32_t step_align = nhwc ? block : (t->w == 1 && t->h == 1 ? 4 : CHANNEL_ALIGN);
    if (t->addr % (nhwc ? block : 4) != 0 || t->step % step_align != 0) {
        return NPU_ERR_ALIGN;
    }
    npu_area area = npu_tensor_area(t, n);
    if (t->step < area.bytes) {
        return NPU_ERR_CSTEP;
    }
    return npu_area_overflows(&area) ? NPU_ERR_ADDR_OVERFLOW : NPU_OK;
}
