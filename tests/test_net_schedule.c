/* test_net_schedule.c - the search of splits: no plan ends before its bound, none of many plans beats the one found,
 * and the same convolution always gets the same plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../network/plan_search.h"
#include "../tb/case/rng.h"

#define CONVOLUTIONS 200u
#define PLANS 6u

static uint32_t draw(tb_rng *rng, uint32_t lo, uint32_t hi) {
    return (uint32_t)tb_rng_range(rng, lo, hi);
}

/* One that the driver accepts, of all kinds. */
static npu_conv draw_conv(tb_rng *rng, uint32_t n) {
    const uint32_t k = draw(rng, 1, 4);
    npu_conv c = {.iw = draw(rng, k, 40), .ih = draw(rng, k, 40), .ic = draw(rng, 1, 6 * n), .oc = draw(rng, 1, 6 * n)};
    c.kw = c.kh = k;
    c.stride_w = c.stride_h = draw(rng, 1, 3);
    c.dil_w = c.dil_h = 1;
    c.pad_l = c.pad_r = c.pad_t = c.pad_b = draw(rng, 0, k / 2);
    c.groups = 1;
    if (tb_rng_chance(rng, 1, 6)) {
        c.groups = c.oc = c.ic;
    } else if (tb_rng_chance(rng, 1, 6)) {
        c.groups = draw(rng, 2, 5);
        c.ic = c.groups * draw(rng, 1, n);
        c.oc = c.groups * draw(rng, 1, n);
    }
    c.has_bias = tb_rng_chance(rng, 1, 2);
    c.in_layout = tb_rng_chance(rng, 1, 2) ? NPU_FP32_NCHW : NPU_INT8_NHWC;
    c.out_layout = tb_rng_chance(rng, 1, 2) ? NPU_FP32_NCHW : NPU_INT8_NHWC;
    c.in_scale = c.out_scale = UINT32_C(0x3F800000);
    const uint32_t plane = c.iw * c.ih;
    c.ifm_cstep = c.in_layout == NPU_INT8_NHWC ? (c.ic + n - 1) / n * n : plane == 1 ? 4 : (plane + 3) / 4 * 16;
    return c;
}

static void set_output(npu_conv *c, uint32_t n, const npu_conv_plan *p) {
    const uint32_t plane = p->ow * p->oh;
    c->ofm_cstep = c->out_layout == NPU_INT8_NHWC ? (c->oc + n - 1) / n * n : plane == 1 ? 4 : (plane + 3) / 4 * 16;
}

static npu_conv_split draw_split(tb_rng *rng, uint32_t n) {
    npu_conv_split s = {.max_ow = tb_rng_chance(rng, 1, 6) ? draw(rng, 1, 20) : 0,
                        .max_oh = tb_rng_chance(rng, 1, 2) ? draw(rng, 1, 20) : 0,
                        .max_ic = tb_rng_chance(rng, 1, 3) ? draw(rng, n, 4 * n) : 0,
                        .max_oc = tb_rng_chance(rng, 1, 3) ? draw(rng, n, 4 * n) : 0,
                        .max_kh = tb_rng_chance(rng, 1, 4) ? draw(rng, 1, 4) : 0,
                        .group = tb_rng_chance(rng, 1, 2) ? draw(rng, 1, 16) : 0};
    s.resident = tb_rng_chance(rng, 1, 2);
    s.no_resident = !s.resident && tb_rng_chance(rng, 1, 2);
    return s;
}

static bool same_plan(const npu_conv_plan *a, const npu_conv_plan *b) {
    return a->ow_task == b->ow_task && a->oh_task == b->oh_task && a->ic_task == b->ic_task &&
           a->oc_task == b->oc_task && a->kh_task == b->kh_task && a->resident == b->resident && a->group == b->group;
}

