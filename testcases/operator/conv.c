/*
 * conv.c - the conv test: one convolution through the driver, and once more with other splits on the same data: same bytes.
 */
#include "conv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILL 0xA5u /* what output memory holds before: gaps between channels must keep it */
#define PLACE_MAX 4096u
#define TIMEOUT_US 200000u
#define REFERENCE_POINTS 32u

/* The operands and one output in device memory. */
typedef struct placed {
    tc_run *run;
    const tb_knobs *knobs;
    const conv_tensors *tensors;
    npu_conv conv;
    uint32_t ofm_bytes; /* of the output buffer, gaps included */
    uint32_t ow, oh;
} placed;

static uint32_t align16(uint32_t v) {
    return (v + 15u) & ~15u;
}

static int no_memory(tc_run *run) {
    snprintf(run->err, sizeof run->err, "conv: out of memory");
    return -1;
}

/* A buffer at a random shift against 4 KB. 0: no room, with run->err. */
static uint32_t place(placed *p, const char *name, uint32_t bytes, npu_buf_kind kind) {
    tb_rng rng = tb_rng_stream((uint64_t)tb_knobs_get(p->knobs, "place"), name);
    const uint32_t shift = tc_knob(p->knobs, "place") == 0 ? 0 : 16 * (uint32_t)tb_rng_range(&rng, 0, PLACE_MAX / 16 - 1);
    const uint32_t addr = npu_dev_alloc(p->run->dev, bytes + shift, PLACE_MAX, kind);
    if (addr == 0) {
        snprintf(p->run->err, sizeof p->run->err, "conv: %s of %u bytes does not fit into device memory", name, bytes);
        return 0;
    }
    return addr + shift;
}

static int put(placed *p, uint32_t addr, const void *src, size_t bytes) {
    if (!npu_dev_write(p->run->dev, addr, src, bytes)) {
        snprintf(p->run->err, sizeof p->run->err, "conv: cannot write %zu bytes at 0x%08X of device memory", bytes, addr);
        return -1;
    }
    return 0;
}

/* Channel by channel. The NPU may read to the next multiple of 16 bytes: NaNs there must not matter. What lies beyond stays unwritten, and must not be read. */
static int put_input(placed *p) {
    const npu_conv *c = &p->conv;
    const uint32_t bytes = c->iw * c->ih * 4;
    uint8_t *channel = malloc(align16(bytes));
    int rc = 0;
    if (channel == NULL) {
        return no_memory(p->run);
    }
    memset(channel, 0xFF, align16(bytes));
    for (uint32_t i = 0; i < c->ic && rc == 0; i++) {
        memcpy(channel, p->tensors->input + (size_t)i * c->iw * c->ih, bytes);
        rc = put(p, c->ifm_addr + i * c->ifm_cstep, channel, align16(bytes));
    }
    free(channel);
    return rc;
}

static int put_input_and_bias(placed *p) {
    npu_conv *c = &p->conv;
    const uint32_t gap = 16 * tc_knob(p->knobs, "gap");
    c->in_scale = p->tensors->in_scale;
    c->ifm_cstep = align16(c->iw * c->ih * 4) + gap;
    c->ofm_cstep = align16(p->ow * p->oh * 4) + gap;
    p->ofm_bytes = c->oc * c->ofm_cstep;
    c->ifm_addr = place(p, "input", c->ic * c->ifm_cstep, NPU_BUF_IN);
    if (c->ifm_addr == 0 || put_input(p) != 0) {
        return -1;
    }
    if (!c->has_bias) {
        return 0;
    }
    const uint32_t entries = (c->oc + 3u) & ~3u;
    uint32_t *bias = malloc((size_t)entries * 4);
    if (bias == NULL) {
        return no_memory(p->run);
    }
    memset(bias, 0xFF, (size_t)entries * 4); /* padding entries are read and not used */
    memcpy(bias, p->tensors->bias, (size_t)c->oc * 4);
    c->bias_addr = place(p, "bias", entries * 4, NPU_BUF_IN);
    const int rc = c->bias_addr == 0 ? -1 : put(p, c->bias_addr, bias, (size_t)entries * 4);
    free(bias);
    return rc;
}

