/*
 * run.h - a design with its buses, monitors, checks, watchdogs and snapshots: everything that happens in a clock cycle,
 * for any design.
 *
 * For designs whose buses are AXI4 masters in front of memory, AXI4 slaves and AXI4-Lite slaves, beside ports that the
 * bench drives itself, and for single units:
 *
 *     tb_run_open(); tb_run_port_open() for each bus; tb_run_pin() for each interrupt; tb_run_checks(); tb_run_reset();
 *     then register accesses and tb_run_step(); tb_run_finish(); if it failed, tb_run_fail_wave(); tb_run_close().
 *
 * The first failure is kept and ends the run. What a design adds to a cycle or to a failure comes in through
 * tb_run_hooks.
 *
 * With several clocks a cycle ends with the next rising edge of any of them: `sim.cycle`, limits and the cycles in
 * reports count these. A bus is driven after the edge of its own clock, and sampled and checked at the next one.
 */
#ifndef TB_RUN_H
#define TB_RUN_H

#include <stdio.h>

#include "../apb/apb.h"
#include "../axi/lite_master.h"
#include "../axi/master.h"
#include "../axi/monitor.h"
#include "../axi/slave.h"
#include "../mem/buffers.h"
#include "../sim/sim.h"
#include "../stream/fair.h"
#include "../stream/stream.h"
#include "../tap/check.h"
#include "replay.h"
#include "waits.h"
#include "watchdog.h"

#define TB_RUN_PORTS 32u
#define TB_RUN_STREAMS 32u
#define TB_RUN_APBS 8u
#define TB_RUN_FAIRS 8u
#define TB_RUN_PINS 32u

/* Where no progress was made for too long. */
typedef enum tb_run_hang {
    TB_HANG_PORTS,   /* any port */
    TB_HANG_MEMORY,  /* any port with memory, while registers were read */
    TB_HANG_REGISTER /* a register access without a response */
} tb_run_hang;

/* Hooks of the bench that owns a run; each may be NULL. */
typedef struct tb_run_hooks {
    void *ctx;
    /*
     * The design has settled (the clock is low): outputs may be read and inputs set that depend on them in this cycle,
     * as a combinational ready does. True: an input has changed; the design settles again and the hook is called again,
     * at most 64 times a cycle. Not in reset.
     */
    bool (*on_settle)(void *ctx);
    /*
     * These clocks have just risen (bit i: clock i; a design with one: 1), registered outputs have their new values.
     * Inputs of the next cycle may be set. Not in reset.
     */
    void (*on_edge)(void *ctx, uint32_t clocks);
    /* In every cycle after settle, after buses, monitors and checks of the units. */
    void (*sample)(void *ctx);
    /*
     * A memory has refused or flagged an access of the design. True: the bench has noted it as a failure or accepts it;
     * false: it is a failure like any other.
     */
    bool (*on_access)(void *ctx, const tb_ddr_event *event);
    /* ---- watchdogs and the report on a hang ---- */
    /* Has the design work? Without work no handshake with memory is expected. NULL: always. */
    bool (*busy)(void *ctx);
    /* Does it compute without bus traffic? The watchdog then checks again 64 cycles later. */
    bool (*computes)(void *ctx);
    /* The root cause of a hang: a name for the signature (may stay empty), and a line. False: not known. */
    bool (*hang_root)(void *ctx, tb_run_hang kind, char *name, size_t name_size, char *text, size_t size);
    /* Lines of the report, before what is in flight on the buses and (`end`) after it. */
    void (*hang_lines)(void *ctx, bool end, FILE *out);
    /* The buffer at an address, for the report. NULL: taken from `tb_run.live`. */
    void (*where)(void *ctx, uint64_t addr, char *dst, size_t size);
    /*
     * Is a write of this register part of polling, as clearing an event flag is? Other writes give the design new work,
     * so they restart the watchdog of its memory.
     */
    bool (*polls)(void *ctx, uint64_t addr);
} tb_run_hooks;

