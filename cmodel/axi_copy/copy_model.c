#include "copy_model.h"

#include "copy_regs.h"

/* The definition of the engine. */
static void copy(copy_model *m) {
    const uint64_t end = UINT64_C(1) << 32;
    m->err = m->src + (uint64_t)m->len > end || m->dst + (uint64_t)m->len > end ? COPY_ERR_RANGE : 0;
    for (uint32_t i = 0; i < m->len && m->err == 0; i++) {
        uint8_t byte;
        m->err |= m->mem.read(m->mem.ctx, m->src + i, &byte, 1) ? 0 : COPY_ERR_READ;
        m->err |= m->mem.write(m->mem.ctx, m->dst + i, &byte, 1) ? 0 : COPY_ERR_WRITE;
    }
    m->done = true;
    m->count++;
}

void copy_model_write(copy_model *m, uint32_t reg, uint32_t value) {
    switch (reg) {
    case COPY_SRC:
        m->src = value;
        break;
    case COPY_DST:
        m->dst = value;
        break;
    case COPY_LEN:
        m->len = value & COPY_LEN_MAX;
        break;
    case COPY_CTRL:
        m->irq_en = (value & COPY_CTRL_IRQ_EN) != 0;
        if ((value & COPY_CTRL_START) != 0) {
            copy(m);
        }
        break;
    case COPY_STATUS:
        m->done = m->done && (value & COPY_STATUS_DONE) == 0;
        break;
    default:
        break;
    }
}

uint32_t copy_model_read(const copy_model *m, uint32_t reg) {
    switch (reg) {
    case COPY_SRC:
        return m->src;
    case COPY_DST:
        return m->dst;
    case COPY_LEN:
        return m->len;
    case COPY_CTRL:
        return m->irq_en ? COPY_CTRL_IRQ_EN : 0;
    case COPY_STATUS:
        return m->done ? COPY_STATUS_DONE : 0;
    case COPY_ERR:
        return m->err;
    case COPY_COUNT:
        return m->count;
    default:
        return 0;
    }
}
