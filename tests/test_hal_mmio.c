/*
 * The memory-mapped HAL against a stand-in for the hardware: files are the register window and the memory, a socket is
 * the UIO descriptor, and behind them a thread plays the device with the golden model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cmodel.h"
#include "hal_mmio.h"
#include "npu.h"
#include "npu/device.h"
#include "npu_regs.h"

#define N 4u
#define DDR_ADDR NPU_DEV_DDR_BASE
#define DDR_BYTES (64u << 10)
#define EVENT_US 2000u
#define FILE_LEAD 0x10040u /* the window lies somewhere inside the file */

/* ---- the device behind the files ---- */

typedef struct stand_in {
    char dir[64], reg_file[96], ddr_file[96];
    volatile uint32_t *window;
    uint8_t *reg_map, *ddr;
    int irq[2]; /* [0]: the driver's end */
    uint32_t irq_count;
    bool irq_enabled;
    cm_device *model;
    /* the model is done at once; its events show after a while, as those of hardware do */
    uint32_t hidden, shown, shown_count; /* IRQ_STATUS: to come and as it reads; GEMM_COUNT as it reads */
    uint64_t due_us;
    pthread_t thread;
    atomic_uint strobe; /* offset + 1 of the register that was just written: what the bus tells real hardware */
    atomic_bool stop;
} stand_in;

static bool mem_read(void *ctx, uint32_t addr, void *dst, uint32_t bytes) {
    const stand_in *s = (const stand_in *)ctx;
    if (addr < DDR_ADDR || bytes > DDR_BYTES || addr - DDR_ADDR > DDR_BYTES - bytes) {
        return false;
    }
    memcpy(dst, s->ddr + (addr - DDR_ADDR), bytes);
    return true;
}

static bool mem_write(void *ctx, uint32_t addr, const void *src, uint32_t bytes) {
    const stand_in *s = (const stand_in *)ctx;
    if (addr < DDR_ADDR || bytes > DDR_BYTES || addr - DDR_ADDR > DDR_BYTES - bytes) {
        return false;
    }
    memcpy(s->ddr + (addr - DDR_ADDR), src, bytes);
    return true;
}

static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static void show_registers(stand_in *s) {
    for (uint32_t i = 0; i < 128; i++) {
        const uint32_t offset = 4 * i;
        s->window[i] = offset == NPU_REG_IRQ_STATUS   ? s->shown
                       : offset == NPU_REG_GEMM_COUNT ? s->shown_count
                                                      : cm_device_read(s->model, offset);
    }
}

static void write_register(stand_in *s, uint32_t offset, uint32_t value) {
    if (offset == NPU_REG_IRQ_STATUS) {
        s->shown &= ~value;
    } else {
        cm_device_write(s->model, offset, value, 0xf);
    }
    const uint32_t events = cm_device_read(s->model, NPU_REG_IRQ_STATUS);
    if (events != 0) {
        cm_device_write(s->model, NPU_REG_IRQ_STATUS, events, 0xf);
        s->hidden |= events;
        s->due_us = now_us() + EVENT_US;
    }
    if (offset == NPU_REG_CTRL) {
        s->hidden = s->shown = s->shown_count = 0;
    }
    show_registers(s);
}

static void show_events(stand_in *s) {
    if (s->hidden != 0 && now_us() >= s->due_us) {
        s->shown |= s->hidden;
        s->hidden = 0;
        s->shown_count = cm_device_read(s->model, NPU_REG_GEMM_COUNT);
        show_registers(s);
    }
}

/* As the kernel does: an interrupt counts, masks itself, and waits to be enabled again. */
static void interrupt(stand_in *s) {
    uint32_t one = 0;
    if (recv(s->irq[1], &one, sizeof one, MSG_DONTWAIT) == (ssize_t)sizeof one && one == 1) {
        s->irq_enabled = true;
    }
    if (s->irq_enabled && (s->shown & cm_device_read(s->model, NPU_REG_IRQ_ENABLE)) != 0) {
        s->irq_enabled = false;
        s->irq_count++;
        (void)!write(s->irq[1], &s->irq_count, sizeof s->irq_count);
    }
}