typedef struct tb_run_cfg {
    const tb_shim *shim;           /* the design; NULL: the one that this program was built with */
    const char *clk, *rst_n;       /* names of the clock and of the active-low reset, or NULL */
    const char *rst;               /* name of the reset if it is active high, or NULL */
    const tb_clock *clocks;        /* a design with several clocks: these instead of the three above (sim/clock.h) */
    unsigned nclocks;              /* of them */
    uint64_t seed;                 /* bus timing, and initial state unless it has a seed of its own: */
    const uint64_t *init_seed;     /* or NULL */
    const char *const *plusargs;   /* of the design, NULL-terminated, or NULL */
    const tb_axi_profile *profile; /* bus timing; needed with ports only */
    unsigned reset_cycles;         /* edges in reset (0: 5), of the slowest clock */
    bool no_checks;                /* the checks of the units are opened but not called */
    const char *wave;              /* FST file of the whole run, or NULL; needs a build with tracing, else an error */
    const char *fail_wave;         /* FST file for tb_run_fail_wave(), or NULL; as above */
    double fail_wave_delay;        /* seconds of CPU time before its first snapshot (0: when the run is opened) */
    uint64_t wave_window;          /* its cycles before the failure, a quarter of it after (0: 2,000) */
    /*
     * failure after so many cycles without a handshake on any port, or with memory (0: 100,000). A run without memory
     * has a watchdog from the first tb_run_progress() on.
     */
    uint64_t watchdog_cycles;
    uint64_t max_cycles;    /* end the run as a failure after so many (0: no limit) */
    uint64_t access_cycles; /* longest register access (0: 10,000) */
    /* cycles that the run goes on after a failure that does not stop the design, for a report (0: none) */
    uint64_t go_on;
    /* log for a report (story.h), from the first reset on; sets go_on; or NULL */
    struct tb_story *story;
    tb_run_hooks hooks;
} tb_run_cfg;

/* A bus of the design. The texts are kept by reference. */
typedef struct tb_run_port_cfg {
    const char *name;       /* in reports */
    const char *prefix;     /* of its signals (tb_axi_bind) */
    const char *stream;     /* random stream of its timing; NULL: `name` */
    unsigned slice, slices; /* number `slice` of `slices` ports in the same vectors (tb_axi_bind_slice); 0: not */
    /*
     * memory behind an AXI4 (or AXI4-Lite) master of the design, or the shadow of what is behind an AXI4 (or
     * AXI4-Lite) slave of it, which `master` of the port then drives; both NULL: an AXI4-Lite slave for registers
     */
    tb_ddr *mem;
    tb_shadow *shadow;
    bool lite;      /* with mem or shadow: the port speaks AXI4-Lite */
    unsigned agent; /* with mem: what its events call this port (tb_ddr.agent) */
    unsigned clock; /* the one that it belongs to: index into tb_run_cfg.clocks */
    /* Project rules that the design keeps on this port beyond the protocol, or NULL. */
    void (*rules)(tb_axi_mon_cfg *cfg);
} tb_run_port_cfg;

typedef struct tb_run_port {
    tb_run_port_cfg cfg;
    tb_axi_port axi;
    tb_axi_monitor mon;
    tb_axi_slave slave;   /* with cfg.mem */
    tb_axi_master master; /* with cfg.shadow */
    tb_lite_master lite;  /* without both */
} tb_run_port;

/* First failure. Empty signature: none. */
typedef struct tb_run_failure {
    /* stable name for bucketing: "axi:RULE:port", "unit:UNIT:stream", "assert:file:line", "watchdog:hang" ... */
    char signature[96];
    char message[512]; /* one line for a person */
    uint64_t cycle;    /* of the first error seen, for a hang of the last progress */
    char path[160];    /* instance of a failed assertion of the design; empty: it was something else */
    uint32_t units;    /* mask of the design's units that it concerns, where the bench knows them; else 0 */
} tb_run_failure;

typedef struct tb_run {
    tb_run_cfg cfg;
    tb_sim sim;
    tb_run_port *port[TB_RUN_PORTS];
    unsigned ports, memories, masters; /* those of them with memory, with a shadow */
    tb_stream *stream[TB_RUN_STREAMS];
    unsigned streams;
    tb_apb *apb[TB_RUN_APBS];
    unsigned apbs;
    tb_fair *fair[TB_RUN_FAIRS];
    unsigned fairs;
    const uint8_t *pin[TB_RUN_PINS];
    const char *pin_name[TB_RUN_PINS];
    uint64_t pin_rises[TB_RUN_PINS], pin_falls[TB_RUN_PINS]; /* since the first reset */
    unsigned pins;
    /* pins after the last edge; pins that have risen since the bench cleared it: bit i is pin i */
    uint32_t irq, irq_rose;
    tb_checks checks;          /* of the units, in builds with taps */
    const tb_buffers *live;    /* of the bench: work in flight, named in failures of memory; NULL: not known */
    tb_watchdog wd, wd_memory; /* all ports; the ports with memory alone */
    tb_waits waits;            /* handshakes outside the buses, once tb_run_follow() was called */
    tb_run_failure failure;
    tb_run_failure first; /* with cfg.go_on: the first failure, which did not stop the run */
    uint64_t hash;        /* of all beats so far */
    bool gone;            /* nothing moves any more */
    bool looks_in_reset;  /* the checks of the units do */
    uint32_t driven;      /* the ports that have driven their inputs since the last edge of their clock: a mask */
    uint64_t progress;    /* of the bench: tb_run_progress() */
    bool moved;           /* an output of the design has changed since the first cycles after reset */
    uint64_t reset_end;   /* cycle of its end */
    uint64_t still;       /* outputs in those cycles (tb_sim_outputs) */
    /*
     * report on a hang: root, bursts in flight, lines of the bench; lines of about 80 characters. NULL: there was none
     */
    char *hang_text;
    tb_replay replay;
    struct tb_story *story; /* cfg.story, while it is written */
} tb_run;

