/*
 * The device: memory checks on the model alone, and tandem against a stand-in for the RTL that is made of a second
 * model and can be told to misbehave.
 */
#include "stand_in.h"

/* ---- a small convolution ---- */

static npu_status convolve(npu_dev *dev, npu_wait wait, uint32_t skip_input) {
    enum { IW = 6, IC = 5, OC = 4, STEP = IW * IW * 4 };
    npu drv;
    npu_status status = npu_init(&drv, npu_dev_hal(dev), wait, 20);
    if (status != NPU_OK) {
        return status;
    }
    npu_conv c = {.iw = IW,
                  .ih = IW,
                  .ic = IC,
                  .oc = OC,
                  .kw = 3,
                  .kh = 3,
                  .stride_w = 1,
                  .stride_h = 1,
                  .dil_w = 1,
                  .dil_h = 1,
                  .groups = 1,
                  .pad_l = 1,
                  .pad_r = 1,
                  .pad_t = 1,
                  .pad_b = 1,
                  .act = NPU_ACT_RELU,
                  .has_bias = true,
                  .in_scale = 0x41200000u,
                  .ifm_cstep = STEP,
                  .ofm_cstep = STEP};
    npu_conv_plan plan;
    const npu_conv_split split = {.max_oh = 2};
    assert_int_equal(npu_conv_plan_make(4, &c, &split, &plan), NPU_OK);
    tb_rng r = tb_rng_stream(1, "data");
    static float ifm[IC * IW * IW];
    static int8_t wgt[OC * IC * 9];
    static int8_t packed[8192];
    float scale[OC];
    static float factors[64];
    for (size_t i = 0; i < IC * IW * IW; i++) {
        ifm[i] = tb_rng_f32_range(&r, -5, 5);
    }
    for (size_t i = 0; i < sizeof wgt; i++) {
        wgt[i] = (int8_t)tb_rng_range_i64(&r, -127, 127);
    }
    for (size_t i = 0; i < OC; i++) {
        scale[i] = 40.0f;
    }
    assert_int_equal(npu_conv_pack_weights(&c, &plan, wgt, packed, sizeof packed), NPU_OK);
    assert_int_equal(npu_conv_make_oscale(&c, &plan, scale, factors, sizeof factors), NPU_OK);
    c.ifm_addr = npu_dev_alloc(dev, sizeof ifm, 16, NPU_BUF_IN);
    assert_true(npu_dev_write(dev, c.ifm_addr, ifm, sizeof ifm - skip_input));
    c.wgt_addr = put(dev, packed, plan.wgt_bytes);
    c.oscale_addr = put(dev, factors, plan.param_bytes);
    c.bias_addr = put(dev, factors, plan.param_bytes);
    c.ofm_addr = npu_dev_alloc(dev, OC * STEP, 64, NPU_BUF_OUT);
    output_addr = c.ofm_addr;
    input_addr = c.wgt_addr;
    return npu_conv_run(&drv, &c, &plan);
}

static void model_alone(void **state) {
    (void)state;
    npu_dev *dev = open_dev(NPU_DEV_MODEL);
    assert_int_equal(convolve(dev, NPU_WAIT_IRQ, 0), NPU_OK);
    assert_true(npu_dev_finish(dev));
    assert_true(npu_dev_macs(dev) > 0);
    assert_int_equal(npu_dev_cycles(dev), 0);
    const uint64_t hash = npu_dev_trace_hash(dev);
    npu_dev_close(dev);
    dev = open_dev(NPU_DEV_MODEL);
    assert_int_equal(convolve(dev, NPU_WAIT_POLL, 0), NPU_OK);
    assert_true(npu_dev_finish(dev));
    assert_true(hash == npu_dev_trace_hash(dev));
    npu_dev_close(dev);
}

static void unwritten_input(void **state) {
    (void)state;
    npu_dev *dev = open_dev(NPU_DEV_MODEL);
    assert_int_equal(convolve(dev, NPU_WAIT_IRQ, 4), NPU_ERR_HAL);
    assert_string_equal(npu_dev_get_failure(dev)->signature, "mem:read-unwritten:gemm");
    assert_non_null(strstr(npu_dev_get_failure(dev)->message, "input buffer 0"));
    npu_dev_close(dev);
}

