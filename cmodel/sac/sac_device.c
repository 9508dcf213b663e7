/* sac_device.c - the golden model as a device: what a task reads and writes, in the formats of docs/sac/sac.md. */
#include <stdlib.h>
#include <string.h>

#include "sac_layer.h"
#include "sac_model.h"
#include "sac_regs.h"

/* Where a tensor is: in memory with so many bytes between channel groups, or in a half of the cache. */
typedef struct place {
    uint32_t addr, step;
    uint8_t *cache; /* or NULL */
} place;

typedef struct shape {
    uint32_t c, h, w;
} shape;

static uint32_t up(uint32_t a, uint32_t b) {
    return (a + b - 1) / b;
}

/* One page: bytes of it that hold [column][channel]. False: error response. */
static bool move_page(sac_model *m, const place *p, const shape *s, uint32_t group, uint32_t row, uint32_t col,
                      uint8_t *page, bool write) {
    const uint32_t row_pages = up(s->w, m->build.w), bytes = sac_page_bytes(&m->build), used = m->build.w * m->build.c;
    const uint32_t in_group = row * row_pages + col;
    if (p->cache != NULL) {
        uint8_t *at = p->cache + ((size_t)group * s->h * row_pages + in_group) * used;
        memcpy(write ? at : page, write ? page : at, used);
        return true;
    }
    const uint32_t addr = p->addr + group * p->step + in_group * bytes;
    return write ? m->mem.write(m->mem.ctx, addr, page, bytes) : m->mem.read(m->mem.ctx, addr, page, bytes);
}

/* A whole tensor between its place and [c][h][w]; what pads a page is written as 0 and never read. */
static bool move_tensor(sac_model *m, const place *p, const shape *s, int8_t *data, bool write) {
    uint8_t page[512];
    bool ok = true;
    for (uint32_t i = 0; i < up(s->c, m->build.c) * s->h * up(s->w, m->build.w); i++) {
        const uint32_t pages = up(s->w, m->build.w), col = i % pages, row = i / pages % s->h, group = i / pages / s->h;
        memset(page, 0, sizeof page);
        ok = (write || move_page(m, p, s, group, row, col, page, false)) && ok;
        for (uint32_t lane = 0; lane < m->build.w * m->build.c; lane++) {
            const uint32_t c = group * m->build.c + lane % m->build.c, x = col * m->build.w + lane / m->build.c;
            if (c < s->c && x < s->w) {
                int8_t *at = &data[((size_t)c * s->h + row) * s->w + x];
                if (write) {
                    page[lane] = (uint8_t)*at;
                } else {
                    *at = (int8_t)page[lane];
                }
            }
        }
        ok = (!write || move_page(m, p, s, group, row, col, page, true)) && ok;
    }
    return ok;
}

/* Sign of the low bits of a byte. */
static int8_t signed_bits(uint8_t byte, unsigned bits) {
    const uint8_t sign = (uint8_t)(1u << (bits - 1)), value = byte & (uint8_t)((1u << bits) - 1);
    return (int8_t)((value ^ sign) - sign);
}

static bool read_param(sac_model *m, const cm_layer_task *t, sac_param *param) {
    bool ok = true;
    for (uint32_t n = 0; n < t->n; n++) {
        uint8_t b[16] = {0};
        ok = m->mem.read(m->mem.ctx, (t->param + (uint64_t)n) * 16, b, sizeof b) && ok;
        param[n] = (sac_param){
            .bias = (int32_t)(b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24),
            .sh = signed_bits(b[4], 6),
            .la = b[5] & 7,
            .lb = b[6] & 7,
            .r = signed_bits(b[7], 5),
            .g = signed_bits(b[8], 4),
        };
    }
    return ok;
}

/*
 * The hardware stream to one code a byte: batch, filter, channel group, row, tap group; nibble = tap * C_V +
 * channel.
 */
