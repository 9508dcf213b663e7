/*
 * npu_regs.c - the register file with its task slots: the effect of each access and its cycle, tasks, interrupts, soft
 * reset (header of npu_regs.sv).
 *
 * Plain registers and the decoding of tasks are those of the golden model; behaviour that depends on time is modelled
 * here cycle by cycle.
 */
#include "task_bits.h"

#include <inttypes.h>

#include "npu_regs.h"
#include "wires.h"

enum { GEMM, ALU, POOL, UNITS }; /* in the order of ERR, and of npu_score_kind */

#define SRST_CYCLES 4u /* shortest soft reset */

static const uint32_t ctrl_reg[UNITS] = {NPU_REG_GEMM_CTRL, NPU_REG_ALU_CTRL, NPU_REG_POOL_CTRL};
static const uint32_t en_mask[UNITS] = {NPU_GEMM_CTRL_EN_MASK, NPU_ALU_CTRL_EN_MASK, NPU_POOL_CTRL_EN_MASK};
static const uint32_t irq_bit[UNITS] = {NPU_IRQ_STATUS_GEMM_MASK, NPU_IRQ_STATUS_ALU_MASK, NPU_IRQ_STATUS_POOL_MASK};
static const uint32_t busy_mask[UNITS] = {NPU_STATUS_GEMM_BUSY_MASK, NPU_STATUS_ALU_BUSY_MASK,
                                          NPU_STATUS_POOL_BUSY_MASK};
static const uint32_t ready_mask[UNITS] = {NPU_STATUS_GEMM_READY_MASK, NPU_STATUS_ALU_READY_MASK,
                                           NPU_STATUS_POOL_READY_MASK};
static const char *const task_names[UNITS] = {"GEMM task", "ALU task", "POOL task"};

#define COUNT(table) (sizeof(table) / sizeof *(table))
static const char irq_ports[] = "irq_alu_o, irq_pool_o, irq_gemm_o";
/* In the order of state.unit. */
static const char *const slot_ports[UNITS] = {
    "task_valid_o, task_ready_i, task_o, gemm_busy_i, task_done_i",
    "alu_task_valid_o, alu_task_ready_i, alu_task_o, alu_busy_i, alu_done_i",
    "pool_task_valid_o, pool_task_ready_i, pool_task_o, pool_busy_i, pool_done_i"};

/* A task from its start to its handshake. */
typedef struct slot {
    bool present;
    bool pending, good, compared;
    uint32_t left; /* cycles until it is offered or dropped */
    npu_score_task task;
} slot;

/* What the bus has of an access: address, data, response. */
enum { WR_ADDR = 1, WR_DATA = 2, WR_RESP = 4, RD_ADDR = 8, RD_RESP = 16 };

typedef struct access {
    uint32_t addr, data, strobes;
    uint64_t count;
} access;

/* Those of reads first: polled registers make most of the calls. */
#define PORTS                                                                                                          \
    awvalid_i, wvalid_i, bvalid_o, arvalid_i, rvalid_o, bus_err_i, arready_o, rready_i, rdata_o, rresp_o, araddr_i,    \
        awaddr_i, awready_o, wdata_i, wstrb_i, wready_o, bresp_o, bready_i, alu_result_we_i, alu_result_i,             \
        perf_event_i, perf_level_i, srst_o, drained_i
#define PERF_PORTS clr_i, event_i, level_i, run_i, snap_i, clear_i, rd_i, sel_i, lo_o, hi_o
typedef struct state {
    npu_wires wires; /* what calm() depends on, beside the state of the check */
    bool calm;       /* at the last look, after which nothing of the state has changed */
    bool perf_apart; /* events and levels are other variables at npu_perf than at the port */
    bool resetting;
    bool rdata_known;
    uint32_t bus; /* WR_ADDR and so on */
    uint32_t rdata_expected;
    access rd, wr;
    uint32_t count[UNITS];
    TB_PORTS(ports, PORTS);
    tb_sig irq[3];
    struct {
        tb_sig valid, ready, task, busy, done;
    } unit[UNITS];                /* slot_ports */
    TB_SIGNALS(perf, PERF_PORTS); /* npu_perf inside */
    cm_device *regs;
    slot slot[UNITS];
    bool has_before;
    cm_gemm_task before; /* GEMM task accepted last */
    uint32_t err, irq_status, irq_enable, alu_result, alu_next;
    uint32_t reset_age;
} state;

