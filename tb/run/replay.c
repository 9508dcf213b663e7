#include "replay.h"
#include "opt/opt.h"

#include <stdio.h>

#define WINDOW 2000u
#define WAKE_SECONDS 60.0

void tb_replay_start(tb_replay *r, const tb_sim *sim, double delay) {
    r->late = delay > 0;
    if (r->late) {
        tb_snap_arm(&r->snaps, delay, 0);
    } else {
        r->on = tb_snap_start(&r->snaps, 0, sim->cycle, &r->order) == 1;
    }
}

bool tb_replay_step(tb_replay *r, tb_sim *sim, bool (*step)(void *ctx), void *ctx) {
    char err[256];
    do {
        if (!r->wave && sim->cycle >= r->order.from) {
            if (tb_sim_wave_open(sim, r->order.wave, 0, err, sizeof err) != 0) {
                tb_snap_exit(&r->snaps, false);
            }
            r->wave = true;
        }
        if (sim->cycle >= r->order.to || sim->stopped) {
            tb_sim_wave_close(sim);
            tb_snap_exit(&r->snaps, r->wave);
        }
    } while (!step(ctx));
    return true;
}

/* Is there a snapshot of cycle `from` or before? */
static bool reaches(const tb_snaps *s, uint64_t from) {
    return s->taken > 1 || (s->taken == 1 && s->child[TB_SNAPS - 1].cycle <= from);
}

int tb_replay_write(tb_replay *r, const char *file, uint64_t at, uint64_t window, char *err, size_t err_size) {
    window = window != 0 ? window : WINDOW;
    tb_snap_order order = {.from = at > window ? at - window : 0, .to = at + window / 4};
    if ((size_t)snprintf(order.wave, sizeof order.wave, "%s", file) >= sizeof order.wave) {
        return opt_fail(err, err_size, "%.100s...: the name is too long", file);
    }
    if (r->late && !reaches(&r->snaps, order.from)) {
        snprintf(err, err_size, "it failed before the first snapshot");
        return 1;
    }
    return tb_snap_wake(&r->snaps, &order, WAKE_SECONDS, err, err_size);
}

void tb_replay_stop(tb_replay *r) {
    tb_snap_stop(&r->snaps);
}