static void *device_thread(void *arg) {
    stand_in *s = (stand_in *)arg;
    while (!atomic_load(&s->stop)) {
        const uint32_t strobe = atomic_load(&s->strobe);
        if (strobe != 0) {
            write_register(s, strobe - 1, s->window[(strobe - 1) / 4]);
            atomic_store(&s->strobe, 0);
        }
        show_events(s);
        interrupt(s);
        usleep(20);
    }
    return NULL;
}

static void make_file(char *path, size_t size, const char *dir, const char *name, off_t bytes) {
    snprintf(path, size, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(ftruncate(fileno(f), bytes), 0);
    assert_int_equal(fclose(f), 0);
}

static uint8_t *map_file(const char *path, size_t bytes) {
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    uint8_t *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
    assert_true(p != MAP_FAILED);
    fclose(f);
    return p;
}

static int setup(void **state) {
    stand_in *s = calloc(1, sizeof *s);
    assert_non_null(s);
    snprintf(s->dir, sizeof s->dir, "/tmp/hal_mmio.XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    make_file(s->reg_file, sizeof s->reg_file, s->dir, "regs", FILE_LEAD + NPU_MMIO_REG_BYTES);
    make_file(s->ddr_file, sizeof s->ddr_file, s->dir, "ddr", DDR_BYTES);
    s->reg_map = map_file(s->reg_file, FILE_LEAD + NPU_MMIO_REG_BYTES);
    s->window = (volatile uint32_t *)(void *)(s->reg_map + FILE_LEAD);
    s->ddr = map_file(s->ddr_file, DDR_BYTES);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s->irq), 0);
    const cm_mem mem = {.ctx = s, .read = mem_read, .write = mem_write};
    s->model = cm_device_new(N, &mem);
    assert_non_null(s->model);
    show_registers(s);
    assert_int_equal(pthread_create(&s->thread, NULL, device_thread, s), 0);
    *state = s;
    return 0;
}

static void stop_device(stand_in *s) {
    if (!atomic_exchange(&s->stop, true)) {
        pthread_join(s->thread, NULL);
    }
}

static int teardown(void **state) {
    stand_in *s = (stand_in *)*state;
    stop_device(s);
    cm_device_free(s->model);
    munmap(s->reg_map, FILE_LEAD + NPU_MMIO_REG_BYTES);
    munmap(s->ddr, DDR_BYTES);
    close(s->irq[0]);
    if (s->irq[1] >= 0) {
        close(s->irq[1]);
    }
    unlink(s->reg_file);
    unlink(s->ddr_file);
    rmdir(s->dir);
    free(s);
    return 0;
}

static npu_mmio_cfg config(const stand_in *s) {
    return (npu_mmio_cfg){.reg_path = s->reg_file,
                          .reg_offset = FILE_LEAD,
                          .ddr_path = s->ddr_file,
                          .ddr_bytes = DDR_BYTES,
                          .ddr_addr = DDR_ADDR,
                          .irq = {{.lines = NPU_HAL_IRQ_ALU | NPU_HAL_IRQ_POOL | NPU_HAL_IRQ_GEMM, .fd = s->irq[0]}},
                          .irqs = 1};
}

static void open_mmio(npu_mmio *m, const npu_mmio_cfg *cfg) {
    char err[256] = "";
    if (npu_mmio_open(m, cfg, err, sizeof err) != 0) {
        fail_msg("%s", err);
    }
}

/* A file does not tell that it was written, a bus does: this HAL adds the strobe. */
typedef struct strobed {
    stand_in *s;
    npu_mmio *m;
    npu_hal hal;
} strobed;

