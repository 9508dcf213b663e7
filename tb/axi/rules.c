/* Names of the rules, violations as text. */
#include "monitor.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const rule_names[TB_AXI_RULES] = {
    [AXI4_ERRM_AWADDR_BOUNDARY] = "AXI4_ERRM_AWADDR_BOUNDARY",
    [AXI4_ERRM_ARADDR_BOUNDARY] = "AXI4_ERRM_ARADDR_BOUNDARY",
    [AXI4_ERRM_AWSIZE] = "AXI4_ERRM_AWSIZE",
    [AXI4_ERRM_ARSIZE] = "AXI4_ERRM_ARSIZE",
    [AXI4_ERRM_AWVALID_STABLE] = "AXI4_ERRM_AWVALID_STABLE",
    [AXI4_ERRM_WVALID_STABLE] = "AXI4_ERRM_WVALID_STABLE",
    [AXI4_ERRS_BVALID_STABLE] = "AXI4_ERRS_BVALID_STABLE",
    [AXI4_ERRM_ARVALID_STABLE] = "AXI4_ERRM_ARVALID_STABLE",
    [AXI4_ERRS_RVALID_STABLE] = "AXI4_ERRS_RVALID_STABLE",
    [AXI4_ERRM_AWADDR_STABLE] = "AXI4_ERRM_AWADDR_STABLE",
    [AXI4_ERRM_ARADDR_STABLE] = "AXI4_ERRM_ARADDR_STABLE",
    [AXI4_ERRM_WDATA_STABLE] = "AXI4_ERRM_WDATA_STABLE",
    [AXI4_ERRS_RDATA_STABLE] = "AXI4_ERRS_RDATA_STABLE",
    [AXI4_ERRS_BRESP_STABLE] = "AXI4_ERRS_BRESP_STABLE",
    [AXI4_ERRM_WDATA_NUM] = "AXI4_ERRM_WDATA_NUM",
    [AXI4_ERRM_WSTRB] = "AXI4_ERRM_WSTRB",
    [AXI4_ERRS_RDATA_NUM] = "AXI4_ERRS_RDATA_NUM",
    [AXI4_ERRS_RID] = "AXI4_ERRS_RID",
    [AXI4_ERRS_BRESP_AW] = "AXI4_ERRS_BRESP_AW",
    [AXI4_ERRS_BRESP_WLAST] = "AXI4_ERRS_BRESP_WLAST",
    [AXI4_ERRM_AWVALID_RESET] = "AXI4_ERRM_AWVALID_RESET",
    [AXI4_ERRM_WVALID_RESET] = "AXI4_ERRM_WVALID_RESET",
    [AXI4_ERRS_BVALID_RESET] = "AXI4_ERRS_BVALID_RESET",
    [AXI4_ERRM_ARVALID_RESET] = "AXI4_ERRM_ARVALID_RESET",
    [AXI4_ERRS_RVALID_RESET] = "AXI4_ERRS_RVALID_RESET",
};

const char *tb_axi_rule_name(tb_axi_rule rule) {
    return (unsigned)rule < TB_AXI_RULES ? rule_names[rule] : "unknown rule";
}

void tb_axi_violation_text(const tb_axi_monitor *mon, const tb_axi_violation *v, char *dst, size_t size) {
    snprintf(dst, size, "%s on %s (%s) at cycle %" PRIu64 ", address 0x%" PRIx64 ": %s", tb_axi_rule_name(v->rule), mon->cfg.name,
             tb_axi_channel_name(v->channel), v->cycle, v->addr, v->text);
}
