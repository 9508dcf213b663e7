/*
 * The device: memory checks on the model alone, and tandem against a stand-in for the RTL that is made of a second model and can be told to misbehave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npu.h"
#include "npu/dev_priv.h"

/* ---- the stand-in ---- */

typedef enum fault {
    GOOD,
    FLIP_BYTE,    /* one output byte is wrong */
    EXTRA_BYTE,   /* a byte next to the output is written */
    NO_IRQ,       /* the event flag stays 0 */
    EXTRA_ERR,    /* an error flag rises */
    WRONG_REG,    /* a register loses a bit */
    RESERVED_BIT, /* a reserved bit reads 1 */
    LOST_TASK,    /* the completion counter stays behind */
    BAD_BURST,    /* a burst crosses 4 KB */
    WRITE_INPUT,  /* a beat written into an input buffer */
    ASSERTION,    /* an assertion fails */
    SILENCE,      /* register accesses are never answered */
    FAULTS
} fault;

enum { P_CLK, P_RST, P_AXIL, P_M0 = P_AXIL + 17, P_M1 = P_M0 + 34, P_IRQ = P_M1 + 34, P_PERF = P_IRQ + 3, P_COUNT = P_PERF + 2 };

static const struct {
    const char *name;
    uint32_t width;
    bool input;
} axil[17] = {{"awaddr", 9, true},  {"awvalid", 1, true}, {"awready", 1, false}, {"wdata", 32, true},  {"wstrb", 4, true},
              {"wvalid", 1, true},  {"wready", 1, false}, {"bresp", 2, false},   {"bvalid", 1, false}, {"bready", 1, true},
              {"araddr", 9, true},  {"arvalid", 1, true}, {"arready", 1, false}, {"rdata", 32, false}, {"rresp", 2, false},
              {"rvalid", 1, false}, {"rready", 1, true}},
  axi[34] = {{"awid", 1, false},   {"awaddr", 32, false}, {"awlen", 8, false},  {"awsize", 3, false}, {"awburst", 2, false},
             {"awlock", 1, false}, {"awcache", 4, false}, {"awprot", 3, false}, {"awqos", 4, false},  {"awvalid", 1, false},
             {"awready", 1, true}, {"wdata", 128, false}, {"wstrb", 16, false}, {"wlast", 1, false},  {"wvalid", 1, false},
             {"wready", 1, true},  {"bid", 1, true},      {"bresp", 2, true},   {"bvalid", 1, true},  {"bready", 1, false},
             {"arid", 1, false},   {"araddr", 32, false}, {"arlen", 8, false},  {"arsize", 3, false}, {"arburst", 2, false},
             {"arprot", 3, false}, {"arvalid", 1, false}, {"arready", 1, true}, {"rid", 1, true},     {"rdata", 128, true},
             {"rresp", 2, true},   {"rlast", 1, true},    {"rvalid", 1, true},  {"rready", 1, false}};

typedef struct stand_in {
    uint64_t wire[P_COUNT][4];
    char name[P_COUNT][32];
    cm_device *model;
    uint64_t edges;
    uint8_t last_clk;
    bool have_aw, have_w, failed;
    uint32_t aw, w;
} stand_in;

/* The test steers the stand-in through these: the shim interface has no other way in. */
static fault now;
static npu_dev *under_test;
static uint32_t output_addr, input_addr;
static uint64_t perf_from; /* the debug port moves for PERF_CYCLES cycles from this edge on */
static bool without_perf;
#define PERF_CYCLES 1000u

static bool backdoor_read(void *ctx, uint32_t addr, void *dst, uint32_t bytes) {
    (void)ctx;
    return tb_ddr_read(&under_test->ddr, addr, dst, bytes);
}

static bool backdoor_write(void *ctx, uint32_t addr, const void *src, uint32_t bytes) {
    (void)ctx;
    return tb_ddr_write(&under_test->ddr, addr, src, bytes);
}

static void *s_create(const char *const *plusargs, uint64_t seed) {
    (void)plusargs;
    (void)seed;
    stand_in *s = (stand_in *)calloc(1, sizeof *s);
    const cm_mem mem = {.ctx = NULL, .read = backdoor_read, .write = backdoor_write};
    if (s != NULL) {
        s->model = cm_device_new(4, &mem);
    }
    return s;
}