static void search_random(void **state) {
    (void)state;
    static const uint32_t sizes[] = {4, 8, 16, 32};
    tb_rng rng = tb_rng_stream(1, "schedule");
    net_tasks list = {0};
    unsigned better = 0;
    unsigned complete = 0;
    unsigned planned = 0;
    for (uint32_t i = 0; i < CONVOLUTIONS; i++) {
        const uint32_t n = sizes[draw(&rng, 0, 3)];
        npu_conv c = draw_conv(&rng, n);
        npu_conv_plan p;
        net_rt_schedule found;
        net_rt_schedule again;
        assert_int_equal(npu_conv_plan_make(n, &c, NULL, &p), NPU_OK);
        set_output(&c, n, &p);
        assert_int_equal(net_plan_search(n, &c, &found), NPU_OK);
        assert_int_equal(net_plan_search(n, &c, &again), NPU_OK);
        assert_true(found.best_cycles == again.best_cycles && same_plan(&found.best, &again.best));
        assert_true(found.own_cycles > 0 && found.best_cycles <= found.own_cycles);
        assert_int_equal(net_plan_predict(&c, &found.own, &list).cycles, found.own_cycles);
        assert_int_equal(net_plan_predict(&c, &found.best, &list).cycles, found.best_cycles);
        /* the own one is kept for less than the margin */
        assert_true(found.best_cycles == found.own_cycles ||
                    (found.own_cycles - found.best_cycles) * 1000 >= found.own_cycles * NET_PLAN_MARGIN);
        better += found.best_cycles < found.own_cycles;
        complete += found.complete;
        for (uint32_t k = 0; k < PLANS; k++) {
            const npu_conv_split split = draw_split(&rng, n);
            if (npu_conv_plan_make(n, &c, &split, &p) != NPU_OK) {
                continue;
            }
            const net_rt_estimate e = net_plan_predict(&c, &p, &list);
            const net_rt_estimate b = net_plan_bound(&c, &p);
            assert_true(e.cycles > 0 && b.bound <= e.cycles);
            assert_true(b.mesh <= e.mesh && b.read <= e.read && b.write <= e.write);
            /* limits that are no equal cut, and groups that are no power of two, are not candidates: within 5 % */
            assert_true(found.best_cycles * 100 <= e.cycles * 105);
            planned++;
        }
    }
    free(list.task);
    assert_true(better > 40 && planned > 800 && complete > CONVOLUTIONS / 2);
}

/* What the driver refuses has no plan, and none is invented. */
static void search_refused(void **state) {
    (void)state;
    net_rt_schedule found;
    npu_conv c = {.iw = 2, .ih = 2, .ic = 1, .oc = 1, .kw = 3, .kh = 3};
    c.stride_w = c.stride_h = c.dil_w = c.dil_h = c.groups = 1;
    assert_int_equal(net_plan_search(8, &c, &found), NPU_ERR_TOO_SMALL);
    c.iw = 0;
    assert_int_equal(net_plan_search(8, &c, &found), NPU_ERR_ZERO_SIZE);
    assert_int_equal(net_plan_search(5, &c, &found), NPU_ERR_ARG);
}

/* The limits themselves are plans: weights of exactly 4608 words, a map of exactly 16384, one row, one pixel. */
static void search_limits(void **state) {
    (void)state;
    static const npu_conv shape[] = {{.iw = 7, .ih = 7, .ic = 512, .oc = 64, .kw = 3, .kh = 3},
                                     {.iw = 7, .ih = 7, .ic = 513, .oc = 64, .kw = 3, .kh = 3},
                                     {.iw = 128, .ih = 128, .ic = 32, .oc = 32, .kw = 1, .kh = 1},
                                     {.iw = 129, .ih = 128, .ic = 32, .oc = 32, .kw = 1, .kh = 1},
                                     {.iw = 300, .ih = 1, .ic = 8, .oc = 8, .kw = 3, .kh = 1},
                                     {.iw = 1, .ih = 1, .ic = 2048, .oc = 1025, .kw = 1, .kh = 1},
                                     {.iw = 16385, .ih = 2, .ic = 3, .oc = 4, .kw = 1, .kh = 1}};
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        npu_conv c = shape[i];
        npu_conv_plan p;
        net_rt_schedule found;
        c.stride_w = c.stride_h = c.dil_w = c.dil_h = c.groups = 1;
        c.ifm_cstep = c.iw * c.ih == 1 ? 4 : (c.iw * c.ih + 3) / 4 * 16;
        assert_int_equal(npu_conv_plan_make(32, &c, NULL, &p), NPU_OK);
        set_output(&c, 32, &p);
        assert_int_equal(net_plan_search(32, &c, &found), NPU_OK);
        assert_true(found.own_cycles > 0 && found.best_cycles <= found.own_cycles && found.plans > 1);
    }
}