static npu_hal_status strobed_write(void *ctx, uint32_t offset, uint32_t value) {
    strobed *t = (strobed *)ctx;
    const npu_hal *below = npu_mmio_hal(t->m);
    const npu_hal_status status = below->reg_write(below->ctx, offset, value);
    if (status == NPU_HAL_OK) {
        atomic_store(&t->s->strobe, offset + 1);
        while (atomic_load(&t->s->strobe) != 0) {
            usleep(10);
        }
    }
    return status;
}

static npu_hal_status strobed_read(void *ctx, uint32_t offset, uint32_t *value) {
    strobed *t = (strobed *)ctx;
    return npu_mmio_hal(t->m)->reg_read(npu_mmio_hal(t->m)->ctx, offset, value);
}

static npu_hal_status strobed_wait(void *ctx, uint32_t line_mask, uint32_t timeout_us) {
    strobed *t = (strobed *)ctx;
    return npu_mmio_hal(t->m)->wait_irq(npu_mmio_hal(t->m)->ctx, line_mask, timeout_us);
}

static void strobed_delay(void *ctx, uint32_t us) {
    strobed *t = (strobed *)ctx;
    npu_mmio_hal(t->m)->delay_us(npu_mmio_hal(t->m)->ctx, us);
}

static void strobed_init(strobed *t, stand_in *s, npu_mmio *m) {
    t->s = s;
    t->m = m;
    t->hal = (npu_hal){.ctx = t,
                       .reg_read = strobed_read,
                       .reg_write = strobed_write,
                       .wait_irq = strobed_wait,
                       .delay_us = strobed_delay};
}

/* ---- a convolution through it ---- */

enum {
    SIDE = 5,
    IC = 5,
    OC = 4,
    STEP = 112,
    IFM = DDR_ADDR,
    WGT = DDR_ADDR + 0x1000,
    SCALE = DDR_ADDR + 0x2000,
    OFM = DDR_ADDR + 0x3000
};

typedef struct operands {
    npu_conv conv;
    npu_conv_plan plan;
    float ifm[IC * STEP / 4], scale[OC];
    int8_t packed[4096];
} operands;

static void make_operands(operands *o) {
    int8_t wgt[OC * IC * 9];
    float w_scale[OC];
    tb_rng r = tb_rng_stream(5, "operands");
    memset(o, 0, sizeof *o);
    o->conv = (npu_conv){.iw = SIDE,
                         .ih = SIDE,
                         .ic = IC,
                         .oc = OC,
                         .kw = 3,
                         .kh = 3,
                         .stride_w = 1,
                         .stride_h = 1,
                         .dil_w = 1,
                         .dil_h = 1,
                         .pad_l = 1,
                         .pad_r = 1,
                         .pad_t = 1,
                         .pad_b = 1,
                         .groups = 1,
                         .act = NPU_ACT_RELU,
                         .in_scale = 0x41200000u,
                         .ifm_addr = IFM,
                         .ifm_cstep = STEP,
                         .wgt_addr = WGT,
                         .oscale_addr = SCALE,
                         .ofm_addr = OFM,
                         .ofm_cstep = STEP};
    const npu_conv_split split = {.max_oh = 2};
    assert_int_equal(npu_conv_plan_make(N, &o->conv, &split, &o->plan), NPU_OK);
    for (size_t i = 0; i < sizeof o->ifm / sizeof o->ifm[0]; i++) {
        o->ifm[i] = tb_rng_f32_range(&r, -5, 5);
    }
    tb_rng_fill(&r, wgt, sizeof wgt);
    for (size_t i = 0; i < OC; i++) {
        w_scale[i] = 40.0f;
    }
    assert_int_equal(npu_conv_pack_weights(&o->conv, &o->plan, wgt, o->packed, sizeof o->packed), NPU_OK);
    assert_int_equal(npu_conv_make_oscale(&o->conv, &o->plan, w_scale, o->scale, sizeof o->scale), NPU_OK);
}