/* ---- opening ---- */

/* The model of the registers executes no tasks. */
static bool no_read(void *ctx, uint32_t addr, void *dst, uint32_t bytes) {
    (void)ctx, (void)addr, (void)dst, (void)bytes;
    return false;
}

static bool no_write(void *ctx, uint32_t addr, const void *src, uint32_t bytes) {
    (void)ctx, (void)addr, (void)src, (void)bytes;
    return false;
}

/* A change of a wire that calm() looks at is seen, unless the check is called in every cycle. */
static int open_wires(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const tb_sig set[] = {s->unit[GEMM].done, s->unit[ALU].done, s->unit[POOL].done, s->perf.snap_i, s->perf.clear_i};
    const tb_sig changed[] = {s->irq[0],          s->irq[1],           s->irq[2],           s->unit[GEMM].busy,
                              s->unit[ALU].busy,  s->unit[POOL].busy,  s->perf.run_i,       s->unit[GEMM].valid,
                              s->unit[ALU].valid, s->unit[POOL].valid, s->unit[GEMM].ready, s->unit[ALU].ready,
                              s->unit[POOL].ready};
    const tb_sig others[] = {s->srst_o, s->perf.clr_i, s->alu_result_we_i}; /* and with them .wake */
    npu_wire wire[COUNT(set) + COUNT(changed) + COUNT(others)];
    size_t n = 0;
    const int bad = npu_score_wakes(c, set, COUNT(set), changed, COUNT(changed), err, err_size);
    for (size_t i = 0; i < COUNT(set); i++) {
        wire[n++] = npu_wire_of(set[i], 1);
    }
    for (size_t i = 0; i < COUNT(changed); i++) {
        wire[n++] = npu_wire_of(changed[i], 1);
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        wire[n++] = npu_wire_of(others[i], 1);
    }
    return bad != 0 ? -1 : npu_wires_open(&s->wires, wire, n) == 0 ? 0 : opt_fail(err, err_size, "out of memory");
}

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const cm_mem mem = {NULL, no_read, no_write};
    for (size_t i = 0; i < UNITS; i++) {
        const tb_ports ports = {slot_ports[i], &s->unit[i].valid, sizeof s->unit[i] / sizeof(tb_sig), NULL};
        if (tb_tap_ports(c->tap, ports, err, err_size) != 0) {
            return -1;
        }
    }
    if (tb_tap_ports(c->tap, (tb_ports){irq_ports, s->irq, 3, NULL}, err, err_size) != 0 ||
        tb_taps_ports(&c->all->taps, "npu_perf", 0, TB_PORTS_OF(s->perf, PERF_PORTS), err, err_size) != 0) {
        return -1;
    }
    s->regs = cm_device_new(npu_score_n(c), &mem);
    if (s->regs == NULL) {
        return opt_fail(err, err_size, "out of memory");
    }
    s->slot[GEMM].present = true;
    s->slot[ALU].present = tb_taps_find(&c->all->taps, "alu_check", 0) != NULL;
    s->slot[POOL].present = tb_taps_find(&c->all->taps, "pool_check", 0) != NULL;
    cm_device_set_units(s->regs, s->slot[ALU].present, s->slot[POOL].present);
    cm_device_set_int16(s->regs, npu_score_int16(c));
    s->perf_apart = s->perf.event_i.ptr != s->perf_event_i.ptr || s->perf.level_i.ptr != s->perf_level_i.ptr;
    return open_wires(c, err, err_size);
}

static void close(tb_check *c) {
    state *s = (state *)c->state;
    cm_device_free(s->regs);
    npu_wires_close(&s->wires);
}

/* ---- state ---- */

static void reset_registers(state *s) {
    cm_device_write(s->regs, NPU_REG_CTRL, NPU_CTRL_SOFT_RESET_MASK, 0xf);
    s->err = s->irq_status = s->irq_enable = s->alu_result = s->alu_next = 0;
    s->has_before = false;
    for (uint32_t i = 0; i < UNITS; i++) {
        s->slot[i].pending = false;
        s->count[i] = 0;
    }
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    reset_registers(s);
    s->wr = s->rd = (access){0};
    s->bus = 0;
    s->resetting = s->calm = false;
}

