/*
 * tlog.h - tensor logs: a folder with one .npy file for each tensor or stream and an index, and the comparison of two
 * such folders.
 *
 * index.txt has one line for each file: "stream=<name> task=<number or -> unit=<name> file=<name>.npy
 * kind=tensor|stream axes=<a,b,..>". A tensor is addressed by its axes (c, h, w); a stream holds transactions in the
 * order in which they happened (axis t). The folder contains no times: two runs of the same case give the same bytes.
 */
#ifndef TB_TLOG_H
#define TB_TLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TB_TLOG_AXES 4u

typedef enum tb_tlog_type { TB_TLOG_I8, TB_TLOG_U8, TB_TLOG_I32, TB_TLOG_U32, TB_TLOG_F32, TB_TLOG_U64 } tb_tlog_type;

typedef struct tb_tlog tb_tlog;

typedef struct tb_tlog_entry {
    const char *stream; /* letters, digits, '.', '_', '-' and '/': "lane.sum", "fifo/0.word" */
    uint64_t task;      /* number of the unit's task; UINT64_MAX: of no task */
    const char *unit;   /* "lane" */
    bool stream_order;  /* transactions, not a tensor */
    tb_tlog_type type;
    unsigned axes;
    const char *axis[TB_TLOG_AXES]; /* "c", "h", "w" */
    size_t size[TB_TLOG_AXES];
} tb_tlog_entry;

/* A new folder; it must not exist or be empty. Files appear in it when they are complete, the index at close. NULL with
 * one line in err. */
tb_tlog *tb_tlog_create(const char *dir, char *err, size_t err_size);
/* Write a whole tensor, C order, little endian. 0 or -1 (also remembered for close). */
int tb_tlog_tensor(tb_tlog *log, const tb_tlog_entry *entry, const void *data);
/* Append one transaction of entry->size[1..] elements to a stream; entry->size[0] is ignored. data NULL: the stream
 * exists from now on, in this place of the index. Its file is whole at close. */
int tb_tlog_append(tb_tlog *log, const tb_tlog_entry *entry, const void *data);
/* Write the streams and the index. 0 or -1 with the first error of the log in err. Frees the log in any case. */
int tb_tlog_close(tb_tlog *log, char *err, size_t err_size);

/* One stream of one task that both folders have, or that only one has. */
typedef struct tb_tlog_diff {
    const char *stream, *unit;
    uint64_t task;
    bool only_a, only_b;   /* the other folder has no such file */
    bool shape_differs;    /* then nothing was compared beyond the common part of a stream */
    uint64_t total, wrong; /* elements; NaNs of equal bits are equal */
    unsigned axes;
    const char *axis[TB_TLOG_AXES];
    size_t first[TB_TLOG_AXES]; /* of the first difference */
    char a[32], b[32];          /* its values */
} tb_tlog_diff;

/*
 * Compare two folders, in the order of a's index, then what only b has. The callback also gets equal streams (wrong 0,
 * no flag set); a nonzero result stops. The strings of a diff are valid only during the callback. 0: read; -1 with one
 * line in err.
 */
int tb_tlog_compare(const char *dir_a, const char *dir_b, int (*each)(void *ctx, const tb_tlog_diff *diff), void *ctx,
                    char *err, size_t err_size);

#define TB_TLOG_TRIM_DIRS 4u

/*
 * Make closed logs smaller: at most *bytes stay in `count` (up to TB_TLOG_TRIM_DIRS) folders together, indexes
 * included; *bytes is what is left of them then. A stream of a task is kept in every folder or in none, and removed
 * files are in no index. Streams that `first` selects are kept before all others, in the order of the index; of the
 * rest the small ones. `gone` is called for each stream that was removed, with its bytes. A folder without an index
 * counts as empty. 0 or -1 with one line in err.
 */
int tb_tlog_trim(const char *const *dirs, size_t count, uint64_t *bytes,
                 bool (*first)(void *ctx, const char *stream, uint64_t task),
                 void (*gone)(void *ctx, const char *stream, uint64_t task, uint64_t bytes), void *ctx, char *err,
                 size_t err_size);

#endif
