/* tlog_dev.c - the tensor log of a device: start and end of tasks, and the end of the log. */
#include "tlog_npu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAIN_MOST UINT64_C(20000000) /* cycles, for tasks that still run after a failure */

/* A run that is repeated from a snapshot has no log. */
static bool on(const npu_dev *dev) {
    return dev->tlog != NULL && !dev->run.replay.on;
}

static tb_tlog *create(const npu_dev *dev, const char *name, char *err, size_t err_size) {
    char path[1100];
    snprintf(path, sizeof path, "%s/%s", dev->cfg.dump, name);
    return tb_tlog_create(path, err, err_size);
}

static int open_side(npu_tlog_side *s, const npu_dev *dev, const char *name, const tb_ddr *mem, char *err,
                     size_t err_size) {
    s->n = dev->cfg.n;
    s->mem = mem;
    s->log = create(dev, name, err, err_size);
    return s->log != NULL ? 0 : -1;
}

static unsigned slot_of(cm_log_stream stream) {
    static const unsigned slots[] = {
        [CM_LOG_SUM] = NPU_TLOG_SUM,       [CM_LOG_POST] = NPU_TLOG_POST,       [CM_LOG_REQUANT] = NPU_TLOG_REQUANT,
        [CM_LOG_ALU_VALUE] = NPU_TLOG_SUM, [CM_LOG_ALU_RESULT] = NPU_TLOG_POST, [CM_LOG_POOL] = NPU_TLOG_POST};
    return slots[stream];
}

/* Of the golden units. */
static void take_values(void *ctx, cm_log_stream stream, uint64_t first, uint64_t step, uint32_t count,
                        const void *values) {
    npu_tlog *log = (npu_tlog *)ctx;
    const unsigned slot = slot_of(stream);
    if (log->now == NULL || log->now->tensor[slot].data == NULL) {
        return;
    }
    const bool byte = log->now->tensor[slot].type == TB_TLOG_I8;
    for (uint32_t i = 0; i < count; i++) {
        npu_tlog_put(log->now, slot, first + i * step,
                     byte ? ((const uint8_t *)values)[i] : ((const uint32_t *)values)[i]);
    }
}

int npu_tlog_open(npu_dev *dev, char *err, size_t err_size) {
    npu_tlog *log = (npu_tlog *)calloc(1, sizeof *log);
    dev->tlog = log;
    if (log == NULL) {
        return opt_fail(err, err_size, "out of memory");
    }
    if (tb_make_folder(dev->cfg.dump, err, err_size) != 0) {
        return -1;
    }
    if (dev->has_rtl && open_side(&log->rtl, dev, "rtl", &dev->ddr, err, err_size) != 0) {
        return -1;
    }
    if (dev->has_rtl && dev->run.checks.count > 0) {
        log->streams = create(dev, "streams", err, err_size);
        log->taps = log->streams != NULL ? npu_tlog_rtl_open(dev, err, err_size) : NULL;
        if (log->taps == NULL) {
            return -1;
        }
        log->rtl.inner = true;
    }
    if (dev->has_model) {
        log->model.inner = true;
        log->values = (cm_log){.ctx = log, .values = take_values};
        cm_device_set_log(dev->model, &log->values);
        return open_side(&log->model, dev, "model", &dev->model_ddr, err, err_size);
    }
    return 0;
}

void npu_tlog_start(npu_dev *dev, unsigned unit, const npu_score_task *task) {
    npu_tlog *log = dev->tlog;
    if (!on(dev)) {
        return;
    }
    if (log->rtl.log != NULL) {
        npu_tlog_started(&log->rtl, unit, task);
    }
    if (log->model.log != NULL) {
        npu_tlog_started(&log->model, unit, task);
        log->now = npu_tlog_find(&log->model, unit, log->model.started[unit] - 1);
        if (log->now != NULL && unit == UNIT_GEMM) {
            npu_tlog_layout(log->now, dev->cfg.n);
        }
    }
}

