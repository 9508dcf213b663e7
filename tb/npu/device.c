/* The device as testcases see it: memory, buffers, opening and closing. */
#include "dev_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 64u /* bytes between buffers, never to be written */
#define MIN_DDR (UINT64_C(64) << 20)
#define SCATTER_ROOM (UINT64_C(1) << 30) /* at least, for neighbouring buffers */

void npu_dev_where(const npu_dev *dev, uint64_t addr, char *dst, size_t size) {
    static const char *const names[] = {"input", "output", "scratch"};
    for (size_t i = 0; i < dev->bufs; i++) {
        const dev_buf *b = &dev->buf[i];
        if (addr >= b->addr && addr - b->addr < b->bytes) {
            snprintf(dst, size, "%s buffer %zu at 0x%08x, offset %" PRIu64, names[b->kind], i, b->addr, addr - b->addr);
            return;
        }
    }
    snprintf(dst, size, "in no buffer");
}

/* ---- memory of the model: exact ranges, checked byte by byte ---- */

static void model_wrong(npu_dev *dev, tb_ddr_event_kind kind, uint64_t addr) {
    npu_mem_wrong(dev, &(tb_ddr_event){.kind = kind, .addr = addr}, false);
}

static bool model_read(void *ctx, uint32_t addr, void *dst, uint32_t bytes) {
    npu_dev *dev = (npu_dev *)ctx;
    uint64_t where;
    if (!tb_ddr_read(&dev->model_ddr, addr, dst, bytes)) {
        dev->undefined |= dev->model_unit;
        return false;
    }
    if (tb_ddr_find_closed(&dev->model_ddr, TB_DDR_READ, addr, bytes, &where)) {
        model_wrong(dev, TB_DDR_READ_OUTSIDE, where);
    }
    if (dev->cfg.poison_reads && tb_ddr_find_unwritten(&dev->model_ddr, addr, bytes, &where)) {
        model_wrong(dev, TB_DDR_READ_UNWRITTEN, where);
    }
    return true;
}

static bool model_write(void *ctx, uint32_t addr, const void *src, uint32_t bytes) {
    npu_dev *dev = (npu_dev *)ctx;
    uint64_t where;
    if (!tb_ddr_inside(&dev->model_ddr, addr, bytes)) {
        dev->undefined |= dev->model_unit;
        return false;
    }
    if (tb_ddr_find_protected(&dev->model_ddr, addr, bytes, &where) ||
        tb_ddr_find_closed(&dev->model_ddr, TB_DDR_WRITE, addr, bytes, &where)) {
        model_wrong(dev, TB_DDR_WRITE_OUTSIDE, where);
        return true;
    }
    if (!npu_inflight_covered(&dev->inflight, addr, bytes, &where)) {
        char text[96];
        npu_dev_where(dev, where, text, sizeof text);
        tb_run_fail(&dev->run, "driver:undeclared",
                    "a task writes 0x%08" PRIx64 " (%s), which the driver did not declare as its output", where, text);
    }
    return tb_ddr_write(&dev->model_ddr, addr, src, bytes);
}

static int model_open(npu_dev *dev, char *err, size_t err_size) {
    const cm_mem mem = {.ctx = dev, .read = model_read, .write = model_write};
    dev->model = cm_device_new(dev->cfg.n, &mem);
    if (dev->model == NULL) {
        const bool known = dev->cfg.n == 4 || dev->cfg.n == 8 || dev->cfg.n == 16 || dev->cfg.n == 32;
        return known ? opt_fail(err, err_size, "golden model: out of memory")
                     : opt_fail(err, err_size, "mesh size %u: expected 4, 8, 16 or 32", dev->cfg.n);
    }
    if (!dev->has_rtl && dev->cfg.int16) {
        cm_device_set_int16(dev->model, true);
        dev->program.int16 = true;
    }
    return 0;
}

