/* regs_bench.c - random register accesses, events and task handshakes against the model. */
#include "regs_bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npu_regs.h"
#include "npu_task.h"

#define TASK_WORDS 62u /* registers from GEMM_IFM_ADDR to POOL_CTRL, with a hole of three */

const tb_knob regs_bench_knobs[REGS_BENCH_KNOBS] = {
    {"accesses", 1, 100000, TB_KNOB_UNIFORM, NULL, NULL, "register accesses"},
    {"gap", 0, 15, TB_KNOB_SMALL, NULL, NULL, "longest delay of a bus channel"},
    {"events", 0, 500, TB_KNOB_SMALL, NULL, NULL, "bus errors and idle completions in 1000 cycles"},
    {"resets", 0, 50, TB_KNOB_SMALL, NULL, NULL, "soft resets in 1000 accesses"},
    {"wild", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of written values that are plain random"},
    UNIT_STALL_KNOB("task", "percent of cycles in which no task is taken"),
    UNIT_STALL_KNOB("done", "percent of cycles in which no task completes"),
    UNIT_STALL_RUN_KNOB,
};

void regs_bench_constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "accesses", seed, 500, 1500);
}

typedef struct bench {
    tb_axi_port port;
    tb_axi_monitor mon;
    tb_lite_master bus;
    regs_model m;
    regs_in in;
    tb_sig irq[3], valid[REGS_UNITS], ready[REGS_UNITS], task[REGS_UNITS], busy[REGS_UNITS], done[REGS_UNITS];
    tb_sig result_we, result, bus_err, event, level, srst, drained;
    uint32_t fill; /* the task registers from this one on are still to be written once, TASK_WORDS: all are */
    /* the access in progress */
    bool effect_due, capture_due, captured, check_read;
    uint32_t read_value;
    unit_stall task_stall[REGS_UNITS], done_stall[REGS_UNITS];
    tb_rng rng, rng_event;
} bench;

/* ---- stimulus ---- */

static uint32_t task_register(tb_rng *r) {
    return NPU_REG_GEMM_IFM_ADDR + 4u * (uint32_t)tb_rng_range(r, 0, TASK_WORDS - 1);
}

static void start_access(const unit *u, bench *b) {
    static const uint32_t ctrl[REGS_UNITS] = {NPU_REG_GEMM_CTRL, NPU_REG_ALU_CTRL, NPU_REG_POOL_CTRL};
    static const uint32_t control[] = {NPU_REG_IRQ_STATUS, NPU_REG_IRQ_ENABLE, NPU_REG_ERR, NPU_REG_PERF_CTRL, NPU_REG_PERF_SEL};
    static const uint32_t watched[] = {NPU_REG_STATUS,    NPU_REG_IRQ_STATUS, NPU_REG_IRQ_ID,     NPU_REG_ERR,     NPU_REG_GEMM_COUNT,
                                       NPU_REG_ALU_COUNT, NPU_REG_POOL_COUNT, NPU_REG_ALU_RESULT, NPU_REG_PERF_LO, NPU_REG_PERF_HI};
    tb_rng *r = &b->rng;
    const uint64_t kind = tb_rng_range(r, 0, 99);
    bool write = true;
    uint32_t offset = task_register(r);
    uint32_t start = 0;
    if (tb_rng_chance(r, (uint32_t)unit_knob(u, "resets"), 1000)) {
        offset = NPU_REG_CTRL;
        start = NPU_CTRL_SOFT_RESET_MASK;
        b->fill = tb_rng_chance(r, 1, 2) ? 0 : TASK_WORDS;
    } else if (b->fill < TASK_WORDS) { /* tasks are hardly ever legal with registers at 0 */
        offset = NPU_REG_GEMM_IFM_ADDR + 4u * b->fill++;
    } else if (kind < 18) {
        offset = ctrl[tb_rng_range(r, 0, REGS_UNITS - 1)];
        start = 1; /* EN of each unit */
    } else if (kind < 35) {
        offset = control[tb_rng_range(r, 0, 4)];
    } else if (kind < 65) {
        write = false;
        offset = tb_rng_chance(r, 2, 3) ? watched[tb_rng_range(r, 0, sizeof watched / sizeof *watched - 1)]
                                        : 4u * (uint32_t)tb_rng_range(r, 0, 127);
    } else if (kind < 70) {
        offset = 4u * (uint32_t)tb_rng_range(r, 0, 127);
        offset = offset == NPU_REG_CTRL ? NPU_REG_ID : offset;
    }
    uint32_t value = regs_plausible(r, offset);
    if (tb_rng_chance(r, (uint32_t)unit_knob(u, "wild"), 100)) {
        value = tb_rng_chance(r, 1, 2) ? tb_rng_u32(r) : regs_edgy(r, offset);
    }
    const uint8_t strb = b->fill < TASK_WORDS || tb_rng_chance(r, 7, 8) ? 0xfu : (uint8_t)(tb_rng_u32(r) & 0xfu);
    tb_lite_start(&b->bus, write, offset | (tb_rng_u32(r) & 3u), value | start, strb);
    b->captured = false;
}

