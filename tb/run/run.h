/*
 * run.h - a design with its buses, monitors, checks, watchdog and snapshots: everything that happens in a clock cycle, for any design.
 *
 * For designs with one clock whose buses are AXI4 masters in front of memory and AXI4-Lite slaves:
 *
 *     tb_run_open(); tb_run_memory() and tb_run_registers() for each port; tb_run_checks(); tb_run_start();
 *     then register accesses and tb_run_step(); tb_run_finish(); if it failed, tb_run_fail_wave(); tb_run_close().
 *
 * The first failure is kept and ends the run. A design with other ports builds its own cycle from the same parts.
 */
#ifndef TB_RUN_H
#define TB_RUN_H

#include "../axi/lite_master.h"
#include "../axi/monitor.h"
#include "../axi/slave.h"
#include "../mem/buffers.h"
#include "../tap/check.h"
#include "replay.h"
#include "../sim/sim.h"
#include "watchdog.h"

#define TB_RUN_PORTS 8u

typedef struct tb_run_cfg {
    const char *clk, *rst_n;       /* names of the clock and of the active-low reset */
    uint64_t seed;                 /* bus timing, initial state */
    const tb_axi_profile *profile; /* bus timing */
    const char *wave;              /* FST file of the whole run, or NULL; needs a build with tracing, else an error */
    const char *fail_wave;         /* FST file for tb_run_fail_wave(), or NULL; as above */
    uint64_t wave_window;          /* its cycles before the failure, a quarter of it after (0: 2,000) */
    uint64_t
        watchdog_cycles; /* failure after so many cycles without progress (0: 100,000): a handshake on a memory port, a register write; reads are polling */
    uint64_t max_cycles;    /* end the run as a failure after so many (0: no limit) */
    uint64_t access_cycles; /* longest register access (0: 10,000) */
} tb_run_cfg;

typedef struct tb_run_port {
    const char *name;   /* in reports */
    const char *prefix; /* of its signals */
    tb_axi_port axi;
    tb_axi_monitor mon;
    tb_ddr *mem;         /* memory behind an AXI4 master; NULL: AXI4-Lite, driven by `lite` */
    tb_axi_slave slave;  /* with mem */
    tb_lite_master lite; /* without */
} tb_run_port;

/* First failure. Empty signature: none. */
typedef struct tb_run_failure {
    char signature[96]; /* stable name for bucketing: "axi:RULE:port", "unit:UNIT:stream", "assert:file:line", "watchdog:hang" ... */
    char message[512];  /* one line for a person */
    uint64_t cycle;     /* of the first wrong thing seen, for a hang of the last progress */
    char path[160];     /* instance of a failed assertion of the design; empty: it was something else */
} tb_run_failure;

typedef struct tb_run {
    tb_run_cfg cfg;
    tb_sim sim;
    tb_run_port *port[TB_RUN_PORTS];
    unsigned ports, memories; /* memories: those of them with memory */
    tb_checks checks;         /* of the units, in builds with taps */
    const tb_buffers *live;   /* of the owner: what is in flight, named in failures of memory; NULL: not known */
    tb_watchdog wd;
    tb_run_failure failure;
    uint64_t hash; /* of all beats so far */
    bool gone;     /* nothing moves any more */
    tb_replay replay;
} tb_run;

/* Create the design. The struct must not be moved afterwards. 0 or -1 with one line in err; tb_run_close() is safe in any case. */
int tb_run_open(tb_run *run, const tb_run_cfg *cfg, char *err, size_t err_size);
/*
 * A port of the design whose signals begin with `prefix`, with a monitor (both texts are kept): an AXI4 master in front of `mem`, or an AXI4-Lite slave. Returns the number of the port,
 * which is also its number in the trace hash, or -1 with one line in err.
 */
int tb_run_memory(tb_run *run, const char *name, const char *prefix, tb_ddr *mem, char *err, size_t err_size);
int tb_run_registers(tb_run *run, const char *name, const char *prefix, char *err, size_t err_size);
/* Checks of the units; does nothing in builds without taps. Arguments as of tb_checks_open(). */
int tb_run_checks(tb_run *run, const tb_check_ops *const *ops, size_t nops, void *ctx, char *err, size_t err_size);
/* Reset the design; the first snapshot, if cfg.fail_wave is given. */
void tb_run_start(tb_run *run);
/* Final blocks, end of a replay, memory. Safe on a zeroed struct. */
void tb_run_close(tb_run *run);

/* One clock cycle of a tb_run (a tb_step_fn). False: failed or stopped. */
bool tb_run_step(void *run);
/* Register access through an AXI4-Lite port. False: it failed, noted. */
bool tb_run_read(tb_run *run, unsigned port, uint64_t addr, uint32_t *value);
bool tb_run_write(tb_run *run, unsigned port, uint64_t addr, uint32_t value);
/* Complain about bursts in flight; `when` ends the sentence. True: nothing failed. */
bool tb_run_idle(tb_run *run, const char *when);
/* End of the test: some cycles more, then nothing may be in flight and the checks of the units must be satisfied. True: nothing failed. */
bool tb_run_finish(tb_run *run);

/* Note the first failure. */
void tb_run_fail(tb_run *run, const char *signature, const char *format, ...) __attribute__((format(printf, 3, 4)));
static inline bool tb_run_failed(const tb_run *run) {
    return run->failure.signature[0] != '\0';
}
/* Repeat the run from a snapshot and write cfg.fail_wave around the failure; at most a minute. The run is over after it. 0 or -1. */
int tb_run_fail_wave(tb_run *run, char *err, size_t err_size);
/* After that: a save file for GTKWave and a timing diagram beside it (F.fst: F.gtkw, F.svg), with the unit that failed and the ports. 0 or -1. */
int tb_run_draw(tb_run *run, char *err, size_t err_size);
/* Trace hash: all beats, then the contents of the memories in the order of the ports. */
uint64_t tb_run_hash(const tb_run *run);

#endif
