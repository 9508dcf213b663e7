#include "lite_master.h"

#include <string.h>

void tb_lite_init(tb_lite_master *m, tb_axi_port *port, uint16_t gap_max, tb_rng rng) {
    memset(m, 0, sizeof *m);
    m->port = port;
    m->rng = rng;
    m->gap_max = gap_max;
}

void tb_lite_reset(tb_lite_master *m) {
    m->busy = false;
    *m->port->aw.valid = *m->port->w_valid = *m->port->ar.valid = 0;
    *m->port->b_ready = *m->port->r_ready = 0;
}

/* Delay of one channel: 0 with probability one half, so that all orders of the channels are frequent. */
static uint16_t draw_wait(tb_lite_master *m) {
    if (m->gap_max == 0) {
        return 0;
    }
    const uint64_t x = tb_rng_range(&m->rng, 0, 2u * m->gap_max);
    return (uint16_t)(x > m->gap_max ? 0 : x);
}

/* Bytes of a beat before the register of an address. */
static unsigned half_of(const tb_lite_master *m, uint64_t addr) {
    return m->port->bytes > 4 ? (unsigned)addr & 4u : 0;
}

void tb_lite_start(tb_lite_master *m, bool write, uint64_t addr, uint32_t value, uint8_t strb) {
    const unsigned half = half_of(m, addr);
    tb_lite_start64(m, write, addr, (uint64_t)value << (8 * half), (uint8_t)(strb << half));
}

uint32_t tb_lite_half(const tb_lite_master *m) {
    return (uint32_t)(m->value >> (8 * half_of(m, m->addr)));
}

void tb_lite_start64(tb_lite_master *m, bool write, uint64_t addr, uint64_t value, uint8_t strb) {
    m->busy = true;
    m->write = write;
    m->addr = addr;
    m->value = value;
    m->strb = strb;
    m->resp = TB_AXI_OKAY;
    *m->port->aw.valid = *m->port->w_valid = *m->port->ar.valid = 0;
    *m->port->b_ready = *m->port->r_ready = 0;
    m->ax_done = false;
    m->w_done = !write;
    m->ax_wait = draw_wait(m);
    m->w_wait = draw_wait(m);
    m->resp_wait = draw_wait(m);
}

/* Counts a delay down; true when it is over. */
static bool over(uint16_t *wait) {
    if (*wait == 0) {
        return true;
    }
    (*wait)--;
    return false;
}

void tb_lite_drive(tb_lite_master *m) {
    tb_axi_port *p = m->port;
    if (!m->busy) {
        *p->aw.valid = *p->w_valid = *p->ar.valid = *p->b_ready = *p->r_ready = 0;
        return;
    }
    tb_axi_ax_sig *ax = m->write ? &p->aw : &p->ar;
    if (!m->ax_done && (*ax->valid != 0 || over(&m->ax_wait))) {
        *ax->valid = 1;
        tb_set(ax->addr, m->addr);
    } else {
        *ax->valid = 0;
    }
    if (!m->w_done && (*p->w_valid != 0 || over(&m->w_wait))) {
        *p->w_valid = 1;
        memcpy(p->w_data, &m->value, p->bytes);
        tb_set(p->w_strb, m->strb);
    } else {
        *p->w_valid = 0;
    }
    /* once high, ready stays high; it may rise before the response */
    uint8_t *ready = m->write ? p->b_ready : p->r_ready;
    *ready = over(&m->resp_wait);
}

void tb_lite_sample(tb_lite_master *m) {
    const tb_axi_port *p = m->port;
    if (!m->busy) {
        return;
    }
    const tb_axi_ax_sig *ax = m->write ? &p->aw : &p->ar;
    if ((*ax->valid & *ax->ready) != 0) {
        m->ax_done = true;
    }
    if ((*p->w_valid & *p->w_ready) != 0) {
        m->w_done = true;
    }
    if (m->write && (*p->b_valid & *p->b_ready) != 0) {
        m->resp = *p->b_resp;
        m->busy = false;
    }
    if (!m->write && (*p->r_valid & *p->r_ready) != 0) {
        m->resp = *p->r_resp;
        memcpy(&m->value, p->r_data, p->bytes);
        m->busy = false;
    }
}

static tb_lite_status run(tb_lite_master *m, tb_step_fn *step, void *ctx, uint64_t timeout) {
    for (uint64_t i = 0; m->busy; i++) {
        if (i >= timeout) {
            return TB_LITE_TIMEOUT;
        }
        if (!step(ctx)) {
            return TB_LITE_STOPPED;
        }
    }
    return m->resp == TB_AXI_OKAY ? TB_LITE_OK : TB_LITE_ERROR;
}

tb_lite_status tb_lite_write(tb_lite_master *m, uint64_t addr, uint32_t value, uint8_t strb, tb_step_fn *step,
                             void *ctx, uint64_t timeout) {
    tb_lite_start(m, true, addr, value, strb);
    return run(m, step, ctx, timeout);
}

tb_lite_status tb_lite_read(tb_lite_master *m, uint64_t addr, uint32_t *value, tb_step_fn *step, void *ctx,
                            uint64_t timeout) {
    tb_lite_start(m, false, addr, 0, 0);
    const tb_lite_status status = run(m, step, ctx, timeout);
    *value = tb_lite_half(m);
    return status;
}

tb_lite_status tb_lite_write64(tb_lite_master *m, uint64_t addr, uint64_t value, uint8_t strb, tb_step_fn *step,
                               void *ctx, uint64_t timeout) {
    tb_lite_start64(m, true, addr, value, strb);
    return run(m, step, ctx, timeout);
}

tb_lite_status tb_lite_read64(tb_lite_master *m, uint64_t addr, uint64_t *value, tb_step_fn *step, void *ctx,
                              uint64_t timeout) {
    tb_lite_start64(m, false, addr, 0, 0);
    const tb_lite_status status = run(m, step, ctx, timeout);
    *value = m->value;
    return status;
}
