/* Recording of a run that is known to fail (explain.h). */
#include "dev_priv.h"
#include "explain_priv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_WRITES 1000000u
#define KEEP_TASKS 65536u
#define KEEP_ELEMENTS 4000000u /* of an output */

/* Make room for one more element; false: out of memory, or the limit is reached. */
static bool room(npu_explain *ex, void **list, size_t count, size_t *cap, size_t size, size_t max) {
    if (count < *cap) {
        return true;
    }
    const size_t bigger = *cap == 0 ? 256 : *cap * 2;
    void *p = count < max ? realloc(*list, bigger * size) : NULL;
    if (p == NULL) {
        ex->story.oom = true;
        return false;
    }
    *list = p;
    *cap = bigger;
    return true;
}

void npu_explain_free(npu_explain *ex) {
    for (size_t i = 0; i < ex->tasks; i++) {
        free(ex->task[i].before);
    }
    free(ex->task);
    free(ex->write);
    free(ex->wrong);
    free(ex->buf);
    tb_story_free(&ex->story);
    *ex = (npu_explain){0};
}

void npu_explain_begin(npu_dev *dev) {
    npu_explain *ex = dev->cfg.explain;
    if (ex == NULL || ex->story.first.signature[0] != '\0') {
        dev->cfg.explain = NULL; /* the failure to explain has happened already */
        return;
    }
    const uint64_t limit = ex->story.limit;
    npu_explain_free(ex);
    *ex = (npu_explain){.story = {.limit = limit}, .n = dev->cfg.n};
    tb_story_begin(&ex->story, &dev->run);
    ex->story.has_rtl = dev->has_rtl;
    ex->story.has_model = dev->has_model;
}

/* Address of the i-th element. */
static uint32_t element_addr(const npu_out_tensor *t, uint64_t i) {
    const uint32_t w = (uint32_t)(i % t->size[2]), h = (uint32_t)(i / t->size[2] % t->size[1]),
                   c = (uint32_t)(i / t->size[2] / t->size[1]);
    return t->addr + c * t->step[0] + h * t->step[1] + w * t->step[2];
}

/* Copy of the output before the task: elements that still have this value at the end were perhaps never written. */
static void keep_before(npu_dev *dev, npu_ex_task *t) {
    const uint64_t count = t->has_out && dev->has_rtl ? (uint64_t)t->out.size[0] * t->out.size[1] * t->out.size[2] : 0;
    const uint32_t bytes = npu_elem_bytes(t->out.type);
    t->before = count > 0 && count <= KEEP_ELEMENTS ? (uint8_t *)calloc((size_t)count, bytes) : NULL;
    for (uint64_t i = 0; t->before != NULL && i < count; i++) {
        tb_ddr_read(&dev->ddr, element_addr(&t->out, i), t->before + i * bytes, bytes);
    }
}

static void add_task(npu_dev *dev, unsigned unit, uint64_t cycle) {
    npu_explain *ex = dev->cfg.explain;
    if (!room(ex, (void **)&ex->task, ex->tasks, &ex->task_cap, sizeof *ex->task, KEEP_TASKS)) {
        return;
    }
    npu_ex_task *t = &ex->task[ex->tasks++];
    *t = (npu_ex_task){.unit = unit, .number = ex->number[unit]++, .cycle = cycle};
    memcpy(t->regs, ex->regs, sizeof t->regs);
    t->has_out = npu_out_tensor_of(unit, t->regs, ex->n, &t->out);
    keep_before(dev, t);
}

void npu_explain_written(npu_dev *dev, uint32_t offset, uint32_t value) {
    npu_explain *ex = dev->cfg.explain;
    if (ex == NULL) {
        return;
    }
    uint32_t task = NPU_EX_NONE;
    ex->regs[offset / 4] = value;
    for (unsigned u = 0; u < UNITS; u++) {
        if (offset == npu_units[u].ctrl && (value & npu_units[u].en_mask) != 0) {
            task = (uint32_t)ex->tasks;
            add_task(dev, u, dev->run.sim.cycle);
        }
    }
    if (offset == NPU_REG_CTRL && (value & NPU_CTRL_SOFT_RESET_MASK) != 0) {
        memset(ex->regs, 0, sizeof ex->regs);
    }
    if (room(ex, (void **)&ex->write, ex->writes, &ex->write_cap, sizeof *ex->write, KEEP_WRITES)) {
        ex->write[ex->writes++] =
            (npu_ex_write){.cycle = dev->run.sim.cycle, .offset = offset, .value = value, .task = task};
    }
}

void npu_explain_refused(npu_dev *dev) {
    npu_explain *ex = dev->cfg.explain;
    if (ex != NULL && ex->tasks > 0) {
        npu_ex_task *t = &ex->task[ex->tasks - 1];
        t->refused = true;
        t->has_out = false;
        ex->number[t->unit]--;
    }
}

