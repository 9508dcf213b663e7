/*
 * mem_check.c - the memory checker of the device: the buffers of the tasks in flight, and the failure when a task
 * accesses anything else (docs/npu/memory.md).
 */
#include "dev_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const npu_score_kind kind_of[UNITS] = {
    [UNIT_ALU] = NPU_SCORE_ALU, [UNIT_POOL] = NPU_SCORE_POOL, [UNIT_GEMM] = NPU_SCORE_GEMM};

/* ---- tasks ---- */

/* Does the device accept a start with these register values (docs/npu/npu.md section 3)? */
static bool accepts(npu_dev *dev, unsigned unit, npu_score_task *task) {
    npu_program *p = &dev->program;
    if ((p->absent >> unit & 1u) != 0 || !npu_score_task_decode(kind_of[unit], dev->cfg.n, p->reg, task)) {
        return false;
    }
    if (unit != UNIT_GEMM) {
        return true;
    }
    if ((task->gemm.wide && !p->int16) || !cm_gemm_follows(p->has_before ? &p->before : NULL, &task->gemm)) {
        return false;
    }
    p->has_before = true;
    p->before = task->gemm;
    return true;
}

static void note_meeting(npu_dev *dev, unsigned unit, const tb_meet *m) {
    char a[64], b[64], where[96], signature[64];
    tb_buffers_text(&dev->inflight.buffers, m->a, a, sizeof a);
    tb_buffers_text(&dev->inflight.buffers, m->b, b, sizeof b);
    npu_dev_where(dev, m->addr, where, sizeof where);
    snprintf(signature, sizeof signature, "mem:overlap:%s", npu_footprint_names[unit]);
    if (m->a == m->b) {
        tb_run_wrong(&dev->run, signature,
                     "%s, which is written, has ranges that overlap, from 0x%08" PRIx64 " on (%s)", b, m->addr, where);
    } else {
        tb_run_wrong(&dev->run, signature, "%s, which is written, and %s overlap at 0x%08" PRIx64 " (%s)", b, a,
                     m->addr, where);
    }
}

/* A task is about to be started and will be accepted. */
static void begin(npu_dev *dev, unsigned unit) {
    npu_program *p = &dev->program;
    tb_meet meet;
    npu_reset_over(dev);
    p->started[unit]++;
    if (!dev->has_model && dev->inflight.buffers.live_from == dev->inflight.tasks) {
        npu_inflight_clear(&dev->inflight); /* without a comparison */
    }
    if (!npu_inflight_start(&dev->inflight, unit, p->reg, dev->cfg.n, p->started[unit] & npu_units[unit].done_mask,
                            p->number[unit]++, &meet) &&
        !dev->overlaps_allowed) {
        note_meeting(dev, unit, &meet);
    }
    if (dev->inflight.oom) {
        tb_run_fail(&dev->run, "host:memory", "out of memory for the tasks in flight");
    }
}

void npu_program_write(npu_dev *dev, uint32_t offset, uint32_t value) {
    npu_program *p = &dev->program;
    npu_score_task task;
    p->reg[offset / 4] = value & npu_reg_fields(offset);
    for (unsigned u = 0; u < UNITS; u++) {
        if (offset == npu_units[u].ctrl && (value & npu_units[u].en_mask) != 0 && accepts(dev, u, &task)) {
            begin(dev, u);
            npu_tlog_start(dev, u, &task);
        }
    }
}

void npu_program_reset(npu_dev *dev) {
    npu_program *p = &dev->program;
    memset(p->reg, 0, sizeof p->reg);
    memset(p->started, 0, sizeof p->started);
    p->has_before = false;
}

void npu_program_dropped(npu_dev *dev) {
    const tb_buffers *t = &dev->inflight.buffers;
    for (size_t i = 0; dev->has_rtl && dev->inflight.tasks > 0 && i < t->buffers; i++) {
        const tb_buffer *b = &t->buffer[i];
        const bool dropped = b->work < dev->inflight.dropped_to && t->work[b->work].live;
        for (size_t k = b->first; k < b->end && dropped && b->use == TB_DDR_WRITE; k++) {
            tb_ddr_undefine(&dev->ddr, t->range.r[k].begin, t->range.r[k].end - t->range.r[k].begin);
        }
    }
    npu_inflight_stopped(&dev->inflight);
}

