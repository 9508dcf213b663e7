/* inject.h - shared by the supervisor of system calls (inject.c) and the preloaded allocator (inject_preload.c). */
#ifndef INJECT_H
#define INJECT_H

#include <stdbool.h>
#include <stdint.h>

/* Marker of the start: prctl(INJECT_START) by the preloaded library, when the loader has done its work. */
#define INJECT_START 0x7a0d0001u
#define INJECT_SITES 65536u

/* The file in $INJECT_PAGE, mapped by both. */
typedef struct inject_page {
    uint64_t fail_at;  /* number of the allocation that fails, from 1; 0: none */
    uint64_t count;    /* allocations so far */
    uint64_t failed;   /* those that failed */
    uint32_t on;       /* all later ones fail, too */
    uint32_t sites;    /* not 0: note call sites */
    int32_t owner;     /* process whose allocations count: the first that has the library */
    uint32_t trace;    /* the callers of the first one that fails go to standard error */
    uint32_t children; /* forked children count, too */
    int32_t listener;  /* descriptor of the filter, in the program's process */
    int32_t clock;     /* seconds by which the clock of the day jumps back and forth */
    uint64_t site[INJECT_SITES];
    uint64_t first[INJECT_SITES]; /* number of the first allocation from the site; 0: entry is free */
} inject_page;

#endif