static void s_destroy(void *inst) {
    cm_device_free(((stand_in *)inst)->model);
    free(inst);
}

static void s_ports(void *inst, tb_shim_port *out) {
    static const char *const irq[3] = {"irq_alu_o", "irq_pool_o", "irq_gemm_o"};
    stand_in *s = (stand_in *)inst;
    for (size_t i = 0; i < P_COUNT; i++) {
        uint32_t width = 1;
        bool input = i <= P_RST;
        if (i <= P_RST) {
            snprintf(s->name[i], sizeof s->name[i], "%s", i == P_CLK ? "clk_i" : "rst_ni");
        } else if (i < P_M0) {
            snprintf(s->name[i], sizeof s->name[i], "s_axil_%s", axil[i - P_AXIL].name);
            width = axil[i - P_AXIL].width;
            input = axil[i - P_AXIL].input;
        } else if (i < P_IRQ) {
            const size_t k = (i - P_M0) % 34;
            snprintf(s->name[i], sizeof s->name[i], "m%d_axi_%s", i < P_M1 ? 0 : 1, axi[k].name);
            width = axi[k].width;
            input = axi[k].input;
        } else if (i < P_PERF) {
            snprintf(s->name[i], sizeof s->name[i], "%s", irq[i - P_IRQ]);
        } else {
            snprintf(s->name[i], sizeof s->name[i], "%s", i == P_PERF ? "perf_event_o" : "perf_level_o");
            width = i != P_PERF ? 192 : without_perf ? 35 : 36;
        }
        out[i] = (tb_shim_port){.name = s->name[i], .width = width, .input = input, .ptr = s->wire[i]};
    }
}

static uint64_t *wire(stand_in *s, const char *name) {
    for (size_t i = 0; i < P_COUNT; i++) {
        if (strcmp(s->name[i], name) == 0) {
            return s->wire[i];
        }
    }
    abort();
}

static uint32_t reg_value(stand_in *s, uint32_t offset) {
    uint32_t v = cm_device_read(s->model, offset);
    v &= now == NO_IRQ && offset == NPU_REG_IRQ_STATUS ? 0 : UINT32_MAX;
    v |= now == EXTRA_ERR && offset == NPU_REG_ERR ? NPU_ERR_CONFIG_MASK : 0;
    v &= now == WRONG_REG && offset == NPU_REG_GEMM_OFM_CSTEP ? ~UINT32_C(16) : UINT32_MAX;
    v |= now == RESERVED_BIT && offset == NPU_REG_STATUS ? 8 : 0;
    v = now == LOST_TASK && offset == NPU_REG_GEMM_COUNT ? 0 : v;
    return v;
}

/* A task was executed by the second model: spoil it. */
static void spoil(stand_in *s) {
    uint8_t b = 0;
    if (now == FLIP_BYTE) {
        tb_ddr_read(&under_test->ddr, output_addr + 5, &b, 1);
        b ^= 0x10;
        tb_ddr_write(&under_test->ddr, output_addr + 5, &b, 1);
    } else if (now == EXTRA_BYTE) {
        tb_ddr_write(&under_test->ddr, output_addr - 1, &b, 1);
    } else if (now == BAD_BURST) {
        *wire(s, "m1_axi_araddr") = 0x10000ff0;
        *wire(s, "m1_axi_arlen") = 1;
        *wire(s, "m1_axi_arsize") = 4;
        *wire(s, "m1_axi_arburst") = 1;
        *wire(s, "m1_axi_arvalid") = 1;
    } else if (now == WRITE_INPUT) {
        *wire(s, "m0_axi_awaddr") = input_addr;
        *wire(s, "m0_axi_awsize") = 4;
        *wire(s, "m0_axi_awburst") = 1;
        *wire(s, "m0_axi_wstrb") = 1;
        *wire(s, "m0_axi_wlast") = 1;
        *wire(s, "m0_axi_awvalid") = *wire(s, "m0_axi_wvalid") = *wire(s, "m0_axi_bready") = 1;
    }
    s->failed = now == ASSERTION;
}

