/*
 * test_cm_conv.c - convolutions on the golden device: against a direct convolution, and the same bytes however they are
 * split.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmodel.h"
#include "npu_regs.h"

#define MEM_BYTES 0x80000u
#define IFM 0x1000u
#define FACTORS 0x20000u /* oscale, then bias */
#define OFM 0x22004u     /* aligned to 4 only */
#define PSUM 0x42008u
#define WGT 0x60000u

typedef struct shape {
    uint32_t n, kw, kh, sw, sh, pad_l, pad_t, iw, ih, ic, ow, oh, oc, group;
    bool oscale, bias, relu;
} shape;

typedef struct rig {
    uint8_t mem[MEM_BYTES];
    int8_t weights[65536]; /* [oc][ic][kh][kw] */
    uint64_t seed;
} rig;

static bool mem_read(void *ctx, uint32_t addr, void *dst, uint32_t bytes) {
    const rig *r = ctx;
    assert_true(addr <= MEM_BYTES && bytes <= MEM_BYTES - addr);
    memcpy(dst, r->mem + addr, bytes);
    return true;
}

static bool mem_write(void *ctx, uint32_t addr, const void *src, uint32_t bytes) {
    rig *r = ctx;
    assert_true(addr <= MEM_BYTES && bytes <= MEM_BYTES - addr);
    memcpy(r->mem + addr, src, bytes);
    return true;
}

static uint32_t next(rig *r) {
    r->seed = r->seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(r->seed >> 33);
}

static uint32_t step(uint32_t w, uint32_t h) {
    return (w * h * 4 + 15) / 16 * 16 + 16;
}

static float get_float(const rig *r, uint32_t addr) {
    float f;
    memcpy(&f, r->mem + addr, 4);
    return f;
}

static void put_float(rig *r, uint32_t addr, float f) {
    memcpy(r->mem + addr, &f, 4);
}

static shape random_shape(rig *r, uint32_t n) {
    shape s = {.n = n};
    s.kw = 1 + next(r) % 5, s.kh = 1 + next(r) % 5;
    s.sw = 1 + next(r) % 3, s.sh = 1 + next(r) % 3;
    s.pad_l = next(r) % s.kw, s.pad_t = next(r) % s.kh;
    s.ow = 1 + next(r) % 8, s.oh = 2 + next(r) % 8;
    s.iw = 1 + next(r) % 20, s.ih = 1 + next(r) % 20;
    s.ic = 1 + next(r) % (n < 16 ? 3 * n : n + 9);
    s.oc = 1 + next(r) % (n < 16 ? 3 * n : n + 9);
    s.group = next(r) % 5;
    s.oscale = next(r) % 4 != 0, s.bias = next(r) % 4 != 0, s.relu = next(r) % 2 != 0;
    return s;
}

static void fill(rig *r, const shape *s) {
    memset(r->mem, 0xEE, sizeof r->mem);
    for (uint32_t c = 0; c < s->ic; c++) {
        for (uint32_t i = 0; i < s->iw * s->ih; i++) {
            put_float(r, IFM + c * step(s->iw, s->ih) + 4 * i, (float)((int)(next(r) % 1200) - 600) * 0.125f);
        }
    }
    for (uint32_t i = 0; i < (s->oc + 3) / 4 * 4; i++) {
        put_float(r, FACTORS + 4 * i, (float)(next(r) % 1000) * 1e-4f);
        put_float(r, FACTORS + 0x1000 + 4 * i, (float)((int)(next(r) % 1000) - 500) * 0.37f);
    }
    for (uint32_t i = 0; i < s->oc * s->ic * s->kh * s->kw; i++) {
        r->weights[i] = (int8_t)(next(r) & 0xFF);
    }
}

/* A part of the convolution: rows, input channels and output channels from..to-1. */
typedef struct part {
    uint32_t oh0, oh1, ic0, ic1, oc0, oc1;
    bool raw, add;
} part;

/* Pack the weights of a part at WGT, word by word as docs/npu/npu.md section 3 writes the address. */
static void pack(rig *r, const shape *s, const part *p) {
    uint32_t n = s->n, icbs = (p->ic1 - p->ic0 + n - 1) / n, ocbs = (p->oc1 - p->oc0 + n - 1) / n;
    for (uint32_t word = 0; word < ocbs * s->kh * s->kw * icbs * n; word++) {
        uint32_t row = word % n, icb = word / n % icbs, kx = word / n / icbs % s->kw;
        uint32_t ky = word / n / icbs / s->kw % s->kh, ocb = word / n / icbs / s->kw / s->kh;
        uint32_t ic = p->ic0 + icb * n + row;
        for (uint32_t c = 0; c < n; c++) {
            uint32_t oc = p->oc0 + ocb * n + c;
            int8_t w = 0;
            if (ic < p->ic1 && oc < p->oc1) {
                w = r->weights[((oc * s->ic + ic) * s->kh + ky) * s->kw + kx];
            }
            r->mem[WGT + word * n + c] = (uint8_t)w;
        }
    }
}