npu_dev *npu_dev_open(const npu_dev_cfg *cfg, char *err, size_t err_size) {
    npu_dev *dev = (npu_dev *)calloc(1, sizeof *dev);
    if (dev == NULL) {
        snprintf(err, err_size, "out of memory");
        return NULL;
    }
    dev->cfg = *cfg;
    dev->has_rtl = cfg->kind != NPU_DEV_MODEL;
    dev->has_model = cfg->kind != NPU_DEV_RTL;
    dev->run.hash = TB_HASH_INIT;
    const uint64_t asked = cfg->ddr_bytes < MIN_DDR ? MIN_DDR : cfg->ddr_bytes;
    const uint64_t bytes = cfg->scatter && asked < SCATTER_ROOM
                               ? UINT64_C(0x100000000) - NPU_DEV_DDR_BASE
                               : (asked + TB_DDR_PAGE - 1) & ~(uint64_t)(TB_DDR_PAGE - 1);
    bool ok = bytes <= UINT64_C(0x100000000) - NPU_DEV_DDR_BASE;
    if (!ok) {
        snprintf(err, err_size, "memory of %" PRIu64 " bytes does not fit below 4 GiB", bytes);
    }
    /* different poison on both sides, so that reads of unwritten bytes make the results differ */
    if (ok && (tb_ddr_init(&dev->ddr, NPU_DEV_DDR_BASE, bytes, cfg->seed ^ 1u) != 0 ||
               tb_ddr_init(&dev->model_ddr, NPU_DEV_DDR_BASE, bytes, cfg->seed ^ 2u) != 0)) {
        snprintf(err, err_size, "out of memory");
        ok = false;
    }
    dev->ddr.protect = dev->ddr.watch = true;
    dev->ddr.check_reads = cfg->poison_reads;
    npu_inflight_init(&dev->inflight, (tb_ddr *[]){&dev->ddr, &dev->model_ddr}, 2);
    dev->next_addr = NPU_DEV_DDR_BASE + GUARD;
    npu_hal_fill(dev);
    ok = ok && (!dev->has_model || model_open(dev, err, err_size) == 0);
    ok = ok && (!dev->has_rtl || npu_rtl_open(dev, err, err_size) == 0);
    if (!dev->has_rtl) {
        npu_explain_begin(dev);
    }
    ok = ok && (dev->cfg.dump == NULL || npu_tlog_open(dev, err, err_size) == 0);
    if (!ok) {
        dev->finished = true;
        npu_dev_close(dev);
        return NULL;
    }
    return dev;
}

void npu_dev_close(npu_dev *dev) {
    if (dev == NULL) {
        return;
    }
    char err[512];
    npu_dev_finish(dev);
    npu_dev_dump_finish(dev, err, sizeof err);
    tb_run_close(&dev->run);
    cm_device_free(dev->model);
    npu_inflight_free(&dev->inflight);
    npu_perf_free(dev);
    tb_ddr_free(&dev->ddr);
    tb_ddr_free(&dev->model_ddr);
    free(dev->buf);
    free(dev);
}

uint32_t npu_dev_n(const npu_dev *dev) {
    return dev->cfg.n;
}

npu_dev_kind npu_dev_get_kind(const npu_dev *dev) {
    return dev->cfg.kind;
}

const npu_hal *npu_dev_hal(npu_dev *dev) {
    return &dev->hal;
}

/* Where the next buffer may begin. */
static uint64_t next_place(const npu_dev *dev) {
    const uint64_t left = dev->ddr.base + dev->ddr.size - dev->next_addr;
    if (!dev->cfg.scatter || left <= SCATTER_ROOM) {
        return dev->next_addr;
    }
    const uint64_t draw = tb_mix64(dev->cfg.seed + dev->bufs * UINT64_C(0x9e3779b97f4a7c15));
    return dev->next_addr + (draw % ((left - SCATTER_ROOM) / 4 + 1) & ~UINT64_C(0xffff));
}

uint32_t npu_dev_alloc(npu_dev *dev, uint32_t bytes, uint32_t align, npu_buf_kind kind) {
    if (align < 16 || (align & (align - 1)) != 0 || bytes == 0) {
        return 0;
    }
    const uint64_t addr = (next_place(dev) + align - 1) & ~(uint64_t)(align - 1);
    if (!tb_ddr_inside(&dev->ddr, addr, (uint64_t)bytes + GUARD)) {
        return 0;
    }
    if (dev->bufs == dev->buf_cap) {
        const size_t cap = dev->buf_cap == 0 ? 32 : dev->buf_cap * 2;
        dev_buf *b = (dev_buf *)realloc(dev->buf, cap * sizeof *b);
        if (b == NULL) {
            return 0;
        }
        dev->buf = b;
        dev->buf_cap = cap;
    }
    if (kind != NPU_BUF_IN &&
        (!tb_ddr_allow(&dev->ddr, addr, bytes, true) || !tb_ddr_allow(&dev->model_ddr, addr, bytes, true))) {
        return 0;
    }
    dev->buf[dev->bufs++] = (dev_buf){.addr = (uint32_t)addr, .bytes = bytes, .kind = kind};
    dev->next_addr = addr + bytes + GUARD;
    return (uint32_t)addr;
}