/* The same on the device of the testbench. */
static void expected(const operands *o, uint8_t *out) {
    char err[256] = "";
    const npu_dev_cfg cfg = {.kind = NPU_DEV_MODEL, .n = N, .seed = 1};
    npu_dev *dev = npu_dev_open(&cfg, err, sizeof err);
    npu drv;
    npu_conv c = o->conv;
    assert_non_null(dev);
    c.ifm_addr = npu_dev_alloc(dev, sizeof o->ifm, 16, NPU_BUF_IN);
    c.wgt_addr = npu_dev_alloc(dev, sizeof o->packed, 16, NPU_BUF_IN);
    c.oscale_addr = npu_dev_alloc(dev, sizeof o->scale, 16, NPU_BUF_IN);
    c.ofm_addr = npu_dev_alloc(dev, OC * STEP, 16, NPU_BUF_OUT);
    memset(out, 0, OC * STEP);
    assert_true(npu_dev_write(dev, c.ifm_addr, o->ifm, sizeof o->ifm) &&
                npu_dev_write(dev, c.wgt_addr, o->packed, sizeof o->packed) &&
                npu_dev_write(dev, c.oscale_addr, o->scale, sizeof o->scale) &&
                npu_dev_write(dev, c.ofm_addr, out, OC * STEP));
    assert_int_equal(npu_init(&drv, npu_dev_hal(dev), NPU_WAIT_POLL, 100), NPU_OK);
    assert_int_equal(npu_conv_run(&drv, &c, &o->plan), NPU_OK);
    assert_true(npu_dev_read(dev, c.ofm_addr, out, OC * STEP));
    npu_dev_close(dev);
}

static void convolution(stand_in *s, npu_wait wait) {
    static operands o;
    uint8_t want[OC * STEP];
    npu_mmio m;
    strobed t;
    npu drv;
    make_operands(&o);
    expected(&o, want);
    const npu_mmio_cfg cfg = config(s);
    open_mmio(&m, &cfg);
    strobed_init(&t, s, &m);
    memcpy(npu_mmio_cpu(&m, IFM, sizeof o.ifm), o.ifm, sizeof o.ifm);
    memcpy(npu_mmio_cpu(&m, WGT, sizeof o.packed), o.packed, sizeof o.packed);
    memcpy(npu_mmio_cpu(&m, SCALE, sizeof o.scale), o.scale, sizeof o.scale);
    assert_int_equal(npu_init(&drv, &t.hal, wait, 5000000), NPU_OK);
    assert_int_equal(drv.n, N);
    assert_int_equal(npu_conv_run(&drv, &o.conv, &o.plan), NPU_OK);
    assert_memory_equal(npu_mmio_cpu(&m, OFM, sizeof want), want, sizeof want);
    assert_true((m.interrupts > 0) == (wait == NPU_WAIT_IRQ));
    npu_mmio_close(&m);
}

static void convolution_with_interrupts(void **state) {
    stand_in *s = (stand_in *)*state;
    convolution(s, NPU_WAIT_IRQ);
    stop_device(s);
    assert_true(s->irq_count > 0);
}

static void convolution_polled(void **state) {
    convolution((stand_in *)*state, NPU_WAIT_POLL);
}

/* ---- registers and memory ---- */

static void registers(void **state) {
    stand_in *s = (stand_in *)*state;
    npu_mmio m;
    const npu_mmio_cfg cfg = config(s);
    uint32_t v = 1;
    stop_device(s);
    open_mmio(&m, &cfg);
    const npu_hal *hal = npu_mmio_hal(&m);
    for (uint32_t offset = 0; offset < NPU_MMIO_REG_BYTES; offset += 4) {
        s->window[offset / 4] = 0x1000 + offset;
        assert_int_equal(hal->reg_read(hal->ctx, offset, &v), NPU_HAL_OK);
        assert_int_equal(v, 0x1000 + offset);
        assert_int_equal(hal->reg_write(hal->ctx, offset, ~offset), NPU_HAL_OK);
        assert_int_equal(s->window[offset / 4], ~offset);
    }
    static const uint32_t bad[] = {1, 2, 3, 510, 512, 516, 0x1000, UINT32_MAX - 3};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        v = 1;
        assert_int_equal(hal->reg_read(hal->ctx, bad[i], &v), NPU_HAL_FAULT);
        assert_int_equal(v, 0);
        assert_int_equal(hal->reg_write(hal->ctx, bad[i], 7), NPU_HAL_FAULT);
    }
    assert_int_equal(s->window[127], ~UINT32_C(508)); /* refused writes touch nothing */
    npu_mmio_close(&m);
    npu_mmio_close(&m); /* twice is no harm */
}