static void tandem_agrees(void **state) {
    (void)state;
    uint64_t hash = 0;
    for (int i = 0; i < 4; i++) {
        now = GOOD;
        npu_dev *dev = open_dev(NPU_DEV_TANDEM);
        assert_int_equal(convolve(dev, (i & 1) != 0 ? NPU_WAIT_POLL : NPU_WAIT_IRQ, 0), NPU_OK);
        const bool ok = npu_dev_finish(dev);
        assert_string_equal(npu_dev_get_failure(dev)->message, "");
        assert_true(ok);
        assert_true(npu_dev_cycles(dev) > 100);
        hash = i == 0 ? npu_dev_trace_hash(dev) : hash;
        assert_true(i != 2 || hash == npu_dev_trace_hash(dev));
        npu_dev_close(dev);
    }
}

/* Each misbehaviour is found, under its name. */
static void tandem_finds(void **state) {
    (void)state;
    static const char *const signature[FAULTS] = {
        [FLIP_BYTE] = "mem:differ",
        [EXTRA_BYTE] = "mem:differ",
        [NO_IRQ] = "event:IRQ_STATUS",
        [EXTRA_ERR] = "event:ERR",
        [WRONG_REG] = "reg:GEMM_OFM_CSTEP",
        [RESERVED_BIT] = "reg:reserved:0x00c",
        [LOST_TASK] = "tandem:count",
        [BAD_BURST] = "axi:AXI4_ERRM_ARADDR_BOUNDARY:m1",
        [WRITE_INPUT] = "mem:write-read-only:gemm",
        [ASSERTION] = "assert:unit.sv:12",
        [SILENCE] = NULL,
    };
    for (fault f = FLIP_BYTE; f < SILENCE; f++) {
        now = GOOD;
        npu_dev *dev = open_dev(NPU_DEV_TANDEM);
        now = f;
        convolve(dev, f == NO_IRQ || f == LOST_TASK ? NPU_WAIT_POLL : NPU_WAIT_IRQ, 0);
        const bool ok = npu_dev_finish(dev);
        if (ok || strcmp(npu_dev_get_failure(dev)->signature, signature[f]) != 0) {
            fail_msg("fault %d: expected %s, got '%s': %s", (int)f, signature[f], npu_dev_get_failure(dev)->signature,
                     npu_dev_get_failure(dev)->message);
        }
        /* the cycle is the one whose values were wrong, whatever saw them */
        const npu_dev_failure *x = npu_dev_get_failure(dev);
        assert_string_equal(x->path, f == ASSERTION ? "stand_in.u_part" : "");
        if (f == ASSERTION || f == BAD_BURST) {
            const char *cycle = strstr(x->message, "cycle ");
            assert_non_null(cycle);
            assert_int_equal(strtoull(cycle + strlen("cycle "), NULL, 10), x->cycle);
            assert_int_equal(x->cycle, npu_dev_cycles(dev) - 1);
        }
        /* and a byte of the output is the GEMM's, the only unit that works; nobody writes where the extra one is */
        assert_int_equal(x->units, f == FLIP_BYTE ? 1u << UNIT_GEMM : 0);
        /* after a failure the HAL answers at once */
        uint32_t v = 0;
        const uint64_t cycles = npu_dev_cycles(dev);
        assert_int_equal(npu_dev_hal(dev)->reg_read(npu_dev_hal(dev)->ctx, NPU_REG_ID, &v), NPU_HAL_FAULT);
        assert_int_equal(npu_dev_hal(dev)->wait_irq(npu_dev_hal(dev)->ctx, 7, 1000), NPU_HAL_FAULT);
        assert_int_equal(npu_dev_cycles(dev), cycles);
        npu_dev_close(dev);
    }
}

/* A design that fails in its reset: the device is open and has failed, with a signature as of any other moment. */
static void fails_in_reset(void **state) {
    (void)state;
    now = IN_RESET;
    npu_dev *dev = open_dev(NPU_DEV_TANDEM);
    npu driver;
    assert_string_equal(npu_dev_get_failure(dev)->signature, "assert:unit.sv:12");
    assert_string_equal(npu_dev_get_failure(dev)->path, "stand_in.u_part");
    assert_int_not_equal(npu_init(&driver, npu_dev_hal(dev), NPU_WAIT_POLL, 1000), NPU_OK);
    assert_int_not_equal(npu_dev_alloc(dev, 16, 16, NPU_BUF_IN), 0);
    npu_dev_reset(dev);
    assert_false(npu_dev_compare(dev));
    assert_false(npu_dev_finish(dev));
    npu_dev_close(dev);
}