/*
 * Create the design and take the first snapshot. The struct must not be moved afterwards. 0 or -1 with one line in err;
 * tb_run_close() is safe in any case.
 */
int tb_run_open(tb_run *run, const tb_run_cfg *cfg, char *err, size_t err_size);
/*
 * A bus with its monitor. Returns the number of the port, which is also its number in the trace hash, or -1 with one
 * line in err.
 */
int tb_run_port_open(tb_run *run, const tb_run_port_cfg *cfg, char *err, size_t err_size);
/* A stream of the design. Returns its number, or -1 with one line in err; its origin must be open already. */
int tb_run_stream_open(tb_run *run, const tb_stream_cfg *cfg, char *err, size_t err_size);
/* The stream of this name; NULL: there is none. */
tb_stream *tb_run_stream(const tb_run *run, const char *name);
/* An arbiter at the ports of the design. Returns its number, or -1 with one line in err. */
int tb_run_fair_open(tb_run *run, const tb_fair_cfg *cfg, char *err, size_t err_size);
/* An APB port of the design. Returns its number, or -1 with one line in err. */
int tb_run_apb_open(tb_run *run, const tb_apb_cfg *cfg, char *err, size_t err_size);
/*
 * An output of one bit that is watched as an interrupt. Returns its number (bit of tb_run.irq), or -1 with one line in
 * err.
 */
int tb_run_pin(tb_run *run, const char *name, char *err, size_t err_size);
/* Checks of the units; does nothing in builds without taps. Arguments as of tb_checks_open(). */
int tb_run_checks(tb_run *run, const tb_check_ops *const *ops, size_t nops, const char *const *absent, void *ctx,
                  char *err, size_t err_size);
/*
 * After the ports: follow every other handshake of the design, for the report on a hang (waits.h).
 */
void tb_run_follow(tb_run *run);
/*
 * Reset the design, at first or in the middle of a run: bursts in flight are dropped, memory is kept. In the middle of
 * a run monitors check whether the reset is asynchronous, and the checks of the units are called; at power-up they are
 * not, as registers have random values before a reset edge. Violations are failures of the run. At the first edge after
 * it nothing may be valid on a bus: a run with buses takes one step before anything else.
 */
void tb_run_reset(tb_run *run);
/* Final blocks, end of a replay, memory. Safe on a zeroed struct. */
void tb_run_close(tb_run *run);

/*
 * For a bench that drives other inputs itself, in each cycle before tb_run_step(): let the buses drive theirs, once a
 * cycle; the same, and settle, any number of times; the same, and call monitors and checks without an edge (in a run
 * without buses).
 */
void tb_run_drive(tb_run *run);
void tb_run_settle(tb_run *run);
void tb_run_look(tb_run *run);
/* One clock cycle of a tb_run (a tb_step_fn). False: failed or stopped. */
bool tb_run_step(void *run);
/* The same for a report, also after a failure: no snapshot, no watchdog. False: the design has stopped. */
bool tb_run_cycle(void *run);
/* Register access through an AXI4-Lite port. False: it failed, noted. */
bool tb_run_read(tb_run *run, unsigned port, uint64_t addr, uint32_t *value);
bool tb_run_write(tb_run *run, unsigned port, uint64_t addr, uint32_t value);
/* Only the bytes whose bit of strb is 1. */
bool tb_run_write_part(tb_run *run, unsigned port, uint64_t addr, uint32_t value, uint8_t strb);
/* Whole beats of a port of 64 bits; the functions above access one half of a beat there. */
bool tb_run_read64(tb_run *run, unsigned port, uint64_t addr, uint64_t *value);
bool tb_run_write64(tb_run *run, unsigned port, uint64_t addr, uint64_t value);
/* A read for a report: also after a failure, and nothing is noted. False: no response. */
bool tb_run_peek(tb_run *run, unsigned port, uint64_t addr, uint32_t *value);
/*
 * One access through an APB completer of the design, all lanes of a write. *refused: answered with PSLVERR (NULL: that
 * is
 * the failure reg:response). False: the run has failed.
 */