static void run_part(rig *r, const shape *s, const part *p) {
    cm_mem mem = {r, mem_read, mem_write};
    cm_device *dev = cm_device_new(s->n, &mem);
    assert_non_null(dev);
    uint32_t out = p->oc0 * step(s->ow, s->oh) + 4 * p->oh0 * s->ow;
    /* the first input row that the part looks at, and what is left of the padding above it */
    uint32_t skip = p->oh0 * s->sh;
    uint32_t row0 = skip > s->pad_t ? skip - s->pad_t : 0;
    uint32_t pad_t = skip > s->pad_t ? 0 : s->pad_t - skip;
    assert_true(row0 < s->ih);
    uint32_t ctrl = NPU_GEMM_CTRL_EN_MASK | NPU_GEMM_CTRL_LAYOUT_MASK | NPU_GEMM_CTRL_EXT_MASK;
    ctrl |= p->raw ? NPU_GEMM_CTRL_DIV_IC_MASK : 0;
    ctrl |= p->add ? NPU_GEMM_CTRL_PSUM_ADD_MASK : 0;
    ctrl |= s->oscale && !p->raw ? NPU_GEMM_CTRL_OSCALE_MASK : 0;
    ctrl |= s->bias && !p->raw ? NPU_GEMM_CTRL_BIAS_MASK : 0;
    pack(r, s, p);
    const uint32_t writes[][2] = {
        {NPU_REG_GEMM_IFM_ADDR, IFM + p->ic0 * step(s->iw, s->ih) + 4 * row0 * s->iw},
        {NPU_REG_GEMM_IFM_CSTEP, step(s->iw, s->ih)},
        {NPU_REG_GEMM_WGT_ADDR, WGT},
        {NPU_REG_GEMM_OSCALE_ADDR, FACTORS + 4 * p->oc0},
        {NPU_REG_GEMM_BIAS_ADDR, FACTORS + 0x1000 + 4 * p->oc0},
        {NPU_REG_GEMM_OFM_ADDR, (p->raw ? PSUM : OFM) + out},
        {NPU_REG_GEMM_OFM_CSTEP, step(s->ow, s->oh)},
        {NPU_REG_GEMM_PSUM_ADDR, PSUM + out},
        {NPU_REG_GEMM_PSUM_CSTEP, step(s->ow, s->oh)},
        {NPU_REG_GEMM_IFM_SIZE, s->iw | (s->ih - row0) << 16},
        {NPU_REG_GEMM_CHANNELS, (p->ic1 - p->ic0) | (p->oc1 - p->oc0) << 16},
        {NPU_REG_GEMM_OFM_SIZE, s->ow | (p->oh1 - p->oh0) << 16},
        {NPU_REG_GEMM_IN_SCALE, 0x3FC00000u}, /* 1.5 */
        {NPU_REG_GEMM_EXT_KERNEL, s->kw | s->kh << 8 | 0x01010000u},
        {NPU_REG_GEMM_EXT_STRIDE, s->sw | s->sh << 8},
        {NPU_REG_GEMM_EXT_PAD, s->pad_l | pad_t << 16},
        {NPU_REG_GEMM_ACT, s->relu && !p->raw},
        {NPU_REG_GEMM_GROUP, s->group},
        {NPU_REG_GEMM_CTRL, ctrl},
    };
    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        cm_device_write(dev, writes[i][0], writes[i][1], 0xF);
    }
    assert_int_equal(cm_device_read(dev, NPU_REG_ERR), 0);
    assert_int_equal(cm_device_read(dev, NPU_REG_GEMM_COUNT), 1);
    cm_device_free(dev);
}

/* The direct convolution: gathers from FP32 memory for one output at a time, in host integers and floats (no NaN occurs
 * here). */
static float direct(const rig *r, const shape *s, uint32_t oc, uint32_t oy, uint32_t ox) {
    int32_t sum = 0;
    for (uint32_t ic = 0; ic < s->ic; ic++) {
        for (uint32_t ky = 0; ky < s->kh; ky++) {
            for (uint32_t kx = 0; kx < s->kw; kx++) {
                int y = (int)(oy * s->sh + ky) - (int)s->pad_t;
                int x = (int)(ox * s->sw + kx) - (int)s->pad_l;
                if (y < 0 || x < 0 || y >= (int)s->ih || x >= (int)s->iw) {
                    continue;
                }
                double v =
                    (double)get_float(r, IFM + ic * step(s->iw, s->ih) + 4 * ((uint32_t)y * s->iw + (uint32_t)x)) * 1.5;
                int q = v < 0 ? -(int)(0.5 - v) : (int)(v + 0.5); /* exact: the data are multiples of 1/8 */
                q = q > 127 ? 127 : q < -127 ? -127 : q;
                sum += q * r->weights[((oc * s->ic + ic) * s->kh + ky) * s->kw + kx];
            }
        }
    }
    volatile float out = (float)sum; /* volatile: each step rounds to float */
    if (s->oscale) {
        out = out * get_float(r, FACTORS + 4 * oc);
    }
    if (s->bias) {
        out = out + get_float(r, FACTORS + 0x1000 + 4 * oc);
    }
    return s->relu && !(out > 0.0f) ? 0.0f : out;
}