/* Inputs of the units; completions during a soft reset, and all that a unit that is left out says, must not count. */
static void drive_units(bench *b, bool noise) {
    regs_in *in = &b->in;
    for (uint32_t i = 0; i < REGS_UNITS; i++) {
        const regs_slot *s = &b->m.slot[i];
        in->ready[i] = unit_go(&b->task_stall[i]);
        in->done[i] = unit_go(&b->done_stall[i]) && s->inflight > 0 && !b->m.resetting;
        tb_set(b->ready[i], in->ready[i]);
        tb_set(b->busy[i], s->present ? s->inflight > 0 : noise);
        tb_set(b->done[i], in->done[i] || ((b->m.resetting || !s->present) && noise));
    }
}

static void drive(const unit *u, bench *b) {
    tb_rng *r = &b->rng_event;
    regs_in *in = &b->in;
    const uint32_t rate = (uint32_t)unit_knob(u, "events");
    const bool alu_runs = b->m.slot[REGS_ALU].inflight > 0;
    in->bus_err = tb_rng_chance(r, rate, 1000) ? 1u << tb_rng_range(r, 0, 11) | (tb_rng_u32(r) & tb_rng_u32(r) & 0xfffu) : 0;
    in->events = (tb_rng_u64(r) & ((UINT64_C(1) << REGS_COUNTERS) - 1)) | 1u;
    in->level[tb_rng_range(r, 0, REGS_MARKS - 1)] = (uint16_t)tb_rng_small(r, 0, 65535);
    in->drained = tb_rng_chance(r, 1, 4);
    in->result_we = alu_runs && tb_rng_chance(r, 1, 4);
    in->result = tb_rng_u32(r);
    drive_units(b, in->bus_err != 0);
    tb_set(b->result_we, in->result_we || (b->m.resetting && in->bus_err != 0));
    tb_set(b->result, in->result);
    tb_set(b->bus_err, in->bus_err);
    tb_set(b->event, in->events);
    for (uint32_t i = 0; i < REGS_MARKS; i++) {
        tb_set_field(b->level, 16 * i, 16, in->level[i]);
    }
    tb_set(b->drained, in->drained);
}

/* ---- checks ---- */

static void check_outputs(unit *u, bench *b) {
    static const char *const names[REGS_UNITS] = {"task_valid_o", "alu_task_valid_o", "pool_task_valid_o"};
    for (uint32_t i = 0; i < 3; i++) {
        unit_expect_value(u, "irq", tb_get(b->irq[i]), ((b->m.irq_status & b->m.irq_enable) >> i) & 1u);
    }
    unit_expect_value(u, "srst_o", tb_get(b->srst), b->m.resetting);
    for (uint32_t i = 0; i < REGS_UNITS && !b->m.resetting; i++) {
        const bool valid = regs_model_valid(&b->m, i);
        unit_expect_value(u, names[i], tb_get(b->valid[i]), valid);
        if (valid && i == REGS_GEMM) {
            npu_task_expect(u, b->task[i], &b->m.gemm);
        } else if (valid && i == REGS_ALU) {
            npu_alu_task_expect(u, b->task[i], &b->m.alu);
        } else if (valid) {
            npu_pool_task_expect(u, b->task[i], &b->m.pool);
        }
    }
}

/* Follow the access; the write acts, the read looks, in the cycle after the last handshake on the address (and data) channel. */
static void follow_access(unit *u, bench *b) {
    const uint32_t offset = (uint32_t)b->bus.addr & 0x1fcu;
    if (b->capture_due) {
        b->capture_due = false;
        b->captured = true;
        b->check_read = !b->m.resetting || offset == NPU_REG_STATUS;
        b->read_value = regs_model_read(&b->m, offset);
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
            unit_fail(u, "read", "register 0x%03x, cycle %" PRIu64 ": got 0x%08" PRIx32 ", expected 0x%08" PRIx32, (unsigned)offset,
                      u->cycle, b->bus.value, b->read_value);
        }
    }
}