static bool offered(const slot *t) {
    return t->pending && t->left == 0;
}

static uint32_t status(const state *s) {
    uint32_t value = 0;
    if (s->resetting) {
        return NPU_STATUS_RESETTING_MASK;
    }
    for (uint32_t i = 0; i < UNITS; i++) {
        const slot *t = &s->slot[i];
        value |= t->pending || (t->present && npu_score_b(s->unit[i].busy) != 0) ? busy_mask[i] : 0u;
        value |= t->pending ? 0u : ready_mask[i];
    }
    return value;
}

__attribute__((noinline, hot)) static uint32_t read_register(const state *s, uint32_t offset) {
    switch (offset) {
    case NPU_REG_STATUS:
        return status(s);
    case NPU_REG_IRQ_STATUS:
        return s->irq_status;
    case NPU_REG_IRQ_ID:
        return (uint32_t)__builtin_ffs((int)(s->irq_status & s->irq_enable & 7u));
    case NPU_REG_ERR:
        return s->err;
    case NPU_REG_GEMM_COUNT:
        return s->count[GEMM] & 0xffffu;
    case NPU_REG_ALU_COUNT:
        return s->count[ALU] & 0xffffu;
    case NPU_REG_POOL_COUNT:
        return s->count[POOL] & 0xffffu;
    case NPU_REG_ALU_RESULT:
        return s->alu_result;
    case NPU_REG_PERF_LO:
        return (uint32_t)tb_get(s->perf.lo_o);
    case NPU_REG_PERF_HI:
        return (uint32_t)tb_get(s->perf.hi_o);
    default:
        return cm_device_read(s->regs, offset);
    }
}

/* ---- outputs ---- */

static void compare_task(tb_check *c, state *s, uint32_t unit) {
    slot *t = &s->slot[unit];
    if (!t->compared || npu_score_b(s->unit[unit].ready) != 0 || c->all->every_cycle) {
        npu_score_task_same(c, task_names[unit], (npu_score_kind)unit, s->unit[unit].task, &t->task);
        t->compared = true;
    }
}

/* Interrupts, resets and tasks. */
static void compare_outputs(tb_check *c, state *s) {
    static const char *const valid_names[UNITS] = {"GEMM task valid", "ALU task valid", "POOL task valid"};
    static const char *const irq_names[3] = {"ALU interrupt", "POOL interrupt", "GEMM interrupt"};
    for (uint32_t i = 0; i < 3; i++) {
        tb_check_value(c, irq_names[i], c->task, npu_score_b(s->irq[i]), (s->irq_status & s->irq_enable) >> i & 1u);
    }
    tb_check_value(c, "soft reset", c->task, npu_score_b(s->srst_o), s->resetting);
    tb_check_value(c, "counter reset", c->task, npu_score_b(s->perf.clr_i), s->resetting);
    for (uint32_t i = 0; i < UNITS && !s->resetting; i++) {
        if (tb_check_value(c, valid_names[i], c->task, npu_score_b(s->unit[i].valid), offered(&s->slot[i])) &&
            offered(&s->slot[i])) {
            compare_task(c, s, i);
        }
    }
}

__attribute__((hot)) static void compare_responses(tb_check *c, const state *s) {
    const bool write = (s->bus & WR_RESP) != 0, read = (s->bus & RD_RESP) != 0;
    tb_check_value(c, "write response", s->wr.count, npu_score_b(s->bvalid_o), write);
    tb_check_value(c, "read response", s->rd.count, npu_score_b(s->rvalid_o), read);
    if (read && s->rdata_known && npu_score_w(s->rdata_o) != s->rdata_expected) {
        tb_check_failf(c, "read data", s->rd.count, "register 0x%03" PRIx32 "|0x%08" PRIx32 "|0x%08" PRIx32, s->rd.addr,
                       npu_score_w(s->rdata_o), s->rdata_expected);
    }
    tb_check_value(c, "read response", s->rd.count, read ? npu_score_b(s->rresp_o) : 0, 0);
    tb_check_value(c, "write response", s->wr.count, write ? npu_score_b(s->bresp_o) : 0, 0);
}