/* Weights depend on the splits. */
static int put_weights(placed *p, const npu_conv_plan *plan) {
    npu_conv *c = &p->conv;
    int8_t *packed = malloc(plan->wgt_bytes);
    float *oscale = malloc(plan->param_bytes);
    int rc = 0;
    if (packed == NULL || oscale == NULL) {
        rc = no_memory(p->run);
    } else {
        npu_status status = npu_conv_pack_weights(c, plan, p->tensors->weights, packed, plan->wgt_bytes);
        if (status == NPU_OK) {
            status = npu_conv_make_oscale(c, plan, p->tensors->w_scale, oscale, plan->param_bytes);
        }
        if (status != NPU_OK) {
            tc_driver_failed(p->run, "packing", status, NPU_OK);
        }
        c->wgt_addr = place(p, "weights", plan->wgt_bytes, NPU_BUF_IN);
        c->oscale_addr = place(p, "oscale", plan->param_bytes, NPU_BUF_IN);
        if (c->wgt_addr == 0 || c->oscale_addr == 0 || put(p, c->wgt_addr, packed, plan->wgt_bytes) != 0 ||
            put(p, c->oscale_addr, oscale, plan->param_bytes) != 0) {
            rc = -1;
        }
    }
    free(packed);
    free(oscale);
    return rc;
}

/* A fresh output buffer, filled. */
static int make_output(placed *p) {
    p->conv.ofm_addr = place(p, "output", p->ofm_bytes, NPU_BUF_OUT);
    uint8_t *fill = p->conv.ofm_addr == 0 ? NULL : malloc(p->ofm_bytes);
    if (fill == NULL) {
        return p->conv.ofm_addr == 0 ? -1 : no_memory(p->run);
    }
    memset(fill, FILL, p->ofm_bytes);
    const int rc = put(p, p->conv.ofm_addr, fill, p->ofm_bytes);
    free(fill);
    return rc;
}

/* Gaps between channels still hold the filling. */
static void check_gaps(placed *p, const uint8_t *out) {
    const uint32_t bytes = p->ow * p->oh * 4;
    for (uint32_t c = 0; c < p->conv.oc; c++) {
        for (uint32_t i = bytes; i < p->conv.ofm_cstep; i++) {
            const size_t at = (size_t)c * p->conv.ofm_cstep + i;
            if (out[at] != FILL) {
                tc_fail(p->run, "conv: gap written", "byte %u behind channel %u, a gap, was written (0x%02X)", i - bytes, c, out[at]);
                return;
            }
        }
    }
}

/* Cycles and CPU time of the device so far. */
typedef struct instant {
    uint64_t cycles;
    double rtl_s, harness_s;
} instant;

static instant now(const tc_run *run) {
    instant t = {.cycles = npu_dev_cycles(run->dev)};
    npu_dev_time_split(run->dev, &t.rtl_s, &t.harness_s);
    return t;
}

static void measure(placed *p, const npu_conv_plan *plan, instant start) {
    const npu_conv *c = &p->conv;
    const instant end = now(p->run);
    tc_stats *s = &p->run->stats;
    s->measured = true;
    s->cycles = end.cycles - start.cycles;
    s->rtl_s = end.rtl_s - start.rtl_s;
    s->harness_s = end.harness_s - start.harness_s;
    s->macs = (uint64_t)plan->ow * plan->oh * c->oc * c->ic * c->kw * c->kh;
    if (plan->row_split) { /* only those of the kernel rows that run */
        s->macs /= (uint64_t)plan->oh * c->kh;
        s->macs *= conv_tasks(c, plan) / ((uint64_t)plan->ow_tasks * plan->ic_tasks * plan->oc_tasks);
    }
    snprintf(s->what, sizeof s->what, "%ux%ux%u -> %ux%ux%u, kernel %ux%u, stride %u %u, padding %u %u %u %u%s%s", c->iw, c->ih, c->ic,
             plan->ow, plan->oh, c->oc, c->kw, c->kh, c->stride_w, c->stride_h, c->pad_l, c->pad_r, c->pad_t, c->pad_b,
             c->has_bias ? ", bias" : "", c->act == NPU_ACT_RELU ? ", relu" : "");
    snprintf(s->tasks, sizeof s->tasks, "%" PRIu64 " (%srows %u x %u, columns %u x %u, input channels %u x %u, output channels %u x %u)",
             conv_tasks(c, plan), plan->row_split ? "single kernel rows, " : "", plan->oh_tasks, plan->oh_task, plan->ow_tasks,
             plan->ow_task, plan->ic_tasks, plan->ic_task, plan->oc_tasks, plan->oc_task);
}

