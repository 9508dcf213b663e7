/* Fault injection: memories that fail, and register accesses besides the driver's. */
#include <stdio.h>
#include <string.h>

#include "dev_priv.h"
#include "opt/opt.h"

#define STRAY_CYCLES 64u /* reads of ERR until a stray start must have been refused */

static tb_axi_slave *slave_of(npu_dev *dev, unsigned channel) {
    return dev->has_rtl && channel < NPU_DEV_CHANNELS ? &dev->run.port[PORT_M0 + channel]->slave : NULL;
}

void npu_dev_inject_response(npu_dev *dev, unsigned channel, unsigned dir, uint64_t k, uint8_t resp, uint16_t beat) {
    tb_axi_slave *s = slave_of(dev, channel);
    if (s != NULL && dir < 2 && !tb_axi_slave_inject_as(s, dir, k, resp, beat)) {
        tb_run_fail(&dev->run, "host:inject", "too many errors are still to be injected on channel %u", channel);
    }
}

void npu_dev_inject_error(npu_dev *dev, unsigned channel, unsigned dir, uint64_t k) {
    npu_dev_inject_response(dev, channel, dir, k, TB_AXI_SLVERR, dir == 0 ? TB_AXI_ANY_BEAT : 0);
}

void npu_dev_inject_hang(npu_dev *dev, unsigned channel, unsigned axi_channel, uint64_t from_k) {
    tb_axi_slave *s = slave_of(dev, channel);
    if (s != NULL && axi_channel < TB_AXI_CHANNELS) {
        tb_axi_slave_hang(s, (tb_axi_channel)axi_channel, from_k);
    }
}

void npu_dev_inject_flip(npu_dev *dev, unsigned channel, uint64_t k) {
    tb_axi_slave *s = slave_of(dev, channel);
    if (s != NULL) {
        tb_axi_slave_flip(s, k);
    }
}

void npu_dev_inject_slow(npu_dev *dev, unsigned channel, unsigned axi_channel, uint16_t most) {
    tb_axi_slave *s = slave_of(dev, channel);
    if (s != NULL && axi_channel < TB_AXI_CHANNELS) {
        tb_axi_slave_slow(s, (tb_axi_channel)axi_channel, most);
    }
}

bool npu_dev_broken_parse(const char *text, npu_dev_broken *broken) {
    for (unsigned c = 0;
         text != NULL && text[0] == 'm' && (text[1] == '0' || text[1] == '1') && text[2] == '.' && c < TB_AXI_CHANNELS;
         c++) {
        const char *name = tb_axi_channel_name((tb_axi_channel)c);
        const size_t length = strlen(name);
        if (strncmp(text + 3, name, length) != 0 || text[3 + length] != ':') {
            continue;
        }
        char number[32];
        snprintf(number, sizeof number, "%s", text + 4 + length);
        char *flip = c == TB_AXI_R ? strstr(number, ":flip") : NULL;
        broken->flip = flip != NULL && flip[5] == '\0';
        if (broken->flip) {
            *flip = '\0';
        }
        if (opt_number(number, 0, UINT64_MAX, &broken->from) && (!broken->flip || broken->from > 0)) {
            broken->on = true;
            broken->channel = text[1] == '1' ? 1 : 0;
            broken->axi = c;
            return true;
        }
    }
    return false;
}

void npu_dev_inject_broken(npu_dev *dev, const npu_dev_broken *broken) {
    if (broken->on && broken->flip) {
        npu_dev_inject_flip(dev, broken->channel, broken->from);
    } else if (broken->on) {
        npu_dev_inject_hang(dev, broken->channel, broken->axi, broken->from);
    }
}

void npu_dev_mend(npu_dev *dev) {
    for (unsigned c = 0; dev->has_rtl && c < NPU_DEV_CHANNELS; c++) {
        tb_axi_slave_mend(&dev->run.port[PORT_M0 + c]->slave);
    }
}

uint64_t npu_dev_handshakes(const npu_dev *dev, unsigned channel, unsigned axi_channel) {
    return dev->has_rtl && channel < NPU_DEV_CHANNELS && axi_channel < TB_AXI_CHANNELS
               ? dev->run.port[PORT_M0 + channel]->mon.stats.beats[axi_channel]
               : 0;
}

uint64_t npu_dev_error_responses(const npu_dev *dev, bool write) {
    uint64_t errors = 0;
    for (unsigned i = PORT_M0; i < dev->run.ports; i++) {
        errors += dev->run.port[i]->slave.errors[write];
    }
    return errors;
}

/* Values of the control register that are illegal in every unit (docs/npu/npu.md section 3), whatever the other
 * registers hold. */
static uint32_t illegal(unsigned unit) {
    return unit == UNIT_ALU    ? NPU_ALU_CTRL_OP_MASK
           : unit == UNIT_POOL ? NPU_POOL_CTRL_TYPE_MASK
                               : NPU_GEMM_CTRL_OP_MASK;
}

bool npu_dev_stray_start(npu_dev *dev, unsigned unit) {
    if (!dev->has_rtl || npu_dev_failed(dev) || unit >= UNITS || (dev->program.absent >> unit & 1u) != 0) {
        return false;
    }
    const npu_unit_regs *r = &npu_units[unit];
    const uint32_t before = dev->program.reg[r->ctrl / 4] & ~r->en_mask;
    uint32_t err = 0;
    if (!tb_run_write(&dev->run, PORT_AXIL, r->ctrl, before | illegal(unit) | r->en_mask) ||
        !tb_run_write(&dev->run, PORT_AXIL, r->ctrl, before)) {
        return false;
    }
    for (unsigned i = 0; i < STRAY_CYCLES && (err & r->refused) == 0; i++) {
        if (!tb_run_read(&dev->run, PORT_AXIL, NPU_REG_ERR, &err)) {
            return false;
        }
    }
    if ((err & r->refused) == 0) {
        tb_run_fail(
            &dev->run, "event:ERR",
            "a start of the %s with illegal settings, among tasks of the driver, was not refused: ERR is 0x%08x",
            r->name, err);
        return false;
    }
    dev->stray |= 1u << unit;
    return true;
}

void npu_dev_run(npu_dev *dev, uint64_t cycles) {
    for (uint64_t i = 0; dev->has_rtl && i < cycles && !npu_dev_failed(dev) && tb_run_step(&dev->run); i++) {
        tb_watchdog_kick(&dev->run.wd, dev->run.sim.cycle);
    }
}

void npu_dev_watchdog(npu_dev *dev, uint64_t cycles) {
    dev->run.wd.limit = dev->run.wd_memory.limit = cycles != 0 ? cycles : dev->run.cfg.watchdog_cycles;
}