bool tb_run_apb_read(tb_run *run, unsigned apb, uint64_t addr, uint32_t *value, bool *refused);
bool tb_run_apb_write(tb_run *run, unsigned apb, uint64_t addr, uint32_t value, bool *refused);
/* Has a master of the bench (a port with a shadow) or a stream something in flight or to send? */
bool tb_run_busy(const tb_run *run);
/* Step until they have not. False: the run has failed, also because of a hang. */
bool tb_run_drain(tb_run *run);
/*
 * Something has happened that the buses do not show: a transfer on a stream that the bench drives, a result, an
 * interrupt. Counts as a handshake for the watchdogs.
 */
static inline void tb_run_progress(tb_run *run) {
    run->progress++;
}
/* Handshakes so far: on all ports, or on those with memory, and what tb_run_progress() has counted. */
uint64_t tb_run_handshakes(const tb_run *run, bool memory);
/* Restart the watchdogs: the bench waits on purpose. */
void tb_run_kick(tb_run *run);
/*
 * The bench gave up waiting: does the design hang? Waits until there is a handshake between the design and memory, or
 * the design has no work, at most for the watchdog's cycles. True: the run has failed, with its report.
 */
bool tb_run_check_hang(tb_run *run);
/*
 * The bench gave up waiting for something that is no bus: a failure under a signature of its own, described by `what`,
 * with the report on a hang; since: the cycle of the last progress.
 */
void tb_run_stuck(tb_run *run, const char *signature, const char *what, uint64_t since);
/* Does the memory of a port owe a handshake on this channel? The sentence says which. */
bool tb_run_owes(const tb_run *run, unsigned port, tb_axi_channel axi, char *text, size_t size);
/* Complain about bursts in flight; `when` ends the sentence. True: nothing failed. */
bool tb_run_idle(tb_run *run, const char *when);
/*
 * The end, when nothing may be in flight any more: monitors and the checks of the units report what is missing. True:
 * nothing failed.
 */
bool tb_run_end(tb_run *run);
/* The same after some more cycles, in which unexpected outputs would show. */
bool tb_run_finish(tb_run *run);

/*
 * ---- internal: check the watchdogs; fail with a hang since cycle `since`, described by `what` ----
 */
void tb_run_watch(tb_run *run, uint64_t cycle);
void tb_run_note_hang(tb_run *run, tb_run_hang kind, const char *what, uint64_t since);

/*
 * What the ports have done, as JSON: an object by name, of a bus its statistics (tb_axi_stats_json), of a stream
 * {"transfers", "packets", "stalled"}, of APB {"transfers", "writes", "errors", "waits"}, of an interrupt {"rises"}, of
 * any other handshake {"transfers", "last"}, as far as tb_run_follow() was called and there is one clock.
 */
void tb_run_counters(const tb_run *run, FILE *out);

/* Note the first failure. */
void tb_run_fail(tb_run *run, const char *signature, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same for failures that do not stop the design: with cfg.go_on the run continues, and `first` has the failure. */
void tb_run_wrong(tb_run *run, const char *signature, const char *format, ...) __attribute__((format(printf, 3, 4)));
static inline bool tb_run_failed(const tb_run *run) {
    return run->failure.signature[0] != '\0';
}
/*
 * Repeat the run from a snapshot and write cfg.fail_wave around the failure (around now, if there is none); at most a
 * minute. 0; -1 with one line in err; 1 with a line: no snapshot lies before the window, because of
 * cfg.fail_wave_delay.
 */
int tb_run_fail_wave(tb_run *run, char *err, size_t err_size);
/*
 * After that: a save file for GTKWave and a timing diagram beside it (F.fst: F.gtkw, F.svg), with the unit that failed
 * and the ports. 0 or -1.
 */
int tb_run_draw(tb_run *run, char *err, size_t err_size);
/* Trace hash: all beats, then the contents of the memories in the order of the ports. */
uint64_t tb_run_hash(const tb_run *run);

#endif
