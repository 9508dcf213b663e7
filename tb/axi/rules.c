/* The rules by number and by name, severities. */
#include "rules.h"

#include <string.h>

#include "sample.h"

#define PROTOCOL_AXI4 TB_AXI_PROTOCOL_AXI4
#define PROTOCOL_BOTH TB_AXI_PROTOCOL_BOTH
#define PROTOCOL_ONLY TB_AXI_PROTOCOL_ONLY

static const tb_axi_rule_info rules[TB_AXI_RULES] = {
#define RULE(name, group, level, protocol, condition)                                                                  \
    {#name, TB_AXI_GROUP_##group, TB_AXI_LEVEL_##level, PROTOCOL_##protocol, condition},
#include "rules.def"
#undef RULE
};

static const char *const severities[] = {"default", "off", "note", "warning", "error"};

const tb_axi_rule_info *tb_axi_rule_get(tb_axi_rule rule) {
    return (unsigned)rule < TB_AXI_RULES ? &rules[rule] : NULL;
}

const char *tb_axi_rule_name(tb_axi_rule rule) {
    return (unsigned)rule < TB_AXI_RULES ? rules[rule].name : "unknown rule";
}

tb_axi_rule tb_axi_rule_find(const char *name) {
    unsigned i = 0;
    while (i < TB_AXI_RULES && strcmp(rules[i].name, name) != 0) {
        i++;
    }
    return (tb_axi_rule)i;
}

bool tb_axi_rule_applies(tb_axi_rule rule, bool lite) {
    return (unsigned)rule < TB_AXI_RULES &&
           (lite ? rules[rule].protocol != TB_AXI_PROTOCOL_AXI4 : rules[rule].protocol != TB_AXI_PROTOCOL_ONLY);
}

tb_axi_severity tb_axi_rule_severity(tb_axi_rule rule) {
    if (rule == AXI4_AUXM_DATA_WIDTH || rule == AXI4LITE_AUXM_DATA_WIDTH) {
        return TB_AXI_SEV_ERROR;
    }
    switch (rules[rule].level) {
    case TB_AXI_LEVEL_REC:
    case TB_AXI_LEVEL_PROJ_REC:
        return TB_AXI_SEV_NOTE;
    case TB_AXI_LEVEL_AUX:
        return TB_AXI_SEV_WARNING;
    default:
        return TB_AXI_SEV_ERROR;
    }
}

const char *tb_axi_severity_name(tb_axi_severity severity) {
    return (unsigned)severity <= TB_AXI_SEV_ERROR ? severities[severity] : "unknown severity";
}

tb_axi_severity tb_axi_severity_find(const char *name) {
    for (unsigned i = TB_AXI_SEV_OFF; i <= TB_AXI_SEV_ERROR; i++) {
        if (strcmp(severities[i], name) == 0) {
            return (tb_axi_severity)i;
        }
    }
    return TB_AXI_SEV_DEFAULT;
}
