/*
 * npu_jobs.c - run jobs: start tasks as their units accept them, wait, and attribute errors to the unit that caused
 * them.
 */
#include "npu_priv.h"

#define POLL_US 1u

/* Interrupts without new events: at most one for each task in flight and one for an error. */
#define MAX_STALE_IRQS 8u

/* Causes in a byte of ERR, the same for each unit. */
#define ERR_BUS_BITS (NPU_ERR_BUS_RD0_MASK | NPU_ERR_BUS_RD1_MASK | NPU_ERR_BUS_WR0_MASK | NPU_ERR_BUS_WR1_MASK)
#define ERR_UNIT_BITS (ERR_BUS_BITS | NPU_ERR_CONFIG_MASK | NPU_ERR_OVERRUN_MASK)

typedef struct unit_regs {
    uint32_t count, busy, ready, err_lsb;
    uint16_t queue; /* tasks that the unit holds */
} unit_regs;

static const unit_regs units[NPU_UNIT_COUNT] = {
    [NPU_UNIT_ALU] = {NPU_REG_ALU_COUNT, NPU_STATUS_ALU_BUSY_MASK, NPU_STATUS_ALU_READY_MASK, NPU_ERR_ALU_BUS_RD0_LSB,
                      2},
    [NPU_UNIT_POOL] = {NPU_REG_POOL_COUNT, NPU_STATUS_POOL_BUSY_MASK, NPU_STATUS_POOL_READY_MASK,
                       NPU_ERR_POOL_BUS_RD0_LSB, 2},
    [NPU_UNIT_GEMM] = {NPU_REG_GEMM_COUNT, NPU_STATUS_GEMM_BUSY_MASK, NPU_STATUS_GEMM_READY_MASK, NPU_ERR_BUS_RD0_LSB,
                       4},
};

/* State of one unit. */
typedef struct lane {
    npu_unit unit;
    npu_job *jobs; /* those not begun, of all units */
    npu_job *end;
    npu_job *job; /* the running one; NULL: none left */
    bool loaded;  /* `task` is the next one of the job */
    npu_task task;
    uint16_t in_flight;
} lane;

typedef struct engine {
    npu *dev;
    lane lane[NPU_UNIT_COUNT];
    uint32_t waited, stale;
} engine;

/* ---- making jobs ---- */

npu_status npu_job_begin(npu_job *job, const npu *dev, npu_unit unit, bool (*next)(npu_job *job, npu_task *task)) {
    if (job == NULL || dev == NULL || dev->hal == NULL || !npu_is_mesh_size(dev->n)) {
        return NPU_ERR_ARG;
    }
    job->status = NPU_OK;
    job->unit = unit;
    job->serial = false;
    job->next = next;
    job->areas = 0;
    return (dev->units >> unit & 1u) != 0 ? NPU_OK : NPU_ERR_NO_UNIT;
}

npu_status npu_job_area(npu_job *job, npu_area area, npu_use use, bool in_place) {
    if (area.bytes == 0) {
        return NPU_OK;
    }
    if (npu_area_overflows(&area)) {
        return NPU_ERR_ADDR_OVERFLOW;
    }
    for (uint32_t i = 0; i < job->areas; i++) {
        bool writes = use != NPU_READ || job->use[i] != NPU_READ;
        if (writes && npu_area_overlap(&area, &job->area[i]) && !(in_place && npu_area_same(&area, &job->area[i]))) {
            return NPU_ERR_OVERLAP;
        }
    }
    job->area[job->areas] = area;
    job->use[job->areas] = use;
    job->areas++;
    return NPU_OK;
}

/* Does one of two jobs that may run at the same time access results of the other? */
static bool jobs_conflict(const npu_job *a, const npu_job *b) {
    for (uint32_t i = 0; i < a->areas; i++) {
        for (uint32_t j = 0; j < b->areas; j++) {
            if ((a->use[i] != NPU_READ || b->use[j] != NPU_READ) && npu_area_overlap(&a->area[i], &b->area[j])) {
                return true;
            }
        }
    }
    return false;
}

