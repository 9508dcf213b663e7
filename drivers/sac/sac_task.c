/* sac_task.c - one task: its check, its registers, its end. */
#include "sac.h"

#include "sac_regs.h"

#define MAX_SIDE 1023u
#define MAX_CHANNELS 4096u
#define MAX_KERNEL 11u
#define MAX_STRIDE 4u
#define MAX_PAD 7u
#define MAX_WORDS 1024u
#define MAX_PIXELS 16384u

const char *sac_strerror(sac_status status) {
    static const char *const text[SAC_STATUS_COUNT] = {
        [SAC_OK] = "no error",
        [SAC_FAIL_ARG] = "a null pointer, or an address that is not a multiple of 16",
        [SAC_FAIL_MAP] = "map or channels out of range: 1..1023 columns and rows, 1..4096 channels and filters",
        [SAC_FAIL_KERNEL] = "kernel, stride or padding out of range: kernel 1..11, stride 1..4, padding 0..7",
        [SAC_FAIL_OUTPUT] = "the output size does not follow from the map",
        [SAC_FAIL_POOL] = "pooling out of range: window 2..3, stride 1..3, padding 0..1",
        [SAC_FAIL_WINDOW] = "a pooling window holds no part of the map",
        [SAC_FAIL_FULL] = "a map of more than 16384 pixels cannot be pooled as a whole",
        [SAC_FAIL_WORDS] = "a filter takes more than 1024 words",
        [SAC_FAIL_CACHE_SIZE] = "the map does not fit into half of the feature cache",
        [SAC_FAIL_UNWRITTEN] = "no task has written this input to the feature cache",
        [SAC_FAIL_OVERLAP] = "the output overlaps something that the task reads",
        [SAC_FAIL_CODE] = "weight code 15 is unused",
        [SAC_FAIL_SHIFT] = "shift out of range: sh -8..31, d, la and lb 0..7, r -8..15, g -7..7",
        [SAC_FAIL_OVERFLOW] = "a sum could leave 32 bits",
        [SAC_FAIL_DILATION] = "dilation is not supported",
        [SAC_FAIL_DEPTHWISE] = "groups must have a multiple of C_VECTOR channels: no depthwise convolution",
        [SAC_FAIL_AVERAGE] = "average pooling is only supported over the whole map",
        [SAC_FAIL_ACTIVATION] = "ReLU is the only activation",
        [SAC_FAIL_RECORD] = "a convolution needs weights that are powers of two, not floating-point ones",
        [SAC_FAIL_DEVICE] = "the device does not answer as a shift-add engine",
        [SAC_FAIL_CONFIG] = "the device refused the sizes of the task",
        [SAC_FAIL_ABORTED] = "the task was aborted",
        [SAC_FAIL_READ_F] = "bus error: read of features",
        [SAC_FAIL_READ_W] = "bus error: read of filters, PARAM or DTAB",
        [SAC_FAIL_WRITE] = "bus error: write",
    };
    return (unsigned)status < SAC_STATUS_COUNT ? text[status] : "unknown status";
}

static uint32_t up(uint32_t a, uint32_t b) {
    return (a + b - 1) / b;
}

sac_status sac_open(sac_dev *dev, const sac_hal *hal) {
    uint32_t id = 0, sizes = 0;
    if (dev == NULL || hal == NULL || hal->read == NULL || hal->write == NULL || hal->wait == NULL) {
        return SAC_FAIL_ARG;
    }
    *dev = (sac_dev){.hal = hal};
    if (!hal->read(hal->ctx, SAC_REG_ID, &id) || id != SAC_REG_ID_RESET ||
        !hal->read(hal->ctx, SAC_REG_SIZES, &sizes) || !hal->read(hal->ctx, SAC_REG_CACHE, &dev->cache_pages)) {
        return SAC_FAIL_DEVICE;
    }
    dev->wv = (sizes & SAC_SIZES_W_MASK) >> SAC_SIZES_W_LSB;
    dev->cv = (sizes & SAC_SIZES_C_MASK) >> SAC_SIZES_C_LSB;
    dev->nv = (sizes & SAC_SIZES_N_MASK) >> SAC_SIZES_N_LSB;
    return dev->wv >= 3 && dev->cv > 0 && dev->nv > 0 ? SAC_OK : SAC_FAIL_DEVICE;
}

static bool in(uint32_t value, uint32_t lowest, uint32_t highest) {
    return value >= lowest && value <= highest;
}

