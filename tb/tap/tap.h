/*
 * tap.h - access to a design's internals: the public signals of modules that are bound into its units.
 *
 * A tap is a module with nothing but public inputs, `bind fifo tap_fifo u_tap_fifo (.*);`: its inputs have the names of
 * the unit's ports and signals, and the unit's source is unchanged. Builds without the bind statements have no taps.
 * Signals are read after tb_sim_settle(): the values that the coming clock edge samples.
 */
#ifndef TB_TAP_H
#define TB_TAP_H

#include <stddef.h>

#include "sim/sim.h"

#define TB_TAP_PREFIX "u_tap_" /* name of a tap's instance, before its kind */

typedef struct tb_tap {
    const char *path;       /* instance that is looked into: "top.g_lane[1].u_fifo" */
    size_t length;          /* of the path */
    const char *kind;       /* "fifo" */
    const tb_shim_var *var; /* its signals, by name */
    size_t vars;
    uintptr_t base; /* of its signals */
} tb_tap;

/* Taps of a kind: where they begin in by_kind, how many there are. */
typedef struct tb_tap_kind {
    const char *name;
    size_t first, count;
    size_t next; /* of its chain, as there */
} tb_tap_kind;

#define TB_TAP_CHAINS 64u

typedef struct tb_taps {
    tb_tap *tap; /* by path */
    size_t count;
    const tb_tap **by_kind; /* the same, by kind and path */
    tb_tap_kind *kind;
    size_t kinds;
    size_t chain[TB_TAP_CHAINS]; /* of kinds with the same hash of their names: number of the first one from 1 on */
    char *paths;
} tb_taps;

/*
 * Signals that are looked up by name, each named once:
 *
 *     #define PORTS valid_i, ready_o, data_i[2]
 *     typedef struct state {
 *         TB_PORTS(ports, PORTS);
 *         ...
 *
 * makes members of them, state.valid_i and so on; TB_PORTS_OF(s->ports, PORTS) passes their names to the functions that
 * bind them. Element i of data_i[2] is the signal data<i>_i.
 */
#define TB_PORTS(NAME, ...)                                                                                            \
    union {                                                                                                            \
        struct {                                                                                                       \
            tb_sig __VA_ARGS__;                                                                                        \
        };                                                                                                             \
        struct {                                                                                                       \
            tb_sig __VA_ARGS__;                                                                                        \
        } NAME;                                                                                                        \
    }
/* Such members in a struct of their own, state.other.valid_i and so on: TB_PORTS_OF(s->other, OTHERS). */
#define TB_SIGNALS(NAME, ...)                                                                                          \
    struct {                                                                                                           \
        tb_sig __VA_ARGS__;                                                                                            \
    } NAME
#define TB_PORTS_TEXT_(...) #__VA_ARGS__
#define TB_PORTS_TEXT(...) TB_PORTS_TEXT_(__VA_ARGS__)
#define TB_PORTS_OF(MEMBER, ...)                                                                                       \
    ((tb_ports){TB_PORTS_TEXT(__VA_ARGS__), (tb_sig *)&(MEMBER), sizeof(MEMBER) / sizeof(tb_sig), NULL})

typedef struct tb_ports {
    const char *names; /* "valid_i, ready_o, data_i[2]" */
    tb_sig *sig;
    size_t count;
    const char *prefix; /* stands before every name; NULL: nothing does */
} tb_ports;

/* The signals of a type of state, by their offset in it. */
typedef struct tb_port_list {
    const char *names;
    size_t at, count;
} tb_port_list;
/* A type of state and its member `ports`, for a table of states to be allocated and bound. */
#define TB_STATE(TYPE, ...)                                                                                            \
    .state_bytes = sizeof(TYPE),                                                                                       \
    .ports = {TB_PORTS_TEXT(__VA_ARGS__), offsetof(TYPE, ports), sizeof(((TYPE *)0)->ports) / sizeof(tb_sig)}
/* Those of one state. */
tb_ports tb_ports_of(const tb_port_list *list, void *state);

/*
 * Name of the next signal of the list, which `next` keeps the place in: TB_PORTS_FIRST at first. False: that was the
 * last one.
 */
typedef struct tb_ports_place {
    const char *at; /* NULL: the first name */
    size_t element; /* of an array */
} tb_ports_place;
#define TB_PORTS_FIRST ((tb_ports_place){NULL, 0})
bool tb_ports_next(const tb_ports *ports, tb_ports_place *next, char *name, size_t size);

/* All taps of a design; a build without any is no error (count 0). They are valid until the simulation is closed. 0 or
 * -1 (out of memory). */
int tb_taps_open(tb_taps *taps, const tb_sim *sim, char *err, size_t err_size);
void tb_taps_close(tb_taps *taps);
/* The taps of a kind; NULL: there are none. */
const tb_tap_kind *tb_taps_kind(const tb_taps *taps, const char *kind);
/* Number of them. */
size_t tb_taps_count(const tb_taps *taps, const char *kind);
/* The `index`-th tap of a kind, in the order of paths; NULL past the last one. */
const tb_tap *tb_taps_find(const tb_taps *taps, const char *kind, size_t index);
/* Number of a signal, SIZE_MAX: there is none. */
size_t tb_tap_place(const tb_tap *tap, const char *name);
/* Signal by name; ptr NULL when there is none. */
tb_sig tb_tap_find(const tb_tap *tap, const char *name);
/* Signal by name that must exist with this width (0: any). 0 or -1. */
int tb_tap_sig(const tb_tap *tap, const char *name, uint32_t width, tb_sig *out, char *err, size_t err_size);
/* A signal of the tap. */
static inline tb_sig tb_tap_at(const tb_tap *tap, size_t i) {
    return (tb_sig){.ptr = (void *)(tap->base + tap->var[i].at), .width = tap->var[i].width};
}
/* All of them. 0 or -1. */
int tb_tap_ports(const tb_tap *tap, tb_ports ports, char *err, size_t err_size);
#define TB_TAP_PLACES 96u
/* Where the signals of a list are among those of a tap. */
typedef struct tb_tap_places {
    const char *names; /* the list; NULL: not known */
    const tb_tap *tap;
    size_t count;
    uint32_t at[TB_TAP_PLACES];
} tb_tap_places;
/*
 * The same for one tap after the other: where the list is that of the tap before, the signals most likely are at the
 * same places. 0 or -1.
 */
int tb_tap_ports_as(const tb_tap *tap, tb_tap_places *places, tb_ports ports, char *err, size_t err_size);
/* Those of the `index`-th tap of a kind, which must exist. 0 or -1. */
int tb_taps_ports(const tb_taps *taps, const char *kind, size_t index, tb_ports ports, char *err, size_t err_size);

#endif
