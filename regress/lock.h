/* lock.h - what no two processes may do at once: builds, work on a run (private to regress/). */
#ifndef REG_LOCK_H
#define REG_LOCK_H

#include "reg.h"

/* ---- builds ---- */

/* Wait until no make builds in a folder, and keep others from it until the descriptor is closed. -1: nobody has ever
 * locked that folder. */
int reg_build_lock(const char *build_dir);

/* ---- runs ---- */

/* Tells which runs have a live runner: byte RUN of DATABASE.lock is locked by its process and released when that ends
 * for any reason. */
typedef struct reg_lock {
    int fd;      /* -1: not open */
    int64_t run; /* that this process has locked; 0: none */
} reg_lock;
#define REG_UNLOCKED ((reg_lock){.fd = -1})

/* Lock a run. wait_s: how long to wait for a runner that is ending. REG_FAIL (printed) when another process has it. */
int reg_lock_run(reg_lock *lock, const char *db_path, int64_t run, double wait_s);
/* Lock all of them. */
int reg_lock_all(reg_lock *lock, const char *db_path);
/* Does a process work on that run, this one or another? */
bool reg_lock_held(reg_lock *lock, const char *db_path, int64_t run);
/* Unlock, as the end of the process does. */
void reg_lock_release(reg_lock *lock);

#endif
