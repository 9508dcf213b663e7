/*
 * stand_in.h - a stand-in for the RTL that is made of a second golden model and can be told to misbehave; for the tests
 * of tb/npu. One program includes it once.
 */
#ifndef STAND_IN_H
#define STAND_IN_H

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
    WRONG_RESULT, /* ALU_RESULT is off by one */
    NO_POOL_IRQ,  /* the POOL's event flag stays 0 */
    LATE_POOL,    /* the POOL does not get done */
    BUS_ERROR,    /* the ALU meets a bus error and says so; its output is spoilt */
    BLAMES_POOL,  /* the same, but it shows as the POOL's */
    LATE_ALU,     /* no fault: the ALU takes a while */
    NO_BLAME,     /* the same, but nothing shows */
    HIDDEN_ERR,   /* ERR reads 0 */
    IN_RESET,     /* an assertion fails in the reset */
    FAULTS
} fault;

enum {
    P_CLK,
    P_RST,
    P_AXIL,
    P_M0 = P_AXIL + 17,
    P_M1 = P_M0 + 34,
    P_IRQ = P_M1 + 34,
    P_PERF = P_IRQ + 3,
    P_COUNT = P_PERF + 2
};

static const struct {
    const char *name;
    uint32_t width;
    bool input;
} axil[17] = {{"awaddr", 9, true},   {"awvalid", 1, true}, {"awready", 1, false}, {"wdata", 32, true},
              {"wstrb", 4, true},    {"wvalid", 1, true},  {"wready", 1, false},  {"bresp", 2, false},
              {"bvalid", 1, false},  {"bready", 1, true},  {"araddr", 9, true},   {"arvalid", 1, true},
              {"arready", 1, false}, {"rdata", 32, false}, {"rresp", 2, false},   {"rvalid", 1, false},
              {"rready", 1, true}},
  axi[34] = {
      {"awid", 1, false},   {"awaddr", 32, false}, {"awlen", 8, false},  {"awsize", 3, false}, {"awburst", 2, false},
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
    uint32_t err; /* errors that the model knows nothing of */
    /* the ALU is done LATE_EDGES after its start: what shows until then */
    uint64_t alu_done_at;
    uint32_t alu_count;
    bool alu_irq;
} stand_in;

/* The test steers the stand-in through these: the shim interface has no other way in. */
static fault now;
static npu_dev *under_test;
static uint32_t output_addr, input_addr;
/* One beat of 16 bytes on m0 (write) or m1 (read), at the next edge. */
static enum { NO_ROGUE, ROGUE_WRITE, ROGUE_READ } rogue;
static uint32_t rogue_addr, rogue_strobes;
static uint64_t perf_from; /* the debug port moves for PERF_CYCLES cycles from this edge on */
static bool without_perf;
#define PERF_CYCLES 1000u
#define LATE_EDGES 200u

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
    v &= now == NO_POOL_IRQ && offset == NPU_REG_IRQ_STATUS ? ~NPU_IRQ_STATUS_POOL_MASK : UINT32_MAX;
    v |= offset == NPU_REG_ERR ? s->err : 0;
    v = now == HIDDEN_ERR && offset == NPU_REG_ERR ? 0 : v;
    v ^= now == WRONG_RESULT && offset == NPU_REG_ALU_RESULT ? 1 : 0;
    if (now == LATE_ALU && offset == NPU_REG_IRQ_STATUS) {
        v = (v & ~NPU_IRQ_STATUS_ALU_MASK) | (s->alu_irq ? NPU_IRQ_STATUS_ALU_MASK : 0);
    }
    v = now == LATE_ALU && offset == NPU_REG_ALU_COUNT ? s->alu_count : v;
    v = now == LATE_POOL && offset == NPU_REG_POOL_COUNT ? 0 : v;
    v = now == LOST_TASK && offset == NPU_REG_GEMM_COUNT ? 0 : v;
    return v;
}