/* Event 0 always, event 1 in every cycle, event 35 in each fourth; mark 40 counts up, mark 51 is 9. */
static void s_perf(stand_in *s) {
    const uint64_t at = ++s->edges - perf_from;
    const bool on = perf_from != 0 && s->edges >= perf_from && at < PERF_CYCLES;
    uint64_t *level = wire(s, "perf_level_o");
    *wire(s, "perf_event_o") = 1 | (on ? UINT64_C(2) | (at % 4 == 0 ? UINT64_C(1) << 35 : 0) : 0);
    level[0] = on ? at : 0;
    level[2] = on ? UINT64_C(9) << 48 : 0;
}

static void s_edge(stand_in *s) {
    s_perf(s);
    uint64_t *bvalid = wire(s, "s_axil_bvalid");
    uint64_t *rvalid = wire(s, "s_axil_rvalid");
    static const char *const master[3] = {"m0_axi_aw", "m0_axi_w", "m1_axi_ar"};
    for (int i = 0; i < 3; i++) {
        char v[32];
        char r[32];
        snprintf(v, sizeof v, "%svalid", master[i]);
        snprintf(r, sizeof r, "%sready", master[i]);
        *wire(s, v) &= ~*wire(s, r);
    }
    if (*wire(s, "s_axil_awvalid") & *wire(s, "s_axil_awready")) {
        s->have_aw = true;
        s->aw = (uint32_t)*wire(s, "s_axil_awaddr");
    }
    if (*wire(s, "s_axil_wvalid") & *wire(s, "s_axil_wready")) {
        s->have_w = true;
        s->w = (uint32_t)*wire(s, "s_axil_wdata");
    }
    *bvalid &= ~*wire(s, "s_axil_bready");
    *rvalid &= ~*wire(s, "s_axil_rready");
    if (s->have_aw && s->have_w) {
        s->have_aw = s->have_w = false;
        *bvalid = 1;
        cm_device_write(s->model, s->aw, s->w, 0xf);
        if (s->aw == NPU_REG_GEMM_CTRL && (s->w & NPU_GEMM_CTRL_EN_MASK) != 0) {
            spoil(s);
        }
    }
    if (*wire(s, "s_axil_arvalid") & *wire(s, "s_axil_arready")) {
        *rvalid = 1;
        *wire(s, "s_axil_rdata") = reg_value(s, (uint32_t)*wire(s, "s_axil_araddr"));
    }
    const uint64_t ready = *wire(s, "rst_ni") & (now == SILENCE ? 0 : 1);
    *wire(s, "s_axil_awready") = ready & (s->have_aw || *bvalid ? 0 : 1);
    *wire(s, "s_axil_wready") = ready & (s->have_w || *bvalid ? 0 : 1);
    *wire(s, "s_axil_arready") = ready & (*rvalid ? 0 : 1);
    *wire(s, "irq_gemm_o") = now == NO_IRQ ? 0 : cm_device_irq(s->model) >> 2;
}

static void s_eval(void *inst) {
    stand_in *s = (stand_in *)inst;
    const uint8_t clk = (uint8_t)s->wire[P_CLK][0];
    if (clk != 0 && s->last_clk == 0) {
        s_edge(s);
    }
    s->last_clk = clk;
}

static bool s_finished(void *inst) {
    return ((stand_in *)inst)->failed;
}

static const char *s_message(void *inst) {
    return ((stand_in *)inst)->failed ? "unit.sv:12: Assertion failed" : NULL;
}

const tb_shim *tb_shim_get(void) {
    static const tb_shim shim = {.top = "stand_in",
                                 .nports = P_COUNT,
                                 .create = s_create,
                                 .destroy = s_destroy,
                                 .ports = s_ports,
                                 .eval = s_eval,
                                 .finished = s_finished,
                                 .assert_message = s_message};
    return &shim;
}

/* ---- a small convolution ---- */

static npu_dev *open_dev(npu_dev_kind kind) {
    char err[256] = "";
    const npu_dev_cfg cfg = {.kind = kind, .n = 4, .seed = 3, .bus_profile = "typical", .poison_reads = true, .watchdog_cycles = 2000};
    npu_dev *dev = npu_dev_open(&cfg, err, sizeof err);
    if (dev == NULL) {
        fail_msg("%s", err);
    }
    under_test = dev;
    return dev;
}