void npu_explain_forget(npu_dev *dev) {
    if (dev->cfg.explain != NULL) {
        dev->cfg.explain->bufs_from = dev->run.sim.cycle;
    }
}

/* ---- wrong bytes ---- */

/* The last task before now whose output holds the byte. */
static uint32_t writer_of(const npu_explain *ex, uint64_t addr, uint32_t at[3]) {
    for (size_t i = ex->tasks; i-- > 0;) {
        if (ex->task[i].has_out && npu_out_tensor_find(&ex->task[i].out, addr, at)) {
            return (uint32_t)i;
        }
    }
    return NPU_EX_NONE;
}

static bool written(const tb_ddr *mem, uint64_t addr) {
    uint64_t where;
    return !tb_ddr_find_unwritten(mem, addr, 1, &where);
}

/* A byte differs: note its element, once. Returns the first address after it. */
static uint64_t add_wrong(npu_dev *dev, uint64_t addr) {
    npu_explain *ex = dev->cfg.explain;
    npu_ex_wrong w = {.addr = addr, .by_model = written(&dev->model_ddr, addr), .missing = !written(&dev->ddr, addr)};
    uint32_t bytes = 1;
    w.task = writer_of(ex, addr, w.at);
    if (w.task != NPU_EX_NONE) {
        const npu_out_tensor *t = &ex->task[w.task].out;
        bytes = npu_elem_bytes(t->type);
        w.addr = (uint32_t)(t->addr + w.at[0] * t->step[0] + w.at[1] * t->step[1] + w.at[2] * t->step[2]);
    }
    tb_ddr_read(&dev->ddr, w.addr, &w.got, bytes);
    tb_ddr_read(&dev->model_ddr, w.addr, &w.expected, bytes);
    if (w.task != NPU_EX_NONE) {
        npu_ex_task *t = &ex->task[w.task];
        const uint64_t i = ((uint64_t)w.at[0] * t->out.size[1] + w.at[1]) * t->out.size[2] + w.at[2];
        w.missing = w.missing || (t->before != NULL && memcmp(t->before + i * bytes, &w.got, bytes) == 0);
        t->wrong += !w.missing;
        t->missing += w.missing;
    }
    ex->wrong_elements++;
    if (room(ex, (void **)&ex->wrong, ex->wrongs, &ex->wrong_cap, sizeof *ex->wrong, NPU_EX_KEEP)) {
        ex->wrong[ex->wrongs++] = w;
    }
    return w.addr + bytes > addr ? w.addr + bytes : addr + 1;
}

static void compare_page(npu_dev *dev, uint64_t base) {
    npu_explain *ex = dev->cfg.explain;
    uint64_t next = base;
    for (uint64_t addr = base; addr < base + TB_DDR_PAGE; addr++) {
        uint8_t a = 0, b = 0;
        tb_ddr_read(&dev->ddr, addr, &a, 1);
        tb_ddr_read(&dev->model_ddr, addr, &b, 1);
        const bool by_rtl = written(&dev->ddr, addr), by_model = written(&dev->model_ddr, addr);
        if (by_rtl != by_model || (by_rtl && a != b)) {
            ex->wrong_bytes++;
            next = addr >= next ? add_wrong(dev, addr) : next;
        }
    }
}

void npu_explain_compare(npu_dev *dev) {
    npu_explain *ex = dev->cfg.explain;
    if (ex == NULL || ex->compared || !dev->has_rtl || !dev->has_model) {
        return;
    }
    ex->compared = true;
    for (size_t i = 0; i < dev->ddr.pages && i < dev->model_ddr.pages; i++) {
        if (dev->ddr.page[i] != NULL || dev->model_ddr.page[i] != NULL) {
            compare_page(dev, dev->ddr.base + i * TB_DDR_PAGE);
        }
    }
}

/* ---- the end ---- */

void npu_explain_end(npu_dev *dev) {
    npu_explain *ex = dev->cfg.explain;
    if (ex == NULL) {
        return;
    }
    ex->buf = (npu_ex_buf *)calloc(dev->bufs + 1, sizeof *ex->buf);
    ex->story.oom = ex->story.oom || ex->buf == NULL;
    for (size_t i = 0; ex->buf != NULL && i < dev->bufs; i++) {
        ex->buf[ex->bufs++] =
            (npu_ex_buf){.addr = dev->buf[i].addr, .bytes = dev->buf[i].bytes, .kind = dev->buf[i].kind};
    }
    tb_story_end(&dev->run);
    if (npu_dev_failed(dev)) {
        npu_explain_compare(dev);
    }
}