static void memory(void **state) {
    stand_in *s = (stand_in *)*state;
    npu_mmio m;
    npu_mmio_cfg cfg = config(s);
    open_mmio(&m, &cfg);
    s->ddr[5] = 0x77;
    assert_int_equal(*(uint8_t *)npu_mmio_cpu(&m, DDR_ADDR + 5, 1), 0x77);
    assert_non_null(npu_mmio_cpu(&m, DDR_ADDR, DDR_BYTES));
    assert_null(npu_mmio_cpu(&m, DDR_ADDR, DDR_BYTES + 1));
    assert_null(npu_mmio_cpu(&m, DDR_ADDR + 1, DDR_BYTES));
    assert_null(npu_mmio_cpu(&m, DDR_ADDR + DDR_BYTES + 4, 0));
    assert_null(npu_mmio_cpu(&m, DDR_ADDR + DDR_BYTES, 1));
    assert_null(npu_mmio_cpu(&m, DDR_ADDR - 1, 1));
    assert_null(npu_mmio_cpu(&m, 0, 1));
    npu_mmio_close(&m);
    cfg.ddr_path = NULL;
    open_mmio(&m, &cfg);
    assert_null(npu_mmio_cpu(&m, DDR_ADDR, 1));
    npu_mmio_close(&m);
}

typedef struct hook_log {
    unsigned flushes, invalidates;
    void *cpu;
    uint32_t addr, bytes;
} hook_log;

static void on_flush(void *ctx, void *cpu, uint32_t addr, uint32_t bytes) {
    hook_log *log = (hook_log *)ctx;
    *log = (hook_log){
        .flushes = log->flushes + 1, .invalidates = log->invalidates, .cpu = cpu, .addr = addr, .bytes = bytes};
}

static void on_invalidate(void *ctx, void *cpu, uint32_t addr, uint32_t bytes) {
    hook_log *log = (hook_log *)ctx;
    *log = (hook_log){
        .flushes = log->flushes, .invalidates = log->invalidates + 1, .cpu = cpu, .addr = addr, .bytes = bytes};
}

static void cache_hooks(void **state) {
    stand_in *s = (stand_in *)*state;
    npu_mmio m;
    npu_mmio_cfg cfg = config(s);
    hook_log log = {0};
    open_mmio(&m, &cfg);
    assert_null(npu_mmio_hal(&m)->cache_flush); /* coherent */
    assert_null(npu_mmio_hal(&m)->cache_invalidate);
    npu_mmio_close(&m);
    cfg.cache_flush = on_flush;
    cfg.cache_invalidate = on_invalidate;
    cfg.cache_ctx = &log;
    open_mmio(&m, &cfg);
    const npu_hal *hal = npu_mmio_hal(&m);
    hal->cache_flush(hal->ctx, DDR_ADDR + 64, 32);
    assert_true(log.flushes == 1 && log.invalidates == 0 && log.addr == DDR_ADDR + 64 && log.bytes == 32);
    assert_ptr_equal(log.cpu, npu_mmio_cpu(&m, DDR_ADDR + 64, 32));
    hal->cache_invalidate(hal->ctx, 64, 32);
    assert_true(log.flushes == 1 && log.invalidates == 1 && log.addr == 64 && log.cpu == NULL);
    npu_mmio_close(&m);
}

/* ---- interrupts ---- */