static uint32_t put(npu_dev *dev, const void *src, uint32_t bytes) {
    const uint32_t addr = npu_dev_alloc(dev, bytes, 16, NPU_BUF_IN);
    assert_true(npu_dev_write(dev, addr, src, bytes));
    return addr;
}

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
    assert_string_equal(npu_dev_get_failure(dev)->signature, "mem:read-unwritten:model");
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
        [WRITE_INPUT] = "mem:write-outside:rtl",
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
        /* after a failure the HAL answers at once */
        uint32_t v = 0;
        const uint64_t cycles = npu_dev_cycles(dev);
        assert_int_equal(npu_dev_hal(dev)->reg_read(npu_dev_hal(dev)->ctx, NPU_REG_ID, &v), NPU_HAL_FAULT);
        assert_int_equal(npu_dev_hal(dev)->wait_irq(npu_dev_hal(dev)->ctx, 7, 1000), NPU_HAL_FAULT);
        assert_int_equal(npu_dev_cycles(dev), cycles);
        npu_dev_close(dev);
    }
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
    assert_string_equal(err, "unknown bus profile nice, expected one of ideal, fast, typical, slow, bursty, hostile");
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

/* ---- time series ---- */

static void time_series(void **state) {
    (void)state;
    const npu_dev_perf_window *w;
    now = GOOD;
    npu_dev *dev = open_dev(NPU_DEV_RTL);
    const npu_hal *hal = npu_dev_hal(dev);
    const uint64_t base = npu_dev_cycles(dev);
    perf_from = base + 100;
    assert_true(npu_dev_perf_start(dev, 0));
    hal->delay_us(hal->ctx, 8); /* 1600 cycles */
    size_t count = npu_dev_perf_stop(dev, &w);
    assert_true(count >= 48 && count <= 96);
    uint64_t sum[3] = {0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(w[i].from, w[0].from + (uint64_t)i * w[0].cycles);
        assert_int_equal(w[i].level[0], i + 1 == count ? PERF_CYCLES - 1 : (i + 1) * w[0].cycles - 1);
        assert_int_equal(w[i].level[11], 9);
        sum[0] += w[i].event[0];
        sum[1] += w[i].event[1];
        sum[2] += w[i].event[35];
    }
    assert_true(sum[0] == 0 && sum[1] == PERF_CYCLES && sum[2] == PERF_CYCLES / 4);
    /* windows of a given width */
    uint32_t v = 0;
    assert_int_equal(hal->reg_read(hal->ctx, NPU_REG_ID, &v), NPU_HAL_OK); /* for the watchdog */
    perf_from = npu_dev_cycles(dev) + 100;
    assert_true(npu_dev_perf_start(dev, 7));
    hal->delay_us(hal->ctx, 8);
    count = npu_dev_perf_stop(dev, &w);
    assert_int_equal(count, (PERF_CYCLES + 6) / 7);
    assert_int_equal(w[0].event[1], 7);
    assert_int_equal(w[count - 1].event[1], PERF_CYCLES % 7);
    /* nothing happens */
    assert_int_equal(hal->reg_read(hal->ctx, NPU_REG_ID, &v), NPU_HAL_OK);
    perf_from = 0;
    assert_true(npu_dev_perf_start(dev, 0));
    hal->delay_us(hal->ctx, 1);
    assert_int_equal(npu_dev_perf_stop(dev, &w), 0);
    npu_dev_close(dev);
    without_perf = true; /* a port of another width is not the port */
    dev = open_dev(NPU_DEV_RTL);
    assert_false(npu_dev_perf_start(dev, 0));
    npu_dev_close(dev);
    without_perf = false;
    dev = open_dev(NPU_DEV_MODEL);
    assert_false(npu_dev_perf_start(dev, 0));
    assert_int_equal(npu_dev_perf_stop(dev, &w), 0);
    npu_dev_close(dev);
}

/* ---- conflicts between tasks in flight ---- */

#define REG(name) regs[NPU_REG_##name / 4]

