/* Members of tb_axi_project by name. */
#include "project_set.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t at;
    uint8_t bytes; /* 0: a switch */
} members[] = {
#define NUMBER(name)                                                                                                   \
    { #name, offsetof(tb_axi_project, name), sizeof((tb_axi_project *)0)->name }
#define SWITCH(name)                                                                                                   \
    { #name, offsetof(tb_axi_project, name), 0 }
    NUMBER(max_writes), NUMBER(max_reads),  NUMBER(ids),         NUMBER(addr_bits),  NUMBER(align),   NUMBER(w_gap),
    NUMBER(r_gap),      NUMBER(w_to_b),     NUMBER(wlast_to_aw), SWITCH(incr_only),  SWITCH(no_lock), SWITCH(no_narrow),
    SWITCH(read_only),  SWITCH(write_only), SWITCH(order),       SWITCH(reset_async)};

#define MEMBERS (sizeof members / sizeof members[0])

static size_t find(const char *name) {
    size_t i = 0;
    while (i < MEMBERS && strcmp(members[i].name, name) != 0) {
        i++;
    }
    return i;
}

tb_axi_project_kind tb_axi_project_kind_of(const char *name) {
    const size_t i = find(name);
    return i == MEMBERS            ? TB_AXI_PROJECT_UNKNOWN
           : members[i].bytes == 0 ? TB_AXI_PROJECT_SWITCH
                                   : TB_AXI_PROJECT_NUMBER;
}

bool tb_axi_project_set(tb_axi_project *project, const char *name, uint64_t value) {
    const size_t i = find(name);
    if (i == MEMBERS || (members[i].bytes == 4 && value > UINT32_MAX)) {
        return false;
    }
    char *at = (char *)project + members[i].at;
    const bool on = true;
    const uint32_t narrow = (uint32_t)value;
    project->on = true;
    if (members[i].bytes == 0) {
        memcpy(at, &on, sizeof on);
    } else if (members[i].bytes == sizeof narrow) {
        memcpy(at, &narrow, sizeof narrow);
    } else {
        memcpy(at, &value, sizeof value);
    }
    return true;
}

void tb_axi_project_names(char *dst, size_t size) {
    size_t len = 0;
    dst[0] = '\0';
    for (size_t i = 0; i < MEMBERS && len < size; i++) {
        len += (size_t)snprintf(dst + len, size - len, "%s%s%s", i > 0 ? ", " : "", members[i].name,
                                members[i].bytes != 0 ? "=N" : "");
    }
}