static npu_status check_jobs(const npu *dev, const npu_job *jobs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if ((uint32_t)jobs[i].unit >= NPU_UNIT_COUNT || jobs[i].next == NULL) {
            return NPU_ERR_ARG;
        }
        if ((dev->units >> jobs[i].unit & 1u) == 0) {
            return NPU_ERR_NO_UNIT;
        }
        for (size_t j = 0; j < i; j++) {
            if (jobs[i].unit != jobs[j].unit && jobs_conflict(&jobs[i], &jobs[j])) {
                return NPU_ERR_OVERLAP;
            }
        }
    }
    return NPU_OK;
}

/*
 * NPU_ERR_BUSY when a unit runs a task that this driver did not start, or one after whose time-out the driver has
 * returned.
 */
static npu_status check_idle(const npu *dev, uint32_t wanted) {
    uint32_t device_status = 0;
    uint32_t busy = NPU_STATUS_RESETTING_MASK;
    npu_status status = npu_reg_read(dev, NPU_REG_STATUS, &device_status);
    bool counts_agree = true;
    for (uint32_t u = 0; u < NPU_UNIT_COUNT && status == NPU_OK; u++) {
        if ((wanted >> u & 1u) != 0) {
            uint32_t count = 0;
            busy |= units[u].busy;
            status = npu_reg_read(dev, units[u].count, &count);
            counts_agree = counts_agree && count == dev->started[u];
        }
    }
    if (status != NPU_OK) {
        return status;
    }
    return (device_status & busy) != 0 || !counts_agree ? NPU_ERR_BUSY : NPU_OK;
}

/* ---- caches ---- */

static uint32_t extent(const npu_area *a) {
    return (uint32_t)((uint64_t)(a->pieces - 1) * a->step + a->bytes);
}

/*
 * Before anything runs: what the device reads must be in memory, and a dirty line of an output written back later would
 * destroy results. All jobs first, since buffers of one may share cache lines with results of another.
 */
static void flush_jobs(const npu *dev, const npu_job *jobs, size_t count) {
    const npu_hal *hal = dev->hal;
    for (size_t i = 0; i < count && hal->cache_flush != NULL; i++) {
        for (uint32_t a = 0; a < jobs[i].areas; a++) {
            hal->cache_flush(hal->ctx, jobs[i].area[a].addr, extent(&jobs[i].area[a]));
        }
    }
}

static void invalidate_jobs(const npu *dev, const npu_job *jobs, size_t count) {
    const npu_hal *hal = dev->hal;
    for (size_t i = 0; i < count && hal->cache_invalidate != NULL; i++) {
        for (uint32_t a = 0; a < jobs[i].areas; a++) {
            if (jobs[i].use[a] == NPU_WRITE) {
                hal->cache_invalidate(hal->ctx, jobs[i].area[a].addr, extent(&jobs[i].area[a]));
            }
        }
    }
}

/* ---- starting ---- */

static void declare_rows(const npu_hal *hal, uint32_t addr, uint32_t bytes, uint32_t rows, uint32_t step) {
    if (rows > 1 && step == bytes) {
        bytes *= rows;
        rows = 1;
    }
    if (rows > 1 && hal->task_output_rows != NULL) {
        hal->task_output_rows(hal->ctx, addr, bytes, rows, step);
        return;
    }
    for (uint32_t r = 0; r < rows; r++) {
        hal->task_output(hal->ctx, addr + r * step, bytes);
    }
}

/* Exactly the bytes that the task writes, without gaps. */
static void declare_output(const npu *dev, const npu_output *out) {
    uint32_t plane = out->bytes * out->rows;
    bool whole = out->rows == 1 || out->step == out->bytes;
    if (dev->hal->task_output == NULL) {
        return;
    }
    if (whole) {
        declare_rows(dev->hal, out->addr, plane, out->planes, out->pstep);
        return;
    }
    for (uint32_t p = 0; p < out->planes; p++) {
        declare_rows(dev->hal, out->addr + p * out->pstep, out->bytes, out->rows, out->step);
    }
}

static npu_status start_task(npu *dev, npu_unit unit, const npu_task *task) {
    npu_status status = npu_reg_poll(dev, NPU_REG_STATUS, units[unit].ready, units[unit].ready);
    if (status != NPU_OK) {
        return status;
    }
    declare_output(dev, &task->out);
    for (uint32_t i = 0; i < task->count && status == NPU_OK; i++) {
        status = npu_reg_write(dev, task->reg[i][0], task->reg[i][1]);
    }
    if (status == NPU_OK) {
        dev->started[unit]++;
    }
    return status;
}

