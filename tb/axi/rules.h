/*
 * rules.h - the rules of AXI4 and AXI4-Lite that the checker implements, by their published names, and project rules.
 * Table with traces: docs/axi-rules.md.
 */
#ifndef TB_AXI_RULES_H
#define TB_AXI_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tb_axi_rule {
#define RULE(name, group, level, protocol, condition) name,
#include "rules.def"
#undef RULE
    TB_AXI_RULES
} tb_axi_rule;

typedef enum tb_axi_group {
    TB_AXI_GROUP_AW,
    TB_AXI_GROUP_W,
    TB_AXI_GROUP_B,
    TB_AXI_GROUP_AR,
    TB_AXI_GROUP_R,
    TB_AXI_GROUP_EXCL, /* exclusive accesses */
    TB_AXI_GROUP_AUX   /* of the checker itself */
} tb_axi_group;

typedef enum tb_axi_level {
    TB_AXI_LEVEL_ERR, /* error by default */
    TB_AXI_LEVEL_REC, /* recommendation: note by default */
    /* a limit of the checker: warning by default; an illegal data width is an error */
    TB_AXI_LEVEL_AUX,
    TB_AXI_LEVEL_PROJ_ERR, /* rule of a project: error, if the project's rules are on */
    TB_AXI_LEVEL_PROJ_REC  /* likewise: note */
} tb_axi_level;

typedef enum tb_axi_protocol { TB_AXI_PROTOCOL_AXI4, TB_AXI_PROTOCOL_BOTH, TB_AXI_PROTOCOL_ONLY } tb_axi_protocol;

/* Severity of a violation. Only errors count in tb_axi_monitor.violations. */
typedef enum tb_axi_severity {
    TB_AXI_SEV_DEFAULT, /* that of the rule's level */
    TB_AXI_SEV_OFF,
    TB_AXI_SEV_NOTE,
    TB_AXI_SEV_WARNING,
    TB_AXI_SEV_ERROR
} tb_axi_severity;

typedef struct tb_axi_rule_info {
    const char *name; /* "AXI4_ERRM_AWADDR_BOUNDARY"; AXI4-Lite ports use the same names */
    tb_axi_group group;
    tb_axi_level level;
    tb_axi_protocol protocol; /* AXI4 only, both, AXI4-Lite only */
    const char *condition;    /* the condition */
} tb_axi_rule_info;

/* NULL: no such rule. */
const tb_axi_rule_info *tb_axi_rule_get(tb_axi_rule rule);
/* "AXI4_ERRM_AWADDR_BOUNDARY" ... */
const char *tb_axi_rule_name(tb_axi_rule rule);
/* By name; TB_AXI_RULES: unknown. */
tb_axi_rule tb_axi_rule_find(const char *name);
/* Does the rule exist on a port of this protocol? */
bool tb_axi_rule_applies(tb_axi_rule rule, bool lite);
/* Never TB_AXI_SEV_DEFAULT; project rules as if they were on. */
tb_axi_severity tb_axi_rule_severity(tb_axi_rule rule);
/* "off", "note", "warning", "error". */
const char *tb_axi_severity_name(tb_axi_severity severity);
/* By name; TB_AXI_SEV_DEFAULT: unknown. */
tb_axi_severity tb_axi_severity_find(const char *name);

#endif