static void hang_is_found(void **state) {
    (void)state;
    now = GOOD;
    npu_dev *dev = open_dev(NPU_DEV_RTL);
    uint32_t v = 0;
    assert_int_equal(npu_dev_hal(dev)->wait_irq(npu_dev_hal(dev)->ctx, 7, 5), NPU_HAL_TIMEOUT);
    assert_int_equal(npu_dev_hal(dev)->wait_irq(npu_dev_hal(dev)->ctx, 7, 100000), NPU_HAL_FAULT);
    assert_string_equal(npu_dev_get_failure(dev)->signature, "watchdog:hang");
    npu_dev_close(dev);
    dev = open_dev(NPU_DEV_RTL);
    now = SILENCE;
    npu_dev_hal(dev)->delay_us(npu_dev_hal(dev)->ctx, 1);
    assert_int_equal(npu_dev_hal(dev)->reg_read(npu_dev_hal(dev)->ctx, NPU_REG_ID, &v), NPU_HAL_FAULT);
    assert_string_equal(npu_dev_get_failure(dev)->signature, "watchdog:hang");
    npu_dev_close(dev);
}

static void refused(void **state) {
    (void)state;
    char err[256];
    now = GOOD;
    npu_dev_cfg cfg = {.kind = NPU_DEV_RTL, .n = 8, .bus_profile = NULL};
    assert_null(npu_dev_open(&cfg, err, sizeof err));
    assert_string_equal(err, "this program simulates mesh size 4, expected 8");
    cfg.n = 4;
    cfg.bus_profile = "nice";
    assert_null(npu_dev_open(&cfg, err, sizeof err));
    assert_string_equal(
        err, "unknown bus profile nice, expected one of ideal, fast, typical, slow, bursty, hostile, writes, reorder");
    cfg.bus_profile = NULL;
    cfg.ddr_bytes = UINT64_C(1) << 33;
    assert_null(npu_dev_open(&cfg, err, sizeof err));
    cfg.ddr_bytes = 0;
    cfg.wave = "x.fst";
    assert_null(npu_dev_open(&cfg, err, sizeof err));
    assert_string_equal(err, "x.fst: waveforms need a build with tracing (KIND=debug)");
    cfg.wave = NULL;
    cfg.kind = NPU_DEV_MODEL;
    cfg.n = 5;
    assert_null(npu_dev_open(&cfg, err, sizeof err));
    cfg.n = 4;
    npu_dev *dev = npu_dev_open(&cfg, err, sizeof err);
    assert_non_null(dev);
    assert_int_equal(npu_dev_alloc(dev, 16, 8, NPU_BUF_IN), 0);
    assert_int_equal(npu_dev_alloc(dev, 0x7fffffff, 16, NPU_BUF_IN), 0);
    npu_dev_close(dev);
}

/* Memory of one operator: what was there before stays, the rest is as if it had never been, on both sides. */
static void dropped(void **state) {
    (void)state;
    now = GOOD;
    npu_dev *dev = open_dev(NPU_DEV_TANDEM);
    const char text[] = "kept";
    char back[sizeof text];
    const uint32_t kept = put(dev, text, sizeof text);
    assert_int_equal(npu_dev_bufs(dev), 1);
    uint32_t first = 0;
    for (int i = 0; i < 3; i++) {
        const uint32_t next = npu_dev_alloc(dev, 64, 64, NPU_BUF_OUT);
        first = i == 0 ? next : first;
        assert_int_equal(next, first);
        assert_int_equal(convolve(dev, NPU_WAIT_IRQ, 0), NPU_OK);
        assert_true(npu_dev_bufs(dev) > 5);
        npu_dev_alloc_drop(dev, 1);
        assert_int_equal(npu_dev_bufs(dev), 1);
        npu_dev_alloc_drop(dev, 5);
        assert_int_equal(npu_dev_bufs(dev), 1);
    }
    assert_true(npu_dev_read(dev, kept, back, sizeof back));
    assert_string_equal(back, text);
    /* the bus may no longer write what was an output */
    uint64_t where;
    assert_true(tb_ddr_find_protected(&dev->ddr, first, 1, &where) &&
                tb_ddr_find_protected(&dev->model_ddr, first, 1, &where));
    assert_true(tb_ddr_find_unwritten(&dev->ddr, first + 128, 1, &where));
    assert_true(npu_dev_finish(dev));
    npu_dev_close(dev);
    /* nothing is left of buffers that are dropped: an input that is not written a second time */
    dev = open_dev(NPU_DEV_MODEL);
    assert_int_equal(convolve(dev, NPU_WAIT_IRQ, 0), NPU_OK);
    npu_dev_alloc_drop(dev, 0);
    assert_int_equal(convolve(dev, NPU_WAIT_IRQ, 4), NPU_ERR_HAL);
    assert_string_equal(npu_dev_get_failure(dev)->signature, "mem:read-unwritten:gemm");
    npu_dev_close(dev);
}

