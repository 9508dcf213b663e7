/* regs_bench.c - random register accesses, events and task handshakes. */
#include "regs_bench.h"

#include <stdlib.h>

#include "npu_regs.h"

enum { GEMM, ALU, POOL, UNITS };

#define COUNTERS 36u
#define MARKS 12u
#define TASK_WORDS 62u /* registers from GEMM_IFM_ADDR to POOL_CTRL, with a hole of three */

const tb_knob regs_bench_knobs[REGS_BENCH_KNOBS] = {
    {"accesses", 1, 100000, TB_KNOB_UNIFORM, NULL, NULL, "register accesses"},
    {"gap", 0, 15, TB_KNOB_SMALL, NULL, NULL, "longest delay of a bus channel"},
    {"events", 0, 500, TB_KNOB_SMALL, NULL, NULL, "bus errors and idle completions in 1000 cycles"},
    {"resets", 0, 50, TB_KNOB_SMALL, NULL, NULL, "soft resets in 1000 accesses"},
    {"wild", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of written values that are plain random"},
    UNIT_STALL_KNOB("task", "percent of cycles in which no task is accepted"),
    UNIT_STALL_KNOB("done", "percent of cycles in which no task completes"),
    UNIT_STALL_RUN_KNOB,
};

void regs_bench_constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "accesses", seed, 500, 1500);
}

#define PORTS alu_result_we_i, alu_result_i, bus_err_i, perf_event_i, perf_level_i, srst_o, drained_i
static const char *const unit_names[UNITS] = {"task_valid_o, task_ready_i, gemm_busy_i, task_done_i",
                                              "alu_task_valid_o, alu_task_ready_i, alu_busy_i, alu_done_i",
                                              "pool_task_valid_o, pool_task_ready_i, pool_busy_i, pool_done_i"};
typedef struct bench {
    tb_lite_master *bus;
    TB_PORTS(ports, PORTS);
    struct {
        tb_sig valid, ready, busy, done;
    } unit[UNITS]; /* unit_names */
    bool present[UNITS];
    uint32_t inflight[UNITS]; /* tasks that a unit has taken and not completed */
    /* the task registers from this one on are still to be written once, TASK_WORDS: all are */
    uint32_t fill;
    unit_stall task_stall[UNITS], done_stall[UNITS];
    tb_rng rng, rng_event;
} bench;

static uint32_t task_register(tb_rng *r) {
    return NPU_REG_GEMM_IFM_ADDR + 4u * (uint32_t)tb_rng_range(r, 0, TASK_WORDS - 1);
}

static void start_access(const unit *u, bench *b) {
    static const uint32_t ctrl[UNITS] = {NPU_REG_GEMM_CTRL, NPU_REG_ALU_CTRL, NPU_REG_POOL_CTRL};
    static const uint32_t control[] = {NPU_REG_IRQ_STATUS, NPU_REG_IRQ_ENABLE, NPU_REG_ERR, NPU_REG_PERF_CTRL,
                                       NPU_REG_PERF_SEL};
    static const uint32_t watched[] = {NPU_REG_STATUS,     NPU_REG_IRQ_STATUS, NPU_REG_IRQ_ID,     NPU_REG_ERR,
                                       NPU_REG_GEMM_COUNT, NPU_REG_ALU_COUNT,  NPU_REG_POOL_COUNT, NPU_REG_ALU_RESULT,
                                       NPU_REG_PERF_LO,    NPU_REG_PERF_HI};
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
        offset = ctrl[tb_rng_range(r, 0, UNITS - 1)];
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
    tb_lite_start(b->bus, write, offset | (tb_rng_u32(r) & 3u), value | start, strb);
}

/*
 * Inputs of the units; completions during a soft reset, and all inputs of an absent unit, must be ignored. Returns
 * which units complete a task.
 */
