/* Buses of the device: rules of this NPU beyond the protocol (docs/npu/npu.md section 1), statistics. */
#include "dev_priv.h"

void npu_dev_axi_rules(tb_axi_mon_cfg *cfg) {
    tb_axi_project *p = &cfg->proj;
    p->on = true;
    p->reset_async = true;
    if (cfg->lite) {
        p->addr_bits = 9;
        return;
    }
    p->max_reads = p->max_writes = 16;
    p->incr_only = p->no_lock = p->no_narrow = true;
    p->ids = 1;
    p->addr_bits = 32;
    p->order = true; /* guaranteed by the driver's fences, and by units that only overwrite what they have read */
}

void npu_rtl_allow_overlap(npu_dev *dev, bool allow) {
    for (unsigned i = 0; i < dev->run.ports; i++) {
        dev->run.port[i]->mon.cfg.severity[PROJ_ERRM_READ_WRITE_ORDER] = allow ? TB_AXI_SEV_OFF : TB_AXI_SEV_DEFAULT;
    }
}

void npu_dev_bus_stats(const npu_dev *dev, bool json, FILE *out) {
    for (unsigned i = 0; i < dev->run.ports; i++) {
        if (json) {
            fputs(i == 0 ? "[" : ", ", out);
            tb_axi_stats_json(&dev->run.port[i]->mon, dev->run.sim.cycle, out);
            fputs(i + 1 == dev->run.ports ? "]\n" : "", out);
        } else {
            tb_axi_stats_print(&dev->run.port[i]->mon, dev->run.sim.cycle, out);
        }
    }
}

const tb_axi_monitor *npu_dev_bus_monitor(const npu_dev *dev, unsigned channel) {
    return PORT_M0 + channel < dev->run.ports ? &dev->run.port[PORT_M0 + channel]->mon : NULL;
}