/* The map that the writer gets, and the one that is written. */
static void maps(const sac_task *t, uint32_t *mh, uint32_t *mw, uint32_t *oh, uint32_t *ow) {
    *mh = t->pool ? t->ph : t->oh;
    *mw = t->pool ? t->pw : t->ow;
    *oh = t->full != SAC_FULL_NONE ? 1 : *mh;
    *ow = t->full != SAC_FULL_NONE ? 1 : *mw;
}

/* Does an output of this size begin its last window in the map or its padding of at most 7? */
static bool follows(uint32_t out, uint32_t in_size, uint32_t kernel, uint32_t stride, uint32_t pad) {
    return (out - 1) * stride + kernel <= in_size + pad + MAX_PAD;
}

static sac_status check_conv(const sac_task *t) {
    if (!in(t->w, 1, MAX_SIDE) || !in(t->h, 1, MAX_SIDE) || !in(t->c, 1, MAX_CHANNELS) || !in(t->n, 1, MAX_CHANNELS)) {
        return SAC_FAIL_MAP;
    }
    if (!in(t->kw, 1, MAX_KERNEL) || !in(t->kh, 1, MAX_KERNEL) || !in(t->stride, 1, MAX_STRIDE) || t->pt > MAX_PAD ||
        t->pl > MAX_PAD) {
        return SAC_FAIL_KERNEL;
    }
    if (!in(t->ow, 1, MAX_SIDE) || !in(t->oh, 1, MAX_SIDE) || !follows(t->ow, t->w, t->kw, t->stride, t->pl) ||
        !follows(t->oh, t->h, t->kh, t->stride, t->pt)) {
        return SAC_FAIL_OUTPUT;
    }
    return SAC_OK;
}

static sac_status check_pool(const sac_task *t) {
    if (!t->pool) {
        return SAC_OK;
    }
    if (!in(t->win, 2, 3) || !in(t->pool_stride, 1, 3) || t->pool_pt > 1 || t->pool_pl > 1 || !in(t->pw, 1, MAX_SIDE) ||
        !in(t->ph, 1, MAX_SIDE)) {
        return SAC_FAIL_POOL;
    }
    return (t->pw - 1) * t->pool_stride < t->ow + t->pool_pl && (t->ph - 1) * t->pool_stride < t->oh + t->pool_pt
               ? SAC_OK
               : SAC_FAIL_WINDOW;
}

/* A byte range of memory; bytes 0: none. */
typedef struct range {
    uint64_t first, bytes;
} range;

static uint64_t span(const sac_dev *dev, uint32_t c, uint32_t h, uint32_t w, uint32_t step) {
    const uint64_t group = sac_tensor_bytes(dev, 1, h, w);
    return (uint64_t)(up(c, dev->cv) - 1) * (step != 0 ? step : group) + group;
}

/*
 * Where groups of two tensors lie between each other, their spans overlap and the tensors need not: that is refused
 * too.
 */
static sac_status check_memory(const sac_dev *dev, const sac_task *t) {
    uint32_t mh, mw, oh, ow;
    maps(t, &mh, &mw, &oh, &ow);
    const range out = {t->out, t->to_memory ? span(dev, t->n, oh, ow, t->full != SAC_FULL_NONE ? 0 : t->out_step) : 0};
    const range reads[] = {
        {t->in, t->from_cache ? 0 : span(dev, t->c, t->h, t->w, t->in_step)},
        {t->res, t->add ? span(dev, t->n, mh, mw, t->out_step) : 0},
        {t->filters, sac_filter_bytes(dev, t->n, t->c, t->kh, t->kw)},
        {t->params, sac_param_bytes(dev, t->n)},
        {t->dtab, t->c},
    };
    const uint32_t group = sac_tensor_bytes(dev, 1, mh, mw), in_group = sac_tensor_bytes(dev, 1, t->h, t->w);
    if (((t->in | t->out | t->res | t->filters | t->params | t->dtab | t->in_step | t->out_step) & 15u) != 0 ||
        (t->in_step != 0 && t->in_step < in_group) || (t->out_step != 0 && t->out_step < group) ||
        out.first + out.bytes > UINT64_C(1) << 32) {
        return SAC_FAIL_ARG;
    }
    for (unsigned i = 0; i < sizeof reads / sizeof *reads; i++) {
        if (reads[i].first + reads[i].bytes > UINT64_C(1) << 32) {
            return SAC_FAIL_ARG;
        }
        if (out.bytes > 0 && reads[i].bytes > 0 && out.first < reads[i].first + reads[i].bytes &&
            reads[i].first < out.first + out.bytes) {
            return SAC_FAIL_OVERLAP;
        }
    }
    return SAC_OK;
}