void npu_program_count(npu_dev *dev, unsigned unit, uint32_t count) {
    npu_program *p = &dev->program;
    npu_inflight_complete(&dev->inflight, unit, count);
    if (!dev->has_model && dev->inflight.buffers.live_from == dev->inflight.buffers.works) {
        p->started[unit] = count; /* RTL alone: starts that come too early are refused and never complete */
    }
}

/* ---- failures ---- */

static bool is_input(const npu_dev *dev, uint64_t addr) {
    for (size_t i = 0; i < dev->bufs; i++) {
        if (addr >= dev->buf[i].addr && addr - dev->buf[i].addr < dev->buf[i].bytes) {
            return dev->buf[i].kind == NPU_BUF_IN;
        }
    }
    return false;
}

/* An input of a task in flight, or of the testcase. */
static bool read_only(const npu_dev *dev, const tb_ddr *mem, uint64_t addr, const char *who, tb_near *n) {
    uint64_t where;
    if (!tb_ddr_find_closed(mem, TB_DDR_READ, addr, 1, &where)) {
        *n = tb_buffers_near(&dev->inflight.buffers, addr, TB_DDR_READ, NULL);
        return true;
    }
    *n = tb_buffers_near(&dev->inflight.buffers, addr, TB_DDR_WRITE, who);
    return is_input(dev, addr);
}

/* The driver continues until it sees an error or a reset: tasks may read outputs that earlier tasks did not write. */
static bool excused(const npu_dev *dev, const tb_ddr_event *e) {
    return e->kind == TB_DDR_READ_UNWRITTEN && (dev->lost || npu_bus_error_waits(dev)) && !is_input(dev, e->addr);
}

/* The unit that made the access; NULL: not known. */
static const char *client(const npu_dev *dev, const tb_ddr_event *e, bool rtl) {
    if (!rtl) {
        for (unsigned u = 0; u < UNITS; u++) {
            if (dev->model_unit == 1u << u) {
                return npu_footprint_names[u];
            }
        }
        return NULL;
    }
    return npu_score_dma_client(&dev->run.checks, e->agent, e->kind == TB_DDR_WRITE_OUTSIDE, e->addr);
}

void npu_mem_wrong(npu_dev *dev, const tb_ddr_event *e, bool rtl) {
    const tb_ddr *mem = rtl ? &dev->ddr : &dev->model_ddr;
    const char *who = client(dev, e, rtl);
    const char *kind = "read-unwritten";
    const char *what = ", which was never written";
    char near[128], where[96], signature[64], port[16] = "";
    tb_near n;
    if (excused(dev, e)) {
        return;
    }
    if (e->kind == TB_DDR_WRITE_OUTSIDE) {
        const bool input = read_only(dev, mem, e->addr, who, &n);
        kind = input ? "write-read-only" : "write-outside";
        what = input ? ", which may only be read" : "";
    } else {
        n = tb_buffers_near(&dev->inflight.buffers, e->addr, TB_DDR_READ, who);
        if (e->kind == TB_DDR_READ_OUTSIDE) {
            kind = "read-outside";
            what = "";
        }
    }
    who = who != NULL ? who : n.buffer != NULL ? dev->inflight.buffers.work[n.buffer->work].who : "none";
    snprintf(signature, sizeof signature, "mem:%s:%s", kind, who);
    snprintf(port, sizeof port, rtl ? " on m%u" : "", e->agent);
    tb_buffers_place(&dev->inflight.buffers, &n, near, sizeof near);
    npu_dev_where(dev, e->addr, where, sizeof where);
    tb_run_wrong(&dev->run, signature, "%s: %s %s 0x%08" PRIx64 "%s%s: %s; %s", who, rtl ? "RTL" : "the model",
                 e->kind == TB_DDR_WRITE_OUTSIDE ? "wrote" : "read", e->addr, port, what, near, where);
}

void npu_dev_allow_overlap(npu_dev *dev, bool allow) {
    dev->overlaps_allowed = allow;
    npu_rtl_allow_overlap(dev, allow);
}