static void check_whole(rig *r, const shape *s) {
    part all = {.oh1 = s->oh, .ic1 = s->ic, .oc1 = s->oc};
    run_part(r, s, &all);
    for (uint32_t oc = 0; oc < s->oc; oc++) {
        uint32_t base = OFM + oc * step(s->ow, s->oh);
        for (uint32_t p = 0; p < s->ow * s->oh; p++) {
            float want = direct(r, s, oc, p / s->ow, p % s->ow);
            assert_memory_equal(r->mem + base + 4 * p, &want, 4);
        }
        for (uint32_t b = s->ow * s->oh * 4; b < step(s->ow, s->oh); b++) {
            assert_int_equal(r->mem[base + b], 0xEE); /* gaps stay as they were */
        }
    }
    for (uint32_t b = OFM + s->oc * step(s->ow, s->oh); b < WGT; b++) {
        assert_int_equal(r->mem[b], 0xEE);
    }
}

/* Cut along one or all of rows (bit 0), input channels (bit 1, at a multiple of N), output channels (bit 2, likewise).
 */
static void run_split(rig *r, const shape *s, unsigned dims) {
    uint32_t n = s->n;
    uint32_t rows = dims & 1 ? 1 + next(r) % (s->oh - 1) : s->oh;
    uint32_t ics = dims & 2 ? n : s->ic;
    uint32_t ocs = dims & 4 ? n : s->oc;
    for (uint32_t oc = 0; oc < s->oc; oc += ocs) {
        for (uint32_t oh = 0; oh < s->oh; oh += rows) {
            for (uint32_t ic = 0; ic < s->ic; ic += ics) {
                part p = {.oh0 = oh, .oh1 = oh + rows, .ic0 = ic, .ic1 = ic + ics, .oc0 = oc, .oc1 = oc + ocs};
                p.oh1 = p.oh1 < s->oh ? p.oh1 : s->oh;
                p.ic1 = p.ic1 < s->ic ? p.ic1 : s->ic;
                p.oc1 = p.oc1 < s->oc ? p.oc1 : s->oc;
                p.raw = p.ic1 < s->ic;
                p.add = ic > 0;
                run_part(r, s, &p);
            }
        }
    }
}

static int setup(void **state) {
    rig *r = calloc(1, sizeof *r);
    *state = r;
    return r == NULL ? -1 : 0;
}

static int teardown(void **state) {
    free(*state);
    return 0;
}

static void test_direct(void **state) {
    rig *r = *state;
    static const uint32_t sizes[] = {4, 8, 16, 32};
    r->seed = 11;
    for (int i = 0; i < 80; i++) {
        shape s = random_shape(r, sizes[i % 4]);
        fill(r, &s);
        check_whole(r, &s);
    }
}

static void test_splits_give_the_same_bytes(void **state) {
    rig *r = *state;
    static const uint32_t sizes[] = {4, 8, 16};
    uint8_t *whole = malloc(WGT);
    unsigned cut_ic = 0, cut_oc = 0;
    assert_non_null(whole);
    r->seed = 12;
    for (int i = 0; i < 60; i++) {
        shape s = random_shape(r, sizes[i % 3]);
        s.ih = s.oh * s.sh + s.kh; /* each row slice sees some of the map */
        fill(r, &s);
        check_whole(r, &s);
        memcpy(whole, r->mem, WGT);
        cut_ic += s.ic > s.n;
        cut_oc += s.oc > s.n;
        for (unsigned dims = 1; dims < 8; dims++) {
            memset(r->mem + OFM, 0xEE, PSUM - OFM);
            run_split(r, &s, dims);
            assert_memory_equal(r->mem, whole, PSUM);
        }
    }
    free(whole);
    assert_true(cut_ic > 10 && cut_oc > 10); /* the splits were real */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_direct, setup, teardown),
        cmocka_unit_test_setup_teardown(test_splits_give_the_same_bytes, setup, teardown),
    };
    return cmocka_run_group_tests_name("cm_conv", tests, NULL, NULL);
}