static bool read_codes(sac_model *m, const cm_layer_task *t, uint8_t *codes) {
    const uint32_t words = sac_task_words(&m->build, t), bytes = sac_task_batch_bytes(&m->build, t), cv = m->build.c;
    uint8_t *stream = calloc(1, bytes);
    bool ok = stream != NULL;
    for (uint32_t n = 0; n < t->n && stream != NULL; n++) {
        if (n % m->build.n == 0) {
            ok = m->mem.read(m->mem.ctx, (uint64_t)t->filt * 16 + (uint64_t)(n / m->build.n) * bytes, stream, bytes) &&
                 ok;
        }
        for (uint32_t i = 0; i < t->c * t->kh * t->kw; i++) {
            const uint32_t f = i % t->kw, r = i / t->kw % t->kh, c = i / t->kw / t->kh, group = c / cv;
            const uint32_t tap = t->kw == 1 ? group % 3 : f % 3;
            const uint32_t word = t->kw == 1 ? group / 3 * t->kh + r : (group * t->kh + r) * up(t->kw, 3) + f / 3;
            const size_t nibble = ((size_t)(n % m->build.n) * words + word) * 3 * cv + tap * cv + c % cv;
            codes[(size_t)n * t->c * t->kh * t->kw + i] = (uint8_t)(stream[nibble / 2] >> (nibble % 2 * 4)) & 15u;
        }
    }
    free(stream);
    return ok;
}

typedef struct buffers {
    int8_t *in, *res, *out;
    uint8_t *codes, *d;
    sac_param *param;
} buffers;

static bool buffers_open(buffers *b, const cm_layer_task *t) {
    uint32_t w, h, ow, oh;
    sac_layer_map(t, &w, &h);
    sac_layer_out(t, &ow, &oh);
    *b = (buffers){.in = malloc((size_t)t->c * t->h * t->w),
                   .res = t->add ? malloc((size_t)t->n * h * w) : NULL,
                   .out = malloc((size_t)t->n * oh * ow),
                   .codes = malloc((size_t)t->n * t->c * t->kh * t->kw),
                   .d = malloc(t->c),
                   .param = malloc(t->n * sizeof *b->param)};
    return b->in != NULL && (b->res != NULL || !t->add) && b->out != NULL && b->codes != NULL && b->d != NULL &&
           b->param != NULL;
}

static void buffers_close(buffers *b) {
    free(b->in);
    free(b->res);
    free(b->out);
    free(b->codes);
    free(b->d);
    free(b->param);
}

/* Read everything, compute, write. The code of the end. */
static uint32_t run(sac_model *m, const cm_layer_task *t) {
    buffers b;
    uint32_t w, h;
    const place in = {t->in * 16, t->in_step * 16, t->src_cache ? m->cache[t->half] : NULL};
    const place res = {t->res * 16, t->out_step * 16, NULL};
    /* the pages of a map that was pooled as a whole follow each other */
    const uint32_t step = t->full != SAC_MODE_FULL_NONE ? sac_page_bytes(&m->build) : t->out_step * 16;
    const place ddr = {t->out * 16, step, NULL}, cache = {0, 0, m->cache[!t->half]};
    bool read_f = true, read_w = true, wrote = true;
    if (buffers_open(&b, t)) {
        /* the input passes through the cache */
        const shape in_shape = {t->c, t->h, t->w};
        read_f = move_tensor(m, &in, &in_shape, b.in, false);
        if (!t->src_cache) {
            const place half = {0, 0, m->cache[t->half]};
            move_tensor(m, &half, &in_shape, b.in, true);
        }
        read_w = m->mem.read(m->mem.ctx, (uint64_t)t->dtab * 16, b.d, t->c);
        for (uint32_t c = 0; c < t->c; c++) {
            b.d[c] &= 7;
        }
        read_w = read_param(m, t, b.param) && read_codes(m, t, b.codes) && read_w;
        sac_layer_map(t, &w, &h);
        read_f = (!t->add || move_tensor(m, &res, &(shape){t->n, h, w}, b.res, false)) && read_f;
        const sac_operands o = {b.in, b.codes, b.d, b.param, b.res};
        if (sac_layer_run(t, &o, b.out) == 0) {
            sac_layer_out(t, &w, &h);
            const shape out_shape = {t->n, h, w};
            wrote = !t->dst_ddr || move_tensor(m, &ddr, &out_shape, b.out, true);
            if (t->dst_cache) { /* which takes every write */
                move_tensor(m, &cache, &out_shape, b.out, true);
            }
        }
    }
    buffers_close(&b);
    return !read_f   ? SAC_STATUS_CODE_READ_F
           : !read_w ? SAC_STATUS_CODE_READ_W
           : !wrote  ? SAC_STATUS_CODE_WRITE
                     : SAC_STATUS_CODE_OK;
}