static sac_status check_cache(const sac_dev *dev, const sac_task *t) {
    uint32_t mh, mw, oh, ow;
    maps(t, &mh, &mw, &oh, &ow);
    const uint64_t words = (uint64_t)up(t->c, t->kw == 1 ? 3 * dev->cv : dev->cv) * t->kh * up(t->kw, 3);
    if (words > MAX_WORDS) {
        return SAC_FAIL_WORDS;
    }
    if ((uint64_t)up(t->c, dev->cv) * t->h * up(t->w, dev->wv) > dev->cache_pages ||
        (t->to_cache && (uint64_t)up(t->n, dev->cv) * oh * up(ow, dev->wv) > dev->cache_pages)) {
        return SAC_FAIL_CACHE_SIZE;
    }
    const sac_cached *held = &dev->cached[t->half & 1];
    if (t->from_cache && (held->c != t->c || held->h != t->h || held->w != t->w)) {
        return SAC_FAIL_UNWRITTEN;
    }
    return SAC_OK;
}

sac_status sac_check(const sac_dev *dev, const sac_task *t) {
    uint32_t mh, mw, oh, ow;
    if (dev == NULL || t == NULL || t->half > 1 || (unsigned)t->full > SAC_FULL_AVG || !(t->to_memory || t->to_cache)) {
        return SAC_FAIL_ARG;
    }
    sac_status status = check_conv(t);
    status = status == SAC_OK ? check_pool(t) : status;
    if (status != SAC_OK) {
        return status;
    }
    maps(t, &mh, &mw, &oh, &ow);
    if (t->full != SAC_FULL_NONE && mh * mw > MAX_PIXELS) {
        return SAC_FAIL_FULL;
    }
    status = check_cache(dev, t);
    return status == SAC_OK ? check_memory(dev, t) : status;
}

#define FIELD(reg, field, value) ((uint32_t)(value) << SAC_##reg##_##field##_LSB)

static bool write_registers(const sac_dev *dev, const sac_task *t) {
    uint32_t mh, mw, oh, ow;
    maps(t, &mh, &mw, &oh, &ow);
    const uint32_t in_step = t->in_step != 0 ? t->in_step : sac_tensor_bytes(dev, 1, t->h, t->w);
    const uint32_t out_step = t->out_step != 0 ? t->out_step : sac_tensor_bytes(dev, 1, mh, mw);
    const uint32_t regs[][2] = {
        {SAC_REG_IN, t->in},
        {SAC_REG_OUT, t->out},
        {SAC_REG_RES, t->res},
        {SAC_REG_FILT, t->filters},
        {SAC_REG_PARAM, t->params},
        {SAC_REG_DTAB, t->dtab},
        {SAC_REG_IN_STEP, in_step},
        {SAC_REG_OUT_STEP, out_step},
        {SAC_REG_MAP, FIELD(MAP, W, t->w) | FIELD(MAP, H, t->h)},
        {SAC_REG_CHANNELS, FIELD(CHANNELS, C, t->c) | FIELD(CHANNELS, N, t->n)},
        {SAC_REG_KERNEL, FIELD(KERNEL, W, t->kw) | FIELD(KERNEL, H, t->kh) | FIELD(KERNEL, STRIDE, t->stride) |
                             FIELD(KERNEL, PT, t->pt) | FIELD(KERNEL, PL, t->pl)},
        {SAC_REG_CONV_OUT, FIELD(CONV_OUT, W, t->ow) | FIELD(CONV_OUT, H, t->oh)},
        {SAC_REG_POOL, t->pool ? FIELD(POOL, WIN, t->win) | FIELD(POOL, STRIDE, t->pool_stride) |
                                     FIELD(POOL, PT, t->pool_pt) | FIELD(POOL, PL, t->pool_pl)
                               : 0},
        {SAC_REG_POOL_OUT, t->pool ? FIELD(POOL_OUT, W, t->pw) | FIELD(POOL_OUT, H, t->ph) : 0},
        {SAC_REG_MODE, FIELD(MODE, SRC_CACHE, t->from_cache) | FIELD(MODE, DST_DDR, t->to_memory) |
                           FIELD(MODE, DST_CACHE, t->to_cache) | FIELD(MODE, HALF, t->half) |
                           FIELD(MODE, RELU, t->relu) | FIELD(MODE, POOL, t->pool) | FIELD(MODE, RES, t->add) |
                           FIELD(MODE, POST_RELU, t->post_relu) | FIELD(MODE, FULL, t->full)},
    };
    bool ok = true;
    for (unsigned i = 0; i < sizeof regs / sizeof *regs && ok; i++) {
        ok = dev->hal->write(dev->hal->ctx, regs[i][0], regs[i][1]);
    }
    return ok;
}

