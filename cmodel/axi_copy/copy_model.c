#include "copy_model.h"

#include "axi_copy_regs.h"

/* The definition of the engine. */
static void copy(copy_model *m) {
    const uint64_t end = UINT64_C(1) << 32;
    m->err = m->src + (uint64_t)m->len > end || m->dst + (uint64_t)m->len > end ? AXI_COPY_ERR_RANGE_MASK : 0;
    for (uint32_t i = 0; i < m->len && m->err == 0; i++) {
        uint8_t byte;
        m->err |= m->mem.read(m->mem.ctx, m->src + i, &byte, 1) ? 0 : AXI_COPY_ERR_READ_MASK;
        m->err |= m->mem.write(m->mem.ctx, m->dst + i, &byte, 1) ? 0 : AXI_COPY_ERR_WRITE_MASK;
    }
    m->done = true;
    m->count++;
}

void copy_model_write(copy_model *m, uint32_t reg, uint32_t value) {
    switch (reg) {
    case AXI_COPY_REG_SRC:
        m->src = value;
        break;
    case AXI_COPY_REG_DST:
        m->dst = value;
        break;
    case AXI_COPY_REG_LEN:
        m->len = value & AXI_COPY_LEN_BYTES_MASK;
        break;
    case AXI_COPY_REG_CTRL:
        m->irq_en = (value & AXI_COPY_CTRL_IRQ_EN_MASK) != 0;
        if ((value & AXI_COPY_CTRL_START_MASK) != 0) {
            copy(m);
        }
        break;
    case AXI_COPY_REG_STATUS:
        m->done = m->done && (value & AXI_COPY_STATUS_DONE_MASK) == 0;
        break;
    default:
        break;
    }
}

uint32_t copy_model_read(const copy_model *m, uint32_t reg) {
    switch (reg) {
    case AXI_COPY_REG_SRC:
        return m->src;
    case AXI_COPY_REG_DST:
        return m->dst;
    case AXI_COPY_REG_LEN:
        return m->len;
    case AXI_COPY_REG_CTRL:
        return m->irq_en ? AXI_COPY_CTRL_IRQ_EN_MASK : 0;
    case AXI_COPY_REG_STATUS:
        return m->done ? AXI_COPY_STATUS_DONE_MASK : 0;
    case AXI_COPY_REG_ERR:
        return m->err;
    case AXI_COPY_REG_COUNT:
        return m->count;
    default:
        return 0;
    }
}