void npu_dev_alloc_reset(npu_dev *dev) {
    if (dev->has_rtl && dev->has_model && dev->pending != 0) {
        npu_compare_now(dev);
    }
    npu_inflight_forget(&dev->inflight);
    npu_explain_forget(dev);
    dev->undefined = 0;
    dev->lost = false;
    dev->bufs = 0;
    dev->next_addr = NPU_DEV_DDR_BASE + GUARD;
    tb_ddr_clear(&dev->ddr);
    tb_ddr_clear(&dev->model_ddr);
}

size_t npu_dev_bufs(const npu_dev *dev) {
    return dev->bufs;
}

void npu_dev_alloc_drop(npu_dev *dev, size_t keep) {
    if (keep >= dev->bufs) {
        return;
    }
    if (dev->has_rtl && dev->has_model && dev->pending != 0) {
        npu_compare_now(dev);
    }
    npu_inflight_forget(&dev->inflight);
    const uint64_t from = keep == 0 ? NPU_DEV_DDR_BASE : (uint64_t)dev->buf[keep - 1].addr + dev->buf[keep - 1].bytes;
    const uint64_t bytes = dev->next_addr - from;
    tb_ddr *const side[] = {&dev->ddr, &dev->model_ddr};
    for (size_t i = 0; i < 2; i++) {
        tb_ddr_allow(side[i], from, bytes, false);
        tb_ddr_unwrite(side[i], from, bytes);
    }
    dev->bufs = keep;
    dev->next_addr = from + GUARD;
}

bool npu_dev_write(npu_dev *dev, uint32_t addr, const void *src, size_t bytes) {
    return (!dev->has_rtl || tb_ddr_write(&dev->ddr, addr, src, bytes)) &&
           (!dev->has_model || tb_ddr_write(&dev->model_ddr, addr, src, bytes));
}

bool npu_dev_read(npu_dev *dev, uint32_t addr, void *dst, size_t bytes) {
    return tb_ddr_read(dev->has_rtl ? &dev->ddr : &dev->model_ddr, addr, dst, bytes);
}

bool npu_dev_compare(npu_dev *dev) {
    npu_compare_now(dev);
    return !npu_dev_failed(dev);
}

bool npu_dev_finish(npu_dev *dev) {
    if (!dev->finished) {
        dev->finished = true;
        if (dev->has_rtl && !npu_dev_failed(dev)) {
            npu_compare_now(dev);
            tb_run_finish(&dev->run);
        }
        npu_explain_end(dev);
        dev->hash = dev->has_rtl ? tb_run_hash(&dev->run) : tb_hash_final(tb_ddr_hash(&dev->model_ddr, dev->run.hash));
    }
    return !npu_dev_failed(dev);
}

const npu_dev_failure *npu_dev_get_failure(const npu_dev *dev) {
    return &dev->run.failure;
}

uint64_t npu_dev_cycles(const npu_dev *dev) {
    return dev->run.sim.cycle;
}

uint64_t npu_dev_compare_cycles(const npu_dev *dev) {
    return dev->compare_cycles;
}

uint64_t npu_dev_macs(const npu_dev *dev) {
    return dev->has_model ? cm_device_macs(dev->model) : 0;
}

uint64_t npu_dev_trace_hash(const npu_dev *dev) {
    return dev->finished ? dev->hash : dev->run.hash;
}

void npu_dev_time_split(const npu_dev *dev, double *rtl, double *harness) {
    *rtl = 0;
    *harness = 0;
    if (dev->has_rtl) {
        tb_sim_time_split(&dev->run.sim, rtl, harness);
        *harness = *harness > dev->model_seconds ? *harness - dev->model_seconds : 0;
    }
}

int npu_dev_wave(npu_dev *dev, const char *path, char *err, size_t err_size) {
    if (!dev->has_rtl) {
        return opt_fail(err, err_size, "%s: the golden model has no waveform", path != NULL ? path : "wave");
    }
    tb_sim_wave_close(&dev->run.sim);
    return path != NULL ? tb_sim_wave_open(&dev->run.sim, path, 0, err, err_size) : 0;
}

int npu_dev_fail_wave(npu_dev *dev, char *err, size_t err_size) {
    if (!dev->has_rtl || dev->cfg.fail_wave == NULL) {
        return opt_fail(err, err_size, "the device was opened without a waveform of failures");
    }
    return tb_run_fail_wave(&dev->run, err, err_size);
}

void npu_dev_reset(npu_dev *dev) {
    if (npu_dev_failed(dev)) {
        return;
    }
    if (dev->has_model) {
        cm_device_write(dev->model, NPU_REG_CTRL, NPU_CTRL_SOFT_RESET_MASK, 0xf);
    }
    if (dev->has_rtl) {
        tb_run_reset(&dev->run);
        tb_run_step(&dev->run);
    }
    npu_hal_on_reset(dev);
    npu_program_dropped(dev);
}
