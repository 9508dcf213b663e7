/*
 * buffers.h - what work in flight may do to memory: its buffers by name, each a set of ranges that is read or written.
 *
 * The code that starts work on a design (a task, a transfer) declares which bytes it reads and which it writes. While
 * the work is live, the bus may access only these bytes of the table's memories (tb_ddr_open()); two pieces of work
 * that may run at the same time are checked for conflicting writes; and for any address the table has the buffer that
 * contains it, or the nearest one. Complete work is kept until tb_buffers_clear().
 */
#ifndef TB_BUFFERS_H
#define TB_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ddr.h"

typedef struct tb_range {
    uint64_t begin, end; /* bytes, end excluded */
} tb_range;

typedef struct tb_ranges {
    tb_range *r;
    size_t count, cap;
    bool oom;
} tb_ranges;

/* Add a range; one adjacent to the last one at or after index `from` extends that one. */
void tb_ranges_add(tb_ranges *v, size_t from, uint64_t begin, uint64_t bytes);
/* Bring ranges in order and join those that touch or overlap. Returns how many are left, *overlap (or NULL) whether two
 * had a byte in common. */
size_t tb_ranges_order(tb_range *r, size_t count, bool *overlap);
/* The first of the ordered ranges that ends behind a byte; `count` when there is none. */
size_t tb_ranges_find(const tb_range *r, size_t count, uint64_t byte);
/* Do two ordered lists have a byte in common? *where is the first one. */
bool tb_ranges_common(const tb_range *a, size_t na, const tb_range *b, size_t nb, uint64_t *where);

typedef struct tb_buffer {
    const char *name; /* static text: "weights" */
    tb_ddr_use use;
    uint32_t work;     /* index of the work that it belongs to */
    size_t first, end; /* its ranges in tb_buffers.range, in order */
    bool folded;       /* its ranges had bytes in common with each other */
    bool in_place;     /* read: the work writes its output exactly there, element by element */
    unsigned mems;     /* mask: memories that are opened for it */
} tb_buffer;

typedef struct tb_work {
    const char *who; /* static text: "alu" */
    uint64_t number; /* of this work among those of `who` */
    bool live;
    size_t first, end; /* its buffers in tb_buffers.buffer */
} tb_work;

#define TB_BUFFERS_MEMS 2u

typedef struct tb_buffers {
    const char *noun; /* static text: what a piece of work is called in reports, "task" */
    tb_ranges range;
    tb_buffer *buffer;
    size_t buffers, buffer_cap;
    tb_work *work;
    size_t works, work_cap;
    size_t live_from; /* work before this one is complete */
    tb_ddr *mem[TB_BUFFERS_MEMS];
    unsigned mems;
    bool oom; /* out of memory once: accesses are then not checked */
} tb_buffers;

/* An empty table. The memories must outlive it; there may be none. */
void tb_buffers_init(tb_buffers *t, const char *noun, tb_ddr *const *mem, unsigned mems);
void tb_buffers_free(tb_buffers *t);
/* Forget all work; nothing is live any more. */
void tb_buffers_clear(tb_buffers *t);

/*
 * Describe new work: begin, then for each buffer its name and its ranges (of at most 2^63; in any order), then start,
 * which opens the memories for it. Returns its index, or UINT32_MAX after running out of memory; the other functions do
 * nothing then.
 */
uint32_t tb_buffers_begin(tb_buffers *t, const char *who, uint64_t number);
void tb_buffers_name(tb_buffers *t, const char *name, tb_ddr_use use);
void tb_buffers_range(tb_buffers *t, uint64_t begin, uint64_t bytes);
/* The buffer named last is one that this work may write over (tb_buffer.in_place). */
void tb_buffers_in_place(tb_buffers *t);
/* The buffer named last is accessed in these memories (a mask) only. */
void tb_buffers_only(tb_buffers *t, unsigned mems);
void tb_buffers_start(tb_buffers *t);
/* The work is complete: its bytes may not be accessed any more, except where other live work uses them. */
void tb_buffers_end(tb_buffers *t, uint32_t work);

/* Two buffers that overlap: the second one is written, or both are. */
typedef struct tb_meet {
    const tb_buffer *a, *b;
    uint64_t addr; /* first common byte */
} tb_meet;
/*
 * Does one of two works write a byte that the other one accesses? *meet is the place; b is a buffer that is written.
 * The two may be the same work: then its buffers are checked against each other, where one that is written in place may
 * overlap its input, and so are the ranges of each that is written (a and b are the same then).
 */
bool tb_buffers_meet(const tb_buffers *t, uint32_t work, uint32_t other, tb_meet *meet);
/* The same, of all that `writer` writes and `reader` reads. */
bool tb_buffers_feeds(const tb_buffers *t, uint32_t writer, uint32_t reader);

/* A buffer of this use with one of these bytes, live or not, at or after number *from; *from is set behind it. NULL:
 * there is none any more. */
const tb_buffer *tb_buffers_at(const tb_buffers *t, size_t *from, uint64_t addr, uint64_t bytes, tb_ddr_use use);

/* Position of an address relative to a buffer that does not contain it. */
typedef enum tb_side { TB_BEFORE, TB_BEHIND, TB_BETWEEN } tb_side;
typedef struct tb_near {
    const tb_buffer *buffer; /* NULL: there is none */
    tb_side side;            /* before its first byte, behind its last one, or in a gap between its ranges */
    uint64_t bytes;          /* to the nearest byte of it: 1 is next to it; 0: it contains the address */
} tb_near;
/* The nearest buffer of this use: of live work, else of complete work; only of work of `who`, unless that is NULL.
 * Among equals the latest. */
tb_near tb_buffers_near(const tb_buffers *t, uint64_t addr, tb_ddr_use use, const char *who);

/* "`out` of alu task 3" */
void tb_buffers_text(const tb_buffers *t, const tb_buffer *buffer, char *dst, size_t size);
/* "4 bytes past the end of `out` of alu task 3", "in a gap of ..., 4 bytes from it", "in ...", each with ", which is
 * complete" if it is; "no task is in flight". */
void tb_buffers_place(const tb_buffers *t, const tb_near *near, char *dst, size_t size);

#endif
