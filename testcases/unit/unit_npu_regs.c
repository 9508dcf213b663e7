/* dut: npu_regs */
/*
 * Random register accesses, events and task handshakes. The plain registers and the decoding of a task come from the golden model; what depends on time (events,
 * pending task, soft reset, counters) is modelled here cycle by cycle from the header of the module. Interrupt lines, task_o and srst_o are checked in every
 * cycle, every register that is read against its value one cycle after the address handshake.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "npu_regs.h"
#include "npu_task.h"

#define COUNTERS 13u
#define CHECK_CYCLES 9u /* from the start's effect to task_valid_o */
#define SRST_CYCLES 4u  /* shortest soft reset */

static const tb_knob knobs[] = {
    {"accesses", 1, 100000, TB_KNOB_UNIFORM, NULL, NULL, "register accesses"},
    {"gap", 0, 15, TB_KNOB_SMALL, NULL, NULL, "longest delay of a bus channel"},
    {"events", 0, 500, TB_KNOB_SMALL, NULL, NULL, "bus errors and idle completions in 1000 cycles"},
    {"resets", 0, 50, TB_KNOB_SMALL, NULL, NULL, "soft resets in 1000 accesses"},
    {"wild", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of written values that are plain random"},
    UNIT_STALL_KNOB("task", "percent of cycles in which no task is taken"),
    UNIT_STALL_KNOB("done", "percent of cycles in which no task completes"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "accesses", seed, 400, 1200);
}

typedef struct bench {
    tb_axi_port port;
    tb_axi_monitor mon;
    tb_lite_master bus;
    cm_device *model;
    tb_sig irq[3], task_valid, task_ready, task, busy, done, bus_err, perf, srst, drained;
    /* expected state before the coming edge */
    uint32_t err, irq_status, irq_enable, count, inflight;
    bool pending, task_good;
    uint32_t check_left; /* cycles until the check of the pending task is over */
    cm_gemm_task expected;
    bool resetting;
    uint32_t reset_age;
    uint64_t counter[COUNTERS], copy[COUNTERS];
    /* the access in progress */
    bool effect_due, capture_due, captured, check_read;
    uint32_t read_value;
    /* this cycle's inputs */
    bool in_ready, in_done, in_drained;
    uint32_t in_err, in_perf;
    unit_stall task_stall, done_stall;
    tb_rng rng, rng_event;
} bench;

static uint32_t status(const bench *b) {
    if (b->resetting) {
        return NPU_STATUS_RESETTING_MASK;
    }
    return (b->pending || b->inflight > 0 ? NPU_STATUS_GEMM_BUSY_MASK : 0u) | (b->pending ? 0u : NPU_STATUS_GEMM_READY_MASK);
}

static uint32_t expected_read(bench *b, uint32_t offset) {
    const uint32_t lines = b->irq_status & b->irq_enable;
    const uint32_t sel = cm_device_read(b->model, NPU_REG_PERF_SEL);
    const uint64_t copy = sel < COUNTERS ? b->copy[sel] : 0;
    switch (offset) {
    case NPU_REG_STATUS:
        return status(b);
    case NPU_REG_IRQ_STATUS:
        return b->irq_status;
    case NPU_REG_IRQ_ID:
        return (lines & 1u) ? 1 : (lines & 2u) ? 2 : (lines & 4u) ? 3 : 0;
    case NPU_REG_ERR:
        return b->err;
    case NPU_REG_GEMM_COUNT:
        return b->count & 0xffffu;
    case NPU_REG_PERF_LO:
        return (uint32_t)copy;
    case NPU_REG_PERF_HI:
        return (uint32_t)(copy >> 32) & 0xffffu;
    default:
        return cm_device_read(b->model, offset);
    }
}

/* All registers of the model as an array, for the decoder. */
static bool decode(bench *b) {
    uint32_t regs[128];
    for (uint32_t i = 0; i < 128; i++) {
        regs[i] = cm_device_read(b->model, 4 * i);
    }
    return cm_gemm_decode(NPU_CFG_N, regs, &b->expected);
}

static void begin_reset(bench *b) {
    b->resetting = true;
    b->reset_age = 0;
}

static void clear_all(bench *b) {
    cm_device_write(b->model, NPU_REG_CTRL, NPU_CTRL_SOFT_RESET_MASK, 0xf);
    b->err = b->irq_status = b->irq_enable = b->count = b->inflight = 0;
    b->pending = false;
    memset(b->counter, 0, sizeof b->counter);
    memset(b->copy, 0, sizeof b->copy);
}

typedef struct effect {
    uint32_t clear_irq, clear_err, set_err;
    bool start, reset, snap, clear;
} effect;

/* What the write does at this edge. */
static effect write_effect(bench *b) {
    effect e = {0};
    const uint32_t offset = (uint32_t)b->bus.addr & 0x1fcu;
    uint32_t value = b->bus.value;
    uint32_t ones = 0;
    for (uint32_t i = 0; i < 4; i++) {
        ones |= (b->bus.strb >> i) & 1u ? value & (0xffu << (8 * i)) : 0;
    }
    e.clear_irq = offset == NPU_REG_IRQ_STATUS ? ones : 0;
    e.clear_err = offset == NPU_REG_ERR ? ones : 0;
    e.reset = offset == NPU_REG_CTRL && (ones & NPU_CTRL_SOFT_RESET_MASK) != 0;
    e.snap = offset == NPU_REG_PERF_CTRL && (ones & NPU_PERF_CTRL_SNAPSHOT_MASK) != 0;
    e.clear = offset == NPU_REG_PERF_CTRL && (ones & NPU_PERF_CTRL_CLEAR_MASK) != 0;
    if (offset == NPU_REG_GEMM_CTRL) {
        e.start = (ones & NPU_GEMM_CTRL_EN_MASK) != 0;
        value &= ~NPU_GEMM_CTRL_EN_MASK; /* the model of the registers must not execute it */
    }
    if (offset != NPU_REG_CTRL) {
        cm_device_write(b->model, offset, value, b->bus.strb);
    }
    return e;
}

static void step_counters(bench *b, const effect *e) {
    const bool run = (status(b) & NPU_STATUS_GEMM_BUSY_MASK) != 0;
    if (e->snap) {
        memcpy(b->copy, b->counter, sizeof b->copy);
    }
    for (uint32_t i = 0; i < COUNTERS; i++) {
        b->counter[i] = e->clear ? 0 : b->counter[i] + (run && ((b->in_perf >> i) & 1u));
    }
}

/* The pending task: check over, handed on, or a new one. */
static void step_task(bench *b, effect *e) {
    const bool valid = b->pending && b->check_left == 0;
    const bool was_pending = b->pending;
    if (b->pending && b->check_left > 0 && --b->check_left == 0 && !b->task_good) {
        b->pending = false;
        e->set_err |= NPU_ERR_CONFIG_MASK;
    }
    if (valid && b->in_ready) {
        b->pending = false;
        b->inflight++;
    }
    if (e->start && was_pending) {
        e->set_err |= NPU_ERR_OVERRUN_MASK;
    } else if (e->start) {
        b->pending = true;
        b->check_left = CHECK_CYCLES - 1;
        b->task_good = decode(b);
    }
}

/* Everything that happens at one rising edge. */
static void step_model(bench *b) {
    effect e = {0};
    if (b->effect_due && !b->resetting) {
        e = write_effect(b);
    }
    b->effect_due = false;
    if (b->resetting) {
        clear_all(b);
        b->reset_age++;
        b->resetting = !(b->reset_age >= SRST_CYCLES && b->in_drained);
        return;
    }
    step_counters(b, &e);
    step_task(b, &e);
    e.set_err |= b->in_err;
    b->inflight -= b->in_done;
    b->count += b->in_done;
    b->irq_status = (b->irq_status & ~e.clear_irq) | (b->in_done || e.set_err ? NPU_IRQ_STATUS_GEMM_MASK : 0u);
    b->err = (b->err & ~e.clear_err) | e.set_err;
    b->irq_enable = cm_device_read(b->model, NPU_REG_IRQ_ENABLE);
    if (e.reset) {
        begin_reset(b);
    }
}

/* ---- stimulus ---- */

static uint32_t plausible(bench *b, uint32_t offset) {
    tb_rng *r = &b->rng;
    const uint32_t bits = tb_rng_u32(r);
    const uint32_t lo = (uint32_t)tb_rng_small(r, 1, 40);
    const uint32_t hi = (uint32_t)tb_rng_small(r, 1, 40);
    switch (offset) {
    case NPU_REG_GEMM_IFM_SIZE:
    case NPU_REG_GEMM_CHANNELS:
    case NPU_REG_GEMM_OFM_SIZE:
        return lo | (hi << 16);
    case NPU_REG_GEMM_CTRL:
        return (bits & (NPU_GEMM_CTRL_FENCE_MASK | NPU_GEMM_CTRL_EXT_MASK | NPU_GEMM_CTRL_PSUM_ADD_MASK | 0x0007f800u)) |
               NPU_GEMM_CTRL_LAYOUT_MASK |
               ((bits & 1u) ? NPU_GEMM_CTRL_DIV_IC_MASK : bits & (NPU_GEMM_CTRL_BIAS_MASK | NPU_GEMM_CTRL_OSCALE_MASK)) |
               ((1 + bits % 3) << 3) | ((1 + (bits >> 4) % 2) << 6);
    case NPU_REG_GEMM_EXT_KERNEL:
        return 0x01010000u | (1 + (bits & 3u)) | ((1 + ((bits >> 2) & 3u)) << 8);
    case NPU_REG_GEMM_EXT_STRIDE:
        return (1 + (bits & 3u)) | ((1 + ((bits >> 2) & 3u)) << 8);
    case NPU_REG_GEMM_ACT:
        return bits & bits >> 8 & bits >> 16 & 1u;
    case NPU_REG_GEMM_IFM_ADDR:
    case NPU_REG_GEMM_OFM_ADDR:
    case NPU_REG_GEMM_PSUM_ADDR:
        return bits & ~3u;
    default:
        return offset >= NPU_REG_GEMM_IFM_ADDR && offset < NPU_REG_GEMM_IFM_SIZE ? bits & ~15u : bits;
    }
}

/* Values at the edge of what the hardware accepts. */
static uint32_t edgy(bench *b, uint32_t offset) {
    static const uint32_t sizes[] = {0, 1, 255, 256, 257, 128, 512, 1024, 1025, 65535, 127};
    const uint32_t a = sizes[tb_rng_range(&b->rng, 0, 10)];
    const uint32_t c = sizes[tb_rng_range(&b->rng, 0, 10)];
    const bool size = offset == NPU_REG_GEMM_IFM_SIZE || offset == NPU_REG_GEMM_CHANNELS || offset == NPU_REG_GEMM_OFM_SIZE;
    const uint32_t flip = 1u << tb_rng_range(&b->rng, 0, 31);
    return size ? a | (c << 16) : plausible(b, offset) ^ flip;
}

static void start_access(const unit *u, bench *b) {
    static const uint32_t control[] = {NPU_REG_IRQ_STATUS, NPU_REG_IRQ_ENABLE, NPU_REG_ERR, NPU_REG_PERF_CTRL, NPU_REG_PERF_SEL};
    static const uint32_t watched[] = {NPU_REG_STATUS,     NPU_REG_IRQ_STATUS, NPU_REG_IRQ_ID, NPU_REG_ERR,
                                       NPU_REG_GEMM_COUNT, NPU_REG_PERF_LO,    NPU_REG_PERF_HI};
    tb_rng *r = &b->rng;
    const uint64_t kind = tb_rng_range(r, 0, 99);
    bool write = true;
    uint32_t offset = NPU_REG_GEMM_IFM_ADDR + 4u * (uint32_t)tb_rng_range(r, 0, 17);
    uint32_t start = 0;
    if (tb_rng_chance(r, (uint32_t)unit_knob(u, "resets"), 1000)) {
        offset = NPU_REG_CTRL;
        start = NPU_CTRL_SOFT_RESET_MASK;
    } else if (kind < 15) {
        offset = NPU_REG_GEMM_CTRL;
        start = NPU_GEMM_CTRL_EN_MASK;
    } else if (kind < 35) {
        offset = control[tb_rng_range(r, 0, 4)];
    } else if (kind < 65) {
        write = false;
        offset = tb_rng_chance(r, 1, 2) ? watched[tb_rng_range(r, 0, 6)] : 4u * (uint32_t)tb_rng_range(r, 0, 127);
    } else if (kind < 70) {
        offset = 4u * (uint32_t)tb_rng_range(r, 0, 127);
        offset = offset == NPU_REG_CTRL ? NPU_REG_ID : offset;
    }
    uint32_t value = plausible(b, offset);
    if (tb_rng_chance(r, (uint32_t)unit_knob(u, "wild"), 100)) {
        value = tb_rng_chance(r, 1, 2) ? tb_rng_u32(r) : edgy(b, offset);
    }
    const uint8_t strb = tb_rng_chance(r, 7, 8) ? 0xfu : (uint8_t)(tb_rng_u32(r) & 0xfu);
    tb_lite_start(&b->bus, write, offset | (tb_rng_u32(r) & 3u), value | start, strb);
    b->captured = false;
}

static void drive(const unit *u, bench *b) {
    const uint32_t rate = (uint32_t)unit_knob(u, "events");
    b->in_ready = unit_go(&b->task_stall);
    b->in_done = unit_go(&b->done_stall) && b->inflight > 0 && !b->resetting;
    b->in_err = tb_rng_chance(&b->rng_event, rate, 1000) ? tb_rng_u32(&b->rng_event) & 0xfu : 0;
    b->in_perf = (tb_rng_u32(&b->rng_event) & 0x1fffu) | 1u;
    b->in_drained = tb_rng_chance(&b->rng_event, 1, 4);
    tb_set(b->task_ready, b->in_ready);
    tb_set(b->busy, b->inflight > 0);
    /* completions during a soft reset must not count */
    tb_set(b->done, b->in_done || (b->resetting && b->in_err != 0));
    tb_set(b->bus_err, b->in_err);
    tb_set(b->perf, b->in_perf);
    tb_set(b->drained, b->in_drained);
}

/* ---- checks ---- */

static void check_outputs(unit *u, bench *b) {
    for (uint32_t i = 0; i < 3; i++) {
        unit_expect_value(u, "irq", tb_get(b->irq[i]), ((b->irq_status & b->irq_enable) >> i) & 1u);
    }
    unit_expect_value(u, "srst_o", tb_get(b->srst), b->resetting);
    if (!b->resetting) {
        const bool valid = b->pending && b->check_left == 0;
        unit_expect_value(u, "task_valid_o", tb_get(b->task_valid), valid);
        if (valid) {
            npu_task_expect(u, b->task, &b->expected);
        }
    }
}

/* Follow the access; the write acts, the read looks, in the cycle after the last handshake on the address (and data) channel. */
static void follow_access(unit *u, bench *b) {
    if (b->capture_due) {
        b->capture_due = false;
        b->captured = true;
        const uint32_t offset = (uint32_t)b->bus.addr & 0x1fcu;
        b->check_read = !b->resetting || offset == NPU_REG_STATUS;
        b->read_value = expected_read(b, offset);
    }
    const bool was_sent = b->bus.ax_done && b->bus.w_done;
    const bool was_busy = b->bus.busy;
    tb_lite_sample(&b->bus);
    if (was_busy && !was_sent && b->bus.ax_done && b->bus.w_done) {
        b->effect_due = b->bus.write;
        b->capture_due = !b->bus.write;
    }
    if (was_busy && !b->bus.busy) {
        unit_expect_value(u, "response", b->bus.resp, TB_AXI_OKAY);
        if (!b->bus.write && !b->captured) {
            unit_fail(u, "rvalid_o", "cycle %" PRIu64 ": read data too early", u->cycle);
        } else if (!b->bus.write && b->check_read && b->bus.value != b->read_value) {
            unit_fail(u, "read", "register 0x%03x, cycle %" PRIu64 ": got 0x%08" PRIx32 ", expected 0x%08" PRIx32,
                      (unsigned)b->bus.addr & 0x1fcu, u->cycle, b->bus.value, b->read_value);
        }
    }
}

static void cycle(unit *u, bench *b) {
    tb_axi_sample s;
    drive(u, b);
    tb_lite_drive(&b->bus);
    unit_settle(u);
    check_outputs(u, b);
    tb_axi_sample_port(&b->port, u->cycle, true, &s);
    tb_axi_mon_step(&b->mon, &s);
    if (b->mon.violations > 0) {
        char text[256];
        tb_axi_violation_text(&b->mon, &b->mon.first[0], text, sizeof text);
        unit_fail(u, tb_axi_rule_name(b->mon.first[0].rule), "%s", text);
    }
    const bool effect_now = b->effect_due;
    b->effect_due = false;
    follow_access(u, b);
    const bool effect_next = b->effect_due;
    b->effect_due = effect_now;
    step_model(b);
    b->effect_due = effect_next;
    unit_edge(u);
}

/* The model of the registers has no memory behind it: no task runs there. */
static bool no_memory_read(void *ctx, uint32_t addr, void *dst, uint32_t bytes) {
    (void)ctx, (void)addr, (void)dst, (void)bytes;
    return false;
}

static bool no_memory_write(void *ctx, uint32_t addr, const void *src, uint32_t bytes) {
    (void)ctx, (void)addr, (void)src, (void)bytes;
    return false;
}

static int setup(unit *u, bench *b) {
    char err[256] = "";
    const cm_mem mem = {NULL, no_memory_read, no_memory_write};
    const tb_axi_mon_cfg mon = {.name = "axil", .lite = true, .bytes = 4, .hash = &u->hash};
    static const char *const irq[3] = {"irq_alu_o", "irq_pool_o", "irq_gemm_o"};
    const struct {
        tb_sig *sig;
        const char *name;
    } ports[] = {{&b->task_valid, "task_valid_o"}, {&b->task_ready, "task_ready_i"}, {&b->task, "task_o"},       {&b->busy, "gemm_busy_i"},
                 {&b->done, "task_done_i"},        {&b->bus_err, "bus_err_i"},       {&b->perf, "perf_event_i"}, {&b->srst, "srst_o"},
                 {&b->drained, "drained_i"}};
    for (size_t i = 0; i < 3; i++) {
        b->irq[i] = unit_port(u, irq[i]);
    }
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        *ports[i].sig = unit_port(u, ports[i].name);
    }
    if (tb_axi_bind(&b->port, &u->sim, "", true, err, sizeof err) != 0) {
        tb_result_fail(u->result, TB_ERROR, "bind", "%s: %s", u->name, err);
        return -1;
    }
    b->model = cm_device_new(NPU_CFG_N, &mem);
    if (!b->model || tb_axi_mon_init(&b->mon, &mon) != 0) {
        cm_device_free(b->model);
        return -1;
    }
    tb_lite_init(&b->bus, &b->port, (uint16_t)unit_knob(u, "gap"), unit_stream(u, "bus_timing"));
    b->rng = unit_stream(u, "access");
    b->rng_event = unit_stream(u, "event");
    b->task_stall = unit_stall_make(u, "task");
    b->done_stall = unit_stall_make(u, "done");
    return 0;
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    if (!b || setup(u, b) != 0) {
        free(b);
        return -1;
    }
    unit_reset(u);
    cycle(u, b); /* valid must be low at the first edge after reset */
    for (int64_t k = unit_knob(u, "accesses"); k > 0 && unit_ok(u); k--) {
        start_access(u, b);
        while (unit_ok(u) && b->bus.busy) {
            cycle(u, b);
        }
        for (uint64_t idle = tb_rng_small(&b->rng, 0, 12); idle > 0 && unit_ok(u); idle--) {
            cycle(u, b);
        }
    }
    tb_axi_mon_free(&b->mon);
    cm_device_free(b->model);
    free(b);
    return 0;
}

const unit_bench unit_this_bench = {.name = "npu_regs",
                                    .about = "register file: accesses, task start, interrupts, counters, soft reset",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