static void check_rules(unit *u, const bench *b) {
    if (b->mon.violations > 0) {
        char text[320];
        tb_axi_violation_text(&b->mon, &b->mon.first[0], text, sizeof text);
        unit_fail(u, tb_axi_rule_name(b->mon.first[0].rule), "%s", text);
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
    check_rules(u, b);
    const regs_write w = {(uint32_t)b->bus.addr & 0x1fcu, b->bus.value, b->bus.strb};
    const bool effect_now = b->effect_due;
    b->effect_due = false;
    follow_access(u, b);
    regs_model_step(&b->m, &b->in, effect_now ? &w : NULL);
    unit_edge(u);
}

static int find_ports(unit *u, bench *b) {
    char err[256] = "";
    static const char *const irq[3] = {"irq_alu_o", "irq_pool_o", "irq_gemm_o"};
    const struct {
        tb_sig *sig;
        const char *name;
    } ports[] = {{&b->valid[0], "task_valid_o"},     {&b->ready[0], "task_ready_i"},      {&b->task[0], "task_o"},
                 {&b->busy[0], "gemm_busy_i"},       {&b->done[0], "task_done_i"},        {&b->valid[1], "alu_task_valid_o"},
                 {&b->ready[1], "alu_task_ready_i"}, {&b->task[1], "alu_task_o"},         {&b->busy[1], "alu_busy_i"},
                 {&b->done[1], "alu_done_i"},        {&b->valid[2], "pool_task_valid_o"}, {&b->ready[2], "pool_task_ready_i"},
                 {&b->task[2], "pool_task_o"},       {&b->busy[2], "pool_busy_i"},        {&b->done[2], "pool_done_i"},
                 {&b->result_we, "alu_result_we_i"}, {&b->result, "alu_result_i"},        {&b->bus_err, "bus_err_i"},
                 {&b->event, "perf_event_i"},        {&b->level, "perf_level_i"},         {&b->srst, "srst_o"},
                 {&b->drained, "drained_i"}};
    for (size_t i = 0; i < 3; i++) {
        b->irq[i] = unit_port(u, irq[i]);
    }
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        *ports[i].sig = unit_port(u, ports[i].name);
    }
    unit_expect_value(u, "events", b->event.width, REGS_COUNTERS);
    unit_expect_value(u, "bits of levels", b->level.width, 16 * REGS_MARKS);
    if (tb_axi_bind(&b->port, &u->run.sim, "", true, err, sizeof err) != 0) {
        tb_result_fail(u->result, TB_ERROR, "bind", "%s: %s", u->name, err);
        return -1;
    }
    return 0;
}

static int setup(unit *u, bench *b, bool alu, bool pool) {
    if (find_ports(u, b) != 0 || regs_model_init(&b->m, alu, pool) != 0) {
        return -1;
    }
    tb_axi_mon_cfg mon;
    tb_axi_mon_defaults(&mon, "axil", &b->port);
    if (tb_axi_mon_init(&b->mon, &mon) != 0) {
        cm_device_free(b->m.regs);
        return -1;
    }
    tb_axi_mon_reset(&b->mon); /* the bench begins behind a reset */
    tb_lite_init(&b->bus, &b->port, (uint16_t)unit_knob(u, "gap"), unit_stream(u, "bus_timing"));
    b->rng = unit_stream(u, "access");
    b->rng_event = unit_stream(u, "event");
    for (uint32_t i = 0; i < REGS_UNITS; i++) {
        b->task_stall[i] = unit_stall_make(u, "task");
        b->done_stall[i] = unit_stall_make(u, "done");
        b->task_stall[i].rng = tb_rng_fork(&b->task_stall[i].rng, i);
        b->done_stall[i].rng = tb_rng_fork(&b->done_stall[i].rng, i);
    }
    return 0;
}

int regs_bench_run(unit *u, bool alu, bool pool) {
    bench *b = calloc(1, sizeof *b);
    if (!b || setup(u, b, alu, pool) != 0) {
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
    tb_axi_mon_finish(&b->mon, u->cycle);
    check_rules(u, b);
    tb_axi_mon_free(&b->mon);
    cm_device_free(b->m.regs);
    free(b);
    return 0;
}