static uint32_t drive_units(bench *b, bool resetting, bool noise) {
    uint32_t all = 0;
    for (uint32_t i = 0; i < UNITS; i++) {
        const bool ready = unit_go(&b->task_stall[i]);
        const bool done = unit_go(&b->done_stall[i]) && b->inflight[i] > 0 && !resetting;
        tb_set(b->unit[i].ready, ready);
        tb_set(b->unit[i].busy, b->present[i] ? b->inflight[i] > 0 : noise);
        tb_set(b->unit[i].done, done || ((resetting || !b->present[i]) && noise));
        all |= (uint32_t)done << i;
    }
    return all;
}

static void drive(const unit *u, bench *b) {
    tb_rng *r = &b->rng_event;
    const uint32_t rate = (uint32_t)unit_knob(u, "events");
    const bool resetting = tb_get(b->srst_o) != 0, alu_runs = b->inflight[ALU] > 0;
    uint32_t bus_err =
        tb_rng_chance(r, rate, 1000) ? 1u << tb_rng_range(r, 0, 11) | (tb_rng_u32(r) & tb_rng_u32(r) & 0xfffu) : 0;
    tb_set(b->perf_event_i, (tb_rng_u64(r) & ((UINT64_C(1) << COUNTERS) - 1)) | 1u);
    const uint64_t level = tb_rng_small(r, 0, 65535);
    tb_set_field(b->perf_level_i, 16 * (uint32_t)tb_rng_range(r, 0, MARKS - 1), 16, level);
    tb_set(b->drained_i, tb_rng_chance(r, 1, 4));
    const bool result_we = alu_runs && tb_rng_chance(r, 1, 4);
    tb_set(b->alu_result_i, tb_rng_u32(r));
    const uint32_t done = drive_units(b, resetting, bus_err != 0);
    tb_set(b->alu_result_we_i, result_we || (resetting && bus_err != 0));
    if (done != 0 && tb_rng_chance(r, 1, 8)) { /* the last access of a task fails: both set its interrupt */
        const uint32_t i = done & 1u ? 0 : done & 2u ? 1 : 2;
        bus_err |= 1u << (4 * i + (uint32_t)tb_rng_range(r, 0, 3));
    }
    tb_set(b->bus_err_i, bus_err);
}

static void count_tasks(bench *b) {
    for (uint32_t i = 0; i < UNITS; i++) {
        b->inflight[i] += tb_get(b->unit[i].valid) && tb_get(b->unit[i].ready);
        b->inflight[i] -= b->present[i] && tb_get(b->unit[i].done);
        b->inflight[i] = tb_get(b->srst_o) ? 0 : b->inflight[i];
    }
}

static void cycle(unit *u, bench *b) {
    drive(u, b);
    unit_settle(u);
    count_tasks(b);
    unit_edge(u);
}

static int setup(unit *u, bench *b, bool alu, bool pool) {
    tb_axi_profile timing = *tb_axi_profile_find("ideal");
    for (uint32_t i = 0; i < UNITS; i++) {
        unit_ports(u, (tb_ports){unit_names[i], &b->unit[i].valid, sizeof b->unit[i] / sizeof(tb_sig), NULL});
    }
    unit_ports(u, TB_PORTS_OF(b->ports, PORTS));
    unit_expect_value(u, "events", b->perf_event_i.width, COUNTERS);
    unit_expect_value(u, "bits of levels", b->perf_level_i.width, 16 * MARKS);
    timing.lite_gap_max = (uint16_t)unit_knob(u, "gap");
    tb_run_port *port = unit_bus(u, (tb_run_port_cfg){.name = "axil", .prefix = ""}, &timing);
    if (port == NULL) {
        return -1;
    }
    b->bus = &port->lite;
    b->rng = unit_stream(u, "access");
    b->rng_event = unit_stream(u, "event");
    b->present[GEMM] = true;
    b->present[ALU] = alu;
    b->present[POOL] = pool;
    unit_stalls(u, "task", b->task_stall, UNITS);
    unit_stalls(u, "done", b->done_stall, UNITS);
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
        while (unit_ok(u) && b->bus->busy) {
            cycle(u, b);
        }
        for (uint64_t idle = tb_rng_small(&b->rng, 0, 12); idle > 0 && unit_ok(u); idle--) {
            cycle(u, b);
        }
    }
    free(b);
    return 0;
}