/* A GEMM task: 4 x 1 pixels, 2 channels 64 bytes apart, 1x1 kernel. */
static void gemm_regs(uint32_t *regs, uint32_t ifm, uint32_t ofm, bool fence) {
    memset(regs, 0, NPU_REG_WORDS * sizeof *regs);
    REG(GEMM_CTRL) = NPU_GEMM_CTRL_LAYOUT_MASK | 1u << NPU_GEMM_CTRL_KERNEL_LSB | 1u << NPU_GEMM_CTRL_STRIDE_LSB |
                     (fence ? NPU_GEMM_CTRL_FENCE_MASK : 0);
    REG(GEMM_IFM_SIZE) = REG(GEMM_OFM_SIZE) = 1u << 16 | 4;
    REG(GEMM_CHANNELS) = 2u << 16 | 2;
    REG(GEMM_IFM_ADDR) = ifm;
    REG(GEMM_OFM_ADDR) = ofm;
    REG(GEMM_IFM_CSTEP) = REG(GEMM_OFM_CSTEP) = 64;
    REG(GEMM_WGT_ADDR) = 0x2000;
}

static void alu_regs(uint32_t *regs, uint32_t op, uint32_t a, uint32_t o) {
    memset(regs, 0, NPU_REG_WORDS * sizeof *regs);
    REG(ALU_CTRL) = op << NPU_ALU_CTRL_OP_LSB;
    REG(ALU_A_ADDR) = a;
    REG(ALU_O_ADDR) = o;
    REG(ALU_A_RSTEP) = REG(ALU_O_RSTEP) = 32;
    REG(ALU_SIZE) = 4;
    REG(ALU_ROWS) = 1u << 16 | 2;
}

typedef struct window {
    npu_inflight f;
    uint32_t done[UNITS], seq[UNITS];
    uint64_t where;
} window;

static bool start(window *w, unsigned unit, const uint32_t *regs) {
    return npu_inflight_start(&w->f, unit, regs, 4, ++w->seq[unit], w->done, &w->where);
}

static void forget(window *w) {
    npu_inflight_free(&w->f);
    memset(w, 0, sizeof *w);
}

static void live_buffers(void **state) {
    (void)state;
    uint32_t regs[NPU_REG_WORDS];
    window w;
    memset(&w, 0, sizeof w);
    gemm_regs(regs, 0x1000, 0x3000, false);
    assert_true(start(&w, UNIT_GEMM, regs));
    gemm_regs(regs, 0x1000, 0x3010, false); /* the rows below, in between the channels of the first task */
    assert_true(start(&w, UNIT_GEMM, regs));
    gemm_regs(regs, 0x1000, 0x300c, false);
    assert_false(start(&w, UNIT_GEMM, regs));
    assert_int_equal(w.where, 0x300c);
    forget(&w);
    gemm_regs(regs, 0x1000, 0x3000, false);
    assert_true(start(&w, UNIT_GEMM, regs));
    gemm_regs(regs, 0x3040, 0x4000, false); /* reads what the first one writes */
    assert_false(start(&w, UNIT_GEMM, regs));
    assert_int_equal(w.where, 0x3040);
    forget(&w);
    gemm_regs(regs, 0x1000, 0x3000, false);
    assert_true(start(&w, UNIT_GEMM, regs));
    w.done[UNIT_GEMM] = 1; /* the first one is complete */
    gemm_regs(regs, 0x3000, 0x4000, false);
    assert_true(start(&w, UNIT_GEMM, regs));
    gemm_regs(regs, 0x4000, 0x3000, true); /* fenced */
    assert_true(start(&w, UNIT_GEMM, regs));
    npu_inflight_output(&w.f, 0x5000, 16);
    gemm_regs(regs, 0x1000, 0x3000, false);
    assert_true(start(&w, UNIT_GEMM, regs)); /* the declaration counts, not the registers */
    gemm_regs(regs, 0x1000, 0x500c, false);
    assert_false(start(&w, UNIT_GEMM, regs));
    forget(&w);
}