/* Buffers anywhere below 4 GiB: by the seed alone, in order, apart, with the low 16 bits of those side by side; what
 * lies between them is nobody's. */
static void scattered(void **state) {
    (void)state;
    enum { BUFS = 6, BYTES = 5000 };
    char err[256];
    uint32_t plain[BUFS] = {0}, seen = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        uint32_t first[BUFS] = {0};
        for (int again = 0; again < 2; again++) {
            const npu_dev_cfg cfg = {.kind = NPU_DEV_MODEL, .n = 4, .seed = seed, .scatter = seed > 0};
            npu_dev *dev = npu_dev_open(&cfg, err, sizeof err);
            uint64_t where, end = NPU_DEV_DDR_BASE;
            assert_non_null(dev);
            for (uint32_t i = 0; i < BUFS; i++) {
                const uint32_t addr = npu_dev_alloc(dev, BYTES, 64, NPU_BUF_OUT);
                assert_true(addr >= end && addr <= UINT32_MAX - BYTES);
                assert_false(tb_ddr_find_protected(&dev->model_ddr, addr, BYTES, &where));
                assert_true(tb_ddr_find_protected(&dev->model_ddr, addr + BYTES, 1, &where));
                assert_true(tb_ddr_find_protected(&dev->model_ddr, (end + addr) / 2, 1, &where));
                end = (uint64_t)addr + BYTES;
                plain[i] = seed == 0 ? addr : plain[i];
                first[i] = again == 0 ? addr : first[i];
                assert_int_equal(addr, first[i]);
                assert_int_equal(addr & 0xffff, plain[i] & 0xffff);
                seen |= addr ^ plain[i];
            }
            npu_dev_alloc_drop(dev, 1);
            assert_true(tb_ddr_find_protected(&dev->model_ddr, first[BUFS - 1], 1, &where));
            assert_int_equal(npu_dev_alloc(dev, BYTES, 64, NPU_BUF_OUT), first[1]);
            assert_int_equal(convolve(dev, NPU_WAIT_POLL, 0), NPU_OK);
            npu_dev_close(dev);
        }
    }
    assert_int_equal(seen, 0xffff0000);
}

/* A design that the caller loaded; waveforms in the middle of a run. */
static void own_design(void **state) {
    (void)state;
    char err[256];
    now = GOOD;
    tb_shim other = *tb_shim_get();
    other.top = "other";
    const npu_dev_cfg cfg = {.kind = NPU_DEV_RTL, .n = 4, .shim = &other};
    npu_dev *dev = npu_dev_open(&cfg, err, sizeof err);
    assert_non_null(dev);
    assert_ptr_equal(dev->run.sim.cfg.shim, &other);
    assert_int_equal(npu_dev_wave(dev, "x.fst", err, sizeof err), -1);
    assert_string_equal(err, "x.fst: waveforms need a build with tracing (KIND=debug)");
    assert_int_equal(npu_dev_wave(dev, NULL, err, sizeof err), 0);
    npu_dev_close(dev);
    dev = open_dev(NPU_DEV_MODEL);
    assert_int_equal(npu_dev_wave(dev, "x.fst", err, sizeof err), -1);
    assert_string_equal(err, "x.fst: the golden model has no waveform");
    npu_dev_close(dev);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_alone),  cmocka_unit_test(unwritten_input), cmocka_unit_test(tandem_agrees),
        cmocka_unit_test(tandem_finds), cmocka_unit_test(fails_in_reset),  cmocka_unit_test(hang_is_found),
        cmocka_unit_test(refused),      cmocka_unit_test(dropped),         cmocka_unit_test(scattered),
        cmocka_unit_test(own_design),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
