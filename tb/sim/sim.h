/*
 * sim.h - one Verilated design under simulation: ports by name, clock, reset, waveforms.
 *
 * A cycle: drivers set inputs; tb_sim_settle() (clock low, the design settles); monitors and slaves sample;
 * tb_sim_edge() (rising edge, cycle + 1).
 *
 * With several clocks a cycle ends when the next of them rises, alone or together with others (tb_sim.rising).
 */
#ifndef TB_SIM_H
#define TB_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "clock.h"
#include "shim.h"

/* Access to one port. A port that does not exist has ptr NULL. */
typedef struct tb_sig {
    void *ptr;
    uint32_t width; /* bits */
} tb_sig;

/* Value of a port of up to 64 bits (the low 64 bits of a wider one). */
static inline uint64_t tb_get(tb_sig s) {
    if (s.width <= 8) {
        return *(const uint8_t *)s.ptr;
    }
    if (s.width <= 16) {
        return *(const uint16_t *)s.ptr;
    }
    if (s.width <= 32) {
        return *(const uint32_t *)s.ptr;
    }
    uint64_t v;
    memcpy(&v, s.ptr, 8);
    return v;
}

/* Set a port of up to 64 bits; bits above its width are dropped. */
static inline void tb_set(tb_sig s, uint64_t v) {
    if (s.width < 64) {
        v &= (UINT64_C(1) << s.width) - 1;
    }
    if (s.width <= 8) {
        *(uint8_t *)s.ptr = (uint8_t)v;
    } else if (s.width <= 16) {
        *(uint16_t *)s.ptr = (uint16_t)v;
    } else if (s.width <= 32) {
        *(uint32_t *)s.ptr = (uint32_t)v;
    } else {
        memcpy(s.ptr, &v, 8);
    }
}

/* Bytes of a port's storage. */
static inline size_t tb_sig_bytes(tb_sig s) {
    return s.width <= 8    ? 1
           : s.width <= 16 ? 2
           : s.width <= 32 ? 4
           : s.width <= 64 ? 8
                           : (size_t)((s.width + 31) / 32) * 4;
}

/* Whole value of a port as little-endian bytes, tb_sig_bytes() of them. Any width. */
static inline void tb_get_bytes(tb_sig s, void *dst) {
    memcpy(dst, s.ptr, tb_sig_bytes(s));
}

/* A field of up to 64 bits at bit `lsb` of a port of any width. The field must lie inside the port. */
uint64_t tb_get_field(tb_sig s, uint32_t lsb, uint32_t bits);
void tb_set_field(tb_sig s, uint32_t lsb, uint32_t bits, uint64_t v);

struct tb_sim_parts; /* part.c */

typedef struct tb_sim_cfg {
    const tb_shim *shim;
    uint64_t seed;               /* initial state of the design, where the build randomises it */
    const char *clk;             /* name of the clock port */
    const char *rst_n;           /* name of the active-low reset port, or NULL */
    const char *rst;             /* or of the active-high one */
    const tb_clock *clocks;      /* a design with several clocks has these instead of the three above */
    unsigned nclocks;            /* of them, at most TB_CLOCKS */
    const char *wave;            /* waveform file or NULL; needs a build with tracing */
    uint64_t wave_from;          /* first cycle of the waveform */
    uint64_t wave_cycles;        /* how many cycles (0: to the end) */
    const char *const *plusargs; /* NULL-terminated, or NULL */
} tb_sim_cfg;

typedef struct tb_sim {
    tb_sim_cfg cfg;
    void *dut;
    tb_shim_port *ports;
    struct tb_sim_parts *parts; /* fields of structs and slices of vectors that somebody has found */
    uint8_t *clk;               /* of a design with one clock, else NULL */
    uint8_t *clocks[TB_CLOCKS];
    uint8_t *reset[TB_CLOCKS]; /* of each clock's domain, or NULL */
    uint8_t released;          /* level of each reset that does not reset, bit i: of clock i */
    tb_schedule schedule;
    uint32_t rising;  /* the clocks that rise at the coming edge, bit i: clock i */
    uint64_t cycle;   /* rising edges since tb_sim_open */
    bool stopped;     /* the design failed or finished, or a signal arrived; no further cycle is simulated */
    bool interrupted; /* it was a signal */
    bool wave_open, wave_pending;
    uint64_t wave_time; /* of the settled values that were written last */
    /* the name of a reset reads as if it had the other polarity: one line, else empty */
    char warning[160];
    /*
     * first assertion failure of the design: one line, empty when there was none; its instance, empty when not known;
     * the cycle whose values it saw
     */
    char failure[400];
    char failure_path[160];
    uint64_t failure_cycle;
    /* sampled CPU time */
    uint64_t eval_ns, evals_timed; /* time of the timed cycles' evaluations, number of cycles timed */
    uint64_t clock_cost_ns;
    double cpu_start;
    bool timing;
} tb_sim;