/* The next job of the lane's unit, if there is one. */
static void next_job(lane *l) {
    l->loaded = false;
    for (l->job = NULL; l->jobs != l->end && l->job == NULL; l->jobs++) {
        l->job = l->jobs->unit == l->unit ? l->jobs : NULL;
    }
}

/* The unit has failed: its remaining jobs must not run, as they may depend on the failed one. */
static void fail_lane(lane *l, npu_status status) {
    while (l->job != NULL) {
        l->job->status = status;
        next_job(l);
    }
    l->in_flight = 0;
}

/* Start as many tasks as the unit accepts. A job begins when the one before is complete, so that an error belongs to
 * one job. */
static npu_status feed(engine *e, lane *l) {
    while (l->job != NULL) {
        if (!l->loaded) {
            l->task.count = 0;
            l->loaded = l->job->next(l->job, &l->task);
        }
        if (!l->loaded && l->in_flight > 0) {
            return NPU_OK;
        }
        if (!l->loaded) {
            next_job(l);
            continue;
        }
        if (l->in_flight >= (l->job->serial ? 1u : units[l->unit].queue)) {
            return NPU_OK;
        }
        npu_status status = start_task(e->dev, l->unit, &l->task);
        if (status != NPU_OK) {
            fail_lane(l, status);
            return status == NPU_ERR_HAL ? status : NPU_OK;
        }
        l->loaded = false;
        l->in_flight++;
    }
    return NPU_OK;
}

/* ---- waiting ---- */

/* Wait until the unit is idle after an error, so that the next operation starts clean. The caller gets the first error,
 * whatever happens here. */
static npu_status recover(npu *dev, npu_unit unit, uint32_t err) {
    const unit_regs *u = &units[unit];
    uint32_t mask = (uint32_t)ERR_UNIT_BITS << u->err_lsb;
    uint32_t late = 0;
    uint32_t count = 0;
    dev->last_err = err & mask;
    if (npu_reg_poll(dev, NPU_REG_STATUS, u->busy, 0) == NPU_OK && npu_reg_read(dev, NPU_REG_ERR, &late) == NPU_OK &&
        npu_reg_write(dev, NPU_REG_ERR, mask) == NPU_OK &&
        npu_reg_write(dev, NPU_REG_IRQ_STATUS, 1u << unit) == NPU_OK && npu_reg_read(dev, u->count, &count) == NPU_OK) {
        dev->last_err |= late & mask;
        /* A refused task was counted in `started` and will never complete. */
        dev->started[unit] = (uint16_t)count;
    }
    return (dev->last_err >> u->err_lsb & ERR_BUS_BITS) != 0 ? NPU_ERR_BUS : NPU_ERR_DEVICE;
}

/*
 * Check the units in `mask` once. Event flags are cleared first: later events raise them again, so none is lost. ERR is
 * read after the counts: an error comes before its task is complete, so no error of a completed task is missed.
 */
static npu_status look(engine *e, uint32_t mask, bool *news) {
    npu *dev = e->dev;
    uint32_t err = 0;
    uint32_t count[NPU_UNIT_COUNT] = {0};
    npu_status status = npu_reg_write(dev, NPU_REG_IRQ_STATUS, mask);
    for (uint32_t u = 0; u < NPU_UNIT_COUNT && status == NPU_OK; u++) {
        if ((mask >> u & 1u) != 0) {
            status = npu_reg_read(dev, units[u].count, &count[u]);
        }
    }
    if (status == NPU_OK) {
        status = npu_reg_read(dev, NPU_REG_ERR, &err);
    }
    *news = false;
    for (uint32_t u = 0; u < NPU_UNIT_COUNT && status == NPU_OK; u++) {
        lane *l = &e->lane[u];
        uint16_t in_flight = (uint16_t)(dev->started[u] - count[u]);
        if ((mask >> u & 1u) == 0) {
            continue;
        }
        if ((err >> units[u].err_lsb & ERR_UNIT_BITS) != 0) {
            fail_lane(l, recover(dev, (npu_unit)u, err));
            *news = true;
        } else if (in_flight < l->in_flight) { /* higher than before: a count beyond the started tasks is no
                                                * completion */
            l->in_flight = in_flight;
            *news = true;
        }
    }
    return status;
}

