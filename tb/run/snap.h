/*
 * snap.h - snapshots of a running simulation: the whole process, forked, asleep until a failure is near.
 *
 * The parent runs without a waveform. About once a second of its CPU time it forks; the child sleeps on a pipe. After a
 * failure one child is woken: it repeats the run from its snapshot, which is deterministic, and opens the waveform
 * shortly before the failing cycle. Testbench, golden model and design are all in the process, so nothing has to be
 * saved.
 */
#ifndef TB_SNAP_H
#define TB_SNAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TB_SNAPS 2u

/* Orders to a woken child. */
typedef struct tb_snap_order {
    uint64_t from, to; /* cycles of the waveform */
    char wave[512];    /* its file */
} tb_snap_order;

typedef struct tb_snap_child {
    pid_t pid; /* 0: none */
    int order; /* write end: orders to the child; closing it ends the child */
    int done;  /* read end: a byte when the child has done its work */
    uint64_t cycle;
} tb_snap_child;

typedef struct tb_snaps {
    bool on;
    tb_snap_child child[TB_SNAPS]; /* the younger one last */
    double period, last;           /* seconds of CPU time */
    /* cost, for reports */
    uint64_t taken;
    double fork_seconds;
} tb_snaps;

/*
 * Start taking snapshots: the first now, at `cycle`, the next ones every `period` seconds of CPU time (0: one second).
 * Returns as tb_snap_poll().
 */
int tb_snap_start(tb_snaps *snaps, double period, uint64_t cycle, tb_snap_order *order);
/*
 * The same with the first one only after `delay` seconds of CPU time, by tb_snap_poll(). A fork costs some
 * milliseconds, which short runs save; the caller must be able to repeat a run that fails before the first snapshot
 * (snaps->taken is 0 then).
 */
void tb_snap_arm(tb_snaps *snaps, double delay, double period);
/*
 * To be called regularly between two cycles. 0: go on. 1: this is a woken child; `order` says what to do, and
 * tb_snap_exit() ends it. A failed fork is no error: there is just no snapshot.
 */
int tb_snap_poll(tb_snaps *snaps, uint64_t cycle, tb_snap_order *order);
/*
 * Wake the youngest child whose snapshot is at or before order->from (the oldest, if none does; the wave then begins
 * with the snapshot) and wait for it, at most `seconds`. A signal that tb_sim_catch_signals() catches in the meantime
 * is passed on: the child then ends its waveform where it is. 0: the waveform was written; -1 with one line in err. No
 * snapshots are taken any more.
 */
int tb_snap_wake(tb_snaps *snaps, const tb_snap_order *order, double seconds, char *err, size_t err_size);
/* End all children. Safe on a zeroed struct. */
void tb_snap_stop(tb_snaps *snaps);
/* In a woken child: report and leave, without running anything that was registered for the end of the program. */
__attribute__((noreturn)) void tb_snap_exit(tb_snaps *snaps, bool ok);

#endif
