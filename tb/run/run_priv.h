/* run_priv.h - between the files of a run: what they note as failures. */
#ifndef TB_RUN_PRIV_H
#define TB_RUN_PRIV_H

#include "run.h"

/* Has a port before this one the same memory? */
bool run_shared(const tb_run *run, unsigned port);
/* The first violation of a rule; refused accesses and wrong data; a unit that differs; streams; the design's end. */
void run_note_rules(tb_run *run);
void run_note_memory(tb_run *run);
void run_note_check(tb_run *run);
void run_note_streams(tb_run *run);
void run_note_stop(tb_run *run);

#endif