/* The same without writes, for most cycles: does something differ? */
static inline bool read_differs(const state *s) {
    const bool read = (s->bus & RD_RESP) != 0;
    return npu_score_b(s->rvalid_o) != read ||
           (read && ((s->rdata_known && npu_score_w(s->rdata_o) != s->rdata_expected) || npu_score_b(s->rresp_o) != 0));
}

/* ---- one edge ---- */

typedef struct effect {
    uint32_t clear_irq, clear_err;
    bool start[UNITS], reset, snap, clear;
} effect;

/* Effect of the write that is executed in this cycle. */
static effect write_effect(state *s) {
    effect e = {0};
    const uint32_t offset = s->wr.addr;
    uint32_t value = s->wr.data, ones = 0;
    for (uint32_t i = 0; i < 4; i++) {
        ones |= (s->wr.strobes >> i) & 1u ? value & (0xffu << (8 * i)) : 0;
    }
    e.clear_irq = offset == NPU_REG_IRQ_STATUS ? ones : 0;
    e.clear_err = offset == NPU_REG_ERR ? ones : 0;
    e.reset = offset == NPU_REG_CTRL && (ones & NPU_CTRL_SOFT_RESET_MASK) != 0;
    e.snap = offset == NPU_REG_PERF_CTRL && (ones & NPU_PERF_CTRL_SNAPSHOT_MASK) != 0;
    e.clear = offset == NPU_REG_PERF_CTRL && (ones & NPU_PERF_CTRL_CLEAR_MASK) != 0;
    for (uint32_t i = 0; i < UNITS; i++) {
        if (offset == ctrl_reg[i]) {
            e.start[i] = (ones & en_mask[i]) != 0;
            value &= ~en_mask[i]; /* the model of the registers must not execute it */
        }
    }
    if (offset != NPU_REG_CTRL) {
        cm_device_write(s->regs, offset, value, s->wr.strobes);
        s->irq_enable = offset == NPU_REG_IRQ_ENABLE ? cm_device_read(s->regs, offset) : s->irq_enable;
    }
    return e;
}

__attribute__((hot)) static void start(tb_check *c, state *s, uint32_t unit) {
    static const uint32_t latency[UNITS] = {10, 4, 6};
    slot *t = &s->slot[unit];
    uint32_t regs[NPU_SCORE_REGS];
    for (uint32_t i = 0; i < NPU_SCORE_REGS; i++) {
        regs[i] = cm_device_read(s->regs, 4 * i);
    }
    t->good = npu_score_task_decode((npu_score_kind)unit, npu_score_n(c), regs, &t->task);
    t->left = latency[unit];
    if (unit == GEMM) {
        t->left += (regs[NPU_REG_GEMM_CTRL / 4] & NPU_GEMM_CTRL_WGT_RES_MASK) != 0 ? 7 : 0;
        t->good = t->good && (!t->task.gemm.wide || npu_score_int16(c)) &&
                  cm_gemm_follows(s->has_before ? &s->before : NULL, &t->task.gemm);
        s->has_before = s->has_before || t->good;
        s->before = t->good ? t->task.gemm : s->before;
    }
    t->pending = true;
    t->compared = false;
    t->left--;
    c->task++;
}

/* The pending task of a unit: checked, accepted by the unit, or a new one. Returns the ERR bits that it sets. */
static uint32_t step_slot(tb_check *c, state *s, uint32_t unit, bool begin) {
    slot *t = &s->slot[unit];
    const bool was_pending = t->pending;
    uint32_t err = 0;
    if (!t->present) {
        return begin ? NPU_ERR_CONFIG_MASK : 0;
    }
    if (offered(t)) {
        t->pending = npu_score_b(s->unit[unit].ready) == 0;
    } else if (t->pending && --t->left == 0 && !t->good) {
        t->pending = false;
        err = NPU_ERR_CONFIG_MASK;
    }
    if (begin && was_pending) {
        err |= NPU_ERR_OVERRUN_MASK;
    } else if (begin) {
        start(c, s, unit);
    }
    return err;
}