static void waiting(void **state) {
    stand_in *s = (stand_in *)*state;
    npu_mmio m;
    npu_mmio_cfg cfg = config(s);
    uint32_t one = 0;
    uint32_t count = 9;
    stop_device(s);
    open_mmio(&m, &cfg);
    const npu_hal *hal = npu_mmio_hal(&m);
    s->window[NPU_REG_IRQ_ENABLE / 4] = 7;
    s->window[NPU_REG_IRQ_STATUS / 4] = 0;
    uint64_t start = now_us();
    assert_int_equal(hal->wait_irq(hal->ctx, NPU_HAL_IRQ_GEMM, 30000), NPU_HAL_TIMEOUT);
    assert_true(now_us() - start >= 30000);
    assert_int_equal(recv(s->irq[1], &one, sizeof one, MSG_DONTWAIT), sizeof one); /* it was enabled */
    assert_int_equal(one, 1);
    /* an interrupt of a line that nobody waits for is taken, and the wait goes on */
    s->window[NPU_REG_IRQ_STATUS / 4] = NPU_HAL_IRQ_ALU;
    assert_int_equal(write(s->irq[1], &count, sizeof count), sizeof count);
    start = now_us();
    assert_int_equal(hal->wait_irq(hal->ctx, NPU_HAL_IRQ_GEMM, 30000), NPU_HAL_TIMEOUT);
    assert_true(now_us() - start >= 30000);
    assert_int_equal(m.interrupts, 1);
    /* one that comes again and again does not keep the wait alive */
    for (unsigned i = 0; i < 50; i++) {
        assert_int_equal(write(s->irq[1], &count, sizeof count), sizeof count);
    }
    assert_int_equal(hal->wait_irq(hal->ctx, NPU_HAL_IRQ_GEMM, 1), NPU_HAL_TIMEOUT);
    /* a line that is high already */
    assert_int_equal(hal->wait_irq(hal->ctx, NPU_HAL_IRQ_ALU | NPU_HAL_IRQ_GEMM, 0), NPU_HAL_OK);
    /* high but not enabled: no interrupt */
    s->window[NPU_REG_IRQ_ENABLE / 4] = NPU_HAL_IRQ_GEMM;
    assert_int_equal(hal->wait_irq(hal->ctx, NPU_HAL_IRQ_ALU, 1000), NPU_HAL_TIMEOUT);
    start = now_us();
    hal->delay_us(hal->ctx, 2000);
    assert_true(now_us() - start >= 2000);
    npu_mmio_close(&m);
}

/* Which interrupt carries which line; no interrupt at all. */
static void lines(void **state) {
    stand_in *s = (stand_in *)*state;
    npu_mmio m;
    npu_mmio_cfg cfg = config(s);
    int other[2];
    uint32_t count = 1;
    stop_device(s);
    s->window[NPU_REG_IRQ_ENABLE / 4] = 7;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, other), 0);
    cfg.irqs = 2;
    cfg.irq[0].lines = NPU_HAL_IRQ_GEMM;
    cfg.irq[1] = (npu_mmio_irq){.lines = NPU_HAL_IRQ_ALU, .fd = other[0]};
    open_mmio(&m, &cfg);
    const npu_hal *hal = npu_mmio_hal(&m);
    assert_int_equal(write(other[1], &count, sizeof count), sizeof count);
    assert_int_equal(hal->wait_irq(hal->ctx, NPU_HAL_IRQ_GEMM, 1000), NPU_HAL_TIMEOUT);
    assert_int_equal(m.interrupts, 0);
    assert_int_equal(hal->wait_irq(hal->ctx, NPU_HAL_IRQ_ALU | NPU_HAL_IRQ_GEMM, 1000), NPU_HAL_TIMEOUT);
    assert_int_equal(m.interrupts, 1);
    assert_int_equal(hal->wait_irq(hal->ctx, NPU_HAL_IRQ_POOL, 1000), NPU_HAL_FAULT); /* no interrupt carries it */
    npu_mmio_close(&m);
    close(other[0]);
    close(other[1]);
    cfg.irqs = 0;
    open_mmio(&m, &cfg);
    assert_null(npu_mmio_hal(&m)->wait_irq);
    npu drv;
    assert_int_equal(npu_init(&drv, npu_mmio_hal(&m), NPU_WAIT_IRQ, 100), NPU_ERR_ARG);
    npu_mmio_close(&m);
}