sac_status sac_start(sac_dev *dev, const sac_task *t, bool irq) {
    const sac_hal *hal = dev != NULL ? dev->hal : NULL;
    const sac_status status = sac_check(dev, t);
    if (status != SAC_OK) {
        return status;
    }
    uint32_t mh, mw, oh, ow;
    maps(t, &mh, &mw, &oh, &ow);
    dev->next[t->half] = (sac_cached){t->c, t->h, t->w};
    dev->next[!t->half] = t->to_cache ? (sac_cached){t->n, oh, ow} : dev->cached[!t->half];
    /* until the task has ended nothing is known about what it may write */
    dev->cached[t->half] = t->from_cache ? dev->cached[t->half] : (sac_cached){0, 0, 0};
    dev->cached[!t->half] = t->to_cache ? (sac_cached){0, 0, 0} : dev->cached[!t->half];
    const bool ok = write_registers(dev, t) && hal->write(hal->ctx, SAC_REG_IRQ_EN, irq ? SAC_IRQ_EN_DONE_MASK : 0) &&
                    hal->write(hal->ctx, SAC_REG_CTRL, SAC_CTRL_START_MASK);
    return ok ? SAC_OK : SAC_FAIL_DEVICE;
}

sac_status sac_wait(sac_dev *dev, bool irq) {
    static const sac_status codes[] = {[SAC_STATUS_CODE_OK] = SAC_OK,
                                       [SAC_STATUS_CODE_CONFIG] = SAC_FAIL_CONFIG,
                                       [SAC_STATUS_CODE_ABORTED] = SAC_FAIL_ABORTED,
                                       [SAC_STATUS_CODE_READ_F] = SAC_FAIL_READ_F,
                                       [SAC_STATUS_CODE_READ_W] = SAC_FAIL_READ_W,
                                       [SAC_STATUS_CODE_WRITE] = SAC_FAIL_WRITE};
    if (dev == NULL) {
        return SAC_FAIL_ARG;
    }
    const sac_hal *hal = dev->hal;
    uint32_t status = 0;
    while ((status & SAC_STATUS_DONE_MASK) == 0) {
        if (!hal->wait(hal->ctx, irq) || !hal->read(hal->ctx, SAC_REG_STATUS, &status)) {
            return SAC_FAIL_DEVICE;
        }
    }
    if (!hal->write(hal->ctx, SAC_REG_STATUS, SAC_STATUS_DONE_MASK | SAC_STATUS_ERROR_MASK)) {
        return SAC_FAIL_DEVICE;
    }
    const uint32_t code = (status & SAC_STATUS_CODE_MASK) >> SAC_STATUS_CODE_LSB;
    if (code == SAC_STATUS_CODE_OK) {
        dev->cached[0] = dev->next[0];
        dev->cached[1] = dev->next[1];
    }
    return code < sizeof codes / sizeof *codes ? codes[code] : SAC_FAIL_DEVICE;
}

sac_status sac_abort(sac_dev *dev) {
    if (dev == NULL) {
        return SAC_FAIL_ARG;
    }
    return dev->hal->write(dev->hal->ctx, SAC_REG_CTRL, SAC_CTRL_ABORT_MASK) ? SAC_OK : SAC_FAIL_DEVICE;
}

sac_status sac_read_cycles(const sac_dev *dev, sac_cycles *cycles) {
    if (dev == NULL || cycles == NULL) {
        return SAC_FAIL_ARG;
    }
    const sac_hal *hal = dev->hal;
    uint32_t *const at[] = {&cycles->input, &cycles->preload,    &cycles->conv,
                            &cycles->idle,  &cycles->load_stall, &cycles->write_stall};
    for (unsigned i = 0; i < 6; i++) {
        if (!hal->read(hal->ctx, SAC_REG_CYC_INPUT + 4 * i, at[i])) {
            return SAC_FAIL_DEVICE;
        }
    }
    return SAC_OK;
}

uint64_t sac_conv_cycles(const sac_dev *dev, const sac_task *t) {
    const uint32_t wow = t->kw == 1 ? dev->wv : dev->wv - 2, ow1 = (t->ow - 1) * t->stride + 1;
    const uint64_t red = (uint64_t)up(t->c, dev->cv) * t->kh * up(t->kw, 3);
    return (uint64_t)up(t->n, dev->nv) * t->oh * up(ow1, wow) * red;
}
