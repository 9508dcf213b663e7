/*
 * shim.h - the plain C interface of one Verilated top module.
 *
 * scripts/gen_shim.py generates the C++ behind it from the port list of the module. A program holds exactly one
 * Verilated top; it may create several instances of it. C code looks a port up by name once and then reads and writes
 * through the pointer.
 */
#ifndef TB_SIM_SHIM_H
#define TB_SIM_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A port. ptr points to uint8_t (width 1..8), uint16_t (9..16), uint32_t (17..32), uint64_t (33..64) or to (width + 31)
 * / 32 words of uint32_t, lowest word first (above 64). Bits above `width` must be written as 0. ptr stays valid until
 * the instance is destroyed.
 */
typedef struct tb_shim_port {
    const char *name;
    uint32_t width; /* bits */
    bool input;     /* direction from the module's point of view */
    void *ptr;
} tb_shim_port;

/* A field of a port that is a packed struct, "axi_req_i.aw.addr", or of an element of an array, "req_i[0].b". */
typedef struct tb_shim_field {
    const char *name;
    size_t port;         /* index of the port that it lies in */
    uint32_t lsb, width; /* where */
} tb_shim_field;

/* A signal inside the design that its source marks public; storage as of a port. */
typedef struct tb_shim_var {
    const char *scope; /* instance path, from the top module on: "top.u_core.u_fifo" */
    const char *name;
    uint32_t width; /* bits */
    size_t at;      /* bytes from the base of the instance: the table is the same for all of them */
} tb_shim_var;

typedef struct tb_shim {
    const char *top; /* module name */
    size_t nports;
    /*
     * New instance. plusargs: NULL-terminated list of "+name=value" strings, or NULL. init_seed draws the initial value
     * of inputs and of state without reset (the builds use --x-initial unique). NULL: out of memory.
     */
    void *(*create)(const char *const *plusargs, uint64_t init_seed);
    /* Runs final blocks, closes an open trace, frees the instance. */
    void (*destroy)(void *inst);
    /* Fill out[0..nports-1]. */
    void (*ports)(void *inst, tb_shim_port *out);
    /* Settle the model after inputs changed. Does nothing once finished() is true. */
    void (*eval)(void *inst);
    /* Time for $time, used in assertion messages (any unit; optional). */
    void (*set_time)(void *inst, uint64_t time);
    /* true once $finish, $stop, a failed assertion or a fatal error of the runtime was met. */
    bool (*finished)(void *inst);
    /*
     * First failure ($stop, $error, $fatal, failed assertion) as one line with file and line number; NULL when there
     * was none.
     */
    const char *(*assert_message)(void *inst);
    /*
     * Waveforms; the four are NULL in builds without tracing. trace_open writes one line into err on failure. Dump with
     * increasing time.
     */
    bool (*trace_open)(void *inst, const char *path, char *err, size_t err_size);
    void (*trace_dump)(void *inst, uint64_t time);
    void (*trace_flush)(void *inst);
    void (*trace_close)(void *inst);
    /*
     * Public signals inside the design, ordered by scope ("lane[2]" before "lane[10]"), then name; they lie at
     * *base + at. Arrays are left out. Valid as long as the instance. NULL: there are none.
     */
    const tb_shim_var *(*vars)(void *inst, size_t *count, uintptr_t *base);
    /* Name and version of the program that made the model, for reports; may be NULL. */
    const char *(*made_by)(void);
    /*
     * Write the coverage of all destroyed instances of this process, added up, as Verilator's coverage file. false
     * with one line in err. NULL in builds that count nothing (KIND=cov does). Not at the same time as create() or
     * destroy() in another thread.
     */
    bool (*coverage_write)(const char *path, char *err, size_t err_size);
    /* The mutants of a build of kind mut (mutant.h); NULL in others. */
    const struct tb_mutants *mutants;
    /* Fields of ports that are structs; may be NULL. */
    const tb_shim_field *fields;
    size_t nfields;
} tb_shim;

/* The Verilated top of this program; NULL in a program without one. */
const tb_shim *tb_shim_get(void);

/* Number of the layout of these tables, in a shared object with a design; it grows with every change of them. */
#define TB_SHIM_LAYOUT 2u
extern const uint32_t tb_shim_layout;

#ifdef __cplusplus
}
#endif

#endif