static void step_units(tb_check *c, state *s, const effect *e) {
    const uint32_t bus_err = (uint32_t)tb_get(s->bus_err_i);
    s->irq_status &= ~e->clear_irq;
    s->err &= ~e->clear_err;
    for (uint32_t i = 0; i < UNITS; i++) {
        const uint32_t err = step_slot(c, s, i, e->start[i]) | (bus_err >> (4 * i) & 0xfu);
        const bool done = s->slot[i].present && npu_score_b(s->unit[i].done) != 0;
        s->count[i] += done;
        s->err |= err << (8 * i);
        s->irq_status |= done || err != 0 ? irq_bit[i] : 0;
    }
    if (s->slot[ALU].present) {
        s->alu_next = npu_score_b(s->alu_result_we_i) != 0 ? (uint32_t)tb_get(s->alu_result_i) : s->alu_next;
        s->alu_result = npu_score_b(s->unit[ALU].done) != 0 ? s->alu_next : s->alu_result;
    }
}

/* Events and levels at the counters. */
static void compare_levels(tb_check *c, const state *s) {
    tb_check_value(c, "events", c->task, tb_get(s->perf.event_i), tb_get(s->perf_event_i));
    if (!npu_score_same(s->perf.level_i.ptr, s->perf_level_i.ptr, (uint32_t)tb_sig_bytes(s->perf_level_i))) {
        tb_check_fail(c, "levels", c->task, NULL, "others at npu_perf", "those of the port");
    }
}

static void compare_perf(tb_check *c, const state *s, const effect *e) {
    const uint32_t any = NPU_STATUS_GEMM_BUSY_MASK | NPU_STATUS_ALU_BUSY_MASK | NPU_STATUS_POOL_BUSY_MASK;
    tb_check_value(c, "count enable", c->task, npu_score_b(s->perf.run_i), (status(s) & any) != 0);
    tb_check_value(c, "snapshot", s->wr.count, npu_score_b(s->perf.snap_i), e->snap);
    tb_check_value(c, "counter clear", s->wr.count, npu_score_b(s->perf.clear_i), e->clear);
}

/* A read of a counter is accepted. */
__attribute__((noinline)) static void compare_counter(tb_check *c, const state *s) {
    tb_check_value(c, "counter read", s->rd.count, npu_score_b(s->perf.rd_i), 1);
    tb_check_value(c, "counter number", s->rd.count, tb_get(s->perf.sel_i), cm_device_read(s->regs, NPU_REG_PERF_SEL));
}

/* The handshake of a response; a read samples its register in the cycle after its address. */
static inline void step_read(state *s) {
    s->bus &= npu_score_b(s->rready_i) != 0 ? ~(uint32_t)RD_RESP : UINT32_MAX;
    if ((s->bus & (RD_ADDR | RD_RESP)) == RD_ADDR) {
        s->rdata_known = !s->resetting || s->rd.addr == NPU_REG_STATUS;
        s->rdata_expected = read_register(s, s->rd.addr);
        s->rd.count++;
        s->bus ^= RD_ADDR | RD_RESP;
    }
}

static inline void request_read(tb_check *c, state *s, bool resetting) {
    if (npu_score_fire(s->arvalid_i, s->arready_o)) {
        s->bus |= RD_ADDR;
        s->rd.addr = npu_score_h(s->araddr_i) & 0x1fcu;
        if ((s->rd.addr == NPU_REG_PERF_LO || s->rd.addr == NPU_REG_PERF_HI) && !resetting) {
            compare_counter(c, s);
        }
    }
}

/* True: a write is executed, in the cycle after its last handshake. */
static bool step_write(state *s) {
    s->bus &= npu_score_b(s->bready_i) != 0 ? ~(uint32_t)WR_RESP : UINT32_MAX;
    if ((s->bus & (WR_ADDR | WR_DATA | WR_RESP)) != (WR_ADDR | WR_DATA)) {
        return false;
    }
    s->wr.count++;
    s->bus ^= WR_ADDR | WR_DATA | WR_RESP;
    return true;
}

static void request_write(state *s) {
    if (npu_score_fire(s->awvalid_i, s->awready_o)) {
        s->bus |= WR_ADDR;
        s->wr.addr = npu_score_h(s->awaddr_i) & 0x1fcu;
    }
    if (npu_score_fire(s->wvalid_i, s->wready_o)) {
        s->bus |= WR_DATA;
        s->wr.data = npu_score_w(s->wdata_i);
        s->wr.strobes = npu_score_b(s->wstrb_i);
    }
}