static void device_goes_away(void **state) {
    stand_in *s = (stand_in *)*state;
    npu_mmio m;
    const npu_mmio_cfg cfg = config(s);
    stop_device(s);
    open_mmio(&m, &cfg);
    s->window[NPU_REG_IRQ_STATUS / 4] = 0;
    close(s->irq[1]);
    s->irq[1] = -1;
    assert_int_equal(npu_mmio_hal(&m)->wait_irq(npu_mmio_hal(&m)->ctx, NPU_HAL_IRQ_GEMM, 1000000), NPU_HAL_FAULT);
    npu_mmio_close(&m);
}

/* ---- what cannot be opened ---- */

static void refuse(const npu_mmio_cfg *cfg, const char *part) {
    char err[256] = "";
    npu_mmio m;
    assert_int_equal(npu_mmio_open(&m, cfg, err, sizeof err), -1);
    if (strstr(err, part) == NULL || strchr(err, '\n') != NULL) {
        fail_msg("expected '%s', got '%s'", part, err);
    }
    npu_mmio_close(&m);
}

static void refused(void **state) {
    const stand_in *s = (const stand_in *)*state;
    const npu_mmio_cfg good = config(s);
    npu_mmio_cfg cfg = good;
    cfg.reg_path = NULL;
    refuse(&cfg, "registers: no path given");
    cfg.reg_path = "/nonexistent/uio0";
    refuse(&cfg, "registers: /nonexistent/uio0: No such file");
    cfg.reg_path = s->dir;
    refuse(&cfg, "Is a directory");
    cfg = good;
    cfg.reg_offset = 2;
    refuse(&cfg, "offset 0x2, expected a multiple of 4");
    cfg.reg_offset = FILE_LEAD + 4;
    refuse(&cfg, "expected at least 512 from offset 65604");
    cfg.reg_offset = UINT64_MAX - 3;
    refuse(&cfg, "expected at least 512");
    cfg = good;
    cfg.ddr_bytes = DDR_BYTES + 1;
    refuse(&cfg, "memory: ");
    cfg.ddr_bytes = 0;
    refuse(&cfg, "memory: 0 bytes");
    cfg.ddr_bytes = DDR_BYTES;
    cfg.ddr_addr = UINT32_MAX - 100;
    refuse(&cfg, "below 4 GiB");
    cfg = good;
    cfg.ddr_path = "/dev/null"; /* cannot be mapped */
    refuse(&cfg, "memory: /dev/null: cannot map");
    cfg = good;
    cfg.irqs = 4;
    refuse(&cfg, "interrupts: 4 given, expected at most 3");
    cfg.irqs = 2;
    cfg.irq[1] = (npu_mmio_irq){.lines = 1, .path = "/nonexistent/uio1"};
    refuse(&cfg, "interrupt 1: /nonexistent/uio1: No such file");
    cfg.irq[1] = (npu_mmio_irq){.lines = 1, .fd = -1};
    refuse(&cfg, "interrupt 1: descriptor: negative");
    cfg = good;
    cfg.cache_flush = on_flush;
    refuse(&cfg, "cache: one hook given");
}

#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {WITH_DEVICE(convolution_with_interrupts),
                                       WITH_DEVICE(convolution_polled),
                                       WITH_DEVICE(registers),
                                       WITH_DEVICE(memory),
                                       WITH_DEVICE(cache_hooks),
                                       WITH_DEVICE(waiting),
                                       WITH_DEVICE(lines),
                                       WITH_DEVICE(device_goes_away),
                                       WITH_DEVICE(refused)};
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