/* Units know nothing of each other's order; a fence is for the GEMM alone; the ALU orders its own tasks. */
static void live_units(void **state) {
    (void)state;
    uint32_t regs[NPU_REG_WORDS];
    window w;
    memset(&w, 0, sizeof w);
    gemm_regs(regs, 0x1000, 0x3000, false);
    assert_true(start(&w, UNIT_GEMM, regs));
    alu_regs(regs, NPU_ALU_CTRL_OP_ABS, 0x3010, 0x6000); /* rows of 16 bytes in the gaps of the GEMM's channels: 3010, 3030 */
    assert_true(start(&w, UNIT_ALU, regs));
    alu_regs(regs, NPU_ALU_CTRL_OP_ABS, 0x6000, 0x6000); /* the ALU's own result, in place */
    assert_true(start(&w, UNIT_ALU, regs));
    alu_regs(regs, NPU_ALU_CTRL_OP_ABS, 0x3020, 0x7000); /* second row reads 3040 */
    assert_false(start(&w, UNIT_ALU, regs));
    assert_int_equal(w.where, 0x3040);
    gemm_regs(regs, 0x1000, 0x6020, true); /* a fence does not wait for the ALU */
    assert_false(start(&w, UNIT_GEMM, regs));
    assert_int_equal(w.where, 0x6020);
    w.done[UNIT_ALU] = 3;
    gemm_regs(regs, 0x1000, 0x6020, true);
    assert_true(start(&w, UNIT_GEMM, regs));
    forget(&w);
}

/* What a bus error makes undefined: the unit's outputs, and what was computed from them. */
static void live_taint(void **state) {
    (void)state;
    uint32_t regs[NPU_REG_WORDS];
    window w;
    memset(&w, 0, sizeof w);
    gemm_regs(regs, 0x1000, 0x3000, false);
    assert_true(start(&w, UNIT_GEMM, regs));
    w.done[UNIT_GEMM] = 1;
    alu_regs(regs, NPU_ALU_CTRL_OP_SUM, 0x3000, 0x6000);
    assert_true(start(&w, UNIT_ALU, regs));
    alu_regs(regs, NPU_ALU_CTRL_OP_ABS, 0x8000, 0x9000);
    assert_true(start(&w, UNIT_ALU, regs));
    npu_inflight_taint(&w.f, 1u << UNIT_GEMM);
    assert_true(w.f.task[0].tainted && w.f.task[1].tainted && w.f.task[1].reduces && !w.f.task[2].tainted);
    npu_inflight_taint(&w.f, 1u << UNIT_POOL);
    assert_false(w.f.task[0].tainted || w.f.task[1].tainted || w.f.task[2].tainted);
    assert_int_equal(npu_inflight_users(&w.f, 0x3000, 16, false), 1u << UNIT_ALU);
    assert_int_equal(npu_inflight_users(&w.f, 0x3000, 16, true), 1u << UNIT_GEMM);
    assert_int_equal(npu_inflight_users(&w.f, 0x6000, 16, true), 1u << UNIT_ALU); /* a sum of each row, 32 bytes apart */
    assert_int_equal(npu_inflight_users(&w.f, 0x6010, 16, true), 0);
    forget(&w);
}

static void declared_outputs(void **state) {
    (void)state;
    npu_inflight f;
    uint64_t where = 0;
    memset(&f, 0, sizeof f);
    assert_true(npu_inflight_covered(&f, 0x100, 4, &where)); /* nothing was declared */
    npu_inflight_output(&f, 0x200, 16);
    npu_inflight_output(&f, 0x100, 16);
    npu_inflight_output(&f, 0x110, 8);
    npu_inflight_declared(&f);
    assert_int_equal(f.next.count, 2);
    assert_true(npu_inflight_covered(&f, 0x100, 24, &where));
    assert_true(npu_inflight_covered(&f, 0x20c, 4, &where));
    assert_false(npu_inflight_covered(&f, 0x114, 8, &where));
    assert_int_equal(where, 0x118);
    assert_false(npu_inflight_covered(&f, 0x1fc, 4, &where));
    assert_int_equal(where, 0x1fc);
    npu_inflight_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_alone),  cmocka_unit_test(unwritten_input),  cmocka_unit_test(tandem_agrees),
        cmocka_unit_test(tandem_finds), cmocka_unit_test(hang_is_found),    cmocka_unit_test(refused),
        cmocka_unit_test(live_buffers), cmocka_unit_test(live_units),       cmocka_unit_test(time_series),
        cmocka_unit_test(live_taint),   cmocka_unit_test(declared_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
