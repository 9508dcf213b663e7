/*
 * builder.h - the programs of a run are built while its first jobs already run (private to regress/).
 *
 * The builder is a command (scripts/build_suite.sh). It gets the paths of the programs on its standard input, in the
 * order in which they are wanted, and prints "  READY PATH" for each that is up to date; it ends with status 0 when all
 * are. The processes of its makes and the jobs share the processors: the runner is the jobserver of these makes (GNU
 * make, "POSIX Jobserver Interaction") and hands out what the jobs leave.
 */
#ifndef REG_BUILDER_H
#define REG_BUILDER_H

#include "db.h"

typedef struct reg_builder {
    reg_programs *programs; /* of the run; hash 0: not built yet */
    const reg_run_info *run;
    reg_db *db;
    const reg_guardian *guardian;
    size_t first; /* this program first */
    pid_t pid;    /* 0: not started, or it has ended */
    int parallel;
    int granted;   /* processes that make may have beside its first one */
    int output_fd; /* what the builder prints */
    int grant_fd;  /* a byte to make: one process more */
    int return_fd; /* a byte from make: one of them has ended */
    FILE *log;     /* OUT/build.log */
    size_t asked, built;
    bool failed;     /* a program could not be pinned (a line was printed) */
    char line[1024]; /* that has not ended */
    size_t length;
    char now[64];     /* what it compiles */
    double now_since; /* reg_now() */
} reg_builder;

/* Start to build the programs without a hash; nothing is started when all have one. */
int reg_builder_start(reg_builder *builder, const char *command);
/* Read what it printed: programs that are ready are pinned and get their hash in list and database. say: prints a line
 * of the compiler for the user. */
void reg_builder_read(reg_builder *builder, void (*say)(void *context, const char *line), void *context);
/* Has it ended? A program could not be built when fewer are `built` than were `asked` for. */
bool reg_builder_reap(reg_builder *builder);
/* Jobs that may run at a time. */
int reg_builder_leaves(const reg_builder *builder);
/* Hand the processors that neither running jobs nor those that wait need to make. */
void reg_builder_share(reg_builder *builder, int running, bool waiting);
/* End it, whatever it does. */
void reg_builder_stop(reg_builder *builder);
/* After it has ended, or when it was never started. */
void reg_builder_close(reg_builder *builder);

#endif