/* One run of the operator into out[ofm_bytes]. 0, or -1 (could not run); failures are noted. */
static int run_once(placed *p, bool second, uint8_t *out) {
    tc_run *run = p->run;
    const npu_conv_split split = conv_split_of(p->knobs, second);
    const char *what = second ? "second run" : "first run";
    npu_conv_plan plan;
    npu_status status = npu_conv_plan_make(run->n, &p->conv, &split, &plan);
    if (status != NPU_OK) {
        tc_driver_failed(run, what, status, NPU_OK);
        return 0;
    }
    if (put_weights(p, &plan) != 0 || make_output(p) != 0) {
        return -1;
    }
    if (!second) {
        status = npu_perf_clear(&run->npu);
    }
    const instant start = now(run);
    if (status == NPU_OK) {
        status = npu_conv_run(&run->npu, &p->conv, &plan);
    }
    if (!second) {
        measure(p, &plan, start);
    }
    if (status == NPU_OK && !second) {
        status = npu_perf_read(&run->npu, run->stats.perf, NPU_PERF_COUNT);
    }
    if (status != NPU_OK) {
        tc_driver_failed(run, what, status, NPU_OK);
        return 0;
    }
    if (!npu_dev_read(run->dev, p->conv.ofm_addr, out, p->ofm_bytes)) {
        tc_fail(run, "conv: output unreadable", "%s: %u bytes of output at 0x%08X cannot be read", what, p->ofm_bytes, p->conv.ofm_addr);
        return 0;
    }
    check_gaps(p, out);
    return 0;
}

static uint32_t word_at(const uint8_t *bytes) {
    uint32_t v;
    memcpy(&v, bytes, 4);
    return v;
}

static void check_same(placed *p, const uint8_t *first, const uint8_t *second) {
    for (uint32_t c = 0; c < p->conv.oc; c++) {
        for (uint32_t i = 0; i < p->ow * p->oh; i++) {
            const size_t at = (size_t)c * p->conv.ofm_cstep + (size_t)i * 4;
            if (memcmp(first + at, second + at, 4) != 0) {
                tc_fail(p->run, "conv: depends on splits", "channel %u row %u column %u: 0x%08X when split one way, 0x%08X the other way",
                        c, i / p->ow, i % p->ow, word_at(first + at), word_at(second + at));
                return;
            }
        }
    }
}

/* Ordinary data cannot give one and the same value everywhere. */
static void check_not_trivial(placed *p, const uint8_t *out) {
    const tb_knobs *k = p->knobs;
    float scale;
    memcpy(&scale, &p->conv.in_scale, sizeof scale);
    const bool ordinary = scale >= 1e-3f && /* below, conv_data.c does not scale the input up and everything may round to 0 */
                          tb_knobs_get(k, "data") == CONV_UNIFORM && tb_knobs_get(k, "wdata") == CONV_W_UNIFORM &&
                          tb_knobs_get(k, "wscale") == CONV_WSCALE_PLAIN &&
                          (tb_knobs_get(k, "in_scale") == CONV_SCALE_CALIB || tb_knobs_get(k, "in_scale") == CONV_SCALE_POW2) &&
                          p->conv.act == NPU_ACT_NONE && tb_knobs_get(k, "bias") != 2;
    if (!ordinary || (uint64_t)p->ow * p->oh * p->conv.oc < 32) {
        return;
    }
    for (uint32_t c = 0; c < p->conv.oc; c++) {
        for (uint32_t i = 0; i < p->ow * p->oh; i++) {
            if (memcmp(out, out + (size_t)c * p->conv.ofm_cstep + (size_t)i * 4, 4) != 0) {
                return;
            }
        }
    }
    tc_fail(p->run, "conv: constant output", "all outputs are 0x%08X", word_at(out));
}

