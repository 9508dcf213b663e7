/*
 * project_set.h - rules of a project by name: for text traces and command lines.
 */
#ifndef TB_AXI_PROJECT_SET_H
#define TB_AXI_PROJECT_SET_H

#include "monitor.h"

typedef enum tb_axi_project_kind {
    TB_AXI_PROJECT_UNKNOWN,
    TB_AXI_PROJECT_SWITCH,
    TB_AXI_PROJECT_NUMBER
} tb_axi_project_kind;

/* What the member of tb_axi_project with this name takes: "incr_only" nothing, "max_reads" a number. `on` and the
 * ranges have no name. */
tb_axi_project_kind tb_axi_project_kind_of(const char *name);
/* Set it, and switch the project's rules on. value: of a number. False: unknown, or more than fits. */
bool tb_axi_project_set(tb_axi_project *project, const char *name, uint64_t value);
/* All names, "max_writes=N, ... incr_only ...", for help texts. */
void tb_axi_project_names(char *dst, size_t size);

#endif
