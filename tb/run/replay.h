/*
 * replay.h - the waveform of a failure: snapshots while the simulation runs without one, then a part of the run again,
 * from the snapshot before it.
 */
#ifndef TB_REPLAY_H
#define TB_REPLAY_H

#include "../sim/sim.h"
#include "snap.h"

typedef struct tb_replay {
    tb_snaps snaps;
    bool on;   /* this process is a woken snapshot */
    bool wave; /* and its waveform was begun */
    bool late; /* snapshots began after a delay */
    tb_snap_order order;
} tb_replay;

/* Take snapshots: the first now, or (delay > 0) after so many seconds of CPU time. */
void tb_replay_start(tb_replay *r, const tb_sim *sim, double delay);
/* To be called before each cycle: is this process a woken snapshot? Takes the next snapshot when it is due. */
static inline bool tb_replay_poll(tb_replay *r, const tb_sim *sim) {
    if (!r->on && r->snaps.on && (sim->cycle & 1023u) == 0) {
        r->on = tb_snap_poll(&r->snaps, sim->cycle, &r->order) == 1;
    }
    return r->on;
}
/*
 * A cycle of a woken snapshot; step(ctx) is one of the run. It repeats the test, opens its waveform, and exits after
 * the last cycle, wherever the test is. A failure (step() returns false) does not stop it: the test then stays in this
 * call, and the buses complete what is in flight. Returns true.
 */
bool tb_replay_step(tb_replay *r, tb_sim *sim, bool (*step)(void *ctx), void *ctx);
/*
 * The waveform of `window` cycles (0: 2,000) before the cycle `at` and a quarter of that after it, into `file`: wakes a
 * snapshot and waits for it, at most a minute. 0; -1 with one line in err; 1 with a line when snapshots began after a
 * delay and none is before the window. No further snapshots are taken.
 */
int tb_replay_write(tb_replay *r, const char *file, uint64_t at, uint64_t window, char *err, size_t err_size);
/* End all snapshots. Safe on a zeroed struct. */
void tb_replay_stop(tb_replay *r);

#endif
