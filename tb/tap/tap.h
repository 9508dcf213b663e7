/*
 * tap.h - looking into a design: the public signals of modules that are bound into its units.
 *
 * A tap is a module with nothing but public inputs, `bind fifo tap_fifo u_tap_fifo (.*);`: its inputs take the names of
 * the unit's ports and signals, and the unit's source stays as it is. Builds without the bind statements have no taps.
 * Signals are read after tb_sim_settle(): what the coming clock edge sees.
 */
#ifndef TB_TAP_H
#define TB_TAP_H

#include "sim/sim.h"

#define TB_TAP_PREFIX "u_tap_" /* name of a tap's instance, before its kind */

typedef struct tb_tap {
    char *path;             /* instance that is looked into: "top.g_lane[1].u_fifo" */
    const char *kind;       /* "fifo" */
    const tb_shim_var *var; /* its signals, by name */
    size_t vars;
} tb_tap;

typedef struct tb_taps {
    tb_tap *tap; /* by path */
    size_t count;
    tb_shim_var *var;
} tb_taps;

/* All taps of a design; a build without any is no error (count 0). They are valid until the simulation is closed. 0 or
 * -1 (out of memory). */
int tb_taps_open(tb_taps *taps, const tb_sim *sim, char *err, size_t err_size);
void tb_taps_close(tb_taps *taps);
/* The `index`-th tap of a kind, in the order of paths; NULL past the last one. */
const tb_tap *tb_taps_find(const tb_taps *taps, const char *kind, size_t index);
/* Signal by name; ptr NULL when there is none. */
tb_sig tb_tap_find(const tb_tap *tap, const char *name);
/* Signal by name that must exist with this width (0: any). 0 or -1. */
int tb_tap_sig(const tb_tap *tap, const char *name, uint32_t width, tb_sig *out, char *err, size_t err_size);

#endif
