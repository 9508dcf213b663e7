/*
 * index.h - private to tb/tlog: the index of a folder, read and checked.
 */
#ifndef TB_TLOG_INDEX_H
#define TB_TLOG_INDEX_H

#include "tlog/tlog.h"

#define TLOG_LINE 1024u /* bytes of a line, and of a path */

/* A line. */
typedef struct tlog_entry {
    char *text; /* cut into words */
    const char *stream, *unit, *file, *axis[TB_TLOG_AXES];
    uint64_t task;
    unsigned axes;
    bool ordered;  /* transactions */
    size_t number; /* line of the folder, from 1 */
} tlog_entry;

typedef struct tlog_index {
    char path[TLOG_LINE];
    const char *dir;
    tlog_entry *list, **sorted;
    size_t count;
} tlog_index;

/* Where the one line of an error goes. */
typedef struct tlog_place {
    char *err;
    size_t err_size;
} tlog_place;

/* Fill a zeroed index; `dir` must live as long. 0 or -1; free it in any case. */
int tlog_index_read(tlog_index *ix, const char *dir, const tlog_place *to);
/* The line of the same stream and task, or NULL. */
const tlog_entry *tlog_index_find(const tlog_index *ix, const tlog_entry *like);
void tlog_index_free(tlog_index *ix);

#endif
