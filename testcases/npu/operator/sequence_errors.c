/*
 * sequence_errors.c - error responses in the middle of a sequence: the requesting unit reports them, the others are not
 * affected, and the next sequence is clean.
 *
 * In tandem the device derives from the addresses which unit's ERR bit and interrupt must rise, and compares the
 * outputs of the other units (docs/architecture.md section 5); what is checked here holds for the RTL alone, too.
 */
#include "sequence.h"

#include "npu_regs.h"

#define FIRST_BURST_COUNTER NPU_PERF_SEL_SEL_READ0_BURSTS /* reads of channel 0, 1, writes of channel 0, 1 */

/* Bits of ERR of each unit. */
static const struct {
    uint32_t bus[2][2]; /* [0 read, 1 write][channel] */
    uint32_t irq;
} units[NPU_UNIT_COUNT] = {
    [NPU_UNIT_ALU] = {{{NPU_ERR_ALU_BUS_RD0_MASK, NPU_ERR_ALU_BUS_RD1_MASK},
                       {NPU_ERR_ALU_BUS_WR0_MASK, NPU_ERR_ALU_BUS_WR1_MASK}},
                      NPU_IRQ_STATUS_ALU_MASK},
    [NPU_UNIT_POOL] = {{{NPU_ERR_POOL_BUS_RD0_MASK, NPU_ERR_POOL_BUS_RD1_MASK},
                        {NPU_ERR_POOL_BUS_WR0_MASK, NPU_ERR_POOL_BUS_WR1_MASK}},
                       NPU_IRQ_STATUS_POOL_MASK},
    [NPU_UNIT_GEMM] = {{{NPU_ERR_BUS_RD0_MASK, NPU_ERR_BUS_RD1_MASK}, {NPU_ERR_BUS_WR0_MASK, NPU_ERR_BUS_WR1_MASK}},
                       NPU_IRQ_STATUS_GEMM_MASK},
};

/* Bits of ERR that an error may set: of the units that have tasks. */
static uint32_t bits_of(const seq_list *list, const seq_error *e) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        bits |= units[list->task[i].unit].bus[e->write ? 1 : 0][e->channel];
    }
    return bits;
}

/* The tasks make the same bursts in each run from a reset on, so the clean run determines their number. */
static void draw_errors(tc_run *run, seq_list *list, uint32_t errors, const uint64_t *perf) {
    const tb_rng base = tb_rng_stream(run->seed, "sequence.errors");
    for (uint32_t i = 0; i < errors; i++) {
        tb_rng rng = tb_rng_fork(&base, i);
        const uint32_t which = (uint32_t)tb_rng_range(&rng, 0, 3);
        const uint64_t bursts = perf[FIRST_BURST_COUNTER + which];
        if (bursts == 0) {
            continue; /* no traffic in this direction: for example tasks without odd channels */
        }
        const uint32_t burst = (uint32_t)tb_rng_range(&rng, 0, bursts - 1);
        list->error[list->errors++] = (seq_error){.write = which >= 2, .channel = which % 2, .burst = burst};
        npu_dev_inject_error(run->dev, which % 2, which / 2, burst);
    }
}

static bool check_reported(tc_run *run, const seq_list *list) {
    uint32_t err = 0;
    uint32_t irq = 0;
    uint32_t allowed = 0;
    uint32_t want_irq = 0;
    if (!tc_read(run, NPU_REG_ERR, &err) || !tc_read(run, NPU_REG_IRQ_STATUS, &irq)) {
        return false;
    }
    for (uint32_t i = 0; i < list->errors; i++) {
        const uint32_t bits = bits_of(list, &list->error[i]);
        allowed |= bits;
        if ((err & bits) == 0) {
            tc_fail(run, "sequence: error not reported",
                    "ERR is 0x%08X after SLVERR on %s burst %u of channel %u, expected one of the bits 0x%08X", err,
                    list->error[i].write ? "write" : "read", list->error[i].burst, list->error[i].channel, bits);
            return false;
        }
    }
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        const uint32_t all = units[u].bus[0][0] | units[u].bus[0][1] | units[u].bus[1][0] | units[u].bus[1][1];
        want_irq |= (err & all) != 0 ? units[u].irq : 0;
    }
    if ((err & ~allowed) != 0 || (want_irq & ~irq) != 0) {
        tc_fail(run, "sequence: wrong error",
                "ERR is 0x%08X, expected no bits but 0x%08X; IRQ_STATUS is 0x%X, expected 0x%X", err, allowed, irq,
                want_irq);
        return false;
    }
    return true;
}

static bool restart(tc_run *run, const char *when) {
    const npu_status status = npu_init(&run->npu, npu_dev_hal(run->dev), run->npu.wait, run->npu.timeout_us);
    if (status != NPU_OK) {
        tc_driver_failed(run, when, status, NPU_OK);
    }
    return status == NPU_OK;
}

/* Sometimes like a driver that resets the device, sometimes like one that continues. */
static bool recover(tc_run *run) {
    tb_rng rng = tb_rng_stream(run->seed, "sequence.recover");
    return seq_chance(&rng, 2)
               ? restart(run, "npu_init after the errors")
               : tc_write(run, NPU_REG_ERR, UINT32_MAX) && tc_write(run, NPU_REG_IRQ_STATUS, UINT32_MAX);
}

void seq_run_with_errors(tc_run *run, seq_list *list, uint32_t errors) {
    const bool serial = tc_knob(run->knobs, "serial") != 0;
    uint64_t perf[NPU_PERF_COUNT] = {0};
    npu_status status = npu_perf_clear(&run->npu);
    if (status == NPU_OK && (!seq_run(run, list, serial) || !tc_expect(run, "ERR", NPU_REG_ERR, UINT32_MAX, 0))) {
        return;
    }
    status = status == NPU_OK ? npu_perf_read(&run->npu, perf, NPU_PERF_COUNT) : status;
    if (status != NPU_OK) {
        tc_driver_failed(run, "counters of the clean run", status, NPU_OK);
        return;
    }
    /* after a reset the loaders begin with the same channel again */
    if (!restart(run, "npu_init after the clean run")) {
        return;
    }
    draw_errors(run, list, errors, perf);
    /*
     * All tasks without waiting in between: weights that were read with an error stay undefined as long as tasks keep
     * them.
     */
    if (!seq_run(run, list, false) || !check_reported(run, list) || !recover(run)) {
        return;
    }
    if (seq_run(run, list, serial)) {
        tc_expect(run, "ERR", NPU_REG_ERR, UINT32_MAX, 0);
    }
}