/* Some outputs, the corners among them, against the definition. */
static void check_reference(placed *p, const uint8_t *out) {
    tb_rng rng = tb_rng_stream(p->run->seed, "conv.reference");
    const npu_conv *c = &p->conv;
    for (unsigned i = 0; i < REFERENCE_POINTS && tc_ok(p->run); i++) {
        uint32_t oc = (uint32_t)tb_rng_range(&rng, 0, c->oc - 1);
        uint32_t y = (uint32_t)tb_rng_range(&rng, 0, p->oh - 1);
        uint32_t x = (uint32_t)tb_rng_range(&rng, 0, p->ow - 1);
        if (i < 8) {
            oc = (i & 1) != 0 ? c->oc - 1 : 0;
            y = (i & 2) != 0 ? p->oh - 1 : 0;
            x = (i & 4) != 0 ? p->ow - 1 : 0;
        }
        const uint32_t want = conv_reference(c, p->tensors, oc, y, x);
        const uint32_t got = word_at(out + (size_t)oc * c->ofm_cstep + ((size_t)y * p->ow + x) * 4);
        if (got != want) {
            tc_fail(p->run, "conv: reference", "channel %u row %u column %u: got 0x%08X, the definition gives 0x%08X", oc, y, x, got, want);
        }
    }
}

static int run_both(placed *p) {
    uint8_t *first = malloc(p->ofm_bytes);
    uint8_t *second = malloc(p->ofm_bytes);
    int rc = -1;
    if (first == NULL || second == NULL) {
        no_memory(p->run);
    } else {
        rc = run_once(p, false, first);
        if (rc == 0 && tc_ok(p->run)) {
            check_not_trivial(p, first);
            check_reference(p, first);
        }
        if (rc == 0 && tc_ok(p->run) && tb_knobs_get(p->knobs, "second") != 0) {
            rc = run_once(p, true, second);
            if (rc == 0 && tc_ok(p->run)) {
                check_same(p, first, second);
            }
        }
    }
    free(first);
    free(second);
    return rc;
}

/* Memory for all buffers, with room for shifts and guards; at least the 64 MiB of the device. */
static uint64_t memory_needed(const npu_conv *c, const npu_conv_plan *plan) {
    const uint64_t in = ((uint64_t)c->iw * c->ih * 4 + 256) * c->ic;
    const uint64_t out = ((uint64_t)plan->ow * plan->oh * 4 + 256) * c->oc;
    const uint64_t bytes = in + 2 * (out + plan->wgt_bytes + plan->param_bytes) + plan->param_bytes + (UINT64_C(1) << 20);
    const uint64_t mib64 = UINT64_C(64) << 20;
    return (bytes / mib64 + 1) * mib64;
}

int conv_execute(tc_run *run) {
    placed p = {.run = run, .knobs = run->knobs, .conv = conv_of(run->knobs)};
    conv_tensors tensors;
    npu_conv_plan plan;
    if (npu_conv_plan_make(run->n, &p.conv, NULL, &plan) != NPU_OK) { /* conv_check() has accepted it */
        snprintf(run->err, sizeof run->err, "conv: impossible shape");
        return -1;
    }
    p.ow = plan.ow;
    p.oh = plan.oh;
    int rc = conv_tensors_make(&tensors, &p.conv, run->knobs, run->seed);
    if (rc != 0) {
        no_memory(run);
    }
    if (rc == 0) {
        p.tensors = &tensors;
        rc = tc_open(run, tb_knobs_get_name(run->knobs, "bus"), (uint64_t)tb_knobs_get(run->knobs, "dseed"), memory_needed(&p.conv, &plan),
                     (npu_wait)tb_knobs_get(run->knobs, "wait"), TIMEOUT_US);
    }
    if (rc == 0) {
        rc = put_input_and_bias(&p);
    }
    if (rc == 0) {
        rc = run_both(&p);
    }
    conv_tensors_free(&tensors);
    return rc;
}
