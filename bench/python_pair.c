/*
 * python_pair.c - the C side of bench/python_overhead.py: the same convolutions on the RTL from C, and calls of units
 * of the golden model. Prints one line of JSON.
 *
 *     bench-python conv COUNT    COUNT times what Device("rtl").conv2d() does: operands in, the operator, the result
 * out bench-python unit COUNT    nanoseconds of one call of each unit
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmodel.h"
#include "device.h"
#include "npu.h"
#include "opt/opt.h"
#include "report/report.h"

enum { C = 32, SIZE = 28, K = 3, OC = 32, PIXELS = SIZE * SIZE };
#define ONE 0x3F800000u

typedef struct data {
    float in[C * PIXELS], out[OC * PIXELS], w_scale[OC];
    int8_t w[OC * C * K * K];
} data;

/* A buffer with these bytes, or an empty one for the NPU to write. 0: no room. */
static uint32_t put(npu_dev *dev, const void *src, uint32_t bytes) {
    const uint32_t addr = npu_dev_alloc(dev, bytes, 64, src != NULL ? NPU_BUF_IN : NPU_BUF_OUT);
    return addr != 0 && (src == NULL || npu_dev_write(dev, addr, src, bytes)) ? addr : 0;
}

static npu_status once(npu_dev *dev, npu *driver, data *d) {
    npu_conv conv = {.iw = SIZE,
                     .ih = SIZE,
                     .ic = C,
                     .oc = OC,
                     .kw = K,
                     .kh = K,
                     .stride_w = 1,
                     .stride_h = 1,
                     .dil_w = 1,
                     .dil_h = 1};
    npu_conv_plan plan;
    conv.pad_l = conv.pad_r = conv.pad_t = conv.pad_b = conv.groups = 1;
    conv.in_scale = ONE;
    conv.ifm_cstep = conv.ofm_cstep = PIXELS * 4;
    npu_status status = npu_conv_plan_make(npu_dev_n(dev), &conv, NULL, &plan);
    int8_t *packed = malloc(plan.wgt_bytes);
    float *oscale = malloc(plan.param_bytes);
    const size_t keep = npu_dev_bufs(dev);
    if (status == NPU_OK) {
        status = npu_conv_pack_weights(&conv, &plan, d->w, packed, plan.wgt_bytes);
    }
    if (status == NPU_OK) {
        status = npu_conv_make_oscale(&conv, &plan, d->w_scale, oscale, plan.param_bytes);
    }
    conv.ifm_addr = put(dev, d->in, sizeof d->in);
    conv.ofm_addr = put(dev, NULL, sizeof d->out);
    conv.wgt_addr = put(dev, packed, plan.wgt_bytes);
    conv.oscale_addr = put(dev, oscale, plan.param_bytes);
    free(packed);
    free(oscale);
    if (status == NPU_OK) {
        status = npu_conv_run(driver, &conv, &plan);
    }
    npu_dev_read(dev, conv.ofm_addr, d->out, sizeof d->out);
    npu_dev_alloc_drop(dev, keep);
    return status;
}

static int convs(uint64_t count) {
    char err[512];
    npu driver;
    data *d = calloc(1, sizeof *d);
    const npu_dev_cfg cfg = {.kind = NPU_DEV_RTL, .n = NPU_CFG_N, .seed = 1, .poison_reads = true};
    npu_dev *dev = d != NULL ? npu_dev_open(&cfg, err, sizeof err) : NULL;
    if (dev == NULL) {
        fprintf(stderr, "bench-python: %s\n", d != NULL ? err : "out of memory");
        return 1;
    }
    for (size_t i = 0; i < C * PIXELS; i++) {
        d->in[i] = (float)(int)(i * 7 % 255) - 127.0f;
    }
    for (size_t i = 0; i < sizeof d->w; i++) {
        d->w[i] = (int8_t)((int)(i * 5 % 255) - 127);
    }
    for (size_t i = 0; i < OC; i++) {
        d->w_scale[i] = 1.0f;
    }
    npu_status status = npu_init(&driver, npu_dev_hal(dev), NPU_WAIT_IRQ, 1000000);
    const uint64_t first = npu_dev_cycles(dev);
    const double start = rep_seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (uint64_t i = 0; i < count && status == NPU_OK; i++) {
        status = once(dev, &driver, d);
    }
    printf("{\"cycles\": %" PRIu64 ", \"cpu\": %.6f, \"sum\": %.9g}\n", npu_dev_cycles(dev) - first,
           rep_seconds(CLOCK_PROCESS_CPUTIME_ID) - start, (double)d->out[1234]);
    if (status != NPU_OK) {
        fprintf(stderr, "bench-python: %s\n", npu_strerror(status));
    }
    npu_dev_close(dev);
    free(d);
    return status != NPU_OK;
}

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define TIME(name, call)                                                                                               \
    do {                                                                                                               \
        const double start = now_ns();                                                                                 \
        for (uint64_t i = 0; i < count; i++) {                                                                         \
            call;                                                                                                      \
            __asm__ volatile("" ::: "memory");                                                                         \
        }                                                                                                              \
        printf("%s\"%s\": %.3f", first ? "{" : ", ", name, (now_ns() - start) / (double)count);                        \
        first = false;                                                                                                 \
    } while (0)

static int units(uint64_t count) {
    int8_t act[64 * 32] = {1}, wgt[32 * 32] = {2}, i8[32 * 32];
    int32_t sums[64 * 32];
    size_t bursts = 0;
    cm_dma_burst burst[1];
    uint32_t word = ONE;
    const cm_gemm_task t = {.act = CM_ACT_RELU, .oscale_en = true, .bias_en = true, .out_scale = ONE};
    bool first = true;
    TIME("mesh_block n=4", cm_mesh_block(4, act, wgt, sums));
    TIME("mesh_block n=32", cm_mesh_block(32, act, wgt, sums));
    TIME("transpose n=8", cm_transpose(8, wgt, i8));
    TIME("post 1", word = cm_post(&t, sums[0], 0, ONE, ONE));
    TIME("requant 1", i8[0] = cm_requant(&t, word));
    TIME("activate 1", word = cm_activate(CM_ACT_SIGMOID, t.act_p, word));
    TIME("dma_split", bursts = cm_dma_split(0x1000, 64, burst, 1));
    printf("}\n");
    return bursts == 0;
}

int main(int argc, char **argv) {
    uint64_t count;
    if (argc != 3 || !opt_number(argv[2], 0, UINT64_MAX, &count) || count == 0) {
        fprintf(stderr, "usage: bench-python conv|unit COUNT (bench/python_overhead.py runs it)\n");
        return 2;
    }
    return strcmp(argv[1], "conv") == 0 ? convs(count) : units(count);
}