void npu_tlog_model_done(npu_dev *dev, unsigned unit) {
    if (on(dev) && dev->tlog->now != NULL) {
        dev->tlog->now = NULL;
        npu_tlog_completed(&dev->tlog->model, unit, true);
    }
}

void npu_tlog_cycle(npu_dev *dev) {
    if (on(dev) && dev->tlog->taps != NULL) {
        npu_tlog_rtl_cycle(dev->tlog->taps);
    }
}

void npu_tlog_count(npu_dev *dev, unsigned unit, uint32_t count) {
    if (!on(dev) || dev->tlog->taps != NULL || dev->tlog->rtl.log == NULL) {
        return;
    }
    npu_tlog_side *s = &dev->tlog->rtl;
    uint32_t more = (count - (uint32_t)(s->done[unit] - s->base[unit])) & npu_units[unit].done_mask;
    for (; more > 0 && more <= s->started[unit] - s->done[unit]; more--) {
        npu_tlog_completed(s, unit, false);
    }
}

void npu_tlog_reset(npu_dev *dev) {
    if (!on(dev)) {
        return;
    }
    npu_tlog *log = dev->tlog;
    for (unsigned u = 0; u < UNITS; u++) {
        npu_tlog_dropped(&log->rtl, u);
        npu_tlog_dropped(&log->model, u);
    }
    if (log->taps != NULL) {
        npu_tlog_rtl_clear(log->taps);
    }
    log->now = NULL;
}

/* Tasks that were started before a failure continue to their ends, unless they hang. */
static void drain(npu_dev *dev) {
    const npu_tlog_side *s = &dev->tlog->rtl;
    tb_run *run = &dev->run;
    const uint64_t end = run->sim.cycle + DRAIN_MOST;
    tb_watchdog wd;
    tb_watchdog_init(&wd, run->wd.limit);
    tb_watchdog_kick(&wd, run->sim.cycle);
    while (dev->tlog->taps != NULL && !run->gone && run->sim.cycle < end) {
        bool left = false;
        for (unsigned u = 0; u < UNITS; u++) {
            left = left || s->done[u] != s->started[u];
        }
        if (!left || !tb_run_cycle(run) || tb_watchdog_step(&wd, run->sim.cycle, tb_run_handshakes(run, false))) {
            return;
        }
    }
}

static int close_log(tb_tlog *log, char *err, size_t err_size) {
    char text[512];
    const int rc = log != NULL ? tb_tlog_close(log, text, sizeof text) : 0;
    if (rc != 0) {
        snprintf(err, err_size, "%s", text);
    }
    return rc;
}

static int close_side(npu_tlog_side *s, char *err, size_t err_size) {
    for (unsigned u = 0; s->log != NULL && u < UNITS; u++) {
        npu_tlog_dropped(s, u);
    }
    int rc = close_log(s->log, err, err_size);
    if (rc == 0 && s->oom) {
        snprintf(err, err_size, "out of memory");
        rc = -1;
    }
    free(s->queue);
    return rc;
}

int npu_dev_dump_finish(npu_dev *dev, char *err, size_t err_size) {
    npu_tlog *log = dev->tlog;
    int rc = 0;
    err[0] = '\0';
    if (log == NULL) {
        return 0;
    }
    if (on(dev)) {
        const uint64_t hash = dev->run.hash; /* of the run without these cycles */
        if (dev->has_rtl) {
            drain(dev);
        }
        dev->run.hash = hash;
        rc = close_side(&log->rtl, err, err_size);
        rc = close_side(&log->model, err, err_size) != 0 ? -1 : rc;
        rc = close_log(log->streams, err, err_size) != 0 ? -1 : rc;
        if (rc == 0 && log->rtl.stale > 0) {
            snprintf(err, err_size,
                     "%" PRIu64 " tensors of the RTL were overwritten before they could be read (KIND=tap logs them)",
                     log->rtl.stale);
            rc = 1;
        }
    }
    if (dev->model != NULL) {
        cm_device_set_log(dev->model, NULL);
    }
    npu_tlog_rtl_close(log->taps);
    free(log);
    dev->tlog = NULL;
    return rc;
}