static void start(sac_model *m) {
    cm_layer_task t;
    sac_model_task(m, &t);
    const bool legal = sac_task_legal(&m->build, &t);
    const uint32_t code = legal ? run(m, &t) : SAC_STATUS_CODE_CONFIG;
    m->reg[SAC_REG_STATUS / 4] |= SAC_STATUS_DONE_MASK | (code != SAC_STATUS_CODE_OK ? SAC_STATUS_ERROR_MASK : 0);
    m->reg[SAC_REG_STATUS / 4] &= ~SAC_STATUS_CODE_MASK;
    m->reg[SAC_REG_STATUS / 4] |= code << SAC_STATUS_CODE_LSB;
    m->reg[SAC_REG_CYC_CONV / 4] = legal ? (uint32_t)sac_task_conv(&m->build, &t) : 0;
}

int sac_model_init(sac_model *m, const sac_mem *mem, const sac_build *build) {
    const size_t bytes = (size_t)build->pages * build->w * build->c;
    *m = (sac_model){.mem = *mem, .build = *build, .cache = {calloc(1, bytes), calloc(1, bytes)}};
    m->reg[SAC_REG_ID / 4] = SAC_REG_ID_RESET;
    m->reg[SAC_REG_SIZES / 4] =
        SAC_REG_SIZES_RESET | build->w << SAC_SIZES_W_LSB | build->c << SAC_SIZES_C_LSB | build->n << SAC_SIZES_N_LSB;
    m->reg[SAC_REG_CACHE / 4] = build->pages;
    return m->cache[0] != NULL && m->cache[1] != NULL ? 0 : -1;
}

void sac_model_free(sac_model *m) {
    free(m->cache[0]);
    free(m->cache[1]);
    *m = (sac_model){0};
}

#define MEMBER(member, element, lsb, width, reg_name, field, one)                                                      \
    t->element = (m->reg[SAC_REG_##reg_name / 4] & SAC_##reg_name##_##field##_MASK) >> SAC_##reg_name##_##field##_LSB;

void sac_model_task(const sac_model *m, cm_layer_task *t) {
    CM_LAYER_TASK_TABLE(MEMBER)
}

/* Bits of the task registers that exist. */
#define MASK_ROW(name, offset, access, exact, timed, w1c, reset) {(offset), (exact)},

void sac_model_write(sac_model *m, uint32_t reg, uint32_t value) {
    static const struct { uint32_t reg, mask; } rows[] = {SAC_REGS_TABLE(MASK_ROW)};
    if (reg == SAC_REG_STATUS) {
        m->reg[reg / 4] &= ~(value & (SAC_STATUS_DONE_MASK | SAC_STATUS_ERROR_MASK));
    } else if (reg == SAC_REG_CTRL) {
        if ((value & SAC_CTRL_START_MASK) != 0) {
            start(m);
        }
    } else if (reg == SAC_REG_IRQ_EN || (reg >= SAC_REG_IN && reg <= SAC_REG_MODE)) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            if (rows[i].reg == reg) {
                m->reg[reg / 4] = value & rows[i].mask;
            }
        }
    }
}

uint32_t sac_model_read(const sac_model *m, uint32_t reg) {
    return reg / 4 < SAC_MODEL_REGS ? m->reg[reg / 4] : 0;
}