/* Wait for an interrupt, or for the time between two polls. */
static npu_status wait_event(engine *e, uint32_t mask) {
    const npu *dev = e->dev;
    if (dev->wait == NPU_WAIT_POLL) {
        if (e->waited >= dev->timeout_us) {
            return NPU_ERR_TIMEOUT;
        }
        dev->hal->delay_us(dev->hal->ctx, POLL_US);
        e->waited += POLL_US;
        return NPU_OK;
    }
    /* A line that stays high without progress is an error. */
    if (e->stale++ >= MAX_STALE_IRQS) {
        return NPU_ERR_TIMEOUT;
    }
    switch (dev->hal->wait_irq(dev->hal->ctx, mask, dev->timeout_us)) {
    case NPU_HAL_OK:
        return NPU_OK;
    case NPU_HAL_TIMEOUT:
        return NPU_ERR_TIMEOUT;
    case NPU_HAL_FAULT:
        break;
    }
    return NPU_ERR_HAL;
}

/* Start all tasks that can be started. *mask: the units with tasks in flight. */
static npu_status feed_all(engine *e, uint32_t *mask) {
    npu_status status = NPU_OK;
    *mask = 0;
    for (uint32_t u = 0; u < NPU_UNIT_COUNT && status == NPU_OK; u++) {
        status = feed(e, &e->lane[u]);
        *mask |= e->lane[u].in_flight > 0 ? 1u << u : 0;
    }
    return status;
}

/* Until all lanes are done. An error here concerns all lanes; those of single units are in their jobs. Events after a
 * check raise the interrupt again, so waiting right after starting misses none. */
static npu_status run(engine *e) {
    uint32_t mask = 0;
    npu_status status = feed_all(e, &mask);
    while (status == NPU_OK && mask != 0) {
        bool news = false;
        status = wait_event(e, mask);
        if (status == NPU_OK) {
            status = look(e, mask, &news);
        }
        if (status == NPU_OK && news) { /* the time-out applies to one task */
            e->waited = 0;
            e->stale = 0;
            status = feed_all(e, &mask);
        }
    }
    return status;
}

npu_status npu_jobs_run(npu *dev, npu_job *jobs, size_t count) {
    if (dev == NULL || dev->hal == NULL || jobs == NULL || count == 0) {
        return NPU_ERR_ARG;
    }
    uint32_t wanted = 0;
    npu_status status = check_jobs(dev, jobs, count);
    for (size_t i = 0; i < count && status == NPU_OK; i++) {
        wanted |= 1u << jobs[i].unit;
        jobs[i].status = NPU_OK;
    }
    if (status == NPU_OK) {
        status = check_idle(dev, wanted);
    }
    if (status != NPU_OK) {
        return status;
    }
    engine e = {.dev = dev, .waited = 0, .stale = 0};
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        e.lane[u].unit = (npu_unit)u;
        e.lane[u].jobs = jobs;
        e.lane[u].end = jobs + count;
        e.lane[u].in_flight = 0;
        next_job(&e.lane[u]);
    }
    flush_jobs(dev, jobs, count);
    status = run(&e);
    for (uint32_t u = 0; u < NPU_UNIT_COUNT && status != NPU_OK; u++) {
        fail_lane(&e.lane[u], status);
    }
    invalidate_jobs(dev, jobs, count);
    status = NPU_OK;
    for (size_t i = 0; i < count; i++) {
        jobs[i].next = NULL; /* its tasks have all been output */
        status = status != NPU_OK ? status : jobs[i].status;
    }
    return status;
}

uint32_t npu_job_next_task(npu_job *job, uint32_t reg[NPU_TASK_REGS][2]) {
    npu_task task = {.count = 0};
    if (job == NULL || reg == NULL || job->next == NULL || !job->next(job, &task)) {
        return 0;
    }
    for (uint32_t i = 0; i < task.count; i++) {
        reg[i][0] = task.reg[i][0];
        reg[i][1] = task.reg[i][1];
    }
    return task.count;
}

npu_status npu_job_run(npu *dev, npu_job *job, npu_status status) {
    return status == NPU_OK ? npu_jobs_run(dev, job, 1) : status;
}