/* An access that nobody asked for. */
static void s_rogue(stand_in *s) {
    const bool write = rogue == ROGUE_WRITE;
    if (rogue == NO_ROGUE) {
        return;
    }
    rogue = NO_ROGUE;
    *wire(s, write ? "m0_axi_awaddr" : "m1_axi_araddr") = rogue_addr;
    *wire(s, write ? "m0_axi_awlen" : "m1_axi_arlen") = 0;
    *wire(s, write ? "m0_axi_awsize" : "m1_axi_arsize") = 4;
    *wire(s, write ? "m0_axi_awburst" : "m1_axi_arburst") = 1;
    *wire(s, write ? "m0_axi_awvalid" : "m1_axi_arvalid") = 1;
    *wire(s, "m0_axi_wstrb") = rogue_strobes;
    *wire(s, "m0_axi_wlast") = 1;
    *wire(s, "m0_axi_wvalid") = write;
    *wire(s, write ? "m0_axi_bready" : "m1_axi_rready") = 1;
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
        rogue = ROGUE_WRITE;
        rogue_addr = input_addr;
        rogue_strobes = 1;
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

/* The ALU has met a bus error: on channel 1, reading its input. */
static void spoil_alu(stand_in *s) {
    if (now < BUS_ERROR || now == LATE_ALU || now == HIDDEN_ERR) {
        return;
    }
    *wire(s, "m1_axi_araddr") = input_addr;
    *wire(s, "m1_axi_arsize") = 4;
    *wire(s, "m1_axi_arburst") = 1;
    *wire(s, "m1_axi_arvalid") = *wire(s, "m1_axi_rready") = 1;
    const uint32_t garbage = 0x12345678;
    tb_ddr_write(&under_test->ddr, output_addr, &garbage, 4);
}

static void s_response(stand_in *s) {
    if ((*wire(s, "m1_axi_rvalid") & *wire(s, "m1_axi_rready")) != 0 && *wire(s, "m1_axi_rresp") >= 2) {
        s->err |= now == BUS_ERROR ? NPU_ERR_ALU_BUS_RD1_MASK : now == BLAMES_POOL ? NPU_ERR_POOL_BUS_RD1_MASK : 0;
    }
}

static void s_late(stand_in *s) {
    if (s->alu_done_at != 0 && s->edges >= s->alu_done_at) {
        s->alu_done_at = 0;
        s->alu_irq = true;
        s->alu_count = cm_device_read(s->model, NPU_REG_ALU_COUNT);
    }
}

static void s_edge(stand_in *s) {
    s_perf(s);
    s->failed = s->failed || (now == IN_RESET && s->edges == 3);
    s_late(s);
    s_response(s);
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
    s_rogue(s);
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
        if (s->aw == NPU_REG_ALU_CTRL && (s->w & NPU_ALU_CTRL_EN_MASK) != 0) {
            spoil_alu(s);
            s->alu_done_at = s->edges + LATE_EDGES;
        }
        s->alu_irq = s->alu_irq && !(s->aw == NPU_REG_IRQ_STATUS && (s->w & NPU_IRQ_STATUS_ALU_MASK) != 0);
        s->err &= s->aw == NPU_REG_ERR ? ~s->w : UINT32_MAX;
    }
    if (*wire(s, "s_axil_arvalid") & *wire(s, "s_axil_arready")) {
        *rvalid = 1;
        *wire(s, "s_axil_rdata") = reg_value(s, (uint32_t)*wire(s, "s_axil_araddr"));
    }
    const uint64_t ready = *wire(s, "rst_ni") & (now == SILENCE ? 0 : 1);
    *wire(s, "s_axil_awready") = ready & (s->have_aw || *bvalid ? 0 : 1);
    *wire(s, "s_axil_wready") = ready & (s->have_w || *bvalid ? 0 : 1);
    *wire(s, "s_axil_arready") = ready & (*rvalid ? 0 : 1);
    const uint32_t irq = cm_device_irq(s->model);
    *wire(s, "irq_alu_o") = now == LATE_ALU ? (s->alu_irq ? 1 : 0) : irq & 1;
    *wire(s, "irq_pool_o") = now == NO_POOL_IRQ ? 0 : irq >> 1 & 1;
    *wire(s, "irq_gemm_o") = now == NO_IRQ ? 0 : irq >> 2;
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
    return ((stand_in *)inst)->failed
               ? "[0] %Error: unit.sv:12: Assertion failed in stand_in.stand_in.u_part: assertion Whole failed"
               : NULL;
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

/* ---- what tests do with it ---- */

static inline npu_dev *open_dev(npu_dev_kind kind) {
    char err[256] = "";
    const npu_dev_cfg cfg = {
        .kind = kind, .n = 4, .seed = 3, .bus_profile = "typical", .poison_reads = true, .watchdog_cycles = 2000};
    npu_dev *dev = npu_dev_open(&cfg, err, sizeof err);
    if (dev == NULL) {
        fail_msg("%s", err);
    }
    under_test = dev;
    return dev;
}

static inline uint32_t put(npu_dev *dev, const void *src, uint32_t bytes) {
    const uint32_t addr = npu_dev_alloc(dev, bytes, 16, NPU_BUF_IN);
    assert_true(npu_dev_write(dev, addr, src, bytes));
    return addr;
}

#endif