/*
 * Create the design and find clock and reset. Inputs are 0, reset is active. NULL shim (no design in this program) is
 * an error. 0 or -1.
 */
int tb_sim_open(tb_sim *sim, const tb_sim_cfg *cfg, char *err, size_t err_size);
/* Final blocks, waveform closed. Safe on a zeroed struct. */
void tb_sim_close(tb_sim *sim);

/*
 * Port by name, or a field of one that is a packed struct ("axi_req_i.aw.addr", "req_i[0].valid"); ptr NULL when there
 * is none. A field is a copy that goes into the port before the design settles (if it has changed), and comes out of it
 * afterwards.
 */
tb_sig tb_sim_find(const tb_sim *sim, const char *name);
/*
 * Port of a bus: `prefix`, then a word of its protocol ("awvalid") as it is or in capital letters, then nothing, "_i"
 * or "_o". A star in the prefix is the place of the word: "*_s0". Several prefixes, separated by commas, are tried one
 * after the other: "axi_req_i.,axi_resp_o.". ptr NULL when there is none.
 */
tb_sig tb_sim_find_word(const tb_sim *sim, const char *prefix, const char *word);
/* The same; the word may be split behind the `channel` letters of its channel: "awvalid", "aw_valid", "aw.valid". */
tb_sig tb_sim_find_split(const tb_sim *sim, const char *prefix, const char *word, unsigned channel);
/*
 * Number `index` of `count` parts of equal width of a port or field, 0 in the low bits, as a copy like a field. ptr
 * NULL: the width cannot be divided, or out of memory. `whole` as it was found.
 */
tb_sig tb_sim_slice(const tb_sim *sim, tb_sig whole, unsigned index, unsigned count);
/* An input of the design? `s` as it was found. */
bool tb_sim_is_input(const tb_sim *sim, tb_sig s);
/* Port by name that must exist with this width (0: any) and direction. 0 or -1. */
int tb_sim_port(const tb_sim *sim, const char *name, uint32_t width, bool input, tb_sig *out, char *err,
                size_t err_size);

/* Clock low: inputs settle. Outputs then have the values that the coming rising edge samples. */
void tb_sim_settle(tb_sim *sim);
/* Rising edge; cycle + 1. False once the simulation has stopped. */
bool tb_sim_edge(tb_sim *sim);
/*
 * Assert reset with the clock low and let the design settle, without an edge: the effect of an asynchronous reset is
 * visible now. It stays asserted.
 */
void tb_sim_assert_reset(tb_sim *sim);
/* Release every reset; the design sees it with the next settle. */
void tb_sim_release_reset(tb_sim *sim);
/* Has the design a reset? */
bool tb_sim_has_reset(const tb_sim *sim);
/*
 * A number made of all outputs of the design as they are. Two of the same value: nothing that can be seen from outside
 * has changed.
 */
uint64_t tb_sim_outputs(const tb_sim *sim);

/* Open the waveform now for `cycles` cycles (0: to the end), also in the middle of a run. 0 or -1. */
int tb_sim_wave_open(tb_sim *sim, const char *path, uint64_t cycles, char *err, size_t err_size);
void tb_sim_wave_close(tb_sim *sim);

/*
 * Make SIGINT and SIGTERM stop simulations in an orderly way: the next edge closes the waveform and reports stopped +
 * interrupted. A second signal kills the program as usual.
 */
void tb_sim_catch_signals(void);
/*
 * Code coverage of the designs of this process, which must all be closed: Verilator's coverage file in memory, to be
 * freed. 0, or -1 with one line in err.
 */
int tb_sim_coverage_text(const tb_shim *shim, char **text, size_t *size, char *err, size_t err_size);
/* Does this build count coverage (KIND=cov)? 0, or -1 with one line in err. */
int tb_sim_coverage_check(const tb_shim *shim, const char *path, char *err, size_t err_size);
/* Number of the signal that came, 0: none. */
int tb_sim_signal(void);

/* Seconds of CPU time since tb_sim_open: inside the design (sampled) and everything else. */
void tb_sim_time_split(const tb_sim *sim, double *design, double *rest);

/*
 * A failed assertion in words, "<instance>: <text> (<file>:<line>)", from the runtime's message; the instance also into
 * `path`. Any other message as it is, with an empty path.
 */
void tb_sim_assert_text(const char *message, char *dst, size_t size, char *path, size_t path_size);
/* "assert:<file>:<line>" from an assertion message, for bucketing; a short text without numbers when it has no file. */
void tb_sim_assert_signature(const char *message, char *dst, size_t size);

#endif