/*
 * No task is pending but those that wait for their units, and the interrupts have their final values: only the count
 * enable depends on the units, and an edge changes nothing but by an access.
 */
__attribute__((noinline, hot)) static bool calm(const state *s) {
    if (s->resetting) {
        return false;
    }
    uint32_t any = npu_score_b(s->srst_o) | npu_score_b(s->perf.clr_i) | npu_score_b(s->perf.snap_i) |
                   npu_score_b(s->perf.clear_i) | npu_score_b(s->alu_result_we_i) | *(const uint16_t *)s->bus_err_i.ptr;
    uint32_t busy = 0;
    for (uint32_t i = 0; i < UNITS; i++) {
        const uint32_t waits = offered(&s->slot[i]) && s->slot[i].compared && npu_score_b(s->unit[i].ready) == 0;
        any |= (npu_score_b(s->unit[i].valid) ^ waits) | npu_score_b(s->unit[i].done) | (s->slot[i].pending ^ waits);
        busy |= s->slot[i].present ? npu_score_b(s->unit[i].busy) | waits : 0;
    }
    const uint32_t irq = npu_score_b(s->irq[0]) | npu_score_b(s->irq[1]) << 1 | npu_score_b(s->irq[2]) << 2;
    return any == 0 && irq == (s->irq_status & s->irq_enable) && npu_score_b(s->perf.run_i) == (busy != 0);
}

/* Tasks and interrupts, and the effect of a write that is executed. */
__attribute__((noinline, hot)) static void step_registers(tb_check *c, state *s, bool write) {
    if (s->resetting) { /* writes and events are lost */
        reset_registers(s);
        s->resetting = !(++s->reset_age >= SRST_CYCLES && npu_score_b(s->drained_i) != 0);
        return;
    }
    const effect e = write ? write_effect(s) : (effect){0};
    compare_perf(c, s, &e);
    step_units(c, s, &e);
    if (e.reset) {
        s->resetting = true;
        s->reset_age = 0;
    }
}

/* Any cycle: writes, tasks, interrupts; with `look`, a wire of calm() has changed. */
__attribute__((noinline, hot)) static void general_cycle(tb_check *c, state *s, bool look) {
    const bool resetting = s->resetting;
    if (look || !s->calm) {
        s->calm = !s->perf_apart && !c->all->every_cycle && calm(s);
    }
    if (!s->calm) {
        compare_outputs(c, s);
    }
    if (s->perf_apart && !resetting) {
        compare_levels(c, s);
    }
    compare_responses(c, s);
    step_read(s);
    const bool write = step_write(s);
    if (write || !s->calm) {
        step_registers(c, s, write);
        s->calm = false; /* not known */
    }
    request_write(s);
    request_read(c, s, resetting);
    c->again = s->bus != 0 || !s->calm; /* otherwise every difference wakes it */
}

/* In most cycles a register is read, and nothing else happens. */
__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint64_t look = npu_wires_changed(&s->wires) | npu_score_h(s->bus_err_i);
    const uint32_t writes = npu_score_b(s->awvalid_i) | npu_score_b(s->wvalid_i) | npu_score_b(s->bvalid_o) |
                            (s->bus & (WR_ADDR | WR_DATA | WR_RESP));
    if (__builtin_expect((look | writes) != 0 || !s->calm || read_differs(s), 0)) {
        general_cycle(c, s, look != 0);
        return;
    }
    step_read(s);
    request_read(c, s, false);
    c->again = s->bus != 0;
}

const tb_check_ops npu_score_npu_regs = {
    .unit = "npu_regs",
    .inputs = (const char *const[]){"gemm_check", "alu_check", "pool_check", "npu_perf", "alu", NULL},
    TB_STATE(state, PORTS),
    .wake = "awvalid_i, wvalid_i, arvalid_i, bvalid_o, rvalid_o, srst_o, alu_result_we_i, bus_err_i",
    .open = open,
    .clear = clear,
    .cycle = cycle,
    .close = close};