static uint64_t up(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

/* Units of 32 bytes that a convolution of one task moves, and cycles of its mesh: the formulas of docs/npu/npu.md, with
 * the factor f = 2 of INT16. */
static void check_one_task(uint32_t n, const npu_conv *c, const npu_conv_plan *p, const net_rt_estimate *e) {
    const uint64_t f = c->wide ? 2 : 1;
    const uint64_t blocks = up(c->ic, n) * up(c->oc, n);
    const uint64_t last = (uint64_t)(p->oh - 1) * c->stride_h + c->kh - c->pad_t; /* rows behind it are not read */
    const uint64_t in =
        (last < c->ih ? last : c->ih) * c->iw * (c->in_layout == NPU_FP32_NCHW ? 4ull * c->ic : f * up(c->ic, n) * n);
    const uint64_t out =
        (uint64_t)p->ow * p->oh * (c->out_layout == NPU_FP32_NCHW ? 4ull * c->oc : f * up(c->oc, n) * n);
    const uint64_t factors = c->oc * (c->has_bias ? 8ull : 4ull);
    assert_int_equal(e->mesh, f * up((uint64_t)p->ow * p->oh, 2 * n) * n * c->kw * c->kh * blocks);
    assert_int_equal(e->read, up(in + f * c->kw * c->kh * blocks * n * n + factors, 32));
    assert_int_equal(e->write, up(out, 32));
}

/* The same convolution in INT8 and in INT16, as one task and in slices of input channels, whose sums have 8 bytes. */
static void predict_wide(void **state) {
    (void)state;
    static const uint32_t sizes[] = {4, 8, 16, 32};
    tb_rng rng = tb_rng_stream(1, "wide");
    net_tasks list = {0};
    unsigned single = 0;
    unsigned sliced = 0;
    for (uint32_t i = 0; i < CONVOLUTIONS; i++) {
        const uint32_t n = sizes[draw(&rng, 0, 3)];
        npu_conv c = draw_conv(&rng, n);
        net_rt_estimate e[2];
        if (c.groups != 1) {
            continue;
        }
        for (uint32_t wide = 0; wide < 2; wide++) {
            const npu_conv_split split = {.max_ic = n};
            const uint64_t slices = up(c.ic, n);
            npu_conv_plan p;
            c.wide = wide == 1;
            c.in_layout = c.in_layout == NPU_FP32_NCHW ? NPU_FP32_NCHW : wide == 1 ? NPU_INT16_NHWC : NPU_INT8_NHWC;
            c.out_layout = c.out_layout == NPU_FP32_NCHW ? NPU_FP32_NCHW : wide == 1 ? NPU_INT16_NHWC : NPU_INT8_NHWC;
            c.ifm_cstep = c.in_layout == NPU_FP32_NCHW ? c.ifm_cstep : (1 + wide) * (uint32_t)up(c.ic, n) * n;
            assert_int_equal(npu_conv_plan_make(n, &c, NULL, &p), NPU_OK);
            set_output(&c, n, &p);
            c.ofm_cstep = c.out_layout == NPU_INT16_NHWC ? 2 * (uint32_t)up(c.oc, n) * n : c.ofm_cstep;
            e[wide] = net_plan_predict(&c, &p, &list);
            assert_true(e[wide].cycles > 0 && net_plan_bound(&c, &p).bound <= e[wide].cycles);
            if (e[wide].tasks == 1) {
                check_one_task(n, &c, &p, &e[wide]);
                single += wide;
            }
            if (npu_conv_plan_make(n, &c, &split, &p) == NPU_OK && c.out_layout == NPU_FP32_NCHW) {
                const net_rt_estimate s = net_plan_predict(&c, &p, &list);
                const uint64_t outputs = (uint64_t)p.ow * p.oh * c.oc;
                if (s.tasks == slices && slices > 1) {
                    assert_int_equal(s.write,
                                     (slices - 1) * up(outputs * (wide == 1 ? 8 : 4), 32) + up(outputs * 4, 32));
                    sliced += wide;
                }
            }
        }
        if (i % 8 == 0) {
            net_rt_schedule found;
            assert_int_equal(net_plan_search(n, &c, &found), NPU_OK);
            assert_true(found.own_cycles == e[1].cycles && found.best_cycles <= found.own_cycles && found.plans > 1);
        }
        assert_true(e[1].tasks > 1 || (e[1].mesh == 2 * e[0].mesh && e[1].cycles > e[0].cycles));
    }
    free(list.task);
    assert_true(single > 80 && sliced > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(search_random), cmocka_unit_test(search_refused),
                                       cmocka_unit_test(search_limits), cmocka_unit_test(predict_wide)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
