/* Registers and tapped signals of the design, by instance and name. */
#include "hang.h"

#include <string.h>

bool npu_look_open(npu_look *look, const tb_sim *sim) {
    const tb_shim *shim = sim->cfg.shim;
    memset(look, 0, sizeof *look);
    look->var = shim->vars != NULL ? shim->vars(sim->dut, &look->vars, &look->base) : NULL;
    return look->vars > 0;
}

/* The rest of a path after the top module's name, which appears once or twice. */
static const char *below_top(const char *scope) {
    const char *dot = strchr(scope, '.');
    if (dot == NULL) {
        return "";
    }
    const size_t top = (size_t)(dot - scope);
    if (strncmp(dot + 1, scope, top) == 0 && (dot[1 + top] == '.' || dot[1 + top] == '\0')) {
        return dot[1 + top] == '\0' ? "" : dot + 2 + top;
    }
    return dot + 1;
}

/* The scope is the unit or a tap in it. */
static bool scope_of(const char *scope, const char *unit) {
    const char *path = below_top(scope);
    const size_t length = strlen(unit);
    if (strncmp(path, unit, length) != 0) {
        return false;
    }
    const char *rest = path + length;
    if (*rest == '\0') {
        return true;
    }
    if (*rest == '.') {
        rest++;
    } else if (length > 0) {
        return false;
    }
    return strncmp(rest, TB_TAP_PREFIX, strlen(TB_TAP_PREFIX)) == 0 && strchr(rest, '.') == NULL;
}

bool npu_look_unit(const npu_look *look, const char *unit) {
    for (size_t i = 0; i < look->vars; i++) {
        if (scope_of(look->var[i].scope, unit)) {
            return true;
        }
    }
    return false;
}

const tb_shim_var *npu_look_find(const npu_look *look, const char *unit, const char *name) {
    for (size_t i = 0; i < look->vars; i++) {
        if (strcmp(look->var[i].name, name) == 0 && scope_of(look->var[i].scope, unit)) {
            return &look->var[i];
        }
    }
    return NULL;
}

uint64_t npu_look_field(npu_look *look, const char *unit, const char *name, uint32_t lsb, uint32_t bits) {
    char path[64];
    const char *colon = strchr(name, ':');
    if (colon != NULL) {
        snprintf(path, sizeof path, "%s.%.*s", unit, (int)(colon - name), name);
        unit = path;
        name = colon + 1;
    }
    const tb_shim_var *var = npu_look_find(look, unit, name);
    if (var == NULL || lsb >= var->width) {
        if (look->missing[0] == '\0') {
            snprintf(look->missing, sizeof look->missing, "%s.%s", unit, name);
        }
        return 0;
    }
    return tb_get_field((tb_sig){.ptr = (void *)(look->base + var->at), .width = var->width}, lsb, bits);
}

uint64_t npu_look_get(npu_look *look, const char *unit, const char *name) {
    return npu_look_field(look, unit, name, 0, 64);
}
